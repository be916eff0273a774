//! The sender's records of TSNs.

use polypath_proto::{PathId, TransmissionCause, Tsn};
use polypath_units::Instant;

/// The sender's record of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sent {
    pub first_at: Instant,
    pub first_path: PathId,
    pub last_at: Instant,
    pub last_path: PathId,
    /// Number of retransmissions.
    pub again: u32,
    /// When it was acknowledged for the first time.
    pub acked: Option<Instant>,
    /// When it was abandoned.
    pub given_up: Option<Instant>,
    /// When the transmission was made whose loss a timer detected first.
    pub recovery_from: Option<Instant>,
    /// Whether it is neither acknowledged nor abandoned.
    pub outstanding: bool,
}

/// A retransmission of a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Retransmission {
    pub at: Instant,
    /// Its number.
    pub chunk: usize,
    pub path: PathId,
    pub cause: TransmissionCause,
}

/// All chunks of a sender, numbered from 0 in the order of their TSNs. TSNs for the unsent rest of an abandoned message
/// have no number.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    first: Option<Tsn>,
    sent: Vec<Sent>,
    /// TSNs that were never sent, by their distance from the first; few, if any.
    skipped: Vec<usize>,
    retransmissions: Vec<Retransmission>,
    /// All chunks before this one are acknowledged or abandoned.
    lowest: usize,
}

impl Chunks {
    /// Notes that a chunk was put into a packet.
    pub fn on_sent(&mut self, at: Instant, path: PathId, tsn: Tsn, cause: TransmissionCause) {
        let distance = tsn.distance_from(*self.first.get_or_insert(tsn)) as usize;
        let next = self.sent.len() + self.skipped.len();
        if distance >= next {
            self.skipped.extend(next..distance);
            self.sent.push(Sent {
                first_at: at,
                first_path: path,
                last_at: at,
                last_path: path,
                again: 0,
                acked: None,
                given_up: None,
                recovery_from: None,
                outstanding: true,
            });
        } else if let Some((chunk, sent)) = self.get_mut(tsn) {
            if cause == TransmissionCause::TimerRetransmission {
                sent.recovery_from.get_or_insert(sent.last_at);
            }
            (sent.last_at, sent.last_path) = (at, path);
            sent.again += 1;
            // If an acknowledged chunk is retransmitted, the receiver has reneged on it.
            sent.outstanding = true;
            self.lowest = self.lowest.min(chunk);
            self.retransmissions.push(Retransmission { at, chunk, path, cause });
        }
    }

    /// Notes that a chunk was acknowledged.
    pub fn on_acked(&mut self, at: Instant, tsn: Tsn) {
        if let Some((_, sent)) = self.get_mut(tsn) {
            sent.acked.get_or_insert(at);
            sent.outstanding = false;
        }
    }

    /// Notes that a chunk was abandoned.
    pub fn on_abandoned(&mut self, at: Instant, tsn: Tsn) {
        if let Some((_, sent)) = self.get_mut(tsn) {
            sent.given_up.get_or_insert(at);
            sent.outstanding = false;
        }
    }

    /// The lowest outstanding chunk, which blocks everything else.
    pub fn lowest_outstanding(&mut self) -> Option<(usize, Sent)> {
        let rest = self.sent.get(self.lowest..).unwrap_or_default();
        self.lowest += rest.iter().take_while(|sent| !sent.outstanding).count();
        self.sent.get(self.lowest).map(|sent| (self.lowest, *sent))
    }

    /// The number of a TSN, if it was sent.
    pub fn number(&self, tsn: Tsn) -> Option<usize> {
        let distance = tsn.distance_from(self.first?) as usize;
        let below = match self.skipped.last() {
            None => 0,
            Some(last) if *last < distance => self.skipped.len(),
            Some(_) => self.skipped.binary_search(&distance).err()?,
        };
        let number = distance - below;
        (number < self.sent.len()).then_some(number)
    }

    /// All of them.
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// Retransmissions, in order of time.
    pub fn retransmissions(&self) -> &[Retransmission] {
        &self.retransmissions
    }

