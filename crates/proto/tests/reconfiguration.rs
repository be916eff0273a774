//! Stream reconfiguration (RE-CONFIG, RFC 6525): streams begin anew and are added, whatever is lost or repeated.

mod common;

use common::{Victim, config, data, init_ack_offering, ip, secs};
use polypath_proto::config::{AssociationConfig, Preset, StreamReconfiguration};
use polypath_proto::{
    Association, Event, OutgoingMessage, ReconfigurationError as Refusal, SendError,
};
use polypath_testkit::{Faults, Form, Pair, PairConfig, PathModel, Side};
use polypath_wire::{Chunk, Parameter, Parameters, U16List, chunk_type};

/// First TSN, and so first sequence number, of the peer that a test plays.
const PEER_TSN: u32 = 1;

fn on() -> AssociationConfig {
    let mut config = config(Preset::Cmt);
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    config
}

fn lossy(loss: u16, form: Form, seed: u64) -> Pair {
    let mut pair = PairConfig::new(2, on());
    pair.form = form;
    pair.seed = seed;
    let faults = Faults { loss, duplication: loss, reordering: loss, ..Faults::default() };
    pair.paths = vec![PathModel::default().with_faults(faults); 2];
    Pair::connected(pair)
}

fn ask<T>(
    pair: &mut Pair,
    side: Side,
    request: impl FnOnce(&mut Association) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let now = pair.now;
    pair.hosts[side as usize].command(now, 0, |association, _| request(association))
}

fn send(pair: &mut Pair, side: Side, stream: u16, number: u8) -> Result<(), SendError> {
    pair.send(side, OutgoingMessage::new(stream, vec![number; 2000]))
}

/// Stream and SSN of the messages that a side has received, in order.
fn received(pair: &Pair, side: Side) -> Vec<(u16, u16)> {
    pair.slot(side).messages.iter().map(|message| (message.stream, message.ssn)).collect()
}

fn count(pair: &Pair, side: Side, is_one: impl Fn(&Event) -> bool) -> usize {
    pair.slot(side).events.iter().filter(|event| is_one(event)).count()
}

fn outgoing_resets(pair: &Pair, side: Side) -> usize {
    count(pair, side, |event| matches!(event, Event::OutgoingStreamsReset { .. }))
}

fn incoming_resets(pair: &Pair, side: Side) -> usize {
    count(pair, side, |event| matches!(event, Event::IncomingStreamsReset { .. }))
}

#[test]
fn a_stream_begins_anew_when_what_was_sent_is_acknowledged() {
    for (loss, form) in [(0, Form::Structured), (30, Form::Encoded), (100, Form::Structured)] {
        for seed in 0..10 {
            let mut pair = lossy(loss, form, seed);
            for number in 0..5 {
                send(&mut pair, Side::Client, 1, number).unwrap();
                send(&mut pair, Side::Client, 2, number).unwrap();
            }
            ask(&mut pair, Side::Client, |it| it.reset_outgoing_streams(&[1])).unwrap();
            assert_eq!(send(&mut pair, Side::Client, 1, 9), Err(SendError::WouldBlock));
            send(&mut pair, Side::Client, 2, 9).unwrap();
            let done = |pair: &Pair| outgoing_resets(pair, Side::Client) == 1;
            assert!(pair.run_until(secs(120), done), "{loss} {seed}");
            assert_eq!(incoming_resets(&pair, Side::Server), 1);
            assert_eq!(pair.slot(Side::Client).association.stats().outgoing_stream_resets, 1);
            assert_eq!(pair.slot(Side::Server).association.stats().incoming_stream_resets, 1);
            send(&mut pair, Side::Client, 1, 10).unwrap();
            send(&mut pair, Side::Client, 2, 10).unwrap();
            let all = |pair: &Pair| received(pair, Side::Server).len() == 13;
            assert!(pair.run_until(secs(120), all), "{loss} {seed}");
            let of = |stream| {
                let all = received(&pair, Side::Server).into_iter();
                all.filter(move |(it, _)| *it == stream).map(|(_, ssn)| ssn).collect::<Vec<_>>()
            };
            assert_eq!(of(1), [0, 1, 2, 3, 4, 0], "{loss} {seed}");
            assert_eq!(of(2), [0, 1, 2, 3, 4, 5, 6], "{loss} {seed}");
            pair.shutdown(Side::Client);
            pair.run_for(secs(120));
            assert!(pair.slot(Side::Client).association.is_closed());
        }
    }
}

