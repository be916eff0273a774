//! A buffer full of messages that wait for the end of one that is being delivered.

use super::*;

const B: DataFlags = DataFlags::BEGIN;
const E: DataFlags = DataFlags::END;
const U: DataFlags = DataFlags::UNORDERED;

/// Reads everything that is there: pieces and their lengths.
fn read(receiver: &mut Receiver) -> Vec<(Piece, usize)> {
    core::iter::from_fn(|| receiver.receive()).map(|it| (it.piece, it.len())).collect()
}

/// A chunk of an unordered message.
fn part(tsn: u32, flags: DataFlags, len: usize) -> Data<'static> {
    fragment(tsn, flags | U, len)
}

#[test]
fn a_message_above_a_gap_does_not_begin_before_those_below_it() {
    let config = ReceiverConfig { partial_delivery_point: Some(1), ..config() };
    let mut receiver = started(config);
    // Two messages lack their second fragment when the third one begins.
    let above = [part(2, B, 2000), part(4, B, 2000), part(6, B, 1000)];
    assert_eq!(packet(&mut receiver, at(1), &above), [DataOutcome::New; 3]);
    assert_eq!(read(&mut receiver), [(Piece::First, 2000)], "nothing is missing before it");
    let missing = [part(3, E, 3000), part(5, E, 3000)];
    assert_eq!(packet(&mut receiver, at(2), &missing), [DataOutcome::New; 2]);
    let ready = [(Piece::Last, 3000), (Piece::Whole, 5000), (Piece::First, 1000)];
    assert_eq!(read(&mut receiver), ready);
    assert_eq!(packet(&mut receiver, at(3), &[part(7, E, 1)]), [DataOutcome::New]);
    assert_eq!(read(&mut receiver), [(Piece::Last, 1)]);
    assert_eq!(receiver.buffered_bytes(), 0);
}

#[test]
fn what_is_skipped_lets_the_message_behind_it_begin() {
    let incomplete = Incomplete::MayBeAbandoned;
    let config = ReceiverConfig { partial_delivery_point: Some(1000), incomplete, ..config() };
    let mut receiver = started(config);
    packet(&mut receiver, at(1), &[part(3, B, 1000)]);
    assert_eq!(read(&mut receiver), []);
    receiver.on_forward_tsn(Tsn(2), core::iter::empty());
    assert_eq!(read(&mut receiver), [(Piece::First, 1000)]);
}

#[test]
fn the_rest_of_a_message_is_taken_although_others_that_wait_for_it_fill_the_buffer() {
    let mut receiver = started(config());
    // So many small fragments above a gap that memory runs out: only reading the beginning of their message makes room.
    let fragments =
        (102..).map(|tsn| part(tsn, if tsn == 102 { B } else { DataFlags::empty() }, 1));
    let kept = fragments.take_while(|it| {
        packet(&mut receiver, at(1), core::slice::from_ref(it)) == [DataOutcome::New]
    });
    let next = 102 + kept.count() as u32;
    packet(&mut receiver, at(1), &[part(2, B | E, 6000)]);
    assert_eq!(read(&mut receiver), [(Piece::Whole, 6000)], "from the reserve");
    while receiver.window.has_reserve() {
        receiver.window.hold(0);
    }
    assert_eq!(packet(&mut receiver, at(1), &[part(3, B | E, 10)]), [DataOutcome::Refused]);
    receiver.window.keep_only((next - 102) as usize, (next - 102) as usize);
    assert_eq!(read(&mut receiver), [(Piece::First, (next - 102) as usize)]);

    // What was missing arrives, and waits.
    for tsn in 3..102 {
        assert_eq!(packet(&mut receiver, at(2), &[part(tsn, B | E, 102)]), [DataOutcome::New]);
    }
    assert_eq!(read(&mut receiver), []);
    assert_eq!((receiver.cumulative_tsn(), receiver.a_rwnd()), (Tsn(next - 1), 0));
    let unread = part(next + 1, B | E, 1);
    assert_eq!(packet(&mut receiver, at(3), &[unread]), [DataOutcome::Refused]);
    for tsn in [next, next + 1] {
        let flags = DataFlags::empty();
        assert_eq!(packet(&mut receiver, at(3), &[part(tsn, flags, 1400)]), [DataOutcome::New]);
        // One at a time, as the user reads them.
        let refused = packet(&mut receiver, at(3), &[part(tsn + 1, flags, 1400)]);
        assert_eq!(refused, [DataOutcome::Refused]);
        assert_eq!(read(&mut receiver), [(Piece::Middle, 1400)]);
    }
    packet(&mut receiver, at(4), &[part(next + 2, E, 1400)]);
    let all = read(&mut receiver);
    assert_eq!((all.len(), all[0], all[1]), (100, (Piece::Last, 1400), (Piece::Whole, 102)));
    assert_eq!(receiver.buffered_bytes(), 0);
}

#[test]
fn the_rest_of_an_interleaved_message_is_taken_although_another_one_fills_the_buffer() {
    let chunk = UserDataChunk::IData;
    let mut receiver =
        Receiver::new(ReceiverConfig { partial_delivery_point: Some(1000), chunk, ..config() });
    let part = |tsn, flags, mid, ppid_or_fsn| IData {
        flags: flags | U,
        tsn,
        stream: 0,
        mid,
        ppid_or_fsn,
        payload: Payload::Shared(vec![0; 5000].into()),
    };
    let more = DataFlags::empty();
    let take = |receiver: &mut Receiver, data: IData<'_>| {
        receiver.begin_packet(PathId(0));
        let outcome = receiver.on_i_data(&data);
        receiver.end_packet(at(1), PATH, None);
        outcome
    };
    // One unordered message of a stream is delivered in pieces, and another one has to wait for it.
    take(&mut receiver, part(1, B, 0, 7)).unwrap();
    assert_eq!(read(&mut receiver), [(Piece::First, 5000)]);
    take(&mut receiver, part(2, B, 1, 7)).unwrap();
    take(&mut receiver, part(3, more, 1, 1)).unwrap();
    assert_eq!((read(&mut receiver), receiver.a_rwnd()), (vec![], 0));
    assert_eq!(take(&mut receiver, part(4, more, 0, 1)), Ok(DataOutcome::New));
    assert_eq!(take(&mut receiver, part(5, E, 0, 2)), Ok(DataOutcome::Refused), "until it is read");
    assert_eq!(read(&mut receiver), [(Piece::Middle, 5000)]);
    assert_eq!(take(&mut receiver, part(5, E, 0, 2)), Ok(DataOutcome::New));
    assert_eq!(read(&mut receiver), [(Piece::Last, 5000)]);
    // Now the other one can begin; before, it would have been too large.
    assert_eq!(take(&mut receiver, part(6, E, 1, 2)), Ok(DataOutcome::Refused));
    assert_eq!(read(&mut receiver), [(Piece::First, 10_000)]);
    assert_eq!(take(&mut receiver, part(6, E, 1, 2)), Ok(DataOutcome::New));
    assert_eq!(read(&mut receiver), [(Piece::Last, 5000)]);
    assert_eq!(receiver.buffered_bytes(), 0);
}