    fn get_mut(&mut self, tsn: Tsn) -> Option<(usize, &mut Sent)> {
        let number = self.number(tsn)?;
        self.sent.get_mut(number).map(|sent| (number, sent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: PathId = PathId(0);
    const TWO: PathId = PathId(1);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn chunks_are_numbered_across_the_end_of_the_numbers() {
        let mut chunks = Chunks::default();
        for (ms, tsn) in [u32::MAX - 1, u32::MAX, 0, 1].into_iter().enumerate() {
            chunks.on_sent(at(ms as u64), ONE, Tsn(tsn), TransmissionCause::New);
        }
        assert_eq!(chunks.sent().len(), 4);
        assert_eq!(chunks.number(Tsn(1)), Some(3));
        assert_eq!([chunks.number(Tsn(2)), chunks.number(Tsn(u32::MAX - 2))], [None, None]);
    }

    #[test]
    fn a_tsn_that_is_never_sent_has_no_number() {
        let mut chunks = Chunks::default();
        // The unsent rest of abandoned messages: 12, and then 15 and 16 of two in a row.
        for tsn in [10, 11, 13, 14, 17] {
            chunks.on_sent(at(u64::from(tsn)), ONE, Tsn(tsn), TransmissionCause::New);
        }
        let numbers = [10, 11, 12, 13, 14, 15, 16, 17, 18].map(|tsn| chunks.number(Tsn(tsn)));
        let expected = [Some(0), Some(1), None, Some(2), Some(3), None, None, Some(4), None];
        assert_eq!(numbers, expected);
        chunks.on_sent(at(20), TWO, Tsn(13), TransmissionCause::FastRetransmission);
        chunks.on_acked(at(21), Tsn(14));
        chunks.on_abandoned(at(22), Tsn(12));
        chunks.on_abandoned(at(22), Tsn(11));
        let again: Vec<u32> = chunks.sent().iter().map(|sent| sent.again).collect();
        assert_eq!(again, [0, 0, 1, 0, 0]);
        assert_eq!(chunks.retransmissions()[0].chunk, 2);
        assert_eq!(
            (chunks.sent()[3].acked, chunks.sent()[1].given_up),
            (Some(at(21)), Some(at(22)))
        );
    }

    #[test]
    fn a_recovery_begins_with_the_transmission_that_a_timer_found_lost() {
        let mut chunks = Chunks::default();
        chunks.on_sent(at(0), TWO, Tsn(7), TransmissionCause::New);
        chunks.on_sent(at(100), TWO, Tsn(7), TransmissionCause::FastRetransmission);
        assert_eq!(chunks.sent()[0].recovery_from, None);
        chunks.on_sent(at(1_100), ONE, Tsn(7), TransmissionCause::TimerRetransmission);
        chunks.on_sent(at(3_100), ONE, Tsn(7), TransmissionCause::TimerRetransmission);
        let sent = chunks.sent()[0];
        assert_eq!((sent.recovery_from, sent.again), (Some(at(100)), 3));
        assert_eq!((sent.first_path, sent.last_path), (TWO, ONE));
        let paths: Vec<PathId> = chunks.retransmissions().iter().map(|again| again.path).collect();
        assert_eq!(paths, [TWO, ONE, ONE]);
    }

    #[test]
    fn everything_waits_for_the_lowest_that_is_outstanding() {
        let mut chunks = Chunks::default();
        assert_eq!(chunks.lowest_outstanding(), None);
        for tsn in 0..4 {
            chunks.on_sent(at(0), ONE, Tsn(tsn), TransmissionCause::New);
        }
        let lowest = |chunks: &mut Chunks| chunks.lowest_outstanding().map(|(n, _)| n);
        assert_eq!(lowest(&mut chunks), Some(0));
        chunks.on_acked(at(1), Tsn(1));
        assert_eq!(lowest(&mut chunks), Some(0));
        chunks.on_acked(at(1), Tsn(0));
        assert_eq!(lowest(&mut chunks), Some(2));
        chunks.on_abandoned(at(1), Tsn(2));
        assert_eq!(lowest(&mut chunks), Some(3));
        // The receiver has reneged on it.
        chunks.on_sent(at(2), TWO, Tsn(1), TransmissionCause::FastRetransmission);
        assert_eq!(lowest(&mut chunks), Some(1));
        chunks.on_acked(at(3), Tsn(1));
        chunks.on_acked(at(3), Tsn(3));
        assert_eq!(lowest(&mut chunks), None);
        assert_eq!(chunks.sent()[1].acked, Some(at(1)));
    }
}
