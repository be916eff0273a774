//! User message interleaving (RFC 8260) between whole stacks and against a peer that the test plays: long messages do not hold up
//! short ones, each message arrives once whatever the network does, and memory stays bounded.

mod common;

use std::collections::BTreeMap;

use common::{PEER_WINDOW, Victim, config, ip, millis, sack, secs};
use polypath_proto::config::{
    AssociationConfig, AuthenticatedChunks, MessageInterleaving, NrSack, PartialReliability,
    Preset, StreamReconfiguration, StreamScheduler,
};
use polypath_proto::{Delivery, Event, OutgoingMessage, SendError, Transmit};
use polypath_testkit::{Faults, Form, Pair, PairConfig, PathModel, Side};
use polypath_wire::{
    Cause, Chunk, DataFlags, ForwardTsn, IData, Payload, SkippedMessages, VirtualPayload,
    chunk_type,
};

const B: DataFlags = DataFlags::BEGIN;
const E: DataFlags = DataFlags::END;
const U: DataFlags = DataFlags::UNORDERED;
const M: DataFlags = DataFlags::empty();

const BOTH: [u8; 2] = [chunk_type::I_DATA, chunk_type::I_FORWARD_TSN];

fn on(preset: Preset) -> AssociationConfig {
    let mut config = AssociationConfig { heartbeat_interval: None, ..config(preset) };
    config.policies.message_interleaving = MessageInterleaving::On;
    config.policies.stream_scheduler = StreamScheduler::RoundRobin;
    config
}

/// A message whose content and PPID tell its number.
fn message(stream: u16, number: u64, size: u32) -> OutgoingMessage {
    let payload = Payload::Virtual(VirtualPayload { message: number, offset: 0, len: size });
    OutgoingMessage { ppid: number as u32, ..OutgoingMessage::from_payload(stream, payload) }
}

/// Hands messages over at once, before any of them is sent.
fn send_together(victim: &mut Victim, messages: impl IntoIterator<Item = OutgoingMessage>) {
    let now = victim.now;
    victim.host.command(now, 0, |association, cx| {
        messages.into_iter().for_each(|message| association.send(cx, message).unwrap());
    });
    victim.host.settle(now, 0);
}

fn chunks(sent: &[Transmit]) -> impl Iterator<Item = &Chunk<'static>> {
    sent.iter().flat_map(|transmit| transmit.packet.chunks.iter())
}

/// Stream, MID and FSN of the I-DATA chunks among packets; no packet has DATA.
fn i_data(sent: &[Transmit]) -> Vec<(u16, u32, u32)> {
    assert!(!chunks(sent).any(|chunk| matches!(chunk, Chunk::Data(_))));
    let of = |chunk: &Chunk<'_>| {
        let Chunk::IData(data) = chunk else { return None };
        let begins = data.flags.contains(B);
        Some((data.stream, data.mid, if begins { 0 } else { data.ppid_or_fsn }))
    };
    chunks(sent).filter_map(of).collect()
}

fn piece(flags: DataFlags, tsn: u32, stream: u16, mid: u32, ppid_or_fsn: u32) -> Chunk<'static> {
    let payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: 100 });
    Chunk::IData(IData { flags, tsn, stream, mid, ppid_or_fsn, payload })
}

fn forward(tsn: u32, skipped: &[(u16, u16, u32)]) -> Chunk<'static> {
    let skipped =
        skipped.iter().map(|&(stream, flags, mid)| SkippedMessages { stream, flags, mid });
    Chunk::IForwardTsn(ForwardTsn::of_messages(tsn, skipped))
}

fn agreed() -> Victim {
    Victim::established_offering(on(Preset::Cmt), &BOTH)
}

/// Whether the victim answered with an ABORT for a violation of the protocol.
fn was_aborted(victim: &mut Victim) -> bool {
    let sent = victim.sent();
    chunks(&sent).any(|chunk| match chunk {
        Chunk::Abort(abort) => {
            abort.causes.iter().any(|cause| matches!(cause, Cause::ProtocolViolation(_)))
        }
        _ => false,
    })
}

