//! What is known of paths, and which of them wait.

use super::*;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// 100 Mbit/s with 10 ms, of which 5 ms are a queue.
const FULL: MeasuredPath = MeasuredPath {
    cwnd: 125_000,
    ssthresh: 60_000,
    srtt: ms(10),
    smallest_rtt: ms(5),
    serialisation: Duration::ZERO,
    rate: None,
    bottleneck: None,
    backlog: Duration::ZERO,
    arrival: ArrivalTime::lossless(Duration::ZERO),
    losses: LossDelay::new(),
    dependents: u64::MAX,
    chunk: 1000,
};

/// A path without losses.
const fn slow(rtt: Duration) -> MeasuredPath {
    MeasuredPath { arrival: ArrivalTime::lossless(rtt), ..FULL }
}

const fn chunk(path: &MeasuredPath, in_flight: u64, buffer: u64) -> SlowPath<'_> {
    SlowPath { path, in_flight, chunk: 1400, buffer, waits: Waits::Everything }
}

/// With the time to send the chunk a round trip of 100 ms takes 105 ms, on both paths.
#[test]
fn of_two_paths_alike_neither_waits_for_the_other() {
    for (answer, blocks) in [(ms(0), true), (ms(101), true), (ms(102), false), (ms(105), false)] {
        let arrival = ArrivalTime::lossless(answer);
        let other = MeasuredPath { srtt: ms(100), smallest_rtt: ms(100), arrival, ..FULL };
        let path = slow(ms(105));
        assert_eq!(would_block(&chunk(&path, 1400, 64_000), &[other]), blocks, "{answer:?}");
    }
}

/// Path 0 has 20 ms and waits for repairs of another 20 ms as often as `losses` says; path 1 has 30 ms.
#[test]
fn of_two_paths_that_delay_each_other_the_stronger_one_does_not_wait() {
    let paths = |mbits: [u64; 2], losses| {
        let lossy = ArrivalTime { rtt: ms(20), losses: ms(losses), repair: ms(20) };
        [(lossy, mbits[0]), (ArrivalTime::lossless(ms(30)), mbits[1])].map(|(arrival, mbit)| {
            let rate = KnownRate { bytes_per_second: mbit * 125_000, is_final: true };
            let (srtt, cwnd) = (arrival.rtt, 10_000_000);
            MeasuredPath { arrival, srtt, smallest_rtt: srtt, cwnd, rate: Some(rate), ..FULL }
        })
    };
    for (what, mbits, losses, waits) in [
        ("without losses the slower one waits", [100, 10], 0, [false, true]),
        ("even if it is stronger", [10, 100], 0, [false, true]),
        ("each delays the other, the first is stronger", [100, 10], 15, [false, true]),
        ("each delays the other, the second is stronger", [10, 100], 15, [true, false]),
        (
            "what waits for a repair in any case costs nothing, but may use what is left",
            [100, 10],
            20,
            [true, false],
        ),
        ("but losses of a weak path delay the other", [10, 100], 20, [true, false]),
        ("a mean as long is no reason to be as fast", [10, 100], 10, [true, false]),
    ] {
        let paths = paths(mbits, losses);
        let is_led = |own: usize| paths[1 - own].leads(&chunk(&paths[own], 0, u64::MAX));
        assert_eq!([0, 1].map(is_led), waits, "{what}");
    }
}

#[test]
fn a_slow_path_gets_what_the_quick_ones_leave() {
    let alike = MeasuredPath { srtt: ms(390), smallest_rtt: ms(200), ..FULL };
    let endless = MeasuredPath { cwnd: u64::MAX, srtt: ms(0), ..FULL };
    for (what, others, in_flight, buffer, blocks) in [
        ("nobody is quicker", &[][..], 60_000, 64_000, false),
        ("paths alike are no reason to wait", &[alike], 60_000, 1_000, false),
        ("a small buffer is the quick path's", &[FULL], 0, 64_000, true),
        ("a byte too little: 5 MB pass meanwhile", &[FULL], 0, 5_001_399, true),
        ("a chunk fits", &[FULL], 0, 5_001_400, false),
        ("but no more", &[FULL], 1_400, 5_001_400, true),
        ("two quick ones", &[FULL, FULL], 0, 8_000_000, true),
        ("windows without limit", &[endless], 0, u64::MAX, true),
    ] {
        let path = slow(ms(400));
        assert_eq!(would_block(&chunk(&path, in_flight, buffer), others), blocks, "{what}");
    }
}

