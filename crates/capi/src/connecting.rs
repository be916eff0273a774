//! Beginning associations.

use std::net::SocketAddr;

use libc::{c_int, c_void, iovec, socklen_t};
use polypath_sockets::control::Operation;
use polypath_sockets::frame::{Head, Kind};
use polypath_sockets::init::InitMessage;

use crate::client;
use crate::errors;
use crate::facts;
use crate::fault::{Fault, Outcome};
use crate::frames::send_frame;
use crate::real;
use crate::table::Sctp;

/// Begins an association; waits for it unless the descriptor is not to block. Gives its identifier.
pub(crate) fn begin(socket: Sctp, peer: &[SocketAddr], init: InitMessage) -> Outcome<c_int> {
    let waits = !is_nonblocking(socket.fd);
    socket.ensure_known()?;
    // What told of an attempt before.
    errors::drop_faults(socket);
    let reply = client::ask(Operation::Connect, socket, (0, waits.into()), &request(peer, init));
    let reply = reply.inspect_err(|_| errors::drop_faults(socket))?;
    errors::drop_waiting(socket);
    if waits {
        return Ok(reply.value);
    }
    if socket.is_one_to_one() {
        fill_up(socket.fd);
    }
    Err(Fault(libc::EINPROGRESS))
}

/// What the service is to know of the association.
fn request(peer: &[SocketAddr], init: InitMessage) -> Vec<u8> {
    [init.encoded(), client::packed(peer)].concat()
}

/// Begins an association of a one-to-many socket, unless there is one with the peer; does not wait. Gives whether it begins.
pub(crate) fn introduce(socket: Sctp, peer: &[SocketAddr], init: InitMessage) -> Outcome<bool> {
    match client::ask(Operation::Connect, socket, (0, 0), &request(peer, init)) {
        Ok(_) => Ok(true),
        Err(Fault(libc::EISCONN)) => Ok(false),
        Err(fault) => Err(fault),
    }
}

/// Waits until the associations are up that the socket has begun, or have failed, unless the descriptor is not to block.
pub(crate) fn wait(socket: Sctp) {
    if !is_nonblocking(socket.fd) {
        // Why one has failed, notifications say.
        let _ = client::ask(Operation::Settle, socket, (0, 0), &[]);
    }
}

/// Makes the descriptor not writable until the service has taken what is sent here: when the association is there, or when the socket does
/// not listen any more.
pub(crate) fn fill_up(fd: c_int) {
    let mut bytes: c_int = 0;
    let mut length = size_of::<c_int>() as socklen_t;
    // SAFETY: there is room for the number.
    let known = unsafe {
        let to = (&raw mut bytes).cast::<c_void>();
        real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, to, &raw mut length)
    };
    // The system calls a descriptor writable as long as three quarters of its queue are free.
    let count = if known == 0 { usize::try_from(bytes).unwrap_or(0) / 4 + 1 } else { 1 };
    let mut filler = vec![0_u8; count];
    let part = iovec { iov_base: filler.as_mut_ptr().cast(), iov_len: count };
    // If it cannot be sent, the program only hears of the association too soon, and waits in its next call.
    let _ = send_frame(fd, &Head::of(Kind::Filler), &[part], libc::MSG_DONTWAIT);
}

/// Whether calls on a descriptor do not wait.
pub(crate) fn is_nonblocking(fd: c_int) -> bool {
    // SAFETY: this command takes no pointer.
    unsafe { real::fcntl(fd, libc::F_GETFL, std::ptr::null_mut()) & libc::O_NONBLOCK != 0 }
}

/// Finds out whether a one-to-one socket is connected, or connects it to where the message is to go.
pub(crate) fn ensure_connected(
    socket: Sctp,
    peer: &[SocketAddr],
    init: InitMessage,
) -> Outcome<()> {
    if facts::is_connected(socket) {
        return Ok(());
    }
    match client::ask(Operation::PeerName, socket, (0, 0), &[]) {
        Err(Fault(libc::ENOTCONN)) => {}
        // Who may not ask finds out by sending.
        _ => return Ok(()),
    }
    if peer.is_empty() {
        return Err(Fault(libc::EPIPE));
    }
    match begin(socket, peer, init) {
        // The message waits for the association.
        Ok(_) | Err(Fault(libc::EINPROGRESS | libc::EALREADY | libc::EISCONN)) => Ok(()),
        Err(fault) => Err(fault),
    }
}
