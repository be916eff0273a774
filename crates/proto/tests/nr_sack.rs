//! NR-SACK and reneging: what was agreed is used, what will not come back is freed, and what comes back is sent again.

mod common;

use common::{
    PEER_WINDOW, Victim, config, data, data_chunks, init_ack_offering, ip, message, millis, sack,
    secs,
};
use polypath_proto::config::{
    AssociationConfig, Burst, InitialCwnd, NrSack, Preset, Reneging, StaleSack,
};
use polypath_proto::{AssociationStats, Delivery, Duration, Event, OutgoingMessage, SendError};
use polypath_testkit::{Faults, Form, Pair, PairConfig, PathModel, Side};
use polypath_wire::{
    Chunk, DuplicateTsns, GapAckBlock, GapAckBlocks, NrSack as NrSackChunk, Parameter,
};

const NR_SACK: u8 = 0x10;

fn with(nr_sack: NrSack, reneging: Reneging) -> AssociationConfig {
    let mut config = config(Preset::Cmt);
    config.policies.nr_sack = nr_sack;
    config.policies.reneging = reneging;
    config
}

fn nr_sack(cumulative_tsn_ack: u32, r: &[(u16, u16)], nr: &[(u16, u16)]) -> Chunk<'static> {
    let blocks = |pairs: &[(u16, u16)]| {
        GapAckBlocks::Owned(pairs.iter().map(|&(start, end)| GapAckBlock { start, end }).collect())
    };
    Chunk::NrSack(NrSackChunk {
        flags: 0,
        cumulative_tsn_ack,
        a_rwnd: PEER_WINDOW,
        renegable_blocks: blocks(r),
        non_renegable_blocks: blocks(nr),
        duplicate_tsns: DuplicateTsns::Owned(Default::default()),
        reserved: 0,
    })
}

#[test]
fn it_is_offered_where_it_is_wanted_and_used_where_both_offer_it() {
    for (ours, peer, expected) in [
        (NrSack::Off, true, false),
        (NrSack::Deliverable, false, false),
        (NrSack::Deliverable, true, true),
        (NrSack::All, true, true),
    ] {
        let mut victim = Victim::connecting(with(ours, Reneging::Never), &[ip(2)]);
        // INIT was taken already: it comes again after the timer.
        assert!(victim.wait_for_timer());
        let init = victim.sent().remove(0);
        let Chunk::Init(init) = &init.packet.chunks[0] else { panic!("{init:?}") };
        let offers = (&init.parameters).into_iter().any(|parameter| {
            matches!(parameter, Parameter::SupportedExtensions(types) if types.contains(&NR_SACK))
        });
        assert_eq!(offers, ours != NrSack::Off, "{ours:?}");

        let listed: &[u8] = if peer { &[NR_SACK] } else { &[] };
        let answer = init_ack_offering(listed);
        let mut victim = Victim::established_by(with(ours, Reneging::Never), answer);
        for tsn in [1, 3, 4] {
            victim.receive(ip(2), vec![data(tsn)]);
            victim.wait_for_timer();
        }
        let packets = victim.sent();
        let chunks = || packets.iter().flat_map(|packet| packet.packet.chunks.iter());
        let nr_sacks = chunks().filter(|chunk| matches!(chunk, Chunk::NrSack(_))).count();
        let sacks = chunks().filter(|chunk| matches!(chunk, Chunk::Sack(_))).count();
        assert!(sacks + nr_sacks >= 2, "{packets:?}");
        assert_eq!(if expected { sacks } else { nr_sacks }, 0, "never a mixture: {ours:?} {peer}");
        assert_eq!(victim.association().stats().nr_sacks_sent, nr_sacks as u64);
    }
}

