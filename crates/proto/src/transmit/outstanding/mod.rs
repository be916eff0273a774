//! The chunks that were sent and not yet cumulatively acknowledged: a ring indexed by TSN with bitmaps beside it.

mod abandoned;
mod chunk;
mod moved;
mod released;
mod repaired;
mod search;

use alloc::vec::Vec;

use polypath_wire::{DataFlags, Payload, VirtualPayload};

use super::bit_ring::BitRing;
use super::partial_reliability::Reliability;
use crate::probe::TransmissionCause;
use crate::types::{BufferBytes, Fate};
use crate::{Instant, PathId, Tsn};

pub(crate) use abandoned::Gone;
pub(crate) use chunk::{History, OutstandingChunk};
pub(crate) use repaired::Repaired;

/// More TSNs than this are never outstanding: gap ack blocks reach 65,535 above the cumulative ack.
pub(crate) const MAX_SPAN: u32 = 60_000;

/// Once there was an outstanding chunk; before, and after [`OutstandingData::release_memory`], it has no memory at all.
const INITIAL_CAPACITY: usize = 64;

/// Unacknowledged chunks whose last transmission was on one path.
#[derive(Debug)]
struct PathBits {
    /// Transmitted once.
    first: BitRing,
    /// Retransmitted.
    again: BitRing,
    /// No bit of `first` is set before this TSN.
    first_low: Tsn,
    /// No bit of `again` is set before this TSN.
    again_low: Tsn,
    /// Whether a bit of `again` may be set.
    has_again: bool,
    /// Bytes that the chunks take whose last transmission was on the path, acknowledged in gap blocks or not.
    unreleased: BufferBytes,
    /// What of it those in flight take.
    in_flight: BufferBytes,
    /// User bytes of released chunks that the receiver holds back for their order.
    released_early: u64,
}

impl PathBits {
    /// The last transmission of `tsn` is a retransmission on this path.
    fn set_again(&mut self, tsn: Tsn) {
        self.again.set(tsn);
        self.has_again = true;
        if tsn.is_before(self.again_low) {
            self.again_low = tsn;
        }
    }
}

/// Chunks sent and not yet cumulatively acknowledged.
#[derive(Debug)]
pub(crate) struct OutstandingData {
    base: Tsn,
    next: Tsn,
    slots: Vec<OutstandingChunk>,
    acked: BitRing,
    /// What of it will not be withdrawn; its user data is gone.
    released: BitRing,
    lost: BitRing,
    /// Chunks for which missing reports count.
    countable: BitRing,
    paths: Vec<PathBits>,
    acked_count: u32,
    released_count: u32,
    lost_count: u32,
    lost_low: Tsn,
    abandoned_count: u32,
    kept: abandoned::KeptAbandoned,
    /// Chunks of messages that may be abandoned, as they were lost.
    lost_unreliable: Vec<Tsn>,
    /// Bytes of user data in flight.
    in_flight_user_bytes: u64,
}

/// A chunk leaving the state of being unacknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newly {
    pub(crate) path: PathId,
    pub(crate) flight_bytes: u32,
    pub(crate) user_bytes: u32,
    pub(crate) transmissions: u16,
    pub(crate) history: History,
    pub(crate) sent_at: Instant,
    pub(crate) was_in_flight: bool,
    /// It told the peer not to delay the SACK.
    pub(crate) asked_for_sack: bool,
}

/// What the cumulative ack takes out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Popped {
    /// What it took in the send buffer.
    pub(crate) released: BufferBytes,
    /// What had happened to it before.
    pub(crate) history: History,
    /// What is new about it, unless a gap block acknowledged it before or it was abandoned.
    pub(crate) newly: Option<Newly>,
}

impl OutstandingData {
    pub(crate) fn new(initial_tsn: Tsn) -> Self {
        Self {
            base: initial_tsn,
            next: initial_tsn,
            slots: Vec::new(),
            acked: BitRing::default(),
            released: BitRing::default(),
            lost: BitRing::default(),
            countable: BitRing::default(),
            paths: Vec::new(),
            acked_count: 0,
            released_count: 0,
            lost_count: 0,
            lost_low: initial_tsn,
            abandoned_count: 0,
            kept: abandoned::KeptAbandoned::default(),
            lost_unreliable: Vec::new(),
            in_flight_user_bytes: 0,
        }
    }

    /// Lowest TSN not cumulatively acknowledged.
    pub(crate) fn base(&self) -> Tsn {
        self.base
    }

