//! Memory that a program names and that may not be there. The kernel copies it, so that a pointer that leads nowhere is an error of the call
//! (`EFAULT`), as it is where the kernel has the sockets, and no fault of the program.

use std::mem::size_of;

use libc::{c_ulong, c_void, iovec, msghdr};

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

/// A structure of C whose bytes may be any.
///
/// # Safety
///
/// Every pattern of bits must be a value.
pub(crate) unsafe trait Plain: Copy {}

// SAFETY: numbers and raw pointers.
unsafe impl Plain for msghdr {}
// SAFETY: as above.
unsafe impl Plain for iovec {}

/// Copies structures of the program.
pub(crate) fn copy_in_all<T: Plain>(from: *const T, count: usize) -> Outcome<Vec<T>> {
    let mut all: Vec<T> = Vec::with_capacity(count);
    let bytes = count.checked_mul(size_of::<T>()).ok_or(Fault(libc::EFAULT))?;
    let theirs = iovec { iov_base: from.cast_mut().cast(), iov_len: bytes };
    let ours = iovec { iov_base: all.as_mut_ptr().cast(), iov_len: bytes };
    // SAFETY: the kernel checks theirs, and there is room in ours.
    let copied = unsafe { libc::process_vm_readv(libc::getpid(), &ours, 1, &theirs, 1, 0) };
    if is_done(copied, bytes)? == Copied::Not {
        // SAFETY: the caller of the C function vouches for so many structures.
        unsafe { std::ptr::copy_nonoverlapping(from, all.as_mut_ptr(), count) };
    }
    // SAFETY: so many were written, of a type that any bytes are a value of.
    unsafe { all.set_len(count) };
    Ok(all)
}

/// Copies bytes to where the program wants them.
pub(crate) fn copy_out(bytes: &[u8], to: *mut c_void) -> Outcome<()> {
    copy_out_all(&[(bytes, to)])
}

/// Copies bytes to several places, of which each takes so many; in one call of the system.
pub(crate) fn copy_out_all(places: &[(&[u8], *mut c_void)]) -> Outcome<()> {
    let part = |base: *mut c_void, bytes: &[u8]| iovec { iov_base: base, iov_len: bytes.len() };
    let ours = places.iter().map(|(bytes, _)| part(bytes.as_ptr().cast_mut().cast(), bytes));
    let theirs = places.iter().map(|(bytes, to)| part(*to, bytes));
    let (ours, theirs): (Vec<_>, Vec<_>) = ours.zip(theirs).unzip();
    let (count, all) = (places.len() as c_ulong, ours.iter().map(|part| part.iov_len).sum());
    // Reads ours and not writes theirs, which is the same: valgrind knows what is read to have been written.
    // SAFETY: the kernel reads ours, and checks theirs.
    let copied = unsafe {
        libc::process_vm_readv(libc::getpid(), theirs.as_ptr(), count, ours.as_ptr(), count, 0)
    };
    if is_done(copied, all)? == Copied::Not {
        for (bytes, to) in places {
            // SAFETY: the caller of the C function vouches for room for so many bytes.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), bytes.len()) };
        }
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
