//! Cost of moving packets: everything that the network does for one packet on one link, from `send` to the arrival.
//!
//! divan prints the time of one run and, as items per second, the hops per second of wall time.

#[path = "../tests/support/mod.rs"]
mod support;

use std::net::IpAddr;

use divan::Bencher;
use divan::counter::ItemsCount;
use polypath_netsim::topology::{Disjoint, DisjointPaths, IpVersion, PathConfig};
use polypath_netsim::{Event, Frame, NetworkBuilder, NoObserver, TraceHasher, World};
use polypath_units::{BitRate, Duration, Instant};
use support::{Datagram, channel};

fn main() {
    divan::main();
}

/// Hops per run.
const HOPS: u64 = 100_000;

/// A frame as large and with as many fields as a packet with one DATA chunk, kept in structured form.
#[derive(Clone)]
struct Structured {
    fields: [u64; 20],
    bytes: usize,
}

impl Frame for Structured {
    fn wire_len(&self) -> usize {
        self.bytes
    }

    fn protocol(&self) -> u8 {
        132
    }

    fn mark_ce(&mut self) {}

    fn damage(&mut self, _bit: u64) {}

    fn trace_fields(&self, hasher: &mut TraceHasher) {
        hasher.u16(self.fields[0] as u16);
        hasher.u16(self.fields[1] as u16);
        hasher.u32(self.fields[2] as u32);
        for chunk in self.fields[3..15].chunks(6) {
            hasher.u8(chunk[0] as u8);
            hasher.u8(chunk[1] as u8);
            hasher.u16(chunk[2] as u16);
            hasher.u32(chunk[3] as u32);
            hasher.u32(chunk[4] as u32);
            hasher.u64(chunk[5]);
        }
    }

    fn write_transport(&self, _from: IpAddr, _to: IpAddr, _out: &mut Vec<u8>) {}
}

fn network<F: Frame>(path: &PathConfig) -> (World<F>, Disjoint) {
    let mut builder = NetworkBuilder::new();
    let mut paths = vec![path.clone(), path.clone()];
    paths[1].name = "second".to_owned();
    let net = DisjointPaths { ip: IpVersion::V4, paths }.add_to(&mut builder).expect("two paths");
    (builder.build(1, NoObserver).expect("a network"), net)
}

/// Keeps `in_flight` packets per path under way from A to B, and answers every second one with a short packet, until
/// `HOPS` packets arrived at the end of a link. Both hosts move their timer with every packet.
fn acknowledged<F: Frame>(
    mut world: World<F>,
    net: &Disjoint,
    in_flight: u32,
    frame: impl Fn(u16) -> F,
) -> u64 {
    let mut data = 0;
    for path in &net.paths {
        for _ in 0..in_flight {
            world.send(net.a, path.a_address, path.b_address, frame(1_500)).expect("a route");
        }
    }
    while world.events() < HOPS {
        let Some(event) = world.next_event(Instant::FAR_FUTURE) else { break };
        let Event::Arrival(arrival) = event else { continue };
        world.set_timer(arrival.node, world.now() + Duration::from_secs(1));
        if arrival.node == net.b {
            data += 1;
            if data % 2 == 0 {
                world.send(net.b, arrival.to, arrival.from, frame(48)).expect("a route");
            }
        } else {
            for _ in 0..2 {
                world.send(net.a, arrival.to, arrival.from, frame(1_500)).expect("a route");
            }
        }
    }
    data
}

fn direct() -> PathConfig {
    PathConfig::direct("first", channel(100, 10))
}

#[divan::bench(args = [8, 64, 512])]
fn one_hop_small_frames(bencher: Bencher<'_, '_>, in_flight: u32) {
    let frame = |bytes| Datagram::in_packet_of(bytes, 0);
    bencher
        .counter(ItemsCount::new(HOPS))
        .with_inputs(|| network(&direct()))
        .bench_values(|(world, net)| acknowledged(world, &net, in_flight, frame));
}

#[divan::bench(args = [8, 64, 512])]
fn one_hop_structured_frames(bencher: Bencher<'_, '_>, in_flight: u32) {
    let frame = |bytes: u16| Structured { fields: [u64::from(bytes); 20], bytes: bytes.into() };
    bencher
        .counter(ItemsCount::new(HOPS))
        .with_inputs(|| network(&direct()))
        .bench_values(|(world, net)| acknowledged(world, &net, in_flight, frame));
}

#[divan::bench(args = [64])]
fn three_hops_structured_frames(bencher: Bencher<'_, '_>, in_flight: u32) {
    let access = polypath_netsim::ChannelConfig::new(BitRate::from_gbit(1), Duration::ZERO);
    let path = PathConfig::routed("first", access, channel(100, 1));
    let frame = |bytes: u16| Structured { fields: [u64::from(bytes); 20], bytes: bytes.into() };
    bencher
        .counter(ItemsCount::new(HOPS))
        .with_inputs(|| network(&path))
        .bench_values(|(world, net)| acknowledged(world, &net, in_flight, frame));
}
