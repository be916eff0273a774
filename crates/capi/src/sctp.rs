//! The functions that `libsctp` has (RFC 6458 sections 8 and 9).

use std::net::SocketAddr;

use libc::{c_int, c_uint, c_void, iovec, size_t, sockaddr, socklen_t, ssize_t};
use polypath_sockets::abi::{IPPROTO_SCTP, ancillary, flag, option};
use polypath_sockets::address;
use polypath_sockets::control::Operation;
use polypath_sockets::frame::{Head, Kind, wanted};
use polypath_sockets::init::InitMessage;
use polypath_sockets::layout::Fields;

use crate::calls;
use crate::client;
use crate::connecting;
use crate::fault::{Fault, Outcome, returned};
use crate::info::{self, write_address};
use crate::messages::{self, Letter};
use crate::peeling;
use crate::real;
use crate::receiving;
use crate::table::Sctp;

/// `SCTP_BINDX_ADD_ADDR` and `SCTP_BINDX_REM_ADDR`.
const BINDX: [c_int; 2] = [1, 2];
/// Most addresses in a call.
const MAX_ADDRESSES: c_int = 1024;

/// The socket. `EOPNOTSUPP` for a socket of another protocol is what the function tests of lksctp-tools expect of Linux.
fn socket_of(fd: c_int) -> Outcome<Sctp> {
    Sctp::of(fd).ok_or_else(|| {
        let (mut kind, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
        let (value, length) = ((&raw mut kind).cast(), &raw mut length);
        // SAFETY: both are valid for the call.
        let is_socket =
            unsafe { real::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, value, length) } == 0;
        if is_socket {
            return Fault(libc::EOPNOTSUPP);
        }
        // SAFETY: the command takes no pointer.
        let is_open = unsafe { real::fcntl(fd, libc::F_GETFD, std::ptr::null_mut()) } >= 0;
        Fault(if is_open { libc::ENOTSOCK } else { libc::EBADF })
    })
}

