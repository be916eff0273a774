//! Points in time at the ends of the clock, and how much room they take.

use polypath_units::{Duration, Instant};

#[test]
fn an_instant_that_may_be_missing_takes_no_more_room() {
    assert_eq!(size_of::<Option<Instant>>(), size_of::<u64>());
}

#[test]
fn nanoseconds_are_kept() {
    for nanos in [0, 1, 2, 1 << 32, u64::MAX - 2, u64::MAX - 1] {
        assert_eq!(Instant::from_nanos(nanos).as_nanos(), nanos);
    }
    assert_eq!(Instant::default(), Instant::from_nanos(0));
    assert_eq!(Instant::from_nanos(u64::MAX), Instant::FAR_FUTURE);
    assert_eq!(format!("{:?}", Instant::from_nanos(7)), "Instant(7)");
}

#[test]
fn arithmetic_ends_at_the_ends() {
    let (zero, second, at) =
        (Instant::ZERO, Duration::from_secs(1), |nanos| Instant::from_nanos(nanos));
    for (what, is, expected) in [
        ("later", at(5) + second, at(1_000_000_005)),
        ("never gets later", Instant::FAR_FUTURE + second, Instant::FAR_FUTURE),
        ("a step beyond the end", at(u64::MAX - 3) + second, Instant::FAR_FUTURE),
        ("earlier", at(1_000_000_005) - second, at(5)),
        ("to the origin", at(1_000_000_000) - second, zero),
        ("before the origin", at(999_999_999) - second, zero),
        ("nothing from the origin", zero - Duration::ZERO, zero),
    ] {
        assert_eq!(is, expected, "{what}");
    }
    assert_eq!(Instant::FAR_FUTURE.since(zero).as_nanos(), u64::MAX - 1);
    assert_eq!(zero.since(Instant::FAR_FUTURE), Duration::ZERO);
    assert!(zero < at(1) && at(1) < Instant::FAR_FUTURE);
}
