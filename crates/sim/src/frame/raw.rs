//! IP packets of real programs as frames of the network simulator.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

use bytes::Bytes;
use polypath_netsim::{Frame, TraceHasher};

/// IP protocol numbers with a checksum in their header, and where that begins in bytes.
const CHECKSUMS: [(u8, u64, u64); 5] = [(1, 2, 2), (6, 16, 2), (17, 6, 2), (58, 2, 2), (132, 8, 4)];
/// Protocols whose header begins with the ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];
/// First field of such a frame in a trace; differs from the traffic classes of SCTP and the protocols of the simulator.
const TRACE_MARK: u8 = 0xFD;
/// Length of the part of a packet that can be headers.
const TRACED: usize = 64;

/// An IP packet of a system. Links do not change it, except for damage and marks of queues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RawFrame {
    /// Header and payload.
    packet: Bytes,
    protocol: u8,
    /// Length of the header with its options, in bytes.
    header: u8,
    ports: [u16; 2],
    /// Whether the payload begins with the transport header; not in later fragments.
    is_first: bool,
}

/// Source, destination and packet.
pub(crate) type Parsed = (IpAddr, IpAddr, RawFrame);

impl RawFrame {
    /// Reads the header of an IP packet; `None` if it is invalid or the packet is shorter than it says.
    pub(crate) fn parse(packet: Bytes) -> Option<Parsed> {
        match packet.first()? >> 4 {
            4 => Self::parse_v4(packet),
            6 => Self::parse_v6(packet),
            _ => None,
        }
    }

    /// RFC 791 section 3.1.
    fn parse_v4(mut packet: Bytes) -> Option<Parsed> {
        let fixed: &[u8; 20] = packet.first_chunk()?;
        let header = usize::from(fixed[0] & 0x0F) * 4;
        let total = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
        let fragment_offset = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x1FFF;
        let protocol = fixed[9];
        let from = Ipv4Addr::new(fixed[12], fixed[13], fixed[14], fixed[15]);
        let to = Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]);
        if header < 20 || total < header || total > packet.len() {
            return None;
        }
        packet.truncate(total);
        let is_first = fragment_offset == 0;
        Some((from.into(), to.into(), Self::new(packet, protocol, header as u8, is_first)))
    }

    /// RFC 8200 section 3. Extension headers count as payload.
    fn parse_v6(mut packet: Bytes) -> Option<Parsed> {
        let fixed: &[u8; 40] = packet.first_chunk()?;
        let total = 40 + usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
        let protocol = fixed[6];
        let address = |at: usize| -> Option<IpAddr> {
            let octets: [u8; 16] = *fixed.get(at..)?.first_chunk()?;
            Some(Ipv6Addr::from(octets).into())
        };
        let (from, to) = (address(8)?, address(24)?);
        if total > packet.len() {
            return None;
        }
        packet.truncate(total);
        Some((from, to, Self::new(packet, protocol, 40, true)))
    }

    fn new(packet: Bytes, protocol: u8, header: u8, is_first: bool) -> Self {
        let after = packet.get(usize::from(header)..).and_then(|after| after.first_chunk());
        let ports = match after {
            Some([s0, s1, d0, d1]) if is_first && WITH_PORTS.contains(&protocol) => {
                [u16::from_be_bytes([*s0, *s1]), u16::from_be_bytes([*d0, *d1])]
            }
            _ => [0, 0],
        };
        Self { packet, protocol, header, ports, is_first }
    }

    /// The packet, as it is now.
    pub fn packet(&self) -> &[u8] {
        &self.packet
    }

    fn is_v4(&self) -> bool {
        self.packet.first().is_some_and(|first| first >> 4 == 4)
    }

    /// The header that the network assumes for every packet; options count as payload.
    fn plain_header(&self) -> usize {
        if self.is_v4() { 20 } else { 40 }
    }

    fn change(&mut self, change: impl FnOnce(&mut [u8])) {
        let mut bytes = self.packet.to_vec();
        change(&mut bytes);
        self.packet = bytes.into();
    }
}

