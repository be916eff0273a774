use super::*;
use crate::{PacketId, Ticket};

const US: u64 = 1_000;

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * US)
}

fn waiting(number: u32, bytes: u32) -> Waiting {
    let ticket = Ticket { packet: PacketId(number), bytes, order: 0 };
    Waiting { ticket, since: Instant::ZERO, ect: false }
}

/// 8 Mbit/s: a byte takes 1 us, and a mean packet 500 us.
fn queue(config: &RedConfig) -> Red {
    Red::new(config, BitRate::from_mbit(8), "test", &Streams::new(1))
}

fn fraction(value: f64) -> Fraction {
    Fraction::from_f64(value).unwrap()
}

#[test]
fn the_average_moves_by_its_weight() {
    // Weight 1/4, arrivals to queues of 8, 8, 0: 0 + 8/4 = 2, 2 + 6/4 = 3.5, 3.5 - 3.5/4 = 2.625.
    let mut average = Average { value: 0.0, weight: 0.25 };
    let values = [8.0, 8.0, 0.0].map(|level| {
        average.arrive(level, 0);
        average.value
    });
    assert_eq!(values, [2.0, 3.5, 2.625]);
}

#[test]
fn an_idle_time_counts_as_packets_that_find_nothing() {
    // Half of it stays with each: after an idle time of 3 packets and the one that arrives, a sixteenth.
    let mut average = Average { value: 16.0, weight: 0.5 };
    average.arrive(0.0, 3);
    assert_eq!(average.value, 1.0);
    // The same as so many arrivals, whatever the number.
    let (mut at_once, mut each) = (Average { value: 60.0, weight: 0.002 }, 60.0);
    at_once.arrive(0.0, 1_000);
    for _ in 0..1_001 {
        each *= 1.0 - 0.002;
    }
    assert!((at_once.value - each).abs() < 1e-9, "{} {each}", at_once.value);
    assert_eq!((power(0.5, 0), power(0.5, 10), power(0.0, 3)), (1.0, 1.0 / 1024.0, 0.0));
    assert_eq!(power(0.5, u64::MAX), 0.0);
}

#[test]
fn the_queue_measures_its_idle_time() {
    let config = RedConfig { weight: fraction(0.5), ..RedConfig::default() };
    let mut red = queue(&config);
    red.average.value = 16.0;
    // Idle from 1,000 to 2,700 us: three mean packets of 500 us, and a part that does not count.
    red.enqueue(at(2_700), waiting(0, 100), Some(at(1_000))).unwrap();
    assert_eq!(red.average.value, 1.0);
    red.average.value = 16.0;
    red.set_rate(BitRate::from_mbit(16));
    red.enqueue(at(2_700), waiting(1, 100), Some(at(1_900))).unwrap();
    // One packet waits: 16 / 8 = 2 and half of the way to 1.
    assert_eq!(red.average.value, 1.5);
}

#[test]
fn the_probability_follows_the_curve() {
    let curve = Curve { min: 20.0, max: 80.0, max_p: 0.02, above_max: AboveMax::Drop };
    for (average, zone) in [
        (0.0, Zone::Calm),
        (19.999, Zone::Calm),
        (20.0, Zone::Random(0.0)),
        // 0.02 x 15 / 60.
        (35.0, Zone::Random(0.005)),
        (50.0, Zone::Random(0.01)),
        (80.0, Zone::Full),
        (100.0, Zone::Full),
    ] {
        assert_eq!(curve.zone(average), zone, "{average}");
    }
    let gentle = Curve { above_max: AboveMax::Gentle, ..curve };
    // Half of the way from 2 % to one.
    assert_eq!(gentle.zone(120.0), Zone::Random(0.51));
    assert_eq!((gentle.zone(80.0), gentle.zone(160.0)), (Zone::Random(0.02), Zone::Full));
}

#[test]
fn drops_are_spread() {
    // p = 0.01: 1/100 at once, 1/(100 - n) for the n-th, sure for the hundredth.
    for (count, expected) in [(0, 0.01), (1, 1.0 / 99.0), (50, 0.02), (99, 1.0), (500, 1.0)] {
        let found = spread(0.01, count);
        assert!((found - expected).abs() < 1e-12, "{count}: {found}");
    }
    assert_eq!(spread(0.0, 1_000), 0.0);
}

/// A queue whose average stands still at `average`, offered `count` packets; how many it lets in between two drops.
fn gaps(config: &RedConfig, average: f64, count: usize, bytes: u32) -> Vec<usize> {
    let mut red = queue(config);
    let (mut gaps, mut gap) = (Vec::new(), 0);
    for _ in 0..count {
        red.average.value = average;
        match red.decide(waiting(0, bytes)) {
            Ok(_) => gap += 1,
            Err(cause) => {
                assert_eq!(cause, DropCause::EarlyDrop);
                gaps.push(std::mem::take(&mut gap));
            }
        }
    }
    gaps
}

