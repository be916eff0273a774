//! IPv4 fragmentation in user space.
//!
//! Routers can fragment a packet built for a larger path MTU once the path MTU has shrunk. A bridge or tunnel with a
//! too small MTU, however, drops it silently, and the system fragments to the path MTU that it assumes. The fragments
//! are therefore made here and sent through a raw socket, which needs CAP_NET_RAW. Without it, the packet is sent
//! without "don't fragment", so that routers can fragment it. For IPv6, sockets have an option (`options`).

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, OnceLock};

use socket2::Socket;

use super::marks::Marks;

/// Length of the IPv4 header without options (RFC 791 section 3.1).
const HEADER: usize = 20;
/// Length of the UDP header (RFC 768).
const UDP_HEADER: usize = 8;
/// Maximum length of a fragment: every host accepts it (RFC 791 section 3.1), and practically every link carries it.
const FRAGMENT: usize = 576;
/// Payload of each but the last, a multiple of eight.
const PAYLOAD: usize = (FRAGMENT - HEADER) / 8 * 8;
/// The longest payload of an IPv4 packet.
const LONGEST: usize = 65_535 - HEADER;
/// "More fragments" in the word of flags and offset.
const MORE_FRAGMENTS: u16 = 0x2000;
const TIME_TO_LIVE: u8 = 64;

/// What follows the IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Carrier {
    /// SCTP.
    Ip,
    /// UDP from this port, and SCTP in it.
    Udp { from: u16 },
}

/// A socket for fragments, opened when it is needed first.
#[derive(Debug, Default)]
pub(super) struct FragmentSocket {
    socket: OnceLock<Option<Socket>>,
    identification: AtomicU16,
}

impl FragmentSocket {
    /// Sends an SCTP packet in fragments; returns whether that was possible.
    pub(super) fn send(
        &self,
        (from, device): (Ipv4Addr, Option<&Arc<str>>),
        to: SocketAddrV4,
        marks: Marks,
        carrier: Carrier,
        packet: &[u8],
    ) -> bool {
        let opened = self.socket.get_or_init(|| system::open(from, device).ok());
        let Some(socket) = opened else { return false };
        let Some((protocol, payload)) = payload(from, to, carrier, packet) else { return false };
        // The system replaces an identification of 0 by a different one in each fragment.
        let identification = self.identification.fetch_add(1, Ordering::Relaxed).max(1);
        let header = Header { from, to: *to.ip(), marks, protocol, identification };
        let destination = SocketAddr::from((*to.ip(), 0)).into();
        let sent = |fragment: &Vec<u8>| socket.send_to(fragment, &destination);
        // A fragment that finds the queue of the device full is lost, as in the network.
        let is_there = |result: io::Result<usize>| match result {
            Ok(_) => true,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        };
        fragments(&header, &payload).iter().map(sent).all(is_there)
    }
}

/// Common fields of the headers of fragments.
#[derive(Clone, Copy, Debug)]
struct Header {
    from: Ipv4Addr,
    to: Ipv4Addr,
    marks: Marks,
    protocol: u8,
    identification: u16,
}

impl Header {
    /// The header of a fragment; the system fills in the checksum (raw(7)).
    fn of(&self, total: usize, flags_and_offset: u16) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        (header[0], header[1]) = (0x45, self.marks.byte());
        header[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        header[4..6].copy_from_slice(&self.identification.to_be_bytes());
        header[6..8].copy_from_slice(&flags_and_offset.to_be_bytes());
        (header[8], header[9]) = (TIME_TO_LIVE, self.protocol);
        header[12..16].copy_from_slice(&self.from.octets());
        header[16..20].copy_from_slice(&self.to.octets());
        header
    }
}

/// Protocol number and payload of the IP packet; `None` if it is too long for one.
fn payload(
    from: Ipv4Addr,
    to: SocketAddrV4,
    carrier: Carrier,
    packet: &[u8],
) -> Option<(u8, Vec<u8>)> {
    let Carrier::Udp { from: port } = carrier else {
        return (packet.len() <= LONGEST).then(|| (132, packet.to_vec()));
    };
    let length = packet.len() + UDP_HEADER;
    if length > LONGEST {
        return None;
    }
    let mut datagram = Vec::with_capacity(length);
    datagram.extend_from_slice(&port.to_be_bytes());
    datagram.extend_from_slice(&to.port().to_be_bytes());
    datagram.extend_from_slice(&(length as u16).to_be_bytes());
    datagram.extend_from_slice(&[0, 0]);
    datagram.extend_from_slice(packet);
    let sum = udp_checksum(from, *to.ip(), &datagram);
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    Some((17, datagram))
}

