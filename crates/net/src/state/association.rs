//! The state of an association that its handles and its driver share.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use polypath_proto::{Association as Protocol, AssociationId, StreamClaim};
use tokio::sync::Notify;

use super::inner::Inner;
use super::mailbox::Mailbox;
use crate::clock::{Clock, Context};
use crate::lock::lock;
use crate::log::Log;
use crate::probe::Initiator;

/// Associations that may have output, for the shard that drives them.
pub(crate) type Touched = Mailbox<Vec<Arc<AssociationShared>>>;

/// The state of an association that its handles and its driver share.
#[derive(Debug)]
pub(crate) struct AssociationShared {
    pub(crate) id: AssociationId,
    pub(crate) initiator: Initiator,
    pub(crate) clock: Clock,
    pub(crate) log: Log,
    /// Index of the shard that drives it.
    pub(crate) shard: usize,
    /// The list of that shard.
    mailbox: Arc<Touched>,
    inner: Mutex<Inner>,
    /// Whether it is on that list.
    queued: AtomicBool,
    /// Number of public handles; the association is ended when the last one is dropped.
    handles: AtomicUsize,
    /// Messages are available, or none will arrive.
    pub(crate) readable: Notify,
    /// Wakers for streams that are read separately.
    readers: Mutex<BTreeMap<StreamClaim, Arc<AtomicWaker>>>,
    /// The send buffer has space, or never will.
    pub(crate) writable: Notify,
    /// Few enough bytes are unsent, or no more will be sent.
    pub(crate) drained: Notify,
    /// The association was established or has ended.
    pub(crate) changed: Notify,
    /// Senders take turns, so that small messages cannot delay a large one for ever.
    pub(crate) turn: tokio::sync::Mutex<()>,
}

impl AssociationShared {
    /// An association driven by the shard with this index and list.
    pub(super) fn new(
        (id, initiator): (AssociationId, Initiator),
        clock: Clock,
        log: Log,
        (shard, mailbox): (usize, Arc<Touched>),
        protocol: Box<Protocol>,
        context: Context,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            initiator,
            clock,
            log,
            shard,
            mailbox,
            inner: Mutex::new(Inner::new(protocol, context)),
            queued: AtomicBool::new(false),
            handles: AtomicUsize::new(0),
            readable: Notify::new(),
            readers: Mutex::default(),
            writable: Notify::new(),
            drained: Notify::new(),
            changed: Notify::new(),
            turn: tokio::sync::Mutex::new(()),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// Number of public handles.
    pub(crate) fn handles(&self) -> usize {
        self.handles.load(Ordering::Acquire)
    }

    /// Aborts the association.
    pub(crate) fn abort(self: &Arc<Self>, reason: &Bytes) {
        let now = self.clock.now();
        self.lock().call(now, |protocol, cx| protocol.abort(cx, reason));
        self.command();
    }

    /// Puts the association on the list of its shard.
    pub(crate) fn command(self: &Arc<Self>) {
        if self.enqueue() {
            self.mailbox.leave(|touched| touched.push(Arc::clone(self)));
        }
    }

    /// Marks it as being on the list of its shard; returns whether it was not.
    pub(crate) fn enqueue(&self) -> bool {
        !self.queued.swap(true, Ordering::AcqRel)
    }

    /// Marks it as taken from the list of its shard.
    pub(crate) fn dequeue(&self) {
        self.queued.swap(false, Ordering::AcqRel);
    }

    /// The waker for news of this claim.
    pub(crate) fn add_reader(&self, claim: StreamClaim) -> Arc<AtomicWaker> {
        Arc::clone(lock(&self.readers).entry(claim).or_default())
    }

    /// Removes the waker for this claim.
    pub(crate) fn remove_reader(&self, claim: StreamClaim) {
        lock(&self.readers).remove(&claim);
    }

    /// Wakes the reader of this claim.
    pub(crate) fn wake_reader(&self, claim: StreamClaim) {
        if let Some(reader) = lock(&self.readers).get(&claim) {
            reader.wake();
        }
    }

    /// Wakes every task that waits for this association.
    pub(crate) fn wake_all(&self) {
        lock(&self.readers).values().for_each(|reader| reader.wake());
        self.readable.notify_waiters();
        self.writable.notify_waiters();
        self.drained.notify_waiters();
        self.changed.notify_waiters();
    }
}

/// A counted reference to an association. When the last one is dropped, an established association shuts down, and one that
/// is not yet established is aborted.
#[derive(Debug)]
pub(crate) struct Handle(Arc<AssociationShared>);

impl Handle {
    pub(crate) fn new(shared: Arc<AssociationShared>) -> Self {
        shared.handles.fetch_add(1, Ordering::Relaxed);
        Self(shared)
    }
}

impl Deref for Handle {
    type Target = Arc<AssociationShared>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            let now = self.clock.now();
            self.lock().abandon(now);
            self.command();
        }
    }
}
