//! Samples of rates and losses.

use super::*;

/// What is expected of the path itself is no longer than what is measured.
const PATIENCE: Duration = Duration::ZERO;

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// A SACK that arrives then, over the path itself.
fn answer(at: u64, measures: bool) -> SackArrival {
    SackArrival { now: ms(at), over: PathId(0), took: Some(Duration::ZERO), measures }
}

/// One packet arrives after 30 ms and one after 70 ms; SACKs return within 20 ms over the path, and within 5 ms over another.
#[test]
fn sacks_that_return_sooner_over_another_path_do_not_make_it_faster() {
    for (first, second, expected) in [(20, 20, 40), (5, 5, 40), (20, 5, 40), (5, 20, 55)] {
        let mut sampler = RateSampler::default();
        let sack = |arrived: u64, took: u64| SackArrival {
            over: PathId(u8::from(took == 5)),
            took: Some(Duration::from_millis(took)),
            ..answer(arrived + took, true)
        };
        sampler.on_sent(ms(20), 0, 1000);
        sampler.on_chunk_acked(ms(20));
        sampler.on_sent(ms(21), 1000, 2000);
        sampler.sample(sack(30, first), 1000, PATIENCE).unwrap();
        sampler.on_sent(ms(30 + first), 1000, 2000);
        sampler.on_chunk_acked(ms(30 + first));
        let sample = sampler.sample(sack(70, second), 2000, PATIENCE).unwrap();
        assert_eq!(sample.interval, Duration::from_millis(expected), "{first} {second}");
    }
}

/// Ten packets of 1,000 bytes a millisecond apart, each acknowledged 50 ms later.
#[test]
fn a_steady_path() {
    let mut sampler = RateSampler::default();
    let mut outstanding = 0;
    for n in 0..10 {
        sampler.on_sent(ms(100 + n), outstanding, outstanding + 1000);
        outstanding += 1000;
    }
    for n in 0..10 {
        sampler.on_chunk_acked(ms(100 + n));
        let sample = sampler.sample(answer(150 + n, true), 1000, PATIENCE).unwrap();
        // All were sent before anything had arrived: what has arrived since the path began to send.
        assert_eq!(sample.delivered, 1000 * (n + 1));
        assert_eq!(sample.interval, Duration::from_millis(50 + n));
        assert_eq!(sample.round_trip, Some(Duration::from_millis(50)));
        assert_eq!((sample.delivered_before, sample.limit), (0, RateLimit::Cwnd));
        sampler.on_sent(ms(150 + n), 9000, 10_000);
    }
    // From then on each packet replaces one: 10,000 bytes in a round trip, the first time.
    sampler.on_chunk_acked(ms(150));
    let sample = sampler.sample(answer(200, true), 1000, PATIENCE).unwrap();
    assert_eq!((sample.delivered, sample.interval), (10_000, Duration::from_millis(50)));
    assert_eq!(sample.rate().as_bits_per_second(), 1_600_000);
    assert_eq!((sample.delivered_before, sample.delivered_total), (1000, 11_000));
}

#[test]
fn acknowledgements_in_one_lump_are_no_fast_path() {
    let mut sampler = RateSampler::default();
    for n in 0..10 {
        sampler.on_sent(ms(10 * n), 1000 * n, 1000 * (n + 1));
    }
    sampler.on_chunk_acked(ms(0));
    sampler.sample(answer(100, true), 1000, PATIENCE).unwrap();
    // The rest comes in the next millisecond, but took 90 ms to send.
    sampler.on_chunk_acked(ms(90));
    let sample = sampler.sample(answer(101, true), 9000, PATIENCE).unwrap();
    assert_eq!((sample.delivered, sample.interval), (10_000, Duration::from_millis(101)));
}

