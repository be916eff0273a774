//! One end of a connection: a stack with one socket, and a device that keeps packets until they are fetched.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use polypath_units::Instant;
use polypath_workload::Stream;
use rand_core::Rng;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State};
use smoltcp::time::Instant as StackInstant;
use smoltcp::wire::{
    HardwareAddress, IpAddress, IpCidr, IpProtocol, Ipv4Packet, Ipv4Repr, Ipv6Packet, Ipv6Repr,
    TcpPacket,
};

use crate::scenario::{TcpCongestion, TcpSettings};

/// Buffer for the unused direction.
const UNUSED_BUFFER: usize = 1_024;
const HOP_LIMIT: u8 = 64;

/// Role of an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// Connects and sends.
    Client,
    /// Listens and receives.
    Server,
}

/// One end of a connection.
pub(super) struct End {
    stack: Interface,
    device: Packets,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    address: IpAddr,
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End").field("address", &self.address).field("state", &self.state()).finish()
    }
}

/// A segment sent by an end.
pub(super) struct Segment {
    pub bytes: Bytes,
    pub sequence: u32,
    /// Bytes of user data.
    pub data: u32,
}

impl End {
    pub fn new(
        role: Role,
        (address, port): (IpAddr, u16),
        settings: &TcpSettings,
        mtu: usize,
        rng: &mut Stream,
    ) -> Self {
        let mut device = Packets { arrived: VecDeque::new(), sent: VecDeque::new(), mtu };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = rng.next_u64();
        let mut stack = Interface::new(config, &mut device, StackInstant::ZERO);
        // All other addresses are neighbours; the network does the routing.
        stack.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(IpAddress::from(address), 0));
        });
        let size = |size: polypath_units::ByteCount| size.as_bytes() as usize;
        let (receive, send) = match role {
            Role::Client => (UNUSED_BUFFER, size(settings.send_buffer)),
            Role::Server => (size(settings.receive_buffer), UNUSED_BUFFER),
        };
        let buffer = |len| SocketBuffer::new(vec![0; len]);
        let mut socket = Socket::new(buffer(receive), buffer(send));
        socket.set_congestion_control(match settings.congestion {
            TcpCongestion::Reno => CongestionControl::Reno,
            TcpCongestion::Cubic => CongestionControl::Cubic,
        });
        let delay = smoltcp::time::Duration::from_micros(settings.ack_delay.as_micros());
        socket.set_ack_delay(Some(delay));
        if role == Role::Server {
            // It fails only for port zero or a socket in use.
            let _ = socket.listen(port);
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        Self { stack, device, sockets, socket, address }
    }

    pub fn connect(&mut self, (address, port): (IpAddr, u16), own_port: u16) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        let own = (IpAddress::from(self.address), own_port);
        // It fails only for port zero or a socket in use.
        let _ = socket.connect(self.stack.context(), (IpAddress::from(address), port), own);
    }

    pub fn state(&self) -> State {
        self.sockets.get::<Socket<'_>>(self.socket).state()
    }

    pub fn may_send(&self) -> bool {
        self.sockets.get::<Socket<'_>>(self.socket).may_send()
    }

    /// Free bytes of the send buffer.
    pub fn room(&self) -> usize {
        let socket = self.sockets.get::<Socket<'_>>(self.socket);
        socket.send_capacity() - socket.send_queue()
    }

    /// Writes this many bytes, which must fit.
    pub fn write(&mut self, mut len: usize) {
        let socket = self.socket();
        while len > 0 {
            // The buffer is a ring, so writing may take two steps.
            let wrote = socket.send(|buffer| {
                let piece = buffer.len().min(len);
                buffer[..piece].fill(0);
                (piece, piece)
            });
            match wrote {
                Ok(piece) if piece > 0 => len -= piece,
                _ => return,
            }
        }
    }

    /// Reads everything; returns the number of bytes.
    pub fn read(&mut self) -> usize {
        let socket = self.socket();
        let mut all = 0;
        while socket.can_recv() {
            match socket.recv(|buffer| (buffer.len(), buffer.len())) {
                Ok(len) if len > 0 => all += len,
                _ => break,
            }
        }
        all
    }

    pub fn close(&mut self) {
        self.socket().close();
    }

    /// Takes an arrived segment.
    pub fn arrived(&mut self, from: IpAddr, segment: &[u8]) {
        self.device.arrived.push_back(with_ip_header(from, self.address, segment));
    }

    /// Runs the stack.
    pub fn poll(&mut self, now: Instant) {
        self.stack.poll(stack_time(now), &mut self.device, &mut self.sockets);
    }

    /// When the stack must run next.
    pub fn next_poll(&mut self, now: Instant) -> Option<Instant> {
        let at = self.stack.poll_at(stack_time(now), &self.sockets)?;
        let micros = u64::try_from(at.total_micros()).unwrap_or(0);
        Some(Instant::from_nanos(micros.saturating_mul(1_000)))
    }

    /// The next segment sent by the stack.
    pub fn take_sent(&mut self) -> Option<Segment> {
        std::iter::from_fn(|| self.device.sent.pop_front()).find_map(segment_of)
    }

    fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.socket)
    }
}

