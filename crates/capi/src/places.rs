//! How far the program has read frames that are still in the queue of their socket.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// By socket: the number of the frame, and the bytes of its content that were read.
pub(crate) type Places = BTreeMap<u64, (u32, usize)>;

/// A frame that comes so many numbers before the one that is known was read by a thread which is late. Farther apart than that, numbers began again.
const LATE: u32 = 1 << 16;

static PLACES: Mutex<Places> = Mutex::new(BTreeMap::new());
/// How many there are, so that nobody has to look when there is none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn places() -> MutexGuard<'static, Places> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes what is known.
fn change(act: impl FnOnce(&mut Places)) {
    let mut places = places();
    act(&mut places);
    COUNT.store(places.len(), Ordering::Relaxed);
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

/// So many bytes of a frame were read. Another thread may have gone on with the frame since, or with a later one.
pub(crate) fn note(socket: u64, number: u32, bytes: usize) {
    change(|places| match places.entry(socket) {
        Entry::Vacant(entry) => {
            entry.insert((number, bytes));
        }
        Entry::Occupied(mut entry) => {
            let (known, place) = *entry.get();
            let is_late = match known.wrapping_sub(number) {
                0 => bytes < place,
                behind => behind < LATE,
            };
            if !is_late {
                entry.insert((number, bytes));
            }
        }
    });
}

/// A frame has moved to another socket.
pub(crate) fn move_to(from: u64, to: u64, number: u32) {
    change(|places| {
        if let Some(place) = places.get(&from).copied().filter(|(known, _)| *known == number) {
            places.remove(&from);
            places.insert(to, place);
        }
    });
}

/// A frame is in the queue no more.
pub(crate) fn forget(socket: u64, number: u32) {
    if of(socket, number) > 0 {
        change(|places| {
            if places.get(&socket).is_some_and(|(known, _)| *known == number) {
                places.remove(&socket);
            }
        });
    }
}

/// This process has no descriptor of the socket any more.
pub(crate) fn forget_all(socket: u64) {
    if has(socket) {
        change(|places| {
            places.remove(&socket);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thread_takes_back_what_another_one_has_read() {
        let socket = 0xFFFE_0001;
        note(socket, 1, 10);
        note(socket, 2, 20);
        // Those that took the first frame, and a part of it, are late.
        forget(socket, 1);
        note(socket, 1, 11);
        note(socket, 2, 15);
        assert_eq!((of(socket, 1), of(socket, 2)), (0, 20));
        forget(socket, 2);
        assert!(!has(socket));
    }

    #[test]
    fn numbers_begin_again() {
        let socket = 0xFFFE_0002;
        note(socket, u32::MAX, 10);
        note(socket, 0, 20);
        note(socket, u32::MAX, 30);
        assert_eq!(of(socket, 0), 20);
        // Another process took the frame, and half of all numbers have come since.
        note(socket, 1 << 31, 40);
        assert_eq!(of(socket, 1 << 31), 40);
        forget_all(socket);
        assert!(!has(socket));
    }
}
