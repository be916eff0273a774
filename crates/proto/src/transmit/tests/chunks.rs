//! The books of outstanding chunks.

use super::*;
use crate::config::{Burst, Preset};
use crate::probe::TransmissionCause::{DropReport, FastRetransmission};
use crate::transmit::outstanding::History;
use crate::transmit::partial_reliability::Reliability;
use crate::{OutgoingMessage, PathId};

/// Two paths with windows of 40 packets.
fn bench() -> Bench {
    let mut bench = Bench::tuned(Preset::Rfc9260, 2, |config| config.policies.burst = Burst::Off);
    (0..2).for_each(|id| bench.shape(id, 40, 40, 50));
    bench
}

#[test]
fn only_what_lies_between_the_cumulative_ack_and_the_next_tsn_is_outstanding() {
    let mut bench = bench();
    bench.place(&[0, 0, 0]);
    bench.sack(&Answer::of(1));
    let contains = [0, 1, 2, 3].map(|chunk| bench.tx.outstanding.contains(tsn(chunk)));
    assert_eq!(contains, [false, true, true, false]);
}

#[test]
fn an_abandoned_chunk_is_on_no_list_whatever_it_was_before() {
    for (what, before) in [
        ("in flight", (|_| {}) as fn(&mut Bench)),
        ("lost", |bench| _ = bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission)),
        ("acknowledged", |bench| drop(bench.sack(&Answer::of(0).gaps(&[(1, 1)])))),
    ] {
        let mut bench = bench();
        bench.place(&[1, 0]);
        before(&mut bench);
        let gone = if what == "acknowledged" { 1 } else { 0 };
        let path = bench.chunk(gone).path;
        bench.tx.outstanding.abandon(tsn(gone)).unwrap();
        let outstanding = &mut bench.tx.outstanding;
        assert_eq!(outstanding.lowest_on(path), (None, None), "{what}");
        assert_eq!(outstanding.lost_count(), 0, "{what}");
        assert_eq!(outstanding.unreleased_on(path).user_bytes, 0, "{what}");
        assert_eq!(outstanding.in_flight_on(path).user_bytes, 0, "{what}");
        assert_eq!(outstanding.abandoned_count(), 1, "{what}");
        assert_eq!(outstanding.abandon(tsn(gone)), None, "{what}: once");
        bench.sack(&Answer::of(2));
        assert_eq!(bench.tx.outstanding.abandoned_count(), 0, "{what}: the peer has passed it");
    }
}

#[test]
fn a_chunk_that_is_moved_knows_whether_it_took_another_path() {
    for (path, history) in [(0, History::RESCHEDULED), (1, History::RESCHEDULED | History::MOVED)] {
        let mut bench = bench();
        bench.place(&[0]);
        let now = bench.now;
        bench.tx.outstanding.get_mut(tsn(0)).history |= History::FAST_RETRANSMITTED;
        bench.tx.outstanding.reschedule(tsn(0), PathId(path), now);
        assert_eq!(bench.history(0), history);
        assert_eq!((bench.chunk(0).path, bench.chunk(0).transmissions), (PathId(path), 2));
    }
}

#[test]
fn missing_reports_count_for_a_repaired_chunk_again_unless_more_has_happened() {
    type Change = fn(&mut Bench);
    let cases: [(&str, Change, bool); 5] = [
        ("nothing", |_| {}, true),
        (
            "it was retransmitted again",
            |bench| bench.tx.outstanding.get_mut(tsn(0)).transmissions = 3,
            false,
        ),
        (
            "missing reports had found it before",
            |bench| bench.tx.outstanding.get_mut(tsn(0)).history |= History::FAST_RETRANSMITTED,
            false,
        ),
        (
            "a timeout had found it before",
            |bench| bench.tx.outstanding.get_mut(tsn(0)).history |= History::TIMER_RETRANSMITTED,
            false,
        ),
        ("it is lost", |bench| _ = bench.tx.mark_lost(bench.now, tsn(0), DropReport), false),
    ];
    for (what, change, counts) in cases {
        let mut bench = bench();
        bench.place(&[0, 0]);
        bench.tx.mark_lost(bench.now, tsn(0), DropReport);
        let now = bench.now;
        bench.tx.outstanding.retransmit(tsn(0), PathId(0), now);
        let repaired = bench.tx.outstanding.repaired(tsn(0));
        change(&mut bench);
        let outstanding = &mut bench.tx.outstanding;
        assert_eq!(outstanding.next_countable_on(PathId(0), tsn(0), tsn(1)), None, "{what}");
        outstanding.count_again(&repaired);
        let countable = outstanding.next_countable_on(PathId(0), tsn(0), tsn(1));
        assert_eq!(countable, counts.then_some(tsn(0)), "{what}");
    }
}

#[test]
fn a_forward_tsn_names_as_many_streams_as_its_packet_has_room_for() {
    let mut bench = bench();
    for stream in 0..400 {
        let payload = polypath_wire::VirtualPayload { message: 0, offset: 0, len: 4 };
        let payload = polypath_wire::Payload::Virtual(payload);
        let message = OutgoingMessage::from_payload(stream, payload);
        bench.send_message(message, Reliability::Retransmissions(0)).1.unwrap();
    }
    bench.flush();
    (0..400).for_each(|chunk| _ = bench.tx.mark_lost(bench.now, tsn(chunk), FastRetransmission));
    // 1,480 bytes less the headers of the packet and of the chunk, and four for each stream.
    let most = (1480 - 12 - 8) / 4;
    for (streams, end, count) in [(most, most, 1), (400 - most, 400, 2)] {
        bench.begin();
        let forward = bench.packet().unwrap().forward.unwrap();
        assert_eq!(forward.streams().count(), streams as usize);
        assert_eq!(forward.new_cumulative_tsn, tsn(end - 1).0);
        assert_eq!(bench.tx.stats.seldom.forward_tsns_sent, count);
        bench.sack(&Answer::of(end));
    }
}

#[test]
fn what_is_in_flight_was_neither_acknowledged_nor_lost() {
    let mut bench = bench();
    bench.place(&[0, 0, 1, 0, 0]);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
    bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission);
    bench.tx.mark_lost(bench.now, tsn(3), FastRetransmission);
    assert_eq!(bench.tx.outstanding.in_flight_count(), 2);
}
