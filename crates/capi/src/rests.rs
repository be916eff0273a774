//! What was taken out of the queue of a socket in place of another frame, and is not the program's yet. That happens only where several threads or
//! processes receive from the same socket at once: looking at a frame and taking it are two steps.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_int, c_void, iovec};
use polypath_sockets::annex;
use polypath_sockets::frame::{HEAD_BYTES, Head, Kind, MAX_PIECE_BYTES};

use crate::fault::{Fault, Outcome};
use crate::frames::receive_parts;
use crate::memory;
use crate::places;
use crate::table::Sctp;

/// A frame that was taken.
pub(crate) struct Stray {
    pub(crate) head: Head,
    /// What was in the frame itself.
    pub(crate) bytes: Vec<u8>,
    pub(crate) passed: Option<OwnedFd>,
}

impl Stray {
    /// All of a message or a notification.
    fn content(self) -> Outcome<Vec<u8>> {
        let Self { head, mut bytes, passed } = self;
        if head.rest > 0 {
            // The system had no descriptor left for it.
            let annex = passed.ok_or(Fault(libc::EMFILE))?;
            annex::append(&annex, head.rest, &mut bytes).map_err(|error| fault_of(&error))?;
        }
        Ok(bytes)
    }
}

/// Why an annex cannot be read.
pub(crate) fn fault_of(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::OutOfMemory => Fault(libc::ENOMEM),
        _ => Fault(libc::EPROTO),
    }
}

/// A message or a notification, or what is left of it.
struct Rest {
    head: Head,
    /// An error where it was lost: what is there of it would look like all of it.
    content: Outcome<Vec<u8>>,
}

/// What there is of a socket.
#[derive(Default)]
struct Own {
    /// In the order of their numbers.
    to_read: VecDeque<Rest>,
    /// Peers that wait to be accepted.
    to_accept: VecDeque<(Head, OwnedFd)>,
}

impl Own {
    fn is_empty(&self) -> bool {
        self.to_read.is_empty() && self.to_accept.is_empty()
    }

    /// Threads come here in another order than they took frames.
    fn insert(&mut self, rest: Rest) {
        let is_later =
            |other: &Rest| rest.head.number.wrapping_sub(other.head.number).cast_signed() < 0;
        let place = self.to_read.iter().position(is_later).unwrap_or(self.to_read.len());
        self.to_read.insert(place, rest);
    }

    /// Puts back what the program could not take.
    fn put_back(&mut self, head: Head, mut bytes: Vec<u8>) {
        if let Some(Rest { head: next, content: Ok(behind) }) = self.to_read.front_mut()
            && next.number == head.number
        {
            bytes.append(behind);
            *behind = bytes;
        } else {
            self.insert(Rest { head, content: Ok(bytes) });
        }
    }
}

/// By socket.
#[derive(Default)]
pub(crate) struct Rests(BTreeMap<u64, Own>);

impl Rests {
    /// In a child of `fork`, all of it is the parent's.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
        COUNT.store(0, Ordering::Relaxed);
    }
}

/// Rests, and how many sockets have some, so that nobody has to look when there is none.
static RESTS: Mutex<Rests> = Mutex::new(Rests(BTreeMap::new()));
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn rests() -> MutexGuard<'static, Rests> {
    RESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the rests of a socket.
fn with<T>(socket: u64, act: impl FnOnce(&mut Own) -> T) -> T {
    let mut rests = rests();
    let done = act(rests.0.entry(socket).or_default());
    rests.0.retain(|_, own| !own.is_empty());
    COUNT.store(rests.0.len(), Ordering::Relaxed);
    done
}

/// Whether something may be readable that a descriptor does not show.
pub(crate) fn has_any() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Whether something is readable that the descriptors of a socket do not show.
pub(crate) fn has(socket: u64) -> bool {
    has_any() && rests().0.contains_key(&socket)
}

