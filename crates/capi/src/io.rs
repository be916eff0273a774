//! Reading and writing.

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use libc::{c_int, c_void, iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

use crate::fault::{Fault, Outcome, failed, quietly, returned};
use crate::info::{self, write_address};
use crate::memory;
use crate::messages::{self, Letter, address_at};
use crate::real;
use crate::receiving;
use crate::rests;
use crate::table::{self, Sctp};

/// The parts of a vector of a program.
fn parts(parts: *const iovec, count: usize) -> Outcome<Vec<iovec>> {
    match count {
        0 => Ok(Vec::new()),
        1..=1024 => memory::copy_in_all(parts, count),
        _ => Err(Fault(libc::EINVAL)),
    }
}

/// A message header of a program.
fn header(message: *const msghdr) -> Outcome<msghdr> {
    memory::copy_in_all(message, 1)?.pop().ok_or(Fault(libc::EFAULT))
}

fn part(buffer: *const c_void, count: size_t) -> iovec {
    iovec { iov_base: buffer.cast_mut(), iov_len: count }
}

/// Sends; a broken association gives `SIGPIPE` unless the program does not want that, as the system does it.
fn sent(socket: Sctp, letter: &Letter, parts: &[iovec], flags: c_int) -> ssize_t {
    let attempt = || {
        letter.ensure_fits(socket)?;
        messages::send(socket, letter, parts, flags).inspect_err(|fault| {
            if *fault == Fault(libc::EPIPE) && flags & libc::MSG_NOSIGNAL == 0 {
                // SAFETY: raising a signal is safe; the kernel has done it already if the descriptor was the reason.
                unsafe { libc::raise(libc::SIGPIPE) };
            }
        })
    };
    returned(|| attempt().map(|bytes| bytes as ssize_t))
}

/// # Safety
///
/// The buffers must be writable.
unsafe fn got(socket: Sctp, parts: &[iovec], flags: c_int) -> ssize_t {
    // SAFETY: the caller vouches for the buffers.
    let attempt = || unsafe { receiving::receive_if_connected(socket, parts, flags) };
    returned(|| attempt().map(|received| received.map_or(0, |received| received.bytes as ssize_t)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    match Sctp::of(fd) {
        Some(socket) => sent(socket, &Letter::plain(), &[part(buffer, count)], 0),
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::write(fd, buffer, count) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(fd: c_int, vector: *const iovec, count: c_int) -> ssize_t {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::writev(fd, vector, count) };
    };
    match parts(vector, usize::try_from(count).unwrap_or(usize::MAX)) {
        Ok(parts) => sent(socket, &Letter::plain(), &parts, 0),
        Err(fault) => failed(fault),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn send(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    flags: c_int,
) -> ssize_t {
    match Sctp::of(fd) {
        Some(socket) => sent(socket, &Letter::plain(), &[part(buffer, count)], flags),
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::send(fd, buffer, count, flags) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendto(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    flags: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> ssize_t {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::sendto(fd, buffer, count, flags, address, length) };
    };
    match address_at(address, length) {
        Ok(peer) => {
            let mut letter = Letter::plain();
            letter.head.peer = peer;
            sent(socket, &letter, &[part(buffer, count)], flags)
        }
        Err(fault) => failed(fault),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::sendmsg(fd, message, flags) };
    };
    let read = header(message).and_then(|message| {
        let letter = messages::letter_of(&message, flags)?;
        Ok((letter, parts(message.msg_iov, message.msg_iovlen)?))
    });
    match read {
        Ok((letter, parts)) => sent(socket, &letter, &parts, flags),
        Err(fault) => failed(fault),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {
    match Sctp::of(fd) {
        // SAFETY: the caller vouches for the buffer.
        Some(socket) => unsafe { got(socket, &[part(buffer, count)], 0) },
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::read(fd, buffer, count) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn readv(fd: c_int, vector: *const iovec, count: c_int) -> ssize_t {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::readv(fd, vector, count) };
    };
    match parts(vector, usize::try_from(count).unwrap_or(usize::MAX)) {
        // SAFETY: the caller vouches for the buffers.
        Ok(parts) => unsafe { got(socket, &parts, 0) },
        Err(fault) => failed(fault),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: c_int, buffer: *mut c_void, count: size_t, flags: c_int) -> ssize_t {
    match Sctp::of(fd) {
        // SAFETY: the caller vouches for the buffer.
        Some(socket) => unsafe { got(socket, &[part(buffer, count)], flags) },
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::recv(fd, buffer, count, flags) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvfrom(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::recvfrom(fd, buffer, count, flags, address, length) };
    };
    let attempt = || {
        let parts = [part(buffer, count)];
        // SAFETY: the caller vouches for buffer, address and length.
        let received = unsafe { receiving::receive_if_connected(socket, &parts, flags) }?;
        let peer = received.as_ref().and_then(|received| received.head.peer);
        write_address(socket, peer, address, length)?;
        Ok(received.map_or(0, |received| received.bytes as ssize_t))
    };
    returned(attempt)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        let result = unsafe { real::recvmsg(fd, message, flags) };
        if result >= 0 {
            // SAFETY: the kernel has filled the message.
            quietly(|| unsafe { learn_passed(message) });
        }
        return result;
    };
    let attempt = || {
        let asked = header(message)?;
        let parts = parts(asked.msg_iov, asked.msg_iovlen)?;
        // SAFETY: the caller vouches for the buffers.
        let received = unsafe { receiving::receive_if_connected(socket, &parts, flags) }?;
        info::fill(socket, (message, &asked), received.as_ref())?;
        Ok(received.map_or(0, |received| received.bytes as ssize_t))
    };
    returned(attempt)
}

/// Descriptors that another process has handed over may be sockets of ours.
///
/// # Safety
///
/// The message must be as the kernel has left it.
unsafe fn learn_passed(message: *mut msghdr) {
    // SAFETY: the macros stay within what the kernel has written.
    unsafe {
        if message.is_null() || (*message).msg_controllen == 0 {
            return;
        }
        let mut item = libc::CMSG_FIRSTHDR(message);
        while !item.is_null() {
            if ((*item).cmsg_level, (*item).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS) {
                let bytes = (*item).cmsg_len.saturating_sub(libc::CMSG_LEN(0) as usize);
                let first = libc::CMSG_DATA(item).cast::<c_int>();
                for place in 0..bytes / size_of::<c_int>() {
                    table::learn(first.add(place).read_unaligned());
                }
            }
            item = libc::CMSG_NXTHDR(message, item);
        }
    }
}

/// Several messages in one call, as far as they go without waiting after the first one.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: libc::c_uint,
    flags: c_int,
) -> c_int {
    let mut done = 0;
    while done < count {
        // SAFETY: the caller vouches for so many messages; where the descriptor is not ours, each of them goes to the system.
        let result = unsafe {
            let message = messages.add(done as usize);
            let result = sendmsg(fd, &raw const (*message).msg_hdr, flags);
            if result >= 0 {
                (*message).msg_len = result as libc::c_uint;
            }
            result
        };
        if result < 0 {
            return if done > 0 { done as c_int } else { -1 };
        }
        done += 1;
    }
    done as c_int
}

/// Several messages in one call: the first is waited for, and with `MSG_WAITFORONE` no other.
#[unsafe(no_mangle)]
unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut libc::mmsghdr,
    count: libc::c_uint,
    flags: c_int,
    limit: *mut libc::timespec,
) -> c_int {
    if Sctp::of(fd).is_none() {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::recvmmsg(fd, messages, count, flags, limit) };
    }
    // SAFETY: the caller vouches for it, unless it is null.
    let limit = unsafe { limit.as_ref() }.map(|limit| {
        let seconds = u64::try_from(limit.tv_sec).unwrap_or(0);
        Duration::new(seconds, u32::try_from(limit.tv_nsec).unwrap_or(0))
    });
    let (begun, mut done) = (Instant::now(), 0);
    let mut each = flags & !libc::MSG_WAITFORONE;
    while done < count {
        // SAFETY: the caller vouches for so many messages.
        let result = unsafe {
            let message = messages.add(done as usize);
            let result = recvmsg(fd, &raw mut (*message).msg_hdr, each);
            if result >= 0 {
                (*message).msg_len = result as libc::c_uint;
            }
            result
        };
        if result < 0 {
            return if done > 0 { done as c_int } else { -1 };
        }
        done += 1;
        // As in Linux, the limit counts between two messages.
        if result == 0 || limit.is_some_and(|limit| begun.elapsed() >= limit) {
            break;
        }
        if flags & libc::MSG_WAITFORONE != 0 {
            each |= libc::MSG_DONTWAIT;
        }
    }
    done as c_int
}

// Files are copied to sockets of ours by the program itself, as `EINVAL` tells it: the system would put bytes without a head into the descriptor.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile(
    to: c_int,
    from: c_int,
    place: *mut libc::off_t,
    count: size_t,
) -> ssize_t {
    match Sctp::of(to) {
        Some(_) => failed(Fault(libc::EINVAL)),
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::sendfile(to, from, place, count) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile64(
    to: c_int,
    from: c_int,
    place: *mut libc::off64_t,
    count: size_t,
) -> ssize_t {
    match Sctp::of(to) {
        Some(_) => failed(Fault(libc::EINVAL)),
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::sendfile64(to, from, place, count) },
    }
}

// Programs that are compiled with _FORTIFY_SOURCE call these where the size of the buffer is known.

#[unsafe(no_mangle)]
unsafe extern "C" fn __read_chk(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    room: size_t,
) -> ssize_t {
    stop_if_too_long(count, room);
    // SAFETY: the caller vouches for the buffer.
    unsafe { read(fd, buffer, count) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recv_chk(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    stop_if_too_long(count, room);
    // SAFETY: the caller vouches for the buffer.
    unsafe { recv(fd, buffer, count, flags) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __recvfrom_chk(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    room: size_t,
    flags: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> ssize_t {
    stop_if_too_long(count, room);
    // SAFETY: the caller vouches for all of them.
    unsafe { recvfrom(fd, buffer, count, flags, address, length) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
    timeout_ms: c_int,
    room: size_t,
) -> c_int {
    stop_if_too_long(
        usize::try_from(count).unwrap_or(usize::MAX),
        room / size_of::<libc::pollfd>(),
    );
    // SAFETY: the caller vouches for all of them.
    unsafe { poll(fds, count, timeout_ms) }
}

/// As the C library does it: a program that would write beyond its buffer ends.
fn stop_if_too_long(count: size_t, room: size_t) {
    if count > room {
        // SAFETY: it ends the process.
        unsafe { libc::abort() };
    }
}

/// Waits as the C library does, but what another thread has left of a message counts as readable.
#[unsafe(no_mangle)]
unsafe extern "C" fn poll(fds: *mut libc::pollfd, count: libc::nfds_t, timeout_ms: c_int) -> c_int {
    // SAFETY: the caller vouches for so many entries. Only the system looks at them where nobody else has to: it says of others what is wrong.
    let entries = match unsafe { parts_of(fds, count) }.filter(|_| rests::has_any()) {
        Some(entries) => entries,
        None => &mut [],
    };
    let has_rest = |fd| Sctp::of(fd).is_some_and(|socket| rests::has(socket.id));
    let waiting = |entry: &libc::pollfd| entry.events & libc::POLLIN != 0 && has_rest(entry.fd);
    let is_waiting = entries.iter().any(waiting);
    let mut limit = MaybeUninit::<libc::timespec>::zeroed();
    let timeout_ms = if is_waiting { 0 } else { timeout_ms };
    let limit = if timeout_ms < 0 {
        std::ptr::null()
    } else {
        let (seconds, rest) = (timeout_ms / 1000, timeout_ms % 1000);
        let tv_nsec = libc::c_long::from(rest) * 1_000_000;
        limit.write(libc::timespec { tv_sec: seconds.into(), tv_nsec });
        limit.as_ptr()
    };
    // SAFETY: the arguments are the caller's; `ppoll` without a mask is `poll`.
    let result = unsafe { libc::ppoll(fds, count, limit, std::ptr::null()) };
    if !is_waiting || result < 0 {
        return result;
    }
    let mut ready = 0;
    for entry in entries {
        if waiting(entry) {
            entry.revents |= libc::POLLIN;
        }
        ready += c_int::from(entry.revents != 0);
    }
    ready
}

/// # Safety
///
/// The pointer must be valid for so many entries, or null.
unsafe fn parts_of<'a>(
    fds: *mut libc::pollfd,
    count: libc::nfds_t,
) -> Option<&'a mut [libc::pollfd]> {
    let count = usize::try_from(count).ok()?;
    // SAFETY: the caller vouches for it.
    (!fds.is_null() && count > 0).then(|| unsafe { std::slice::from_raw_parts_mut(fds, count) })
}
