//! Where attackers are, how fast they go, and what came of it.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// What was sent to the server and what it sent back, in UDP payload.
#[derive(Default)]
pub struct Counts {
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub got_packets: u64,
    pub got_bytes: u64,
    /// Packets that addresses got which are not the attackers' own.
    pub victim_packets: u64,
    /// Handshakes that the server completed.
    pub established: u64,
    /// Associations that it ended.
    pub aborted: u64,
    /// Handshakes that it did not complete.
    pub refused: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            sent_packets,
            sent_bytes,
            got_packets,
            got_bytes,
            victim_packets,
            established,
            aborted,
            refused,
        } = self;
        write!(
            f,
            "sent_packets={sent_packets} sent_bytes={sent_bytes} got_packets={got_packets} got_bytes={got_bytes} "
        )?;
        if *victim_packets > 0 {
            write!(f, "victim_packets={victim_packets} ")?;
        }
        write!(f, "established={established} aborted={aborted} refused={refused}")
    }
}

pub struct Field {
    first: Ipv4Addr,
    addresses: u16,
    pub to: SocketAddr,
    pub port: u16,
    began: Instant,
    lasts: Duration,
    rate: u32,
    steps: u64,
    random: u64,
    pub associations: usize,
    /// Associations that are begun at most.
    pub most: usize,
    pub counts: Counts,
    /// Where packets to others come in that an attack causes.
    victims: Vec<UdpSocket>,
}

impl Field {
    pub fn new(first: Ipv4Addr, addresses: u16, to: SocketAddr, port: u16) -> Self {
        Self {
            first,
            addresses: addresses.max(1),
            to,
            port,
            began: Instant::now(),
            lasts: Duration::ZERO,
            rate: 1,
            steps: 0,
            random: u64::from(std::process::id()) << 20 | 1,
            associations: 1,
            most: usize::MAX,
            counts: Counts::default(),
            victims: Vec::new(),
        }
    }

    pub fn limit(&mut self, seconds: u64, rate: u32, associations: usize) {
        self.lasts = Duration::from_secs(seconds);
        self.rate = rate.max(1);
        self.associations = associations.max(1);
    }

    pub fn address(&self, number: usize) -> Ipv4Addr {
        let offset = (number % usize::from(self.addresses)) as u32;
        Ipv4Addr::from_bits(self.first.to_bits() + offset)
    }

    pub fn addresses(&self) -> usize {
        self.addresses.into()
    }

    /// Eight addresses of others, at the end of the range.
    pub fn victims(&self) -> Vec<IpAddr> {
        (1..=8).map(|it| self.address(self.addresses() - it).into()).collect()
    }

    /// Counts what the victims get at the UDP port of an attacker, where the server expects its further addresses.
    pub fn watch_victims(&mut self, port: u16) -> io::Result<()> {
        for victim in self.victims() {
            let socket = UdpSocket::bind((victim, port))?;
            socket.set_nonblocking(true)?;
            self.victims.push(socket);
        }
        Ok(())
    }

    /// Counts what has come to the victims.
    pub fn count_victims(&mut self) {
        let mut buffer = [0; 65_536];
        for victim in &self.victims {
            while victim.recv(&mut buffer).is_ok() {
                self.counts.victim_packets += 1;
            }
        }
    }

    /// Waits until it is time for another packet; false when the attack is over.
    pub fn goes_on(&mut self) -> bool {
        self.steps += 1;
        loop {
            let elapsed = self.began.elapsed();
            if elapsed >= self.lasts {
                return false;
            }
            if elapsed.as_secs_f64() * f64::from(self.rate) >= self.steps as f64 {
                return true;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn is_over(&self) -> bool {
        self.began.elapsed() >= self.lasts
    }

    /// A number that nobody has chosen (xorshift).
    pub fn random(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) as u32
    }
}
