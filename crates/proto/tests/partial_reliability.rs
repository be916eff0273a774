//! FORWARD-TSN (RFC 3758) between whole stacks and against a peer that the test plays: what is given up is told until
//! the peer knows it, a peer that means harm gets nothing out of it, and one that does not know it never sees it.

mod common;

use common::{PEER_WINDOW, Victim, config, data_chunks, ip, message, millis, sack, secs};
use polypath_proto::config::{AssociationConfig, PartialReliability, Preset};
use polypath_proto::{AbandonedCount, Delivery, Event, OutgoingMessage, Transmit};
use polypath_testkit::{Faults, Form, Pair, PairConfig, Side};
use polypath_wire::{
    Cause, Causes, Chunk, Data, DataFlags, ForwardTsn, Init, Parameter, Parameters, Payload,
    SkippedStream, VirtualPayload,
};

const NO_RETRANSMISSION: PartialReliability = PartialReliability::LimitedRetransmissions(0);

/// Streams that the played peer may use.
const STREAMS: u16 = 10;

fn with(partial_reliability: PartialReliability) -> AssociationConfig {
    let mut config = AssociationConfig { heartbeat_interval: None, ..config(Preset::Cmt) };
    config.max_inbound_streams = STREAMS;
    config.policies.partial_reliability = partial_reliability;
    config
}

/// INIT ACK of a peer whose first TSN is this one.
fn init_ack(initial_tsn: u32, parameters: &[Parameter<'static>]) -> Chunk<'static> {
    let mut all = vec![Parameter::StateCookie(b"a cookie")];
    all.extend_from_slice(parameters);
    Chunk::InitAck(Init {
        initiate_tag: 7,
        a_rwnd: PEER_WINDOW,
        outbound_streams: STREAMS,
        inbound_streams: STREAMS,
        initial_tsn,
        parameters: Parameters::build(all),
    })
}

/// An association with a peer that knows FORWARD-TSN and begins with this TSN.
fn agreed(config: AssociationConfig, initial_tsn: u32) -> Victim {
    Victim::established_by(config, init_ack(initial_tsn, &[Parameter::ForwardTsnSupported]))
}

fn forward(tsn: u32, streams: &[(u16, u16)]) -> Chunk<'static> {
    let streams = streams.iter().map(|&(stream, ssn)| SkippedStream { stream, ssn });
    Chunk::ForwardTsn(ForwardTsn::of_streams(tsn, streams))
}

fn piece(flags: DataFlags, tsn: u32, stream: u16, ssn: u16) -> Chunk<'static> {
    let payload = Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: 100 });
    Chunk::Data(Data { flags, tsn, stream, ssn, ppid: tsn, payload })
}

fn whole(tsn: u32, stream: u16, ssn: u16) -> Chunk<'static> {
    piece(DataFlags::BEGIN | DataFlags::END, tsn, stream, ssn)
}

/// What FORWARD-TSN chunks among packets say.
fn forwards(packets: &[Transmit]) -> Vec<(u32, Vec<(u16, u16)>)> {
    let chunks = packets.iter().flat_map(|transmit| transmit.packet.chunks.iter());
    let forwards = chunks.filter_map(|chunk| match chunk {
        Chunk::ForwardTsn(forward) => Some(forward),
        _ => None,
    });
    forwards
        .map(|forward| {
            let streams = forward.streams().map(|s| (s.stream, s.ssn)).collect();
            (forward.new_cumulative_tsn, streams)
        })
        .collect()
}

/// Cumulative TSN acks of the SACKs among packets.
fn acked(packets: &[Transmit]) -> Vec<u32> {
    let chunks = packets.iter().flat_map(|transmit| transmit.packet.chunks.iter());
    let sacks = chunks.filter_map(|chunk| match chunk {
        Chunk::Sack(sack) => Some(sack.cumulative_tsn_ack),
        _ => None,
    });
    sacks.collect()
}

/// Cumulative TSN ack of the next SACK, which may be delayed.
fn next_ack(victim: &mut Victim) -> u32 {
    let at_once = acked(&victim.sent()).last().copied();
    at_once.unwrap_or_else(|| {
        assert!(victim.wait_for_timer());
        *acked(&victim.sent()).last().expect("a SACK")
    })
}

