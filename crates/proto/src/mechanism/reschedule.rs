//! Chunk rescheduling: a chunk that blocks the buffers is retransmitted on a path that waits for it.
//!
//! `dreibholz-asymmetric` section IV-C and fig. 2; INET: `cmtChunkReschedulingVariant`,
//! `cmtChunkReschedulingThreshold`. Chunks that a path has delivered stay in the send buffer, and ordered ones in the
//! receive buffer, until every TSN below them has arrived. When they fill more than part of the path's share, the
//! lowest missing chunk is retransmitted on this path.
//!
//! NR-SACK also frees the send buffer of ordered chunks, if the receiver promises to keep all of them, but not the
//! receive buffer (section VI-C): then only the receiver's test detects blocking.
//!
//! The test is made whenever a path could send, and the chunk is sent at once. The only state is the time until which a
//! path that a chunk has left carries no new data ([`NewDataBan`]).

use crate::config::{
    BufferSplit, OldPathPays, Reschedule, RescheduleConditions, RescheduleFor, RescheduleSide,
};
use crate::types::BufferBytes;
use crate::{Delivery, Duration, Instant};

/// What a path that could send has in the buffers, in bytes of user data; where the send buffer is concerned, as it counts
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockingView {
    /// Size of the send buffer.
    pub(crate) send_buffer: u64,
    /// What is left of the peer's receive window, outstanding data deducted.
    pub(crate) peer_window: u64,
    /// Sent on any path and not yet released.
    pub(crate) unreleased_on_all: u64,
    /// Paths among which buffers are split, if they are.
    pub(crate) paths: u32,
    /// Sent on the path and not yet released.
    pub(crate) unreleased: BufferBytes,
    /// In flight on the path.
    pub(crate) in_flight: BufferBytes,
    /// Bytes sent on the path that were released early (NR-SACK) but that the receiver holds back.
    pub(crate) released_early: u64,
    /// The same of all paths.
    pub(crate) released_early_on_all: u64,
}

/// Whether the path's delivered data blocks so much of a buffer that a chunk should move to it.
pub(crate) fn blocks(policy: &Reschedule, split: BufferSplit, view: &BlockingView) -> bool {
    let (unreleased, in_flight) = (view.unreleased, view.in_flight);
    let beyond = |delivered: u64, buffer: u64, share: u32| {
        delivered as f64 > policy.threshold * buffer as f64 / f64::from(share.max(1))
    };
    let share = |is_split: bool| if is_split { view.paths } else { 1 };
    let sender = || {
        let is_split = matches!(split, BufferSplit::Sender | BufferSplit::Both);
        let delivered = unreleased.cost.saturating_sub(in_flight.cost);
        beyond(delivered, view.send_buffer, share(is_split))
    };
    let receiver = || {
        let is_split = matches!(split, BufferSplit::Receiver | BufferSplit::Both);
        let delivered =
            unreleased.user_bytes.saturating_sub(in_flight.user_bytes) + view.released_early;
        let buffer =
            view.peer_window.saturating_add(view.unreleased_on_all + view.released_early_on_all);
        beyond(delivered, buffer, share(is_split))
    };
    match policy.side {
        RescheduleSide::None => false,
        RescheduleSide::Sender => sender(),
        RescheduleSide::Receiver => receiver(),
        RescheduleSide::Both => sender() || receiver(),
    }
}

/// Where a chunk was sent last, as seen from the path that would take it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LastSent {
    /// On that path.
    Here,
    /// On another one.
    Elsewhere,
}

/// A chunk that was sent so often does not move, but waits for T3-rtx.
const MOST_TRANSMISSIONS: u16 = 8;

/// State of a path that would take a chunk, or that a chunk leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct PathState {
    /// The path, or the association where fast recovery is association-wide, is in fast recovery.
    pub(crate) in_fast_recovery: bool,
    /// The path takes no new data, because a chunk left it for another path ([`NewDataBan`]).
    pub(crate) is_banned: bool,
}

/// The lowest chunk that is missing, and the path that would take it. The chunk is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ChunkView {
    /// Whether its message is ordered.
    pub(crate) delivery: Delivery,
    pub(crate) last_sent: LastSent,
    /// Whether it was rescheduled before.
    pub(crate) was_rescheduled: bool,
    /// How often it was sent.
    pub(crate) transmissions: u16,
    /// Time since its last transmission.
    pub(crate) age: Duration,
    /// Round-trip time of the path of that transmission.
    pub(crate) its_rtt: Duration,
    /// How much later than that its answer may come.
    pub(crate) allowed: Duration,
    /// Round-trip time of the path that would take it.
    pub(crate) new_rtt: Duration,
    /// Time until the other paths have filled the buffers, if the chunk stays missing.
    pub(crate) until_full: Duration,
    /// State of that path.
    pub(crate) new_path: PathState,
}

