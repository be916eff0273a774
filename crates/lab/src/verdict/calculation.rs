//! Statements of a paper by calculation, which need no runs.

use polypath_proto::config::BufferSize;
use polypath_sim::{ConstantWindow, HandmadeExample, PathModel, window_blocking};
use polypath_units::{BitRate, ByteCount, Duration, Fraction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule;
use super::{Judgement, PlaceJudgement};
use crate::stats::{Confidence, Interval, mean};

/// A number of a paper that is calculated from others.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calculated {
    /// Its identifier, which never changes.
    pub id: String,
    /// Figure, table or section that it is about.
    pub figure: String,
    /// The statement as text.
    pub statement: String,
    /// The calculation.
    pub of: Calculation,
    /// The value of the paper: Mbit/s for rates, MiB for buffers, ms for times.
    pub value: f64,
    /// Maximum deviation, relative to the number; default: 5 %.
    #[serde(default = "about")]
    pub within: Fraction,
    /// Why it differs here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Experiments that show the cause: names of statements, or of studies beside this file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_by: Vec<String>,
}

fn about() -> Fraction {
    Fraction::from_percent(5)
}

/// The calculation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Calculation {
    /// Rate that a window allows, in Mbit/s (`sarwar` section III).
    WindowCeiling {
        /// The window.
        window: ByteCount,
        /// The round-trip time.
        time: Duration,
    },
    /// The minimum buffer that covers fast retransmissions, and with `timeouts` also timeouts, in MiB (`dreibholz-asymmetric`
    /// section IV-A).
    LeastBuffer {
        /// Sum of the rates.
        rate: BitRate,
        /// Longest round-trip time.
        rtt: Duration,
        /// Longest retransmission timeout, if timeouts are to be covered.
        #[serde(default)]
        rto: Option<Duration>,
    },
    /// When constant windows on some paths have filled a receive window, in ms (`sarwar` section IV-A, fig. 5).
    WindowFull(Windows),
    /// When all of it was delivered then, in ms.
    WindowReleased(Windows),
    /// How many chunks leave the send buffer when acknowledgements written by hand come to a sender of the stack
    /// (`dreibholz-asymmetric` fig. 2).
    FreedChunks(HandmadeExample),
    /// How many chunks are then retransmitted (`sarwar` fig. 6).
    ChunksSentAgain(HandmadeExample),
    /// How far the sender is then from where it would be, had they come in the order in which they were sent: the
    /// peer's window and the bytes in flight, in bytes.
    WindowError(HandmadeExample),
}

/// Paths with constant windows.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Windows {
    /// The receive window in packets.
    pub window: usize,
    /// The paths.
    pub paths: Vec<ConstantPath>,
}

/// A path with a constant window.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantPath {
    /// Time that a packet takes to be sent.
    pub packet_time: Duration,
    /// Round-trip time; half of it is the delay.
    pub rtt: Duration,
    /// Packets in each round trip.
    pub packets: usize,
}

impl Calculation {
    /// The result; `None` if there is none, such as for a window that is never full.
    pub fn value(&self) -> Option<f64> {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        match self {
            Self::WindowCeiling { window, time } => (!time.is_zero())
                .then(|| BitRate::of(*window, *time).as_bits_per_second() as f64 / 1e6),
            Self::LeastBuffer { rate, rtt, rto } => {
                let size =
                    if rto.is_some() { BufferSize::AutoTimeout } else { BufferSize::AutoFast };
                let bytes = size.least(*rtt, rto.unwrap_or_default(), *rate)?;
                Some(bytes.as_bytes() as f64 / f64::from(1 << 20))
            }
            Self::WindowFull(windows) => windows.blocking().map(|found| ms(found.full)),
            Self::WindowReleased(windows) => windows.blocking().map(|found| ms(found.released)),
            Self::FreedChunks(example) => example.outcome().map(|state| state.freed as f64),
            Self::ChunksSentAgain(example) => {
                example.outcome().map(|state| state.sent_again as f64)
            }
            Self::WindowError(example) => window_error(example),
        }
    }

    fn unit(&self) -> &'static str {
        match self {
            Self::WindowCeiling { .. } => "Mbit/s",
            Self::LeastBuffer { .. } => "MiB",
            Self::WindowFull(_) | Self::WindowReleased(_) => "ms",
            Self::FreedChunks(_) | Self::ChunksSentAgain(_) => "chunks",
            Self::WindowError(_) => "B",
        }
    }
}

fn window_error(example: &HandmadeExample) -> Option<f64> {
    let (state, in_order) = (example.outcome()?, example.outcome_in_order()?);
    let window = state.peer_window_bytes.abs_diff(in_order.peer_window_bytes);
    Some((window + state.flight_bytes.abs_diff(in_order.flight_bytes)) as f64)
}

