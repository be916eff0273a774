//! Path MTU discovery by probes (RFC 8899) in whole associations.

mod common;

use common::{Victim, config, ip, message, millis, secs};
use polypath_proto::config::{AssociationConfig, PmtuDiscovery, Preset};
use polypath_proto::{
    AssociationEnd, Duration, Event, Fragmentation, PathChange, PathError, PathId, PathStats,
    PathStatus, Transmit,
};
use polypath_testkit::{Faults, Form, Pair, PairConfig, PathModel, Side};
use polypath_wire::{Chunk, Parameter, Parameters};

fn probing(mtu_bytes: u16) -> AssociationConfig {
    let pmtu_discovery = Some(PmtuDiscovery::Probe);
    AssociationConfig { mtu_bytes, pmtu_discovery, ..config(Preset::Cmt) }
}

/// Paths with these MTUs.
fn pair(mtus: &[u32], config: AssociationConfig) -> Pair {
    let mut setup = PairConfig::new(mtus.len(), config);
    for (path, mtu) in setup.paths.iter_mut().zip(mtus) {
        *path = PathModel {
            mtu: Some(*mtu),
            bytes_per_second: Some(1_250_000),
            queue: millis(200),
            ..PathModel::default()
        };
    }
    Pair::connected(setup)
}

fn path(pair: &Pair, side: Side, path: usize) -> PathStats {
    pair.slot(side).association.path_stats().remove(path)
}

fn mtu(pair: &Pair, of: usize) -> u32 {
    path(pair, Side::Client, of).mtu_bytes
}

/// Sends `count` messages of `size` bytes until the server has so many more.
fn transfer(pair: &mut Pair, count: usize, size: u32, limit: Duration) {
    let (end, before) = (pair.now + limit, pair.slot(Side::Server).messages.len());
    let mut next = 0;
    while pair.slot(Side::Server).messages.len() < before + count {
        while next < count && pair.send(Side::Client, message(next as u64, size)).is_ok() {
            next += 1;
        }
        assert!(pair.step(end), "stuck: {:?}", path(pair, Side::Client, 0));
    }
}

#[test]
fn probes_find_the_mtu_and_touch_nothing_else() {
    for (limit, truth, found) in
        [(1500, 1500, 1500), (1500, 1280, 1280), (1500, 1400, 1400), (9000, 9000, 9000)]
    {
        let mut pair = pair(&[truth], probing(limit));
        let before = path(&pair, Side::Client, 0);
        pair.run_for(secs(60));
        for side in [Side::Client, Side::Server] {
            let after = path(&pair, side, 0);
            assert_eq!((after.mtu_bytes, after.status), (found, PathStatus::Active));
            assert!(after.mtu_probes_sent >= 2 && after.mtu_probes_sent < 30);
            assert_eq!(after.mtu_probes_lost > 0, u32::from(limit) > truth);
            assert_eq!((after.timeouts, after.black_holes), (0, 0));
        }
        let after = path(&pair, Side::Client, 0);
        assert_eq!(
            (after.cwnd_bytes, after.ssthresh_bytes),
            (before.cwnd_bytes, before.ssthresh_bytes)
        );
        assert!(after.rto <= before.rto, "lost probes back nothing off");
        let failed = |event: &Event| matches!(event, Event::Path { change, .. } if *change != PathChange::MtuChanged);
        assert!(!pair.slot(Side::Client).events.iter().any(failed));
    }
}

#[test]
fn a_silent_black_hole_from_the_start_costs_no_timeout() {
    for form in [Form::Structured, Form::Encoded] {
        let mut setup = PairConfig { form, ..PairConfig::new(1, probing(1500)) };
        setup.paths[0].mtu = Some(1300);
        let mut pair = Pair::connected(setup);
        transfer(&mut pair, 500, 5000, secs(30));
        let path = path(&pair, Side::Client, 0);
        assert_eq!((path.timeouts, path.fast_retransmissions), (0, 0));
        pair.run_for(secs(30));
        assert!((1280..=1300).contains(&mtu(&pair, 0)));
    }
    // What probes are good for.
    let mut blind = PairConfig::new(1, config(Preset::Cmt));
    blind.paths[0].mtu = Some(1300);
    let mut pair = Pair::connected(blind);
    pair.send(Side::Client, message(0, 5000)).unwrap();
    pair.run_for(secs(600));
    assert_eq!(pair.slot(Side::Server).messages.len(), 0);
}

