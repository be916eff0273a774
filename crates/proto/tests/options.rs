//! Parameters that are changed while an association lives (RFC 6458 section 8).

mod common;

use common::{Victim, config, data, data_chunks, ip, message, millis, sack, secs};
use polypath_proto::config::{
    AssociationConfig, AssociationOptions, ConfigError, Heartbeats, LongMessages, PathOptions,
    PathOptionsError, PmtuDiscovery, Preset, SmallMessages,
};
use polypath_proto::{AssociationEnd, Duration, Event, Instant, PathChange, PathId, SendError};
use polypath_testkit::{Faults, Pair, PairConfig, Side};

const NONE: PathOptions = PathOptions {
    heartbeats: None,
    max_retrans: None,
    pf_threshold: None,
    pmtu_discovery: None,
    mtu_bytes: None,
    sack_delay: None,
    sack_packets: None,
    dscp: None,
    ipv6_flow_label: None,
};

fn set(pair: &mut Pair, side: Side, options: &AssociationOptions) -> Result<(), ConfigError> {
    let now = pair.now;
    pair.hosts[side as usize]
        .command(now, 0, |association, cx| association.set_options(cx, options))
}

fn set_path(pair: &mut Pair, path: u8, options: &PathOptions) -> Result<(), PathOptionsError> {
    let now = pair.now;
    pair.hosts[0]
        .command(now, 0, |association, cx| association.set_path_options(cx, PathId(path), options))
}

fn heartbeats(pair: &Pair, path: usize) -> u64 {
    pair.slot(Side::Client).association.path_stats()[path].heartbeats_sent
}

#[test]
fn what_is_set_can_be_read_and_what_is_wrong_changes_nothing() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::CmtPf)));
    let before = pair.slot(Side::Client).association.options();
    let wrong = AssociationOptions {
        association_max_retrans: Some(99),
        rto_max: Some(millis(1)),
        ..AssociationOptions::default()
    };
    assert_eq!(set(&mut pair, Side::Client, &wrong).unwrap_err().key, "policies.rto.max");
    assert_eq!(pair.slot(Side::Client).association.options(), before);

    let right = AssociationOptions { rto_max: Some(secs(9)), ..AssociationOptions::default() };
    set(&mut pair, Side::Client, &right).unwrap();
    let after = AssociationOptions { rto_max: Some(secs(9)), ..before };
    assert_eq!(pair.slot(Side::Client).association.options(), after);

    let own = PathOptions {
        heartbeats: Some(Heartbeats::Off),
        max_retrans: Some(1),
        pf_threshold: Some(0),
        pmtu_discovery: Some(PmtuDiscovery::Fixed),
        mtu_bytes: Some(1300),
        sack_delay: Some(millis(30)),
        sack_packets: Some(4),
        dscp: Some(10),
        ipv6_flow_label: Some(77),
    };
    let others = pair.slot(Side::Client).association.path_options(PathId(0));
    set_path(&mut pair, 1, &own).unwrap();
    let association = &pair.slot(Side::Client).association;
    assert_eq!(association.path_options(PathId(1)), Some(own));
    assert_eq!(association.path_options(PathId(0)), others, "another path");
    assert_eq!(association.path_stats()[1].mtu_bytes, 1300);
    assert_eq!(association.path_options(PathId(9)), None);
    let refused = set_path(&mut pair, 9, &own);
    assert_eq!(refused, Err(PathOptionsError::NoSuchPath));
    let small = PathOptions { mtu_bytes: Some(500), ..NONE };
    let Err(PathOptionsError::Invalid(error)) = set_path(&mut pair, 1, &small) else {
        panic!("too small")
    };
    assert_eq!((error.key, error.problem.as_str()), ("mtu_bytes", "500 is not from 576 to 1500"));
    // What the association has serves the paths that have none of their own.
    let all = AssociationOptions { path_max_retrans: Some(7), ..AssociationOptions::default() };
    set(&mut pair, Side::Client, &all).unwrap();
    let association = &pair.slot(Side::Client).association;
    let limits = [0, 1].map(|path| association.path_options(PathId(path)).unwrap().max_retrans);
    assert_eq!(limits, [Some(7), Some(1)]);
}

