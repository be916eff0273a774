//! Explicit congestion notification (draft-stewart-tsvwg-sctpecn) between whole stacks, and against a peer that the test plays: what is
//! marked reduces the window of its path, once per round trip; nothing is lost; lies and paths that do not bear ECN do no harm.

mod common;

use common::{PEER_WINDOW, Victim, config, data, init_ack_with, ip, message, millis, sack, secs};
use polypath_proto::config::{
    AssociationConfig, CongestionAlgorithm, ExplicitCongestionNotification, FastRecoveryScope,
    NrSack, Preset, Reduction,
};
use polypath_proto::{AssociationStats, Ecn, PathEcn, PathId, PathStats, ProbeEvent, Transmit};
use polypath_testkit::{Capable, Form, Pair, PairConfig, Side};
use polypath_wire::{Chunk, Cwr, Ecne, Parameter};

fn on(preset: Preset) -> AssociationConfig {
    let mut config = AssociationConfig { heartbeat_interval: None, ..config(preset) };
    config.policies.explicit_congestion_notification = ExplicitCongestionNotification::On;
    config
}

/// Two hosts with paths that do this to what is ECN-capable.
fn pair_config(config: AssociationConfig, paths: &[Capable]) -> PairConfig {
    let mut pair = PairConfig::new(paths.len(), config);
    for (path, &capable) in pair.paths.iter_mut().zip(paths) {
        path.capable = capable;
    }
    pair
}

/// Sends so many messages of a packet each to the server and waits until all have arrived.
fn deliver(pair: &mut Pair, count: u64) {
    let arrived = |pair: &Pair| pair.slot(Side::Server).messages.len() as u64;
    let before = arrived(pair);
    let end = pair.now + secs(300);
    let mut sent = 0;
    while arrived(pair) < before + count {
        assert!(pair.now < end, "{} of {count}", arrived(pair) - before);
        while sent < count && pair.send(Side::Client, message(before + sent, 1400)).is_ok() {
            sent += 1;
        }
        pair.run_for(millis(10));
    }
    pair.run_for(secs(1));
}

fn stats(pair: &Pair, side: Side) -> AssociationStats {
    pair.slot(side).association.stats()
}

fn retransmissions(stats: &AssociationStats) -> u64 {
    stats.fast_retransmissions + stats.timeout_retransmissions
}

fn client_paths(pair: &Pair) -> Vec<PathStats> {
    pair.slot(Side::Client).association.path_stats()
}

fn ecn_of(pair: &Pair, side: Side) -> Vec<PathEcn> {
    pair.slot(side).association.path_stats().iter().map(|path| path.ecn).collect()
}

/// A client whose peer has ECN and has got a packet with each of the TSNs from the first one on.
fn sender(config: AssociationConfig, packets: u64) -> Victim {
    let mut victim = Victim::established_by(config, init_ack_with(&[Parameter::EcnCapable]));
    victim.send(packets, 1400);
    victim.now += millis(50);
    victim
}

fn echo(tsn: u32, marked_packets: Option<u32>) -> Chunk<'static> {
    Chunk::Ecne(Ecne { lowest_tsn: tsn, marked_packets })
}

/// The CWR chunks among packets.
fn answers(sent: &[Transmit]) -> Vec<(u32, bool)> {
    let chunks = sent.iter().flat_map(|transmit| transmit.packet.chunks.iter());
    let of = |chunk: &Chunk<'_>| match chunk {
        Chunk::Cwr(Cwr { tsn, override_mark }) => Some((*tsn, *override_mark)),
        _ => None,
    };
    chunks.filter_map(of).collect()
}

