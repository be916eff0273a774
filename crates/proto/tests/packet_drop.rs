//! Packet drop reports between two stacks, and from a peer that means harm.

#![allow(clippy::disallowed_types)] // proptest's macros use Arc

mod common;

use common::{Victim, config, init_ack_with, ip, message, millis, sack, secs};
use polypath_proto::Transmit;
use polypath_proto::config::{AssociationConfig, PacketDropReport, Preset};
use polypath_testkit::{Faults, Form, Pair, PairConfig, Side};
use polypath_wire::{Checksum, Chunk, Packet, PacketDrop, Parameter, Raw, chunk_type};
use proptest::prelude::*;

const MIDDLEBOX: u8 = 1;
const BAD_CHECKSUM: u8 = 2;
const TRUNCATED: u8 = 4;

fn reporting() -> AssociationConfig {
    let mut config = config(Preset::Cmt);
    config.policies.packet_drop_report = PacketDropReport::On;
    config
}

fn silent() -> AssociationConfig {
    config(Preset::Cmt)
}

/// 300 messages from the client to the server over two paths that damage what the client sends.
fn transfer(client: AssociationConfig, server: AssociationConfig, form: Form) -> Pair {
    let mut setup = PairConfig::new(2, client);
    setup.server = server;
    setup.form = form;
    let mut pair = Pair::connected(setup);
    assert!(pair.run_until(secs(10), Pair::all_confirmed));
    for path in &mut pair.paths {
        path.faults = Faults { damage: 60, ..Faults::default() };
        path.faults_back = Some(Faults::default());
    }
    for number in 0..300 {
        pair.send(Side::Client, message(number, 1000)).unwrap();
    }
    assert!(pair.run_until(secs(600), |pair| pair.slot(Side::Server).messages.len() == 300));
    let numbers = pair.slot(Side::Server).messages.iter().map(|message| u64::from(message.ppid));
    assert!(numbers.eq(0..300), "in order, each once");
    pair
}

#[test]
fn reports_repair_damage_without_reducing_windows() {
    let pair = transfer(reporting(), reporting(), Form::Structured);
    let sender = pair.slot(Side::Client).association.stats();
    let receiver = pair.slot(Side::Server).association.stats();
    assert!(receiver.packets_damaged > 5);
    assert_eq!(receiver.drop_reports_sent, receiver.packets_damaged);
    assert_eq!(sender.drop_reports_received, receiver.drop_reports_sent);
    assert_eq!(sender.reported_retransmissions, receiver.packets_damaged);
    assert_eq!((sender.fast_retransmissions, sender.timeouts), (0, 0));
    let paths = pair.slot(Side::Client).association.path_stats();
    assert!(paths.iter().all(|path| path.fast_recoveries == 0));
    assert!(paths.iter().all(|path| path.reported_retransmissions > 0), "each on its own path");
}

#[test]
fn damage_anywhere_is_survived() {
    let pair = transfer(reporting(), reporting(), Form::Encoded);
    let sender = pair.slot(Side::Client).association.stats();
    assert!(sender.reported_retransmissions > 5);
}

#[test]
fn towards_a_peer_without_reports_nothing_is_sent() {
    for (client, server) in [(silent(), reporting()), (reporting(), silent()), (silent(), silent())]
    {
        let pair = transfer(client, server, Form::Structured);
        for side in [Side::Client, Side::Server] {
            let stats = pair.slot(side).association.stats();
            assert_eq!((stats.drop_reports_sent, stats.drop_reports_received), (0, 0));
        }
        assert!(pair.slot(Side::Server).association.stats().packets_damaged > 5);
        assert!(pair.slot(Side::Client).association.stats().fast_retransmissions > 0);
    }
}

/// A client that has sent `count` messages of 1,000 bytes to a peer with reports, and the packets.
fn sender(count: u64) -> (Victim, Vec<Transmit>) {
    let mut victim = Victim::established_offering(reporting(), &[chunk_type::PACKET_DROP]);
    victim.send(count, 1000);
    let sent = victim.sent();
    victim.now += millis(20);
    (victim, sent)
}

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
    bytes
}

fn report(flags: u8, packet: Vec<u8>) -> PacketDrop<'static> {
    PacketDrop {
        flags,
        bandwidth_or_limit: 100_000,
        queued: 20_000,
        truncated_length: 0,
        reserved: 0,
        packet: Raw::from(packet),
    }
}

fn tsns(sent: &[Transmit]) -> Vec<u32> {
    let chunks = sent.iter().flat_map(|transmit| &transmit.packet.chunks);
    chunks.filter_map(|chunk| if let Chunk::Data(d) = chunk { Some(d.tsn) } else { None }).collect()
}

