//! A non-blocking datagram socket, bound to one local address, for UDP and raw IP.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::task::{Context, Poll};

use polypath_proto::Ecn;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use socket2::Socket;
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::fragment;
use super::icmp::{self, Report};
use super::ipv4_fragments::{Carrier, FragmentSocket};
use super::marks::{self, Marks};
use super::options;
use super::wait::Wait;
use crate::lock::lock;
use crate::{device, route};

/// Requested size of the socket's buffers. The system may grant less. A receive buffer of this size holds the packets
/// of some milliseconds in which the driver is busy.
pub(crate) const SOCKET_BUFFER: usize = 8 << 20;

/// Attempts to send or receive if errors of earlier calls are reported first.
const ATTEMPTS: usize = 4;

/// A bound socket with its ancillary data: ECN, destination addresses, and segmentation offload if available.
#[derive(Debug)]
pub(crate) struct BoundSocket {
    /// tokio and `quinn-udp` only use calls that raw sockets support, too.
    socket: Arc<UdpSocket>,
    state: UdpSocketState,
    address: IpAddr,
    /// The interface that it is bound to, too.
    device: Option<Arc<str>>,
    /// Number of that interface.
    device_index: Option<u32>,
    /// Reports of ICMP messages that made sending or receiving fail.
    reports: Mutex<Vec<Report>>,
    /// Waits for such messages.
    reports_due: Mutex<Wait>,
    /// Locked for writing while packets may be fragmented, since the socket option applies to all packets.
    whole: RwLock<()>,
    /// For IPv4 packets in fragments of our own.
    fragments: FragmentSocket,
}

impl BoundSocket {
    /// Binds `socket` to `address`, and to `device` if one is named; port 0 leaves the port to the system, and is the one
    /// of raw sockets. Must be called inside a tokio runtime.
    pub(crate) fn bind(
        socket: Socket,
        address: IpAddr,
        device: Option<&Arc<str>>,
        port: u16,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let device_index = device.and_then(|device| device::index(device));
        // Before the address: binding to a link-local address needs the interface.
        device::attach(&socket, device.map(|device| &**device))?;
        socket.bind(&SocketAddr::new(address, port).into())?;
        wish_for_buffers(&socket);
        let socket = Arc::new(UdpSocket::from_std(socket.into())?);
        let state = UdpSocketState::new((&*socket).into())?;
        options::without_timestamps(&socket)?;
        options::with_flow_labels(&socket, address);
        icmp::enable(&socket, address)?;
        Ok(Self {
            socket,
            state,
            address,
            device: device.cloned(),
            device_index,
            reports: Mutex::default(),
            reports_due: Mutex::default(),
            whole: RwLock::default(),
            fragments: FragmentSocket::default(),
        })
    }

    /// The local address.
    pub(crate) fn address(&self) -> IpAddr {
        self.address
    }

    /// The interface that it is bound to.
    pub(crate) fn device(&self) -> Option<&Arc<str>> {
        self.device.as_ref()
    }

    /// Whether another interface has the name of the one that it is bound to.
    pub(crate) fn has_lost_device(&self) -> bool {
        let now = self.device.as_ref().and_then(|device| device::index(device));
        now.is_some() && now != self.device_index
    }

