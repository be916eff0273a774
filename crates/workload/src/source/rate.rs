//! Messages at a mean rate: at equal distances, or as a Poisson process.

use polypath_units::{BitRate, ByteCount, Duration};

use super::{Arrival, Problem, problem};
use crate::Distribution;
use crate::random::{self, Stream};

/// A mean rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct SteadyRate {
    /// User data per second.
    pub rate: BitRate,
}

impl SteadyRate {
    pub(super) fn problem(&self) -> Problem {
        if self.rate.is_zero() { problem("rate", "must not be zero") } else { None }
    }
}

/// Each message is followed by the time that its bytes take at the rate.
#[derive(Clone, Debug)]
pub(crate) struct ConstantArrivals {
    rate: BitRate,
    sizes: Distribution<ByteCount>,
    next: Duration,
}

impl ConstantArrivals {
    pub fn new(SteadyRate { rate }: SteadyRate, sizes: Distribution<ByteCount>) -> Self {
        Self { rate, sizes, next: Duration::ZERO }
    }

    pub fn next(&mut self, rng: &mut Stream) -> Arrival {
        let size = self.sizes.draw(rng);
        let arrival = Arrival::new(self.next, size.as_bytes());
        self.next += self.rate.transmission_time(size);
        arrival
    }
}

/// Independent exponential times between messages; the sizes have no influence on them.
#[derive(Clone, Debug)]
pub(crate) struct PoissonArrivals {
    /// Mean time between messages, in nanoseconds.
    mean: f64,
    sizes: Distribution<ByteCount>,
    last: Duration,
}

impl PoissonArrivals {
    pub fn new(SteadyRate { rate }: SteadyRate, sizes: Distribution<ByteCount>) -> Self {
        let mean = sizes.mean_steps() * 8e9 / rate.as_bits_per_second() as f64;
        Self { mean, sizes, last: Duration::ZERO }
    }

    pub fn next(&mut self, rng: &mut Stream) -> Arrival {
        self.last += Duration::from_nanos(random::exponential(self.mean, rng) as u64);
        Arrival::new(self.last, self.sizes.draw(rng).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    const RATE: SteadyRate = SteadyRate { rate: BitRate::from_mbit(1) };

    fn mixed() -> Distribution<ByteCount> {
        use crate::distribution::{Drawn, Uniform};
        let [from, to] = [100, 900].map(ByteCount::from_bytes);
        Distribution::Drawn(Drawn::Uniform(Uniform { from, to }))
    }

    #[test]
    fn constant_messages_come_at_equal_distances() {
        let mut arrivals = ConstantArrivals::new(RATE, ByteCount::from_bytes(125).into());
        let mut rng = stream(1);
        for number in 0..5 {
            let expected = Arrival::new(Duration::from_millis(number), 125);
            assert_eq!(arrivals.next(&mut rng), expected);
        }
    }

    #[test]
    fn rates_hold_for_sizes_that_vary() {
        let mut rng = stream(2);
        let mut constant = ConstantArrivals::new(RATE, mixed());
        let mut poisson = PoissonArrivals::new(RATE, mixed());
        let mut rate = |next: &mut dyn FnMut(&mut Stream) -> Arrival| {
            let mut bytes = 0;
            loop {
                let arrival = next(&mut rng);
                if arrival.after > Duration::from_secs(200) {
                    return bytes as f64 * 8.0 / 200.0;
                }
                bytes += arrival.bytes;
            }
        };
        assert!((rate(&mut |rng| constant.next(rng)) / 1e6 - 1.0).abs() < 1e-3);
        // 50,000 messages: four standard deviations are 2 %.
        assert!((rate(&mut |rng| poisson.next(rng)) / 1e6 - 1.0).abs() < 0.02);
    }

    #[test]
    fn poisson_counts_have_the_variance_of_their_mean() {
        let mut arrivals = PoissonArrivals::new(RATE, ByteCount::from_bytes(125).into());
        let mut rng = stream(3);
        let mut counts = vec![0_u64; 2_000];
        loop {
            let second = arrivals.next(&mut rng).after.as_millis() / 100;
            match counts.get_mut(second as usize) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<u64>() as f64 / n;
        let variance =
            counts.iter().map(|c| (*c as f64 - mean) * (*c as f64 - mean)).sum::<f64>() / n;
        assert!((mean - 100.0).abs() < 1.0, "{mean}");
        assert!((0.87..1.13).contains(&(variance / mean)), "{variance}");
    }
}
