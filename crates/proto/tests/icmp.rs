//! What hosts say by ICMP: that they do not take SCTP (RFC 9260 section 10).

use polypath_proto::config::{AssociationConfig, Preset};
use polypath_proto::{
    AssociationEnd, Duration, Encapsulation, Event, OutgoingMessage, PathId, PathStatus,
};
use polypath_testkit::{Pair, PairConfig, Side};
use polypath_wire::{Payload, VirtualPayload};

const UDP: Encapsulation = Encapsulation::Udp { local_port: 9899, remote_port: 9900 };

fn config(preset: Preset) -> AssociationConfig {
    AssociationConfig::with_preset(preset)
}

fn message(number: u64) -> OutgoingMessage {
    let payload = Payload::Virtual(VirtualPayload { message: number, offset: 0, len: 1400 });
    OutgoingMessage { ppid: number as u32, ..OutgoingMessage::from_payload(0, payload) }
}

/// Tells one side that the host at the other end of a path does not take SCTP; the message quotes a packet with a verification
/// tag that differs by `tag_error`.
fn deny(pair: &mut Pair, side: Side, path: u8, carried: Encapsulation, tag_error: u32) {
    let other = if side == Side::Client { Side::Server } else { Side::Client };
    let tag = pair.slot(other).association.identity().local_tag ^ tag_error;
    let own = pair.slot(side).association.identity();
    let ports = [own.local_port.to_be_bytes(), own.remote_port.to_be_bytes()];
    let quoted = [&ports.concat()[..], &tag.to_be_bytes()].concat();
    let (now, host) = (pair.now, side as usize);
    pair.hosts[host].command(now, 0, |association, cx| {
        association.handle_protocol_unreachable(cx, PathId(path), carried, &quoted);
    });
    pair.hosts[host].settle(now, 0);
}

fn has_ended(pair: &Pair) -> bool {
    let ended = Event::Ended(AssociationEnd::ProtocolUnreachable);
    pair.slot(Side::Client).events.last() == Some(&ended)
}

fn arrived(pair: &mut Pair, count: usize) -> bool {
    pair.run_until(Duration::from_secs(20), |pair| pair.slot(Side::Server).messages.len() == count)
}

#[test]
fn icmp_is_believed_about_packets_that_were_sent_only() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
    assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
    let client = &pair.slot(Side::Client).association;
    let server = &pair.slot(Side::Server).association;
    let tag = server.identity().local_tag;
    let header = |source: u16, destination: u16, tag: u32| {
        [&source.to_be_bytes()[..], &destination.to_be_bytes(), &tag.to_be_bytes()].concat()
    };
    let (near, far) = (client.identity().local_port, client.identity().remote_port);
    let init = |initiate_tag: u32, kind: u8| {
        let chunk = [&[0; 4][..], &[kind, 0, 0, 20], &initiate_tag.to_be_bytes()].concat();
        [header(near, far, 0), chunk].concat()
    };
    let own = client.identity().local_tag;
    for (quoted, believed) in [
        (header(near, far, tag), true),
        (header(near, far, tag ^ 1), false),
        (header(near, far, own), false),
        (header(far.wrapping_add(1), far, tag), false),
        (header(near, far.wrapping_add(1), tag), false),
        // ICMP that quotes too little, and INIT, which has no verification tag.
        (header(near, far, tag)[..7].to_vec(), false),
        (header(near, far, 0), false),
        (init(own, 1), true),
        (init(own ^ 1, 1), false),
        (init(own, 2), false),
    ] {
        assert_eq!(client.has_sent(&quoted), believed, "{quoted:x?}");
    }
}

/// A Linux host says of packets that it has no room for what it says of those that nobody wants.
#[test]
fn a_host_that_stands_still_for_seconds_takes_sctp() {
    let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Recommended)));
    for number in 0..40 {
        pair.send(Side::Client, message(number)).unwrap();
    }
    // Neither who sends data nor who acknowledges it believes the other to be gone, however many packets find no room.
    pair.paths[0].faults.loss = 1000;
    for _ in 0..16 {
        deny(&mut pair, Side::Client, 0, Encapsulation::None, 0);
        deny(&mut pair, Side::Server, 0, Encapsulation::None, 0);
        pair.run_for(Duration::from_millis(300));
    }
    pair.paths[0].faults.loss = 0;
    assert!(arrived(&mut pair, 40));
    // What was said before the peer was heard again does not count.
    deny(&mut pair, Side::Client, 0, Encapsulation::None, 0);
    pair.send(Side::Client, message(40)).unwrap();
    assert!(arrived(&mut pair, 41) && !has_ended(&pair));
}