#[test]
fn the_peer_lets_its_streams_begin_anew() {
    for (loss, seed) in [(0, 0), (50, 1), (50, 2), (50, 3)] {
        let mut pair = lossy(loss, Form::Encoded, seed);
        for number in 0..5 {
            send(&mut pair, Side::Server, 0, number).unwrap();
        }
        ask(&mut pair, Side::Client, |it| it.reset_incoming_streams(&[])).unwrap();
        let done = |pair: &Pair| {
            incoming_resets(pair, Side::Client) == 1 && outgoing_resets(pair, Side::Server) == 1
        };
        assert!(pair.run_until(secs(120), done), "{seed}");
        send(&mut pair, Side::Server, 0, 9).unwrap();
        assert!(pair.run_until(secs(60), |pair| received(pair, Side::Client).len() == 6));
        let ssns: Vec<u16> = received(&pair, Side::Client).iter().map(|(_, ssn)| *ssn).collect();
        assert_eq!(ssns, [0, 1, 2, 3, 4, 0]);
    }
}

#[test]
fn both_sides_may_want_the_same_at_once() {
    for (loss, seed) in [(0, 0), (50, 1), (50, 2), (100, 3), (100, 4)] {
        let mut pair = lossy(loss, Form::Structured, seed);
        for side in [Side::Client, Side::Server] {
            for number in 0..5 {
                send(&mut pair, side, 0, number).unwrap();
            }
        }
        for side in [Side::Client, Side::Server] {
            ask(&mut pair, side, |it| it.reset_outgoing_streams(&[0])).unwrap();
            ask(&mut pair, side, |it| it.reset_incoming_streams(&[0])).unwrap();
        }
        pair.run_for(secs(200));
        for side in [Side::Client, Side::Server] {
            assert!(outgoing_resets(&pair, side) >= 1, "{seed} {side:?}");
            let refused = |event: &Event| matches!(event, Event::ReconfigurationRefused { .. });
            assert_eq!(count(&pair, side, refused), 0, "{seed} {side:?}");
            send(&mut pair, side, 0, 9).unwrap();
        }
        pair.run_for(secs(60));
        for side in [Side::Client, Side::Server] {
            let ssns: Vec<u16> = received(&pair, side).iter().map(|(_, ssn)| *ssn).collect();
            assert_eq!(ssns, [0, 1, 2, 3, 4, 0], "{seed} {side:?}");
        }
    }
}

