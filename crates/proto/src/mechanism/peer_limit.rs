//! Peers that drop chunks too far above a gap: how many chunks may wait above one, learned from SACKs.
//!
//! A receiver must keep what its receive window admits (RFC 9260 section 6.2), but some also limit the number of chunks
//! that wait for a missing one: usrsctp drops a TSN above its highest one once `max_chunks_on_queue` (512) wait, and
//! does not report it. With one path that hardly happens; with paths of unequal delay it happens all the time.
//!
//! The limit shows in SACKs without news: something arrived, or there would be no SACK, and it was no duplicate, which
//! would be reported; but the receive window is open. After several of them without a higher TSN, the number of waiting
//! chunks is the limit. From then on, no chunk above the highest one that arrived is sent while as many wait or are in
//! flight, and dropped chunks are lost without being a sign of congestion. The cause may have been another one: after a
//! while without such SACKs the limit grows by an eighth, and after twice that time again if that was wrong.
//!
//! No paper describes it; the limit was found by measurement against usrsctp.

use crate::{Duration, Instant, Tsn};

/// Chunks that every receiver is taken to keep.
const LEAST: u32 = 256;
/// SACKs without news that prove a limit.
const ENOUGH: u32 = 3;
/// Time after which the limit grows for the first time.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
/// Longest such time.
const LONGEST_PAUSE: Duration = Duration::from_secs(640);
/// From this value on, there is no limit.
const MOST: u32 = 60_000;

/// What a SACK says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PeerLimitView {
    /// Chunks above the cumulative ack that are acknowledged.
    pub(crate) waiting: u32,
    /// The highest of them.
    pub(crate) highest: Option<Tsn>,
    pub(crate) news: News,
}

/// Whether something arrived that was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// The SACK acknowledges something, reports a duplicate, is an old one, or says that the window has opened or is closed.
    Some,
    /// None, with chunks above the highest acknowledged one in flight and an open window.
    None,
}

/// The limit of the peer, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerLimit {
    limit: Option<u32>,
    highest: Option<Tsn>,
    /// SACKs without news since a higher TSN was acknowledged.
    without_news: u32,
    /// When the limit grows, and how long it stays then.
    grows_at: Instant,
    pause: Duration,
}

impl PeerLimit {
    /// How many chunks may wait; `None`: as many as the receive window admits.
    #[inline]
    pub(crate) fn get(&self) -> Option<u32> {
        self.limit
    }

    /// A SACK arrived. Returns whether it says that chunks above the highest acknowledged one were dropped.
    #[inline]
    pub(crate) fn on_sack(&mut self, now: Instant, view: &PeerLimitView) -> bool {
        if view.news == News::None { self.on_drop(now, view) } else { self.on_news(now, view) }
    }

    fn on_news(&mut self, now: Instant, view: &PeerLimitView) -> bool {
        if view.highest != self.highest {
            (self.highest, self.without_news) = (view.highest, 0);
        }
        if let Some(limit) = self.limit
            && now >= self.grows_at
        {
            self.limit = Some(limit + limit / 8).filter(|limit| *limit < MOST);
            self.grows_at = now + self.pause;
        }
        false
    }

    #[cold]
    fn on_drop(&mut self, now: Instant, view: &PeerLimitView) -> bool {
        if view.highest != self.highest {
            (self.highest, self.without_news) = (view.highest, 0);
        }
        if view.waiting < LEAST {
            return false;
        }
        self.without_news = self.without_news.saturating_add(1);
        if self.without_news < ENOUGH {
            return false;
        }
        if self.limit.is_none_or(|limit| view.waiting < limit) {
            self.pause = match self.limit {
                None => FIRST_PAUSE,
                Some(_) => (self.pause * 2).min(LONGEST_PAUSE),
            };
            self.limit = Some(view.waiting);
        }
        self.grows_at = now + self.pause;
        true
    }

    /// Whether the peer keeps one more chunk above its highest one. Without a gap nothing waits, and chunks in flight
    /// arrive in order.
    #[inline]
    pub(crate) fn admits(&self, waiting: u32, in_flight: u32) -> bool {
        self.limit.is_none_or(|limit| waiting == 0 || waiting.saturating_add(in_flight) < limit)
    }

