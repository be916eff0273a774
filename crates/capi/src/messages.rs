//! Sending and receiving: messages of the program to and from frames.

use std::collections::BTreeMap;
use std::mem::size_of;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use libc::{c_int, c_void, iovec, msghdr};
use polypath_sockets::abi::{IPPROTO_SCTP, MSG_NOTIFICATION, ancillary, flag};
use polypath_sockets::address;
use polypath_sockets::frame::{HEAD_BYTES, Head, Kind, MAX_PIECE_BYTES, wanted};
use polypath_sockets::layout::{Building, Fields};

use crate::connecting;
use crate::fault::{Fault, Outcome};
use crate::frames::{MAX_PARTS, send_frame};
use crate::real;
use crate::table::Sctp;

/// Flags of a call that mean the same to the descriptor.
const PASSED_FLAGS: c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

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

/// What did not fit into the program's buffers: the rest of a message.
struct Rest {
    head: Head,
    bytes: Vec<u8>,
}

/// Rests by descriptor, and how many there are, so that nobody has to look when there is none.
static RESTS: Mutex<BTreeMap<c_int, Rest>> = Mutex::new(BTreeMap::new());
static REST_COUNT: AtomicUsize = AtomicUsize::new(0);

fn rests() -> MutexGuard<'static, BTreeMap<c_int, Rest>> {
    RESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether something is readable that the descriptor does not show.
pub(crate) fn has_rest(fd: c_int) -> bool {
    REST_COUNT.load(Ordering::Relaxed) > 0 && rests().contains_key(&fd)
}

