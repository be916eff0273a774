//! Streams that are read apart from the others, in virtual time.

mod common;

use common::{config, secs};
use polypath_proto::config::{
    AssociationConfig, MessageInterleaving, Preset, StreamReconfiguration,
};
use polypath_proto::{ClaimError, Event, OutgoingMessage, Piece, ReceivedMessage, StreamClaim};
use polypath_testkit::{Faults, Pair, PairConfig, PathModel, Side};

const BUFFER: u32 = 60_000;

fn settings(interleaving: MessageInterleaving) -> AssociationConfig {
    let mut config = config(Preset::Cmt);
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    config.policies.message_interleaving = interleaving;
    config.receive_buffer_bytes = BUFFER;
    config
}

fn connected(loss: u16, interleaving: MessageInterleaving) -> Pair {
    let mut setup = PairConfig::new(2, settings(interleaving));
    let faults = Faults { loss, reordering: loss, ..Faults::default() };
    setup.paths = vec![PathModel { faults, ..PathModel::default() }; 2];
    Pair::connected(setup)
}

fn claim(pair: &mut Pair, stream: u16) -> Result<StreamClaim, ClaimError> {
    let now = pair.now;
    pair.hosts[Side::Server as usize].command(now, 0, |it, _| it.claim_stream(stream))
}

/// Reads a claimed stream to its present end.
fn read(pair: &mut Pair, claim: StreamClaim) -> Vec<ReceivedMessage> {
    let now = pair.now;
    let messages = pair.hosts[Side::Server as usize]
        .command(now, 0, |it, cx| std::iter::from_fn(|| it.receive_claimed(cx, claim)).collect());
    pair.read(Side::Server);
    messages
}

fn send(pair: &mut Pair, stream: u16, number: u8, bytes: usize) {
    pair.send(Side::Client, OutgoingMessage::new(stream, vec![number; bytes])).unwrap();
}

/// Streams of the messages that were read as those of streams nobody has claimed.
fn unclaimed(pair: &Pair) -> Vec<u16> {
    pair.slot(Side::Server).messages.iter().map(|message| message.stream).collect()
}

fn news_of(pair: &Pair, of: StreamClaim) -> usize {
    let events = pair.slot(Side::Server).events.iter();
    events.filter(|it| matches!(it, Event::StreamReadable { claim, .. } if *claim == of)).count()
}

fn numbers(messages: &[ReceivedMessage]) -> Vec<u8> {
    messages.iter().map(|message| message.clone().into_bytes()[0]).collect()
}

#[test]
fn an_unread_stream_delays_no_other_one() {
    for interleaving in [MessageInterleaving::Off, MessageInterleaving::On] {
        for loss in [0, 50] {
            let mut pair = connected(loss, interleaving);
            let slow = claim(&mut pair, 1).unwrap();
            for number in 0..10 {
                send(&mut pair, 1, number, 3000);
                for stream in [0, 2] {
                    send(&mut pair, stream, number, 9000);
                }
            }
            let done = |pair: &Pair| unclaimed(pair).len() == 20;
            assert!(pair.run_until(secs(60), done), "{interleaving:?} {loss}");
            assert!(unclaimed(&pair).iter().all(|stream| *stream != 1));
            assert_eq!(news_of(&pair, slow), 1, "told once, as long as it is not read");
            pair.run_for(secs(10));
            let messages = read(&mut pair, slow);
            assert_eq!(numbers(&messages), (0..10).collect::<Vec<_>>());
            assert!(messages.iter().all(|message| message.stream == 1 && message.len() == 3000));
            send(&mut pair, 1, 10, 10);
            pair.run_for(secs(10));
            assert_eq!(news_of(&pair, slow), 2);
            assert_eq!(pair.slot(Side::Server).association.stats().messages_received, 30);
        }
    }
}

