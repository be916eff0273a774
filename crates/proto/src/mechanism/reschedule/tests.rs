use polypath_wire::DataFlags;

use super::*;
use crate::config::Preset;
use crate::extension::nr_sack::Release;
use crate::transmit::outstanding::{History, OutstandingChunk, OutstandingData};
use crate::transmit::sack::testing::{blocks as gap_blocks, chunk, report};
use crate::transmit::sack::{Report, apply};
use crate::types::{BufferBytes, Unambiguous};
use crate::{Instant, PathId, Tsn};

fn policy() -> Reschedule {
    Reschedule { side: RescheduleSide::Sender, ..Preset::Cmt.policies().reschedule }
}

fn buffered(bytes: u64) -> BufferBytes {
    BufferBytes { user_bytes: bytes, cost: bytes }
}

const SIDES: [RescheduleSide; 4] =
    [RescheduleSide::None, RescheduleSide::Sender, RescheduleSide::Receiver, RescheduleSide::Both];

#[test]
fn the_blocking_fraction() {
    // A send buffer of 100,000 bytes; the peer had 60,000, of which 20,000 are left.
    let view = BlockingView {
        send_buffer: 100_000,
        peer_window: 20_000,
        unreleased_on_all: 40_000,
        paths: 2,
        unreleased: buffered(0),
        in_flight: buffered(5000),
        released_early: 0,
        released_early_on_all: 0,
    };
    let (no, yes) = (false, true);
    for (what, split, unreleased, expected) in [
        ("nothing", BufferSplit::None, 5000, [no; 4]),
        ("less in the buffer than in flight", BufferSplit::None, 0, [no; 4]),
        ("half the peer's buffer", BufferSplit::None, 35_000, [no; 4]),
        ("more", BufferSplit::None, 35_001, [no, no, yes, yes]),
        ("half the send buffer", BufferSplit::None, 55_000, [no, no, yes, yes]),
        ("more", BufferSplit::None, 55_001, [no, yes, yes, yes]),
        ("half of half the peer's buffer", BufferSplit::Both, 20_000, [no; 4]),
        ("more", BufferSplit::Both, 20_001, [no, no, yes, yes]),
        ("half of half the send buffer", BufferSplit::Both, 30_000, [no, no, yes, yes]),
        ("more", BufferSplit::Both, 30_001, [no, yes, yes, yes]),
        ("each side has its own split", BufferSplit::Sender, 30_001, [no, yes, no, yes]),
        ("each side has its own split", BufferSplit::Receiver, 30_001, [no, no, yes, yes]),
    ] {
        let view = BlockingView { unreleased: buffered(unreleased), ..view };
        let blocked = SIDES.map(|side| blocks(&Reschedule { side, ..policy() }, split, &view));
        assert_eq!(blocked, expected, "{what}: {split:?} {unreleased}");
    }
}

#[test]
fn an_unlimited_buffer_is_never_blocked() {
    let view = BlockingView {
        send_buffer: u64::MAX,
        peer_window: 0,
        unreleased_on_all: 1 << 40,
        paths: 2,
        unreleased: buffered(1 << 40),
        in_flight: buffered(0),
        released_early: 0,
        released_early_on_all: 0,
    };
    assert!(!blocks(&policy(), BufferSplit::Both, &view));
}

/// Fig. 2: #27 and #28 were sent on path 0, #29 to #34 on path 1; all but #28 arrive.
fn figure_2(first: u32) -> (OutstandingData, u64) {
    let mut outstanding = OutstandingData::new(Tsn(first));
    for path in [0, 0, 1, 1, 1, 1, 1, 1] {
        outstanding.push(chunk(path, 1452));
    }
    let delta =
        apply(&mut outstanding, &report(Tsn(first), &gap_blocks(&[(2, 7)])), &[None; 2], |_, _| {});
    (outstanding, delta.released.user_bytes)
}

#[test]
fn figure_2_frees_one_chunk_and_blocks_six() {
    for first in [27, u32::MAX - 3] {
        let (outstanding, released) = figure_2(first);
        assert_eq!(released, 1452, "only #27 leaves the buffer");
        let on = |path| {
            (outstanding.unreleased_on(PathId(path)), outstanding.in_flight_on(PathId(path)))
        };
        assert_eq!(on(0), (buffered(1452), buffered(1452)), "#28");
        assert_eq!(on(1), (buffered(6 * 1452), buffered(0)), "#29 to #34");
        // The send buffer has room for eight chunks: path 1 blocks three quarters of it, path 0 nothing.
        let view = |path| BlockingView {
            send_buffer: 8 * 1452,
            peer_window: 0,
            unreleased_on_all: 7 * 1452,
            paths: 2,
            unreleased: on(path).0,
            in_flight: on(path).1,
            released_early: outstanding.released_early_on(PathId(path)),
            released_early_on_all: [0, 1]
                .map(|path| outstanding.released_early_on(PathId(path)))
                .iter()
                .sum(),
        };
        for (split, expected) in
            [(BufferSplit::None, [false, true]), (BufferSplit::Both, [false, true])]
        {
            assert_eq!([0, 1].map(|path| blocks(&policy(), split, &view(path))), expected);
        }
        let large = BlockingView { send_buffer: 13 * 1452, ..view(1) };
        assert!(!blocks(&policy(), BufferSplit::None, &large), "6 of 13 chunks");
        assert!(blocks(&policy(), BufferSplit::Both, &large), "6 of 6.5");
    }
}

