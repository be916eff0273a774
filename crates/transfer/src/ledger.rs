//! What all receivers of one inbox share: who writes which incomplete file, and how much room is promised to whom.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::promise::{LEAST, Promise, SlowSenders};
use crate::quota::{QuotaError, Totals};

/// Time without a byte after which a transfer has to make way for another one of the same file: its sender has probably begun
/// anew.
const STALE: Duration = Duration::from_secs(2);
/// How long a sender waits for another one that may be stale.
const PATIENCE: Duration = Duration::from_secs(6);
/// Least time between two looks through incomplete files.
const SWEEP: Duration = Duration::from_secs(10);
/// Pause between two looks at the other one.
const LOOK: Duration = Duration::from_millis(100);

/// The account of an inbox.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Who writes to which incomplete file, by its hidden name.
    holders: BTreeMap<String, Arc<Holder>>,
    /// Bytes of incomplete files that receivers of this inbox have kept, by hidden name.
    kept: BTreeMap<String, u64>,
    /// When incomplete files were last looked through.
    swept: Option<Instant>,
    /// Bytes of files that were stored.
    stored: u64,
    /// Files and directories that were accepted, without those that were given up.
    files: u64,
    /// Bytes that were written of files that are neither stored nor given up.
    written: u64,
    /// Room that is promised to the files of each sender, beyond what they have written.
    promises: BTreeMap<u64, Promise>,
    last_sender: u64,
    slow: SlowSenders,
}

/// A sender of files, until it is dropped.
#[derive(Debug)]
pub(crate) struct Sender {
    ledger: Arc<Ledger>,
    number: u64,
    /// Its name or address, by which it is known when it is back.
    name: String,
}

#[derive(Debug)]
struct Holder {
    moved: AtomicU64,
    evicted: Arc<Notify>,
}

/// The right to write to an incomplete file, until it is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    ledger: Arc<Ledger>,
    name: String,
    holder: Arc<Holder>,
    kept: u64,
}

/// Room that is promised to a file, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    sender: Arc<Sender>,
    size: u64,
    unwritten: u64,
    /// Bytes that were written since the disk was last looked at for them.
    unseen: u64,
    is_stored: bool,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims an incomplete file. If another receiver has it and nothing has come for it for a while, `evicted` of that one is
    /// notified, and the claim succeeds when it has let go. Nothing if the other one is at work.
    pub(crate) async fn claim(
        self: &Arc<Self>,
        name: &str,
        evicted: &Arc<Notify>,
    ) -> Option<Claim> {
        let begin = Instant::now();
        let mut last: Option<(u64, Instant)> = None;
        let mut asked = false;
        loop {
            let moved = match self.try_claim(name, evicted) {
                Ok(claim) => return Some(claim),
                Err(moved) => moved,
            };
            let since = match last {
                Some((before, since)) if before == moved => since,
                _ => Instant::now(),
            };
            last = Some((moved, since));
            if since.elapsed() >= STALE && !asked {
                asked = true;
                self.evict(name);
            }
            // What it has received is still to be written when it has to make way.
            if begin.elapsed() >= if asked { PATIENCE * 5 } else { PATIENCE } {
                return None;
            }
            sleep(LOOK).await;
        }
    }

    /// The claim, or how far the one has come who has it.
    fn try_claim(self: &Arc<Self>, name: &str, evicted: &Arc<Notify>) -> Result<Claim, u64> {
        let mut state = self.lock();
        if let Some(other) = state.holders.get(name) {
            return Err(other.moved.load(Ordering::Relaxed));
        }
        let holder = Arc::new(Holder { moved: AtomicU64::new(0), evicted: Arc::clone(evicted) });
        state.holders.insert(name.to_owned(), Arc::clone(&holder));
        // It counts with the size of the whole file from now on.
        state.kept.remove(name);
        drop(state);
        Ok(Claim { ledger: Arc::clone(self), name: name.to_owned(), holder, kept: 0 })
    }

    fn evict(&self, name: &str) {
        if let Some(other) = self.lock().holders.get(name) {
            other.evicted.notify_one();
        }
    }

    /// Whether incomplete files have not been looked through for a while: a directory may be large.
    pub(crate) fn is_sweep_due(&self) -> bool {
        let mut state = self.lock();
        let is_due = state.swept.is_none_or(|swept| swept.elapsed() >= SWEEP);
        if is_due {
            state.swept = Some(Instant::now());
        }
        is_due
    }

    /// Whether somebody writes to an incomplete file.
    pub(crate) fn is_claimed(&self, name: &str) -> bool {
        self.lock().holders.contains_key(name)
    }

    /// Whether anybody writes to an incomplete file.
    pub(crate) fn is_any_claimed(&self) -> bool {
        !self.lock().holders.is_empty()
    }

    /// A sender that offers files, with its name or address.
    pub(crate) fn sender(self: &Arc<Self>, name: String) -> Arc<Sender> {
        let mut state = self.lock();
        state.last_sender += 1;
        let (number, has_grace) = (state.last_sender, !state.slow.has(&name));
        state.promises.insert(number, Promise::nothing(has_grace));
        drop(state);
        Arc::new(Sender { ledger: Arc::clone(self), number, name })
    }

    /// An incomplete file that was kept is there no more.
    pub(crate) fn removed(&self, name: &str) {
        self.lock().kept.remove(name);
    }
}

