//! The time of day, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// As in `Sat, 21 Nov 2026 22:58:00 GMT`, which iperf3 writes.
pub(crate) fn long(seconds: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (year, month, day) = date(seconds / 86_400);
    let name = DAYS[(seconds / 86_400 % 7) as usize];
    let month = MONTHS[month as usize - 1];
    format!("{name}, {day:02} {month} {year} {} GMT", clock(seconds))
}

/// As in `2026-11-21T22:58:00Z`.
pub(crate) fn short(seconds: u64) -> String {
    let (year, month, day) = date(seconds / 86_400);
    format!("{year}-{month:02}-{day:02}T{}Z", clock(seconds))
}

fn clock(seconds: u64) -> String {
    let of_day = seconds % 86_400;
    format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

/// Year, month and day of the Gregorian calendar, from days since 1970. Years are taken to begin in March, so that the
/// day that some have and others do not is their last.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // Days since 0000-03-01.
    let days = days + 719_468;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
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
    }
}