/// What the user of the victim got, by TSN.
fn delivered(victim: &Victim) -> Vec<u32> {
    victim.host.slots[0].messages.iter().map(|message| message.ppid).collect()
}

#[test]
fn a_forward_tsn_that_is_lost_comes_again_with_t3() {
    let mut victim = agreed(with(NO_RETRANSMISSION), 1);
    let first = victim.first_tsn();
    victim.send(1, 100);
    victim.sent();
    let mut timeouts = 0;
    for n in 1..=4 {
        assert!(victim.wait_for_timer());
        timeouts += 1;
        let sent = victim.sent();
        assert_eq!(forwards(&sent), [(first, vec![(0, 0)])], "number {n}");
        assert_eq!(data_chunks(&sent), 0, "it is given up");
        assert_eq!(victim.path().timeouts, timeouts, "the timer backs off and counts");
    }
    assert!(matches!(victim.events().last(), Some(Event::SenderDry | Event::Abandoned { .. })));
    assert_eq!(victim.association().stats().abandoned.limited_retransmissions.sent, 1);
    victim.receive(ip(2), vec![sack(first, PEER_WINDOW, &[])]);
    assert!(forwards(&victim.sent()).is_empty());
    assert!(!victim.wait_for_timer(), "nothing is left to wait for");
    // The next TSN follows it.
    victim.send(1, 100);
    assert_eq!(data_chunks(&victim.sent()), 1);
    victim.receive(ip(2), vec![sack(first.wrapping_add(1), PEER_WINDOW, &[])]);
    assert_eq!(victim.association().stats().send_buffer_bytes, 0);
}

#[test]
fn a_peer_that_never_answers_it_ends_the_association() {
    let mut victim = agreed(with(NO_RETRANSMISSION), 1);
    victim.send(1, 100);
    for _ in 0..1000 {
        if !victim.wait_for_timer() {
            break;
        }
    }
    assert!(victim.association().is_closed());
}

#[test]
fn a_peer_without_the_extension_gets_everything_and_no_forward_tsn() {
    for reliability in
        [NO_RETRANSMISSION, PartialReliability::Timed(millis(10)), PartialReliability::Priority(9)]
    {
        let mut config = with(reliability);
        config.send_buffer_bytes = 3000;
        let mut victim = Victim::established_by(config, init_ack(1, &[]));
        let first = victim.first_tsn();
        victim.send(3, 1000);
        let urgent = OutgoingMessage {
            reliability: Some(PartialReliability::Priority(0)),
            ..message(3, 1000)
        };
        assert!(victim.host.send(victim.now, 0, urgent).is_err(), "nothing makes room for it");
        victim.sent();
        for _ in 0..3 {
            assert!(victim.wait_for_timer());
            let sent = victim.sent();
            assert!(data_chunks(&sent) > 0, "{reliability:?} is sent again");
            assert!(forwards(&sent).is_empty());
        }
        victim.receive(ip(2), vec![sack(first.wrapping_add(2), PEER_WINDOW, &[])]);
        let stats = victim.association().stats();
        assert_eq!(stats.abandoned.all(), AbandonedCount::default());
        assert_eq!(stats.messages_kept_reliable, 3);
        assert_eq!((stats.send_buffer_bytes, stats.forward_tsns_sent), (0, 0));
        // What it sends without having offered it means nothing.
        victim.receive(ip(2), vec![whole(2, 0, 0), forward(1, &[])]);
        assert_eq!(victim.association().stats().forward_tsns_received, 0);
        assert!(acked(&victim.sent()).iter().all(|tsn| *tsn == 0));
    }
}