    /// The local address and port, as the system reports them.
    pub(crate) fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Present maximum number of segments in a batch; 1 without segmentation offload.
    pub(crate) fn max_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    /// Becomes ready when something can be received.
    pub(crate) fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.socket.poll_recv_ready(cx)
    }

    /// Becomes ready when something can be sent; `wait` is that of the task that asks.
    pub(crate) fn poll_writable(&self, wait: &mut Wait, cx: &mut Context<'_>) -> Poll<()> {
        wait.poll(&self.socket, Interest::WRITABLE, cx)
    }

    /// Receives into as many buffers as there are datagrams or runs of datagrams waiting; `WouldBlock` if there is
    /// none.
    pub(crate) fn try_receive(
        &self,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> io::Result<usize> {
        // Received packets are processed before ICMP reports: they were sent before the peer's port was closed.
        self.socket.try_io(Interest::READABLE, || {
            let receive = || self.state.recv((&*self.socket).into(), buffers, meta);
            past_reports(receive, || self.collect_reports())
        })
    }

    /// Sends datagrams of `segment` bytes each, the last one perhaps shorter, without IP fragmentation. The source
    /// address is the one that the socket is bound to.
    pub(crate) fn try_send(
        &self,
        destination: SocketAddr,
        marks: Marks,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let _whole = self.whole.read().unwrap_or_else(PoisonError::into_inner);
        self.send(destination, marks, contents, segment)
    }

    fn send(
        &self,
        destination: SocketAddr,
        marks: Marks,
        contents: &[u8],
        segment: usize,
    ) -> io::Result<()> {
        let transmit = Transmit {
            destination,
            ecn: codepoint(marks.ecn),
            contents,
            segment_size: (segment < contents.len()).then_some(segment),
            src_ip: None,
        };
        let send = || match marks.has_traffic() && marks::IS_KNOWN {
            true => marks::send(&self.socket, destination, marks, contents, segment),
            false => self.state.try_send((&*self.socket).into(), &transmit),
        };
        let send = || past_reports(send, || self.collect_reports());
        match send() {
            // Once more through the runtime, which then watches for the socket to become writable.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.socket.try_io(Interest::WRITABLE, send)
            }
            done => done,
        }
    }

    /// Becomes ready when ICMP messages have come.
    pub(crate) fn poll_reports(&self, cx: &mut Context<'_>) -> Poll<()> {
        lock(&self.reports_due).poll(&self.socket, Interest::ERROR, cx)
    }

    /// Whether ICMP messages failed a send and have not been read yet.
    pub(crate) fn has_reports(&self) -> bool {
        !lock(&self.reports).is_empty()
    }

    /// The ICMP reports since the last call. Costs nothing if there are none.
    pub(crate) fn take_reports(&self) -> Vec<Report> {
        let _ = self.socket.try_io(Interest::ERROR, || {
            self.collect_reports();
            // None are left: the runtime waits for the next one.
            Err::<(), _>(io::ErrorKind::WouldBlock.into())
        });
        std::mem::take(&mut lock(&self.reports))
    }

    /// Empties the queue of errors; returns whether any came from ICMP.
    fn collect_reports(&self) -> bool {
        let mut reports = lock(&self.reports);
        icmp::drain(&self.socket, &mut reports)
    }

    /// Sends an SCTP packet in fragments that every link carries, over IPv4 if the system allows it; returns whether it
    /// did. A chunk alone in its packet belongs to a handshake, for which fragments might be dropped.
    pub(crate) fn send_in_fragments(
        &self,
        destination: SocketAddr,
        marks: Marks,
        carrier: Carrier,
        packet: &[u8],
    ) -> bool {
        let (IpAddr::V4(from), SocketAddr::V4(to)) = (self.address, destination) else {
            return false;
        };
        !fragment::stands_alone(packet)
            && self.fragments.send((from, self.device.as_ref()), to, marks, carrier, packet)
    }

    /// Sends one datagram that IP may fragment.
    pub(crate) fn try_send_fragmentable(
        &self,
        destination: SocketAddr,
        marks: Marks,
        datagram: &[u8],
    ) -> io::Result<()> {
        let padded = self.padded(destination, datagram);
        let datagram = padded.as_deref().unwrap_or(datagram);
        let _alone = self.whole.write().unwrap_or_else(PoisonError::into_inner);
        options::fragmentation_allowed(&self.socket, destination, || {
            self.send(destination, marks, datagram, datagram.len())
        })
    }

    /// The packet, if it is longer than the MTU that the system knows and would not be fragmented although it must be.
    fn padded(&self, destination: SocketAddr, packet: &[u8]) -> Option<Vec<u8>> {
        if destination.is_ipv4() {
            return None;
        }
        let mtu = route::mtu(self.address, self.device.as_deref(), destination.ip())?;
        fragment::beyond(packet, usize::try_from(mtu).ok()?)
    }
}

/// Sends or receives, and retries if `collect` reports that ICMP messages interfered: their errors concern earlier packets, not
/// this one. If they do not end, the error counts as transient.
fn past_reports<T>(
    mut attempt: impl FnMut() -> io::Result<T>,
    mut collect: impl FnMut() -> bool,
) -> io::Result<T> {
    for _ in 0..ATTEMPTS {
        match attempt() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock && collect() => {}
            done => return done,
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// Asks for large buffers: systems cap or refuse them, unless the program may go beyond the cap.
pub(crate) fn wish_for_buffers(socket: &Socket) {
    let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    options::force_buffers(socket, SOCKET_BUFFER);
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

#[cfg(all(test, unix))]
mod tests {
    use polypath_proto::config::TrafficMarks;

    use super::*;
    use crate::socket::fault::Fault;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_has_come_is_received_before_the_port_is_known_to_be_closed() {
        use socket2::{Domain, Protocol, Type};

        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
        let own = IpAddr::from([127, 0, 0, 1]);
        let socket = BoundSocket::bind(socket, own, None, 0).unwrap();
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = peer.local_addr().unwrap();
        peer.send_to(b"farewell", socket.local().unwrap()).unwrap();
        drop(peer);
        // The answer of ICMP is there before the call returns.
        let marks = Marks { ecn: Ecn::NotEct, traffic: TrafficMarks::default() };
        socket.try_send(address, marks, b"more", 4).unwrap();
        std::future::poll_fn(|cx| socket.poll_readable(cx)).await.unwrap();
        let (mut buffer, mut meta) = ([0; 100], [RecvMeta::default()]);
        let received = socket.try_receive(&mut [IoSliceMut::new(&mut buffer)], &mut meta);
        assert_eq!((received.unwrap(), &buffer[..8]), (1, b"farewell".as_slice()));
        assert_eq!(socket.take_reports().len(), 1);
    }

    #[test]
    fn errors_of_earlier_packets_say_nothing_of_this_one() {
        // Number of ICMP messages before the packet; each attempt meets one.
        let send = |messages: usize, last: Option<i32>| {
            let (mut left, mut met) = (messages, false);
            let left = std::cell::RefCell::new((&mut left, &mut met));
            past_reports(
                || {
                    let (left, met) = &mut *left.borrow_mut();
                    **met = **left > 0;
                    **left = left.saturating_sub(1);
                    match (**met, last) {
                        (true, _) => Err(io::Error::from_raw_os_error(libc::EHOSTUNREACH)),
                        (false, Some(error)) => Err(io::Error::from_raw_os_error(error)),
                        (false, None) => Ok(()),
                    }
                },
                || *left.borrow().1,
            )
        };
        assert!(send(0, None).is_ok() && send(3, None).is_ok());
        let fault = |messages, last| Fault::of(&send(messages, last).unwrap_err());
        assert_eq!(fault(2, Some(libc::ENETDOWN)), Some(Fault::Refused));
        assert_eq!(fault(100, None), None);
        assert_eq!(send(1, Some(libc::EAGAIN)).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