/// The head of what is to be read next, and how much of it there is.
pub(crate) fn peek(socket: u64) -> Option<(Head, usize)> {
    if !has_any() {
        return None;
    }
    let rests = rests();
    let next = rests.0.get(&socket)?.to_read.front()?;
    Some((next.head, next.content.as_ref().map_or(0, Vec::len)))
}

/// Keeps what was taken, unless it is for the library alone. The program may have read a part of it already, as long as it was in the queue.
pub(crate) fn keep(socket: u64, stray: Stray) {
    let head = stray.head;
    match (head.kind, stray) {
        (Kind::Data | Kind::Notification, stray) => {
            let mut content = stray.content();
            if let Ok(bytes) = &mut content {
                bytes.drain(..places::of(socket, head.number).min(bytes.len()));
            }
            places::forget(socket, head.number);
            with(socket, |own| own.insert(Rest { head, content }));
        }
        (Kind::Accepted, Stray { passed: Some(fd), .. }) => {
            with(socket, |own| own.to_accept.push_back((head, fd)));
        }
        _ => {}
    }
}

/// The next peer that waits to be accepted.
pub(crate) fn accept(socket: u64) -> Option<(Head, OwnedFd)> {
    if !has_any() {
        return None;
    }
    with(socket, |own| own.to_accept.pop_front())
}

/// Reads what is next into the program's buffers: its head, how many bytes there was room for, and whether these are all. What was read is gone, unless
/// the program only `peeks`.
pub(crate) fn read(
    socket: u64,
    parts: &[iovec],
    peeks: bool,
) -> Outcome<Option<(Head, usize, bool)>> {
    if !has_any() {
        return Ok(None);
    }
    let capacity: usize = parts.iter().map(|part| part.iov_len).sum();
    let next = with(socket, |own| {
        let rest = own.to_read.front_mut()?;
        let (head, taken) = (
            rest.head,
            match &mut rest.content {
                Ok(bytes) => {
                    let count = capacity.min(bytes.len());
                    let is_all = count == bytes.len();
                    let taken = if peeks {
                        bytes[..count].to_vec()
                    } else {
                        bytes.drain(..count).collect()
                    };
                    Ok((taken, is_all))
                }
                Err(fault) => Err(*fault),
            },
        );
        if !peeks && !matches!(taken, Ok((_, false))) {
            own.to_read.pop_front();
        }
        Some((head, taken))
    });
    let Some((head, taken)) = next else { return Ok(None) };
    let (bytes, is_all) = taken?;
    // Nothing is locked meanwhile: the program may be called where its memory is not there, and leave by a jump.
    if let Err(fault) = copy_out(&bytes, parts) {
        if !peeks {
            with(socket, |own| own.put_back(head, bytes));
        }
        return Err(fault);
    }
    Ok(Some((head, bytes.len(), is_all)))
}

/// Copies bytes into the program's buffers, which have room for them.
fn copy_out(mut bytes: &[u8], parts: &[iovec]) -> Outcome<()> {
    let mut places: Vec<(&[u8], *mut c_void)> = Vec::with_capacity(parts.len());
    for part in parts {
        let (now, later) = bytes.split_at(part.iov_len.min(bytes.len()));
        if !now.is_empty() {
            places.push((now, part.iov_base));
        }
        bytes = later;
    }
    if places.is_empty() { Ok(()) } else { memory::copy_out_all(&places) }
}

/// An association has got a socket of its own.
pub(crate) fn move_to(from: u64, to: u64, association: c_int) {
    if !has_any() {
        return;
    }
    let moved: VecDeque<_> = with(from, |own| {
        let all = own.to_read.drain(..);
        let (moved, kept) = all.partition(|rest| rest.head.association == association);
        own.to_read = kept;
        moved
    });
    with(to, |own| own.to_read.extend(moved));
}

