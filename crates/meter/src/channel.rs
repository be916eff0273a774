//! The control channel of an association. One task reads all that the peer sends: it queues control messages, and counts the
//! messages of flows.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polypath::{Association, Message, ReceivedMessage};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::control::{self, Assembler, Control, ControlError};
use crate::error::SessionError;
use crate::payload::{self, Header};
use crate::tally::Tally;

/// Messages that are counted with one look at the clock: they were there together.
const AT_A_TIME: usize = 16;
/// Control messages that are queued.
const QUEUED: usize = 16;

/// Sends a control message.
pub(crate) async fn send(association: &Association, control: &Control) -> Result<(), SessionError> {
    for piece in control::encode(control).map_err(SessionError::Encode)? {
        association.send(Message::new(control::STREAM, piece).ppid(control::PPID)).await?;
    }
    Ok(())
}

/// What the peer sends on an association.
#[derive(Debug)]
pub(crate) struct ControlChannel {
    controls: mpsc::Receiver<Result<Control, SessionError>>,
    tally: Arc<Mutex<Option<Arc<Tally>>>>,
    task: AbortHandle,
}

impl ControlChannel {
    /// Begins to read.
    pub fn open(association: &Association) -> Self {
        let (queue, controls) = mpsc::channel(QUEUED);
        let tally = Arc::new(Mutex::new(None));
        let reading = read(association.clone(), queue, Arc::clone(&tally));
        Self { controls, tally, task: tokio::spawn(reading).abort_handle() }
    }

    /// Counts messages here from now on; before, they are none of any measurement.
    pub fn count(&self, tally: Arc<Tally>) {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner) = Some(tally);
    }

    /// The next control message.
    pub async fn receive(&mut self) -> Result<Control, SessionError> {
        self.controls.recv().await.unwrap_or(Err(SessionError::PeerLeft))
    }

    /// The next control message, which has to come within `patience`.
    pub async fn receive_within(&mut self, patience: Duration) -> Result<Control, SessionError> {
        within(patience, self.receive()).await
    }
}

impl Drop for ControlChannel {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for the peer, but not for ever.
pub(crate) async fn within<T>(
    patience: Duration,
    wanted: impl Future<Output = Result<T, SessionError>>,
) -> Result<T, SessionError> {
    match timeout(patience, wanted).await {
        Ok(done) => done,
        Err(source) => Err(SessionError::NoAnswer { patience, source }),
    }
}

async fn read(
    association: Association,
    queue: mpsc::Sender<Result<Control, SessionError>>,
    tally: Arc<Mutex<Option<Arc<Tally>>>>,
) {
    let mut assembler = Assembler::default();
    let mut current = None;
    let mut waiting = VecDeque::new();
    loop {
        if waiting.is_empty() {
            match association.receive().await {
                Ok(Some(message)) => waiting.push_back(message),
                Ok(None) => return,
                Err(error) => {
                    let _ = queue.send(Err(error.into())).await;
                    return;
                }
            }
            // What ended the association is heard when there is nothing else.
            let _ = association.try_receive_many(&mut waiting, AT_A_TIME - 1);
        }
        if current.is_none() {
            current.clone_from(&*tally.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let Some(other) = count(current.as_deref(), &mut waiting) else { continue };
        let Some(received) = control(other, &mut assembler).transpose() else { continue };
        let is_over = received.is_err();
        if queue.send(received).await.is_err() || is_over {
            return;
        }
    }
}

/// Counts the messages that wait, up to one that is not to be counted, which it gives.
fn count(
    tally: Option<&Tally>,
    waiting: &mut VecDeque<ReceivedMessage>,
) -> Option<ReceivedMessage> {
    let is_data = |message: &ReceivedMessage| message.ppid() == payload::PPID;
    let mut arrivals = waiting.front().is_some_and(is_data).then(|| tally.map(Tally::receive));
    while let Some(message) = waiting.pop_front() {
        if !is_data(&message) {
            return Some(message);
        }
        if let Some(Some(arrivals)) = &mut arrivals {
            arrivals.count(header(&message), message.len());
        }
    }
    None
}

/// What a message says of itself; nothing if it is none of a measurement.
fn header(message: &ReceivedMessage) -> Option<Header> {
    let mut beginning = [0; payload::HEADER];
    let mut filled = 0;
    for fragment in message.fragments() {
        let length = fragment.len().min(payload::HEADER - filled);
        beginning[filled..filled + length].copy_from_slice(&fragment[..length]);
        filled += length;
        if filled == payload::HEADER {
            break;
        }
    }
    let header = payload::decode(&beginning[..filled], message.len());
    header.filter(|header| header.stream == message.stream())
}

fn control(
    message: ReceivedMessage,
    assembler: &mut Assembler,
) -> Result<Option<Control>, SessionError> {
    let (ppid, stream) = (message.ppid(), message.stream());
    if ppid != control::PPID || stream != control::STREAM {
        return Err(SessionError::Control(ControlError::Foreign { ppid, stream }));
    }
    assembler.take(message).map_err(SessionError::Control)
}
