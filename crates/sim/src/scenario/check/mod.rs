//! Checks that the types of a scenario do not make.

mod association;
mod background;
mod changes;
mod network;
mod nodes;
mod traffic;

pub(super) use network::check as check_network;

use polypath_proto::config::{Burst, DacCount, InitialCwnd, Policies};
use polypath_units::{ByteCount, Duration};

use super::{Record, Scenario, SctpSettings};
use crate::document::{Document, DocumentError, Step};

use Step::Key;

const MTU_RANGE: (u64, u64) = (512, u16::MAX as u64);
const LEAST_SEND_BUFFER: ByteCount = ByteCount::from_bytes(1);
/// A saturated source fills the send buffer. Payload is virtual, but its descriptions need memory: more than 1 GiB at
/// this limit if messages are short.
const MOST_SEND_BUFFER: ByteCount = ByteCount::from_bytes(1 << 30);
const RECEIVE_BUFFER_RANGE: (u64, u64) = (1_500, u32::MAX as u64);
/// Maximum number of packets that the two bits in the flags of a SACK can express (DAC).
const COUNTED_PACKETS: u8 = 3;
/// Maximum number of samples of buffers, which cost time but no memory.
const MOST_LOOKS: u64 = 1_000_000_000;

type Result<T = ()> = std::result::Result<T, DocumentError>;

pub(super) fn check(scenario: &Scenario, document: &Document) -> Result {
    check_run(scenario, document)?;
    association::check(scenario, document)?;
    for pair in &scenario.pairs {
        for (name, place) in pair.names.iter().zip(pair.sctp) {
            check_sctp(&scenario.sctp[place], name, document)?;
        }
    }
    check_paths(scenario, document)?;
    traffic::check(scenario, document)?;
    changes::check(scenario, document)
}

fn check_run(scenario: &Scenario, document: &Document) -> Result {
    let run = &scenario.run;
    let wrong = |key, message: String| Err(document.complain(&[Key("run"), Key(key)], message));
    if run.duration.is_zero() {
        return wrong("duration", "a run must take some time".into());
    }
    if run.measure_from >= run.duration {
        return wrong(
            "measure_from",
            format!("lies at the end of the run or after it ({})", run.duration),
        );
    }
    if let Some(until) = run.measure_until
        && !(run.measure_from < until && until <= run.duration)
    {
        return wrong(
            "measure_until",
            format!("must lie after {} and not after {}", run.measure_from, run.duration),
        );
    }
    let Record { series, occupancy, .. } = scenario.record;
    let problems = [
        ("series", series.and_then(|interval| Record::series_problem(interval, run.duration))),
        ("occupancy", too_often(occupancy, run.duration, MOST_LOOKS)),
    ];
    match problems.into_iter().find_map(|(key, problem)| Some((key, problem?))) {
        Some((key, message)) => Err(document.complain(&[Key("record"), Key(key)], message)),
        None => Ok(()),
    }
}

impl Record {
    /// Maximum number of samples of a series. A path has about ten series, so more would fill the memory: an hour at
    /// intervals of 1 ms has 3.6 million.
    pub const MOST_SAMPLES: u64 = 4_000_000;

    /// The error for series at this interval in a run of this duration.
    pub fn series_problem(interval: Duration, duration: Duration) -> Option<String> {
        too_often(interval, duration, Self::MOST_SAMPLES)
    }
}

/// The error for too many samples.
fn too_often(interval: Duration, duration: Duration, most: u64) -> Option<String> {
    if interval.is_zero() {
        return Some("must not be zero".into());
    }
    let samples = duration.as_nanos() / interval.as_nanos();
    let least = Duration::from_nanos(duration.as_nanos().div_ceil(most));
    (samples > most).then(|| {
        format!(
            "{samples} samples in {duration} are more than {most}: at least {least} between them"
        )
    })
}

/// A larger number of paths must be allowed explicitly; otherwise some would silently carry no traffic.
fn check_paths(scenario: &Scenario, document: &Document) -> Result {
    let paths = scenario.network.paths().len();
    for (number, pair) in scenario.pairs.iter().enumerate() {
        for (name, place) in pair.names.iter().zip(pair.sctp) {
            let most = scenario.sctp[place].max_paths;
            let own = [Key("hosts"), Key(name), Key("sctp"), Key("max_paths")];
            let is_meant = document.has(&own) || document.has(&[Key("sctp"), Key("max_paths")]);
            if usize::from(most) < paths && !is_meant && scenario.has_association(number) {
                let message = format!(
                    "the network has {paths} paths, and associations would use {most} of them: set max_paths (up to 32)"
                );
                return Err(document.complain(&[Key("sctp"), Key("max_paths")], message));
            }
        }
    }
    Ok(())
}