#[test]
fn heartbeats_follow_their_interval_at_once() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
    pair.run_for(secs(5));
    let off = AssociationOptions { heartbeats: Some(Heartbeats::Off), ..Default::default() };
    set(&mut pair, Side::Client, &off).unwrap();
    let before = [0, 1].map(|path| heartbeats(&pair, path));
    pair.run_for(secs(300));
    assert_eq!([0, 1].map(|path| heartbeats(&pair, path)), before, "off");

    set_path(&mut pair, 1, &PathOptions { heartbeats: Some(Heartbeats::Every(secs(2))), ..NONE })
        .unwrap();
    pair.run_for(secs(60));
    assert_eq!(heartbeats(&pair, 0), before[0]);
    let sent = heartbeats(&pair, 1) - before[1];
    assert!(
        (15..=25).contains(&sent),
        "{sent} in 60 s, each 2 s and an RTO of 1 s after the other"
    );

    let now = pair.now;
    for (path, expected) in [(0, Ok(())), (5, Err(SendError::NoSuchPath))] {
        let asked = pair.hosts[0]
            .command(now, 0, |association, cx| association.request_heartbeat(cx, PathId(path)));
        assert_eq!(asked, expected);
    }
    assert_eq!(heartbeats(&pair, 0), before[0] + 1, "on demand");
}

#[test]
fn a_path_fails_by_its_own_limit() {
    for (limit, most) in [(0, secs(10)), (3, secs(60))] {
        let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
        let own = PathOptions {
            max_retrans: Some(limit),
            heartbeats: Some(Heartbeats::Every(secs(1))),
            ..NONE
        };
        set_path(&mut pair, 1, &own).unwrap();
        pair.paths[1].faults = Faults { loss: 1000, ..Faults::default() };
        let begun = pair.now;
        let failed = |pair: &Pair| pair.path_changes(Side::Client, PathChange::Unreachable) == [1];
        assert!(pair.run_until(secs(300), failed));
        let took = pair.now.since(begun);
        assert!(took <= most, "{limit}: {took:?}");
        assert!(limit == 0 || took > secs(10), "{limit}: {took:?}");
    }
}

#[test]
fn timeouts_keep_to_the_bounds_that_are_set() {
    let slow = [secs(3), secs(3), secs(60)];
    let quick = [millis(100), millis(200), millis(300)];
    for ([min, initial, max], expected) in [(slow, 0..=0), (quick, 6..=9)] {
        let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Rfc9260)));
        let bounds = AssociationOptions {
            rto_min: Some(min),
            rto_initial: Some(initial),
            rto_max: Some(max),
            ..AssociationOptions::default()
        };
        set(&mut pair, Side::Client, &bounds).unwrap();
        pair.send(Side::Client, message(0, 100)).unwrap();
        pair.run_for(secs(5));
        pair.paths[0].faults = Faults { loss: 1000, ..Faults::default() };
        pair.send(Side::Client, message(1, 100)).unwrap();
        pair.run_for(secs(2));
        let timeouts = pair.slot(Side::Client).association.path_stats()[0].timeouts;
        assert!(expected.contains(&timeouts), "{min:?} to {max:?}: {timeouts}");
        pair.run_for(secs(2));
        let timeouts = pair.slot(Side::Client).association.path_stats()[0].timeouts;
        assert!(timeouts > 0, "{min:?} to {max:?}");
    }
}

#[test]
fn acknowledgements_wait_as_long_as_they_are_told() {
    for (delay, packets, expected) in [(0, 2, 0), (70, 2, 70), (500, 2, 500), (500, 1, 0)] {
        let mut victim = Victim::established(config(Preset::Rfc9260));
        // The first one is acknowledged at once.
        victim.receive(ip(2), vec![data(1)]);
        victim.sent();
        let options = AssociationOptions {
            sack_delay: Some(millis(delay)),
            sack_packets: Some(packets),
            ..Default::default()
        };
        let now = victim.now;
        victim.host.command(now, 0, |it, cx| it.set_options(cx, &options)).unwrap();
        victim.receive(ip(2), vec![data(2)]);
        let begun = victim.now;
        while victim.sent().is_empty() {
            assert!(victim.wait_for_timer());
        }
        assert_eq!(victim.now.since(begun), millis(expected), "{delay} ms, {packets} packets");
    }
}

