//! The board of the service.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::fs::{
    MemfdFlags, Mode, OFlags, SealFlags, fchmod, fcntl_add_seals, ftruncate, memfd_create, open,
};
use rustix::io::{Errno, pwrite};

use super::lock;
use crate::annex::ensure_size;
use crate::board::{BOARD_BYTES, Place, Posted, SLOT_BYTES, SLOTS};

/// How often something is written that the system takes only in part.
const TRIES: usize = 100;

/// Where what is posted of sockets can be read.
#[derive(Debug)]
pub(super) struct Board {
    id: u64,
    /// The memory, and a descriptor for programs, which only read; none without the means for it.
    memory: Option<(OwnedFd, OwnedFd)>,
    slots: Mutex<Slots>,
}

#[derive(Debug)]
struct Slots {
    /// Those from here on were never taken.
    next: u32,
    given_back: Vec<u32>,
}

impl Board {
    pub(super) fn new() -> Self {
        let id = getrandom::u64().unwrap_or_default();
        let memory = memory().ok().filter(|_| id != 0);
        // Programs know the board by it.
        let memory = memory.filter(|(memory, _)| is_written(memory, 0, Posted::default(), id));
        Self { id, memory, slots: Mutex::new(Slots { next: 1, given_back: Vec::new() }) }
    }

    /// A place for this socket. Without one, programs have to ask.
    pub(super) fn take(&self, socket: u64) -> Place {
        if self.memory.is_none() {
            return Place::default();
        }
        let mut slots = lock(&self.slots);
        let slot = slots.given_back.pop().or_else(|| {
            let slot = slots.next;
            let is_there = (slot as usize) < SLOTS;
            slots.next += u32::from(is_there);
            is_there.then_some(slot)
        });
        drop(slots);
        let Some(slot) = slot else { return Place::default() };
        let place = Place { board: self.id, slot };
        // From now on its memory is there. What the socket before has left there is overwritten.
        if self.post(place, Posted::default(), socket) {
            return place;
        }
        self.give_back(place);
        Place::default()
    }

    /// Nobody looks at the place any more.
    pub(super) fn give_back(&self, place: Place) {
        if place.slot != 0 {
            lock(&self.slots).given_back.push(place.slot);
        }
    }

    /// Posts what is so of this socket. False if the system has failed to write it: programs read what was so before, or nothing if a part was
    /// written.
    pub(super) fn post(&self, place: Place, posted: Posted, socket: u64) -> bool {
        let Some((memory, _)) = self.memory.as_ref().filter(|_| place.slot != 0) else {
            // Nobody looks.
            return true;
        };
        is_written(memory, place.slot, posted, socket)
    }

    /// A descriptor for a program.
    pub(super) fn descriptor(&self) -> Option<OwnedFd> {
        self.memory.as_ref().and_then(|(_, read_only)| read_only.try_clone().ok())
    }
}

/// What the slot of a socket says; not known if the system has failed to write it, and may have written a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known(Option<Posted>);

impl Known {
    pub(super) const NOTHING: Self = Self(Some(Posted { flags: 0, wanted: 0, ended: 0 }));

    /// Lets this be said there, unless it is.
    pub(super) fn bring(&mut self, posted: Posted, post: impl FnOnce() -> bool) {
        if self.0 != Some(posted) {
            self.0 = post().then_some(posted);
        }
    }

    #[cfg(test)]
    pub(super) fn flags(self) -> u8 {
        self.0.map_or(0, |posted| posted.flags)
    }
}

/// Writes a slot; whether all of it was written.
fn is_written(memory: &OwnedFd, slot: u32, posted: Posted, socket: u64) -> bool {
    let (bytes, offset) = (posted.encoded(socket), u64::from(slot) * SLOT_BYTES as u64);
    for _ in 0..TRIES {
        match pwrite(memory, &bytes, offset) {
            Ok(SLOT_BYTES) => return true,
            // As long as a part is missing, the slot tells nothing.
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
    false
}

/// Memory whose size nobody can change, and a descriptor that it can only be read by: whoever has it cannot open it anew to write, unless they are the
/// superuser or the user of the service, who can do anything to it.
fn memory() -> std::io::Result<(OwnedFd, OwnedFd)> {
    use std::os::fd::AsRawFd;
    ensure_size(BOARD_BYTES as u64)?;
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create(c"polypath-board", flags)?;
    ftruncate(&memory, BOARD_BYTES as u64)?;
    fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let read_only = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    fchmod(&memory, Mode::empty())?;
    Ok((memory, read_only))
}

#[cfg(test)]
mod tests {
    use rustix::io::pread;

    use super::*;

    #[test]
    fn what_is_posted_can_be_read_and_not_written() {
        let board = Board::new();
        let place = board.take(77);
        let posted = Posted { flags: 3, wanted: 5, ended: 0x0102_0304 };
        assert!(board.post(place, posted, 77));
        let theirs = board.descriptor().unwrap();
        let read = |place: Place| {
            let mut slot = [0; SLOT_BYTES];
            let offset = u64::from(place.slot) * SLOT_BYTES as u64;
            pread(&theirs, &mut slot, offset).unwrap();
            slot
        };
        assert_eq!(read(place), posted.encoded(77));
        let itself = Place { slot: 0, ..place };
        assert_eq!(read(itself), Posted::default().encoded(place.board));
        assert_eq!(pwrite(&theirs, &[1], 0), Err(Errno::BADF));
        assert!(ftruncate(&theirs, 0).is_err());
        let mode = rustix::fs::fstat(&theirs).unwrap().st_mode;
        assert_eq!(mode & 0o777, 0, "no other user can open it anew, to write");
        let other = board.take(78);
        assert_ne!(other, place);
        board.give_back(place);
        assert_eq!(board.take(79), place);
        let nothing = Posted::default().encoded(79);
        assert_eq!(read(place), nothing, "nothing is left of the socket before");
    }

    #[test]
    fn what_was_written_in_part_is_written_again() {
        let mut known = Known::NOTHING;
        let nothing = Posted::default();
        known.bring(nothing, || panic!("it is there"));
        known.bring(Posted { flags: 1, ..nothing }, || false);
        let mut is_written = false;
        known.bring(nothing, || {
            is_written = true;
            true
        });
        assert!(is_written, "a part of the other one may be there");
        known.bring(nothing, || panic!("it is there"));
    }

    #[test]
    fn there_are_sockets_without_a_place() {
        let board = Board::new();
        lock(&board.slots).next = SLOTS as u32 - 1;
        assert_eq!(board.take(1).slot as usize, SLOTS - 1);
        assert_eq!([board.take(2), board.take(3)], [Place::default(); 2]);
        board.give_back(Place::default());
        board.post(Place::default(), Posted { flags: 255, wanted: 255, ended: 1 }, 4);
        assert_eq!(board.take(5), Place::default());
    }

    #[test]
    fn a_socket_has_no_place_that_cannot_be_written() {
        let memory =
            memfd_create(c"full", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&memory, BOARD_BYTES as u64).unwrap();
        let slots = Mutex::new(Slots { next: 1, given_back: Vec::new() });
        let board = Board { id: 9, memory: Some((memory.try_clone().unwrap(), memory)), slots };
        let place = board.take(7);
        assert_eq!(place, Place { board: 9, slot: 1 });
        // As if there were no memory left.
        fcntl_add_seals(&board.memory.as_ref().unwrap().0, SealFlags::WRITE).unwrap();
        assert_eq!(board.take(8), Place::default());
        assert!(!board.post(place, Posted { flags: 1, ..Posted::default() }, 7));
    }
}