/// With NR-SACK the receiver hands unordered messages on as they come and promises to keep them: the space of all seven is
/// free at once, nothing blocks, and no chunk has to move.
#[test]
fn figure_2_with_nr_sack_and_unordered_data_frees_seven_chunks() {
    for first in [27, u32::MAX - 3] {
        let mut outstanding = OutstandingData::new(Tsn(first));
        for path in [0, 0, 1, 1, 1, 1, 1, 1] {
            outstanding.push(OutstandingChunk { flags: DataFlags::UNORDERED, ..chunk(path, 1452) });
        }
        let gaps = gap_blocks(&[(2, 7)]);
        let report = Report { release: Release::Reported, ..report(Tsn(first), &gaps) };
        let delta = apply(&mut outstanding, &report, &[None; 2], |_, _| {});
        assert_eq!(delta.released.user_bytes, 7 * 1452, "all but #28");
        assert_eq!(delta.released_early, 6 * 1452, "#29 to #34 before the cumulative ack");
        let on = |path| {
            (outstanding.unreleased_on(PathId(path)), outstanding.in_flight_on(PathId(path)))
        };
        assert_eq!(on(0), (buffered(1452), buffered(1452)), "#28");
        assert_eq!(on(1), (buffered(0), buffered(0)), "nothing");
        let view = |path| BlockingView {
            send_buffer: 8 * 1452,
            peer_window: 7 * 1452,
            unreleased_on_all: 1452,
            paths: 2,
            unreleased: on(path).0,
            in_flight: on(path).1,
            released_early: outstanding.released_early_on(PathId(path)),
            released_early_on_all: [0, 1]
                .map(|path| outstanding.released_early_on(PathId(path)))
                .iter()
                .sum(),
        };
        for side in SIDES {
            let policy = Reschedule { side, traffic: RescheduleFor::All, ..policy() };
            let blocked = [0, 1].map(|path| blocks(&policy, BufferSplit::Both, &view(path)));
            assert_eq!(blocked, [false, false], "{side:?}");
        }
        // The marker stays until the cumulative ack passes, which frees the last chunk and nothing twice.
        let delta = apply(
            &mut outstanding,
            &self::report(Tsn(first).plus(7), &gap_blocks(&[])),
            &[None; 2],
            |_, _| {},
        );
        assert_eq!((delta.released.user_bytes, outstanding.is_empty()), (1452, true));
    }
}

/// Ordered chunks that the receiver promised to keep leave the send buffer, but wait for #28 in the receive buffer.
#[test]
fn figure_2_with_nr_sack_and_ordered_data_blocks_the_receive_buffer() {
    for first in [27, u32::MAX - 3] {
        let mut outstanding = OutstandingData::new(Tsn(first));
        for path in [0, 0, 1, 1, 1, 1, 1, 1] {
            outstanding.push(chunk(path, 1452));
        }
        let gaps = gap_blocks(&[(2, 7)]);
        let nr_sack = Report { release: Release::Reported, ..report(Tsn(first), &gaps) };
        let delta = apply(&mut outstanding, &nr_sack, &[None; 2], |_, _| {});
        assert_eq!(delta.released.user_bytes, 7 * 1452, "the send buffer is free");
        let released_early = |outstanding: &OutstandingData| {
            [0, 1].map(|path| outstanding.released_early_on(PathId(path)))
        };
        assert_eq!(released_early(&outstanding), [0, 6 * 1452]);
        // The receive buffer has room for eight chunks: #29 to #34 wait in it, #28 may still come.
        let view = |path: u8| BlockingView {
            send_buffer: 8 * 1452,
            peer_window: 1452,
            unreleased_on_all: 1452,
            paths: 2,
            unreleased: outstanding.unreleased_on(PathId(path)),
            in_flight: outstanding.in_flight_on(PathId(path)),
            released_early: outstanding.released_early_on(PathId(path)),
            released_early_on_all: 6 * 1452,
        };
        let blocked = SIDES.map(|side| {
            let policy = Reschedule { side, ..policy() };
            [0, 1].map(|path| blocks(&policy, BufferSplit::None, &view(path)))
        });
        assert_eq!(blocked, [[false, false], [false, false], [false, true], [false, true]]);
        // What is abandoned or acknowledged is not kept by the receiver any longer.
        assert!(outstanding.abandon(Tsn(first).plus(7)).is_some());
        assert_eq!(released_early(&outstanding), [0, 5 * 1452]);
        apply(
            &mut outstanding,
            &report(Tsn(first).plus(7), &gap_blocks(&[])),
            &[None; 2],
            |_, _| {},
        );
        assert_eq!((released_early(&outstanding), outstanding.is_empty()), ([0, 0], true));
    }
}

