//! On/off sources with heavy-tailed times.
//!
//! The sum of many such sources is self-similar (Willinger et al. 1997), as in data networks; the generator of ns-2
//! (`Application/Traffic/Pareto`) has the same parameters.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use polypath_units::{BitRate, ByteCount, Duration};

use super::{Arrival, Problem, problem};
use crate::Distribution;
use crate::random::{self, Stream};

/// On/off sources: each sends at a constant rate while it is on.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct ParetoOnOff {
    /// User data per second of one source while it is on.
    pub rate: BitRate,
    /// Mean length of an on time.
    #[cfg_attr(feature = "serde", serde(default = "half_a_second"))]
    pub on: Duration,
    /// Mean length of an off time.
    #[cfg_attr(feature = "serde", serde(default = "half_a_second"))]
    pub off: Duration,
    /// Shape of the Pareto distribution of both times: above 1, and below 2 for long-range dependent traffic.
    #[cfg_attr(feature = "serde", serde(default = "usual_shape"))]
    pub shape: f64,
    /// Number of independent sources.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub sources: u32,
}

#[cfg(feature = "serde")]
pub(super) fn half_a_second() -> Duration {
    Duration::from_millis(500)
}

#[cfg(feature = "serde")]
pub(super) fn usual_shape() -> f64 {
    1.5
}

#[cfg(feature = "serde")]
fn one() -> u32 {
    1
}

const MOST_SOURCES: u32 = 10_000;

impl ParetoOnOff {
    pub(super) fn problem(&self) -> Problem {
        if self.rate.is_zero() {
            return problem("rate", "must not be zero");
        }
        times_problem(self.on, self.shape).or_else(|| sources_problem("sources", self.sources))
    }
}

pub(super) fn times_problem(on: Duration, shape: f64) -> Problem {
    if on.is_zero() {
        return problem("on", "must not be zero");
    }
    if !(shape.is_finite() && shape > 1.0) {
        let message = format!("must be above 1, not {shape}: there is no mean otherwise");
        return problem("shape", message);
    }
    None
}

pub(super) fn sources_problem(key: &str, sources: u32) -> Problem {
    match sources {
        1..=MOST_SOURCES => None,
        _ => problem(key, format!("{sources} is not from 1 to {MOST_SOURCES}")),
    }
}

/// What all sources send, in order of time.
#[derive(Clone, Debug)]
pub(crate) struct OnOffArrivals {
    sources: Vec<OnOff>,
    /// Times of the next messages in nanoseconds, with the positions of the sources.
    order: BinaryHeap<Reverse<(u64, usize)>>,
    timing: Timing,
}

/// What the sources have in common; times in nanoseconds.
#[derive(Clone, Debug)]
struct Timing {
    on: f64,
    off: f64,
    shape: f64,
    /// Bit per nanosecond.
    rate: f64,
    sizes: Distribution<ByteCount>,
    /// Bytes of each that are headers: they count at the rate, but are no message.
    headers: u64,
}

/// One source. Its packets are spaced in the time that it is on; the pauses are put in between.
#[derive(Clone, Debug)]
struct OnOff {
    /// When the next message comes.
    next: f64,
    /// How long it stays on from then on.
    left: f64,
}

impl OnOffArrivals {
    /// Sources that begin on or off with the probabilities of the long run. Sizes and rate include so many bytes of
    /// `headers`.
    pub fn new(
        of: ParetoOnOff,
        sizes: Distribution<ByteCount>,
        headers: u64,
        rng: &mut Stream,
    ) -> Self {
        let timing = Timing {
            on: of.on.as_nanos() as f64,
            off: of.off.as_nanos() as f64,
            shape: of.shape,
            rate: of.rate.as_bits_per_second() as f64 / 1e9,
            sizes,
            headers,
        };
        let sources: Vec<OnOff> = (0..of.sources).map(|_| timing.begin(rng)).collect();
        let times = sources.iter().map(|source| source.next as u64).zip(0..);
        let order = times.map(Reverse).collect();
        Self { sources, order, timing }
    }

    pub fn next(&mut self, rng: &mut Stream) -> Option<Arrival> {
        let Reverse((at, position)) = self.order.pop()?;
        let source = self.sources.get_mut(position)?;
        let size = self.timing.sizes.draw(rng).as_bytes();
        let message = size.saturating_sub(self.timing.headers);
        let arrival = Arrival::new(Duration::from_nanos(at), message);
        let gap = size as f64 * 8.0 / self.timing.rate;
        self.timing.step(source, gap, rng);
        self.order.push(Reverse((source.next as u64, position)));
        Some(arrival)
    }
}

