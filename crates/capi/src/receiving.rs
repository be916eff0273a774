//! Receiving: from frames into the buffers of the program.
//!
//! A frame of which the program takes only a part stays in the queue of the descriptor until the rest is taken, too: so whatever waits for
//! the descriptor sees that there is more.

use std::collections::BTreeMap;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_int, iovec, msghdr};
use polypath_sockets::abi::MSG_NOTIFICATION;
use polypath_sockets::annex;
use polypath_sockets::control::{Operation, outlook};
use polypath_sockets::frame::{HEAD_BYTES, Head, Kind, MAX_PIECE_BYTES, wanted};

use crate::client;
use crate::connecting;
use crate::errors;
use crate::facts;
use crate::fault::{Fault, Outcome};
use crate::frames::{MAX_PARTS, behind, discard, look};
use crate::messages::PASSED_FLAGS;
use crate::places;
use crate::real;
use crate::table::Sctp;

/// What was received.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) head: Head,
    /// Bytes that were written into the program's buffers.
    pub(crate) bytes: usize,
    /// `MSG_EOR`, `MSG_NOTIFICATION`.
    pub(crate) flags: c_int,
    /// Head of the next message and its size, where `SCTP_NXTINFO` is wanted and it is there.
    pub(crate) next: Option<(Head, usize)>,
}

/// What was taken from the queue and is larger than the program's buffers, as happens where several threads or processes receive from
/// the same socket at once.
pub(crate) struct Rest {
    head: Head,
    bytes: Vec<u8>,
}

pub(crate) type Rests = BTreeMap<c_int, Rest>;

/// Rests by descriptor, and how many there are, so that nobody has to look when there is none.
static RESTS: Mutex<Rests> = Mutex::new(BTreeMap::new());
static REST_COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn rests() -> MutexGuard<'static, Rests> {
    RESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether something may be readable that a descriptor does not show.
pub(crate) fn has_any_rest() -> bool {
    REST_COUNT.load(Ordering::Relaxed) > 0
}

/// Whether something is readable that the descriptor does not show.
pub(crate) fn has_rest(fd: c_int) -> bool {
    has_any_rest() && rests().contains_key(&fd)
}

/// An association has got a socket of its own, to which its messages have moved: what the program has begun to read goes on there.
pub(crate) fn move_begun(from: Sctp, to: Sctp, association: c_int) {
    if has_any_rest() {
        let mut rests = rests();
        let is_its = |rest: &Rest| rest.head.association == association;
        if rests.get(&from.fd).is_some_and(is_its)
            && let Some(rest) = rests.remove(&from.fd)
        {
            rests.insert(to.fd, rest);
        }
    }
    if places::has(from.id)
        && let Ok(Some((head, _))) = look(to.fd, libc::MSG_DONTWAIT)
    {
        places::move_to(from.id, to.id, head.number);
    }
}

