//! Making, binding and connecting sockets, their options and names.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use libc::{c_int, c_ulong, c_void, sockaddr, socklen_t};
use polypath_sockets::abi::{IPPROTO_SCTP, SOL_SOCKET, option, socket_option};
use polypath_sockets::address;
use polypath_sockets::control::Operation;
use polypath_sockets::frame::{HEAD_BYTES, Head, Kind, shut};
use polypath_sockets::init::InitMessage;

use crate::client;
use crate::connecting::{begin, ensure_connected, fill_up};
use crate::descriptors::close;
use crate::errors;
use crate::facts;
use crate::fault::{Fault, Outcome, failed, returned};
use crate::frames::{self, send_frame};
use crate::info::write_address;
use crate::memory;
use crate::messages::address_at;
use crate::peeling;
use crate::real;
use crate::receiving;
use crate::rests::{self, Discarded};
use crate::table::Sctp;

/// Flags that `socket` and `accept4` take with the type.
const TYPE_FLAGS: c_int = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;

/// Most bytes of an option.
const MAX_OPTION_BYTES: usize = 32 * 1024;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let style = kind & !TYPE_FLAGS;
    let is_sctp = matches!(domain, libc::AF_INET | libc::AF_INET6)
        && match protocol {
            IPPROTO_SCTP => matches!(style, libc::SOCK_STREAM | libc::SOCK_SEQPACKET),
            // Of these families, SCTP alone has sockets of this type.
            0 => style == libc::SOCK_SEQPACKET,
            _ => false,
        };
    if !is_sctp {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::socket(domain, kind, protocol) };
    }
    let attempt = || {
        let fd = client::open(domain, style, kind & TYPE_FLAGS)?;
        if let Some(socket) = Sctp::of(fd) {
            facts::look(socket);
        }
        Ok(fd)
    };
    returned(attempt)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn bind(
    fd: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> c_int {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::bind(fd, address, length) };
    };
    let attempt = || {
        let address = address_at(address, length)?.ok_or(Fault(libc::EINVAL))?;
        client::ask(Operation::Bind, socket, (0, 0), &client::packed(&[address]))
    };
    returned(|| attempt().map(|_| 0))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::listen(fd, backlog) };
    };
    let attempt = || {
        socket.ensure_known()?;
        let was_listening = facts::is_listening(socket);
        errors::drop_faults(socket);
        client::ask(Operation::Listen, socket, (backlog, 0), &[])?;
        if socket.is_one_to_one() && !was_listening {
            // A program that waits for what can be written hears nothing of a socket that listens.
            fill_up(fd);
        }
        Ok(0)
    };
    returned(attempt)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn accept(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    match Sctp::of(fd) {
        // SAFETY: the caller vouches for address and length.
        Some(socket) => returned(|| unsafe { take_accepted(socket, address, length, 0) }),
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::accept(fd, address, length) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    match Sctp::of(fd) {
        Some(_) if flags & !TYPE_FLAGS != 0 => failed(Fault(libc::EINVAL)),
        // SAFETY: the caller vouches for address and length.
        Some(socket) => returned(|| unsafe { take_accepted(socket, address, length, flags) }),
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::accept4(fd, address, length, flags) },
    }
}