#[test]
fn what_an_unread_stream_holds_is_missing_from_the_window_unless_it_is_bounded() {
    // (bound of the unread stream, messages of the other one that arrive while nobody reads the first)
    for (bound, arrive) in [(None, 0), (Some(10_000), 5), (Some(0), 5)] {
        let mut pair = connected(0, MessageInterleaving::On);
        let slow = claim(&mut pair, 1).unwrap();
        let now = pair.now;
        pair.hosts[1].command(now, 0, |it, _| it.limit_claim(slow, bound));
        for number in 0..40 {
            send(&mut pair, 1, number, 3000);
        }
        pair.run_for(secs(60));
        for number in 0..5 {
            send(&mut pair, 2, number, 3000);
        }
        pair.run_for(secs(60));
        assert_eq!(unclaimed(&pair).len(), arrive, "{bound:?}");
        let mut messages = read(&mut pair, slow);
        pair.run_for(secs(60));
        messages.extend(read(&mut pair, slow));
        pair.run_for(secs(60));
        messages.extend(read(&mut pair, slow));
        assert_eq!(unclaimed(&pair).len(), 5, "{bound:?}");
        let discarded = pair.slot(Side::Server).association.claimed_discarded(slow);
        assert_eq!(messages.len() + discarded as usize, 40, "{bound:?}");
        let expected: Vec<_> = (discarded as u8..40).collect();
        assert_eq!(numbers(&messages), expected, "{bound:?}: the newest stay");
        assert_eq!(bound.is_some(), discarded > 0);
    }
}

#[test]
fn a_reset_is_the_end_of_a_claim() {
    for (loss, interleaving) in [
        (0, MessageInterleaving::Off),
        (50, MessageInterleaving::Off),
        (50, MessageInterleaving::On),
    ] {
        let mut pair = connected(loss, interleaving);
        let first = claim(&mut pair, 3).unwrap();
        assert_eq!(claim(&mut pair, 3), Err(ClaimError::InUse { stream: 3 }));
        for number in 0..5 {
            send(&mut pair, 3, number, 3000);
        }
        let now = pair.now;
        pair.hosts[0].command(now, 0, |it, _| it.reset_outgoing_streams(&[3])).unwrap();
        let is_reset = |pair: &Pair| {
            let mut events = pair.slot(Side::Client).events.iter();
            events.any(|event| matches!(event, Event::OutgoingStreamsReset { .. }))
        };
        assert!(pair.run_until(secs(60), is_reset));
        pair.hosts[1].reads = false;
        send(&mut pair, 3, 9, 10);
        pair.run_for(secs(60));
        let ended = |pair: &Pair, claim| pair.slot(Side::Server).association.claim_has_ended(claim);
        assert!(ended(&pair, first));
        let now = pair.now;
        let next = pair.hosts[1].command(now, 0, |it, _| it.claim_next_stream());
        let (stream, second) = next.expect("the stream that began anew");
        assert_eq!((stream, ended(&pair, second)), (3, false));
        assert_eq!(numbers(&read(&mut pair, first)), [0, 1, 2, 3, 4]);
        let again = read(&mut pair, second);
        assert_eq!((numbers(&again), again[0].ssn), (vec![9], 0));
    }
}

#[test]
fn the_messages_of_a_claim_that_ends_come_with_the_others() {
    let mut pair = connected(0, MessageInterleaving::Off);
    let limit = ClaimError::InvalidStream { stream: 100, count: 10 };
    assert_eq!(claim(&mut pair, 100), Err(limit));
    let one = claim(&mut pair, 1).unwrap();
    for stream in [1, 2, 1] {
        send(&mut pair, stream, 0, 10);
    }
    pair.run_for(secs(10));
    assert_eq!(unclaimed(&pair), [2]);
    let now = pair.now;
    pair.hosts[1].command(now, 0, |it, _| it.release_claim(one));
    send(&mut pair, 1, 0, 10);
    pair.run_for(secs(10));
    assert_eq!(unclaimed(&pair), [2, 1, 1, 1]);
    // A stream whose messages wait already.
    pair.hosts[1].reads = false;
    for stream in [1, 2, 1] {
        send(&mut pair, stream, 0, 10);
    }
    pair.run_for(secs(10));
    let one = claim(&mut pair, 1).unwrap();
    pair.run_for(secs(1));
    assert_eq!(news_of(&pair, one), 1);
    assert_eq!(read(&mut pair, one).len(), 2);
    assert_eq!(unclaimed(&pair)[4..], [2]);
}

