//! Loss delay: what the losses of a path add to its round trip, when everything waits for what was lost.
//!
//! If the buffers are short, a lost chunk stops the transfer until its retransmission arrives, one round trip later. A
//! window of `n` chunks thus takes longer by a round trip times the probability that one of them is lost. That
//! probability follows from the share of rounds of the path in which something was lost, and from the chunks that it
//! carried in a round. Several losses in one round cost no more than one.
//!
//! Of unordered messages, only those wait that lost a chunk: then the window is a message.
//!
//! No paper describes it. Ferlin et al. 2016 ("BLEST", section III) assume that no chunk is lost.

use polypath_wire::DataFlags;

use crate::{Duration, Instant};

/// Sums are in parts of this.
const ONE: u32 = 256;
/// With each further round, sums lose this part: what counts are about that many rounds.
const MEMORY: u32 = 16;
/// With a sum of rounds below this, nothing is known: that is what five rounds add up to.
const LEAST_ROUNDS: u32 = 5 * ONE;

/// In how many rounds of a path something was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LossDelay {
    /// When the present round ends.
    ends: Instant,
    /// Chunks that were delivered or lost in it.
    chunks: u32,
    has_lost: bool,
    /// Sums over rounds: how many, how many with a loss, and the chunks in them.
    rounds: u32,
    lossy: u32,
    carried: u64,
}

impl LossDelay {
    /// Nothing is known.
    pub(crate) const fn new() -> Self {
        Self { ends: Instant::ZERO, chunks: 0, has_lost: false, rounds: 0, lossy: 0, carried: 0 }
    }

    /// Chunks were acknowledged, on a path with this round-trip time.
    #[inline]
    pub(crate) fn on_delivered(&mut self, now: Instant, srtt: Duration, chunks: u32) {
        if chunks == 0 {
            return;
        }
        self.chunks = self.chunks.saturating_add(chunks);
        if now >= self.ends {
            self.end_round(now, srtt);
        }
    }

    /// A chunk was found lost.
    pub(crate) fn on_lost(&mut self) {
        self.chunks = self.chunks.saturating_add(1);
        self.has_lost = true;
    }

    fn end_round(&mut self, now: Instant, srtt: Duration) {
        let lossy = if self.has_lost { ONE } else { 0 };
        self.rounds += ONE - self.rounds / MEMORY;
        self.lossy = self.lossy - self.lossy / MEMORY + lossy;
        let carried = u64::from(self.chunks) * u64::from(ONE);
        self.carried = self.carried - self.carried / u64::from(MEMORY) + carried;
        (self.chunks, self.has_lost, self.ends) = (0, false, now + srtt);
    }

    /// What losses add to the round trip of a window of so many chunks, if a retransmission takes `repair`.
    #[inline]
    pub(crate) fn of(&self, repair: Duration, chunks: u64) -> Duration {
        match self.is_known() {
            true => self.lasts(repair, chunks),
            false => Duration::ZERO,
        }
    }

    /// Whether enough rounds are known, and something was lost in some.
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        self.lossy > 0 && self.rounds >= LEAST_ROUNDS
    }

    /// If a round of `c` chunks has a loss with probability `q`, losses relate to no loss like `q` to `1 - q`, and that ratio
    /// grows with the number of chunks.
    fn lasts(&self, repair: Duration, chunks: u64) -> Duration {
        let [lossy, rounds] = [self.lossy, self.rounds].map(u128::from);
        let with = lossy * rounds * u128::from(chunks);
        let without =
            (rounds + u128::from(ONE / 2)).saturating_sub(lossy) * u128::from(self.carried);
        let nanos = u128::from(repair.as_nanos()) * with / (with + without).max(1);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Unordered chunks after an ordered one that count like that one: where both kinds are sent, losses delay the ordered ones.
const ORDERED_COUNTS: u32 = 64;
/// From here on, everything waits; what lies above is the number of unordered chunks that still count like ordered ones.
const ALL: u32 = u32::MAX - ORDERED_COUNTS;

/// What waits for a chunk that is lost, from those that were sent last for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dependents {
    /// Up to [`ALL`].
    bytes: u32,
    /// Bytes of the unordered message that is being sent.
    message: u32,
}

impl Dependents {
    /// As for ordered messages.
    pub(crate) const fn new() -> Self {
        Self { bytes: ALL, message: 0 }
    }

    /// A chunk was sent for the first time.
    #[inline]
    pub(crate) fn on_new(&mut self, flags: DataFlags, user_bytes: u32) {
        if !flags.contains(DataFlags::UNORDERED) {
            self.bytes = u32::MAX;
            return;
        }
        if self.bytes > ALL {
            self.bytes -= 1;
            return;
        }
        if flags.contains(DataFlags::BEGIN) {
            self.message = 0;
        }
        self.message = self.message.saturating_add(user_bytes).min(ALL - 1);
        self.bytes = match (flags.contains(DataFlags::END), self.bytes) {
            // Delivered as it comes.
            (true, _) if flags.contains(DataFlags::BEGIN) => 0,
            (true, _) | (false, ALL) => self.message,
            // The one before tells how long it becomes.
            (false, before) => before.max(self.message),
        };
    }