/// TSN and number of the echoes among packets, each of which is in front of an acknowledgement.
fn echoes(sent: &[Transmit]) -> Vec<(u32, Option<u32>)> {
    let mut found = Vec::new();
    for transmit in sent {
        let mut open = false;
        for chunk in transmit.packet.chunks.iter() {
            match chunk {
                Chunk::Ecne(it) => {
                    found.push((it.lowest_tsn, it.marked_packets));
                    open = true;
                }
                Chunk::Sack(_) | Chunk::NrSack(_) => open = false,
                _ => assert!(!open, "{transmit:?}"),
            }
        }
        assert!(!open, "{transmit:?}");
    }
    found
}

/// What goes out until an acknowledgement does.
fn acknowledged(victim: &mut Victim) -> Vec<Transmit> {
    let is_sack = |chunk: &Chunk<'_>| matches!(chunk, Chunk::Sack(_) | Chunk::NrSack(_));
    let mut sent = victim.sent();
    while !sent.iter().any(|it| it.packet.chunks.iter().any(is_sack)) {
        assert!(victim.wait_for_timer());
        sent.extend(victim.sent());
    }
    sent
}

#[test]
fn it_is_used_if_both_sides_have_it() {
    let (with, without) = (on(Preset::Cmt), config(Preset::Cmt));
    for (client, server, expected) in
        [(&with, &with, true), (&with, &without, false), (&without, &with, false)]
    {
        for form in [Form::Structured, Form::Encoded] {
            let mut config = pair_config(client.clone(), &[Capable::Marked(20); 2]);
            (config.server, config.form) = (server.clone(), form);
            let mut pair = Pair::connected(config);
            deliver(&mut pair, 500);
            let (sender, receiver) = (stats(&pair, Side::Client), stats(&pair, Side::Server));
            assert_eq!(sender.ecn_capable_packets_sent >= 500, expected);
            assert_eq!(receiver.ecn_capable_packets_received >= 500, expected);
            for count in [receiver.ecn_marked_packets_received, sender.ecn_reductions] {
                assert_eq!(count > 0, expected);
            }
        }
    }
}

#[test]
fn only_new_data_is_capable() {
    let mut victim =
        Victim::established_by(on(Preset::Cmt), init_ack_with(&[Parameter::EcnCapable]));
    let init_had_it = |sent: &[Transmit]| {
        sent.iter().any(|it| {
            matches!(&it.packet.chunks[0], Chunk::Init(init)
            if init.parameters.iter().any(|it| matches!(it, Parameter::EcnCapable)))
        })
    };
    let mut connecting = Victim::connecting(on(Preset::Cmt), &[ip(2)]);
    connecting.wait_for_timer();
    let sent = connecting.sent();
    assert!(init_had_it(&sent) && sent.iter().all(|it| it.ecn == Ecn::NotEct));
    victim.send(2, 1400);
    let sent = victim.sent();
    assert!(sent.len() == 2 && sent.iter().all(|it| it.ecn == Ecn::Ect0), "{sent:?}");
    // Acknowledgements alone are not, and with new data they are.
    victim.receive(ip(2), vec![data(1)]);
    victim.receive(ip(2), vec![data(2)]);
    victim.receive(ip(2), vec![data(3)]);
    assert!(victim.sent().iter().all(|it| it.ecn == Ecn::NotEct));
    victim.receive(ip(2), vec![data(4)]);
    victim.send(1, 100);
    let sent = victim.sent();
    assert_eq!((sent.len(), sent[0].packet.chunks.len(), sent[0].ecn), (1, 2, Ecn::Ect0));
    // What is retransmitted after the timeout is not, nor what is in the same packet.
    let mut lost = 0;
    while lost == 0 {
        assert!(victim.wait_for_timer());
        for transmit in victim.sent() {
            let has_data = transmit.packet.chunks.iter().any(|it| matches!(it, Chunk::Data(_)));
            lost += u32::from(has_data);
            assert_eq!(transmit.ecn, Ecn::NotEct, "{transmit:?}");
        }
    }
}

