//! Counters of an endpoint's sockets.

/// Counters of packets sent, received and lost by an endpoint's sockets. They only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EndpointStats {
    /// SCTP packets passed to the system.
    pub packets_sent: u64,
    /// Bytes of these packets, without UDP and IP headers.
    pub bytes_sent: u64,
    /// System calls that sent them; fewer than packets with segmentation offload.
    pub send_calls: u64,
    /// Packets that the system refused (no route, interface down, no buffers); for SCTP they are lost.
    pub packets_refused: u64,
    /// Packets that were larger than the path's MTU and were sent in IP fragments.
    pub packets_fragmented: u64,
    /// ICMP messages that reported a smaller path MTU and were accepted.
    pub path_mtu_reports: u64,
    /// ICMP messages that reported SCTP as unreachable at an address of a peer and were accepted (RFC 9260 section 10,
    /// ICMP8; in UDP "port unreachable", RFC 6951 section 5.5).
    pub unreachable_reports: u64,
    /// Packets that cannot be sent: the source is not an address of the endpoint (any more), the destination has
    /// another family, or the packet is larger than UDP allows.
    pub packets_unsendable: u64,
    /// Packets dropped because too many waited for a socket.
    pub packets_overflowed: u64,
    /// SCTP packets received.
    pub packets_received: u64,
    /// Bytes of these packets, without UDP and IP headers.
    pub bytes_received: u64,
    /// System calls that received them.
    pub receive_calls: u64,
    /// Received packets that belong to no association and were not answered.
    pub packets_dropped: u64,
    /// Packets received but dropped because the shard of their association had too many waiting.
    pub packets_overrun: u64,
    /// Associations refused because too many waited to be accepted.
    pub associations_refused: u64,
    /// Associations aborted because all places were taken and another peer needed theirs
    /// ([`EndpointBuilder::make_way`](crate::EndpointBuilder::make_way)).
    pub associations_replaced: u64,
}

impl EndpointStats {
    /// The sum of two shards.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            packets_sent: self.packets_sent + other.packets_sent,
            bytes_sent: self.bytes_sent + other.bytes_sent,
            send_calls: self.send_calls + other.send_calls,
            packets_refused: self.packets_refused + other.packets_refused,
            packets_fragmented: self.packets_fragmented + other.packets_fragmented,
            path_mtu_reports: self.path_mtu_reports + other.path_mtu_reports,
            unreachable_reports: self.unreachable_reports + other.unreachable_reports,
            packets_unsendable: self.packets_unsendable + other.packets_unsendable,
            packets_overflowed: self.packets_overflowed + other.packets_overflowed,
            packets_received: self.packets_received + other.packets_received,
            bytes_received: self.bytes_received + other.bytes_received,
            receive_calls: self.receive_calls + other.receive_calls,
            packets_dropped: self.packets_dropped + other.packets_dropped,
            packets_overrun: self.packets_overrun + other.packets_overrun,
            associations_refused: self.associations_refused + other.associations_refused,
            associations_replaced: self.associations_replaced + other.associations_replaced,
        }
    }
}