/// The descriptor is closed.
pub(crate) fn drop_rest(fd: c_int) {
    if has_any_rest() && rests().remove(&fd).is_some() {
        REST_COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

fn keep_rest(fd: c_int, rest: Rest) {
    if rests().insert(fd, rest).is_none() {
        REST_COUNT.fetch_add(1, Ordering::Relaxed);
    }
}

/// Receives as [`receive`] does, but where nothing can come, the call fails with `ENOTCONN` instead of waiting, or of reading an end that nobody
/// has sent. Calls that do not wait are as they would be otherwise.
///
/// # Safety
///
/// As of [`receive`].
pub(crate) unsafe fn receive_if_connected(
    socket: Sctp,
    parts: &[iovec],
    flags: c_int,
) -> Outcome<Option<Received>> {
    socket.ensure_known()?;
    let alone = Fault(libc::ENOTCONN);
    let waits = || flags & libc::MSG_DONTWAIT == 0 && !connecting::is_nonblocking(socket.fd);
    let is_empty = || matches!(look(socket.fd, libc::MSG_DONTWAIT), Err(Fault(libc::EAGAIN)));
    loop {
        let may_be_alone = !facts::expects(socket);
        if may_be_alone && !has_rest(socket.fd) && is_empty() && waits() {
            // It may have come before the question.
            let is_alone = outlook(socket, false) == Some(outlook::ALONE);
            if is_alone && is_empty() {
                return Err(alone);
            }
        }
        // SAFETY: the caller vouches for the buffers.
        let received = match unsafe { receive_once(socket, parts, flags) }? {
            Found::Nothing => continue,
            Found::End => None,
            Found::Message(received) => Some(received),
        };
        let is_over = received.is_none() && !socket.is_read_shut() && waits();
        if is_over && outlook(socket, true) == Some(outlook::ALONE) {
            return Err(alone);
        }
        return Ok(received);
    }
}

/// What was found that reads.
enum Found {
    Message(Received),
    End,
    /// What is for the library alone.
    Nothing,
}

/// What a program can expect that reads, unless the service is gone.
fn outlook(socket: Sctp, is_over: bool) -> Option<i32> {
    client::ask(Operation::Outlook, socket, (is_over.into(), 0), &[]).ok().map(|reply| reply.value)
}

/// Receives into the program's buffers; `None` at the end.
///
/// # Safety
///
/// The buffers must be writable, as `recvmsg` demands.
pub(crate) unsafe fn receive(
    socket: Sctp,
    parts: &[iovec],
    flags: c_int,
) -> Outcome<Option<Received>> {
    loop {
        // SAFETY: the caller vouches for the buffers.
        match unsafe { receive_once(socket, parts, flags) }? {
            Found::Message(received) => return Ok(Some(received)),
            Found::End => return Ok(None),
            Found::Nothing => {}
        }
    }
}

/// Receives what comes next.
///
/// # Safety
///
/// As of [`receive`].
unsafe fn receive_once(socket: Sctp, parts: &[iovec], flags: c_int) -> Outcome<Found> {
    socket.ensure_known()?;
    if socket.is_one_to_one() && facts::is_listening(socket) {
        return Err(Fault(libc::ENOTCONN));
    }
    let parts = &parts[..MAX_PARTS.min(parts.len())];
    let capacity: usize = parts.iter().map(|part| part.iov_len).sum();
    let peeks = flags & libc::MSG_PEEK != 0;
    loop {
        // SAFETY: the caller vouches for the buffers.
        if let Some(received) = unsafe { from_rest(socket, parts, flags) } {
            return Ok(Found::Message(received));
        }
        let Some((mut head, size)) = look(socket.fd, flags & PASSED_FLAGS)? else {
            return match socket.is_one_to_one() {
                // As in Linux, where it has no end.
                true if socket.is_peeled_off() && !socket.is_read_shut() => {
                    Err(Fault(libc::ENOTCONN))
                }
                true => Ok(Found::End),
                // Only one association comes to an end; of a socket for many, the service is gone.
                false => Err(Fault(libc::ENETDOWN)),
            };
        };
        match head.kind {
            Kind::Data | Kind::Notification => {}
            Kind::Fault => return told(socket, &head),
            _ => return Err(Fault(libc::ENOTCONN)),
        }
        let whole = size + head.rest as usize;
        let place = places::of(socket.id, head.number).min(whole);
        let stays = peeks || whole - place > capacity;
        let peek = if stays { libc::MSG_PEEK } else { 0 };
        // SAFETY: the caller vouches for the buffers.
        if !unsafe { take(socket.fd, (&head, size, place), parts, peek) }? {
            if flags & libc::MSG_DONTWAIT != 0 && !has_rest(socket.fd) {
                return Err(Fault(libc::EAGAIN));
            }
            continue;
        }
        let bytes = capacity.min(whole - place);
        match (peeks, stays) {
            (true, _) => {}
            (false, true) => places::note(socket.id, head.number, place + bytes),
            (false, false) => places::forget(socket.id),
        }
        head.wanted = facts::wanted(socket).unwrap_or(head.wanted);
        let ends = head.ends && place + bytes == whole;
        return Ok(Found::Message(finished(socket, head, bytes, ends)));
    }
}

/// A frame says that there is an error. Another call may have returned it by now, and the frame goes.
fn told(socket: Sctp, frame: &Head) -> Outcome<Found> {
    // A program that may not ask takes the frame's word for it: an abort must not look like an orderly end.
    let error = errors::take(socket).unwrap_or_else(|_| i32::try_from(frame.value).ok().map(Fault));
    let next = look(socket.fd, libc::MSG_DONTWAIT).ok().flatten();
    if next.is_some_and(|(next, _)| next.kind == Kind::Fault && next.number == frame.number) {
        discard(socket.fd);
    }
    error.map_or(Ok(Found::Nothing), Err)
}

/// Reads a frame that [`look`] has seen, from a place of its content on; whether it was still there. With `MSG_PEEK` it stays there. Another
/// one that was taken in its stead becomes a [`Rest`].
///
/// # Safety
///
/// As of [`receive`].
unsafe fn take(
    fd: c_int,
    (seen, size, place): (&Head, usize, usize),
    parts: &[iovec],
    peek: c_int,
) -> Outcome<bool> {
    let mut head = [0_u8; HEAD_BYTES];
    let skip = place.min(size);
    let room = skip + if peek == 0 { MAX_PIECE_BYTES } else { 0 };
    let mut scratch = Scratch::take(room);
    let (skipped, spill) = scratch.0[..room].split_at_mut(skip);
    let mut all = Vec::with_capacity(parts.len() + 3);
    all.push(iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEAD_BYTES });
    all.push(iovec { iov_base: skipped.as_mut_ptr().cast(), iov_len: skipped.len() });
    all.extend_from_slice(parts);
    all.push(iovec { iov_base: spill.as_mut_ptr().cast(), iov_len: spill.len() });
    // SAFETY: the parts are ours or the program's.
    let got = unsafe { receive_parts(fd, &all, peek) };
    let (got, annex) = match got {
        // Somebody else has taken it.
        Err(Fault(libc::EAGAIN)) => return Ok(false),
        other => other?,
    };
    let found = Head::decode(&head[..got.min(HEAD_BYTES)]).ok_or(Fault(libc::EPROTO))?;
    let content = got.saturating_sub(HEAD_BYTES);
    if found.number != seen.number {
        if peek == 0 {
            // SAFETY: so many bytes were written there.
            let mut bytes = unsafe { gathered(&all[1..], content) };
            if let Some(annex) = annex {
                let mut rest = vec![0; found.rest as usize];
                annex::read(&annex, 0, &mut rest).map_err(|_| Fault(libc::EPROTO))?;
                bytes.extend(rest);
            }
            keep_rest(fd, Rest { head: found, bytes });
        }
        return Ok(false);
    }
    if seen.rest > 0 {
        let annex = annex.ok_or(Fault(libc::EMFILE))?;
        let parts = behind(parts, content.saturating_sub(place));
        // SAFETY: the caller vouches for the buffers.
        unsafe { read_annex(&annex, place.saturating_sub(content), &parts, seen.rest) }?;
    }
    Ok(true)
}

/// Receives a frame without waiting, and the descriptor that comes with it.
///
/// # Safety
///
/// The parts must be writable.
unsafe fn receive_parts(
    fd: c_int,
    parts: &[iovec],
    flags: c_int,
) -> Outcome<(usize, Option<OwnedFd>)> {
    // Room for one descriptor, aligned as a header has to be.
    let mut control = MaybeUninit::<[u64; 4]>::zeroed();
    // SAFETY: all zero is a message without anything.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_ptr().cast_mut();
    message.msg_iovlen = parts.len();
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<[u64; 4]>();
    let flags = flags | libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the caller vouches for the parts.
    let got = unsafe { real::recvmsg(fd, &raw mut message, flags) };
    let got = usize::try_from(got).map_err(|_| Fault::last())?;
    // SAFETY: the kernel has written the headers that the message names.
    let passed = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_there = !header.is_null()
            && ((*header).cmsg_level, (*header).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        // The descriptor is ours from now on.
        is_there
            .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<c_int>().read_unaligned()))
    };
    Ok((got, passed))
}

