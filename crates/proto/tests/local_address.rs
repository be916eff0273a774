//! Local addresses that come and go while an association lives.

mod common;

use std::net::IpAddr;

use common::{config, message, secs};
use polypath_proto::config::{AssociationConfig, EndpointConfig, PathPairing, Preset, SourceRoute};
use polypath_proto::{AssociationEnd, Event, LocalAddressChange, PathId, PathStatus};
use polypath_testkit::{Host, Pair, PairConfig, Side};

fn change(pair: &mut Pair, change: LocalAddressChange) {
    let now = pair.now;
    pair.hosts[0].command(now, 0, |association, cx| association.handle_local_address(cx, change));
    // What follows is polled with the next message.
    pair.run_for(secs(0));
}

fn status(pair: &Pair) -> Vec<(IpAddr, PathStatus)> {
    let paths = pair.slot(Side::Client).association.path_stats();
    paths.iter().map(|path| (path.local, path.status)).collect()
}

fn deliver(pair: &mut Pair, from: u64, count: u64) {
    for number in from..from + count {
        pair.send(Side::Client, message(number, 1400)).unwrap();
    }
    let arrived = |pair: &Pair| pair.slot(Side::Server).messages.len() as u64 == from + count;
    assert!(pair.run_until(secs(100), arrived), "{:?}", status(pair));
}

#[test]
fn a_lost_address_closes_its_paths_and_gets_them_back() {
    for heartbeat_interval in [Some(secs(30)), None] {
        let config = AssociationConfig { heartbeat_interval, ..config(Preset::Cmt) };
        let mut pair = Pair::connected(PairConfig::new(2, config));
        assert!(pair.run_until(secs(60), Pair::all_confirmed));
        let lost = pair.addresses(Side::Client)[0];
        for number in 0..100 {
            pair.send(Side::Client, message(number, 1400)).unwrap();
        }
        change(&mut pair, LocalAddressChange::Removed(lost));
        deliver(&mut pair, 100, 100);
        let before = pair.slot(Side::Client).association.path_stats().remove(0);
        assert_eq!((before.path, before.status), (PathId(0), PathStatus::Inactive));
        assert!(before.data_packets_sent > 0);
        pair.run_for(secs(100));
        deliver(&mut pair, 200, 100);
        let after = pair.slot(Side::Client).association.path_stats().remove(0);
        assert_eq!(after.status, PathStatus::Inactive);
        assert_eq!(after.packets_sent, before.packets_sent, "nothing goes out from there");

        change(&mut pair, LocalAddressChange::Added(lost));
        deliver(&mut pair, 300, 100);
        pair.run_for(secs(5));
        let back = pair.slot(Side::Client).association.path_stats().remove(0);
        assert_eq!((back.path, back.status), (PathId(0), PathStatus::Active));
        assert!(back.packets_sent > before.packets_sent, "counters go on");
        deliver(&mut pair, 400, 100);
        let used = pair.slot(Side::Client).association.path_stats().remove(0);
        assert!(used.data_packets_sent > before.data_packets_sent);
    }
}

#[test]
fn a_new_address_gets_a_path_that_is_probed_first() {
    let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Cmt)));
    let new: IpAddr = "10.9.9.9".parse().unwrap();
    change(&mut pair, LocalAddressChange::Added(new));
    assert_eq!(status(&pair).last(), Some(&(new, PathStatus::Unconfirmed)));
    deliver(&mut pair, 0, 100);
    let paths = pair.slot(Side::Client).association.path_stats();
    assert_eq!(paths[1].path, PathId(1));
    assert_eq!(paths[1].data_packets_sent, 0, "nothing answered");
    assert!(paths[1].heartbeats_sent > 0);
    // The same again changes nothing; the last address stays.
    change(&mut pair, LocalAddressChange::Added(new));
    change(&mut pair, LocalAddressChange::Removed(new));
    let old = status(&pair)[0].0;
    change(&mut pair, LocalAddressChange::Removed(old));
    assert_eq!(status(&pair), [(old, PathStatus::Active), (new, PathStatus::Inactive)]);
    deliver(&mut pair, 100, 10);
}

