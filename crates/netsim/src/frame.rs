//! What the network carries.

use std::net::IpAddr;
use std::ops::Range;

use crate::TraceHasher;

/// What crossing a link did to the fields of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fields {
    /// They are what they were.
    Same,
    /// They were made anew, and ought to be what they were.
    Rebuilt,
}

/// The payload of an IP packet, in whatever form the driver of the simulator keeps it.
///
/// The network adds the IP header itself (20 bytes for IPv4, 40 for IPv6), so that lengths, checksums and captures are
/// right without the frame knowing where it travels.
pub trait Frame: Clone {
    /// Length in bytes on the wire: the transport header and all that follows it, without the IP header.
    fn wire_len(&self) -> usize;

    /// IP protocol number, for example 132 for SCTP.
    fn protocol(&self) -> u8;

    /// The traffic class octet of the IP header: DSCP in the upper six bits, ECN codepoint in the lower two (RFC 3168).
    fn traffic_class(&self) -> u8 {
        0
    }

    /// Source and destination port, by which queues tell flows between equal addresses apart.
    fn ports(&self) -> [u16; 2] {
        [0, 0]
    }

    /// Whether routers may fragment the packet. One that may be fragmented passes links with a smaller MTU as it is: that it
    /// crosses them in pieces, each with a header of its own, is not modelled.
    fn may_fragment(&self) -> bool {
        false
    }

    /// Sets the ECN codepoint to "congestion experienced"; for queues that mark instead of dropping, which do it only to
    /// frames that are ECN-capable.
    fn mark_ce(&mut self);

    /// Flips a bit, counted from the first of the `wire_len`; for links with bit errors.
    fn damage(&mut self, bit: u64);

    /// The bits of the transport checksum among those that [`damage`](Self::damage) can flip; all bits where the frame
    /// knows of none. Damage within a checksum is sure to be found, and leaves the rest as it was.
    fn checksum_bits(&self) -> Range<u64> {
        0..8 * self.wire_len() as u64
    }

    /// Feeds every field of every header to `hasher`, with a length before what varies in length, so that two
    /// different frames never feed the same.
    fn trace_fields(&self, hasher: &mut TraceHasher);

    /// Called when the frame has crossed a link, before the node at its end sees it. A frame that is to be rebuilt
    /// from its bytes at every hop does it here.
    fn crossed_link(&mut self) -> Fields {
        Fields::Same
    }

    /// The whole IP packet, header included, where the frame came with one; captures then show it as it is, and not with a
    /// header of the simulator's own.
    fn ip_packet(&self) -> Option<&[u8]> {
        None
    }

    /// Appends the `wire_len` bytes to `out`; only called for captures. The addresses are those of the IP header, for
    /// checksums over a pseudo-header.
    fn write_transport(&self, from: IpAddr, to: IpAddr, out: &mut Vec<u8>);
}
