//! Receiving: from frames into the buffers of the program.
//!
//! A frame of which the program takes only a part stays in the queue of the descriptor until the rest is taken, too: so whatever waits for
//! the descriptor sees that there is more.

use std::os::fd::OwnedFd;

use libc::{c_int, iovec};
use polypath_sockets::abi::MSG_NOTIFICATION;
use polypath_sockets::annex;
use polypath_sockets::control::{Operation, outlook};
use polypath_sockets::frame::{HEAD_BYTES, Head, Kind, MAX_PIECE_BYTES, wanted};

use crate::client;
use crate::connecting;
use crate::errors;
use crate::facts;
use crate::fault::{Fault, Outcome};
use crate::frames::{MAX_PARTS, behind, look, receive_parts};
use crate::messages::PASSED_FLAGS;
use crate::places;
use crate::rests;
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

/// An association has got a socket of its own, to which its messages have moved: what the program has begun to read goes on there.
pub(crate) fn move_begun(from: Sctp, to: Sctp, association: c_int) {
    rests::move_to(from.id, to.id, association);
    if places::has(from.id)
        && let Ok(Some((head, _))) = look(to.fd, libc::MSG_DONTWAIT)
    {
        places::move_to(from.id, to.id, head.number);
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
    let mut has_settled = false;
    loop {
        let may_be_alone = !facts::expects(socket);
        if !has_settled && begins(socket) && is_empty() && waits() {
            // Its failure wakes one of those who wait for the descriptor, and here all of them. If the service cannot be asked, that has to do.
            match client::settle(socket) {
                Err(fault @ Fault(libc::EINTR | libc::EAGAIN)) => return Err(fault),
                _ => has_settled = true,
            }
            continue;
        }
        // Looked at once: what is there now, another reader may take at any time, and then nothing more may come.
        let mut hurries = may_be_alone && waits() && !is_empty();
        if may_be_alone && !hurries && !rests::has(socket.id) && waits() {
            hurries = outlook(socket, false) == Some(outlook::ALONE);
            // It may have come before the question.
            if hurries && is_empty() {
                return Err(alone);
            }
        }
        let flags = flags | if hurries { libc::MSG_DONTWAIT } else { 0 };
        // SAFETY: the caller vouches for the buffers.
        let received = match unsafe { receive_once(socket, parts, flags) } {
            Err(Fault(libc::EAGAIN)) if hurries => continue,
            found => match found? {
                Found::Nothing => continue,
                Found::End => None,
                Found::Message(received) => Some(received),
            },
        };
        let is_over = received.is_none() && !socket.is_read_shut() && waits();
        if is_over && outlook(socket, true) == Some(outlook::ALONE) {
            return Err(alone);
        }
        return Ok(received);
    }
}

/// Whether a one-to-one socket is being connected. Nothing can come before it is.
fn begins(socket: Sctp) -> bool {
    socket.is_one_to_one() && facts::expects(socket) && !facts::is_connected(socket)
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
        if let Some((mut head, bytes, is_all)) = unsafe { rests::read(socket.id, parts, peeks) } {
            head.wanted = facts::wanted(socket).unwrap_or(head.wanted);
            let ends = head.ends && is_all;
            return Ok(Found::Message(finished(socket, head, bytes, ends)));
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
            // A peer that waits where nobody listens any more. If the socket listens again, the program can accept it; if it is connected instead,
            // nobody can.
            Kind::Accepted if socket.is_one_to_one() && !is_alone(socket) => {
                rests::discard(socket, head.number);
                continue;
            }
            _ => return Err(Fault(libc::ENOTCONN)),
        }
        let whole = size + head.rest as usize;
        let place = places::of(socket.id, head.number).min(whole);
        let stays = peeks || whole - place > capacity;
        let peek = if stays { libc::MSG_PEEK } else { 0 };
        // SAFETY: the caller vouches for the buffers.
        if !unsafe { take(socket, (&head, size, place), parts, peek) }? {
            if flags & libc::MSG_DONTWAIT != 0 && !rests::has(socket.id) {
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

/// Whether a one-to-one socket has no association, and begins none. One that may not ask has one, for all that is known.
fn is_alone(socket: Sctp) -> bool {
    let may_be = !facts::is_connected(socket) && !facts::expects(socket);
    may_be && outlook(socket, false) == Some(outlook::ALONE)
}

/// A frame says that there is an error. Another call may have returned it by now, and the frame goes.
fn told(socket: Sctp, frame: &Head) -> Outcome<Found> {
    // A program that may not ask takes the frame's word for it: an abort must not look like an orderly end.
    let error = errors::take(socket).unwrap_or_else(|_| i32::try_from(frame.value).ok().map(Fault));
    let next = look(socket.fd, libc::MSG_DONTWAIT).ok().flatten();
    if next.is_some_and(|(next, _)| next.kind == Kind::Fault && next.number == frame.number) {
        rests::discard(socket, frame.number);
    }
    error.map_or(Ok(Found::Nothing), Err)
}

/// Reads a frame that [`look`] has seen, from a place of its content on; whether it was still there. With `MSG_PEEK` it stays there. Another
/// one that was taken in its place becomes a [rest](rests).
///
/// # Safety
///
/// As of [`receive`].
unsafe fn take(
    socket: Sctp,
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
    let got = unsafe { receive_parts(socket.fd, &all, peek) };
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
            rests::keep(socket.id, found, bytes);
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
    if let Some(rest) = rests::peek(socket.id) {
        return Some(rest);
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