/// The next socket that waits at one that listens.
///
/// # Safety
///
/// Address and length must be valid or null, as `accept` demands.
unsafe fn take_accepted(
    socket: Sctp,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> Outcome<c_int> {
    if !socket.is_one_to_one() {
        return Err(Fault(libc::EOPNOTSUPP));
    }
    if !facts::listens(socket)? {
        return Err(Fault(libc::EINVAL));
    }
    let (head, fd) = next_accepted(socket, flags)?;
    let fd = client::take(fd.into_raw_fd(), flags)?;
    if let Some(accepted) = Sctp::of(fd) {
        facts::look(accepted);
    }
    // Another association may wait now. If it cannot be sent, the socket is about to end.
    let _ = send_frame(fd, &Head::of(Kind::Taken), &[], libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
    write_address(socket, head.peer, address, length).inspect_err(|_| {
        // SAFETY: the descriptor is ours, and nobody else knows it.
        unsafe { close(fd) };
    })?;
    Ok(fd)
}

/// Takes the next peer that waits, with its socket. If the system has no descriptor for that, the peer waits on.
fn next_accepted(socket: Sctp, flags: c_int) -> Outcome<(Head, OwnedFd)> {
    let on_exec = if flags & libc::SOCK_CLOEXEC != 0 { libc::MSG_CMSG_CLOEXEC } else { 0 };
    loop {
        if let Some((head, fd)) = rests::accept(socket.id) {
            if on_exec == 0 {
                let none = std::ptr::null_mut();
                // SAFETY: this command takes a number.
                unsafe { real::fcntl(fd.as_raw_fd(), libc::F_SETFD, none) };
            }
            return Ok((head, fd));
        }
        let mut frame = [0; HEAD_BYTES];
        let part = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
        // SAFETY: so many bytes are there.
        let got = unsafe { frames::receive(socket.fd, &[part], on_exec | libc::MSG_PEEK) }?;
        let seen = Head::decode(&frame[..got.bytes]);
        // The end, or what comes to a socket that listens no more.
        let seen = seen.filter(|head| head.kind == Kind::Accepted).ok_or(Fault(libc::EINVAL))?;
        let fd = got.passed.ok_or(Fault(libc::EMFILE))?;
        match rests::discard(socket, seen.number)? {
            Discarded::Done => return Ok((seen, fd)),
            // It is that of another call.
            Discarded::Missing => {}
            Discarded::Other(stray) => rests::keep(socket.id, stray),
        }
    }
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn connect(
    fd: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> c_int {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::connect(fd, address, length) };
    };
    let attempt = || {
        let address = address_at(address, length)?.ok_or(Fault(libc::EINVAL))?;
        begin(socket, &[address], InitMessage::default())
    };
    returned(|| attempt().map(|_| 0))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    let Some(socket) = Sctp::of(fd) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::shutdown(fd, how) };
    };
    let attempt = || {
        socket.ensure_known()?;
        let directions = match how {
            libc::SHUT_RD => shut::READ,
            libc::SHUT_WR => shut::WRITE,
            libc::SHUT_RDWR => shut::READ | shut::WRITE,
            _ => return Err(Fault(libc::EINVAL)),
        };
        match (facts::is_listening(socket), socket.is_one_to_one()) {
            // As Linux, where that means nothing.
            (true, _) if directions == shut::WRITE => Ok(0),
            (true, true) => end_accepting(socket),
            (true, false) => Err(Fault(libc::EOPNOTSUPP)),
            (false, true) => end_directions(socket, directions),
            (false, false) => Err(Fault(libc::ENOTCONN)),
        }
    };
    returned(attempt)
}

/// Shuts down a one-to-one socket that listens: whoever waits in `accept` is woken, and no later call succeeds.
fn end_accepting(socket: Sctp) -> Outcome<c_int> {
    client::ask(Operation::Listen, socket, (0, 0), &[])?;
    // SAFETY: the arguments are numbers.
    unsafe { real::shutdown(socket.fd, libc::SHUT_RD) };
    Ok(0)
}

/// Shuts down a one-to-one socket that is connected, or was.
fn end_directions(socket: Sctp, directions: u32) -> Outcome<c_int> {
    ensure_connected(socket, &[], InitMessage::default()).map_err(|_| Fault(libc::ENOTCONN))?;
    let head = Head { value: directions, ..Head::of(Kind::Shutdown) };
    match send_frame(socket.fd, &head, &[], libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) {
        Err(Fault(libc::EAGAIN)) => end_behind(socket, &head)?,
        sent => sent?,
    }
    if directions & shut::WRITE != 0 {
        // The service may not have read of it yet.
        socket.note_write_shut();
    }
    if directions & shut::READ != 0 {
        // What still comes is read by nobody, which SCTP cannot tell its peer.
        socket.note_read_shut();
        // SAFETY: the arguments are numbers.
        unsafe { real::shutdown(socket.fd, libc::SHUT_RD) };
    }
    Ok(0)
}

