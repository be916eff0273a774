//! What errors of sending say about a path.

use std::io::{self, ErrorKind};

/// A fault of a path, as reported by the system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The system does not send from this local to this remote address: no route, an interface that is down, a removed
    /// address, or a firewall rule.
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

    /// The fault that `error` reports; `None` for transient errors, such as a lack of buffers, which are equivalent to a loss.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        if quinn_udp::is_msg_size_err(error) {
            return Some(Self::TooBig);
        }
        match error.kind() {
            ErrorKind::NetworkUnreachable
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::AddrNotAvailable
            // Linux reports this for a socket whose own address was removed.
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
