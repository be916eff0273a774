//! Flows as NetPerfMeter writes them: `const25:exp1000:const0:const1400:onoff=0,10`.

use std::fmt::Display;
use std::str::FromStr;

use polypath_units::{ByteCount, Duration, Fraction, Frequency};
use polypath_workload::distribution::{Drawn, Exponential, Pareto, Quantity, Uniform};
use polypath_workload::{Distribution, Stream};
use rand_core::SeedableRng;
use thiserror::Error;

use crate::flow::FlowPlan;
use crate::payload;
use crate::text::shown;
use crate::traffic::{MOST_TURNS, PartialReliability, Traffic, TrafficError};

/// Longest message, where a flow says nothing: that of NetPerfMeter.
const DEFAULT_MAX_MESSAGE: u16 = 16_000;

/// A flow of NetPerfMeter's model, as its command line has it: `RATE:SIZE[:RATE BACK:SIZE BACK][:OPTION...]`.
///
/// Rates are in frames per second, sizes in bytes, both to the server and then back; each is `constX`, `uniformA,B`, `expMEAN` or
/// `paretoMIN,SHAPE`. Options are `description`, `maxmsgsize`, `onoff`, `ordered`, `reliable`, `rtx_timeout`, `rtx_trials`,
/// `unordered` and `unreliable`, each with `=` and a value.
///
/// ```
/// use polypath_meter::FlowSpec;
///
/// // As much as there is to the server, and voice back.
/// let flow: FlowSpec = "const0:const1400:const50:const172".parse()?;
/// assert!("const0".parse::<FlowSpec>().unwrap_err().to_string().contains("RATE:SIZE"));
/// # Ok::<(), polypath_meter::FlowSpecError>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct FlowSpec {
    text: String,
    to_server: Option<Traffic>,
    to_client: Option<Traffic>,
    description: Option<String>,
    turns: Vec<Turn>,
    /// Whether the turns repeat to the end of the measurement.
    repeats: bool,
}

/// When a flow is switched on or off, in nanoseconds.
#[derive(Clone, PartialEq, Debug)]
enum Turn {
    /// Since the beginning.
    At(Distribution<Duration>),
    /// Since the one before.
    After(Distribution<Duration>),
}

/// Why a text is no flow, or a flow does not fit a measurement: a message for its author.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct FlowSpecError(String);

impl FlowSpecError {
    fn new(problem: impl Display) -> Self {
        Self(problem.to_string())
    }

    /// With the part of the text that it is about.
    fn about(part: &str, problem: impl Display) -> Self {
        Self(format!("`{part}`: {problem}"))
    }
}

impl From<TrafficError> for FlowSpecError {
    fn from(error: TrafficError) -> Self {
        Self::new(error)
    }
}

type Result<T> = std::result::Result<T, FlowSpecError>;

fn ensure(holds: bool, problem: impl Display) -> Result<()> {
    if holds { Ok(()) } else { Err(FlowSpecError::new(problem)) }
}

impl FromStr for FlowSpec {
    type Err = FlowSpecError;

    fn from_str(text: &str) -> Result<Self> {
        read(text)
    }
}

fn read(text: &str) -> Result<FlowSpec> {
    let fields: Vec<&str> = text.split(':').collect();
    let quantities = fields.iter().take_while(|field| !field.contains('=')).count();
    let (quantities, options) = fields.split_at(quantities);
    let (out, back) = match quantities {
        ["default"] => (traffic("const0", "const1400")?, None),
        [rate, size] => (traffic(rate, size)?, None),
        [rate, size, back_rate, back_size] => {
            (traffic(rate, size)?, traffic(back_rate, back_size)?)
        }
        _ => {
            return Err(FlowSpecError::new(
                "write it as RATE:SIZE[:RATE BACK:SIZE BACK][:OPTION...], e.g. const25:exp1000",
            ));
        }
    };
    ensure(out.is_some() || back.is_some(), "a size of const0 both ways sends nothing")?;
    let mut spec = FlowSpec { text: text.to_owned(), ..FlowSpec::new(out, back) };
    for option in options {
        let (key, value) = option
            .split_once('=')
            .ok_or_else(|| FlowSpecError::new(format_args!("`{option}` is not KEY=VALUE")))?;
        spec.set(key, value).map_err(|error| FlowSpecError::about(option, error))?;
    }
    spec.plan(1, Duration::from_secs(1), 0)?;
    Ok(spec)
}

