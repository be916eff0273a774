//! First transmissions that were declared lost, so that it can be proved that they were not.
//!
//! Without timestamps a sender can tell by times and by duplicates. A chunk that is acknowledged before it is retransmitted was
//! not lost, and neither was one that is acknowledged so soon after its retransmission that only the original can be meant
//! (after RFC 3522), nor one that a SACK reports as received twice (after RFC 3708). Nothing is proved of chunks that were
//! sent more than twice.

use alloc::collections::VecDeque;

use crate::{Duration, Instant, Tsn};

/// Most losses of a path that are remembered; of older ones nothing is proved.
const MOST: usize = 2048;

/// How long they are remembered.
const REMEMBERED: Duration = Duration::from_secs(60);

/// A first transmission that was declared lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LostChunk {
    pub(crate) tsn: Tsn,
    pub(crate) sent_at: Instant,
    /// When it was declared lost.
    pub(crate) lost_at: Instant,
    pub(crate) flight_bytes: u32,
    /// Number of the episode in which it was lost.
    pub(crate) episode: u32,
    /// T3-rtx expired; otherwise something that was sent later has arrived.
    pub(crate) is_by_timer: bool,
    /// It was acknowledged after its only retransmission, and it is unknown which of both arrived.
    pub(crate) is_answered: bool,
}

/// The losses of a path, in the order of their TSNs.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossLog(VecDeque<LostChunk>);

impl LossLog {
    /// A chunk is declared lost.
    pub(crate) fn on_lost(&mut self, lost: LostChunk) {
        while self.0.len() >= MOST
            || self.0.front().is_some_and(|old| lost.lost_at.since(old.lost_at) > REMEMBERED)
        {
            self.0.pop_front();
        }
        match self.position(lost.tsn) {
            Ok(known) => self.0[known] = lost,
            Err(place) => self.0.insert(place, lost),
        }
    }

    /// Forgets a chunk and tells what was remembered of it.
    pub(crate) fn take(&mut self, tsn: Tsn) -> Option<LostChunk> {
        let place = self.position(tsn).ok()?;
        self.0.remove(place)
    }

    /// Whichever transmission of the chunk arrived, its other one may prove by a duplicate which it was.
    pub(crate) fn on_answered(&mut self, tsn: Tsn) {
        if let Ok(place) = self.position(tsn) {
            self.0[place].is_answered = true;
        }
    }

    /// Forgets a chunk that arrived twice and tells what was remembered of it, if that proves that it was not lost.
    pub(crate) fn take_duplicate(&mut self, tsn: Tsn) -> Option<LostChunk> {
        let place = self.position(tsn).ok()?;
        if self.0[place].is_answered { self.0.remove(place) } else { None }
    }

    fn position(&self, tsn: Tsn) -> Result<usize, usize> {
        // Mostly it is the highest.
        if self.0.back().is_none_or(|highest| highest.tsn.is_before(tsn)) {
            return Err(self.0.len());
        }
        let place = self.0.partition_point(|lost| lost.tsn.is_before(tsn));
        match self.0.get(place).is_some_and(|lost| lost.tsn == tsn) {
            true => Ok(place),
            false => Err(place),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(tsn: u32, lost_at: Instant) -> LostChunk {
        LostChunk {
            tsn: Tsn(tsn),
            sent_at: Instant::ZERO,
            lost_at,
            flight_bytes: 1000,
            episode: 1,
            is_by_timer: false,
            is_answered: false,
        }
    }

    fn log(tsns: &[u32]) -> LossLog {
        let mut log = LossLog::default();
        tsns.iter().for_each(|tsn| log.on_lost(lost(*tsn, Instant::ZERO)));
        log
    }

    #[test]
    fn each_chunk_is_taken_once_whatever_the_order() {
        for order in [[u32::MAX, 0, 5], [5, u32::MAX, 0], [0, 5, 0]] {
            let mut log = log(&order);
            for tsn in order {
                let again = order.iter().filter(|other| **other == tsn).count() > 1;
                assert!(log.take(Tsn(tsn)).is_some() || again, "{tsn}");
                assert_eq!(log.take(Tsn(tsn)), None, "{tsn}: once");
            }
            assert_eq!(log.take(Tsn(7)), None);
        }
    }

    #[test]
    fn a_duplicate_proves_something_of_what_was_answered() {
        let mut log = log(&[4, 5]);
        log.on_answered(Tsn(5));
        log.on_answered(Tsn(6));
        assert_eq!(log.take_duplicate(Tsn(4)), None, "never retransmitted, or more than once");
        assert_eq!(log.take_duplicate(Tsn(5)).map(|lost| lost.tsn), Some(Tsn(5)));
        assert_eq!(log.take_duplicate(Tsn(5)), None, "once");
    }

    #[test]
    fn memory_is_bounded_by_number_and_time() {
        let mut log = log(&(0..MOST as u32 + 3).collect::<std::vec::Vec<_>>());
        assert_eq!((log.0.len(), log.take(Tsn(2))), (MOST, None));
        let later = Instant::ZERO + REMEMBERED + Duration::from_millis(1);
        log.on_lost(lost(9000, later));
        assert_eq!(log.0.len(), 1);
    }
}
