//! The traffic of NetPerfMeter (`dreibholz-model`, section 4.4 and table 2): frames at a rate, cut into messages.

use polypath_units::{ByteCount, Duration, Fraction, Frequency};

use super::{Arrival, Problem, problem, under};
use crate::Distribution;
use crate::random::Stream;

/// A flow of NetPerfMeter, with the defaults of the paper. Times are relative to the start of the association.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct NetPerfMeter {
    /// Frames per second, drawn for each frame; zero: as much as the transport accepts.
    pub frame_rate: Distribution<Frequency>,
    /// Length of a frame; zero: no traffic in this direction.
    pub frame_size: Distribution<ByteCount>,
    /// Maximum length of a message; longer frames are divided.
    pub max_message_size: ByteCount,
    /// Fraction of unordered messages, drawn independently.
    pub unordered: Fraction,
    /// Fraction of messages that are never retransmitted, drawn independently.
    pub unreliable: Fraction,
    /// Start of the transmission.
    pub start: Duration,
    /// Start of the measurement of goodput.
    pub reset: Duration,
    /// End of the transmission and of the measurement.
    pub stop: Duration,
    /// Times since the start at which the flow turns on, off, on and so on. Default (empty): on from the start.
    pub on_off: Vec<Duration>,
    /// Direction of the data.
    pub direction: Direction,
}

/// Direction of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Direction {
    /// From the flow's sender to its receiver.
    #[default]
    OneWay,
    /// In both directions, with the same settings.
    BothWays,
}

impl Default for NetPerfMeter {
    fn default() -> Self {
        Self {
            frame_rate: Frequency::from_hertz(10).into(),
            frame_size: ByteCount::from_bytes(1_452).into(),
            max_message_size: ByteCount::from_bytes(1_452),
            unordered: Fraction::ZERO,
            unreliable: Fraction::ZERO,
            start: Duration::from_secs(1),
            reset: Duration::from_secs(5),
            stop: Duration::from_secs(30),
            on_off: Vec::new(),
            direction: Direction::OneWay,
        }
    }
}

impl NetPerfMeter {
    /// Whether it sends as much as the transport takes.
    pub fn is_saturated(&self) -> bool {
        self.frame_rate.constant() == Some(Frequency::ZERO) && !self.is_off()
    }

    /// Whether it sends nothing at all.
    pub fn is_off(&self) -> bool {
        self.frame_size.constant() == Some(ByteCount::ZERO)
    }

    /// Whether it is on, so long after its start.
    pub(crate) fn is_on(&self, after: Duration) -> bool {
        let turned = self.on_off.partition_point(|turn| *turn <= after);
        self.on_off.is_empty() || turned % 2 == 1
    }

    /// When it goes on or off next.
    pub(crate) fn next_turn(&self, after: Duration) -> Option<Duration> {
        self.on_off.iter().copied().find(|turn| *turn > after)
    }

    pub(super) fn problem(&self) -> Problem {
        if self.max_message_size.is_zero() {
            return problem("max_message_size", "must not be zero");
        }
        if self.stop <= self.start {
            let message = format!("{} is not after the start, {}", self.stop, self.start);
            return problem("stop", message);
        }
        if self.reset >= self.stop {
            return problem(
                "reset",
                format!("{} is not before the stop, {}", self.reset, self.stop),
            );
        }
        if self.on_off.windows(2).any(|pair| pair[1] <= pair[0]) {
            return problem("on_off", "each time must be after the one before");
        }
        if self.frame_rate.smallest().is_zero() && self.frame_rate.constant().is_none() {
            // Exponential rates come as near to zero as one likes, but never get there.
            let at_zero = self.frame_rate.largest().is_some();
            if at_zero {
                return problem("frame_rate", "a rate that varies must not be zero at times");
            }
        }
        under("frame_rate", self.frame_rate.problem())
            .or_else(|| under("frame_size", self.frame_size.problem()))
    }
}

/// Frames in order of time: each is followed by one over a rate that is drawn anew.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    of: NetPerfMeter,
    next: Duration,
}

impl Frames {
    pub fn new(of: NetPerfMeter) -> Self {
        Self { of, next: Duration::ZERO }
    }

