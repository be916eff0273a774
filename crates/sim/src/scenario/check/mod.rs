//! What the types of a scenario cannot say.

mod changes;
mod network;

pub(super) use network::check as check_network;

use polypath_proto::config::{
    BufferSize, Burst, DacCount, InitialCwnd, PartialReliability, Policies,
};
use polypath_units::{ByteCount, Duration};
use polypath_workload::{FlowError, Source};

use super::{Flow, FlowEnds, Scenario, SctpSettings};
use crate::app::RECOGNISABLE;
use crate::document::{Document, DocumentError, Step};

use Step::{Index, Key};

/// Shortest message: enough to recognise it by its content.
const SHORTEST_MESSAGE: ByteCount = ByteCount::from_bytes(RECOGNISABLE as u64);
const MOST_FLOWS: usize = 1 << 16;
const MTU_RANGE: (u64, u64) = (512, u16::MAX as u64);
const RECEIVE_BUFFER_RANGE: (u64, u64) = (1_500, u32::MAX as u64);
/// Packets that the two bits in the flags of a SACK can count (DAC).
const COUNTED_PACKETS: u8 = 3;

type Result<T = ()> = std::result::Result<T, DocumentError>;

pub(super) fn check(scenario: &Scenario, document: &Document) -> Result {
    check_run(scenario, document)?;
    check_association(scenario, document)?;
    for pair in &scenario.pairs {
        for (name, place) in pair.names.iter().zip(pair.sctp) {
            check_sctp(&scenario.sctp[place], name, document)?;
        }
    }
    check_traffic(scenario, document)?;
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
    for (key, interval) in
        [("series", scenario.record.series), ("occupancy", Some(scenario.record.occupancy))]
    {
        if interval == Some(Duration::ZERO) {
            return Err(document.complain(&[Key("record"), Key(key)], "must not be zero"));
        }
    }
    Ok(())
}

/// What makes a name unfit for the name of a file, or for a part of a longer name.
fn name_problem(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("there must be a name".into());
    }
    if name == "." || name == ".." {
        return Some(format!("`{name}` names no file"));
    }
    let unfit = name.chars().find(|c| matches!(c, '/' | '\\') || c.is_control())?;
    Some(format!("{unfit:?} cannot be part of a name, because files are named after it"))
}

fn check_association(scenario: &Scenario, document: &Document) -> Result {
    let (connect, duration) = (scenario.association.connect, scenario.run.duration);
    if connect >= duration {
        let message = format!("lies at the end of the run or after it ({duration})");
        return Err(document.complain(&[Key("association"), Key("connect")], message));
    }
    Ok(())
}

fn check_sctp(sctp: &SctpSettings, host: &str, document: &Document) -> Result {
    let problem = sctp_problem(sctp).or_else(|| policy_problem(sctp)).or_else(|| {
        let error = sctp.association_config().check().err()?;
        // Quantities have their unit in the name there and in the value here.
        let key = error.key.strip_suffix("_bytes").unwrap_or(error.key);
        Some((key.to_owned(), error.problem))
    });
    let Some((key, message)) = problem else { return Ok(()) };
    // The host's own settings decide where they say something.
    let places = [vec![Key("hosts"), Key(host), Key("sctp")], vec![Key("sctp")]];
    let mut places = places.map(|mut steps| {
        steps.extend(key.split('.').map(Key));
        steps
    });
    places.sort_by_key(|steps| !document.has(steps));
    Err(document.complain(&places[0], message))
}

/// Where settings are wrong, with dots, and how.
type Problem = Option<(String, String)>;

fn problem(key: &str, message: impl Into<String>) -> Problem {
    Some((key.to_owned(), message.into()))
}