/// Whether the chunk may move to the path.
///
/// The paper has no further condition. But a chunk that has just moved gets the time to arrive before it moves again;
/// otherwise paths that wait for the same chunk would exchange it endlessly. That time is never zero: if the clock is
/// coarser than a round trip, a chunk moves again at the next tick at the earliest, so that sending at one instant
/// ends. A chunk that was sent [`MOST_TRANSMISSIONS`] times is not merely late: each move restarts T3-rtx, which would
/// never expire and detect that no path carries so large a packet.
pub(crate) fn may_move(policy: &Reschedule, chunk: &ChunkView) -> bool {
    if policy.traffic == RescheduleFor::Ordered && chunk.delivery == Delivery::Unordered {
        return false;
    }
    match policy.conditions {
        RescheduleConditions::Paper => may_move_by_the_paper(chunk),
        RescheduleConditions::Stall => may_move_by_the_paper(chunk) && stalls(chunk),
        RescheduleConditions::Inet => {
            !chunk.was_rescheduled
                && !chunk.new_path.in_fast_recovery
                && !chunk.new_path.is_banned
                && (chunk.last_sent == LastSent::Elsewhere || chunk.age > chunk.new_rtt * 2)
        }
    }
}

fn may_move_by_the_paper(chunk: &ChunkView) -> bool {
    chunk.last_sent == LastSent::Elsewhere
        && chunk.transmissions < MOST_TRANSMISSIONS
        && (!chunk.was_rescheduled || chunk.age >= chunk.its_rtt && !chunk.age.is_zero())
}

/// Whether leaving the chunk on its path has a cost: it is later than answers may be there, or than the buffers have room for what
/// waits for it; or it will be acknowledged after the buffers are full, and the other path answers sooner. Moving it for less costs the capacity of the path that it leaves. A chunk
/// that was lost before may be lost again, and moves to a slower path, too.
fn stalls(chunk: &ChunkView) -> bool {
    let remaining = chunk.its_rtt - chunk.age;
    let allowed = match chunk.new_rtt < chunk.its_rtt {
        // So that it arrives before the buffers are full.
        true => chunk.allowed.min(chunk.until_full - chunk.new_rtt),
        false => chunk.allowed,
    };
    let is_late = chunk.age >= chunk.its_rtt + allowed;
    let gains = chunk.transmissions > 1 || remaining > chunk.new_rtt;
    is_late || gains && remaining > chunk.until_full
}

/// What the path pays that a chunk leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Payment {
    /// The chunk's size.
    Size,
    /// Half its congestion window, and it enters fast recovery.
    Half,
    /// It takes no new data for a round-trip time.
    Block,
    /// Nothing: it has paid.
    Nothing,
}

/// What a path pays that is in this state when a chunk leaves it. A path in fast recovery has halved its window for this
/// round trip already; INET then keeps new data from it for a round-trip time, once.
pub(crate) fn payment(policy: &Reschedule, old_path: PathState) -> Payment {
    match policy.old_path {
        OldPathPays::ChunkSize => Payment::Size,
        OldPathPays::Half if !old_path.in_fast_recovery => Payment::Half,
        OldPathPays::Half => match policy.conditions {
            RescheduleConditions::Inet if !old_path.is_banned => Payment::Block,
            _ => Payment::Nothing,
        },
    }
}

/// Congestion window of the path that a chunk of `flight_bytes` leaves: the transmission may still be on its way there,
/// which the path's count of outstanding bytes no longer knows.
pub(crate) fn cwnd_without(cwnd: u64, flight_bytes: u32, unit: u64) -> u64 {
    cwnd.saturating_sub(flight_bytes.into()).max(unit.min(cwnd))
}

/// Keeps new data off a path for one round-trip time after a chunk has left it for another path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct NewDataBan {
    until: Option<Instant>,
}

impl NewDataBan {
    /// Begins the ban, or begins it again. It ends one round-trip time after `now`.
    pub(crate) fn begin(&mut self, now: Instant, round_trip: Duration) {
        self.until = Some(now + round_trip);
    }

    /// Ends the ban.
    pub(crate) fn lift(&mut self) {
        self.until = None;
    }

    /// Whether the path must not carry new data at `now`.
    pub(crate) fn is_active(&self, now: Instant) -> bool {
        self.until > Some(now)
    }

    /// When the ban ends, if there is one.
    pub(crate) fn ends_at(&self) -> Option<Instant> {
        self.until
    }
}

#[cfg(test)]
mod tests;
