//! Socket options that neither the standard library nor `quinn-udp` sets.

#[cfg(all(test, target_os = "linux"))]
pub(crate) use linux::report_flow_labels;
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) use linux::{
    force_buffers, fragmentation_allowed, with_flow_labels, without_timestamps,
};
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) use other::{
    force_buffers, fragmentation_allowed, with_flow_labels, without_timestamps,
};

#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(unsafe_code)] // what nix's macros make of the options
mod linux {
    use std::io;
    use std::net::{IpAddr, SocketAddr};

    use nix::sys::socket::setsockopt;
    use nix::sys::socket::sockopt::{
        Ipv6DontFrag, RcvBufForce, ReceiveTimestampns, SetStruct, SndBufForce,
    };
    use socket2::Socket;
    use tokio::net::UdpSocket;

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct IpMtuDiscover;
    nix::setsockopt_impl!(
        IpMtuDiscover,
        libc::IPPROTO_IP,
        libc::IP_MTU_DISCOVER,
        libc::c_int,
        SetStruct<'_, libc::c_int>
    );

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Ipv6MtuDiscover;
    nix::setsockopt_impl!(
        Ipv6MtuDiscover,
        libc::IPPROTO_IPV6,
        libc::IPV6_MTU_DISCOVER,
        libc::c_int,
        SetStruct<'_, libc::c_int>
    );

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Ipv6FragmentSize;
    nix::setsockopt_impl!(
        Ipv6FragmentSize,
        libc::IPPROTO_IPV6,
        libc::IPV6_MTU,
        libc::c_int,
        SetStruct<'_, libc::c_int>
    );

    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Ipv6FlowInfoSend;
    nix::setsockopt_impl!(
        Ipv6FlowInfoSend,
        libc::IPPROTO_IPV6,
        libc::IPV6_FLOWINFO_SEND,
        libc::c_int,
        SetStruct<'_, libc::c_int>
    );

    /// What every link carries (RFC 8200 section 5).
    const IPV6_LEAST_MTU: libc::c_int = 1280;
    /// No size but that of the route.
    const OF_THE_ROUTE: libc::c_int = 0;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Fragmentation {
        Allowed,
        Forbidden,
    }

    /// Runs `send` for one datagram that IP may fragment.
    ///
    /// Sockets send with "don't fragment" set, so that packets larger than the path MTU are detected. A packet that
    /// SCTP can no longer divide is sent with fragmentation allowed for that one call; callers ensure that no other
    /// packet is sent meanwhile. This is rare, so two more system calls are cheaper than a second socket per address.
    pub(crate) fn fragmentation_allowed(
        socket: &UdpSocket,
        destination: SocketAddr,
        send: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        set(socket, destination, Fragmentation::Allowed)?;
        let sent = send();
        set(socket, destination, Fragmentation::Forbidden)?;
        sent
    }

    fn set(
        socket: &UdpSocket,
        destination: SocketAddr,
        fragmentation: Fragmentation,
    ) -> io::Result<()> {
        let forbidden = fragmentation == Fragmentation::Forbidden;
        if destination.is_ipv4() {
            let mode = if forbidden { libc::IP_PMTUDISC_PROBE } else { libc::IP_PMTUDISC_DONT };
            setsockopt(socket, IpMtuDiscover, &mode)?;
        } else {
            let mode = if forbidden { libc::IPV6_PMTUDISC_PROBE } else { libc::IPV6_PMTUDISC_DONT };
            // Routers do not fragment IPv6, and the system does not know later links: fragments must fit through all of
            // them.
            let size = if forbidden { OF_THE_ROUTE } else { IPV6_LEAST_MTU };
            setsockopt(socket, Ipv6MtuDiscover, &mode)?;
            setsockopt(socket, Ipv6DontFrag, &forbidden)?;
            setsockopt(socket, Ipv6FragmentSize, &size)?;
        }
        Ok(())
    }

    /// Sets the sizes of the buffers beyond the system's cap, which CAP_NET_ADMIN allows.
    pub(crate) fn force_buffers(socket: &Socket, bytes: usize) {
        let _ = setsockopt(socket, RcvBufForce, &bytes);
        let _ = setsockopt(socket, SndBufForce, &bytes);
    }

    /// Allows packets over IPv6 to have the flow label of their destination address. Old systems may refuse it.
    pub(crate) fn with_flow_labels(socket: &UdpSocket, address: IpAddr) {
        if address.is_ipv6() {
            let _ = setsockopt(socket, Ipv6FlowInfoSend, &1);
        }
    }

    #[cfg(test)]
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    struct Ipv6ReceiveFlowInfo;
    #[cfg(test)]
    nix::setsockopt_impl!(
        Ipv6ReceiveFlowInfo,
        libc::IPPROTO_IPV6,
        libc::IPV6_FLOWINFO,
        libc::c_int,
        SetStruct<'_, libc::c_int>
    );

    /// Makes a socket report the flow labels of received packets.
    #[cfg(test)]
    pub(crate) fn report_flow_labels(socket: &std::net::UdpSocket) {
        setsockopt(socket, Ipv6ReceiveFlowInfo, &1).unwrap();
    }

    /// Disables the receive timestamps that `quinn-udp` requests: with them, the ancillary data of coalesced datagrams
    /// does not fit into its buffer, and the ECN codepoint is lost.
    pub(crate) fn without_timestamps(socket: &UdpSocket) -> io::Result<()> {
        Ok(setsockopt(socket, ReceiveTimestampns, &false)?)
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod other {
    use std::io;
    use std::net::{IpAddr, SocketAddr};

    use socket2::Socket;
    use tokio::net::UdpSocket;

    /// There is no portable method: the packet is sent like any other.
    pub(crate) fn fragmentation_allowed(
        _socket: &UdpSocket,
        _destination: SocketAddr,
        send: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        send()
    }

    pub(crate) fn with_flow_labels(_socket: &UdpSocket, _address: IpAddr) {}

    pub(crate) fn without_timestamps(_socket: &UdpSocket) -> io::Result<()> {
        Ok(())
    }

    pub(crate) fn force_buffers(_socket: &Socket, _bytes: usize) {}
}