#[test]
fn what_is_reported_is_sent_again_at_once() {
    let (mut victim, sent) = sender(3);
    let first = victim.first_tsn();
    assert_eq!(tsns(&sent), [first, first + 1, first + 2]);
    let before = victim.path();
    let damaged = report(BAD_CHECKSUM, encoded(&sent[1].packet));
    victim.receive(ip(2), vec![Chunk::PacketDrop(damaged.clone())]);
    assert_eq!(tsns(&victim.sent()), [first + 1]);
    let after = victim.path();
    assert_eq!(
        (after.cwnd_bytes, after.ssthresh_bytes),
        (before.cwnd_bytes, before.ssthresh_bytes)
    );
    assert_eq!(after.flight_bytes, before.flight_bytes);
    assert_eq!((after.reported_retransmissions, after.fast_retransmissions), (1, 0));
    let stats = victim.association().stats();
    assert_eq!(stats.peer_window_bytes, 100_000 - 20_000 - 3000);
    // An acknowledged chunk is not sent again.
    victim.receive(ip(2), vec![sack(first + 2, 100_000, &[]), Chunk::PacketDrop(damaged)]);
    assert_eq!(victim.sent().len(), 0);
    assert_eq!(victim.path().flight_bytes, 0);
}

/// Over two paths a report may be older than a SACK that came before it.
#[test]
fn the_window_of_a_report_is_believed_only_with_a_single_path() {
    let offer = Parameter::SupportedExtensions(&[chunk_type::PACKET_DROP]);
    for (second, expected) in [(None, 100_000 - 20_000 - 3000), (Some(ip(4)), 100_000 - 3000)] {
        let parameters: Vec<_> =
            second.map(Parameter::from).into_iter().chain([offer.clone()]).collect();
        let mut victim = Victim::established_by(reporting(), init_ack_with(&parameters));
        victim.send(3, 1000);
        let sent = victim.sent();
        victim.now += millis(20);
        let damaged = report(BAD_CHECKSUM, encoded(&sent[1].packet));
        victim.receive(ip(2), vec![Chunk::PacketDrop(damaged)]);
        assert_eq!(tsns(&victim.sent()).len(), 1, "the chunk is sent again");
        let stats = victim.association().stats();
        assert_eq!(stats.peer_window_bytes, expected, "{second:?}");
    }
}

/// RFC 9260 section 7.2.4, rule 4: a chunk that is sent again out of turn restarts T3 only if it is the lowest outstanding
/// one. Otherwise reports that keep coming would put off the repair of one that was lost again, for ever.
#[test]
fn reports_of_later_chunks_do_not_put_off_the_timer() {
    for (reported, restarts) in [(0, true), (1, false), (2, false)] {
        let (mut victim, sent) = sender(3);
        victim.now += millis(480);
        let damaged = report(BAD_CHECKSUM, encoded(&sent[reported].packet));
        victim.receive(ip(2), vec![Chunk::PacketDrop(damaged)]);
        assert_eq!(tsns(&victim.sent()), [victim.first_tsn() + reported as u32]);
        let repaired = victim.now;
        assert!(victim.wait_for_timer());
        assert_eq!(victim.association().stats().timeouts, 1);
        assert_eq!(victim.now == repaired + secs(1), restarts, "chunk {reported}");
        assert!(restarts || victim.now == repaired + millis(500), "chunk {reported}");
    }
}