impl FlowSpec {
    /// A flow from what the client sends and what the server sends. `None`: that side sends nothing.
    pub fn new(to_server: Option<Traffic>, to_client: Option<Traffic>) -> Self {
        Self {
            text: String::new(),
            to_server,
            to_client,
            description: None,
            turns: Vec::new(),
            repeats: false,
        }
    }

    /// Description of the flow; what exceeds 200 bytes is cut off. Default: the text that it was read from.
    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        self.description = Some(shown(text));
        self
    }

    /// The flow with this number; turns that are drawn or repeated are settled up to `end`.
    pub(crate) fn plan(&self, id: u32, end: Duration, seed: u64) -> Result<FlowPlan> {
        let on_off = self.settle_turns(end, seed)?;
        let side = |traffic: &Option<Traffic>| {
            let mut traffic = traffic.clone()?;
            // Without turns of the text, the flow has those of its traffic.
            if !self.turns.is_empty() {
                traffic.on_off.clone_from(&on_off);
            }
            Some(traffic)
        };
        let (to_server, to_client) = (side(&self.to_server), side(&self.to_client));
        for traffic in to_server.iter().chain(&to_client) {
            traffic.check()?;
        }
        let text = (!self.text.is_empty()).then(|| self.text.clone());
        let description = self.description.clone().or(text);
        Ok(FlowPlan { id, description, to_server, to_client })
    }

    fn settle_turns(&self, end: Duration, seed: u64) -> Result<Vec<Duration>> {
        let mut rng = Stream::seed_from_u64(seed);
        let mut settled: Vec<Duration> = Vec::new();
        loop {
            for turn in &self.turns {
                let last = settled.last().copied();
                let time = match turn {
                    Turn::At(time) => time.draw(&mut rng),
                    Turn::After(time) => last.unwrap_or_default() + time.draw(&mut rng),
                };
                if last.is_some_and(|last| time <= last) {
                    // Draws may be as short as they like; what was written must be in order.
                    ensure(matches!(turn, Turn::After(_)), "times of onoff must rise")?;
                    settled.push(last.unwrap_or_default() + Duration::from_nanos(1));
                    continue;
                }
                settled.push(time);
            }
            let is_over = settled.last().is_none_or(|last| *last >= end);
            if !self.repeats || is_over {
                return Ok(settled);
            }
            // Beyond the last it would be silent.
            ensure(
                settled.len() + self.turns.len() <= MOST_TURNS,
                format_args!(
                    "{} times of onoff are not enough: they end after {}, and the measurement may take {end}",
                    settled.len(),
                    settled.last().copied().unwrap_or_default()
                ),
            )?;
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "description" => self.description = Some(shown(value)),
            "onoff" => self.set_turns(value)?,
            "cmt" | "cc" => {
                ensure(false, "one association carries all flows: use --preset or -C")?;
            }
            "maxmsgsize" => {
                let (least, most) = (payload::HEADER, payload::LONGEST);
                let bytes: u16 = value.parse().map_err(|error| {
                    FlowSpecError::new(format_args!(
                        "messages have {least} to {most} bytes: {error}"
                    ))
                })?;
                self.each(|traffic| traffic.longest_message = bytes);
            }
            "unordered" | "ordered" => {
                let part = share(value, key == "ordered")?;
                self.each(|traffic| traffic.unordered = part);
            }
            "unreliable" | "reliable" => {
                let part = share(value, key == "reliable")?;
                self.each(|traffic| traffic.unreliable = part);
            }
            "rtx_timeout" => {
                let lifetime = Duration::from_millis(number(value)?);
                self.each(|traffic| {
                    traffic.partial_reliability = PartialReliability::Lifetime(lifetime)
                });
            }
            "rtx_trials" => {
                let trials = number(value)?;
                self.each(|traffic| {
                    traffic.partial_reliability = PartialReliability::Retransmissions(trials)
                });
            }
            _ => ensure(
                false,
                "no such option; there are description, maxmsgsize, onoff, ordered, reliable, rtx_timeout, rtx_trials, \
                 unordered and unreliable",
            )?,
        }
        Ok(())
    }

    fn each(&mut self, change: impl Fn(&mut Traffic)) {
        self.to_server.iter_mut().chain(&mut self.to_client).for_each(change);
    }

    fn set_turns(&mut self, value: &str) -> Result<()> {
        let mut items: Vec<String> = Vec::new();
        for item in value.split(',') {
            match items.last_mut().filter(|last| needs_second(last)) {
                Some(last) => *last = format!("{last},{item}"),
                None => items.push(item.to_owned()),
            }
        }
        if items.last().is_some_and(|last| last == "repeat") {
            self.repeats = true;
            items.pop();
        }
        let turn = |item: &String| match item.strip_prefix('+') {
            Some(rest) => distribution(rest, 1e9).map(Turn::After),
            None => distribution(item, 1e9).map(Turn::At),
        };
        self.turns = items.iter().map(turn).collect::<Result<_>>()?;
        let relative = self.turns.iter().all(|turn| matches!(turn, Turn::After(_)));
        ensure(
            !self.repeats || relative && self.turns.len().is_multiple_of(2),
            "what is repeated is an even number of times, each beginning with +",
        )
    }
}

