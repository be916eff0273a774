//! Delivery stalls, as measured and by `sarwar` section V.

use polypath_units::{Duration, Instant};
use serde::Serialize;

use super::life::Life;
use super::model::{self, PathModel};

/// A stall: packets waited in the receive buffer for a missing one, and were delivered together with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stall {
    /// Arrival of the first of them.
    pub from: Instant,
    /// Arrival of the missing packet.
    pub until: Instant,
    /// Number of the missing packet.
    pub released_by: usize,
    /// The path on which it arrived.
    pub path: usize,
    /// Longest time from the arrival of a packet to its delivery.
    pub measured: Duration,
    /// The same by equation 3, from times of arrival alone.
    pub from_trace: Duration,
}

/// Delivery stalls. The length of a stall is the longest time for which a packet waited in the receive buffer.
///
/// `from_trace` computes it by equation 3 of `sarwar` from departures a and delays D of all packets, T_i = max(0,
/// max_{j<i}(a_j + D_j) - (a_i + D_i)), the maximum over the packets of the stall. It assumes one ordered stream; for
/// such data it agrees with the measured length.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct StallResult {
    /// Number of stalls.
    pub count: u64,
    /// Mean measured length.
    pub mean_s: Option<f64>,
    /// Longest measured length.
    pub max_s: Option<f64>,
    /// Time for which at least one packet waited.
    pub total_s: f64,
    /// Mean length by equation 3.
    pub from_trace_mean_s: Option<f64>,
    /// Longest length by equation 3.
    pub from_trace_max_s: Option<f64>,
    /// Largest difference between the measured length and that by equation 3.
    pub difference_max_s: Option<f64>,
    /// Mean blocking time by equations 2 and 3 with packets of constant size on links of constant rate, for each window
    /// of packets that the run sent, on the paths that it used.
    pub model_mean_s: Option<f64>,
    /// Longest of these blocking times.
    pub model_max_s: Option<f64>,
    /// Mean blocking time by equation 3 over the same windows, from the times of the run.
    pub window_mean_s: Option<f64>,
}

/// Stalls in the order of their packets, and the waiting time T_i of each packet.
///
/// A packet that never arrived causes no stall: later packets were delivered because it was abandoned, or never.
/// Packets that still wait at the end of the run are no stall, since its length is unknown.
pub(super) fn stalls(lives: &[Life]) -> (Vec<Stall>, Vec<Duration>) {
    let mut stalls: Vec<Stall> = Vec::new();
    let mut waits = Vec::with_capacity(lives.len());
    let mut latest: Option<(Instant, usize, usize)> = None;
    for (number, life) in lives.iter().enumerate() {
        let Some((arrived, path)) = life.received else {
            waits.push(Duration::ZERO);
            continue;
        };
        let wait = latest.map_or(Duration::ZERO, |(at, ..)| at.since(arrived));
        waits.push(wait);
        match latest {
            Some((until, released_by, path)) if until > arrived => {
                let Some(measured) = life.waiting() else { continue };
                match stalls.last_mut().filter(|stall| stall.released_by == released_by) {
                    Some(stall) => {
                        stall.from = stall.from.min(arrived);
                        stall.measured = stall.measured.max(measured);
                        stall.from_trace = stall.from_trace.max(wait);
                    }
                    None => stalls.push(Stall {
                        from: arrived,
                        until,
                        released_by,
                        path,
                        measured,
                        from_trace: wait,
                    }),
                }
            }
            _ => latest = Some((arrived, number, path)),
        }
    }
    (stalls, waits)
}

