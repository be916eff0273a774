//! What was taken out of the queue of a socket and is larger than the program's buffers, or was taken in place of another frame. That happens only
//! where several threads or processes receive from the same socket at once: looking at a frame and taking it are two steps.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_int, iovec};
use polypath_sockets::annex;
use polypath_sockets::frame::{HEAD_BYTES, Head, Kind, MAX_PIECE_BYTES};

use crate::frames::receive_parts;
use crate::places;
use crate::table::Sctp;

/// A message or a notification, or what is left of it.
pub(crate) struct Rest {
    pub(crate) head: Head,
    pub(crate) bytes: Vec<u8>,
}

/// By socket, the oldest first.
pub(crate) type Rests = BTreeMap<u64, VecDeque<Rest>>;

/// Rests, and how many sockets have some, so that nobody has to look when there is none.
static RESTS: Mutex<Rests> = Mutex::new(BTreeMap::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn rests() -> MutexGuard<'static, Rests> {
    RESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does something with the rests of a socket.
fn with<T>(socket: u64, act: impl FnOnce(&mut VecDeque<Rest>) -> T) -> T {
    let mut rests = rests();
    let done = act(rests.entry(socket).or_default());
    rests.retain(|_, own| !own.is_empty());
    COUNT.store(rests.len(), Ordering::Relaxed);
    done
}

/// Whether something may be readable that a descriptor does not show.
pub(crate) fn has_any() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Whether something is readable that the descriptors of a socket do not show.
pub(crate) fn has(socket: u64) -> bool {
    has_any() && rests().contains_key(&socket)
}

/// The head of what is to be read next, and how much of it there is.
pub(crate) fn peek(socket: u64) -> Option<(Head, usize)> {
    if !has_any() {
        return None;
    }
    let rests = rests();
    let next = rests.get(&socket)?.front()?;
    Some((next.head, next.bytes.len()))
}

/// Keeps what was taken, unless it is for the library alone. The program may have read a part of it already, as long as it was in the queue.
pub(crate) fn keep(socket: u64, head: Head, mut bytes: Vec<u8>) {
    if matches!(head.kind, Kind::Data | Kind::Notification) {
        let read = places::of(socket, head.number).min(bytes.len());
        if read > 0 {
            bytes.drain(..read);
            places::forget(socket);
        }
        with(socket, |rests| rests.push_back(Rest { head, bytes }));
    }
}

/// Reads what is next into the program's buffers: its head, how many bytes there was room for, and whether these are all. What was read is gone, unless
/// the program only `peeks`.
///
/// # Safety
///
/// The parts must be writable.
pub(crate) unsafe fn read(
    socket: u64,
    parts: &[iovec],
    peeks: bool,
) -> Option<(Head, usize, bool)> {
    if !has_any() {
        return None;
    }
    with(socket, |rests| {
        let rest = rests.front_mut()?;
        let mut taken = 0;
        for part in parts {
            let count = part.iov_len.min(rest.bytes.len() - taken);
            let from = rest.bytes[taken..taken + count].as_ptr();
            // SAFETY: the caller vouches for the buffer, which is not ours.
            unsafe { std::ptr::copy_nonoverlapping(from, part.iov_base.cast(), count) };
            taken += count;
        }
        let (head, is_all) = (rest.head, taken == rest.bytes.len());
        if !peeks {
            rest.bytes.drain(..taken);
            if is_all {
                rests.pop_front();
            }
        }
        Some((head, taken, is_all))
    })
}

/// An association has got a socket of its own.
pub(crate) fn move_to(from: u64, to: u64, association: c_int) {
    if !has_any() {
        return;
    }
    let moved: VecDeque<_> = with(from, |rests| {
        let (moved, kept) = rests.drain(..).partition(|rest| rest.head.association == association);
        *rests = kept;
        moved
    });
    with(to, |rests| rests.extend(moved));
}

/// This process has no descriptor of the socket any more.
pub(crate) fn forget(socket: u64) {
    if has(socket) {
        with(socket, VecDeque::clear);
    }
}

/// Takes the frame with this number out of the queue of a socket: it means nothing to the program, or nothing any more. If another thread or process has
/// taken it since it was seen, the next one comes in its place, and is kept.
pub(crate) fn discard(socket: Sctp, number: u32) {
    let mut frame = vec![0_u8; HEAD_BYTES + MAX_PIECE_BYTES];
    let part = iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
    // SAFETY: so many bytes are there.
    let Ok((got, passed)) = (unsafe { receive_parts(socket.fd, &[part], 0) }) else { return };
    let Some(head) = Head::decode(&frame[..got]).filter(|head| head.number != number) else {
        return;
    };
    let mut bytes = frame[HEAD_BYTES..got].to_vec();
    if let Some(annex) = passed.filter(|_| head.rest > 0) {
        let in_frame = bytes.len();
        bytes.resize(in_frame + head.rest as usize, 0);
        if annex::read(&annex, 0, &mut bytes[in_frame..]).is_err() {
            bytes.truncate(in_frame);
        }
    }
    keep(socket.id, head, bytes);
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    use polypath_sockets::board::Place;
    use polypath_sockets::names::{SocketName, Style};

    use super::*;
    use crate::frames::send_frame;
    use crate::table;

    /// The service's end of a socket with this number, the program's, and the socket.
    fn pair(id: u64) -> (OwnedFd, OwnedFd, Sctp) {
        let name = SocketName {
            id,
            style: Style::OneToOne,
            is_ipv6: false,
            is_carried: false,
            place: Place::default(),
        };
        let mut fds = [0; 2];
        // SAFETY: all zero is an address, whose fields are set then; the calls get memory that lives longer than they take.
        let [ours, theirs] = unsafe {
            let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
            assert_eq!(libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()), 0);
            let mut address: libc::sockaddr_un = std::mem::zeroed();
            address.sun_family = libc::AF_UNIX as libc::sa_family_t;
            let encoded = name.encoded();
            for (place, byte) in address.sun_path[1..].iter_mut().zip(&encoded) {
                *place = byte.cast_signed();
            }
            let length = (size_of::<libc::sa_family_t>() + 1 + encoded.len()) as libc::socklen_t;
            let bound = libc::bind(fds[0], (&raw const address).cast(), length);
            assert_eq!(bound, 0, "{}", io::Error::last_os_error());
            fds.map(|fd| OwnedFd::from_raw_fd(fd))
        };
        assert!(table::learn(theirs.as_raw_fd()));
        let socket = Sctp::of(theirs.as_raw_fd()).unwrap();
        (ours, theirs, socket)
    }

    fn put(to: &OwnedFd, kind: Kind, number: u32, content: &mut [u8]) {
        let part = iovec { iov_base: content.as_mut_ptr().cast(), iov_len: content.len() };
        send_frame(to.as_raw_fd(), &Head { number, ..Head::of(kind) }, &[part], 0).unwrap();
    }

    fn next(socket: Sctp, room: usize) -> Option<(u32, Vec<u8>, bool)> {
        let mut buffer = vec![0_u8; room];
        let part = iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: room };
        // SAFETY: so many bytes are there.
        let (head, bytes, is_all) = unsafe { read(socket.id, &[part], false) }?;
        buffer.truncate(bytes);
        Some((head.number, buffer, is_all))
    }

    #[test]
    fn what_is_taken_in_place_of_a_frame_is_not_lost() {
        let (ours, theirs, socket) = pair(0xFFFF_0001);
        put(&ours, Kind::Fault, 1, &mut []);
        put(&ours, Kind::Data, 2, &mut b"second".to_vec());
        put(&ours, Kind::Data, 3, &mut b"third".to_vec());
        put(&ours, Kind::Fault, 4, &mut []);
        discard(socket, 1);
        assert!(!has(socket.id));
        // Other threads have seen it, too.
        discard(socket, 1);
        places::note(socket.id, 3, 2);
        discard(socket, 1);
        discard(socket, 1);
        assert!(has(socket.id) && peek(socket.id).is_some_and(|(_, bytes)| bytes == 6));
        assert_eq!(next(socket, 3), Some((2, b"sec".to_vec(), false)));
        assert_eq!(next(socket, 9), Some((2, b"ond".to_vec(), true)));
        assert_eq!(next(socket, 9), Some((3, b"ird".to_vec(), true)), "the rest was not read");
        assert_eq!(next(socket, 9), None, "a frame for the library is none for the program");
        table::forget(theirs.as_raw_fd());
    }

    #[test]
    fn what_is_left_goes_with_its_association() {
        let (from, to) = (0xFFFF_0002, 0xFFFF_0003);
        for association in [7, 8, 7] {
            let head = Head { association, ..Head::of(Kind::Data) };
            keep(from, head, vec![association as u8]);
        }
        move_to(from, to, 7);
        let count = |socket| rests().get(&socket).map_or(0, VecDeque::len);
        assert_eq!((count(from), count(to)), (1, 2));
        forget(from);
        forget(to);
        assert_eq!((has(from), has(to)), (false, false));
    }
}
