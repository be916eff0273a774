//! How often a receiver may take back what its gap ack blocks have acknowledged (RFC 9260 section 6.2.1, D iii).
//!
//! A receiver that runs out of memory may do so. One that does it again and again makes the sender walk over its outstanding
//! chunks with packets of 28 bytes. So each round, from one withdrawal until everything sent before it is acknowledged
//! cumulatively, has an allowance of two windows of chunks. A receiver that withdraws more loses its gap acks: from
//! then on only its cumulative ack counts. Nothing is lost by that but time.

use crate::Tsn;

/// Withdrawals that are always allowed in a round, however small the window is.
const LEAST: u32 = 64;

/// Counts the chunks that a receiver withdraws.
#[derive(Debug, Default)]
pub(crate) struct RenegingLimit {
    withdrawn: u32,
    allowed: u32,
    /// First TSN that was not sent when the round began.
    round_end: Option<Tsn>,
    is_distrusted: bool,
}

impl RenegingLimit {
    /// Nothing was ever withdrawn.
    pub(crate) const NONE: Self =
        Self { withdrawn: 0, allowed: 0, round_end: None, is_distrusted: false };

    /// A SACK has withdrawn this many chunks. `base` is the first TSN that is not acknowledged cumulatively, `next` the
    /// first unsent one.
    pub(crate) fn note(&mut self, chunks: u32, base: Tsn, next: Tsn) {
        if self.round_end.is_none_or(|end| !base.is_before(end)) {
            let window = next.distance_from(base);
            self.allowed = window.saturating_mul(2).saturating_add(LEAST);
            self.round_end = Some(next);
            self.withdrawn = 0;
        }
        self.withdrawn = self.withdrawn.saturating_add(chunks);
        self.is_distrusted |= self.withdrawn > self.allowed;
    }

    /// Whether the gap ack blocks of the receiver count no more.
    #[inline]
    pub(crate) fn is_distrusted(&self) -> bool {
        self.is_distrusted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_windows_in_a_round_are_allowed() {
        let mut limit = RenegingLimit::default();
        for chunks in [1000, 1000, 64] {
            limit.note(chunks, Tsn(u32::MAX), Tsn(999));
            assert!(!limit.is_distrusted());
        }
        limit.note(1, Tsn(0), Tsn(1500));
        assert!(limit.is_distrusted());
    }

    #[test]
    fn what_moves_on_begins_a_new_round() {
        let mut limit = RenegingLimit::default();
        for round in 0..1000 {
            let base = Tsn(round * 100);
            limit.note(250, base, base.plus(100));
            assert!(!limit.is_distrusted(), "{round}");
        }
        // Not quite a round on.
        limit.note(250, Tsn(99_999), Tsn(100_100));
        assert!(limit.is_distrusted());
    }

    #[test]
    fn it_stays_lost() {
        let mut limit = RenegingLimit::default();
        limit.note(1000, Tsn(1), Tsn(2));
        limit.note(0, Tsn(500), Tsn(600));
        assert!(limit.is_distrusted());
    }
}
