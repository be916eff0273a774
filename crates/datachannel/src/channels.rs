//! The channels of an association, without input and output (RFC 8831 section 6, RFC 8832 section 6).

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use thiserror::Error;

use crate::content::Content;
use crate::dcep::{self, ChannelParameters, DcepMessage, Reliability, TooLong};

/// Most messages kept of a channel that the peer has opened anew before this side knows that the old one is closed.
const MAX_EARLY: usize = 16;

/// The role in the DTLS handshake, which says whose streams are whose.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// It opens channels on streams with even numbers.
    Client,
    /// It opens channels on streams with odd numbers.
    Server,
}

impl Role {
    fn owns(self, stream: u16) -> bool {
        stream.is_multiple_of(2) == (self == Self::Client)
    }
}

/// A message to be sent over the association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outgoing {
    /// Stream, which is the identifier of the channel.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Content.
    pub payload: Bytes,
    /// Whether it is ordered.
    pub ordered: bool,
    /// How long it is tried.
    pub reliability: Reliability,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// A message is to be sent.
    Send(Outgoing),
    /// The outgoing stream is to be reset (RFC 6525).
    Reset(u16),
}

/// What a user hears.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ChannelEvent {
    /// The peer has opened a channel.
    Accepted {
        /// Identifier of the channel.
        id: u16,
        /// What the peer wants of it.
        parameters: ChannelParameters,
    },
    /// The peer knows of a channel that this side has opened.
    Confirmed(u16),
    /// A message.
    Message {
        /// Identifier of the channel.
        id: u16,
        /// The message.
        content: Content,
    },
    /// The peer has closed a channel, or broke its rules.
    Closed(u16),
}

/// Why a channel cannot be opened.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Every stream of this side has a channel.
    #[error("no stream is left for a channel")]
    NoStream,
    /// The stream has a channel, or the association does not have it.
    #[error("stream {0} has a channel or does not exist")]
    StreamTaken(u16),
    /// Label or subprotocol are too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
}

/// The channel is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the channel is closed")]
pub struct ChannelClosed;

/// All channels of an association.
#[derive(Debug)]
pub struct Channels {
    role: Role,
    table: BTreeMap<u16, Channel>,
    actions: VecDeque<Action>,
    events: VecDeque<ChannelEvent>,
}

#[derive(Debug)]
struct Channel {
    parameters: ChannelParameters,
    /// Something has come on it: the peer knows of it (RFC 8832 section 6).
    confirmed: bool,
    outgoing: Outbound,
    /// The peer has reset its stream.
    incoming_reset: bool,
    /// What came after the peer had reset its stream: of the next channel there.
    early: Vec<(u32, Bytes)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outbound {
    Open,
    /// The reset was asked for.
    Closing,
    Reset,
}

impl Channels {
    /// None yet.
    pub fn new(role: Role) -> Self {
        Self { role, table: BTreeMap::new(), actions: VecDeque::new(), events: VecDeque::new() }
    }

    /// Opens a channel on the lowest free stream of this side, of `streams` that the association has; 65535 is none (RFC 8831 section 6.2). DATA_CHANNEL_OPEN is given: it
    /// goes before anything else on the channel.
    ///
    /// # Errors
    ///
    /// If no stream is left, or label or subprotocol are too long.
    pub fn open(
        &mut self,
        parameters: ChannelParameters,
        streams: u16,
    ) -> Result<Outgoing, OpenError> {
        let open = DcepMessage::Open(parameters.clone()).encode()?;
        let own = |stream: &u16| self.role.owns(*stream) && !self.table.contains_key(stream);
        let stream = (0..streams).find(own).ok_or(OpenError::NoStream)?;
        self.table.insert(stream, Channel::new(parameters, false));
        Ok(control(stream, open.into()))
    }

    /// Opens a channel that both sides have agreed on by other means (RFC 8831 section 6.5): no message is sent for it.
    ///
    /// # Errors
    ///
    /// If the stream has a channel, or is none of `streams`.
    pub fn open_negotiated(
        &mut self,
        id: u16,
        parameters: ChannelParameters,
        streams: u16,
    ) -> Result<(), OpenError> {
        if id >= streams || self.table.contains_key(&id) {
            return Err(OpenError::StreamTaken(id));
        }
        self.table.insert(id, Channel::new(parameters, true));
        Ok(())
    }

    /// How a user's message is sent.
    ///
    /// # Errors
    ///
    /// If there is no such channel, or it is closed.
    pub fn outgoing(&self, id: u16, content: Content) -> Result<Outgoing, ChannelClosed> {
        let channel = self.table.get(&id).ok_or(ChannelClosed)?;
        if channel.outgoing != Outbound::Open {
            return Err(ChannelClosed);
        }
        let (ppid, payload) = content.into_payload();
        let ChannelParameters { ordered, reliability, .. } = channel.parameters;
        // RFC 8832 section 6: it must not arrive before DATA_CHANNEL_OPEN.
        Ok(Outgoing {
            stream: id,
            ppid,
            payload,
            ordered: ordered || !channel.confirmed,
            reliability,
        })
    }

