//! Samples, estimates and timeouts.

use super::*;
use crate::config::Preset;

fn estimator(min_ms: u64) -> RttEstimator {
    let rto = Rto { min: Duration::from_millis(min_ms), ..Preset::Rfc9260.policies().rto };
    RttEstimator::with_rules(rto, ControlRtt::Counts)
}

/// Control chunks take 40 ms, or nothing is known. Data is answered over a path on which a SACK takes 5 ms.
#[test]
fn an_answer_over_another_path_gives_an_estimate_until_there_is_a_sample() {
    let (now, rto) = (Instant::ZERO, Preset::Recommended.policies().rto);
    for (what, control_ms, answered_ms, took_ms, estimate_ms) in [
        ("20 ms there, 20 ms back", Some(40), 25, 5, 40),
        ("30 ms there, because the packet is large", Some(40), 35, 5, 50),
        ("never less than control chunks", Some(40), 15, 5, 40),
        ("30 ms there, and back probably", None, 35, 5, 60),
        ("at least the time until the answer", None, 35, 30, 35),
        ("nothing is known of the other path", None, 35, 0, 70),
    ] {
        let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Provisional);
        if let Some(ms) = control_ms {
            rtt.on_control_sample(now, Duration::from_millis(ms));
        }
        let [answered, took] = [answered_ms, took_ms].map(Duration::from_millis);
        rtt.estimate(now, answered, took, 1000);
        let estimate = Duration::from_millis(estimate_ms);
        assert_eq!(rtt.of_data(), Some((estimate, estimate)), "{what}");
        let sample = estimate + Duration::from_millis(8);
        rtt.on_data_sample(now, sample, 1000);
        let expected = match control_ms {
            Some(_) => (estimate + Duration::from_millis(1), estimate),
            None => (sample, sample),
        };
        assert_eq!(rtt.of_data(), Some(expected), "{what}, then a sample");
    }
}

/// 20 ms there, and 500 back.
#[test]
fn control_chunks_correct_a_guess_and_no_estimate() {
    let (now, rto) = (Instant::ZERO, Preset::Recommended.policies().rto);
    for (first_ms, srtt_ms) in [(None, 520), (Some(100), 100)] {
        let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Provisional);
        if let Some(ms) = first_ms {
            rtt.on_control_sample(now, Duration::from_millis(ms));
        }
        let [answered, took] = [25, 5].map(Duration::from_millis);
        rtt.estimate(now, answered, took, 1000);
        rtt.on_control_sample(now, Duration::from_millis(520));
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(srtt_ms)), "{first_ms:?}");
        assert_eq!(rtt.of_data().is_some(), first_ms.is_some(), "{first_ms:?}");
    }
}

#[test]
fn no_estimate_is_below_a_bound() {
    let rto = Preset::Recommended.policies().rto;
    let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Provisional);
    rtt.on_control_sample(Instant::ZERO, Duration::from_millis(40));
    assert!(rtt.on_data_bound(Duration::from_millis(200)));
    let [answered, took] = [35, 5].map(Duration::from_millis);
    let estimate = rtt.estimate(Instant::ZERO, answered, took, 1000);
    assert_eq!(estimate, Duration::from_millis(200));
}

#[test]
fn samples_follow_the_formulas() {
    let mut rtt = estimator(1);
    assert_eq!(rtt.rto(), Duration::from_secs(1));
    // First sample: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR = 3 R.
    rtt.on_sample(Duration::from_millis(100));
    assert_eq!(rtt.srtt(), Some(Duration::from_millis(100)));
    assert_eq!(rtt.rto(), Duration::from_millis(300));
    // RTTVAR = 3/4 50 + 1/4 |100 - 180| = 57.5; SRTT = 7/8 100 + 1/8 180 = 110; RTO = 110 + 230.
    rtt.on_sample(Duration::from_millis(180));
    assert_eq!(rtt.srtt(), Some(Duration::from_millis(110)));
    assert_eq!(rtt.rto(), Duration::from_millis(340));
}

#[test]
fn bounds_and_backoff() {
    let mut rtt = estimator(1000);
    rtt.on_sample(Duration::from_millis(10));
    assert_eq!(rtt.rto(), Duration::from_secs(1), "RTO.Min");
    for expected in [2, 4, 8, 16, 32, 60, 60] {
        rtt.back_off();
        assert_eq!(rtt.rto(), Duration::from_secs(expected));
    }
    rtt.on_sample(Duration::from_millis(10));
    assert_eq!(rtt.rto(), Duration::from_secs(1), "a new sample ends the backoff");
    rtt.on_sample(Duration::from_secs(1000));
    assert_eq!(rtt.rto(), Duration::from_secs(60), "RTO.Max");
}

#[test]
fn control_chunks_are_a_beginning() {
    let at = |secs| Instant::ZERO + Duration::from_secs(secs);
    let ms = Duration::from_millis;
    let rto = Preset::Rfc9260.policies().rto;
    let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Provisional);
    rtt.on_control_sample(at(0), ms(10));
    assert_eq!((rtt.srtt(), rtt.of_data()), (Some(ms(10)), None));
    rtt.on_data_sample(at(1), ms(50), 1468);
    assert_eq!(rtt.of_data(), Some((ms(50), ms(50))), "not smoothed with what was provisional");
    rtt.on_control_sample(at(10), ms(10));
    assert_eq!(rtt.of_data(), Some((ms(50), ms(50))), "data is believed");
    for secs in [11, 41] {
        rtt.on_control_sample(at(secs), ms(10));
        assert_eq!((rtt.srtt(), rtt.of_data()), (Some(ms(50)), None), "but not for ever");
    }
    rtt.on_data_sample(at(42), ms(30), 1468);
    assert_eq!((rtt.of_data(), rtt.serialisation()), (Some((ms(30), ms(30))), ms(20)));
}

