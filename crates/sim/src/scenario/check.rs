//! What the types of a scenario cannot say.

use polypath_proto::config::{Burst, Policies};
use polypath_units::{ByteCount, Duration, Instant};
use polypath_workload::FlowError;

use super::{Fault, Flow, HostName, Scenario, SctpSettings};
use crate::app::RECOGNISABLE;
use crate::document::{Document, DocumentError, Step};

use Step::{Index, Key};

/// Shortest message: enough to recognise it by its content.
const SHORTEST_MESSAGE: ByteCount = ByteCount::from_bytes(RECOGNISABLE as u64);
const MOST_FLOWS: usize = 1 << 16;
const MOST_PATHS: usize = 32;
const MTU_RANGE: (u64, u64) = (512, u16::MAX as u64);
const RECEIVE_BUFFER_RANGE: (u64, u64) = (1_500, u32::MAX as u64);
const LONGEST_SACK_DELAY: Duration = Duration::from_millis(500);

type Result<T = ()> = std::result::Result<T, DocumentError>;

pub(super) fn check(scenario: &Scenario, document: &Document) -> Result {
    check_run(scenario, document)?;
    check_network(scenario, document)?;
    for host in HostName::ALL {
        check_sctp(scenario.sctp_of(host), host, document)?;
    }
    check_traffic(scenario, document)?;
    check_faults(scenario, document)
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

fn check_network(scenario: &Scenario, document: &Document) -> Result {
    let to_paths = [Key("network"), Key("disjoint"), Key("paths")];
    let paths = scenario.network.paths();
    if paths.is_empty() || paths.len() > MOST_PATHS {
        let message = format!("a network has 1 to {MOST_PATHS} paths, not {}", paths.len());
        return Err(document.complain(&to_paths, message));
    }
    for (index, path) in paths.iter().enumerate() {
        let wrong = |keys: &[&'static str], message: String| {
            let keys = keys.iter().map(|key| Key(key));
            let steps: Vec<Step<'_>> =
                to_paths.into_iter().chain([Index(index)]).chain(keys).collect();
            Err(document.complain(&steps, message))
        };
        if path.name.is_empty() {
            return wrong(&["name"], "a path needs a name".into());
        }
        if paths[..index].iter().any(|other| other.name == path.name) {
            return wrong(&["name"], format!("there is another path `{}`", path.name));
        }
        if path.bottleneck.rate.is_zero() {
            return wrong(&["bottleneck", "rate"], "must not be zero".into());
        }
        if path.access.is_some_and(|access| access.rate.is_zero()) {
            return wrong(&["access", "rate"], "must not be zero".into());
        }
    }
    Ok(())
}

fn check_sctp(sctp: &SctpSettings, host: HostName, document: &Document) -> Result {
    let Some((keys, message)) = sctp_problem(sctp).or_else(|| policy_problem(&sctp.policies))
    else {
        return Ok(());
    };
    // The host's own settings decide where they say something.
    let places = [vec![Key("hosts"), Key(host.name()), Key("sctp")], vec![Key("sctp")]];
    let mut places = places.map(|mut steps| {
        steps.extend(keys.iter().map(|key| Key(key)));
        steps
    });
    places.sort_by_key(|steps| !document.has(steps));
    Err(document.complain(&places[0], message))
}

/// Where settings are wrong, and how.
type Problem = Option<(&'static [&'static str], String)>;

fn sctp_problem(sctp: &SctpSettings) -> Problem {
    let (least, most) = MTU_RANGE;
    if !(least..=most).contains(&sctp.mtu.as_bytes()) {
        return Some((&["mtu"], format!("{} is not from {least} B to {most} B", sctp.mtu)));
    }
    let (least, most) = RECEIVE_BUFFER_RANGE;
    if !(least..=most).contains(&sctp.receive_buffer.as_bytes()) {
        let message = format!("{} is not from {least} B to {most} B", sctp.receive_buffer);
        return Some((&["receive_buffer"], message));
    }
    let counts: [(&[&str], u16); 3] = [
        (&["outbound_streams"], sctp.outbound_streams),
        (&["max_inbound_streams"], sctp.max_inbound_streams),
        (&["max_paths"], sctp.max_paths.into()),
    ];
    let none = counts.into_iter().find(|(_, count)| *count == 0);
    none.map(|(keys, _)| (keys, "an association has at least one".into()))
}

fn policy_problem(policies: &Policies) -> Problem {
    let Policies { fast_retransmit, delayed_ack, burst, rto, .. } = policies;
    if fast_retransmit.threshold == 0 {
        return Some((&["policies", "fast_retransmit", "threshold"], "must be at least 1".into()));
    }
    if delayed_ack.packets == 0 {
        return Some((&["policies", "delayed_ack", "packets"], "must be at least 1".into()));
    }
    if delayed_ack.delay > LONGEST_SACK_DELAY {
        let message = format!("{} is longer than {LONGEST_SACK_DELAY}", delayed_ack.delay);
        return Some((&["policies", "delayed_ack", "delay"], message + " (RFC 9260 section 6.2)"));
    }
    if *burst == Burst::MaxBurst(0) {
        return Some((&["policies", "burst", "max-burst"], "must be at least 1".into()));
    }
    if rto.min.is_zero() || rto.min > rto.max {
        let message = format!("{} is not above zero and up to the largest, {}", rto.min, rto.max);
        return Some((&["policies", "rto", "min"], message));
    }
    if !(rto.alpha > 0.0 && rto.alpha <= 1.0) {
        return Some((&["policies", "rto", "alpha"], "must be above 0 and at most 1".into()));
    }
    if !(rto.beta > 0.0 && rto.beta <= 1.0) {
        return Some((&["policies", "rto", "beta"], "must be above 0 and at most 1".into()));
    }
    None
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
    let sender = scenario.sctp_of(flow.from);
    let receiver = scenario.sctp_of(flow.from.peer());
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
    if flow.start >= scenario.run.duration {
        return Some((
            "start",
            format!("lies at the end of the run or after it ({})", scenario.run.duration),
        ));
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

fn check_faults(scenario: &Scenario, document: &Document) -> Result {
    let paths = scenario.network.paths();
    for (index, fault) in scenario.faults.iter().enumerate() {
        let Fault::Outage(outage) = fault;
        let wrong = |key: &'static str, message: String| {
            let steps = [Key("faults"), Index(index), Key("outage"), Key(key)];
            Err(document.complain(&steps, message))
        };
        if !paths.iter().any(|path| path.name == outage.path) {
            let names: Vec<_> = paths.iter().map(|path| format!("`{}`", path.name)).collect();
            let message =
                format!("there is no path `{}`; paths: {}", outage.path, names.join(", "));
            return wrong("path", message);
        }
        if outage.until.is_some_and(|until| until <= outage.from) {
            return wrong("until", format!("must be later than {}", outage.from));
        }
        let overlaps = scenario.faults[..index].iter().any(|Fault::Outage(other)| {
            let end = |until: Option<Instant>| until.unwrap_or(Instant::FAR_FUTURE);
            other.path == outage.path
                && other.way.meets(outage.way)
                && outage.from <= end(other.until)
                && other.from <= end(outage.until)
        });
        if overlaps {
            return wrong(
                "from",
                format!("overlaps or touches another outage of path `{}`", outage.path),
            );
        }
    }
    Ok(())
}
