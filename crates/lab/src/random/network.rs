//! A random network with its traffic.

use std::fmt;

use super::change::Change;
use super::kind::Kind;

/// Packet size in bytes that queue lengths and times are computed with.
pub(super) const PACKET_BYTES: u64 = 1_500;

/// A network, with the traffic over it.
#[derive(Clone, PartialEq, Debug)]
pub struct Network {
    /// The kind of sample that it belongs to.
    pub kind: Kind,
    /// Its number in the sample, from 1.
    pub number: u32,
    /// Its paths.
    pub paths: Vec<Path>,
    /// Send buffer, in bytes.
    pub send_buffer: u64,
    /// Receive buffer, in bytes.
    pub receive_buffer: u64,
    /// Length of messages (of requests, if it has any), in bytes.
    pub message_bytes: u64,
    /// Whether messages are delivered in any order.
    pub unordered: bool,
    /// The traffic.
    pub traffic: Traffic,
    /// Changes during the run.
    pub change: Option<Change>,
    /// The longest time that a run takes, in simulated milliseconds.
    pub duration_ms: u64,
    /// Seed of its runs: of losses and of random early detection.
    pub seed: u64,
}

/// A path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    /// Rate, in bit/s.
    pub rate: u64,
    /// Propagation delay of one way, in µs.
    pub delay: u64,
    /// Limit of the queue, in packets.
    pub queue: u64,
    /// Whether the queue has random early detection.
    pub red: bool,
    /// Losses, in each direction.
    pub loss: Loss,
    /// The return direction, if it differs.
    pub back: Option<Return>,
}

/// Losses. Probabilities are per packet, in millionths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// Only at full queues.
    None,
    /// Independent losses with this probability.
    Random(u64),
    /// In bursts (Gilbert and Elliott's model, which loses every packet of the bad state).
    Bursts {
        /// Probability that a burst begins.
        to_bad: u64,
        /// Probability that a burst ends.
        to_good: u64,
    },
}

/// The return direction of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Return {
    /// Rate, in bit/s.
    pub rate: u64,
    /// Propagation delay, in µs.
    pub delay: u64,
}

/// The traffic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Saturated.
    Saturated,
    /// A number of bytes.
    File(u64),
    /// Requests, one after the other.
    Requests {
        /// Length of a response, in bytes.
        response: u64,
        /// Time from a response to the next request, in milliseconds.
        think_ms: u64,
    },
    /// 64 kbit/s.
    Voice,
}

impl Path {
    /// Name of a path by its index.
    pub(super) fn name(place: usize) -> String {
        format!("p{}", place + 1)
    }

    /// Propagation delay of both ways, in µs.
    pub(super) fn round_trip(&self) -> u64 {
        self.delay + self.back.map_or(self.delay, |back| back.delay)
    }
}

/// Short description of a path: `10 Mbit/s 35 ms, queue 100, loss 1 %`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let red = if self.red { " RED" } else { "" };
        let (rate, delay) = (Short(self.rate as f64 / 1e6), Short(self.delay as f64 / 1e3));
        write!(f, "{rate} Mbit/s {delay} ms queue {}{red}", self.queue)?;
        match self.loss {
            Loss::None => {}
            Loss::Random(probability) => write!(f, " loss {} %", Short(percent(probability)))?,
            Loss::Bursts { to_bad, to_good } => {
                let mean = to_bad as f64 / (to_bad + to_good) as f64 * 100.0;
                write!(f, " bursts {} %", Short(mean))?;
            }
        }
        match self.back {
            Some(back) => {
                let (rate, delay) = (Short(back.rate as f64 / 1e6), Short(back.delay as f64 / 1e3));
                write!(f, " (back {rate} Mbit/s {delay} ms)")
            }
            None => Ok(()),
        }
    }
}

/// Description of a network in one line.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, path) in self.paths.iter().enumerate() {
            write!(f, "{}{path}", if place > 0 { " + " } else { "" })?;
        }
        let kib = |bytes: u64| Short(bytes as f64 / 1024.0);
        write!(f, "; buffers {}/{} KiB", kib(self.send_buffer), kib(self.receive_buffer))?;
        write!(f, "; {} B", self.message_bytes)?;
        if let Traffic::Requests { response, think_ms } = self.traffic {
            write!(f, " for {response} B, think {think_ms} ms")?;
        }
        write!(f, " {}", if self.unordered { "unordered" } else { "ordered" })?;
        match &self.change {
            Some(change) => write!(f, "; {change}"),
            None => Ok(()),
        }
    }
}

fn percent(millionths: u64) -> f64 {
    millionths as f64 / 1e4
}

/// A number with about three digits.
struct Short(f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = match self.0 {
            x if x >= 100.0 => 0,
            x if x >= 10.0 => 1,
            x if x >= 1.0 => 2,
            x if x >= 0.01 => 3,
            _ => 4,
        };
        write!(f, "{:.digits$}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_in_few_words() {
        let path = Path {
            rate: 12_345_678,
            delay: 350,
            queue: 20,
            red: true,
            loss: Loss::Random(123),
            back: Some(Return { rate: 2_000_000, delay: 120_000 }),
        };
        assert_eq!(
            path.to_string(),
            "12.3 Mbit/s 0.350 ms queue 20 RED loss 0.012 % (back 2.00 Mbit/s 120 ms)"
        );
        assert_eq!(path.round_trip(), 120_350);
        let bursts = Loss::Bursts { to_bad: 1_000, to_good: 99_000 };
        let other = Path { red: false, loss: bursts, back: None, ..path };
        assert_eq!(other.to_string(), "12.3 Mbit/s 0.350 ms queue 20 bursts 1.00 %");
        assert_eq!(other.round_trip(), 700);
    }
}
