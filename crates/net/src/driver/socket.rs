//! One UDP socket, bound to one local address.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use polypath_proto::Ecn;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::options;

/// Size asked for the socket's buffers. The system may grant less; a receive buffer of this size takes what arrives
/// while the driver is busy elsewhere for some milliseconds.
const SOCKET_BUFFER: usize = 8 << 20;

/// A non-blocking UDP socket with segmentation offload.
#[derive(Debug)]
pub(crate) struct UdpPort {
    socket: UdpSocket,
    state: UdpSocketState,
    address: IpAddr,
    port: u16,
}

impl UdpPort {
    /// Binds to `address`; port 0 leaves the port to the system. Must be called inside a tokio runtime.
    pub(crate) fn bind(address: IpAddr, port: u16) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address((address, 0).into()),
            Type::DGRAM,
            Some(Protocol::UDP),
        )?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&SocketAddr::new(address, port).into())?;
        // The buffers are a wish: systems cap or refuse them.
        let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
        let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
        let socket = UdpSocket::from_std(socket.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        options::without_timestamps(&socket)?;
        let port = socket.local_addr()?.port();
        Ok(Self { socket, state, address, port })
    }

    /// The local address.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// The local UDP port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Most segments in one batch at present.
    pub(crate) fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Becomes ready when something can be received.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_recv_ready(cx)
    }

    /// Becomes ready when something can be sent.
    pub(crate) fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_send_ready(cx)
    }

    /// Receives into as many buffers as there are datagrams or runs of datagrams waiting; `WouldBlock` if there is
    /// none.
    pub(crate) fn try_receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> io::Result<usize> {
        self.socket
            .try_io(Interest::READABLE, || self.state.recv((&self.socket).into(), buffers, meta))
    }

    /// Sends datagrams of `segment` bytes each, the last one perhaps shorter, without IP fragmentation. The source
    /// address is the one that the socket is bound to.
    pub(crate) fn try_send(
        &self,
        destination: SocketAddr,
        ecn: Ecn,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let transmit = Transmit {
            destination,
            ecn: codepoint(ecn),
            contents,
            segment_size: (segment < contents.len()).then_some(segment),
            src_ip: None,
        };
        let send = || self.state.try_send((&self.socket).into(), &transmit);
        match send() {
            // Once more through the runtime, which then watches for the socket to become writable.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.socket.try_io(Interest::WRITABLE, send)
            }
            done => done,
        }
    }

    /// Sends one datagram that IP may fragment.
    pub(crate) fn try_send_fragmentable(
        &self,
        destination: SocketAddr,
        ecn: Ecn,
        datagram: &[u8],
    ) -> io::Result<()> {
        options::fragmentation_allowed(&self.socket, destination, || {
            self.try_send(destination, ecn, datagram, datagram.len())
        })
    }
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

/// The codepoint of a received datagram.
pub(crate) fn ecn_of(meta: &RecvMeta) -> Ecn {
    match meta.ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
