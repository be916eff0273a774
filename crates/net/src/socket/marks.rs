//! ECN, DSCP and flow label in IP headers.
//!
//! `quinn-udp` sets the ECN codepoint of each packet by a control message, which sets the whole byte and thus clears
//! the DSCP of the socket's option. Packets with a DSCP or a flow label are therefore sent here, by the same system
//! call with a control message of our own; all others are sent by `quinn-udp`.

use polypath_proto::Ecn;
use polypath_proto::config::TrafficMarks;

/// Fields of a packet's IP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Marks {
    pub(crate) ecn: Ecn,
    pub(crate) traffic: TrafficMarks,
}

impl Marks {
    /// Whether `quinn-udp` cannot set them all.
    pub(super) fn has_traffic(self) -> bool {
        self.traffic != TrafficMarks::default()
    }

    /// The byte for DSCP and ECN (RFC 2474 section 3, RFC 3168 section 5).
    pub(super) fn byte(self) -> u8 {
        let ecn = match self.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        };
        self.traffic.dscp << 2 | ecn
    }
}

/// Whether the system supports them.
pub(super) const IS_KNOWN: bool = cfg!(any(target_os = "linux", target_os = "android"));

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use linux::send;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    use std::io::{self, IoSlice};
    use std::net::SocketAddr;

    use libc::c_int;
    use socket2::{MsgHdr, SockAddr, SockRef};
    use tokio::net::UdpSocket;

    use super::Marks;

    /// Length of the header of a control message (cmsg(3)), a multiple of its alignment.
    const HEADER: usize = size_of::<libc::cmsghdr>();
    /// Control messages begin at multiples of this.
    const ALIGNMENT: usize = size_of::<usize>();
    /// Two of them, each with at most four bytes.
    const MOST: usize = 2 * (HEADER + ALIGNMENT);

    /// Control messages as the kernel reads them.
    pub(super) struct Control {
        bytes: [u8; MOST],
        len: usize,
    }

    impl Control {
        pub(super) fn new() -> Self {
            Self { bytes: [0; MOST], len: 0 }
        }

        /// Adds a message with up to [`ALIGNMENT`] bytes, if there is space.
        pub(super) fn push(&mut self, level: c_int, kind: c_int, data: &[u8]) {
            let length = HEADER + data.len();
            let Some(place) = self.bytes.get_mut(self.len..self.len + HEADER + ALIGNMENT) else {
                return;
            };
            place[..ALIGNMENT].copy_from_slice(&length.to_ne_bytes());
            place[ALIGNMENT..ALIGNMENT + 4].copy_from_slice(&level.to_ne_bytes());
            place[ALIGNMENT + 4..HEADER].copy_from_slice(&kind.to_ne_bytes());
            place[HEADER..length].copy_from_slice(data);
            self.len += HEADER + ALIGNMENT;
        }

        pub(super) fn bytes(&self) -> &[u8] {
            &self.bytes[..self.len]
        }
    }

    /// Sends datagrams of `segment` bytes each, as [`BoundSocket::try_send`](super::super::bound::BoundSocket::try_send) does.
    pub(in super::super) fn send(
        socket: &UdpSocket,
        destination: SocketAddr,
        marks: Marks,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let mut control = Control::new();
        let (mut destination, byte) = (destination, c_int::from(marks.byte()));
        match &mut destination {
            SocketAddr::V4(_) => control.push(libc::IPPROTO_IP, libc::IP_TOS, &byte.to_ne_bytes()),
            SocketAddr::V6(to) => {
                to.set_flowinfo(marks.traffic.flow_label.to_be());
                control.push(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &byte.to_ne_bytes());
            }
        }
        let is_batch = segment < contents.len();
        if is_batch {
            let size = u16::try_from(segment).unwrap_or(u16::MAX).to_ne_bytes();
            control.push(libc::SOL_UDP, libc::UDP_SEGMENT, &size);
        }
        let (destination, buffers) = (SockAddr::from(destination), [IoSlice::new(contents)]);
        let message = MsgHdr::new()
            .with_addr(&destination)
            .with_buffers(&buffers)
            .with_control(control.bytes());
        match SockRef::from(socket).sendmsg(&message, 0) {
            // The device does not segment: they are sent one by one.
            Err(error) if is_batch && is_no_segmentation(&error) => {
                Err(io::Error::from_raw_os_error(libc::EMSGSIZE))
            }
            sent => sent.map(|_| ()),
        }
    }

    fn is_no_segmentation(error: &io::Error) -> bool {
        matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL))
    }
}

/// There is no portable method: such packets are sent like all others.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn send(
    _socket: &tokio::net::UdpSocket,
    _destination: std::net::SocketAddr,
    _marks: Marks,
    _contents: &[u8],
    _segment: usize,
) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests;
