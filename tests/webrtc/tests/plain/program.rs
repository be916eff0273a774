//! A program over another stack, in UDP: what it does, what it saw, and the loop that moves its packets.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::net::UdpSocket;

pub const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub const LARGEST: u32 = 256 << 10;
/// After so long a silence the program ends. Where SHUTDOWN COMPLETE was lost, a repeated SHUTDOWN ACK is answered with a reflected
/// tag (RFC 9260 section 8.5.1 C), which sctp-proto 0.10.8 ignores.
const SILENCE: Duration = Duration::from_secs(5);

/// What the peer's program does.
#[derive(Clone, Copy, Default)]
pub struct Plan {
    /// Drops one packet of so many in each direction; none with 0.
    pub one_of: usize,
    /// Sends every message back.
    pub echoes: bool,
    /// Begins the association, with this UDP port of ours.
    pub connects: Option<u16>,
    /// Ends the association after so many messages.
    pub ends_after: Option<(usize, End)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Shutdown,
    Abort,
}

/// What it saw.
#[derive(Debug, Default)]
pub struct Seen {
    pub messages: usize,
    pub bytes: usize,
    /// Numbers at the beginning of ordered messages, by stream.
    pub numbers: BTreeMap<u16, Vec<u32>>,
    pub finished: usize,
    /// The association was lost.
    pub is_lost: bool,
}

impl Seen {
    pub fn message(&mut self, stream: u16, bytes: &[u8]) {
        self.messages += 1;
        self.bytes += bytes.len();
        self.numbers.entry(stream).or_default().push(number(bytes));
    }
}

/// The number that a message begins with.
pub fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().copied().map_or(0, u32::from_be_bytes)
}

/// Another stack, with one association at most.
pub trait Stack: Send + 'static {
    /// Begins an association if the plan says so.
    fn new(plan: Plan, local: SocketAddr) -> Self;
    fn handle(&mut self, packet: Bytes, from: SocketAddr);
    fn timeout(&self) -> Option<Instant>;
    fn handle_timeout(&mut self);
    /// Does as planned with what has arrived, and returns the packets to send.
    fn drain(&mut self, plan: &Plan, seen: &mut Seen) -> Vec<(SocketAddr, Bytes)>;
    /// The association was there, and has ended.
    fn is_over(&self) -> bool;
}

pub struct Program<S> {
    socket: UdpSocket,
    stack: S,
    plan: Plan,
    packets: usize,
    seen: Seen,
}

impl<S: Stack> Program<S> {
    pub fn new(socket: UdpSocket, plan: Plan) -> Self {
        let stack = S::new(plan, socket.local_addr().unwrap());
        Self { socket, stack, plan, packets: 0, seen: Seen::default() }
    }

    pub async fn run(mut self) -> Seen {
        let mut buffer = vec![0; 65_536];
        let mut heard = Instant::now();
        loop {
            for (to, packet) in self.stack.drain(&self.plan, &mut self.seen) {
                if !self.is_lost() {
                    self.socket.send_to(&packet, to).await.unwrap();
                }
            }
            if self.stack.is_over() || heard.elapsed() >= SILENCE {
                return self.seen;
            }
            let due = self.stack.timeout();
            let wait = due.map_or(SILENCE, |due| due.saturating_duration_since(Instant::now()));
            tokio::select! {
                received = self.socket.recv_from(&mut buffer) => {
                    let (len, from) = received.unwrap();
                    heard = Instant::now();
                    if !self.is_lost() {
                        self.stack.handle(Bytes::copy_from_slice(&buffer[..len]), from);
                    }
                }
                () = tokio::time::sleep(wait) => self.stack.handle_timeout(),
            }
        }
    }

    fn is_lost(&mut self) -> bool {
        self.packets += 1;
        self.plan.one_of > 0 && self.packets.is_multiple_of(self.plan.one_of)
    }
}