#[test]
fn a_host_where_nobody_takes_sctp_any_more_is_believed_in_time() {
    let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Recommended)));
    pair.send(Side::Client, message(0)).unwrap();
    pair.run_for(Duration::from_secs(1));
    pair.paths[0].faults.loss = 1000;
    pair.send(Side::Client, message(1)).unwrap();
    deny(&mut pair, Side::Client, 0, Encapsulation::None, 0);
    pair.run_for(Duration::from_millis(4999));
    deny(&mut pair, Side::Client, 0, Encapsulation::None, 0);
    assert!(!has_ended(&pair));
    pair.run_for(Duration::from_millis(1));
    deny(&mut pair, Side::Client, 0, Encapsulation::None, 0);
    assert!(has_ended(&pair));
}

/// Heartbeats that a side has sent on a path.
fn heartbeats(pair: &Pair, side: Side, path: usize) -> u64 {
    pair.slot(side).association.path_stats()[path].heartbeats_sent
}

/// Who has no data to send hears of a peer that is gone by the packets that say so only, and sends few.
#[test]
fn who_only_receives_asks_whether_anybody_is_there() {
    for paths in [1_usize, 2] {
        let mut pair = Pair::connected(PairConfig::new(paths, config(Preset::Recommended)));
        assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
        pair.send(Side::Client, message(0)).unwrap();
        assert!(arrived(&mut pair, 1));
        pair.run_for(Duration::from_secs(1));
        pair.paths.iter_mut().for_each(|path| path.faults.loss = 1000);
        let began = pair.now;
        // Of an acknowledgement.
        deny(&mut pair, Side::Server, 0, Encapsulation::None, 0);
        let ended = Event::Ended(AssociationEnd::ProtocolUnreachable);
        while pair.slot(Side::Server).events.last() != Some(&ended) {
            let before: Vec<u64> =
                (0..paths).map(|path| heartbeats(&pair, Side::Server, path)).collect();
            pair.run_for(Duration::from_millis(10));
            for (path, before) in before.iter().enumerate() {
                if heartbeats(&pair, Side::Server, path) > *before {
                    deny(&mut pair, Side::Server, path as u8, Encapsulation::None, 0);
                }
            }
            let patience = Duration::from_secs(10) * paths as u64;
            assert!(pair.now.since(began) < patience, "{paths} paths");
        }
    }
}

/// A path that stays lost is no reason to ask over the other again and again.
#[test]
fn the_other_path_is_asked_once() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Recommended)));
    assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
    pair.paths[0].faults.loss = 1000;
    deny(&mut pair, Side::Client, 0, Encapsulation::None, 0);
    pair.run_for(Duration::from_secs(5));
    let before = heartbeats(&pair, Side::Client, 1);
    for _ in 0..18 {
        deny(&mut pair, Side::Client, 0, Encapsulation::None, 0);
        pair.run_for(Duration::from_secs(1));
    }
    let path = &pair.slot(Side::Client).association.path_stats()[0];
    assert_eq!(path.status, PathStatus::Inactive);
    assert_eq!(heartbeats(&pair, Side::Client, 1), before + 1);
}

#[test]
fn a_host_that_answers_is_asked_no_more() {
    let mut pair = Pair::connected(PairConfig::new(1, config(Preset::Recommended)));
    pair.send(Side::Client, message(0)).unwrap();
    assert!(arrived(&mut pair, 1));
    pair.run_for(Duration::from_secs(1));
    let before = heartbeats(&pair, Side::Server, 0);
    for _ in 0..100 {
        deny(&mut pair, Side::Server, 0, Encapsulation::None, 0);
    }
    pair.run_for(Duration::from_secs(20));
    assert_eq!(heartbeats(&pair, Side::Server, 0), before + 1);
}

#[test]
fn a_host_that_does_not_take_sctp_ends_its_last_path_only() {
    let mut pair = Pair::connected(PairConfig::new(2, config(Preset::Cmt)));
    assert!(pair.run_until(Duration::from_secs(5), Pair::all_confirmed));
    let over_ip = Encapsulation::None;
    pair.paths.iter_mut().for_each(|path| path.faults.loss = 1000);
    let statuses = |pair: &Pair| {
        let paths = pair.slot(Side::Client).association.path_stats();
        paths.iter().map(|path| path.status).collect::<Vec<_>>()
    };
    deny(&mut pair, Side::Client, 0, over_ip, 0);
    deny(&mut pair, Side::Client, 1, over_ip, 0);
    pair.run_for(Duration::from_secs(5));
    // Forged, and about a UDP port that the peer does not have.
    deny(&mut pair, Side::Client, 0, over_ip, 1);
    deny(&mut pair, Side::Client, 0, UDP, 0);
    assert_eq!(statuses(&pair), [PathStatus::Active, PathStatus::Active]);
    for _ in 0..2 {
        deny(&mut pair, Side::Client, 0, over_ip, 0);
        assert_eq!(statuses(&pair), [PathStatus::Inactive, PathStatus::Active]);
    }
    deny(&mut pair, Side::Client, 1, over_ip, 0);
    assert!(has_ended(&pair));
}