/// Reads what did not fit into a frame, from a place on, as far as there is room.
///
/// # Safety
///
/// The parts must be writable.
unsafe fn read_annex(annex: &OwnedFd, place: usize, parts: &[iovec], bytes: u32) -> Outcome<()> {
    use std::os::fd::AsRawFd;
    let room: usize = parts.iter().map(|part| part.iov_len).sum();
    let wanted = room.min((bytes as usize).saturating_sub(place));
    let mut done = 0;
    while done < wanted {
        let parts = behind(parts, done);
        let (count, from) = (parts.len() as c_int, (place + done) as libc::off_t);
        // SAFETY: the caller vouches for the parts.
        let got = unsafe { libc::preadv(annex.as_raw_fd(), parts.as_ptr(), count, from) };
        match usize::try_from(got).map_err(|_| Fault::last())? {
            0 => return Err(Fault(libc::EPROTO)),
            more => done += more,
        }
    }
    Ok(())
}

/// The first bytes of what lies in buffers.
///
/// # Safety
///
/// So many bytes must have been written there.
unsafe fn gathered(parts: &[iovec], bytes: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(bytes);
    for part in parts {
        let count = part.iov_len.min(bytes - all.len());
        if count > 0 {
            // SAFETY: the caller vouches for the bytes.
            let slice = unsafe { std::slice::from_raw_parts(part.iov_base.cast::<u8>(), count) };
            all.extend_from_slice(slice);
        }
    }
    all
}

