#![allow(clippy::disallowed_types)] // proptest's macros use Arc

use std::collections::BTreeMap;
use std::vec::Vec;

use proptest::prelude::*;

use super::testing::{blocks, chunk, report, take_back};
use super::*;
use crate::config::StaleSack;
use crate::extension::nr_sack::Release;
use crate::probe::TransmissionCause;
use crate::transmit::outstanding::{OutstandingChunk, OutstandingData};
use crate::types::{PathDelta, TimedChunk, Unambiguous};
use crate::{PathId, Tsn};

fn outstanding(first: u32, paths: &[u8]) -> OutstandingData {
    let mut outstanding = OutstandingData::new(Tsn(first));
    for &path in paths {
        outstanding.push(chunk(path, 100));
    }
    outstanding
}

#[test]
fn validation() {
    let judge = |cumulative, gaps: &[(u16, u16)]| {
        validate(Tsn(cumulative), &blocks(gaps), Tsn(10), Tsn(20))
    };
    assert_eq!(judge(9, &[]), Ok(SackVerdict::Apply), "nothing new");
    assert_eq!(judge(19, &[]), Ok(SackVerdict::Apply), "everything");
    assert_eq!(judge(8, &[]), Ok(SackVerdict::Stale));
    assert_eq!(
        judge(8, &[(3, 4)]),
        Ok(SackVerdict::Stale),
        "a SACK older than the last one says nothing new"
    );
    assert_eq!(judge(20, &[]), Err(SackProblem::AcknowledgesUnsent(Tsn(20))));
    assert_eq!(judge(9, &[(2, 10)]), Ok(SackVerdict::Apply));
    assert_eq!(judge(9, &[(2, 11)]), Err(SackProblem::AcknowledgesUnsent(Tsn(20))));
    assert_eq!(judge(9, &[(0, 2)]), Err(SackProblem::MalformedBlock));
    assert_eq!(judge(9, &[(3, 2)]), Err(SackProblem::MalformedBlock));
    assert_eq!(judge(9, &[(5, 6), (2, 3)]), Err(SackProblem::MalformedBlock), "not ascending");
    assert_eq!(judge(9, &[(2, 5), (4, 6)]), Err(SackProblem::MalformedBlock), "overlapping");
    assert_eq!(judge(9, &[(1, 2)]), Err(SackProblem::MalformedBlock), "no gap before it");
    assert_eq!(judge(9, &[(1, 0)]), Err(SackProblem::MalformedBlock), "both in one block");
    assert_eq!(judge(9, &[(3, 2), (5, 4)]), Err(SackProblem::MalformedBlock), "two end too early");
    assert_eq!(
        judge(9, &[(1, 2), (2, 3)]),
        Err(SackProblem::MalformedBlock),
        "two begin too early"
    );
    assert_eq!(
        validate(Tsn(2), &blocks(&[(2, 2)]), Tsn(u32::MAX), Tsn(5)),
        Ok(SackVerdict::Apply),
        "across the wrap"
    );
}

#[test]
fn each_chunk_counts_once() {
    let mut w = outstanding(u32::MAX - 1, &[0, 1, 0, 1]);
    let none = [None, None];
    let first = apply(&mut w, &report(Tsn(u32::MAX - 2), &blocks(&[(2, 3)])), &none, |_, _| {});
    assert_eq!((first.paths[0].credited_bytes, first.paths[1].credited_bytes), (116, 116));
    assert!(!first.cumulative_ack_advanced);
    assert_eq!(
        (first.lowest_newly_acked, first.highest_newly_acked),
        (Some(Tsn(u32::MAX)), Some(Tsn(0)))
    );
    assert_eq!(first.released.user_bytes, 0, "gap-acked data stays in the buffer");
    let again = apply(&mut w, &report(Tsn(u32::MAX - 2), &blocks(&[(2, 3)])), &none, |_, _| {});
    assert!(!again.anything_new());
    let all = apply(&mut w, &report(Tsn(1), &blocks(&[])), &none, |_, _| {});
    assert_eq!((all.paths[0].chunks, all.paths[1].chunks), (1, 1), "the two that were missing");
    assert_eq!(all.released.user_bytes, 400);
    assert!(w.is_empty());
    assert_eq!(w.in_flight_user_bytes(), 0);
}

