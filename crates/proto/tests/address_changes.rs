//! Addresses that are added and deleted by ASCONF (RFC 5061) while data flows, whatever is lost, repeated or reordered.

mod common;

use std::net::IpAddr;

use common::{config, message, millis, secs};
use polypath_proto::config::{
    AddressJoin, AddressReconfiguration, AssociationConfig, EndpointConfig, PathPairing, Preset,
};
use polypath_proto::{
    AddressChange, AddressChangeError, Event, LocalAddressChange, PathStatus, SendError,
};
use polypath_testkit::{Faults, Form, Host, Pair, PairConfig, PathModel, Side};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use AddressChange::{Added, MadePrimary, Removed};

fn with(policy: AddressReconfiguration) -> AssociationConfig {
    let mut config = config(Preset::Cmt);
    config.address_join = AddressJoin::Off;
    config.policies.address_reconfiguration = policy;
    config
}

fn on() -> AssociationConfig {
    with(AddressReconfiguration::Authenticated)
}

/// Two hosts in `networks` networks, of which each knows addresses in some at first, with an association.
struct Setup {
    config: PairConfig,
    /// Networks of client and server at first.
    at_first: [std::ops::Range<usize>; 2],
}

impl Setup {
    fn new(at_first: [std::ops::Range<usize>; 2]) -> Self {
        let networks = at_first.iter().map(|range| range.end).max().unwrap().max(3);
        Self { config: PairConfig::new(networks, on()), at_first }
    }

    fn faulty(mut self, faults: Faults) -> Self {
        self.config.paths.fill(PathModel::default().with_faults(faults));
        self
    }

    fn connected(self) -> Pair {
        let Self { config, at_first } = self;
        let (seed, client, server) = (config.seed, config.client.clone(), config.server.clone());
        let mut pair = Pair::new(config);
        let addresses = [Side::Client, Side::Server].map(|side| pair.addresses(side));
        let [to_client, to_server] = [0, 1].map(|side| &addresses[side][at_first[side].clone()]);
        let listening =
            EndpointConfig { listening: true, association: server, ..EndpointConfig::default() };
        let calling = EndpointConfig { association: client.clone(), ..EndpointConfig::default() };
        pair.hosts = [
            Host::new(seed.wrapping_mul(2), calling, 4000, to_client, pair.now),
            Host::new(seed.wrapping_mul(2) + 1, listening, 5001, to_server, pair.now),
        ];
        pair.hosts[0].connect(pair.now, client, 5001, to_server).unwrap();
        pair.run_for(secs(0));
        assert!(pair.run_until(secs(300), Pair::is_connected));
        pair
    }
}

fn change(pair: &mut Pair, side: Side, change: LocalAddressChange) {
    let now = pair.now;
    let host = &mut pair.hosts[side as usize];
    match change {
        LocalAddressChange::Added(_) | LocalAddressChange::Removed(_) => {
            host.endpoint.handle_local_address(change);
        }
    }
    host.command(now, 0, |association, cx| association.handle_local_address(cx, change));
    host.settle(now, 0);
    // What was polled goes out with the next event.
    pair.read(side);
}

fn add(pair: &mut Pair, side: Side, network: usize) {
    let address = pair.addresses(side)[network];
    change(pair, side, LocalAddressChange::Added(address));
}

fn remove(pair: &mut Pair, side: Side, network: usize) {
    let address = pair.addresses(side)[network];
    change(pair, side, LocalAddressChange::Removed(address));
}

fn statuses(pair: &Pair, side: Side) -> Vec<(IpAddr, IpAddr, PathStatus)> {
    let paths = pair.slot(side).association.path_stats();
    paths.iter().map(|path| (path.local, path.remote, path.status)).collect()
}

/// Whether the path in a network works from both sides.
fn is_joined(pair: &Pair, network: usize) -> bool {
    let [client, server] = [Side::Client, Side::Server].map(|side| pair.addresses(side)[network]);
    statuses(pair, Side::Client).contains(&(client, server, PathStatus::Active))
        && statuses(pair, Side::Server).contains(&(server, client, PathStatus::Active))
}

fn has(pair: &Pair, side: Side, event: &Event) -> bool {
    pair.slot(side).events.contains(event)
}

fn local(pair: &Pair, side: Side, network: usize, change: AddressChange) -> Event {
    Event::LocalAddress { address: pair.addresses(side)[network], change }
}

fn peers(pair: &Pair, side: Side, network: usize, change: AddressChange) -> Event {
    Event::PeerAddress { address: pair.addresses(side)[network], change }
}

/// The client sends messages `from` to `to`, and the server has all of them in order, once.
fn send(pair: &mut Pair, from: u64, to: u64) {
    for number in from..to {
        loop {
            match pair.send(Side::Client, message(number, 1400)) {
                Err(SendError::WouldBlock) => pair.run_for(millis(100)),
                sent => break sent.unwrap(),
            }
        }
    }
}

