//! How long a condition lasted, looked at from time to time.

use crate::{Duration, Instant};

/// Whether the condition holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Holds,
    Not,
}

impl From<bool> for Condition {
    fn from(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Not }
    }
}

/// Account of the time in which a condition held. What was seen last counts until the next look.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stopwatch {
    since: Option<Instant>,
    total: Duration,
}

impl Stopwatch {
    /// Nothing was seen yet.
    pub(crate) const NEW: Self = Self { since: None, total: Duration::ZERO };

    /// Takes note of the condition at `now`.
    #[inline]
    pub(crate) fn look(&mut self, now: Instant, condition: Condition) {
        if self.since.is_none() && condition == Condition::Not {
            return;
        }
        self.total = self.total_at(now);
        self.since = (condition == Condition::Holds).then_some(now);
    }

    /// The account up to the last look.
    pub(crate) fn total(&self) -> Duration {
        self.total
    }

    /// The account up to `now`.
    pub(crate) fn total_at(&self, now: Instant) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_last_counts_until_the_next_look() {
        let at = |secs| Instant::ZERO + Duration::from_secs(secs);
        let mut watch = Stopwatch::default();
        for (secs, holds, total) in [(5, false, 0), (7, true, 0), (9, true, 2), (12, false, 5)] {
            watch.look(at(secs), holds.into());
            assert_eq!(watch.total(), Duration::from_secs(total));
        }
        assert_eq!(watch.total_at(at(90)), Duration::from_secs(5));
        watch.look(at(100), Condition::Holds);
        assert_eq!(watch.total_at(at(101)), Duration::from_secs(6));
    }
}
