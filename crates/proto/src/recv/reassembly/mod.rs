//! From DATA chunks to messages in the order of delivery (RFC 9260 sections 6.6 and 6.9).
//!
//! Three steps: [`Fragments`] makes messages complete, [`OrderedStreams`] holds ordered ones back until it is their
//! turn, and the queue at the end waits for the user. A message that is whole and next in its stream goes straight into
//! the queue. Chunks with other identifiers (I-DATA) need first steps of their own and share the queue.

mod fragments;
mod ordered;

use alloc::collections::VecDeque;

use polypath_wire::{Data, DataFlags};
use smallvec::SmallVec;
use thiserror::Error;

use self::fragments::Fragments;
use self::ordered::OrderedStreams;
use super::tsn_map::WideTsn;
use crate::{Delivery, ReceivedMessage};

/// How the peer's DATA chunks contradict each other or the protocol; the association cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum Violation {
    /// A message begins, or another one is complete, where the message before has not ended.
    #[error("the message before TSN {tsn} has no last fragment (E bit)")]
    MissingEnd {
        /// First TSN that is not part of the unfinished message.
        tsn: u32,
    },
    /// A fragment continues a message that was not begun.
    #[error("TSN {tsn} continues a message that has no first fragment (B bit)")]
    MissingBegin {
        /// The fragment's TSN.
        tsn: u32,
    },
    /// Consecutive fragments of one message name different streams, stream sequence numbers or kinds of delivery.
    #[error("TSN {tsn} continues a message with another stream, SSN or U bit")]
    MixedFragments {
        /// The later fragment's TSN.
        tsn: u32,
    },
    /// Two messages of a stream that wait to be delivered have the same stream sequence number.
    #[error("two messages of stream {stream} have SSN {ssn}")]
    RepeatedSsn {
        /// The stream.
        stream: u16,
        /// The stream sequence number.
        ssn: u16,
    },
}

/// Everything received that the user has not read.
#[derive(Debug, Default)]
pub struct Reassembly {
    fragments: Fragments,
    ordered: OrderedStreams,
    ready: VecDeque<ReceivedMessage>,
}

impl Reassembly {
    /// Takes in a chunk with a new TSN; copies its user data out of the datagram.
    pub fn on_data(&mut self, tsn: WideTsn, data: &Data<'_>) -> Result<(), Violation> {
        if data.flags.contains(DataFlags::BEGIN | DataFlags::END) {
            let mut message = message_header(data);
            message.fragments.push(data.payload.to_owned());
            return self.deliver(message);
        }
        match self.fragments.insert(tsn, data)? {
            Some(message) => self.deliver(message),
            None => Ok(()),
        }
    }

    /// Checks what can be known once every TSN up to `cumulative` has been taken in.
    pub fn check_up_to(&self, cumulative: WideTsn) -> Result<(), Violation> {
        if self.fragments.is_empty() { Ok(()) } else { self.fragments.check_up_to(cumulative) }
    }

    /// The next message for the user.
    pub fn receive(&mut self) -> Option<ReceivedMessage> {
        self.ready.pop_front()
    }

    /// Whether there is a message for the user.
    pub fn has_messages(&self) -> bool {
        !self.ready.is_empty()
    }

    fn deliver(&mut self, message: ReceivedMessage) -> Result<(), Violation> {
        match message.delivery {
            Delivery::Unordered => self.ready.push_back(message),
            Delivery::Ordered => self.ordered.accept(message, &mut self.ready)?,
        }
        Ok(())
    }
}

/// A message as its first fragment describes it, without content. The SSN of an unordered one means nothing and is
/// ignored (RFC 9260 section 6.6).
fn message_header(data: &Data<'_>) -> ReceivedMessage {
    let unordered = data.flags.contains(DataFlags::UNORDERED);
    let (delivery, ssn) =
        if unordered { (Delivery::Unordered, 0) } else { (Delivery::Ordered, data.ssn) };
    ReceivedMessage {
        stream: data.stream,
        ppid: data.ppid,
        delivery,
        ssn,
        fragments: SmallVec::new(),
    }
}

#[cfg(test)]
mod tests;
