//! How fast a path sends while fast recovery halves its window: proportional rate reduction (RFC 9937, PRR).
//!
//! RFC 9260 section 7.2.4 halves the window at once. Until half of it has left the network the path is silent, and then it
//! sends as much as arrives and as is found lost: where a queue has dropped every second packet, twice what the
//! path can carry, so that the queue drops again and the window is halved a second time. PRR sends over the whole
//! round trip what half a window allows.
//!
//! Below half a window RFC 9937 also makes up for what could have been sent before and was not. Here it is not made up for:
//! where the peer's window kept the path from sending, that would be a burst.

/// Account of a fast recovery, in counted bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RateReduction {
    /// Outstanding bytes at its start, without those lost by then (RecoverFS); 0: none in progress.
    outstanding: u64,
    /// Delivered since then (prr_delivered).
    delivered: u64,
    /// Sent since then (prr_out).
    sent: u64,
    /// Delivered since the last flush (DeliveredData).
    news: u64,
    last_sack: LastSack,
}

/// Whether the last SACK showed progress of the repair (SafeACK).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LastSack {
    /// What was in order on the path did not advance, or something more was lost.
    #[default]
    Doubtful,
    /// It advanced, and nothing more was lost.
    Safe,
}

impl RateReduction {
    /// None is under way.
    pub(crate) const fn new() -> Self {
        Self { outstanding: 0, delivered: 0, sent: 0, news: 0, last_sack: LastSack::Doubtful }
    }

    /// Fast recovery starts, with this many bytes still outstanding.
    pub(crate) fn begin(&mut self, outstanding: u64) {
        *self = Self { outstanding, ..Self::new() };
    }

    /// Fast recovery is over.
    pub(crate) fn end(&mut self) {
        self.outstanding = 0;
    }

    /// A SACK acknowledges this many of the outstanding bytes.
    pub(crate) fn on_sack(&mut self, delivered: u64, last_sack: LastSack) {
        if self.outstanding > 0 {
            self.delivered = self.delivered.saturating_add(delivered);
            self.news = self.news.saturating_add(delivered);
            self.last_sack = last_sack;
        }
    }