#[test]
fn gaps_between_drops_are_uniform() {
    // Probability 0.01 at an average of 50: gaps of 0 to 99 packets, all alike likely, 49.5 in the mean.
    let gaps = gaps(&RedConfig::default(), 50.0, 200_000, 1_500);
    let mean = gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
    // Four standard deviations of the mean of 4,000 such gaps are 1.8.
    assert!((mean - 49.5).abs() < 1.8, "{mean}");
    assert!(gaps[1..].iter().all(|gap| *gap < 100));
    for tenth in 0..10 {
        let share = gaps.iter().filter(|gap| **gap / 10 == tenth).count() as f64;
        assert!((share / gaps.len() as f64 - 0.1).abs() < 0.02, "{tenth}: {share}");
    }
}

#[test]
fn in_bytes_long_packets_are_dropped_more_often() {
    let bytes = |n| Limit::Bytes(ByteCount::from_bytes(n));
    let config = RedConfig {
        min: bytes(10_000),
        max: bytes(40_000),
        limit: bytes(60_000),
        mean_packet: ByteCount::from_bytes(1_000),
        ..RedConfig::default()
    };
    // 0.02 x 15,000 / 30,000 = 0.01 for a mean packet.
    for (length, expected) in [(1_000, 100.0), (500, 200.0), (1_500, 66.7)] {
        let gaps = gaps(&config, 25_000.0, 400_000, length);
        let period = 2.0 * gaps.iter().sum::<usize>() as f64 / gaps.len() as f64;
        assert!((period / expected - 1.0).abs() < 0.06, "{length}: {period}");
    }
    let mut red = queue(&config);
    red.enqueue(at(0), waiting(0, 59_000), None).unwrap();
    assert_eq!(red.enqueue(at(0), waiting(1, 1_001), None), Err(DropCause::QueueFull));
    // 0.002 x 59,000.
    assert!((red.average.value - 118.0).abs() < 1e-9, "{}", red.average.value);
}

#[test]
fn above_max_everything_goes_and_below_min_nothing() {
    assert_eq!(gaps(&RedConfig::default(), 80.0, 100, 1_500), [0; 100]);
    assert_eq!(gaps(&RedConfig::default(), 19.0, 10_000, 1_500), [0; 0]);
}

#[test]
fn the_limit_holds_whatever_the_average() {
    let config = RedConfig { limit: Limit::Packets(3), ..RedConfig::default() };
    let mut red = queue(&config);
    let verdicts = [0, 1, 2, 3].map(|n| red.enqueue(at(0), waiting(n, 100), None));
    assert_eq!(verdicts[..3], [Ok(Admission::Unmarked); 3]);
    assert_eq!(verdicts[3], Err(DropCause::QueueFull));
    assert_eq!(red.level(), QueueLevel { packets: 3, bytes: 300 });
    let out: Vec<u32> =
        std::iter::from_fn(|| red.dequeue()).map(|waiting| waiting.ticket.packet.0).collect();
    assert_eq!((out, red.level()), (vec![0, 1, 2], QueueLevel::default()));
}

#[test]
fn what_can_be_marked_is_marked_if_that_is_on() {
    let mark = RedConfig { ecn: EcnMarking::On, ..RedConfig::default() };
    let marked = |config: &RedConfig, ect, average| {
        let mut red = queue(config);
        let mut verdicts = Vec::new();
        for _ in 0..300 {
            red.average.value = average;
            verdicts.push(red.decide(Waiting { ect, ..waiting(0, 1_500) }));
        }
        let count = |wanted| verdicts.iter().filter(|verdict| **verdict == wanted).count();
        (count(Ok(Admission::Marked)), count(Err(DropCause::EarlyDrop)))
    };
    let (marks, drops) = marked(&mark, true, 50.0);
    assert!(marks >= 3 && drops == 0, "{marks} {drops}");
    // The same draws drop what cannot be marked, or what is not to be.
    assert_eq!(marked(&mark, false, 50.0), (0, marks));
    assert_eq!(marked(&RedConfig::default(), true, 50.0), (0, marks));
    assert_eq!(marked(&mark, true, 80.0), (0, 300));
}

#[test]
fn senseless_parameters_are_named() {
    let plain = RedConfig::default();
    let key = |config: RedConfig| config.problem().map(|(key, _)| key);
    assert_eq!(key(plain), None);
    assert_eq!(key(RedConfig { max: Limit::Packets(20), ..plain }), Some("max"));
    assert_eq!(
        key(RedConfig { max: Limit::Bytes(ByteCount::from_bytes(99)), ..plain }),
        Some("max")
    );
    assert_eq!(key(RedConfig { limit: Limit::Packets(0), ..plain }), Some("limit"));
    assert_eq!(key(RedConfig { weight: Fraction::ZERO, ..plain }), Some("weight"));
    assert_eq!(key(RedConfig { mean_packet: ByteCount::ZERO, ..plain }), Some("mean_packet"));
}
