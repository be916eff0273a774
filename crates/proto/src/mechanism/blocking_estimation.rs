//! Blocking estimation: new data keeps off a path on which it would arrive so late that a quicker path had filled the
//! buffers by then, and a path that blocks a quicker one all the same loses half its window.
//!
//! The estimate is that of Ferlin, Alay, Mehani, Boreli 2016 ("BLEST: Blocking estimation-based MPTCP scheduler for
//! heterogeneous networks", section III), the penalty that of Raiciu et al. 2012 ("How hard can it be?", section 4.2), with
//! paths in the place of subflows. What waits for the slow path's chunk takes room in the buffers for a round trip of that
//! path. If what the quicker path could send in that time has no room beside what is in flight on the slow one, the chunk
//! waits for the quicker path.
//!
//! BLEST takes the window of the quicker path for what it could send. But a path that was blocked never grew the window
//! that it would have alone, so here the window counts only where a queue shows that the path is full.

use crate::Duration;

/// Packets that may be acknowledged on a path without telling its round trip before it is tried with more.
pub(crate) const MOST_TRIES: u64 = 10;

/// How much quicker a path is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lead {
    /// Not at all, or by less than round trips vary: up to a thirty-second.
    None,
    /// By up to an eighth.
    Small,
    /// By more.
    Clear,
}

/// What is known of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PathView {
    /// Its congestion window in bytes.
    pub(crate) cwnd: u64,
    /// Its slow-start threshold in bytes.
    pub(crate) ssthresh: u64,
    /// Its smoothed round-trip time.
    pub(crate) srtt: Duration,
    /// The smallest one that was measured.
    pub(crate) smallest_rtt: Duration,
}

impl PathView {
    /// Whether packets wait in a queue of the path: then a larger window would not make it faster.
    pub(crate) fn is_full(&self) -> bool {
        self.srtt > self.smallest_rtt + self.smallest_rtt / 2
    }

    /// What it could have in flight with a buffer of this size for itself.
    fn could_send(&self, buffer: u64) -> u64 {
        if self.is_full() {
            self.cwnd
        } else if self.cwnd < self.ssthresh {
            buffer.max(self.cwnd)
        } else {
            self.cwnd.saturating_add(self.cwnd / 4).min(buffer).max(self.cwnd)
        }
    }

    /// What it could send in a time, in bytes.
    fn sends_in(&self, time: Duration, buffer: u64) -> u128 {
        let srtt = u128::from(self.srtt.as_nanos().max(1));
        let bytes = u128::from(self.could_send(buffer)) * u128::from(time.as_nanos()) / srtt;
        if self.is_full() || self.cwnd >= self.ssthresh {
            return bytes;
        }
        // In slow start a window doubles with each round trip, and no faster.
        let round_trips = u128::from(time.as_nanos()).div_ceil(srtt).min(62) as u32;
        bytes.min(u128::from(self.cwnd) << (round_trips + 1))
    }

    /// Whether a round trip of `rtt` is clearly longer than one of this path.
    pub(crate) fn is_quicker_than(&self, rtt: Duration) -> bool {
        self.lead_over(rtt) == Lead::Clear
    }

    /// How much shorter a round trip of this path is than `rtt`.
    fn lead_over(&self, rtt: Duration) -> Lead {
        if rtt > self.srtt + self.srtt / 8 {
            Lead::Clear
        } else if rtt > self.srtt + self.srtt / 32 {
            Lead::Small
        } else {
            Lead::None
        }
    }

    /// What it would carry alone, in bytes per second.
    pub(crate) fn alone(&self, buffer: u64) -> u128 {
        self.sends_in(Duration::from_secs(1), buffer)
    }
}

/// The path that could take a chunk, in bytes of user data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SlowPath {
    /// Its round-trip time.
    pub(crate) rtt: Duration,
    /// In flight on it.
    pub(crate) in_flight: u64,
    /// Length of the chunk.
    pub(crate) chunk: u64,
    /// The buffer that would fill.
    pub(crate) buffer: u64,
    pub(crate) waits: Waits,
}

/// What waits for the chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waits {
    /// All that is sent later: the message is ordered, or the chunk is a part of it.
    Everything,
    /// Nothing; but the chunk takes room until it has arrived, and a quicker path needs as much as it can have in flight.
    Nothing,
}

/// The round-trip time that a chunk would meet on a path with so much in flight, the chunk included: the smallest one, or
/// what the path needs for all of that at the rate of a window per round trip. With nothing in flight nothing of ours
/// waits there, whatever it was when the smoothed one was measured.
pub(crate) fn expected_rtt(path: &PathView, flight: u64, chunk: u64) -> Duration {
    let (smallest, srtt) = (path.smallest_rtt, path.srtt);
    if flight == 0 || srtt <= smallest {
        return smallest;
    }
    let bytes = u128::from(flight.saturating_add(chunk));
    let time = bytes * u128::from(srtt.as_nanos()) / u128::from(path.cwnd.max(1));
    let time = u64::try_from(time).unwrap_or(u64::MAX);
    Duration::from_nanos(time).min(srtt).max(smallest)
}