/// What another thread has left.
///
/// # Safety
///
/// As of [`receive`].
unsafe fn from_rest(socket: Sctp, parts: &[iovec], flags: c_int) -> Option<Received> {
    if !has_any_rest() {
        return None;
    }
    let mut rests = rests();
    let rest = rests.get_mut(&socket.fd)?;
    let mut taken = 0;
    for part in parts {
        let count = part.iov_len.min(rest.bytes.len() - taken);
        let from = rest.bytes[taken..taken + count].as_ptr();
        // SAFETY: the caller vouches for the buffer, which is not ours.
        unsafe { std::ptr::copy_nonoverlapping(from, part.iov_base.cast(), count) };
        taken += count;
    }
    let head = rest.head;
    let ends = head.ends && taken == rest.bytes.len();
    if flags & libc::MSG_PEEK == 0 {
        rest.bytes.drain(..taken);
        if rest.bytes.is_empty() {
            rests.remove(&socket.fd);
            REST_COUNT.fetch_sub(1, Ordering::Relaxed);
        }
    }
    drop(rests);
    Some(finished(socket, head, taken, ends))
}

fn finished(socket: Sctp, head: Head, bytes: usize, ends: bool) -> Received {
    let mut flags = 0;
    if ends {
        flags |= libc::MSG_EOR;
    }
    if head.kind == Kind::Notification {
        flags |= MSG_NOTIFICATION;
    }
    let next = (head.wanted & wanted::NXTINFO != 0 && ends).then(|| peek(socket)).flatten();
    Received { head, bytes, flags, next }
}

/// The head of the next frame, and how much is to be read of it, if one is there.
pub(crate) fn peek(socket: Sctp) -> Option<(Head, usize)> {
    if has_any_rest()
        && let Some(rest) = rests().get(&socket.fd)
    {
        return Some((rest.head, rest.bytes.len()));
    }
    let (head, size) = look(socket.fd, libc::MSG_DONTWAIT).ok().flatten()?;
    let whole = size + head.rest as usize;
    Some((head, whole.saturating_sub(places::of(socket.id, head.number))))
}

/// A buffer for what the program does not get, kept for the next call of the thread.
struct Scratch(Vec<u8>);

thread_local! {
    static KEPT: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Scratch {
    fn take(bytes: usize) -> Self {
        let kept =
            KEPT.try_with(|kept| kept.try_borrow_mut().map(|mut kept| std::mem::take(&mut *kept)));
        let mut buffer = kept.ok().and_then(Result::ok).unwrap_or_default();
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        Self(buffer)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        let _ = KEPT.try_with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut() {
                *kept = buffer;
            }
        });
    }
}