/// The checksum over a UDP datagram with a zero checksum field and its pseudo-header (RFC 768).
fn udp_checksum(from: Ipv4Addr, to: Ipv4Addr, datagram: &[u8]) -> u16 {
    let word = |bytes: &[u8]| u32::from(bytes[0]) << 8 | bytes.get(1).map_or(0, |&low| low.into());
    let of = |bytes: &[u8]| bytes.chunks(2).map(word).sum::<u32>();
    let mut sum = of(&from.octets()) + of(&to.octets()) + 17 + datagram.len() as u32 + of(datagram);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    match !(sum as u16) {
        // 0 means no checksum.
        0 => 0xFFFF,
        sum => sum,
    }
}

/// The fragments of an IP packet (RFC 791 section 3.2).
fn fragments(header: &Header, payload: &[u8]) -> Vec<Vec<u8>> {
    let last = payload.len().div_ceil(PAYLOAD).saturating_sub(1);
    let fragment = |(index, part): (usize, &[u8])| {
        let more = if index < last { MORE_FRAGMENTS } else { 0 };
        let offset = (index * PAYLOAD / 8) as u16;
        [&header.of(HEADER + part.len(), more | offset)[..], part].concat()
    };
    payload.chunks(PAYLOAD).enumerate().map(fragment).collect()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::io;
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::Arc;

    use socket2::{Domain, Protocol, Socket, Type};

    use crate::device;

    /// A socket for packets with headers.
    pub(super) fn open(from: Ipv4Addr, to_device: Option<&Arc<str>>) -> io::Result<Socket> {
        let protocol = Protocol::from(libc::IPPROTO_RAW);
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(protocol))?;
        socket.set_nonblocking(true)?;
        socket.set_header_included_v4(true)?;
        device::attach(&socket, to_device.map(|device| &**device))?;
        socket.bind(&SocketAddr::from((from, 0)).into())?;
        Ok(socket)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::io;
    use std::net::Ipv4Addr;
    use std::sync::Arc;

    use socket2::Socket;

    /// Systems differ in the byte order of header fields.
    pub(super) fn open(_from: Ipv4Addr, _to_device: Option<&Arc<str>>) -> io::Result<Socket> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use polypath_proto::Ecn;
    use polypath_proto::config::TrafficMarks;

    use super::*;

    const FROM: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const TO: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 2), 9899);

    /// Reassembles fragments like a receiver.
    fn joined(fragments: &[Vec<u8>]) -> Vec<u8> {
        let mut payload = Vec::new();
        for (index, fragment) in fragments.iter().enumerate() {
            let word = |at: usize| u16::from_be_bytes([fragment[at], fragment[at + 1]]);
            assert!(fragment.len() <= FRAGMENT && usize::from(word(2)) == fragment.len());
            assert_eq!(word(4), 7, "the same identification");
            assert_eq!(word(6) & 0x1FFF, (payload.len() / 8) as u16);
            assert_eq!(word(6) & 0x4000, 0, "may be fragmented further");
            assert_eq!(word(6) & MORE_FRAGMENTS != 0, index + 1 < fragments.len());
            payload.extend_from_slice(&fragment[HEADER..]);
        }
        payload
    }

    #[test]
    fn fragments_make_the_packet() {
        let marks = Marks { ecn: Ecn::Ect0, traffic: TrafficMarks { dscp: 10, flow_label: 0 } };
        let header = Header { from: FROM, to: *TO.ip(), marks, protocol: 132, identification: 7 };
        for (len, count) in [(1, 1), (552, 1), (553, 2), (1104, 2), (1480, 3), (60_000, 109)] {
            let payload: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let fragments = fragments(&header, &payload);
            assert_eq!((joined(&fragments), fragments.len()), (payload, count), "{len}");
            assert_eq!((fragments[0][0], fragments[0][1], fragments[0][9]), (0x45, 42, 132));
        }
    }

    #[test]
    fn datagrams_have_ports_and_checksum() {
        for len in [12, 13, 1400] {
            let packet: Vec<u8> = (0..len).map(|n| (n * 7) as u8).collect();
            let (protocol, datagram) =
                payload(FROM, TO, Carrier::Udp { from: 40_000 }, &packet).unwrap();
            assert_eq!((protocol, &datagram[UDP_HEADER..]), (17, packet.as_slice()));
            assert_eq!(datagram[..4], [0x9C, 0x40, 0x26, 0xAB]);
            // The sum over all of it, including the checksum, is that of an intact datagram.
            assert_eq!(udp_checksum(FROM, *TO.ip(), &datagram), 0xFFFF, "{len}");
        }
        assert_eq!(payload(FROM, TO, Carrier::Ip, &[1, 2]), Some((132, vec![1, 2])));
        assert_eq!(payload(FROM, TO, Carrier::Ip, &[0; 65_536]), None);
    }
}