#[test]
fn it_is_used_if_both_sides_have_it() {
    let (with, without) = (on(Preset::Cmt), config(Preset::Cmt));
    for (client, server, expected) in
        [(&with, &with, true), (&with, &without, false), (&without, &with, false)]
    {
        let mut pair = PairConfig::new(2, client.clone());
        pair.server = server.clone();
        pair.form = Form::Encoded;
        let mut pair = Pair::connected(pair);
        for (side, number) in [(Side::Client, 1), (Side::Server, 2)] {
            pair.send(side, message(3, number, 5000)).unwrap();
        }
        pair.run_for(secs(1));
        for side in [Side::Client, Side::Server] {
            let slot = pair.slot(side);
            assert_eq!(slot.messages.len(), 1);
            assert_eq!(slot.messages[0].len(), 5000);
            assert_eq!(slot.association.interleaves_messages(), expected);
        }
        // An I-DATA chunk has room for four bytes less.
        let stats = pair.slot(Side::Client).association.path_stats();
        assert_eq!(stats[0].full_fragment_bytes, if expected { 1448 } else { 1452 });
    }
}

#[test]
fn packets_are_full_and_never_larger() {
    for scheduler in [StreamScheduler::Fcfs, StreamScheduler::RoundRobin] {
        let mut config = on(Preset::Rfc9260);
        config.policies.stream_scheduler = scheduler;
        let mut victim = Victim::established_offering(config, &BOTH);
        send_together(&mut victim, (0..3).map(|stream| message(stream, 0, 3000)));
        let sent = victim.sent();
        assert!(sent.iter().all(|transmit| transmit.packet.encoded_len() <= 1480));
        assert_eq!(sent[0].packet.encoded_len(), 1480);
        let expected: [(u16, u32, u32); 3] = match scheduler {
            StreamScheduler::Fcfs => [(0, 0, 0), (0, 0, 1), (0, 0, 2)],
            _ => [(0, 0, 0), (1, 0, 0), (2, 0, 0)],
        };
        assert_eq!(i_data(&sent)[..3], expected, "{scheduler:?}");
    }
}

#[test]
fn messages_of_a_stream_follow_each_other_and_kinds_count_apart() {
    let mut victim = agreed();
    for (number, delivery) in
        [Delivery::Ordered, Delivery::Unordered].iter().cycle().take(4).enumerate()
    {
        let message = OutgoingMessage { delivery: *delivery, ..message(5, number as u64, 2000) };
        victim.host.send(victim.now, 0, message).unwrap();
    }
    let mut sent = vec![];
    let mut acked = victim.first_tsn().wrapping_sub(1);
    for _ in 0..4 {
        let packets = victim.sent();
        acked = acked.wrapping_add(i_data(&packets).len() as u32);
        sent.extend(packets);
        victim.receive(ip(2), vec![sack(acked, PEER_WINDOW, &[])]);
    }
    let of = |chunk: &Chunk<'_>| {
        let Chunk::IData(data) = chunk else { return None };
        let begins = data.flags.contains(B);
        assert_eq!(data.flags.contains(E), !begins);
        assert_eq!(begins, data.ppid_or_fsn != 1 || data.mid == 0 && data.flags == B | U);
        Some((data.mid, data.flags.contains(U)))
    };
    let all: Vec<_> = chunks(&sent).filter_map(of).collect();
    let twice = |it: (u32, bool)| [it, it];
    assert_eq!(all, [(0, false), (0, true), (1, false), (1, true)].map(twice).concat());
}

/// Time until all short messages that are sent after a long one on another stream have arrived, and whether the long one had then.
fn short_ones_take(config: AssociationConfig) -> (polypath_proto::Duration, bool) {
    let mut pair = PairConfig::new(1, config);
    pair.paths[0].bytes_per_second = Some(1_000_000);
    let mut pair = Pair::connected(pair);
    let begin = pair.now;
    pair.send(Side::Client, message(0, 1, 60_000)).unwrap();
    for number in 0..5 {
        pair.send(Side::Client, message(1, 100 + number, 100)).unwrap();
    }
    let short = |pair: &Pair| {
        pair.slot(Side::Server).messages.iter().filter(|message| message.stream == 1).count()
    };
    assert!(pair.run_until(secs(60), |pair| short(pair) == 5));
    let took = pair.now.since(begin);
    let long_was_first = pair.slot(Side::Server).messages.len() == 6;
    pair.run_for(secs(5));
    assert_eq!(pair.slot(Side::Server).messages.len(), 6);
    (took, long_was_first)
}