/// The same where the descriptor is full of messages, which come first. As in Linux, that waits for none of them; unless the program may not ask, and then
/// it waits as if it sent a message.
fn end_behind(socket: Sctp, head: &Head) -> Outcome<()> {
    let directions = head.value.cast_signed();
    if client::ask(Operation::Shutdown, socket, (directions, 0), &[]).is_ok() {
        return Ok(());
    }
    send_frame(socket.fd, head, &[], libc::MSG_NOSIGNAL)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getsockname(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    match Sctp::of(fd) {
        // SAFETY: the caller vouches for address and length.
        Some(socket) => returned(|| unsafe { name(Operation::LocalName, socket, address, length) }),
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::getsockname(fd, address, length) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getpeername(
    fd: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    match Sctp::of(fd) {
        // SAFETY: the caller vouches for address and length.
        Some(socket) => returned(|| unsafe { name(Operation::PeerName, socket, address, length) }),
        // SAFETY: the arguments are the caller's.
        None => unsafe { real::getpeername(fd, address, length) },
    }
}

/// # Safety
///
/// Address and length must be valid, as `getsockname` demands.
unsafe fn name(
    operation: Operation,
    socket: Sctp,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> Outcome<c_int> {
    if address.is_null() || length.is_null() {
        return Err(Fault(libc::EFAULT));
    }
    let room = room_at(length)?;
    let reply = client::ask(operation, socket, (0, 0), &[])?;
    let got = reply.bytes.get(..room as usize).unwrap_or(&reply.bytes);
    memory::copy_out(got, address.cast())?;
    memory::copy_out(&(reply.bytes.len() as socklen_t).to_ne_bytes(), length.cast())?;
    Ok(0)
}

/// Options that are those of the descriptor itself.
fn is_of_descriptor(level: c_int, number: c_int) -> bool {
    level == SOL_SOCKET
        && matches!(
            number,
            libc::SO_RCVTIMEO | libc::SO_SNDTIMEO | libc::SO_RCVTIMEO_NEW | libc::SO_SNDTIMEO_NEW
        )
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    number: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let Some(socket) = Sctp::of(fd).filter(|_| !is_of_descriptor(level, number)) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::setsockopt(fd, level, number, value, length) };
    };
    let attempt = || {
        // SAFETY: the caller vouches for the value.
        let value = unsafe { option_bytes(value, length) }?;
        if level == IPPROTO_SCTP {
            match number {
                option::SOCKOPT_CONNECTX | option::SOCKOPT_CONNECTX_OLD => {
                    let peer = address::read_all(&value).ok_or(Fault(libc::EINVAL))?;
                    let id = begin(socket, &peer, InitMessage::default())?;
                    // As Linux, which gives the association of one-to-many sockets so.
                    return Ok(if socket.is_one_to_one() { 0 } else { id });
                }
                _ => {}
            }
        }
        client::ask(Operation::SetOption, socket, (level, number), &value).map(|_| 0)
    };
    returned(attempt)
}

/// The room that a program says there is.
fn room_at(length: *const socklen_t) -> Outcome<socklen_t> {
    let bytes = memory::copy_in(length.cast(), size_of::<socklen_t>())?;
    polypath_sockets::layout::Fields(&bytes).u32(0).ok_or(Fault(libc::EFAULT))
}

/// # Safety
///
/// As `setsockopt` demands.
unsafe fn option_bytes(value: *const c_void, length: socklen_t) -> Outcome<Vec<u8>> {
    let length = length as usize;
    if length > MAX_OPTION_BYTES {
        return Err(Fault(libc::EINVAL));
    } else if length == 0 {
        return Ok(Vec::new());
    } else if value.is_null() {
        return Err(Fault(libc::EFAULT));
    }
    memory::copy_in(value, length)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    number: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let Some(socket) = Sctp::of(fd).filter(|_| !is_of_descriptor(level, number)) else {
        // SAFETY: the arguments are the caller's.
        return unsafe { real::getsockopt(fd, level, number, value, length) };
    };
    // SAFETY: the caller vouches for value and length.
    returned(|| unsafe { get_option(socket, (level, number), value, length) })
}

/// # Safety
///
/// As `getsockopt` demands.
pub(crate) unsafe fn get_option(
    socket: Sctp,
    (level, number): (c_int, c_int),
    value: *mut c_void,
    length: *mut socklen_t,
) -> Outcome<c_int> {
    if value.is_null() || length.is_null() {
        return Err(Fault(libc::EFAULT));
    }
    let room = room_at(length)?;
    // SAFETY: it is not trusted.
    let given = unsafe { option_bytes(value, room.min(MAX_OPTION_BYTES as socklen_t)) }?;
    if level == IPPROTO_SCTP {
        match number {
            option::SOCKOPT_PEELOFF | option::SOCKOPT_PEELOFF_FLAGS => {
                return peel_off(socket, number, &given, value);
            }
            // SAFETY: the structure has a pointer to addresses that the caller vouches for.
            option::SOCKOPT_CONNECTX3 => return unsafe { connectx(socket, &given) },
            _ => {}
        }
    }
    let reply = client::ask(Operation::GetOption, socket, (level, number), &given)?;
    let is_list = matches!(number, option::GET_PEER_ADDRS | option::GET_LOCAL_ADDRS);
    if level == IPPROTO_SCTP && is_list && reply.bytes.len() > given.len() {
        return Err(Fault(libc::ENOMEM));
    }
    if (level, number) == (SOL_SOCKET, socket_option::ERROR) && reply.bytes != [0; 4] {
        errors::drop_faults(socket);
    }
    let got = reply.bytes.get(..room as usize).unwrap_or(&reply.bytes);
    memory::copy_out(got, value)?;
    memory::copy_out(&(got.len() as socklen_t).to_ne_bytes(), length.cast())?;
    Ok(0)
}

/// `sctp_peeloff_arg_t`: the association, and where its descriptor goes; with flags in the longer form.
fn peel_off(socket: Sctp, number: c_int, given: &[u8], value: *mut c_void) -> Outcome<c_int> {
    let fields = polypath_sockets::layout::Fields(given);
    let association = fields.i32(0).ok_or(Fault(libc::EINVAL))?;
    fields.i32(4).ok_or(Fault(libc::EINVAL))?;
    let flags = match number {
        option::SOCKOPT_PEELOFF_FLAGS => fields.i32(8).ok_or(Fault(libc::EINVAL))?,
        _ => 0,
    };
    if flags & !TYPE_FLAGS != 0 {
        return Err(Fault(libc::EINVAL));
    }
    let fd = peeling::peel_off(socket, association, flags)?;
    let place = value.cast::<c_int>().wrapping_add(1).cast();
    memory::copy_out(&fd.to_ne_bytes(), place).inspect_err(|_| {
        // SAFETY: the descriptor is ours, and nobody else knows it.
        unsafe { close(fd) };
    })?;
    Ok(fd)
}

/// `struct sctp_getaddrs_old`: association, size of the packed addresses, and a pointer to them.
///
/// # Safety
///
/// The pointer in the structure must be valid for the size in it.
unsafe fn connectx(socket: Sctp, given: &[u8]) -> Outcome<c_int> {
    let fields = polypath_sockets::layout::Fields(given);
    let size = fields.u32(4).ok_or(Fault(libc::EINVAL))?;
    let pointer = fields.u64(8).ok_or(Fault(libc::EINVAL))? as usize as *const c_void;
    // SAFETY: the caller vouches for the pointer.
    let packed = unsafe { option_bytes(pointer, size) }?;
    let peer = address::read_all(&packed).ok_or(Fault(libc::EINVAL))?;
    begin(socket, &peer, InitMessage::default()).map(|_| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    match Sctp::of(fd) {
        Some(socket) if request == libc::FIONREAD as c_ulong => {
            if socket.is_one_to_one() && facts::is_listening(socket) {
                return failed(Fault(libc::EINVAL));
            }
            let waiting = receiving::peek(socket).map_or(0, |(_, bytes)| bytes);
            let waiting = (waiting as c_int).to_ne_bytes();
            returned(|| memory::copy_out(&waiting, argument).map(|()| 0))
        }
        // SAFETY: the arguments are the caller's.
        _ => unsafe { real::ioctl(fd, request, argument) },
    }
}
