//! Errors as C programs get them: -1, and the number in `errno`.

use libc::c_int;

/// An error number of Linux.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault(pub(crate) c_int);

impl Fault {
    /// The number that the last call of the C library has left.
    pub(crate) fn last() -> Self {
        Self(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
    }
}

/// Result of a call.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// What a C function returns for it.
pub(crate) fn returned<T: From<i8>>(outcome: Outcome<T>) -> T {
    outcome.unwrap_or_else(|fault| {
        // SAFETY: the C library gives a valid pointer to the number of this thread.
        unsafe { *libc::__errno_location() = fault.0 };
        T::from(-1)
    })
}