/// The descriptor is closed.
pub(crate) fn drop_rest(fd: c_int) {
    if REST_COUNT.load(Ordering::Relaxed) > 0 && rests().remove(&fd).is_some() {
        REST_COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sends the parts of a message with this head; gives their bytes.
pub(crate) fn send(socket: Sctp, head: &Head, parts: &[iovec], flags: c_int) -> Outcome<usize> {
    let bytes: usize = parts.iter().map(|part| part.iov_len).sum();
    if bytes == 0 && head.flags & (flag::EOF | flag::ABORT) == 0 {
        return Err(Fault(libc::EINVAL));
    }
    if socket.is_listening() && socket.is_one_to_one() {
        return Err(Fault(libc::EPIPE));
    }
    if !socket.is_one_to_one()
        && head.peer.is_none()
        && head.association == 0
        && head.flags & flag::SENDALL == 0
    {
        return Err(Fault(libc::EPIPE));
    }
    if socket.is_one_to_one() && !socket.is_connected() {
        connecting::ensure_connected(socket, head.peer)?;
    }
    send_frame(socket.fd, head, parts, flags & PASSED_FLAGS)?;
    Ok(bytes)
}

/// What a program's `struct msghdr` says of the message that is to be sent.
///
/// # Safety
///
/// The pointers in the message must be valid, as `sendmsg` demands.
pub(crate) unsafe fn head_of(message: &msghdr, flags: c_int) -> Outcome<Head> {
    let mut head = Head {
        wanted: wanted::DEFAULTS | wanted::DEFAULT_PR,
        // SAFETY: the caller vouches for the address.
        peer: unsafe { address_at(message.msg_name.cast(), message.msg_namelen) }?,
        ..Head::of(Kind::Data)
    };
    if flags & libc::MSG_FIN != 0 {
        head.flags |= flag::EOF;
    }
    // SAFETY: the caller vouches for the ancillary data; the macros stay within its length.
    unsafe {
        let mut item = libc::CMSG_FIRSTHDR(message);
        while !item.is_null() {
            let header = &*item;
            if header.cmsg_level == IPPROTO_SCTP {
                let length = header.cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                let data = std::slice::from_raw_parts(libc::CMSG_DATA(item), length);
                read_ancillary(&mut head, header.cmsg_type, Fields(data))?;
            }
            item = libc::CMSG_NXTHDR(message, item);
        }
    }
    Ok(head)
}

/// Takes an item of ancillary data into the head.
pub(crate) fn read_ancillary(head: &mut Head, kind: c_int, item: Fields<'_>) -> Outcome<()> {
    let wrong = Fault(libc::EINVAL);
    match kind {
        ancillary::SNDRCV => {
            head.wanted &= !(wanted::DEFAULTS | wanted::DEFAULT_PR);
            head.stream = item.u16(0).ok_or(wrong)?;
            let flags = item.u16(4).ok_or(wrong)?;
            head.ppid = item.u32(8).ok_or(wrong)?;
            head.context = item.u32(12).ok_or(wrong)?;
            head.value = item.u32(16).ok_or(wrong)?;
            head.association = item.i32(28).ok_or(wrong)?;
            head.flags |= flags & !flag::PR_MASK;
            head.pr_policy = match flags & flag::PR_MASK {
                0 if head.value > 0 => flag::PR_TTL,
                policy => policy,
            };
        }
        ancillary::SNDINFO => {
            head.wanted &= !wanted::DEFAULTS;
            head.stream = item.u16(0).ok_or(wrong)?;
            head.flags |= item.u16(2).ok_or(wrong)? & !flag::PR_MASK;
            head.ppid = item.u32(4).ok_or(wrong)?;
            head.context = item.u32(8).ok_or(wrong)?;
            head.association = item.i32(12).ok_or(wrong)?;
        }
        ancillary::PRINFO => {
            head.wanted &= !wanted::DEFAULT_PR;
            head.pr_policy = item.u16(0).ok_or(wrong)?;
            head.value = item.u32(4).ok_or(wrong)?;
            if head.pr_policy & !flag::PR_MASK != 0 {
                return Err(wrong);
            }
        }
        ancillary::DSTADDRV4 => {
            let ip = std::net::Ipv4Addr::from(item.bytes::<4>(0).ok_or(wrong)?);
            let port = head.peer.ok_or(wrong)?.port();
            head.peer.get_or_insert(SocketAddr::new(ip.into(), port));
        }
        ancillary::DSTADDRV6 => {
            let ip = std::net::Ipv6Addr::from(item.bytes::<16>(0).ok_or(wrong)?);
            let port = head.peer.ok_or(wrong)?.port();
            head.peer.get_or_insert(SocketAddr::new(ip.into(), port));
        }
        // A key for one message, and parameters for an association that does not yet exist.
        _ => return Err(Fault(libc::EOPNOTSUPP)),
    }
    Ok(())
}

/// The address that a program hands over; `None` if it hands over none.
///
/// # Safety
///
/// So many bytes must be readable there, unless the pointer is null.
pub(crate) unsafe fn address_at(
    address: *const libc::sockaddr,
    length: libc::socklen_t,
) -> Outcome<Option<SocketAddr>> {
    if address.is_null() || length == 0 {
        return Ok(None);
    }
    // SAFETY: the caller vouches for it.
    let bytes = unsafe { std::slice::from_raw_parts(address.cast::<u8>(), length as usize) };
    let (address, _) = address::read(bytes).ok_or(Fault(libc::EINVAL))?;
    Ok(Some(address))
}

/// Receives into the program's buffers.
///
/// # Safety
///
/// The buffers must be writable, as `recvmsg` demands.
pub(crate) unsafe fn receive(
    socket: Sctp,
    parts: &[iovec],
    flags: c_int,
) -> Outcome<Option<Received>> {
    if socket.is_listening() && socket.is_one_to_one() {
        return Err(Fault(libc::ENOTCONN));
    }
    // SAFETY: the caller vouches for the buffers.
    if let Some(received) = unsafe { from_rest(socket.fd, parts, flags) } {
        return Ok(Some(received));
    }
    let capacity: usize = parts.iter().map(|part| part.iov_len).sum();
    let mut head = [0_u8; HEAD_BYTES];
    // A frame that is longer than the program's buffers ends in here.
    let mut spill = Spill::take(if capacity < MAX_PIECE_BYTES { MAX_PIECE_BYTES } else { 0 });
    let mut all = Vec::with_capacity(parts.len() + 2);
    all.push(iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEAD_BYTES });
    all.extend_from_slice(parts.get(..MAX_PARTS.min(parts.len())).unwrap_or_default());
    all.push(iovec { iov_base: spill.0.as_mut_ptr().cast(), iov_len: spill.0.len() });
    // SAFETY: all zero is a message without anything.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = all.as_mut_ptr();
    message.msg_iovlen = all.len();
    let passed = flags & (PASSED_FLAGS | libc::MSG_PEEK);
    // SAFETY: the parts are ours or the program's.
    let got = unsafe { real::recvmsg(socket.fd, &raw mut message, passed) };
    let got = usize::try_from(got).map_err(|_| Fault::last())?;
    if got == 0 {
        // Only one association comes to an end; of a socket for many, the service is gone.
        return if socket.is_one_to_one() { Ok(None) } else { Err(Fault(libc::ENETDOWN)) };
    }
    let mut head = Head::decode(&head[..got.min(HEAD_BYTES)]).ok_or(Fault(libc::EPROTO))?;
    head.wanted = socket.wanted().unwrap_or(head.wanted);
    let payload = got.saturating_sub(HEAD_BYTES);
    match head.kind {
        Kind::Data | Kind::Notification => {}
        Kind::Fault => return Err(Fault(head.value as c_int)),
        _ => return Err(Fault(libc::ENOTCONN)),
    }
    let bytes = payload.min(capacity);
    if payload > capacity && flags & libc::MSG_PEEK == 0 {
        let rest = Rest { head, bytes: spill.0[..payload - capacity].to_vec() };
        if rests().insert(socket.fd, rest).is_none() {
            REST_COUNT.fetch_add(1, Ordering::Relaxed);
        }
    }
    let ends = head.ends && payload <= capacity;
    Ok(Some(finished(socket.fd, head, bytes, ends)))
}

/// The rest of a message that did not fit before.
///
/// # Safety
///
/// As of [`receive`].
unsafe fn from_rest(fd: c_int, parts: &[iovec], flags: c_int) -> Option<Received> {
    if REST_COUNT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    let mut rests = rests();
    let rest = rests.get_mut(&fd)?;
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
            rests.remove(&fd);
            REST_COUNT.fetch_sub(1, Ordering::Relaxed);
        }
    }
    drop(rests);
    Some(finished(fd, head, taken, ends))
}

