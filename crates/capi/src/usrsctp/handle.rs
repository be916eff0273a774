//! Sockets as these programs know them: by a pointer.

use std::net::SocketAddr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use libc::{c_int, c_void, size_t};
use polypath_sockets::address;

use crate::fault::{Fault, Outcome};
use crate::table::Sctp;

/// `union sctp_sockstore`: room for an address of any family.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(super) struct Address {
    bytes: [u8; 32],
}

impl Address {
    pub(super) fn of(peer: Option<SocketAddr>, socket: Sctp) -> Self {
        let written = peer.map(|peer| address::written(peer, socket.is_ipv6())).unwrap_or_default();
        let mut bytes = [0; 32];
        let count = written.len().min(bytes.len());
        bytes[..count].copy_from_slice(&written[..count]);
        Self { bytes }
    }
}

/// `struct sctp_rcvinfo`.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
pub(super) struct ReceiveInfo {
    words: [u32; 7],
}

impl ReceiveInfo {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut words = [0; 7];
        for (word, four) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_ne_bytes([four[0], four[1], four[2], four[3]]);
        }
        Self { words }
    }
}

/// What takes messages. The content is the program's from then on, which frees it.
pub(super) type Receive = unsafe extern "C" fn(
    socket: *mut Handle,
    from: Address,
    content: *mut c_void,
    bytes: size_t,
    info: ReceiveInfo,
    flags: c_int,
    ulp_info: *mut c_void,
) -> c_int;

/// What hears that there is room to send.
pub(super) type Send =
    unsafe extern "C" fn(socket: *mut Handle, free_bytes: u32, ulp_info: *mut c_void) -> c_int;

/// What hears that a socket is readable or writable.
pub(super) type Upcall =
    unsafe extern "C" fn(socket: *mut Handle, argument: *mut c_void, flags: c_int);

/// What a program wants to be called for.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Callbacks {
    pub(super) receive: Option<Receive>,
    pub(super) send: Option<Send>,
}

/// An upcall with its argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) upcall: Upcall,
    argument: usize,
}

impl Wanted {
    pub(super) fn argument(self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.argument)
    }
}

/// A socket.
#[derive(Debug)]
pub(super) struct Handle {
    pub(super) fd: c_int,
    pub(super) callbacks: Callbacks,
    ulp_info: AtomicPtr<c_void>,
    upcall: Mutex<Option<Wanted>>,
    is_closed: AtomicBool,
    /// Held while something is taken from the descriptor on behalf of the program: its number is not another one's meanwhile.
    taking: Mutex<()>,
}

/// Sockets that there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Sockets that no program has closed.
pub(super) fn count() -> usize {
    COUNT.load(Ordering::Relaxed)
}

impl Handle {
    pub(super) fn new(fd: c_int, callbacks: Callbacks, ulp_info: *mut c_void) -> Arc<Self> {
        let ulp_info = AtomicPtr::new(ulp_info);
        let (upcall, is_closed) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Self { fd, callbacks, ulp_info, upcall, is_closed, taking: Mutex::default() })
    }

    /// As the program has it. It stays until [`closed`](Self::closed).
    pub(super) fn given(self: &Arc<Self>) -> *mut Self {
        COUNT.fetch_add(1, Ordering::Relaxed);
        Arc::into_raw(Arc::clone(self)).cast_mut()
    }

    pub(super) fn as_pointer(self: &Arc<Self>) -> *mut Self {
        Arc::as_ptr(self).cast_mut()
    }

    /// The socket that the program names.
    ///
    /// # Safety
    ///
    /// The pointer must be null, or come from [`given`](Self::given) and not have been closed.
    pub(super) unsafe fn named(pointer: *mut Self) -> Outcome<Arc<Self>> {
        if pointer.is_null() {
            return Err(Fault(libc::EBADF));
        }
        // SAFETY: the program's share of it is still there, and keeps it; this one is another.
        unsafe {
            Arc::increment_strong_count(pointer);
            Ok(Arc::from_raw(pointer))
        }
    }

    /// Takes the program's share of it, with which the pointer ends.
    ///
    /// # Safety
    ///
    /// As of [`named`](Self::named).
    pub(super) unsafe fn closed(pointer: *mut Self) -> Outcome<Arc<Self>> {
        if pointer.is_null() {
            return Err(Fault(libc::EBADF));
        }
        COUNT.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the program gives up the share that it was given.
        let handle = unsafe { Arc::from_raw(pointer) };
        let taking = handle.taking.lock().unwrap_or_else(PoisonError::into_inner);
        handle.is_closed.store(true, Ordering::Release);
        drop(taking);
        Ok(handle)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Does something with the descriptor, unless the socket is closed.
    pub(super) fn while_open<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        let _taking = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.is_closed()).then(act)
    }

    pub(super) fn socket(&self) -> Outcome<Sctp> {
        Sctp::of(self.fd).ok_or(Fault(libc::EBADF))
    }

    pub(super) fn ulp_info(&self) -> *mut c_void {
        self.ulp_info.load(Ordering::Relaxed)
    }

    pub(super) fn set_ulp_info(&self, to: *mut c_void) {
        self.ulp_info.store(to, Ordering::Relaxed);
    }

    pub(super) fn upcall(&self) -> Option<Wanted> {
        *self.upcall.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_upcall(&self, upcall: Option<Upcall>, argument: *mut c_void) {
        let wanted = upcall.map(|upcall| Wanted { upcall, argument: argument.expose_provenance() });
        *self.upcall.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
    }
}
