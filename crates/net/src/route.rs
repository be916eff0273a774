//! Routes of the system.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use polypath_proto::config::SourceRoute;
use socket2::{Domain, Protocol, Socket, Type};

use crate::device;

/// Any port: connecting a UDP socket looks up a route and sends nothing.
const ANY_PORT: u16 = 9;

/// The local address that the system uses to reach `to`.
///
/// ```
/// let local = polypath::source_address("127.0.0.1".parse()?)?;
/// assert!(local.is_loopback());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn source_address(to: IpAddr) -> io::Result<IpAddr> {
    let any = if to.is_ipv4() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED)
    } else {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    };
    Ok(lookup(any, None, to)?.local_addr()?.ip())
}

/// The local addresses of an endpoint without explicit ones: the source addresses of the default routes of IPv4 and
/// IPv6, then the loopback addresses of this host, for peers on it. Other peers do not learn the latter.
///
/// ```
/// let local = polypath::default_addresses();
/// assert!(local.iter().any(|address| address.is_loopback()));
/// ```
pub fn default_addresses() -> Vec<IpAddr> {
    // Addresses for documentation: nothing is sent to them.
    let somewhere = [
        IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    ];
    let usable = |address: &IpAddr| !address.is_loopback() && !address.is_unspecified();
    let routed = somewhere.into_iter().filter_map(|to| source_address(to).ok()).filter(usable);
    let loopback = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
    routed.chain(loopback.into_iter().filter(|&own| UdpSocket::bind((own, 0)).is_ok())).collect()
}

/// Routes of the system to these addresses, as far as it has any.
pub(crate) fn sources(remotes: &[IpAddr]) -> Vec<SourceRoute> {
    let route = |&remote| Some(SourceRoute { remote, local: source_address(remote).ok()? });
    remotes.iter().filter_map(route).collect()
}

/// MTU in bytes of the route from `from`, which may be bound to a device, to `to`, if there is a route and the system reports it.
pub(crate) fn mtu(from: IpAddr, device: Option<&str>, to: IpAddr) -> Option<u32> {
    if from.is_ipv4() != to.is_ipv4() {
        return None;
    }
    system::mtu(&lookup(from, device, to).ok()?, to)
}

/// A socket with a route. It is connected, so it receives from no other address, and exists only briefly.
fn lookup(from: IpAddr, device: Option<&str>, to: IpAddr) -> io::Result<UdpSocket> {
    let socket =
        Socket::new(Domain::for_address((from, 0).into()), Type::DGRAM, Some(Protocol::UDP))?;
    device::attach(&socket, device)?;
    socket.bind(&SocketAddr::new(from, 0).into())?;
    let socket = UdpSocket::from(socket);
    socket.connect(SocketAddr::new(to, ANY_PORT))?;
    Ok(socket)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(unsafe_code)] // what nix's macros make of the options
mod system {
    use std::net::{IpAddr, UdpSocket};

    use nix::sys::socket::{getsockopt, sockopt::IpMtu};

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Ipv6Mtu;
    nix::getsockopt_impl!(
        Ipv6Mtu,
        libc::IPPROTO_IPV6,
        libc::IPV6_MTU,
        libc::c_int,
        nix::sys::socket::sockopt::GetStruct<libc::c_int>
    );

    pub(super) fn mtu(socket: &UdpSocket, to: IpAddr) -> Option<u32> {
        let mtu =
            if to.is_ipv4() { getsockopt(socket, IpMtu) } else { getsockopt(socket, Ipv6Mtu) };
        u32::try_from(mtu.ok()?).ok()
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::net::{IpAddr, UdpSocket};

    pub(super) fn mtu(_socket: &UdpSocket, _to: IpAddr) -> Option<u32> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_on_this_host_find_an_endpoint_at_its_loopback_address() {
        assert!(default_addresses().contains(&Ipv4Addr::LOCALHOST.into()));
    }

    #[test]
    fn families_do_not_mix() {
        assert_eq!(mtu(Ipv4Addr::LOCALHOST.into(), None, Ipv6Addr::LOCALHOST.into()), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn loopback_has_a_large_mtu() {
        assert!(
            mtu(Ipv4Addr::LOCALHOST.into(), None, Ipv4Addr::LOCALHOST.into())
                .is_some_and(|mtu| mtu > 1500)
        );
    }
}
