//! Datagrams of UDP as frames of the network simulator.

use std::net::IpAddr;
use std::ops::Range;

use polypath_netsim::{Frame, TraceHasher};
use polypath_units::Instant;
use polypath_wire::{Payload, VirtualPayload};

use super::checksum;

/// IP protocol number of UDP.
const UDP: u8 = 17;
/// Length of a UDP header (RFC 768).
pub(crate) const HEADER: usize = 8;
/// Where the checksum is.
const CHECKSUM_BITS: Range<u64> = 48..64;

/// A datagram.
#[derive(Clone, Debug)]
pub struct UdpFrame {
    /// Position of its flow among those of the scenario.
    pub(crate) flow: u32,
    pub(crate) ports: [u16; 2],
    pub(crate) number: u64,
    pub(crate) bytes: u32,
    pub(crate) offered: Instant,
    pub(crate) class: u8,
    /// Bits that were damaged in the network.
    pub(crate) flips: Vec<u64>,
}

impl Frame for UdpFrame {
    fn wire_len(&self) -> usize {
        HEADER + self.bytes as usize
    }

    fn protocol(&self) -> u8 {
        UDP
    }

    fn traffic_class(&self) -> u8 {
        self.class
    }

    fn ports(&self) -> [u16; 2] {
        self.ports
    }

    fn mark_ce(&mut self) {
        self.class |= 3;
    }

    fn damage(&mut self, bit: u64) {
        match self.flips.iter().position(|known| *known == bit) {
            Some(known) => {
                self.flips.swap_remove(known);
            }
            None => self.flips.push(bit),
        }
    }

    fn checksum_bits(&self) -> Range<u64> {
        CHECKSUM_BITS
    }

    fn trace_fields(&self, hasher: &mut TraceHasher) {
        hasher.u8(UDP);
        hasher.u8(self.class);
        hasher.u32(u32::from(self.ports[0]) | u32::from(self.ports[1]) << 16);
        hasher.u64(self.number);
        hasher.u32(self.bytes);
        hasher.u32(self.flips.len() as u32);
        self.flips.iter().for_each(|bit| hasher.u64(*bit));
    }

    fn write_transport(&self, from: IpAddr, to: IpAddr, out: &mut Vec<u8>) {
        let start = out.len();
        let length = u16::try_from(self.wire_len()).unwrap_or(u16::MAX);
        for field in [self.ports[0], self.ports[1], length, 0] {
            out.extend_from_slice(&field.to_be_bytes());
        }
        let message = u64::from(self.flow) << 48 | self.number;
        let payload = Payload::Virtual(VirtualPayload { message, offset: 0, len: self.bytes });
        out.resize(start + self.wire_len(), 0);
        payload.copy_to(&mut out[start + HEADER..]);
        // RFC 768: a checksum of zero is sent as all ones.
        let sum = match checksum::of(from, to, UDP, &out[start..]) {
            0 => 0xFFFF,
            sum => sum,
        };
        out[start + 6..start + HEADER].copy_from_slice(&sum.to_be_bytes());
        for bit in &self.flips {
            let at = usize::try_from(bit / 8).unwrap_or(usize::MAX).saturating_add(start);
            if let Some(byte) = out.get_mut(at) {
                *byte ^= 0x80 >> (bit % 8);
            }
        }
    }
}
