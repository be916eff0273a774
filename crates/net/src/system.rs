//! What the system lends to sockets, for programs that want to tell their users.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use quinn_udp::UdpSocketState;
use socket2::SockRef;

use crate::socket;

/// What a UDP socket of an endpoint gets from the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SocketAbilities {
    /// Most packets that one call sends (generic segmentation offload); 1 without.
    pub segments_sent: usize,
    /// Most packets that one buffer receives (generic receive offload); 1 without.
    pub segments_received: usize,
    /// Bytes asked for the send and the receive buffer.
    pub buffer_bytes_wanted: usize,
    /// Bytes granted for the send buffer.
    pub send_buffer_bytes: usize,
    /// Bytes granted for the receive buffer.
    pub receive_buffer_bytes: usize,
    /// Whether the kernel has loaded its own SCTP, which stands in the way of [`Carriers::RawIp`](crate::Carriers).
    pub kernel_sctp: bool,
}

impl SocketAbilities {
    /// Tries it with a socket on the loopback interface.
    ///
    /// ```
    /// let abilities = polypath::SocketAbilities::probe()?;
    /// assert!(abilities.segments_sent >= 1 && abilities.receive_buffer_bytes > 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn probe() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let options = SockRef::from(&socket);
        socket::wish_for_buffers(&options);
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Self {
            segments_sent: state.max_gso_segments(),
            segments_received: state.gro_segments(),
            buffer_bytes_wanted: socket::SOCKET_BUFFER,
            send_buffer_bytes: usable(options.send_buffer_size()?),
            receive_buffer_bytes: usable(options.recv_buffer_size()?),
            kernel_sctp: socket::kernel_has_sctp(),
        })
    }
}

/// Linux doubles what was asked for, to have room for its own, and reports the double.
fn usable(told: usize) -> usize {
    if cfg!(target_os = "linux") { told / 2 } else { told }
}