fn finished(fd: c_int, head: Head, bytes: usize, ends: bool) -> Received {
    let mut flags = 0;
    if ends {
        flags |= libc::MSG_EOR;
    }
    if head.kind == Kind::Notification {
        flags |= MSG_NOTIFICATION;
    }
    let next = (head.wanted & wanted::NXTINFO != 0 && ends).then(|| peek(fd)).flatten();
    Received { head, bytes, flags, next }
}

/// The head of the next frame and the bytes behind it, if one is there.
pub(crate) fn peek(fd: c_int) -> Option<(Head, usize)> {
    if let Some(rest) = rests().get(&fd) {
        return Some((rest.head, rest.bytes.len()));
    }
    let mut head = [0_u8; HEAD_BYTES];
    let flags = libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: the buffer has so many bytes.
    let size = unsafe { real::recv(fd, head.as_mut_ptr().cast(), HEAD_BYTES, flags) };
    let size = usize::try_from(size).ok()?.checked_sub(HEAD_BYTES)?;
    Some((Head::decode(&head)?, size))
}

/// Ancillary data of a message, as the program has asked for it, in the form of `msg_control`.
pub(crate) fn ancillary_of(received: &Received) -> Vec<u8> {
    let head = &received.head;
    let mut all = Vec::new();
    if head.kind != Kind::Data {
        return all;
    }
    if head.wanted & wanted::SNDRCV != 0 {
        push_item(&mut all, ancillary::SNDRCV, &sndrcvinfo(head));
    }
    if head.wanted & wanted::RCVINFO != 0 {
        push_item(&mut all, ancillary::RCVINFO, &rcvinfo(head));
    }
    if let Some(next) = received.next.as_ref().map(nxtinfo) {
        push_item(&mut all, ancillary::NXTINFO, &next);
    }
    all
}

/// `struct sctp_sndrcvinfo`.
pub(crate) fn sndrcvinfo(head: &Head) -> Vec<u8> {
    let start = Building::new().u16(head.stream).u16(head.ssn).u16(head.flags).padded(8);
    let start = start.u32(head.ppid).u32(head.context).u32(0);
    start.u32(head.tsn).u32(head.cumulative_tsn).i32(head.association).0
}