impl Windows {
    fn blocking(&self) -> Option<polypath_sim::WindowBlocking> {
        let paths: Vec<ConstantWindow> = self
            .paths
            .iter()
            .filter(|path| !path.rtt.is_zero())
            .map(|path| ConstantWindow {
                path: PathModel { packet_time: path.packet_time, delay: path.rtt / 2 },
                round_trip: path.rtt,
                packets: path.packets,
            })
            .collect();
        window_blocking(&paths, self.window)
    }
}

impl Calculated {
    /// Whether the calculation gives the paper's value.
    pub fn judge(&self, paper: &str) -> Judgement {
        let estimate = self.of.value().and_then(|value| mean(&[value], Confidence::Deterministic));
        let judged = |e: &crate::stats::Estimate| rule::about(e, self.value, self.within.as_f64());
        let verdict = estimate.as_ref().map_or(rule::Verdict::Differs, judged);
        let percent = (self.within.as_f64() * 1e4).round() / 1e2;
        Judgement {
            id: self.id.clone(),
            paper: paper.to_owned(),
            figure: self.figure.clone(),
            statement: self.statement.clone(),
            rule: "calculation",
            n: 0,
            verdict,
            measured: estimate.map(|estimate| estimate.value),
            interval: estimate.map(|estimate| estimate.interval),
            place: None,
            unit: self.of.unit().to_owned(),
            expected: format!("{} {} ± {percent} %", self.value, self.of.unit()),
            cause: self.cause.clone().filter(|_| verdict != rule::Verdict::Holds),
            shown_by: if verdict == rule::Verdict::Holds {
                Vec::new()
            } else {
                self.shown_by.clone()
            },
            places: vec![PlaceJudgement {
                what: "calculated".into(),
                verdict,
                estimate,
                runs_needed: None,
                claimed: Some(Interval::around(
                    self.value,
                    (self.within.as_f64() * self.value).abs(),
                )),
                points: Vec::new(),
            }],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn verdict(of: &str, value: f64) -> Verdict {
        let text = format!(
            "id = \"x\"\nfigure = \"1\"\nstatement = \"words\"\nof = {of}\nvalue = {value}\n"
        );
        let calculated: Calculated = toml::from_str(&text).expect("a calculation");
        calculated.judge("p").verdict
    }

    #[test]
    fn calculations_can_hold_and_differ() {
        let ceiling = "{ window-ceiling = { window = \"65536 B\", time = \"10 ms\" } }";
        let buffer =
            "{ least-buffer = { rate = \"200 Mbit/s\", rtt = \"110 ms\", rto = \"1 s\" } }";
        let fast = "{ least-buffer = { rate = \"8 Mbit/s\", rtt = \"524288 us\" } }";
        let paths = "window = 44, paths = [{ packet_time = \"1200 us\", rtt = \"20 ms\", packets = 10 }, \
                     { packet_time = \"12 ms\", rtt = \"400 ms\", packets = 2 }]";
        let full = format!("{{ window-full = {{ {paths} }} }}");
        let released = format!("{{ window-released = {{ {paths} }} }}");
        for (of, value) in [
            (ceiling, 52.4),
            // (3 * 0.11 s + 1 s) * 200 Mbit/s / 8.
            (buffer, 31.71),
            // 2 * 0.524288 s * 8 Mbit/s / 8.
            (fast, 1.0),
            (&full, 110.0),
            (&released, 224.0),
        ] {
            assert_eq!(verdict(of, value), Verdict::Holds, "{of}");
            assert_eq!(verdict(of, value * 1.2), Verdict::Differs, "{of}");
        }
        assert_eq!(verdict("{ window-full = { window = 44, paths = [] } }", 1.0), Verdict::Differs);
    }

    #[test]
    fn examples_by_hand_can_hold_and_differ() {
        let sack = "{ path = 1, cumulative = 1, gaps = [[3, 8]], window = 50000 }";
        let example = format!("sent = 8, sacks = [{sack}]");
        for (of, value) in
            [("freed-chunks", 1.0), ("chunks-sent-again", 0.0), ("window-error", 0.0)]
        {
            let of = format!("{{ {of} = {{ {example} }} }}");
            assert_eq!(verdict(&of, value), Verdict::Holds, "{of}");
            assert_eq!(verdict(&of, value + 1.0), Verdict::Differs, "{of}");
        }
        assert_eq!(verdict("{ freed-chunks = { sent = 0, sacks = [] } }", 0.0), Verdict::Differs);
    }
}
