//! Checks of the traffic.

use polypath_proto::config::{BufferSize, PartialReliability};
use polypath_units::{ByteCount, Duration};
use polypath_workload::Source;

use super::super::{Flow, Scenario, Transport};
use super::{Problem, Result, background, name_problem, problem};
use crate::document::{Document, Step};
use crate::frame::RECOGNISABLE;

use Step::{Index, Key};

/// Shortest message: long enough to identify it by its content.
const SHORTEST_MESSAGE: ByteCount = ByteCount::from_bytes(RECOGNISABLE as u64);
const MOST_FLOWS: usize = 1 << 16;

pub(super) fn check(scenario: &Scenario, document: &Document) -> Result {
    let needs_flow = scenario.external.is_empty();
    if needs_flow && !document.has(&[Key("traffic")]) {
        return Err(document.complain(&[], "the key `traffic` is missing"));
    }
    if (needs_flow && scenario.traffic.is_empty()) || scenario.traffic.len() > MOST_FLOWS {
        return Err(document
            .complain(&[Key("traffic")], "there must be at least one flow and at most 65536"));
    }
    for (index, flow) in scenario.traffic.iter().enumerate() {
        let found = name_of_flow_problem(scenario, index).or_else(|| flow_problem(flow, scenario));
        if let Some((key, message)) = found {
            // Errors of a flow that another one causes were reported there.
            let written = flow.brought_by.unwrap_or(index);
            let keys = key.split('.').map(|key| match key.parse() {
                Ok(number) => Index(number),
                Err(_) => Key(key),
            });
            let steps: Vec<Step<'_>> =
                [Key("traffic"), Index(written)].into_iter().chain(keys).collect();
            return Err(document.complain(&steps, message));
        }
    }
    Ok(())
}

fn name_of_flow_problem(scenario: &Scenario, index: usize) -> Problem {
    let name = &scenario.traffic[index].name;
    if let Some(message) = name_problem(name) {
        return problem("name", message);
    }
    if scenario.traffic[..index].iter().any(|other| other.name == *name) {
        return problem("name", format!("there is another flow `{name}`"));
    }
    None
}

/// Flows between real programs are not part of the scenario.
fn external_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    let ends = ["from", "to"].into_iter().zip(flow.ends.hosts);
    let (key, _) = ends.into_iter().find(|(_, host)| scenario.is_external(*host))?;
    problem(key, "is an external host, whose programs are not the simulator's: it has no flows")
}

/// The error of a flow, and its key.
fn flow_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    external_problem(flow, scenario)
        .or_else(|| times_problem(flow, scenario))
        .or_else(|| background::check(flow, scenario))
        .or_else(|| {
            let error = flow.spec(scenario.association.connect).check().err()?;
            let own = matches!(flow.source, Source::Netperfmeter(_)) && error.key == "stop";
            let key = if own { "source.netperfmeter.stop".to_owned() } else { error.key };
            Some((key, error.message))
        })
        .or_else(|| size_problem(flow, scenario))
        .or_else(|| association_problem(flow, scenario))
}

/// The key with the length of messages.
pub(super) fn size_key(flow: &Flow) -> &'static str {
    match &flow.source {
        Source::Netperfmeter(_) => "source.netperfmeter.max_message_size",
        Source::Responses(_) => "source.request-response.response",
        Source::Trace(_) => "source.trace.file",
        Source::CrossTraffic(_) => "source.cross-traffic.packet_size",
        _ => "message_size",
    }
}

fn size_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    let sizes = flow.sizes();
    let key = size_key(flow);
    let is_off = matches!(&flow.source, Source::Netperfmeter(of) if of.is_off());
    if flow.transport != Transport::Sctp {
        return None;
    }
    if sizes.largest().is_some_and(|largest| largest < SHORTEST_MESSAGE) && !is_off {
        return problem(key, format!("must be at least {SHORTEST_MESSAGE}"));
    }
    let [sender, receiver] = scenario.sctp_of_flow(flow);
    let most = sender.send_buffer.min(receiver.receive_buffer);
    let largest = sizes.largest().filter(|largest| *largest > most)?;
    problem(key, format!("{largest} does not fit the buffers of {most}"))
}

fn association_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    if flow.queue == 0 {
        return problem("queue", "must be at least 1");
    }
    if flow.transport != Transport::Sctp {
        return None;
    }
    source_problem(flow, scenario).or_else(|| stream_problem(flow, scenario))
}

fn source_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    let [sender, _] = scenario.sctp_of_flow(flow);
    if sender.policies.send_buffer == BufferSize::Infinite && flow.source.is_greedy() {
        let message = "a saturated source fills an infinite send buffer at once; bound it \
                       (sctp.policies.send_buffer) or send a file";
        return problem("source", message);
    }
    match &flow.source {
        Source::CrossTraffic(_) => problem(
            "source.cross-traffic",
            "is for `transport = \"udp\"`: a load that nothing slows down",
        ),
        Source::RequestResponse(_) | Source::Responses(_) => {
            let policy = sender.policies.partial_reliability;
            let is_reliable = flow.reliability.unwrap_or(policy) == PartialReliability::None;
            let message = "a client would wait for ever for what was given up";
            if is_reliable { None } else { problem("reliability", message) }
        }
        _ => None,
    }
}

fn stream_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    let [sender, receiver] = scenario.sctp_of_flow(flow);
    let there_are = sender.outbound_streams.min(receiver.max_inbound_streams);
    if flow.streams == 0 {
        return problem("streams", "a flow has at least one stream");
    }
    if u32::from(flow.first_stream) + u32::from(flow.streams) > u32::from(there_are) {
        let message = format!(
            "streams {} to {} are not among the {there_are} of the association (sctp.outbound_streams, \
             sctp.max_inbound_streams)",
            flow.first_stream,
            u32::from(flow.first_stream) + u32::from(flow.streams) - 1
        );
        return problem("streams", message);
    }
    if flow.stream_values.len() > usize::from(flow.streams) {
        let message = format!("{} values for {} streams", flow.stream_values.len(), flow.streams);
        return problem("stream_values", message);
    }
    if let Some(Err(message)) = flow.reliability.map(PartialReliability::check) {
        return problem("reliability", message);
    }
    let Source::Trace(of) = &flow.source else { return None };
    let mut rows = of.content.iter().flat_map(|content| content.rows());
    let stream = rows.find_map(|row| row.stream.filter(|stream| *stream >= flow.streams))?;
    let message =
        format!("stream {stream} is not below the {} of the flow (streams)", flow.streams);
    problem("source.trace.file", message)
}

fn times_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    let (connect, end) = (scenario.association.connect, scenario.run.duration);
    if let Source::Netperfmeter(of) = &flow.source {
        if flow.start != Duration::ZERO {
            return problem("start", "`netperfmeter` has its own (source.netperfmeter.start)");
        }
        if flow.stop.is_some() {
            return problem("stop", "`netperfmeter` has its own (source.netperfmeter.stop)");
        }
        return (connect + of.start >= end).then(|| {
            let message = format!("lies at the end of the run or after it ({end})");
            ("source.netperfmeter.start".to_owned(), message)
        });
    }
    if flow.start >= end {
        return problem("start", format!("lies at the end of the run or after it ({end})"));
    }
    // Other transports do not wait for an association; that the stop follows the start is checked by the flow itself.
    let is_carried = flow.transport == Transport::Sctp;
    let stop = flow.stop.filter(|stop| is_carried && *stop <= connect)?;
    problem("stop", format!("{stop} is not after the association begins at {connect}"))
}
