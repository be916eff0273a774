//! What bounds the work that strangers can cause.

use crate::config::EndpointConfig;
use crate::{Duration, Instant};

/// The bucket holds the answers of this time.
const BUCKET: Duration = Duration::from_secs(1);

/// How many associations there may be, and how often strangers are answered.
#[derive(Debug)]
pub(super) struct EndpointLimits {
    max_associations: usize,
    /// Time that one answer costs; `None` when there are to be none.
    answer_cost: Option<Duration>,
    /// Time not yet spent on answers, at most [`BUCKET`].
    credit: Duration,
    /// When `credit` was right.
    counted_at: Instant,
}

impl EndpointLimits {
    pub(super) fn new(config: &EndpointConfig, now: Instant) -> Self {
        let per_second = u64::from(config.max_out_of_the_blue_answers_per_s);
        Self {
            max_associations: config.max_associations as usize,
            answer_cost: BUCKET.as_nanos().checked_div(per_second).map(Duration::from_nanos),
            credit: BUCKET,
            counted_at: now,
        }
    }

    /// Whether one more association may begin.
    pub(super) fn has_room(&self, associations: usize) -> bool {
        associations < self.max_associations
    }

    /// Whether a stranger may be answered now; counts the answer.
    pub(super) fn take_answer(&mut self, now: Instant) -> bool {
        let Some(cost) = self.answer_cost else { return false };
        let credit = (self.credit + now.since(self.counted_at)).min(BUCKET);
        self.counted_at = now;
        self.credit = credit - cost;
        if credit < cost {
            self.credit = credit;
        }
        credit >= cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(max_out_of_the_blue_answers_per_s: u32) -> EndpointLimits {
        let config = EndpointConfig { max_out_of_the_blue_answers_per_s, ..Default::default() };
        EndpointLimits::new(&config, Instant::ZERO)
    }

    fn answers(limits: &mut EndpointLimits, now: Instant) -> usize {
        (0..1000).filter(|_| limits.take_answer(now)).count()
    }

    #[test]
    fn answers_are_as_many_as_the_rate_allows() {
        let mut limits = limits(100);
        assert_eq!(answers(&mut limits, Instant::ZERO), 100);
        let later = Instant::ZERO + Duration::from_millis(50);
        assert_eq!(answers(&mut limits, later), 5);
        assert_eq!(answers(&mut limits, later), 0);
        assert_eq!(answers(&mut limits, later + Duration::from_secs(3600)), 100);
    }

    #[test]
    fn a_rate_of_zero_answers_nobody() {
        let mut limits = limits(0);
        assert_eq!(answers(&mut limits, Instant::ZERO + Duration::from_secs(9)), 0);
    }

    #[test]
    fn associations_are_limited() {
        let config = EndpointConfig { max_associations: 2, ..Default::default() };
        let limits = EndpointLimits::new(&config, Instant::ZERO);
        assert!(limits.has_room(1));
        assert!(!limits.has_room(2));
    }
}
