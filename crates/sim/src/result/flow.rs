//! Results of a run per flow.

use polypath_units::{Duration, Instant};
use polypath_workload::{DelayMeter, Source};
use serde::Serialize;

use super::{Measured, Window};
use crate::app::FlowLedger;
use crate::background::{TcpResult, UdpResult, View};
use crate::host::Host;
use crate::meter::Snapshot;
use crate::scenario::{Flow, FlowEnds, Scenario, Transport};

/// A flow.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FlowResult {
    /// Its name.
    pub name: String,
    /// The pair of hosts, if there are several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pair: String,
    /// The sending host.
    pub from: String,
    /// Transport protocol: `sctp`, `udp` or `tcp`.
    pub transport: &'static str,
    /// User data delivered per second of the measured interval; for a meter, from its own reset to its own stop.
    pub goodput_bit_s: f64,
    /// Messages that the source generated.
    pub messages_offered: u64,
    /// Messages that were dropped because the queue before the transport was full.
    pub messages_dropped: u64,
    /// Messages passed to the association.
    pub messages_sent: u64,
    /// Messages delivered.
    pub messages_delivered: u64,
    /// Messages that the sender abandoned; some of them may have been delivered.
    pub messages_abandoned: u64,
    /// User bytes delivered.
    pub bytes_delivered: u64,
    /// Whether all of it was delivered or abandoned: the whole file, or all messages of a flow with a stop. Never true
    /// for an infinite flow, or if nothing was sent.
    pub complete: bool,
    /// Why the association would never accept the next message, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// When the last message was delivered.
    pub last_delivery_s: Option<f64>,
    /// Delay from the generation of a message to its delivery, of all messages delivered in the measured interval.
    pub delay: DelayResult,
    /// For responses: from the generation of the request to the delivery of the response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_time: Option<DelayResult>,
    /// For a UDP flow: its datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpResult>,
    /// For a TCP flow: its connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpResult>,
}

/// Goodput of the flows of associations, or of all flows if there are none.
pub(super) fn total_goodput(flows: &[FlowResult]) -> f64 {
    let of_associations = |flow: &&FlowResult| flow.transport == Transport::Sctp.name();
    if flows.iter().any(|flow| of_associations(&flow)) {
        return flows.iter().filter(of_associations).map(|flow| flow.goodput_bit_s).sum();
    }
    flows.iter().map(|flow| flow.goodput_bit_s).sum()
}

/// Statistics of delays.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct DelayResult {
    /// Number of messages.
    pub count: u64,
    /// Mean.
    pub mean_s: Option<f64>,
    /// Median; this and the other percentiles to 0.4 %.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// Longest.
    pub max_s: Option<f64>,
    /// Mean difference between consecutive messages.
    pub jitter_s: Option<f64>,
}

impl DelayResult {
    pub(crate) fn of(meter: &DelayMeter) -> Self {
        let seconds = |time: Option<Duration>| time.map(Duration::as_secs_f64);
        Self {
            count: meter.count(),
            mean_s: seconds(meter.mean()),
            p50_s: seconds(meter.percentile(50)),
            p95_s: seconds(meter.percentile(95)),
            p99_s: seconds(meter.percentile(99)),
            max_s: seconds(meter.max()),
            jitter_s: seconds(meter.jitter()),
        }
    }
}

pub(super) fn flow_results(
    scenario: &Scenario,
    now: Instant,
    pairs: &[[Host; 2]],
    Measured { ledger, background, .. }: Measured<'_>,
    window: &Window<'_>,
) -> Vec<FlowResult> {
    let mut results = Vec::new();
    for (index, flow) in scenario.traffic.iter().enumerate() {
        let Some(ledger) = ledger.flow(index) else { continue };
        if let Some(view) = background.view(index, now) {
            results.push(background_result(scenario, flow, ledger, view, now));
            continue;
        }
        let FlowEnds { pair, from: host, .. } = flow.ends;
        let hosts = &pairs[pair];
        let from = &hosts[host.index()];
        let Some(receiver) = hosts[host.peer().index()].receiver(index) else { continue };
        let Some(sender) = from.senders().iter().find(|sender| sender.flow() == index) else {
            continue;
        };
        let meter = receiver.meter();
        let delivered = |snapshot: &Snapshot| snapshot.flows.get(index).copied().unwrap_or(0);
        results.push(FlowResult {
            name: flow.name.clone(),
            pair: scenario.pairs[pair].name.clone(),
            from: scenario.host_name(pair, host).to_owned(),
            transport: flow.transport.name(),
            goodput_bit_s: own_goodput(flow, ledger, now).unwrap_or(window.rate(delivered)),
            messages_offered: sender.generator().offered(),
            messages_dropped: sender.generator().dropped(),
            messages_sent: sender.messages(),
            messages_delivered: meter.messages(),
            messages_abandoned: sender.abandoned(),
            bytes_delivered: meter.total().as_bytes(),
            complete: sender.is_exhausted(now) && from.is_settled(sender, meter.messages()),
            refused: sender.refused().map(|error| error.to_string()),
            last_delivery_s: meter.last().map(|at| at.as_secs_f64()),
            delay: DelayResult::of(ledger.delays()),
            response_time: matches!(flow.source, Source::Responses(_))
                .then(|| DelayResult::of(ledger.response_times())),
            udp: None,
            tcp: None,
        });
    }
    results
}

/// Goodput of a flow that defines its own measured interval, or that uses UDP or TCP; the run may end before the
/// interval does.
fn own_goodput(flow: &Flow, ledger: &FlowLedger, now: Instant) -> Option<f64> {
    let is_metered = matches!(flow.source, Source::Netperfmeter(_));
    if !is_metered && flow.transport == Transport::Sctp {
        return None;
    }
    let (from, until) = ledger.measured();
    let seconds = until.min(now).since(from).as_secs_f64();
    let bits = 8.0 * ledger.measured_bytes() as f64;
    Some(if seconds > 0.0 { bits / seconds } else { 0.0 })
}

fn background_result(
    scenario: &Scenario,
    flow: &Flow,
    ledger: &FlowLedger,
    view: View<'_>,
    now: Instant,
) -> FlowResult {
    let FlowEnds { pair, from, .. } = flow.ends;
    FlowResult {
        name: flow.name.clone(),
        pair: scenario.pairs[pair].name.clone(),
        from: scenario.host_name(pair, from).to_owned(),
        transport: flow.transport.name(),
        goodput_bit_s: own_goodput(flow, ledger, now).unwrap_or(0.0),
        messages_offered: view.generator.offered(),
        messages_dropped: view.generator.dropped(),
        messages_sent: view.generator.messages(),
        messages_delivered: view.meter.messages(),
        messages_abandoned: 0,
        bytes_delivered: view.meter.total().as_bytes(),
        complete: view.is_complete,
        refused: None,
        last_delivery_s: view.meter.last().map(|at| at.as_secs_f64()),
        delay: DelayResult::of(ledger.delays()),
        response_time: None,
        udp: view.udp,
        tcp: view.tcp,
    }
}
