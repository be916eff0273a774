//! What errors of sending say about a path.

use std::io::{self, ErrorKind};

/// A path does not work as it was thought to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The system does not send from this local to this remote address: no route, an interface that is down, an address
    /// that is gone, a rule that forbids it.
    Refused,
    /// A packet was larger than the first link carries.
    TooBig,
}

impl Fault {
    /// Its name in logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TooBig => "too big",
        }
    }

    /// What `error` says; `None` for errors of the moment, such as a lack of buffers, which are as good as a loss.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        if quinn_udp::is_msg_size_err(error) {
            return Some(Self::TooBig);
        }
        match error.kind() {
            ErrorKind::NetworkUnreachable
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable
            // What Linux says of a socket whose own address is gone.
            | ErrorKind::InvalidInput
            | ErrorKind::PermissionDenied => Some(Self::Refused),
            _ => None,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn errors_of_paths_are_told_from_those_of_the_moment() {
        for (number, fault) in [
            (libc::ENETUNREACH, Some(Fault::Refused)),
            (libc::EHOSTUNREACH, Some(Fault::Refused)),
            (libc::ENETDOWN, Some(Fault::Refused)),
            (libc::EADDRNOTAVAIL, Some(Fault::Refused)),
            (libc::EINVAL, Some(Fault::Refused)),
            (libc::EPERM, Some(Fault::Refused)),
            (libc::EACCES, Some(Fault::Refused)),
            (libc::EMSGSIZE, Some(Fault::TooBig)),
            (libc::ENOBUFS, None),
            (libc::ENOMEM, None),
            (libc::ECONNREFUSED, None),
            (libc::EAGAIN, None),
        ] {
            assert_eq!(Fault::of(&io::Error::from_raw_os_error(number)), fault, "{number}");
        }
    }
}