impl StallResult {
    /// The stalls of a run; `window` is the capacity of the receive buffer in packets.
    pub(super) fn of(
        lives: &[Life],
        found: &(Vec<Stall>, Vec<Duration>),
        paths: &[PathModel],
        window: usize,
    ) -> Self {
        let (stalls, waits) = found;
        let mean = |times: &mut dyn Iterator<Item = Duration>| {
            let times: Vec<f64> = times.map(Duration::as_secs_f64).collect();
            (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
        };
        let longest =
            |times: &mut dyn Iterator<Item = Duration>| times.max().map(Duration::as_secs_f64);
        let difference = |stall: &Stall| match stall.measured < stall.from_trace {
            true => stall.from_trace - stall.measured,
            false => stall.measured - stall.from_trace,
        };
        let order: Vec<usize> = lives.iter().map(|life| life.path).collect();
        let known = |order: &[usize]| order.iter().all(|path| *path < paths.len());
        let window = window.clamp(1, lives.len().max(1));
        let windows = order.chunks_exact(window).filter(|order| known(order));
        let model: Vec<Duration> =
            windows.map(|order| model::blocking_time(order, paths)).collect();
        Self {
            count: stalls.len() as u64,
            mean_s: mean(&mut stalls.iter().map(|stall| stall.measured)),
            max_s: longest(&mut stalls.iter().map(|stall| stall.measured)),
            total_s: covered(stalls.iter().map(|stall| (stall.from, stall.until))).as_secs_f64(),
            from_trace_mean_s: mean(&mut stalls.iter().map(|stall| stall.from_trace)),
            from_trace_max_s: longest(&mut stalls.iter().map(|stall| stall.from_trace)),
            difference_max_s: longest(&mut stalls.iter().map(difference)),
            model_mean_s: mean(&mut model.iter().copied()),
            model_max_s: longest(&mut model.iter().copied()),
            window_mean_s: mean(
                &mut waits
                    .chunks_exact(window)
                    .map(|waits| waits.iter().copied().max().unwrap_or_default()),
            ),
        }
    }
}

/// Time covered by at least one interval.
pub(super) fn covered(spans: impl Iterator<Item = (Instant, Instant)>) -> Duration {
    let mut sum = Duration::ZERO;
    for (from, until) in super::blocking::union(spans.collect()) {
        sum += until.since(from);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Packets of one ordered stream that arrived at these times on these paths.
    fn lives(arrivals: &[(u64, usize)]) -> Vec<Life> {
        let mut delivered = 0;
        let of = |&(ms, path): &(u64, usize)| {
            delivered = delivered.max(ms);
            Life {
                sent: at(0),
                path,
                received: Some((at(ms), path)),
                delivered: Some(at(delivered)),
                acked: None,
                again: 0,
            }
        };
        arrivals.iter().map(of).collect()
    }

    #[test]
    fn a_stall_lasts_from_the_first_that_waits_to_the_one_it_waits_for() {
        // A small example of `sarwar` fig. 5: packets 2 and 3 take the slow path.
        let lives = lives(&[(10, 0), (11, 0), (212, 1), (224, 1), (30, 0), (31, 0), (230, 0)]);
        let (stalls, waits) = stalls(&lives);
        let expected = Stall {
            from: at(30),
            until: at(224),
            released_by: 3,
            path: 1,
            measured: Duration::from_millis(194),
            from_trace: Duration::from_millis(194),
        };
        assert_eq!(stalls, [expected]);
        let waits: Vec<u64> = waits.iter().map(|wait| wait.as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 0, 194, 193, 0]);
    }

    #[test]
    fn what_waits_for_two_holes_leaves_with_the_later_one() {
        let lives = lives(&[(50, 1), (20, 0), (70, 1), (21, 0), (22, 0)]);
        let (stalls, _) = stalls(&lives);
        let spans: Vec<_> = stalls.iter().map(|s| (s.from, s.until, s.released_by)).collect();
        assert_eq!(spans, [(at(20), at(50), 0), (at(21), at(70), 2)]);
        let result = StallResult::of(&lives, &super::stalls(&lives), &[], 5);
        assert_eq!((result.count, result.max_s), (2, Some(0.049)));
        assert_eq!((result.total_s, result.difference_max_s), (0.05, Some(0.0)));
        assert_eq!((result.model_mean_s, result.window_mean_s), (None, Some(0.049)));
    }

    #[test]
    fn order_makes_no_stall_and_a_packet_that_never_comes_holds_nothing_up() {
        assert_eq!(stalls(&lives(&[(1, 0), (2, 1), (2, 0)])).0, []);
        assert_eq!(stalls(&[]).0, []);
        let mut lost = lives(&[(1, 0), (2, 1), (3, 0)]);
        lost[1].received = None;
        assert_eq!(stalls(&lost).0, []);
    }

    #[test]
    fn what_waits_at_the_end_is_no_stall() {
        let mut lives = lives(&[(30, 1), (20, 0), (90, 1), (70, 1), (60, 0)]);
        lives[2].received = None;
        for life in &mut lives[2..] {
            life.delivered = None;
        }
        let found = stalls(&lives);
        assert_eq!(found.0.iter().map(|stall| stall.released_by).collect::<Vec<_>>(), [0]);
        let result = StallResult::of(&lives, &found, &[], 5);
        assert_eq!((result.count, result.difference_max_s), (1, Some(0.0)));
    }
}
