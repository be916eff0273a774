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

    /// Lets `send` send one datagram that IP may fragment.
    ///
    /// Sockets send with "don't fragment" set, so that a packet larger than the path allows is noticed. A packet that
    /// SCTP can no longer cut smaller is sent with fragmentation allowed for that one call; callers see to
    /// it that nobody else sends meanwhile, so no other packet slips through. This is rare, which makes two more system calls
    /// cheaper than a second socket per address.
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
            // No router fragments IPv6, and the system knows nothing of links beyond the first: fragments have to pass all.
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

    /// Lets packets over IPv6 have the flow label that their destination address names. Old systems may refuse it.
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

    /// Lets a socket report the flow labels of what it receives.
    #[cfg(test)]
    pub(crate) fn report_flow_labels(socket: &std::net::UdpSocket) {
        setsockopt(socket, Ipv6ReceiveFlowInfo, &1).unwrap();
    }

    /// Switches off the receive timestamps that `quinn-udp` asks for: with them the ancillary data of coalesced
    /// datagrams does not fit its buffer, and the ECN codepoint is what gets lost.
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

    /// There is no portable way: the packet is sent as any other.
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
