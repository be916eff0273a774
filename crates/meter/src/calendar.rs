//! The time of day, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// As in `Sat, 21 Nov 2026 22:58:00 GMT`, which iperf3 writes.
pub(crate) fn long(seconds: u64) -> String {
    at(seconds).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// As in `2026-11-21T22:58:00Z`.
pub(crate) fn short(seconds: u64) -> String {
    at(seconds).to_string()
}

/// A time of day; the last one of the year 9999 for all that are later.
fn at(seconds: u64) -> Timestamp {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_their_dates() {
        for (seconds, expected) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_795_301_880, "Sat, 21 Nov 2026 22:58:00 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        ] {
            assert_eq!(long(seconds), expected);
        }
        assert_eq!(short(1_795_301_880), "2026-11-21T22:58:00Z");
        assert!(long(u64::MAX).contains(" 9999 "));
    }
}
