//! Times for which buffers blocked the sender, and what it waited for.

use polypath_proto::{BlockedCause, PathId};
use polypath_units::{Duration, Instant};
use serde::Serialize;

use super::chunks::{Chunks, Sent};
use super::total;

/// A cause of blocking that a larger buffer would remove.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Full {
    /// The peer's receive window.
    PeerWindow,
    /// The shares of the paths in a buffer.
    BufferShare,
    /// The send buffer.
    SendBuffer,
}

/// What the sender waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Hold {
    pub full: Full,
    /// The lowest outstanding chunk, with the paths of its last and of its first transmission.
    pub waits_for: Option<(usize, PathId, PathId)>,
}

/// A time for which one cause blocked the sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Blocked {
    pub from: Instant,
    pub until: Instant,
    pub hold: Hold,
}

/// The causes that blocked the sender, with their times.
#[derive(Debug, Default)]
pub(super) struct BlockedLog {
    over: Vec<Blocked>,
    current: Option<(Instant, Hold)>,
    /// Least that was left of the peer's window while it held the sender.
    least_window: Option<u64>,
}

impl Hold {
    /// The blocking of a sender by `cause`, while `lowest` is its lowest outstanding chunk.
    pub fn of(cause: Option<BlockedCause>, lowest: Option<(usize, Sent)>) -> Option<Self> {
        let full = match cause? {
            BlockedCause::PeerWindow => Full::PeerWindow,
            BlockedCause::BufferShare => Full::BufferShare,
            BlockedCause::SendBuffer => Full::SendBuffer,
            _ => return None,
        };
        let waits_for = lowest.map(|(chunk, sent)| (chunk, sent.last_path, sent.first_path));
        Some(Self { full, waits_for })
    }
}

impl BlockedLog {
    /// Sets the blocking from `now` on.
    pub fn set(&mut self, now: Instant, hold: Option<Hold>) {
        if self.current.map(|(_, hold)| hold) == hold {
            return;
        }
        if let Some((from, hold)) = self.current.filter(|(from, _)| *from < now) {
            self.over.push(Blocked { from, until: now, hold });
        }
        self.current = hold.map(|hold| (now, hold));
    }

    /// This many bytes are left of the peer's window.
    pub fn note_window(&mut self, bytes: u64) {
        if self.current.is_some_and(|(_, hold)| hold.full == Full::PeerWindow) {
            self.least_window = Some(self.least_window.map_or(bytes, |least| least.min(bytes)));
        }
    }

    /// All blocked times up to `now`, in order.
    pub fn until(&self, now: Instant) -> Vec<Blocked> {
        let current = self.current.filter(|(from, _)| *from < now);
        let current = current.map(|(from, hold)| Blocked { from, until: now, hold });
        self.over.iter().copied().chain(current).collect()
    }
}

/// Times for which full buffers blocked the sender.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BlockingResult {
    /// The peer's receive window was full.
    pub peer_window_s: f64,
    /// Number of these times.
    pub peer_window_count: u64,
    /// Longest of these times.
    pub peer_window_longest_s: f64,
    /// Least that was left of the peer's window while it blocked the sender, in bytes.
    pub peer_window_least_bytes: Option<u64>,
    /// The part of them in timeout recoveries (`natarajan` fig. 9 and 11): from a transmission whose loss a timer
    /// detected first until its TSN was acknowledged or abandoned.
    pub peer_window_in_timeout_recovery_s: f64,
    /// The send buffer was full of unacknowledged data.
    pub send_buffer_s: f64,
    /// The part of them in timeout recoveries.
    pub send_buffer_in_timeout_recovery_s: f64,
    /// Paths that had free congestion windows had used up their shares of the buffers.
    pub buffer_share_s: f64,
    /// Total time of timeout recoveries, blocked or not.
    pub timeout_recovery_s: f64,
}

/// Times for which full buffers blocked the sender while it waited for a TSN, by path of that TSN.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PathBlockingResult {
    /// The peer's receive window was full, and the path carried the last transmission of the TSN.
    pub peer_window_s: f64,
    /// The peer's receive window was full, and the path carried the first transmission of the TSN.
    pub peer_window_sent_first_s: f64,
    /// The send buffer was full, and the path carried the last transmission of the TSN.
    pub send_buffer_s: f64,
    /// The send buffer was full, and the path carried the first transmission of the TSN.
    pub send_buffer_sent_first_s: f64,
}