#[test]
fn who_is_a_little_quicker_has_to_have_the_window() {
    // 100 Mbit/s with 20 ms and nothing in its queue, 60 kB of them sent.
    let held_up = MeasuredPath {
        cwnd: 60_000,
        ssthresh: 1,
        srtt: ms(20),
        smallest_rtt: ms(20),
        serialisation: Duration::ZERO,
        rate: None,
        bottleneck: None,
        backlog: Duration::ZERO,
        arrival: ArrivalTime::lossless(Duration::ZERO),
        losses: LossDelay::new(),
        dependents: u64::MAX,
        chunk: 1000,
    };
    let grown = MeasuredPath { cwnd: 100_000, ..held_up };
    let starting = MeasuredPath { ssthresh: u64::MAX, ..held_up };
    for (what, other, rtt_us, blocks) in [
        ("alike", grown, 20_600, false),
        ("a little quicker, and its window fills the buffer", grown, 21_000, true),
        ("a little quicker, and its window may never", held_up, 21_000, false),
        ("clearly quicker, in slow start: it would have grown", starting, 23_000, true),
        ("clearly quicker, but a loss has told what it carries", held_up, 23_000, false),
    ] {
        let rtt = Duration::from_micros(rtt_us);
        let path = slow(rtt);
        assert_eq!(would_block(&chunk(&path, 28_000, 128_000), &[other]), blocks, "{what}");
    }
}

#[test]
fn a_window_that_was_held_back_says_little() {
    let empty = MeasuredPath { smallest_rtt: ms(10), ..FULL };
    let slow_start = MeasuredPath { ssthresh: u64::MAX, ..empty };
    for (what, path, buffer, bytes) in [
        ("its queue says that it is full", FULL, 1_000_000, 125_000),
        ("a quarter more than the window after a loss", empty, 1_000_000, 156_250),
        ("never more than the buffer", empty, 130_000, 130_000),
        ("all of it in slow start", slow_start, 200_000, 200_000),
    ] {
        assert_eq!(path.sends_in(ms(10), buffer), bytes, "{what}");
        assert_eq!(path.alone(buffer), bytes * 100, "{what}");
    }
    // 125,000 bytes twice, four and eight times.
    for (time_ms, bytes) in
        [(0, 0), (5, 125_000), (10, 250_000), (12, 350_000), (20, 750_000), (30, 1_750_000)]
    {
        assert_eq!(slow_start.sends_in(ms(time_ms), u64::MAX), bytes, "within {time_ms} ms");
    }
    let largest = MeasuredPath { cwnd: u64::MAX, ..slow_start };
    assert!(largest.sends_in(Duration::MAX, u64::MAX) >= u64::MAX.into(), "no overflow");
}

#[test]
fn where_the_limits_are() {
    use Lead::{Clear, None, Small};
    let path = MeasuredPath {
        cwnd: 80_000,
        ssthresh: 80_000,
        srtt: ms(32),
        smallest_rtt: ms(32),
        serialisation: Duration::ZERO,
        rate: Option::None,
        bottleneck: Option::None,
        backlog: Duration::ZERO,
        arrival: ArrivalTime::lossless(Duration::ZERO),
        losses: LossDelay::new(),
        dependents: u64::MAX,
        chunk: 1000,
    };
    for (rtt_us, lead) in
        [(32_000, None), (33_000, None), (33_001, Small), (36_000, Small), (36_001, Clear)]
    {
        assert_eq!(path.lead_over(Duration::from_micros(rtt_us)), lead, "{rtt_us} us");
    }
    for (srtt, is_full) in [(48, false), (49, true)] {
        assert_eq!(MeasuredPath { srtt: ms(srtt), ..path }.is_full(), is_full, "{srtt} ms");
    }
    for (srtt, sends_for, has_queue) in
        [(40, 0, false), (41, 0, true), (43, 3, false), (44, 3, true)]
    {
        let path = MeasuredPath { srtt: ms(srtt), serialisation: ms(sends_for), ..path };
        assert_eq!(path.has_queue(), has_queue, "{srtt} ms, {sends_for} of them to send a packet");
    }
    assert_eq!(path.could_send(1 << 30), 100_000, "at the threshold it grows slowly");
    let below = MeasuredPath { ssthresh: 80_001, ..path };
    assert_eq!(below.could_send(1 << 30), 1 << 30);
}