impl Timing {
    fn begin(&self, rng: &mut Stream) -> OnOff {
        let mut source = OnOff { next: 0.0, left: 0.0 };
        if random::unit(rng) * (self.on + self.off) <= self.on {
            source.left = random::unit(rng) * self.time(self.on, rng);
        } else {
            source.next = random::unit(rng) * self.time(self.off, rng);
            source.left = self.time(self.on, rng);
        }
        let first = random::unit(rng) * self.sizes.mean_steps() * 8.0 / self.rate;
        self.step(&mut source, first, rng);
        source
    }

    /// Moves a source on by so much time in which it is on.
    fn step(&self, source: &mut OnOff, mut gap: f64, rng: &mut Stream) {
        while gap > source.left {
            gap -= source.left;
            source.next += source.left + self.time(self.off, rng);
            source.left = self.time(self.on, rng);
        }
        source.next += gap;
        source.left -= gap;
    }

    fn time(&self, mean: f64, rng: &mut Stream) -> f64 {
        random::pareto_of_mean(mean, self.shape, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    fn spec(sources: u32, shape: f64) -> ParetoOnOff {
        let rate = BitRate::from_bits_per_second(100_000);
        let half_a_second = Duration::from_millis(500);
        ParetoOnOff { rate, on: half_a_second, off: half_a_second * 3, shape, sources }
    }

    /// Bytes in each tenth of a second, in messages of so many.
    fn counts(of: ParetoOnOff, size: u64, tenths: usize) -> Vec<f64> {
        let mut rng = stream(5);
        let sizes = ByteCount::from_bytes(size).into();
        let mut arrivals = OnOffArrivals::new(of, sizes, 0, &mut rng);
        let mut counts = vec![0.0; tenths];
        let mut last = Duration::ZERO;
        loop {
            let arrival = arrivals.next(&mut rng).unwrap();
            assert!(arrival.after >= last);
            last = arrival.after;
            match counts.get_mut((last.as_millis() / 100) as usize) {
                Some(count) => *count += arrival.bytes as f64,
                None => return counts,
            }
        }
    }

    #[test]
    fn the_mean_rate_is_the_share_of_the_time_that_sources_are_on() {
        let counts = counts(spec(20, 1.9), 1_250, 40_000);
        let rate = counts.iter().sum::<f64>() * 8.0 / 4_000.0;
        // 20 sources of 100 kbit/s, on for a quarter of the time; about 40,000 periods.
        assert!((rate / 500e3 - 1.0).abs() < 0.05, "{rate}");
    }

    #[test]
    fn one_source_sends_at_its_rate_or_not_at_all() {
        let counts = counts(spec(1, 1.5), 125, 20_000);
        let full = counts.iter().filter(|bytes| (1_125.0..=1_375.0).contains(*bytes)).count();
        let none = counts.iter().filter(|bytes| **bytes == 0.0).count();
        assert!(counts.iter().all(|bytes| *bytes <= 1_375.0));
        assert!(full + none > 14_000 && full > 2_000, "{full} full, {none} empty");
    }

    /// Variance of means over blocks of each size, relative to blocks of one.
    fn variance_of_means(counts: &[f64], block: usize) -> f64 {
        let means: Vec<f64> =
            counts.chunks_exact(block).map(|c| c.iter().sum::<f64>() / block as f64).collect();
        let n = means.len() as f64;
        let mean = means.iter().sum::<f64>() / n;
        means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / n
    }

    #[test]
    fn heavy_tails_make_it_vary_on_long_time_scales() {
        // Var ~ block^(2H - 2): H is (3 - shape) / 2 for heavy tails, and 1/2 where times have a variance.
        let hurst = |shape| {
            let counts = counts(spec(20, shape), 1_250, 100_000);
            let ratio = variance_of_means(&counts, 1_000) / variance_of_means(&counts, 50);
            1.0 + libm::log(ratio) / libm::log(20.0) / 2.0
        };
        let (heavy, light) = (hurst(1.2), hurst(6.0));
        assert!(heavy > 0.75, "{heavy}");
        assert!((0.35..0.65).contains(&light), "{light}");
    }
}