    /// TSN that the next new chunk gets.
    pub(crate) fn next_tsn(&self) -> Tsn {
        self.next
    }

    /// TSNs between the cumulative ack and the highest TSN sent.
    pub(crate) fn span(&self) -> u32 {
        self.next.distance_from(self.base)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.base == self.next
    }

    pub(crate) fn in_flight_user_bytes(&self) -> u64 {
        self.in_flight_user_bytes
    }

    /// Bytes in the send buffer of chunks that were last sent on the path and are not yet released.
    pub(crate) fn unreleased_on(&self, path: PathId) -> BufferBytes {
        self.paths.get(path.index()).map_or_else(BufferBytes::default, |bits| bits.unreleased)
    }

    /// Bytes of what is in flight on a path.
    pub(crate) fn in_flight_on(&self, path: PathId) -> BufferBytes {
        self.paths.get(path.index()).map_or_else(BufferBytes::default, |bits| bits.in_flight)
    }

    pub(crate) fn lost_count(&self) -> u32 {
        self.lost_count
    }

    /// Chunks in flight, and those that were abandoned.
    pub(crate) fn in_flight_count(&self) -> u32 {
        self.span() - self.acked_count - self.lost_count
    }

    /// TSNs acknowledged in gap blocks.
    pub(crate) fn acked_count(&self) -> u32 {
        self.acked_count
    }

    #[inline]
    fn slot_index(&self, tsn: Tsn) -> usize {
        tsn.0 as usize & (self.slots.len() - 1)
    }

    /// Whether `tsn` is outstanding.
    pub(crate) fn contains(&self, tsn: Tsn) -> bool {
        tsn.distance_from(self.base) < self.span()
    }

    pub(crate) fn get(&self, tsn: Tsn) -> &OutstandingChunk {
        debug_assert!(self.contains(tsn));
        &self.slots[self.slot_index(tsn)]
    }

    pub(crate) fn get_mut(&mut self, tsn: Tsn) -> &mut OutstandingChunk {
        debug_assert!(self.contains(tsn));
        let index = self.slot_index(tsn);
        &mut self.slots[index]
    }

    #[inline]
    fn ensure_path(&mut self, path: PathId) {
        if self.paths.len() <= path.index() {
            self.add_paths(path);
        }
    }

    #[cold]
    fn add_paths(&mut self, path: PathId) {
        while self.paths.len() <= path.index() {
            let capacity = self.slots.len();
            self.paths.push(PathBits {
                first: BitRing::with_capacity(capacity),
                again: BitRing::with_capacity(capacity),
                first_low: self.next,
                again_low: self.next,
                has_again: false,
                unreleased: BufferBytes::default(),
                in_flight: BufferBytes::default(),
                released_early: 0,
            });
        }
    }

    /// Adds a chunk that is transmitted for the first time and returns its TSN.
    // In its caller the chunk, which is large, is built where it stays.
    #[inline(always)]
    pub(crate) fn push(&mut self, chunk: OutstandingChunk) -> Tsn {
        if self.span() as usize == self.slots.len() {
            self.grow();
        }
        self.ensure_path(chunk.path);
        let tsn = self.next;
        self.next = tsn.next();
        let buffer_bytes = chunk.buffer_bytes();
        let bits = &mut self.paths[chunk.path.index()];
        bits.first.set(tsn);
        bits.unreleased += buffer_bytes;
        bits.in_flight += buffer_bytes;
        self.countable.set(tsn);
        self.in_flight_user_bytes += buffer_bytes.user_bytes;
        let index = self.slot_index(tsn);
        self.slots[index] = chunk;
        tsn
    }

    #[cold]
    fn grow(&mut self) {
        let old = self.slots.len();
        let capacity = (old * 2).max(INITIAL_CAPACITY);
        let (from, end) = (self.base, self.next);
        let mut slots = Vec::new();
        slots.resize_with(capacity, OutstandingChunk::vacant);
        let mut tsn = from;
        while tsn != end {
            core::mem::swap(
                &mut slots[tsn.0 as usize & (capacity - 1)],
                &mut self.slots[tsn.0 as usize & (old - 1)],
            );
            tsn = tsn.next();
        }
        self.slots = slots;
        for ring in [&mut self.acked, &mut self.released, &mut self.lost, &mut self.countable] {
            *ring = ring.grown(capacity, from, end);
        }
        for path in &mut self.paths {
            path.first = path.first.grown(capacity, from, end);
            path.again = path.again.grown(capacity, from, end);
        }
    }

