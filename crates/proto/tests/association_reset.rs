//! TSNs and all streams of both sides begin anew (RFC 6525 section 5.1.4), whatever is lost, repeated or reordered.

mod common;

use common::{Victim, config, data, init_ack_offering, ip, secs};
use polypath_proto::config::{
    AssociationConfig, MessageInterleaving, Preset, StreamReconfiguration,
};
use polypath_proto::{
    Duration, Event, OutgoingMessage, Piece, ReconfigurationError as Refusal, SendError,
};
use polypath_testkit::{Faults, Form, Pair, PairConfig, PathModel, Side};
use polypath_wire::{Chunk, NextTsns, Parameter, Parameters, chunk_type};

/// First TSN, and so first sequence number, of the peer that a test plays.
const PEER_TSN: u32 = 1;
const BOTH: [Side; 2] = [Side::Client, Side::Server];

fn on(interleaving: MessageInterleaving) -> AssociationConfig {
    let mut config = config(Preset::Cmt);
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    config.policies.message_interleaving = interleaving;
    config
}

fn connected(loss: u16, interleaving: MessageInterleaving, seed: u64) -> Pair {
    let mut pair = PairConfig::new(2, on(interleaving));
    pair.form = if seed.is_multiple_of(2) { Form::Structured } else { Form::Encoded };
    pair.seed = seed;
    let faults = Faults { loss, duplication: loss, reordering: loss, ..Faults::default() };
    pair.paths = vec![PathModel::default().with_faults(faults); 2];
    Pair::connected(pair)
}

fn ask(pair: &mut Pair, side: Side) -> Result<(), Refusal> {
    let now = pair.now;
    pair.hosts[side as usize].command(now, 0, |it, cx| it.reset_association(cx))
}

fn resets(pair: &Pair, side: Side) -> usize {
    reset_tsns(pair, side).len()
}

/// TSNs of both directions that the events name.
fn reset_tsns(pair: &Pair, side: Side) -> Vec<[u32; 2]> {
    let events = pair.slot(side).events.iter();
    let named = events.filter_map(|event| match event {
        Event::AssociationReset { local_tsn, remote_tsn } => Some([*local_tsn, *remote_tsn]),
        _ => None,
    });
    named.collect()
}

fn refusals(pair: &Pair, side: Side) -> Vec<u32> {
    let events = pair.slot(side).events.iter();
    events
        .filter_map(|event| match event {
            Event::ReconfigurationRefused { result } => Some(*result),
            _ => None,
        })
        .collect()
}

