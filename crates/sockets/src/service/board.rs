//! The board of the service.

use std::os::fd::OwnedFd;
use std::sync::Mutex;

use rustix::fs::{
    MemfdFlags, Mode, OFlags, SealFlags, fchmod, fcntl_add_seals, ftruncate, memfd_create, open,
};
use rustix::io::pwrite;

use super::lock;
use crate::board::{BOARD_BYTES, Place, Posted, SLOT_BYTES, SLOTS};

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
        Self { id, memory, slots: Mutex::new(Slots { next: 1, given_back: Vec::new() }) }
    }

    /// A place for a socket. Without one, programs have to ask.
    pub(super) fn take(&self) -> Place {
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
        // What the socket before has left there.
        self.post(place, Posted::default());
        place
    }

    /// Nobody looks at the place any more.
    pub(super) fn give_back(&self, place: Place) {
        if place.slot != 0 {
            lock(&self.slots).given_back.push(place.slot);
        }
    }

    pub(super) fn post(&self, place: Place, posted: Posted) {
        if let Some((memory, _)) = &self.memory
            && place.slot != 0
        {
            let offset = u64::from(place.slot) * SLOT_BYTES as u64;
            // The memory is there, unless the system has none left.
            let _ = pwrite(memory, &posted.encoded(), offset);
        }
    }

    /// A descriptor for a program.
    pub(super) fn descriptor(&self) -> Option<OwnedFd> {
        self.memory.as_ref().and_then(|(_, read_only)| read_only.try_clone().ok())
    }
}

/// Memory whose size nobody can change, and a descriptor that it can only be read by: whoever has it cannot open it anew to write, unless they are the
/// superuser or the user of the service, who can do anything to it.
fn memory() -> std::io::Result<(OwnedFd, OwnedFd)> {
    use std::os::fd::AsRawFd;
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
    use rustix::io::{Errno, pread};

    use super::*;

    #[test]
    fn what_is_posted_can_be_read_and_not_written() {
        let board = Board::new();
        let place = board.take();
        let posted = Posted { flags: 3, wanted: 5, ended: 0x0102_0304 };
        board.post(place, posted);
        let theirs = board.descriptor().unwrap();
        let read = |place: Place| {
            let mut slot = [0; SLOT_BYTES];
            let offset = u64::from(place.slot) * SLOT_BYTES as u64;
            pread(&theirs, &mut slot, offset).unwrap();
            slot
        };
        assert_eq!(read(place), posted.encoded());
        assert_eq!(pwrite(&theirs, &[1], 0), Err(Errno::BADF));
        assert!(ftruncate(&theirs, 0).is_err());
        let mode = rustix::fs::fstat(&theirs).unwrap().st_mode;
        assert_eq!(mode & 0o777, 0, "no other user can open it anew, to write");
        let other = board.take();
        assert_ne!(other, place);
        board.give_back(place);
        assert_eq!(board.take(), place);
        assert_eq!(read(place), [0; SLOT_BYTES], "nothing is left of the socket before");
    }

    #[test]
    fn there_are_sockets_without_a_place() {
        let board = Board::new();
        lock(&board.slots).next = SLOTS as u32 - 1;
        assert_eq!(board.take().slot as usize, SLOTS - 1);
        assert_eq!([board.take(), board.take()], [Place::default(); 2]);
        board.give_back(Place::default());
        board.post(Place::default(), Posted { flags: 255, wanted: 255, ended: 1 });
        assert_eq!(board.take(), Place::default());
    }
}
