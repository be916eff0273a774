//! A user that met a full send buffer: what it waits for, and that it will be back.

/// What a user waits for that had more to send than there was room for.
///
/// Between the time that it is told of room and its next message the queue is empty, and the association would look as if
/// everything was sent. But that is no tail: more follows as soon as the user has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Demand {
    /// Nothing: its last message was accepted, or it hands over no more.
    #[default]
    None,
    /// Room for so many bytes.
    Room(u64),
    /// It was told that there is room, and has not sent since.
    Told,
}

impl Demand {
    /// A message was refused that needs so much room.
    pub(super) fn refuse(&mut self, bytes: u64) {
        *self = match self {
            Self::Room(before) => Self::Room(bytes.max(*before)),
            Self::None | Self::Told => Self::Room(bytes),
        };
    }

    /// There is so much room. Returns whether the user must be told now.
    pub(super) fn on_room(&mut self, free: u64) -> bool {
        let is_met = matches!(self, Self::Room(wanted) if free >= *wanted);
        if is_met {
            *self = Self::Told;
        }
        is_met
    }

    /// A message was accepted. Another one may still wait for room.
    pub(super) fn accept(&mut self) {
        if *self == Self::Told {
            *self = Self::None;
        }
    }

    /// Whether it waits for room.
    pub(super) fn is_waiting(self) -> bool {
        matches!(self, Self::Room(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_told_once_and_not_for_less_than_it_needs() {
        let mut demand = Demand::default();
        assert!(!demand.on_room(1000), "nobody waits");
        demand.refuse(500);
        demand.refuse(300);
        assert!(demand.is_waiting());
        assert!(!demand.on_room(499), "two messages were refused, and this is room for one");
        assert!(demand.on_room(500));
        assert_eq!((demand, demand.is_waiting()), (Demand::Told, false));
        assert!(!demand.on_room(1000), "it knows");
        demand.refuse(300);
        demand.accept();
        assert_eq!(demand, Demand::Room(300), "a shorter message found room");
        assert!(demand.on_room(300), "a new wish does not remember the old one");
        demand.accept();
        assert_eq!(demand, Demand::None);
    }
}
