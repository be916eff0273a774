//! Associations that a socket has no more, while frames for them may be in its descriptor: messages in there are meant for them, and not for
//! the next association with the peer.
//!
//! Linux hands each message to its association at once. Here it waits in the descriptor first, so that whatever the program had written
//! to an association must be told from what it writes later.

use std::convert::Infallible;

use tokio::sync::oneshot;

/// Why a socket has an association no more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Departure {
    /// The program has aborted it: what is in the descriptor is refused.
    Aborted,
    /// It has a socket of its own (`sctp_peeloff`): what is in the descriptor comes before what is written there.
    PeeledOff,
}

/// Departed associations.
#[derive(Debug)]
pub(super) struct Departures<T>(Vec<Departed<T>>);

#[derive(Debug)]
struct Departed<T> {
    association: T,
    why: Departure,
    /// Bytes of frames that were in the descriptor when it left, and still are.
    left: usize,
    /// Dropped when the last of them is on its way.
    _passing: oneshot::Sender<Infallible>,
}

/// Ends when all that was in the descriptor at a departure is on its way.
#[derive(Debug)]
pub(super) struct Passed(oneshot::Receiver<Infallible>);

impl Passed {
    pub(super) async fn wait(&mut self) {
        let _ = (&mut self.0).await;
    }
}

impl<T> Departures<T> {
    pub(super) const NONE: Self = Self(Vec::new());

    /// An association leaves, with so many bytes of frames in the descriptor.
    pub(super) fn add(&mut self, association: T, why: Departure, left: usize) -> Passed {
        let (passing, passed) = oneshot::channel();
        self.0.push(Departed { association, why, left, _passing: passing });
        Passed(passed)
    }

    /// The associations that the next frame may be meant for, the oldest first.
    pub(super) fn open(&self) -> impl Iterator<Item = (&T, Departure)> {
        self.0.iter().filter(|one| one.left > 0).map(|one| (&one.association, one.why))
    }

    /// A frame of so many bytes was taken out of the descriptor.
    pub(super) fn taken(&mut self, size: usize) {
        for one in &mut self.0 {
            one.left = one.left.saturating_sub(size);
        }
    }

    /// What was taken is on its way, and the next `meaningless` bytes in the descriptor are for nobody.
    pub(super) fn settle(&mut self, meaningless: usize) {
        self.0.retain(|one| one.left > meaningless);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(departures: &Departures<char>) -> String {
        departures.open().map(|(association, _)| *association).collect()
    }

    fn is_over(passed: &mut Passed) -> bool {
        passed.0.try_recv() == Err(oneshot::error::TryRecvError::Closed)
    }

    #[test]
    fn what_was_in_the_descriptor_passes_first() {
        let mut departures = Departures::NONE;
        let mut a = departures.add('a', Departure::PeeledOff, 100);
        departures.taken(60);
        let mut b = departures.add('b', Departure::Aborted, 50);
        departures.settle(0);
        assert_eq!(open(&departures), "ab");
        departures.taken(40);
        // The last frame of it is not on its way yet, but the next one is not meant for it.
        assert_eq!((open(&departures), is_over(&mut a)), ("b".into(), false));
        departures.settle(0);
        assert_eq!((is_over(&mut a), is_over(&mut b)), (true, false));
        departures.taken(10);
        departures.settle(0);
        assert!(is_over(&mut b) && departures.0.is_empty());
    }

    #[test]
    fn one_that_leaves_nothing_waits_for_the_frame_under_way_only() {
        let mut departures = Departures::NONE;
        let mut a = departures.add('a', Departure::PeeledOff, 0);
        assert_eq!((open(&departures), is_over(&mut a)), (String::new(), false));
        departures.settle(0);
        assert!(is_over(&mut a));
    }

    #[test]
    fn a_frame_for_nobody_holds_up_nobody() {
        let mut departures = Departures::NONE;
        let mut a = departures.add('a', Departure::PeeledOff, 84);
        let mut b = departures.add('b', Departure::PeeledOff, 85);
        departures.settle(84);
        assert_eq!((is_over(&mut a), is_over(&mut b)), (true, false));
        drop(departures);
        assert!(is_over(&mut b), "the socket is closed");
    }
}
