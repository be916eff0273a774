//! What programs get beside the content of a message: addresses and ancillary data.

use std::mem::{offset_of, size_of};
use std::net::SocketAddr;

use libc::{c_void, msghdr, socklen_t};
use polypath_sockets::abi::{MSG_NOTIFICATION, ancillary};
use polypath_sockets::address;
use polypath_sockets::control_buffer::{item, within};
use polypath_sockets::frame::{Head, Kind, wanted};
use polypath_sockets::layout::{Building, Fields};

use crate::fault::Outcome;
use crate::memory;
use crate::receiving::Received;
use crate::table::Sctp;

/// Ancillary data of a message, as the program has asked for it, in the form and the order of Linux, an item each.
fn ancillary_of(received: &Received) -> Vec<Vec<u8>> {
    let head = &received.head;
    let mut all = Vec::new();
    if head.kind != Kind::Data {
        return all;
    }
    if let Some(next) = received.next.as_ref().map(nxtinfo) {
        all.push(item(ancillary::NXTINFO, &next));
    }
    if head.wanted & wanted::RCVINFO != 0 {
        all.push(item(ancillary::RCVINFO, &rcvinfo(head)));
    }
    if head.wanted & wanted::SNDRCV != 0 {
        all.push(item(ancillary::SNDRCV, &sndrcvinfo(head)));
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

/// Writes what was received beside the buffers where the program's `struct msghdr` says, and into it.
pub(crate) fn fill(
    socket: Sctp,
    (message, asked): (*mut msghdr, &msghdr),
    received: Option<&Received>,
) -> Outcome<()> {
    let mut flags = received.map_or(0, |received| received.flags);
    let peer = received.and_then(|received| received.head.peer);
    let name = peer.map(|peer| address::written(peer, socket.is_ipv6())).unwrap_or_default();
    let items = received.map(ancillary_of).unwrap_or_default();
    let room = if asked.msg_control.is_null() { 0 } else { asked.msg_controllen };
    let (items, are_all) = within(room, &items);
    if !are_all {
        flags |= libc::MSG_CTRUNC;
    }
    let [flags, length] = [flags.to_ne_bytes(), (name.len() as socklen_t).to_ne_bytes()];
    let control = items.len().to_ne_bytes();
    let field = |offset| message.cast::<u8>().wrapping_add(offset).cast::<c_void>();
    let mut places: Vec<(&[u8], *mut c_void)> = vec![
        (&flags, field(offset_of!(msghdr, msg_flags))),
        (&control, field(offset_of!(msghdr, msg_controllen))),
        (&items, asked.msg_control),
    ];
    if !asked.msg_name.is_null() && received.is_some() {
        let kept = name.len().min(asked.msg_namelen as usize);
        places.push((&name[..kept], asked.msg_name));
        places.push((&length, field(offset_of!(msghdr, msg_namelen))));
    }
    memory::copy_out_all(&places)
}

/// Writes an address where the program wants it, cut to the room that there is; 0 bytes if there is no address.
pub(crate) fn write_address(
    socket: Sctp,
    address: Option<SocketAddr>,
    to: *mut libc::sockaddr,
    length: *mut socklen_t,
) -> Outcome<()> {
    if length.is_null() {
        return Ok(());
    }
    let address = address.map(|address| address::written(address, socket.is_ipv6()));
    let bytes = address.unwrap_or_default();
    let known = (bytes.len() as socklen_t).to_ne_bytes();
    if to.is_null() {
        return memory::copy_out(&known, length.cast());
    }
    let room = Fields(&memory::copy_in(length.cast(), size_of::<socklen_t>())?).u32(0);
    let kept = bytes.len().min(room.unwrap_or(0) as usize);
    memory::copy_out_all(&[(&bytes[..kept], to.cast()), (&known, length.cast())])
}
