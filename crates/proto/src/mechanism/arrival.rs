//! When data that is sent over a path arrives, alone and beside another path, if all that is sent later waits for it.
//!
//! Paths with losses cannot be compared by what each of them takes on average. Path A has 20 ms and loses something of every second
//! window, which the repair delays by another 20 ms; path B has 30 ms and loses nothing. On average the data of each arrives after 30 ms.
//! But together they take 35 ms: half of the windows wait for the slower path, the other half for the repair.
//!
//! No paper describes it. Ferlin et al. 2016 ("BLEST", section III) compare round-trip times, and assume that no chunk is lost.

use crate::Duration;
use crate::types::mul_div;

/// When data that is sent over a path arrives, as a round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArrivalTime {
    /// Without a loss.
    pub(crate) rtt: Duration,
    /// What the losses of a window add on average: the repair times the probability that there is one.
    pub(crate) losses: Duration,
    /// What a loss adds.
    pub(crate) repair: Duration,
}

impl ArrivalTime {
    /// Without losses.
    pub(crate) const fn lossless(rtt: Duration) -> Self {
        Self { rtt, losses: Duration::ZERO, repair: Duration::ZERO }
    }

    /// If nothing goes over another path.
    pub(crate) fn alone(&self) -> Duration {
        self.rtt + self.losses
    }

    /// If data goes over this path and another one.
    ///
    /// Without a loss, all waits for the slower one. After a loss, all waits for the repair in any case, and the other path costs only what
    /// it takes longer. The path whose repairs add more counts for both: of a window that they share, each loses less.
    pub(crate) fn beside(&self, other: &Self) -> Duration {
        let without = self.rtt.max(other.rtt);
        without + self.adds_after(without).max(other.adds_after(without))
    }

    /// What the repairs of the path add on average for those who wait for so long without them.
    fn adds_after(&self, without: Duration) -> Duration {
        let longer = self.rtt + self.repair - without;
        let repair = self.repair.as_nanos().max(1);
        let nanos = mul_div(longer.as_nanos(), self.losses.as_nanos(), repair);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival((rtt, losses, repair): (u64, u64, u64)) -> ArrivalTime {
        let [rtt, losses, repair] = [rtt, losses, repair].map(Duration::from_millis);
        ArrivalTime { rtt, losses, repair }
    }

    #[test]
    fn two_paths_together() {
        for (what, one, other, alone, beside) in [
            ("the slower one", (20, 0, 20), (30, 0, 20), 20, 30),
            ("alike", (20, 10, 20), (20, 10, 20), 30, 30),
            ("half of the windows wait for a repair", (20, 10, 20), (30, 0, 20), 30, 35),
            ("each does", (20, 20, 20), (30, 0, 20), 40, 40),
            ("longer than a repair takes", (20, 10, 20), (50, 0, 20), 30, 50),
            ("the slower one loses", (20, 0, 20), (30, 10, 20), 20, 40),
            ("both lose, the faster one more", (20, 10, 20), (30, 5, 20), 30, 35),
            ("both lose, the slower one more", (20, 5, 20), (30, 10, 20), 25, 40),
            ("longer repairs", (20, 18, 20), (30, 15, 25), 38, 45),
            ("rare but long ones", (20, 10, 20), (100, 9, 60), 30, 109),
            ("nothing is known of repairs", (20, 0, 0), (30, 0, 0), 20, 30),
        ] {
            let (one, other) = (arrival(one), arrival(other));
            assert_eq!(one.alone(), Duration::from_millis(alone), "{what}");
            assert!(one.beside(&other) >= one.alone().max(other.alone()), "{what}");
            for together in [one.beside(&other), other.beside(&one)] {
                assert_eq!(together, Duration::from_millis(beside), "{what}");
            }
        }
    }

    #[test]
    fn the_largest_times_do_no_harm() {
        let most = ArrivalTime { rtt: Duration::MAX, losses: Duration::MAX, repair: Duration::MAX };
        assert_eq!(most.beside(&most), Duration::MAX);
        assert_eq!(ArrivalTime::lossless(Duration::MAX).beside(&most), Duration::MAX);
    }
}
