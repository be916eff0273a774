//! Work on all cores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::ThreadPool;

use crate::journal::Status;

/// Is told how far the work has come.
pub trait Progress: Sync {
    /// So many more runs are to be done.
    fn expect(&self, runs: usize);
    /// One of them is over.
    fn done(&self, status: Status);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {
    fn expect(&self, _runs: usize) {}
    fn done(&self, _status: Status) {}
}

/// Does `count` pieces of work, each thread with a state of its own, until all are done or `stop` is set. Pieces are
/// begun in order.
pub(super) fn work<S>(
    pool: &ThreadPool,
    count: usize,
    stop: &AtomicBool,
    begin: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, usize) + Sync,
) {
    let next = AtomicUsize::new(0);
    pool.broadcast(|_| {
        let mut state = begin();
        while !stop.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            each(&mut state, number);
        }
    });
}
