//! Messages that wait for their first transmission: first come, first served, each cut into fragments as it goes.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use polypath_wire::{DataFlags, Payload};
use smallvec::SmallVec;

use crate::{Delivery, OutgoingMessage, PathId};

/// How far a path looks past messages that are meant for other paths.
const LOOK_AHEAD: usize = 64;

/// Bytes of the send buffer that a message takes at least: about what its record and its allocation take in memory, so
/// that a buffer full of tiny messages does not hold many times its size. Larger messages count their user bytes, which
/// is what the papers' buffer sizes mean.
pub(crate) const LEAST_COST: u64 = 128;

/// The send buffer: waiting messages, and the room that waiting and unacknowledged bytes take.
#[derive(Debug)]
pub(crate) struct SendQueue {
    messages: VecDeque<OutgoingMessage>,
    /// Message of which some fragments were sent.
    current: Option<Partial>,
    /// Next SSN of each stream that was used so far.
    next_ssn: Vec<u16>,
    limit: u64,
    /// User bytes waiting or unacknowledged.
    used: u64,
    /// What they count against the limit.
    held: u64,
    /// User bytes waiting.
    waiting: u64,
    peak: u64,
}

#[derive(Debug)]
struct Partial {
    message: OutgoingMessage,
    ssn: u16,
    sent: usize,
}

/// A chunk about to be sent for the first time.
#[derive(Debug)]
pub(crate) struct NextChunk {
    pub(crate) flags: DataFlags,
    pub(crate) stream: u16,
    pub(crate) ssn: u16,
    pub(crate) ppid: u32,
    pub(crate) context: u32,
    /// What it counts against the limit of the send buffer.
    pub(crate) held: u32,
    pub(crate) payload: Payload<'static>,
}

/// What acknowledged chunks took in the send buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Released {
    /// Bytes of user data.
    pub(crate) user_bytes: u64,
    /// What they counted against the limit.
    pub(crate) held: u64,
}

/// Which paths can serve messages that name a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asking {
    /// The path that has room.
    pub(crate) path: PathId,
    /// Bit per path that can carry data: messages for other paths go anywhere.
    pub(crate) usable: u32,
}

