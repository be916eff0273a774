//! Segments of TCP as frames of the network simulator.

use std::net::IpAddr;
use std::ops::Range;

use bytes::Bytes;
use polypath_netsim::{Frame, TraceHasher};

/// IP protocol number of TCP.
const TCP: u8 = 6;
/// Where the checksum is (RFC 9293 section 3.1).
const CHECKSUM_BITS: Range<u64> = 128..144;
/// Shortest header.
const HEADER: usize = 20;

/// A TCP segment, as bytes.
#[derive(Clone, Debug)]
pub struct TcpFrame {
    /// Position of its flow among those of the scenario.
    pub(crate) flow: u32,
    pub(crate) bytes: Bytes,
    pub(crate) class: u8,
}

impl TcpFrame {
    fn port(&self, at: usize) -> u16 {
        match self.bytes.get(at..at + 2) {
            Some([high, low]) => u16::from_be_bytes([*high, *low]),
            _ => 0,
        }
    }

    /// Length of the header, with options.
    fn header_len(&self) -> usize {
        let words = self.bytes.get(12).map_or(0, |byte| usize::from(byte >> 4));
        (4 * words).clamp(HEADER, self.bytes.len().max(HEADER))
    }
}

impl Frame for TcpFrame {
    fn wire_len(&self) -> usize {
        self.bytes.len()
    }

    fn protocol(&self) -> u8 {
        TCP
    }

    fn traffic_class(&self) -> u8 {
        self.class
    }

    fn ports(&self) -> [u16; 2] {
        [self.port(0), self.port(2)]
    }

    fn mark_ce(&mut self) {
        self.class |= 3;
    }

    fn damage(&mut self, bit: u64) {
        let mut bytes = self.bytes.to_vec();
        if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|at| bytes.get_mut(at)) {
            *byte ^= 0x80 >> (bit % 8);
            self.bytes = bytes.into();
        }
    }

    fn checksum_bits(&self) -> Range<u64> {
        CHECKSUM_BITS
    }

    /// Of user data, only the length; the header contains the checksum.
    fn trace_fields(&self, hasher: &mut TraceHasher) {
        hasher.u8(TCP);
        hasher.u8(self.class);
        let header = self.bytes.get(..self.header_len()).unwrap_or(&self.bytes);
        hasher.u32(self.bytes.len() as u32);
        hasher.u32(header.len() as u32);
        hasher.bytes(header);
    }

    fn write_transport(&self, _from: IpAddr, _to: IpAddr, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes);
    }
}