impl BlockingResult {
    pub(super) fn of(log: &BlockedLog, chunks: &Chunks, end: Instant) -> Self {
        let blocked = &log.until(end)[..];
        let recoveries = recoveries(chunks, end);
        let of = |full: Full| blocked.iter().filter(move |blocked| blocked.hold.full == full);
        let lasting = |full: Full| total(of(full).map(|blocked| blocked.until.since(blocked.from)));
        let within = |full: Full| {
            let spans = union(of(full).map(|blocked| (blocked.from, blocked.until)).collect());
            overlap(&spans, &recoveries).as_secs_f64()
        };
        let windows = union(of(Full::PeerWindow).map(|b| (b.from, b.until)).collect());
        let longest = windows.iter().map(|(from, until)| until.since(*from)).max();
        Self {
            peer_window_s: lasting(Full::PeerWindow),
            peer_window_count: windows.len() as u64,
            peer_window_longest_s: longest.unwrap_or_default().as_secs_f64(),
            peer_window_least_bytes: log.least_window,
            peer_window_in_timeout_recovery_s: within(Full::PeerWindow),
            send_buffer_s: lasting(Full::SendBuffer),
            send_buffer_in_timeout_recovery_s: within(Full::SendBuffer),
            buffer_share_s: lasting(Full::BufferShare),
            timeout_recovery_s: total(recoveries.iter().map(|(from, until)| until.since(*from))),
        }
    }
}

impl PathBlockingResult {
    pub(super) fn of(blocked: &[Blocked], path: usize) -> Self {
        let time = |full: Full, of: fn((usize, PathId, PathId)) -> PathId| {
            let blocked = blocked.iter().filter(|blocked| {
                blocked.hold.full == full
                    && blocked.hold.waits_for.is_some_and(|tsn| of(tsn).index() == path)
            });
            total(blocked.map(|blocked| blocked.until.since(blocked.from)))
        };
        let (last, first) = (|(_, last, _)| last, |(_, _, first)| first);
        Self {
            peer_window_s: time(Full::PeerWindow, last),
            peer_window_sent_first_s: time(Full::PeerWindow, first),
            send_buffer_s: time(Full::SendBuffer, last),
            send_buffer_sent_first_s: time(Full::SendBuffer, first),
        }
    }
}

/// Timeout recoveries: from a transmission whose loss a timer detected first until its TSN was acknowledged or
/// abandoned.
fn recoveries(chunks: &Chunks, end: Instant) -> Vec<(Instant, Instant)> {
    let over = |sent: &Sent| sent.acked.into_iter().chain(sent.given_up).min().unwrap_or(end);
    let recovered = |sent: &Sent| sent.recovery_from.map(|from| (from, over(sent)));
    union(chunks.sent().iter().filter_map(recovered).collect())
}

/// The union of these times, as disjoint intervals in order.
pub(super) fn union(mut spans: Vec<(Instant, Instant)>) -> Vec<(Instant, Instant)> {
    spans.sort_unstable();
    let mut union: Vec<(Instant, Instant)> = Vec::new();
    for (from, until) in spans {
        match union.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(until),
            None => union.push((from, until)),
        }
    }
    union
}

