//! How far the program has read frames that are still in the queue of their socket.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// By socket: the number of the frame, and the bytes of its content that were read.
pub(crate) type Places = BTreeMap<u64, (u32, usize)>;

static PLACES: Mutex<Places> = Mutex::new(BTreeMap::new());
/// How many there are, so that nobody has to look when there is none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn places() -> MutexGuard<'static, Places> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of a frame that were read.
pub(crate) fn of(socket: u64, number: u32) -> usize {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    let place = places().get(&socket).copied().filter(|(known, _)| *known == number);
    place.map_or(0, |(_, bytes)| bytes)
}

/// Whether a frame of the socket is read in part.
pub(crate) fn has(socket: u64) -> bool {
    COUNT.load(Ordering::Relaxed) > 0 && places().contains_key(&socket)
}

/// So many bytes of a frame were read.
pub(crate) fn note(socket: u64, number: u32, bytes: usize) {
    if places().insert(socket, (number, bytes)).is_none() {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

/// A frame has moved to another socket.
pub(crate) fn move_to(from: u64, to: u64, number: u32) {
    let mut places = places();
    if let Some(place) = places.get(&from).copied().filter(|(known, _)| *known == number) {
        places.remove(&from);
        places.insert(to, place);
    }
}

/// No frame of the socket is read in part.
pub(crate) fn forget(socket: u64) {
    if COUNT.load(Ordering::Relaxed) > 0 && places().remove(&socket).is_some() {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}
