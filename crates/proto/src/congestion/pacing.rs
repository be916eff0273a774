//! Spacing of packets: what a window admits leaves over a round trip, not in one burst (RFC 9002 section 7.7).
//!
//! With several paths one SACK may acknowledge what twenty others would have, because it arrived before them on a shorter path; a
//! window that opens by a hundred packets at once would put them all into a queue that holds ten.

use crate::types::{mul_div, mul_div_ceil};
use crate::{Duration, Instant};

/// What may leave beyond the pace when a timer was late: that long at the pace.
const LATE: Duration = Duration::from_millis(4);

/// Largest burst after an idle time, or when a SACK opens the window: some packets, and at most that long at the pacing rate where that
/// is more. Half a millisecond was forty packets at a gigabit per second, where a queue may hold ten; much less than this, and a host
/// that handles what arrives in batches falls behind its pace.
const BURST_PACKETS: u64 = 4;
const BURST: Duration = Duration::from_micros(100);

/// Pace of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Pacer {
    /// At the pace, all that was sent has left by then.
    left_by: Instant,
    /// Bytes per second; 0 for as fast as the window admits.
    rate: u64,
    /// Whether the pace, and not the window, kept the path from sending more.
    holds: bool,
}

impl Pacer {
    /// A flush begins: takes the present pace in bytes per second, 0 for none. Returns how many bytes may leave in it.
    pub(crate) fn begin_flush(&mut self, now: Instant, rate: u64, unit: u64) -> u64 {
        let held = core::mem::take(&mut self.holds);
        self.rate = rate;
        if rate == 0 {
            return u64::MAX;
        }
        let burst = time_for(BURST_PACKETS * unit, rate).max(BURST);
        let most = if held { burst.max(LATE) } else { burst };
        self.left_by = self.left_by.max(now - most);
        let open = now.since(self.left_by).as_nanos();
        mul_div(open, rate, 1_000_000_000).min(u128::from(u64::MAX)) as u64
    }

    /// The pace of the last flush in bytes per second, 0 for none.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// So many bytes were sent.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        if self.rate > 0 {
            self.left_by += time_for(bytes, self.rate);
        }
    }

    /// A flush ends: `is_limit` if the pace, and not the window, keeps the path from sending more. That is said each time: a
    /// pace that nothing waits for must not leave a deadline that has passed.
    pub(crate) fn end_flush(&mut self, is_limit: bool) {
        self.holds = is_limit && self.rate > 0;
    }

    /// Whether it did when the last flush ended: the window was used as far as it could be.
    pub(crate) fn holds(&self) -> bool {
        self.holds
    }

    /// When the next packet may be sent, if pacing delays it: then at least a byte may.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.holds.then_some(self.left_by + time_for(1, self.rate))
    }
}

/// The time of this many bytes. Rounded up: rounded down, a timer would expire before anything may be sent.
fn time_for(bytes: u64, rate: u64) -> Duration {
    let nanos = mul_div_ceil(bytes, 1_000_000_000, rate.max(1));
    Duration::from_nanos(nanos.min(u128::from(u64::MAX)) as u64)
}

/// The pace of a window for controllers that have none of their own, in bytes per second: a little more than a window per round
/// trip, so that the window stays the limit, and in slow start what doubles it. 0 for none.
pub(crate) fn pace_of(cwnd: u64, ssthresh: u64, srtt: Option<Duration>) -> u64 {
    let Some(srtt) = srtt else { return 0 };
    let (numerator, denominator) = if cwnd < ssthresh { (2, 1) } else { (5, 4) };
    let per_second = u128::from(cwnd) * numerator * 1_000_000_000;
    let rate = per_second / (denominator * u128::from(srtt.as_nanos().max(1)));
    rate.clamp(1, u128::from(u64::MAX)) as u64
}