#[test]
fn the_timed_chunk_gives_a_sample_once() {
    let mut w = outstanding(1, &[0, 0]);
    let timed = [Some(Tsn(2))];
    let delta = apply(&mut w, &report(Tsn(1), &blocks(&[])), &timed, |_, _| {});
    assert_eq!(delta.paths[0].timed_chunk, None);
    w.mark_lost(Tsn(2), TransmissionCause::TimerRetransmission);
    w.retransmit(Tsn(2), PathId(0), crate::Instant::from_nanos(5));
    let delta = apply(&mut w, &report(Tsn(2), &blocks(&[])), &timed, |_, _| {});
    assert_eq!(delta.paths[0].timed_chunk, None, "Karn: a retransmitted chunk measures nothing");
    assert_ne!(delta.paths[0].unambiguous, Unambiguous::None, "but it took no other path");
}

/// Six chunks across the wrap: `[0]` to `[5]`. `[1]` moved to path 1, `[3]` was retransmitted on its path.
#[test]
fn what_a_sack_tells_of_each_path() {
    let tsn = |n: u32| Tsn(u32::MAX - 1).plus(n);
    let at = crate::Instant::from_nanos;
    let mut w = OutstandingData::new(tsn(0));
    for (n, path) in [0, 0, 1, 0, 1, 0].into_iter().enumerate() {
        w.push(OutstandingChunk { sent_at: at(n as u64 + 7), ..chunk(path, 100) });
    }
    for (n, path) in [(1, 1), (3, 0)] {
        w.mark_lost(tsn(n), TransmissionCause::TimerRetransmission);
        w.retransmit(tsn(n), PathId(path), at(50));
    }
    let timed = [Some(tsn(0)), Some(tsn(2))];
    let mut sack = |cumulative: u32, gaps: &[(u16, u16)]| {
        let mut newly = Vec::new();
        let blocks = blocks(gaps);
        let delta =
            apply(&mut w, &report(tsn(cumulative), &blocks), &timed, |tsn, _| newly.push(tsn));
        (delta, newly)
    };
    let (delta, newly) = sack(0, &[(2, 3), (5, 5)]);
    assert_eq!(newly, [0, 2, 3, 5].map(tsn));
    assert_eq!((delta.reported, delta.highest_gap_acked), (3, Some(tsn(5))));
    assert_eq!((delta.released.user_bytes, delta.paths_with_news()), (100, 2));
    let timed_at = |nanos| {
        let (sent_at, flight_bytes) = (at(nanos), 116);
        TimedChunk { sent_at, flight_bytes, was_copied: false }
    };
    let first = PathDelta {
        timed: timed[0],
        credited_bytes: 348,
        credited_in_gaps: 232,
        flight_bytes: 348,
        user_bytes: 300,
        chunks: 3,
        lowest: Some(tsn(0)),
        highest: Some(tsn(5)),
        highest_of_its_own: Some(tsn(5)),
        by_cumulative_ack: true,
        unambiguous: Unambiguous::InFlight,
        sent_once: true,
        timed_chunk: Some(timed_at(7)),
    };
    let second = PathDelta {
        timed: timed[1],
        credited_bytes: 116,
        credited_in_gaps: 116,
        flight_bytes: 116,
        user_bytes: 100,
        chunks: 1,
        lowest: Some(tsn(2)),
        highest: Some(tsn(2)),
        highest_of_its_own: Some(tsn(2)),
        by_cumulative_ack: false,
        timed_chunk: Some(timed_at(9)),
        ..first
    };
    assert_eq!(delta.paths.as_slice(), [first, second]);
    // The chunk that moved proves nothing of either path but that it arrived.
    let (delta, newly) = sack(3, &[(2, 2)]);
    assert_eq!(newly, [tsn(1)]);
    assert_eq!((delta.reported, delta.highest_gap_acked), (1, Some(tsn(5))));
    assert_eq!((delta.released.user_bytes, delta.paths_with_news()), (300, 1));
    let moved = PathDelta {
        lowest: Some(tsn(1)),
        highest: Some(tsn(1)),
        highest_of_its_own: None,
        credited_in_gaps: 0,
        by_cumulative_ack: true,
        unambiguous: Unambiguous::None,
        sent_once: false,
        timed_chunk: None,
        ..second
    };
    let unchanged = timed.map(|timed| PathDelta { timed, ..PathDelta::default() });
    assert_eq!(delta.paths.as_slice(), [unchanged[0], moved]);
    // Nothing but what is known.
    let (delta, newly) = sack(3, &[]);
    let nothing = AckDelta { paths: unchanged.into_iter().collect(), ..AckDelta::default() };
    assert_eq!((delta, newly), (nothing, Vec::new()));
    assert_eq!(AckDelta::default().paths_with_news(), 0);
}

