//! What arrives between the request to let everything begin anew and its answer.

use polypath_wire::SkippedStream;

use super::*;
use crate::config::NrSack;

fn waiting(nr_sack: NrSack) -> Receiver {
    let incomplete = Incomplete::MayBeAbandoned;
    let mut receiver = started(ReceiverConfig { nr_sack, incomplete, ..config() });
    receiver.set_aside();
    receiver
}

fn skip(receiver: &mut Receiver, point: u32, ssn: u16) {
    receiver.begin_packet(PathId(0));
    receiver.on_forward_tsn(Tsn(point), [SkippedStream { stream: 0, ssn }].into_iter());
    receiver.end_packet(at(50), PATH, None);
}

fn ssns(receiver: &mut Receiver) -> Vec<u16> {
    core::iter::from_fn(|| receiver.receive()).map(|message| message.ssn).collect()
}

/// The peer has begun anew, and skips the first message of a new stream before its answer is here.
#[test]
fn messages_that_are_skipped_before_the_answer_belong_to_their_side_of_it() {
    let mut receiver = waiting(NrSack::Off);
    skip(&mut receiver, 2, 0);
    packet(&mut receiver, at(60), &[whole(3, 1, 10)]);
    assert_eq!(receiver.cumulative_tsn(), Tsn(3));
    assert!(ssns(&mut receiver).is_empty());
    receiver.begin_anew_at(Tsn(2)).unwrap();
    assert_eq!(ssns(&mut receiver), [1]);
    // It has not, and the answer refuses: SSN 1 is skipped, and 2 is next.
    let mut receiver = waiting(NrSack::Off);
    skip(&mut receiver, 2, 1);
    packet(&mut receiver, at(60), &[whole(3, 2, 10)]);
    receiver.take_back().unwrap();
    assert_eq!(ssns(&mut receiver), [2]);
    assert_eq!(receiver.buffered_bytes(), 0);
}

/// A peer that skips without end takes no memory without end.
#[test]
fn skipped_messages_are_set_aside_within_bounds() {
    let mut receiver = waiting(NrSack::Off);
    for n in 0..20_000 {
        skip(&mut receiver, 2 + n, (n % 60_000) as u16);
    }
    assert_eq!(receiver.cumulative_tsn(), Tsn(20_001));
    packet(&mut receiver, at(60), &[whole(20_002, 20_000, 10)]);
    receiver.take_back().unwrap();
    assert_eq!(ssns(&mut receiver), [20_000]);
}

/// The reset is refused, and what came meanwhile above a gap is promised to stay; then the peer's own reset gives other TSNs.
#[test]
fn promises_end_with_the_tsns_that_they_are_about() {
    let mut receiver = waiting(NrSack::Deliverable);
    packet(&mut receiver, at(60), &[whole(3, 1, 10), unordered(5, 10)]);
    receiver.take_back().unwrap();
    receiver.renumber(Tsn(1000));
    packet(&mut receiver, at(70), &[whole(1000, 0, 10), unordered(1002, 10)]);
    assert_eq!(receiver.cumulative_tsn(), Tsn(1000));
    assert!(receiver.take_acknowledgement(ROOM, PathId(0), 0).chunk_type() > 0);
}

/// The association ends before the answer: what was acknowledged is delivered.
#[test]
fn what_is_set_aside_is_delivered_at_the_end() {
    let mut receiver = waiting(NrSack::Off);
    packet(&mut receiver, at(60), &[whole(2, 1, 10), whole(3, 2, 10)]);
    assert!(ssns(&mut receiver).is_empty());
    receiver.finish();
    assert_eq!(ssns(&mut receiver), [1, 2]);
}

/// The peer has begun anew at TSN 4 and left out TSN 3, its answer is lost, and what it sends fills the buffer. Only what came in
/// sequence is of before.
#[test]
fn new_data_does_not_pass_for_old_when_the_buffer_is_full() {
    let mut receiver = waiting(NrSack::Off);
    packet(&mut receiver, at(60), &[whole(2, 1, 1000)]);
    let new: Vec<_> = (0..12).map(|n| whole(4 + n, n as u16, 1000)).collect();
    let outcomes = packet(&mut receiver, at(70), &new);
    let kept = outcomes.iter().filter(|outcome| **outcome == DataOutcome::New).count() as u16;
    assert!((8..12).contains(&kept), "{kept}");
    assert_eq!(ssns(&mut receiver), [1]);
    receiver.begin_anew_at(Tsn(4)).unwrap();
    assert_eq!(ssns(&mut receiver), (0..kept).collect::<Vec<_>>());
    assert_eq!(receiver.buffered_bytes(), 0);
}

/// The same with a peer that has not begun anew: what closes the gap lets all go on, and what comes next is set aside still.
#[test]
fn what_closes_a_gap_is_of_before_with_all_above_it() {
    let mut receiver = waiting(NrSack::Off);
    let above: Vec<_> = (0..12).map(|n| whole(3 + n, 2 + n as u16, 1000)).collect();
    let outcomes = packet(&mut receiver, at(60), &above);
    let kept = outcomes.iter().filter(|outcome| **outcome == DataOutcome::New).count() as u16;
    assert!(ssns(&mut receiver).is_empty());
    assert!(kept >= 9, "{kept}");
    packet(&mut receiver, at(70), &[whole(2, 1, 1)]);
    packet(&mut receiver, at(70), &[whole(u32::from(3 + kept), 2 + kept, 1000)]);
    assert!(!ssns(&mut receiver).is_empty());
    receiver.take_back().unwrap();
}
