//! A user that met a full send buffer: what it waits for, and that it will be back.

use core::num::NonZeroU64;

use crate::{Duration, Instant};

/// Least time that a program has to come back once there is room: it has to be scheduled.
const LEAST: Duration = Duration::from_millis(10);

/// What a user waits for that had more to send than there was room for.
///
/// Between the notice of room and the user's next message the send queue is empty, although the transfer is not at its tail: more data
/// follows as soon as the program runs. It need not follow: a program may drop the message that was refused. So it is expected
/// for a limited time after the notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Demand {
    /// It wants to know when there is room for so many bytes.
    room: Option<NonZeroU64>,
    /// A message was refused, and none was accepted since.
    comes_back: bool,
    /// How long it is expected back, once it knows that there is room.
    until: Option<Instant>,
}

impl Demand {
    /// A message was refused that needs so much room.
    pub(super) fn refuse(&mut self, bytes: u64) {
        self.room = self.room.max(NonZeroU64::new(bytes));
        self.comes_back = true;
        self.until = None;
    }

    /// A message was accepted. Another one may still wait for room.
    pub(super) fn accept(&mut self) {
        self.cease();
    }

    /// There is so much room. Returns whether the user must be notified now: not for less than `batch`, as waking a program has a price.
    pub(super) fn on_room(&mut self, free: u64, batch: u64) -> bool {
        let is_met = self.room.is_some_and(|wanted| free >= wanted.get().max(batch));
        if is_met {
            self.room = None;
        }
        is_met
    }

    /// The user was notified of room: it is expected back for a round trip.
    pub(super) fn expect_until(&mut self, now: Instant, rtt: Duration) {
        self.until = self.comes_back.then(|| now + rtt.max(LEAST));
    }

    /// When it is expected no more.
    pub(super) fn until(self) -> Option<Instant> {
        self.until
    }

    /// It is expected no more: it did not come back in time, or everything is acknowledged.
    pub(super) fn cease(&mut self) {
        (self.comes_back, self.until) = (false, None);
    }

    /// Whether the user waits for room.
    pub(super) fn is_waiting(self) -> bool {
        self.room.is_some()
    }

    /// Whether it was kept from handing over all that it has.
    pub(super) fn expects_more(self) -> bool {
        self.room.is_some() || self.comes_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_told_once_and_not_for_less_than_it_needs() {
        let mut demand = Demand::default();
        assert!(!demand.on_room(1000, 0) && !demand.expects_more(), "nobody waits");
        demand.refuse(500);
        demand.refuse(300);
        assert!(demand.is_waiting() && demand.expects_more());
        assert!(!demand.on_room(499, 0), "two messages were refused, and this is room for one");
        assert!(!demand.on_room(999, 1000), "it is worth more than a message");
        assert!(demand.on_room(500, 0));
        assert!(!demand.is_waiting() && demand.expects_more(), "it was told, and has not sent");
        assert!(!demand.on_room(1000, 0), "it knows");
        demand.accept();
        assert_eq!(demand, Demand::default());
        demand.refuse(300);
        assert!(demand.on_room(300, 0), "a new wish does not remember the old one");
    }

    #[test]
    fn who_has_sent_since_it_was_refused_need_not_come_back() {
        let mut demand = Demand::default();
        demand.refuse(300);
        demand.accept();
        assert!(demand.is_waiting() && demand.expects_more(), "a shorter one found room");
        assert!(demand.on_room(300, 0), "another program may wait");
        assert!(!demand.expects_more());
    }

    #[test]
    fn a_user_that_does_not_come_back_is_expected_for_a_round_trip() {
        for (rtt_ms, expected_ms) in [(40, 40), (1, 10)] {
            let now = Instant::ZERO + Duration::from_secs(1);
            let mut demand = Demand::default();
            demand.refuse(300);
            assert!(demand.on_room(300, 0));
            demand.expect_until(now, Duration::from_millis(rtt_ms));
            assert_eq!(demand.until(), Some(now + Duration::from_millis(expected_ms)));
            assert!(demand.expects_more());
            let mut waits_again = demand;
            waits_again.refuse(300);
            assert_eq!(waits_again.until(), None, "it waits for room again");
            demand.cease();
            assert_eq!(demand, Demand::default(), "its time is over");
        }
    }

    #[test]
    fn who_has_sent_since_is_not_expected_for_a_time() {
        let mut demand = Demand::default();
        demand.refuse(300);
        demand.accept();
        assert!(demand.on_room(300, 0));
        demand.expect_until(Instant::ZERO, Duration::from_millis(40));
        assert_eq!(demand, Demand::default());
    }
}
