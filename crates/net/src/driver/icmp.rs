//! What ICMP messages say of paths (RFC 9260 section 10).
//!
//! Only a smaller path MTU is followed (ICMP7). Other kinds of unreachability are left to timeouts, as the standard
//! allows (ICMP9 is a MAY): they may pass, and anybody on the way can forge them.

use std::sync::Arc;

use polypath_proto::PathError;

use super::Driver;
use super::router::touch;

pub(super) use system::{drain, enable};

/// Bytes of the quoted packet that are looked at: the common header, and an INIT up to its initiate tag.
const QUOTE: usize = 20;
/// Reports kept of one socket until the driver asks for them; messages beyond are as good as lost.
const MAX_REPORTS: usize = 64;

/// A packet of ours was too big for a link on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Report {
    /// Where the packet was to go.
    pub(super) remote: std::net::IpAddr,
    /// MTU of that link.
    pub(super) mtu_bytes: u32,
    quote: [u8; QUOTE],
    quoted: usize,
}

impl Report {
    fn new(remote: std::net::IpAddr, mtu_bytes: u32, packet: &[u8]) -> Self {
        let mut quote = [0; QUOTE];
        let quoted = packet.len().min(QUOTE);
        quote[..quoted].copy_from_slice(&packet[..quoted]);
        Self { remote, mtu_bytes, quote, quoted }
    }

    /// The beginning of the packet.
    fn packet(&self) -> &[u8] {
        &self.quote[..self.quoted]
    }

    /// SCTP port that the packet was to go to.
    fn remote_port(&self) -> Option<u16> {
        let port = self.packet().get(2..)?.first_chunk()?;
        Some(u16::from_be_bytes(*port))
    }
}

/// Who tells of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Icmpv4,
    Icmpv6,
}

/// The path MTU that a message tells: "fragmentation needed" of ICMP and "packet too big" of ICMPv6. Old routers tell
/// none, which is 0.
fn told_mtu(origin: Origin, kind: u8, code: u8, info: u32) -> Option<u32> {
    let is_told = match origin {
        Origin::Icmpv4 => (kind, code) == (3, 4),
        Origin::Icmpv6 => kind == 2,
    };
    (is_told && info > 0).then_some(info)
}

impl Driver {
    /// Shrinks the paths that packets were too big for.
    pub(super) fn follow_icmp(&mut self) {
        let Self { shared, sockets, touched, stats, .. } = self;
        let now = shared.clock.now();
        for (_, socket) in sockets.iter() {
            for report in socket.take_reports() {
                let Some(port) = report.remote_port() else { continue };
                let association = {
                    let state = shared.state();
                    let id = state.protocol.association_with(port, report.remote);
                    id.and_then(|id| state.table.get(&id).map(Arc::clone))
                };
                let Some(association) = association else { continue };
                let mut inner = association.lock();
                if !inner.protocol.has_sent(report.packet()) {
                    continue;
                }
                let paths = inner.protocol.path_stats();
                let path = paths
                    .iter()
                    .find(|path| path.local == socket.address() && path.remote == report.remote);
                if let Some(path) = path.filter(|path| report.mtu_bytes < path.mtu_bytes) {
                    let error = PathError::PacketTooBig { mtu_bytes: report.mtu_bytes };
                    inner
                        .call(now, |protocol, cx| protocol.handle_path_error(cx, path.path, error));
                    stats.path_mtu_reports += 1;
                    drop(inner);
                    touch(touched, &association);
                }
            }
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::io::{self, IoSliceMut};
    use std::net::IpAddr;
    use std::os::fd::AsRawFd;

    use nix::errno::Errno;
    use nix::sys::socket::sockopt::{Ipv4RecvErr, Ipv6RecvErr};
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt};
    use tokio::net::UdpSocket;

    use super::{MAX_REPORTS, Origin, QUOTE, Report, told_mtu};

    /// Room for the error beside what else the socket tells of packets.
    const CONTROL: usize = 512;

    /// Lets the socket keep what ICMP says of its packets.
    pub(in super::super) fn enable(socket: &UdpSocket, address: IpAddr) -> io::Result<()> {
        if address.is_ipv4() {
            setsockopt(socket, Ipv4RecvErr, &true)?;
        } else {
            setsockopt(socket, Ipv6RecvErr, &true)?;
        }
        Ok(())
    }

    /// Empties the queue of errors; gives whether any came from ICMP.
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

    /// The next error: `None` if it is one of this host, `Some(None)` if ICMP tells of no MTU.
    fn receive(
        socket: &UdpSocket,
        packet: &mut [u8],
        control: &mut [u8],
    ) -> nix::Result<Option<Option<Report>>> {
        let mut slices = [IoSliceMut::new(packet)];
        let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
        let message =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(control), flags)?;
        let (bytes, address) = (message.bytes, message.address.and_then(ip_of));
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
        let mtu = told_mtu(origin, error.ee_type, error.ee_code, error.ee_info);
        Ok(Some(
            mtu.zip(address)
                .map(|(mtu, remote)| {
                    let quoted = bytes.min(QUOTE);
                    (mtu, remote, quoted)
                })
                .map(|(mtu, remote, quoted)| Report::new(remote, mtu, &slices[0][..quoted])),
        ))
    }

    fn ip_of(address: SockaddrStorage) -> Option<IpAddr> {
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::io;
    use std::net::IpAddr;

    use tokio::net::UdpSocket;

    use super::Report;

    /// There is no portable way: the system's own notion of the MTU is asked when a packet is refused.
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
    fn only_too_big_packets_tell_an_mtu() {
        for (origin, kind, code, info, told) in [
            (Origin::Icmpv4, 3, 4, 1400, Some(1400)),
            (Origin::Icmpv4, 3, 4, 0, None),
            // Host, protocol and port unreachable, time exceeded.
            (Origin::Icmpv4, 3, 1, 1400, None),
            (Origin::Icmpv4, 3, 2, 1400, None),
            (Origin::Icmpv4, 3, 3, 1400, None),
            (Origin::Icmpv4, 11, 0, 1400, None),
            (Origin::Icmpv6, 2, 0, 1400, Some(1400)),
            (Origin::Icmpv6, 1, 4, 1400, None),
            (Origin::Icmpv6, 4, 1, 1400, None),
            (Origin::Icmpv6, 3, 4, 1400, None),
        ] {
            assert_eq!(told_mtu(origin, kind, code, info), told, "{origin:?} {kind} {code}");
        }
    }

    #[test]
    fn quotes_may_be_short_or_long() {
        let remote = std::net::IpAddr::from([192, 0, 2, 1]);
        let packet: Vec<u8> = (0..40).collect();
        let report = |len: usize| Report::new(remote, 1400, &packet[..len]);
        assert_eq!(report(40).packet(), &packet[..QUOTE]);
        assert_eq!(report(8).packet(), &packet[..8]);
        assert_eq!(report(8).remote_port(), Some(0x0203));
        assert_eq!(report(3).remote_port(), None);
    }
}
