//! Counters of an endpoint's sockets.

/// What an endpoint's sockets sent, received and lost. Counters only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct EndpointStats {
    /// SCTP packets handed to the system.
    pub packets_sent: u64,
    /// Bytes of these packets, without UDP and IP headers.
    pub bytes_sent: u64,
    /// Calls of the system that sent them; fewer than packets where segmentation offload works.
    pub send_calls: u64,
    /// Packets that the system refused (no route, interface down, no buffers): for SCTP they are lost.
    pub packets_refused: u64,
    /// Packets that were larger than the path's MTU and were sent in IP fragments.
    pub packets_fragmented: u64,
    /// ICMP messages that told of a smaller path MTU and were believed.
    pub path_mtu_reports: u64,
    /// ICMP messages that said that nobody takes SCTP at an address of a peer and were believed (RFC 9260 section 10,
    /// ICMP8; in UDP "port unreachable", RFC 6951 section 5.5).
    pub unreachable_reports: u64,
    /// Packets that cannot be sent at all: from an address that is not the endpoint's or no longer, to an address of
    /// another family, or larger than UDP carries.
    pub packets_unsendable: u64,
    /// Packets dropped because too many waited for a socket that could not send.
    pub packets_overflowed: u64,
    /// SCTP packets received.
    pub packets_received: u64,
    /// Bytes of these packets, without UDP and IP headers.
    pub bytes_received: u64,
    /// Calls of the system that received them.
    pub receive_calls: u64,
    /// Received packets that belong to no association and were not answered.
    pub packets_dropped: u64,
    /// Associations of peers that were refused because too many waited to be accepted.
    pub associations_refused: u64,
}