/// What a FORWARD-TSN does to a receiver that has the TSNs up to 10, 12 and 13, where SSN 0 is that of TSN 1.
#[test]
fn a_forward_tsn_moves_the_receiver_and_a_bad_one_does_no_harm() {
    const HALF: u32 = 1 << 31;
    // (what, point, streams, cumulative TSN ack, messages delivered)
    type Case = (&'static str, u32, &'static [(u16, u16)], u32, usize);
    let cases: [Case; 11] = [
        ("the hole", 11, &[(0, 10)], 13, 12),
        ("the hole, and a message behind it", 12, &[(0, 10)], 13, 12),
        ("the hole without its stream: order waits for it", 11, &[], 13, 10),
        ("everything and more", 40, &[(0, 39)], 40, 12),
        ("what was acknowledged already", 10, &[(0, 50)], 10, 10),
        ("what was acknowledged long ago", HALF.wrapping_add(11), &[(0, 50)], 10, 10),
        ("half the space away, which is ahead", HALF + 10, &[(0, 50)], HALF + 10, 12),
        ("streams that do not exist", 11, &[(STREAMS, 7), (u16::MAX, 0), (0, 10)], 13, 12),
        ("a stream twice", 11, &[(0, 10), (0, 3)], 13, 12),
        ("an SSN that is over", 11, &[(0, 4)], 13, 10),
        ("an SSN far ahead", 11, &[(0, 20_000)], 13, 12),
    ];
    for base in [0, u32::MAX - 11] {
        for (what, point, streams, cumulative, messages) in cases {
            let case = format!("{what} from {base}");
            let tsn = |n: u32| base.wrapping_add(n);
            let mut victim = agreed(with(PartialReliability::None), tsn(1));
            for n in (1..=10).chain([12, 13]) {
                victim.receive(ip(2), vec![whole(tsn(n), 0, (n - 1) as u16)]);
            }
            victim.sent();
            victim.receive(ip(2), vec![forward(tsn(point), streams)]);
            assert!(victim.association().is_established(), "{case}");
            assert_eq!(next_ack(&mut victim), tsn(cumulative), "{case}");
            assert_eq!(delivered(&victim).len(), messages, "{case}");
            // Whatever was said, the association goes on.
            let flags = DataFlags::BEGIN | DataFlags::END | DataFlags::UNORDERED;
            victim.receive(ip(2), vec![piece(flags, tsn(cumulative.max(13) + 1), 1, 0)]);
            assert_eq!(delivered(&victim).len(), messages + 1, "{case}");
        }
    }
}

/// No gap ack block reaches so far and no window held so much; but the peer's TSNs are its own, so it is only itself that it
/// can harm.
#[test]
fn a_point_far_ahead_of_the_window_leaves_an_empty_receiver() {
    for ahead in [70_000, i32::MAX as u32] {
        let mut victim = agreed(with(PartialReliability::None), 1);
        victim.receive(ip(2), vec![piece(DataFlags::BEGIN, 2, 0, 1), whole(5, 3, 7)]);
        victim.sent();
        let before = victim.association().stats();
        assert_eq!(before.receive_buffer_bytes, 200);
        victim.receive(ip(2), vec![forward(ahead, &[(0, 1), (3, 6)])]);
        assert!(victim.association().is_established());
        assert_eq!(delivered(&victim), [5]);
        assert_eq!(victim.association().stats().receive_buffer_bytes, 0, "{ahead}");
        assert_eq!(next_ack(&mut victim), ahead);
        victim.receive(ip(2), vec![whole(ahead + 1, 0, 2)]);
        assert_eq!(delivered(&victim), [5, ahead + 1]);
    }
}

/// The sender tells of the next hole when it hears that the last one is passed.
#[test]
fn a_forward_tsn_is_answered_at_once_while_there_are_holes() {
    let mut victim = agreed(with(NO_RETRANSMISSION), 1);
    for tsn in [2, 4, 6] {
        victim.receive(ip(2), vec![whole(tsn, 1, tsn as u16)]);
    }
    victim.sent();
    while victim.wait_for_timer() {
        victim.sent();
    }
    for (point, acknowledged) in [(1, 2), (3, 4)] {
        victim.receive(ip(2), vec![forward(point, &[])]);
        assert_eq!(acked(&victim.sent()), [acknowledged]);
    }
    // The last one can wait.
    victim.receive(ip(2), vec![forward(5, &[])]);
    assert!(acked(&victim.sent()).is_empty());
    assert_eq!(next_ack(&mut victim), 6);
}

