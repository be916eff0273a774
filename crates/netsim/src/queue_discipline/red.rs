//! Random early detection.

use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};
use rand_core::Rng;

use super::managed::{Admission, Waiting};
use super::{EcnMarking, Limit, QueueLevel};
use crate::ring::Ring;
use crate::{DropCause, Stream, Streams};

/// Random early detection (Floyd, Jacobson: Random Early Detection Gateways for Congestion Avoidance, 1993).
///
/// Every arrival updates an exponentially weighted average of the queue. Below `min`, nothing is dropped. Between `min`
/// and `max`, an arriving packet is dropped with a probability that grows to `max_p`, and with the number of packets
/// since the last drop, so that drops are evenly spaced. From `max` on, every packet is dropped (see [`AboveMax`]).
/// Average and limit do not count the packet being transmitted.
///
/// After an idle time, the average falls as if packets of `mean_packet` had arrived at an empty queue throughout that
/// time, and the arriving packet after them (like ns-2; INET has packets per second as a parameter instead).
///
/// The defaults are those of the papers on CMT-SCTP (Dreibholz et al. 2010): thresholds of 20 and 80 packets, weight
/// 0.002, 2 %. The ns-2 names are `thresh_`, `maxthresh_`, `q_weight_`, 1 / `linterm_` and `mean_pktsize_`; those of
/// INET are `minth`, `maxth`, `wq`, `maxp`, `packetCapacity`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RedConfig {
    /// Average from which packets are dropped at random.
    pub min: Limit,
    /// Average from which `above_max` applies.
    pub max: Limit,
    /// Limit of the queue itself; packets beyond it are dropped, as with drop-tail.
    pub limit: Limit,
    /// Weight of each arrival in the average.
    pub weight: Fraction,
    /// Probability of a drop when the average reaches `max`, before drops are spread evenly.
    pub max_p: Fraction,
    /// What happens from `max` on.
    pub above_max: AboveMax,
    /// Mean length of packets, from which the number of packets in an idle time is computed. With thresholds in bytes,
    /// it is also the length for which the probability holds; for other lengths, the probability is proportional.
    pub mean_packet: ByteCount,
    /// Whether ECN-capable packets are marked instead of dropped at random.
    pub ecn: EcnMarking,
}

/// What happens to packets when the average is at `max` or above.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum AboveMax {
    /// All packets are dropped, as in the paper of 1993.
    #[default]
    Drop,
    /// The probability grows from `max_p` to one at twice `max` (ns-2 `gentle_`, its default since 2001).
    Gentle,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            min: Limit::Packets(20),
            max: Limit::Packets(80),
            limit: Limit::Packets(80),
            // 0.002.
            weight: Fraction::from_f64(2e-3).unwrap_or(Fraction::ONE),
            max_p: Fraction::from_percent(2),
            above_max: AboveMax::default(),
            mean_packet: ByteCount::from_bytes(500),
            ecn: EcnMarking::default(),
        }
    }
}

impl RedConfig {
    /// What makes no sense: the key and what is wrong there.
    pub(crate) fn problem(&self) -> Option<(&'static str, String)> {
        let same = |a: Limit, b: Limit| std::mem::discriminant(&a) == std::mem::discriminant(&b);
        if !same(self.min, self.max) {
            return Some(("max", "must be in packets or in bytes as `min` is".into()));
        }
        if self.min.amount() >= self.max.amount() {
            return Some(("max", "must be more than `min`".into()));
        }
        if self.limit.amount() == 0 {
            return Some(("limit", "must not be zero".into()));
        }
        if self.weight.is_zero() {
            return Some(("weight", "must not be zero: the average would never move".into()));
        }
        self.mean_packet.is_zero().then(|| ("mean_packet", "must not be zero".into()))
    }
}

/// The average of a queue over arrivals.
#[derive(Clone, Copy, Debug)]
struct Average {
    value: f64,
    weight: f64,
}

impl Average {
    /// Moves with an arrival to a queue of `level`, after an idle time of so many packets.
    fn arrive(&mut self, level: f64, idle_packets: u64) {
        if idle_packets > 0 {
            self.value *= power(1.0 - self.weight, idle_packets);
        }
        self.value += self.weight * (level - self.value);
    }
}

/// `base` to the power of `exponent`; multiplication alone, so that all machines find the same.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut factor, mut left) = (1.0, base, exponent);
    while left > 0 && factor > 0.0 {
        if left % 2 == 1 {
            result *= factor;
        }
        factor *= factor;
        left /= 2;
    }
    if left > 0 { 0.0 } else { result }
}

/// What the average alone says of an arriving packet.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Zone {
    /// Let it in.
    Calm,
    /// Drop it with this probability, before drops are spread.
    Random(f64),
    /// Drop it.
    Full,
}

/// The thresholds as numbers.
#[derive(Clone, Copy, Debug)]
struct Curve {
    min: f64,
    max: f64,
    max_p: f64,
    above_max: AboveMax,
}