#[test]
fn what_cannot_be_true_is_not_believed() {
    type Change = fn(&mut PacketDrop<'static>, &mut Vec<u8>);
    let cases: [(&str, Change); 7] = [
        ("user data that was not sent", |_, packet| packet[12 + 16 + 30] ^= 1),
        ("a TSN that was not sent", |_, packet| packet[12 + 4] ^= 0x40),
        ("the TSN of another chunk", |_, packet| packet[12 + 7] ^= 1),
        ("refused for want of room", |report, _| report.flags = 0),
        ("too little to compare", |_, packet| packet.truncate(12 + 16 + 30)),
        ("no chunk", |_, packet| packet.truncate(12)),
        ("longer than the whole", |report, packet| {
            report.flags |= TRUNCATED;
            report.truncated_length = packet.len() as u16;
        }),
    ];
    for (what, change) in cases {
        let (mut victim, sent) = sender(3);
        let mut packet = encoded(&sent[1].packet);
        let mut report = report(BAD_CHECKSUM, Vec::new());
        change(&mut report, &mut packet);
        report.packet = Raw::from(packet);
        victim.receive(ip(2), vec![Chunk::PacketDrop(report)]);
        assert_eq!(tsns(&victim.sent()), [0u32; 0], "{what}");
        assert_eq!(victim.path().reported_retransmissions, 0, "{what}");
    }
}

#[test]
fn a_mismatch_ends_the_reading() {
    let (mut victim, sent) = sender(3);
    let mut packet = encoded(&sent[1].packet);
    packet[12 + 16] ^= 1;
    packet.extend_from_slice(&encoded(&sent[0].packet)[12..]);
    victim.receive(ip(2), vec![Chunk::PacketDrop(report(BAD_CHECKSUM, packet))]);
    assert_eq!(victim.sent().len(), 0);
    assert_eq!(victim.association().stats().peer_window_bytes, 100_000 - 3000, "nor its window");
}

#[test]
fn a_repaired_chunk_counts_missing_again_only_for_later_data() {
    let (mut victim, sent) = sender(3);
    let first = victim.first_tsn();
    let acked = |last: u16| sack(first.wrapping_sub(1), 100_000, &[(2, last)]);
    victim.receive(ip(2), vec![acked(2)]);
    victim.receive(ip(2), vec![Chunk::PacketDrop(report(BAD_CHECKSUM, encoded(&sent[0].packet)))]);
    assert_eq!(tsns(&victim.sent()), [first]);
    let cwnd = victim.path().cwnd_bytes;
    victim.receive(ip(2), vec![acked(3)]);
    // These are sent after the repair.
    victim.send(4, 1000);
    let later = victim.sent();
    assert!(tsns(&later).len() >= 3, "{later:?}");
    for last in 4..=5 {
        victim.receive(ip(2), vec![acked(last)]);
        assert_eq!(victim.path().fast_retransmissions, 0, "two missing reports");
    }
    victim.receive(ip(2), vec![acked(6)]);
    assert_eq!(victim.path().fast_retransmissions, 1, "damage is no excuse for the second loss");
    assert!(victim.path().cwnd_bytes <= cwnd.max(6000));
    assert_eq!(victim.path().fast_recoveries, 1);
}

#[test]
fn a_middlebox_may_use_the_tag_of_the_other_direction() {
    let (mut victim, sent) = sender(3);
    for (flags, tag, repaired) in [(BAD_CHECKSUM, 7, 0), (MIDDLEBOX, 8, 0), (MIDDLEBOX, 7, 1)] {
        // 7 is the tag that the played peer chose for packets to itself.
        let chunk = Chunk::PacketDrop(report(flags, encoded(&sent[0].packet)));
        victim.receive_with_tag(tag, vec![chunk]);
        assert_eq!(victim.path().reported_retransmissions, repaired, "{flags} {tag}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever a peer reports: no panic, no flood, nothing sent that was not outstanding, and counters that agree.
    #[test]
    fn hostile_reports_are_harmless(
        reports in prop::collection::vec(
            (any::<u8>(), any::<u32>(), any::<u32>(), any::<u16>(), 0usize..8, prop::collection::vec((any::<u16>(), any::<u8>()), 0..6), 0usize..1600),
            1..40,
        ),
        junk in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let (mut victim, sent) = sender(4);
        let outstanding = tsns(&sent);
        let mut answers = 0;
        for (flags, limit, queued, truncated_length, which, damage, cut) in &reports {
            let mut packet = match sent.get(*which) {
                Some(transmit) => encoded(&transmit.packet),
                None => [&[0; 12][..], &junk[..]].concat(),
            };
            for (at, value) in damage {
                let len = packet.len();
                packet[usize::from(*at) % len] = *value;
            }
            packet.truncate(*cut);
            let report = PacketDrop {
                flags: *flags,
                bandwidth_or_limit: *limit,
                queued: *queued,
                truncated_length: *truncated_length,
                reserved: 0,
                packet: Raw::from(packet),
            };
            victim.receive(ip(2), vec![Chunk::PacketDrop(report)]);
            let answer = victim.sent();
            answers += answer.len();
            prop_assert!(tsns(&answer).iter().all(|tsn| outstanding.contains(tsn)));
            victim.now += millis(1);
        }
        prop_assert!(answers <= reports.len() * 5);
        prop_assert!(victim.association().is_established());
        victim.receive(ip(2), vec![sack(victim.first_tsn().wrapping_add(3), 100_000, &[])]);
        prop_assert_eq!(victim.path().flight_bytes, 0);
        prop_assert_eq!(victim.association().stats().send_buffer_bytes, 0);
    }
}