/// `SCTP_DELAYED_SACK` with an address. The victim's paths come from 10.0.0.2 and 10.0.1.2.
#[test]
fn a_path_delays_acknowledgements_by_what_it_has_of_its_own() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Rfc9260)));
    let now = pair.now;
    let own = PathOptions { sack_delay: Some(millis(30)), ..NONE };
    pair.hosts[1].command(now, 0, |it, cx| it.set_path_options(cx, PathId(1), &own)).unwrap();
    let all = AssociationOptions { sack_packets: Some(9), ..Default::default() };
    set(&mut pair, Side::Server, &all).unwrap();
    let read = |pair: &Pair, path| {
        let options = pair.slot(Side::Server).association.path_options(PathId(path)).unwrap();
        (options.sack_delay.unwrap(), options.sack_packets.unwrap())
    };
    assert_eq!([read(&pair, 0), read(&pair, 1)], [(millis(200), 9), (millis(30), 9)]);
    // The first data is answered at once, on either path.
    pair.send(Side::Client, message(0, 100)).unwrap();
    pair.run_for(secs(2));
    for (path, delay) in [(0, millis(200)), (1, millis(30)), (0, millis(200))] {
        pair.hosts[0].command(pair.now, 0, |it, _| it.set_primary(PathId(path))).unwrap();
        pair.send(Side::Client, message(1, 100)).unwrap();
        let begun = pair.now;
        let acknowledged =
            |pair: &Pair| pair.slot(Side::Client).association.stats().send_buffer_bytes == 0;
        assert!(pair.run_until(secs(2), acknowledged));
        let took = pair.now.since(begun);
        assert!((delay..delay + millis(29)).contains(&took), "path {path}: {took:?}");
    }
}

/// Packets of a path have what the path has of its own, all others what the association has, from INIT on.
#[test]
fn packets_say_which_traffic_they_are() {
    let marked = AssociationConfig { dscp: 46, ipv6_flow_label: 5, ..config(Preset::Rfc9260) };
    let mut victim = Victim::established(marked);
    let mut sent = |own: PathOptions, all: AssociationOptions| {
        let now = victim.now;
        victim.host.command(now, 0, |it, cx| it.set_options(cx, &all)).unwrap();
        victim.host.command(now, 0, |it, cx| it.set_path_options(cx, PathId(0), &own)).unwrap();
        victim.send(1, 100);
        let sent = victim.sent();
        assert!(!sent.is_empty());
        sent.iter().map(|it| (it.traffic.dscp, it.traffic.flow_label)).next_back().unwrap()
    };
    let all = AssociationOptions::default;
    assert_eq!(sent(NONE, all()), (46, 5));
    assert_eq!(sent(PathOptions { dscp: Some(10), ..NONE }, all()), (10, 5));
    assert_eq!(sent(NONE, AssociationOptions { ipv6_flow_label: Some(6), ..all() }), (10, 6));
    let own = PathOptions { dscp: Some(0), ipv6_flow_label: Some(0), ..NONE };
    assert_eq!(sent(own, all()), (0, 0), "off again");
}

#[test]
fn long_messages_are_cut_or_refused_as_wanted() {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    let mut options = AssociationOptions { max_fragment_bytes: Some(100), ..Default::default() };
    let now = victim.now;
    victim.host.command(now, 0, |it, cx| it.set_options(cx, &options)).unwrap();
    victim.send(1, 950);
    assert_eq!(data_chunks(&victim.sent()), 10);
    options.long_messages = Some(LongMessages::Refuse);
    victim.host.command(now, 0, |it, cx| it.set_options(cx, &options)).unwrap();
    for (size, expected) in
        [(100, Ok(())), (101, Err(SendError::NeedsFragments { size: 101, limit: 100 }))]
    {
        assert_eq!(victim.host.send(now, 0, message(7, size)), expected);
    }
}

