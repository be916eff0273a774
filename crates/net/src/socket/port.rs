//! A socket of an endpoint, of either kind.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use polypath_proto::Encapsulation;
use quinn_udp::RecvMeta;

use super::bound::BoundSocket;
use super::icmp::Report;
use super::ipv4_fragments::Carrier;
use super::marks::Marks;
use super::raw::RawPort;
use super::udp::UdpPort;
use super::wait::Wait;

/// A socket that carries SCTP packets from and to one local address.
#[derive(Debug)]
pub(crate) enum Port {
    /// In UDP.
    Udp(UdpPort),
    /// Over IP itself.
    Raw(RawPort),
}

impl Port {
    fn socket(&self) -> &BoundSocket {
        match self {
            Self::Udp(port) => &port.socket,
            Self::Raw(port) => &port.socket,
        }
    }

    /// The local address.
    pub(crate) fn address(&self) -> IpAddr {
        self.socket().address()
    }

    /// The interface that it is bound to.
    pub(crate) fn device(&self) -> Option<&Arc<str>> {
        self.socket().device()
    }

    /// Whether another interface has the name of the one that it is bound to.
    pub(crate) fn has_lost_device(&self) -> bool {
        self.socket().has_lost_device()
    }

    /// Maximum number of packets per call at present.
    pub(crate) fn max_segments(&self) -> usize {
        match self {
            Self::Udp(port) => port.socket.max_segments(),
            Self::Raw(_) => 1,
        }
    }

    /// The destination of a packet to `remote` with this encapsulation; `None` if this socket does not carry it.
    pub(crate) fn destination(
        &self,
        remote: IpAddr,
        encapsulation: Encapsulation,
    ) -> Option<SocketAddr> {
        if self.address().is_ipv4() != remote.is_ipv4() {
            return None;
        }
        match (self, encapsulation) {
            (Self::Udp(_), Encapsulation::Udp { remote_port, .. }) if remote_port != 0 => {
                Some(SocketAddr::new(remote, remote_port))
            }
            (Self::Raw(_), Encapsulation::None) => Some(SocketAddr::new(remote, 0)),
            _ => None,
        }
    }

    /// The encapsulation of a packet from `remote`.
    pub(crate) fn encapsulation(&self, remote: SocketAddr) -> Encapsulation {
        match self {
            Self::Udp(port) => {
                Encapsulation::Udp { local_port: port.port(), remote_port: remote.port() }
            }
            Self::Raw(_) => Encapsulation::None,
        }
    }

    /// The SCTP packet in a received packet, if it is one for this endpoint.
    pub(crate) fn packet<'a>(&self, received: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Udp(_) => Some(received),
            Self::Raw(port) => port.packet(received),
        }
    }

    /// Becomes ready when a packet can be received.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_readable(cx)
    }

    /// Becomes ready when a packet can be sent.
    pub(crate) fn poll_writable(&self, wait: &mut Wait, cx: &mut Context<'_>) -> Poll<()> {
        self.socket().poll_writable(wait, cx)
    }

    /// See [`BoundSocket::has_reports`].
    pub(crate) fn has_reports(&self) -> bool {
        self.socket().has_reports()
    }

    /// See [`BoundSocket::poll_reports`].
    pub(crate) fn poll_reports(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.socket().poll_reports(cx)
    }

    /// See [`BoundSocket::take_reports`].
    pub(crate) fn take_reports(&self) -> Vec<Report> {
        self.socket().take_reports()
    }

    /// See [`BoundSocket::try_receive`].
    pub(crate) fn try_receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> io::Result<usize> {
        self.socket().try_receive(buffers, meta)
    }

    /// See [`BoundSocket::try_send`].
    pub(crate) fn try_send(
        &self,
        destination: SocketAddr,
        marks: Marks,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        self.socket().try_send(destination, marks, contents, segment)
    }

    /// Sends a packet in fragments made here, or else like [`BoundSocket::try_send_fragmentable`].
    pub(crate) fn try_send_fragmentable(
        &self,
        destination: SocketAddr,
        marks: Marks,
        datagram: &[u8],
    ) -> io::Result<()> {
        let carrier = match self {
            Self::Udp(port) => Carrier::Udp { from: port.port() },
            Self::Raw(_) => Carrier::Ip,
        };
        if self.socket().send_in_fragments(destination, marks, carrier, datagram) {
            return Ok(());
        }
        self.socket().try_send_fragmentable(destination, marks, datagram)
    }
}
