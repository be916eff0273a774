//! `sctp_peeloff`: an association gets a socket of its own.

use libc::c_int;
use polypath_sockets::control::{Operation, Request};

use crate::client::{self, Passing, Place};
use crate::facts;
use crate::fault::Outcome;
use crate::receiving;
use crate::table::Sctp;

/// Gives an association a socket of its own, to which the messages move that wait for it in the descriptor. `flags` are `SOCK_CLOEXEC` and
/// `SOCK_NONBLOCK`.
pub(crate) fn peel_off(socket: Sctp, association: c_int, flags: c_int) -> Outcome<c_int> {
    let request = Request { first: association, ..Request::new(Operation::PeelOff, socket.id) };
    let fd = client::open_by(
        &request,
        Passing { ours: Some(socket.fd), flags, place: Place::of(socket) },
    )?;
    if let Some(peeled) = Sctp::of(fd) {
        facts::look(peeled);
        receiving::move_begun(socket, peeled, association);
    }
    Ok(fd)
}
