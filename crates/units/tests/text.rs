//! Reading and printing of quantities: tables, error messages, round trips.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant, ParseError};
use proptest::prelude::*;

/// Each text reads as the value.
fn reads<T: FromStr<Err = ParseError> + PartialEq + Debug>(table: &[(&str, T)]) {
    for (text, value) in table {
        assert_eq!(text.parse().as_ref(), Ok(value), "{text}");
    }
}

/// Each value prints as the text and reads back.
fn prints<T: FromStr<Err = ParseError> + Display + PartialEq + Debug>(table: &[(T, &str)]) {
    for (value, text) in table {
        assert_eq!(value.to_string(), *text);
        assert_eq!(text.parse().as_ref(), Ok(value), "{text}");
    }
}

fn error<T: FromStr<Err = ParseError> + Debug>(text: &str) -> String {
    text.parse::<T>().unwrap_err().to_string()
}

#[test]
fn durations() {
    let ns = Duration::from_nanos;
    reads(&[
        ("45 ms", ns(45_000_000)),
        ("45ms", ns(45_000_000)),
        ("  0.5 s ", ns(500_000_000)),
        ("1.25 us", ns(1_250)),
        ("3 µs", ns(3_000)),
        ("7 ns", ns(7)),
        ("2 min", ns(120_000_000_000)),
        ("1.5 h", ns(5_400_000_000_000)),
        ("1e3 ms", ns(1_000_000_000)),
        ("2.5E-3 s", ns(2_500_000)),
        ("0 s", ns(0)),
        ("0.000 ns", ns(0)),
        ("18446744073709551615 ns", Duration::MAX),
    ]);
    prints(&[
        (ns(0), "0 s"),
        (ns(1), "1 ns"),
        (ns(999), "999 ns"),
        (ns(1_000), "1 us"),
        (ns(1_250), "1.25 us"),
        (ns(45_000_000), "45 ms"),
        (ns(123_456_789), "123.456789 ms"),
        (ns(1_000_000_001), "1.000000001 s"),
        (Duration::from_secs(7_200), "7200 s"),
        (Duration::MAX, "18446744073.709551615 s"),
    ]);
    assert_eq!(Instant::from_nanos(5_000_000_000).to_string(), "5 s");
    assert_eq!("5 s".parse(), Ok(Instant::from_nanos(5_000_000_000)));
}

#[test]
fn byte_counts() {
    let b = ByteCount::from_bytes;
    reads(&[
        ("64 KiB", b(65_536)),
        ("512 KB", b(512_000)),
        ("512 kB", b(512_000)),
        ("1.5 KiB", b(1_536)),
        ("0.0009765625 KiB", b(1)),
        ("16 MiB", b(16 << 20)),
        ("5e6 B", b(5_000_000)),
        ("2 GB", b(2_000_000_000)),
        ("2 GiB", b(2 << 30)),
        ("1 TB", b(1_000_000_000_000)),
        ("1 TiB", b(1 << 40)),
        ("16777215 TiB", b(16_777_215 << 40)),
    ]);
    prints(&[
        (b(0), "0 B"),
        (b(1), "1 B"),
        (b(1_452), "1452 B"),
        (b(1_500), "1500 B"),
        (b(65_536), "64 KiB"),
        (b(512_000), "512 kB"),
        (b(5_000_000), "5 MB"),
        (b(8_388_608), "8 MiB"),
        (b(3 << 40), "3 TiB"),
        (ByteCount::MAX, "18446744073709551615 B"),
    ]);
}

#[test]
fn bit_rates() {
    let r = BitRate::from_bits_per_second;
    reads(&[
        ("100 Mbit/s", r(100_000_000)),
        ("0.5 Mbit/s", r(500_000)),
        ("64kbit/s", r(64_000)),
        ("9600 bit/s", r(9_600)),
        ("2.5 Gbit/s", r(2_500_000_000)),
        ("1 Tbit/s", r(1_000_000_000_000)),
        ("0 bit/s", r(0)),
    ]);
    prints(&[
        (r(0), "0 bit/s"),
        (r(999), "999 bit/s"),
        (r(1_500), "1.5 kbit/s"),
        (r(100_000_000), "100 Mbit/s"),
        (r(96_351_234), "96.351234 Mbit/s"),
        (r(2_500_000_000), "2.5 Gbit/s"),
        (BitRate::MAX, "18446744.073709551615 Tbit/s"),
    ]);
}

