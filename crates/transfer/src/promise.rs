//! Room that is promised to the files of a sender. All of it counts at first. Once the sender has had time to show its rate, only as
//! much counts as it fills within an hour, so that slow senders do not keep room from others that they use in days, or never.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// How long all promised room counts, whatever the rate is.
const GRACE: Duration = Duration::from_secs(30);
/// Afterwards, room counts that the sender fills in this time at the rate that it has had.
const HORIZON: Duration = Duration::from_secs(3600);
/// Room that counts in any case.
pub(crate) const LEAST: u64 = 1 << 20;
/// A rate is not measured over less than this.
const SHORTEST: Duration = Duration::from_secs(1);
/// How long it is remembered that a sender was slow: it has no grace when it is back.
const MEMORY: Duration = Duration::from_secs(3600);
/// Most senders that are remembered.
const MOST_REMEMBERED: usize = 1024;

/// Room that is promised to a sender.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    /// Bytes that are promised and not written.
    unwritten: u64,
    /// Since when something is promised.
    since: Instant,
    /// Bytes that have been written since then.
    written: u64,
    has_grace: bool,
}

impl Promise {
    /// Nothing is promised yet.
    pub(crate) fn nothing(has_grace: bool) -> Self {
        Self { unwritten: 0, since: Instant::now(), written: 0, has_grace }
    }

    /// More is promised.
    pub(crate) fn add(&mut self, bytes: u64) {
        if self.unwritten == 0 {
            (self.since, self.written) = (Instant::now(), 0);
        }
        self.unwritten = self.unwritten.saturating_add(bytes);
    }

    /// Promised room was filled.
    pub(crate) fn fill(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
        self.release(bytes);
    }

    /// Promised room is not needed.
    pub(crate) fn release(&mut self, bytes: u64) {
        self.unwritten = self.unwritten.saturating_sub(bytes);
    }

    /// Bytes that are promised and not written.
    pub(crate) fn unwritten(&self) -> u64 {
        self.unwritten
    }

    /// As much of them as counts.
    pub(crate) fn counted(&self) -> u64 {
        match self.has_grace && self.since.elapsed() < GRACE {
            true => self.unwritten,
            false => self.unwritten.min(self.usable()),
        }
    }

    /// Whether the sender has been there for a while, and fills less than it was promised.
    pub(crate) fn is_slow(&self) -> bool {
        self.since.elapsed() >= SHORTEST && self.usable() < self.unwritten
    }

    /// What the sender fills in the time that counts.
    fn usable(&self) -> u64 {
        let age = self.since.elapsed().max(SHORTEST).as_millis();
        let bytes = u128::from(self.written) * HORIZON.as_millis() / age;
        u64::try_from(bytes).unwrap_or(u64::MAX).max(LEAST)
    }
}

/// Senders that left while they were slow, by name or address.
#[derive(Debug, Default)]
pub(crate) struct SlowSenders(BTreeMap<String, Instant>);

impl SlowSenders {
    /// Remembers one; of too many, the one that is remembered longest is forgotten.
    pub(crate) fn note(&mut self, sender: &str) {
        self.0.insert(sender.to_owned(), Instant::now());
        if self.0.len() > MOST_REMEMBERED {
            let oldest = self.0.iter().min_by_key(|(_, noted)| **noted);
            if let Some(oldest) = oldest.map(|(sender, _)| sender.clone()) {
                self.0.remove(&oldest);
            }
        }
    }

    /// Whether it was slow not long ago.
    pub(crate) fn has(&self, sender: &str) -> bool {
        self.0.get(sender).is_some_and(|noted| noted.elapsed() < MEMORY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    const SECOND: Duration = Duration::from_secs(1);
    const GB: u64 = 1_000_000_000;

    #[tokio::test(start_paused = true)]
    async fn a_promise_counts_as_far_as_it_is_filled_in_an_hour() {
        let mut promise = Promise::nothing(true);
        promise.add(100 * GB);
        advance(GRACE - SECOND).await;
        assert_eq!(promise.counted(), 100 * GB, "not known yet");
        advance(SECOND).await;
        assert_eq!(promise.counted(), LEAST);
        // 8 kbit/s for as long again.
        promise.fill(60_000);
        advance(SECOND * 30).await;
        assert_eq!(promise.counted(), 3_600_000);
        // 1 Gbit/s for as long again.
        promise.fill(3 * GB);
        assert_eq!(promise.counted(), 97 * GB - 60_000, "all of it");
        assert!(!promise.is_slow());
        // A burst is worth less and less.
        advance(SECOND * 3540).await;
        assert_eq!(promise.counted(), 3 * GB + 60_000);
        assert!(promise.is_slow());
        promise.release(97 * GB);
        assert_eq!(promise.counted(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_without_a_promise_does_not_count() {
        let mut promise = Promise::nothing(true);
        advance(SECOND * 1000).await;
        promise.add(GB);
        assert_eq!(promise.counted(), GB);
        advance(GRACE).await;
        assert_eq!(promise.counted(), LEAST);
        promise.fill(GB);
        promise.add(GB);
        assert_eq!(promise.counted(), GB);
        let mut none = Promise::nothing(false);
        none.add(GB);
        assert_eq!((none.counted(), none.is_slow()), (LEAST, false));
        advance(SHORTEST).await;
        assert!(none.is_slow());
    }

    #[tokio::test(start_paused = true)]
    async fn slow_senders_are_remembered_for_an_hour_and_not_without_end() {
        let mut slow = SlowSenders::default();
        slow.note("192.0.2.1");
        advance(MEMORY - SECOND).await;
        assert!(slow.has("192.0.2.1") && !slow.has("192.0.2.2"));
        for sender in 0..MOST_REMEMBERED {
            slow.note(&sender.to_string());
        }
        assert!(!slow.has("192.0.2.1") && slow.has("0"));
        assert_eq!(slow.0.len(), MOST_REMEMBERED);
        advance(MEMORY).await;
        assert!(!slow.has("0"));
    }
}
