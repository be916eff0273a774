//! A user that met a full send buffer: what it waits for, and that it will be back.

use core::num::NonZeroU64;

/// What a user waits for that had more to send than there was room for.
///
/// Between the notice of room and the user's next message the send queue is empty, although the transfer is not at its tail: more data
/// follows as soon as the program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Demand {
    /// It wants to know when there is room for so many bytes.
    room: Option<NonZeroU64>,
    /// A message was refused, and none was accepted since.
    comes_back: bool,
}

impl Demand {
    /// A message was refused that needs so much room.
    pub(super) fn refuse(&mut self, bytes: u64) {
        self.room = self.room.max(NonZeroU64::new(bytes));
        self.comes_back = true;
    }

    /// A message was accepted. Another one may still wait for room.
    pub(super) fn accept(&mut self) {
        self.comes_back = false;
    }

    /// There is so much room. Returns whether the user must be told now.
    pub(super) fn on_room(&mut self, free: u64) -> bool {
        let is_met = self.room.is_some_and(|wanted| free >= wanted.get());
        if is_met {
            self.room = None;
        }
        is_met
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
        assert!(!demand.on_room(1000) && !demand.expects_more(), "nobody waits");
        demand.refuse(500);
        demand.refuse(300);
        assert!(demand.is_waiting() && demand.expects_more());
        assert!(!demand.on_room(499), "two messages were refused, and this is room for one");
        assert!(demand.on_room(500));
        assert!(!demand.is_waiting() && demand.expects_more(), "it was told, and has not sent");
        assert!(!demand.on_room(1000), "it knows");
        demand.accept();
        assert_eq!(demand, Demand::default());
        demand.refuse(300);
        assert!(demand.on_room(300), "a new wish does not remember the old one");
    }

    #[test]
    fn who_has_sent_since_it_was_refused_need_not_come_back() {
        let mut demand = Demand::default();
        demand.refuse(300);
        demand.accept();
        assert!(demand.is_waiting() && demand.expects_more(), "a shorter one found room");
        assert!(demand.on_room(300), "another program may wait");
        assert!(!demand.expects_more());
    }
}