#[test]
fn a_path_is_as_slow_as_what_is_on_it() {
    let path = MeasuredPath {
        cwnd: 100_000,
        ssthresh: 0,
        srtt: ms(200),
        smallest_rtt: ms(20),
        serialisation: Duration::ZERO,
        rate: None,
        bottleneck: None,
        backlog: Duration::ZERO,
        arrival: ArrivalTime::lossless(Duration::ZERO),
        losses: LossDelay::new(),
        dependents: u64::MAX,
        chunk: 1000,
    };
    for (flight, expected) in
        [(0, 20), (4000, 20), (49_000, 100), (99_000, 200), (500_000, 200), (u64::MAX, 200)]
    {
        assert_eq!(expected_rtt(&path, flight, 1000), ms(expected), "{flight}");
    }
    assert_eq!(expected_rtt(&path, 0, 50_000), ms(20), "nothing waits before a large chunk");
    let thin = MeasuredPath { serialisation: ms(5), ..path };
    for flight in [0, 4000] {
        assert_eq!(expected_rtt(&thin, flight, 1000), ms(25), "{flight}: its links send for 5 ms");
    }
    let steady = MeasuredPath { smallest_rtt: ms(200), ..path };
    assert_eq!(expected_rtt(&steady, 4000, 1000), ms(200));
}

#[test]
fn one_penalty_per_round_trip() {
    let at = |millis| Instant::ZERO + ms(millis);
    let mut interval = PenaltyInterval::new();
    assert!(interval.is_over(at(0)), "none yet");
    interval.begin(at(10), ms(40));
    for (time, expected) in [(10, false), (49, false), (50, true), (90, true)] {
        assert_eq!(interval.is_over(at(time)), expected, "{time} ms");
    }
    interval.begin(at(60), ms(10));
    assert_eq!([69, 70].map(|time| interval.is_over(at(time))), [false, true]);
}

#[test]
fn a_penalty_leaves_a_packet() {
    for (cwnd, expected) in [(60_000, 30_000), (2000, 1468), (1468, 1468), (1000, 1000)] {
        assert_eq!(penalized(cwnd, 1468), expected);
    }
}

const fn delivers(bytes_per_second: u64, is_final: bool) -> Option<KnownRate> {
    Some(KnownRate { bytes_per_second, is_final })
}

#[test]
fn a_measured_rate_takes_the_place_of_a_window() {
    let path = MeasuredPath { rate: delivers(1_000_000, true), ..FULL };
    assert_eq!(path.sends_in(ms(100), 1 << 30), 100_000);
    assert_eq!(path.alone(1 << 30), 1_000_000);
    let small = MeasuredPath { cwnd: 1000, ..path };
    assert_eq!(small.alone(2500), 500_000, "a buffer in each round trip");
    let grows = delivers(1, false);
    let growing = MeasuredPath { rate: grows, ssthresh: u64::MAX, smallest_rtt: ms(10), ..small };
    assert_eq!(growing.sends_in(ms(10), 1 << 30), 2000, "the rate is a lower limit");
    let narrow = MeasuredPath { bottleneck: Some(1_000_000), ..FULL };
    assert_eq!(narrow.sends_in(ms(100), 1 << 30), 100_000, "no window passes its bottleneck");
    assert_eq!(narrow.sends_in(ms(1), 1 << 30), 1000);
}

/// 10 ms at a million bytes a second, and a window of 15,000 bytes.
#[test]
fn a_path_keeps_more_in_flight_beside_one_with_a_round_trip_many_times_as_long() {
    let path = MeasuredPath { cwnd: 15_000, rate: delivers(1_000_000, true), ..FULL };
    for (rtt_ms, expected) in
        [(20, 10_000), (159, 10_000), (160, 12_500), (319, 12_500), (320, 15_000), (640, 15_000)]
    {
        assert_eq!(path.keeps_in_flight(ms(rtt_ms), 1 << 30), expected, "{rtt_ms} ms");
    }
    let wide = MeasuredPath { cwnd: 1 << 30, ..path };
    assert_eq!(wide.keeps_in_flight(ms(10_000), 1 << 30), 20_000, "twice as much at most");
    let narrow = MeasuredPath { cwnd: 8000, ..path };
    assert_eq!(narrow.keeps_in_flight(ms(640), 1 << 30), 10_000, "and what it delivers at least");
    let unknown = MeasuredPath { cwnd: 15_000, rate: None, ..path };
    let could_send = unknown.could_send(1 << 30).into();
    assert_eq!(unknown.keeps_in_flight(ms(640), 1 << 30), could_send, "nothing is known");
    let trains = MeasuredPath { bottleneck: Some(1_000_000), ..unknown };
    assert_eq!(trains.keeps_in_flight(ms(640), 1 << 30), 15_000, "trains have shown its rate");
}