#[test]
fn a_black_hole_in_the_middle_of_a_transfer_is_survived() {
    for preset in [Preset::Rfc9260, Preset::Cmt, Preset::Recommended] {
        let mut config = probing(1500);
        config.policies = preset.policies();
        let mut pair = pair(&[1500], config);
        transfer(&mut pair, 200, 5000, secs(30));
        assert_eq!(mtu(&pair, 0), 1500);
        pair.paths[0].mtu = Some(1300);
        transfer(&mut pair, 400, 5000, secs(60));
        pair.run_for(secs(30));
        let path = path(&pair, Side::Client, 0);
        assert_eq!(path.black_holes, 1, "{preset:?}");
        assert!((1280..=1300).contains(&path.mtu_bytes), "{preset:?}: {}", path.mtu_bytes);
        assert_ne!(path.status, PathStatus::Inactive);
    }
}

/// What was cut for the larger MTU gets through nowhere, and heartbeats do: the user is told the reason.
#[test]
fn a_chunk_that_no_path_carries_ends_the_association_with_that_reason() {
    for paths in [1, 2] {
        let config = AssociationConfig {
            policies: Preset::Recommended.policies(),
            association_max_retrans: 20,
            ..probing(1500)
        };
        let mut pair = pair(&[1500, 1500][..paths], config);
        assert!(pair.run_until(secs(10), Pair::all_confirmed));
        transfer(&mut pair, 100, 5000, secs(30));
        for path in &mut pair.paths {
            (path.mtu, path.drops_fragments) = (Some(1300), true);
        }
        let began = pair.now;
        while pair.send(Side::Client, message(100, 5000)).is_ok() {}
        let end = |pair: &Pair| match pair.slot(Side::Client).events.last() {
            Some(Event::Ended(end)) => Some(end.clone()),
            _ => None,
        };
        assert!(pair.run_until(secs(3600), |pair| end(pair).is_some()), "{paths} paths");
        let Some(AssociationEnd::ChunkTooLarge { user_bytes }) = end(&pair) else {
            panic!("{paths} paths: {:?}", end(&pair));
        };
        assert!((1300..1500).contains(&user_bytes), "{paths} paths: {user_bytes} bytes");
        let lived = pair.now.since(began);
        assert!((secs(600)..secs(1200)).contains(&lived), "{paths} paths: {lived:?}");
    }
}

#[test]
fn an_mtu_that_grows_again_is_used_again() {
    let mut pair = pair(&[1400], probing(1500));
    pair.run_for(secs(60));
    assert_eq!(mtu(&pair, 0), 1400);
    pair.paths[0].mtu = Some(1500);
    transfer(&mut pair, 10, 5000, secs(10));
    pair.run_for(secs(530));
    assert_eq!(mtu(&pair, 0), 1400, "not before the raise timer");
    pair.run_for(secs(60));
    assert_eq!(mtu(&pair, 0), 1500);
}

#[test]
fn an_idle_association_is_left_in_peace() {
    let mut pair = pair(&[1400], probing(1500));
    pair.run_for(secs(60));
    let sent = path(&pair, Side::Client, 0).mtu_probes_sent;
    pair.run_for(secs(6000));
    assert_eq!(path(&pair, Side::Client, 0).mtu_probes_sent, sent);
}

#[test]
fn each_path_has_its_own_mtu_and_fragments_fit_all_of_them() {
    let mut pair = pair(&[1500, 1400, 9000], probing(9000));
    pair.run_for(secs(120));
    assert_eq!([0, 1, 2].map(|of| mtu(&pair, of)), [1500, 1400, 9000]);
    transfer(&mut pair, 300, 20_000, secs(60));
    let fragment = pair.slot(Side::Server).messages[0].fragments[0].len();
    assert_eq!(fragment, 1400 - 20 - 12 - 16);
    let per_packet = |of: usize| {
        let path = path(&pair, Side::Client, of);
        path.data_chunks_sent / path.data_packets_sent
    };
    // Six fit, and messages have an end.
    assert_eq!([0, 1, 2].map(per_packet), [1, 1, 5], "packets are filled to their path's MTU");
    // A path that fails no longer bounds fragments.
    pair.paths[1].faults.loss = 1000;
    transfer(&mut pair, 2000, 20_000, secs(600));
    assert_eq!(path(&pair, Side::Client, 1).status, PathStatus::Inactive);
    let fragment = pair.slot(Side::Server).messages.last().unwrap().fragments[0].len();
    assert_eq!(fragment, 1500 - 20 - 12 - 16);
}

