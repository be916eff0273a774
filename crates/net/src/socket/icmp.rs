//! Reports of ICMP about paths (RFC 9260 section 10).
//!
//! | rule | here |
//! | --- | --- |
//! | ICMP1, 2, 4: which kinds may be ignored | [`kind_of`] names those that are not |
//! | ICMP3: port unreachable is ignored | over IP; in UDP it means that no program accepts SCTP there (RFC 6951 section 5.5) |
//! | ICMP5: the payload identifies the association | by ports and address, the index of the endpoint |
//! | ICMP6: the verification tag must match | `Association::has_sent` |
//! | ICMP7: packets that are too big | the path MTU shrinks |
//! | ICMP8: no program accepts SCTP there | `Association::handle_protocol_unreachable` |
//! | ICMP9: other unreachability may count against the path | left to timeouts: it may pass |

use std::net::SocketAddr;

use polypath_proto::Encapsulation;

pub(super) use system::{drain, enable};

/// Bytes of the quoted packet that are read: the common header, and an INIT up to its initiate tag.
const QUOTE: usize = 20;
/// Maximum number of reports per socket that wait for the driver; further ones are dropped.
const MAX_REPORTS: usize = 64;

/// A report about a sent packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Report {
    /// Where the packet was to go; port 0 if it was not in UDP.
    remote: SocketAddr,
    kind: Kind,
    quote: [u8; QUOTE],
    quoted: usize,
}

/// Kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// The packet was too big for a link on its way.
    TooBig {
        /// MTU of that link.
        mtu_bytes: u32,
    },
    /// The host does not support the packet's transport protocol.
    ProtocolUnreachable,
    /// The UDP port is closed.
    PortUnreachable,
}

impl Report {
    fn new(remote: SocketAddr, kind: Kind, packet: &[u8]) -> Self {
        let mut quote = [0; QUOTE];
        let quoted = packet.len().min(QUOTE);
        quote[..quoted].copy_from_slice(&packet[..quoted]);
        Self { remote, kind, quote, quoted }
    }

    /// Destination of the packet; port 0 if it was not in UDP.
    pub(crate) fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// Its meaning for SCTP with this encapsulation, if it has one.
    pub(crate) fn meaning(&self, carried: Encapsulation) -> Option<Meaning> {
        meaning(self.kind, carried)
    }

    /// The beginning of the packet.
    pub(crate) fn packet(&self) -> &[u8] {
        &self.quote[..self.quoted]
    }

    /// Source and destination port of SCTP.
    pub(crate) fn ports(&self) -> Option<[u16; 2]> {
        let &[s0, s1, d0, d1] = self.packet().first_chunk()?;
        Some([[s0, s1], [d0, d1]].map(u16::from_be_bytes))
    }
}

/// The origin of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Icmpv4,
    Icmpv6,
}

/// The kind of a message; `None` for ignored ones, such as messages of old routers without an MTU.
fn kind_of(origin: Origin, kind: u8, code: u8, info: u32) -> Option<Kind> {
    use Origin::{Icmpv4, Icmpv6};
    match (origin, kind, code) {
        // Fragmentation needed; packet too big.
        (Icmpv4, 3, 4) | (Icmpv6, 2, _) => (info > 0).then_some(Kind::TooBig { mtu_bytes: info }),
        // Protocol unreachable; unrecognized next header.
        (Icmpv4, 3, 2) | (Icmpv6, 4, 1) => Some(Kind::ProtocolUnreachable),
        (Icmpv4, 3, 3) | (Icmpv6, 1, 4) => Some(Kind::PortUnreachable),
        _ => None,
    }
}

/// Meaning of a message for SCTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meaning {
    /// The packet was too big for a link on its way.
    TooBig {
        /// MTU of that link, in bytes.
        mtu_bytes: u32,
    },
    /// The host does not accept SCTP with that encapsulation.
    SctpUnreachable,
}

