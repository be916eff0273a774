//! Markings of packets for the network.

/// Markings in IP headers, except ECN.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TrafficMarks {
    /// Differentiated services code point (RFC 2474), from 0 to 63; 0 is best effort.
    pub dscp: u8,
    /// Flow label of IPv6 (RFC 6437), from 0 to 0xF_FFFF; 0: the system chooses.
    pub flow_label: u32,
}