fn arrive(pair: &mut Pair, count: u64, what: &str) {
    let arrived = |pair: &Pair| pair.slot(Side::Server).messages.len() as u64 >= count;
    assert!(pair.run_until(secs(300), arrived), "{what}: {:?}", statuses(pair, Side::Client));
    let numbers = pair.slot(Side::Server).messages.iter().map(|message| u64::from(message.ppid));
    assert!(numbers.eq(0..count), "{what}");
}

const FAULTS: [Faults; 3] = [
    Faults { loss: 0, duplication: 0, reordering: 0, damage: 0 },
    Faults { loss: 30, duplication: 30, reordering: 30, damage: 0 },
    Faults { loss: 100, duplication: 100, reordering: 200, damage: 30 },
];

fn in_all_weathers(at_first: [std::ops::Range<usize>; 2], run: impl Fn(Pair, &str)) {
    for faults in FAULTS {
        for form in [Form::Structured, Form::Encoded] {
            for seed in 1..=8 {
                let mut setup = Setup::new(at_first.clone()).faulty(faults);
                (setup.config.form, setup.config.seed) = (form, seed);
                run(setup.connected(), &format!("{faults:?} {form:?} {seed}"));
            }
        }
    }
}

#[test]
fn an_address_is_added_while_data_flows() {
    in_all_weathers([0..1, 0..2], |mut pair, what| {
        send(&mut pair, 0, 100);
        pair.run_for(millis(15));
        add(&mut pair, Side::Client, 1);
        arrive(&mut pair, 100, what);
        assert!(pair.run_until(secs(200), |pair| is_joined(pair, 1)), "{what}");
        assert!(has(&pair, Side::Client, &local(&pair, Side::Client, 1, Added)), "{what}");
        assert!(has(&pair, Side::Server, &peers(&pair, Side::Client, 1, Added)), "{what}");
        send(&mut pair, 100, 300);
        arrive(&mut pair, 300, what);
        let [client, server] =
            [Side::Client, Side::Server].map(|side| pair.slot(side).association.stats());
        assert_eq!((client.asconf_sent, server.asconf_received), (1, 1), "{what}");
        let paths = pair.slot(Side::Client).association.path_stats();
        let new = paths.iter().find(|path| path.local == pair.addresses(Side::Client)[1]).unwrap();
        assert!(new.data_packets_sent > 0, "{what}");
    });
}

#[test]
fn an_address_is_not_used_before_it_is_acknowledged() {
    let mut setup = Setup::new([0..1, 0..2]);
    setup.config.paths[0].delay = millis(500);
    let mut pair = setup.connected();
    let new = pair.addresses(Side::Client)[1];
    add(&mut pair, Side::Client, 1);
    send(&mut pair, 0, 50);
    pair.run_for(millis(900));
    assert_eq!(pair.packets[1], 2, "the peer asks whether the address is there, and is answered");
    pair.run_for(millis(101));
    let path = pair.slot(Side::Client).association.path_stats().remove(2);
    assert_eq!((path.local, path.status), (new, PathStatus::Unconfirmed));
    pair.run_for(millis(100));
    assert!(is_joined(&pair, 1));
    arrive(&mut pair, 50, "delayed");
}

#[test]
fn an_address_is_deleted_while_data_flows() {
    in_all_weathers([0..2, 0..2], |mut pair, what| {
        send(&mut pair, 0, 200);
        pair.run_for(millis(15));
        remove(&mut pair, Side::Client, 0);
        arrive(&mut pair, 200, what);
        let deleted = local(&pair, Side::Client, 0, Removed);
        assert!(pair.run_until(secs(100), |pair| has(pair, Side::Client, &deleted)), "{what}");
        assert!(has(&pair, Side::Server, &peers(&pair, Side::Client, 0, Removed)), "{what}");
        let (gone, stays) = (pair.addresses(Side::Client)[0], pair.addresses(Side::Client)[1]);
        for (_, remote, status) in statuses(&pair, Side::Server) {
            assert!(remote == stays || status == PathStatus::Inactive, "{what}");
        }
        let before = pair.packets[0];
        send(&mut pair, 200, 300);
        arrive(&mut pair, 300, what);
        assert_eq!(pair.packets[0], before, "{what}: nothing goes to {gone}");
        // It comes back.
        add(&mut pair, Side::Client, 0);
        assert!(pair.run_until(secs(300), |pair| is_joined(pair, 0)), "{what}");
        send(&mut pair, 300, 400);
        arrive(&mut pair, 400, what);
    });
}

