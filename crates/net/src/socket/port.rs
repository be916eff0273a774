//! One socket of an endpoint, of whichever kind.

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

    /// Most packets in one call at present.
    pub(crate) fn max_segments(&self) -> usize {
        match self {
            Self::Udp(port) => port.socket.max_segments(),
            Self::Raw(_) => 1,
        }
    }

    /// Where to send a packet to `remote` that is to be carried so; `None` if not by this socket.
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

    /// How a packet from `remote` was carried.
    pub(crate) fn encapsulation(&self, remote: SocketAddr) -> Encapsulation {
        match self {
            Self::Udp(port) => {
                Encapsulation::Udp { local_port: port.port(), remote_port: remote.port() }
            }
            Self::Raw(_) => Encapsulation::None,
        }
    }

    /// The SCTP packet in what was received, if it is one for this endpoint.
    pub(crate) fn packet<'a>(&self, received: &'a [u8]) -> Option<&'a [u8]> {
        match self {
            Self::Udp(_) => Some(received),
            Self::Raw(port) => port.packet(received),
        }
    }

    /// Becomes ready when something can be received.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket().poll_readable(cx)
    }

    /// Becomes ready when something can be sent.
    pub(crate) fn poll_writable(&self, wait: &mut Wait, cx: &mut Context<'_>) -> Poll<()> {
        self.socket().poll_writable(wait, cx)
    }

    /// As [`BoundSocket::has_reports`].
    pub(crate) fn has_reports(&self) -> bool {
        self.socket().has_reports()
    }

    /// As [`BoundSocket::poll_reports`].
    pub(crate) fn poll_reports(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.socket().poll_reports(cx)
    }

    /// As [`BoundSocket::take_reports`].
    pub(crate) fn take_reports(&self) -> Vec<Report> {
        self.socket().take_reports()
    }

    /// As [`BoundSocket::try_receive`].
    pub(crate) fn try_receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> io::Result<usize> {
        self.socket().try_receive(buffers, meta)
    }

    /// As [`BoundSocket::try_send`].
    pub(crate) fn try_send(
        &self,
        destination: SocketAddr,
        marks: Marks,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        self.socket().try_send(destination, marks, contents, segment)
    }

    /// Sends a packet in fragments of our own, or else as [`BoundSocket::try_send_fragmentable`].
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
