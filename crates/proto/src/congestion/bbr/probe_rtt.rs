//! ProbeRTT: for 200 ms and a round, so little is in flight that the queue drains (section 5.3.4).

use crate::{Duration, Instant};

/// BBR.ProbeRTTDuration.
const TIME: Duration = Duration::from_millis(200);

/// State of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ProbeRtt {
    /// When it is over, from when so little is in flight.
    done_at: Option<Instant>,
    has_round: bool,
    /// Samples of data sent before this much was delivered are low on purpose.
    pub(super) low_until: u64,
}

/// What an acknowledgement means for the look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// There is little enough in flight: a round begins.
    Begins,
    GoesOn,
    Ends,
}

impl ProbeRtt {
    pub(super) fn begin(&mut self) {
        (self.done_at, self.has_round) = (None, false);
    }

    /// An acknowledgement leaves `flight` bytes in flight of `most` allowed.
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        round_starts: bool,
        flight: u64,
        most: u64,
    ) -> Step {
        match self.done_at {
            None if flight <= most => {
                (self.done_at, self.has_round) = (Some(now + TIME), false);
                Step::Begins
            }
            None => Step::GoesOn,
            Some(_) => {
                self.has_round |= round_starts;
                match self.has_round && self.is_done(now) {
                    true => Step::Ends,
                    false => Step::GoesOn,
                }
            }
        }
    }

    /// Whether the time is up.
    pub(super) fn is_done(&self, now: Instant) -> bool {
        self.done_at.is_some_and(|done_at| now > done_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasts_for_its_time_and_a_round() {
        let mut look = ProbeRtt::default();
        look.begin();
        for (ms, round_starts, flight, step) in [
            (0, true, 5001, Step::GoesOn),
            (10, false, 5000, Step::Begins),
            (20, false, 6000, Step::GoesOn),
            (210, true, 5000, Step::GoesOn),
            (211, false, 5000, Step::Ends),
        ] {
            let now = Instant::ZERO + Duration::from_millis(ms);
            assert_eq!(look.on_ack(now, round_starts, flight, 5000), step, "{ms}");
        }
        look.begin();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        look.on_ack(at(0), false, 0, 5000);
        assert_eq!(look.on_ack(at(900), false, 0, 5000), Step::GoesOn, "no round yet");
        assert_eq!(look.on_ack(at(901), true, 0, 5000), Step::Ends);
    }
}