/// Sends a message that its number names, as soon as there is room; stream 1 has every second one.
fn send(pair: &mut Pair, side: Side, number: u8) {
    for attempt in 0.. {
        let message = OutgoingMessage::new(u16::from(number % 2), vec![number; 2500]);
        match pair.send(side, message) {
            Ok(()) => return,
            Err(SendError::WouldBlock) if attempt < 2000 => {
                pair.run_for(Duration::from_millis(100))
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Numbers and SSNs of the messages that a side has received on a stream, in order.
fn received(pair: &Pair, side: Side, stream: u16) -> Vec<(u8, u16)> {
    let messages = pair.slot(side).messages.iter().filter(|message| message.stream == stream);
    messages.map(|message| (message.clone().into_bytes()[0], message.ssn)).collect()
}

#[test]
fn nothing_is_lost_and_everything_begins_anew() {
    for interleaving in [MessageInterleaving::Off, MessageInterleaving::On] {
        for (loss, seeds) in [(0, 2), (30, 10), (100, 10)] {
            for seed in 0..seeds {
                let case = format!("{interleaving:?} {loss} {seed}");
                let mut pair = connected(loss, interleaving, seed);
                for number in 0..10 {
                    BOTH.into_iter().for_each(|side| send(&mut pair, side, number));
                }
                ask(&mut pair, Side::Client).unwrap();
                assert_eq!(ask(&mut pair, Side::Client), Err(Refusal::TooSoon));
                let message = OutgoingMessage::new(0, vec![0; 10]);
                assert_eq!(pair.send(Side::Client, message), Err(SendError::WouldBlock));
                for number in 10..20 {
                    BOTH.into_iter().for_each(|side| send(&mut pair, side, number));
                }
                let all = |pair: &Pair| {
                    BOTH.iter().all(|side| {
                        pair.slot(*side).messages.len() == 20 && resets(pair, *side) == 1
                    })
                };
                assert!(pair.run_until(secs(300), all), "{case}");
                let [client, server] = BOTH.map(|side| reset_tsns(&pair, side)[0]);
                assert_eq!(client, [server[1], server[0]], "{case}: both name the same TSNs");
                for side in BOTH {
                    assert!(refusals(&pair, side).is_empty(), "{case}");
                    for stream in 0..2 {
                        let (numbers, ssns): (Vec<_>, Vec<_>) =
                            received(&pair, side, stream).into_iter().unzip();
                        let expected: Vec<_> =
                            (0..20).filter(|number| u16::from(number % 2) == stream).collect();
                        assert_eq!(numbers, expected, "{case}");
                        if interleaving == MessageInterleaving::Off {
                            let again = ssns.iter().skip(1).position(|ssn| *ssn == 0);
                            assert!(again.is_some(), "{case}: {ssns:?}");
                        }
                    }
                }
                pair.shutdown(Side::Server);
                let over =
                    |pair: &Pair| BOTH.iter().all(|side| pair.slot(*side).association.is_closed());
                assert!(pair.run_until(secs(300), over), "{case}");
            }
        }
    }
}

#[test]
fn both_sides_at_once_are_refused_or_take_turns() {
    for (loss, seed) in [(0, 0), (0, 1), (50, 2), (50, 3), (100, 4), (100, 5)] {
        let mut pair = connected(loss, MessageInterleaving::Off, seed);
        BOTH.into_iter().for_each(|side| ask(&mut pair, side).unwrap());
        for number in 0..10 {
            BOTH.into_iter().for_each(|side| send(&mut pair, side, number));
        }
        let all = |pair: &Pair| BOTH.iter().all(|side| pair.slot(*side).messages.len() == 10);
        assert!(pair.run_until(secs(300), all), "{seed}");
        pair.run_for(secs(120));
        assert_eq!(resets(&pair, Side::Client), resets(&pair, Side::Server), "{seed}");
        for side in BOTH {
            let expected: Vec<_> = (0..10).step_by(2).collect();
            let numbers: Vec<_> = received(&pair, side, 0).into_iter().map(|it| it.0).collect();
            assert_eq!(numbers, expected, "{seed}");
            assert!(refusals(&pair, side).iter().all(|result| *result == 4), "in progress");
        }
        // Later it works.
        ask(&mut pair, Side::Server).unwrap();
        let before = resets(&pair, Side::Client);
        assert!(pair.run_until(secs(120), |pair| resets(pair, Side::Client) == before + 1));
    }
}

/// The answers to a RE-CONFIG chunk with this parameter.
fn answers(victim: &mut Victim, request: Parameter<'_>) -> Vec<(u32, u32, Option<NextTsns>)> {
    victim.sent();
    victim.receive(ip(2), vec![Chunk::ReConfig(Parameters::build([request]))]);
    let packets = victim.sent();
    let mut found = vec![];
    for chunk in packets.iter().flat_map(|packet| packet.packet.chunks.iter()) {
        let Chunk::ReConfig(list) = chunk else { continue };
        found.extend(list.into_iter().filter_map(|parameter| match parameter {
            Parameter::ReConfigResponse { response_sequence, result, next_tsns } => {
                Some((response_sequence, result, next_tsns))
            }
            _ => None,
        }));
    }
    found
}

#[test]
fn a_request_that_comes_again_gets_the_same_tsns() {
    let offering = init_ack_offering(&[chunk_type::RE_CONFIG]);
    let mut victim = Victim::established_by(on(MessageInterleaving::Off), offering);
    victim.receive(ip(2), vec![data(PEER_TSN)]);
    let request = |request_sequence| Parameter::SsnTsnReset { request_sequence };
    // Sequence numbers are checked as those of other requests are.
    assert_eq!(answers(&mut victim, request(PEER_TSN + 1)), [(PEER_TSN + 1, 5, None)]);
    let first = answers(&mut victim, request(PEER_TSN));
    let [(PEER_TSN, 1, Some(tsns))] = first[..] else { panic!("{first:?}") };
    assert_eq!(tsns.receiver.wrapping_sub(PEER_TSN + 1), 1 << 30);
    assert_eq!(tsns.sender, victim.first_tsn().wrapping_add(1), "one is skipped");
    assert_eq!(answers(&mut victim, request(PEER_TSN)), first);
    // From there on SSN 0 is the next one, and what has another TSN is of before.
    let Chunk::Data(mut next) = data(tsns.receiver) else { panic!() };
    next.ssn = 0;
    victim.receive(ip(2), vec![Chunk::Data(next)]);
    assert_eq!(victim.host.slots[0].messages.len(), 2);
    victim.receive(ip(2), vec![data(PEER_TSN + 1)]);
    assert_eq!(victim.host.slots[0].messages.len(), 2);
    assert_eq!(answers(&mut victim, request(PEER_TSN)), first);
    // The next one is another reset.
    let second = answers(&mut victim, request(PEER_TSN + 1));
    let [(_, 1, Some(again))] = second[..] else { panic!("{second:?}") };
    assert_eq!(again.receiver.wrapping_sub(tsns.receiver + 1), 1 << 30);
}

/// A peer that has begun anew may be quicker with its data than with its answer.
#[test]
fn data_that_arrives_before_the_answer_belongs_to_the_new_streams() {
    let offering = init_ack_offering(&[chunk_type::RE_CONFIG]);
    // (result of the answer, SSNs in order of delivery)
    for (result, expected) in [(1, &[0, 0, 1][..]), (2, &[0, 1])] {
        let mut victim = Victim::established_by(on(MessageInterleaving::Off), offering.clone());
        let chunk = |tsn: u32, ssn: u16| {
            let Chunk::Data(mut chunk) = data(tsn) else { panic!() };
            (chunk.tsn, chunk.ssn) = (tsn, ssn);
            Chunk::Data(chunk)
        };
        victim.receive(ip(2), vec![chunk(PEER_TSN, 0)]);
        let now = victim.now;
        victim.host.command(now, 0, |it, cx| it.reset_association(cx)).unwrap();
        victim.sent();
        victim.receive(ip(2), vec![]);
        let packets = victim.sent();
        let chunks = packets.iter().flat_map(|packet| packet.packet.chunks.iter());
        let asked = chunks.filter_map(|chunk| match chunk {
            Chunk::ReConfig(list) => list.into_iter().next(),
            _ => None,
        });
        let [Parameter::SsnTsnReset { request_sequence }] = asked.collect::<Vec<_>>()[..] else {
            panic!("a request")
        };
        // The second message of the new stream, and then the first one.
        victim.receive(ip(2), vec![chunk(PEER_TSN + 2, 1)]);
        victim.receive(ip(2), vec![chunk(PEER_TSN + 1, 0)]);
        assert_eq!(victim.host.slots[0].messages.len(), 1, "they wait for the answer");
        let tsns = NextTsns { sender: PEER_TSN + 1, receiver: request_sequence ^ (1 << 30) };
        let next_tsns = (result == 1).then_some(tsns);
        let answer =
            Parameter::ReConfigResponse { response_sequence: request_sequence, result, next_tsns };
        victim.receive(ip(2), vec![Chunk::ReConfig(Parameters::build([answer]))]);
        let ssns: Vec<_> = victim.host.slots[0].messages.iter().map(|it| it.ssn).collect();
        assert_eq!(ssns, expected);
    }
}

#[test]
fn a_message_that_has_not_ended_does_so_first() {
    for interleaving in [MessageInterleaving::Off, MessageInterleaving::On] {
        for asks in BOTH {
            let case = format!("{interleaving:?}, {asks:?} asks");
            let mut pair = connected(0, interleaving, 0);
            let piece = |piece| OutgoingMessage { piece, ..OutgoingMessage::new(0, vec![5; 5000]) };
            pair.send(Side::Client, piece(Piece::First)).unwrap();
            pair.run_for(secs(10));
            ask(&mut pair, asks).unwrap();
            pair.run_for(secs(90));
            assert_eq!(resets(&pair, Side::Client), 0, "{case}");
            let other = pair.send(Side::Client, OutgoingMessage::new(1, vec![0]));
            assert_eq!(other, Err(SendError::WouldBlock), "{case}: {:?}", refusals(&pair, asks));
            pair.send(Side::Client, piece(Piece::Middle)).unwrap();
            pair.send(Side::Client, piece(Piece::Last)).unwrap();
            let reset = |pair: &Pair| BOTH.iter().all(|side| resets(pair, *side) == 1);
            assert!(pair.run_until(secs(100), reset), "{case}");
            send(&mut pair, Side::Client, 6);
            pair.run_for(secs(10));
            assert_eq!(
                received(&pair, Side::Server, 0).iter().map(|it| it.0).collect::<Vec<_>>(),
                [5, 6],
                "{case}"
            );
        }
    }
}
