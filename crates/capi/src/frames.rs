//! Frames as they go through a descriptor.

use libc::{c_int, iovec, msghdr};
use polypath_sockets::frame::{HEAD_BYTES, Head};

use crate::fault::{Fault, Outcome};
use crate::real;

/// Most parts of a message.
pub(crate) const MAX_PARTS: usize = 1000;

/// Sends a frame as it is.
pub(crate) fn send_frame(fd: c_int, head: &Head, parts: &[iovec], flags: c_int) -> Outcome<()> {
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
    // SAFETY: all zero is a message without anything.
    let mut message: msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = all.as_ptr().cast_mut();
    message.msg_iovlen = all.len();
    // SAFETY: the parts are ours or the program's, which vouches for them; the kernel only reads them.
    let sent = unsafe { real::sendmsg(fd, &raw const message, flags) };
    if sent < 0 { Err(Fault::last()) } else { Ok(()) }
}