#[test]
fn a_moved_chunk_changes_sides_and_frees_everything() {
    for first in [27, u32::MAX - 3] {
        let (mut outstanding, _) = figure_2(first);
        let missing = Tsn(first).next();
        outstanding.get_mut(missing).missing_reports = 2;
        assert_eq!(outstanding.base(), missing, "the first chunk that blocks");
        outstanding.reschedule(missing, PathId(1), Instant::from_nanos(7));
        let moved = outstanding.get(missing);
        assert_eq!((moved.path, moved.missing_reports, moved.transmissions), (PathId(1), 0, 2));
        assert!(moved.history.contains(History::MOVED | History::RESCHEDULED));
        let on = |w: &OutstandingData, path| {
            (w.unreleased_on(PathId(path)), w.in_flight_on(PathId(path)))
        };
        assert_eq!(
            (on(&outstanding, 0), on(&outstanding, 1)),
            ((buffered(0), buffered(0)), (buffered(7 * 1452), buffered(1452)))
        );
        assert_eq!(outstanding.in_flight_user_bytes(), 1452);
        let timed = [Some(missing), Some(missing)];
        let delta =
            apply(&mut outstanding, &report(missing.plus(6), &gap_blocks(&[])), &timed, |_, _| {});
        let news = delta.paths[1];
        assert_eq!((news.credited_bytes, news.flight_bytes), (0, 1468), "it grows no window");
        assert_eq!(news.timed_chunk, None, "it measures nothing");
        assert_eq!(news.unambiguous, Unambiguous::None, "it proves no path");
        assert!(!news.by_cumulative_ack, "it is no progress of the path's own order");
        assert_eq!(delta.released.user_bytes, 7 * 1452);
        assert_eq!(
            (on(&outstanding, 0), on(&outstanding, 1)),
            ((buffered(0), buffered(0)), (buffered(0), buffered(0)))
        );
    }
}

#[test]
fn which_chunks_move() {
    let ms = Duration::from_millis;
    let chunk = ChunkView {
        delivery: Delivery::Ordered,
        last_sent: LastSent::Elsewhere,
        was_rescheduled: false,
        transmissions: 1,
        age: Duration::ZERO,
        its_rtt: ms(200),
        allowed: ms(50),
        new_rtt: ms(10),
        until_full: Duration::ZERO,
        new_path: PathState::default(),
    };
    let recovering = PathState { in_fast_recovery: true, is_banned: false };
    let banned = PathState { in_fast_recovery: false, is_banned: true };
    let here = ChunkView { last_sent: LastSent::Here, ..chunk };
    let again = ChunkView { was_rescheduled: true, ..chunk };
    let in_time = ChunkView { age: ms(200), ..again };
    for (what, chunk, paper, inet) in [
        ("the lowest one", chunk, true, true),
        ("an unordered one", ChunkView { delivery: Delivery::Unordered, ..chunk }, false, false),
        ("one that is on this path already", here, false, false),
        ("after two round-trip times", ChunkView { age: ms(20), ..here }, false, false),
        ("after more", ChunkView { age: ms(21), ..here }, false, true),
        ("one that moved just now", again, false, false),
        ("one that moved and had time to arrive", in_time, true, false),
        ("for the seventh time", ChunkView { transmissions: 7, ..in_time }, true, false),
        ("once too often", ChunkView { transmissions: 8, ..in_time }, false, false),
        (
            "where the clock is coarser than a round trip",
            ChunkView { its_rtt: Duration::ZERO, ..again },
            false,
            false,
        ),
        ("to a path in fast recovery", ChunkView { new_path: recovering, ..chunk }, true, false),
        ("to a path without new data", ChunkView { new_path: banned, ..chunk }, true, false),
    ] {
        for (conditions, expected) in
            [(RescheduleConditions::Paper, paper), (RescheduleConditions::Inet, inet)]
        {
            let policy = Reschedule { conditions, ..policy() };
            assert_eq!(may_move(&policy, &chunk), expected, "{what}: {conditions:?}");
        }
    }
    let all = Reschedule { traffic: RescheduleFor::All, ..policy() };
    assert!(may_move(&all, &ChunkView { delivery: Delivery::Unordered, ..chunk }));
}