/// Whether a distribution lacks the second of its two numbers.
fn needs_second(item: &str) -> bool {
    let name = item.trim_start_matches('+');
    (name.starts_with("uniform") || name.starts_with("pareto")) && !name.contains(',')
}

/// One direction; nothing where the size is zero.
fn traffic(rate: &str, size: &str) -> Result<Option<Traffic>> {
    let frame_rate: Distribution<Frequency> = distribution(rate, 1e6)?;
    let frame_size: Distribution<ByteCount> = distribution(size, 1.0)?;
    if frame_size.constant() == Some(ByteCount::ZERO) {
        return Ok(None);
    }
    Ok(Some(Traffic { frame_rate, frame_size, ..Traffic::saturated(DEFAULT_MAX_MESSAGE) }))
}

/// A quantity that is drawn as the text says, in units of so many of its steps.
fn distribution<T: Quantity>(text: &str, steps: f64) -> Result<Distribution<T>> {
    let begin = text.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(text.len());
    let (name, numbers) = text.split_at(begin);
    let numbers: Vec<f64> = numbers
        .split(',')
        .map(|number| {
            number.parse().map_err(|_| {
                let why = format_args!(
                    "`{number}` is not a number: write constX, uniformA,B, expMEAN or paretoMIN,SHAPE, for example \
                     const25 or exp1000"
                );
                FlowSpecError::about(text, why)
            })
        })
        .collect::<Result<_>>()?;
    ensure(
        numbers.iter().all(|n| n.is_finite() && *n >= 0.0),
        format_args!("`{text}` is out of range"),
    )?;
    let of = |number: f64| T::of_steps(number * steps);
    let drawn = match (name, numbers.as_slice()) {
        ("const" | "", [value]) => return Ok(Distribution::Constant(of(*value))),
        ("uniform", [from, to]) => Drawn::Uniform(Uniform { from: of(*from), to: of(*to) }),
        ("exp", [mean]) => Drawn::Exponential(Exponential { mean: of(*mean) }),
        ("pareto", [min, shape]) => Drawn::Pareto(Pareto { min: of(*min), shape: *shape }),
        _ => {
            let forms = "write constX, uniformA,B, expMEAN or paretoMIN,SHAPE";
            return Err(FlowSpecError::about(text, forms));
        }
    };
    let distribution = Distribution::Drawn(drawn);
    match distribution.problem() {
        Some((key, problem)) => Err(FlowSpecError::about(text, format_args!("{key} {problem}"))),
        None => Ok(distribution),
    }
}

/// A part from 0 to 1, or what is left of it.
fn share(value: &str, is_rest: bool) -> Result<Fraction> {
    let part: f64 = number(value)?;
    let part = if is_rest { 1.0 - part } else { part };
    Fraction::from_f64(part).map_err(|_| FlowSpecError::new("a part is from 0 to 1"))
}

