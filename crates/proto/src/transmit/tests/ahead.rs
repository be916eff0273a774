//! Data that runs ahead on a path that data has not measured.

use std::vec::Vec;

use super::*;
use crate::Duration;
use crate::config::{AssociationConfig, DataAhead, Pacing, Preset};
use crate::transmit::ahead::arrives_earlier;
use crate::transmit::decide::What;
use crate::transmit::outstanding::History;

/// Two paths with windows of three packets, of which data has measured the first: 40 ms. The second has answered nothing yet.
fn bench(peer_window: u32, tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, 2, |config| {
        config.policies.pacing = Pacing::Off;
        tune(config);
    });
    bench.shape(0, 3, 9, 40);
    bench.sack(&Answer::of(0).a_rwnd(peer_window));
    bench
}

fn new_chunks(bench: &mut Bench, path: u8) -> Vec<u32> {
    let sends = bench.sends();
    sends.into_iter().filter(|(on, _)| *on == path).flat_map(|(_, chunks)| chunks).collect()
}

#[test]
fn what_no_other_path_can_take_runs_ahead() {
    let (wide, narrow) = (60 * FULL, 9 * FULL);
    for (what, policy, messages, peer_window, ahead) in [
        ("more than all windows hold", DataAhead::On, 20, wide, &[3, 4, 5][..]),
        ("off", DataAhead::Off, 20, wide, &[2]),
        ("no more than they hold", DataAhead::On, 9, wide, &[2]),
        ("too little room", DataAhead::On, 20, narrow, &[2]),
        ("room for these windows, but not for the next", DataAhead::On, 20, 12 * FULL, &[2]),
    ] {
        let mut bench = bench(peer_window, |config| config.policies.data_ahead = policy);
        bench.send(messages);
        assert_eq!(new_chunks(&mut bench, 1), ahead, "{what}");
    }
}

/// The second path has the chunks 3 to 5.
fn with_data_ahead(peer_window: u32) -> Bench {
    let mut bench = bench(peer_window, |_| {});
    bench.send(30);
    assert_eq!(new_chunks(&mut bench, 1), [3, 4, 5]);
    bench
}

#[test]
fn data_ahead_is_taken_back_before_a_buffer_is_full() {
    let mut bench = with_data_ahead(18 * FULL);
    let over_first = |bench: &mut Bench| new_chunks(bench, 0);
    bench.wait(40);
    bench.shape(0, 4, 4, 40);
    bench.sack(&Answer::of(3).a_rwnd(18 * FULL));
    assert_eq!(over_first(&mut bench), [6, 7, 8, 9]);
    bench.wait(40);
    bench.hear(&Answer::of(3).gaps(&[(6, 9)]).a_rwnd(14 * FULL));
    bench.shape(0, 4, 4, 40);
    // The peer holds four, and three run ahead: with two more, nine of 18 are taken.
    assert_eq!(over_first(&mut bench), [10, 11, 12, 3]);
    assert_eq!(bench.chunk(3).path, crate::PathId(0));
}

#[test]
fn data_ahead_is_taken_back_where_the_next_two_windows_have_no_room() {
    // The peer keeps 30 packets, of which three are on their way.
    for (window, is_back) in [(12, false), (14, true)] {
        let mut bench = with_data_ahead(30 * FULL);
        bench.wait(40);
        bench.hear(&Answer::of(3).a_rwnd(30 * FULL));
        bench.shape(0, window, window, 40);
        let choice = bench.choice();
        assert_eq!(matches!(choice, Some((0, What::TakeBack(_)))), is_back, "{choice:?}");
    }
}

#[test]
fn only_what_arrives_earlier_over_the_other_path_is_taken_back() {
    // The other path takes 40 ms; what nobody has answered in that time may be late or lost.
    for (what, handshake_ms, waited_ms, expected) in [
        ("nothing was answered", None, 39, false),
        ("nothing was answered", None, 40, true),
        ("a quicker path", Some(30), 10, false),
        ("a quicker path that is late", Some(30), 38, true),
        ("a slower path", Some(100), 59, true),
        ("a slower path that soon answers", Some(100), 61, false),
        ("a slower path that answers as soon", Some(100), 60, false),
        ("a slower path that may answer yet", Some(100), 80, false),
        ("a slower path that is hardly late", Some(100), 125, false),
        ("a slower path that is late", Some(100), 126, true),
    ] {
        let mut bench = bench(60 * FULL, |_| {});
        let now = bench.now;
        if let Some(ms) = handshake_ms {
            bench.path(1).rtt.on_control_sample(now, Duration::from_millis(ms));
        }
        let [other, own] = [0, 1].map(|id| &bench.tx.paths[crate::PathId(id)]);
        let waited = Duration::from_millis(waited_ms);
        assert_eq!(arrives_earlier(waited, own, other), expected, "{what}, {waited_ms} ms");
    }
}

#[test]
fn only_what_is_overdue_is_taken_back_and_by_a_better_known_path() {
    for (what, waited_ms, is_measured, back) in [
        ("overdue", 40, false, true),
        ("not yet", 39, false, false),
        ("data has measured its own path, too", 40, true, false),
    ] {
        let mut bench = with_data_ahead(18 * FULL);
        bench.wait(waited_ms);
        bench.hear(&Answer::of(2).a_rwnd(3 * FULL));
        if is_measured {
            bench.shape(1, 3, 9, 100);
        }
        let choice = bench.choice();
        let is_back = matches!(choice, Some((0, What::TakeBack(_))));
        assert_eq!(is_back, back, "{what}: {choice:?}");
    }
}

