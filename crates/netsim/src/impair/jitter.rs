//! Jitter.

use polypath_units::{Duration, Instant};
use rand_core::Rng;

use crate::{Stream, Streams};

/// Extra propagation delay, drawn for each packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        deny_unknown_fields,
        expecting = "a table, for example { extra = { uniform = { to = \"5 ms\" } } }"
    )
)]
pub struct JitterConfig {
    /// Distribution of the delay.
    pub extra: Distribution,
    /// Whether packets can be reordered.
    #[cfg_attr(feature = "serde", serde(default))]
    pub order: JitterOrder,
}

/// Distributions of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        rename_all = "kebab-case",
        expecting = "a distribution, for example { uniform = { to = \"5 ms\" } }"
    )
)]
pub enum Distribution {
    /// Uniform.
    Uniform(Uniform),
    /// Normal, truncated at zero (INET `truncnormal`).
    Normal(Normal),
}

/// A range of times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Uniform {
    /// The shortest.
    #[cfg_attr(feature = "serde", serde(default))]
    pub from: Duration,
    /// The longest.
    pub to: Duration,
}

/// A normal distribution before it is truncated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Normal {
    /// Its mean.
    pub mean: Duration,
    /// Its standard deviation.
    pub deviation: Duration,
}

/// What jitter does to the order of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum JitterOrder {
    /// A packet arrives no earlier than the one before it, as behind a queue.
    #[default]
    Keep,
    /// Each packet has its own delay, so packets can be reordered.
    Overtake,
}

/// The jitter of one channel.
#[derive(Debug)]
pub(crate) struct Jitter {
    config: JitterConfig,
    stream: Stream,
    /// Latest arrival so far, where the order is kept.
    latest: Instant,
}

impl Jitter {
    pub fn new(config: &JitterConfig, channel: &str, streams: &Streams) -> Self {
        let stream = streams.stream(&format!("{channel}/jitter"));
        Self { config: *config, stream, latest: Instant::ZERO }
    }

    /// When the next packet arrives that would arrive at `plain` without jitter.
    pub fn arrival(&mut self, plain: Instant) -> Instant {
        let arrival = plain + self.config.extra.draw(&mut self.stream);
        match self.config.order {
            JitterOrder::Overtake => arrival,
            JitterOrder::Keep => {
                self.latest = self.latest.max(arrival);
                self.latest
            }
        }
    }
}

impl Distribution {
    /// Draws a time.
    fn draw(&self, stream: &mut Stream) -> Duration {
        match self {
            Self::Uniform(Uniform { from, to }) => {
                let from = from.as_nanos();
                let values = u128::from(to.as_nanos().saturating_sub(from)) + 1;
                let offset = (u128::from(stream.next_u64()) * values) >> 64;
                Duration::from_nanos(from.saturating_add(offset as u64))
            }
            Self::Normal(Normal { mean, deviation }) => {
                let (mean, deviation) = (mean.as_nanos() as f64, deviation.as_nanos() as f64);
                // The mean is not negative, so that every second draw or so is above zero.
                loop {
                    let nanos = mean + deviation * standard_normal(stream);
                    if nanos >= 0.0 {
                        return Duration::from_nanos(nanos as u64);
                    }
                }
            }
        }
    }
}

/// A number of the standard normal distribution, by Marsaglia's polar method (Marsaglia, Bray 1964), whose second number
/// is not used. Only what is exact or of libm is used, so that all machines draw the same.
fn standard_normal(stream: &mut Stream) -> f64 {
    // The upper 53 bits as a number from -1 to 1.
    let mut side = || (stream.next_u64() >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
    loop {
        let (u, v) = (side(), side());
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            return u * libm::sqrt(-2.0 * libm::log(square) / square);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn draws(extra: Distribution, count: usize) -> Vec<f64> {
        let mut stream = Streams::new(1).stream("draws");
        (0..count).map(|_| extra.draw(&mut stream).as_nanos() as f64 / MS as f64).collect()
    }

    /// Mean and standard deviation.
    fn moments(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn uniform_times_fill_their_range() {
        let values = draws(Distribution::Uniform(Uniform { from: ms(2), to: ms(6) }), 100_000);
        let (mean, deviation) = moments(&values);
        // Four standard deviations of the mean are 0.015.
        assert!((mean - 4.0).abs() < 0.015, "{mean}");
        assert!((deviation - 4.0 / 12f64.sqrt()).abs() < 0.015, "{deviation}");
        assert!(values.iter().all(|value| (2.0..=6.0).contains(value)));
        let one = draws(Distribution::Uniform(Uniform { from: ms(3), to: ms(3) }), 10);
        assert_eq!(one, [3.0; 10]);
    }

    #[test]
    fn normal_times_have_their_mean_and_deviation() {
        let normal = |mean, deviation| Distribution::Normal(Normal { mean, deviation });
        let values = draws(normal(ms(20), ms(2)), 100_000);
        let (mean, deviation) = moments(&values);
        assert!(
            (mean - 20.0).abs() < 0.026 && (deviation - 2.0).abs() < 0.02,
            "{mean} {deviation}"
        );
        let within = |sigmas: f64| {
            values.iter().filter(|v| (**v - 20.0).abs() < 2.0 * sigmas).count() as f64 / 100_000.0
        };
        assert!((within(1.0) - 0.6827).abs() < 0.006 && (within(2.0) - 0.9545).abs() < 0.003);
        // Half a normal distribution: nothing below zero, mean sigma * sqrt(2 / pi).
        let half = draws(normal(ms(0), ms(2)), 100_000);
        assert!(half.iter().all(|value| *value >= 0.0));
        assert!((moments(&half).0 - 2.0 * (2.0 / std::f64::consts::PI).sqrt()).abs() < 0.02);
    }

    #[test]
    fn order_is_kept_where_it_shall_be() {
        let times = |order| {
            let extra = Distribution::Uniform(Uniform { from: ms(0), to: ms(50) });
            let config = JitterConfig { extra, order };
            let mut jitter = Jitter::new(&config, "test", &Streams::new(1));
            (0..200).map(|n| jitter.arrival(Instant::ZERO + ms(n))).collect::<Vec<Instant>>()
        };
        let (kept, free) = (times(JitterOrder::Keep), times(JitterOrder::Overtake));
        assert!(kept.is_sorted() && !free.is_sorted());
        let late = |n: u64| (Instant::ZERO + ms(n))..=(Instant::ZERO + ms(n + 50));
        assert!((0..).zip(&free).all(|(n, at)| late(n).contains(at)));
        // The same draws: what is kept waits for the latest before it.
        let mut latest = Instant::ZERO;
        for (kept, free) in kept.iter().zip(&free) {
            latest = latest.max(*free);
            assert_eq!(*kept, latest);
        }
    }
}
