//! Times in words.

use polypath_lab::run::Cost;

/// Seconds, minutes or hours.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.1} s"),
        s if s < 5400.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// The processors on which runs take the estimated time.
pub(crate) fn threads(cost: &Cost, count: usize) -> String {
    let threads = match count {
        1 => "1 thread".to_owned(),
        count => format!("{count} threads"),
    };
    match cost.real_s {
        0.0 => threads,
        real if real < cost.core_s => {
            format!("{threads}, and in real time one run after the other")
        }
        _ => "a test bed, one run after the other".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_in_real_time_are_said_to_come_one_after_the_other() {
        let cost = |core_s, real_s| Cost { core_s, real_s, ..Cost::default() };
        assert_eq!(threads(&cost(4.0, 0.0), 2), "2 threads");
        assert_eq!(threads(&cost(0.0, 0.0), 1), "1 thread");
        assert!(threads(&cost(4.0, 1.0), 2).starts_with("2 threads, and in real time"));
        assert_eq!(threads(&cost(4.0, 4.0), 2), "a test bed, one run after the other");
    }
}
