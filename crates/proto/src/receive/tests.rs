use std::vec;
use std::vec::Vec;

use polypath_wire::Payload;

use super::*;
use crate::config::{DacCount, FirstData, GapAck, NrSack, Preset, Reneging};
use crate::{Duration, Piece};

const PATH: PathId = PathId(1);
const ROOM: usize = 1400;

fn fixed(bytes: u32) -> BufferBounds {
    BufferBounds { first: bytes.into(), most: bytes.into() }
}

fn config() -> ReceiverConfig {
    ReceiverConfig {
        initial_peer_tsn: Tsn(1),
        buffer: fixed(10_000),
        sizing: BufferSize::Bytes,
        incomplete: Incomplete::Violation,
        chunk: UserDataChunk::Data,
        inbound_streams: 4,
        mtu: 1500,
        policy: Preset::Rfc9260.policies().delayed_ack,
        advertised_window: Preset::Rfc9260.policies().advertised_window,
        nr_sack: NrSack::Off,
        reneging: Reneging::Never,
        reorder_limit: None,
        partial_delivery_point: None,
    }
}

/// An unfragmented message of stream 0.
fn whole(tsn: u32, ssn: u16, len: usize) -> Data<'static> {
    Data {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn,
        stream: 0,
        ssn,
        ppid: 7,
        payload: Payload::Shared(vec![tsn as u8; len].into()),
    }
}

fn unordered(tsn: u32, len: usize) -> Data<'static> {
    Data { flags: DataFlags::BEGIN | DataFlags::END | DataFlags::UNORDERED, ..whole(tsn, 0, len) }
}

fn fragment(tsn: u32, flags: DataFlags, len: usize) -> Data<'static> {
    Data { flags, ..whole(tsn, 0, len) }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// One packet with these chunks.
