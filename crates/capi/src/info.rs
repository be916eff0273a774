//! What programs get beside the content of a message: addresses and ancillary data.

use std::mem::size_of;
use std::net::SocketAddr;

use libc::{c_int, c_void, msghdr};
use polypath_sockets::abi::{IPPROTO_SCTP, MSG_NOTIFICATION, ancillary};
use polypath_sockets::address;
use polypath_sockets::frame::{Head, Kind, wanted};
use polypath_sockets::layout::Building;

use crate::receiving::Received;
use crate::table::Sctp;

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
unsafe fn write_bytes(bytes: &[u8], to: *mut c_void, length: *mut libc::socklen_t) {
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