#[test]
fn marks_are_echoed_until_cwr_comes() {
    for nr_sack in [NrSack::Off, NrSack::Deliverable] {
        let mut config = on(Preset::Cmt);
        config.policies.nr_sack = nr_sack;
        let mut victim = Victim::established_by(config, init_ack_with(&[Parameter::EcnCapable]));
        victim.receive_as(Ecn::Ect0, vec![data(1)]);
        assert!(echoes(&victim.sent()).is_empty());
        for (what, ecn, chunks, expected) in [
            ("marked", Ecn::Ce, vec![data(2), data(3)], (2, Some(1))),
            ("marked, but received before", Ecn::Ce, vec![data(2)], (2, Some(1))),
            ("another one that is marked", Ecn::Ce, vec![data(4)], (4, Some(2))),
            ("not marked", Ecn::Ect0, vec![data(5)], (4, Some(2))),
            ("not capable", Ecn::NotEct, vec![data(6)], (4, Some(2))),
        ] {
            victim.receive_as(ecn, chunks);
            assert_eq!(echoes(&acknowledged(&mut victim)), [expected], "{what}");
        }
        victim.receive_as(Ecn::Ect0, vec![data(7)]);
        victim.send(1, 100);
        assert_eq!(echoes(&acknowledged(&mut victim)), [(4, Some(2))], "in front of data, too");
        for (tsn, override_mark, left) in [(3, false, 1), (4, true, 0)] {
            victim.receive(ip(2), vec![Chunk::Cwr(Cwr { override_mark, tsn })]);
            victim.receive_as(Ecn::Ect0, vec![data(5 + tsn)]);
            assert_eq!(echoes(&acknowledged(&mut victim)).len(), left, "{tsn}");
        }
        let stats = victim.association().stats();
        assert_eq!(stats.ecn_marked_packets_received, 2);
    }
}

#[test]
fn a_side_without_it_says_nothing_of_marks_and_hears_nothing() {
    let mut victim = Victim::established(on(Preset::Cmt));
    victim.receive_as(Ecn::Ce, vec![data(1)]);
    victim.receive_as(Ecn::Ce, vec![data(2)]);
    assert!(echoes(&victim.sent()).is_empty());
    victim.send(4, 1400);
    assert!(victim.sent().iter().all(|it| it.ecn == Ecn::NotEct));
    let cwnd = victim.path().cwnd_bytes;
    victim.receive(ip(2), vec![echo(victim.first_tsn(), Some(1))]);
    assert_eq!(victim.path().cwnd_bytes, cwnd);
    assert!(answers(&victim.sent()).is_empty());
}