fn packet(receiver: &mut Receiver, now: Instant, chunks: &[Data<'_>]) -> Vec<DataOutcome> {
    receiver.begin_packet(PathId(0));
    let outcomes = chunks.iter().map(|data| receiver.on_data(data).unwrap()).collect();
    receiver.end_packet(now, PATH, None);
    outcomes
}

/// A receiver whose first SACK is over.
fn started(config: ReceiverConfig) -> Receiver {
    let mut receiver = Receiver::new(config);
    packet(&mut receiver, at(0), &[whole(1, 0, 10)]);
    assert!(receiver.sack_is_due());
    assert_eq!(receiver.take_sack(ROOM).cumulative_tsn_ack, 1);
    assert_eq!(receiver.receive().map(|message| message.len()), Some(10));
    receiver
}

#[test]
fn every_second_packet_is_acknowledged_or_after_the_delay() {
    let mut receiver = started(config());
    assert!(!receiver.sack_is_pending());
    packet(&mut receiver, at(10), &[whole(2, 1, 10)]);
    assert!(!receiver.sack_is_due());
    assert!(receiver.sack_is_pending());
    assert_eq!(receiver.poll_timeout(), Some(at(210)));
    packet(&mut receiver, at(20), &[whole(3, 2, 10)]);
    assert!(receiver.sack_is_due());
    assert_eq!(receiver.poll_timeout(), None);
    // More may arrive before it goes out.
    packet(&mut receiver, at(20), &[whole(4, 3, 10), whole(5, 4, 10)]);
    let sack = receiver.take_sack(ROOM);
    assert_eq!((sack.cumulative_tsn_ack, sack.flags), (5, 0));
    assert!(!receiver.sack_is_pending());

    packet(&mut receiver, at(30), &[whole(6, 5, 10)]);
    receiver.handle_timeout(at(229));
    assert!(!receiver.sack_is_due());
    receiver.handle_timeout(at(230));
    assert!(receiver.sack_is_due());
    assert_eq!(receiver.sack_path(), Some(PATH));
}

#[test]
fn a_gap_and_its_filling_are_acknowledged_at_once() {
    let mut receiver = started(config());
    packet(&mut receiver, at(1), &[whole(3, 2, 10)]);
    assert!(receiver.sack_is_due());
    let sack = receiver.take_sack(ROOM);
    let blocks: Vec<_> = sack.gap_ack_blocks.iter().map(|b| (b.start, b.end)).collect();
    assert_eq!((sack.cumulative_tsn_ack, blocks), (1, vec![(2, 2)]));
    packet(&mut receiver, at(2), &[whole(2, 1, 10)]);
    assert!(receiver.sack_is_due());
    let sack = receiver.take_sack(ROOM);
    assert_eq!((sack.cumulative_tsn_ack, sack.gap_ack_blocks.len()), (3, 0));
}

#[test]
fn dac_delays_in_spite_of_gaps_and_counts_packets() {
    let policy = DelayedAck {
        packets: 5,
        on_gap: GapAck::Delayed,
        first_data: FirstData::Immediate,
        count: DacCount::SackFlags,
        ..config().policy
    };
    // Packets, not chunks, count; 3 is the most that two bits can say.
    for (packets, flags) in [(1, 0x40), (2, 0x80), (3, 0xc0), (4, 0xc0), (5, 0xc0), (9, 0xc0)] {
        let mut receiver = started(ReceiverConfig { policy, ..config() });
        for i in 1..=packets {
            let tsn = 1 + 2 * i;
            packet(&mut receiver, at(5), &[unordered(tsn, 1), unordered(tsn + 1, 1)]);
            assert_eq!(receiver.sack_is_due(), i >= 5);
        }
        receiver.handle_timeout(at(205));
        assert!(receiver.sack_is_due());
        assert_eq!(receiver.take_sack(ROOM).flags, flags, "{packets} packets");
        assert_eq!(receiver.take_sack(ROOM).flags, 0, "they count once");
    }
}

#[test]
fn the_i_bit_asks_for_a_sack_at_once() {
    let mut receiver = started(config());
    let hurried = Data { flags: whole(3, 2, 1).flags | DataFlags::IMMEDIATE, ..whole(3, 2, 1) };
    packet(&mut receiver, at(1), &[whole(2, 1, 1), hurried]);
    assert!(receiver.sack_is_due());
    receiver.take_sack(ROOM);
    packet(&mut receiver, at(1), &[whole(4, 3, 1)]);
    assert!(!receiver.sack_is_due());
}

#[test]
fn duplicates_alone_are_answered_at_once_and_reported() {
    let mut receiver = started(config());
    assert_eq!(
        packet(&mut receiver, at(1), &[whole(1, 0, 10), whole(1, 0, 10)]),
        [DataOutcome::Duplicate; 2]
    );
    assert!(receiver.sack_is_due());
    assert_eq!(receiver.take_sack(ROOM).duplicate_tsns.iter().collect::<Vec<_>>(), [1, 1]);
    assert!(receiver.take_sack(ROOM).duplicate_tsns.is_empty());
    // A flood of them is not remembered without limit.
    let flood: Vec<_> = (0..1000).map(|_| whole(1, 0, 10)).collect();
    packet(&mut receiver, at(1), &flood);
    assert_eq!(receiver.take_sack(ROOM).duplicate_tsns.len(), MAX_DUPLICATES);
    assert_eq!(receiver.counters().duplicate_chunks, 1002);
}

#[test]
fn a_bad_stream_is_acknowledged_without_delivery() {
    let mut receiver = started(config());
    receiver.begin_packet(PathId(0));
    let bad = Data { stream: 4, ..whole(2, 0, 10) };
    assert_eq!(receiver.on_data(&bad), Err(DataError::InvalidStream { stream: 4 }));
    assert_eq!(receiver.on_data(&bad), Ok(DataOutcome::Duplicate));
    assert_eq!(receiver.on_data(&whole(3, 1, 10)), Ok(DataOutcome::New));
    receiver.end_packet(at(1), PATH, None);
    assert_eq!(receiver.cumulative_tsn(), Tsn(3));
    assert_eq!(receiver.buffered_bytes(), 10);
    assert_eq!(receiver.receive().map(|message| message.ssn), Some(1));
    assert!(!receiver.has_unclaimed());
}

#[test]
fn fatal_chunks() {
    let mut receiver = started(config());
    let empty = Data { payload: Payload::Borrowed(&[]), ..whole(2, 1, 1) };
    assert_eq!(receiver.on_data(&empty), Err(DataError::NoUserData { tsn: 2 }));
    assert_eq!(
        receiver.on_data(&fragment(2, DataFlags::END, 1)),
        Err(DataError::Violation(Violation::MissingBegin { tsn: 2 }))
    );
}

#[test]
fn a_full_buffer_refuses_probes_but_not_what_fills_a_gap() {
    let mut receiver = started(config());
    let chunks: Vec<_> = (3..13).map(|tsn| unordered(tsn, 1000)).collect();
    packet(&mut receiver, at(1), &chunks);
    assert_eq!((receiver.buffered_bytes(), receiver.a_rwnd()), (10_000, 0));
    receiver.take_sack(ROOM);

    // Beyond the highest TSN: refused, reported at once as not received.
    assert_eq!(packet(&mut receiver, at(2), &[whole(13, 0, 1000)]), [DataOutcome::Refused]);
    assert!(receiver.sack_is_due());
    let sack = receiver.take_sack(ROOM);
    assert_eq!((sack.cumulative_tsn_ack, sack.a_rwnd), (1, 0));
    let blocks: Vec<_> = sack.gap_ack_blocks.iter().map(|b| (b.start, b.end)).collect();
    assert_eq!(blocks, [(2, 11)]);

    // The lowest missing one is taken from the reserve.
    assert_eq!(packet(&mut receiver, at(3), &[whole(2, 1, 1000)]), [DataOutcome::New]);
    assert_eq!(receiver.take_sack(ROOM).cumulative_tsn_ack, 12);
    assert_eq!(receiver.peak_buffered_bytes(), 11_000);

    // Now it would be a window probe.
    assert_eq!(packet(&mut receiver, at(4), &[whole(13, 2, 1000)]), [DataOutcome::Refused]);
    assert_eq!(receiver.counters().refused_chunks, 2);
    assert_eq!(receiver.take_sack(ROOM).cumulative_tsn_ack, 12);

    // Reading opens the window, which is announced once two packets fit.
    for read in 1..=4 {
        assert!(receiver.receive().is_some());
        assert_eq!(receiver.sack_is_due(), read == 4, "after {read} messages");
    }
    assert_eq!(receiver.take_sack(ROOM).a_rwnd, 3000);
    assert_eq!(packet(&mut receiver, at(5), &[whole(13, 2, 1000)]), [DataOutcome::New]);
}

#[test]
fn a_message_that_can_neither_fit_nor_be_begun_is_an_error() {
    let mut receiver = started(config());
    // SSN 0 was delivered before.
    packet(&mut receiver, at(1), &[fragment(2, DataFlags::BEGIN, 5000)]);
    packet(&mut receiver, at(1), &[fragment(3, DataFlags::empty(), 5000)]);
    receiver.begin_packet(PathId(0));
    // What is further ahead does not decide it.
    assert_eq!(receiver.on_data(&whole(5, 0, 5)), Ok(DataOutcome::Refused));
    assert_eq!(
        receiver.on_data(&fragment(4, DataFlags::END, 5000)),
        Err(DataError::MessageTooLarge { stream: 0 })
    );
}

#[test]
fn reading_a_piece_of_a_message_that_fills_the_buffer_makes_room_for_the_rest() {
    let mut receiver = started(config());
    let part = |tsn, flags, len| Data { ssn: 1, ..fragment(tsn, flags, len) };
    packet(&mut receiver, at(1), &[part(2, DataFlags::BEGIN, 5000)]);
    assert!(!receiver.has_unclaimed());
    packet(&mut receiver, at(1), &[part(3, DataFlags::empty(), 5000)]);
    assert!(receiver.has_unclaimed(), "the next chunk would find no room");
    assert_eq!(receiver.take_sack(ROOM).a_rwnd, 0);
    let probe = part(4, DataFlags::empty(), 4000);
    let refused = [DataOutcome::Refused];
    assert_eq!(packet(&mut receiver, at(2), core::slice::from_ref(&probe)), refused);
    receiver.take_sack(ROOM);

    let piece = receiver.receive().unwrap();
    assert_eq!((piece.piece, piece.len()), (Piece::First, 10_000));
    assert!(receiver.sack_is_due(), "the peer hears of the room");
    assert_eq!(receiver.take_sack(ROOM).a_rwnd, 10_000);
    packet(&mut receiver, at(3), &[probe, part(5, DataFlags::END, 1)]);
    let piece = receiver.receive().unwrap();
    assert_eq!((piece.piece, piece.len()), (Piece::Last, 4001));
    assert_eq!((receiver.counters().messages, receiver.counters().message_bytes), (2, 14_011));
    assert_eq!(receiver.buffered_bytes(), 0);
}

#[test]
fn a_message_that_fits_is_delivered_whole() {
    let first = Data { ssn: 1, ..fragment(2, DataFlags::BEGIN, 5000) };
    let last = Data { ssn: 1, ..fragment(3, DataFlags::END, 5000) };
    for chunks in [[&first, &last], [&last, &first]] {
        let mut receiver = started(config());
        for chunk in chunks {
            assert!(!receiver.has_unclaimed());
            packet(&mut receiver, at(1), core::slice::from_ref(chunk));
        }
        assert_eq!(receiver.receive().map(|it| (it.piece, it.len())), Some((Piece::Whole, 10_000)));
    }
}

#[test]
fn a_message_that_the_user_has_not_read_yet_only_delays() {
    let mut receiver = started(config());
    packet(&mut receiver, at(1), &[whole(2, 1, 5000), fragment(3, DataFlags::BEGIN, 5000)]);
    let last = fragment(4, DataFlags::END, 4000);
    let (begin, last) =
        (Data { ssn: 2, ..fragment(3, DataFlags::BEGIN, 1) }, Data { ssn: 0, ..last });
    assert_eq!(packet(&mut receiver, at(1), &[begin]), [DataOutcome::Duplicate]);
    assert_eq!(packet(&mut receiver, at(1), core::slice::from_ref(&last)), [DataOutcome::Refused]);
    assert!(receiver.receive().is_some());
    assert_eq!(packet(&mut receiver, at(1), &[last]), [DataOutcome::New]);
}

#[test]
fn one_byte_chunks_cannot_hold_memory_without_limit() {
    let mut receiver = started(config());
    // Above a gap until nothing more is taken: four times the buffer, with 257 bytes each.
    let kept = (3..).take_while(|tsn| {
        packet(&mut receiver, at(1), &[unordered(*tsn, 1)]) == [DataOutcome::New]
    });
    let kept = kept.count() as u32;
    assert_eq!(kept, 40_000_u32.div_ceil(257));
    assert_eq!(receiver.a_rwnd(), 0);
    // A message that fills the gap is taken; what follows is a probe until something was read.
    assert_eq!(packet(&mut receiver, at(1), &[unordered(2, 6000)]), [DataOutcome::New]);
    assert_eq!(receiver.cumulative_tsn(), Tsn(2 + kept));
    assert_eq!(packet(&mut receiver, at(1), &[unordered(3 + kept, 1)]), [DataOutcome::Refused]);
}

#[test]
fn the_reserve_for_gaps_is_limited() {
    let mut receiver = started(config());
    let every_second: Vec<_> = (1..=20).map(|i| unordered(1 + 2 * i, 1000)).collect();
    packet(&mut receiver, at(1), &every_second);
    let fill = |receiver: &mut Receiver, i: u32| {
        packet(receiver, at(1), &[Data { ssn: i as u16, ..whole(2 * i, 0, 20_000) }])
    };
    assert_eq!(receiver.buffered_bytes(), 10_000, "half of them were refused");
    assert_eq!(fill(&mut receiver, 1), [DataOutcome::New]);
    assert_eq!(fill(&mut receiver, 2), [DataOutcome::New]);
    assert_eq!(fill(&mut receiver, 3), [DataOutcome::Refused], "40,000 bytes and 6000 in reserve");
}

#[test]
fn tsns_that_no_gap_block_could_report_are_refused() {
    let mut receiver = started(config());
    assert_eq!(packet(&mut receiver, at(1), &[whole(65_537, 0, 1)]), [DataOutcome::Refused]);
    assert_eq!(packet(&mut receiver, at(1), &[whole(65_536, 0, 1)]), [DataOutcome::New]);
}

/// Behind a gap unordered messages are read as they come, and the window stays open: more TSNs than it has bytes.
#[test]
fn unordered_messages_may_be_more_than_the_window_has_bytes() {
    let mut receiver = started(config());
    for tsn in 3..20_000 {
        assert_eq!(packet(&mut receiver, at(1), &[unordered(tsn, 1)]), [DataOutcome::New]);
        assert!(receiver.receive().is_some());
    }
}

#[test]
fn user_data_is_copied_out_of_the_datagram_and_virtual_data_stays_virtual() {
    let mut receiver = started(config());
    let datagram = vec![9; 100];
    let borrowed = Data { payload: Payload::Borrowed(&datagram), ..whole(2, 1, 1) };
    let description = polypath_wire::VirtualPayload { message: 3, offset: 0, len: 5000 };
    let virtual_one = Data { payload: Payload::Virtual(description), ..whole(3, 2, 1) };
    packet(&mut receiver, at(1), &[borrowed, virtual_one]);
    drop(datagram);
    assert_eq!(receiver.buffered_bytes(), 5100);
    assert_eq!(receiver.receive().unwrap().into_bytes(), [9; 100][..]);
    assert_eq!(receiver.receive().unwrap().fragments[..], [Payload::Virtual(description)]);
    assert_eq!(receiver.a_rwnd(), 10_000);
}

mod full_buffer;
mod renumber;
mod transfer;