#[test]
fn losses_and_outages_are_no_black_holes() {
    let faults = Faults { loss: 50, reordering: 50, ..Faults::default() };
    let mut setup = PairConfig::new(2, probing(1500));
    for path in &mut setup.paths {
        *path = PathModel { mtu: Some(1500), ..PathModel::default().with_faults(faults) };
    }
    let mut pair = Pair::connected(setup);
    transfer(&mut pair, 1000, 5000, secs(600));
    pair.run_for(secs(30));
    assert_eq!([mtu(&pair, 0), mtu(&pair, 1)], [1500, 1500]);
    for loss in [1000, 0] {
        pair.paths.iter_mut().for_each(|path| path.faults = Faults { loss, ..Faults::default() });
        pair.run_for(secs(15));
    }
    pair.run_for(secs(120));
    assert_eq!([mtu(&pair, 0), mtu(&pair, 1)], [1500, 1500]);
}

#[test]
fn routers_shorten_the_search() {
    let mut pair = pair(&[1350], probing(1500));
    pair.run_for(millis(30));
    assert_eq!(path(&pair, Side::Client, 0).mtu_probes_sent, 2, "1500 is on its way");
    let tell = |pair: &mut Pair, mtu_bytes| {
        let error = PathError::PacketTooBig { mtu_bytes };
        let now = pair.now;
        pair.hosts[0].command(now, 0, |association, cx| {
            association.handle_path_error(cx, PathId(0), error);
        });
        pair.hosts[0].settle(now, 0);
    };
    tell(&mut pair, 1350);
    assert_eq!(mtu(&pair, 0), 1220, "routers are not simply believed");
    pair.run_for(millis(100));
    let found = path(&pair, Side::Client, 0);
    assert_eq!((found.mtu_bytes, found.mtu_probes_sent), (1350, 3));
    for nonsense in [68, 1350, 1500, u32::MAX, 0] {
        tell(&mut pair, nonsense);
        assert_eq!(mtu(&pair, 0), 1350, "{nonsense}");
    }
}

#[test]
fn other_ways_send_no_probes() {
    for (discovery, shrunk) in
        [(None, 1300), (Some(PmtuDiscovery::Icmp), 1300), (Some(PmtuDiscovery::Fixed), 1500)]
    {
        let config = AssociationConfig { pmtu_discovery: discovery, ..config(Preset::Cmt) };
        let mut pair = Pair::connected(PairConfig::new(1, config));
        pair.run_for(secs(2000));
        assert_eq!(path(&pair, Side::Client, 0).mtu_probes_sent, 0);
        assert_eq!(mtu(&pair, 0), 1500);
        pair.hosts[0].command(pair.now, 0, |association, cx| {
            let error = PathError::PacketTooBig { mtu_bytes: 1300 };
            association.handle_path_error(cx, PathId(0), error);
        });
        assert_eq!(mtu(&pair, 0), shrunk, "{discovery:?}");
    }
}

/// The one packet that was sent, if it is a probe: its size as an IP packet, and what its heartbeat says.
fn probe(sent: &[Transmit]) -> (usize, Vec<u8>) {
    let [transmit] = sent else { panic!("{sent:?}") };
    let [Chunk::Heartbeat(info), Chunk::Pad(padding)] = &transmit.packet.chunks[..] else {
        panic!("{transmit:?}")
    };
    assert!(padding.as_slice().iter().all(|byte| *byte == 0));
    assert_eq!(transmit.fragmentation, Fragmentation::Forbidden);
    (20 + transmit.packet.encoded_len(), info.heartbeat_info().unwrap().to_vec())
}

fn heartbeat_ack(info: &[u8]) -> Chunk<'static> {
    Chunk::HeartbeatAck(Parameters::build([Parameter::HeartbeatInfo(info)]))
}

/// A client whose peer is played; its first probe was sent.
fn probed() -> (Victim, Vec<u8>) {
    let mut victim = Victim::connecting(probing(1500), &[ip(2)]);
    victim.receive(ip(2), vec![common::init_ack(&[])]);
    victim.sent();
    victim.receive(ip(2), vec![Chunk::CookieAck]);
    let (size, info) = probe(&victim.sent());
    assert_eq!((size, victim.path().mtu_bytes), (1220, 1220));
    (victim, info)
}