/// The second path answered the handshake after 100 ms.
#[test]
fn nothing_more_runs_ahead_on_a_path_that_answers_a_quarter_later_than_control_chunks() {
    for (waited_ms, goes_on) in [(0, true), (125, true), (126, false)] {
        let mut bench = bench(60 * FULL, |_| {});
        let now = bench.now;
        bench.path(1).rtt.on_control_sample(now, Duration::from_millis(100));
        bench.send(30);
        assert_eq!(new_chunks(&mut bench, 1), [3, 4, 5]);
        bench.wait(waited_ms);
        bench.path(1).set_cwnd(4 * CHUNK, None);
        let sent = new_chunks(&mut bench, 1);
        assert_eq!(sent.iter().any(|chunk| *chunk > 5), goes_on, "{waited_ms} ms: {sent:?}");
    }
}

#[test]
fn what_a_measured_path_carries_does_not_run_ahead() {
    let mut bench = with_data_ahead(60 * FULL);
    assert!(bench.tx.ahead.contains(crate::PathId(1)));
    bench.shape(1, 3, 9, 100);
    bench.begin();
    assert!(bench.tx.ahead.is_empty());
}

/// The peer confirms the second path late, and answers within 20 ms over the first one until then. So data takes 40 ms there, and as long
/// back, until a SACK over the second path tells more.
#[test]
fn data_ahead_measures_its_path_once_the_peer_answers_there() {
    for (answers, samples) in [
        (&[(60, 1)][..], &[(1, 60)][..]),
        (&[(60, 0)], &[(1, 80)]),
        (&[(60, 0), (30, 1)], &[(1, 80), (1, 90)]),
    ] {
        let mut bench = with_data_ahead(60 * FULL);
        bench.trace();
        for (after_ms, over) in answers {
            bench.wait(*after_ms);
            bench.hear(&Answer::of(0).gaps(&[(3, 5)]).a_rwnd(60 * FULL).over(*over));
        }
        assert_eq!(bench.samples(), samples, "{answers:?}");
        let (_, latest) = samples[samples.len() - 1];
        let srtt = bench.path(1).rtt.srtt().map(|srtt| srtt.as_millis());
        assert_eq!(srtt, Some(latest), "a sample takes the place of a guess: {answers:?}");
    }
}

/// The first SACK over the second path may be the answer to a copy that it covers.
#[test]
fn a_copy_that_left_long_after_the_data_is_not_taken_for_it() {
    for (copied_after_ms, covered, samples) in [
        (30, &[(1, 1), (3, 5)][..], &[(1, 120)][..]),
        (35, &[(1, 1), (3, 5)], &[]),
        (35, &[(3, 5)], &[(1, 120)]),
    ] {
        let mut bench = with_data_ahead(60 * FULL);
        // Otherwise the SACK over the first path gives an estimate.
        bench.tx.outstanding.get_mut(tsn(3)).history |= History::COPIED;
        bench.trace();
        bench.wait(copied_after_ms);
        let now = bench.now;
        bench.path(1).note_early_again(now, tsn(1));
        bench.wait(60 - copied_after_ms);
        bench.hear(&Answer::of(0).gaps(&[(3, 5)]).a_rwnd(60 * FULL));
        bench.wait(60);
        bench.hear(&Answer::of(0).gaps(covered).a_rwnd(60 * FULL).over(1));
        assert_eq!(bench.samples(), samples, "{copied_after_ms} {covered:?}");
    }
}

/// Neither path is measured by data; path 0 answered the handshake within 20 ms. Chunk 0 leaves on path 0, and a copy on path 1, which the
/// peer may not use yet: what comes back over path 0 may answer either. So the first SACK for it is a bound, unless it comes as soon as
/// control chunks tell, and a second one measures if it comes soon.
#[test]
fn a_copy_elsewhere_is_not_taken_for_the_first_chunk_of_a_path() {
    for (answers, samples, srtt_ms) in [
        (&[24][..], &[(0, 24)][..], 24),
        (&[30], &[(0, 30)], 30),
        (&[30, 70], &[(0, 30), (0, 70)], 70),
        (&[30, 130], &[(0, 30)], 30),
    ] {
        let mut bench = Bench::tuned(Preset::Recommended, 2, |_| {});
        let before = bench.now;
        bench.wait(20);
        let now = bench.now;
        bench.path(0).sample_control_rtt(now, &mut crate::NoProbe, before);
        bench.send(1);
        assert_eq!(bench.sends(), [(0, [0].into()), (1, [0].into())], "a chunk and its copy");
        bench.trace();
        let sent_at = bench.now;
        for after_ms in answers {
            let passed = bench.now.since(sent_at).as_millis();
            bench.wait(after_ms - passed);
            bench.hear(&Answer::of(1));
        }
        assert_eq!(bench.samples(), samples, "{answers:?}");
        let is_measured = bench.path(0).rtt.of_data().is_some();
        assert_eq!(is_measured, answers != [30] && answers != [30, 130], "{answers:?}");
        assert_eq!(
            bench.path(0).rtt.srtt().map(|srtt| srtt.as_millis()),
            Some(srtt_ms),
            "{answers:?}"
        );
    }
}
