//! How long a path may deliver chunks out of order before they count as lost: the reordering window.
//!
//! RFC 8985 (RACK) detects losses by time. A chunk is lost if one that was sent later on the same path has arrived, and
//! more than a round trip and the window has passed since it was sent. The window starts at a quarter of the smallest
//! round-trip time. In TCP it grows by steps, because a DSACK only shows that it was too small. Gap ack blocks show
//! more: a chunk that arrives after one that was sent later shows how late it was, and so does a chunk that was
//! declared lost too early. The window includes the latest delay, and forgets it after a number of recoveries, as in
//! RFC 8985.

use crate::mechanism::soonest_answer::SoonestAnswer;
use crate::{Duration, Instant, Tsn};

/// The smallest window: timers and hosts are not more exact.
const LEAST: Duration = Duration::from_millis(2);

/// Recoveries for which a lateness is remembered (RFC 8985 section 6.2, `RACK.reo_wnd_persist`).
const REMEMBERED_RECOVERIES: u8 = 16;

/// A transmission of a chunk on a path. A burst leaves in one instant, in the order of its TSNs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Transmission {
    pub(crate) at: Instant,
    pub(crate) tsn: Tsn,
}

impl Transmission {
    /// Whether it was made before another one.
    fn is_before(&self, other: &Self) -> bool {
        self.at < other.at || self.at == other.at && self.tsn.is_before(other.tsn)
    }
}

/// Round-trip times of the path, as far as they are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RoundTrips {
    pub(crate) smoothed: Option<Duration>,
    pub(crate) smallest: Option<Duration>,
    /// The smallest one of control chunks.
    pub(crate) control: Option<Duration>,
}

/// What is known of the order in which a path delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reordering {
    /// The last one of the transmissions that are known to have arrived.
    newest: Option<Transmission>,
    /// The same with those of the present SACK, whose relative order is unknown.
    of_sack: Option<Transmission>,
    /// Time from the newest transmission to its acknowledgement.
    latest_rtt: Duration,
    soonest: SoonestAnswer,
    /// The window that was found necessary.
    needed: Duration,
    /// When it was last found too small.
    grown_at: Instant,
    /// Whether chunks were seen to arrive out of order.
    is_seen: bool,
    /// The largest lateness since the window was last judged.
    latest: Option<Duration>,
    /// Recoveries since then.
    recoveries: u8,
}

impl Default for Reordering {
    fn default() -> Self {
        Self {
            newest: None,
            of_sack: None,
            latest_rtt: Duration::ZERO,
            soonest: SoonestAnswer::default(),
            needed: Duration::ZERO,
            grown_at: Instant::ZERO,
            is_seen: false,
            latest: None,
            recoveries: 0,
        }
    }
}

impl Reordering {
    /// A chunk of so many bytes that was sent once is acknowledged.
    pub(crate) fn on_arrived(
        &mut self,
        now: Instant,
        sent: Transmission,
        bytes: u32,
        rtts: RoundTrips,
    ) {
        if self.has_passed(&sent) {
            self.on_late(now, sent.at, rtts);
        }
        self.soonest.on_answered(now.since(sent.at), bytes);
        self.note_newest(now, sent);
    }

    /// A copy of so many bytes was answered after this time. It tells nothing of the order.
    pub(crate) fn on_copy_answered(&mut self, time: Duration, bytes: u32) {
        self.soonest.on_answered(time, bytes);
    }

    /// A retransmission of a chunk of so many bytes is acknowledged, and not the original.
    pub(crate) fn on_retransmission_arrived(
        &mut self,
        now: Instant,
        sent: Transmission,
        bytes: u32,
        rtts: RoundTrips,
    ) {
        if !self.is_too_early(now, sent.at, bytes, rtts) {
            self.note_newest(now, sent);
        }
    }

    /// Whether an acknowledgement arrives so soon after the retransmission of a chunk of so many bytes on this path that it must be that of
    /// the original (RFC 8985 section 6.2, step 2).
    pub(crate) fn is_too_early(
        &self,
        now: Instant,
        sent_at: Instant,
        bytes: u32,
        rtts: RoundTrips,
    ) -> bool {
        self.soonest.least(bytes, rtts.control).is_some_and(|least| now.since(sent_at) < least)
    }

    /// How soon chunks are answered here.
    pub(crate) fn soonest(&self) -> &SoonestAnswer {
        &self.soonest
    }

    fn note_newest(&mut self, now: Instant, sent: Transmission) {
        if self.of_sack.is_none_or(|newest| newest.is_before(&sent)) {
            self.of_sack = Some(sent);
            self.latest_rtt = now.since(sent.at);
        }
    }

    /// The SACK has acknowledged all that it does.
    pub(crate) fn end_sack(&mut self) {
        self.newest = self.of_sack;
    }

