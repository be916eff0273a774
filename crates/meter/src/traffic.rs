//! What one side of a flow sends.

use polypath_units::{ByteCount, Duration, Fraction, Frequency};
use polypath_workload::{
    Carrier, Delivery, Distribution, FlowSpec, Generator, NetPerfMeter, Source, Stream,
};
use rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ensure::ensure;
use crate::payload::{self, HEADER};

/// Most frames, and messages, that the flows of one side may have per second: what is dropped costs time, too.
pub(crate) const MOST_PER_SECOND: f64 = 1e6;
/// Largest mean of the length of frames in bytes.
pub(crate) const LARGEST_FRAME: f64 = 16.0 * 1024.0 * 1024.0;
/// Largest number of times at which a flow is switched on or off.
pub(crate) const MOST_TURNS: usize = 1000;

/// Why the traffic of a flow is invalid.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// Messages are shorter than their header.
    #[error("messages have at least {HEADER} bytes, not {0}")]
    ShortMessages(u16),
    /// It is switched on and off too often.
    #[error("more than {MOST_TURNS} on and off times")]
    TooManyTurns,
    /// The mean length of frames is too long.
    #[error("frames are longer than {LARGEST_FRAME} bytes")]
    LongFrames,
    /// Frames without length would be drawn again and again.
    #[error("a varying frame size must never be zero")]
    EmptyFrames,
    /// It has too many messages per second.
    #[error("more than {MOST_PER_SECOND} messages per second")]
    TooManyMessages,
    /// The generator of messages does not accept it; the text says why.
    #[error("{0}")]
    Generator(String),
}

/// What one end sends in a flow: frames of a length at a rate, after the model of NetPerfMeter. A rate of zero is as much as
/// the association carries.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Traffic {
    /// Frames per second.
    pub frame_rate: Distribution<Frequency>,
    /// Length of a frame in bytes.
    pub frame_size: Distribution<ByteCount>,
    /// Largest message in bytes, 48 to 65,535; longer frames are sent as several messages.
    pub longest_message: u16,
    /// Share of the messages that are unordered.
    pub unordered: Fraction,
    /// Share of the messages that are partially reliable (RFC 3758).
    pub unreliable: Fraction,
    /// When those are abandoned.
    pub partial_reliability: PartialReliability,
    /// Times since the start at which the flow is switched on, off, on and so forth; if empty, it is always on.
    pub on_off: Vec<Duration>,
}

/// When a partially reliable message is abandoned (RFC 7496 section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PartialReliability {
    /// When this time has passed since it was handed to the association (timed reliability).
    Lifetime(Duration),
    /// When it would be retransmitted more often than this (limited retransmissions).
    Retransmissions(u16),
}

impl Traffic {
    /// As many messages of `size` bytes as the association carries.
    pub fn saturated(size: u16) -> Self {
        Self {
            frame_rate: Frequency::ZERO.into(),
            frame_size: ByteCount::from_bytes(size.into()).into(),
            longest_message: size,
            unordered: Fraction::ZERO,
            unreliable: Fraction::ZERO,
            partial_reliability: PartialReliability::Retransmissions(0),
            on_off: Vec::new(),
        }
    }

    /// A constant rate of `bit_s` bit/s as messages of `size` bytes, `burst` at a time.
    pub fn paced(size: u16, bit_s: u64, burst: u32) -> Self {
        let frame = u64::from(size) * u64::from(burst);
        let microhertz = u128::from(bit_s) * 1_000_000 / (u128::from(frame.max(1)) * 8);
        let microhertz = u64::try_from(microhertz).unwrap_or(u64::MAX).max(1);
        Self {
            frame_rate: Frequency::from_microhertz(microhertz).into(),
            frame_size: ByteCount::from_bytes(frame).into(),
            ..Self::saturated(size)
        }
    }

    /// Whether it sends as much as the association carries.
    pub fn is_saturated(&self) -> bool {
        self.frame_rate.constant() == Some(Frequency::ZERO)
    }

    /// Whether it sends something in every stretch of `time`, if the transport takes it.
    pub(crate) fn is_steady(&self, time: std::time::Duration) -> bool {
        self.on_off.is_empty() && self.is_frequent(time)
    }

    /// How long it may be silent by itself before its last frame, where somebody waits for `time`: the longest pause of
    /// `on_off`, and the one between frames unless these are frequent. Rates that come near zero set no bound.
    pub(crate) fn longest_pause(&self, time: std::time::Duration) -> std::time::Duration {
        // It is on from the first time to the second, and so forth.
        let ons = self.on_off.iter().step_by(2).copied();
        let offs =
            [Duration::ZERO].into_iter().chain(self.on_off.iter().skip(1).step_by(2).copied());
        let off = ons
            .zip(offs)
            .map(|(on, off)| on.as_nanos().saturating_sub(off.as_nanos()))
            .max()
            .unwrap_or(0);
        let between = match self.is_frequent(time) {
            true => 0,
            false => self.frame_rate.smallest().period().as_nanos(),
        };
        std::time::Duration::from_nanos(off.saturating_add(between))
    }

    /// Whether frames follow each other that closely while it is on.
    fn is_frequent(&self, time: std::time::Duration) -> bool {
        // Frames at a constant rate are missed at once; those that come at random may be far between.
        let least = if self.frame_rate.constant().is_some() { 2.0 } else { 20.0 };
        let frames = self.frame_rate.mean_steps() / 1e6 * time.as_secs_f64();
        self.is_saturated() || frames >= least
    }

    /// Mean rate in bit/s; `None` for a saturated sender, or a distribution without mean.
    pub fn mean_bit_s(&self) -> Option<f64> {
        let rate = self.frame_rate.mean_steps() / 1e6 * self.frame_size.mean_steps() * 8.0;
        (!self.is_saturated() && rate.is_finite()).then_some(rate)
    }