#[test]
fn a_probe_is_a_heartbeat_and_padding_and_its_answer_an_ordinary_one() {
    let (mut victim, info) = probed();
    victim.now += millis(50);
    // A peer that does not know PAD skips it, and answers the rest.
    victim.receive(ip(2), vec![heartbeat_ack(&info)]);
    let (size, info) = probe(&victim.sent());
    assert_eq!(size, 1500);
    // Whoever repeats the padding does no harm.
    let padding = Chunk::Pad(polypath_wire::Raw::Shared(vec![0; 1000].into()));
    victim.receive(ip(2), vec![heartbeat_ack(&info), padding]);
    assert_eq!(victim.path().mtu_bytes, 1500);
    assert_eq!(
        (victim.path().heartbeats_sent, victim.path().srtt),
        (0, None),
        "nothing is measured"
    );
    assert!(victim.sent().is_empty());
}

#[test]
fn only_the_true_answer_counts() {
    let (mut victim, info) = probed();
    let mut wrong_nonce = info.clone();
    wrong_nonce[5] ^= 1;
    let mut wrong_path = info.clone();
    wrong_path[0] = 9;
    for wrong in [&wrong_nonce[..], &wrong_path, &info[..9], &info[..12], &[]] {
        victim.receive(ip(2), vec![heartbeat_ack(wrong)]);
        assert!(victim.sent().is_empty());
    }
    victim.receive(ip(2), vec![heartbeat_ack(&info)]);
    assert_eq!(probe(&victim.sent()).0, 1500);
}

#[test]
fn data_never_travels_with_a_probe_and_does_not_wait_for_it() {
    let mut victim = Victim::connecting(probing(1500), &[ip(2)]);
    victim.receive(ip(2), vec![common::init_ack(&[])]);
    victim.sent();
    victim.send(3, 1000);
    victim.receive(ip(2), vec![Chunk::CookieAck]);
    let sent = victim.sent();
    probe(&sent[..1]);
    assert_eq!(common::data_chunks(&sent[1..]), 3);
}

/// A timeout makes the present size doubtful. The probe follows what is sent again: where a queue has room for one packet
/// only, every retransmission would be lost otherwise, and timeouts back off up to a minute.
#[test]
fn what_is_sent_again_goes_before_the_probe() {
    let (mut victim, info) = probed();
    victim.receive(ip(2), vec![heartbeat_ack(&info)]);
    let (size, info) = probe(&victim.sent());
    assert_eq!(size, 1500);
    victim.receive(ip(2), vec![heartbeat_ack(&info)]);
    victim.send(1, 1000);
    assert_eq!(common::data_chunks(&victim.sent()), 1);
    let sent = loop {
        assert!(victim.wait_for_timer());
        let sent = victim.sent();
        if !sent.is_empty() {
            break sent;
        }
    };
    assert_eq!((sent.len(), common::data_chunks(&sent[..1])), (2, 1), "{sent:?}");
    assert_eq!(probe(&sent[1..]).0, 1500);
}

#[test]
fn lost_probes_are_no_errors_of_the_path() {
    let (mut victim, _) = probed();
    let before = victim.path();
    // Heartbeats are answered, probes are not.
    for _ in 0..200 {
        victim.wait_for_timer();
        for transmit in victim.sent() {
            let chunks = &transmit.packet.chunks;
            if let [Chunk::Heartbeat(info)] = &chunks[..] {
                victim.receive(ip(2), vec![Chunk::HeartbeatAck(info.clone())]);
            }
        }
    }
    let after = victim.path();
    assert!(after.mtu_probes_lost > 10);
    assert_eq!((after.status, after.timeouts), (PathStatus::Active, 0));
    assert_eq!((after.cwnd_bytes, after.mtu_bytes), (before.cwnd_bytes, 1220));
    assert!(victim.association().is_established());
}

#[test]
fn full_fragments_fill_packets_of_the_mtu_that_is_sought() {
    let mut pair = pair(&[1500], probing(1500));
    let sought = path(&pair, Side::Client, 0).full_fragment_bytes;
    pair.run_for(secs(60));
    let found = path(&pair, Side::Client, 0);
    assert_eq!((found.mtu_bytes, found.full_fragment_bytes), (1500, sought));
    for (size, chunks) in [(sought, 1), (sought + 1, 2)] {
        let before = path(&pair, Side::Client, 0).data_chunks_sent;
        transfer(&mut pair, 1, size, secs(60));
        assert_eq!(path(&pair, Side::Client, 0).data_chunks_sent - before, chunks, "{size}");
    }
}