#[test]
fn reneging() {
    let sack = |w: &mut OutstandingData, gaps: &[(u16, u16)]| {
        let blocks = blocks(gaps);
        assert_eq!(validate(Tsn(0), &blocks, w.base(), w.next_tsn()), Ok(SackVerdict::Apply));
        let delta = apply(w, &report(Tsn(0), &blocks), &[None], |_, _| {});
        let mut back_in_flight = 0;
        let withdrawn = take_back(
            w,
            &report(Tsn(0), &blocks),
            &delta,
            StaleSack::Classic,
            |_, flight_bytes| {
                back_in_flight += flight_bytes;
            },
        );
        assert_eq!(back_in_flight, withdrawn.chunks * 116);
        (withdrawn.chunks, delta.paths[0].credited_bytes)
    };
    let mut w = outstanding(1, &[0; 8]);
    assert_eq!(sack(&mut w, &[(2, 3), (5, 6)]), (0, 4 * 116));
    assert_eq!(sack(&mut w, &[(2, 2), (6, 6)]), (0, 0), "nothing new: an older SACK, overtaken");
    assert_eq!(sack(&mut w, &[(2, 2)]), (0, 0), "cut short");
    assert_eq!(sack(&mut w, &[(2, 2), (6, 7)]), (2, 116), "3 and 5 were withdrawn");
    assert_eq!(w.in_flight_user_bytes(), 500, "1, 3, 4, 5 and 8");
    assert_eq!(w.get(Tsn(3)).missing_reports, 1);
    assert_eq!(w.next_countable_on(PathId(0), Tsn(2), Tsn(6)), Some(Tsn(3)), "they can be lost");
    assert_eq!(sack(&mut w, &[(2, 3), (5, 7)]), (0, 0), "acknowledged again, they grow no window");
}

/// The cumulative ack arrives at what the receiver has discarded: it would never be retransmitted.
/// A SHUTDOWN has no gap blocks: of what it withdraws only the next chunk is certain.
#[test]
fn a_cumulative_ack_alone_withdraws_the_next_chunk_at_most() {
    for first in [10, u32::MAX - 1] {
        // (chunks acknowledged in gap blocks, released for good, cumulative ack, chunks withdrawn)
        for (gaps, released, cumulative, expected) in [
            (&[(3, 4)][..], false, 1, 1),
            (&[(3, 4)], false, 0, 0),
            (&[(4, 4)], false, 1, 0),
            (&[(3, 4)], true, 1, 0),
            (&[(3, 4)], false, 3, 0),
        ] {
            let tsn = |n: u32| Tsn(first).plus(n);
            let mut w = outstanding(first, &[0, 0, 1, 0]);
            let gaps = blocks(gaps);
            apply(&mut w, &report(tsn(0).previous(), &gaps), &[None; 2], |_, _| {});
            if released {
                w.release(tsn(2));
            }
            apply(&mut w, &report(tsn(cumulative), &blocks(&[])), &[None; 2], |_, _| {});
            let mut told = Vec::new();
            let withdrawn = withdraw_next(&mut w, tsn(cumulative), |path, flight_bytes| {
                told.push((path, flight_bytes));
            });
            let case = (first, &gaps, released, cumulative);
            assert_eq!(withdrawn, Withdrawn { chunks: expected, is_stale: false }, "{case:?}");
            assert_eq!(told.len(), expected as usize);
            assert!(told.iter().all(|(path, _)| *path == PathId(1)), "{told:?}");
        }
    }
}