    /// Gives the memory back if nothing is outstanding.
    pub(crate) fn release_memory(&mut self) {
        if self.is_empty() {
            // No path has unreleased chunks either while nothing is outstanding.
            self.slots = Vec::new();
            self.paths = Vec::new();
            self.lost_unreliable = Vec::new();
            for ring in [&mut self.acked, &mut self.released, &mut self.lost, &mut self.countable] {
                *ring = BitRing::default();
            }
        }
    }

    /// Records a retransmission on `path`. The chunk must have been lost. Missing reports count for it no more.
    pub(crate) fn retransmit(&mut self, tsn: Tsn, path: PathId, now: Instant) {
        self.ensure_path(path);
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        if let Fate::Lost(cause) = chunk.fate {
            chunk.history |= match cause {
                TransmissionCause::TimerRetransmission => History::TIMER_RETRANSMITTED,
                TransmissionCause::DropReport => History::empty(),
                _ => History::FAST_RETRANSMITTED,
            };
        }
        // What is acknowledged from now on answers this transmission.
        chunk.history.remove(History::PROBED);
        chunk.fate = Fate::InFlight;
        self.in_flight_user_bytes += chunk.buffer_bytes().user_bytes;
        self.lost.clear(tsn);
        self.lost_count -= 1;
        self.transmit_again(tsn, path, now);
    }

    /// A chunk that is no longer in flight on the path that it belonged to is sent on `path`, where it now belongs.
    fn transmit_again(&mut self, tsn: Tsn, path: PathId, now: Instant) {
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        let old = core::mem::replace(&mut chunk.path, path);
        if old != path {
            chunk.history |= History::MOVED;
        }
        chunk.transmissions = chunk.transmissions.saturating_add(1);
        chunk.missing_reports = 0;
        chunk.sent_before = self.next;
        chunk.sent_at = now;
        let buffer_bytes = chunk.buffer_bytes();
        let bits = &mut self.paths[old.index()];
        bits.first.clear(tsn);
        bits.again.clear(tsn);
        bits.unreleased -= buffer_bytes;
        let bits = &mut self.paths[path.index()];
        bits.set_again(tsn);
        bits.unreleased += buffer_bytes;
        bits.in_flight += buffer_bytes;
    }

    /// Lets missing reports count for a chunk that was just retransmitted.
    pub(crate) fn count_from_now(&mut self, tsn: Tsn) {
        debug_assert!(self.get(tsn).fate == Fate::InFlight);
        self.countable.set(tsn);
    }

    /// Marks an unacknowledged chunk for retransmission. Returns its path and its bytes of flight if it was in flight.
    pub(crate) fn mark_lost(
        &mut self,
        tsn: Tsn,
        cause: TransmissionCause,
    ) -> Option<(PathId, u32)> {
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        let was_in_flight = chunk.fate == Fate::InFlight;
        match chunk.fate {
            Fate::Acked | Fate::Abandoned => return None,
            Fate::Lost(_) => {
                chunk.fate = Fate::Lost(cause);
                return None;
            }
            Fate::InFlight => chunk.fate = Fate::Lost(cause),
        }
        let (path, flight_bytes) = (chunk.path, chunk.flight_bytes);
        let buffer_bytes = chunk.buffer_bytes();
        self.in_flight_user_bytes -= buffer_bytes.user_bytes;
        self.paths[path.index()].in_flight -= buffer_bytes;
        if chunk.reliability != Reliability::Full {
            self.lost_unreliable.push(tsn);
        }
        self.countable.clear(tsn);
        self.lost.set(tsn);
        self.lost_count += 1;
        if tsn.is_before(self.lost_low) || self.lost_count == 1 {
            self.lost_low = tsn;
        }
        was_in_flight.then_some((path, flight_bytes))
    }

    /// Takes back a gap ack (reneging): the chunk is in flight again, with one missing report. Returns its path and
    /// bytes of flight.
    pub(crate) fn renege(&mut self, tsn: Tsn) -> (PathId, u32) {
        debug_assert!(self.acked.get(tsn));
        self.acked.clear(tsn);
        self.acked_count -= 1;
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        if chunk.fate == Fate::Abandoned {
            return (chunk.path, 0);
        }
        chunk.history |= History::RENEGED;
        chunk.fate = Fate::InFlight;
        chunk.missing_reports = 1;
        let buffer_bytes = chunk.buffer_bytes();
        self.in_flight_user_bytes += buffer_bytes.user_bytes;
        let (path, flight_bytes) = (chunk.path, chunk.flight_bytes);
        let bits = &mut self.paths[path.index()];
        bits.in_flight += buffer_bytes;
        bits.set_again(tsn);
        self.countable.set(tsn);
        (path, flight_bytes)
    }

