//! Sending and receiving.

use std::net::SocketAddr;

use libc::{c_int, c_uint, c_void, iovec, sockaddr, socklen_t, ssize_t};
use polypath_sockets::abi::{self, ancillary};
use polypath_sockets::frame::{Kind, wanted};
use polypath_sockets::layout::Fields;
use polypath_sockets::usrsctp::{
    self, MSG_NOTIFICATION, NXTINFO_BYTES, RCVINFO_BYTES, received, sent,
};

use super::handle::{Handle, ReceiveInfo};
use crate::fault::{Fault, Outcome, returned};
use crate::info::{self, write_address};
use crate::memory;
use crate::messages::{self, Letter, read_ancillary};
use crate::receiving::{self, Received};
use crate::sctp::addresses;
use crate::table::Sctp;

/// What was received for a program that is called for it.
pub(super) struct Taken {
    pub(super) from: Option<SocketAddr>,
    /// Allocated by `malloc`.
    pub(super) content: *mut c_void,
    pub(super) bytes: usize,
    pub(super) info: ReceiveInfo,
    pub(super) flags: c_int,
}

/// Bytes that may be written, as far as the system says so.
pub(super) fn free_bytes(handle: &Handle) -> u32 {
    let mut poll = libc::pollfd { fd: handle.fd, events: libc::POLLOUT, revents: 0 };
    // SAFETY: there is one entry.
    let ready = unsafe {
        libc::ppoll(&raw mut poll, 1, &libc::timespec { tv_sec: 0, tv_nsec: 0 }, std::ptr::null())
    };
    if ready == 1 && poll.revents & libc::POLLOUT != 0 { u32::MAX >> 1 } else { 0 }
}

/// Bytes by which a notification may be longer here than in Linux.
const LONGER: usize = 8;

/// Takes the next message without waiting, with all its bytes; `None` at the end.
pub(super) fn take(socket: Sctp) -> Outcome<Option<Taken>> {
    let room = receiving::peek(socket).map_or(0, |(_, bytes)| bytes);
    // SAFETY: any size can be asked for; the result is checked.
    let content = unsafe { libc::malloc(room + LONGER) };
    if content.is_null() {
        return Err(Fault(libc::ENOMEM));
    }
    let part = iovec { iov_base: content, iov_len: room };
    // SAFETY: the memory has so many bytes.
    let outcome = unsafe { receiving::receive(socket, &[part], libc::MSG_DONTWAIT) };
    match outcome {
        Ok(Some(received)) => {
            let (bytes, flags) = translate(&received, content, room + LONGER);
            let info = ReceiveInfo::of(&rcvinfo(&received));
            Ok(Some(Taken { from: received.head.peer, content, bytes, info, flags }))
        }
        other => {
            // SAFETY: nobody else has it.
            unsafe { libc::free(content) };
            other.map(|_| None)
        }
    }
}

fn rcvinfo(received: &Received) -> Vec<u8> {
    usrsctp::with_flags(info::rcvinfo(&received.head), 4)
}

/// Puts a notification into the form that the program knows; gives its bytes, and the flags of the call.
fn translate(received: &Received, content: *mut c_void, room: usize) -> (usize, c_int) {
    let ends = received.flags & libc::MSG_EOR;
    if received.head.kind != Kind::Notification {
        return (received.bytes, ends);
    }
    let flags = ends | MSG_NOTIFICATION;
    let bytes = received.bytes;
    // SAFETY: so many bytes were received there.
    let theirs = unsafe { std::slice::from_raw_parts(content.cast::<u8>(), bytes) };
    let Some(told) = usrsctp::notification(theirs) else { return (bytes, flags) };
    // What is longer here is cut where there is no room for it.
    let kept = told.len().min(room);
    // SAFETY: there is room for so many.
    unsafe { std::ptr::copy_nonoverlapping(told.as_ptr(), content.cast(), kept) };
    (kept, flags)
}