#[test]
fn what_was_withdrawn_above_everything_reported_comes_back() {
    for policy in [StaleSack::Classic, StaleSack::SamePath] {
        let mut w = outstanding(u32::MAX - 1, &[0, 1, 0, 1]);
        let sack = |w: &mut OutstandingData, cumulative, gaps: &[(u16, u16)], arrival| {
            let blocks = blocks(gaps);
            let report = Report { arrival: PathId(arrival), ..report(Tsn(cumulative), &blocks) };
            let delta = apply(w, &report, &[None; 2], |_, _| {});
            take_back(w, &report, &delta, policy, |_, _| {})
        };
        sack(&mut w, u32::MAX - 2, &[(3, 4)], 0);
        assert_eq!(w.in_flight_user_bytes(), 200);
        let withdrawn = sack(&mut w, u32::MAX, &[], 1);
        assert_eq!((withdrawn.chunks, withdrawn.is_stale), (2, false), "{policy:?}");
        assert_eq!(w.in_flight_user_bytes(), 200);
        assert_eq!(w.lowest_on(PathId(0)).1, Some(Tsn(0)));
        // A SHUTDOWN told the cumulative ack before, and says nothing of gaps.
        let mut w = outstanding(1, &[0, 0]);
        sack(&mut w, 0, &[(2, 2)], 0);
        let blocks = blocks(&[]);
        apply(&mut w, &report(Tsn(1), &blocks), &[None; 2], |_, _| {});
        assert_eq!(w.in_flight_user_bytes(), 0);
        assert_eq!(sack(&mut w, 1, &[], 1).chunks, 1, "{policy:?}");
    }
}

/// `sarwar` fig. 6, second: the SACKs "cum x+12" and "cum x+12, gaps 17-18" of a receiver that never reneges, arriving in
/// the other order on two paths, with x = 0 and across the wrap.
#[test]
fn an_overtaken_sack_withdraws_nothing() {
    for x in [0u32, u32::MAX - 14] {
        let tsn = |n: u32| Tsn(x.wrapping_add(n));
        for (policy, stale) in [(StaleSack::SamePath, true), (StaleSack::Classic, false)] {
            let mut w = outstanding(tsn(13).0, &[1, 1, 1, 1, 0, 0, 0]);
            let newer = blocks(&[(5, 6)]);
            let newer = Report { arrival: PathId(0), ..report(tsn(12), &newer) };
            let delta = apply(&mut w, &newer, &[None; 2], |_, _| {});
            assert_eq!(delta.paths[0].chunks, 2);
            let older = blocks(&[]);
            let older = Report { arrival: PathId(1), ..report(tsn(12), &older) };
            let delta = apply(&mut w, &older, &[None; 2], |_, _| {});
            let withdrawn = take_back(&mut w, &older, &delta, policy, |_, _| {});
            assert_eq!((withdrawn.chunks, withdrawn.is_stale), (0, stale), "{policy:?}");
            // The same over the path that acknowledged them cannot have been reordered.
            let same = Report { arrival: PathId(0), ..older };
            let withdrawn = take_back(&mut w, &same, &delta, policy, |_, _| {});
            let expected = if policy == StaleSack::SamePath { 2 } else { 0 };
            assert_eq!((withdrawn.chunks, withdrawn.is_stale), (expected, false), "{policy:?}");
        }
    }
}

/// Above the highest block a SACK says nothing unless it surely had room for one more.
#[test]
fn a_long_sack_may_have_been_cut() {
    for (blocks_left, withdrawn) in [(99, 1), (100, 0)] {
        let mut w = outstanding(1, &[0; 210]);
        let mut sack = |gaps: &[(u16, u16)]| {
            let blocks = blocks(gaps);
            let report = report(Tsn(0), &blocks);
            let delta = apply(&mut w, &report, &[None], |_, _| {});
            take_back(&mut w, &report, &delta, StaleSack::Classic, |_, _| {}).chunks
        };
        let mut every_other: Vec<(u16, u16)> =
            (1..=blocks_left + 1).map(|n| (2 * n, 2 * n)).collect();
        assert_eq!(sack(&every_other), 0);
        every_other.pop();
        // Something new, or it might be an older one.
        every_other[0] = (2, 3);
        assert_eq!(sack(&every_other), withdrawn, "{blocks_left} blocks");
    }
}

