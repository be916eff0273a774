//! Authenticated chunks (AUTH, RFC 4895): what was agreed is kept, and what is not proved changes nothing.

mod common;

use std::net::IpAddr;

use common::{config, data, init_ack, ip, message, millis, secs};
use polypath_proto::config::{
    AssociationConfig, AuthenticatedChunks, ChunkTypes, EndpointConfig,
    ExplicitCongestionNotification, MessageInterleaving, NrSack, PacketDropReport, Preset,
    SharedKeys, StreamReconfiguration,
};
use polypath_proto::{
    Association, AssociationEnd, AuthenticationChange, Body, DropReason, Duration, Ecn,
    Encapsulation, Event, Instant, KeyError, Received,
};
use polypath_testkit::{Capable, Faults, Form, Host, Pair, PairConfig, PathModel, Side};
use polypath_wire::{
    Abort, Auth, Cause, Causes, Chunk, Packet, Parameter, Parameters, Raw, chunk_type,
    parameter_type,
};

const ALL: AuthenticatedChunks = AuthenticatedChunks::All;

fn demanding(chunk_types: &[u8]) -> AuthenticatedChunks {
    AuthenticatedChunks::Demanded(chunk_types.iter().copied().collect::<ChunkTypes>())
}

fn with(authenticated_chunks: AuthenticatedChunks) -> AssociationConfig {
    let mut config = config(Preset::Cmt);
    config.policies.authenticated_chunks = authenticated_chunks;
    config
}

fn with_key(policy: AuthenticatedChunks, id: u16, key: &[u8]) -> AssociationConfig {
    AssociationConfig { shared_keys: SharedKeys::with_key(id, key).unwrap(), ..with(policy) }
}

/// A client at address 1 and a server at address 2, with every packet in the hands of the test.
struct Wire {
    client: Host,
    server: Host,
    now: Instant,
    /// What was delivered so far, with the side that it went to.
    log: Vec<(Side, Packet<'static>)>,
}

impl Wire {
    fn new(client: &AssociationConfig, server: &AssociationConfig) -> Self {
        Self::with_seed(1, client, server)
    }

