//! Cross traffic as in `natarajan`, section III-B: Pareto on/off generators with packet sizes of the Internet, up to a
//! load of a link.

use polypath_units::{BitRate, ByteCount, Duration, Fraction};

use super::{ParetoOnOff, Problem, on_off, problem, under};
use crate::Distribution;

/// Background packets. Number of generators and mix of sizes default to those of the paper, times and shape to those of
/// ns-2.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct CrossTraffic {
    /// Mean load of the bottleneck, counted in IP packets.
    pub load: Fraction,
    /// The link rate that the load refers to. Default: that of the bottleneck.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub link: Option<BitRate>,
    /// Number of generators that share the load.
    #[cfg_attr(feature = "serde", serde(default = "eight"))]
    pub generators: u32,
    /// Mean length of an on time.
    #[cfg_attr(feature = "serde", serde(default = "on_off::half_a_second"))]
    pub on: Duration,
    /// Mean length of an off time.
    #[cfg_attr(feature = "serde", serde(default = "on_off::half_a_second"))]
    pub off: Duration,
    /// Shape of the Pareto distribution of both times.
    #[cfg_attr(feature = "serde", serde(default = "on_off::usual_shape"))]
    pub shape: f64,
    /// Lengths of IP packets.
    #[cfg_attr(feature = "serde", serde(default = "internet_mix"))]
    pub packet_size: Distribution<ByteCount>,
}

#[cfg(any(test, feature = "serde"))]
fn eight() -> u32 {
    8
}

/// 50 % of 44 B, 25 % of 576 B and 25 % of 1500 B.
#[cfg(any(test, feature = "serde"))]
fn internet_mix() -> Distribution<ByteCount> {
    use crate::distribution::{Drawn, Share};

    let share = |(bytes, percent)| Share {
        value: ByteCount::from_bytes(bytes),
        share: Fraction::from_percent(percent),
    };
    Distribution::Drawn(Drawn::Mix([(44, 50), (576, 25), (1_500, 25)].map(share).to_vec()))
}

impl CrossTraffic {
    /// The generators on a link of this rate, if the load is not of another one. Their rate counts IP packets.
    pub fn on_link(&self, link: BitRate) -> ParetoOnOff {
        let link = self.link.unwrap_or(link);
        let [on, off] = [self.on, self.off].map(Duration::as_secs_f64);
        let mean = link.as_bits_per_second() as f64 * self.load.as_f64();
        let each = mean / f64::from(self.generators.max(1)) * (on + off) / on;
        ParetoOnOff {
            rate: BitRate::from_bits_per_second((each + 0.5).max(1.0) as u64),
            on: self.on,
            off: self.off,
            shape: self.shape,
            sources: self.generators,
        }
    }

    pub(super) fn problem(&self) -> Problem {
        if self.load.is_zero() {
            return problem("load", "must not be zero");
        }
        if self.link.is_some_and(BitRate::is_zero) {
            return problem("link", "must not be zero");
        }
        on_off::times_problem(self.on, self.shape)
            .or_else(|| on_off::sources_problem("generators", self.generators))
            .or_else(|| under("packet_size", self.packet_size.problem()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;
    use crate::source::OnOffArrivals;

    #[test]
    fn the_load_is_that_of_ip_packets() {
        let link = BitRate::from_mbit(10);
        let cross = CrossTraffic {
            load: Fraction::from_percent(70),
            link: None,
            generators: eight(),
            on: Duration::from_millis(500),
            off: Duration::from_millis(500),
            shape: 1.9,
            packet_size: internet_mix(),
        };
        assert_eq!(cross.on_link(link).rate, BitRate::from_bits_per_second(1_750_000));
        assert_eq!(cross.packet_size.mean_steps(), 541.0);
        let mut rng = stream(11);
        let sizes = cross.packet_size.clone();
        let mut arrivals = OnOffArrivals::new(cross.on_link(link), sizes, 28, &mut rng);
        let (mut bytes, end) = (0, Duration::from_secs(1_000));
        loop {
            let arrival = arrivals.next(&mut rng).unwrap();
            if arrival.after >= end {
                break;
            }
            assert!([16, 548, 1_472].contains(&arrival.bytes));
            bytes += arrival.bytes + 28;
        }
        let load = bytes as f64 * 8.0 / end.as_secs_f64() / 10e6;
        // 8,000 periods with tails that hardly have a variance.
        assert!((load / 0.7 - 1.0).abs() < 0.06, "{load}");
    }
}
