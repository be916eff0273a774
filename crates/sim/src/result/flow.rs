//! What came out of a run, per flow.

use polypath_units::Instant;
use serde::Serialize;

use super::Window;
use crate::host::Host;
use crate::scenario::{FlowEnds, Scenario};

/// A flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowResult {
    /// Its name.
    pub name: String,
    /// The pair of hosts, where there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// User data delivered per second of the measured time.
    pub goodput_bit_s: f64,
    /// Messages handed to the association.
    pub messages_sent: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Messages that the sender gave up; some of them may have been delivered all the same.
    pub messages_abandoned: u64,
    /// User bytes delivered.
    pub bytes_delivered: u64,
    /// Whether all of it was delivered or given up: the whole file, or all that a flow with a stop sent. Never true without an end,
    /// or when nothing was sent.
    pub complete: bool,
    /// Why the association never took the next message, if that happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// When the last message was delivered.
    pub last_delivery_s: Option<f64>,
}

pub(super) fn flow_results(
    scenario: &Scenario,
    now: Instant,
    pairs: &[[Host; 2]],
    window: &Window<'_>,
) -> Vec<FlowResult> {
    let mut results = Vec::new();
    for (index, flow) in scenario.traffic.iter().enumerate() {
        let FlowEnds { pair, from: host, .. } = flow.ends;
        let hosts = &pairs[pair];
        let from = &hosts[host.index()];
        let Some(receiver) = hosts[host.peer().index()].receiver(index) else { continue };
        let Some(sender) = from.senders().iter().find(|sender| sender.flow() == index) else {
            continue;
        };
        let meter = receiver.meter();
        results.push(FlowResult {
            name: flow.name.clone(),
            pair: scenario.pairs[pair].name.clone(),
            from: scenario.host_name(pair, host).to_owned(),
            goodput_bit_s: window.rate(|snapshot| snapshot.flows.get(index).copied().unwrap_or(0)),
            messages_sent: sender.messages(),
            messages_delivered: meter.messages(),
            messages_abandoned: sender.abandoned(),
            bytes_delivered: meter.total().as_bytes(),
            complete: sender.is_exhausted(now) && from.is_settled(sender, meter.messages()),
            refused: sender.refused().map(|error| error.to_string()),
            last_delivery_s: meter.last().map(|at| at.as_secs_f64()),
        });
    }
    results
}
