//! What is written down of a run: trace hash, observer, captures.

use std::net::IpAddr;

use super::packets::Head;
use super::{Label, MAX_HOPS, World};
use crate::capture::Flow;
use crate::pcapng::{IpHeader, ipv6_octets};
use crate::routing::Routing;
use crate::{
    ChannelId, Direction, DropCause, Frame, IfaceId, LinkEvent, LinkEventKind, LinkObserver,
    NodeId, PacketId, TraceHash, TraceHasher,
};

impl<F: Frame, O: LinkObserver> World<F, O> {
    /// Records something that happened to a packet on a channel.
    #[inline]
    pub(super) fn record_packet(&mut self, index: usize, kind: LinkEventKind, label: Label) {
        self.trace.record(self.now, record_word(index, kind, label.version), label.hash);
        self.observe(index, kind);
    }

    /// Records the begin or end of an outage, or a step.
    pub(super) fn record_turn(&mut self, index: usize, kind: LinkEventKind) {
        self.trace.record(self.now, record_word(index, kind, 0), TraceHash(0));
        self.observe(index, kind);
    }

    #[inline]
    fn observe(&mut self, index: usize, kind: LinkEventKind) {
        // Without an observer nothing of this remains, which an index that can panic would.
        let Some(wire) = self.wires.get(index) else { return };
        let queue = wire.channel.last_queue_level();
        self.observer
            .on_link_event(self.now, &LinkEvent { channel: ChannelId(index as u32), kind, queue });
    }

    #[cold]
    pub(super) fn capture_sent(&mut self, id: PacketId, first_hop: ChannelId) {
        let Some((head, frame)) = self.packets.get(id) else { return };
        let (head, frame) = (*head, frame.clone());
        let node = self.routing.address(head.from).node;
        let Some(position) =
            self.nodes[node.index()].ifaces.iter().position(|i| i.outgoing == first_hop)
        else {
            return;
        };
        let flow = Flow::Sent { number: head.number };
        self.capture_packet(node, IfaceId(position as u32), flow, (&head, &frame));
    }

    #[cold]
    pub(super) fn capture_received(&mut self, id: PacketId, node: NodeId, iface: IfaceId) {
        let Some((head, frame)) = self.packets.get(id) else { return };
        let (head, frame) = (*head, frame.clone());
        self.captures.settle(head.number, None);
        self.capture_packet(node, iface, Flow::Received, (&head, &frame));
    }

    #[cold]
    pub(super) fn capture_dropped(&mut self, number: u64, index: usize, cause: DropCause) {
        let channel = ChannelId(index as u32);
        let way = match channel.direction() {
            Direction::Forward => "forward",
            Direction::Backward => "backward",
        };
        let comment = format!(
            "dropped at {} on {} ({way}): {cause}",
            self.now,
            self.link_name(channel.link())
        );
        self.captures.settle(number, Some(&comment));
    }

    fn capture_packet(
        &mut self,
        node: NodeId,
        iface: IfaceId,
        flow: Flow,
        (head, frame): (&Head, &F),
    ) {
        if !self.captures.of(node) {
            return;
        }
        if let Some(whole) = frame.ip_packet() {
            self.captures.record(node, iface, flow, self.now, whole);
            return;
        }
        let (from, to) = (self.routing.address(head.from).ip, self.routing.address(head.to).ip);
        let header = IpHeader {
            from,
            to,
            protocol: frame.protocol(),
            traffic_class: frame.traffic_class(),
            // Each router on the way took one off; the last link leads to the host.
            hop_limit: MAX_HOPS - head.hops.saturating_sub(1),
            identification: head.number as u16,
        };
        let mut data = Vec::with_capacity(head.bytes as usize);
        header.write(&mut data, |out| frame.write_transport(from, to, out));
        self.captures.record(node, iface, flow, self.now, &data);
    }
}

/// Finds the hash of a packet whose fields have changed.
#[cold]
pub(super) fn find_hash<F: Frame>(
    head: &mut Head,
    frame: &F,
    routing: &Routing,
    hasher: &mut TraceHasher,
) {
    let ends = [&routing.address(head.from).ip, &routing.address(head.to).ip];
    head.label.hash = hash_of(ends, head.bytes, frame, hasher);
}

/// The hash of a packet of so many bytes between these addresses.
#[inline(never)]
pub(super) fn hash_of<F: Frame>(
    ends: [&IpAddr; 2],
    bytes: u32,
    frame: &F,
    hasher: &mut TraceHasher,
) -> TraceHash {
    if let Some(fields) = v4_fields(ends) {
        return hash_of_v4(fields, bytes, frame, hasher);
    }
    hasher.begin();
    ends.iter().for_each(|end| hasher.bytes(&ipv6_octets(**end)));
    hasher.u32(bytes);
    frame.trace_fields(hasher);
    hasher.hash()
}

/// The same for two addresses of IPv4, given as [their fields](v4_fields).
// Part of the one caller that every packet comes by.
#[inline(always)]
pub(super) fn hash_of_v4<F: Frame>(
    ends: [u8; 8],
    bytes: u32,
    frame: &F,
    hasher: &mut TraceHasher,
) -> TraceHash {
    hasher.begin();
    let mut fields = [0; 12];
    fields[..8].copy_from_slice(&ends);
    fields[8..].copy_from_slice(&bytes.to_le_bytes());
    hasher.array(fields);
    frame.trace_fields(hasher);
    hasher.hash()
}

/// Two addresses of IPv4 as they are hashed: one number after the other.
pub(super) fn v4_fields(ends: [&IpAddr; 2]) -> Option<[u8; 8]> {
    let [IpAddr::V4(from), IpAddr::V4(to)] = ends else { return None };
    let mut fields = [0; 8];
    fields[..4].copy_from_slice(&from.to_bits().to_le_bytes());
    fields[4..].copy_from_slice(&to.to_bits().to_le_bytes());
    Some(fields)
}

/// Link, direction, kind, cause and IP version of a trace record as one number.
fn record_word(index: usize, kind: LinkEventKind, version: u8) -> u64 {
    let channel = ChannelId(index as u32);
    let (kind, cause) = match kind {
        LinkEventKind::Accepted { .. } => (1, 0),
        LinkEventKind::Delivered { .. } => (2, 0),
        LinkEventKind::Dropped { cause, .. } => (3, cause.code()),
        LinkEventKind::WentDown => (4, 0),
        LinkEventKind::CameUp => (5, 0),
        LinkEventKind::Changed => (6, 0),
    };
    u64::from(channel.link().0)
        | u64::from_le_bytes([0, 0, 0, 0, channel.direction() as u8, kind, cause, version])
}