#[test]
fn short_messages_do_not_wait_for_a_long_one() {
    for scheduler in [
        StreamScheduler::RoundRobin,
        StreamScheduler::RoundRobinPerPacket,
        StreamScheduler::Fair,
        StreamScheduler::WeightedFair,
        StreamScheduler::Priority,
    ] {
        let mut with = on(Preset::Rfc9260);
        with.policies.stream_scheduler = scheduler;
        let mut without = with.clone();
        without.policies.message_interleaving = MessageInterleaving::Off;
        let (fast, long_was_first) = short_ones_take(with);
        assert!(!long_was_first, "{scheduler:?}");
        let (slow, long_was_first) = short_ones_take(without);
        assert!(long_was_first, "{scheduler:?}");
        assert!(fast * 2 < slow, "{scheduler:?}: {fast:?} {slow:?}");
    }
    let mut fcfs = on(Preset::Rfc9260);
    fcfs.policies.stream_scheduler = StreamScheduler::Fcfs;
    assert!(short_ones_take(fcfs).1, "the order of handing over");
}

/// A higher priority interrupts a long message, which goes on afterwards.
#[test]
fn a_higher_priority_interrupts() {
    let mut config = on(Preset::Rfc9260);
    config.policies.stream_scheduler = StreamScheduler::Priority;
    let mut victim = Victim::established_offering(config, &BOTH);
    let now = victim.now;
    victim.host.command(now, 0, |association, _| {
        association.set_stream_value(0, 9).unwrap();
        association.set_stream_value(1, 1).unwrap();
    });
    victim.host.send(now, 0, message(0, 1, 20_000)).unwrap();
    let first = i_data(&victim.sent());
    assert!(first.iter().all(|(stream, ..)| *stream == 0));
    victim.host.send(now, 0, message(1, 2, 4000)).unwrap();
    let acked = victim.first_tsn().wrapping_add(first.len() as u32 - 1);
    victim.receive(ip(2), vec![sack(acked, PEER_WINDOW, &[])]);
    let then = i_data(&victim.sent());
    assert_eq!(then[..4], [(1, 0, 0), (1, 0, 1), (1, 0, 2), (0, 0, first.len() as u32)]);
}

/// Streams, sizes and kinds of messages that are sent in both directions.
fn exchange(pair: &mut Pair, count: u64) -> BTreeMap<u64, (u16, u32, Delivery)> {
    let mut expected = BTreeMap::new();
    let mut number = 0;
    while number < count {
        let stream = (number * 7 % 5) as u16;
        let size = [40, 9000, 300, 2000, 30_000][(number * 3 % 5) as usize];
        let delivery =
            if number.is_multiple_of(3) { Delivery::Unordered } else { Delivery::Ordered };
        let mut all = true;
        for side in [Side::Client, Side::Server] {
            let next = OutgoingMessage { delivery, ..message(stream, number, size) };
            while pair.send(side, next.clone()) == Err(SendError::WouldBlock) {
                all &= pair.step(pair.now + secs(100));
            }
        }
        assert!(all, "nothing happens any more at message {number}");
        expected.insert(number, (stream, size, delivery));
        number += 1;
    }
    expected
}

fn check(pair: &Pair, side: Side, expected: &BTreeMap<u64, (u16, u32, Delivery)>, what: &str) {
    let mut left = expected.clone();
    let mut last: BTreeMap<u16, u32> = BTreeMap::new();
    for received in &pair.slot(side).messages {
        let (stream, size, delivery) = left.remove(&received.ppid.into()).expect(what);
        assert_eq!((received.stream, received.delivery), (stream, delivery), "{what}");
        assert_eq!(received.len(), size as usize, "{what}");
        let content: Vec<u8> = received.clone().into_bytes().to_vec();
        let mut pattern = vec![0; size as usize];
        VirtualPayload { message: received.ppid.into(), offset: 0, len: size }.fill(&mut pattern);
        assert_eq!(content, pattern, "{what}");
        if delivery == Delivery::Ordered {
            let before = last.insert(stream, received.ppid);
            assert!(before.is_none_or(|before| before < received.ppid), "{what}");
        }
    }
    assert!(left.is_empty(), "{what}: {left:?}");
    assert_eq!(pair.slot(side).association.stats().receive_buffer_bytes, 0, "{what}");
}