/// The links need 40 ms for a packet, and go on doing so after the way has become 20 ms longer.
#[test]
fn what_data_takes_longer_than_control_chunks_does_not_grow_old() {
    let at = |secs| Instant::ZERO + Duration::from_secs(secs);
    let ms = Duration::from_millis;
    let rto = Preset::Rfc9260.policies().rto;
    let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Provisional);
    rtt.on_control_sample(at(0), ms(10));
    rtt.on_data_sample(at(1), ms(50), 1468);
    rtt.on_control_sample(at(31), ms(30));
    assert_eq!((rtt.srtt(), rtt.of_data(), rtt.serialisation()), (Some(ms(70)), None, ms(40)));
}

/// 1 Mbit/s: 12 ms for 1,500 bytes.
#[test]
fn full_packets_take_longer_than_control_chunks() {
    let ms = Duration::from_millis;
    let rto = Preset::Rfc9260.policies().rto;
    let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Provisional);
    assert_eq!(rtt.serialisation(), Duration::ZERO);
    rtt.on_control_sample(Instant::ZERO, ms(7));
    assert_eq!(rtt.serialisation(), Duration::ZERO);
    rtt.on_data_sample(Instant::ZERO, ms(31), 1468);
    rtt.on_data_sample(Instant::ZERO, ms(19), 1468);
    rtt.on_control_sample(Instant::ZERO, ms(15));
    assert_eq!(rtt.serialisation(), ms(12));
    rtt.on_control_sample(Instant::ZERO, ms(25));
    rtt.on_data_sample(Instant::ZERO, ms(5), 1468);
    assert_eq!(rtt.serialisation(), Duration::ZERO, "the data found the path empty");
}

/// 1 Mbit/s, and 7 ms for a control chunk: a packet that is not full takes less, and says nothing of a full one.
#[test]
fn only_full_packets_tell_how_long_one_takes() {
    let ms = Duration::from_millis;
    let mut rtt = RttEstimator::with_rules(Preset::Rfc9260.policies().rto, ControlRtt::Provisional);
    rtt.on_control_sample(Instant::ZERO, ms(7));
    for (bytes, sample, serialisation, bytes_per_second, what) in [
        (200, 9, 2, None, "the first, most of whose round trip is no sending"),
        (1468, 21, 14, Some(104_857), "a larger one counts alone"),
        (700, 13, 14, Some(104_857), "a smaller one does not"),
        (1400, 19, 12, Some(122_333), "one about as large does"),
        (1468, 30, 12, Some(122_333), "the smallest counts"),
    ] {
        rtt.on_data_sample(Instant::ZERO, ms(sample), bytes);
        assert_eq!(rtt.serialisation(), ms(serialisation), "{what}");
        assert_eq!(rtt.links_pass_on(), bytes_per_second, "{what}");
    }
    assert_eq!(rtt.of_data().map(|(_, smallest)| smallest), Some(ms(19)));
    assert_eq!(rtt.smallest(), Some(ms(9)));
}

/// A bound takes the place of what control chunks tell, not of what data does.
#[test]
fn data_takes_at_least_as_long_as_a_bound() {
    let ms = Duration::from_millis;
    let rto = Preset::Rfc9260.policies().rto;
    let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Provisional);
    assert!(rtt.on_data_bound(ms(30)));
    assert_eq!((rtt.srtt(), rtt.smallest()), (Some(ms(30)), Some(ms(30))), "nothing else is known");
    rtt.on_control_sample(Instant::ZERO, ms(6));
    let before = rtt.srtt();
    assert!(!rtt.on_data_bound(ms(20)));
    assert_eq!(rtt.srtt(), before, "it is known to take longer");
    assert!(rtt.on_data_bound(ms(50)));
    assert_eq!((rtt.srtt(), rtt.of_data()), (Some(ms(50)), None));
    assert_eq!(rtt.smallest(), Some(ms(6)), "an answer may come as soon as before");
    rtt.on_data_sample(Instant::ZERO, ms(40), 1000);
    assert!(!rtt.on_data_bound(ms(90)));
    assert_eq!(rtt.of_data(), Some((ms(40), ms(40))), "data has measured it");
}

#[test]
fn an_answer_to_a_control_chunk_ends_the_backoff() {
    let rto = Rto { min: Duration::from_millis(1), ..Preset::Rfc9260.policies().rto };
    let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Provisional);
    rtt.on_data_sample(Instant::ZERO, Duration::from_millis(100), 1468);
    rtt.back_off();
    rtt.on_control_sample(Instant::ZERO, Duration::from_millis(7));
    assert_eq!(rtt.rto(), Duration::from_millis(300));
}

#[test]
fn a_round_trip_that_never_varies_leaves_a_margin() {
    let ms = Duration::from_millis;
    for (margin, expected) in [(0, 387), (200, 587)] {
        let rto = Rto { min: ms(200), margin: ms(margin), ..Preset::Rfc9260.policies().rto };
        let mut rtt = RttEstimator::with_rules(rto, ControlRtt::Counts);
        (0..200).for_each(|_| rtt.on_data_sample(Instant::ZERO, ms(387), 1468));
        assert_eq!(rtt.rto().as_nanos() / 1_000_000, expected, "{margin}");
    }
}