    /// The user closes a channel. Messages sent before are delivered.
    pub fn close(&mut self, id: u16) {
        if let Some(channel) = self.table.get_mut(&id)
            && channel.outgoing == Outbound::Open
        {
            channel.outgoing = Outbound::Closing;
            self.actions.push_back(Action::Reset(id));
        }
    }

    /// A message has arrived. `streams` are those on which this side may send.
    pub fn on_message(&mut self, stream: u16, ppid: u32, payload: Bytes, streams: u16) {
        match self.table.get_mut(&stream) {
            Some(channel) if channel.incoming_reset => channel.keep(ppid, payload),
            _ if ppid == dcep::PPID => self.on_control(stream, &payload, streams),
            Some(channel) => {
                if !channel.confirmed {
                    channel.confirmed = true;
                    self.events.push_back(ChannelEvent::Confirmed(stream));
                }
                let is_open = channel.outgoing == Outbound::Open;
                match Content::from_payload(ppid, payload) {
                    Some(content) if is_open => {
                        self.events.push_back(ChannelEvent::Message { id: stream, content });
                    }
                    Some(_) => {}
                    // RFC 8831 section 6.6.
                    None => self.end(stream),
                }
            }
            // Of nobody: the channel was never opened.
            None => {}
        }
    }

    /// A message of the protocol (RFC 8832 section 6).
    fn on_control(&mut self, stream: u16, payload: &[u8], streams: u16) {
        let known = self.table.get_mut(&stream);
        match (DcepMessage::parse(payload), known) {
            (Ok(DcepMessage::Ack), Some(channel)) => {
                if !channel.confirmed {
                    channel.confirmed = true;
                    self.events.push_back(ChannelEvent::Confirmed(stream));
                }
            }
            (Ok(DcepMessage::Open(parameters)), None)
                if !self.role.owns(stream) && stream < streams =>
            {
                self.table.insert(stream, Channel::new(parameters.clone(), true));
                let ack = control(stream, Bytes::from_static(&[2]));
                self.actions.push_back(Action::Send(ack));
                self.events.push_back(ChannelEvent::Accepted { id: stream, parameters });
            }
            // An answer to a channel that is gone.
            (Ok(DcepMessage::Ack), None) => {}
            // "The receiver MUST close the channel".
            (_, Some(_)) => self.end(stream),
            (_, None) if stream < streams => {
                self.actions.push_back(Action::Reset(stream));
            }
            (_, None) => {}
        }
    }

    /// The peer has begun these streams anew; all of them if none is listed: it has closed their channels.
    pub fn on_incoming_reset(&mut self, streams: &[u16]) {
        for stream in self.listed(streams) {
            if let Some(channel) = self.table.get_mut(&stream) {
                channel.incoming_reset = true;
            }
            self.end(stream);
            self.settle(stream, u16::MAX);
        }
    }

    /// This side has begun these streams anew; all of them if none is listed. `count` are those on which it may send.
    pub fn on_outgoing_reset(&mut self, streams: &[u16], count: u16) {
        for stream in self.listed(streams) {
            if let Some(channel) = self.table.get_mut(&stream)
                && channel.outgoing == Outbound::Closing
            {
                channel.outgoing = Outbound::Reset;
            }
            self.settle(stream, count);
        }
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The next thing to tell the user.
    pub fn poll_event(&mut self) -> Option<ChannelEvent> {
        self.events.pop_front()
    }

    /// Number of channels, those included that are being closed.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    fn listed(&self, streams: &[u16]) -> Vec<u16> {
        match streams {
            [] => self.table.keys().copied().collect(),
            listed => listed.to_vec(),
        }
    }

    /// A channel ends because of the peer.
    fn end(&mut self, id: u16) {
        if self.table.get(&id).is_some_and(|channel| channel.outgoing == Outbound::Open) {
            self.close(id);
            self.events.push_back(ChannelEvent::Closed(id));
        }
    }

    /// Forgets a channel when both streams have begun anew (RFC 8831 section 6.7). What has come for the next one counts now.
    fn settle(&mut self, id: u16, streams: u16) {
        let is_over =
            |channel: &Channel| channel.incoming_reset && channel.outgoing == Outbound::Reset;
        if !self.table.get(&id).is_some_and(is_over) {
            return;
        }
        let early = self.table.remove(&id).map(|channel| channel.early);
        for (ppid, payload) in early.into_iter().flatten() {
            self.on_message(id, ppid, payload, streams);
        }
    }
}

impl Channel {
    fn new(parameters: ChannelParameters, confirmed: bool) -> Self {
        let (outgoing, early) = (Outbound::Open, Vec::new());
        Self { parameters, confirmed, outgoing, incoming_reset: false, early }
    }

    fn keep(&mut self, ppid: u32, payload: Bytes) {
        if self.early.len() < MAX_EARLY {
            self.early.push((ppid, payload));
        }
    }
}

/// A message of the protocol: ordered and reliable, whatever the channel is (RFC 8832 section 6).
fn control(stream: u16, payload: Bytes) -> Outgoing {
    Outgoing {
        stream,
        ppid: dcep::PPID,
        payload,
        ordered: true,
        reliability: Reliability::Reliable,
    }
}

#[cfg(test)]
mod tests;