#[test]
fn what_is_promised_leaves_the_send_buffer_at_once_and_only_once() {
    let mut config = with(NrSack::All, Reneging::Never);
    config.send_buffer_bytes = 5000;
    let mut victim = Victim::established_by(config, init_ack_offering(&[NR_SACK]));
    victim.send(5, 1000);
    let refused = victim.host.send(victim.now, 0, message(5, 1000));
    assert_eq!(refused, Err(SendError::WouldBlock));
    let sent = victim.sent();
    assert_eq!(data_chunks(&sent), 5);
    let before = victim.first_tsn().wrapping_sub(1);
    let used = |victim: &Victim| victim.association().stats().send_buffer_bytes;
    // 2 is only acknowledged, 3 and 4 are promised; the repetition frees nothing more.
    for _ in 0..2 {
        victim.receive(ip(2), vec![nr_sack(before, &[(2, 2)], &[(3, 4)])]);
        assert_eq!(used(&victim), 3000);
    }
    assert!(victim.events().contains(&Event::Writable));
    assert_eq!(victim.path().flight_bytes, 2 * 1016, "the first and the fifth");
    // 3 was promised: a SACK without it brings it into flight no more than one that has it. 2 comes back.
    victim.receive(ip(2), vec![nr_sack(before, &[], &[(5, 5)])]);
    assert_eq!(used(&victim), 2000);
    assert_eq!(victim.path().flight_bytes, 2 * 1016, "the first and the second");
    assert_eq!(victim.association().stats().chunks_withdrawn, 1);
    victim.receive(ip(2), vec![nr_sack(before.wrapping_add(5), &[], &[])]);
    assert_eq!(used(&victim), 0);
    assert_eq!(victim.association().stats().bytes_released_early, 3000);
    assert_eq!(victim.path().flight_bytes, 0);
}

/// Four hundred small chunks, of which every second one has arrived; a receiver that never reneges names a part of them.
#[test]
fn what_a_partial_one_leaves_out_is_neither_missing_nor_withdrawn() {
    let mut config = with(NrSack::AllInTurn, Reneging::Never);
    config.send_buffer_bytes = 1 << 20;
    config.policies.window.initial_cwnd = InitialCwnd::Mtu(60);
    config.policies.burst = Burst::Off;
    let mut victim = Victim::established_by(config, init_ack_offering(&[NR_SACK]));
    victim.send(400, 100);
    assert_eq!(data_chunks(&victim.sent()), 400);
    let before = victim.first_tsn().wrapping_sub(1);
    let named = |places: std::ops::Range<u16>| {
        let pairs: Vec<_> = places.chain([198]).map(|i| (2 * i + 2, 2 * i + 2)).collect();
        vec![nr_sack(before, &[], &pairs)]
    };
    let lost = |victim: &mut Victim| data_chunks(&victim.sent());
    victim.receive(ip(2), named(0..110));
    assert_eq!(victim.path().flight_bytes, (400 - 111) * 116);
    assert_eq!(lost(&mut victim), 0, "one report");
    victim.receive(ip(2), named(90..198));
    assert_eq!(
        victim.path().flight_bytes,
        (400 - 199) * 116,
        "what is not named now stays acknowledged"
    );
    for _ in 0..8 {
        victim.receive(ip(2), named(0..110));
        victim.receive(ip(2), named(90..198));
    }
    assert_eq!(lost(&mut victim), 0, "they tell nothing new");
    assert_eq!(victim.association().stats().chunks_withdrawn, 0);
    assert_eq!(victim.association().stats().stale_sacks, 0);
}

#[test]
fn one_that_was_not_agreed_is_understood_and_a_bad_one_is_passed_over() {
    let mut victim = Victim::established(config(Preset::Cmt));
    victim.send(3, 1000);
    let before = victim.first_tsn().wrapping_sub(1);
    victim.receive(ip(2), vec![nr_sack(before, &[(3, 3), (2, 2)], &[(2, 2)])]);
    assert_eq!(victim.association().stats().packets_discarded, 1);
    assert_eq!(victim.path().flight_bytes, 3 * 1016);
    victim.receive(ip(2), vec![nr_sack(before, &[(2, 2)], &[(3, 3)])]);
    assert_eq!(victim.path().flight_bytes, 1016);
    assert_eq!(victim.association().stats().send_buffer_bytes, 2000);
    victim.receive(ip(2), vec![sack(before.wrapping_add(3), PEER_WINDOW, &[])]);
    assert_eq!(victim.association().stats().send_buffer_bytes, 0);
    victim.receive(ip(2), vec![nr_sack(before.wrapping_add(3), &[(2, 2)], &[(4, 9)])]);
    assert!(!victim.association().is_established(), "it acknowledges what was never sent");
}

/// What both sides send.
#[derive(Clone, Copy)]
struct Traffic {
    count: usize,
    largest: u32,
    ordered_every: u64,
}

const MIXED: Traffic = Traffic { count: 400, largest: 3000, ordered_every: 3 };

/// Each chunk takes many times its size in the receiver's memory, which the sender learns too late.
const TINY: Traffic = Traffic { count: 2000, largest: 40, ordered_every: 1 };

