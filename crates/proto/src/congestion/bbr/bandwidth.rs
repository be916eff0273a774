//! The largest rate of delivery of the present and the last cycle of probing, BBR.max_bw (section 5.5.2).

use crate::Duration;

/// Bytes per second.
pub(super) type Rate = u64;

/// The rate of this many bytes in this time.
pub(super) fn rate_of(bytes: u64, time: Duration) -> Rate {
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(time.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Bytes that go in this time.
pub(super) fn bytes_in(rate: Rate, time: Duration) -> u64 {
    let bytes = u128::from(rate) * u128::from(time.as_nanos()) / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// `value` x `percent` / 100.
pub(super) fn percent(value: u64, percent: u64) -> u64 {
    let part = u128::from(value) * u128::from(percent) / 100;
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// Filter of two cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct MaxBandwidth {
    last: Rate,
    present: Rate,
}

impl MaxBandwidth {
    pub(super) fn get(&self) -> Rate {
        self.last.max(self.present)
    }

    /// A sample; one that the application limited counts only if it is larger.
    pub(super) fn on_sample(&mut self, rate: Rate, is_limited: bool) {
        if rate >= self.get() || !is_limited {
            self.present = self.present.max(rate);
        }
    }

    /// Another cycle begins.
    pub(super) fn advance(&mut self) {
        // A cycle without any sample says nothing about the path.
        if self.present > 0 {
            *self = Self { last: self.present, present: 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_volumes() {
        let ms = Duration::from_millis;
        // 125,000 bytes in 20 ms are 50 Mbit/s.
        assert_eq!(rate_of(125_000, ms(20)), 6_250_000);
        assert_eq!(bytes_in(6_250_000, ms(20)), 125_000);
        assert_eq!((percent(125_000, 277), percent(1000, 99)), (346_250, 990));
        assert_eq!(rate_of(u64::MAX, Duration::ZERO), u64::MAX);
        assert_eq!(bytes_in(u64::MAX, Duration::MAX), u64::MAX);
        assert_eq!(percent(u64::MAX, 277), u64::MAX);
    }

    #[test]
    fn a_sample_lasts_for_two_cycles() {
        let mut max = MaxBandwidth::default();
        max.on_sample(100, false);
        max.on_sample(90, false);
        assert_eq!(max.get(), 100);
        max.advance();
        max.advance();
        assert_eq!(max.get(), 100, "a cycle without samples does not count");
        max.on_sample(80, false);
        assert_eq!(max.get(), 100);
        max.advance();
        assert_eq!(max.get(), 80);
    }

    #[test]
    fn what_the_application_limited_counts_only_if_it_is_larger() {
        let mut max = MaxBandwidth::default();
        max.on_sample(100, false);
        max.advance();
        max.on_sample(70, true);
        max.on_sample(0, false);
        max.advance();
        assert_eq!(max.get(), 100);
        max.on_sample(110, true);
        assert_eq!(max.get(), 110);
    }
}