/// What a program says beside a message.
fn letter_of(info: &[u8], kind: c_uint) -> Outcome<Letter> {
    /// Which parts of `struct sctp_sendv_spa` count, and where they are.
    const PARTS: [(u32, usize, usize, u32); 3] =
        [(1, 4, 16, sent::SNDINFO), (2, 20, 8, sent::PRINFO), (4, 28, 2, sent::AUTHINFO)];
    let wrong = Fault(libc::EINVAL);
    let mut letter = Letter::plain();
    match kind {
        sent::NOTHING => {}
        sent::SNDINFO => {
            let item = usrsctp::sndinfo(info).ok_or(wrong)?;
            read_ancillary(&mut letter, ancillary::SNDINFO, Fields(&item))?;
        }
        sent::PRINFO => {
            let item = usrsctp::prinfo(info).ok_or(wrong)?;
            read_ancillary(&mut letter, ancillary::PRINFO, Fields(&item))?;
        }
        sent::AUTHINFO => read_ancillary(&mut letter, ancillary::AUTHINFO, Fields(info))?,
        sent::ALL => {
            let flags = Fields(info).u32(0).ok_or(wrong)?;
            for (flag, place, bytes, kind) in PARTS {
                if flags & flag == 0 {
                    continue;
                }
                let part = letter_of(info.get(place..place + bytes).ok_or(wrong)?, kind)?;
                letter = joined(&letter, &part, kind);
            }
        }
        _ => return Err(wrong),
    }
    Ok(letter)
}

