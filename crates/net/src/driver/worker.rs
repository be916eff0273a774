//! The task of a shard other than the first.

use std::pin::pin;
use std::sync::Arc;

use polypath_proto::{Body, Instant, Received};
use polypath_wire::{ChecksumPolicy, PacketView, ParseError};
use tokio::time::sleep_until;

use super::shard::Shard;
use crate::state::{Inbox, Parcel};

/// Drives the associations of its shard.
#[derive(Debug)]
pub(crate) struct Worker {
    shard: Shard,
}

impl Worker {
    pub(super) fn new(shard: Shard) -> Self {
        Self { shard }
    }

    /// Runs until the endpoint has ended.
    pub(crate) async fn run(mut self) {
        let shared = Arc::clone(&self.shard.shared);
        let clock = shared.clock;
        let own = shared.shards.get(self.shard.index);
        let mut sleep = pin!(sleep_until(clock.to_system(Instant::FAR_FUTURE).into()));
        let mut armed = None;
        while self.step() {
            // Lets users run on a runtime with a single thread.
            tokio::task::yield_now().await;
            let deadline = self.shard.timers.next();
            if armed != deadline {
                sleep
                    .as_mut()
                    .reset(clock.to_system(deadline.unwrap_or(Instant::FAR_FUTURE)).into());
                armed = deadline;
            }
            tokio::select! {
                biased;
                () = std::future::poll_fn(|cx| self.shard.poll_writable(cx)) => {}
                () = own.woken() => {}
                // As in the first shard.
                () = &mut sleep, if deadline.is_some() => armed = None,
            }
        }
    }

    /// One round; returns whether the endpoint still exists.
    fn step(&mut self) -> bool {
        if !self.shard.take_touched() {
            return false;
        }
        self.shard.follow_sockets();
        for parcel in self.take_parcels() {
            self.open(&parcel);
        }
        self.shard.expire();
        self.shard.finish_round();
        self.shard.tell_reports();
        true
    }

    fn take_parcels(&self) -> Inbox {
        self.shard.shared.shards.get(self.shard.index).parcels.take().unwrap_or_default()
    }

    /// Passes packets to their association.
    fn open(&mut self, parcel: &Parcel) {
        let now = self.shard.shared.clock.now();
        let mut inner = parcel.association.lock();
        for datagram in parcel.packets() {
            let body = Body::Part { datagram, of: &parcel.memory };
            let received = Received { body, ..parcel.envelope };
            match PacketView::parse(datagram, ChecksumPolicy::Verify) {
                // A restart changes the tag; packets for the previous association have no destination.
                Ok(view) if view.verification_tag() == inner.protocol.identity().local_tag => {
                    inner.call(now, |protocol, cx| protocol.handle(cx, &received));
                }
                Err(ParseError::WrongChecksum { .. }) => {
                    self.shard.stats.packets_dropped += 1;
                    inner.call(now, |protocol, cx| protocol.handle_damaged(cx, &received));
                }
                _ => self.shard.stats.packets_dropped += 1,
            }
        }
        drop(inner);
        self.shard.follow(&parcel.association);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Frees packets that will not be processed any more.
        self.shard.shared.shards.get(self.shard.index).close();
    }
}