#[test]
fn a_host_moves_from_its_only_address_to_another() {
    for is_removed_first in [true, false] {
        in_all_weathers([0..1, 0..2], |mut pair, what| {
            let what = &format!("{what} {is_removed_first}");
            send(&mut pair, 0, 100);
            pair.run_for(millis(15));
            if is_removed_first {
                remove(&mut pair, Side::Client, 0);
                pair.run_for(millis(30));
            }
            add(&mut pair, Side::Client, 1);
            if !is_removed_first {
                remove(&mut pair, Side::Client, 0);
            }
            arrive(&mut pair, 100, what);
            let deleted = local(&pair, Side::Client, 0, Removed);
            assert!(pair.run_until(secs(100), |pair| has(pair, Side::Client, &deleted)), "{what}");
            let server = statuses(&pair, Side::Server);
            let old = pair.addresses(Side::Client)[0];
            let is_left = |path: &&(_, IpAddr, PathStatus)| path.1 == old;
            assert!(
                server.iter().filter(is_left).all(|path| path.2 == PathStatus::Inactive),
                "{what}: {server:?}"
            );
            let before = pair.packets[0];
            pair.run_for(secs(100));
            assert_eq!(pair.packets[0], before, "{what}");
        });
    }
}

/// More often than there are identifiers of paths.
#[test]
fn a_host_may_move_all_the_time() {
    let mut pair = Setup::new([0..1, 0..3]).connected();
    for count in 0..100 {
        let [from, to] = [0, 1].map(|ahead| (count as usize + ahead) % 3);
        add(&mut pair, Side::Client, to);
        remove(&mut pair, Side::Client, from);
        send(&mut pair, count, count + 1);
        arrive(&mut pair, count + 1, "moving");
        pair.run_for(secs(1));
    }
}

#[test]
fn either_side_names_the_address_that_it_prefers() {
    in_all_weathers([0..2, 0..2], |mut pair, what| {
        assert!(pair.run_until(secs(100), Pair::all_confirmed), "{what}");
        send(&mut pair, 0, 100);
        for (side, other) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
            let address = pair.addresses(side)[1];
            let now = pair.now;
            let asked = pair.hosts[side as usize]
                .command(now, 0, |association, _| association.set_peer_primary(address));
            assert_eq!(asked, Ok(()));
            pair.read(side);
            let done = local(&pair, side, 1, MadePrimary);
            assert!(pair.run_until(secs(100), |pair| has(pair, side, &done)), "{what}");
            assert!(has(&pair, other, &peers(&pair, side, 1, MadePrimary)), "{what}");
            let paths = pair.slot(other).association.path_stats();
            let primary = paths.iter().find(|path| path.primary).unwrap();
            assert_eq!(primary.remote, address, "{what}");
        }
        arrive(&mut pair, 100, what);
    });
}

#[test]
fn nothing_is_asked_of_a_peer_that_has_it_not() {
    let off = || with(AddressReconfiguration::Off);
    let open = || with(AddressReconfiguration::Unauthenticated);
    for (client, server, is_agreed) in [
        (off(), on(), false),
        (on(), off(), false),
        (off(), off(), false),
        (on(), open(), false),
        (open(), open(), true),
        (on(), on(), true),
    ] {
        let mut setup = Setup::new([0..1, 0..2]);
        (setup.config.client, setup.config.server) = (client, server);
        let what = format!(
            "{:?} {:?}",
            setup.config.client.policies.address_reconfiguration,
            setup.config.server.policies.address_reconfiguration
        );
        let mut pair = setup.connected();
        let (now, address) = (pair.now, pair.addresses(Side::Client)[0]);
        let ask = |pair: &mut Pair| {
            pair.hosts[0].command(now, 0, |association, _| association.set_peer_primary(address))
        };
        let expected = if is_agreed { Ok(()) } else { Err(AddressChangeError::Unsupported) };
        assert_eq!(ask(&mut pair), expected, "{what}");
        assert_eq!(pair.slot(Side::Client).association.can_change_addresses(), is_agreed);
        add(&mut pair, Side::Client, 1);
        pair.run_for(secs(5));
        let stats = pair.slot(Side::Client).association.stats();
        assert_eq!(stats.asconf_sent > 0, is_agreed, "{what}");
        assert_eq!(stats.auth_chunks_sent > 0, what == "Authenticated Authenticated", "{what}");
    }
}

