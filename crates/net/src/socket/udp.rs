//! SCTP in UDP (RFC 6951).

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use socket2::{Domain, Protocol, Socket, Type};

use super::bound::BoundSocket;

/// A UDP socket, with segmentation offload if the system has it.
#[derive(Debug)]
pub(crate) struct UdpPort {
    pub(super) socket: BoundSocket,
    port: u16,
}

impl UdpPort {
    /// Binds to `address`, and to `device` if one is named; port 0: chosen by the system. Must be called inside a tokio
    /// runtime.
    pub(crate) fn bind(address: IpAddr, device: Option<&Arc<str>>, port: u16) -> io::Result<Self> {
        let domain = Domain::for_address((address, 0).into());
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        let socket = BoundSocket::bind(socket, address, device, port)?;
        let port = socket.local()?.port();
        Ok(Self { socket, port })
    }

    /// The local UDP port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}