impl Sender {
    /// Promises room to a file of `size` bytes, if all files together do not get more than the limits.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        size: u64,
        limits: Totals,
    ) -> Result<Reservation, QuotaError> {
        {
            let mut state = self.ledger.lock();
            if let Some(most) = limits.max_files
                && state.files >= most
            {
                return Err(QuotaError::TotalFiles(most));
            }
            state.files = state.files.saturating_add(1);
        }
        let sender = Arc::clone(self);
        let mut reservation =
            Reservation { sender, size: 0, unwritten: 0, unseen: 0, is_stored: false };
        reservation.extend(size, limits)?;
        Ok(reservation)
    }

    /// Free bytes of the disk that a file of this sender with room for `size` bytes may not have: they are promised to others.
    pub(crate) fn promised_to_others(&self, size: u64) -> u64 {
        let state = self.ledger.lock();
        let own = state
            .promises
            .get(&self.number)
            .map_or(0, |promise| promise.counted().min(promise.unwritten().saturating_sub(size)));
        state.promised_but_to(self.number).saturating_add(own)
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.ledger.lock().promises.remove(&self.number);
    }
}

impl State {
    /// Bytes that count towards the most that may come: those of stored files, of incomplete ones, and what counts of promises.
    fn total(&self) -> u64 {
        // No sender has this number.
        self.total_but(0)
    }

    /// The same without what is promised to a sender.
    fn total_but(&self, sender: u64) -> u64 {
        let kept = self.kept.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        let there = self.stored.saturating_add(self.written).saturating_add(kept);
        there.saturating_add(self.promised_but_to(sender))
    }

    /// What counts of the promises to all senders but one.
    fn promised_but_to(&self, sender: u64) -> u64 {
        let others = self.promises.iter().filter(|(number, _)| **number != sender);
        others.fold(0, |sum, (_, promise)| sum.saturating_add(promise.counted()))
    }
}

impl Claim {
    /// So many bytes stay on the disk when it is dropped, without being a file.
    pub(crate) fn keeps(&mut self, bytes: u64) {
        self.kept = bytes;
    }

    /// The hidden name.
    pub(crate) fn part(&self) -> &str {
        &self.name
    }

    /// More content came.
    pub(crate) fn moved(&self, bytes: u64) {
        self.holder.moved.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut state = self.ledger.lock();
        state.holders.remove(&self.name);
        if self.kept > 0 {
            state.kept.insert(self.name.clone(), self.kept);
        }
    }
}

impl Reservation {
    /// Promises more room, for a file whose size is not known before.
    pub(crate) fn extend(&mut self, bytes: u64, limits: Totals) -> Result<(), QuotaError> {
        let mut state = self.sender.ledger.lock();
        if let Some(limit) = limits.max_bytes {
            let left = limit.saturating_sub(state.total());
            if bytes > left {
                return Err(QuotaError::Total { limit, left, size: bytes });
            }
        }
        if let Some(promise) = state.promises.get_mut(&self.sender.number) {
            promise.add(bytes);
        }
        self.size = self.size.saturating_add(bytes);
        self.unwritten = self.unwritten.saturating_add(bytes);
        Ok(())
    }

