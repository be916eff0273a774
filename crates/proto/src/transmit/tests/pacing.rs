//! What a window admits leaves over a round trip.

use std::vec::Vec;

use super::*;
use crate::config::{AssociationConfig, BufferSize, CongestionAlgorithm, Pacing, Preset};
use crate::{Duration, Instant};

/// One path with a window of so many packets, at its threshold, and 100 ms.
fn bench(cwnd: u64, tune: impl FnOnce(&mut AssociationConfig)) -> Bench {
    let mut bench = Bench::tuned(Preset::Recommended, 1, |config| {
        config.policies.send_buffer = BufferSize::Bytes;
        config.send_buffer_bytes = u64::from(100 * FULL);
        tune(config);
    });
    bench.shape(0, cwnd, cwnd, 100);
    bench
}

/// Sends whenever the pace lets a packet go, until it is not what is waited for; says when each packet went.
fn departures(bench: &mut Bench) -> Vec<Instant> {
    let mut departures = Vec::new();
    loop {
        departures.extend(bench.flush().iter().map(|_| bench.now));
        if !bench.await_pace() {
            return departures;
        }
    }
}

#[test]
fn a_window_leaves_spaced() {
    let mut bench = bench(40, |_| {});
    bench.send(60);
    let begin = bench.now;
    let departures = departures(&mut bench);
    assert_eq!(departures.len(), 40, "as many as without a pace");
    let at_once = departures.iter().take_while(|at| **at == begin).count();
    assert_eq!(at_once, 4);
    // 50 packets per round trip: 2 ms each, and a packet may begin that is not paid in full.
    let within = Duration::from_millis(10);
    for (n, from) in departures.iter().enumerate() {
        let count = departures[n..].iter().take_while(|at| at.since(*from) < within).count();
        assert!(count <= 4 + 5, "{count} packets within 10 ms");
    }
    let whole = departures[39].since(begin);
    let bounds = Duration::from_millis(70)..=Duration::from_millis(80);
    assert!(bounds.contains(&whole), "{whole:?}");
}

#[test]
fn without_the_policy_a_window_leaves_at_once() {
    let mut bench = bench(40, |config| config.policies.pacing = Pacing::Off);
    bench.send(60);
    assert_eq!(bench.flush().len(), 40);
    assert!(!bench.await_pace());
}

#[test]
fn the_pace_is_waited_for_only_while_it_is_what_holds_data_back() {
    type Change = fn(&mut Bench);
    let cases: [(&str, Change, bool); 6] = [
        ("more waits", |_| {}, true),
        ("nothing more waits", |bench| _ = bench.tx.queue.drain_unsent(), false),
        ("the window is full", |bench| bench.path(0).set_cwnd(4 * CHUNK, None), false),
        ("the peer has no room", |bench| drop(bench.sack(&Answer::of(0).a_rwnd(0))), false),
        (
            "all of it was acknowledged, and nothing more waits",
            |bench| {
                while bench.await_pace() {
                    bench.flush();
                }
                bench.sack(&Answer::of(9));
            },
            false,
        ),
        (
            "fast recovery has a pace of its own",
            |bench| bench.path(0).record.reduction.begin(9 * CHUNK),
            false,
        ),
    ];
    for (what, change, waits) in cases {
        let mut bench = bench(40, |_| {});
        bench.send(9);
        bench.flush();
        assert!(bench.path(0).pacer().due().is_some());
        change(&mut bench);
        // A timer that nothing needs any more is noticed when it expires.
        bench.flush();
        if !waits {
            bench.await_pace();
            bench.flush();
        }
        assert_eq!(bench.path(0).pacer().due().is_some(), waits, "{what}");
    }
}

#[test]
fn the_pace_of_a_failed_path_wakes_nobody_twice() {
    let mut bench = Bench::plain(Preset::Recommended, 2);
    bench.config.policies.pacing = Pacing::On;
    bench.shape(0, 40, 40, 100);
    bench.shape(1, 0, 40, 100);
    bench.send(9);
    bench.flush();
    assert!(bench.path(0).pacer().due().is_some());
    bench.fail(0);
    bench.await_pace();
    bench.flush();
    assert!(!bench.await_pace());
}

/// A flow that the pace holds back uses its window, so that this may grow.
#[test]
fn a_window_grows_although_the_pace_holds_back() {
    for (messages, grows) in [(60, true), (2, false)] {
        let mut bench = bench(40, |_| {});
        bench.shape(0, 40, 1000, 100);
        bench.send(messages);
        let sent = bench.flush().len() as u32;
        let before = bench.path(0).congestion.cwnd;
        assert!(bench.path(0).flight < before / 2);
        bench.wait(100);
        bench.sack(&Answer::of(sent));
        assert_eq!(bench.path(0).congestion.cwnd > before, grows, "{messages} messages");
    }
}

#[test]
fn the_last_packets_wait_for_no_pace() {
    let mut bench = bench(40, |_| {});
    bench.send(4);
    assert_eq!(bench.flush().len(), 4, "what leaves at once");
    assert_eq!(bench.path(0).pacer().due(), None, "there is nothing that waits");
}

/// Three packets are delivered in 40 ms. Of the next two, which left together, the SACK for the second comes 40 ms after the first.
#[test]
fn a_delayed_sack_makes_no_path_slower_than_it_was() {
    let mut bench = Bench::tuned(Preset::Recommended, 1, |config| {
        config.policies.congestion = CongestionAlgorithm::Bbr;
    });
    for (messages, acked) in [(3, 3), (2, 4), (0, 5)] {
        bench.send(messages);
        bench.flush();
        bench.wait(40);
        bench.sack(&Answer::of(acked));
    }
    let path = bench.path(0);
    let known = path.delivery_rate().unwrap();
    let delivered = known.rate.as_bits_per_second() / 8;
    assert!(!known.is_final && path.bottleneck_rate().is_some_and(|train| train < delivered / 2));
    assert_eq!(path.links_pass_on(), Some(delivered));
}
