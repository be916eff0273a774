//! T3-rtx expires.

use super::*;
use crate::config::{AssociationConfig, Preset, RetransmissionPath};
use crate::probe::TransmissionCause::TimerRetransmission;
use crate::transmit::outstanding::History;
use crate::transmit::zero_window::Expiry;
use crate::{Duration, Instant, PathId, ProbeEvent};

/// Two paths with windows of 12 and 24 packets, twice their thresholds.
fn bench(preset: Preset) -> Bench {
    let mut bench = Bench::plain(preset, 2);
    bench.shape(0, 12, 6, 50);
    bench.shape(1, 24, 12, 50);
    bench
}

#[test]
fn the_window_becomes_one_packet_and_the_threshold_what_the_control_says() {
    // Without coupling: half the window, but not less than the floor. RP v2 takes half of the windows of all paths from the
    // one that lost: 12 - (12 + 24) / 2 packets are less than one, which is the floor there.
    for (preset, cwnd, expected) in [
        (Preset::Rfc9260, 12, 6 * CHUNK),
        (preset("cmt"), 12, 6 * CHUNK),
        (preset("cmt"), 6, 4 * CHUNK),
        (Preset::Ns22005, 3, 2 * CHUNK),
        (Preset::Lia, 12, 6 * CHUNK),
        (Preset::Lia, 1, CHUNK),
        (preset("cmt-rp-v2"), 12, CHUNK),
    ] {
        let mut bench = bench(preset);
        bench.path(0).set_cwnd(cwnd * CHUNK, None);
        bench.place(&[0]);
        let other = bench.path(1).congestion;
        assert_eq!(bench.expire(0), Expiry::Loss);
        let before = bench.path(0).congestion;
        assert_eq!((before.cwnd, before.ssthresh), (CHUNK, expected), "{preset:?}, {cwnd}");
        assert_eq!(bench.path(1).congestion, other, "{preset:?}: the other path has lost nothing");
    }
}

#[test]
fn all_that_is_outstanding_on_the_path_is_lost() {
    for preset in Preset::ALL {
        let mut bench = bench(*preset);
        bench.place(&[0, 1, 0, 0]);
        bench.trace();
        let rto = bench.rto(0);
        assert_eq!(bench.expire_next(), Some((0, Expiry::Loss)), "{preset:?}");
        let lost = [0, 2, 3].map(|chunk| (chunk, TimerRetransmission));
        assert_eq!(bench.lost(), lost, "{preset:?}");
        assert_eq!(bench.flights(), [0, bench.chunk(1).flight_bytes.into()], "{preset:?}");
        assert_eq!((bench.t3(0), bench.path(0).timed), (None, None), "{preset:?}");
        assert_eq!((bench.rto(0), bench.rto(1)), (2 * rto, rto), "{preset:?}");
        assert!(bench.path(0).free_retransmission && !bench.path(1).free_retransmission);
        assert_eq!(
            (bench.path(0).counters.repairs.timeouts, bench.tx.stats.seldom.timeouts),
            (1, 1)
        );
        let timeout = ProbeEvent::Timeout { path: PathId(0), errors: 1 };
        assert!(bench.trace().contains(&timeout), "{preset:?}");
    }
}

#[test]
fn one_packet_of_what_timed_out_ignores_the_window_of_its_new_path() {
    let mut bench = bench(Preset::Rfc9260);
    bench.config.policies.retransmission.timer = RetransmissionPath::Alternate;
    bench.place(&[0, 0]);
    bench.expire(0);
    let path = bench.path(1);
    path.flight = path.congestion.cwnd;
    let full = path.flight;
    assert_eq!(bench.sends(), [(1, [0].into())]);
    assert_eq!(bench.flights(), [0, full + CHUNK]);
    assert_eq!(bench.sends(), [], "only one");
    assert_eq!(bench.history(0), History::TIMER_RETRANSMITTED | History::MOVED);
    assert_eq!(bench.tx.stats.seldom.timeout_retransmissions, 1);
}

#[test]
fn a_timeout_ends_fast_recovery() {
    for preset in [Preset::Rfc9260, preset("cmt"), Preset::Recommended] {
        let mut bench = bench(preset);
        bench.place(&[0, 0, 0, 0]);
        bench.path(0).recovery.enter(tsn(3));
        bench.path(0).record.reduction.begin(4 * CHUNK);
        bench.tx.recovery.enter(tsn(3));
        bench.expire(0);
        assert!(!bench.path(0).recovery.is_active() && !bench.tx.recovery.is_active());
        assert!(!bench.path(0).record.reduction.is_under_way());
    }
}

