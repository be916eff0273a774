//! The functions of the C library, or of whatever else would be called if this library were not there.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{
    FILE, c_int, c_uint, c_ulong, c_void, iovec, mmsghdr, msghdr, off_t, off64_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec,
};

/// The next function of this name after ours; looked up once.
fn next(name: &CStr, known: &AtomicPtr<c_void>) -> *mut c_void {
    let found = known.load(Ordering::Relaxed);
    if !found.is_null() {
        return found;
    }
    // SAFETY: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    known.store(found, Ordering::Relaxed);
    found
}

/// Functions with the same signature as in the C library, that call the next one of that name.
macro_rules! real {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the C library.")]
        pub(crate) unsafe fn $name($($argument: $type),*) -> $result {
            static KNOWN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            type Function = unsafe extern "C" fn($($type),*) -> $result;
            let found = next(NAME, &KNOWN);
            if found.is_null() {
                // A C library without it.
                // SAFETY: the C library gives a valid pointer to the number of this thread.
                unsafe { *libc::__errno_location() = libc::ENOSYS };
                return <$result>::from(-1_i8);
            }
            // SAFETY: the C library has a function of this name with this signature; the caller vouches for the arguments.
            unsafe { std::mem::transmute::<*mut c_void, Function>(found)($($argument),*) }
        }
    )*};
}

real! {
    socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    listen(fd: c_int, backlog: c_int) -> c_int;
    accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    accept4(fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    shutdown(fd: c_int, how: c_int) -> c_int;
    getsockname(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    getpeername(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, length: *mut socklen_t) -> c_int;
    setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: socklen_t) -> c_int;
    close(fd: c_int) -> c_int;
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int;
    fclose(stream: *mut FILE) -> c_int;
    dup(fd: c_int) -> c_int;
    dup2(fd: c_int, other: c_int) -> c_int;
    dup3(fd: c_int, other: c_int, flags: c_int) -> c_int;
    fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int;
    fcntl64(fd: c_int, command: c_int, argument: *mut c_void) -> c_int;
    ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int;
    read(fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t;
    readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    write(fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t;
    writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    recv(fd: c_int, buffer: *mut c_void, count: size_t, flags: c_int) -> ssize_t;
    recvfrom(fd: c_int, buffer: *mut c_void, count: size_t, flags: c_int, address: *mut sockaddr, length: *mut socklen_t) -> ssize_t;
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    send(fd: c_int, buffer: *const c_void, count: size_t, flags: c_int) -> ssize_t;
    sendto(fd: c_int, buffer: *const c_void, count: size_t, flags: c_int, address: *const sockaddr, length: socklen_t) -> ssize_t;
    recvmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, limit: *mut timespec) -> c_int;
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    sendfile(to: c_int, from: c_int, place: *mut off_t, count: size_t) -> ssize_t;
    sendfile64(to: c_int, from: c_int, place: *mut off64_t, count: size_t) -> ssize_t;
}
