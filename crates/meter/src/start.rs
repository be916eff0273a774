//! What is known before a measurement.

use polypath::Association;

use crate::calendar;
use crate::clock::ClockRelation;
use crate::document::{Connected, Document, End, SCHEMA, Start, TestStart, Timestamp};
use crate::flow::FlowPlan;
use crate::labels::Labels;
use crate::payload::Role;
use crate::plan::Plan;
use crate::proposal::{Extent, Proposal};
use crate::text::shown;
use crate::traffic::Traffic;

impl Document {
    /// The document of a client that could not connect to a server; `error` says why.
    pub fn unconnected(plan: &Plan, labels: &Labels, error: impl Into<String>) -> Self {
        let document = document(labels);
        Self { title: plan.shown_title().map(str::to_owned), error: Some(error.into()), ..document }
    }
}

/// A document about nothing yet.
pub(crate) fn document(labels: &Labels) -> Document {
    Document {
        schema: SCHEMA,
        complete: false,
        title: None,
        extra_data: labels.extra_data.clone(),
        start: start(labels),
        intervals: Vec::new(),
        end: End::default(),
        server_output_text: None,
        error: None,
    }
}

/// The beginning, as far as it is known without an association.
fn start(labels: &Labels) -> Start {
    let this = || format!("polypath-meter {}", env!("CARGO_PKG_VERSION"));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let system = [std::env::consts::OS, std::env::consts::ARCH, host.trim()].join(" ");
    Start {
        version: labels.program.clone().unwrap_or_else(this),
        system_info: system.trim_end().to_owned(),
        timestamp: Timestamp::at(calendar::now()),
        connecting_to: labels.connecting_to.clone(),
        test_start: TestStart { preset: labels.preset.clone(), ..TestStart::default() },
        ..Start::default()
    }
}

/// Adds the association and what is to be measured.
pub(crate) fn fill(
    start: &mut Start,
    association: &Association,
    plan: &Proposal,
    clock: ClockRelation,
) {
    start.connected = connected(association);
    start.cookie = format!("{:016x}", plan.measurement);
    let preset = start.test_start.preset.take();
    start.test_start = TestStart { preset, ..test_start(plan) };
    start.clock = Some(clock);
}

fn connected(association: &Association) -> Vec<Connected> {
    let (local_port, remote_port) = (association.local_port(), association.remote_port());
    let path = |path: polypath::PathStats| Connected {
        socket: u32::from(path.path.0),
        path: path.path.to_string(),
        local_host: path.local,
        local_port,
        remote_host: path.remote,
        remote_port,
    };
    association.path_stats().into_iter().map(path).collect()
}

fn test_start(plan: &Proposal) -> TestStart {
    let both = |flow: &FlowPlan| {
        flow.to_server.clone().into_iter().chain(flow.to_client.clone()).collect::<Vec<_>>()
    };
    let traffic: Vec<Traffic> = plan.flows.iter().flat_map(both).collect();
    let (forward, backward) = (plan.sends(Role::Client), plan.sends(Role::Server));
    let rate: f64 = traffic.iter().filter_map(Traffic::mean_bit_s).sum();
    TestStart {
        protocol: "SCTP".to_owned(),
        num_streams: plan.flows.len() as u32,
        blksize: traffic
            .iter()
            .map(|traffic| u32::from(traffic.longest_message))
            .max()
            .unwrap_or(0),
        omit: plan.omit_s,
        duration: if let Extent::Seconds(seconds) = plan.extent { seconds } else { 0.0 },
        bytes: plan.bytes().unwrap_or(0),
        reverse: u8::from(!forward),
        bidir: u8::from(forward && backward),
        target_bitrate: rate.round() as u64,
        interval: plan.interval_s,
        seed: plan.seed,
        preset: None,
        flows: plan
            .flows
            .iter()
            .map(|flow| flow.description.as_deref().map(shown).unwrap_or_default())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proposal::tests::proposal;

    #[test]
    fn the_rate_is_the_one_that_was_asked_for() {
        let mut plan = proposal(2);
        for flow in &mut plan.flows {
            (flow.to_server, flow.to_client) = (Some(Traffic::paced(1404, 20_000_000, 1)), None);
        }
        assert_eq!(test_start(&plan).target_bitrate, 40_000_000);
    }

    #[test]
    fn descriptions_of_a_peer_steer_no_terminal() {
        let mut plan = proposal(2);
        plan.flows[0].description = Some("a\u{1b}[2Jb".to_owned());
        assert_eq!(test_start(&plan).flows, ["a?[2Jb", ""]);
    }
}