    /// Whether something that was sent later has arrived.
    #[inline]
    pub(crate) fn has_passed(&self, sent: &Transmission) -> bool {
        self.newest.is_some_and(|newest| sent.is_before(&newest))
    }

    /// When a chunk sent at `sent_at` is lost, if one that was sent later has arrived.
    pub(crate) fn lost_at(&self, sent_at: Instant, rtts: RoundTrips) -> Instant {
        sent_at + self.round_trip(rtts) + self.window(rtts)
    }

    /// A chunk need not be late before this time has passed: the longer one of the smoothed round trip and the last one.
    fn round_trip(&self, rtts: RoundTrips) -> Duration {
        self.latest_rtt.max(rtts.smoothed.unwrap_or_default())
    }

    /// The reordering window: at most a round trip, but not less than the resolution of timers.
    pub(crate) fn window(&self, rtts: RoundTrips) -> Duration {
        let round_trip = rtts.smoothed.unwrap_or(self.latest_rtt);
        let initial = rtts.smallest.unwrap_or(self.latest_rtt) / 4;
        self.needed.max(initial).min(round_trip).max(LEAST)
    }

    /// Whether missing reports prove a loss before time does, as long as the path keeps the order (RFC 8985 section 6.2,
    /// step 4: without reordering the window is nothing once there are enough of them).
    pub(crate) fn counts_reports(&self) -> bool {
        !self.is_seen
    }

    /// A chunk sent at `sent_at` has arrived after one that was sent later.
    pub(crate) fn on_late(&mut self, now: Instant, sent_at: Instant, rtts: RoundTrips) {
        // Nothing less than nothing.
        let late = now.since(sent_at) - self.round_trip(rtts);
        self.note_late(now, late);
    }

    /// A chunk that was declared lost at `lost_at` had only been late, by an unknown time.
    pub(crate) fn on_spurious(&mut self, now: Instant, lost_at: Instant, rtts: RoundTrips) {
        // What is found out of one window lets it grow once.
        if lost_at >= self.grown_at {
            self.note_late(now, self.window(rtts) * 2);
        }
    }

    fn note_late(&mut self, now: Instant, late: Duration) {
        self.is_seen = true;
        self.latest = self.latest.max(Some(late));
        let wanted = late + late / 4;
        if wanted > self.needed {
            self.needed = wanted;
            self.grown_at = now;
        }
    }

