use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::probe::TransmissionCause;
use crate::transmit::outstanding::OutstandingChunk;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::sack::apply;
use crate::transmit::sack::testing::{blocks, chunk, report};

/// First TSNs: in the middle, and with the wrap inside the outstanding data.
const FIRST: [Tsn; 3] = [Tsn(103), Tsn(u32::MAX - 1), Tsn(0)];

/// What became of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Is {
    Abandoned,
    InFlight,
    /// In a gap block; its message is fully reliable.
    Acked,
    /// The same, and promised to be kept.
    Kept,
    /// In a gap block; its message allows no retransmission.
    Final,
}

use Is::{Abandoned, Acked, Final, InFlight, Kept};

/// Chunks as (state, stream, SSN); unordered without SSN.
type Row = (Is, u16, Option<u16>);

fn outstanding_of(first: Tsn, rows: &[Row]) -> OutstandingData {
    let mut outstanding = OutstandingData::new(first);
    for &(is, stream, ssn) in rows {
        let mut new = OutstandingChunk { stream, number: ssn.unwrap_or(0).into(), ..chunk(0, 100) };
        if ssn.is_none() {
            new.flags |= DataFlags::UNORDERED;
        }
        if is == Final {
            new.reliability = Reliability::Retransmissions(0);
        }
        outstanding.push(new);
    }
    for (offset, &(is, ..)) in (0..).zip(rows) {
        let tsn = first.plus(offset);
        if matches!(is, Acked | Kept | Final) {
            assert!(outstanding.gap_ack(tsn, PathId(0)).is_some());
        }
        match is {
            Abandoned => assert!(outstanding.abandon(tsn).is_some()),
            Kept => assert_eq!(outstanding.release(tsn).user_bytes, 100),
            _ => {}
        }
    }
    outstanding
}

/// How many chunks the point passes.
fn advanced(first: Tsn, rows: &[Row]) -> u32 {
    let mut forward = Forward::new(first);
    forward.advance(&outstanding_of(first, rows));
    assert_eq!(forward.is_due(), forward.point != first.previous());
    forward.point.distance_from(first.previous())
}

#[test]
fn example_of_rule_c2() {
    for first in FIRST {
        let one = |is| (is, 0, Some(1));
        let rows = [one(Abandoned), one(Abandoned), one(InFlight), one(Acked)];
        assert_eq!(advanced(first, &rows), 2, "102 to 104");
    }
}

#[test]
fn what_the_point_passes() {
    let cases: [(&str, &[Row], u32); 6] = [
        ("nothing is abandoned", &[(InFlight, 0, Some(0)), (Acked, 0, Some(1))], 0),
        ("nothing but what was acknowledged", &[(Final, 0, None), (Kept, 0, None)], 0),
        (
            "a hole behind what could be withdrawn",
            &[(Abandoned, 0, None), (Acked, 0, None), (Abandoned, 0, None)],
            1,
        ),
        (
            "also if it would not be sent again: nobody would hear that it is lost",
            &[(Abandoned, 0, None), (Final, 0, None), (Abandoned, 0, None)],
            1,
        ),
        (
            "holes behind what was promised",
            &[(Abandoned, 0, None), (Kept, 0, None), (Abandoned, 0, None), (Kept, 1, Some(0))],
            3,
        ),
        (
            "many holes",
            &[
                (Abandoned, 0, Some(u16::MAX)),
                (Kept, 0, Some(0)),
                (Abandoned, 0, Some(1)),
                (InFlight, 0, Some(2)),
                (Abandoned, 0, Some(3)),
            ],
            3,
        ),
    ];
    for first in FIRST {
        for (what, rows, expected) in cases {
            assert_eq!(advanced(first, rows), expected, "{what} from {first:?}");
        }
    }
}

#[test]
fn it_goes_on_where_it_stopped() {
    for first in FIRST {
        let rows = [
            (Abandoned, 0, Some(0)),
            (Kept, 0, Some(1)),
            (InFlight, 0, Some(2)),
            (Kept, 0, Some(3)),
            (InFlight, 0, Some(4)),
        ];
        let mut outstanding = outstanding_of(first, &rows);
        let mut forward = Forward::new(first);
        let mut after = |offset: u32| {
            outstanding.mark_lost(first.plus(offset), TransmissionCause::FastRetransmission);
            outstanding.abandon(first.plus(offset));
            forward.advance(&outstanding);
            forward.point.distance_from(first.previous())
        };
        assert_eq!(after(4), 1, "the third chunk is in flight");
        assert_eq!(after(2), 5);
    }
}

#[test]
fn each_stream_is_told_once_with_its_highest_ssn() {
    for first in FIRST {
        let rows = [
            (Abandoned, 3, Some(u16::MAX)),
            (Abandoned, 3, None),
            (Abandoned, 4, Some(9)),
            (Abandoned, 3, Some(0)),
            (Abandoned, 5, Some(1)),
        ];
        let outstanding = outstanding_of(first, &rows);
        let mut forward = Forward::new(first);
        forward.advance(&outstanding);
        let told = |most| {
            let (tsn, streams) = forward.content(&outstanding, most);
            let streams: Vec<_> = streams.iter().map(|s| (s.stream, s.ssn)).collect();
            (tsn.distance_from(first.previous()), streams)
        };
        assert_eq!(told(9), (5, vec![(3, 0), (4, 9), (5, 1)]), "0 follows 65535");
        assert_eq!(told(2), (4, vec![(3, 0), (4, 9)]), "the third stream has no room");
        assert_eq!(told(1), (2, vec![(3, u16::MAX)]));
    }
}

#[test]
fn it_is_told_again_until_the_peer_has_moved() {
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let first = Tsn(u32::MAX);
    let mut outstanding = outstanding_of(first, &[(Abandoned, 0, None), (InFlight, 0, None)]);
    let mut forward = Forward::new(first);
    forward.advance(&outstanding);
    let (point, _) = forward.content(&outstanding, 9);
    forward.on_sent(at(0), PathId(1), point);
    let round_trip = Duration::from_millis(100);
    assert_eq!(forward.told(), Some((first, PathId(1), Proof::OfThePath)));
    forward.advance(&outstanding);
    forward.on_sack(at(99), round_trip);
    assert!(!forward.is_due(), "an answer may still be on its way");
    forward.on_sack(at(100), round_trip);
    assert!(forward.is_due(), "a round trip later");
    forward.on_sent(at(100), PathId(1), point);
    assert_eq!(forward.told(), Some((first, PathId(1), Proof::OfThePath)), "the same path");
    forward.on_timeout(PathId(0));
    assert!(!forward.is_due(), "another path's timer");
    forward.on_timeout(PathId(1));
    assert!(forward.is_due());
    forward.on_sent(at(300), PathId(0), point);
    assert_eq!(
        forward.told(),
        Some((first, PathId(0), Proof::OfThePeer)),
        "either may have arrived"
    );
    apply(&mut outstanding, &report(first, &blocks(&[])), &[None], |_, _| {});
    forward.advance(&outstanding);
    assert_eq!((forward.is_due(), forward.guarded_by(), forward.told()), (false, None, None));
}