impl Curve {
    fn zone(&self, average: f64) -> Zone {
        if average < self.min {
            Zone::Calm
        } else if average < self.max {
            Zone::Random(self.max_p * (average - self.min) / (self.max - self.min))
        } else if self.above_max == AboveMax::Gentle && average < 2.0 * self.max {
            let way = (average - self.max) / self.max;
            Zone::Random(self.max_p + (1.0 - self.max_p) * way)
        } else {
            Zone::Full
        }
    }
}

/// The probability for a packet that is number `count` since the last drop, so that the number of packets between two
/// drops is uniformly distributed (section 7 of the paper): p / (1 - count p).
fn spread(probability: f64, count: u64) -> f64 {
    let rest = 1.0 - count as f64 * probability;
    if rest > 0.0 { (probability / rest).min(1.0) } else { 1.0 }
}

/// A first-in-first-out queue with random early detection.
#[derive(Debug)]
pub(crate) struct Red {
    waiting: Ring<Waiting>,
    bytes: u64,
    config: RedConfig,
    curve: Curve,
    average: Average,
    /// Packets let in since the last drop, while the average is above `min`; nothing below.
    since_drop: Option<u64>,
    /// Time in which a packet of mean length is sent.
    mean_time: Duration,
    stream: Stream,
}

impl Red {
    /// The queue of the channel `name` with that rate.
    pub fn new(config: &RedConfig, rate: BitRate, name: &str, streams: &Streams) -> Self {
        let curve = Curve {
            min: config.min.amount() as f64,
            max: config.max.amount() as f64,
            max_p: config.max_p.as_f64(),
            above_max: config.above_max,
        };
        Self {
            waiting: Ring::new(),
            bytes: 0,
            config: *config,
            curve,
            average: Average { value: 0.0, weight: config.weight.as_f64() },
            since_drop: None,
            mean_time: rate.transmission_time(config.mean_packet),
            stream: streams.stream(&format!("{name}/red")),
        }
    }

    /// Whether it marks packets that can be marked.
    #[inline]
    pub fn marks(&self) -> bool {
        self.config.ecn == EcnMarking::On
    }

    pub fn set_rate(&mut self, rate: BitRate) {
        self.mean_time = rate.transmission_time(self.config.mean_packet);
    }

    /// Takes a packet, or not.
    pub fn enqueue(
        &mut self,
        now: Instant,
        waiting: Waiting,
        idle_since: Option<Instant>,
    ) -> Result<Admission, DropCause> {
        let level = self.level();
        let idle_packets = idle_since
            .map_or(0, |since| (now - since).as_nanos() / self.mean_time.as_nanos().max(1));
        self.average.arrive(self.config.min.measure(level) as f64, idle_packets);
        let admission = self.decide(waiting)?;
        // What is sent at once does not wait, and counts towards no limit.
        if idle_since.is_none() && !self.config.limit.admits(level, waiting.ticket.bytes) {
            self.since_drop = Some(0);
            return Err(DropCause::QueueFull);
        }
        self.bytes += u64::from(waiting.ticket.bytes);
        self.waiting.push_back(waiting);
        Ok(admission)
    }

    /// What the average has in store for a packet.
    fn decide(&mut self, waiting: Waiting) -> Result<Admission, DropCause> {
        let probability = match self.curve.zone(self.average.value) {
            Zone::Calm => {
                self.since_drop = None;
                return Ok(Admission::Unmarked);
            }
            Zone::Full => {
                self.since_drop = Some(0);
                return Err(DropCause::EarlyDrop);
            }
            Zone::Random(probability) => self.of_length(probability, waiting.ticket.bytes),
        };
        let count = self.since_drop.map_or(0, |count| count + 1);
        if uniform(&mut self.stream) >= spread(probability, count) {
            self.since_drop = Some(count);
            return Ok(Admission::Unmarked);
        }
        self.since_drop = Some(0);
        match self.config.ecn {
            EcnMarking::On if waiting.ect => Ok(Admission::Marked),
            _ => Err(DropCause::EarlyDrop),
        }
    }

    /// Where the queue is measured in bytes, long packets are dropped more often.
    fn of_length(&self, probability: f64, bytes: u32) -> f64 {
        match self.config.min {
            Limit::Packets(_) => probability,
            Limit::Bytes(_) => {
                probability * f64::from(bytes) / self.config.mean_packet.as_bytes() as f64
            }
        }
    }

    pub fn dequeue(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.bytes -= u64::from(waiting.ticket.bytes);
        Some(waiting)
    }

    #[inline]
    pub fn level(&self) -> QueueLevel {
        QueueLevel { packets: self.waiting.len() as u64, bytes: self.bytes }
    }
}

/// A number from 0 up to 1, one included never.
fn uniform(stream: &mut Stream) -> f64 {
    (stream.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