#[test]
fn timeouts_double_up_to_the_longest_one_and_a_sample_ends_that() {
    let mut bench = bench(Preset::Rfc9260);
    bench.config.policies.retransmission.timer = RetransmissionPath::Same;
    bench.place(&[0]);
    for seconds in [2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(bench.expire_next(), Some((0, Expiry::Loss)));
        assert_eq!(bench.sends(), [(0, [0].into())]);
        assert_eq!(bench.rto(0), seconds * 1000);
        assert_eq!(bench.t3(0), Some(seconds * 1000));
    }
    bench.sack(&Answer::of(1));
    assert_eq!(bench.rto(0), 60_000, "which transmission arrived nobody knows: no sample");
    bench.place(&[0]);
    bench.wait(50);
    bench.sack(&Answer::of(2));
    assert_eq!(bench.rto(0), 1000);
}

#[test]
fn a_forward_tsn_whose_timer_expired_is_due_again() {
    use crate::transmit::partial_reliability::Reliability;
    let mut bench = bench(Preset::Rfc9260);
    bench.send_one(FULL, Reliability::Retransmissions(0)).1.unwrap();
    bench.flush();
    assert_eq!(bench.expire_next(), Some((0, Expiry::Loss)));
    let sent = bench.flush();
    assert!(sent.len() == 1 && sent[0].forward.is_some());
    assert!(!bench.tx.forward.is_due());
    assert_eq!(bench.expire_next(), Some((0, Expiry::Loss)), "not answered");
    assert!(bench.tx.forward.is_due());
    let again = bench.flush();
    assert!(again.len() == 1 && again[0].forward.is_some());
}

#[test]
fn what_is_left_of_a_round_trip_is_not_measured_after_a_timeout() {
    let mut bench = bench(Preset::Rfc9260);
    bench.place(&[0, 0]);
    bench.expire(0);
    bench.trace();
    bench.wait(10);
    bench.sack(&Answer::of(2));
    assert_eq!(bench.samples(), []);
    assert_eq!(bench.path(0).rtt.srtt(), Some(Duration::from_millis(50)));
}

#[test]
fn an_idle_path_loses_half_its_window_for_each_timeout_and_each_counts_once() {
    let mut bench = Bench::plain(preset("cmt"), 1);
    bench.shape(0, 32, 64, 50);
    bench.place(&[0]);
    bench.sack(&Answer::of(1));
    let cwnd = bench.path(0).congestion.cwnd;
    let rto = bench.rto(0);
    bench.wait(rto - 1);
    bench.flush();
    assert_eq!(bench.path(0).congestion.cwnd, cwnd);
    bench.wait(1);
    bench.flush();
    assert_eq!(bench.path(0).congestion.cwnd, cwnd / 2);
    bench.flush();
    assert_eq!(bench.path(0).congestion.cwnd, cwnd / 2, "once");
    bench.wait(2 * rto);
    bench.flush();
    assert_eq!(bench.path(0).congestion.cwnd, cwnd / 8, "two more");
}

/// A receiver may wait 200 ms for a second packet, unless the packet asks for its SACK at once.
#[test]
fn a_single_packet_waits_for_the_delayed_sack_as_well() {
    let mut bench = Bench::tuned(Preset::Recommended, 1, |_| {});
    bench.path(0).rtt.on_data_sample(Instant::ZERO, Duration::from_millis(40), 1468);
    let (config, now) = (bench.config.clone(), Instant::ZERO);
    let path = bench.path(0);
    for (flight, asks, extra) in
        [(CHUNK, false, 200), (CHUNK, true, 0), (2 * CHUNK, false, 0), (2 * CHUNK, true, 0)]
    {
        (path.flight, path.last_asks_for_sack) = (flight, asks);
        path.restart_t3(now, &config);
        let expected = now + path.rtt.rto() + Duration::from_millis(extra);
        assert_eq!(path.t3, Some(expected), "{flight} bytes, asks: {asks}");
    }
    let rfc = AssociationConfig::with_preset(Preset::Rfc9260);
    (path.flight, path.last_asks_for_sack) = (CHUNK, false);
    path.restart_t3(now, &rfc);
    assert_eq!(path.t3, Some(now + path.rtt.rto()), "as RFC 9260 says");
}
