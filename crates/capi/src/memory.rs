//! Memory that a program names and that may not be there. The kernel copies it, so that a pointer that leads nowhere is an error of the call
//! (`EFAULT`), as it is where the kernel has the sockets, and no fault of the program.

use libc::{c_void, iovec};

use crate::fault::{Fault, Outcome};

/// Copies bytes of the program.
pub(crate) fn copy_in(from: *const c_void, bytes: usize) -> Outcome<Vec<u8>> {
    let mut all = vec![0_u8; bytes];
    let theirs = iovec { iov_base: from.cast_mut(), iov_len: bytes };
    let ours = iovec { iov_base: all.as_mut_ptr().cast(), iov_len: bytes };
    // SAFETY: the kernel checks theirs, and ours is as large.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &ours, 1, &theirs, 1, 0) };
    if is_done(copied, bytes)? == Copied::Not {
        // SAFETY: the caller of the C function vouches for so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), all.as_mut_ptr(), bytes) };
    }
    Ok(all)
}

/// Copies bytes to where the program wants them.
pub(crate) fn copy_out(bytes: &[u8], to: *mut c_void) -> Outcome<()> {
    let ours = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let theirs = iovec { iov_base: to, iov_len: bytes.len() };
    // SAFETY: the kernel checks theirs, and reads ours.
    let copied = unsafe { libc::process_vm_writev(libc::getpid(), &ours, 1, &theirs, 1, 0) };
    if is_done(copied, bytes.len())? == Copied::Not {
        // SAFETY: the caller of the C function vouches for room for so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Copied {
    All,
    /// The system does not do it: a filter of system calls forbids it.
    Not,
}

fn is_done(copied: isize, bytes: usize) -> Outcome<Copied> {
    match usize::try_from(copied) {
        Ok(copied) if copied == bytes => Ok(Copied::All),
        // It ends in the middle.
        Ok(_) => Err(Fault(libc::EFAULT)),
        Err(_) => match Fault::last() {
            Fault(libc::EPERM | libc::ENOSYS) => Ok(Copied::Not),
            fault => Err(fault),
        },
    }
}
