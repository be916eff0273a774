//! `sctp_peeloff`: an association gets a socket of its own.

use libc::c_int;
use polypath_sockets::control::{Operation, Request};
use polypath_sockets::frame::wanted;

use crate::client::{self, Passing, Place};
use crate::fault::Outcome;
use crate::peers;
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
    peers::forget_association(socket.id, association);
    if let Some(peeled) = Sctp::of(fd) {
        peeled.note_connected();
        if socket.is_unfragmented() {
            peeled.note_unfragmented(wanted::UNFRAGMENTED);
        }
        receiving::move_begun(socket, peeled, association);
    }
    Ok(fd)
}