/// Whether the quicker of the other paths would fill the buffer while the chunk is on its way.
///
/// A path that is only a little quicker has to show that it would: a full buffer makes every transfer as slow as its longest
/// round trip, but what a window could grow to counts only where the difference is clear.
pub(crate) fn would_block(path: &SlowPath, others: impl Iterator<Item = PathView>) -> bool {
    let mut meanwhile = 0u128;
    for other in others {
        let room = match other.lead_over(path.rtt) {
            Lead::Clear => path.buffer,
            Lead::Small => 0,
            Lead::None => continue,
        };
        let time = match path.waits {
            Waits::Everything => path.rtt,
            Waits::Nothing => other.srtt,
        };
        meanwhile = meanwhile.saturating_add(other.sends_in(time, room));
    }
    let own = u128::from(path.in_flight) + u128::from(path.chunk);
    meanwhile > 0 && meanwhile.saturating_add(own) > u128::from(path.buffer)
}

/// Congestion window of a path that blocked a quicker one.
pub(crate) fn penalized(cwnd: u64, unit: u64) -> u64 {
    (cwnd / 2).max(unit.min(cwnd))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// 100 Mbit/s with 10 ms, of which 5 ms are a queue.
    const FULL: PathView =
        PathView { cwnd: 125_000, ssthresh: 60_000, srtt: ms(10), smallest_rtt: ms(5) };

    #[test]
    fn a_slow_path_gets_what_the_quick_ones_leave() {
        let alike = PathView { srtt: ms(390), smallest_rtt: ms(200), ..FULL };
        let endless = PathView { cwnd: u64::MAX, srtt: ms(0), ..FULL };
        for (what, others, in_flight, buffer, blocks) in [
            ("nobody is quicker", &[][..], 60_000, 64_000, false),
            ("paths alike are no reason to wait", &[alike], 60_000, 1_000, false),
            ("a small buffer is the quick path's", &[FULL], 0, 64_000, true),
            ("a byte too little: 5 MB pass meanwhile", &[FULL], 0, 5_001_399, true),
            ("a chunk fits", &[FULL], 0, 5_001_400, false),
            ("but no more", &[FULL], 1_400, 5_001_400, true),
            ("two quick ones", &[FULL, FULL], 0, 8_000_000, true),
            ("windows without limit", &[endless], 0, u64::MAX, true),
        ] {
            let waits = Waits::Everything;
            let path = SlowPath { rtt: ms(400), in_flight, chunk: 1400, buffer, waits };
            assert_eq!(would_block(&path, others.iter().copied()), blocks, "{what}");
        }
    }

    #[test]
    fn who_is_a_little_quicker_has_to_have_the_window() {
        // 100 Mbit/s with 20 ms and nothing in its queue, 60 kB of them sent.
        let held_up = PathView { cwnd: 60_000, ssthresh: 1, srtt: ms(20), smallest_rtt: ms(20) };
        let grown = PathView { cwnd: 100_000, ..held_up };
        let starting = PathView { ssthresh: u64::MAX, ..held_up };
        for (what, other, rtt_us, blocks) in [
            ("alike", grown, 20_600, false),
            ("a little quicker, and its window fills the buffer", grown, 21_000, true),
            ("a little quicker, and its window may never", held_up, 21_000, false),
            ("clearly quicker, in slow start: it would have grown", starting, 23_000, true),
            ("clearly quicker, but a loss has told what it carries", held_up, 23_000, false),
        ] {
            let rtt = Duration::from_micros(rtt_us);
            let waits = Waits::Everything;
            let path = SlowPath { rtt, in_flight: 28_000, chunk: 1400, buffer: 128_000, waits };
            assert_eq!(would_block(&path, [other].into_iter()), blocks, "{what}");
        }
    }

    #[test]
    fn a_window_that_was_held_back_says_little() {
        let empty = PathView { smallest_rtt: ms(10), ..FULL };
        let slow_start = PathView { ssthresh: u64::MAX, ..empty };
        for (what, path, buffer, bytes) in [
            ("its queue says that it is full", FULL, 1_000_000, 125_000),
            ("a quarter more than the window after a loss", empty, 1_000_000, 156_250),
            ("never more than the buffer", empty, 130_000, 130_000),
            ("all of it in slow start", slow_start, 400_000, 400_000),
        ] {
            assert_eq!(path.sends_in(ms(10), buffer), bytes, "{what}");
            assert_eq!(path.alone(buffer), bytes * 100, "{what}");
        }
        for (round_trips, bytes) in [(1, 500_000), (2, 1_000_000), (3, 2_000_000)] {
            assert_eq!(slow_start.sends_in(ms(10 * round_trips), u64::MAX), bytes, "doubled");
        }
    }

    #[test]
    fn a_path_is_as_slow_as_what_is_on_it() {
        let path = PathView { cwnd: 100_000, ssthresh: 0, srtt: ms(200), smallest_rtt: ms(20) };
        for (flight, expected) in
            [(0, 20), (4000, 20), (49_000, 100), (99_000, 200), (500_000, 200), (u64::MAX, 200)]
        {
            assert_eq!(expected_rtt(&path, flight, 1000), ms(expected), "{flight}");
        }
        let steady = PathView { smallest_rtt: ms(200), ..path };
        assert_eq!(expected_rtt(&steady, 4000, 1000), ms(200));
    }

    #[test]
    fn a_penalty_leaves_a_packet() {
        for (cwnd, expected) in [(60_000, 30_000), (2000, 1468), (1468, 1468), (1000, 1000)] {
            assert_eq!(penalized(cwnd, 1468), expected);
        }
    }
}