#[test]
fn streams_are_added_by_either_side() {
    for loss in [0, 50] {
        let mut pair = lossy(loss, Form::Encoded, 7);
        assert!(matches!(
            send(&mut pair, Side::Client, 12, 0),
            Err(SendError::InvalidStream { stream: 12, count: 10 })
        ));
        ask(&mut pair, Side::Client, |it| it.add_outgoing_streams(5)).unwrap();
        ask(&mut pair, Side::Client, |it| it.add_incoming_streams(7)).unwrap();
        let counts = |pair: &Pair, side| {
            let association = &pair.slot(side).association;
            (association.outbound_streams(), association.inbound_streams())
        };
        let done = |pair: &Pair| {
            counts(pair, Side::Client) == (15, 17) && counts(pair, Side::Server) == (17, 15)
        };
        assert!(pair.run_until(secs(120), done));
        send(&mut pair, Side::Client, 14, 0).unwrap();
        send(&mut pair, Side::Server, 16, 0).unwrap();
        pair.run_for(secs(60));
        assert_eq!(received(&pair, Side::Server), [(14, 0)]);
        assert_eq!(received(&pair, Side::Client), [(16, 0)]);
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let mut off = PairConfig::new(1, on());
    off.server.policies.stream_reconfiguration = StreamReconfiguration::Off;
    let mut off = Pair::connected(off);
    let refused = ask(&mut off, Side::Client, |it| it.reset_outgoing_streams(&[]));
    assert_eq!(refused, Err(Refusal::Unsupported));

    let mut pair = lossy(0, Form::Structured, 1);
    let mut refused = |request: fn(&mut Association) -> Result<(), Refusal>| {
        ask(&mut pair, Side::Client, request)
    };
    let invalid = Err(Refusal::InvalidStream { stream: 10, count: 10 });
    assert_eq!(refused(|it| it.reset_outgoing_streams(&[0, 10])), invalid);
    assert_eq!(refused(|it| it.reset_incoming_streams(&[10])), invalid);
    let count = |added| Err(Refusal::InvalidCount { added, count: 10 });
    assert_eq!(refused(|it| it.add_outgoing_streams(0)), count(0));
    assert_eq!(refused(|it| it.add_incoming_streams(u16::MAX - 9)), count(u16::MAX - 9));
    // More than the peer accepts.
    refused(|it| it.add_outgoing_streams(5000)).unwrap();
    pair.run_for(secs(10));
    let told = |event: &Event| matches!(event, Event::ReconfigurationRefused { result: 2 });
    assert_eq!(self::count(&pair, Side::Client, told), 1);
    assert_eq!(pair.slot(Side::Client).association.outbound_streams(), 10);
    pair.shutdown(Side::Client);
    let refused = ask(&mut pair, Side::Client, |it| it.reset_outgoing_streams(&[]));
    assert_eq!(refused, Err(Refusal::NotEstablished));
}

fn victim() -> Victim {
    Victim::established_by(on(), init_ack_offering(&[chunk_type::RE_CONFIG]))
}

fn reset(request_sequence: u32, last_tsn: u32, streams: &[u16]) -> Parameter<'_> {
    let streams = U16List::Numbers(streams);
    Parameter::OutgoingSsnReset { request_sequence, response_sequence: 0, last_tsn, streams }
}