/// What the stack cannot be told, or would raise to a minimum in silence.
fn sctp_problem(sctp: &SctpSettings) -> Problem {
    let (least, most) = MTU_RANGE;
    if !(least..=most).contains(&sctp.mtu.as_bytes()) {
        return problem("mtu", format!("{} is not from {least} B to {most} B", sctp.mtu));
    }
    let (least, most) = RECEIVE_BUFFER_RANGE;
    if !(least..=most).contains(&sctp.receive_buffer.as_bytes()) {
        let message = format!("{} is not from {least} B to {most} B", sctp.receive_buffer);
        return problem("receive_buffer", message);
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
    if delayed_ack.count == DacCount::SackFlags && delayed_ack.packets > COUNTED_PACKETS {
        let message = format!(
            "a SACK can count {COUNTED_PACKETS} packets, not {}; with more, count has to be \"off\"",
            delayed_ack.packets
        );
        return problem("policies.delayed_ack.packets", message);
    }
    if *burst == Burst::MaxBurst(0) {
        return problem("policies.burst.max-burst", "must be at least 1");
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

fn check_traffic(scenario: &Scenario, document: &Document) -> Result {
    if scenario.traffic.is_empty() || scenario.traffic.len() > MOST_FLOWS {
        return Err(document
            .complain(&[Key("traffic")], "there must be at least one flow and at most 65536"));
    }
    for (index, flow) in scenario.traffic.iter().enumerate() {
        let wrong = |key: &'static str, message: String| {
            Err(document.complain(&[Key("traffic"), Index(index), Key(key)], message))
        };
        if let Some(message) = name_problem(&flow.name) {
            return wrong("name", message);
        }
        if scenario.traffic[..index].iter().any(|other| other.name == flow.name) {
            return wrong("name", format!("there is another flow `{}`", flow.name));
        }
        if let Some((key, message)) = flow_problem(flow, scenario) {
            return wrong(key, message);
        }
    }
    Ok(())
}

/// What is wrong with a flow, and at which key.
fn flow_problem(flow: &Flow, scenario: &Scenario) -> Option<(&'static str, String)> {
    let FlowEnds { pair, from, .. } = flow.ends;
    let (sender, receiver) = (scenario.sctp_of(pair, from), scenario.sctp_of(pair, from.peer()));
    if flow.message_size < SHORTEST_MESSAGE {
        return Some(("message_size", format!("must be at least {SHORTEST_MESSAGE}")));
    }
    let most = sender.send_buffer.min(receiver.receive_buffer);
    if flow.message_size > most {
        return Some((
            "message_size",
            format!("{} does not fit the buffers of {most}", flow.message_size),
        ));
    }
    if sender.policies.send_buffer == BufferSize::Infinite
        && matches!(flow.source, Source::Saturated)
    {
        let message = "a saturated source fills an infinite send buffer at once; bound it \
                       (sctp.policies.send_buffer) or send a file";
        return Some(("source", message.into()));
    }
    let there_are = sender.outbound_streams.min(receiver.max_inbound_streams);
    if flow.streams == 0 {
        return Some(("streams", "a flow has at least one stream".into()));
    }
    if u32::from(flow.first_stream) + u32::from(flow.streams) > u32::from(there_are) {
        let message = format!(
            "streams {} to {} are not among the {there_are} of the association (sctp.outbound_streams, \
             sctp.max_inbound_streams)",
            flow.first_stream,
            u32::from(flow.first_stream) + u32::from(flow.streams) - 1
        );
        return Some(("streams", message));
    }
    if flow.stream_values.len() > usize::from(flow.streams) {
        let message = format!("{} values for {} streams", flow.stream_values.len(), flow.streams);
        return Some(("stream_values", message));
    }
    if let Some(Err(message)) = flow.reliability.map(PartialReliability::check) {
        return Some(("reliability", message.into()));
    }
    if flow.start >= scenario.run.duration {
        return Some((
            "start",
            format!("lies at the end of the run or after it ({})", scenario.run.duration),
        ));
    }
    let connect = scenario.association.connect;
    if let Some(stop) = flow.stop.filter(|stop| *stop <= connect) {
        let message = format!("{stop} is not after the association begins at {connect}");
        return Some(("stop", message));
    }
    flow.spec().check().err().map(|error| {
        let key = match error {
            FlowError::EmptyFile => "source",
            FlowError::StopsBeforeStart { .. } => "stop",
            FlowError::EmptyMessages | FlowError::LargeMessages(_) => "message_size",
        };
        (key, error.to_string())
    })
}
