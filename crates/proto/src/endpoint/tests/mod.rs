//! Tests of the endpoint without associations: what it answers, drops and routes.

mod collision;
mod connect;
mod cookie_echo;
mod init;
mod out_of_the_blue;
mod ports;
mod routing;
mod strangers;

use alloc::boxed::Box;
use alloc::vec::Vec;

use polypath_wire::{Checksum, ChecksumPolicy, Chunk, Init, Packet, Parameter, Parameters};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::config::Preset;
use crate::types::AddressList;
use crate::{Body, Duration, Ecn, Instant, NoProbe, Transmit};

/// SCTP port of the endpoint under test.
const PORT: u16 = 5001;
/// SCTP port of the peer.
const PEER_PORT: u16 = 40_000;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn ips(text: &str) -> AddressList {
    text.split_whitespace().map(ip).collect()
}

/// How many packets a flood has: `POLYPATH_FLOOD_PACKETS`, or so many.
fn flood_packets(usual: u32) -> u32 {
    let wanted = std::env::var("POLYPATH_FLOOD_PACKETS").ok();
    wanted.map_or(usual, |wanted| wanted.parse().expect("a number of packets"))
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn udp(remote_port: u16) -> Encapsulation {
    Encapsulation::Udp { local_port: 9899, remote_port }
}

/// An endpoint at 192.0.2.1 and 192.0.2.2 with its clock and its randomness.
struct World {
    endpoint: Endpoint,
    now: Instant,
    rng: Xoshiro256PlusPlus,
}

impl World {
    fn new(config: EndpointConfig) -> Self {
        Self::seeded(config, 1)
    }

    fn listening() -> Self {
        let association = AssociationConfig::with_preset(Preset::Rfc9260);
        Self::new(EndpointConfig { listening: true, association, ..Default::default() })
    }

    fn seeded(config: EndpointConfig, seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut cx = Cx { now: at(0), rng: &mut rng, probe: &mut NoProbe };
        let endpoint = Endpoint::new(config, PORT, &ips("192.0.2.1 192.0.2.2"), &mut cx);
        Self { endpoint, now: at(0), rng }
    }

    fn handle(&mut self, arrival: &Arrival) -> Route {
        self.handle_received(&arrival.received())
    }

    fn handle_received(&mut self, received: &Received<'_>) -> Route {
        let mut cx = Cx { now: self.now, rng: &mut self.rng, probe: &mut NoProbe };
        self.endpoint.handle(&mut cx, received)
    }

    /// The answer to a packet that is to be answered.
    fn answer(&mut self, arrival: &Arrival) -> Box<Transmit> {
        match self.handle(arrival) {
            Route::Reply(transmit) => transmit,
            other => panic!("an answer was expected, not {other:?}"),
        }
    }

    /// The only chunk of the answer, and its tag.
    fn answer_chunk(&mut self, arrival: &Arrival) -> (u32, Chunk<'static>) {
        let mut transmit = self.answer(arrival);
        assert_eq!(transmit.packet.chunks.len(), 1);
        (transmit.packet.verification_tag, transmit.packet.chunks.remove(0))
    }

    /// Why a packet is dropped; also checks that it was counted.
    fn dropped(&mut self, arrival: &Arrival) -> DropReason {
        self.dropped_received(&arrival.received())
    }

    fn dropped_received(&mut self, received: &Received<'_>) -> DropReason {
        let route = self.handle_received(received);
        let Route::Drop(reason) = route else { panic!("no drop, but {route:?}") };
        assert!(self.endpoint.dropped(reason) > 0);
        reason
    }

    /// What an INIT ACK says, with its cookie.
    fn init_ack(&mut self, arrival: &Arrival) -> (Init<'static>, Vec<u8>) {
        match self.answer_chunk(arrival) {
            (_, Chunk::InitAck(init)) => {
                let cookie = init.parameters.state_cookie().unwrap().to_vec();
                (init, cookie)
            }
            (_, other) => panic!("INIT ACK was expected, not {other:?}"),
        }
    }

    /// Handles COOKIE ECHO as far as it goes without an association.
    fn judge(&mut self, arrival: &Arrival) -> Result<echo::EchoVerdict, DropReason> {
        self.judge_received(&arrival.received())
    }

    fn judge_received(&mut self, received: &Received<'_>) -> Result<echo::EchoVerdict, DropReason> {
        let packet = route::Incoming::open(received, ChecksumPolicy::Verify).unwrap();
        let cx = Cx { now: self.now, rng: &mut self.rng, probe: &mut NoProbe };
        self.endpoint.judge_cookie_echo(&cx, received, &packet)
    }

    /// Makes an association known, as if it existed.
    fn associate(&mut self, tag: u32, addresses: &str) -> AssociationId {
        let ports = Ports { local: PORT, remote: PEER_PORT };
        self.endpoint.table.insert(tag, ports, (&ips(addresses), &[]), Encapsulation::None)
    }

    fn associations(&self) -> usize {
        self.endpoint.association_count()
    }
}

/// An INIT with the tag of the peer, and addresses in it.
fn init(tag: u32, listed: &str) -> Init<'static> {
    let parameters = Parameters::build(ips(listed).into_iter().map(Parameter::from));
    Init {
        initiate_tag: tag,
        a_rwnd: 100_000,
        outbound_streams: 20,
        inbound_streams: 5,
        initial_tsn: 77,
        parameters,
    }
}

fn packet(tag: u32, chunks: impl IntoIterator<Item = Chunk<'static>>) -> Packet<'static> {
    Packet {
        source_port: PEER_PORT,
        destination_port: PORT,
        verification_tag: tag,
        chunks: chunks.into_iter().collect(),
    }
}

/// A packet on its arrival.
#[derive(Clone, Debug)]
struct Arrival {
    local: IpAddr,
    remote: IpAddr,
    encapsulation: Encapsulation,
    packet: Packet<'static>,
}

impl Arrival {
    fn received(&self) -> Received<'_> {
        self.carrying(Body::Structured(&self.packet))
    }

    /// The same way, but bytes of a network.
    fn datagram<'b>(&self, bytes: &'b [u8]) -> Received<'b> {
        self.carrying(Body::Datagram(bytes))
    }

    fn carrying<'b>(&self, body: Body<'b>) -> Received<'b> {
        let Self { local, remote, encapsulation, .. } = *self;
        Received { local, remote, encapsulation, ecn: Ecn::NotEct, body }
    }
}

/// A packet from 198.51.100.1 to 192.0.2.1.
fn arrival(packet: Packet<'static>) -> Arrival {
    from("198.51.100.1", packet)
}

fn from(remote: &str, packet: Packet<'static>) -> Arrival {
    let encapsulation = Encapsulation::None;
    Arrival { local: ip("192.0.2.1"), remote: ip(remote), encapsulation, packet }
}

fn init_arrival(tag: u32, listed: &str) -> Arrival {
    arrival(packet(0, [Chunk::Init(init(tag, listed))]))
}

fn encode(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
    bytes
}

#[test]
fn an_endpoint_can_move_between_threads() {
    fn is_send<T: Send>() {}
    is_send::<Endpoint>();
}