/// This process has no descriptor of the socket any more.
pub(crate) fn forget(socket: u64) {
    if has(socket) {
        with(socket, |own| *own = Own::default());
    }
}

/// What became of a frame that was to be discarded.
pub(crate) enum Discarded {
    /// It is gone.
    Done,
    /// Another thread or process had taken it.
    Missing,
    /// As before, and this one came in its place.
    Other(Stray),
}

/// Takes the frame with this number out of the queue of a socket: it means nothing to the program, or nothing any more.
pub(crate) fn discard(socket: Sctp, number: u32) -> Outcome<Discarded> {
    let mut frame = vec![0_u8; HEAD_BYTES + MAX_PIECE_BYTES];
    let part = iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
    // SAFETY: so many bytes are there.
    let got = match unsafe { receive_parts(socket.fd, &[part], 0) } {
        Err(Fault(libc::EAGAIN)) => return Ok(Discarded::Missing),
        other => other?,
    };
    Ok(match Head::decode(&frame[..got.bytes]) {
        Some(head) if head.number != number => Discarded::Other(Stray {
            head,
            bytes: frame[HEAD_BYTES..got.bytes].to_vec(),
            passed: got.passed,
        }),
        Some(_) => Discarded::Done,
        // The end, or nonsense.
        None => Discarded::Missing,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::testing::{pair, pass, put};

    fn stray(kind: Kind, number: u32, bytes: &[u8]) -> Stray {
        let head = Head { number, ..Head::of(kind) };
        Stray { head, bytes: bytes.to_vec(), passed: None }
    }

    fn next(socket: u64, room: usize) -> Outcome<Option<(u32, Vec<u8>, bool)>> {
        let mut buffer = vec![0_u8; room];
        let part = iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: room };
        let Some((head, bytes, is_all)) = read(socket, &[part], false)? else { return Ok(None) };
        buffer.truncate(bytes);
        Ok(Some((head.number, buffer, is_all)))
    }

    /// Discards a frame as those do that mean nothing to the program.
    fn discard_and_keep(socket: Sctp, number: u32) {
        if let Discarded::Other(stray) = discard(socket, number).unwrap() {
            keep(socket.id, stray);
        }
    }

    #[test]
    fn what_is_taken_in_place_of_a_frame_is_not_lost() {
        let (ours, _theirs, socket) = pair(0xFFFF_0001);
        put(&ours, Kind::Fault, 1, b"");
        put(&ours, Kind::Data, 2, b"second");
        put(&ours, Kind::Data, 3, b"third");
        put(&ours, Kind::Fault, 4, b"");
        discard_and_keep(socket, 1);
        assert!(!has(socket.id));
        // Other threads have seen it, too.
        discard_and_keep(socket, 1);
        places::note(socket.id, 3, 2);
        discard_and_keep(socket, 1);
        discard_and_keep(socket, 1);
        assert!(has(socket.id) && peek(socket.id).is_some_and(|(_, bytes)| bytes == 6));
        assert_eq!(next(socket.id, 3), Ok(Some((2, b"sec".to_vec(), false))));
        assert_eq!(next(socket.id, 9), Ok(Some((2, b"ond".to_vec(), true))));
        let third = next(socket.id, 9);
        assert_eq!(third, Ok(Some((3, b"ird".to_vec(), true))), "the rest was not read");
        let last = next(socket.id, 9);
        assert_eq!(last, Ok(None), "a frame for the library is none for the program");
        assert!(matches!(discard(socket, 5), Ok(Discarded::Missing)));
    }

    #[test]
    fn a_peer_that_waits_is_not_lost() {
        let (ours, _theirs, socket) = pair(0xFFFF_0004);
        let (mut reader, writer) = std::io::pipe().unwrap();
        pass(&ours, &Head { number: 2, ..Head::of(Kind::Accepted) }, b"", &[&writer]);
        drop(writer);
        discard_and_keep(socket, 1);
        assert!(has(socket.id) && next(socket.id, 9) == Ok(None));
        let (head, fd) = accept(socket.id).unwrap();
        assert_eq!((head.number, has(socket.id)), (2, false));
        std::fs::File::from(fd).write_all(b"x").unwrap();
        assert_eq!(std::io::Read::read(&mut reader, &mut [0; 9]).unwrap(), 1);
    }

    #[test]
    fn frames_are_read_in_the_order_of_the_queue() {
        let socket = 0xFFFF_0005;
        for number in [1, u32::MAX, 0, 2] {
            keep(socket, stray(Kind::Data, number, &number.to_ne_bytes()));
        }
        let numbers = std::iter::from_fn(|| next(socket, 9).unwrap()).map(|(number, ..)| number);
        assert_eq!(numbers.collect::<Vec<_>>(), [u32::MAX, 0, 1, 2]);
    }

    #[test]
    fn a_message_that_is_lost_in_part_is_no_message() {
        let (ours, _theirs, socket) = pair(0xFFFF_0006);
        let short = polypath_sockets::annex::with(&[b"short"]).unwrap();
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        let head = |number, rest| Head { number, rest, ..Head::of(Kind::Data) };
        // No descriptor came, too little is there, and what is there is no memory.
        put(&ours, Kind::Data, 0, b"");
        pass(&ours, &head(1, 4), b"front", &[]);
        pass(&ours, &head(2, u32::MAX), b"front", &[&short]);
        pass(&ours, &head(3, 4), b"front", &[&file]);
        for _ in 0..4 {
            discard_and_keep(socket, 7);
        }
        assert_eq!(next(socket.id, 9), Ok(Some((0, Vec::new(), true))));
        for fault in [libc::EMFILE, libc::EPROTO, libc::EPROTO] {
            assert_eq!(next(socket.id, 9), Err(Fault(fault)));
        }
        assert_eq!(next(socket.id, 9), Ok(None));
    }

    #[test]
    fn what_a_program_cannot_take_stays() {
        let socket = 0xFFFF_0007;
        keep(socket, stray(Kind::Data, 1, b"first"));
        keep(socket, stray(Kind::Data, 2, b"second"));
        let nowhere = iovec { iov_base: std::ptr::without_provenance_mut(8), iov_len: 3 };
        for peeks in [false, true] {
            assert_eq!(read(socket, &[nowhere], peeks).map(drop), Err(Fault(libc::EFAULT)));
        }
        assert_eq!(next(socket, 9), Ok(Some((1, b"first".to_vec(), true))));
        let nowhere = iovec { iov_len: 9, ..nowhere };
        assert_eq!(read(socket, &[nowhere], false).map(drop), Err(Fault(libc::EFAULT)));
        assert_eq!(next(socket, 9), Ok(Some((2, b"second".to_vec(), true))));
    }

    #[test]
    fn a_child_has_nothing_of_what_its_parent_took() {
        let socket = 0xFFFF_0008;
        keep(socket, stray(Kind::Data, 1, b"first"));
        let mut status = -1;
        // SAFETY: the child only looks, and ends.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::_exit(i32::from(has(socket) || has_any()));
            }
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
        }
        assert_eq!(status, 0);
        assert!(has(socket));
        forget(socket);
    }

    #[test]
    fn what_is_left_goes_with_its_association() {
        let (from, to) = (0xFFFF_0002, 0xFFFF_0003);
        for (number, association) in [(1, 7), (2, 8), (3, 7)] {
            let head = Head { association, number, ..Head::of(Kind::Data) };
            keep(from, Stray { head, bytes: vec![1], passed: None });
        }
        move_to(from, to, 7);
        let count = |socket| rests().0.get(&socket).map_or(0, |own| own.to_read.len());
        assert_eq!((count(from), count(to)), (1, 2));
        forget(from);
        forget(to);
        assert_eq!((has(from), has(to)), (false, false));
    }
}
