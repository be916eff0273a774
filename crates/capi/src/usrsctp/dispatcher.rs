//! The thread that calls the program when something has happened at a socket.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use libc::c_int;

use super::handle::{Address, Handle, ReceiveInfo};
use super::transfer;
use crate::fault::{Fault, Outcome};
use crate::stack;

/// Events that one call of the system returns at most.
const BATCH: usize = 64;

/// Messages that a socket hands over before others have their turn.
const IN_SUCCESSION: usize = 32;

struct Dispatcher {
    set: OwnedFd,
    watched: Mutex<BTreeMap<c_int, Arc<Handle>>>,
}

static DISPATCHER: OnceLock<Dispatcher> = OnceLock::new();

impl Dispatcher {
    /// The one of this process, which begins with its first socket.
    fn get() -> Outcome<&'static Self> {
        if let Some(known) = DISPATCHER.get() {
            return Ok(known);
        }
        // SAFETY: it takes a flag.
        let set = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if set < 0 {
            return Err(Fault::last());
        }
        // SAFETY: the descriptor is new, and nobody else's.
        let set = unsafe { OwnedFd::from_raw_fd(set) };
        let mut is_new = false;
        let dispatcher = DISPATCHER.get_or_init(|| {
            is_new = true;
            Self { set, watched: Mutex::default() }
        });
        if is_new && stack::has_threads() {
            let thread = std::thread::Builder::new().name("polypath".into());
            thread.spawn(|| dispatcher.run()).map_err(|_| Fault(libc::EAGAIN))?;
        }
        Ok(dispatcher)
    }

    fn watched(&self) -> MutexGuard<'_, BTreeMap<c_int, Arc<Handle>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            self.call(-1);
        }
    }

    /// Calls the program for the next events, for which it waits so many milliseconds; -1: for ever.
    fn call(&self, wait_ms: c_int) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        // SAFETY: there is room for so many events.
        let count = unsafe {
            libc::epoll_wait(self.set.as_raw_fd(), events.as_mut_ptr(), BATCH as c_int, wait_ms)
        };
        for event in events.iter().take(usize::try_from(count).unwrap_or(0)) {
            let fd = event.u64 as c_int;
            let handle = self.watched().get(&fd).cloned();
            if let Some(handle) = handle.filter(|handle| !handle.is_closed())
                && !tell(&handle, event.events)
            {
                self.leave(fd);
            }
        }
    }

    fn leave(&self, fd: c_int) {
        self.watched().remove(&fd);
        // SAFETY: the kernel needs no event to delete a descriptor; one that is closed is not there any more.
        unsafe {
            let none = std::ptr::null_mut();
            libc::epoll_ctl(self.set.as_raw_fd(), libc::EPOLL_CTL_DEL, fd, none);
        }
    }
}

/// Calls the program for what happens at the socket from now on.
pub(super) fn watch(handle: &Arc<Handle>) -> Outcome<()> {
    let dispatcher = Dispatcher::get()?;
    let mut events = 0;
    if handle.callbacks.receive.is_some() {
        events |= libc::EPOLLIN;
    }
    if handle.callbacks.send.is_some() {
        events |= libc::EPOLLOUT | libc::EPOLLET;
    }
    if handle.upcall().is_some() {
        events |= libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
    }
    if events == 0 {
        return Ok(());
    }
    dispatcher.watched().insert(handle.fd, Arc::clone(handle));
    let number = u64::try_from(handle.fd).unwrap_or(0);
    let mut event = libc::epoll_event { events: events.cast_unsigned(), u64: number };
    let change = |command| {
        // SAFETY: the event is there.
        unsafe { libc::epoll_ctl(dispatcher.set.as_raw_fd(), command, handle.fd, &raw mut event) }
    };
    let [add, modify] = [libc::EPOLL_CTL_ADD, libc::EPOLL_CTL_MOD];
    let mut change = change;
    if change(add) == 0 || Fault::last() == Fault(libc::EEXIST) && change(modify) == 0 {
        return Ok(());
    }
    Err(Fault::last())
}

/// Calls a program for what has happened that has no thread of this library for that. Does nothing within such a call.
pub(super) fn call_waiting() {
    thread_local! {
        static IS_CALLING: Cell<bool> = const { Cell::new(false) };
    }
    if let Some(dispatcher) = DISPATCHER.get()
        && !IS_CALLING.replace(true)
    {
        dispatcher.call(0);
        IS_CALLING.set(false);
    }
}

/// The program closes the socket.
pub(super) fn forget(handle: &Handle) {
    if let Some(dispatcher) = DISPATCHER.get() {
        dispatcher.leave(handle.fd);
    }
}

/// Calls the program; whether it may be called again.
fn tell(handle: &Arc<Handle>, events: u32) -> bool {
    if let Some(wanted) = handle.upcall() {
        // SAFETY: the program has named the function for this socket, which it has not closed.
        unsafe { (wanted.upcall)(handle.as_pointer(), wanted.argument(), 1) };
        return true;
    }
    if events & libc::EPOLLOUT.cast_unsigned() != 0
        && let Some(send) = handle.callbacks.send
    {
        // SAFETY: as above.
        unsafe { send(handle.as_pointer(), transfer::free_bytes(handle), handle.ulp_info()) };
    }
    match handle.callbacks.receive {
        Some(_) => hand_over(handle),
        None => true,
    }
}

/// Gives the program what has arrived; false at the end.
fn hand_over(handle: &Arc<Handle>) -> bool {
    let Some(receive) = handle.callbacks.receive else { return false };
    let Ok(socket) = handle.socket() else { return false };
    // Where the system says once that there is something, all of it has to be taken.
    let most = if handle.callbacks.send.is_some() { usize::MAX } else { IN_SUCCESSION };
    for _ in 0..most {
        let (pointer, info) = (handle.as_pointer(), handle.ulp_info());
        let Some(taken) = handle.while_open(|| transfer::take(socket)) else { return false };
        match taken {
            Ok(Some(taken)) => {
                let from = Address::of(taken.from, socket);
                // SAFETY: the program has named the function, and takes the content over.
                unsafe {
                    receive(
                        pointer,
                        from,
                        taken.content,
                        taken.bytes,
                        taken.info,
                        taken.flags,
                        info,
                    );
                }
            }
            Err(Fault(libc::EAGAIN | libc::EINTR)) => return true,
            Ok(None) | Err(_) => {
                let (from, none) = (Address::of(None, socket), ReceiveInfo::default());
                // SAFETY: as above; nothing is handed over.
                unsafe { receive(pointer, from, std::ptr::null_mut(), 0, none, 0, info) };
                return false;
            }
        }
    }
    true
}