#[test]
fn a_sender_with_nothing_to_send_proves_no_limit() {
    let mut sampler = RateSampler::default();
    sampler.on_sent(ms(0), 0, 1000);
    sampler.on_spare_cwnd(1000);
    sampler.on_sent(ms(5), 1000, 2000);
    sampler.on_chunk_acked(ms(0));
    assert_eq!(sampler.sample(answer(50, true), 1000, PATIENCE).unwrap().limit, RateLimit::Cwnd);
    sampler.on_chunk_acked(ms(5));
    assert_eq!(
        sampler.sample(answer(55, true), 1000, PATIENCE).unwrap().limit,
        RateLimit::Application
    );
    sampler.on_sent(ms(56), 0, 1000);
    sampler.on_chunk_acked(ms(56));
    assert_eq!(
        sampler.sample(answer(99, true), 1000, PATIENCE).unwrap().limit,
        RateLimit::Cwnd,
        "that is over"
    );
}

#[test]
fn idle_time_is_not_counted() {
    let mut sampler = RateSampler::default();
    sampler.on_sent(ms(0), 0, 1000);
    sampler.on_chunk_acked(ms(0));
    sampler.sample(answer(50, true), 1000, PATIENCE).unwrap();
    sampler.on_sent(ms(5000), 0, 1000);
    sampler.on_chunk_acked(ms(5000));
    let sample = sampler.sample(answer(5050, true), 1000, PATIENCE).unwrap();
    assert_eq!((sample.delivered, sample.interval), (1000, Duration::from_millis(50)));
}

/// A chunk that had counted as lost arrives, and nothing that was outstanding.
#[test]
fn an_acknowledgement_that_delivers_nothing_does_not_end_a_time_of_delivery() {
    let mut sampler = RateSampler::default();
    sampler.on_sent(ms(0), 0, 1000);
    assert_eq!(sampler.sample(answer(30, true), 0, PATIENCE), None);
    sampler.on_sent(ms(40), 1000, 2000);
    sampler.on_chunk_acked(ms(40));
    assert_eq!(
        sampler.sample(answer(90, true), 2000, PATIENCE).unwrap().interval,
        Duration::from_millis(90)
    );
}

/// Packets that leave in one burst have one time, and each of their acknowledgements is a sample.
#[test]
fn a_burst_gives_a_sample_for_each_acknowledgement() {
    let mut sampler = RateSampler::default();
    for n in 0..4 {
        sampler.on_sent(ms(0), 1000 * n, 1000 * (n + 1));
    }
    for n in 0..4 {
        sampler.on_chunk_acked(ms(0));
        let sample = sampler.sample(answer(50 + n, true), 1000, PATIENCE).unwrap();
        assert_eq!((sample.delivered, sample.flight_then), (1000 * (n + 1), 4000));
        assert_eq!(sample.round_trip, Some(Duration::from_millis(50 + n)));
    }
    assert_eq!(sampler.shortest_round_trip(), Some(Duration::from_millis(50)));
}

#[test]
fn losses_are_counted_from_the_sending_of_a_packet() {
    let mut sampler = RateSampler::default();
    for n in 0..10 {
        sampler.on_sent(ms(n), 1000 * n, 1000 * (n + 1));
    }
    // Packets 1 and 2 are lost, 3 to 5 arrive.
    sampler.on_chunk_acked(ms(5));
    sampler.sample(answer(55, true), 4000, PATIENCE).unwrap();
    assert_eq!(sampler.loss_sample(), None, "nothing lost");
    sampler.on_lost(ms(1), 1000);
    sampler.on_lost(ms(2), 1000);
    let loss = sampler.loss_sample().unwrap();
    assert_eq!((loss.flight_then, loss.lost, loss.delivered_total), (3000, 2000, 4000));
    assert_eq!(sampler.loss_sample(), None, "told once");
    // What is sent now sees later losses only.
    sampler.on_sent(ms(56), 4000, 5000);
    sampler.on_lost(ms(9), 500);
    sampler.on_chunk_acked(ms(8));
    assert_eq!(sampler.sample(answer(58, true), 3000, PATIENCE).unwrap().lost, 2500);
    sampler.on_chunk_acked(ms(56));
    assert_eq!(sampler.sample(answer(106, true), 1000, PATIENCE).unwrap().lost, 500);
}