    fn with_seed(seed: u64, client: &AssociationConfig, server: &AssociationConfig) -> Self {
        let now = Instant::from_nanos(1_000_000);
        let listening = |listening, association: &AssociationConfig| EndpointConfig {
            listening,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        let mut client_host = Host::new(seed, listening(false, client), 4000, &[ip(1)], now);
        let server = Host::new(2, listening(true, server), 5001, &[ip(2)], now);
        client_host.connect(now, client.clone(), 5001, &[ip(2)]).unwrap();
        Self { client: client_host, server, now, log: vec![] }
    }

    fn connected(client: &AssociationConfig, server: &AssociationConfig) -> Self {
        let mut wire = Self::new(client, server);
        wire.settle(|_, packet| Some(packet));
        assert!(wire.client().is_established() && wire.server().is_established());
        wire
    }

    fn client(&self) -> &Association {
        &self.client.slots[0].association
    }

    fn server(&self) -> &Association {
        &self.server.slots[0].association
    }

    /// Delivers what was sent, changed or dropped on its way, until nobody has anything to say.
    fn settle(&mut self, mut way: impl FnMut(Side, Packet<'static>) -> Option<Packet<'static>>) {
        for _ in 0..1000 {
            let to_server = self.client.take_output();
            let to_client = self.server.take_output();
            if to_server.is_empty() && to_client.is_empty() {
                return;
            }
            for (to, transmits) in [(Side::Server, to_server), (Side::Client, to_client)] {
                for transmit in transmits {
                    if let Some(packet) = way(to, transmit.packet) {
                        self.deliver(to, packet);
                    }
                }
            }
        }
        panic!("the hosts do not stop talking");
    }

    fn deliver(&mut self, to: Side, packet: Packet<'static>) {
        let (host, local, remote) = match to {
            Side::Server => (&mut self.server, ip(2), ip(1)),
            Side::Client => (&mut self.client, ip(1), ip(2)),
        };
        let (body, encapsulation) = (Body::Structured(&packet), Encapsulation::None);
        host.receive(self.now, &Received { local, remote, encapsulation, ecn: Ecn::NotEct, body });
        self.log.push((to, packet));
    }

    /// Lets time pass with packets changed on their way like this.
    fn later(
        &mut self,
        span: Duration,
        mut way: impl FnMut(Side, Packet<'static>) -> Option<Packet<'static>>,
    ) {
        let end = self.now + span;
        self.settle(&mut way);
        loop {
            let hosts = [&self.client, &self.server];
            let next = hosts.into_iter().filter_map(Host::next_timeout).min();
            let Some(at) = next.filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            self.client.handle_timeout(self.now);
            self.server.handle_timeout(self.now);
            self.settle(&mut way);
        }
        self.now = end;
    }

    fn client_sends(&mut self, number: u64) {
        self.client.send(self.now, 0, message(number, 1000)).unwrap();
    }

    fn delivered_to_server(&self) -> usize {
        self.server.slots[0].messages.len()
    }

    /// A packet to the server with the right tag and ports.
    fn forged(&self, chunks: Vec<Chunk<'static>>) -> Packet<'static> {
        Packet {
            source_port: 4000,
            destination_port: 5001,
            verification_tag: self.server().identity().local_tag,
            chunks: chunks.into_iter().collect(),
        }
    }

    /// The last packet to a side that has such a chunk.
    fn last(&self, to: Side, has: impl Fn(&Chunk<'_>) -> bool) -> Packet<'static> {
        let packets = self.log.iter().rev().filter(|(side, _)| *side == to);
        let mut packets = packets.map(|(_, packet)| packet);
        packets.find(|packet| packet.chunks.iter().any(&has)).expect("such a packet").clone()
    }
}

fn is_auth(chunk: &Chunk<'_>) -> bool {
    matches!(chunk, Chunk::Auth(_))
}

fn abort() -> Chunk<'static> {
    Chunk::Abort(Abort { reflected_tag: false, causes: Causes::empty() })
}

fn wrong_auth(hmac_id: u16, len: usize) -> Chunk<'static> {
    let hmac = Raw::Shared(vec![7; len].into());
    Chunk::Auth(Auth { shared_key_id: 0, hmac_id, hmac })
}

fn end_of(host: &Host) -> Option<&AssociationEnd> {
    host.slots[0].events.iter().find_map(|event| match event {
        Event::Ended(end) => Some(end),
        _ => None,
    })
}

/// Without a parameter of this type.
fn without(mut packet: Packet<'static>, parameter: u16) -> Packet<'static> {
    for chunk in &mut packet.chunks {
        if let Chunk::Init(init) | Chunk::InitAck(init) = chunk {
            let kept: Vec<Parameter<'_>> = (&init.parameters)
                .into_iter()
                .filter(|it| it.parameter_type() != parameter)
                .collect();
            init.parameters = Parameters::build(kept);
        }
    }
    packet
}

#[test]
fn everything_that_is_demanded_is_authenticated_on_every_path() {
    let control = demanding(&[chunk_type::HEARTBEAT, chunk_type::ABORT, chunk_type::SHUTDOWN]);
    let bulk = demanding(&[chunk_type::DATA, chunk_type::SACK]);
    for (form, client, server) in [
        (Form::Structured, ALL, ALL),
        (Form::Encoded, ALL, ALL),
        (Form::Encoded, bulk, control),
        (Form::Encoded, AuthenticatedChunks::Offered, ALL),
    ] {
        let mut pair = PairConfig::new(2, with(client));
        pair.server = with(server);
        pair.form = form;
        let faults = Faults { loss: 30, ..Faults::default() };
        pair.paths = vec![PathModel::default().with_faults(faults); 2];
        let mut pair = Pair::connected(pair);
        for number in 0..200 {
            pair.send(Side::Client, message(number, 5000)).unwrap();
        }
        pair.send(Side::Server, message(0, 50_000)).unwrap();
        pair.run_for(secs(60));
        pair.shutdown(Side::Client);
        pair.run_for(secs(60));
        for side in [Side::Client, Side::Server] {
            let slot = pair.slot(side);
            let what = format!("{form:?} {client:?} {server:?} {side:?}");
            assert_eq!(slot.messages.len(), if side == Side::Server { 200 } else { 1 }, "{what}");
            assert!(slot.association.is_closed(), "{what}");
            let stats = slot.association.stats();
            assert_eq!((stats.auth_chunks_refused, stats.unauthenticated_chunks), (0, 0), "{what}");
            let demands = if side == Side::Client { client } else { server };
            let demands_some = demands != AuthenticatedChunks::Offered;
            assert_eq!(stats.auth_chunks_accepted > 0, demands_some, "{what}");
        }
    }
}

/// Everything is on whose chunks may be demanded, so that as many kinds as possible are sent.
fn with_all_extensions(authenticated_chunks: AuthenticatedChunks) -> AssociationConfig {
    let mut config = with_key(authenticated_chunks, 1, b"both know it");
    let policies = &mut config.policies;
    policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
    policies.message_interleaving = MessageInterleaving::On;
    policies.stream_reconfiguration = StreamReconfiguration::On;
    policies.nr_sack = NrSack::Deliverable;
    policies.packet_drop_report = PacketDropReport::On;
    config
}

#[test]
fn a_type_that_is_demanded_alone_is_authenticated_too() {
    for chunk_type in (0..16).chain(64..66).chain(128..133).chain(192..195) {
        let config = with_all_extensions(demanding(&[chunk_type]));
        let mut pair = PairConfig::new(2, config);
        pair.form = Form::Encoded;
        for path in &mut pair.paths {
            path.capable = Capable::Marked(20);
            path.faults = Faults { loss: 20, ..Faults::default() };
        }
        let mut pair = Pair::connected(pair);
        for number in 0..200 {
            pair.send(Side::Client, message(number, 1400)).unwrap();
            pair.send(Side::Server, message(number, 1400)).unwrap();
            pair.run_for(millis(5));
        }
        pair.run_for(secs(5));
        for side in [Side::Client, Side::Server] {
            let slot = pair.slot(side);
            let stats = slot.association.stats();
            assert_eq!(slot.messages.len(), 200, "{chunk_type} {side:?}");
            assert_eq!(stats.unauthenticated_chunks, 0, "{chunk_type} {side:?}");
            assert!(stats.ecn_reductions > 0, "{chunk_type} {side:?}");
        }
    }
}

#[test]
fn no_packet_outgrows_its_path() {
    for (policy, least) in [(ALL, 1200), (demanding(&[chunk_type::DATA]), 1200)] {
        let mut wire = Wire::connected(&with(policy), &with(policy));
        let (mut largest, mut sealed) = (0, 0);
        for number in 0..100 {
            wire.client.send(wire.now, 0, message(number, 4000)).unwrap();
        }
        wire.later(secs(10), |_, packet| {
            largest = largest.max(packet.encoded_len() + 20);
            let has_data = packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Data(_)));
            assert!(!has_data || is_auth(&packet.chunks[0]), "{packet:?}");
            sealed += u64::from(is_auth(&packet.chunks[0]));
            Some(packet)
        });
        assert_eq!(wire.delivered_to_server(), 100);
        assert!((least..=1500).contains(&largest), "{largest}");
        assert!(sealed >= 100);
    }
}

#[test]
fn nothing_is_offered_where_it_is_off() {
    let off = with(AuthenticatedChunks::Off);
    for (client, server) in [(&off, &off), (&with(AuthenticatedChunks::Offered), &off)] {
        let mut wire = Wire::connected(client, server);
        wire.client_sends(1);
        wire.later(secs(1), |_, packet| {
            assert!(!packet.chunks.iter().any(is_auth));
            Some(packet)
        });
        assert_eq!(wire.delivered_to_server(), 1);
        assert!(!wire.client().is_authenticated() && !wire.server().is_authenticated());
        let set = wire
            .client
            .command(wire.now, 0, |association, _| association.set_shared_key(1, b"key"));
        assert_eq!(set, Err(KeyError::Off));
        let (_, init) = &wire.log[0];
        let Chunk::Init(init) = &init.chunks[0] else { panic!("{init:?}") };
        let random = (&init.parameters)
            .into_iter()
            .any(|parameter| parameter.parameter_type() == parameter_type::RANDOM);
        assert_eq!(random, client.policies.authenticated_chunks != AuthenticatedChunks::Off);
    }
}

#[test]
fn without_the_key_nobody_gets_in() {
    let right = with_key(ALL, 1, b"right");
    for client in [with_key(ALL, 1, b"wrong"), with_key(ALL, 2, b"right"), with(ALL)] {
        let mut wire = Wire::new(&client, &right);
        wire.later(secs(600), |_, packet| Some(packet));
        assert_eq!(end_of(&wire.client), Some(&AssociationEnd::CannotConnect));
        assert_eq!(wire.server.endpoint.association_count(), 0);
        assert!(wire.server.endpoint.dropped(DropReason::NotAuthenticated) > 3);
    }
    let wire = Wire::connected(&right, &right);
    assert!(wire.server().is_authenticated());
}

#[test]
fn each_peer_of_a_server_has_a_key_of_its_own() {
    let keys = [(7, &b"of one"[..]), (8, b"of another"), (9, b"of a third")];
    let shared_keys = SharedKeys::one_per_peer(keys).unwrap();
    let server = AssociationConfig { shared_keys, ..with(ALL) };
    for (id, key) in keys {
        let mut wire = Wire::connected(&with_key(ALL, id, key), &server);
        wire.client_sends(1);
        wire.server.send(wire.now, 0, message(2, 1000)).unwrap();
        wire.later(secs(1), |_, packet| Some(packet));
        assert_eq!((wire.delivered_to_server(), wire.client.slots[0].messages.len()), (1, 1));
        assert_eq!((wire.server().peer_key(), wire.client().peer_key()), (Some(id), Some(id)));
        // Who has another key cannot interfere: it is not among those of the association.
        for (other, _) in keys.into_iter().filter(|(other, _)| *other != id) {
            let told = wire.server.command(wire.now, 0, |it, _| it.activate_shared_key(other));
            assert_eq!(told, Err(KeyError::Unknown { id: other }));
        }
        assert_eq!(wire.server().stats().auth_chunks_refused, 0);
    }
}

#[test]
fn a_key_that_was_revoked_lets_nobody_in() {
    let keys = [(7, &b"of one"[..]), (8, b"of another")];
    let one_per_peer =
        |keys: &[(u16, &'static [u8])]| SharedKeys::one_per_peer(keys.iter().copied()).unwrap();
    let server = AssociationConfig { shared_keys: one_per_peer(&keys), ..with(ALL) };
    let enters = |left: &[(u16, &'static [u8])], id: u16, key: &[u8]| {
        let mut wire = Wire::new(&with_key(ALL, id, key), &server);
        wire.server.endpoint.set_shared_keys(one_per_peer(left));
        wire.later(secs(600), |_, packet| Some(packet));
        let is_in = wire.server.endpoint.association_count() == 1;
        assert_eq!(end_of(&wire.client), (!is_in).then_some(&AssociationEnd::CannotConnect));
        is_in
    };
    assert!(enters(&keys[1..], 8, keys[1].1));
    assert!(!enters(&keys[1..], 7, keys[0].1));
    assert!(!enters(&[], 8, keys[1].1), "without keys there is no empty one");
    assert!(!enters(&[], 0, b""));
    assert!(enters(&[keys[0], (9, b"new")], 9, b"new"));
}

#[test]
fn a_key_on_one_side_only_lets_no_data_through() {
    let server = with_key(demanding(&[chunk_type::DATA]), 1, b"right");
    let mut wire = Wire::connected(&with(AuthenticatedChunks::Offered), &server);
    wire.client_sends(1);
    wire.later(secs(20), |_, packet| Some(packet));
    assert_eq!(wire.delivered_to_server(), 0);
    assert!(wire.server().stats().auth_chunks_refused > 1);
}

/// Neither side can change its key at the very moment of the other one.
#[test]
fn the_empty_key_serves_until_the_other_side_has_changed_to_a_new_one() {
    let mut wire = Wire::connected(&with(ALL), &with(ALL));
    let mut number = 0;
    let mut exchange = |wire: &mut Wire| {
        number += 1;
        wire.client_sends(number);
        wire.server.send(wire.now, 0, message(number, 1000)).unwrap();
        wire.later(secs(1), |_, packet| Some(packet));
        let arrived = [&wire.server, &wire.client].map(|host| host.slots[0].messages.len() as u64);
        assert_eq!(arrived, [number; 2]);
    };
    let now = wire.now;
    wire.server.command(now, 0, |it, _| it.set_shared_key(1, b"new")).unwrap();
    exchange(&mut wire);
    wire.client.command(now, 0, |it, _| it.set_shared_key(1, b"new")).unwrap();
    wire.client.command(now, 0, |it, _| it.activate_shared_key(1)).unwrap();
    exchange(&mut wire);
    wire.server.command(now, 0, |it, _| it.activate_shared_key(1)).unwrap();
    assert_eq!(wire.server().shared_key_ids(), [1], "the peer uses it, too");
    assert_eq!(wire.client().shared_key_ids(), [0, 1]);
    exchange(&mut wire);
    assert_eq!(wire.client().shared_key_ids(), [1]);
    let stats = [wire.client().stats(), wire.server().stats()];
    assert!(stats.iter().all(|it| it.auth_chunks_refused + it.unauthenticated_chunks == 0));
}

#[test]
fn keys_change_while_data_flows() {
    let config = with_key(ALL, 1, b"first");
    let mut wire = Wire::connected(&config, &config);
    let key_id = |wire: &Wire| match &wire.last(Side::Server, is_auth).chunks[0] {
        Chunk::Auth(auth) => auth.shared_key_id,
        other => panic!("{other:?}"),
    };
    let mut sent = 0;
    let mut transfer = |wire: &mut Wire| {
        sent += 1;
        wire.client_sends(sent);
        wire.later(secs(1), |_, packet| Some(packet));
        assert_eq!(wire.delivered_to_server(), sent as usize);
    };
    transfer(&mut wire);
    assert_eq!(key_id(&wire), 1);
    let now = wire.now;
    for host in [&mut wire.client, &mut wire.server] {
        host.command(now, 0, |it, _| it.set_shared_key(9, b"second")).unwrap();
    }
    transfer(&mut wire);
    assert_eq!(key_id(&wire), 1, "not yet");
    for host in [&mut wire.client, &mut wire.server] {
        host.command(now, 0, |it, _| it.activate_shared_key(9)).unwrap();
        let active = host.command(now, 0, |it, _| it.delete_shared_key(9));
        assert_eq!(active, Err(KeyError::Active { id: 9 }));
        host.command(now, 0, |it, _| it.delete_shared_key(1)).unwrap();
    }
    transfer(&mut wire);
    assert_eq!(key_id(&wire), 9);
    assert_eq!(wire.server().stats().auth_chunks_refused, 0);
    for host in [&wire.client, &wire.server] {
        let heard = host.slots[0].events.iter().filter_map(|event| match event {
            Event::Authentication(change) => Some(*change),
            _ => None,
        });
        use AuthenticationChange::{KeyUnused, PeerUsesKey};
        assert_eq!(heard.collect::<Vec<_>>(), [PeerUsesKey(1), KeyUnused(1), PeerUsesKey(9)]);
    }
    let old = wire.log.iter().find(|(to, packet)| {
        *to == Side::Server && packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Data(_)))
    });
    let old = old.unwrap().1.clone();
    wire.deliver(Side::Server, old);
    assert_eq!(wire.server().stats().auth_chunks_refused, 1, "the deleted key is worth nothing");
}

#[test]
fn a_peer_that_leaves_parameters_out_is_refused() {
    let offered = AuthenticatedChunks::Offered;
    let data_only = demanding(&[chunk_type::DATA]);
    for parameter in [parameter_type::RANDOM, parameter_type::HMAC_ALGO] {
        for (side, client, server) in [
            (Side::Server, data_only, data_only),
            (Side::Client, data_only, data_only),
            (Side::Server, data_only, offered),
        ] {
            let mut wire = Wire::new(&with(client), &with(server));
            wire.later(secs(1), |to, packet| {
                Some(if to == side { without(packet, parameter) } else { packet })
            });
            assert!(!wire.client().is_established());
            assert_eq!(wire.server.endpoint.association_count(), 0, "{side:?} {parameter}");
            let causes = match end_of(&wire.client).expect("it ends") {
                AssociationEnd::HandshakeRefused(causes)
                | AssociationEnd::AbortedByPeer(causes) => causes,
                other => panic!("{other:?}"),
            };
            assert_eq!(causes[..2], [0, 2], "missing mandatory parameter");
            assert_eq!(causes[causes.len() - 2..], parameter.to_be_bytes());
        }
    }
}

#[test]
fn somebody_on_the_way_cannot_take_authentication_out() {
    let all = [parameter_type::RANDOM, parameter_type::CHUNKS, parameter_type::HMAC_ALGO];
    let data_only = demanding(&[chunk_type::DATA]);
    for side in [Side::Server, Side::Client] {
        let mut wire = Wire::new(&with(data_only), &with(data_only));
        wire.later(secs(1), |to, packet| {
            Some(if to == side { all.into_iter().fold(packet, without) } else { packet })
        });
        assert!(end_of(&wire.client).is_some());
        assert_eq!(wire.server.endpoint.association_count(), 0);
    }
    // Nor the list alone: the keys differ then, and nothing is believed.
    for side in [Side::Server, Side::Client] {
        let mut wire = Wire::new(&with(ALL), &with(ALL));
        wire.later(secs(600), |to, packet| {
            Some(if to == side { without(packet, parameter_type::CHUNKS) } else { packet })
        });
        assert!(!wire.client().is_established(), "{side:?}");
        assert_eq!(wire.server.endpoint.association_count(), 0, "{side:?}");
    }
}

#[test]
fn a_cookie_echo_without_its_auth_begins_nothing() {
    let mut wire = Wire::new(&with(ALL), &with(ALL));
    let mut echoes = 0;
    wire.settle(|to, mut packet| {
        if to == Side::Server && packet.chunks.iter().any(|c| matches!(c, Chunk::CookieEcho(_))) {
            echoes += 1;
            assert!(is_auth(&packet.chunks[0]), "AUTH comes first: {packet:?}");
            packet.chunks.remove(0);
        }
        Some(packet)
    });
    assert_eq!(echoes, 1);
    assert_eq!(wire.server.endpoint.dropped(DropReason::NotAuthenticated), 1);
    assert_eq!(wire.server.endpoint.association_count(), 0);
    wire.later(secs(5), |_, packet| Some(packet));
    assert!(
        wire.client().is_established() && wire.server().is_established(),
        "the next one counts"
    );
}

#[test]
fn what_is_forged_changes_nothing() {
    let mut wire = Wire::connected(&with(ALL), &with(ALL));
    let before = wire.server().stats();
    let tsn = wire.client().identity().initial_tsn;
    let forgeries: [Vec<Chunk<'static>>; 7] = [
        vec![abort()],
        vec![wrong_auth(3, 32), abort()],
        vec![wrong_auth(3, 20), abort()],
        vec![wrong_auth(1, 20), abort()],
        vec![data(tsn)],
        vec![wrong_auth(3, 32), data(tsn)],
        vec![Chunk::Shutdown { cumulative_tsn_ack: 0 }],
    ];
    for chunks in forgeries {
        let packet = wire.forged(chunks);
        wire.deliver(Side::Server, packet);
        wire.settle(|_, packet| panic!("an answer: {packet:?}"));
    }
    assert!(wire.server().is_established());
    assert_eq!(wire.delivered_to_server(), 0);
    let stats = wire.server().stats();
    assert_eq!(stats.packets_received, before.packets_received);
    assert_eq!(stats.packets_discarded, before.packets_discarded + 7);
    assert_eq!((stats.auth_chunks_refused, stats.unauthenticated_chunks), (4, 3));
    wire.client_sends(1);
    wire.later(secs(1), |_, packet| Some(packet));
    assert_eq!(wire.delivered_to_server(), 1);
}

#[test]
fn an_unknown_algorithm_is_reported() {
    let mut wire = Wire::connected(&with(ALL), &with(ALL));
    let packet = wire.forged(vec![wrong_auth(2, 16), abort()]);
    wire.deliver(Side::Server, packet);
    let mut reported = 0;
    wire.settle(|to, packet| {
        for chunk in &packet.chunks {
            if let Chunk::Error(causes) = chunk {
                let cause = causes.iter().next();
                assert!(matches!(cause, Some(Cause::UnsupportedHmac { hmac_id: 2 })), "{cause:?}");
                assert_eq!(to, Side::Client);
                reported += 1;
            }
        }
        Some(packet)
    });
    assert_eq!(reported, 1);
    assert!(wire.server().is_established());
}

#[test]
fn a_second_auth_and_what_follows_it_is_discarded() {
    let mut wire = Wire::connected(&with(ALL), &with(ALL));
    wire.client_sends(1);
    let mut packet = None;
    wire.settle(|to, sent| {
        if to == Side::Server {
            packet.get_or_insert(sent);
            return None;
        }
        Some(sent)
    });
    let mut packet = packet.unwrap();
    let auth = packet.chunks[0].clone();
    packet.chunks.insert(0, auth);
    wire.deliver(Side::Server, packet);
    // The code of the first one is wrong now, and that is the end of it.
    assert_eq!(wire.delivered_to_server(), 0);
    assert_eq!(wire.server().stats().auth_chunks_refused, 1);
}

#[test]
fn what_is_replayed_changes_nothing() {
    let mut wire = Wire::connected(&with(ALL), &with(ALL));
    wire.client_sends(1);
    wire.later(secs(1), |_, packet| Some(packet));
    let with_data = wire.last(Side::Server, |chunk| matches!(chunk, Chunk::Data(_)));
    wire.deliver(Side::Server, with_data.clone());
    wire.settle(|_, packet| Some(packet));
    assert_eq!(wire.delivered_to_server(), 1, "the TSN is known");
    // The end of an association, in the next one of the same hosts.
    wire.client.abort(wire.now, 0, "over");
    wire.settle(|_, packet| Some(packet));
    let end = wire.last(Side::Server, |chunk| matches!(chunk, Chunk::Abort(_)));
    assert!(is_auth(&end.chunks[0]) && wire.server().is_closed());
    let mut next = Wire::with_seed(99, &with(ALL), &with(ALL));
    next.settle(|_, packet| Some(packet));
    for mut packet in [end, with_data] {
        packet.verification_tag = next.server().identity().local_tag;
        next.deliver(Side::Server, packet);
        next.settle(|_, packet| panic!("an answer: {packet:?}"));
    }
    assert!(next.server().is_established());
    assert_eq!(next.delivered_to_server(), 0);
    assert_eq!(next.server().stats().auth_chunks_refused, 2);
}

/// The client's host, made anew, connects again from the same address and port.
fn restart(wire: &mut Wire, config: &AssociationConfig) {
    let endpoint = EndpointConfig { association: config.clone(), ..EndpointConfig::default() };
    wire.client = Host::new(77, endpoint, 4000, &[ip(1)], wire.now);
    wire.client.connect(wire.now, config.clone(), 5001, &[ip(2)]).unwrap();
    wire.later(secs(5), |_, packet| Some(packet));
}

#[test]
fn a_peer_that_restarts_needs_the_old_key_where_its_cookie_must_be_authenticated() {
    for (policy, restarts) in
        [(demanding(&[chunk_type::DATA, chunk_type::ABORT]), true), (ALL, false)]
    {
        let mut wire = Wire::connected(&with(policy), &with(policy));
        restart(&mut wire, &with(policy));
        assert_eq!(wire.client().is_established(), restarts);
        assert!(wire.server().is_established());
        let events = &wire.server.slots[0].events;
        let told = events.iter().any(|event| matches!(event, Event::Restarted { .. }));
        assert_eq!(told, restarts);
        if restarts {
            wire.client_sends(1);
            wire.later(secs(1), |_, packet| Some(packet));
            assert_eq!(wire.delivered_to_server(), 1, "with the new random numbers");
        } else {
            assert!(wire.server.endpoint.dropped(DropReason::NotAuthenticated) > 0);
        }
    }
}

/// What the server's host answers, or somebody else in its name, to packets of an association that it does not have.
fn disowning(tag: u32) -> Packet<'static> {
    let abort = Chunk::Abort(Abort { reflected_tag: true, causes: Causes::empty() });
    Packet {
        source_port: 5001,
        destination_port: 4000,
        verification_tag: tag,
        chunks: [abort].into_iter().collect(),
    }
}

fn peer_tag(wire: &Wire) -> u32 {
    wire.server().identity().local_tag
}

#[test]
fn a_peer_that_has_lost_the_association_is_noticed_within_seconds() {
    for (policy, seconds) in [(ALL, 5..12), (demanding(&[chunk_type::DATA]), 0..1)] {
        let mut wire = Wire::connected(&with(policy), &with(policy));
        wire.client_sends(0);
        wire.later(secs(1), |_, packet| Some(packet));
        let endpoint = EndpointConfig {
            listening: true,
            association: with(policy),
            ..EndpointConfig::default()
        };
        wire.server = Host::new(3, endpoint, 5001, &[ip(2)], wire.now);
        wire.client_sends(1);
        let mut waited = 0;
        wire.later(millis(500), |_, packet| Some(packet));
        while end_of(&wire.client).is_none() && waited < 60 {
            waited += 1;
            wire.later(secs(1), |_, packet| Some(packet));
        }
        assert_eq!(end_of(&wire.client), Some(&AssociationEnd::AbortedByPeer(Vec::new())));
        assert!(seconds.contains(&waited), "{waited} s");
    }
}

#[test]
fn who_forges_aborts_ends_nothing_that_works() {
    let mut wire = Wire::connected(&with(ALL), &with(ALL));
    for number in 0..400 {
        let forged = disowning(peer_tag(&wire));
        wire.deliver(Side::Client, forged);
        // Now there is data to acknowledge, now there are only heartbeats.
        if number % 100 < 50 {
            wire.client_sends(number);
        }
        wire.later(millis(200), |_, packet| Some(packet));
    }
    assert!(wire.client().is_established());
    assert_eq!(wire.delivered_to_server(), 200);
    // Nor does who does not know the tag, even during an outage.
    wire.client_sends(400);
    for _ in 0..100 {
        let forged = disowning(peer_tag(&wire) ^ 1);
        wire.deliver(Side::Client, forged);
        wire.later(millis(200), |_, _| None);
    }
    assert!(wire.client().is_established());
    wire.later(secs(70), |_, packet| Some(packet));
    assert_eq!(wire.delivered_to_server(), 201);
}

#[test]
fn two_sides_that_connect_at_once_agree() {
    let config = with_key(ALL, 3, b"shared");
    let now = Instant::from_nanos(1_000_000);
    let endpoint = EndpointConfig { association: config.clone(), ..EndpointConfig::default() };
    let mut hosts = [
        Host::new(1, endpoint.clone(), 4000, &[ip(1)], now),
        Host::new(2, endpoint, 5001, &[ip(2)], now),
    ];
    hosts[0].connect(now, config.clone(), 5001, &[ip(2)]).unwrap();
    hosts[1].connect(now, config, 4000, &[ip(1)]).unwrap();
    let exchange = |hosts: &mut [Host; 2]| {
        for _ in 0..20 {
            let sent = [hosts[0].take_output(), hosts[1].take_output()];
            for (from, transmits) in sent.into_iter().enumerate() {
                for transmit in transmits {
                    let (local, remote): (IpAddr, IpAddr) = (transmit.remote, transmit.local);
                    let (body, encapsulation) =
                        (Body::Structured(&transmit.packet), Encapsulation::None);
                    let ecn = Ecn::NotEct;
                    let received = Received { local, remote, encapsulation, ecn, body };
                    hosts[1 - from].receive(now + millis(1), &received);
                }
            }
        }
    };
    exchange(&mut hosts);
    for host in &mut hosts {
        assert!(host.slots[0].association.is_established());
        host.send(now + millis(2), 0, message(5, 3000)).unwrap();
    }
    exchange(&mut hosts);
    for host in &hosts {
        assert_eq!(host.slots[0].messages.len(), 1);
        assert_eq!(host.slots[0].association.stats().auth_chunks_refused, 0);
    }
}

#[test]
fn a_client_without_authentication_is_refused_by_one_that_demands_it() {
    let mut victim = common::Victim::connecting(with(ALL), &[ip(2)]);
    victim.receive(ip(2), vec![init_ack(&[])]);
    assert!(matches!(end_of(&victim.host), Some(AssociationEnd::HandshakeRefused(_))));
    let mut victim = common::Victim::connecting(with(AuthenticatedChunks::Offered), &[ip(2)]);
    victim.receive(ip(2), vec![init_ack(&[])]);
    victim.receive(ip(2), vec![Chunk::CookieAck]);
    assert!(victim.association().is_established() && !victim.association().is_authenticated());
}

#[test]
fn a_peer_without_authentication_is_reported_where_it_is_offered() {
    let offering = with(AuthenticatedChunks::Offered);
    let off = with(AuthenticatedChunks::Off);
    for (client, server, reported) in [
        (&offering, &offering, [false, false]),
        (&offering, &off, [true, false]),
        (&off, &offering, [false, true]),
        (&off, &off, [false, false]),
    ] {
        let wire = Wire::connected(client, server);
        let unsupported = Event::Authentication(AuthenticationChange::Unsupported);
        let heard =
            [&wire.client, &wire.server].map(|host| host.slots[0].events.contains(&unsupported));
        assert_eq!(heard, reported);
    }
}
