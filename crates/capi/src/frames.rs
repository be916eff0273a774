//! Frames as they go through a descriptor.

use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{c_int, iovec, msghdr};
use polypath_sockets::annex;
use polypath_sockets::frame::{HEAD_BYTES, Head, MAX_PIECE_BYTES};

use crate::fault::{Fault, Outcome};
use crate::real;

/// Most parts of a message.
pub(crate) const MAX_PARTS: usize = 1000;

/// Sends a frame as it is.
pub(crate) fn send_frame(fd: c_int, head: &Head, parts: &[iovec], flags: c_int) -> Outcome<()> {
    send_with(fd, head, parts, (None, flags))
}

/// Sends a message that is too large for a frame: what does not fit goes into memory of which the frame has the descriptor.
pub(crate) fn send_large(fd: c_int, head: &Head, parts: &[iovec], flags: c_int) -> Outcome<()> {
    if parts.len() > MAX_PARTS {
        return Err(Fault(libc::EMSGSIZE));
    }
    let rest = behind(parts, MAX_PIECE_BYTES);
    let bytes: usize = rest.iter().map(|part| part.iov_len).sum();
    let annex = annex::create(bytes)
        .map_err(|error| Fault(error.raw_os_error().unwrap_or(libc::ENOMEM)))?;
    let mut done = 0;
    while done < bytes {
        let left = behind(&rest, done);
        // SAFETY: the kernel reads what the program vouches for, and no more.
        let put = unsafe { real::writev(annex.as_raw_fd(), left.as_ptr(), left.len() as c_int) };
        match usize::try_from(put).map_err(|_| Fault::last())? {
            0 => return Err(Fault(libc::ENOMEM)),
            more => done += more,
        }
    }
    let rest = u32::try_from(bytes).map_err(|_| Fault(libc::EMSGSIZE))?;
    let front = front(parts, MAX_PIECE_BYTES);
    send_with(fd, &Head { rest, ..*head }, &front, (Some(&annex), flags))
}

/// The first bytes of a message.
fn front(parts: &[iovec], bytes: usize) -> Vec<iovec> {
    let mut left = bytes;
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        let iov_len = part.iov_len.min(left);
        left -= iov_len;
        all.push(iovec { iov_len, ..*part });
    }
    all
}

/// What follows on the first bytes of a message.
pub(crate) fn behind(parts: &[iovec], bytes: usize) -> Vec<iovec> {
    let mut left = bytes;
    let mut all = Vec::with_capacity(parts.len());
    for part in parts {
        let skipped = part.iov_len.min(left);
        left -= skipped;
        let iov_base = part.iov_base.cast::<u8>().wrapping_add(skipped).cast();
        if part.iov_len > skipped {
            all.push(iovec { iov_base, iov_len: part.iov_len - skipped });
        }
    }
    all
}

/// Sends a frame, with a descriptor or none.
fn send_with(
    fd: c_int,
    head: &Head,
    parts: &[iovec],
    (annex, flags): (Option<&OwnedFd>, c_int),
) -> Outcome<()> {
    let mut encoded = head.encoded();
    let mut all = [const { iovec { iov_base: std::ptr::null_mut(), iov_len: 0 } }; 8];
    let more: Vec<iovec>;
    all[0] = iovec { iov_base: encoded.as_mut_ptr().cast(), iov_len: HEAD_BYTES };
    let all = match all.get_mut(1..=parts.len()) {
        Some(places) => {
            places.copy_from_slice(parts);
            &all[..=parts.len()]
        }
        None if parts.len() > MAX_PARTS => return Err(Fault(libc::EMSGSIZE)),
        None => {
            more = all[..1].iter().chain(parts).copied().collect();
            &more
        }
    };
    // SAFETY: the parts are ours or the program's, which vouches for them.
    let sent = unsafe { send_parts(fd, all, annex.map(AsRawFd::as_raw_fd), flags) };
    if sent < 0 { Err(Fault::last()) } else { Ok(()) }
}