    /// The next frame that has a length.
    pub fn next(&mut self, rng: &mut Stream) -> Option<Arrival> {
        if self.of.is_off() {
            return None;
        }
        loop {
            if !self.of.is_on(self.next) {
                self.next = self.of.next_turn(self.next)?;
                continue;
            }
            if self.next >= self.of.stop {
                return None;
            }
            let bytes = self.of.frame_size.draw(rng).as_bytes();
            let arrival = Arrival::new(self.next, bytes);
            self.next += self.of.frame_rate.draw(rng).period();
            if bytes > 0 {
                return Some(arrival);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{Drawn, Exponential, Uniform};
    use crate::random::stream;

    fn times(of: NetPerfMeter, count: usize) -> Vec<u64> {
        let mut rng = stream(1);
        let mut frames = Frames::new(of);
        let next = || frames.next(&mut rng);
        std::iter::from_fn(next).take(count).map(|frame| frame.after.as_millis()).collect()
    }

    #[test]
    fn the_defaults_are_those_of_table_2() {
        let of = NetPerfMeter::default();
        assert_eq!(of.problem(), None);
        assert_eq!(times(of.clone(), 4), [0, 100, 200, 300]);
        assert_eq!(of.max_message_size, ByteCount::from_bytes(1_452));
        assert_eq!([of.start, of.reset, of.stop].map(Duration::as_millis), [1_000, 5_000, 30_000]);
    }

    #[test]
    fn on_and_off_take_turns() {
        let ms = Duration::from_millis;
        let of = NetPerfMeter {
            on_off: vec![ms(50), ms(300), ms(1_000), ms(1_150)],
            ..NetPerfMeter::default()
        };
        assert_eq!(times(of, 100), [50, 150, 250, 1_000, 1_100]);
    }

    #[test]
    fn a_size_of_zero_is_off_and_a_rate_of_zero_saturated() {
        let off = NetPerfMeter { frame_size: ByteCount::ZERO.into(), ..NetPerfMeter::default() };
        assert!(off.is_off() && !off.is_saturated() && times(off, 1).is_empty());
        let full = NetPerfMeter { frame_rate: Frequency::ZERO.into(), ..NetPerfMeter::default() };
        assert!(full.is_saturated() && full.problem().is_none());
    }

    #[test]
    fn rates_are_drawn_for_each_frame() {
        let [from, to] = [10, 20].map(Frequency::from_hertz);
        let frame_rate = Distribution::Drawn(Drawn::Uniform(Uniform { from, to }));
        let times = times(NetPerfMeter { frame_rate, ..NetPerfMeter::default() }, 401);
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (49..=101).contains(gap)), "{gaps:?}");
        // Mean of 1 / x over [10, 20] is ln 2 / 10.
        let mean = times[400] as f64 / 400.0;
        assert!((mean - 69.3).abs() < 3.0, "{mean}");
    }

    #[test]
    fn problems_name_their_key() {
        let key = |of: NetPerfMeter| of.problem().map(|(key, _)| key);
        let ok = NetPerfMeter::default;
        let zero = Frequency::ZERO;
        let uniform = Drawn::Uniform(Uniform { from: zero, to: Frequency::from_hertz(1) });
        let exponential = Drawn::Exponential(Exponential { mean: zero });
        let cases = [
            (NetPerfMeter { stop: Duration::from_secs(1), ..ok() }, "stop"),
            (NetPerfMeter { reset: Duration::from_secs(30), ..ok() }, "reset"),
            (NetPerfMeter { max_message_size: ByteCount::ZERO, ..ok() }, "max_message_size"),
            (NetPerfMeter { on_off: vec![Duration::ZERO; 2], ..ok() }, "on_off"),
            (NetPerfMeter { frame_rate: Distribution::Drawn(uniform), ..ok() }, "frame_rate"),
            (
                NetPerfMeter { frame_rate: Distribution::Drawn(exponential), ..ok() },
                "frame_rate.exponential.mean",
            ),
        ];
        for (of, expected) in cases {
            assert_eq!(key(of).as_deref(), Some(expected));
        }
    }
}
