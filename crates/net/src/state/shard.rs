//! The tasks that drive associations, as seen by other tasks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::association::Touched;
use super::mailbox::Mailbox;
use super::parcel::Inbox;
use crate::lock::lock;
use crate::stats::EndpointStats;

/// A task that drives associations, as seen by other tasks.
#[derive(Debug)]
pub(crate) struct ShardShared {
    /// Associations that may have output. Closed when the task has ended.
    pub(crate) touched: Arc<Touched>,
    /// Packets that the first shard received for associations of this one.
    pub(crate) parcels: Mailbox<Inbox>,
    /// Wakes the task.
    work: Arc<Notify>,
    /// Its counters.
    stats: Mutex<EndpointStats>,
    /// Number of its associations.
    load: AtomicUsize,
}

impl ShardShared {
    fn new() -> Self {
        let work = Arc::new(Notify::new());
        Self {
            touched: Arc::new(Mailbox::new(&work)),
            parcels: Mailbox::new(&work),
            stats: Mutex::new(EndpointStats::default()),
            load: AtomicUsize::new(0),
            work,
        }
    }

    /// The notification that wakes the task.
    pub(crate) fn bell(&self) -> &Arc<Notify> {
        &self.work
    }

    /// Wakes the task.
    pub(crate) fn wake(&self) {
        self.work.notify_one();
    }

    /// Waits until the task is woken.
    pub(crate) async fn woken(&self) {
        self.work.notified().await;
    }

    /// Closes the mailboxes, when the task has ended.
    pub(crate) fn close(&self) {
        self.touched.close();
        self.parcels.close();
    }

    /// Its counters, as of its last round.
    pub(crate) fn stats(&self) -> EndpointStats {
        *lock(&self.stats)
    }

    /// Publishes its counters.
    pub(crate) fn set_stats(&self, stats: EndpointStats) {
        *lock(&self.stats) = stats;
    }

    /// Counts an association that has ended.
    pub(crate) fn remove_association(&self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The tasks of an endpoint: at least one.
#[derive(Debug)]
pub(crate) struct Shards(Box<[ShardShared]>);

impl Shards {
    /// This many, at least one.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count.max(1)).map(|_| ShardShared::new()).collect())
    }

    /// Their number.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// All, by index.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &ShardShared> {
        self.0.iter()
    }

    /// The one with this index, which must be below [`count`](Self::count).
    pub(crate) fn get(&self, index: usize) -> &ShardShared {
        &self.0[index]
    }

    /// The one that has the sockets.
    pub(crate) fn front(&self) -> &ShardShared {
        self.get(0)
    }

    /// The shard of the next association: the one with the fewest, the first among equals, since packets for others
    /// take one step more. Counts the association.
    pub(super) fn choose(&self) -> (usize, Arc<Touched>) {
        let load = |shard: &ShardShared| shard.load.load(Ordering::Relaxed);
        let least = self.iter().enumerate().min_by_key(|(index, shard)| (load(shard), *index));
        let index = least.map_or(0, |(index, _)| index);
        let shard = self.get(index);
        shard.load.fetch_add(1, Ordering::Relaxed);
        (index, Arc::clone(&shard.touched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shard_with_the_fewest_associations_gets_the_next() {
        let shards = Shards::new(3);
        let choose = |times: usize| (0..times).map(|_| shards.choose().0).collect::<Vec<_>>();
        assert_eq!(choose(7), [0, 1, 2, 0, 1, 2, 0]);
        // Two of the second one have ended.
        shards.get(1).remove_association();
        shards.get(1).remove_association();
        assert_eq!(choose(5), [1, 1, 1, 2, 0]);
    }
}
