//! What is so of a socket now, as the service posts it ([`board`]): no process and no descriptor knows anything older. Where the memory cannot be
//! had, as in a sandbox, the service is asked instead, as often as that matters.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering, fence};

use polypath_sockets::board::{self, BOARD_BYTES, Place, Posted, SLOT_BYTES, posted};
use polypath_sockets::control::Operation;
use polypath_sockets::frame::wanted;

use crate::client;
use crate::fault::{Outcome, quietly};
use crate::table::{self, Sctp};

/// What is posted of a socket.
#[repr(C)]
pub(crate) struct Slot {
    facts: AtomicU64,
    seal: AtomicU64,
}

const _: () = assert!(
    size_of::<Slot>() == SLOT_BYTES
        && std::mem::offset_of!(Slot, facts) == board::FACTS_OFFSET
        && std::mem::offset_of!(Slot, seal) == board::SEAL_OFFSET
);

/// How often a slot is looked at that may be being written.
const LOOKS: usize = 4;

impl Slot {
    /// What it says of this socket; `None` if it is another socket's, or is still being written.
    fn of(&self, socket: u64) -> Option<Posted> {
        (0..LOOKS).find_map(|_| {
            // The memory is read-only, where no other loads are allowed.
            let words = (self.facts.load(Ordering::Relaxed), self.seal.load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            Posted::decode(words, socket)
        })
    }
}

/// A board that this process reads, for as long as it runs.
struct Known {
    id: AtomicU64,
    slots: AtomicPtr<Slot>,
}

/// The boards: of the service, of those before it that have ended, and of the stack in this process.
static BOARDS: [Known; 64] =
    [const { Known { id: AtomicU64::new(0), slots: AtomicPtr::new(null_mut()) } }; 64];

/// Learns where a new socket is posted, as long as the program may ask for that.
pub(crate) fn look(socket: Sctp) {
    quietly(|| posted(socket));
}

/// What is posted of a socket, if that can be had.
pub(crate) fn posted(socket: Sctp) -> Option<Posted> {
    let noted = match table::slot(socket.fd) {
        table::Posting::Slot(slot) => {
            // SAFETY: the memory stays, has this layout, and is only read here; others write it, which atomic types allow for.
            let slot = unsafe { &*slot.cast::<Slot>() };
            match slot.of(socket.id) {
                Some(posted) => return Some(posted),
                // The socket has ended there, or the place was noted of another socket that had the descriptor before.
                None => Some(slot),
            }
        }
        table::Posting::None => return None,
        table::Posting::Unknown => None,
    };
    // Where it cannot be had now, it is looked again.
    let found = table::place(socket.fd).map_or(Ok(None), |place| find(place, socket)).ok()?;
    if noted.is_none_or(|noted| !found.is_some_and(|found| std::ptr::eq(found, noted))) {
        let slot = found.map_or(null_mut(), |slot| std::ptr::from_ref(slot).cast_mut().cast());
        table::note_slot(socket, slot);
    }
    found?.of(socket.id)
}

/// The slot of a socket; an error if that cannot be had now, and later perhaps.
fn find(place: Place, socket: Sctp) -> io::Result<Option<&'static Slot>> {
    // Whoever passes a descriptor chooses its name.
    if place.board == 0 || place.slot == 0 || place.slot as usize >= board::SLOTS {
        return Ok(None);
    }
    let slots = match known(place.board) {
        Some(slots) => Some(slots),
        // It is that of the service which runs now, unless the socket's one has ended.
        None => client::board(socket)?
            .and_then(|memory| mapped(&memory, place.board))
            .and_then(|slots| keep(place.board, slots)),
    };
    // SAFETY: the memory has so many slots, and stays.
    Ok(slots.map(|slots| unsafe { &*slots.add(place.slot as usize) }))
}

fn known(id: u64) -> Option<*mut Slot> {
    let board = BOARDS.iter().find(|board| board.id.load(Ordering::Acquire) == id)?;
    Some(board.slots.load(Ordering::Relaxed)).filter(|slots| !slots.is_null())
}

