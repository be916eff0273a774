//! Random reordering.

use polypath_units::{Duration, Fraction};

use crate::{Chance, Stream, Streams};

/// Random packets get an extra delay, and arrive after packets sent later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(
        deny_unknown_fields,
        expecting = "a table, for example { probability = \"1 %\", extra_delay = \"5 ms\" }"
    )
)]
pub struct ReorderingConfig {
    /// Probability per packet.
    pub probability: Fraction,
    /// The extra delay.
    pub extra_delay: Duration,
}

/// The reordering of one channel.
#[derive(Debug)]
pub(crate) struct Reordering {
    chance: Chance,
    extra_delay: Duration,
    stream: Stream,
}

impl Reordering {
    pub fn new(config: &ReorderingConfig, channel: &str, streams: &Streams) -> Self {
        Self {
            chance: Chance::new(config.probability),
            extra_delay: config.extra_delay,
            stream: streams.stream(&format!("{channel}/reordering")),
        }
    }

    /// How much later the next packet arrives; draws one number.
    pub fn delay(&mut self) -> Duration {
        if self.chance.draw(&mut self.stream) { self.extra_delay } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_late_as_the_probability_says() {
        let config = ReorderingConfig {
            probability: Fraction::from_percent(10),
            extra_delay: Duration::from_millis(3),
        };
        let mut reordering = Reordering::new(&config, "test", &Streams::new(1));
        let delays: Vec<Duration> = (0..100_000).map(|_| reordering.delay()).collect();
        let late = delays.iter().filter(|delay| **delay == config.extra_delay).count();
        assert_eq!(late + delays.iter().filter(|delay| delay.is_zero()).count(), 100_000);
        // Four standard deviations are 380.
        assert!(late.abs_diff(10_000) < 380, "{late}");
    }
}
