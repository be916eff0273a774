//! Watches the links, addresses and routes of this host.

use std::task::{Context, Poll};

/// Reports of changes, if the system has them.
#[derive(Debug)]
pub(super) struct NetworkWatch(Option<system::Reports>);

impl NetworkWatch {
    pub(super) fn new() -> Self {
        Self(system::Reports::open().ok())
    }

    /// Becomes ready when something has changed; never if the system does not report changes.
    pub(super) fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(reports) = &self.0 else { return Poll::Pending };
        match reports.poll_next(cx) {
            Poll::Ready(Ok(())) => Poll::Ready(()),
            Poll::Ready(Err(_)) => {
                self.0 = None;
                Poll::Pending
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::io;
    use std::os::fd::AsRawFd;
    use std::task::{Context, Poll};

    use nix::errno::Errno;
    use nix::sys::socket::{
        AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
    };
    use tokio::io::Interest;
    use tokio::net::UdpSocket;

    /// A socket of rtnetlink(7) for reports of changes. The runtime has no type for such sockets; its type for UDP
    /// works for all that receive datagrams.
    #[derive(Debug)]
    pub(super) struct Reports(UdpSocket);

    const GROUPS: i32 = libc::RTMGRP_LINK
        | libc::RTMGRP_IPV4_IFADDR
        | libc::RTMGRP_IPV6_IFADDR
        | libc::RTMGRP_IPV4_ROUTE
        | libc::RTMGRP_IPV6_ROUTE;

    impl Reports {
        pub(super) fn open() -> io::Result<Self> {
            let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
            let (family, protocol) = (AddressFamily::Netlink, SockProtocol::NetlinkRoute);
            let socket = socket(family, SockType::Raw, flags, protocol)?;
            bind(socket.as_raw_fd(), &NetlinkAddr::new(0, GROUPS as u32))?;
            Ok(Self(UdpSocket::from_std(socket.into())?))
        }

        /// Becomes ready when there are reports, and takes all of them. Their content does not matter, nor whether some
        /// were lost.
        pub(super) fn poll_next(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let mut any = false;
            loop {
                match self.0.poll_recv_ready(cx) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending if any => return Poll::Ready(Ok(())),
                    Poll::Pending => return Poll::Pending,
                }
                match self.0.try_io(Interest::READABLE, || self.take()) {
                    Ok(()) => any = true,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        }

        /// Takes a report.
        fn take(&self) -> io::Result<()> {
            let mut buffer = [0; 4096];
            match recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(1..) | Err(Errno::ENOBUFS | Errno::EINTR) => Ok(()),
                Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) => Err(error.into()),
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::io;
    use std::task::{Context, Poll};

    /// There is no portable method.
    #[derive(Debug)]
    pub(super) struct Reports;

    impl Reports {
        pub(super) fn open() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn poll_next(&self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Err(io::ErrorKind::Unsupported.into()))
        }
    }
}
