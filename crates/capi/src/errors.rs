//! What has ended an association, or an attempt to connect. The service keeps it (`SO_ERROR`); a frame in the queue wakes who reads.

use polypath_sockets::abi::{SOL_SOCKET, socket_option};
use polypath_sockets::control::Operation;
use polypath_sockets::frame::{Head, Kind};
use polypath_sockets::layout::Fields;

use crate::client;
use crate::fault::Fault;
use crate::frames::{discard, look};
use crate::table::Sctp;

/// The error that has ended an association or an attempt to connect (`SO_ERROR`), which is gone then.
pub(crate) fn take(socket: Sctp) -> Option<Fault> {
    let option = (SOL_SOCKET, socket_option::ERROR);
    let error = client::ask(Operation::GetOption, socket, option, &[]).ok()?;
    drop_faults(socket);
    Fields(&error.bytes).i32(0).filter(|number| *number != 0).map(Fault)
}

/// Takes frames out of the queue that tell of an error which is told otherwise.
pub(crate) fn drop_faults(socket: Sctp) {
    let is_fault = |(head, _): (Head, usize)| head.kind == Kind::Fault;
    while socket.is_one_to_one()
        && look(socket.fd, libc::MSG_DONTWAIT).ok().flatten().is_some_and(is_fault)
    {
        discard(socket.fd);
    }
}
