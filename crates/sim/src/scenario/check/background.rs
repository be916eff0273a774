//! Checks of UDP and TCP flows.

use polypath_units::ByteCount;
use polypath_workload::{Delivery, Source};

use super::super::{Flow, Scenario, Transport};
use super::{Problem, problem};

/// Largest window of TCP (RFC 7323 section 2.3).
const MOST_BUFFER: ByteCount = ByteCount::from_bytes(1 << 30);
const LEAST_BUFFER: ByteCount = ByteCount::from_bytes(4_096);
/// Header of UDP.
const UDP_HEADER: u64 = 8;

/// Keys that do not fit the transport of a flow.
pub(super) fn check(flow: &Flow, scenario: &Scenario) -> Problem {
    if flow.transport == Transport::Sctp {
        if flow.path.is_some() {
            return problem("path", "an association uses all paths");
        }
        if flow.tcp.is_some() {
            return problem("tcp", "is for `transport = \"tcp\"`");
        }
        return None;
    }
    path_problem(flow, scenario).or_else(|| association_key_problem(flow)).or_else(|| {
        match flow.transport {
            Transport::Tcp => tcp_problem(flow),
            Transport::Udp | Transport::Sctp => udp_problem(flow, scenario),
        }
    })
}

fn path_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    let name = flow.path.as_ref()?;
    let known = scenario.paths_of(flow)?;
    let names: Vec<_> = known.iter().map(|name| format!("`{name}`")).collect();
    let message = format!("there is no path `{name}`; paths: {}", names.join(", "));
    if known.contains(&name.as_str()) { None } else { problem("path", message) }
}

/// Keys that only flows of associations have.
fn association_key_problem(flow: &Flow) -> Problem {
    let given = [
        ("delivery", flow.delivery != Delivery::Ordered),
        ("streams", flow.streams != 1),
        ("first_stream", flow.first_stream != 0),
        ("reliability", flow.reliability.is_some()),
        ("stream_values", !flow.stream_values.is_empty()),
    ];
    let (key, _) = given.into_iter().find(|(_, given)| *given)?;
    problem(key, format!("`{}` has no such thing", flow.transport.name()))
}

fn tcp_problem(flow: &Flow) -> Problem {
    let settings = flow.tcp.unwrap_or_default();
    for (key, size) in
        [("tcp.send_buffer", settings.send_buffer), ("tcp.receive_buffer", settings.receive_buffer)]
    {
        if !(LEAST_BUFFER..=MOST_BUFFER).contains(&size) {
            let message = format!("{size} is not from {LEAST_BUFFER} to {MOST_BUFFER}");
            return problem(key, message);
        }
    }
    if let Some(largest) = flow.sizes().largest().filter(|size| *size > settings.send_buffer) {
        let message = format!("{largest} does not fit the send buffer of {}", settings.send_buffer);
        return problem(super::traffic::size_key(flow), message);
    }
    match &flow.source {
        Source::CrossTraffic(_) => problem(
            "source.cross-traffic",
            "is for `transport = \"udp\"`: a load that nothing slows down",
        ),
        Source::RequestResponse(_) | Source::Responses(_) => {
            problem("source", "requests and responses go over an association only")
        }
        _ => None,
    }
}

fn udp_problem(flow: &Flow, scenario: &Scenario) -> Problem {
    if flow.tcp.is_some() {
        return problem("tcp", "is for `transport = \"tcp\"`");
    }
    match &flow.source {
        Source::RequestResponse(_) | Source::Responses(_) => {
            return problem("source", "requests and responses go over an association only");
        }
        Source::CrossTraffic(of) if of.link.is_none() && scenario.bottleneck_of(flow).is_none() => {
            let message = "is missing: this network does not say of which link the load is";
            return problem("source.cross-traffic.link", message);
        }
        source if source.is_greedy() || matches!(source, Source::File(_)) => {
            let message = format!(
                "`{}` needs a transport that says when it is full; UDP takes everything",
                source.name()
            );
            return problem("source", message);
        }
        _ => {}
    }
    let mtu = u64::from(scenario.mtu_of(flow));
    let is_packet = matches!(flow.source, Source::CrossTraffic(_));
    let most =
        if is_packet { mtu } else { mtu.saturating_sub(scenario.network.ip_header() + UDP_HEADER) };
    let largest = flow.sizes().largest().filter(|size| size.as_bytes() > most)?;
    let message = format!("{largest} is more than the {most} B of a packet (sctp.mtu is {mtu} B)");
    problem(super::traffic::size_key(flow), message)
}