#[test]
fn what_was_found_again_was_not_lost() {
    let mut sampler = RateSampler::default();
    sampler.on_lost(ms(0), 2000);
    sampler.on_sent(ms(1), 0, 1000);
    sampler.on_lost(ms(0), 3000);
    sampler.on_found(3000);
    sampler.on_chunk_acked(ms(1));
    assert_eq!(sampler.sample(answer(50, true), 1000, PATIENCE).unwrap().lost, 0);
}

/// Of ten packets the SACK of the last one leaves five out, which a later one has: these were there before.
#[test]
fn what_was_reported_late_was_delivered_before() {
    for (late_sent_at, delivered) in [(3, 1000), (59, 6000)] {
        let mut sampler = RateSampler::default();
        for n in 0..10 {
            sampler.on_sent(ms(n), 1000 * n, 1000 * (n + 1));
        }
        sampler.on_delivered(ms(9), 5000);
        sampler.on_chunk_acked(ms(9));
        assert_eq!(sampler.sample(answer(59, true), 5000, PATIENCE).unwrap().delivered, 5000);
        sampler.on_sent(ms(60), 5000, 6000);
        sampler.on_delivered(ms(late_sent_at), 5000);
        sampler.on_delivered(ms(60), 1000);
        sampler.on_chunk_acked(ms(60));
        let sample = sampler.sample(answer(110, true), 6000, PATIENCE).unwrap();
        assert_eq!(sample.delivered, delivered, "sent at {late_sent_at} ms");
        assert_eq!(sample.delivered_total, 11_000);
    }
}

/// A SACK that comes over another path is there after 10 ms, but losses are found by the 50 ms of the path.
#[test]
fn losses_are_found_by_the_round_trip_of_the_path() {
    for (patience, is_known) in [(10, false), (50, true)] {
        let mut sampler = RateSampler::default();
        for n in 0..100 {
            sampler.on_sent(ms(n), 1000 * n, 1000 * (n + 1));
        }
        sampler.on_chunk_acked(ms(90));
        sampler.sample(answer(100, false), 1000, Duration::from_millis(patience)).unwrap();
        sampler.on_lost(ms(50), 1000);
        assert_eq!(sampler.loss_sample().is_some(), is_known, "{patience} ms");
    }
}

#[test]
fn packets_are_forgotten_a_round_trip_after_they_were_passed() {
    let mut sampler = RateSampler::default();
    for n in 0..100 {
        sampler.on_sent(ms(n), 1000 * n, 1000 * (n + 1));
    }
    sampler.on_chunk_acked(ms(90));
    sampler.sample(answer(100, true), 1000, PATIENCE).unwrap();
    sampler.on_lost(ms(79), 1000);
    assert_eq!(sampler.loss_sample(), None, "sent 11 ms before, with a round trip of 10");
    sampler.on_lost(ms(80), 1000);
    assert_eq!(sampler.loss_sample().unwrap().flight_then, 81_000);
}

#[test]
fn what_tells_nothing_gives_no_sample() {
    let mut sampler = RateSampler::default();
    assert_eq!(sampler.sample(answer(1, true), 1000, PATIENCE), None, "no chunk");
    sampler.on_sent(ms(2), 0, 1000);
    sampler.on_chunk_acked(ms(1));
    assert_eq!(
        sampler.sample(answer(3, true), 1000, PATIENCE),
        None,
        "a packet that is not remembered"
    );
    sampler.on_chunk_acked(ms(2));
    assert_eq!(sampler.sample(answer(2, true), 1000, PATIENCE), None, "no time has passed");
    let mut lost = RateSampler::default();
    lost.on_sent(ms(0), 0, 1000);
    lost.on_chunk_acked(ms(0));
    assert_eq!(
        lost.sample(answer(50, true), 0, PATIENCE),
        None,
        "of what was outstanding nothing arrived"
    );
}