#[test]
fn small_messages_wait_until_the_option_is_switched_off() {
    let small = |small_messages| AssociationOptions { small_messages, ..Default::default() };
    let config =
        AssociationConfig { small_messages: SmallMessages::Bundled, ..config(Preset::Rfc9260) };
    let mut victim = Victim::established(config);
    victim.send(2, 50);
    let sent = victim.sent();
    assert_eq!((sent.len(), data_chunks(&sent)), (1, 1), "the second one waits");
    let (now, first) = (victim.now, victim.first_tsn());
    victim.receive(ip(2), vec![sack(first, 100_000, &[])]);
    assert_eq!(data_chunks(&victim.sent()), 1, "no longer");
    victim.send(2, 50);
    assert_eq!(data_chunks(&victim.sent()), 0);
    let off = small(Some(SmallMessages::Immediate));
    victim.host.command(now, 0, |it, cx| it.set_options(cx, &off)).unwrap();
    victim.host.settle(now, 0);
    assert_eq!(data_chunks(&victim.sent()), 2, "at once");
    victim.send(1, 50);
    assert_eq!(data_chunks(&victim.sent()), 1);
    let on = small(Some(SmallMessages::Bundled));
    victim.host.command(now, 0, |it, cx| it.set_options(cx, &on)).unwrap();
    victim.send(1, 50);
    assert_eq!(data_chunks(&victim.sent()), 0);
    victim.host.shutdown(now, 0);
    assert_eq!(data_chunks(&victim.sent()), 1, "at the end, nothing is held back");
}

#[test]
fn buffers_change_their_size() {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    let now = victim.now;
    let mut options = AssociationOptions { send_buffer_bytes: Some(2000), ..Default::default() };
    victim.host.command(now, 0, |it, cx| it.set_options(cx, &options)).unwrap();
    let too_large = SendError::MessageTooLarge { size: 3000, limit: 2000 };
    assert_eq!(victim.host.send(now, 0, message(0, 3000)), Err(too_large));
    options.send_buffer_bytes = Some(4000);
    options.receive_buffer_bytes = Some(3 << 20);
    victim.host.command(now, 0, |it, cx| it.set_options(cx, &options)).unwrap();
    assert_eq!(victim.host.send(now, 0, message(0, 3000)), Ok(()));
    assert_eq!(victim.association().options().receive_buffer_bytes, Some(3 << 20));
    let smaller = AssociationOptions { receive_buffer_bytes: Some(2 << 20), ..Default::default() };
    let error = victim.host.command(now, 0, |it, cx| it.set_options(cx, &smaller)).unwrap_err();
    assert_eq!(error.key, "receive_buffer_bytes");
}

/// When an association ended gracefully.
fn end(pair: &mut Pair, limit: Duration) -> Option<Instant> {
    let ended = |pair: &Pair| {
        let last = pair.slot(Side::Server).events.last();
        last == Some(&Event::Ended(AssociationEnd::ShutdownComplete))
    };
    pair.run_until(limit, ended).then_some(pair.now)
}

#[test]
fn an_idle_association_shuts_down_after_its_time() {
    let closing = AssociationConfig { autoclose: Some(secs(20)), ..config(Preset::Rfc9260) };
    // From the handshake on, at the side that has it.
    let mut pair = Pair::connected(PairConfig {
        client: closing.clone(),
        ..PairConfig::new(1, config(Preset::Rfc9260))
    });
    let begun = pair.now;
    let ended = end(&mut pair, secs(100)).unwrap();
    assert!((secs(19)..=secs(27)).contains(&ended.since(begun)), "{:?}", ended.since(begun));

    // Later, and data of either side puts it off.
    for talker in [Side::Client, Side::Server] {
        let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Rfc9260)));
        let mut options = AssociationOptions { autoclose: Some(secs(20)), ..Default::default() };
        set(&mut pair, Side::Client, &options).unwrap();
        for number in 0..10 {
            pair.send(talker, message(number, 100)).unwrap();
            assert_eq!(end(&mut pair, secs(15)), None);
        }
        options.autoclose = Some(Duration::ZERO);
        set(&mut pair, Side::Client, &options).unwrap();
        assert_eq!(end(&mut pair, secs(1000)), None, "off again");
        options.autoclose = Some(secs(4));
        set(&mut pair, Side::Client, &options).unwrap();
        let begun = pair.now;
        let ended = end(&mut pair, secs(100)).unwrap();
        assert!((secs(4)..=secs(6)).contains(&ended.since(begun)), "{:?}", ended.since(begun));
    }
}