    /// Takes a chunk that nothing acknowledged before out of what is unacknowledged.
    #[inline(always)]
    fn leave_unacknowledged(&mut self, tsn: Tsn) -> Newly {
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        let buffer_bytes = chunk.buffer_bytes();
        let newly = Newly {
            path: chunk.path,
            flight_bytes: chunk.flight_bytes,
            user_bytes: buffer_bytes.user_bytes as u32,
            transmissions: chunk.transmissions,
            history: chunk.history,
            sent_at: chunk.sent_at,
            was_in_flight: chunk.fate == Fate::InFlight,
            asked_for_sack: chunk.flags.contains(DataFlags::IMMEDIATE),
        };
        chunk.history |= History::CREDITED;
        let bits = &mut self.paths[newly.path.index()];
        if newly.was_in_flight {
            self.in_flight_user_bytes -= buffer_bytes.user_bytes;
            bits.in_flight -= buffer_bytes;
        } else {
            self.lost.clear(tsn);
            self.lost_count -= 1;
        }
        self.countable.clear(tsn);
        bits.first.clear(tsn);
        if bits.has_again {
            bits.again.clear(tsn);
        }
        newly
    }

    /// Acknowledges `tsn` in a gap block of a SACK that came over `arrival`; it must not be acknowledged yet. Nothing is new
    /// about a chunk that was abandoned.
    pub(crate) fn gap_ack(&mut self, tsn: Tsn, arrival: PathId) -> Option<Newly> {
        let newly = (!self.is_abandoned(tsn)).then(|| self.leave_unacknowledged(tsn));
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        if newly.is_some() {
            chunk.fate = Fate::Acked;
        }
        chunk.acked_over = arrival;
        self.acked.set(tsn);
        self.acked_count += 1;
        newly
    }

    /// Removes the lowest chunk; there must be one.
    // Part of the one caller: most chunks leave here, and what is known of them need not be handed over in memory.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Popped {
        let tsn = self.base;
        let OutstandingChunk { fate, history, .. } = *self.get(tsn);
        let newly = match fate {
            Fate::InFlight | Fate::Lost(_) => Some(self.leave_unacknowledged(tsn)),
            Fate::Acked => {
                self.forget_acked(tsn);
                None
            }
            Fate::Abandoned => {
                self.abandoned_count -= 1;
                if self.acked.get(tsn) {
                    self.forget_acked(tsn);
                }
                None
            }
        };
        let released = self.empty(tsn);
        self.base = tsn.next();
        Popped { released, history, newly }
    }

    /// Takes the mark of a gap block away from a chunk that is no longer outstanding.
    fn forget_acked(&mut self, tsn: Tsn) {
        self.acked.clear(tsn);
        self.acked_count -= 1;
        if self.released.get(tsn) {
            self.forget_released(tsn);
        }
    }

    /// Takes the user data out of a chunk's slot. Returns what it took in the send buffer, nothing the second time.
    #[inline(always)]
    fn empty(&mut self, tsn: Tsn) -> BufferBytes {
        let index = self.slot_index(tsn);
        let chunk = &mut self.slots[index];
        let released = chunk.buffer_bytes();
        chunk.payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: 0 });
        chunk.cost = 0;
        self.paths[chunk.path.index()].unreleased -= released;
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_window_gives_its_memory_back_and_takes_it_again() {
        let mut outstanding = OutstandingData::new(Tsn(u32::MAX - 150));
        assert_eq!(outstanding.slots.capacity(), 0);
        for round in 0..3 {
            for _ in 0..100 {
                outstanding
                    .push(OutstandingChunk { path: PathId(1), ..OutstandingChunk::vacant() });
            }
            outstanding.release_memory();
            assert_eq!(outstanding.span(), 100, "round {round}: what is outstanding stays");
            assert_eq!(outstanding.lowest_on(PathId(1)), (Some(outstanding.base()), None));
            while !outstanding.is_empty() {
                outstanding.pop();
            }
            outstanding.release_memory();
            assert_eq!((outstanding.slots.capacity(), outstanding.paths.capacity()), (0, 0));
            assert_eq!(outstanding.lowest_on(PathId(1)), (None, None));
        }
    }
}