    /// So many bytes were sent, for the first time or again.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.sent = self.sent.saturating_add(bytes);
    }

    /// Whether fast recovery is in progress.
    pub(crate) fn is_under_way(&self) -> bool {
        self.outstanding > 0
    }

    /// Maximum of outstanding bytes in the flush that starts; `None` without recovery.
    pub(crate) fn limit(&mut self, flight: u64, ssthresh: u64, unit: u64) -> Option<u64> {
        if self.outstanding == 0 {
            return None;
        }
        let news = core::mem::take(&mut self.news);
        let may_send = if flight > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            let due = share.div_ceil(u128::from(self.outstanding));
            u64::try_from(due).unwrap_or(u64::MAX).saturating_sub(self.sent)
        } else {
            let more = match self.last_sack {
                LastSack::Safe => unit,
                LastSack::Doubtful => 0,
            };
            news.saturating_add(more).min(ssthresh - flight)
        };
        // Lost data is retransmitted at once, whatever the account; and if nothing is outstanding, because it was
        // rescheduled to other paths, no SACK would ever allow anything.
        let least = if self.sent == 0 || flight == 0 { unit } else { 0 };
        Some(flight.saturating_add(may_send.max(least)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 1000;

    /// Packets in flight of a path, all of which a SACK each acknowledges or reports lost, in turn as `lost` says; gives
    /// the packets sent after each SACK.
    fn recover(outstanding: u64, lost: impl Fn(u64) -> bool) -> alloc::vec::Vec<u64> {
        let (mut reduction, mut flight) = (RateReduction::new(), outstanding * UNIT);
        let ssthresh = flight / 2;
        let mut sent = alloc::vec::Vec::new();
        for n in 0..outstanding {
            flight -= UNIT;
            if lost(n) {
                continue;
            }
            match sent.is_empty() {
                true => reduction.begin(flight),
                false => reduction.on_sack(UNIT, LastSack::Doubtful),
            }
            let limit = reduction.limit(flight, ssthresh, UNIT).unwrap();
            let before = flight;
            while flight < limit {
                flight += UNIT;
                reduction.on_sent(UNIT);
            }
            sent.push((flight - before) / UNIT);
        }
        sent
    }

    #[test]
    fn one_loss_halves_the_rate_and_not_the_time() {
        let sent = recover(100, |n| n == 0);
        assert_eq!(sent.iter().sum::<u64>(), 50);
        assert!(sent.chunks(10).all(|ten| (4..=6).contains(&ten.iter().sum::<u64>())), "{sent:?}");
    }

    #[test]
    fn no_more_is_sent_than_arrives() {
        // Half of what arrives, until only half a window is outstanding, and then all of it.
        let sent = recover(100, |n| n % 2 == 0);
        assert!(sent.iter().all(|&packets| packets <= 1), "{sent:?}");
        assert!((30..=38).contains(&sent.iter().sum::<u64>()), "{sent:?}");
        let sent = recover(100, |n| n % 4 != 3);
        assert!(sent.iter().all(|&packets| packets <= 1), "{sent:?}");
        assert!((18..=25).contains(&sent.iter().sum::<u64>()), "{sent:?}");
    }

    #[test]
    fn what_could_not_be_sent_before_makes_no_burst() {
        let mut reduction = RateReduction::new();
        reduction.begin(100 * UNIT);
        reduction.on_sent(UNIT);
        // The peer's window was closed while 60 packets arrived.
        reduction.on_sack(60 * UNIT, LastSack::Safe);
        reduction.limit(40 * UNIT, 50 * UNIT, UNIT);
        reduction.on_sack(UNIT, LastSack::Safe);
        assert_eq!(reduction.limit(39 * UNIT, 50 * UNIT, UNIT), Some(41 * UNIT));
    }

    #[test]
    fn what_is_missing_to_half_a_window_comes_back_when_the_repair_goes_well() {
        let mut reduction = RateReduction::new();
        reduction.begin(100 * UNIT);
        reduction.on_sent(UNIT);
        for (last_sack, more) in [(LastSack::Doubtful, 1), (LastSack::Safe, 2)] {
            reduction.on_sack(UNIT, last_sack);
            let limit = reduction.limit(20 * UNIT, 50 * UNIT, UNIT);
            assert_eq!(limit, Some((20 + more) * UNIT), "{last_sack:?}");
            reduction.on_sent(more * UNIT);
        }
        // Up to half a window, and then as much as leaves.
        reduction.on_sack(3 * UNIT, LastSack::Safe);
        assert_eq!(reduction.limit(49 * UNIT, 50 * UNIT, UNIT), Some(50 * UNIT));
    }

    #[test]
    fn a_path_that_everything_has_left_may_send() {
        let mut reduction = RateReduction::new();
        reduction.begin(10 * UNIT);
        reduction.on_sent(9 * UNIT);
        assert_eq!(reduction.limit(UNIT, 5 * UNIT, UNIT), Some(UNIT));
        assert_eq!(reduction.limit(0, 5 * UNIT, UNIT), Some(UNIT));
    }

    #[test]
    fn at_the_threshold_as_much_is_sent_as_is_delivered() {
        let mut reduction = RateReduction::new();
        reduction.begin(10 * UNIT);
        reduction.on_sent(UNIT);
        reduction.on_sack(4 * UNIT, LastSack::Safe);
        assert_eq!(reduction.limit(5 * UNIT, 5 * UNIT, UNIT), Some(5 * UNIT), "none is missing");
    }

    #[test]
    fn outside_recovery_it_says_nothing() {
        let mut reduction = RateReduction::new();
        assert!(!reduction.is_under_way());
        reduction.on_sack(UNIT, LastSack::Safe);
        reduction.on_sent(UNIT);
        assert_eq!(reduction.limit(0, 5 * UNIT, UNIT), None);
        reduction.begin(10 * UNIT);
        assert!(reduction.is_under_way());
        assert_eq!(reduction.limit(9 * UNIT, 5 * UNIT, UNIT), Some(10 * UNIT));
        reduction.end();
        assert!(!reduction.is_under_way());
        assert_eq!(reduction.limit(9 * UNIT, 5 * UNIT, UNIT), None);
    }

    #[test]
    fn the_largest_numbers_do_no_harm() {
        let mut reduction = RateReduction::new();
        reduction.begin(1);
        reduction.on_sack(u64::MAX, LastSack::Safe);
        assert_eq!(reduction.limit(u64::MAX, u64::MAX - 1, u64::MAX), Some(u64::MAX));
        reduction.on_sent(u64::MAX);
        reduction.on_sent(u64::MAX);
        assert_eq!(reduction.limit(u64::MAX, u64::MAX, UNIT), Some(u64::MAX));
    }
}