/// The chunk whose acknowledgement came over path 1 is not judged any more once the one before it has told that the SACK,
/// which comes over path 1, is old.
#[test]
fn an_old_sack_is_read_no_further() {
    let mut w = outstanding(u32::MAX, &[0, 0, 0, 0]);
    let mut sack = |gaps: &[(u16, u16)], arrival| {
        let blocks = blocks(gaps);
        let cumulative = Tsn(u32::MAX - 1);
        let report = Report { arrival: PathId(arrival), ..report(cumulative, &blocks) };
        let delta = apply(&mut w, &report, &[None], |_, _| {});
        take_back(&mut w, &report, &delta, StaleSack::SamePath, |_, _| {})
    };
    sack(&[(2, 2)], 0);
    sack(&[(2, 2), (4, 4)], 1);
    assert_eq!(sack(&[], 1), Withdrawn { chunks: 0, is_stale: true });
}

/// What an NR-SACK promised to keep is released, and never withdrawn: a SACK without it is old if it brings no other news,
/// whichever path it came over.
/// Every second chunk of four hundred: the acknowledgement that names the lower half of them, or the upper one, and 399.
#[test]
fn what_a_partial_nr_sack_leaves_out_was_not_withdrawn() {
    let halves: [Vec<_>; 2] = [(0..100), (99..199)]
        .map(|places| places.map(|i| (2 * i + 2, 2 * i + 2)).chain([(400, 400)]).collect());
    for policy in [StaleSack::Classic, StaleSack::SamePath] {
        let mut w = outstanding(1, &[0; 400]);
        let mut acknowledge = |named: &[(u16, u16)]| {
            let gaps = blocks(named);
            let report = Report { release: Release::Reported, ..report(Tsn(0), &gaps) };
            let delta = apply(&mut w, &report, &[None], |_, _| {});
            (delta.paths[0].chunks, take_back(&mut w, &report, &delta, policy, |_, _| {}))
        };
        let whole = Withdrawn::default();
        assert_eq!(acknowledge(&halves[0]), (101, whole));
        assert_eq!(acknowledge(&halves[1]), (99, whole));
        assert_eq!(acknowledge(&halves[0]), (0, whole));
        let old = Withdrawn { is_stale: policy == StaleSack::SamePath, chunks: 0 };
        let before_399 = &halves[1][..100];
        assert_eq!(acknowledge(before_399), (0, old), "{policy:?}");
        let before_42 = [&halves[0][..20], &halves[0][21..], &[(202, 202)]].concat();
        let in_order = |mut pairs: Vec<(u16, u16)>| {
            pairs.sort_unstable();
            pairs
        };
        assert_eq!(acknowledge(&in_order(before_42)), (0, whole), "it need not name all in a row");
    }
}

#[test]
fn a_promise_is_never_withdrawn() {
    for policy in [StaleSack::Classic, StaleSack::SamePath] {
        for arrival in [0, 1] {
            let mut w = outstanding(u32::MAX, &[0, 0, 0, 0]);
            let gaps = blocks(&[(2, 2), (4, 4)]);
            let nr_sack = Report { release: Release::Reported, ..report(Tsn(u32::MAX - 1), &gaps) };
            let delta = apply(&mut w, &nr_sack, &[None], |_, _| {});
            assert_eq!((delta.released.user_bytes, delta.released_early), (200, 200));
            let none = blocks(&[]);
            let mut sack = |cumulative| {
                let report = Report { arrival: PathId(arrival), ..report(cumulative, &none) };
                let delta = apply(&mut w, &report, &[None], |_, _| {});
                take_back(&mut w, &report, &delta, policy, |_, _| {})
            };
            let old = Withdrawn { chunks: 0, is_stale: policy == StaleSack::SamePath };
            assert_eq!(sack(Tsn(u32::MAX - 1)), old, "{policy:?} {arrival}");
            let fresh = Withdrawn { chunks: 0, is_stale: false };
            assert_eq!(sack(Tsn(u32::MAX)), fresh, "{policy:?} {arrival}");
        }
    }
}

