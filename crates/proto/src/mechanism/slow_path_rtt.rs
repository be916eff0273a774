//! The SACKs that measure the round-trip time of a path.
//!
//! SACKs return over the path of the last data, so a chunk is often acknowledged over another path than its own: the
//! time until then is neither path's round trip (`sarwar` section IV-C and fig. 7). INET uses only samples whose SACK
//! arrived over the chunk's path, and with `cmtSlowPathRTTUpdate` waits for such a SACK if another one was faster;
//! usrsctp and ns-2 use any.

use polypath_wire::GapAckBlocks;

use crate::config::RttSample;
use crate::types::TimedChunk;
use crate::{Duration, Instant, Tsn};

/// The path of a SACK, relative to a chunk that it acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Return {
    /// The path that the chunk was sent on.
    OwnPath,
    /// Another.
    OtherPath,
}

/// A chunk that was sent once and whose round trip is not known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Awaited {
    pub(crate) tsn: Tsn,
    pub(crate) chunk: TimedChunk,
}

/// A pause of this part of the time until the answer says that it answers something else.
const PAUSE: u64 = 8;

/// What becomes of a measurement when its chunk is acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Measure {
    /// It gives a sample now.
    Sample,
    /// It waits for a SACK over the chunk's own path.
    Await(Awaited),
    /// Nothing.
    Nothing,
}

/// What a SACK does to a measurement that waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaiting {
    /// It gives the sample.
    Sample,
    /// It is still waiting.
    GoesOn,
    /// It has waited too long.
    Over,
}

/// The chunk of a measurement was acknowledged for the first time.
pub(crate) fn on_acked(policy: RttSample, returned: Return, chunk: Awaited) -> Measure {
    match (policy, returned) {
        (RttSample::Classic, _) | (_, Return::OwnPath) => Measure::Sample,
        (RttSample::PathBound, Return::OtherPath) => Measure::Nothing,
        (RttSample::SlowPathUpdate, Return::OtherPath) => Measure::Await(chunk),
    }
}

impl Awaited {
    /// A SACK arrived over the chunk's own path. If it is the first to acknowledge what was sent there `later`, or may be, it answers
    /// that: the receiver delayed its SACK for the chunk and sent it over the path of what came next, or it was lost. To take this one
    /// would measure the pause between both. So would one after `patience`.
    pub(crate) fn on_sack(
        &self,
        cumulative: Tsn,
        blocks: &GapAckBlocks<'_>,
        now: Instant,
        patience: Duration,
        later: Option<Instant>,
    ) -> Awaiting {
        let answered = now.since(self.chunk.sent_at);
        let pause = later.map_or(Duration::ZERO, |later| later.since(self.chunk.sent_at));
        if pause > answered / PAUSE || answered > patience {
            return Awaiting::Over;
        }
        let offset = self.tsn.distance_from(cumulative);
        let covered = self.tsn.is_at_or_before(cumulative)
            || blocks.iter().any(|b| (u32::from(b.start)..=u32::from(b.end)).contains(&offset));
        if covered { Awaiting::Sample } else { Awaiting::GoesOn }
    }
}

#[cfg(test)]
mod tests {
    use polypath_wire::GapAckBlock;

    use super::*;

    const AT: fn(u64) -> Instant = |ms| Instant::from_nanos(ms * 1_000_000);

    const fn sent(sent_at: Instant) -> TimedChunk {
        TimedChunk { sent_at, flight_bytes: 1000, was_copied: false }
    }

    #[test]
    fn who_samples_when() {
        use RttSample::{Classic, PathBound, SlowPathUpdate};
        let chunk = Awaited { tsn: Tsn(7), chunk: sent(AT(3)) };
        for (policy, returned, expected) in [
            (Classic, Return::OwnPath, Measure::Sample),
            (Classic, Return::OtherPath, Measure::Sample),
            (PathBound, Return::OwnPath, Measure::Sample),
            (PathBound, Return::OtherPath, Measure::Nothing),
            (SlowPathUpdate, Return::OwnPath, Measure::Sample),
            (SlowPathUpdate, Return::OtherPath, Measure::Await(chunk)),
        ] {
            assert_eq!(on_acked(policy, returned, chunk), expected, "{policy:?} {returned:?}");
        }
    }

    #[test]
    fn a_sack_that_covers_the_chunk_measures_it() {
        let blocks = GapAckBlocks::Owned(
            [GapAckBlock { start: 2, end: 3 }, GapAckBlock { start: 6, end: 6 }]
                .into_iter()
                .collect(),
        );
        for (cumulative, tsn, covered) in [
            (10, 10, true),
            (10, 9, true),
            (10, 11, false),
            (10, 12, true),
            (10, 13, true),
            (10, 14, false),
            (10, 16, true),
            (10, 17, false),
            (u32::MAX - 1, 0, true),
            (u32::MAX - 1, u32::MAX, false),
            (1, u32::MAX, true),
            (u32::MAX, 5, true),
        ] {
            let awaited = Awaited { tsn: Tsn(tsn), chunk: sent(AT(0)) };
            let (now, patience) = (AT(1000), Duration::from_secs(1));
            let expected = if covered { Awaiting::Sample } else { Awaiting::GoesOn };
            let on_sack =
                |now, later| awaited.on_sack(Tsn(cumulative), &blocks, now, patience, later);
            for later in [None, Some(AT(0)), Some(AT(125))] {
                assert_eq!(on_sack(now, later), expected, "{tsn} {later:?}");
            }
            assert_eq!(on_sack(now, Some(AT(126))), Awaiting::Over, "it answers later data");
            let late = on_sack(AT(1001), None);
            assert_eq!(late, Awaiting::Over);
        }
    }
}