/// Sends bytes, with a descriptor or none; what `sendmsg` gives.
///
/// # Safety
///
/// The parts must be readable, as `sendmsg` demands.
pub(crate) unsafe fn send_parts(
    fd: c_int,
    parts: &[iovec],
    passed: Option<c_int>,
    flags: c_int,
) -> isize {
    // SAFETY: all zero is a message without anything.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_ptr().cast_mut();
    message.msg_iovlen = parts.len();
    // Room for one descriptor, aligned as a header has to be.
    let mut control = [0_u64; 3];
    if let Some(passed) = passed {
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: there is room for a header and a number.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(size_of::<c_int>() as u32) as usize;
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<c_int>() as u32) as usize;
            libc::CMSG_DATA(header).cast::<c_int>().write_unaligned(passed);
        }
    }
    // SAFETY: the caller vouches for the parts, which the kernel only reads.
    unsafe { real::sendmsg(fd, &raw const message, flags) }
}

/// The head of the next frame, and the bytes behind it; `None` at the end.
pub(crate) fn look(fd: c_int, flags: c_int) -> Outcome<Option<(Head, usize)>> {
    let mut head = [0_u8; HEAD_BYTES];
    let flags = flags | libc::MSG_PEEK | libc::MSG_TRUNC;
    #[cfg(test)]
    crate::testing::before_look(fd);
    // SAFETY: the buffer has so many bytes.
    let mut size = unsafe { real::recv(fd, head.as_mut_ptr().cast(), HEAD_BYTES, flags) };
    if size < 0 && Fault::last() == Fault(libc::ECONNRESET) {
        // The service has closed its end without having read everything, which the system reports once, before what there is to read.
        // SAFETY: as above.
        size = unsafe { real::recv(fd, head.as_mut_ptr().cast(), HEAD_BYTES, flags) };
    }
    #[cfg(test)]
    let size = crate::fault::quietly(|| {
        crate::testing::after_look(fd);
        size
    });
    match usize::try_from(size).map_err(|_| Fault::last())? {
        0 => Ok(None),
        size => {
            let size = size.checked_sub(HEAD_BYTES).ok_or(Fault(libc::EPROTO))?;
            Ok(Some((Head::decode(&head).ok_or(Fault(libc::EPROTO))?, size)))
        }
    }
}

/// What was received.
pub(crate) struct Got {
    pub(crate) bytes: usize,
    /// The descriptor that has come with it. It is ours from now on.
    pub(crate) passed: Option<OwnedFd>,
}

/// Receives a frame without waiting, and the descriptor that comes with it.
///
/// # Safety
///
/// The parts must be writable.
pub(crate) unsafe fn receive_parts(fd: c_int, parts: &[iovec], flags: c_int) -> Outcome<Got> {
    // SAFETY: the caller vouches for the parts.
    unsafe { receive(fd, parts, flags | libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC) }
}

/// Receives bytes, and the descriptor that comes with them. If several come, the system closes the others.
///
/// # Safety
///
/// The parts must be writable.
pub(crate) unsafe fn receive(fd: c_int, parts: &[iovec], flags: c_int) -> Outcome<Got> {
    // Aligned as a header has to be, and with room for one descriptor, not for as many as fit behind that.
    let mut control = MaybeUninit::<[u64; 3]>::zeroed();
    // SAFETY: all zero is a message without anything.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_ptr().cast_mut();
    message.msg_iovlen = parts.len();
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: it only computes.
    message.msg_controllen = unsafe { libc::CMSG_LEN(size_of::<c_int>() as u32) } as usize;
    // SAFETY: the caller vouches for the parts.
    let mut got = unsafe { real::recvmsg(fd, &raw mut message, flags) };
    if got < 0 && Fault::last() == Fault(libc::ECONNRESET) {
        // As in `look`.
        // SAFETY: as above.
        got = unsafe { real::recvmsg(fd, &raw mut message, flags) };
    }
    let bytes = usize::try_from(got).map_err(|_| Fault::last())?;
    // SAFETY: the kernel has written the headers that the message names.
    let passed = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_there = !header.is_null()
            && ((*header).cmsg_level, (*header).cmsg_type) == (libc::SOL_SOCKET, libc::SCM_RIGHTS);
        // The descriptor is ours from now on.
        is_there
            .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<c_int>().read_unaligned()))
    };
    Ok(Got { bytes, passed })
}
