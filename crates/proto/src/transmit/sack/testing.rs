//! Helpers for tests of everything that reads SACKs.

use polypath_wire::{DataFlags, GapAckBlock, GapAckBlocks, Payload, VirtualPayload};

use super::{AckDelta, Report, Silence, Withdrawn, apply_to, withdraw};
use crate::config::StaleSack;
use crate::extension::nr_sack::Release;
use crate::transmit::outstanding::{History, Newly, OutstandingChunk, OutstandingData};
use crate::transmit::partial_reliability::Reliability;
use crate::types::{Fate, PathDelta};
use crate::{Instant, PathId, Tsn};

/// Gap ack blocks from pairs of offsets.
pub(crate) fn blocks(pairs: &[(u16, u16)]) -> GapAckBlocks<'static> {
    GapAckBlocks::Owned(pairs.iter().map(|&(start, end)| GapAckBlock { start, end }).collect())
}

/// A SACK that came over path 0.
pub(crate) fn report<'a>(cumulative: Tsn, blocks: &'a GapAckBlocks<'a>) -> Report<'a> {
    Report { cumulative, blocks, release: Release::Nothing, arrival: PathId(0) }
}

/// Applies a report and says what that changed.
pub(crate) fn apply(
    outstanding: &mut OutstandingData,
    report: &Report<'_>,
    timed: &[Option<Tsn>],
    on_newly: impl FnMut(Tsn, &Newly),
) -> AckDelta {
    let mut delta = AckDelta::default();
    let entry = |timed: &Option<Tsn>| PathDelta { timed: *timed, ..PathDelta::default() };
    delta.paths.extend(timed.iter().map(entry));
    apply_to(outstanding, report, &mut delta, on_newly);
    delta
}

/// Puts back into flight what a report withdraws that was applied.
pub(crate) fn take_back(
    outstanding: &mut OutstandingData,
    report: &Report<'_>,
    delta: &AckDelta,
    policy: StaleSack,
    on_reneged: impl FnMut(PathId, u32),
) -> Withdrawn {
    let silence = Silence::of(report, outstanding);
    withdraw(outstanding, report, delta, &silence, policy, on_reneged)
}

/// A chunk of `user_bytes` about to be sent on `path` at time zero; it counts 16 bytes more in flight.
pub(crate) fn chunk(path: u8, user_bytes: u32) -> OutstandingChunk {
    OutstandingChunk {
        payload: Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: user_bytes }),
        flags: DataFlags::BEGIN | DataFlags::END,
        stream: 0,
        number: 0,
        ppid: 0,
        path: PathId(path),
        fate: Fate::InFlight,
        history: History::empty(),
        transmissions: 1,
        missing_reports: 0,
        acked_over: PathId(path),
        sent_before: Tsn(0),
        flight_bytes: user_bytes + 16,
        context: 0,
        cost: user_bytes,
        released_early: 0,
        sent_at: Instant::ZERO,
        reliability: Reliability::Full,
    }
}