/// The outstanding data as a map, for comparison.
#[derive(Default)]
struct Model {
    chunks: BTreeMap<u64, (u8, bool)>,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Random sends, losses, retransmissions and SACKs: ring and map agree on what is new, in flight and lowest.
    #[test]
    fn window_agrees_with_a_map(
        ops in prop::collection::vec((0u8..5, any::<u16>(), any::<u8>()), 1..200),
        start in prop_oneof![Just(1u32), Just(u32::MAX - 70)],
    ) {
        let mut w = OutstandingData::new(Tsn(start));
        let mut model = Model::default();
        let (mut next, mut base) = (0u64, 0u64);
        let mut lost: Vec<u64> = Vec::new();
        let tsn = |n: u64| Tsn(start.wrapping_add(n as u32));
        for (op, a, b) in ops {
            match op {
                0 => for _ in 0..=(b % 8) {
                    w.push(chunk(b % 3, 100));
                    model.chunks.insert(next, (b % 3, false));
                    next += 1;
                },
                1 if next > base => {
                    let victim = base + u64::from(a) % (next - base);
                    let marked = w.mark_lost(tsn(victim), TransmissionCause::FastRetransmission).is_some();
                    let expected = !model.chunks[&victim].1 && !lost.contains(&victim);
                    prop_assert_eq!(marked, expected);
                    if expected { lost.push(victim); }
                }
                2 => if let Some(victim) = lost.pop() {
                    w.retransmit(tsn(victim), PathId(b % 3), crate::Instant::ZERO);
                    model.chunks.get_mut(&victim).unwrap().0 = b % 3;
                },
                4 if next > base => {
                    let victim = base + u64::from(a) % (next - base);
                    if !model.chunks[&victim].1 && !lost.contains(&victim) {
                        w.reschedule(tsn(victim), PathId(b % 3), crate::Instant::ZERO);
                        model.chunks.get_mut(&victim).unwrap().0 = b % 3;
                    }
                }
                _ if next > base => {
                    let cumulative = base + u64::from(a) % 3;
                    let cumulative = cumulative.min(next);
                    let from = u64::from(b % 7) + 1;
                    let gap = (cumulative + from < next).then(|| {
                        let end = (from + u64::from(a >> 8) % 5).min(next - cumulative - 1);
                        (from as u16 + 1, end.max(from) as u16 + 1)
                    });
                    let gaps: Vec<(u16, u16)> = gap.into_iter().filter(|g| cumulative + u64::from(g.1) <= next).collect();
                    let delta = apply(&mut w, &report(tsn(cumulative).previous(), &blocks(&gaps)), &[None; 3], |_, _| {});
                    let mut expected = [0u32; 3];
                    let newly: Vec<u64> = model.chunks.iter().filter(|(n, (_, acked))| {
                        let in_gap = gaps.iter().any(|g| (cumulative + u64::from(g.0) - 1..=cumulative + u64::from(g.1) - 1).contains(n));
                        !acked && (**n < cumulative || in_gap)
                    }).map(|(n, _)| *n).collect();
                    for n in newly {
                        let entry = model.chunks.get_mut(&n).unwrap();
                        expected[usize::from(entry.0)] += 1;
                        entry.1 = true;
                        lost.retain(|l| *l != n);
                    }
                    model.chunks.retain(|n, _| *n >= cumulative);
                    base = base.max(cumulative);
                    for (news, expected) in delta.paths.iter().zip(expected) {
                        prop_assert_eq!(news.chunks, expected);
                    }
                }
                _ => {}
            }
            let in_flight = model.chunks.iter().filter(|(n, (_, acked))| !acked && !lost.contains(n)).count() as u64;
            prop_assert_eq!(w.in_flight_user_bytes(), in_flight * 100);
            prop_assert_eq!(u64::from(w.lost_count()), lost.len() as u64);
            for path in 0..3u8 {
                let on_it = || model.chunks.iter().filter(|(_, (p, _))| *p == path);
                prop_assert_eq!(w.unreleased_on(PathId(path)).user_bytes, on_it().count() as u64 * 100);
                let flying = on_it().filter(|(n, (_, acked))| !acked && !lost.contains(n)).count();
                prop_assert_eq!(w.in_flight_on(PathId(path)).cost, flying as u64 * 100);
                let lowest = model.chunks.iter().find(|(_, (p, acked))| *p == path && !acked).map(|(n, _)| tsn(*n));
                let (first, again) = w.lowest_on(PathId(path));
                let ours = match (first, again) {
                    (Some(a), Some(b)) => Some(if a.is_before(b) { a } else { b }),
                    (a, b) => a.or(b),
                };
                prop_assert_eq!(ours, lowest);
                let lowest_lost = model.chunks.iter().find(|(n, (p, _))| *p == path && lost.contains(n)).map(|(n, _)| tsn(*n));
                prop_assert_eq!(w.lowest_lost_on(PathId(path)), lowest_lost);
            }
        }

    }
}