fn number<T: FromStr<Err: Display>>(text: &str) -> Result<T> {
    text.parse().map_err(FlowSpecError::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> FlowPlan {
        text.parse::<FlowSpec>().unwrap().plan(1, Duration::from_secs(60), 7).unwrap()
    }

    fn error(text: &str) -> String {
        text.parse::<FlowSpec>().unwrap_err().to_string()
    }

    #[test]
    fn the_four_quantities_of_netperfmeter_are_read() {
        let flow = plan("const0:const1400:const0:const1400");
        assert!(flow.to_server.as_ref().is_some_and(Traffic::is_saturated));
        assert_eq!(flow.to_server, flow.to_client);
        let flow = plan("const25:uniform900,1100:exp3:pareto166,1.5:maxmsgsize=1000");
        let [out, back] = [flow.to_server.unwrap(), flow.to_client.unwrap()];
        assert_eq!(out.frame_rate.constant(), Some(Frequency::from_hertz(25)));
        assert_eq!(out.frame_size.largest(), Some(ByteCount::from_bytes(1100)));
        assert_eq!(back.frame_rate.mean_steps(), 3e6);
        assert_eq!(back.frame_size.smallest(), ByteCount::from_bytes(166));
        assert_eq!([out.longest_message, back.longest_message], [1000; 2]);
        let one_way = plan("const10:const0:const5:const800");
        assert!(one_way.to_server.is_none() && one_way.to_client.is_some());
        assert!(plan("default").to_client.is_none());
    }

    #[test]
    fn options_hold_for_both_directions() {
        let flow =
            plan("const10:const100:const10:const100:unordered=0.25:reliable=0.5:rtx_timeout=50");
        for traffic in [flow.to_server.unwrap(), flow.to_client.unwrap()] {
            assert_eq!(traffic.unordered.as_f64(), 0.25);
            assert_eq!(traffic.unreliable.as_f64(), 0.5);
            assert_eq!(
                traffic.partial_reliability,
                PartialReliability::Lifetime(Duration::from_millis(50))
            );
        }
        assert_eq!(plan("const1:const100:description=A").description.as_deref(), Some("A"));
    }

    #[test]
    fn turns_are_absolute_relative_drawn_and_repeated() {
        let turns = |text: &str| {
            let flow = plan(&format!("const10:const100:onoff={text}"));
            let seconds = |turn: &Duration| turn.as_secs_f64();
            flow.to_server.unwrap().on_off.iter().map(seconds).collect::<Vec<_>>()
        };
        assert_eq!(turns("0,10,30"), [0.0, 10.0, 30.0]);
        assert_eq!(turns("10,+30,+60"), [10.0, 40.0, 100.0]);
        assert_eq!(turns("+10,+20,repeat"), [10.0, 30.0, 40.0, 60.0]);
        let drawn = turns("+pareto0.5,1.5,+exp2,repeat");
        assert!(drawn.len() > 4 && drawn.windows(2).all(|pair| pair[0] < pair[1]), "{drawn:?}");
        assert_eq!(drawn, turns("+pareto0.5,1.5,+exp2,repeat"), "the seed decides");
    }

    #[test]
    fn mistakes_are_named() {
        let many = format!("const1:const9:onoff={}", vec!["+1"; 1001].join(","));
        for (text, expected) in [
            ("const1", "write it as RATE:SIZE"),
            ("const1:const1:const1", "write it as RATE:SIZE"),
            ("const1:const0", "sends nothing"),
            ("constx:const1", "is not a number"),
            ("normal5,2:const9", "write constX"),
            ("const-1:const9", "write constX"),
            ("const1:const9:unordered=2", "from 0 to 1"),
            ("const1:const9:color=red", "no such option"),
            ("const1:const9:cmt=off", "--preset"),
            ("const1:const9:onoff=5,5", "must rise"),
            ("const1:const9:onoff=+5,repeat", "even number"),
            ("const1:const9:onoff=+0.0001,+0.0001,repeat", "are not enough"),
            (many.as_str(), "more than 1000 on and off times"),
            ("const1:const9:maxmsgsize=10", "at least 48"),
            ("const1:const9:maxmsgsize=65536", "48 to 65535 bytes"),
            ("const1:pareto0,1", "must not be zero"),
            ("const9999999:const9", "messages per second"),
        ] {
            let told = error(text);
            assert!(told.contains(expected), "{text}: {told}");
        }
    }
}
