//! What came out, from what both sides measured.

use crate::document::{BothSides, End, FlowDirection, SideReport, StreamReport, Sum};
use crate::payload::Role;
use crate::processor::CpuUtilization;
use crate::proposal::Proposal;

/// The results as `role` reports them. Those of the other side are unknown if its report did not arrive.
pub(crate) fn end(plan: &Proposal, role: Role, own: SideReport, peer: Option<SideReport>) -> End {
    let nothing = SideReport::default();
    let other = peer.as_ref().unwrap_or(&nothing);
    let (client, server) = match role {
        Role::Client => (&own, other),
        Role::Server => (other, &own),
    };
    let to_server = OneWay { way: FlowDirection::ToServer, sender: client, receiver: server };
    let to_client = OneWay { way: FlowDirection::ToClient, sender: server, receiver: client };
    let both_ways = plan.sends(Role::Client) && plan.sends(Role::Server);
    let (first, second) = match plan.sends(Role::Client) {
        true => (to_server, both_ways.then_some(to_client)),
        false => (to_client, None),
    };
    let mut streams = first.streams();
    streams.extend(second.iter().flat_map(OneWay::streams));
    End {
        streams,
        sum_sent: first.sum_sent(),
        sum_received: first.sum_received(),
        sum_sent_bidir_reverse: second.as_ref().and_then(OneWay::sum_sent),
        sum_received_bidir_reverse: second.as_ref().and_then(OneWay::sum_received),
        peer_paths: other.paths.clone(),
        peer_blocked: peer.as_ref().map(|peer| peer.blocked),
        blocked: own.blocked,
        cpu_utilization_percent: own
            .processor
            .map(|host| CpuUtilization::new(host, other.processor)),
        malformed_messages: own.malformed_messages,
        paths: own.paths,
        gain: None,
        thresholds: Vec::new(),
    }
}

/// What goes one way.
#[derive(Clone, Copy, Debug)]
struct OneWay<'a> {
    way: FlowDirection,
    sender: &'a SideReport,
    receiver: &'a SideReport,
}

impl OneWay<'_> {
    fn streams(&self) -> Vec<BothSides> {
        let (sent, received) = (&self.sender.sent, &self.receiver.received);
        let mut sockets: Vec<u32> =
            sent.iter().chain(received).map(|stream| stream.socket).collect();
        sockets.sort_unstable();
        sockets.dedup();
        let find = |streams: &[StreamReport], socket| {
            streams.iter().find(|stream| stream.socket == socket).cloned()
        };
        let both = |socket| BothSides {
            direction: self.way,
            sender: find(sent, socket),
            receiver: find(received, socket),
        };
        sockets.into_iter().map(both).collect()
    }

    fn sum_sent(&self) -> Option<Sum> {
        let paths = &self.sender.paths;
        let retransmits =
            paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.retransmits));
        (!self.sender.sent.is_empty()).then(|| Sum::of(&self.sender.sent, retransmits))
    }

    fn sum_received(&self) -> Option<Sum> {
        (!self.receiver.received.is_empty()).then(|| Sum::of(&self.receiver.received, 0))
    }
}
