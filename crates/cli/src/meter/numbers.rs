//! Numbers as in iperf3: `64K` bytes are 65,536 and `10M` bit/s are 10,000,000.

use polypath_units::{BitRate, ByteCount, ParseError};

/// A number of bytes with a suffix K, M, G or T, each 1024 times the one before; or a quantity with its unit.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    match scaled(text, 1024.0) {
        Some(bytes) => Ok(bytes),
        None => text.parse::<ByteCount>().map(ByteCount::as_bytes).map_err(|e| beside(&e, 1024)),
    }
}

/// A rate in bit/s with a suffix K, M, G or T, each 1000 times the one before; or a quantity with its unit.
pub(crate) fn rate(text: &str) -> Result<BitRate, String> {
    match scaled(text, 1000.0) {
        Some(bits) => Ok(BitRate::from_bits_per_second(bits)),
        None => text.parse().map_err(|error: ParseError| beside(&error, 1000)),
    }
}

/// The error of a quantity that may also be a number with a suffix.
fn beside(error: &ParseError, step: u32) -> String {
    format!("{error}; or a number with K, M, G or T behind it (powers of {step}), or nothing")
}

/// A time in seconds, or a quantity with its unit.
pub(crate) fn time(text: &str) -> Result<std::time::Duration, String> {
    const LONGEST_S: f64 = 1e6;
    let text = text.trim();
    let seconds = match text.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => text
            .parse::<polypath_units::Duration>()
            .map_err(|error| format!("{error}; or a number of seconds"))?
            .as_secs_f64(),
    };
    if !(0.0..=LONGEST_S).contains(&seconds) {
        return Err(format!("`{text}` is not a time from 0 to {LONGEST_S} seconds"));
    }
    Ok(std::time::Duration::from_secs_f64(seconds))
}

/// The same of something to wait for, which takes a while.
pub(crate) fn patience(text: &str) -> Result<std::time::Duration, String> {
    match time(text)? {
        std::time::Duration::ZERO => Err("it must be more than 0 seconds".into()),
        time => Ok(time),
    }
}

fn scaled(text: &str, step: f64) -> Option<u64> {
    let text = text.trim();
    let (number, power) = match text.char_indices().next_back()? {
        (end, 'k' | 'K') => (&text[..end], 1),
        (end, 'm' | 'M') => (&text[..end], 2),
        (end, 'g' | 'G') => (&text[..end], 3),
        (end, 't' | 'T') => (&text[..end], 4),
        _ => (text, 0),
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value = number.parse::<f64>().ok().filter(|_| plain)? * step.powi(power);
    (value < 1e19).then_some(value.round() as u64)
}

/// Bytes as iperf3 prints them: `1.10 MBytes`.
pub(crate) fn show_bytes(bytes: u64) -> String {
    let names = ["Bytes", "KBytes", "MBytes", "GBytes", "TBytes"];
    show(bytes as f64, 1024.0, names)
}

/// A rate as iperf3 prints it: `94.2 Mbits/sec`.
pub(crate) fn show_rate(bit_s: f64) -> String {
    let names = ["bits/sec", "Kbits/sec", "Mbits/sec", "Gbits/sec", "Tbits/sec"];
    show(bit_s, 1000.0, names)
}

fn show(mut value: f64, step: f64, names: [&str; 5]) -> String {
    let mut unit = 0;
    while value >= step && unit + 1 < names.len() {
        value /= step;
        unit += 1;
    }
    let places = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.places$} {}", names[unit])
}

/// Minimum memory for the data of all peers.
const MIN_MEMORY: u64 = 1 << 20;

/// Memory for the data of all peers of a server.
pub(crate) fn memory(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    match size.as_bytes() >= MIN_MEMORY {
        true => Ok(size),
        false => Err(format!("at least {} MiB are needed", MIN_MEMORY >> 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_those_of_iperf3() {
        for (text, expected) in
            [("1400", 1400), ("64K", 65_536), ("64k", 65_536), ("1.5M", 1_572_864), ("1G", 1 << 30)]
        {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        assert_eq!(bytes("2 kB"), Ok(2000));
        for (text, expected) in
            [("10M", 10_000_000), ("1.5k", 1500), ("0", 0), ("1 Gbit/s", 1_000_000_000)]
        {
            assert_eq!(rate(text), Ok(BitRate::from_bits_per_second(expected)), "{text}");
        }
        for wrong in ["", "K", "x", "-1", "1e5", "inf", "NaN", "99999999999T"] {
            assert!(bytes(wrong).is_err() && rate(wrong).is_err(), "{wrong}");
        }
        assert!(rate("10X").unwrap_err().contains("K, M, G or T behind it (powers of 1000)"));
        assert!(bytes("10X").unwrap_err().contains("K, M, G or T behind it (powers of 1024)"));
    }

    #[test]
    fn times_are_seconds_unless_they_say_otherwise() {
        assert_eq!(time("10").unwrap().as_millis(), 10_000);
        assert_eq!(time("0.5").unwrap().as_millis(), 500);
        assert_eq!(time("250 ms").unwrap().as_millis(), 250);
        assert!(time("soon").unwrap_err().contains("or a number of seconds"), "{:?}", time("soon"));
        for wrong in ["-1", "NaN", "1e9", "soon", "inf"] {
            assert!(time(wrong).is_err(), "{wrong}");
            assert!(patience(wrong).is_err(), "{wrong}");
        }
        assert_eq!(patience("0.5"), time("0.5"));
        assert!(time("0").is_ok() && patience("0").is_err());
    }

    #[test]
    fn three_digits_are_shown() {
        assert_eq!(show_bytes(999), "999 Bytes");
        assert_eq!(show_bytes(1_153_434), "1.10 MBytes");
        assert_eq!(show_bytes(0), "0.00 Bytes");
        assert_eq!(show_rate(94_249_000.0), "94.2 Mbits/sec");
        assert_eq!(show_rate(941.7e6), "942 Mbits/sec");
        assert_eq!(show_rate(9.4e9), "9.40 Gbits/sec");
    }
}
