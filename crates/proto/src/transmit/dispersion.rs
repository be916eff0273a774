//! How fast the bottleneck of a path passes packets on, measured by those that left together and arrived apart (packet trains;
//! Dovrolis, Ramanathan, Moore 2001, "What do packet dispersion techniques measure?").
//!
//! The delivery rate of a flow that sends little is a flight per round trip, however fast the path is. But within a flight,
//! packets leave at one instant, and the bottleneck spreads them: the time between two SACKs of the path is the time that it took to pass
//! on what the second one acknowledges.
//!
//! A peer that acknowledges every second packet keeps the last one of an odd number for as long as it delays SACKs. That is no time
//! of the path: a SACK that acknowledges less than the one before counts only where its packet asked for it (RFC 7053).

use core::num::NonZeroU64;

use crate::Instant;

/// What the trains of one path have shown.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dispersion {
    train: Option<Train>,
    /// The newest chunk that the present SACK acknowledges.
    newest: Option<NewestAcked>,
    /// Bytes per second.
    rate: Option<NonZeroU64>,
}

/// A chunk that was sent only once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct NewestAcked {
    sent_at: Instant,
    asked_for_sack: bool,
}

/// SACKs over the path for packets that were sent before the first of these SACKs arrived.
#[derive(Clone, Copy, Debug)]
struct Train {
    /// When its first SACK arrived, and when the newest chunk was sent that it acknowledged.
    arrived: Instant,
    sent: Instant,
    /// Acknowledged since then, and by the last SACK.
    bytes: u32,
    last_bytes: u32,
    /// What was known before.
    before: Option<NonZeroU64>,
}

