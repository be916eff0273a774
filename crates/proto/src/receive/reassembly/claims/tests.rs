use std::vec;
use std::vec::Vec;

use polypath_wire::Payload;
use smallvec::smallvec;

use super::*;
use crate::{Delivery, Piece, Tsn};

fn message(stream: u16, number: u8, bytes: usize) -> ReceivedMessage {
    let fragments = smallvec![Payload::Shared(vec![number; bytes].into())];
    let (delivery, piece) = (Delivery::Ordered, Piece::Whole);
    ReceivedMessage { stream, ppid: 0, delivery, ssn: number.into(), tsn: Tsn(0), piece, fragments }
}

fn push(claims: &mut Claims, stream: u16, numbers: impl IntoIterator<Item = u8>) {
    for number in numbers {
        assert!(claims.push(message(stream, number, 100)).is_none());
    }
}

fn read(claims: &mut Claims, claim: StreamClaim) -> Vec<u16> {
    core::iter::from_fn(|| claims.take_first(claim)).map(|message| message.ssn).collect()
}

#[test]
fn each_stream_has_its_own_order() {
    let mut claims = Claims::default();
    let (a, b) = (claims.open(1).unwrap(), claims.open(7).unwrap());
    assert_eq!(claims.open(1), None, "it is claimed");
    push(&mut claims, 1, [0, 1]);
    push(&mut claims, 7, [0]);
    push(&mut claims, 1, [2]);
    assert!(claims.push(message(3, 0, 1)).is_some(), "nobody has claimed it");
    assert_eq!((read(&mut claims, b), claims.have_messages()), (vec![0], true));
    assert_eq!((read(&mut claims, a), claims.have_messages()), (vec![0, 1, 2], false));
}

#[test]
fn news_is_told_once_until_the_queue_was_found_empty() {
    let mut claims = Claims::default();
    let claim = claims.open(1).unwrap();
    let news = |claims: &mut Claims| core::iter::from_fn(|| claims.pop_news()).count();
    push(&mut claims, 1, [0, 1]);
    assert_eq!((claims.has_news(), news(&mut claims)), (true, 1));
    claims.take_first(claim);
    push(&mut claims, 1, [2]);
    assert_eq!(news(&mut claims), 0);
    assert_eq!(read(&mut claims, claim), [1, 2]);
    push(&mut claims, 1, [3]);
    assert_eq!(news(&mut claims), 1);
    // An owner that has gone hears nothing.
    read(&mut claims, claim);
    push(&mut claims, 1, [4]);
    claims.close(claim);
    assert_eq!(news(&mut claims), 0);
}

#[test]
fn a_claim_ends_with_its_stream() {
    // (streams that begin anew, which claims of 1 and 2 end)
    for (streams, ended) in [(&[][..], [true, true]), (&[2][..], [false, true])] {
        let mut claims = Claims::default();
        let both = [claims.open(1).unwrap(), claims.open(2).unwrap()];
        push(&mut claims, 2, [0]);
        assert!(claims.pop_news().is_some());
        claims.end(streams);
        assert_eq!(both.map(|claim| claims.has_ended(claim)), ended);
        assert_eq!(claims.has_news(), ended[0], "a reader that waits for messages is woken");
        assert!(claims.push(message(2, 0, 100)).is_some(), "the new stream is nobody's");
        let again = claims.open(2).unwrap();
        push(&mut claims, 2, [7]);
        assert_eq!((read(&mut claims, both[1]), read(&mut claims, again)), (vec![0], vec![7]));
        claims.close(both[1]);
        push(&mut claims, 2, [8]);
        assert_eq!(read(&mut claims, again), [8], "the older claim's end is none of the younger");
    }
}

#[test]
fn a_limit_discards_the_oldest_messages() {
    // (limit, messages of 100 bytes that stay of five)
    for (limit, expected) in [
        (None, &[0, 1, 2, 3, 4][..]),
        (Some(500), &[0, 1, 2, 3, 4]),
        (Some(499), &[1, 2, 3, 4]),
        (Some(200), &[3, 4]),
        (Some(1), &[4]),
        (Some(0), &[]),
    ] {
        for when in [0, 5] {
            let mut claims = Claims::default();
            let claim = claims.open(1).unwrap();
            push(&mut claims, 1, 0..when);
            claims.limit(claim, limit);
            push(&mut claims, 1, when..5);
            let gone = 5 - expected.len();
            let excess = claims.take_excess();
            assert_eq!((excess.bytes, excess.chunks), (100 * gone, gone), "{limit:?}");
            assert_eq!(claims.discarded(claim), gone as u64);
            assert_eq!(claims.discarded_bytes(), 100 * gone as u64);
            assert_eq!(claims.take_excess().chunks, 0, "told once");
            assert_eq!(read(&mut claims, claim), expected, "{limit:?}");
            assert!(!claims.have_messages());
        }
    }
}

