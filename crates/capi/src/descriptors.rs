//! Copying and closing descriptors, of which [`table`] has to hear: a number that is free is given to the next file.

use libc::{c_int, c_uint, c_void};

use crate::fork;
use crate::peers;
use crate::places;
use crate::real;
use crate::rests;
use crate::table::{self, Sctp};

/// Flag of `close_range`: the descriptors are closed on `exec` only.
const ON_EXEC: c_int = libc::CLOSE_RANGE_CLOEXEC as c_int;

/// A descriptor stands for its socket no more.
fn release(fd: c_int) {
    let Some(socket) = Sctp::of(fd).filter(|_| !fork::is_borrowed()) else { return };
    table::forget(fd);
    let is_known = places::has(socket.id) || peers::has(socket.id) || rests::has(socket.id);
    if is_known && !table::has(socket.id) {
        places::forget_all(socket.id);
        peers::forget(socket.id);
        rests::forget(socket.id);
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn close(fd: c_int) -> c_int {
    release(fd);
    // SAFETY: the argument is the caller's.
    unsafe { real::close(fd) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: the arguments are the caller's.
    let result = unsafe { real::close_range(first, last, flags) };
    if result == 0 && flags & ON_EXEC == 0 {
        table::sockets_between(first, last).for_each(release);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn closefrom(first: c_int) {
    let first = first.max(0);
    // SAFETY: the caller wants all of them closed.
    if unsafe { close_range(first.cast_unsigned(), c_uint::MAX, 0) } != 0 {
        // A kernel before 5.9.
        for fd in first..table::MAX_DESCRIPTORS as c_int {
            // SAFETY: as above.
            unsafe { close(fd) };
        }
    }
}

/// The C library closes the descriptor of a stream by itself.
#[unsafe(no_mangle)]
unsafe extern "C" fn fclose(stream: *mut libc::FILE) -> c_int {
    if !stream.is_null() {
        // SAFETY: the caller vouches for the stream.
        release(unsafe { libc::fileno(stream) });
    }
    // SAFETY: the argument is the caller's.
    unsafe { real::fclose(stream) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup(fd: c_int) -> c_int {
    // SAFETY: the argument is the caller's.
    let copy = unsafe { real::dup(fd) };
    copied(fd, copy)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(fd: c_int, other: c_int) -> c_int {
    // SAFETY: the arguments are the caller's.
    let copy = unsafe { real::dup2(fd, other) };
    copied(fd, copy)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(fd: c_int, other: c_int, flags: c_int) -> c_int {
    // SAFETY: the arguments are the caller's.
    let copy = unsafe { real::dup3(fd, other, flags) };
    copied(fd, copy)
}

/// What the copy was before is closed.
fn copied(fd: c_int, copy: c_int) -> c_int {
    if copy >= 0 && copy != fd {
        release(copy);
        if Sctp::of(fd).is_some() && !fork::is_borrowed() {
            table::copy(fd, copy);
        }
    }
    copy
}

// In C the third argument of these is open. On the machines that Linux runs on it arrives where a pointer would.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the arguments are the caller's.
    let result = unsafe { real::fcntl(fd, command, argument) };
    after_fcntl(fd, command, result)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the arguments are the caller's.
    let result = unsafe { real::fcntl64(fd, command, argument) };
    after_fcntl(fd, command, result)
}

fn after_fcntl(fd: c_int, command: c_int, result: c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => copied(fd, result),
        _ => result,
    }
}