    /// So many bytes were on the disk already.
    pub(crate) fn found(&mut self, bytes: u64) {
        let bytes = bytes.min(self.unwritten);
        self.unwritten -= bytes;
        let mut state = self.sender.ledger.lock();
        state.written = state.written.saturating_add(bytes);
        if let Some(promise) = state.promises.get_mut(&self.sender.number) {
            promise.release(bytes);
        }
    }

    /// So many bytes more were written. Of a slow sender, whose promise counts in part, they may be more than there is room for by now.
    pub(crate) fn write(&mut self, bytes: u64, limits: Totals) -> Result<(), QuotaError> {
        let bytes = bytes.min(self.unwritten);
        self.unwritten -= bytes;
        let mut state = self.sender.ledger.lock();
        state.written = state.written.saturating_add(bytes);
        let Some(promise) = state.promises.get_mut(&self.sender.number) else { return Ok(()) };
        promise.fill(bytes);
        if promise.counted() == promise.unwritten() {
            self.unseen = 0;
            return Ok(());
        }
        self.unseen = self.unseen.saturating_add(bytes);
        match limits.max_bytes {
            Some(limit) if state.total_but(self.sender.number) > limit => {
                Err(QuotaError::Total { limit, left: 0, size: self.unwritten })
            }
            _ => Ok(()),
        }
    }

    /// If it is time to look whether the disk has room for more of a slow sender: for how many bytes, and how many are promised to others.
    pub(crate) fn take_look(&mut self) -> Option<(u64, u64)> {
        if self.unseen < LEAST {
            return None;
        }
        self.unseen = 0;
        let promised = self.sender.ledger.lock().promised_but_to(self.sender.number);
        Some((self.unwritten.min(LEAST), promised))
    }