/// A chunk that was sent 50 ms ago on a path of 200 ms.
#[test]
fn a_chunk_that_will_arrive_in_time_stays() {
    let ms = Duration::from_millis;
    let policy = Reschedule { conditions: RescheduleConditions::Stall, ..policy() };
    let chunk = ChunkView {
        delivery: Delivery::Ordered,
        last_sent: LastSent::Elsewhere,
        was_rescheduled: false,
        transmissions: 1,
        age: ms(50),
        its_rtt: ms(200),
        allowed: ms(50),
        new_rtt: ms(10),
        until_full: ms(149),
        new_path: PathState::default(),
    };
    let in_time = ChunkView { until_full: ms(150), ..chunk };
    let slower = ChunkView { new_rtt: ms(150), ..chunk };
    let slowest = ChunkView { new_rtt: ms(200), until_full: ms(0), ..chunk };
    let again = |chunk| ChunkView { transmissions: 2, ..chunk };
    for (what, chunk, moves) in [
        ("the buffers will be full", chunk, true),
        ("they will not", in_time, false),
        ("the other path is no quicker", slower, false),
        ("it was lost before", again(slower), true),
        ("it was lost before, and there is room", again(in_time), false),
        ("it is late", ChunkView { age: ms(250), ..in_time }, true),
        ("no later than round trips vary", ChunkView { age: ms(249), ..in_time }, false),
        ("late, and the other path is slower", ChunkView { age: ms(250), ..slowest }, true),
        ("a little late, which that cannot mend", ChunkView { age: ms(249), ..slowest }, false),
        ("there is no room", ChunkView { age: ms(200), until_full: ms(0), ..in_time }, true),
        ("there is little room", ChunkView { age: ms(210), until_full: ms(20), ..in_time }, true),
        ("there is more", ChunkView { age: ms(210), until_full: ms(21), ..in_time }, false),
        ("it is there already", ChunkView { last_sent: LastSent::Here, ..chunk }, false),
        ("it moved just now", ChunkView { was_rescheduled: true, ..chunk }, false),
        ("it was sent too often", ChunkView { transmissions: 8, ..chunk }, false),
    ] {
        assert_eq!(may_move(&policy, &chunk), moves, "{what}");
    }
}

#[test]
fn the_old_path_pays_the_chunks_size() {
    for (cwnd, expected) in [(10_000, 8532), (2968, 1500), (2000, 1500), (1500, 1500), (700, 700)] {
        assert_eq!(cwnd_without(cwnd, 1468, 1500), expected);
    }
}

#[test]
fn what_the_old_path_pays() {
    use OldPathPays::{ChunkSize, Half};
    let states = [(false, false), (true, false), (true, true), (false, true)]
        .map(|(in_fast_recovery, is_banned)| PathState { in_fast_recovery, is_banned });
    for (old_path, conditions, expected) in [
        (ChunkSize, RescheduleConditions::Paper, [Payment::Size; 4]),
        (ChunkSize, RescheduleConditions::Inet, [Payment::Size; 4]),
        (
            Half,
            RescheduleConditions::Paper,
            [Payment::Half, Payment::Nothing, Payment::Nothing, Payment::Half],
        ),
        (
            Half,
            RescheduleConditions::Inet,
            [Payment::Half, Payment::Block, Payment::Nothing, Payment::Half],
        ),
    ] {
        let policy = Reschedule { old_path, conditions, ..policy() };
        let found = states.map(|old_path| payment(&policy, old_path));
        assert_eq!(found, expected, "{old_path:?}, {conditions:?}");
    }
}

#[test]
fn a_ban_lasts_one_round_trip() {
    let ms = |millis| Instant::ZERO + Duration::from_millis(millis);
    let mut ban = NewDataBan::default();
    assert_eq!((ban.is_active(ms(0)), ban.ends_at()), (false, None));
    ban.begin(ms(10), Duration::from_millis(40));
    assert_eq!(ban.ends_at(), Some(ms(50)));
    for (at, expected) in [(10, true), (49, true), (50, false), (51, false)] {
        assert_eq!(ban.is_active(ms(at)), expected, "{at} ms");
    }
    ban.begin(ms(30), Duration::from_millis(40));
    assert_eq!(ban.ends_at(), Some(ms(70)), "a second chunk prolongs it");
    ban.lift();
    assert_eq!((ban.is_active(ms(31)), ban.ends_at()), (false, None));
}