#[test]
fn a_thin_path_is_as_slow_as_it_sends() {
    // 100 bytes a millisecond: a chunk of 1,000 bytes takes 10 of the 14 ms of its round trip.
    let rate = delivers(100_000, true);
    let thin = MeasuredPath { cwnd: 4000, srtt: ms(14), smallest_rtt: ms(14), rate, ..FULL };
    for (flight, expected) in [(0, 24), (400, 24), (1000, 36), (2000, 56)] {
        assert_eq!(expected_rtt(&thin, flight, 1000), ms(expected), "{flight}");
    }
    let grows = MeasuredPath { cwnd: 2000, rate: delivers(100_000, false), ..thin };
    for (flight, expected) in [(0, 14), (1800, 14), (2000, 16)] {
        assert_eq!(expected_rtt(&grows, flight, 1000), ms(expected), "{flight}, growing");
    }
    // A window of 300 bytes a millisecond, and nothing waits: the rate was that of its first packet.
    let begins = MeasuredPath { cwnd: 4200, ..grows };
    for (flight, expected) in [(2000, 14), (3500, 16)] {
        assert_eq!(expected_rtt(&begins, flight, 1000), ms(expected), "{flight}, begins");
    }
    // Its links need 8 ms for a chunk: it grows to no more than 125 bytes a millisecond.
    let thin_links = MeasuredPath { serialisation: ms(8), ..grows };
    for (flight, expected) in [(0, 22), (750, 22), (2000, 42)] {
        assert_eq!(expected_rtt(&thin_links, flight, 1000), ms(expected), "{flight}, thin links");
    }
    // With a queue it delivers what it can.
    let queued = MeasuredPath { srtt: ms(22), ..grows };
    assert_eq!(expected_rtt(&queued, 2000, 1000), ms(56));
    let none = MeasuredPath { rate: delivers(0, true), ..thin };
    assert!(expected_rtt(&none, u64::MAX, u64::MAX) > ms(1_000_000), "no overflow");
}

#[test]
fn a_path_is_negligible_beside_thirty_two_times_its_rate() {
    let path = |rate, is_final| MeasuredPath { rate: delivers(rate, is_final), ..FULL };
    for (what, own, other, expected) in [
        ("32 times", path(1000, true), path(32_000, true), false),
        ("more", path(1000, true), path(32_001, true), true),
        ("at least that much more", path(1000, true), path(32_001, false), true),
        ("it may still grow", path(1000, false), path(32_001, true), false),
        ("a window per round trip", path(1000, true), FULL, true),
        ("a window that grows", MeasuredPath { ssthresh: u64::MAX, ..FULL }, FULL, false),
    ] {
        assert_eq!(is_negligible(&own, [other.proven()].into_iter()), expected, "{what}");
    }
}

#[test]
fn a_negligible_path_repays_its_delay_when_it_is_a_hundredth_of_the_transfer() {
    assert!(!repays(ms(500), ms(49_999)));
    assert!(repays(ms(500), ms(50_000)));
    assert!(!repays(Duration::MAX, ms(50_000)));
}

/// What waits for a lost chunk is less than the window where messages are unordered.
#[test]
fn losses_slow_a_path_down_by_what_waits_for_them() {
    let mut losses = LossDelay::new();
    for round in 1..200u64 {
        if round % 4 == 0 {
            losses.on_lost();
        }
        losses.on_delivered(Instant::ZERO + ms(100) * round, ms(100), 50);
    }
    let path = |dependents| MeasuredPath {
        rate: delivers(u64::MAX, true),
        srtt: ms(100),
        smallest_rtt: ms(100),
        cwnd: 100_000,
        chunk: 1000,
        losses,
        dependents,
        ..FULL
    };
    let alone = |dependents| path(dependents).at_most_alone(100_000).unwrap();
    assert_eq!(alone(0), 1_000_000, "a window per round trip");
    assert!((650_000..750_000).contains(&alone(u64::MAX)), "two of five windows wait");
    assert!((950_000..1_000_000).contains(&alone(2000)), "a message of two chunks hardly ever");
}

#[test]
fn what_a_path_carries_alone_at_most() {
    let (grows, is) = (delivers(1_000_000, false), delivers(1_000_000, true));
    for (what, rate, bottleneck, buffer, most) in [
        ("nothing is known", None, None, u64::MAX, None),
        ("what it delivered when it was full", is, None, u64::MAX, Some(1_000_000)),
        ("what its bottleneck passes on", is, Some(3_000_000), u64::MAX, Some(3_000_000)),
        ("it was never full", grows, None, u64::MAX, Some(2_000_000)),
        (
            "nor has it to be: its bottleneck is known",
            grows,
            Some(1_500_000),
            u64::MAX,
            Some(1_500_000),
        ),
        ("a buffer in its shortest round trip of 5 ms", grows, None, 5_000, Some(1_000_000)),
    ] {
        let path = MeasuredPath { rate, bottleneck, ..FULL };
        assert_eq!(path.at_most_alone(buffer), most, "{what}");
    }
}