    /// Whether the chunk lies above all that the peer has.
    pub(crate) fn is_above(&self, tsn: Tsn) -> bool {
        self.highest.is_none_or(|highest| tsn.is_after(highest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(secs)
    }

    fn view(waiting: u32, highest: u32, news: News) -> PeerLimitView {
        PeerLimitView { waiting, highest: Some(Tsn(highest)), news }
    }

    fn learned(waiting: u32) -> PeerLimit {
        let mut limit = PeerLimit::default();
        for n in 1..=ENOUGH {
            assert_eq!(limit.on_sack(at(0), &view(waiting, 700, News::None)), n == ENOUGH);
        }
        limit
    }

    #[test]
    fn it_takes_several_sacks_without_a_higher_tsn() {
        assert_eq!(learned(512).get(), Some(512));
        let mut limit = PeerLimit::default();
        for n in 0..100 {
            let highest = 700 + n / (ENOUGH - 1);
            assert!(!limit.on_sack(at(0), &view(512, highest, News::None)), "{n}");
        }
        for n in 0..100 {
            // Chunks below the highest one fill gaps meanwhile.
            let news = if n % 3 == 0 { News::Some } else { News::None };
            limit.on_sack(at(0), &view(500 + n, 900, news));
        }
        assert!((500..=512).contains(&limit.get().unwrap()), "{:?}", limit.get());
    }

    #[test]
    fn few_chunks_are_no_limit() {
        let mut limit = PeerLimit::default();
        for _ in 0..100 {
            assert!(!limit.on_sack(at(0), &view(LEAST - 1, 700, News::None)));
        }
        assert_eq!(limit.get(), None);
        assert_eq!(learned(LEAST).get(), Some(LEAST));
    }

    #[test]
    fn a_limit_grows_once_in_a_pause_until_it_is_none() {
        let news = |limit: &mut PeerLimit, secs| {
            limit.on_sack(at(secs), &view(400, 800, News::Some));
            limit.get()
        };
        let mut limit = learned(512);
        // The same limit again does not make the pause longer.
        limit.on_sack(at(0), &view(512, 700, News::None));
        for (secs, expected) in [(9, 512), (10, 576), (11, 576), (19, 576), (20, 648)] {
            assert_eq!(news(&mut limit, secs), Some(expected), "{secs} s");
        }
        // An eighth more is 59,999 chunks, or 60,000, which no receiver has.
        assert_eq!(news(&mut learned(53_333), 10), Some(59_999));
        assert_eq!(news(&mut learned(53_334), 10), None);
    }

    #[test]
    fn what_waits_and_what_is_in_flight_fills_it() {
        let limit = learned(512);
        for (waiting, in_flight, admits) in
            [(0, 2000, true), (1, 510, true), (1, 511, false), (511, 0, true), (512, 0, false)]
        {
            assert_eq!(limit.admits(waiting, in_flight), admits, "{waiting} + {in_flight}");
        }
        assert!(PeerLimit::default().admits(5000, 5000));
        assert!(limit.is_above(Tsn(701)) && !limit.is_above(Tsn(700)));
    }

    #[test]
    fn a_limit_that_was_wrong_is_forgotten_and_a_right_one_tried_less_and_less() {
        let mut limit = learned(512);
        limit.on_sack(at(9), &view(400, 800, News::Some));
        assert_eq!(limit.get(), Some(512));
        limit.on_sack(at(10), &view(400, 800, News::Some));
        assert_eq!(limit.get(), Some(576));
        // It was right.
        for _ in 0..ENOUGH {
            limit.on_sack(at(11), &view(512, 900, News::None));
        }
        assert_eq!(limit.get(), Some(512));
        limit.on_sack(at(30), &view(400, 901, News::Some));
        assert_eq!(limit.get(), Some(512));
        limit.on_sack(at(31), &view(400, 901, News::Some));
        assert_eq!(limit.get(), Some(576));
        // It was wrong.
        for n in 0..60 {
            limit.on_sack(at(60 + 30 * n), &view(400, 901, News::Some));
        }
        assert_eq!(limit.get(), None);
    }
}
