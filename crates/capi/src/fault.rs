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

/// What a C function returns that attempts this. As with system calls, `errno` stays what it was if the call succeeds, whatever failed on the
/// way.
pub(crate) fn returned<T: From<i8>>(attempt: impl FnOnce() -> Outcome<T>) -> T {
    let before = number();
    match attempt() {
        Ok(value) => {
            set_number(before);
            value
        }
        Err(fault) => failed(fault),
    }
}

/// Does something that leaves `errno` as it was.
pub(crate) fn quietly<T>(act: impl FnOnce() -> T) -> T {
    let before = number();
    let done = act();
    set_number(before);
    done
}

/// What a C function returns that fails.
pub(crate) fn failed<T: From<i8>>(fault: Fault) -> T {
    set_number(fault.0);
    T::from(-1)
}

fn number() -> c_int {
    // SAFETY: the C library gives a valid pointer to the number of this thread.
    unsafe { *libc::__errno_location() }
}

fn set_number(number: c_int) {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = number };
}