    /// The file has its name.
    pub(crate) fn stored(mut self) {
        let mut state = self.sender.ledger.lock();
        state.stored = state.stored.saturating_add(self.size);
        state.written = state.written.saturating_sub(self.size - self.unwritten);
        if let Some(promise) = state.promises.get_mut(&self.sender.number) {
            promise.fill(self.unwritten);
        }
        (self.size, self.unwritten, self.is_stored) = (0, 0, true);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.is_stored {
            return;
        }
        let mut state = self.sender.ledger.lock();
        state.files = state.files.saturating_sub(1);
        state.written = state.written.saturating_sub(self.size - self.unwritten);
        let Some(promise) = state.promises.get_mut(&self.sender.number) else { return };
        let is_slow = promise.is_slow() && self.unwritten > 0;
        promise.release(self.unwritten);
        if is_slow {
            state.slow.note(&self.sender.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many bytes of all files.
    fn bytes(most: u64) -> Totals {
        Totals { max_bytes: Some(most), max_files: None }
    }

    fn sender(ledger: &Arc<Ledger>) -> Arc<Sender> {
        ledger.sender("192.0.2.1".to_owned())
    }

    #[tokio::test]
    async fn files_count_that_are_stored_or_on_their_way() {
        let ledger = Arc::new(Ledger::default());
        let sender = sender(&ledger);
        let limits = Totals { max_bytes: Some(10), max_files: Some(2) };
        sender.reserve(0, limits).unwrap().stored();
        let second = sender.reserve(5, limits).unwrap();
        assert_eq!(sender.reserve(0, limits).unwrap_err(), QuotaError::TotalFiles(2));
        drop(second);
        // One that is too large is none.
        assert!(matches!(sender.reserve(11, limits), Err(QuotaError::Total { .. })));
        sender.reserve(5, limits).unwrap().stored();
        assert_eq!(sender.reserve(0, limits).unwrap_err(), QuotaError::TotalFiles(2));
    }

    #[tokio::test]
    async fn room_is_promised_once() {
        let ledger = Arc::new(Ledger::default());
        let (one, other) = (sender(&ledger), sender(&ledger));
        let mut first = one.reserve(60, bytes(100)).unwrap();
        let error = other.reserve(41, bytes(100)).unwrap_err();
        assert_eq!(error, QuotaError::Total { limit: 100, left: 40, size: 41 });
        first.found(20);
        first.write(30, bytes(100)).unwrap();
        assert_eq!((other.promised_to_others(0), ledger.lock().total()), (10, 60));
        assert_eq!((one.promised_to_others(60), one.promised_to_others(4)), (0, 6));
        let mut second = other.reserve(0, bytes(100)).unwrap();
        second.extend(40, bytes(100)).unwrap();
        assert!(second.extend(1, bytes(100)).is_err());
        first.stored();
        drop(second);
        assert_eq!((other.promised_to_others(0), ledger.lock().total()), (0, 60));
        assert!(one.reserve(u64::MAX, Totals::default()).is_ok());
        drop((one, other));
        assert!(ledger.lock().promises.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_sender_keeps_room_from_nobody_and_goes_on_while_there_is_some() {
        const MIB: u64 = 1 << 20;
        let ledger = Arc::new(Ledger::default());
        let limits = bytes(1000 * MIB);
        let slow = sender(&ledger);
        let mut trickle = slow.reserve(1000 * MIB, limits).unwrap();
        let quick = ledger.sender("192.0.2.2".to_owned());
        assert!(quick.reserve(1, limits).is_err(), "it may be as fast as any");
        tokio::time::advance(Duration::from_secs(30)).await;
        let fast = quick.reserve(500 * MIB, limits).unwrap();
        assert_eq!(slow.promised_to_others(1000 * MIB), 500 * MIB);
        trickle.write(MIB, limits).unwrap();
        assert_eq!(trickle.take_look(), Some((MIB, 500 * MIB)));
        assert_eq!(trickle.take_look(), None, "not at every message");
        trickle.write(499 * MIB - 1, limits).unwrap();
        // By now the sender is fast enough: what is left counts, and another one finds no room.
        assert!(quick.reserve(MIB, limits).is_err());
        fast.stored();
        tokio::time::advance(Duration::from_secs(24 * 3600)).await;
        trickle.write(1, limits).unwrap();
        let error = trickle.write(1, limits).unwrap_err();
        assert_eq!(error, QuotaError::Total { limit: 1000 * MIB, left: 0, size: 500 * MIB - 1 });
        trickle.write(1, bytes(1001 * MIB)).unwrap();
        drop((trickle, slow));
        // It is known when it is back.
        let again = sender(&ledger);
        let offer = again.reserve(1000 * MIB, bytes(2000 * MIB)).unwrap();
        assert_eq!(quick.promised_to_others(0), MIB);
        drop(offer);
    }

    #[tokio::test]
    async fn what_is_kept_counts_once() {
        let (ledger, evicted) = (Arc::new(Ledger::default()), Arc::new(Notify::new()));
        let sender = sender(&ledger);
        for _ in 0..3 {
            let mut claim = ledger.claim("part", &evicted).await.unwrap();
            let reservation = sender.reserve(90, bytes(100)).unwrap();
            claim.keeps(50);
            drop((claim, reservation));
            assert_eq!(sender.promised_to_others(0), 0);
            assert_eq!(ledger.lock().total(), 50);
            assert!(sender.reserve(51, bytes(100)).is_err());
        }
        ledger.removed("part");
        assert_eq!(ledger.lock().total(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_at_work_keeps_a_part_and_who_is_stale_makes_way() {
        let ledger = Arc::new(Ledger::default());
        let (first, second) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let claim = ledger.claim("part", &first).await.unwrap();
        let busy = async {
            loop {
                claim.moved(1);
                sleep(Duration::from_secs(1)).await;
            }
        };
        tokio::select! {
            () = busy => {}
            claim = ledger.claim("part", &second) => assert!(claim.is_none()),
        }
        assert!(ledger.claim("other", &second).await.is_some());
        // Now nothing comes any more.
        let makes_way = async {
            first.notified().await;
            drop(claim);
        };
        let (claimed, ()) = tokio::join!(ledger.claim("part", &second), makes_way);
        assert!(claimed.is_some() && ledger.is_claimed("part"));
        drop(claimed);
        assert!(!ledger.is_claimed("part"));
    }
}