/// The pace of a start-up over a bottleneck of this many bytes per second: not less, because the admitted data then
/// waits nowhere, and little more, because the rest would fill the queue. The added quarter detects a faster path.
pub(crate) fn near(pace: u64, bottleneck: u64) -> u64 {
    pace.clamp(bottleneck, bottleneck.saturating_add(bottleneck / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(10) + Duration::from_micros(micros)
    }

    /// 12 Mbit/s: a packet of 1,500 bytes takes 1 ms.
    const RATE: u64 = 1_500_000;

    #[test]
    fn what_was_sent_without_a_pace_delays_nothing() {
        let mut pacer = Pacer::default();
        let now = Instant::ZERO + Duration::from_secs(1);
        assert_eq!(pacer.begin_flush(now, 0, 1500), u64::MAX);
        pacer.on_sent(1_000_000);
        assert_eq!(pacer.begin_flush(now, 1_000_000, 1500), 6000, "a burst of four packets");
    }

    #[test]
    fn after_the_first_packets_each_waits_for_the_one_before() {
        let mut pacer = Pacer::default();
        assert_eq!(pacer.begin_flush(at(0), RATE, 1500), 6000, "four packets");
        for _ in 0..4 {
            pacer.on_sent(1500);
        }
        pacer.end_flush(true);
        let due = pacer.due().unwrap();
        assert!(due < at(1));
        assert_eq!(pacer.begin_flush(at(0), RATE, 1500), 0);
        pacer.end_flush(true);
        assert_eq!(pacer.begin_flush(due, RATE, 1500), 1, "by part of a packet it may overshoot");
        pacer.on_sent(1500);
        pacer.end_flush(true);
        assert_eq!(pacer.due(), Some(due + Duration::from_millis(1)));
    }

    #[test]
    fn a_late_timer_costs_nothing_and_a_pause_gains_nothing() {
        for (holds, late_by_us, bytes) in
            [(true, 1000, 1500), (true, 3000, 4500), (true, 9000, 6000), (false, 9000, 6000)]
        {
            let mut pacer = Pacer::default();
            pacer.begin_flush(at(0), RATE, 1500);
            pacer.on_sent(6000);
            pacer.end_flush(holds);
            assert_eq!(pacer.begin_flush(at(late_by_us), RATE, 1500), bytes, "{late_by_us} us");
        }
        // 1.2 Gbit/s: 4 ms are 600 kB, 100 us are 15 kB.
        for (times, holds, bytes) in
            [(100, true, 600_000), (100, false, 15_000), (10, false, 6_000)]
        {
            let mut pacer = Pacer::default();
            pacer.begin_flush(at(0), times * RATE, 1500);
            pacer.on_sent(75_000);
            pacer.end_flush(holds);
            assert_eq!(pacer.begin_flush(at(9000), times * RATE, 1500), bytes);
        }
    }

    #[test]
    fn the_next_packet_is_due_later_and_then_may_leave() {
        for rate in [1, 3, 999, 7_000, 1_000_003, 99_999_999, 1_000_000_001, u64::MAX] {
            let (mut pacer, mut now) = (Pacer::default(), at(0));
            for packet in [1500, 1, 1468, 700, 3, 1500] {
                let mut left = pacer.begin_flush(now, rate, 1500);
                assert!(left > 0, "{rate}: a timer that brings nothing");
                // What a round trip at most admits at once, and a rest to the byte.
                for bytes in [left.saturating_sub(packet), packet] {
                    pacer.on_sent(bytes);
                    left = left.saturating_sub(bytes);
                }
                pacer.end_flush(left == 0);
                let due = pacer.due().unwrap();
                assert!(due > now, "{rate}: {due:?} at {now:?}");
                now = due;
            }
        }
    }

    #[test]
    fn what_waits_no_more_is_due_never() {
        let mut pacer = Pacer::default();
        pacer.begin_flush(at(0), RATE, 1500);
        pacer.on_sent(6000);
        pacer.end_flush(true);
        assert!(pacer.due().is_some());
        pacer.end_flush(false);
        assert_eq!((pacer.holds(), pacer.due()), (false, None));
    }

    #[test]
    fn without_a_pace_nothing_waits() {
        let mut pacer = Pacer::default();
        assert_eq!(pacer.begin_flush(at(0), 0, 1500), u64::MAX);
        pacer.on_sent(u64::MAX);
        pacer.end_flush(true);
        assert_eq!((pacer.holds(), pacer.due()), (false, None));
    }

    #[test]
    fn a_window_leaves_within_a_round_trip() {
        let ms = |ms| Some(Duration::from_millis(ms));
        for (cwnd, ssthresh, srtt, rate) in [
            (100_000, 50_000, ms(100), 1_250_000),
            (50_000, 50_000, ms(100), 625_000),
            (49_999, 50_000, ms(100), 999_980),
            (100_000, 50_000, None, 0),
            (1, u64::MAX, Some(Duration::MAX), 1),
            (u64::MAX, 0, Some(Duration::ZERO), u64::MAX),
        ] {
            assert_eq!(pace_of(cwnd, ssthresh, srtt), rate, "{cwnd} {ssthresh} {srtt:?}");
        }
    }

    #[test]
    fn a_start_up_keeps_near_the_bottleneck() {
        for (pace, near_it) in [(0, 1000), (999, 1000), (1100, 1100), (1250, 1250), (2770, 1250)] {
            assert_eq!(near(pace, 1000), near_it);
        }
        assert_eq!(near(5, u64::MAX), u64::MAX);
    }
}
