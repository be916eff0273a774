//! Detection of path failures (`natarajan` fig. 2, 5 and 6).

use polypath_proto::PathStatus;
use polypath_units::Instant;
use serde::Serialize;

use super::life::Delivered;
use super::seconds;

/// An outage of a path, and its detection by the sender.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FailureResult {
    /// The path.
    pub path: String,
    /// Its number among the outages of the path, from 1.
    pub name: String,
    /// When the outage began.
    pub began_s: f64,
    /// First expiry of the path's T3-rtx after that.
    pub first_timeout_s: Option<f64>,
    /// When the path first became potentially failed after that.
    pub suspected_s: Option<f64>,
    /// When the path became inactive; none if that did not happen before the next outage of the path.
    pub detected_s: Option<f64>,
    /// From the beginning of the outage until then; 0 if the path was already inactive.
    pub detection_s: Option<f64>,
    /// User data delivered from the beginning of the run until the path became inactive.
    pub delivered_bytes: Option<u64>,
    /// User data delivered from the beginning of the outage until the path became inactive.
    pub delivered_since_bytes: Option<u64>,
    /// Goodput in that time.
    pub goodput_bit_s: Option<f64>,
}

/// Maximum number of outages per path in results.
const OUTAGES: usize = 16;

/// Events of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathEvents<'a> {
    pub name: &'a str,
    /// Beginnings of its outages, in order.
    pub outages: &'a [Instant],
    /// Expiries of its T3-rtx.
    pub timeouts: &'a [Instant],
    /// Changes of its state.
    pub states: &'a [(Instant, PathStatus)],
}

/// The first outages of a path, and their detection.
pub(super) fn failures(path: &PathEvents<'_>, delivered: &[Delivered]) -> Vec<FailureResult> {
    let bytes_until = |at: Instant| -> u64 {
        delivered.iter().filter(|message| message.at <= at).map(|message| message.bytes).sum()
    };
    let outage = |(index, &began): (usize, &Instant)| {
        let next = path.outages.get(index + 1).copied().unwrap_or(Instant::FAR_FUTURE);
        let after = |at: Instant| at >= began && at < next;
        let became = |status: PathStatus| {
            path.states.iter().find(|(at, is)| after(*at) && *is == status).map(|(at, _)| *at)
        };
        let before = path.states.iter().rev().find(|(at, _)| *at < began).map(|(_, is)| *is);
        let detected = match before {
            Some(PathStatus::Inactive) => Some(began),
            _ => became(PathStatus::Inactive),
        };
        let since = detected.map(|at| bytes_until(at).saturating_sub(bytes_until(began)));
        let took = detected.map(|at| at.since(began).as_secs_f64());
        let rate = |(bytes, took): (u64, f64)| (took > 0.0).then(|| 8.0 * bytes as f64 / took);
        FailureResult {
            path: path.name.to_owned(),
            name: (index + 1).to_string(),
            began_s: seconds(began),
            first_timeout_s: path.timeouts.iter().find(|at| after(**at)).map(|at| seconds(*at)),
            suspected_s: became(PathStatus::PotentiallyFailed).map(seconds),
            detected_s: detected.map(seconds),
            detection_s: took,
            delivered_bytes: detected.map(bytes_until),
            delivered_since_bytes: since,
            goodput_bit_s: since.zip(took).and_then(rate),
        }
    };
    path.outages.iter().enumerate().take(OUTAGES).map(outage).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_nanos(s * 1_000_000_000)
    }

    /// A message of 100 bytes every second.
    fn delivered() -> Vec<Delivered> {
        (1..=100).map(|s| Delivered { at: at(s), message: s, bytes: 100 }).collect()
    }

    #[test]
    fn an_outage_is_detected_when_its_path_becomes_inactive() {
        use PathStatus::{Active, Inactive, PotentiallyFailed};
        let events = PathEvents {
            name: "path 2",
            outages: &[at(10), at(40), at(60), at(80)],
            timeouts: &[at(3), at(11), at(13), at(81)],
            states: &[
                (at(1), Active),
                (at(11), PotentiallyFailed),
                (at(20), Inactive),
                (at(30), Active),
                (at(61), Inactive),
            ],
        };
        let found = failures(&events, &delivered());
        let [first, second, third, fourth] = &found[..] else { panic!("{found:?}") };
        assert_eq!((first.path.as_str(), first.name.as_str()), ("path 2", "1"));
        assert_eq!((first.first_timeout_s, first.suspected_s), (Some(11.0), Some(11.0)));
        assert_eq!((first.detected_s, first.detection_s), (Some(20.0), Some(10.0)));
        assert_eq!(
            (first.delivered_bytes, first.delivered_since_bytes),
            (Some(2_000), Some(1_000))
        );
        assert_eq!(first.goodput_bit_s, Some(800.0));
        assert_eq!((second.detected_s, second.delivered_bytes), (None, None));
        assert_eq!((third.detected_s, third.detection_s), (Some(61.0), Some(1.0)));
        // The path was still inactive.
        assert_eq!((fourth.detected_s, fourth.detection_s), (Some(80.0), Some(0.0)));
        assert_eq!((fourth.first_timeout_s, fourth.goodput_bit_s), (Some(81.0), None));
    }
}