/// The memory that a descriptor is of, if it is the board with this number: only so many have room here, and whoever passes a descriptor chooses the
/// number in its name.
fn mapped(memory: &OwnedFd, id: u64) -> Option<*mut Slot> {
    let fd = memory.as_raw_fd();
    // SAFETY: all zero is a description, which the call fills.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure is there; the memory that is asked for is new, and nobody else's.
    let slots = unsafe {
        // Beyond its end, reading would end the program.
        let is_whole = libc::fstat(fd, &raw mut about) == 0 && about.st_size >= BOARD_BYTES as i64;
        let seals = libc::fcntl(fd, libc::F_GET_SEALS);
        if !is_whole || seals < 0 || seals & libc::F_SEAL_SHRINK == 0 {
            return None;
        }
        libc::mmap(null_mut(), BOARD_BYTES, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
    };
    if slots == libc::MAP_FAILED {
        return None;
    }
    let slots = slots.cast::<Slot>();
    // SAFETY: the memory was mapped, and has more than one slot.
    if unsafe { &*slots }.of(id).is_none() {
        // SAFETY: no pointer into the mapping was handed out.
        unsafe { libc::munmap(slots.cast(), BOARD_BYTES) };
        return None;
    }
    Some(slots)
}

/// Keeps a board, if there is room; another thread may have it, too.
fn keep(id: u64, slots: *mut Slot) -> Option<*mut Slot> {
    let (set, read) = (Ordering::Relaxed, Ordering::Relaxed);
    let free = |board: &&Known| board.slots.compare_exchange(null_mut(), slots, set, read).is_ok();
    match BOARDS.iter().find(free) {
        Some(board) => {
            board.id.store(id, Ordering::Release);
            Some(slots)
        }
        None => {
            // SAFETY: no pointer into the mapping was handed out.
            unsafe { libc::munmap(slots.cast(), BOARD_BYTES) };
            None
        }
    }
}

fn flag(socket: Sctp, flag: u8) -> Option<bool> {
    posted(socket).map(|posted| posted.flags & flag != 0)
}

/// Whether peers can begin associations. An error if that is not posted and the service cannot be asked.
pub(crate) fn listens(socket: Sctp) -> Outcome<bool> {
    match flag(socket, posted::LISTENS) {
        Some(listens) => Ok(listens),
        None => {
            client::ask(Operation::IsListening, socket, (0, 0), &[]).map(|reply| reply.value != 0)
        }
    }
}

/// Whether peers can begin associations, as far as that is known.
pub(crate) fn is_listening(socket: Sctp) -> bool {
    listens(socket).unwrap_or(false)
}

/// Whether something may come; if not, it may all the same.
pub(crate) fn expects(socket: Sctp) -> bool {
    flag(socket, posted::EXPECTS).unwrap_or(false)
}

/// Whether a one-to-one socket takes no more messages; if not, that may not be known.
pub(crate) fn refuses(socket: Sctp) -> bool {
    flag(socket, posted::REFUSES).unwrap_or(false)
}

/// Whether a one-to-one socket has an association, or had one; if not, that may not be known.
pub(crate) fn is_connected(socket: Sctp) -> bool {
    flag(socket, posted::CONNECTED).unwrap_or(false)
}

/// Ancillary data that goes with what is received, also with what has been delivered already.
pub(crate) fn wanted(socket: Sctp) -> Option<u8> {
    posted(socket).map(|posted| posted.wanted)
}

/// Whether messages may have to fit into a packet.
pub(crate) fn may_be_unfragmented(socket: Sctp) -> bool {
    wanted(socket).is_none_or(|wanted| wanted & wanted::UNFRAGMENTED != 0)
}

/// How many associations the socket has lost so far.
pub(crate) fn ended(socket: Sctp) -> Option<u32> {
    posted(socket).map(|posted| posted.ended)
}