/// Time in both; each must be a union.
fn overlap(one: &[(Instant, Instant)], other: &[(Instant, Instant)]) -> Duration {
    let mut rest = other.iter().peekable();
    let mut sum = Duration::ZERO;
    for (from, until) in one {
        while let Some((begin, end)) = rest.peek() {
            sum += (*until).min(*end).since((*from).max(*begin));
            if end > until {
                break;
            }
            rest.next();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use polypath_proto::{TransmissionCause, Tsn};

    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn spans_join_and_overlap() {
        let spans = |spans: &[(u64, u64)]| -> Vec<_> {
            union(spans.iter().map(|(from, until)| (at(*from), at(*until))).collect())
        };
        assert_eq!(spans(&[(5, 6), (1, 3), (2, 4), (4, 5)]), spans(&[(1, 6)]));
        type Spans = &'static [(u64, u64)];
        let cases: [(Spans, Spans, u64); 6] = [
            (&[], &[(1, 2)], 0),
            (&[(1, 2)], &[], 0),
            (&[(1, 4), (6, 9)], &[(0, 20)], 6),
            (&[(0, 20)], &[(1, 4), (6, 9)], 6),
            (&[(1, 4), (6, 9)], &[(3, 7), (8, 12)], 3),
            (&[(1, 2), (3, 4)], &[(2, 3)], 0),
        ];
        for (one, other, expected) in cases {
            let found = overlap(&spans(one), &spans(other));
            assert_eq!(found, Duration::from_secs(expected), "{one:?} {other:?}");
        }
    }

    #[test]
    fn blocked_time_goes_to_the_paths_of_the_tsn_that_is_waited_for() {
        let hold = |chunk, last, first| {
            Some(Hold {
                full: Full::PeerWindow,
                waits_for: Some((chunk, PathId(last), PathId(first))),
            })
        };
        let mut log = BlockedLog::default();
        log.set(at(1), hold(3, 1, 1));
        log.set(at(2), hold(3, 1, 1));
        log.set(at(4), hold(3, 0, 1));
        log.set(at(5), None);
        log.set(at(5), None);
        log.set(at(7), Some(Hold { full: Full::SendBuffer, waits_for: None }));
        log.set(at(8), hold(9, 0, 0));
        let blocked = log.until(at(10));
        assert_eq!(blocked.len(), 4);
        let path = |path| PathBlockingResult::of(&blocked, path);
        assert_eq!([path(0).peer_window_s, path(0).peer_window_sent_first_s], [3.0, 2.0]);
        assert_eq!([path(1).peer_window_s, path(1).peer_window_sent_first_s], [3.0, 4.0]);
        assert_eq!(path(0).send_buffer_s + path(1).send_buffer_sent_first_s, 0.0);
    }

    #[test]
    fn blocked_time_in_recoveries_counts_from_the_lost_transmission_to_the_acknowledgement() {
        let mut chunks = Chunks::default();
        let path = PathId(1);
        chunks.on_sent(at(2), path, Tsn(0), TransmissionCause::New);
        chunks.on_sent(at(3), path, Tsn(1), TransmissionCause::New);
        chunks.on_sent(at(4), path, Tsn(0), TransmissionCause::TimerRetransmission);
        chunks.on_acked(at(6), Tsn(0));
        chunks.on_acked(at(9), Tsn(1));
        let mut log = BlockedLog::default();
        let waits_for = Some((0, path, path));
        log.set(at(1), Some(Hold { full: Full::PeerWindow, waits_for }));
        log.set(at(5), Some(Hold { full: Full::PeerWindow, waits_for: None }));
        log.note_window(236);
        log.note_window(300);
        log.set(at(8), Some(Hold { full: Full::BufferShare, waits_for }));
        log.note_window(100);
        let result = BlockingResult::of(&log, &chunks, at(10));
        assert_eq!(result.peer_window_least_bytes, Some(236), "while it holds the sender");
        assert_eq!((result.peer_window_s, result.peer_window_count), (7.0, 1));
        assert_eq!(result.peer_window_longest_s, 7.0);
        assert_eq!(result.peer_window_in_timeout_recovery_s, 4.0);
        assert_eq!((result.buffer_share_s, result.timeout_recovery_s), (2.0, 4.0));
    }

    #[test]
    fn a_recovery_ends_when_its_tsn_is_given_up() {
        let mut chunks = Chunks::default();
        chunks.on_sent(at(2), PathId(0), Tsn(0), TransmissionCause::New);
        chunks.on_sent(at(4), PathId(0), Tsn(0), TransmissionCause::TimerRetransmission);
        chunks.on_abandoned(at(5), Tsn(0));
        let log = BlockedLog::default();
        let result = BlockingResult::of(&log, &chunks, at(10));
        assert_eq!((result.timeout_recovery_s, result.peer_window_least_bytes), (3.0, None));
        // A late acknowledgement has no effect.
        chunks.on_acked(at(7), Tsn(0));
        assert_eq!(BlockingResult::of(&log, &chunks, at(10)).timeout_recovery_s, 3.0);
    }

    #[test]
    fn only_full_buffers_hold() {
        let hold = |cause| Hold::of(Some(cause), None).map(|hold| hold.full);
        let cases = [
            (BlockedCause::Application, None),
            (BlockedCause::SendBuffer, Some(Full::SendBuffer)),
            (BlockedCause::CongestionWindow, None),
            (BlockedCause::PeerWindow, Some(Full::PeerWindow)),
            (BlockedCause::BufferShare, Some(Full::BufferShare)),
            (BlockedCause::NoPath, None),
        ];
        for (cause, full) in cases {
            assert_eq!(hold(cause), full, "{cause:?}");
        }
        assert_eq!(Hold::of(None, None), None);
    }
}