/// The meaning of a message for SCTP with this encapsulation.
fn meaning(kind: Kind, carried: Encapsulation) -> Option<Meaning> {
    match (kind, carried) {
        (Kind::TooBig { mtu_bytes }, _) => Some(Meaning::TooBig { mtu_bytes }),
        (Kind::ProtocolUnreachable, _) => Some(Meaning::SctpUnreachable),
        (Kind::PortUnreachable, Encapsulation::Udp { .. }) => Some(Meaning::SctpUnreachable),
        (Kind::PortUnreachable, Encapsulation::None | Encapsulation::LowerLayer) => None,
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::io::{self, IoSliceMut};
    use std::net::{IpAddr, SocketAddr};
    use std::os::fd::AsRawFd;

    use nix::errno::Errno;
    use nix::sys::socket::sockopt::{Ipv4RecvErr, Ipv6RecvErr};
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use tokio::net::UdpSocket;

    use super::{MAX_REPORTS, Origin, QUOTE, Report, kind_of};

    /// Space for the error and other ancillary data of packets.
    const CONTROL: usize = 512;

    /// Makes the socket keep ICMP messages about its packets.
    pub(in super::super) fn enable(socket: &UdpSocket, address: IpAddr) -> io::Result<()> {
        if address.is_ipv4() {
            setsockopt(socket, Ipv4RecvErr, &true)?;
        } else {
            setsockopt(socket, Ipv6RecvErr, &true)?;
        }
        Ok(())
    }

    /// Empties the queue of errors; returns whether any came from ICMP.
    pub(in super::super) fn drain(socket: &UdpSocket, reports: &mut Vec<Report>) -> bool {
        let mut any = false;
        loop {
            let mut packet = [0; QUOTE];
            let mut control = [0_u8; CONTROL];
            match receive(socket, &mut packet, &mut control) {
                Ok(Some(report)) => {
                    any = true;
                    if let Some(report) = report.filter(|_| reports.len() < MAX_REPORTS) {
                        reports.push(report);
                    }
                }
                Ok(None) => {}
                Err(Errno::EINTR) => {}
                Err(_) => return any,
            }
        }
    }

    /// The next error: `None` if it is one of this host, `Some(None)` for an ignored ICMP message.
    fn receive(
        socket: &UdpSocket,
        packet: &mut [u8],
        control: &mut [u8],
    ) -> nix::Result<Option<Option<Report>>> {
        let mut slices = [IoSliceMut::new(packet)];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(control), flags)?;
        let (bytes, address) = (message.bytes, message.address.and_then(address_of));
        let Ok(mut controls) = message.cmsgs() else { return Ok(None) };
        let Some((error, origin)) = controls.find_map(|control| match control {
            ControlMessageOwned::Ipv4RecvErr(error, _) => {
                (error.ee_origin == libc::SO_EE_ORIGIN_ICMP).then_some((error, Origin::Icmpv4))
            }
            ControlMessageOwned::Ipv6RecvErr(error, _) => {
                (error.ee_origin == libc::SO_EE_ORIGIN_ICMP6).then_some((error, Origin::Icmpv6))
            }
            _ => None,
        }) else {
            return Ok(None);
        };
        let kind = kind_of(origin, error.ee_type, error.ee_code, error.ee_info);
        let quoted = bytes.min(QUOTE);
        Ok(Some(
            kind.zip(address).map(|(kind, remote)| Report::new(remote, kind, &slices[0][..quoted])),
        ))
    }

    fn address_of(address: SockaddrStorage) -> Option<SocketAddr> {
        let v4 = address.as_sockaddr_in().map(|v4| SocketAddr::new(v4.ip().into(), v4.port()));
        v4.or_else(|| {
            address.as_sockaddr_in6().map(|v6| SocketAddr::new(v6.ip().into(), v6.port()))
        })
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::io;
    use std::net::IpAddr;

    use tokio::net::UdpSocket;

    use super::Report;

    /// There is no portable method: the system is asked for its MTU when a packet is refused.
    pub(in super::super) fn enable(_socket: &UdpSocket, _address: IpAddr) -> io::Result<()> {
        Ok(())
    }

    pub(in super::super) fn drain(_socket: &UdpSocket, _reports: &mut Vec<Report>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_kind() {
        use Kind::{PortUnreachable, ProtocolUnreachable, TooBig};
        for (origin, number, code, info, kind) in [
            (Origin::Icmpv4, 3, 4, 1400, Some(TooBig { mtu_bytes: 1400 })),
            (Origin::Icmpv4, 3, 4, 0, None),
            (Origin::Icmpv4, 3, 2, 1400, Some(ProtocolUnreachable)),
            (Origin::Icmpv4, 3, 3, 1400, Some(PortUnreachable)),
            // Network and host unreachable, forbidden, source quench, redirect, time exceeded, parameter problem.
            (Origin::Icmpv4, 3, 0, 1400, None),
            (Origin::Icmpv4, 3, 1, 1400, None),
            (Origin::Icmpv4, 3, 13, 1400, None),
            (Origin::Icmpv4, 4, 0, 1400, None),
            (Origin::Icmpv4, 5, 2, 1400, None),
            (Origin::Icmpv4, 11, 0, 1400, None),
            (Origin::Icmpv4, 12, 1, 1400, None),
            (Origin::Icmpv6, 2, 0, 1400, Some(TooBig { mtu_bytes: 1400 })),
            (Origin::Icmpv6, 4, 1, 1400, Some(ProtocolUnreachable)),
            (Origin::Icmpv6, 1, 4, 1400, Some(PortUnreachable)),
            // Other parameter problems, no route, time exceeded.
            (Origin::Icmpv6, 4, 0, 1400, None),
            (Origin::Icmpv6, 4, 2, 1400, None),
            (Origin::Icmpv6, 1, 0, 1400, None),
            (Origin::Icmpv6, 1, 3, 1400, None),
            (Origin::Icmpv6, 3, 4, 1400, None),
        ] {
            assert_eq!(kind_of(origin, number, code, info), kind, "{origin:?} {number} {code}");
        }
    }

    #[test]
    fn ports_matter_in_udp_only() {
        let udp = Encapsulation::Udp { local_port: 9899, remote_port: 9899 };
        let too_big = Some(Meaning::TooBig { mtu_bytes: 1400 });
        for (kind, over_ip, in_udp) in [
            (Kind::TooBig { mtu_bytes: 1400 }, too_big, too_big),
            (
                Kind::ProtocolUnreachable,
                Some(Meaning::SctpUnreachable),
                Some(Meaning::SctpUnreachable),
            ),
            (Kind::PortUnreachable, None, Some(Meaning::SctpUnreachable)),
        ] {
            assert_eq!(meaning(kind, Encapsulation::None), over_ip, "{kind:?}");
            assert_eq!(meaning(kind, udp), in_udp, "{kind:?}");
        }
    }

    #[test]
    fn quotes_may_be_short_or_long() {
        let remote = SocketAddr::from(([192, 0, 2, 1], 9899));
        let packet: Vec<u8> = (0..40).collect();
        let report = |len: usize| Report::new(remote, Kind::PortUnreachable, &packet[..len]);
        assert_eq!(report(40).packet(), &packet[..QUOTE]);
        assert_eq!(report(8).packet(), &packet[..8]);
        assert_eq!(report(8).ports(), Some([0x0001, 0x0203]));
        assert_eq!(report(3).ports(), None);
    }
}