/// The letter with what another one says of this kind.
fn joined(letter: &Letter, part: &Letter, kind: u32) -> Letter {
    let (mut head, other) = (letter.head, part.head);
    match kind {
        sent::SNDINFO => {
            head.wanted &= !wanted::DEFAULTS;
            (head.stream, head.flags, head.ppid) = (other.stream, other.flags, other.ppid);
            (head.context, head.association) = (other.context, other.association);
        }
        sent::PRINFO => {
            head.wanted &= !wanted::DEFAULT_PR;
            (head.pr_policy, head.value) = (other.pr_policy, other.value);
        }
        _ => head.key = other.key,
    }
    Letter::from(head)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_sendv(
    socket: *mut Handle,
    content: *const c_void,
    bytes: usize,
    to: *mut sockaddr,
    count: c_int,
    info: *mut c_void,
    info_bytes: socklen_t,
    kind: c_uint,
    flags: c_int,
) -> ssize_t {
    let attempt = || {
        // SAFETY: the caller vouches for the socket.
        let socket = unsafe { Handle::named(socket) }?.socket()?;
        let said = match info.is_null() {
            true => Vec::new(),
            false => memory::copy_in(info, (info_bytes as usize).min(64))?,
        };
        let mut letter = letter_of(&said, if info.is_null() { sent::NOTHING } else { kind })?;
        if !to.is_null() && count > 0 {
            // SAFETY: the caller vouches for the addresses.
            let peers = unsafe { addresses(to.cast(), count) }?;
            letter.head.peer = peers.first().copied();
            letter.others = peers.get(1..).unwrap_or_default().to_vec();
        }
        let part = iovec { iov_base: content.cast_mut(), iov_len: bytes };
        messages::send(socket, &letter, &[part], flags | libc::MSG_NOSIGNAL)
    };
    returned(|| attempt().map(|bytes| bytes as ssize_t))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_recvv(
    socket: *mut Handle,
    buffer: *mut c_void,
    room: usize,
    from: *mut sockaddr,
    from_bytes: *mut socklen_t,
    info: *mut c_void,
    info_bytes: *mut socklen_t,
    kind: *mut c_uint,
    flags: *mut c_int,
) -> ssize_t {
    let attempt = || {
        // SAFETY: the caller vouches for the socket.
        let socket = unsafe { Handle::named(socket) }?.socket()?;
        let part = iovec { iov_base: buffer, iov_len: room };
        let asked = match flags.is_null() {
            true => 0,
            false => {
                Fields(&memory::copy_in(flags.cast(), size_of::<c_int>())?).i32(0).unwrap_or(0)
            }
        };
        // The program may have left there what the call before said.
        let asked = asked & (libc::MSG_DONTWAIT | libc::MSG_PEEK);
        // SAFETY: the caller vouches for the buffer.
        let received = unsafe { receiving::receive(socket, &[part], asked) }?;
        let Some(received) = received else {
            say(kind, received::NOTHING)?;
            return Ok(0);
        };
        let (bytes, said) = translate(&received, buffer, room);
        write_address(socket, received.head.peer, from, from_bytes)?;
        if !flags.is_null() {
            memory::copy_out(&said.to_ne_bytes(), flags.cast())?;
        }
        write_info(&received, info, info_bytes, kind)?;
        Ok(bytes as ssize_t)
    };
    returned(attempt)
}

fn say(kind: *mut c_uint, what: u32) -> Outcome<()> {
    match kind.is_null() {
        true => Ok(()),
        false => memory::copy_out(&what.to_ne_bytes(), kind.cast()),
    }
}

/// Writes what is wanted to be said beside a message.
fn write_info(
    received: &Received,
    info: *mut c_void,
    info_bytes: *mut socklen_t,
    kind: *mut c_uint,
) -> Outcome<()> {
    let is_data = received.head.kind == Kind::Data;
    let gives = is_data && received.head.wanted & wanted::RCVINFO != 0;
    let next = received.next.as_ref().filter(|_| is_data).map(info::nxtinfo);
    let next = next.map(|next| usrsctp::with_flags(next, 2));
    let (what, bytes) = match (gives, next) {
        (false, None) => (received::NOTHING, Vec::new()),
        (true, None) => (received::RCVINFO, rcvinfo(received)),
        (false, Some(next)) => (received::NXTINFO, next),
        (true, Some(next)) => (received::BOTH, [rcvinfo(received), next].concat()),
    };
    debug_assert!(bytes.len() <= RCVINFO_BYTES + NXTINFO_BYTES);
    if info.is_null() || info_bytes.is_null() {
        return say(kind, received::NOTHING);
    }
    let room = memory::copy_in(info_bytes.cast(), size_of::<socklen_t>())?;
    if (Fields(&room).u32(0).unwrap_or(0) as usize) < bytes.len() {
        return say(kind, received::NOTHING);
    }
    if !bytes.is_empty() {
        memory::copy_out(&bytes, info)?;
    }
    memory::copy_out(&(bytes.len() as socklen_t).to_ne_bytes(), info_bytes.cast())?;
    say(kind, what)
}

/// `SCTP_EVENT_READ` and so on.
#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_get_events(socket: *mut Handle) -> c_int {
    const READ: c_int = 1;
    const WRITE: c_int = 2;
    const ERROR: c_int = 4;
    let attempt = || {
        // SAFETY: the caller vouches for the socket.
        let handle = unsafe { Handle::named(socket) }?;
        let mut poll =
            libc::pollfd { fd: handle.fd, events: libc::POLLIN | libc::POLLOUT, revents: 0 };
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: there is one entry.
        if unsafe { libc::ppoll(&raw mut poll, 1, &raw const at_once, std::ptr::null()) } < 0 {
            return Err(Fault::last());
        }
        let mut events = 0;
        for (bits, event) in [
            (libc::POLLIN | libc::POLLHUP, READ),
            (libc::POLLOUT | libc::POLLHUP, WRITE),
            (libc::POLLERR, ERROR),
        ] {
            if poll.revents & bits != 0 {
                events |= event;
            }
        }
        Ok(events)
    };
    returned(attempt)
}

const _: () = assert!(abi::MSG_NOTIFICATION != MSG_NOTIFICATION);