/// A host moves to another network: it loses all of its addresses, and then gets one.
#[test]
fn another_address_takes_the_place_of_the_last_one_that_was_lost() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    let [old, mut server] = [Side::Client, Side::Server].map(|side| pair.addresses(side));
    let new: IpAddr = "10.9.9.9".parse().unwrap();
    for lost in &old {
        change(&mut pair, LocalAddressChange::Removed(*lost));
    }
    change(&mut pair, LocalAddressChange::Added(new));
    let paths = pair.slot(Side::Client).association.path_stats();
    let of_old = paths.iter().filter(|path| path.local != new);
    assert!(of_old.clone().count() >= 2);
    assert!(of_old.clone().all(|path| path.status == PathStatus::Inactive), "{paths:?}");
    let of_new = paths.iter().filter(|path| path.local == new);
    let mut reached: Vec<_> = of_new.map(|path| path.remote).collect();
    reached.sort_unstable();
    server.sort_unstable();
    assert_eq!(reached, server, "every address of the peer is tried from the new one");
    // The last one that was lost is back, and stays when the next address comes.
    change(&mut pair, LocalAddressChange::Removed(new));
    change(&mut pair, LocalAddressChange::Added(old[1]));
    change(&mut pair, LocalAddressChange::Removed(old[1]));
    change(&mut pair, LocalAddressChange::Added(old[1]));
    change(&mut pair, LocalAddressChange::Added(new));
    deliver(&mut pair, 0, 100);
    let paths = pair.slot(Side::Client).association.path_stats();
    assert!(paths.iter().any(|path| path.local == old[1] && path.status == PathStatus::Active));
}

/// Nothing else would ever find out that nobody is there: no data goes out, so no timer runs.
#[test]
fn a_host_that_is_left_without_a_working_path_gives_up() {
    for heartbeat_interval in [Some(secs(30)), None] {
        let config = AssociationConfig { heartbeat_interval, ..config(Preset::Cmt) };
        let mut pair = Pair::connected(PairConfig::new(1, config));
        let [old, nowhere] = [pair.addresses(Side::Client)[0], "10.9.9.9".parse().unwrap()];
        change(&mut pair, LocalAddressChange::Added(nowhere));
        change(&mut pair, LocalAddressChange::Removed(old));
        pair.send(Side::Client, message(0, 1400)).unwrap();
        let ended = |pair: &Pair| {
            let events = &pair.slot(Side::Client).events;
            events.last() == Some(&Event::Ended(AssociationEnd::Unreachable))
        };
        assert!(pair.run_until(secs(1200), ended), "{heartbeat_interval:?}: {:?}", status(&pair));
    }
}

/// The table of paths that a restart makes can be shorter than the one in which the handshake had its path.
#[test]
fn an_address_is_lost_after_a_restart_with_fewer_paths() {
    let mut config = config(Preset::Cmt);
    config.path_pairing = PathPairing::Rfc9260;
    let mut pair = PairConfig::new(2, config.clone());
    // Only the last address of both sides works at first.
    pair.paths[0].faults.loss = 1000;
    let mut pair = Pair::connected(pair);
    pair.run_for(secs(10));
    assert_eq!(pair.slot(Side::Client).association.path_stats().len(), 2);
    // The server is born again with its last address, and calls.
    let [client, server] = [Side::Client, Side::Server].map(|side| pair.addresses(side));
    let listening = EndpointConfig { listening: true, ..Default::default() };
    let port = pair.hosts[0].endpoint.local_port();
    pair.hosts[1] = Host::new(77, listening, 5001, &server[1..], pair.now);
    pair.hosts[1].connect(pair.now, config, port, &client[1..]).unwrap();
    pair.run_for(secs(10));
    let restarted = |event: &Event| matches!(event, Event::Restarted { .. });
    assert!(pair.slot(Side::Client).events.iter().any(restarted));
    assert_eq!(pair.slot(Side::Client).association.path_stats().len(), 1);
    change(&mut pair, LocalAddressChange::Removed(client[0]));
    deliver(&mut pair, 0, 10);
}

#[test]
fn routes_that_become_known_open_their_pairs() {
    let config = AssociationConfig { path_pairing: PathPairing::ByRoute, ..config(Preset::Cmt) };
    let mut pair = Pair::connected(PairConfig::new(2, config));
    let (local, remote) = (pair.addresses(Side::Client), pair.addresses(Side::Server));
    let routes = [
        SourceRoute { remote: remote[0], local: local[1] },
        SourceRoute { remote: remote[1], local: local[1] },
    ];
    let now = pair.now;
    pair.hosts[0].command(now, 0, |association, cx| association.handle_routes(cx, &routes));
    deliver(&mut pair, 0, 100);
    let paths = pair.slot(Side::Client).association.path_stats();
    let pairs: Vec<_> = paths.iter().map(|path| (path.local, path.remote)).collect();
    assert_eq!(
        pairs,
        [(local[0], remote[0]), (local[1], remote[1]), (local[1], remote[0])],
        "the pairs of before stay"
    );
}

#[test]
fn an_address_that_means_nothing_to_the_peer_gets_no_path() {
    let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Cmt)));
    for address in ["127.0.0.7", "169.254.1.1", "224.0.0.9"] {
        change(&mut pair, LocalAddressChange::Added(address.parse().unwrap()));
    }
    assert_eq!(status(&pair).len(), 1);
}