/// Addresses come and go on both sides, at any time, and every message arrives once and in order.
#[test]
fn whatever_comes_and_goes_every_message_arrives_once() {
    for seed in 0..60 {
        let faults = FAULTS[seed as usize % 3];
        let mut setup = Setup::new([0..2, 0..2]).faulty(faults);
        setup.config.seed = seed;
        let is_default = seed % 4 == 3;
        for config in [&mut setup.config.client, &mut setup.config.server] {
            if is_default {
                // With address join, too, and congestion control that measures.
                *config = AssociationConfig::default();
                config.policies.address_reconfiguration = AddressReconfiguration::Authenticated;
            }
            (config.path_pairing, config.max_paths) = (PathPairing::FullMesh, 16);
        }
        setup.config.form = if seed % 2 == 0 { Form::Structured } else { Form::Encoded };
        let mut pair = setup.connected();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // Both sides have network 1 all the time, or there need not be any path.
        let mut present = [[true, true, false]; 2];
        let mut sent = 0;
        for _ in 0..40 {
            let side = if rng.next_u32() % 2 == 0 { Side::Client } else { Side::Server };
            let network = [0, 2][rng.next_u32() as usize % 2];
            let is_there = &mut present[side as usize][network];
            *is_there = !*is_there;
            if *is_there {
                add(&mut pair, side, network)
            } else {
                remove(&mut pair, side, network)
            }
            let more = u64::from(rng.next_u32() % 10);
            send(&mut pair, sent, sent + more);
            sent += more;
            pair.run_for(millis(u64::from(rng.next_u32() % 300)));
        }
        arrive(&mut pair, sent, &format!("{seed}"));
        pair.run_for(secs(600));
        // With faults, a path may be in doubt for a while.
        let agrees = |pair: &Pair| {
            [0, 2].iter().all(|&network| {
                is_joined(pair, network) == present.iter().all(|side| side[network])
            })
        };
        assert!(pair.run_until(secs(3000), agrees), "{seed}: {present:?}");
    }
}

/// RFC 5061 section 4.2.6, whether or not addresses change.
#[test]
fn programs_tell_each_other_their_adaptation_layer() {
    for form in [Form::Structured, Form::Encoded] {
        for codes in [[None, None], [Some(7), None], [None, Some(u32::MAX)], [Some(0), Some(1)]] {
            let mut setup = Setup::new([0..1, 0..1]);
            setup.config.form = form;
            setup.config.client.adaptation_layer = codes[0];
            setup.config.server.adaptation_layer = codes[1];
            let pair = setup.connected();
            for (side, expected) in [(Side::Client, codes[1]), (Side::Server, codes[0])] {
                assert_eq!(pair.slot(side).association.peer_adaptation(), expected);
                let told = pair.slot(side).events.iter().find_map(|event| match event {
                    Event::AdaptationIndication(code) => Some(*code),
                    _ => None,
                });
                assert_eq!(told, expected, "{codes:?}");
            }
        }
    }
}

/// Set Primary Address in INIT and INIT ACK (RFC 5061 section 5.4): the other side sends there once the address is confirmed.
#[test]
fn the_handshake_names_the_address_that_either_side_prefers() {
    for form in [Form::Structured, Form::Encoded] {
        for (client, server) in
            [(Some(1), None), (None, Some(1)), (Some(1), Some(1)), (Some(0), Some(0))]
        {
            let mut setup = Setup::new([0..2, 0..2]);
            setup.config.form = form;
            let addresses = Pair::new(PairConfig::new(2, on()));
            let address =
                |side, index: Option<usize>| index.map(|index| addresses.addresses(side)[index]);
            setup.config.client.preferred_address = address(Side::Client, client);
            setup.config.server.preferred_address = address(Side::Server, server);
            let mut pair = setup.connected();
            assert!(pair.run_until(secs(100), Pair::all_confirmed));
            for (side, other, index) in
                [(Side::Client, Side::Server, client), (Side::Server, Side::Client, server)]
            {
                let paths = pair.slot(other).association.path_stats();
                let primary = paths.iter().find(|path| path.primary).unwrap();
                let preferred = address(side, index);
                let expected = preferred.unwrap_or(primary.remote);
                assert_eq!(primary.remote, expected, "{form:?} {client:?} {server:?}");
                let told = peers(&pair, side, index.unwrap_or(0), MadePrimary);
                assert_eq!(has(&pair, other, &told), index.is_some());
            }
            send(&mut pair, 0, 10);
            arrive(&mut pair, 10, "on the preferred path");
        }
    }
}

/// An address that was not told, or a side that has agreed to no changes: nothing is asked for.
#[test]
fn a_preference_needs_an_address_that_the_peer_knows() {
    for (policy, preferred) in [
        (AddressReconfiguration::Off, "10.0.1.1"),
        (AddressReconfiguration::Authenticated, "192.0.2.99"),
    ] {
        let mut setup = Setup::new([0..2, 0..2]);
        let config = AssociationConfig {
            preferred_address: Some(preferred.parse().unwrap()),
            ..with(policy)
        };
        (setup.config.client, setup.config.server) = (config.clone(), config);
        let pair = setup.connected();
        for side in [Side::Client, Side::Server] {
            let is_preference = |event: &Event| matches!(event, Event::PeerAddress { .. });
            assert!(!pair.slot(side).events.iter().any(is_preference));
        }
    }
}