#[test]
fn fragments_go_with_the_message_that_was_given_up() {
    for unordered in [DataFlags::empty(), DataFlags::UNORDERED] {
        let base = u32::MAX - 2;
        let tsn = |n: u32| base.wrapping_add(n);
        let mut victim = agreed(with(PartialReliability::None), tsn(1));
        // 1 to 3 are a message that lacks its middle, 4 to 6 one that lacks its end.
        let end = DataFlags::END | unordered;
        let begin = DataFlags::BEGIN | unordered;
        victim.receive(ip(2), vec![piece(begin, tsn(1), 0, 0), piece(end, tsn(3), 0, 0)]);
        victim.receive(ip(2), vec![piece(begin, tsn(4), 0, 1), piece(unordered, tsn(5), 0, 1)]);
        assert_eq!(victim.association().stats().receive_buffer_bytes, 400);
        let streams: &[(u16, u16)] = if unordered.is_empty() { &[(0, 0)] } else { &[] };
        victim.receive(ip(2), vec![forward(tsn(3), streams)]);
        assert_eq!(victim.association().stats().receive_buffer_bytes, 200, "{unordered:?}");
        victim.receive(ip(2), vec![piece(end, tsn(6), 0, 1)]);
        assert_eq!(delivered(&victim).len(), 1, "the second one is whole");
        assert_eq!(victim.association().stats().receive_buffer_bytes, 0);
    }
}

#[test]
fn stream_sequence_numbers_wrap() {
    let mut victim = agreed(with(PartialReliability::None), 1);
    // More than half the space at once would be a step back.
    for (tsn, ssn) in [(1, 30_000), (2, 60_000), (3, u16::MAX - 2)] {
        victim.receive(ip(2), vec![forward(tsn, &[(0, ssn)])]);
    }
    // 65534 is missing.
    victim.receive(ip(2), vec![whole(5, 0, u16::MAX), whole(6, 0, 0), whole(8, 0, 2)]);
    assert!(delivered(&victim).is_empty());
    victim.receive(ip(2), vec![forward(4, &[(0, u16::MAX - 1)])]);
    assert_eq!(delivered(&victim), [5, 6]);
    // What is over does not come back with numbers that look higher.
    victim.receive(ip(2), vec![forward(7, &[(0, u16::MAX)])]);
    assert_eq!(delivered(&victim), [5, 6]);
    victim.receive(ip(2), vec![forward(9, &[(0, 1)])]);
    assert_eq!(delivered(&victim), [5, 6, 8]);
}

#[test]
fn truncated_chunks_are_refused_and_cost_nothing() {
    let mut victim = agreed(with(PartialReliability::None), 1);
    let good = victim.encoded(vec![forward(5, &[(0, 9)])]);
    let header = 12;
    // Length of the chunk: without point, with half of it, with half a stream, longer than the packet.
    for length in [4u16, 6, 7, 9, 10, 11, 64] {
        let mut bytes = good.clone();
        bytes[header + 2..header + 4].copy_from_slice(&length.to_be_bytes());
        victim.receive_bytes(&bytes);
        assert!(victim.association().is_established(), "{length}");
        assert_eq!(victim.association().stats().forward_tsns_received, 0, "{length}");
    }
    victim.receive_bytes(&good);
    assert_eq!(victim.association().stats().forward_tsns_received, 1);
    assert_eq!(next_ack(&mut victim), 5);
}

/// Sends on stream 0 of a lossy path and returns the numbers of the messages that arrived, in their order.
fn over_a_lossy_path(count: u64, size: u32, delivery: Delivery, form: Form) -> (Vec<u64>, Pair) {
    let mut config = PairConfig::new(1, with(NO_RETRANSMISSION));
    config.form = form;
    let mut pair = Pair::connected(config);
    let faults = Faults { loss: 30, ..Faults::default() };
    pair.paths[0] = pair.paths[0].with_faults(faults);
    let mut next = 0;
    while next < count {
        let context = next as u32;
        let message = OutgoingMessage { delivery, context, ..message(next, size) };
        let sent = pair.send(Side::Client, message);
        match sent {
            Ok(()) => next += 1,
            Err(_) => {
                let writable = pair.slot(Side::Client).events.len();
                assert!(pair.run_until(secs(60), |pair| {
                    pair.slot(Side::Client).events[writable..].contains(&Event::Writable)
                }));
            }
        }
    }
    pair.shutdown(Side::Client);
    assert!(pair.run_until(secs(600), |pair| pair.slot(Side::Client).association.is_closed()));
    let messages = &pair.slot(Side::Server).messages;
    let numbers = messages.iter().map(|message| u64::from(message.ppid)).collect();
    (numbers, pair)
}