#[test]
fn messages_from_before_a_restart_are_counted_while_they_wait() {
    let mut claims = Claims::default();
    let claim = claims.open(1).unwrap();
    push(&mut claims, 1, 0..3);
    let mut held = 0;
    claims.begin_anew(|message| held += message.len());
    assert_eq!(held, 300);
    push(&mut claims, 1, 3..5);
    let left: Vec<_> = (0..6)
        .map(|_| {
            let left = claims.before_restart(claim);
            claims.take_first(claim);
            left
        })
        .collect();
    assert_eq!(left, [3, 2, 1, 0, 0, 0]);
}

#[test]
fn a_stream_that_nobody_wants_is_discarded_until_it_begins_anew_or_is_claimed_again() {
    let mut claims = Claims::default();
    let claim = claims.open(1).unwrap();
    push(&mut claims, 1, 0..2);
    claims.discard(claim);
    push(&mut claims, 1, 2..4);
    assert_eq!((claims.take_excess().chunks, claims.have_messages()), (4, false));
    let again = claims.open(1).unwrap();
    push(&mut claims, 1, [7]);
    assert_eq!(read(&mut claims, again), [7]);
    claims.discard(again);
    claims.end(&[1]);
    assert!(claims.push(message(1, 0, 100)).is_some(), "the new stream is nobody's");
    assert!(claims.queues.is_empty());
    // One that has ended has nothing to discard.
    let last = claims.open(1).unwrap();
    claims.end(&[]);
    claims.discard(last);
    assert!(claims.queues.is_empty());
}

fn piece(piece: Piece, number: u8) -> ReceivedMessage {
    ReceivedMessage { piece, ..message(1, number, 100) }
}

#[test]
fn unread_pieces_of_a_message_become_one() {
    let mut claims = Claims::default();
    let claim = claims.open(1).unwrap();
    for part in [Piece::First, Piece::Middle] {
        assert!(claims.push(piece(part, 0)).is_none());
    }
    let first = claims.take_first(claim).unwrap();
    assert_eq!((first.piece, first.len(), claims.have_messages()), (Piece::First, 200, false));
    for part in [Piece::Middle, Piece::Last] {
        assert!(claims.push(piece(part, 0)).is_none());
    }
    push(&mut claims, 1, [1]);
    let rest = claims.take_first(claim).unwrap();
    assert_eq!((rest.piece, rest.fragments.len()), (Piece::Last, 2));
    assert_eq!(read(&mut claims, claim), [1]);
}

#[test]
fn with_a_piece_the_rest_of_its_message_is_discarded() {
    use Piece::{First, Last, Middle, Whole};
    // What comes, how many pieces are left, how many messages were discarded.
    let cases: [(&[Piece], &[Piece], u64); 5] = [
        (&[First, Middle, Last, Whole], &[Whole], 1),
        (&[First, Middle, First], &[First], 1),
        (&[First, Middle], &[First], 0),
        (&[Whole, First, Middle], &[First], 1),
        (&[First, Last, First, Last], &[Whole], 1),
    ];
    for (pieces, left, discarded) in cases {
        let mut claims = Claims::default();
        let claim = claims.open(1).unwrap();
        claims.limit(claim, Some(100));
        for (number, part) in (0..).zip(pieces) {
            assert!(claims.push(piece(*part, number)).is_none());
        }
        assert_eq!(claims.discarded(claim), discarded, "{pieces:?}");
        let kept = core::iter::from_fn(|| claims.take_first(claim));
        let kept: Vec<_> = kept.map(|message| message.piece).collect();
        assert_eq!(kept, left, "{pieces:?}");
        let gone = claims.take_excess().chunks;
        assert!(gone < pieces.len() && !claims.have_messages(), "{pieces:?}");
    }

    // Nothing is wanted: what is to come of a message goes too, and the next one begins as it should.
    let mut claims = Claims::default();
    let claim = claims.open(1).unwrap();
    claims.push(piece(First, 0));
    claims.limit(claim, Some(0));
    claims.limit(claim, None);
    for (part, number) in [(Middle, 0), (Last, 0), (First, 1), (Last, 1)] {
        claims.push(piece(part, number));
    }
    assert_eq!(claims.take_excess().chunks, 3);
    assert_eq!(claims.take_first(claim).map(|it| (it.piece, it.ssn)), Some((Whole, 1)));
}
