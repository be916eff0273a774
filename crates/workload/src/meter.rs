//! How much arrives.

use polypath_units::{BitRate, ByteCount, Duration, Instant};

/// Counts the messages that a receiving application gets, from a given time on.
///
/// Goodput is user data only, without any header, and each byte once. What arrives before the measurement starts is
/// counted in [`total`](Self::total) but not in the goodput.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GoodputMeter {
    from: Instant,
    messages: u64,
    measured: ByteCount,
    total: ByteCount,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl GoodputMeter {
    /// A meter whose measurement starts at `from`.
    pub const fn starting_at(from: Instant) -> Self {
        Self {
            from,
            messages: 0,
            measured: ByteCount::ZERO,
            total: ByteCount::ZERO,
            first: None,
            last: None,
        }
    }

    /// A message, or part of one, was handed to the application.
    pub fn received(&mut self, now: Instant, bytes: ByteCount) {
        self.messages += 1;
        self.total += bytes;
        if now >= self.from {
            self.measured += bytes;
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Mean rate from the start of the measurement to `now`, rounded down to a bit per second; zero before it starts.
    pub fn goodput(&self, now: Instant) -> BitRate {
        match now.since(self.from) {
            Duration::ZERO => BitRate::ZERO,
            time => BitRate::of(self.measured, time),
        }
    }

    /// Messages received since the start of the run.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Bytes received since the start of the run.
    pub fn total(&self) -> ByteCount {
        self.total
    }

    /// Bytes received since the start of the measurement.
    pub fn measured(&self) -> ByteCount {
        self.measured
    }

    /// When the first message was received.
    pub fn first(&self) -> Option<Instant> {
        self.first
    }

    /// When the last message was received.
    pub fn last(&self) -> Option<Instant> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_from_its_start() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut meter = GoodputMeter::starting_at(at(1_000));
        for (ms, bytes) in [(999, 5_000), (1_000, 1_000), (1_500, 250), (2_900, 0)] {
            meter.received(at(ms), ByteCount::from_bytes(bytes));
        }
        assert_eq!(meter.total(), ByteCount::from_bytes(6_250));
        assert_eq!(meter.measured(), ByteCount::from_bytes(1_250));
        assert_eq!(meter.goodput(at(3_000)), BitRate::from_bits_per_second(5_000));
        assert_eq!(meter.goodput(at(1_000)), BitRate::ZERO);
        assert_eq!(meter.goodput(at(500)), BitRate::ZERO);
        assert_eq!(
            (meter.first(), meter.last(), meter.messages()),
            (Some(at(999)), Some(at(2_900)), 4)
        );
    }
}
