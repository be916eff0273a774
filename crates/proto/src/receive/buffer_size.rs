//! A receive buffer that grows to what its user and its paths need (`dreibholz-asymmetric` section IV-A).
//!
//! A receiver that sends no data knows its round-trip times only from heartbeats. It therefore measures like dynamic
//! right-sizing (Fisk, Feng 2001; Linux `tcp_rcv_space_adjust`): a window of data takes at least a round trip to
//! arrive, and exactly one if the window is the limit. What the user reads in that time is the rate. Data that is held
//! although the user has read everything waits for missing chunks, and is added twice: the window that the rate
//! requires stays available for what the paths deliver meanwhile.
//!
//! It only grows: an advertised window is never withdrawn.

use polypath_units::{BitRate, ByteCount};

use crate::config::BufferSize;
use crate::{Duration, Instant};

/// Progress of the receiver, and its knowledge of the paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SizingView {
    pub(crate) now: Instant,
    /// Bytes of user data that arrived for the first time.
    pub(crate) received: u64,
    /// Bytes that the user has read.
    pub(crate) read: u64,
    /// Bytes held although the user has read everything that is complete.
    pub(crate) stuck: u64,
    /// The window that would be advertised now.
    pub(crate) window: u32,
    /// Present size.
    pub(crate) buffer: u32,
    /// Times of this side's slowest path, as far as known.
    pub(crate) rtt: Option<Duration>,
    pub(crate) rto: Duration,
    /// Round-trip time of its quickest path, as far as known: as often the sender's window may double.
    pub(crate) round: Option<Duration>,
}

/// Measures what a receive buffer needs.
#[derive(Debug)]
pub(crate) struct RightSizing {
    policy: BufferSize,
    most: u32,
    /// The size for the user's reading rate, and the first size.
    for_reading: u64,
    /// When a window's worth began to arrive, and the count at which it is complete.
    worth: Option<(Instant, u64)>,
    /// Shortest time in which one arrived.
    worth_time: Option<Duration>,
    /// Beginning of the round, and what had been read then.
    round: Option<(Instant, u64)>,
    last_read: u64,
}

impl RightSizing {
    /// A buffer that begins with `first` bytes and grows to `most`.
    pub(crate) fn new(policy: BufferSize, first: u32, most: u32) -> Self {
        let for_reading = first.into();
        Self { policy, most, for_reading, worth: None, worth_time: None, round: None, last_read: 0 }
    }

    /// Lets the buffer grow further.
    pub(crate) fn set_most(&mut self, most: u32) {
        self.most = self.most.max(most);
    }

    /// The size to which the buffer may grow.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    /// The size that the buffer should have now, never below the present one.
    pub(crate) fn size(&mut self, view: &SizingView) -> u32 {
        self.time_a_window(view);
        if let Some(rtt) = view.rtt.max(self.worth_time) {
            self.for_reading = self.for_reading.max(self.rate_rule(view, rtt));
        }
        // Data that waits for missing chunks must not reduce the window, and as much again may arrive before they do.
        let wanted = self.for_reading.saturating_add(view.stuck.saturating_mul(2));
        u32::try_from(wanted).unwrap_or(u32::MAX).min(self.most).max(view.buffer)
    }

    fn time_a_window(&mut self, view: &SizingView) {
        let complete = self.worth.filter(|(_, count)| view.received >= *count);
        if let Some((since, _)) = complete {
            let time = view.now.since(since);
            self.worth_time = Some(self.worth_time.map_or(time, |least| least.min(time)));
        }
        if complete.is_some() || self.worth.is_none() {
            self.worth = Some((view.now, view.received + u64::from(view.window.max(1))));
        }
    }

    /// What the formula says at the end of a round, else 0.
    fn rate_rule(&mut self, view: &SizingView, rtt: Duration) -> u64 {
        let Some((since, before)) = self.round else {
            self.round = Some((view.now, view.read));
            return 0;
        };
        let elapsed = view.now.since(since);
        if elapsed < view.round.unwrap_or(rtt).min(rtt) || elapsed.is_zero() {
            return 0;
        }
        self.round = Some((view.now, view.read));
        let read = view.read - before;
        // A sender in slow start doubles before the next round is over.
        let growth = if read > self.last_read / 4 * 5 { 2 } else { 1 };
        self.last_read = read;
        let rate = BitRate::of(ByteCount::from_bytes(read.saturating_mul(growth)), elapsed);
        self.policy.least(rtt, view.rto, rate).map_or(0, ByteCount::as_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn view(ms: u64, received: u64, buffer: u32) -> SizingView {
        SizingView {
            now: at(ms),
            received,
            read: received,
            stuck: 0,
            window: buffer,
            buffer,
            rtt: None,
            round: None,
            rto: Duration::from_secs(1),
        }
    }

    /// A sender that fills the window once per round trip of 100 ms, to a user that reads at once.
    #[test]
    fn a_window_that_limits_doubles_every_round_trip_until_it_is_large_enough() {
        let mut sizing = RightSizing::new(BufferSize::AutoFast, 64_000, 10_000_000);
        let (mut buffer, mut received) = (64_000u32, 0u64);
        let mut sizes = std::vec::Vec::new();
        for round in 0..12 {
            buffer = sizing.size(&view(round * 100, received, buffer));
            sizes.push(buffer);
            // The paths carry 1 MB in a round trip.
            received += u64::from(buffer).min(1_000_000);
        }
        assert!(sizes.windows(2).all(|pair| pair[0] <= pair[1]), "{sizes:?}");
        assert_eq!(sizes[0], 64_000);
        assert!(
            (2_000_000..=4_000_000).contains(&buffer),
            "2 RTT of what the paths carry: {sizes:?}"
        );
    }

    #[test]
    fn what_is_stuck_comes_on_top_and_the_maximum_holds() {
        let mut sizing = RightSizing::new(BufferSize::AutoFast, 64_000, 100_000);
        let stuck = |stuck| SizingView { stuck, ..view(0, 0, 64_000) };
        assert_eq!(sizing.size(&stuck(0)), 64_000);
        assert_eq!(sizing.size(&stuck(1_000)), 66_000);
        // It is not added to what was stuck before.
        assert_eq!(sizing.size(&SizingView { buffer: 66_000, ..stuck(10_000) }), 84_000);
        assert_eq!(sizing.size(&stuck(60_000)), 100_000);
    }

    #[test]
    fn a_slow_user_keeps_it_small() {
        let mut sizing = RightSizing::new(BufferSize::AutoFast, 64_000, 10_000_000);
        for round in 0..20 {
            let view = SizingView {
                read: round * 1000,
                window: 500,
                rtt: Some(Duration::from_millis(100)),
                round: None,
                ..view(round * 100, 64_000 + round * 1000, 64_000)
            };
            assert_eq!(sizing.size(&view), 64_000, "{round}");
        }
    }

    #[test]
    fn timeouts_need_more() {
        let sized = |policy| {
            let mut sizing = RightSizing::new(policy, 0, u32::MAX);
            let rtt = Some(Duration::from_millis(100));
            sizing.last_read = 100_000;
            sizing.size(&SizingView { rtt, ..view(0, 0, 64_000) });
            sizing.size(&SizingView { rtt, ..view(100, 100_000, 64_000) })
        };
        assert_eq!(sized(BufferSize::AutoFast), 200_000);
        assert_eq!(sized(BufferSize::AutoTimeout), 1_300_000, "1 MB/s for 300 ms + 1 s");
    }
}