#[test]
fn an_echo_halves_the_window_once() {
    let mut config = on(Preset::Rfc9260);
    config.policies.window.initial_cwnd = polypath_proto::config::InitialCwnd::Mtu(40);
    let mut victim = sender(config, 30);
    let (first, cwnd) = (victim.first_tsn(), victim.path().cwnd_bytes);
    victim.sent();
    let expect = |victim: &mut Victim, what: &str, cut: u64, expected: &[(u32, bool)]| {
        assert_eq!(victim.path().cwnd_bytes, cwnd / cut, "{what}");
        assert_eq!(answers(&victim.sent()), expected, "{what}");
    };
    victim.receive(ip(2), vec![echo(first + 30, Some(1)), sack(first - 1, PEER_WINDOW, &[])]);
    expect(&mut victim, "it was never sent", 1, &[]);
    victim.host.keep_trace();
    victim.receive(ip(2), vec![echo(first, Some(1)), sack(first + 1, PEER_WINDOW, &[])]);
    expect(&mut victim, "the first", 2, &[(first, false)]);
    let trace: Vec<_> = victim.host.take_trace().into_iter().map(|(_, event)| event).collect();
    let path = PathId(0);
    assert!(trace.contains(&ProbeEvent::PathMarked { path, packets: 1 }), "{trace:?}");
    assert!(trace.contains(&ProbeEvent::FastRecoveryEntered { path }));
    victim.receive(ip(2), vec![echo(first + 1, Some(1)), sack(first + 3, PEER_WINDOW, &[])]);
    expect(&mut victim, "acknowledged already", 2, &[(first + 1, true)]);
    victim.receive(ip(2), vec![echo(first, Some(1)), sack(first + 3, PEER_WINDOW, &[])]);
    expect(&mut victim, "answered already", 2, &[]);
    for marked in [Some(3), None] {
        victim.receive(ip(2), vec![echo(first + 9, marked), sack(first + 7, PEER_WINDOW, &[])]);
        expect(&mut victim, "of the same window, and answered already", 2, &[]);
    }
    victim.now += secs(1);
    victim.receive(ip(2), vec![echo(first + 9, Some(3)), sack(first + 7, PEER_WINDOW, &[])]);
    expect(&mut victim, "it still comes", 2, &[(first + 9, false)]);
    victim.receive(ip(2), vec![sack(first + 29, PEER_WINDOW, &[])]);
    victim.send(9, 1400);
    let next = first + 30;
    victim.sent();
    victim.receive(ip(2), vec![echo(next, None), sack(next, PEER_WINDOW, &[])]);
    assert!(victim.path().cwnd_bytes < cwnd / 3, "another window, and the form of RFC 2960");
    let stats = victim.association().stats();
    assert_eq!((stats.ecn_reductions, stats.ecn_echoes_refused), (2, 1));
    assert_eq!((retransmissions(&stats), victim.path().fast_recoveries), (0, 0));
}

#[test]
fn a_loss_in_the_same_window_is_repaired_and_reduces_nothing_more() {
    let mut config = on(Preset::Cmt);
    config.policies.window.initial_cwnd = polypath_proto::config::InitialCwnd::Mtu(40);
    let mut victim = sender(config, 30);
    let (first, cwnd) = (victim.first_tsn(), victim.path().cwnd_bytes);
    victim.receive(ip(2), vec![echo(first, Some(1)), sack(first, PEER_WINDOW, &[])]);
    for end in 2..6 {
        victim.receive(ip(2), vec![sack(first, PEER_WINDOW, &[(2, end)])]);
    }
    assert_eq!(victim.path().cwnd_bytes, cwnd / 2);
    assert_eq!(victim.path().fast_retransmissions, 1);
}

#[test]
fn every_congestion_control_answers_marks_without_a_loss() {
    let cwnd = |config: AssociationConfig, capable| {
        let mut pair = Pair::connected(pair_config(config, &[capable]));
        deliver(&mut pair, 3000);
        let sender = stats(&pair, Side::Client);
        assert_eq!(retransmissions(&sender), 0);
        assert_eq!(stats(&pair, Side::Server).duplicate_chunks_received, 0);
        (sender.ecn_reductions, client_paths(&pair)[0].cwnd_bytes)
    };
    for &congestion in CongestionAlgorithm::ALL {
        for scope in [FastRecoveryScope::PerPath, FastRecoveryScope::AssociationWide] {
            for reduction in [Reduction::AtOnce, Reduction::Proportional] {
                let mut config = on(Preset::Cmt);
                config.policies.congestion = congestion;
                config.policies.fast_recovery = scope;
                config.policies.window.reduction = reduction;
                let (reductions, marked) = cwnd(config.clone(), Capable::Marked(20));
                assert!(reductions >= 3, "{congestion:?} {reductions}");
                let (reductions, unmarked) = cwnd(config, Capable::Kept);
                assert_eq!(reductions, 0);
                assert!(2 * marked < unmarked, "{congestion:?} {marked} {unmarked}");
            }
        }
    }
}