/// `struct sctp_rcvinfo`.
pub(crate) fn rcvinfo(head: &Head) -> Vec<u8> {
    let start = Building::new().u16(head.stream).u16(head.ssn).u16(head.flags).padded(8);
    let start = start.u32(head.ppid).u32(head.tsn).u32(head.cumulative_tsn);
    start.u32(head.context).i32(head.association).0
}

/// `struct sctp_nxtinfo`.
pub(crate) fn nxtinfo((next, bytes): &(Head, usize)) -> Vec<u8> {
    let kind = match next.kind {
        Kind::Notification => MSG_NOTIFICATION as u16,
        _ => 0,
    };
    let start = Building::new().u16(next.stream).u16(next.flags | kind);
    start.u32(next.ppid).u32(*bytes as u32).i32(next.association).0
}

/// An item with its header, and zeros up to the next one.
fn push_item(all: &mut Vec<u8>, kind: c_int, data: &[u8]) {
    let header = size_of::<libc::cmsghdr>();
    let item = Building::new()
        .u64((header + data.len()) as u64)
        .i32(IPPROTO_SCTP)
        .i32(kind)
        .bytes(data)
        .padded(header + data.len().next_multiple_of(size_of::<usize>()));
    all.extend_from_slice(&item.0);
}

/// Writes what was received beside the buffers into the program's `struct msghdr`.
///
/// # Safety
///
/// The pointers in the message must be valid, as `recvmsg` demands.
pub(crate) unsafe fn fill(socket: Sctp, message: &mut msghdr, received: &Received) {
    message.msg_flags = received.flags;
    if !message.msg_name.is_null() {
        let length = &raw mut message.msg_namelen;
        // SAFETY: the caller vouches for name and length.
        unsafe { write_address(socket, received.head.peer, message.msg_name.cast(), length) };
    }
    let items = ancillary_of(received);
    let room = if message.msg_control.is_null() { 0 } else { message.msg_controllen };
    if items.len() > room {
        message.msg_flags |= libc::MSG_CTRUNC;
        message.msg_controllen = 0;
        return;
    }
    if !items.is_empty() {
        let to = message.msg_control.cast::<u8>();
        // SAFETY: there is room for so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(items.as_ptr(), to, items.len()) };
    }
    message.msg_controllen = items.len();
}

/// Writes an address where the program wants it, cut to the room that there is; 0 bytes if there is no address.
///
/// # Safety
///
/// Both pointers must be valid or null, and there must be room for so many bytes as the length says.
pub(crate) unsafe fn write_address(
    socket: Sctp,
    address: Option<SocketAddr>,
    to: *mut libc::sockaddr,
    length: *mut libc::socklen_t,
) {
    let bytes = address.map(|address| address::written(address, socket.is_ipv6()));
    // SAFETY: the caller vouches for both.
    unsafe { write_bytes(&bytes.unwrap_or_default(), to.cast(), length) };
}

/// Writes bytes where the program wants them, cut to the room that there is, and how many there are.
///
/// # Safety
///
/// As of [`write_address`].
pub(crate) unsafe fn write_bytes(bytes: &[u8], to: *mut c_void, length: *mut libc::socklen_t) {
    if length.is_null() {
        return;
    }
    // SAFETY: the caller vouches for both.
    unsafe {
        let room = (*length as usize).min(bytes.len());
        if !to.is_null() {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), room);
        }
        *length = bytes.len() as libc::socklen_t;
    }
}

/// A buffer for what does not fit, kept for the next call of the thread.
struct Spill(Vec<u8>);

thread_local! {
    static KEPT: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

impl Spill {
    fn take(bytes: usize) -> Self {
        let kept =
            KEPT.try_with(|kept| kept.try_borrow_mut().map(|mut kept| std::mem::take(&mut *kept)));
        let mut buffer = kept.ok().and_then(Result::ok).unwrap_or_default();
        buffer.resize(bytes, 0);
        Self(buffer)
    }
}

impl Drop for Spill {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        let _ = KEPT.try_with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut() {
                *kept = buffer;
            }
        });
    }
}