/// A preset, and what is changed in it.
type Variant = (&'static str, Preset, fn(&mut AssociationConfig));

#[test]
fn each_message_arrives_once_with_every_mechanism() {
    let variants: [Variant; 9] = [
        ("rfc9260", Preset::Rfc9260, |_| {}),
        ("cmt", Preset::Cmt, |_| {}),
        ("recommended", Preset::Recommended, |_| {}),
        ("asymmetric", Preset::DreibholzAsymmetric, |_| {}),
        ("nr-sack", Preset::Cmt, |it| it.policies.nr_sack = NrSack::Deliverable),
        ("nr-sack all", Preset::Cmt, |it| it.policies.nr_sack = NrSack::All),
        ("auth", Preset::Cmt, |it| it.policies.authenticated_chunks = AuthenticatedChunks::All),
        ("weighted", Preset::Cmt, |it| {
            it.policies.stream_scheduler = StreamScheduler::WeightedFair;
        }),
        ("per packet", Preset::Recommended, |it| {
            it.policies.stream_scheduler = StreamScheduler::RoundRobinPerPacket;
        }),
    ];
    for (name, preset, change) in variants {
        for (seed, form) in [(1, Form::Structured), (2, Form::Encoded), (3, Form::Structured)] {
            let mut config = on(preset);
            change(&mut config);
            let mut pair = PairConfig::new(2, config);
            let faults = Faults { loss: 30, duplication: 20, reordering: 50, damage: 5 };
            pair.paths = vec![PathModel::default().with_faults(faults); 2];
            pair.paths[1].delay = millis(25);
            (pair.seed, pair.form) = (seed, form);
            let mut pair = Pair::connected(pair);
            let expected = exchange(&mut pair, 60);
            let what = format!("{name}, seed {seed}");
            let done = |pair: &Pair| {
                [Side::Client, Side::Server].iter().all(|it| pair.slot(*it).messages.len() >= 60)
            };
            assert!(pair.run_until(secs(600), done), "{what}");
            for side in [Side::Client, Side::Server] {
                check(&pair, side, &expected, &what);
            }
            pair.shutdown(Side::Client);
            let closed = |pair: &Pair| pair.slot(Side::Server).association.is_closed();
            assert!(pair.run_until(secs(600), closed), "{what}");
        }
    }
}

/// Long messages on many streams, each of which fits the peer's receive buffer, while all of them together do not.
#[test]
fn what_has_begun_fits_the_peers_buffer() {
    for (preset, scheduler) in [
        (Preset::Cmt, StreamScheduler::RoundRobin),
        (Preset::Recommended, StreamScheduler::Fair),
        (Preset::Cmt, StreamScheduler::Priority),
    ] {
        let mut config = on(preset);
        config.policies.stream_scheduler = scheduler;
        (config.receive_buffer_bytes, config.send_buffer_bytes) = (100_000, 4_000_000);
        (config.outbound_streams, config.max_inbound_streams) = (100, 100);
        let mut pair = PairConfig::new(2, config);
        let faults = Faults { loss: 20, reordering: 20, ..Faults::default() };
        pair.paths = vec![PathModel::default().with_faults(faults); 2];
        let mut pair = Pair::connected(pair);
        for number in 0..100 {
            let size = if number == 50 { 90_000 } else { 30_000 };
            while pair.send(Side::Client, message(number as u16, number, size)).is_err() {
                assert!(pair.step(pair.now + secs(100)), "{preset:?} {scheduler:?}");
            }
        }
        let done = |pair: &Pair| pair.slot(Side::Server).messages.len() == 100;
        assert!(pair.run_until(secs(600), done), "{preset:?} {scheduler:?}");
        assert!(pair.slot(Side::Server).association.is_established());
    }
}

#[test]
fn abandoned_messages_leave_nothing_behind() {
    for (form, seed) in [(Form::Structured, 1), (Form::Encoded, 2), (Form::Structured, 3)] {
        for nr_sack in [NrSack::Off, NrSack::Deliverable] {
            let mut config = on(Preset::Cmt);
            config.policies.nr_sack = nr_sack;
            config.policies.partial_reliability = PartialReliability::LimitedRetransmissions(0);
            let mut pair = PairConfig::new(2, config);
            let faults = Faults { loss: 30, reordering: 30, ..Faults::default() };
            pair.paths = vec![PathModel::default().with_faults(faults); 2];
            (pair.form, pair.seed) = (form, seed);
            let mut pair = Pair::connected(pair);
            let expected = exchange(&mut pair, 150);
            pair.run_for(secs(120));
            let mut abandoned = 0;
            for side in [Side::Client, Side::Server] {
                let sender = if side == Side::Client { Side::Server } else { Side::Client };
                let gone = pair.slot(sender).events.iter();
                let gone = gone.filter(|it| matches!(it, Event::Abandoned { .. })).count();
                abandoned += gone;
                let got = &pair.slot(side).messages;
                // What comes late counts as given up, and has arrived all the same.
                assert!((150..180).contains(&(got.len() + gone)), "{seed} {} {gone}", got.len());
                let mut last: BTreeMap<u16, u32> = BTreeMap::new();
                for message in got {
                    assert_eq!(message.len(), expected[&message.ppid.into()].1 as usize);
                    if message.delivery == Delivery::Ordered {
                        let before = last.insert(message.stream, message.ppid);
                        assert!(before.is_none_or(|before| before < message.ppid));
                    }
                }
                let stats = pair.slot(side).association.stats();
                assert_eq!(stats.receive_buffer_bytes, 0, "{seed} {side:?}");
                assert!(stats.forward_tsns_received > 0);
            }
            assert!(abandoned > 20, "{abandoned}");
            pair.shutdown(Side::Client);
            let closed = |pair: &Pair| pair.slot(Side::Server).association.is_closed();
            assert!(pair.run_until(secs(600), closed), "{seed}");
        }
    }
}

/// A message that is given up while others go on between its fragments: they are not touched, and the peer is told its MID.
#[test]
fn a_message_is_given_up_between_others() {
    for delivery in [Delivery::Ordered, Delivery::Unordered] {
        let mut config = on(Preset::Rfc9260);
        config.policies.partial_reliability = PartialReliability::None;
        let mut victim = Victim::established_offering(config, &BOTH);
        let timed = Some(PartialReliability::Timed(millis(100)));
        let given_up = OutgoingMessage { reliability: timed, delivery, ..message(4, 1, 20_000) };
        send_together(&mut victim, [given_up, message(5, 2, 4000)]);
        let first = victim.first_tsn();
        let sent = i_data(&victim.sent());
        assert_eq!(sent[..3], [(4, 0, 0), (5, 0, 0), (4, 0, 1)]);
        victim.now += millis(200);
        victim.host.handle_timeout(victim.now);
        let events = victim.events().iter();
        assert_eq!(events.filter(|it| matches!(it, Event::Abandoned { .. })).count(), 1);
        let flags = if delivery == Delivery::Unordered { SkippedMessages::UNORDERED } else { 0 };
        let mut told = vec![];
        let mut collect = |packets: &[Transmit]| {
            for chunk in chunks(packets) {
                assert!(!matches!(chunk, Chunk::ForwardTsn(_)));
                if let Chunk::IForwardTsn(forward) = chunk {
                    assert!(forward.messages().eq([SkippedMessages { stream: 4, flags, mid: 0 }]));
                    told.push(forward.new_cumulative_tsn.wrapping_sub(first));
                }
            }
        };
        collect(&victim.sent());
        // What lies behind chunks of the other message is told once the peer has them.
        for acked in [0, 1, 2, 3, 4] {
            victim.receive(ip(2), vec![sack(first.wrapping_add(acked), PEER_WINDOW, &[])]);
            let packets = victim.sent();
            let other = i_data(&packets);
            assert!(other.iter().all(|(stream, ..)| *stream == 5), "{other:?}");
            collect(&packets);
        }
        assert!(told.first() == Some(&0) && told.iter().any(|it| *it >= 2), "{told:?}");
    }
}

#[test]
fn streams_begin_anew_with_mid_0() {
    let mut config = on(Preset::Cmt);
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    let mut pair = PairConfig::new(2, config);
    pair.form = Form::Encoded;
    let faults = Faults { loss: 30, duplication: 30, reordering: 30, ..Faults::default() };
    pair.paths = vec![PathModel::default().with_faults(faults); 2];
    let mut pair = Pair::connected(pair);
    let send = |pair: &mut Pair, number: u64| {
        let delivery =
            if number.is_multiple_of(2) { Delivery::Unordered } else { Delivery::Ordered };
        let next = OutgoingMessage { delivery, ..message(1, number, 4000) };
        pair.send(Side::Client, next).unwrap();
    };
    for round in 0..4 {
        (0..6).for_each(|number| send(&mut pair, 6 * round + number));
        let now = pair.now;
        let streams: &[u16] = if round.is_multiple_of(2) { &[1] } else { &[] };
        pair.hosts[0].command(now, 0, |it, _| it.reset_outgoing_streams(streams)).unwrap();
        let is_reset = |event: &&Event| matches!(event, Event::OutgoingStreamsReset { .. });
        let done = |pair: &Pair| {
            let count = pair.slot(Side::Client).events.iter().filter(is_reset).count();
            count == round as usize + 1
        };
        assert!(pair.run_until(secs(60), done), "{round}");
    }
    send(&mut pair, 99);
    assert!(pair.run_until(secs(60), |pair| pair.slot(Side::Server).messages.len() == 25));
    let messages = pair.slot(Side::Server).messages.iter();
    let ordered = messages.filter(|message| message.delivery == Delivery::Ordered);
    let ssns: Vec<u16> = ordered.map(|message| message.ssn).collect();
    assert_eq!(ssns, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn the_other_kind_of_chunk_ends_the_association() {
    let own = on(Preset::Cmt);
    let old_forward = || Chunk::ForwardTsn(ForwardTsn::of_streams(1, []));
    for (offered, chunk, aborts) in [
        (&BOTH[..], common::data(1), true),
        (&BOTH[..], piece(B | E, 1, 0, 0, 0), false),
        (&BOTH[..], old_forward(), true),
        (&BOTH[..], forward(1, &[]), false),
        (&BOTH[..1], forward(1, &[]), true),
        (&BOTH[..1], old_forward(), true),
        (&BOTH[..1], piece(B | E, 1, 0, 0, 0), false),
        (&BOTH[1..], common::data(1), false),
        (&BOTH[1..], piece(B | E, 1, 0, 0, 0), true),
        (&BOTH[1..], forward(1, &[]), true),
        (&[], piece(B | E, 1, 0, 0, 0), true),
        (&[], common::data(1), false),
    ] {
        let mut victim = Victim::established_offering(own.clone(), offered);
        victim.receive(ip(2), vec![chunk.clone()]);
        assert_eq!(was_aborted(&mut victim), aborts, "{offered:?} {chunk:?}");
        assert_eq!(victim.association().is_established(), !aborts, "{offered:?} {chunk:?}");
    }
}

#[test]
fn contradictions_end_the_association() {
    for (before, last) in [
        (vec![piece(B, 1, 0, 0, 0)], piece(M, 2, 0, 0, 0)),
        (vec![piece(M, 1, 0, 0, 7)], piece(M, 2, 0, 0, 7)),
        (vec![piece(E, 1, 0, 0, 7)], piece(M, 2, 0, 0, u32::MAX)),
        (vec![piece(B | E, 1, 0, 5, 0)], piece(B | E, 2, 0, 5, 0)),
        (vec![piece(B, 1, 0, 0, 0)], piece(B | E, 2, 0, 0, 0)),
        (vec![piece(B | U, 1, 0, 0, 0)], piece(B | U, 2, 0, 0, 0)),
    ] {
        let mut victim = agreed();
        victim.receive(ip(2), before);
        assert!(victim.association().is_established());
        victim.receive(ip(2), vec![last.clone()]);
        assert!(was_aborted(&mut victim), "{last:?}");
    }
    // Duplicates are no contradiction, nor is the other kind or stream.
    let mut victim = agreed();
    for chunk in [
        piece(B, 1, 0, 0, 0),
        piece(B, 1, 0, 0, 0),
        piece(E | U, 2, 0, 0, 1),
        piece(E, 3, 1, 0, 1),
        piece(E, 4, 0, 0, 1),
    ] {
        victim.receive(ip(2), vec![chunk]);
    }
    assert!(victim.association().is_established());
    assert_eq!(victim.host.slots[0].messages.len(), 1);
}

/// Fragments of messages that never end: the receive buffer bounds what is held, and then the association ends.
#[test]
fn messages_that_never_end_take_no_more_than_the_buffer() {
    type Fragment = fn(u32) -> Chunk<'static>;
    let endless: [Fragment; 4] = [
        // In turn it would be delivered in pieces.
        |tsn| piece(if tsn == 1 { B } else { M }, tsn, 0, 1, tsn - 1),
        |tsn| piece(B, tsn, (tsn % 10) as u16, tsn, 0),
        |tsn| piece(M | U, tsn, (tsn % 10) as u16, tsn.wrapping_mul(0x9E37_79B9), u32::MAX - tsn),
        |tsn| piece(M, tsn, 3, 0, u32::MAX - 2 * tsn),
    ];
    for (kind, fragment) in endless.into_iter().enumerate() {
        let mut config = on(Preset::Cmt);
        config.receive_buffer_bytes = 50_000;
        let mut victim = Victim::established_offering(config, &BOTH);
        let mut most = 0;
        for tsn in 1..5000 {
            victim.receive(ip(2), vec![fragment(tsn)]);
            if !victim.association().is_established() {
                break;
            }
            most = most.max(victim.association().stats().receive_buffer_bytes);
        }
        assert!(!victim.association().is_established(), "{kind}");
        assert!((40_000..=50_100).contains(&most), "{kind}: {most}");
        let aborts = chunks(&victim.sent()).any(|chunk| match chunk {
            Chunk::Abort(it) => it.causes.iter().any(|it| matches!(it, Cause::OutOfResource)),
            _ => false,
        });
        assert!(aborts, "{kind}");
    }
}

/// An I-FORWARD-TSN far ahead, of streams that do not exist, or again, does no harm.
#[test]
fn strange_forward_tsns_do_no_harm() {
    let mut victim = agreed();
    victim.receive(ip(2), vec![piece(B, 1, 0, 0, 0), piece(B | E, 2, 0, 1, 0)]);
    victim.receive(ip(2), vec![forward(3, &[(u16::MAX, 0, 5), (0, 0xFFFE, 0), (7, 1, u32::MAX)])]);
    victim.receive(ip(2), vec![forward(3, &[(0, 0, 1)])]);
    assert_eq!(victim.host.slots[0].messages.len(), 1);
    victim.receive(ip(2), vec![piece(E, 4, 0, 0, 1)]);
    assert_eq!(
        victim.association().stats().receive_buffer_bytes,
        0,
        "left over from a skipped one"
    );
    victim.receive(ip(2), vec![piece(B | E, 5, 0, 2, 0)]);
    assert_eq!(victim.host.slots[0].messages.len(), 2);
    assert!(victim.association().is_established());
}

#[test]
fn what_did_not_arrive_is_reported_once() {
    let mut victim = agreed();
    let messages = [(0, 30_000), (1, 30_000), (2, 100)].map(|(stream, size)| OutgoingMessage {
        context: stream.into(),
        ..message(stream, u64::from(stream), size)
    });
    send_together(&mut victim, messages);
    victim.sent();
    victim.host.abort(victim.now, 0, "enough");
    let failed = victim.events().iter().filter_map(|event| match event {
        Event::SendFailed { context, transmitted, .. } => Some((*context, *transmitted)),
        _ => None,
    });
    let mut failed: Vec<_> = failed.collect();
    failed.sort_unstable();
    assert_eq!(failed, [(0, true), (1, true), (2, true)]);
}

#[test]
fn a_side_without_it_does_not_offer_it() {
    for (config, expected) in [(on(Preset::Cmt), true), (config(Preset::Cmt), false)] {
        let mut victim = Victim::connecting(config, &[ip(2)]);
        victim.wait_for_timer();
        let sent = victim.sent();
        let init = chunks(&sent).find_map(|chunk| match chunk {
            Chunk::Init(init) => Some(init.clone()),
            _ => None,
        });
        let listed = init.expect("INIT again").parameters.iter().any(|parameter| {
            matches!(parameter, polypath_wire::Parameter::SupportedExtensions(types)
                if BOTH.iter().all(|it| types.contains(it)))
        });
        assert_eq!(listed, expected);
    }
}