    /// Bytes that wait until a lost chunk is repaired, if there are that many: 0 for a whole unordered message, all for ordered
    /// ones.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        match self.bytes {
            ALL.. => u64::MAX,
            bytes => bytes.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Rounds with 50 chunks each; something is lost in those that are `true`.
    fn after(rounds: impl Iterator<Item = bool>) -> LossDelay {
        let mut delay = LossDelay::new();
        for (round, has_lost) in (1..).zip(rounds) {
            let lost = u32::from(has_lost);
            (0..lost).for_each(|_| delay.on_lost());
            delay.on_delivered(Instant::ZERO + RTT * round, RTT, 50 - lost);
        }
        delay
    }

    fn every(nth: usize, rounds: usize) -> LossDelay {
        after((0..rounds).map(|round| round % nth == 0))
    }

    /// Milliseconds, for windows of so many chunks.
    fn adds(delay: &LossDelay, chunks: u64) -> u64 {
        delay.of(RTT, chunks).as_nanos() / 1_000_000
    }

    #[test]
    fn as_long_as_little_is_known_losses_add_nothing() {
        assert_eq!(adds(&LossDelay::new(), 50), 0);
        assert_eq!(adds(&every(1, 5), 50), 0, "five rounds");
        assert!(adds(&every(1, 6), 50) > 80, "six rounds");
        let lossless = after((0..100).map(|_| false));
        assert_eq!(adds(&lossless, 50), 0, "nothing is lost");
        assert!(!lossless.is_known() && every(1, 6).is_known());
    }

    #[test]
    fn a_window_waits_for_a_retransmission_as_often_as_it_loses_something() {
        for (nth, chunks, least, most) in [
            (1, 50, 95, 97),
            (2, 50, 45, 52),
            (4, 50, 20, 27),
            // One of two chunks in fifty: for a single chunk, hardly ever; for many, always.
            (2, 1, 1, 3),
            (2, 5000, 98, 99),
            (2, 0, 0, 0),
        ] {
            let delay = adds(&every(nth, 64), chunks);
            assert!((least..=most).contains(&delay), "{nth} {chunks}: {delay}");
        }
    }

    #[test]
    fn several_losses_in_a_round_count_once_and_all_is_forgotten() {
        let mut many = LossDelay::new();
        for round in 1..=64u64 {
            let lost = if round % 2 == 0 { 10 } else { 0 };
            (0..lost).for_each(|_| many.on_lost());
            many.on_delivered(Instant::ZERO + RTT * round, RTT, 50 - lost);
        }
        let delay = adds(&many, 50);
        assert!((47..=55).contains(&delay), "{delay}");
        let long_ago = after((0..200).map(|round| round < 20));
        assert_eq!(adds(&long_ago, 50), 0);
    }

    #[test]
    fn ordered_messages_wait_for_each_other_and_unordered_ones_for_their_own_chunks() {
        let [begin, end, unordered] = [DataFlags::BEGIN, DataFlags::END, DataFlags::UNORDERED];
        let mut dependents = Dependents::new();
        assert_eq!(dependents.bytes(), u64::MAX);
        let mut ordered_then = |unordered_chunks| {
            dependents.on_new(begin | end, 100);
            (0..unordered_chunks).for_each(|_| dependents.on_new(begin | end | unordered, 100));
            dependents.bytes()
        };
        assert_eq!(ordered_then(0), u64::MAX);
        assert_eq!(ordered_then(64), u64::MAX, "both kinds are sent");
        assert_eq!(ordered_then(65), 0);
        for (flags, bytes) in [
            // Three chunks; from the second message on it is known how long they are.
            (begin | unordered, 100),
            (unordered, 200),
            (end | unordered, 300),
            (begin | unordered, 300),
            (unordered, 300),
            (unordered, 300),
            (unordered, 400),
            (end | unordered, 500),
            (begin | end, u64::MAX),
        ] {
            dependents.on_new(flags, 100);
            assert_eq!(dependents.bytes(), bytes, "{flags:?}");
        }
    }

    #[test]
    fn the_longest_unordered_message_is_not_everything() {
        let mut dependents = Dependents::new();
        dependents.on_new(DataFlags::BEGIN | DataFlags::UNORDERED, u32::MAX);
        assert!((1 << 31..u64::MAX).contains(&dependents.bytes()));
    }

    #[test]
    fn a_round_lasts_a_round_trip() {
        let mut delay = LossDelay::new();
        delay.on_lost();
        for ms in 0..=600 {
            delay.on_delivered(Instant::ZERO + Duration::from_millis(ms), RTT, 1);
        }
        // The first SACK ends the first one. A SACK without news of the path ends none.
        assert_eq!(delay.rounds, 7 * ONE - 16 - 31 - 45 - 58 - 70 - 82);
        let before = delay;
        delay.on_delivered(Instant::ZERO + Duration::from_secs(9), RTT, 0);
        assert_eq!(delay, before);
    }
}