impl Dispersion {
    /// Bytes per second that the bottleneck passes on, once a train has been measured.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.rate.map(NonZeroU64::get)
    }

    /// The present SACK tells of a chunk that was sent at this time, and only once: it is the first to acknowledge it, or reports it as a
    /// duplicate of its copy. `asked_for_sack` if the peer was not to delay the SACK.
    pub(crate) fn on_chunk_acked(&mut self, sent_at: Instant, asked_for_sack: bool) {
        self.newest = self.newest.max(Some(NewestAcked { sent_at, asked_for_sack }));
    }

    /// When the newest chunk was sent that the present SACK acknowledges.
    pub(crate) fn newest(&self) -> Option<Instant> {
        self.newest.map(|newest| newest.sent_at)
    }

    /// What arrives next cannot be told from what came before.
    pub(crate) fn end_train(&mut self) {
        self.train = None;
    }

    /// The present SACK came over another path.
    pub(crate) fn forget_newest(&mut self) {
        self.newest = None;
    }

    /// The present SACK came over the path, and is the first over it to tell of so many bytes.
    pub(crate) fn on_sack(&mut self, now: Instant, bytes: u64) {
        // What another path may have brought is not counted here; the peer reports it when it comes.
        let Some(newest) = self.newest.take() else { return };
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        match &mut self.train {
            Some(train) if now == train.arrived => {
                train.sent = train.sent.max(newest.sent_at);
                train.last_bytes = train.last_bytes.max(bytes);
            }
            Some(train) if newest.sent_at < train.arrived => {
                let may_have_waited = bytes < train.last_bytes && !newest.asked_for_sack;
                train.bytes = train.bytes.saturating_add(bytes);
                train.last_bytes = bytes;
                let train = *train;
                if !may_have_waited {
                    self.learn(now, newest.sent_at, &train);
                }
            }
            train => {
                let before = self.rate;
                let (arrived, sent) = (now, newest.sent_at);
                *train = Some(Train { arrived, sent, bytes: 0, last_bytes: bytes, before });
            }
        }
    }

    fn learn(&mut self, now: Instant, newest: Instant, train: &Train) {
        let (arriving, sending) = (now.since(train.arrived), newest.since(train.sent));
        let time = u128::from(arriving.max(sending).as_nanos());
        if time == 0 {
            return;
        }
        let seen = u128::from(train.bytes) * 1_000_000_000 / time;
        let seen = u64::try_from(seen).unwrap_or(u64::MAX);
        // What was sent no faster than it arrived shows only that the path is no slower.
        let is_spread = sending < arriving - arriving / 8;
        let before = train.before.map(NonZeroU64::get);
        let rate = match (self.rate(), before) {
            (_, Some(before)) if is_spread => before - before / 4 + seen / 4,
            (Some(rate), _) if !is_spread => rate.max(seen),
            _ if is_spread => seen,
            _ => return,
        };
        self.rate = NonZeroU64::new(rate.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Duration;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(1) + Duration::from_micros(micros)
    }

    /// Pairs of packets of 1,000 bytes that were sent in these microseconds, and their SACKs.
    fn heard(pairs: &[(u64, u64)]) -> Dispersion {
        let mut dispersion = Dispersion::default();
        for &(sent, arrived) in pairs {
            dispersion.on_chunk_acked(at(sent), false);
            dispersion.on_sack(at(arrived), 2000);
        }
        dispersion
    }

    #[test]
    fn packets_that_left_together_tell_the_bottleneck() {
        for (what, pairs, rate) in [
            ("one SACK", &[(0, 50_000)][..], None),
            ("2,000 bytes in 2 ms", &[(0, 50_000), (0, 52_000)], Some(1_000_000)),
            ("4,000 in 8 ms", &[(0, 50_000), (0, 52_000), (0, 58_000)], Some(500_000)),
            ("SACKs in one lump", &[(0, 50_000), (0, 50_000)], None),
            (
                "what came with the first SACK says nothing of the time after it",
                &[(0, 50_000), (0, 50_000), (0, 52_000)],
                Some(1_000_000),
            ),
            (
                "whenever it was sent",
                &[(0, 50_000), (1900, 50_000), (1900, 52_000)],
                Some(1_000_000),
            ),
            (
                "what is sent after the first SACK is another train",
                &[(0, 50_000), (50_000, 99_000)],
                None,
            ),
            ("packets that were sent as slowly", &[(0, 50_000), (2000, 52_000)], None),
        ] {
            assert_eq!(heard(pairs).rate(), rate, "{what}");
        }
    }

    #[test]
    fn later_trains_count_for_a_quarter_and_faster_ones_at_once() {
        let mut dispersion = heard(&[(0, 50_000), (0, 52_000)]);
        let mut train = |sent: u64, spread: u64, arriving: u64| {
            for (sent, arrived) in
                [(sent, sent + 50_000), (sent + spread, sent + 50_000 + arriving)]
            {
                dispersion.on_chunk_acked(at(sent), false);
                dispersion.on_sack(at(arrived), 2000);
            }
            dispersion.rate().unwrap()
        };
        assert_eq!(train(100_000, 0, 4000), 875_000, "500,000 for a quarter");
        assert_eq!(train(200_000, 1900, 2000), 1_000_000, "no slower than it was sent");
        assert_eq!(train(300_000, 3900, 4000), 1_000_000, "which says nothing of more");
    }

    #[test]
    fn a_sack_over_another_path_says_nothing_of_when_data_arrived() {
        let mut dispersion = heard(&[(0, 50_000)]);
        dispersion.on_chunk_acked(at(0), false);
        dispersion.forget_newest();
        assert_eq!(dispersion.newest(), None);
        dispersion.on_chunk_acked(at(0), false);
        dispersion.on_sack(at(52_000), 4000);
        assert_eq!(dispersion.rate(), Some(2_000_000), "with those that it had acknowledged");
    }

    #[test]
    fn what_a_copy_brought_ends_no_train() {
        let mut dispersion = heard(&[(0, 50_000)]);
        dispersion.on_sack(at(51_000), 2000);
        dispersion.on_chunk_acked(at(0), false);
        dispersion.on_sack(at(52_000), 2000);
        assert_eq!(dispersion.rate(), Some(1_000_000));
    }

    /// 2,000 bytes each but for the last SACK, of which the packet asked for it or not.
    #[test]
    fn the_delay_of_a_sack_is_no_time_of_the_path() {
        for (what, last_bytes, asked, rate) in [
            ("a full SACK", 2000, false, 19_801),
            ("one for a single packet may have waited", 1000, false, 1_000_000),
            ("unless it was asked for", 1000, true, 14_851),
        ] {
            let mut dispersion = heard(&[(0, 50_000), (0, 52_000)]);
            dispersion.on_chunk_acked(at(0), asked);
            dispersion.on_sack(at(252_000), last_bytes);
            assert_eq!(dispersion.rate(), Some(rate), "{what}");
        }
    }
}