/// Number and result of the responses to a chunk with these parameters.
fn answers(victim: &mut Victim, parameters: &[Parameter<'_>]) -> Vec<(u32, u32)> {
    let list = Parameters::build(parameters.iter().cloned());
    victim.sent();
    victim.receive(ip(2), vec![Chunk::ReConfig(list)]);
    responses(victim)
}

fn responses(victim: &mut Victim) -> Vec<(u32, u32)> {
    let packets = victim.sent();
    let chunks = packets.iter().flat_map(|packet| packet.packet.chunks.iter());
    let mut found = vec![];
    for chunk in chunks {
        let Chunk::ReConfig(list) = chunk else { continue };
        found.extend(list.into_iter().filter_map(|parameter| match parameter {
            Parameter::ReConfigResponse { response_sequence, result, .. } => {
                Some((response_sequence, result))
            }
            _ => None,
        }));
    }
    found
}

#[test]
fn what_is_repeated_gets_the_same_answer_and_changes_nothing() {
    let mut victim = victim();
    let first = reset(PEER_TSN, PEER_TSN - 1, &[3]);
    for _ in 0..3 {
        assert_eq!(answers(&mut victim, std::slice::from_ref(&first)), [(PEER_TSN, 1)]);
    }
    let is_reset = |event: &&Event| matches!(event, Event::IncomingStreamsReset { .. });
    assert_eq!(victim.events().iter().filter(is_reset).count(), 1);
    let added = Parameter::AddOutgoingStreams { request_sequence: PEER_TSN + 1, new_streams: 4 };
    for _ in 0..3 {
        assert_eq!(answers(&mut victim, std::slice::from_ref(&added)), [(PEER_TSN + 1, 1)]);
        assert_eq!(victim.association().inbound_streams(), 14);
    }
    for wrong in [PEER_TSN + 3, PEER_TSN.wrapping_sub(1), u32::MAX / 2] {
        assert_eq!(answers(&mut victim, &[reset(wrong, 0, &[])]), [(wrong, 5)]);
    }
}

#[test]
fn a_chunk_with_two_requests_gets_one_with_two_responses() {
    let mut victim = victim();
    let incoming = |request_sequence| Parameter::IncomingSsnReset {
        request_sequence,
        streams: U16List::Numbers(&[]),
    };
    let both = [reset(PEER_TSN, PEER_TSN - 1, &[]), incoming(PEER_TSN + 1)];
    // The second one is answered by a request, and told of only if it comes again.
    assert_eq!(answers(&mut victim, &both), [(PEER_TSN, 1)]);
    assert_eq!(answers(&mut victim, &both), [(PEER_TSN, 1), (PEER_TSN + 1, 6)]);
}

#[test]
fn a_reset_that_the_peer_asks_for_is_answered_by_the_request_for_it() {
    let mut victim = victim();
    let streams = U16List::Numbers(&[3]);
    let asked = [Parameter::IncomingSsnReset { request_sequence: PEER_TSN, streams }];
    victim.receive(ip(2), vec![Chunk::ReConfig(Parameters::build(asked.clone()))]);
    let sent = victim.sent();
    let chunks = sent.iter().flat_map(|packet| packet.packet.chunks.iter());
    let parameters = chunks.filter_map(|chunk| match chunk {
        Chunk::ReConfig(parameters) => Some(parameters),
        _ => None,
    });
    let parameters: Vec<_> = parameters.flat_map(|list| list.into_iter()).collect();
    assert!(
        matches!(
            &parameters[..],
            [Parameter::OutgoingSsnReset { response_sequence: PEER_TSN, .. }]
        ),
        "{parameters:?}"
    );
    assert_eq!(answers(&mut victim, &asked), [(PEER_TSN, 6)], "it may have been lost");
}

#[test]
fn what_is_not_done_is_denied() {
    let mut victim = victim();
    let table = [
        (Parameter::AddOutgoingStreams { request_sequence: PEER_TSN, new_streams: 0 }, 2),
        (Parameter::AddOutgoingStreams { request_sequence: PEER_TSN + 1, new_streams: 3000 }, 2),
        (Parameter::AddIncomingStreams { request_sequence: PEER_TSN + 2, new_streams: 9000 }, 2),
        (reset(PEER_TSN + 3, 0, &[99]), 3),
    ];
    for (number, (request, result)) in (PEER_TSN..).zip(table) {
        assert_eq!(answers(&mut victim, &[request]), [(number, result)]);
    }
    assert_eq!(victim.association().inbound_streams(), 10);
}

#[test]
fn a_reset_waits_for_data_that_is_missing() {
    let mut victim = victim();
    let request = [reset(PEER_TSN, PEER_TSN + 1, &[0])];
    assert_eq!(answers(&mut victim, &request), [(PEER_TSN, 6)]);
    victim.receive(ip(2), vec![data(PEER_TSN + 1)]);
    assert_eq!(responses(&mut victim), []);
    assert_eq!(answers(&mut victim, &request), [(PEER_TSN, 6)], "still");
    victim.receive(ip(2), vec![data(PEER_TSN)]);
    assert_eq!(responses(&mut victim), [(PEER_TSN, 1)], "without being asked again");
    assert_eq!(answers(&mut victim, &request), [(PEER_TSN, 1)]);
    // TSN 3 is the first message of the stream now.
    let Chunk::Data(mut next) = data(PEER_TSN + 2) else { panic!() };
    next.ssn = 0;
    victim.receive(ip(2), vec![Chunk::Data(next)]);
    assert_eq!(victim.host.slots[0].messages.len(), 3);
}

#[test]
fn a_peer_that_did_not_agree_is_told_that_the_chunk_is_unknown() {
    let mut victim = Victim::established(on());
    let list = Parameters::build([reset(PEER_TSN, 0, &[])]);
    victim.receive(ip(2), vec![Chunk::ReConfig(list)]);
    let packets = victim.sent();
    let chunks: Vec<_> = packets.iter().flat_map(|packet| &packet.packet.chunks).collect();
    assert!(!chunks.iter().any(|chunk| matches!(chunk, Chunk::ReConfig(_))), "{chunks:?}");
}
