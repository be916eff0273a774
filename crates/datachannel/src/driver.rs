//! The task between an association and its channels.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use polypath::{Event, Events, Message, Piece, ReceivedMessage, ReconfigurationError};
use tokio::sync::{Semaphore, mpsc};

use crate::channel::{DataChannel, Phase, Shared, State, Waiting, to_message};
use crate::channels::{Action, ChannelEvent};
use crate::content::Content;

/// Bytes of messages that wait to be read, over all channels. A longer message waits alone.
const UNREAD_BYTES: u32 = 1 << 20;
/// What a message takes of that beside its content.
const MESSAGE_BYTES: u32 = 64;

/// Most streams of one request, which must fit a packet.
const MOST_RESET: usize = 256;
/// Bytes of channels that wait to be accepted; further ones are closed.
const WAITING_BYTES: usize = 4 << 20;
/// What a channel takes of that beside label and subprotocol.
const CHANNEL_BYTES: u32 = 512;

pub(crate) struct Driver {
    shared: Arc<Shared>,
    events: Events,
    accept: mpsc::UnboundedSender<Waiting>,
    /// Answers that the association has no room for yet.
    answers: VecDeque<Message>,
    /// Streams to begin anew.
    resets: BTreeSet<u16>,
    /// A request for that is under way.
    is_resetting: bool,
    /// A message that there is no memory for yet; nothing is read until then.
    stalled: Option<(u16, Content)>,
    memory: Arc<Semaphore>,
    /// Memory for channels that wait to be accepted.
    waiting: Arc<Semaphore>,
    /// What the association told and messages come before.
    told: VecDeque<Event>,
    /// It has ended.
    is_told_all: bool,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        events: Events,
        accept: mpsc::UnboundedSender<Waiting>,
    ) -> Self {
        Self {
            shared,
            events,
            accept,
            answers: VecDeque::new(),
            resets: BTreeSet::new(),
            is_resetting: false,
            stalled: None,
            memory: Arc::new(Semaphore::new(UNREAD_BYTES as usize)),
            waiting: Arc::new(Semaphore::new(WAITING_BYTES)),
            told: VecDeque::new(),
            is_told_all: false,
        }
    }

    /// Runs until the association has ended, or nobody has anything of it any more: then it shuts down.
    pub(crate) async fn run(mut self) {
        let shared = Arc::clone(&self.shared);
        let association = &shared.association;
        let accept = self.accept.clone();
        while !self.is_abandoned() {
            self.tell(&mut shared.state());
            self.hear();
            self.act();
            let answer = self.answers.front().cloned();
            let wanted = self.stalled.as_ref().map_or(0, |(_, content)| permits(content));
            let memory = Arc::clone(&self.memory);
            tokio::select! {
                received = association.receive(), if self.stalled.is_none() => match received {
                    Ok(Some(message)) => self.take(message),
                    Ok(None) | Err(_) => break,
                },
                event = self.events.next(), if !self.is_told_all => match event {
                    Some(event) => self.told.push_back(event),
                    None => self.is_told_all = true,
                },
                () = send(association, answer), if !self.answers.is_empty() => {
                    self.answers.pop_front();
                }
                permit = memory.acquire_many_owned(wanted), if wanted > 0 => {
                    if let (Some((id, content)), Ok(permit)) = (self.stalled.take(), permit)
                        && let Some(port) = shared.state().ports.get(&id)
                    {
                        // Whoever does not listen any more closes the channel.
                        let _ = port.unread.send((content, permit));
                    }
                }
                () = shared.work.notified() => {}
                () = accept.closed(), if !accept.is_closed() => {}
            }
        }
        for port in std::mem::take(&mut shared.state().ports).into_values() {
            port.phase.send_replace(Phase::Closed);
        }
    }

    /// Whether every handle is gone, and every channel closed as far as that is up to this side.
    fn is_abandoned(&self) -> bool {
        self.accept.is_closed()
            && self.shared.state().ports.is_empty()
            && self.answers.is_empty()
            && self.resets.is_empty()
            && !self.is_resetting
    }

    /// Takes note of what the association told. What was received before comes first.
    fn hear(&mut self) {
        while self.stalled.is_none() && !self.told.is_empty() {
            while self.stalled.is_none()
                && let Ok(Some(message)) = self.shared.association.try_receive()
            {
                self.take(message);
            }
            if self.stalled.is_some() {
                return;
            }
            let Some(event) = self.told.pop_front() else { return };
            let streams = self.shared.streams();
            let shared = Arc::clone(&self.shared);
            let mut state = shared.state();
            match event {
                Event::IncomingStreamsReset { streams } => {
                    state.channels.on_incoming_reset(&streams);
                }
                Event::OutgoingStreamsReset { streams: reset } => {
                    self.is_resetting = false;
                    state.channels.on_outgoing_reset(&reset, streams);
                }
                // Their channels stay closed, and the streams are not used again.
                Event::ReconfigurationRefused { .. } => self.is_resetting = false,
                _ => {}
            }
            self.tell(&mut state);
        }
    }

    /// Carries out what the channels want.
    fn act(&mut self) {
        let mut state = self.shared.state();
        while let Some(action) = state.channels.poll_action() {
            match action {
                Action::Send(message) => self.answers.push_back(to_message(message)),
                Action::Reset(stream) => {
                    self.resets.insert(stream);
                }
            }
        }
        drop(state);
        // An answer on a stream goes before its reset.
        if self.resets.is_empty() || self.is_resetting || !self.answers.is_empty() {
            return;
        }
        let streams: Vec<u16> = self.resets.iter().copied().take(MOST_RESET).collect();
        self.resets.retain(|stream| !streams.contains(stream));
        match self.shared.association.reset_outgoing_streams(&streams) {
            Ok(()) => self.is_resetting = true,
            Err(ReconfigurationError::Busy) => self.resets.extend(streams),
            // The peer cannot do it: the streams are not used again.
            Err(_) => {}
        }
    }

    fn take(&mut self, message: ReceivedMessage) {
        if message.piece() != Piece::Whole {
            // Channels hand over whole messages only.
            self.shared.association.abort("a message is larger than the receive buffer");
            return;
        }
        let (stream, ppid) = (message.stream(), message.ppid());
        let streams = self.shared.streams();
        let shared = Arc::clone(&self.shared);
        let mut state = shared.state();
        state.channels.on_message(stream, ppid, message.into_bytes(), streams);
        self.tell(&mut state);
    }

    /// Tells users what has happened.
    fn tell(&mut self, state: &mut State) {
        while self.stalled.is_none()
            && let Some(event) = state.channels.poll_event()
        {
            match event {
                ChannelEvent::Accepted { id, parameters } => {
                    let channel = self.shared.handle(state, id, Phase::Open, parameters);
                    self.queue(state, channel);
                }
                ChannelEvent::Confirmed(id) => {
                    if let Some(port) = state.ports.get(&id) {
                        port.phase.send_replace(Phase::Open);
                    }
                }
                ChannelEvent::Message { id, content } => self.deliver(state, id, content),
                ChannelEvent::Closed(id) => {
                    if let Some(port) = state.ports.remove(&id) {
                        port.phase.send_replace(Phase::Closed);
                    }
                }
            }
        }
    }

    /// Lets a channel wait to be accepted, or closes it.
    fn queue(&self, state: &mut State, channel: DataChannel) {
        let text = channel.parameters().label.len() + channel.parameters().protocol.len();
        let wanted = CHANNEL_BYTES + text as u32;
        let refused = match Arc::clone(&self.waiting).try_acquire_many_owned(wanted) {
            Ok(permit) => self.accept.send((channel, permit)).err().map(|refused| refused.0.0),
            Err(_) => Some(channel),
        };
        if let Some(channel) = refused {
            turn_away(state, &channel);
        }
    }

    fn deliver(&mut self, state: &State, id: u16, content: Content) {
        let Some(port) = state.ports.get(&id) else { return };
        match Arc::clone(&self.memory).try_acquire_many_owned(permits(&content)) {
            Ok(permit) => {
                // Whoever does not listen any more closes the channel.
                let _ = port.unread.send((content, permit));
            }
            Err(_) => self.stalled = Some((id, content)),
        }
    }
}

/// Closes a channel that nobody accepts.
fn turn_away(state: &mut State, channel: &DataChannel) {
    state.channels.close(channel.id());
    if let Some(port) = state.ports.remove(&channel.id()) {
        // So that dropping it does not ask for the lock.
        port.phase.send_replace(Phase::Closed);
    }
}

fn permits(content: &Content) -> u32 {
    let bytes = u32::try_from(content.len()).unwrap_or(u32::MAX).saturating_add(MESSAGE_BYTES);
    bytes.min(UNREAD_BYTES)
}

async fn send(association: &polypath::Association, message: Option<Message>) {
    if let Some(message) = message {
        // An association that takes nothing has ended.
        let _ = association.send(message).await;
    }
}