/// The stack counts microseconds.
fn stack_time(now: Instant) -> StackInstant {
    StackInstant::from_micros(i64::try_from(now.as_nanos() / 1_000).unwrap_or(i64::MAX))
}

/// The segment in an IP packet; `None` for other packets of the stack, which have no use here.
fn segment_of(mut packet: Vec<u8>) -> Option<Segment> {
    let (header, is_tcp) = match packet.first()? >> 4 {
        4 => {
            let ip = Ipv4Packet::new_checked(&packet[..]).ok()?;
            (usize::from(ip.header_len()), ip.next_header() == IpProtocol::Tcp)
        }
        _ => {
            let ip = Ipv6Packet::new_checked(&packet[..]).ok()?;
            (ip.header_len(), ip.next_header() == IpProtocol::Tcp)
        }
    };
    if !is_tcp {
        return None;
    }
    packet.drain(..header);
    let tcp = TcpPacket::new_checked(&packet[..]).ok()?;
    let sequence = tcp.seq_number().0 as u32;
    let data = tcp.payload().len() as u32;
    Some(Segment { bytes: packet.into(), sequence, data })
}

fn with_ip_header(from: IpAddr, to: IpAddr, segment: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let header = Ipv4Repr {
                src_addr: from,
                dst_addr: to,
                next_header: IpProtocol::Tcp,
                payload_len: segment.len(),
                hop_limit: HOP_LIMIT,
            };
            packet.resize(header.buffer_len(), 0);
            packet.extend_from_slice(segment);
            header.emit(
                &mut Ipv4Packet::new_unchecked(&mut packet),
                &ChecksumCapabilities::default(),
            );
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let header = Ipv6Repr {
                src_addr: from,
                dst_addr: to,
                next_header: IpProtocol::Tcp,
                payload_len: segment.len(),
                hop_limit: HOP_LIMIT,
            };
            packet.resize(header.buffer_len(), 0);
            packet.extend_from_slice(segment);
            header.emit(&mut Ipv6Packet::new_unchecked(&mut packet));
        }
        // Both addresses are of one network.
        _ => {}
    }
    packet
}

/// A device that keeps packets.
struct Packets {
    arrived: VecDeque<Vec<u8>>,
    sent: VecDeque<Vec<u8>>,
    mtu: usize,
}

struct Arrived(Vec<u8>);

struct Sending<'a>(&'a mut VecDeque<Vec<u8>>);

impl Device for Packets {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: StackInstant) -> Option<(Arrived, Sending<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Sending(&mut self.sent)))
    }

    fn transmit(&mut self, _: StackInstant) -> Option<Sending<'_>> {
        Some(Sending(&mut self.sent))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}