#[test]
fn a_mark_belongs_to_the_path_of_its_chunk() {
    let mut pair =
        Pair::connected(pair_config(on(Preset::Cmt), &[Capable::Kept, Capable::Marked(50)]));
    deliver(&mut pair, 3000);
    let sender = stats(&pair, Side::Client);
    assert!(sender.ecn_reductions >= 3 && retransmissions(&sender) == 0, "{sender:?}");
    let [kept, marked] = &client_paths(&pair)[..] else { panic!("two paths") };
    let packets = [kept.data_packets_sent, marked.data_packets_sent];
    assert!(packets[0] > 500 && packets[1] > 50, "{packets:?}");
    assert!(kept.cwnd_bytes > 3 * marked.cwnd_bytes, "{} {}", kept.cwnd_bytes, marked.cwnd_bytes);
    assert!(marked.ssthresh_bytes < kept.ssthresh_bytes);
}

#[test]
fn echoes_end_when_marks_do() {
    let mut pair = Pair::connected(pair_config(on(Preset::Cmt), &[Capable::Marked(100); 2]));
    deliver(&mut pair, 300);
    pair.paths.iter_mut().for_each(|path| path.capable = Capable::Kept);
    deliver(&mut pair, 300);
    let before = stats(&pair, Side::Client);
    deliver(&mut pair, 300);
    let after = stats(&pair, Side::Client);
    assert!(before.ecn_echoes_received > 0);
    assert_eq!(before.ecn_echoes_received, after.ecn_echoes_received);
}

#[test]
fn a_path_that_drops_capable_packets_gets_none() {
    let mut pair = Pair::connected(pair_config(on(Preset::Cmt), &[Capable::Kept, Capable::Lost]));
    deliver(&mut pair, 3000);
    let before = stats(&pair, Side::Client);
    assert_eq!(before.ecn_paths_given_up, 1);
    let sent = |pair: &Pair| client_paths(pair)[1].data_packets_sent;
    let packets = sent(&pair);
    deliver(&mut pair, 3000);
    let after = stats(&pair, Side::Client);
    assert_eq!(retransmissions(&after), retransmissions(&before));
    assert!(sent(&pair) > packets + 100, "{packets} {}", sent(&pair));
    assert!(after.ecn_capable_packets_sent > before.ecn_capable_packets_sent, "on the other path");
    assert_eq!(ecn_of(&pair, Side::Client), [PathEcn::On, PathEcn::Dropped]);
}

#[test]
fn a_path_that_takes_the_capability_off_works_without() {
    let mut pair = Pair::connected(pair_config(on(Preset::Cmt), &[Capable::Bleached]));
    deliver(&mut pair, 1000);
    let (sender, receiver) = (stats(&pair, Side::Client), stats(&pair, Side::Server));
    assert_eq!((sender.ecn_capable_packets_sent, sender.ecn_paths_given_up), (1000, 0));
    assert_eq!((receiver.ecn_capable_packets_received, retransmissions(&sender)), (0, 0));
    assert_eq!(ecn_of(&pair, Side::Server), [PathEcn::Cleared], "who receives notices");
    assert_eq!(ecn_of(&pair, Side::Client), [PathEcn::On], "nobody can say it to the sender");
}

#[test]
fn the_state_of_a_path_is_known_once_something_speaks_for_it() {
    for (paths, packets, expected) in [
        (Capable::Kept, 1000, PathEcn::On),
        (Capable::Marked(20), 1000, PathEcn::On),
        (Capable::Bleached, 40, PathEcn::On),
        (Capable::Bleached, 50, PathEcn::Cleared),
    ] {
        let mut pair = Pair::connected(pair_config(on(Preset::Cmt), &[paths]));
        deliver(&mut pair, packets);
        assert_eq!(ecn_of(&pair, Side::Server), [expected], "{paths:?} {packets}");
    }
    let mut pair = Pair::connected(pair_config(config(Preset::Cmt), &[Capable::Bleached]));
    deliver(&mut pair, 100);
    assert_eq!(ecn_of(&pair, Side::Server), [PathEcn::Off]);
}