    /// Fast recovery begins on the path.
    pub(crate) fn on_recovery(&mut self) {
        self.recoveries += 1;
        if self.recoveries >= REMEMBERED_RECOVERIES {
            self.recoveries = 0;
            let latest = self.latest.take();
            self.is_seen = latest.is_some();
            let latest = latest.unwrap_or_default();
            self.needed = latest + latest / 4;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(time: u64) -> Instant {
        Instant::ZERO + ms(time)
    }

    fn sent(time: u64, tsn: u32) -> Transmission {
        Transmission { at: at(time), tsn: Tsn(tsn) }
    }

    const RTTS: RoundTrips = RoundTrips {
        smoothed: Some(Duration::from_millis(48)),
        smallest: Some(Duration::from_millis(40)),
        control: Some(Duration::from_millis(30)),
    };

    /// Bytes of a chunk.
    const SIZE: u32 = 1000;

    /// A path on which TSN 9, sent at 100 ms, was acknowledged at 140 ms.
    fn path() -> Reordering {
        let mut path = Reordering::default();
        path.on_arrived(at(140), sent(100, 9), SIZE, RTTS);
        path.end_sack();
        path
    }

    #[test]
    fn only_what_was_sent_earlier_is_passed() {
        for (what, chunk, passed) in [
            ("earlier", sent(99, 20), true),
            ("in the same burst before it", sent(100, 8), true),
            ("itself", sent(100, 9), false),
            ("in the same burst after it", sent(100, 10), false),
            ("a retransmission after it", sent(101, 3), false),
        ] {
            assert_eq!(path().has_passed(&chunk), passed, "{what}");
        }
        assert!(!Reordering::default().has_passed(&sent(0, 1)), "nothing has arrived");
    }

    #[test]
    fn what_one_sack_acknowledges_tells_nothing_of_its_order() {
        let mut path = path();
        path.on_retransmission_arrived(at(190), sent(150, 3), SIZE, RTTS);
        path.on_arrived(at(190), sent(130, 12), SIZE, RTTS);
        assert!(path.counts_reports());
        path.end_sack();
        path.on_arrived(at(191), sent(131, 13), SIZE, RTTS);
        assert!(!path.counts_reports(), "the next one does");
    }

    #[test]
    fn the_window_has_bounds() {
        for (what, needed, smoothed, smallest, window) in [
            ("a quarter of the smallest round trip at first", 0, Some(48), Some(40), 10),
            ("what was needed", 30, Some(48), Some(40), 30),
            ("a round trip at most", 90, Some(48), Some(40), 48),
            ("a near peer", 0, Some(1), Some(1), 2),
            ("a near peer with reordering", 90, Some(1), Some(1), 2),
            ("no sample yet: the acknowledgement is one", 0, None, None, 10),
        ] {
            let path = Reordering { needed: ms(needed), ..path() };
            let rtts = RoundTrips {
                smoothed: smoothed.map(ms),
                smallest: smallest.map(ms),
                control: None,
            };
            assert_eq!(path.window(rtts), ms(window), "{what}");
        }
    }

    #[test]
    fn a_chunk_is_lost_a_round_trip_and_the_window_after_it_was_sent() {
        assert_eq!(path().lost_at(at(90), RTTS), at(90 + 48 + 10));
        let mut queue_grows = path();
        queue_grows.on_arrived(at(180), sent(110, 10), SIZE, RTTS);
        assert_eq!(queue_grows.lost_at(at(90), RTTS), at(90 + 70 + 10), "the last one counts");
    }

    #[test]
    fn the_window_grows_to_what_came_late() {
        for (what, arrives, window) in [
            ("hardly late", 139, 10),
            ("less than a window", 145, 10),
            ("16 ms late", 154, 20),
            ("later than any window", 300, 48),
        ] {
            let mut path = path();
            path.on_arrived(at(arrives), sent(90, 8), SIZE, RTTS);
            assert_eq!(path.window(RTTS), ms(window), "{what}");
            assert!(!path.counts_reports(), "{what}");
        }
        let mut path = path();
        path.on_arrived(at(154), sent(90, 8), SIZE, RTTS);
        path.on_arrived(at(150), sent(91, 8), SIZE, RTTS);
        assert_eq!(path.window(RTTS), ms(20), "it does not shrink with the next one");
    }

    #[test]
    fn a_duplicate_doubles_a_window_once() {
        let mut path = path();
        path.on_spurious(at(200), at(150), RTTS);
        assert_eq!(path.window(RTTS), ms(25));
        path.on_spurious(at(201), at(160), RTTS);
        assert_eq!(path.window(RTTS), ms(25), "lost by the window of before");
        path.on_spurious(at(260), at(210), RTTS);
        assert_eq!(path.window(RTTS), ms(48));
    }

    #[test]
    fn a_chunk_that_the_window_allows_for_is_no_growth_of_it() {
        let mut path = path();
        path.on_late(at(154), at(90), RTTS);
        path.on_late(at(254), at(190), RTTS);
        assert_eq!(path.window(RTTS), ms(20));
        path.on_spurious(at(260), at(200), RTTS);
        assert_eq!(path.window(RTTS), ms(48), "lost by the window of 154 ms, which was too short");
    }

    #[test]
    fn a_window_is_forgotten_after_recoveries_that_did_not_need_it() {
        let mut path = path();
        path.on_arrived(at(166), sent(90, 8), SIZE, RTTS);
        let recover = |path: &mut Reordering, times| (0..times).for_each(|_| path.on_recovery());
        recover(&mut path, 15);
        assert_eq!(path.window(RTTS), ms(35));
        recover(&mut path, 1);
        assert_eq!(path.window(RTTS), ms(35), "it was needed in these");
        path.on_arrived(at(154), sent(90, 8), SIZE, RTTS);
        recover(&mut path, 16);
        assert_eq!((path.window(RTTS), path.counts_reports()), (ms(20), false), "less was");
        recover(&mut path, 16);
        assert_eq!((path.window(RTTS), path.counts_reports()), (ms(10), true), "nothing was");
    }

    #[test]
    fn what_comes_too_early_is_the_original() {
        let mut path = path();
        assert!(path.is_too_early(at(189), at(150), SIZE, RTTS));
        assert!(!path.is_too_early(at(190), at(150), SIZE, RTTS));
        assert!(
            !Reordering::default().is_too_early(at(150), at(150), SIZE, RTTS),
            "no round trip is known"
        );
        assert!(path.is_too_early(at(179), at(150), SIZE - 1, RTTS));
        assert!(!path.is_too_early(at(180), at(150), SIZE - 1, RTTS), "it is smaller");
        path.on_retransmission_arrived(at(189), sent(150, 5), SIZE, RTTS);
        path.end_sack();
        assert!(!path.has_passed(&sent(120, 6)));
        path.on_retransmission_arrived(at(190), sent(150, 5), SIZE, RTTS);
        path.end_sack();
        assert!(path.has_passed(&sent(120, 6)));
    }
}
