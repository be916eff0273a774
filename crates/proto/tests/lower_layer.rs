//! Endpoints without addresses, over a lower layer that leads to one peer (RFC 8261).

use std::collections::VecDeque;

use polypath_proto::config::{
    AddressReconfiguration, AssociationConfig, EndpointConfig, ErrorDetection, PmtuDiscovery,
    Preset,
};
use polypath_proto::{
    Body, Duration, Encapsulation, Event, Instant, OutgoingMessage, PathStatus, Received,
};
use polypath_testkit::Host;
use polypath_wire::{ChecksumPolicy, Chunk, PacketView, Parameter};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const PORT: u16 = 5000;
const MTU: u16 = 1200;

/// Two hosts and the layer between them, which may lose and reorder packets.
struct Layer {
    now: Instant,
    hosts: [Host; 2],
    /// On the way to each host.
    under_way: [VecDeque<Vec<u8>>; 2],
    /// All that was sent.
    sent: Vec<Vec<u8>>,
    /// Longest packet that passes.
    passes: usize,
    /// Of a thousand packets.
    lost: u32,
    reorders: bool,
    rng: Xoshiro256PlusPlus,
}

impl Layer {
    fn new(config: &AssociationConfig, ports: [u16; 2], seed: u64) -> Self {
        let now = Instant::from_nanos(1_000_000);
        let config =
            EndpointConfig { association: config.clone(), ..EndpointConfig::over_lower_layer(MTU) };
        let host =
            |n: u64| Host::over_lower_layer(seed * 2 + n, config.clone(), ports[n as usize], now);
        Self {
            now,
            hosts: [host(0), host(1)],
            under_way: Default::default(),
            sent: Vec::new(),
            passes: usize::from(u16::MAX),
            lost: 0,
            reorders: false,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    fn connect(&mut self, side: usize, config: &AssociationConfig, port: u16) {
        let host = &mut self.hosts[side];
        host.connect_over_lower_layer(self.now, config.clone(), port).unwrap();
        self.collect();
    }

    fn collect(&mut self) {
        for side in [0, 1] {
            for transmit in self.hosts[side].take_output() {
                assert_eq!(transmit.encapsulation, Encapsulation::LowerLayer);
                let mut bytes = Vec::new();
                transmit.packet.append_to(&mut bytes, transmit.checksum).unwrap();
                self.sent.push(bytes.clone());
                if bytes.len() <= self.passes && self.rng.next_u32() % 1000 >= self.lost {
                    self.under_way[1 - side].push_back(bytes);
                }
            }
        }
    }

    /// Delivers one packet, or lets the next timer expire.
    fn step(&mut self) {
        let first = self.rng.next_u32() as usize % 2;
        let side = if self.under_way[first].is_empty() { 1 - first } else { first };
        let queue = &mut self.under_way[side];
        let place = if self.reorders { self.rng.next_u32() as usize } else { 0 };
        if let Some(bytes) = queue.remove(place % queue.len().max(1)) {
            self.now += Duration::from_micros(100);
            let received = Received::from_lower_layer(Body::Datagram(&bytes));
            self.hosts[side].receive(self.now, &received);
        } else {
            let due = self.hosts.iter().filter_map(Host::next_timeout).min().unwrap();
            self.now = self.now.max(due);
            self.hosts.iter_mut().for_each(|host| host.handle_timeout(self.now));
        }
        self.collect();
    }

    fn run_until(&mut self, done: impl Fn(&[Host; 2]) -> bool) {
        for _ in 0..20_000 {
            if done(&self.hosts) {
                return;
            }
            self.step();
        }
        panic!("not within 20,000 steps: {:?}", self.hosts[0].slots[0].events);
    }

    /// Both sides send this much, and get it.
    fn exchange(&mut self, bytes: usize) {
        for side in [0, 1] {
            let message = OutgoingMessage::new(0, vec![side as u8; bytes]);
            self.hosts[side].send(self.now, 0, message).unwrap();
        }
        self.collect();
        self.run_until(|hosts| hosts.iter().all(|host| !host.slots[0].messages.is_empty()));
        for side in [0, 1] {
            let message = self.hosts[side].slots[0].messages.remove(0);
            assert_eq!(message.into_bytes(), vec![1 - side as u8; bytes]);
        }
    }
}

fn are_established(hosts: &[Host; 2]) -> bool {
    hosts.iter().all(|host| host.slots.iter().any(|slot| slot.association.is_established()))
}

#[test]
fn no_address_is_told_and_packets_fill_what_the_layer_carries() {
    for mtu in [512, MTU, 9000] {
        let config = AssociationConfig::over_lower_layer(mtu);
        let mut layer = Layer::new(&config, [PORT; 2], 1);
        layer.connect(0, &config, PORT);
        layer.run_until(are_established);
        layer.exchange(100_000);
        let longest = layer.sent.iter().map(Vec::len).max().unwrap();
        assert!(longest <= usize::from(mtu) && longest > usize::from(mtu) - 4, "{longest}");
        for bytes in &layer.sent {
            let view = PacketView::parse(bytes, ChecksumPolicy::Verify).unwrap();
            for chunk in view.chunks() {
                let (Chunk::Init(init) | Chunk::InitAck(init)) = chunk.unwrap() else { continue };
                for parameter in &init.parameters {
                    assert!(
                        parameter.address().is_none()
                            && !matches!(parameter, Parameter::SupportedAddressTypes(_)),
                        "{parameter:?}"
                    );
                }
            }
        }
        for host in &layer.hosts {
            let paths = host.slots[0].association.path_stats();
            assert_eq!(paths.len(), 1);
            assert_eq!(paths[0].status, PathStatus::Active);
            assert_eq!(paths[0].mtu_bytes, u32::from(mtu));
        }
    }
}

/// Both open at once, as WebRTC does: RFC 9260 section 5.2 makes one association of it, whatever is lost or late.
#[test]
fn both_sides_may_open_at_once() {
    for seed in 0..300 {
        let mut config = AssociationConfig::over_lower_layer(MTU);
        config.error_detection = ErrorDetection::LowerLayerDtls;
        let ports = if seed % 2 == 0 { [PORT; 2] } else { [PORT, PORT + 1] };
        let mut layer = Layer::new(&config, ports, seed);
        layer.lost = if seed < 100 { 0 } else { 200 };
        layer.reorders = seed >= 200;
        layer.connect(0, &config, ports[1]);
        for _ in 0..seed % 7 {
            layer.step();
        }
        if layer.hosts[1].slots.is_empty() {
            layer.connect(1, &config, ports[0]);
        }
        layer.run_until(are_established);
        layer.lost = 0;
        layer.exchange(3000);
        for host in &layer.hosts {
            assert_eq!(host.endpoint.association_count(), 1, "seed {seed}");
            let [slot] = &host.slots[..] else { panic!("one association, seed {seed}") };
            let begun = |e: &&Event| matches!(e, Event::Established { .. });
            assert_eq!(slot.events.iter().filter(begun).count(), 1, "seed {seed}");
            let ends = |e: &Event| matches!(e, Event::Restarted { .. } | Event::Ended(_));
            assert!(!slot.events.iter().any(ends), "seed {seed}: {:?}", slot.events);
        }
    }
}

#[test]
fn probes_find_what_the_layer_carries() {
    let config = AssociationConfig {
        pmtu_discovery: Some(PmtuDiscovery::Probe),
        ..AssociationConfig::over_lower_layer(9000)
    };
    for passes in [1200, 1400, 1452, 8000, 9000] {
        let mut layer = Layer::new(&config, [PORT; 2], 3);
        layer.passes = passes;
        layer.connect(0, &config, PORT);
        layer.run_until(are_established);
        let found = |hosts: &[Host; 2]| {
            hosts.iter().all(|host| {
                let path = &host.slots[0].association.path_stats()[0];
                path.mtu_bytes == path.mtu_sought_bytes
                    && path.mtu_bytes as usize <= passes
                    && path.mtu_bytes as usize + 64 > passes
            })
        };
        layer.run_until(found);
        layer.exchange(200_000);
    }
}

/// RFC 8261 section 6.1: another way below has another MTU, and another rate.
#[test]
fn a_change_below_begins_the_search_and_the_congestion_control_anew() {
    let mut config = AssociationConfig {
        pmtu_discovery: Some(PmtuDiscovery::Probe),
        ..AssociationConfig::over_lower_layer(9000)
    };
    config.policies = Preset::Rfc9260.policies();
    for passes in [1300, 9000] {
        let mut layer = Layer::new(&config, [PORT; 2], 3);
        layer.connect(0, &config, PORT);
        layer.run_until(are_established);
        let path = |hosts: &[Host; 2]| hosts[0].slots[0].association.path_stats().remove(0);
        layer.run_until(|hosts| path(hosts).mtu_bytes == 9000);
        layer.exchange(500_000);
        let before = path(&layer.hosts);
        // In the middle of a message.
        let message = OutgoingMessage::new(0, vec![5; 100_000]);
        layer.hosts[0].send(layer.now, 0, message).unwrap();
        layer.collect();
        layer.step();
        layer.passes = passes;
        for host in &mut layer.hosts {
            host.command(layer.now, 0, polypath_proto::Association::handle_lower_layer_change);
            host.settle(layer.now, 0);
        }
        layer.collect();
        let after = path(&layer.hosts);
        assert!(after.cwnd_bytes < before.cwnd_bytes, "{before:?} {after:?}");
        assert!(after.mtu_bytes < before.mtu_bytes, "{after:?}");
        assert_eq!(after.status, PathStatus::Active);
        assert_eq!((after.srtt, after.packets_sent >= before.packets_sent), (None, true));
        layer.run_until(|hosts| !hosts[1].slots[0].messages.is_empty());
        let message = layer.hosts[1].slots[0].messages.remove(0);
        assert_eq!(message.into_bytes(), vec![5; 100_000]);
        layer.run_until(|hosts| {
            let path = path(hosts);
            path.mtu_bytes == path.mtu_sought_bytes && path.mtu_bytes as usize + 64 > passes
        });
        layer.exchange(100_000);
    }
}

#[test]
fn addresses_that_a_peer_names_are_ignored() {
    let config = AssociationConfig::over_lower_layer(MTU);
    let mut layer = Layer::new(&config, [PORT; 2], 1);
    layer.hosts[0].connect_over_lower_layer(layer.now, config, PORT).unwrap();
    let mut init = layer.hosts[0].take_output().remove(0).packet;
    let Chunk::Init(content) = &mut init.chunks[0] else { panic!("INIT") };
    let named: std::net::IpAddr = [192, 0, 2, 1].into();
    let v6: std::net::IpAddr = "2001:db8::1".parse().unwrap();
    let all: Vec<_> =
        content.parameters.iter().chain([Parameter::from(named), Parameter::from(v6)]).collect();
    content.parameters = polypath_wire::Parameters::build(all);
    layer.hosts[1].receive(layer.now, &Received::from_lower_layer(Body::Structured(&init)));
    layer.collect();
    layer.run_until(are_established);
    assert_eq!(layer.hosts[1].slots[0].association.path_stats().len(), 1);
    layer.exchange(10_000);
}

/// RFC 8261 section 6.1: ports tell associations over one lower layer apart.
#[test]
fn only_what_a_lower_layer_carries_belongs_to_its_endpoint() {
    let mut config = AssociationConfig::with_preset(Preset::Rfc9260);
    config.policies.address_reconfiguration = AddressReconfiguration::Authenticated;
    let mut layer = Layer::new(&config, [PORT; 2], 1);
    // Whatever the configuration of an association says of paths.
    layer.connect(0, &AssociationConfig { max_paths: 8, ..config.clone() }, PORT);
    layer.run_until(are_established);
    for host in &layer.hosts {
        let config = host.slots[0].association.config();
        assert_eq!(config.max_paths, 1);
        assert_eq!(config.policies.address_reconfiguration, AddressReconfiguration::Off);
    }
    let elsewhere =
        layer.hosts[0].connect(layer.now, config, PORT, &["2001:db8::1".parse().unwrap()]);
    assert!(elsewhere.is_err());
    let change = polypath_proto::LocalAddressChange::Added([192, 0, 2, 1].into());
    layer.hosts[0].endpoint.handle_local_address(change);
    layer.exchange(100);
}
