//! Rates, sizes and times together.

use polypath_units::{BitRate, ByteCount, Duration, Frequency};
use proptest::prelude::*;

#[test]
fn transmission_times() {
    let bytes = ByteCount::from_bytes;
    let table = [
        (BitRate::from_mbit(100), bytes(1_500), Duration::from_micros(120)),
        (BitRate::from_mbit(100), bytes(1_507), Duration::from_nanos(120_560)),
        (BitRate::from_gbit(10), bytes(1_507), Duration::from_nanos(1_206)),
        (BitRate::from_bits_per_second(3), bytes(1), Duration::from_nanos(2_666_666_667)),
        (BitRate::from_bits_per_second(1), bytes(10_000_000_000), Duration::MAX),
        (BitRate::from_gbit(8), ByteCount::MAX, Duration::MAX),
        (
            BitRate::from_bits_per_second(8_000_000_001),
            ByteCount::MAX,
            Duration::from_nanos(18_446_744_071_403_708_607),
        ),
        (BitRate::MAX, bytes(1), Duration::from_nanos(1)),
        (BitRate::ZERO, bytes(1), Duration::MAX),
        (BitRate::ZERO, ByteCount::ZERO, Duration::ZERO),
        (BitRate::from_mbit(1), ByteCount::ZERO, Duration::ZERO),
    ];
    for (rate, amount, time) in table {
        assert_eq!(rate.transmission_time(amount), time, "{amount} at {rate}");
    }
}

#[test]
fn mean_rates() {
    let second = Duration::from_secs(1);
    assert_eq!(BitRate::of(ByteCount::from_bytes(12_500_000), second), BitRate::from_mbit(100));
    assert_eq!(BitRate::of(ByteCount::MAX, Duration::from_nanos(1)), BitRate::MAX);
    assert_eq!(BitRate::of(ByteCount::from_bytes(1), Duration::ZERO), BitRate::MAX);
    assert_eq!(BitRate::of(ByteCount::ZERO, Duration::ZERO), BitRate::ZERO);
    assert_eq!(BitRate::from_mbit(100).bytes_in(second), ByteCount::from_bytes(12_500_000));
    assert_eq!(BitRate::MAX.bytes_in(Duration::MAX), ByteCount::MAX);
}

proptest! {
    /// The time is the shortest in which the amount passes.
    #[test]
    fn transmission_time_is_rounded_up(
        rate in prop_oneof![1..1_000_000_000_000u64, any::<u64>().prop_map(|r| r.max(1))],
        amount in prop_oneof![0..100_000u64, 2_305_843_000..2_305_844_000u64, any::<u64>()],
    ) {
        let time = BitRate::from_bits_per_second(rate).transmission_time(ByteCount::from_bytes(amount)).as_nanos();
        let bits = u128::from(amount) * 8 * 1_000_000_000;
        if time < u64::MAX {
            prop_assert!(u128::from(time) * u128::from(rate) >= bits);
        }
        if time > 0 {
            prop_assert!(u128::from(time - 1) * u128::from(rate) < bits);
        }
    }

    #[test]
    fn arithmetic_saturates(a: u64, b: u64) {
        let (x, y) = (ByteCount::from_bytes(a), ByteCount::from_bytes(b));
        prop_assert_eq!((x + y).as_bytes(), a.saturating_add(b));
        prop_assert_eq!((x - y).as_bytes(), a.saturating_sub(b));
        prop_assert_eq!((x * b).as_bytes(), a.saturating_mul(b));
        let (x, y) = (Duration::from_nanos(a), Duration::from_nanos(b));
        prop_assert_eq!((x + y).as_nanos(), a.saturating_add(b));
        prop_assert_eq!((x - y).as_nanos(), a.saturating_sub(b));
    }
}

#[test]
fn frequencies_have_periods() {
    let read = |text: &str| text.parse::<Frequency>().unwrap();
    for (text, period) in [
        ("10 Hz", Duration::from_millis(100)),
        ("29.97 Hz", Duration::from_nanos(33_366_700)),
        ("1.5 kHz", Duration::from_nanos(666_667)),
        ("0.000001 Hz", Duration::from_secs(1_000_000)),
        ("0 Hz", Duration::MAX),
        ("1000 MHz", Duration::from_nanos(1)),
        ("100000 MHz", Duration::from_nanos(1)),
    ] {
        assert_eq!(read(text).period(), period, "{text}");
        assert_eq!(read(text).to_string(), text);
    }
    assert!("10".parse::<Frequency>().is_err());
}
