//! How long messages take.

use polypath_units::Duration;

/// Collects delays of messages: their mean, percentiles and largest, and how much they differ from one to the next.
///
/// Percentiles come from a histogram whose bins are 1/128 of their value wide, so that a flow of any length takes little
/// memory; they are exact to 0.4 %. All else is exact.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DelayMeter {
    count: u64,
    sum: u128,
    max: Duration,
    last: Option<Duration>,
    /// Sum of the differences of neighbours.
    differences: u128,
    bins: Bins,
}

impl DelayMeter {
    /// The next message took so long.
    #[inline]
    pub fn record(&mut self, delay: Duration) {
        self.count += 1;
        self.sum += u128::from(delay.as_nanos());
        self.max = self.max.max(delay);
        if let Some(last) = self.last.replace(delay) {
            self.differences += u128::from(delay.as_nanos().abs_diff(last.as_nanos()));
        }
        self.bins.add(delay.as_nanos());
    }

    /// Messages recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean delay; nothing without messages.
    pub fn mean(&self) -> Option<Duration> {
        mean(self.sum, self.count)
    }

    /// The largest delay; nothing without messages.
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }

    /// Mean difference between the delays of messages that were delivered one after the other; nothing below two.
    pub fn jitter(&self) -> Option<Duration> {
        mean(self.differences, self.count.saturating_sub(1))
    }

    /// The delay that so many per cent of the messages did not exceed (nearest rank); nothing without messages.
    pub fn percentile(&self, percent: u8) -> Option<Duration> {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100).max(1) as u64;
        let value = self.bins.value_of_rank(rank)?;
        Some(Duration::from_nanos(value).min(self.max))
    }
}

fn mean(sum: u128, count: u64) -> Option<Duration> {
    let mean = sum.checked_div(u128::from(count))?;
    Some(Duration::from_nanos(mean as u64))
}

/// Counts of values, in bins that are as wide as the values are large.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Bins {
    /// Bin of the first count.
    first: usize,
    counts: Vec<u64>,
}

/// Bins per doubling.
const PER_OCTAVE: u64 = 128;

impl Bins {
    fn add(&mut self, value: u64) {
        let bin = bin_of(value);
        if self.counts.is_empty() {
            self.first = bin;
        }
        if let Some(missing) = self.first.checked_sub(bin).filter(|missing| *missing > 0) {
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bin;
        }
        let index = bin - self.first;
        if index >= self.counts.len() {
            self.counts.resize(index + 1, 0);
        }
        self.counts[index] += 1;
    }

    /// A value in the middle of the bin in which the value with this rank is, from 1.
    fn value_of_rank(&self, rank: u64) -> Option<u64> {
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(middle_of(self.first + index))
    }
}

fn bin_of(value: u64) -> usize {
    let octave = u64::from((value / PER_OCTAVE).checked_ilog2().map_or(0, |log| log + 1));
    let shift = octave.saturating_sub(1);
    (octave.saturating_sub(1) * PER_OCTAVE + (value >> shift)) as usize
}

fn middle_of(bin: usize) -> u64 {
    let bin = bin as u64;
    if bin < 2 * PER_OCTAVE {
        return bin;
    }
    let shift = bin / PER_OCTAVE - 1;
    let begin = (bin - shift * PER_OCTAVE) << shift;
    begin + (1 << shift) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_narrow_and_in_order() {
        let mut last = 0;
        let values = (0..2_000).chain((11..63).flat_map(|e| [(1 << e) - 1, 1 << e, 3 << (e - 1)]));
        let mut values: Vec<u64> = values.chain([u64::MAX]).collect();
        values.sort_unstable();
        for value in values {
            let bin = bin_of(value);
            assert!(bin >= last, "{value}");
            last = bin;
            let error = middle_of(bin).abs_diff(value) as f64;
            assert!(error <= value as f64 / 256.0, "{value}: {}", middle_of(bin));
        }
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut meter = DelayMeter::default();
        assert_eq!((meter.mean(), meter.percentile(50), meter.jitter()), (None, None, None));
        // Falling, so that bins are added at the front too.
        for ms in (1..=1_000).rev() {
            meter.record(Duration::from_millis(ms));
        }
        assert_eq!(meter.count(), 1_000);
        assert_eq!(meter.mean(), Some(Duration::from_micros(500_500)));
        assert_eq!(meter.max(), Some(Duration::from_secs(1)));
        assert_eq!(meter.jitter(), Some(Duration::from_millis(1)));
        for (percent, ms) in [(0, 1.0), (50, 500.0), (95, 950.0), (99, 990.0), (100, 1_000.0)] {
            let found = meter.percentile(percent).unwrap().as_secs_f64() * 1e3;
            assert!((found / ms - 1.0).abs() < 0.004, "{percent} %: {found} ms");
        }
    }
}
