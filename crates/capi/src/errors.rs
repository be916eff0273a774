//! What has ended an association, or an attempt to connect. The service keeps it (`SO_ERROR`); a frame in the queue wakes who reads.

use libc::c_int;
use polypath_sockets::abi::{SOL_SOCKET, socket_option};
use polypath_sockets::control::{Operation, Reply};
use polypath_sockets::frame::{Head, Kind};
use polypath_sockets::layout::Fields;

use crate::client;
use crate::fault::{Fault, Outcome};
use crate::frames::look;
use crate::rests::{self, Discarded};
use crate::table::Sctp;

/// The error that has ended an association or an attempt to connect (`SO_ERROR`), if there is one; it is cleared. Fails if the service cannot be
/// asked.
pub(crate) fn take(socket: Sctp) -> Outcome<Option<Fault>> {
    taken(socket, client::ask)
}

/// The same without a word on standard error if the service cannot be asked.
pub(crate) fn take_silently(socket: Sctp) -> Outcome<Option<Fault>> {
    taken(socket, client::ask_silently)
}

/// A way to ask the service.
type Ask = fn(Operation, Sctp, (c_int, c_int), &[u8]) -> Outcome<Reply>;

fn taken(socket: Sctp, ask: Ask) -> Outcome<Option<Fault>> {
    let reply = ask(Operation::GetOption, socket, (SOL_SOCKET, socket_option::ERROR), &[])?;
    let error = Fields(&reply.bytes).i32(0).filter(|number| *number != 0).map(Fault);
    if error.is_some() {
        drop_faults(socket);
    }
    Ok(error)
}

/// The same, or this one if there is none, or it is not known.
pub(crate) fn take_or(socket: Sctp, fault: c_int) -> Fault {
    take(socket).ok().flatten().unwrap_or(Fault(fault))
}

/// Removes frames of errors from the queue, because the error is returned in another way.
pub(crate) fn drop_faults(socket: Sctp) {
    drop_frames(socket, Kind::Fault);
}

/// Removes frames of peers that wait to be accepted from the queue of a socket that listens no more, and cannot any more.
pub(crate) fn drop_waiting(socket: Sctp) {
    drop_frames(socket, Kind::Accepted);
}

fn drop_frames(socket: Sctp, kind: Kind) {
    let is_next = |(head, _): &(Head, usize)| socket.is_one_to_one() && head.kind == kind;
    let next = || look(socket.fd, libc::MSG_DONTWAIT).ok().flatten().filter(is_next);
    while let Some((head, _)) = next() {
        match rests::discard(socket, head.number) {
            Ok(Discarded::Other(stray)) => rests::keep(socket.id, stray),
            Ok(Discarded::Done | Discarded::Missing) => {}
            Err(_) => return,
        }
    }
}
