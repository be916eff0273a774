//! Packets of all transports in the network.

use std::net::IpAddr;
use std::ops::Range;

use polypath_netsim::{Fields, Frame, TraceHasher};

use super::{RawFrame, SctpFrame, TcpFrame, UdpFrame};

/// A packet of any transport.
#[derive(Clone, Debug)]
pub enum SimFrame {
    /// Of an association.
    Sctp(SctpFrame),
    /// Of a UDP flow.
    Udp(UdpFrame),
    /// Of a TCP flow.
    Tcp(TcpFrame),
    /// Of a real program.
    Raw(RawFrame),
}

/// Calls the same method of any transport.
macro_rules! inside {
    ($self:expr, $frame:ident => $what:expr) => {
        match $self {
            SimFrame::Sctp($frame) => $what,
            SimFrame::Udp($frame) => $what,
            SimFrame::Tcp($frame) => $what,
            SimFrame::Raw($frame) => $what,
        }
    };
}

impl Frame for SimFrame {
    #[inline(always)]
    fn wire_len(&self) -> usize {
        match self {
            Self::Sctp(frame) => frame.wire_len(),
            others => others.wire_len_of_others(),
        }
    }

    fn protocol(&self) -> u8 {
        inside!(self, frame => frame.protocol())
    }

    #[inline]
    fn traffic_class(&self) -> u8 {
        inside!(self, frame => frame.traffic_class())
    }

    fn ports(&self) -> [u16; 2] {
        inside!(self, frame => frame.ports())
    }

    fn may_fragment(&self) -> bool {
        inside!(self, frame => frame.may_fragment())
    }

    fn mark_ce(&mut self) {
        inside!(self, frame => frame.mark_ce());
    }

    fn damage(&mut self, bit: u64) {
        inside!(self, frame => frame.damage(bit));
    }

    fn checksum_bits(&self) -> Range<u64> {
        inside!(self, frame => frame.checksum_bits())
    }

    /// Packets of other transports begin with their protocol number, which differs from all traffic classes of SCTP
    /// packets.
    #[inline(always)]
    fn trace_fields(&self, hasher: &mut TraceHasher) {
        match self {
            Self::Sctp(frame) => frame.trace_fields(hasher),
            others => others.trace_fields_of_others(hasher),
        }
    }

    fn ip_packet(&self) -> Option<&[u8]> {
        inside!(self, frame => frame.ip_packet())
    }

    #[inline]
    fn crossed_link(&mut self) -> Fields {
        match self {
            Self::Sctp(frame) => frame.crossed_link(),
            others => others.cross_link_of_others(),
        }
    }

    fn write_transport(&self, from: IpAddr, to: IpAddr, out: &mut Vec<u8>) {
        inside!(self, frame => frame.write_transport(from, to, out));
    }
}

/// What every packet is asked at every link, for packets other than SCTP's: apart, so that those of SCTP need one comparison
/// and no jump through a table.
impl SimFrame {
    #[inline(never)]
    fn wire_len_of_others(&self) -> usize {
        inside!(self, frame => frame.wire_len())
    }

    #[inline(never)]
    fn trace_fields_of_others(&self, hasher: &mut TraceHasher) {
        inside!(self, frame => frame.trace_fields(hasher));
    }

    #[inline(never)]
    fn cross_link_of_others(&mut self) -> Fields {
        inside!(self, frame => frame.crossed_link())
    }
}