/// A buffer that adapts itself to what is read begins with 64 KiB.
#[test]
fn a_buffer_that_grows_does_so_for_the_streams_that_are_read() {
    let mut pair = Pair::connected(PairConfig::new(2, AssociationConfig::default()));
    let slow = claim(&mut pair, 1).unwrap();
    for number in 0..100 {
        for stream in [1, 2] {
            send(&mut pair, stream, number, 3000);
        }
        pair.run_for(secs(1));
        let count = usize::from(number) + 1;
        assert_eq!(unclaimed(&pair).len(), count, "it is there at once");
    }
    assert_eq!(read(&mut pair, slow).len(), 100);
}

/// What is read of a stream that began anew before it was claimed comes to its end, too.
#[test]
fn streams_that_ended_before_they_were_claimed_are_claimed_one_by_one() {
    let mut pair = connected(0, MessageInterleaving::Off);
    pair.hosts[1].reads = false;
    for number in 0..6 {
        send(&mut pair, 3, number, 10);
        pair.run_for(secs(1));
        if number % 2 == 1 {
            let now = pair.now;
            pair.hosts[0].command(now, 0, |it, _| it.reset_outgoing_streams(&[3])).unwrap();
            // A command alone polls nothing.
            pair.run_for(secs(60));
        }
    }
    send(&mut pair, 3, 6, 10);
    pair.run_for(secs(5));
    let now = pair.now;
    // One message is read by who claims nothing.
    let first = pair.hosts[1].command(now, 0, |it, cx| it.receive(cx)).unwrap();
    assert_eq!(numbers(&[first]), [0]);
    for (expected, ended) in [(&[1][..], true), (&[2, 3], true), (&[4, 5], true), (&[6], false)] {
        let now = pair.now;
        let (stream, claim) =
            pair.hosts[1].command(now, 0, |it, _| it.claim_next_stream()).unwrap();
        assert_eq!(stream, 3);
        let messages = pair.hosts[1].command(now, 0, |it, cx| {
            std::iter::from_fn(|| it.receive_claimed(cx, claim)).collect::<Vec<_>>()
        });
        assert_eq!(numbers(&messages), expected);
        assert_eq!(pair.slot(Side::Server).association.claim_has_ended(claim), ended);
    }
}

#[test]
fn a_message_larger_than_the_buffer_comes_in_pieces_to_who_claims_its_stream() {
    for interleaving in [MessageInterleaving::Off, MessageInterleaving::On] {
        for loss in [0, 30] {
            let mut pair = connected(loss, interleaving);
            let large = claim(&mut pair, 1).unwrap();
            let size = 3 * BUFFER as usize;
            pair.send(Side::Client, OutgoingMessage::new(1, vec![7; size])).unwrap();
            send(&mut pair, 1, 8, 10);
            send(&mut pair, 0, 9, 10);
            let mut pieces = Vec::new();
            for _ in 0..60 {
                pair.run_for(secs(1));
                pieces.extend(read(&mut pair, large));
            }
            let case = format!("{interleaving:?} {loss}");
            let last = pieces.pop().unwrap();
            assert_eq!((last.piece, numbers(&[last])), (Piece::Whole, vec![8]), "{case}");
            let kinds: Vec<_> = pieces.iter().map(|it| it.piece).collect();
            let [Piece::First, middle @ .., Piece::Last] = &kinds[..] else {
                panic!("{case}: {kinds:?}")
            };
            assert!(middle.iter().all(|piece| *piece == Piece::Middle), "{case}: {kinds:?}");
            assert_eq!(pieces.iter().map(ReceivedMessage::len).sum::<usize>(), size, "{case}");
            assert_eq!(unclaimed(&pair), [0], "{case}");
            assert_eq!(pair.slot(Side::Server).association.stats().messages_received, 3, "{case}");
        }
    }
}
