//! The program's descriptor of a socket, on its way to the program.
//!
//! The service has it, too, for a moment after the program: one that has closed its own by then has not closed the socket, as far as the system
//! says.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Socket;

/// A descriptor for a program, and the new socket that it is of, if it is of one.
#[derive(Debug)]
pub(in crate::service) struct Theirs {
    fd: Option<OwnedFd>,
    socket: Option<Arc<Socket>>,
}

impl Theirs {
    /// That of a new socket.
    pub(in crate::service) fn of(socket: &Arc<Socket>, fd: OwnedFd) -> Self {
        socket.is_in_transit.store(true, Ordering::Relaxed);
        Self { fd: Some(fd), socket: Some(Arc::clone(socket)) }
    }
}

impl From<OwnedFd> for Theirs {
    fn from(fd: OwnedFd) -> Self {
        Self { fd: Some(fd), socket: None }
    }
}

impl Theirs {
    pub(in crate::service) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        self.fd.as_ref().map(AsFd::as_fd)
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        drop(self.fd.take());
        if let Some(socket) = &self.socket {
            socket.is_in_transit.store(false, Ordering::Release);
            // Whether its port is in use can be told now.
            socket.service.port_is_free.notify_waiters();
        }
    }
}
