//! The control channel of an association. One task reads all that the peer sends: it queues control messages, and counts the
//! messages of flows.

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
    loop {
        let received = match association.receive().await {
            Ok(Some(message)) if message.ppid() == payload::PPID => {
                if current.is_none() {
                    current.clone_from(&*tally.lock().unwrap_or_else(PoisonError::into_inner));
                }
                match count(&association, current.as_deref(), message) {
                    Some(other) => control(other, &mut assembler).transpose(),
                    None => continue,
                }
            }
            Ok(Some(message)) => control(message, &mut assembler).transpose(),
            Ok(None) => return,
            Err(error) => Some(Err(error.into())),
        };
        let Some(received) = received else { continue };
        let is_over = received.is_err();
        if queue.send(received).await.is_err() || is_over {
            return;
        }
    }
}

/// Counts a message, and those that are there already behind it; gives one that is not to be counted.
fn count(
    association: &Association,
    tally: Option<&Tally>,
    mut message: ReceivedMessage,
) -> Option<ReceivedMessage> {
    let mut arrivals = tally.map(Tally::receive);
    for more in (0..AT_A_TIME).rev() {
        if let Some(arrivals) = &mut arrivals {
            arrivals.count(header(&message), message.len());
        }
        if more > 0 {
            // The task that waits for the next message learns what ended the association.
            message = association.try_receive().ok().flatten()?;
            if message.ppid() != payload::PPID {
                return Some(message);
            }
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
