//! Functions that do with sockets what those of the system do, by other names.

use std::net::SocketAddr;
use std::ptr;
use std::sync::Arc;

use libc::{c_int, c_uint, c_void, sockaddr, socklen_t};
use polypath_sockets::abi::{IPPROTO_SCTP, SOL_SOCKET, option, socket_option};
use polypath_sockets::address;
use polypath_sockets::control::Operation;
use polypath_sockets::layout::{Building, Fields};
use polypath_sockets::usrsctp::{CONN, answer, question};

use super::dispatcher;
use super::handle::{Callbacks, Handle, Receive, Send, Upcall};
use crate::calls;
use crate::client;
use crate::connecting;
use crate::descriptors;
use crate::facts;
use crate::fault::{Fault, Outcome, failed, returned};
use crate::memory;
use crate::peeling;
use crate::sctp;
use crate::stack;
use crate::table::Sctp;

/// Most bytes of an option.
const MAX_OPTION_BYTES: usize = 64 * 1024;

/// Associations that one identifier of a program stands for are those of Linux.
const FUTURE: c_int = 0;

/// A pointer, or null and the number of an error.
fn pointer(outcome: Outcome<*mut Handle>) -> *mut Handle {
    match outcome {
        Ok(given) => given,
        Err(fault) => {
            let _: c_int = failed(fault);
            ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_socket(
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    receive: Option<Receive>,
    send: Option<Send>,
    _threshold: u32,
    ulp_info: *mut c_void,
) -> *mut Handle {
    let attempt = || {
        if protocol != IPPROTO_SCTP {
            return Err(Fault(libc::EPROTONOSUPPORT));
        }
        let fd = match domain {
            CONN => client::open_carried(kind)?,
            // SAFETY: the arguments are numbers.
            _ => unsafe { calls::socket(domain, kind, protocol) },
        };
        if fd < 0 {
            return Err(Fault::last());
        }
        let handle = Handle::new(fd, Callbacks { receive, send }, ulp_info);
        match kind {
            libc::SOCK_SEQPACKET => begin(&handle),
            _ => Ok(handle.given()),
        }
    };
    pointer(attempt())
}

/// Gives a socket to the program, which is called for it from now on.
fn begin(handle: &Arc<Handle>) -> Outcome<*mut Handle> {
    if let Err(fault) = dispatcher::watch(handle) {
        // SAFETY: the descriptor is ours, and nobody else knows it.
        unsafe { descriptors::close(handle.fd) };
        return Err(fault);
    }
    Ok(handle.given())
}

/// Does something with the descriptor of a socket.
///
/// # Safety
///
/// The socket must be one.
unsafe fn with(socket: *mut Handle, act: impl FnOnce(&Arc<Handle>) -> c_int) -> c_int {
    // SAFETY: the caller vouches for the socket.
    match unsafe { Handle::named(socket) } {
        Ok(handle) => act(&handle),
        Err(fault) => failed(fault),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_bind(
    socket: *mut Handle,
    name: *mut sockaddr,
    length: socklen_t,
) -> c_int {
    // SAFETY: the caller vouches for all of them.
    unsafe { with(socket, |handle| calls::bind(handle.fd, name, length)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_bindx(
    socket: *mut Handle,
    list: *mut sockaddr,
    count: c_int,
    flags: c_int,
) -> c_int {
    // `SCTP_BINDX_ADD_ADDR` and `SCTP_BINDX_REM_ADDR`.
    let flags = match flags {
        0x8001 => 1,
        0x8002 => 2,
        other => other | 0x1000,
    };
    // SAFETY: the caller vouches for all of them.
    unsafe { with(socket, |handle| sctp::sctp_bindx(handle.fd, list, count, flags)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_listen(socket: *mut Handle, backlog: c_int) -> c_int {
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, |handle| listen(handle.fd, backlog)) }
}

/// As in usrsctp, and not as in Linux, a socket that does not listen can stop.
fn listen(fd: c_int, backlog: c_int) -> c_int {
    let rests = |socket| !facts::is_listening(socket) && !facts::is_connected(socket);
    if backlog == 0 && Sctp::of(fd).is_some_and(rests) {
        return 0;
    }
    // SAFETY: the arguments are numbers.
    unsafe { calls::listen(fd, backlog) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_accept(
    socket: *mut Handle,
    name: *mut sockaddr,
    length: *mut socklen_t,
) -> *mut Handle {
    let attempt = || {
        // SAFETY: the caller vouches for the socket, and for name and length.
        let (listener, fd) = unsafe {
            let listener = Handle::named(socket)?;
            let fd = calls::accept(listener.fd, name, length);
            (listener, fd)
        };
        taken(&listener, fd)
    };
    pointer(attempt())
}

/// A descriptor that comes from another socket, whose callbacks it has.
fn taken(from: &Handle, fd: c_int) -> Outcome<*mut Handle> {
    if fd < 0 {
        return Err(Fault::last());
    }
    begin(&Handle::new(fd, from.callbacks, from.ulp_info()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_peeloff(socket: *mut Handle, association: c_uint) -> *mut Handle {
    let attempt = || {
        // SAFETY: the caller vouches for the socket.
        let from = unsafe { Handle::named(socket) }?;
        let fd = peeling::peel_off(from.socket()?, association.cast_signed(), 0)?;
        taken(&from, fd)
    };
    pointer(attempt())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_connect(
    socket: *mut Handle,
    name: *mut sockaddr,
    length: socklen_t,
) -> c_int {
    let connect = |handle: &Arc<Handle>| {
        // SAFETY: the caller vouches for the name.
        let done = unsafe { calls::connect(handle.fd, name, length) };
        after_connecting(handle, done)
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, connect) }
}

/// Messages can come now, or soon.
fn after_connecting(handle: &Arc<Handle>, done: c_int) -> c_int {
    let is_under_way = done < 0 && Fault::last() == Fault(libc::EINPROGRESS);
    if done >= 0 || is_under_way {
        match dispatcher::watch(handle) {
            Err(fault) => return failed(fault),
            Ok(()) if is_under_way => return failed(Fault(libc::EINPROGRESS)),
            Ok(()) => {}
        }
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_connectx(
    socket: *mut Handle,
    list: *const sockaddr,
    count: c_int,
    association: *mut c_uint,
) -> c_int {
    let connect = |handle: &Arc<Handle>| {
        let attempt = || {
            // SAFETY: the caller vouches for the addresses.
            let peers = unsafe { sctp::addresses(list.cast(), count) }?;
            let id = connecting::begin(handle.socket()?, &peers, Default::default())?;
            if !association.is_null() {
                memory::copy_out(&id.to_ne_bytes(), association.cast())?;
            }
            Ok(0)
        };
        after_connecting(handle, returned(attempt))
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, connect) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_shutdown(socket: *mut Handle, how: c_int) -> c_int {
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, |handle| calls::shutdown(handle.fd, how)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_close(socket: *mut Handle) {
    // SAFETY: the caller vouches for the socket, and does not name it again.
    if let Ok(handle) = unsafe { Handle::closed(socket) } {
        let aborting = handle.socket().ok().filter(|socket| socket.is_carried() && aborts(*socket));
        dispatcher::forget(&handle);
        // SAFETY: the descriptor is that of the socket.
        unsafe { descriptors::close(handle.fd) };
        if let Some(socket) = aborting {
            stack::settle(socket.id);
        }
    }
}

/// Whether closing the socket aborts its associations.
fn aborts(socket: Sctp) -> bool {
    let about = (SOL_SOCKET, socket_option::LINGER);
    let linger = client::ask(Operation::GetOption, socket, about, &[0; 8]);
    linger.is_ok_and(|reply| {
        let value = Fields(&reply.bytes);
        value.i32(0).is_some_and(|is_on| is_on != 0) && value.i32(4) == Some(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_set_non_blocking(socket: *mut Handle, on: c_int) -> c_int {
    let set = |handle: &Arc<Handle>| {
        // SAFETY: these commands take a number.
        unsafe {
            let now = libc::fcntl(handle.fd, libc::F_GETFL);
            let wanted = if on == 0 { now & !libc::O_NONBLOCK } else { now | libc::O_NONBLOCK };
            libc::fcntl(handle.fd, libc::F_SETFL, wanted)
        }
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_get_non_blocking(socket: *mut Handle) -> c_int {
    // SAFETY: the caller vouches for the socket; the command takes nothing.
    unsafe {
        with(socket, |handle| {
            c_int::from(libc::fcntl(handle.fd, libc::F_GETFL) & libc::O_NONBLOCK != 0)
        })
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_set_ulpinfo(socket: *mut Handle, info: *mut c_void) -> c_int {
    let set = |handle: &Arc<Handle>| {
        handle.set_ulp_info(info);
        0
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_get_ulpinfo(socket: *mut Handle, info: *mut *mut c_void) -> c_int {
    let get = |handle: &Arc<Handle>| {
        let address = handle.ulp_info().expose_provenance().to_ne_bytes();
        returned(|| memory::copy_out(&address, info.cast()).map(|()| 0))
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, get) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_set_upcall(
    socket: *mut Handle,
    upcall: Option<Upcall>,
    argument: *mut c_void,
) -> c_int {
    let set = |handle: &Arc<Handle>| {
        handle.set_upcall(upcall, argument);
        returned(|| dispatcher::watch(handle).map(|()| 0))
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, set) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_setsockopt(
    socket: *mut Handle,
    level: c_int,
    number: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    let set = |handle: &Arc<Handle>| {
        let attempt = || {
            if level != IPPROTO_SCTP {
                // SAFETY: the caller vouches for the value.
                return Ok(unsafe { calls::setsockopt(handle.fd, level, number, value, length) });
            }
            let length = Some(length as usize).filter(|bytes| *bytes <= MAX_OPTION_BYTES);
            let value = memory::copy_in(value, length.ok_or(Fault(libc::EINVAL))?)?;
            let (number, value) = question(number, &value).ok_or(Fault(libc::ENOPROTOOPT))?;
            let bytes = value.len() as socklen_t;
            // SAFETY: the value is here.
            Ok(unsafe { calls::setsockopt(handle.fd, level, number, value.as_ptr().cast(), bytes) })
        };
        returned_or(attempt())
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, set) }
}

/// What a function has given, whose error is in its place already.
fn returned_or(outcome: Outcome<c_int>) -> c_int {
    match outcome {
        Ok(value) => value,
        Err(fault) => failed(fault),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_getsockopt(
    socket: *mut Handle,
    level: c_int,
    number: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let get = |handle: &Arc<Handle>| {
        if level != IPPROTO_SCTP {
            // SAFETY: the caller vouches for value and length.
            return unsafe { calls::getsockopt(handle.fd, level, number, value, length) };
        }
        returned(|| option_of(handle, number, value, length).map(|()| 0))
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, get) }
}

fn option_of(
    handle: &Handle,
    number: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> Outcome<()> {
    let room = memory::copy_in(length.cast(), size_of::<socklen_t>())?;
    let room = Fields(&room).u32(0).unwrap_or(0) as usize;
    let given = memory::copy_in(value, room.min(MAX_OPTION_BYTES))?;
    let (linux, given) = question(number, &given).ok_or(Fault(libc::ENOPROTOOPT))?;
    let about = (IPPROTO_SCTP, linux);
    let reply = client::ask(Operation::GetOption, handle.socket()?, about, &given)?;
    let told = answer(linux, &reply.bytes);
    let kept = &told[..told.len().min(room)];
    memory::copy_out_all(&[
        (kept, value),
        (&(kept.len() as socklen_t).to_ne_bytes(), length.cast()),
    ])
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_opt_info(
    socket: *mut Handle,
    association: c_uint,
    number: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    /// Options whose structure begins with an address of 128 bytes, and the one that has it behind a policy.
    const BEHIND_ADDRESS: [c_int; 4] = [0x7, 0xA, 0x24, 0x101];
    const BEHIND_POLICY: c_int = 0x22;
    let get = |handle: &Arc<Handle>| {
        let place = match number {
            _ if BEHIND_ADDRESS.contains(&number) => 128,
            BEHIND_POLICY => 8,
            _ => 0,
        };
        let to = value.cast::<u8>().wrapping_add(place).cast();
        let attempt = || {
            memory::copy_out(&association.to_ne_bytes(), to)?;
            option_of(handle, number, value, length)
        };
        returned(|| attempt().map(|()| 0))
    };
    // SAFETY: the caller vouches for the socket.
    unsafe { with(socket, get) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_getpaddrs(
    socket: *mut Handle,
    association: c_uint,
    list: *mut *mut sockaddr,
) -> c_int {
    let id = association.cast_signed();
    // SAFETY: the caller vouches for all of them.
    unsafe { with(socket, |handle| sctp::sctp_getpaddrs(handle.fd, id, list)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_getladdrs(
    socket: *mut Handle,
    association: c_uint,
    list: *mut *mut sockaddr,
) -> c_int {
    let id = association.cast_signed();
    // SAFETY: the caller vouches for all of them.
    unsafe { with(socket, |handle| sctp::sctp_getladdrs(handle.fd, id, list)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_freepaddrs(list: *mut sockaddr) {
    // SAFETY: the caller has it from the function above.
    unsafe { sctp::sctp_freepaddrs(list) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_freeladdrs(list: *mut sockaddr) {
    // SAFETY: the caller has it from the function above.
    unsafe { sctp::sctp_freeladdrs(list) };
}

/// The association with the peer at an address; 0 if there is none.
#[unsafe(no_mangle)]
unsafe extern "C" fn usrsctp_getassocid(socket: *mut Handle, peer: *mut sockaddr) -> c_uint {
    let attempt = || -> Outcome<_> {
        // SAFETY: the caller vouches for the socket and the address.
        let (socket, peers) =
            unsafe { (Handle::named(socket)?.socket()?, sctp::addresses(peer.cast(), 1)?) };
        let peer = *peers.first().ok_or(Fault(libc::EINVAL))?;
        Ok(associations(socket)?.into_iter().find(|id| has_peer(socket, *id, peer)))
    };
    attempt().ok().flatten().unwrap_or(FUTURE).cast_unsigned()
}

fn associations(socket: Sctp) -> Outcome<Vec<c_int>> {
    let about = (IPPROTO_SCTP, option::GET_ASSOC_ID_LIST);
    let reply = client::ask(Operation::GetOption, socket, about, &[0; 4])?;
    let ids = reply.bytes.get(4..).unwrap_or_default().chunks_exact(4);
    Ok(ids.filter_map(|id| Fields(id).i32(0)).collect())
}

fn has_peer(socket: Sctp, id: c_int, peer: SocketAddr) -> bool {
    let about = (IPPROTO_SCTP, option::GET_PEER_ADDRS);
    let given = Building::new().i32(id).padded(8).0;
    let reply = client::ask(Operation::GetOption, socket, about, &given);
    let all = reply.ok().and_then(|reply| address::read_all(Fields(&reply.bytes).rest(8)));
    all.is_some_and(|all| all.contains(&peer))
}