impl SendQueue {
    pub(crate) fn new(limit: u64) -> Self {
        Self {
            messages: VecDeque::new(),
            current: None,
            next_ssn: Vec::new(),
            limit,
            used: 0,
            held: 0,
            waiting: 0,
            peak: 0,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_none() && self.messages.is_empty()
    }

    /// Size of the buffer in bytes of user data.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// User bytes waiting or unacknowledged.
    pub(crate) fn used(&self) -> u64 {
        self.used
    }

    /// Most user bytes there ever were.
    pub(crate) fn peak(&self) -> u64 {
        self.peak
    }

    /// Free bytes.
    pub(crate) fn free(&self) -> u64 {
        self.limit.saturating_sub(self.held)
    }

    /// What a message of `len` bytes counts against the limit; never more than an empty buffer has.
    pub(crate) fn cost(&self, len: usize) -> u64 {
        (len as u64).max(LEAST_COST.min(self.limit))
    }

    /// Takes a message; the caller has checked that there is room.
    pub(crate) fn push(&mut self, message: OutgoingMessage) {
        let len = message.payload.len() as u64;
        self.used += len;
        self.held += self.cost(message.payload.len());
        self.waiting += len;
        self.peak = self.peak.max(self.used);
        self.messages.push_back(message);
    }

    /// Frees the room of acknowledged chunks.
    pub(crate) fn release(&mut self, released: Released) {
        self.used = self.used.saturating_sub(released.user_bytes);
        self.held = self.held.saturating_sub(released.held);
    }

    /// Length of the fragment that `asking` would get, at most `max_payload` bytes.
    pub(crate) fn peek(&self, asking: Asking, max_payload: u32) -> Option<u32> {
        let left = match &self.current {
            Some(partial) => suits(&partial.message, asking)
                .then(|| partial.message.payload.len() - partial.sent)?,
            None => self.messages[self.find(asking)?].payload.len(),
        };
        Some((left as u64).min(u64::from(max_payload)) as u32)
    }

    /// Takes the fragment that [`peek`](Self::peek) measured.
    pub(crate) fn take(&mut self, asking: Asking, max_payload: u32) -> Option<NextChunk> {
        let mut partial = match self.current.take() {
            Some(partial) => partial,
            None => self.start(asking)?,
        };
        let message = &partial.message;
        let len = (message.payload.len() - partial.sent).min(max_payload as usize);
        let mut flags = DataFlags::empty();
        flags.set(DataFlags::UNORDERED, message.delivery == Delivery::Unordered);
        flags.set(DataFlags::BEGIN, partial.sent == 0);
        let ends = partial.sent + len == message.payload.len();
        flags.set(DataFlags::END, ends);
        // The first fragment has what a tiny message counts beyond its bytes.
        let total = message.payload.len();
        let beyond = if partial.sent == 0 { self.cost(total) - total as u64 } else { 0 };
        let payload = message.payload.slice(partial.sent, len);
        let chunk = NextChunk {
            flags,
            stream: message.stream,
            ssn: partial.ssn,
            ppid: message.ppid,
            context: message.context,
            held: (len as u64 + beyond) as u32,
            payload,
        };
        self.waiting -= len as u64;
        partial.sent += len;
        if !ends {
            self.current = Some(partial);
        }
        Some(chunk)
    }

    fn start(&mut self, asking: Asking) -> Option<Partial> {
        let message = self.messages.remove(self.find(asking)?)?;
        let ssn = match message.delivery {
            Delivery::Unordered => 0,
            Delivery::Ordered => {
                let stream = usize::from(message.stream);
                if self.next_ssn.len() <= stream {
                    self.next_ssn.resize(stream + 1, 0);
                }
                let ssn = self.next_ssn[stream];
                self.next_ssn[stream] = ssn.wrapping_add(1);
                ssn
            }
        };
        Some(Partial { message, ssn, sent: 0 })
    }

    /// Position of the first message that may go on the asking path without overtaking one of its own stream.
    fn find(&self, asking: Asking) -> Option<usize> {
        let mut passed: SmallVec<[u16; 8]> = SmallVec::new();
        for (position, message) in self.messages.iter().take(LOOK_AHEAD).enumerate() {
            let ordered = message.delivery == Delivery::Ordered;
            if suits(message, asking) && !(ordered && passed.contains(&message.stream)) {
                return Some(position);
            }
            if ordered {
                passed.push(message.stream);
            }
        }
        None
    }

    /// Whether the message that is next for `path` asks for it.
    pub(crate) fn names(&self, path: PathId) -> bool {
        let named = |message: &OutgoingMessage| message.path == Some(path);
        match &self.current {
            Some(partial) => named(&partial.message),
            None => self.messages.iter().take(LOOK_AHEAD).any(named),
        }
    }

    /// Removes the messages for streams from `count` on, which the peer did not grant: stream and context of each.
    pub(crate) fn remove_streams_from(&mut self, count: u16) -> Vec<(u16, u32)> {
        let mut removed = Vec::new();
        let (mut bytes, mut held) = (0, 0);
        let least = self.cost(0);
        self.messages.retain(|message| {
            let granted = message.stream < count;
            if !granted {
                removed.push((message.stream, message.context));
                let len = message.payload.len() as u64;
                bytes += len;
                held += len.max(least);
            }
            granted
        });
        self.used -= bytes;
        self.held -= held;
        self.waiting -= bytes;
        removed
    }

    /// Messages of which nothing or not everything was sent, for reporting when the association ends.
    pub(crate) fn drain_unsent(&mut self) -> impl Iterator<Item = (u16, u32, bool)> + '_ {
        let partial = self.current.take().map(|p| (p.message.stream, p.message.context, true));
        self.waiting = 0;
        partial.into_iter().chain(self.messages.drain(..).map(|m| (m.stream, m.context, false)))
    }
}

fn suits(message: &OutgoingMessage, asking: Asking) -> bool {
    match message.path {
        None => true,
        Some(path) => path == asking.path || asking.usable >> path.0 & 1 == 0,
    }
}

const _: () = assert!(size_of::<OutgoingMessage>() as u64 <= LEAST_COST);
const _: () = assert!(size_of::<super::window::Outstanding>() as u64 <= LEAST_COST);