impl Frame for RawFrame {
    fn wire_len(&self) -> usize {
        self.packet.len().saturating_sub(self.plain_header())
    }

    fn protocol(&self) -> u8 {
        self.protocol
    }

    fn traffic_class(&self) -> u8 {
        match *self.packet {
            [_, class, ..] if self.is_v4() => class,
            [first, second, ..] => first << 4 | second >> 4,
            _ => 0,
        }
    }

    fn ports(&self) -> [u16; 2] {
        self.ports
    }

    /// RFC 3168 section 5: sets both bits of the field. The checksum of an IPv4 header is recalculated.
    fn mark_ce(&mut self) {
        let (is_v4, header) = (self.is_v4(), usize::from(self.header));
        self.change(|bytes| {
            let Some(second) = bytes.get_mut(1) else { return };
            *second |= if is_v4 { 0x03 } else { 0x30 };
            if is_v4 {
                write_header_checksum(bytes.get_mut(..header).unwrap_or_default());
            }
        });
    }

    fn damage(&mut self, bit: u64) {
        let from = self.plain_header();
        self.change(|bytes| {
            let at = usize::try_from(bit / 8).unwrap_or(usize::MAX).saturating_add(from);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 0x80 >> (bit % 8);
            }
        });
    }

    fn checksum_bits(&self) -> Range<u64> {
        let all = 0..8 * self.wire_len() as u64;
        let known = CHECKSUMS.iter().find(|(protocol, ..)| *protocol == self.protocol);
        let Some((_, at, bytes)) = known.filter(|_| self.is_first) else { return all };
        let options = u64::from(self.header).saturating_sub(self.plain_header() as u64);
        let bits = 8 * (options + at)..8 * (options + at + bytes);
        if bits.end <= all.end { bits } else { all }
    }

    fn trace_fields(&self, hasher: &mut TraceHasher) {
        hasher.u8(TRACE_MARK);
        hasher.u32(self.packet.len() as u32);
        hasher.bytes(&self.packet[..self.packet.len().min(TRACED)]);
    }

    /// Not if the sender forbids fragmentation, and never for IPv6 (RFC 791 section 3.1, RFC 8200 section 5).
    fn may_fragment(&self) -> bool {
        const DONT_FRAGMENT: u8 = 0x40;
        let forbids = |flags: &u8| flags & DONT_FRAGMENT != 0;
        self.packet.first().is_some_and(|first| first >> 4 == 4)
            && !self.packet.get(6).is_some_and(forbids)
    }

    fn ip_packet(&self) -> Option<&[u8]> {
        Some(&self.packet)
    }

    fn write_transport(&self, _from: IpAddr, _to: IpAddr, out: &mut Vec<u8>) {
        out.extend_from_slice(self.packet.get(self.plain_header()..).unwrap_or_default());
    }
}

