//! Work on all cores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::ThreadPool;

use crate::journal::Status;

/// Receives progress.
pub trait Progress: Sync {
    /// Adds a number of runs to do.
    fn expect(&self, runs: usize);
    /// Counts a finished run.
    fn done(&self, status: Status);
}

/// Reports nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Progress for Silent {
    fn expect(&self, _runs: usize) {}
    fn done(&self, _status: Status) {}
}

/// Does `count` pieces of work, each thread with a state of its own, until all are done or `stop` is set. Pieces begin
/// in order.
fn work<S>(
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

/// Makes `count` runs, each thread with a state of its own, until all are done, one cannot be made or `stop` is set. A run
/// without a status was not completed.
///
/// # Errors
/// A run cannot be made; the first such error.
pub(crate) fn make_runs<S, E: Send>(
    pool: &ThreadPool,
    count: usize,
    (stop, progress): (&AtomicBool, &dyn Progress),
    begin: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, usize) -> Result<Option<Status>, E> + Sync,
) -> Result<(), E> {
    let trouble: Mutex<Option<E>> = Mutex::new(None);
    // Stopped by the user, or by the first error.
    let halt = AtomicBool::new(false);
    work(pool, count, &halt, begin, |state, number| {
        if stop.load(Ordering::Relaxed) {
            halt.store(true, Ordering::Relaxed);
            return;
        }
        match each(state, number) {
            Ok(Some(status)) => progress.done(status),
            Ok(None) => {}
            Err(error) => {
                halt.store(true, Ordering::Relaxed);
                trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        }
    });
    match trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}
