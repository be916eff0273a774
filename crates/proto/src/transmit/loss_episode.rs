//! Whether what counted as lost has arrived after all.
//!
//! Reordering looks like loss, and so does a delay that is longer than the retransmission timeout. Without timestamps a
//! sender can still tell: a chunk that is acknowledged before it was retransmitted was never lost, and neither was one that is
//! acknowledged so soon after its retransmission that only the original can be meant (after RFC 3522). Where every chunk of
//! an episode is found to have arrived, the episode was spurious. Chunks that were retransmitted on another path prove nothing.

use crate::transmit::outstanding::{History, Newly};
use crate::{Duration, Instant};

/// The losses of one path from the first until a SACK finds it recovered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LossEpisode {
    /// Chunks that counted as lost.
    lost: u32,
    /// Those of them that have arrived.
    arrived: u32,
    /// When the controller was told of the first; retransmissions are later.
    since: Option<Instant>,
    /// The next loss begins another episode.
    is_over: bool,
    /// Tells episodes apart.
    number: u32,
}

impl LossEpisode {
    /// A chunk is lost. Returns the number of the episode.
    pub(crate) fn on_lost(&mut self) -> u32 {
        if self.is_over {
            self.begin_anew();
        }
        self.lost = self.lost.saturating_add(1);
        self.number
    }

    fn begin_anew(&mut self) {
        *self = Self { number: self.number.wrapping_add(1), ..Self::default() };
    }

    /// Notes that the controller was told of a loss.
    pub(crate) fn on_told(&mut self, now: Instant) {
        self.since = self.since.or(Some(now));
    }

    /// A chunk is acknowledged, on a path with this shortest round trip.
    pub(crate) fn on_acked(&mut self, now: Instant, newly: &Newly, shortest: Option<Duration>) {
        let is_original = if newly.was_in_flight {
            newly.transmissions == 2
                && !newly.history.contains(History::MOVED)
                && self.since.is_some_and(|since| since <= newly.sent_at)
                && shortest.is_some_and(|shortest| now.since(newly.sent_at) < shortest / 2)
        } else {
            newly.transmissions == 1
        };
        if is_original {
            self.on_arrived(self.number);
        }
    }

    /// A chunk that was lost in the episode of that number has arrived. The caller reports each chunk once.
    pub(crate) fn on_arrived(&mut self, episode: u32) {
        if episode == self.number && self.arrived < self.lost {
            self.arrived += 1;
        }
    }

    /// How many chunks counted as lost, if all of them have arrived; said once.
    pub(crate) fn take_spurious(&mut self) -> Option<u32> {
        let Self { lost, arrived, .. } = *self;
        if lost == 0 || arrived < lost {
            return None;
        }
        self.begin_anew();
        Some(lost)
    }

    /// A SACK finds the path out of fast recovery and reports nothing lost.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PathId;

    const RTT: Option<Duration> = Some(Duration::from_millis(100));

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A chunk that was sent so often, last at that time.
    fn chunk(transmissions: u16, sent_at: Instant) -> Newly {
        Newly {
            path: PathId(0),
            flight_bytes: 1000,
            user_bytes: 1000,
            transmissions,
            history: History::empty(),
            sent_at,
            was_in_flight: true,
            asked_for_sack: false,
        }
    }

    fn lost(chunks: u32) -> LossEpisode {
        let mut episode = LossEpisode::default();
        (0..chunks).for_each(|_| {
            episode.on_lost();
        });
        episode.on_told(ms(500));
        episode
    }

    #[test]
    fn what_proves_that_a_chunk_was_not_lost() {
        let waiting = Newly { was_in_flight: false, ..chunk(1, ms(300)) };
        let moved = Newly { history: History::MOVED, ..chunk(2, ms(500)) };
        for (what, newly, now, proves) in [
            ("acknowledged before it was sent again", waiting, 530, true),
            ("acknowledged at once after it was sent again", chunk(2, ms(500)), 549, true),
            ("half a round trip after it", chunk(2, ms(500)), 550, false),
            ("sent again before this episode", chunk(2, ms(499)), 501, false),
            ("sent again twice", chunk(3, ms(500)), 501, false),
            ("sent again on another path", moved, 501, false),
            ("never lost", chunk(1, ms(450)), 501, false),
        ] {
            let mut episode = lost(1);
            episode.on_acked(ms(now), &newly, RTT);
            assert_eq!(episode.take_spurious(), proves.then_some(1), "{what}");
        }
    }

    #[test]
    fn every_chunk_must_have_arrived() {
        let mut episode = lost(2);
        episode.on_acked(ms(510), &chunk(2, ms(500)), RTT);
        assert_eq!(episode.take_spurious(), None);
        episode.end();
        episode.on_acked(ms(520), &chunk(2, ms(500)), RTT);
        assert_eq!(episode.take_spurious(), Some(2), "also after recovery");
        assert_eq!(episode.take_spurious(), None, "once");
    }

    #[test]
    fn another_loss_after_recovery_is_another_episode() {
        let mut episode = lost(2);
        episode.end();
        episode.on_lost();
        episode.on_told(ms(900));
        episode.on_acked(ms(910), &chunk(2, ms(900)), RTT);
        assert_eq!(episode.take_spurious(), Some(1));
    }

    #[test]
    fn what_arrived_before_anything_was_lost_proves_nothing() {
        let mut episode = LossEpisode::default();
        // A chunk that was dropped on the way counts in no episode.
        episode.on_acked(ms(400), &Newly { was_in_flight: false, ..chunk(1, ms(300)) }, RTT);
        episode.on_lost();
        assert_eq!(episode.take_spurious(), None);
    }

    #[test]
    fn what_arrives_of_an_earlier_episode_proves_nothing_of_this_one() {
        let mut episode = LossEpisode::default();
        let first = episode.on_lost();
        episode.end();
        let second = episode.on_lost();
        episode.on_arrived(first);
        assert_eq!(episode.take_spurious(), None);
        episode.on_arrived(second);
        assert_eq!(episode.take_spurious(), Some(1));
        episode.on_arrived(second);
        assert_eq!(episode.take_spurious(), None, "once");
    }

    #[test]
    fn without_a_round_trip_nothing_is_proved() {
        let mut episode = lost(1);
        episode.on_acked(ms(500), &chunk(2, ms(500)), None);
        assert_eq!(episode.take_spurious(), None);
    }
}
