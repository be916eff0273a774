//! The sending side: messages waiting, chunks outstanding, the peer's window.

mod bit_ring;
pub(crate) mod buffer_size;
pub(crate) mod lanes;
pub(crate) mod multiple_fast_rtx;
pub(crate) mod outstanding;
pub(crate) mod partial_reliability;
pub(crate) mod queue;
pub(crate) mod sack;
mod stream_scheduler;
pub(crate) mod zero_window;

use polypath_wire::DataFlags;

use crate::config::{BufferBounds, StreamScheduler};
use crate::congestion::recovery::FastRecovery;
use crate::{SendError, Tsn};
use outstanding::OutstandingData;
use partial_reliability::Reliability;
use partial_reliability::forward::Forward;
use partial_reliability::index::Place;
use queue::SendQueue;
use zero_window::{ClosedWindow, ZeroWindow};

/// State of the sending side that is not per path.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) queue: SendQueue,
    /// Size in bytes to which the send buffer may grow.
    most_buffer: u64,
    pub(crate) window: OutstandingData,
    /// What the peer is told of chunks that were given up.
    pub(crate) forward: Forward,
    /// The peer's receive window as it last announced it.
    pub(crate) advertised_window: u64,
    /// That window, while it is closed.
    pub(crate) closed_window: Option<ClosedWindow>,
    /// Probing of a window that is closed.
    pub(crate) zero_window: ZeroWindow,
    /// Association-wide fast recovery, where the policy wants one.
    pub(crate) recovery: FastRecovery,
    /// Rank of the last data packet.
    pub(crate) transmissions: u64,
    /// Path that was served last.
    pub(crate) last_served: u8,
    /// The application met a full buffer and wants to know when there is room for this many bytes.
    writable_wanted: Option<u64>,
    /// The first chunk at the tail of which it is not known that it arrives earliest where it is.
    pub(crate) tail_seen: Tsn,
    /// Everything was acknowledged and the user was told.
    pub(crate) dry_told: bool,
}

impl Sender {
    pub(crate) fn new(initial_tsn: Tsn, buffer: BufferBounds, streams: StreamScheduler) -> Self {
        Self {
            queue: SendQueue::new(buffer.first, streams),
            most_buffer: buffer.most,
            window: OutstandingData::new(initial_tsn),
            forward: Forward::new(initial_tsn),
            advertised_window: 0,
            closed_window: None,
            zero_window: ZeroWindow::default(),
            recovery: FastRecovery::default(),
            transmissions: 0,
            last_served: u8::MAX,
            writable_wanted: None,
            tail_seen: initial_tsn,
            dry_told: true,
        }
    }

    /// Gives memory back that nothing needs now.
    pub(crate) fn release_memory(&mut self) {
        self.queue.release_memory();
        self.window.release_memory();
    }

    /// Begins anew because the peer restarted. What the user gave the streams stays.
    pub(crate) fn restart(
        &mut self,
        initial_tsn: Tsn,
        buffer: BufferBounds,
        streams: StreamScheduler,
    ) {
        let values = self.queue.take_stream_values();
        *self = Self::new(initial_tsn, buffer, streams);
        for (stream, value) in (0..=u16::MAX).zip(values) {
            self.queue.set_stream_value(stream, value);
        }
    }

    /// What is left of the peer's receive window (RFC 9260 section 6.2.1).
    pub(crate) fn peer_window(&self) -> u64 {
        self.advertised_window.saturating_sub(self.window.in_flight_user_bytes())
    }

    /// Whether the peer's window admits a new chunk (RFC 9260 section 6.1 A). With nothing in flight one chunk may go:
    /// into a window smaller than it at once, into a closed one when a probe is due. A window smaller than the chunk
    /// is otherwise as good as closed, which is the sender's half of silly-window avoidance.
    pub(crate) fn peer_window_admits(&self, user_bytes: u32) -> bool {
        self.peer_window() >= u64::from(user_bytes)
            || self.window.in_flight_user_bytes() == 0
                && (self.advertised_window > 0 || self.zero_window.may_probe())
    }

    /// Makes the send buffer at least this large, within its bounds.
    pub(crate) fn enlarge_buffer(&mut self, bytes: u64) {
        self.queue.enlarge(bytes.min(self.most_buffer));
    }

    /// Whether a message of `size` bytes has room now; if not, the user wants to know when.
    pub(crate) fn reserve(&mut self, size: usize) -> Result<(), SendError> {
        if size as u64 > self.most_buffer {
            return Err(SendError::MessageTooLarge { size, limit: self.most_buffer as usize });
        }
        // A buffer that adapts itself holds at least each message.
        self.enlarge_buffer(size as u64);
        let (wanted, limit) = (self.queue.cost(size), self.queue.limit());
        if wanted > self.queue.free() {
            // Not for every single message: waking the user has a price.
            let before = self.writable_wanted.unwrap_or(0);
            self.writable_wanted = Some(wanted.max(limit / 8).max(before));
            return Err(SendError::WouldBlock);
        }
        Ok(())
    }

    /// Whether the user must be told now that there is room.
    pub(crate) fn writable_again(&mut self) -> bool {
        let room = self.writable_wanted.is_some_and(|wanted| self.queue.free() >= wanted);
        if room {
            self.writable_wanted = None;
        }
        room
    }

    /// All that the application has handed in was sent, and it does not wait to hand in more.
    pub(crate) fn is_all_sent(&self) -> bool {
        self.queue.is_empty() && !self.room_is_wanted()
    }

    /// Whether the user waits for room.
    pub(crate) fn room_is_wanted(&self) -> bool {
        self.writable_wanted.is_some()
    }

    /// Whether the message that begins with `tsn` has this rule, and the peer may not have all of it.
    pub(crate) fn is_undelivered(&self, tsn: Tsn, rule: Reliability) -> bool {
        let window = &self.window;
        if !window.contains(tsn)
            || window.is_abandoned(tsn)
            || window.get(tsn).reliability != rule
            || !window.get(tsn).flags.contains(DataFlags::BEGIN)
        {
            return false;
        }
        let extent = window.message_around(tsn);
        !extent.ends || window.next_unacked(extent.first, extent.last.next()).is_some()
    }

    /// A new chunk was sent: one that begins a message of low priority can still make room for others.
    pub(crate) fn note_sent(&mut self, tsn: Tsn) {
        let chunk = self.window.get(tsn);
        if let Reliability::Priority(priority) = chunk.reliability
            && chunk.flags.contains(DataFlags::BEGIN)
        {
            self.queue.index.add_priority(priority, Place::sent(tsn));
        }
    }

    /// Forgets messages that are gone when there are too many of them in the index.
    pub(crate) fn tidy_index(&mut self) {
        let messages = self.queue.len() + self.window.span() as usize;
        if !self.queue.index.is_crowded(messages) {
            return;
        }
        let mut index = core::mem::take(&mut self.queue.index);
        index.retain(|place| match place {
            Place::Sent(tsn) => {
                self.window.contains(Tsn(tsn)) && !self.window.is_abandoned(Tsn(tsn))
            }
            Place::Waiting { slot, serial } => self.queue.is_alive(slot, serial.0),
        });
        self.queue.index = index;
    }

    /// Whether nothing waits and nothing is outstanding.
    pub(crate) fn is_dry(&self) -> bool {
        self.queue.is_empty() && self.window.is_empty()
    }
}
