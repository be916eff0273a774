//! Keeps what waits in front of the transport short.
//!
//! A send buffer has to be as large as what is under way. A sender that fills it with what was never sent would measure the
//! buffer: messages would be as old as the queue is long, and a measurement would end long after its time. So a message may
//! pass when no more waits than what goes in about one round trip (after the idea of `TCP_NOTSENT_LOWAT`).

use std::sync::atomic::{AtomicU64, Ordering};

use polypath::{Association, PathStatus};
use tokio::sync::Mutex;

/// Most bytes that wait. The transport calls for more when half of them are gone, which takes long enough for that.
const MOST: u64 = 1 << 20;

/// The gate of an association.
#[derive(Debug)]
pub(crate) struct Gate {
    association: Association,
    /// Fewest bytes that may wait.
    least: u64,
    /// Bytes that may pass before the next look.
    allowance: AtomicU64,
    turn: Mutex<()>,
}

impl Gate {
    /// A gate for messages of at most `longest` bytes.
    pub fn new(association: Association, longest: u64) -> Self {
        let (allowance, turn) = (AtomicU64::new(0), Mutex::new(()));
        Self { association, least: 2 * longest, allowance, turn }
    }

    /// Lets a message of so many bytes pass, if few enough wait.
    pub fn try_pass(&self, bytes: u64) -> bool {
        let mut allowance = self.allowance.load(Ordering::Relaxed);
        if allowance == 0 {
            let unsent = self.association.stats().unsent_bytes;
            allowance = self.most().saturating_sub(unsent);
            if allowance == 0 {
                return false;
            }
        }
        // Flows that ask at the same time may let one message more pass each.
        self.allowance.store(allowance.saturating_sub(bytes), Ordering::Relaxed);
        true
    }

    /// Waits until it is worth asking again: the association has sent half of what may wait. Flows have their turns in the order
    /// in which they began to wait, since the first one may take all that may pass. Where the association is gone everything
    /// passes: the sender gets the reason.
    pub async fn opened(&self) {
        let _turn = self.turn.lock().await;
        if self.association.unsent_below(self.most().div_ceil(2)).await.is_err() {
            self.allowance.store(u64::MAX, Ordering::Relaxed);
        }
    }

    /// Most bytes that may wait now.
    fn most(&self) -> u64 {
        most(self.windows(), self.least)
    }

    /// Congestion windows of all paths that carry data.
    fn windows(&self) -> u64 {
        let paths = self.association.path_stats();
        let active = paths.iter().filter(|path| path.status == PathStatus::Active);
        active.map(|path| path.cwnd_bytes).sum()
    }
}

/// Most bytes that may wait in front of congestion windows of so many bytes together.
fn most(windows: u64, least: u64) -> u64 {
    windows.min(MOST).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_follows_the_windows() {
        for (windows, least, expected) in [
            (0, 3000, 3000),
            (4000, 3000, 4000),
            (1 << 40, 3000, MOST),
            (1 << 40, 2 * MOST, 2 * MOST),
        ] {
            assert_eq!(most(windows, least), expected);
        }
    }
}
