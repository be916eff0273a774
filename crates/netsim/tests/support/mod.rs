//! A small frame and networks for tests and benchmarks.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::net::IpAddr;

use polypath_netsim::topology::{Disjoint, DisjointPaths, IpVersion, PathConfig};
use polypath_netsim::{
    Arrival, ChannelConfig, Event, Frame, LinkObserver, NetworkBuilder, NoObserver, TraceHasher,
    World,
};
use polypath_units::{BitRate, Duration, Instant};

/// A UDP datagram (RFC 768) with a number in its first four bytes of data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    pub number: u32,
    /// Length of the datagram with its header of 8 bytes; at least 12.
    pub bytes: u16,
}

pub const PORTS: [u16; 2] = [40_000, 40_001];

impl Datagram {
    /// A datagram that fills an IPv4 packet of `bytes`.
    pub fn in_packet_of(bytes: u16, number: u32) -> Self {
        Self { number, bytes: bytes - 20 }
    }
}

impl Frame for Datagram {
    fn wire_len(&self) -> usize {
        self.bytes.into()
    }

    fn protocol(&self) -> u8 {
        17
    }

    fn mark_ce(&mut self) {}

    fn damage(&mut self, bit: u64) {
        self.number ^= 1 << (bit % 32);
    }

    fn trace_fields(&self, hasher: &mut TraceHasher) {
        hasher.u32(self.number);
        hasher.u16(self.bytes);
    }

    fn write_transport(&self, from: IpAddr, to: IpAddr, out: &mut Vec<u8>) {
        let start = out.len();
        for field in [PORTS[0], PORTS[1], self.bytes, 0] {
            out.extend(field.to_be_bytes());
        }
        out.extend(self.number.to_be_bytes());
        out.resize(start + usize::from(self.bytes), 0);
        let mut sum: u32 = u32::from(self.protocol()) + u32::from(self.bytes);
        let mut add = |bytes: &[u8]| {
            for pair in bytes.chunks(2) {
                sum += u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
            }
        };
        for ip in [from, to] {
            match ip {
                IpAddr::V4(ip) => add(&ip.octets()),
                IpAddr::V6(ip) => add(&ip.octets()),
            }
        }
        add(&out[start..]);
        while sum > 0xFFFF {
            sum = (sum >> 16) + (sum & 0xFFFF);
        }
        let checksum = if sum == 0xFFFF { 0xFFFF } else { !(sum as u16) };
        out[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
    }
}

pub fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

pub fn channel(mbit: u64, delay_ms: u64) -> ChannelConfig {
    ChannelConfig::new(BitRate::from_mbit(mbit), Duration::from_millis(delay_ms))
}

/// A world of disjoint paths.
pub fn disjoint(paths: Vec<PathConfig>, seed: u64) -> (World<Datagram>, Disjoint) {
    disjoint_observed(paths, seed, NoObserver)
}

pub fn disjoint_observed<O: LinkObserver>(
    paths: Vec<PathConfig>,
    seed: u64,
    observer: O,
) -> (World<Datagram, O>, Disjoint) {
    let mut builder = NetworkBuilder::new();
    let net = DisjointPaths { ip: IpVersion::V4, paths }.add_to(&mut builder).unwrap();
    (builder.build(seed, observer).unwrap(), net)
}

/// Runs to the end and returns all arrivals with their times.
pub fn arrivals<O: LinkObserver>(
    world: &mut World<Datagram, O>,
) -> Vec<(Instant, Arrival<Datagram>)> {
    let mut all = Vec::new();
    while let Some(event) = world.next_event(Instant::FAR_FUTURE) {
        if let Event::Arrival(arrival) = event {
            all.push((world.now(), arrival));
        }
    }
    all
}
