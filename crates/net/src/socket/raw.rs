//! SCTP over IP itself, protocol 132 (RFC 9260 section 1), through raw sockets.
//!
//! A raw socket receives every SCTP packet to its address; those for other ports are discarded, by a filter in the
//! kernel if it has one, and always here, since packets may arrive before the filter is set.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use socket2::{Domain, Protocol, Socket, Type};

use super::bound::BoundSocket;

/// Protocol number of SCTP.
const PROTOCOL: i32 = 132;
/// Exists once the kernel has loaded its own SCTP.
const KERNEL_SCTP: &str = "/proc/net/sctp";

/// A raw socket for SCTP packets to one address and one SCTP port.
#[derive(Debug)]
pub(crate) struct RawPort {
    pub(super) socket: BoundSocket,
    sctp_port: u16,
}

impl RawPort {
    /// Binds to `address`, and to `device` if one is named; needs CAP_NET_RAW. Must be called inside a tokio runtime.
    pub(crate) fn bind(
        address: IpAddr,
        device: Option<&Arc<str>>,
        sctp_port: u16,
    ) -> io::Result<Self> {
        let domain = Domain::for_address((address, 0).into());
        let socket = Socket::new(domain, Type::RAW, Some(Protocol::from(PROTOCOL)))?;
        filter::attach(&socket, address, sctp_port)?;
        Ok(Self { socket: BoundSocket::bind(socket, address, device, 0)?, sctp_port })
    }

    /// The SCTP packet in a received packet, if it is for this port. IPv4 sockets return the IP header as well.
    pub(super) fn packet<'a>(&self, received: &'a [u8]) -> Option<&'a [u8]> {
        let packet =
            if self.socket.address().is_ipv4() { behind_ipv4(received)? } else { received };
        (destination_port(packet)? == self.sctp_port).then_some(packet)
    }
}

/// The payload of an IPv4 packet (RFC 791 section 3.1).
fn behind_ipv4(packet: &[u8]) -> Option<&[u8]> {
    let &[first, _, high, low, ..] = packet else { return None };
    let header = usize::from(first & 0x0F) * 4;
    let total = usize::from(u16::from_be_bytes([high, low]));
    (first >> 4 == 4 && header >= 20).then(|| packet.get(header..total))?
}

/// Destination port in the common header (RFC 9260 section 3.1).
fn destination_port(packet: &[u8]) -> Option<u16> {
    match packet {
        &[_, _, high, low, ..] => Some(u16::from_be_bytes([high, low])),
        _ => None,
    }
}

/// Whether the kernel has its own SCTP, which aborts associations that it does not know (RFC 9260 section 8.4).
pub(crate) fn kernel_has_sctp() -> bool {
    Path::new(KERNEL_SCTP).exists()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod filter {
    use std::io;
    use std::net::IpAddr;

    use libc::{
        BPF_ABS, BPF_B, BPF_H, BPF_IND, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_LDX, BPF_MSH, BPF_RET,
    };
    use socket2::{SockFilter, Socket};

    /// Length that keeps a packet whole.
    const WHOLE: u32 = u32::MAX;
    /// Offset of the destination port in the common header.
    const PORT: u32 = 2;

    /// Makes the kernel drop packets to other SCTP ports. The filter sees the packet as the socket receives it: for
    /// IPv4 with the IP header, whose length is in its first byte.
    pub(super) fn attach(socket: &Socket, address: IpAddr, port: u16) -> io::Result<()> {
        let verdict = [
            instruction(BPF_JMP | BPF_JEQ | BPF_K, 1, u32::from(port)),
            instruction(BPF_RET | BPF_K, 0, WHOLE),
            instruction(BPF_RET | BPF_K, 0, 0),
        ];
        let mut program = if address.is_ipv4() {
            vec![
                instruction(BPF_LDX | BPF_B | BPF_MSH, 0, 0),
                instruction(BPF_LD | BPF_H | BPF_IND, 0, PORT),
            ]
        } else {
            vec![instruction(BPF_LD | BPF_H | BPF_ABS, 0, PORT)]
        };
        program.extend(verdict);
        socket.attach_filter(&program)
    }

    fn instruction(code: u32, jump_if_false: u8, k: u32) -> SockFilter {
        SockFilter::new(code as u16, 0, jump_if_false, k)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod filter {
    use std::io;
    use std::net::IpAddr;

    use socket2::Socket;

    /// There is no portable filter; packets to other ports are discarded when they are read.
    pub(super) fn attach(_socket: &Socket, _address: IpAddr, _port: u16) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_headers_are_cut_off() {
        let packet = |first: u8, total: u8, len: usize| {
            let mut bytes = vec![0; len];
            (bytes[0], bytes[3]) = (first, total);
            for (index, byte) in bytes.iter_mut().enumerate().skip(20) {
                *byte = index as u8;
            }
            bytes
        };
        for (first, total, len, begins) in [
            (0x45, 40, 40, Some(20)),
            // With options, and with bytes that a link added.
            (0x46, 40, 40, Some(24)),
            (0x45, 38, 40, Some(20)),
            // Not IPv4, a header that is too short, a packet that is too short.
            (0x65, 40, 40, None),
            (0x44, 40, 40, None),
            (0x45, 41, 40, None),
            (0x4F, 40, 40, None),
        ] {
            let bytes = packet(first, total, len);
            let expected = begins.map(|begins| &bytes[begins..usize::from(total)]);
            assert_eq!(behind_ipv4(&bytes), expected, "{first:x} {total} {len}");
        }
        assert_eq!(behind_ipv4(&[0x45, 0, 0]), None);
        assert_eq!(behind_ipv4(&[]), None);
    }

    #[test]
    fn ports_are_read_from_the_common_header() {
        assert_eq!(destination_port(&[0, 1, 0x13, 0x89, 0]), Some(5001));
        assert_eq!(destination_port(&[0, 1, 0x13]), None);
    }
}
