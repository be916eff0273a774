//! Forks: what the library knows of descriptors stays right in parent and child.

use std::cell::UnsafeCell;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicI32, Ordering};

use crate::{peers, places, rests};

/// The process that this memory belongs to; 0 before it is known.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Whether this process only borrows the memory of another one, as the child of `vfork` does until it executes a program: which descriptors it
/// copies and closes means nothing to its parent.
pub(crate) fn is_borrowed() -> bool {
    let owner = OWNER.load(Ordering::Relaxed);
    owner != 0 && owner != process()
}

fn process() -> i32 {
    // SAFETY: it only gives a number.
    unsafe { libc::getpid() }
}

/// What a thread holds while it forks: a child in which another thread held one of these would wait for it forever.
type Guards = (
    MutexGuard<'static, rests::Rests>,
    MutexGuard<'static, places::Places>,
    MutexGuard<'static, peers::Peers>,
);

struct Held(UnsafeCell<Option<Guards>>);

// SAFETY: only the thread that holds the locks comes to them, between `before` and what follows the fork.
unsafe impl Sync for Held {}

static HELD: Held = Held(UnsafeCell::new(None));

extern "C" fn before() {
    let guards = (rests::rests(), places::places(), peers::peers());
    // SAFETY: this thread has the locks, and with them the cell.
    unsafe { *HELD.0.get() = Some(guards) };
}

extern "C" fn after_in_parent() {
    // SAFETY: this thread has held the locks since `before`.
    drop(unsafe { (*HELD.0.get()).take() });
}

extern "C" fn after_in_child() {
    OWNER.store(process(), Ordering::Relaxed);
    // SAFETY: as in the parent.
    if let Some((rests, ..)) = unsafe { &mut *HELD.0.get() } {
        // What the parent has taken out of a queue, it reads.
        rests.clear();
    }
    after_in_parent();
}

/// To be called when the process begins.
pub(crate) fn begin() {
    OWNER.store(process(), Ordering::Relaxed);
    // SAFETY: the functions stay, and take no arguments. Without the memory for them, forks are as they were.
    unsafe { libc::pthread_atfork(Some(before), Some(after_in_parent), Some(after_in_child)) };
}