/// Packed addresses.
///
/// # Safety
///
/// So many addresses must be there, each with the size of its family.
pub(crate) unsafe fn addresses(mut from: *const u8, count: c_int) -> Outcome<Vec<SocketAddr>> {
    if from.is_null() || !(1..=MAX_ADDRESSES).contains(&count) {
        return Err(Fault(libc::EINVAL));
    }
    let mut all = Vec::new();
    for _ in 0..count {
        // SAFETY: the caller vouches for the family of the next address, and then for its bytes.
        let (address, size) = unsafe {
            let family = from.cast::<u16>().read_unaligned();
            let size = match family {
                address::INET => address::INET_BYTES,
                address::INET6 => address::INET6_BYTES,
                address::CONN => address::CONN_BYTES,
                _ => return Err(Fault(libc::EINVAL)),
            };
            let bytes = std::slice::from_raw_parts(from, size);
            address::read(bytes).ok_or(Fault(libc::EINVAL))?
        };
        all.push(address);
        // SAFETY: the next address follows.
        from = unsafe { from.add(size) };
    }
    Ok(all)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sctp_bindx(
    fd: c_int,
    list: *mut sockaddr,
    count: c_int,
    flags: c_int,
) -> c_int {
    let attempt = || {
        let socket = socket_of(fd)?;
        let mode = BINDX.iter().position(|known| *known == flags).ok_or(Fault(libc::EINVAL))?;
        // SAFETY: the caller vouches for the addresses.
        let all = unsafe { addresses(list.cast(), count) }?;
        let mode = mode as c_int + 1;
        client::ask(Operation::Bind, socket, (mode, 0), &client::packed(&all))
    };
    returned(|| attempt().map(|_| 0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_connectx(
    fd: c_int,
    list: *mut sockaddr,
    count: c_int,
    association: *mut c_int,
) -> c_int {
    let attempt = || {
        let socket = socket_of(fd)?;
        // SAFETY: the caller vouches for the addresses.
        let all = unsafe { addresses(list.cast(), count) }?;
        let id = connecting::begin(socket, &all, InitMessage::default())?;
        if !association.is_null() {
            // SAFETY: the caller vouches for room for a number.
            unsafe { association.write_unaligned(id) };
        }
        Ok(0)
    };
    returned(attempt)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_peeloff(fd: c_int, association: c_int) -> c_int {
    returned(|| socket_of(fd).and_then(|socket| peeling::peel_off(socket, association, 0)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_peeloff_flags(fd: c_int, association: c_int, flags: c_uint) -> c_int {
    let flags = flags.cast_signed();
    let attempt = || match flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) {
        0 => peeling::peel_off(socket_of(fd)?, association, flags),
        _ => Err(Fault(libc::EINVAL)),
    };
    returned(attempt)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_opt_info(
    fd: c_int,
    association: c_int,
    number: c_int,
    value: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    let attempt = || {
        let socket = socket_of(fd)?;
        if value.is_null() || length.is_null() {
            return Err(Fault(libc::EFAULT));
        }
        // SAFETY: the caller vouches for value and length; structures that name an association begin with it.
        unsafe {
            if *length as usize >= size_of::<c_int>() && names_association(number) {
                value.cast::<c_int>().write_unaligned(association);
            }
            calls::get_option(socket, (IPPROTO_SCTP, number), value, length)
        }
    };
    returned(attempt)
}

/// Whether the structure of an option begins with an association.
fn names_association(number: c_int) -> bool {
    !matches!(
        number,
        option::INITMSG
            | option::NODELAY
            | option::AUTOCLOSE
            | option::ADAPTATION_LAYER
            | option::DISABLE_FRAGMENTS
            | option::DEFAULT_SEND_PARAM
            | option::DEFAULT_SNDINFO
            | option::EVENTS
            | option::I_WANT_MAPPED_V4_ADDR
            | option::FRAGMENT_INTERLEAVE
            | option::PARTIAL_DELIVERY_POINT
            | option::RECVRCVINFO
            | option::RECVNXTINFO
            | option::REUSE_PORT
            | option::GET_ASSOC_ID_LIST
    )
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sctp_getpaddrs(
    fd: c_int,
    association: c_int,
    list: *mut *mut sockaddr,
) -> c_int {
    // SAFETY: the caller vouches for room for a pointer.
    returned(|| unsafe { listed(fd, option::GET_PEER_ADDRS, association, list) })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sctp_getladdrs(
    fd: c_int,
    association: c_int,
    list: *mut *mut sockaddr,
) -> c_int {
    // SAFETY: the caller vouches for room for a pointer.
    returned(|| unsafe { listed(fd, option::GET_LOCAL_ADDRS, association, list) })
}

/// Addresses in memory that the program gives back with `sctp_freepaddrs`; gives their number.
///
/// # Safety
///
/// There must be room for a pointer at `list`.
unsafe fn listed(
    fd: c_int,
    number: c_int,
    association: c_int,
    list: *mut *mut sockaddr,
) -> Outcome<c_int> {
    let socket = socket_of(fd)?;
    if list.is_null() {
        return Err(Fault(libc::EFAULT));
    }
    let asked = association.to_ne_bytes();
    let reply = client::ask(Operation::GetOption, socket, (IPPROTO_SCTP, number), &asked)?;
    let count = Fields(&reply.bytes).i32(4).ok_or(Fault(libc::EPROTO))?;
    let packed = Fields(&reply.bytes).rest(8);
    // SAFETY: the memory has so many bytes, which the program gives back to `free`.
    unsafe {
        let memory = libc::malloc(packed.len().max(1)).cast::<u8>();
        if memory.is_null() {
            return Err(Fault(libc::ENOMEM));
        }
        std::ptr::copy_nonoverlapping(packed.as_ptr(), memory, packed.len());
        list.write_unaligned(memory.cast());
    }
    Ok(count)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sctp_freepaddrs(list: *mut sockaddr) -> c_int {
    // SAFETY: it is memory of `malloc`.
    unsafe { libc::free(list.cast()) };
    0
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sctp_freeladdrs(list: *mut sockaddr) -> c_int {
    // SAFETY: as above.
    unsafe { sctp_freepaddrs(list) }
}

#[unsafe(no_mangle)]
extern "C" fn sctp_getaddrlen(family: libc::sa_family_t) -> c_int {
    match family {
        address::INET => address::INET_BYTES as c_int,
        address::INET6 => address::INET6_BYTES as c_int,
        _ => 0,
    }
}

/// Sends a buffer; gives its size.
fn sent(fd: c_int, letter: &Letter, parts: &[iovec], flags: c_int) -> Outcome<c_int> {
    let socket = socket_of(fd)?;
    letter.ensure_fits(socket)?;
    messages::send(socket, letter, parts, flags).map(|bytes| bytes as c_int)
}

fn part(buffer: *const c_void, count: size_t) -> iovec {
    iovec { iov_base: buffer.cast_mut(), iov_len: count }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_sendmsg(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    to: *mut sockaddr,
    to_length: socklen_t,
    ppid: u32,
    flags: u32,
    stream: u16,
    lifetime_ms: u32,
    context: u32,
) -> c_int {
    let attempt = || {
        let peer = messages::address_at(to, to_length)?;
        let flags = Some(flags as u16).filter(messages::are_known).ok_or(Fault(libc::EINVAL))?;
        let pr_policy = match flags & flag::PR_MASK {
            0 if lifetime_ms > 0 => flag::PR_TTL,
            policy => policy,
        };
        let head = Head {
            stream,
            ppid,
            context,
            flags: flags & !flag::PR_MASK,
            pr_policy,
            value: lifetime_ms,
            peer,
            ..Head::of(Kind::Data)
        };
        sent(fd, &head.into(), &[part(buffer, count)], 0)
    };
    returned(attempt)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_send(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    info: *const c_void,
    flags: c_int,
) -> c_int {
    let attempt = || {
        // SAFETY: the caller vouches for the information.
        let letter = unsafe { letter_with(info) }?;
        sent(fd, &letter, &[part(buffer, count)], flags)
    };
    returned(attempt)
}

/// As `sctp_send`, to a peer that has these addresses: BSD has it, `libsctp` has not.
#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_sendx(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    to: *mut sockaddr,
    to_count: c_int,
    info: *const c_void,
    flags: c_int,
) -> c_int {
    let attempt = || {
        // SAFETY: the caller vouches for the information.
        let mut letter = unsafe { letter_with(info) }?;
        // SAFETY: the caller vouches for the addresses.
        unsafe { letter.name(to, to_count) }?;
        sent(fd, &letter, &[part(buffer, count)], flags)
    };
    returned(attempt)
}

/// What a `struct sctp_sndrcvinfo` says of a message, if there is one.
///
/// # Safety
///
/// The pointer must be valid or null.
unsafe fn letter_with(info: *const c_void) -> Outcome<Letter> {
    let mut letter = Letter::plain();
    if !info.is_null() {
        // SAFETY: the caller vouches for the structure.
        let info = unsafe { std::slice::from_raw_parts(info.cast::<u8>(), 32) };
        messages::read_ancillary(&mut letter, ancillary::SNDRCV, Fields(info))?;
    }
    Ok(letter)
}

impl Letter {
    /// Where it goes to: no address, or packed ones.
    ///
    /// # Safety
    ///
    /// As of [`addresses`].
    unsafe fn name(&mut self, to: *mut sockaddr, count: c_int) -> Outcome<()> {
        if count > 0 {
            // SAFETY: the caller vouches for the addresses.
            let mut all = unsafe { addresses(to.cast(), count) }?.into_iter();
            let first = all.next();
            self.head.peer = first;
            // In Linux only the first one has a port that counts.
            let port = first.map_or(0, |first| first.port());
            self.others = all.map(|other| SocketAddr::new(other.ip(), port)).collect();
        }
        Ok(())
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_sendv(
    fd: c_int,
    vector: *const iovec,
    count: c_int,
    to: *mut sockaddr,
    to_count: c_int,
    info: *mut c_void,
    info_length: socklen_t,
    info_kind: c_uint,
    flags: c_int,
) -> c_int {
    let attempt = || {
        let mut letter = Letter::plain();
        // SAFETY: the caller vouches for the addresses.
        unsafe { letter.name(to, to_count) }?;
        // SAFETY: the caller vouches for so many bytes.
        let info = match info.is_null() || info_length == 0 {
            true => &[][..],
            false => unsafe { std::slice::from_raw_parts(info.cast::<u8>(), info_length as usize) },
        };
        read_send_info(&mut letter, info_kind, Fields(info))?;
        let count = usize::try_from(count).map_err(|_| Fault(libc::EINVAL))?;
        if vector.is_null() && count > 0 || count > 1024 {
            return Err(Fault(libc::EINVAL));
        }
        // SAFETY: the caller vouches for the vector.
        let parts = match count {
            0 => &[][..],
            _ => unsafe { std::slice::from_raw_parts(vector, count) },
        };
        sent(fd, &letter, parts, flags)
    };
    returned(attempt)
}

/// Reads the `info` argument of `sctp_sendv`.
fn read_send_info(letter: &mut Letter, kind: c_uint, info: Fields<'_>) -> Outcome<()> {
    match kind {
        0 => Ok(()),
        1 => messages::read_ancillary(letter, ancillary::SNDINFO, info),
        2 => messages::read_ancillary(letter, ancillary::PRINFO, info),
        3 => messages::read_ancillary(letter, ancillary::AUTHINFO, info),
        // struct sctp_sendv_spa: which parts are valid, sndinfo, prinfo, authinfo.
        4 => {
            let valid = info.u32(0).ok_or(Fault(libc::EINVAL))?;
            let parts = [
                (1, ancillary::SNDINFO, 4),
                (2, ancillary::PRINFO, 20),
                (4, ancillary::AUTHINFO, 28),
            ];
            for (_, part, offset) in parts.into_iter().filter(|(bit, ..)| valid & bit != 0) {
                messages::read_ancillary(letter, part, Fields(info.rest(offset)))?;
            }
            Ok(())
        }
        _ => Err(Fault(libc::EINVAL)),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_recvmsg(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    from: *mut sockaddr,
    from_length: *mut socklen_t,
    info: *mut c_void,
    flags: *mut c_int,
) -> c_int {
    let attempt = || {
        let socket = socket_of(fd)?;
        // SAFETY: the caller vouches for the pointer.
        let asked = unsafe { flags.as_ref() }.copied().unwrap_or(0);
        // SAFETY: the caller vouches for the buffer.
        let received =
            unsafe { receiving::receive_if_connected(socket, &[part(buffer, count)], asked) }?;
        // SAFETY: the caller vouches for these pointers, which may be null.
        unsafe {
            if !flags.is_null() {
                *flags = received.as_ref().map_or(0, |received| received.flags);
            }
            let Some(received) = received else { return Ok(0) };
            write_address(socket, received.head.peer, from, from_length)?;
            if !info.is_null() && received.head.kind == Kind::Data {
                let bytes = info::sndrcvinfo(&received.head);
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), info.cast(), bytes.len());
            }
            Ok(received.bytes as c_int)
        }
    };
    returned(attempt)
}

/// What `sctp_recvv` says of a message in so many bytes, with its kind (`SCTP_RECVV_RN` and so on). As with libsctp, what is said of the next
/// message comes first: where there is room for one of the two only, it is that.
fn info_within(room: usize, head: &Head, next: Option<&(Head, usize)>) -> (c_uint, Vec<u8>) {
    let is_wanted = head.kind == Kind::Data && head.wanted & wanted::RCVINFO != 0;
    let own = is_wanted.then(|| info::rcvinfo(head));
    let next = next.filter(|_| head.kind == Kind::Data).map(info::nxtinfo);
    let all = [own.clone().unwrap_or_default(), next.clone().unwrap_or_default()].concat();
    match (own, next) {
        (Some(_), Some(_)) if all.len() <= room => (3, all),
        (_, Some(next)) if next.len() <= room => (2, next),
        (Some(own), None) if own.len() <= room => (1, own),
        _ => (0, Vec::new()),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sctp_recvv(
    fd: c_int,
    vector: *const iovec,
    count: c_int,
    from: *mut sockaddr,
    from_length: *mut socklen_t,
    info: *mut c_void,
    info_length: *mut socklen_t,
    info_kind: *mut c_uint,
    flags: *mut c_int,
) -> c_int {
    let attempt = || {
        let socket = socket_of(fd)?;
        let count = usize::try_from(count).ok().filter(|count| (1..=1024).contains(count));
        let count = count.filter(|_| !vector.is_null()).ok_or(Fault(libc::EINVAL))?;
        // SAFETY: the caller vouches for all of these pointers, of which those for information may be null.
        unsafe {
            let asked = flags.as_ref().copied().unwrap_or(0);
            let parts = std::slice::from_raw_parts(vector, count);
            let received = receiving::receive_if_connected(socket, parts, asked)?;
            if !flags.is_null() {
                *flags = received.as_ref().map_or(0, |received| received.flags);
            }
            let Some(received) = received else { return Ok(0) };
            write_address(socket, received.head.peer, from, from_length)?;
            let head = &received.head;
            let has_room = !info_length.is_null() && !info.is_null();
            let room = if has_room { *info_length as usize } else { 0 };
            let (kind, bytes) = info_within(room, head, received.next.as_ref());
            // Where there is nothing to say, the room stays what it was.
            if kind != 0 {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), info.cast(), bytes.len());
                *info_length = bytes.len() as socklen_t;
            }
            if !info_kind.is_null() {
                *info_kind = kind;
            }
            Ok(received.bytes as ssize_t as c_int)
        }
    };
    returned(attempt)
}