    /// Mean number of messages per second; zero for a saturated sender.
    pub fn messages_per_second(&self) -> f64 {
        let messages = self.frame_size.mean_steps() / f64::from(self.longest_message.max(1));
        self.frame_rate.mean_steps() / 1e6 * messages.ceil().max(1.0)
    }

    /// The longest message that it sends in bytes.
    pub(crate) fn longest_sent(&self) -> u16 {
        let frame = self.frame_size.largest().map_or(u64::MAX, ByteCount::as_bytes);
        let frame = u16::try_from(frame).unwrap_or(u16::MAX).max(payload::HEADER as u16);
        self.longest_message.min(frame)
    }

    /// Checks that all numbers are in range, and that messages can be generated.
    ///
    /// # Errors
    ///
    /// A number is out of range.
    pub fn check(&self) -> Result<(), TrafficError> {
        let longest = self.longest_message;
        ensure(usize::from(longest) >= payload::HEADER, TrafficError::ShortMessages(longest))?;
        ensure(self.on_off.len() <= MOST_TURNS, TrafficError::TooManyTurns)?;
        let size = self.frame_size.mean_steps();
        ensure(size <= LARGEST_FRAME, TrafficError::LongFrames)?;
        // Frames without length are drawn again, perhaps for ever. Exponential ones seldom have none.
        let can_be_nothing = self.frame_size.smallest().is_zero()
            && self.frame_size.constant().is_none()
            && self.frame_size.largest().is_some();
        ensure(!can_be_nothing, TrafficError::EmptyFrames)?;
        let rate = self.messages_per_second();
        ensure(rate <= MOST_PER_SECOND, TrafficError::TooManyMessages)?;
        self.generator(Duration::from_secs(1), 0).map(drop)
    }

    /// What makes the messages, from now to `stop`.
    pub(crate) fn generator(&self, stop: Duration, seed: u64) -> Result<Generator, TrafficError> {
        let source = Source::Netperfmeter(NetPerfMeter {
            frame_rate: self.frame_rate.clone(),
            frame_size: self.frame_size.clone(),
            max_message_size: ByteCount::from_bytes(self.longest_message.into()),
            unordered: self.unordered,
            unreliable: self.unreliable,
            start: Duration::ZERO,
            reset: Duration::ZERO,
            stop,
            on_off: self.on_off.clone(),
            ..NetPerfMeter::default()
        });
        let spec = FlowSpec {
            message_size: None,
            delivery: Delivery::Ordered,
            stop: Some(stop),
            ..FlowSpec::new(source, ByteCount::ZERO)
        };
        let carrier = Carrier {
            shortest: payload::HEADER as u32,
            longest: self.longest_message.into(),
            ..Carrier::default()
        };
        Generator::new(spec, carrier, Stream::seed_from_u64(seed))
            .map_err(|error| TrafficError::Generator(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use polypath_units::Instant;
    use polypath_workload::distribution::{Drawn, Exponential, Share, Uniform};

    use super::*;

    #[test]
    fn a_rate_is_made_of_messages() {
        let traffic = Traffic::paced(1250, 1_000_000, 1);
        assert_eq!(traffic.frame_rate.constant(), Some(Frequency::from_hertz(100)));
        assert_eq!(traffic.mean_bit_s(), Some(1e6));
        let mut generator = traffic.generator(Duration::from_secs(1), 1).unwrap();
        let mut taken = 0;
        while let Some(message) = generator.peek(Instant::from_nanos(999_999_999)) {
            assert_eq!(message.bytes, 1250);
            generator.taken(message);
            taken += 1;
        }
        assert_eq!(taken, 100);
        let burst = Traffic::paced(1250, 1_000_000, 10);
        assert_eq!(burst.frame_rate.constant(), Some(Frequency::from_hertz(10)));
        assert_eq!(burst.mean_bit_s(), Some(1e6));
    }

    #[test]
    fn what_would_eat_the_machine_is_refused() {
        Traffic::saturated(1400).check().unwrap();
        let refused = [
            Traffic::saturated(20),
            Traffic::paced(48, 1_000_000_000_000, 1),
            Traffic { frame_size: ByteCount::from_mib(64).into(), ..Traffic::paced(1000, 1, 1) },
            Traffic { frame_size: ByteCount::from_mib(1).into(), ..Traffic::paced(50, 1 << 32, 1) },
            Traffic { on_off: vec![Duration::ZERO; 2], ..Traffic::saturated(1400) },
            Traffic {
                on_off: (0..2000).map(Duration::from_secs).collect(),
                ..Traffic::saturated(1400)
            },
        ];
        for traffic in refused {
            assert!(traffic.check().is_err(), "{traffic:?}");
        }
    }

    #[test]
    fn frames_have_a_length() {
        let check = |drawn| {
            let frame_size = Distribution::Drawn(drawn);
            Traffic { frame_size, ..Traffic::paced(1000, 1_000_000, 1) }.check()
        };
        let (zero, some) = (ByteCount::ZERO, ByteCount::from_bytes(500));
        let share = |value, percent| Share { value, share: Fraction::from_percent(percent) };
        for drawn in [
            Drawn::Uniform(Uniform { from: zero, to: zero }),
            Drawn::Uniform(Uniform { from: zero, to: some }),
            Drawn::Mix(vec![share(zero, 99), share(some, 1)]),
        ] {
            let error = check(drawn).unwrap_err().to_string();
            assert!(error.contains("must never be zero"), "{error}");
        }
        check(Drawn::Uniform(Uniform { from: some, to: some })).unwrap();
        check(Drawn::Exponential(Exponential { mean: some })).unwrap();
    }
}