/// Why a name is unsuitable for file names, or as a part of a longer name.
fn name_problem(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("a name must not be empty".into());
    }
    if name == "." || name == ".." {
        return Some(format!("`{name}` cannot be the name of a file"));
    }
    let unfit = name.chars().find(|c| matches!(c, '/' | '\\') || c.is_control())?;
    Some(format!("{unfit:?} cannot be part of a name, because files are named after it"))
}

fn check_sctp(sctp: &SctpSettings, host: &str, document: &Document) -> Result {
    let problem = sctp_problem(sctp).or_else(|| policy_problem(sctp)).or_else(|| {
        let error = sctp.association_config().check().err()?;
        // Keys of the stack contain the unit, values of scenarios do.
        let key = error.key.strip_suffix("_bytes").unwrap_or(error.key);
        Some((key.to_owned(), error.problem))
    });
    let Some((key, message)) = problem else { return Ok(()) };
    // The host's own settings take precedence.
    let places = [vec![Key("hosts"), Key(host), Key("sctp")], vec![Key("sctp")]];
    let mut places = places.map(|mut steps| {
        steps.extend(key.split('.').map(Key));
        steps
    });
    places.sort_by_key(|steps| !document.has(steps));
    Err(document.complain(&places[0], message))
}

/// The key of a wrong setting, with dots, and the error.
type Problem = Option<(String, String)>;

fn problem(key: &str, message: impl Into<String>) -> Problem {
    Some((key.to_owned(), message.into()))
}

/// Settings that the stack cannot express, or would silently raise to a minimum.
fn sctp_problem(sctp: &SctpSettings) -> Problem {
    let (least, most) = MTU_RANGE;
    if !(least..=most).contains(&sctp.mtu.as_bytes()) {
        return problem("mtu", format!("{} is not from {least} B to {most} B", sctp.mtu));
    }
    if !(LEAST_SEND_BUFFER..=MOST_SEND_BUFFER).contains(&sctp.send_buffer) {
        let given = sctp.send_buffer;
        let message = format!("{given} is not from {LEAST_SEND_BUFFER} to {MOST_SEND_BUFFER}");
        return problem("send_buffer", message);
    }
    let (least, most) = RECEIVE_BUFFER_RANGE;
    if !(least..=most).contains(&sctp.receive_buffer.as_bytes()) {
        let message = format!("{} is not from {least} B to {most} B", sctp.receive_buffer);
        return problem("receive_buffer", message);
    }
    let times = [("shutdown_guard", sctp.shutdown_guard), ("autoclose", sctp.autoclose)];
    if let Some((key, _)) = times.iter().find(|(_, time)| time.is_some_and(Duration::is_zero)) {
        return problem(key, "must not be zero; leave it out for none");
    }
    if sctp.heartbeat_max_burst == 0 {
        return problem("heartbeat_max_burst", "must be at least 1");
    }
    if sctp.cookie_life.is_zero() {
        return problem("cookie_life", "must not be zero");
    }
    None
}

fn policy_problem(sctp: &SctpSettings) -> Problem {
    let Policies { delayed_ack, burst, rto, window, .. } = &sctp.policies;
    let counts = matches!(delayed_ack.count, DacCount::SackFlags | DacCount::SackFlagsInGaps);
    if counts && delayed_ack.packets > COUNTED_PACKETS {
        let message = format!(
            "a SACK can count {COUNTED_PACKETS} packets, not {}; with more, count has to be \"off\"",
            delayed_ack.packets
        );
        return problem("policies.delayed_ack.packets", message);
    }
    match burst {
        Burst::MaxBurst(0) => return problem("policies.burst.max-burst", "must be at least 1"),
        Burst::MaxBurstAfterLoss(0) => {
            return problem("policies.burst.max-burst-after-loss", "must be at least 1");
        }
        Burst::MaxBurstFromRetransmission(0) => {
            let key = "policies.burst.max-burst-from-retransmission";
            return problem(key, "must be at least 1");
        }
        Burst::MaxBurstOnce(0) => {
            return problem("policies.burst.max-burst-once", "must be at least 1");
        }
        _ => {}
    }
    if rto.min > rto.max {
        let message = format!("{} is longer than the largest, {}", rto.min, rto.max);
        return problem("policies.rto.min", message);
    }
    if rto.initial > rto.max {
        let message = format!("{} is longer than the largest, {}", rto.initial, rto.max);
        return problem("policies.rto.initial", message);
    }
    match window.initial_cwnd {
        InitialCwnd::Mtu(0) => problem("policies.window.initial_cwnd.mtu", "must be at least 1"),
        InitialCwnd::Bytes(bytes) if u64::from(bytes) < sctp.mtu.as_bytes() => {
            let message = format!("{bytes} is less than a packet of {} (sctp.mtu)", sctp.mtu);
            problem("policies.window.initial_cwnd.bytes", message)
        }
        _ => None,
    }
}