#[test]
fn fractions() {
    let f = |value| Fraction::from_f64(value).unwrap();
    reads(&[
        ("1 %", Fraction::from_percent(1)),
        ("0.01", Fraction::from_percent(1)),
        ("0.5%", f(0.005)),
        ("100 %", Fraction::ONE),
        ("1", Fraction::ONE),
        ("1.000", Fraction::ONE),
        ("0", Fraction::ZERO),
        ("1e-7", f(1e-7)),
        ("2e-16 %", "2e-18".parse().unwrap()),
    ]);
    prints(&[
        (Fraction::ZERO, "0 %"),
        (Fraction::ONE, "100 %"),
        (f(0.01), "1 %"),
        (f(0.025), "2.5 %"),
        (f(0.0001), "0.01 %"),
        (f(0.00001), "1e-5"),
        ("1.25e-7".parse().unwrap(), "1.25e-7"),
        ("1e-18".parse().unwrap(), "1e-18"),
    ]);
    assert_eq!(Fraction::from_percent(25).of_u64_range(), 1 << 62);
    assert_eq!(Fraction::ONE.of_u64_range(), 1 << 64);
    for wrong in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(Fraction::from_f64(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn errors_say_what_to_write() {
    assert_eq!(
        error::<BitRate>("100"),
        "`100` has no unit: write a data rate like `100 Mbit/s` (units: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s)"
    );
    assert_eq!(
        error::<BitRate>("100 mbit/s"),
        "`100 mbit/s`: `mbit/s` is not a unit of a data rate, did you mean `Mbit/s`?; \
         units: bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"
    );
    assert_eq!(
        error::<Duration>("fast"),
        "`fast` is not a time: it has to begin with a number, for example `45 ms`"
    );
    assert_eq!(
        error::<Duration>("0.5 ns"),
        "`0.5 ns` is too fine: a time is a whole number of nanoseconds"
    );
    assert_eq!(
        error::<Duration>("600 000 h"),
        "`600 000 h`: `000 h` is not a unit of a time; units: ns, us, µs, ms, s, min, h"
    );
    assert_eq!(
        error::<Duration>("1e10 h"),
        "`1e10 h` is too large: a time is at most 18446744073.709551615 s"
    );
    assert_eq!(
        error::<Fraction>("101 %"),
        "`101 %` is too large: a fraction is at most 1 (or 100 %)"
    );
    assert_eq!(
        error::<Fraction>("1e-19"),
        "`1e-19` is too fine: a fraction is a whole number of 1e-18"
    );
}

#[test]
fn suggestions_know_usual_mistakes() {
    let suggestion = |error: String| {
        error.split("did you mean `").nth(1).map(|rest| rest[..rest.find('`').unwrap()].to_owned())
    };
    let table = [
        (error::<BitRate>("5 Mbps"), Some("Mbit/s")),
        (error::<BitRate>("5 MBit/s"), Some("Mbit/s")),
        (error::<BitRate>("5 Kbit/s"), Some("kbit/s")),
        (error::<BitRate>("5 parsec"), None),
        (error::<Duration>("5 sec"), Some("s")),
        (error::<Duration>("5 MS"), Some("ms")),
        (error::<Duration>("5 \u{3bc}s"), Some("us")),
        (error::<ByteCount>("5 kib"), Some("KiB")),
        (error::<ByteCount>("5 bytes"), Some("B")),
        (error::<Fraction>("5 percent"), Some("%")),
    ];
    for (message, unit) in table {
        assert_eq!(suggestion(message.clone()).as_deref(), unit, "{message}");
    }
}

#[test]
fn what_is_no_quantity_is_refused() {
    for text in [
        "", " ", "-5 s", "+5 s", ".5 s", "5. s", "5 s s", "5,5 s", "1e s", "1e- s", "0x10 s",
        "٣ s", "NaN", "inf s",
    ] {
        assert!(text.parse::<Duration>().is_err(), "{text:?}");
    }
    let long = format!("{}.{} s", "9".repeat(5_000), "9".repeat(5_000));
    assert!(long.parse::<Duration>().is_err());
    assert!("1e99999999999999999999 s".parse::<Duration>().is_err());
    assert!("1e-99999999999999999999 s".parse::<Duration>().is_err());
    assert_eq!("0e99999999999999999999 s".parse(), Ok(Duration::ZERO));
    assert_eq!(
        format!("1{} s", ".".to_owned() + &"0".repeat(5_000)).parse(),
        Ok(Duration::from_secs(1))
    );
}

#[test]
fn padding_applies_to_the_whole_text() {
    assert_eq!(format!("[{:>8}]", Duration::from_millis(5)), "[    5 ms]");
    assert_eq!(format!("[{:<8}]", ByteCount::from_bytes(64 << 10)), "[64 KiB  ]");
}

#[cfg(feature = "serde")]
#[test]
fn files_hold_text() {
    let json = |text: &str| serde_json::from_str::<BitRate>(text);
    assert_eq!(json("\"100 Mbit/s\"").unwrap(), BitRate::from_mbit(100));
    assert_eq!(serde_json::to_string(&BitRate::from_mbit(100)).unwrap(), "\"100 Mbit/s\"");
    let number = json("100").unwrap_err().to_string();
    assert!(
        number.contains("expected a data rate as text, for example \"100 Mbit/s\""),
        "{number}"
    );
    let unit = json("\"100 Mbps\"").unwrap_err().to_string();
    assert!(unit.contains("did you mean `Mbit/s`?"), "{unit}");

    let fraction = |text: &str| serde_json::from_str::<Fraction>(text);
    for text in ["\"1 %\"", "\"1%\"", "\"1e-2\""] {
        assert_eq!(fraction(text).unwrap(), Fraction::from_percent(1), "{text}");
    }
    // Without a unit, one per cent and all of it look alike.
    for text in ["1", "0.01", "1e-2", "\"0.01\"", "\"1\"", "\"0\"", "\"2 %%\"", "\"101 %\"", "true"]
    {
        assert!(fraction(text).is_err(), "{text}");
    }
}

#[test]
fn any_kind_of_space_separates_a_number_from_its_unit() {
    // As in texts that keep the two on one line, from which they are copied.
    assert_eq!("10\u{a0}GB".parse(), Ok(ByteCount::from_bytes(10_000_000_000)));
    assert_eq!("200\u{202f}ms".parse(), Ok(Duration::from_millis(200)));
}

proptest! {
    #[test]
    fn every_value_survives_its_text(n in prop_oneof![any::<u64>(), 0..10_000u64, (0..20u32).prop_map(|p| 10u64.pow(p.min(19)))]) {
        prop_assert_eq!(Duration::from_nanos(n).to_string().parse(), Ok(Duration::from_nanos(n)));
        prop_assert_eq!(Instant::from_nanos(n).to_string().parse(), Ok(Instant::from_nanos(n)));
        prop_assert_eq!(ByteCount::from_bytes(n).to_string().parse(), Ok(ByteCount::from_bytes(n)));
        prop_assert_eq!(BitRate::from_bits_per_second(n).to_string().parse(), Ok(BitRate::from_bits_per_second(n)));
    }

    #[test]
    fn every_fraction_survives_its_text(p in 0.0..=1.0f64, scale in 0..18i32) {
        let fraction = Fraction::from_f64(p * 10f64.powi(-scale)).unwrap();
        prop_assert_eq!(fraction.to_string().parse(), Ok(fraction));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn every_value_survives_a_file(n: u64, p in 0.0..=1.0f64) {
        let all = (Duration::from_nanos(n), ByteCount::from_bytes(n), BitRate::from_bits_per_second(n), Fraction::from_f64(p).unwrap());
        let text = serde_json::to_string(&all).unwrap();
        prop_assert_eq!(serde_json::from_str::<(Duration, ByteCount, BitRate, Fraction)>(&text).unwrap(), all);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,30}", number in "[0-9]{0,45}(\\.[0-9]{0,45})?([eE][+-]?[0-9]{0,25})? ?(s|KiB|%|bit/s)?") {
        for text in [text, number] {
            let _ = (text.parse::<Duration>(), text.parse::<ByteCount>(), text.parse::<BitRate>(), text.parse::<Fraction>());
        }
    }

    /// A decimal number reads as what the same number of thousandths is.
    #[test]
    fn decimals_are_exact(whole in 0..1_000_000u64, thousandths in 0..1_000u64) {
        let value = whole * 1_000 + thousandths;
        prop_assert_eq!(format!("{whole}.{thousandths:03} us").parse(), Ok(Duration::from_nanos(value)));
        prop_assert_eq!(format!("{value}e-3 us").parse(), Ok(Duration::from_nanos(value)));
        prop_assert_eq!(format!("{whole}.{thousandths:03} kbit/s").parse(), Ok(BitRate::from_bits_per_second(value)));
    }
}
