//! Capabilities of the system's sockets, for programs that report them.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use quinn_udp::UdpSocketState;
use socket2::SockRef;

use crate::socket;

/// Capabilities of a UDP socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SocketAbilities {
    /// Maximum number of packets per send call (generic segmentation offload); 1 without it.
    pub segments_sent: usize,
    /// Maximum number of packets per received buffer (generic receive offload); 1 without it.
    pub segments_received: usize,
    /// Requested size of the send and the receive buffer in bytes.
    pub buffer_bytes_wanted: usize,
    /// Granted size of the send buffer in bytes.
    pub send_buffer_bytes: usize,
    /// Granted size of the receive buffer in bytes.
    pub receive_buffer_bytes: usize,
    /// Whether the kernel has loaded its own SCTP, which conflicts with [`Carriers::RawIp`](crate::Carriers).
    pub kernel_sctp: bool,
}

impl SocketAbilities {
    /// Tests a socket on the loopback interface.
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

/// Linux doubles the requested size, for its own overhead, and reports the double.
fn usable(told: usize) -> usize {
    if cfg!(target_os = "linux") { told / 2 } else { told }
}