#[test]
fn order_survives_the_wrap_of_ssns_although_messages_are_given_up() {
    const COUNT: u64 = 66_500;
    let (numbers, pair) = over_a_lossy_path(COUNT, 4, Delivery::Ordered, Form::Structured);
    assert!(numbers.is_sorted());
    let stats = pair.slot(Side::Client).association.stats();
    let abandoned = stats.abandoned.limited_retransmissions;
    assert!(abandoned.sent > 100, "{abandoned:?}");
    assert_eq!(numbers.len() as u64 + abandoned.sent + abandoned.unsent, COUNT);
    assert!(numbers.iter().any(|number| *number > 66_000));
    assert_eq!(pair.slot(Side::Server).association.stats().receive_buffer_bytes, 0);
}

#[test]
fn what_arrives_of_unordered_messages_in_pieces_is_whole() {
    let (mut numbers, pair) = over_a_lossy_path(500, 4000, Delivery::Unordered, Form::Encoded);
    let abandoned = pair.slot(Side::Client).association.stats().abandoned.limited_retransmissions;
    assert!(abandoned.sent > 20, "{abandoned:?}");
    // Whose acknowledgement is lost with the timer running counts as given up, and has arrived all the same.
    let given_up = pair.slot(Side::Client).events.iter().filter_map(|event| match event {
        Event::Abandoned { context, .. } => Some(u64::from(*context)),
        _ => None,
    });
    let given_up: Vec<_> = given_up.collect();
    assert_eq!(given_up.len() as u64, abandoned.sent + abandoned.unsent);
    let both = given_up.iter().filter(|number| numbers.contains(number)).count();
    assert!(both <= 2, "{both}");
    numbers.extend(given_up);
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 500, "each has arrived or was told to be given up");
    let messages = &pair.slot(Side::Server).messages;
    assert!(messages.iter().all(|message| message.len() == 4000));
    assert_eq!(pair.slot(Side::Server).association.stats().receive_buffer_bytes, 0);
}

/// Some stacks offer FORWARD-TSN and do not know the chunk: what was abandoned is sent to them after all.
#[test]
fn a_peer_that_rejects_what_it_offered_gets_everything() {
    let mut victim = agreed(with(NO_RETRANSMISSION), 1);
    victim.send(4, 1000);
    let first = victim.first_tsn();
    victim.sent();
    // The first is lost, and given up.
    for _ in 0..4 {
        victim.receive(ip(2), vec![common::sack(first.wrapping_sub(1), PEER_WINDOW, &[(2, 4)])]);
    }
    while victim.wait_for_timer() {
        if victim.now.since(polypath_proto::Instant::ZERO) > secs(3) {
            break;
        }
    }
    let sent = victim.sent();
    let told = forwards(&sent);
    assert!(told.iter().any(|(tsn, _)| *tsn == first), "{told:?}");
    assert_eq!(data_chunks(&sent), 0);
    let mut quoted = vec![0xC0, 0, 0, 8];
    quoted.extend_from_slice(&first.to_be_bytes());
    let reject = || Chunk::Error(Causes::build([Cause::UnrecognizedChunk(&quoted)]));
    victim.receive(ip(2), vec![reject()]);
    let mut sent = victim.sent();
    while data_chunks(&sent) == 0 && victim.wait_for_timer() {
        sent.extend(victim.sent());
    }
    let again = sent.iter().flat_map(|packet| packet.packet.chunks.iter()).find_map(|chunk| {
        let Chunk::Data(data) = chunk else { return None };
        Some((data.tsn, data.payload.len()))
    });
    assert_eq!((again, forwards(&sent).len()), (Some((first, 1000)), 0));
    victim.receive(ip(2), vec![common::sack(first + 3, PEER_WINDOW, &[]), reject()]);
    // From now on everything is reliable.
    victim.send(1, 1000);
    victim.sent();
    victim.now += secs(30);
    victim.host.handle_timeout(victim.now);
    assert_eq!(data_chunks(&victim.sent()), 1);
    assert!(victim.association().is_established());
}