/// Sends messages each way over three unequal, lossy paths, some of them ordered; gives the statistics of both sides.
fn exchange(
    client: AssociationConfig,
    server: AssociationConfig,
    form: Form,
    traffic: Traffic,
) -> [AssociationStats; 2] {
    let path = |delay, rate| PathModel {
        delay: millis(delay),
        bytes_per_second: Some(rate),
        queue: millis(150),
        faults: Faults { loss: 20, ..Faults::default() },
        ..PathModel::default()
    };
    let paths = vec![path(5, 1_000_000), path(40, 200_000), path(90, 50_000)];
    let seed = 7;
    let mut pair =
        Pair::connected(PairConfig { paths, client, server, seed, form, tick: Duration::ZERO });
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    let count = traffic.count;
    let mut next = [0u64; 2];
    let end = pair.now + secs(600);
    let arrived = |pair: &Pair| {
        [Side::Client, Side::Server].iter().all(|side| pair.slot(*side).messages.len() == count)
    };
    while !arrived(&pair) {
        for side in [Side::Client, Side::Server] {
            let number = &mut next[side as usize];
            while *number < count as u64 {
                let mut message = OutgoingMessage {
                    stream: (*number % 5) as u16,
                    ..message(*number, 1 + (*number as u32 * 37) % traffic.largest)
                };
                message.delivery = if *number % traffic.ordered_every == 0 {
                    Delivery::Ordered
                } else {
                    Delivery::Unordered
                };
                if pair.send(side, message).is_err() {
                    break;
                }
                *number += 1;
            }
        }
        assert!(pair.step(end), "stuck");
    }
    for side in [Side::Client, Side::Server] {
        let mut numbers: Vec<_> =
            pair.slot(side).messages.iter().map(|message| message.ppid).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..count as u32).collect::<Vec<_>>(), "each once");
    }
    pair.shutdown(Side::Client);
    pair.run_for(secs(60));
    [Side::Client, Side::Server].map(|side| {
        let association = &pair.slot(side).association;
        assert!(association.is_closed());
        assert!(association.path_stats().iter().all(|path| path.flight_bytes == 0));
        let stats = association.stats();
        assert_eq!((stats.send_buffer_bytes, stats.receive_buffer_bytes), (0, 0));
        stats
    })
}

#[test]
fn every_combination_of_both_sides_delivers_everything() {
    use NrSack::{All, Deliverable, Off};
    for (client, server) in
        [(All, All), (Deliverable, Deliverable), (All, Deliverable), (All, Off), (Off, Deliverable)]
    {
        let agreed = client != Off && server != Off;
        let small = |nr_sack| AssociationConfig {
            send_buffer_bytes: 60_000,
            ..with(nr_sack, Reneging::Never)
        };
        for stats in exchange(small(client), small(server), Form::Encoded, MIXED) {
            let mixture = (stats.nr_sacks_sent, stats.nr_sacks_received);
            let pure = if agreed { (stats.sacks_sent, stats.sacks_received) } else { (0, 0) };
            assert_eq!(mixture, pure, "{client:?} {server:?}");
            assert_eq!(stats.bytes_released_early > 0, agreed, "{client:?} {server:?}");
            assert_eq!(stats.chunks_withdrawn, 0);
        }
    }
}

#[test]
fn what_a_reneging_receiver_discards_is_sent_again() {
    let simulated = Reneging::Simulated("10 %".parse().unwrap());
    for (reneging, buffer, traffic) in
        [(simulated, 1 << 20, MIXED), (Reneging::UnderPressure, 20_000, TINY)]
    {
        for nr_sack in [NrSack::Off, NrSack::Deliverable] {
            for stale_sack in [StaleSack::Classic, StaleSack::SamePath] {
                let mut config = with(nr_sack, reneging);
                config.policies.stale_sack = stale_sack;
                config.receive_buffer_bytes = buffer;
                let stats = exchange(config.clone(), config, Form::Structured, traffic);
                let sum = |of: fn(&AssociationStats) -> u64| stats.iter().map(of).sum::<u64>();
                let what = format!("{reneging:?} {nr_sack:?} {stale_sack:?}");
                assert!(sum(|stats| stats.chunks_reneged) > 0, "{what}");
                assert!(sum(|stats| stats.chunks_withdrawn) > 0, "{what}");
            }
        }
    }
}
