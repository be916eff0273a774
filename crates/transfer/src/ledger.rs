//! What all receivers of one inbox share: who writes which incomplete file, and how much room is promised to whom.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

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
    /// Bytes of files that were accepted and are neither stored nor given up.
    reserved: u64,
    /// Those of them that are not written yet.
    unwritten: u64,
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
    ledger: Arc<Ledger>,
    size: u64,
    unwritten: u64,
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

    /// Bytes that are promised to files and not written yet.
    pub(crate) fn unwritten(&self) -> u64 {
        self.lock().unwritten
    }

    /// Bytes that count towards the most that may come: those of stored files, of accepted ones, and of incomplete ones.
    #[cfg(test)]
    pub(crate) fn total(&self) -> u64 {
        self.lock().total()
    }

    /// An incomplete file that was kept is there no more.
    pub(crate) fn removed(&self, name: &str) {
        self.lock().kept.remove(name);
    }

    /// Promises room to a file of `size` bytes, if all files together do not get more than the limits.
    pub(crate) fn reserve(
        self: &Arc<Self>,
        size: u64,
        limits: Totals,
    ) -> Result<Reservation, QuotaError> {
        {
            let mut state = self.lock();
            if let Some(most) = limits.max_files
                && state.files >= most
            {
                return Err(QuotaError::TotalFiles(most));
            }
            state.files = state.files.saturating_add(1);
        }
        let ledger = Arc::clone(self);
        let mut reservation = Reservation { ledger, size: 0, unwritten: 0, is_stored: false };
        reservation.extend(size, limits)?;
        Ok(reservation)
    }
}

impl State {
    fn total(&self) -> u64 {
        let kept = self.kept.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        self.stored.saturating_add(self.reserved).saturating_add(kept)
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
        let mut state = self.ledger.lock();
        if let Some(limit) = limits.max_bytes {
            let left = limit.saturating_sub(state.total());
            if bytes > left {
                return Err(QuotaError::Total { limit, left, size: bytes });
            }
        }
        state.reserved = state.reserved.saturating_add(bytes);
        state.unwritten = state.unwritten.saturating_add(bytes);
        self.size = self.size.saturating_add(bytes);
        self.unwritten = self.unwritten.saturating_add(bytes);
        Ok(())
    }

    /// So many bytes need no promise any more: they are on the disk, or were there.
    pub(crate) fn written(&mut self, bytes: u64) {
        let bytes = bytes.min(self.unwritten);
        self.unwritten -= bytes;
        let mut state = self.ledger.lock();
        state.unwritten = state.unwritten.saturating_sub(bytes);
    }

    /// The file has its name.
    pub(crate) fn stored(mut self) {
        self.is_stored = true;
        let mut state = self.ledger.lock();
        state.stored = state.stored.saturating_add(self.size);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut state = self.ledger.lock();
        state.reserved = state.reserved.saturating_sub(self.size);
        state.unwritten = state.unwritten.saturating_sub(self.unwritten);
        if !self.is_stored {
            state.files = state.files.saturating_sub(1);
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

    #[test]
    fn files_count_that_are_stored_or_on_their_way() {
        let ledger = Arc::new(Ledger::default());
        let limits = Totals { max_bytes: Some(10), max_files: Some(2) };
        ledger.reserve(0, limits).unwrap().stored();
        let second = ledger.reserve(5, limits).unwrap();
        assert_eq!(ledger.reserve(0, limits).unwrap_err(), QuotaError::TotalFiles(2));
        drop(second);
        // One that is too large is none.
        assert!(matches!(ledger.reserve(11, limits), Err(QuotaError::Total { .. })));
        ledger.reserve(5, limits).unwrap().stored();
        assert_eq!(ledger.reserve(0, limits).unwrap_err(), QuotaError::TotalFiles(2));
    }

    #[test]
    fn room_is_promised_once() {
        let ledger = Arc::new(Ledger::default());
        let mut first = ledger.reserve(60, bytes(100)).unwrap();
        let error = ledger.reserve(41, bytes(100)).unwrap_err();
        assert_eq!(error, QuotaError::Total { limit: 100, left: 40, size: 41 });
        first.written(50);
        assert_eq!((ledger.unwritten(), ledger.total()), (10, 60));
        let mut second = ledger.reserve(0, bytes(100)).unwrap();
        second.extend(40, bytes(100)).unwrap();
        assert!(second.extend(1, bytes(100)).is_err());
        first.stored();
        drop(second);
        assert_eq!((ledger.unwritten(), ledger.total()), (0, 60));
        assert!(ledger.reserve(u64::MAX, Totals::default()).is_ok());
    }

    #[tokio::test]
    async fn what_is_kept_counts_once() {
        let (ledger, evicted) = (Arc::new(Ledger::default()), Arc::new(Notify::new()));
        for _ in 0..3 {
            let mut claim = ledger.claim("part", &evicted).await.unwrap();
            let reservation = ledger.reserve(90, bytes(100)).unwrap();
            claim.keeps(50);
            drop((claim, reservation));
            assert_eq!((ledger.total(), ledger.unwritten()), (50, 0));
            assert!(ledger.reserve(51, bytes(100)).is_err());
        }
        ledger.removed("part");
        assert_eq!(ledger.total(), 0);
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