/// RFC 791: the ones' complement of the sum of all other words of the header.
fn write_header_checksum(header: &mut [u8]) {
    let Some(field) = header.get_mut(10..12) else { return };
    field.fill(0);
    let words =
        header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let mut sum: u32 = words.sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    header[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP packet from 10.0.1.1:1000 to 10.0.1.2:2000 with ECT(0), `options` bytes of options and 4 bytes of data.
    fn v4(options: usize, fragment_offset: u16) -> Vec<u8> {
        let header = 20 + options;
        let total = (header + 12) as u16;
        let mut packet = vec![0x40 | (header / 4) as u8, 0x02];
        packet.extend(total.to_be_bytes());
        packet.extend([0x12, 0x34]);
        packet.extend(fragment_offset.to_be_bytes());
        packet.extend([64, 17, 0, 0, 10, 0, 1, 1, 10, 0, 1, 2]);
        packet.resize(header, 1);
        write_header_checksum(&mut packet);
        packet.extend([0x03, 0xE8, 0x07, 0xD0, 0, 12, 0xAA, 0xBB, 1, 2, 3, 4]);
        packet
    }

    fn v6() -> Vec<u8> {
        let mut packet = vec![0x60, 0x20, 0, 0, 0, 12, 17, 64, 0xfd];
        packet.resize(23, 0);
        packet.extend([1, 0xfd]);
        packet.resize(39, 0);
        packet.push(2);
        packet.extend([0x03, 0xE8, 0x07, 0xD0, 0, 12, 0xAA, 0xBB, 1, 2, 3, 4]);
        packet
    }

    fn parse(packet: Vec<u8>) -> Option<Parsed> {
        RawFrame::parse(packet.into())
    }

    #[test]
    fn headers_are_read() {
        let padded = [v4(0, 0), vec![9; 5]].concat();
        let (from, to, frame) = parse(padded).unwrap();
        assert_eq!((from.to_string(), to.to_string()), ("10.0.1.1".into(), "10.0.1.2".into()));
        assert_eq!((frame.protocol(), frame.ports(), frame.traffic_class()), (17, [1000, 2000], 2));
        assert_eq!(frame.wire_len(), 12, "what is behind the packet does not count");
        assert_eq!(frame.packet(), v4(0, 0));
        let (from, to, frame) = parse(v6()).unwrap();
        assert_eq!((from.to_string(), to.to_string()), ("fd00::1".into(), "fd00::2".into()));
        assert_eq!((frame.protocol(), frame.ports(), frame.traffic_class()), (17, [1000, 2000], 2));
        assert_eq!(frame.wire_len(), 12);
    }

    #[test]
    fn what_is_no_packet_is_refused_and_nothing_panics() {
        for packet in [v4(0, 0), v4(8, 0), v6()] {
            for length in 0..packet.len() {
                assert_eq!(parse(packet[..length].to_vec()), None, "{length} bytes");
            }
            for at in 0..40.min(packet.len()) {
                for bit in 0..8 {
                    let mut packet = packet.clone();
                    packet[at] ^= 1 << bit;
                    let Some((.., mut frame)) = parse(packet) else { continue };
                    frame.mark_ce();
                    let _ = (frame.checksum_bits(), frame.traffic_class());
                    frame.damage(frame.checksum_bits().start);
                }
            }
        }
        for version in [0, 5, 7, 15] {
            let mut packet = v4(0, 0);
            packet[0] = version << 4 | 5;
            assert_eq!(parse(packet), None);
        }
    }

    #[test]
    fn marks_are_valid_headers() {
        for options in [0, 8] {
            let (.., mut frame) = parse(v4(options, 0)).unwrap();
            frame.mark_ce();
            assert_eq!(frame.traffic_class(), 3);
            let mut expected = v4(options, 0);
            expected[1] = 3;
            write_header_checksum(&mut expected[..20 + options]);
            assert_eq!(frame.packet(), expected);
        }
        let (.., mut frame) = parse(v6()).unwrap();
        frame.mark_ce();
        assert_eq!(frame.traffic_class(), 3);
        assert_eq!(frame.packet()[2..], v6()[2..]);
    }

    #[test]
    fn damage_to_the_checksum_hits_it_and_nothing_else() {
        for (packet, header) in [(v4(0, 0), 20), (v4(8, 0), 28), (v6(), 40)] {
            let (.., frame) = parse(packet.clone()).unwrap();
            assert_eq!(frame.checksum_bits().count(), 16);
            for bit in frame.checksum_bits() {
                let mut frame = frame.clone();
                frame.damage(bit);
                let differ: Vec<usize> =
                    (0..packet.len()).filter(|at| packet[*at] != frame.packet()[*at]).collect();
                assert_eq!(differ.len(), 1);
                assert!((header + 6..header + 8).contains(&differ[0]));
            }
        }
        let (.., later) = parse(v4(0, 185)).unwrap();
        assert_eq!(later.checksum_bits(), 0..96, "a later fragment has no checksum");
        assert_eq!(later.ports(), [0, 0]);
    }
}
