//! The stack within this process, for sockets whose packets the program carries itself (`AF_CONN` of usrsctp). It begins with the first of
//! them. A child of `fork` has none: the threads are the parent's.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use libc::{c_int, c_void, size_t};
use polypath_sockets::service::{Carried, Packet};
use polypath_wire::write_checksum;

use crate::fault::{Fault, Outcome};

/// A function of the program that carries packets: address, packet, bytes, type of service, and whether it must not be fragmented.
pub(crate) type Output = unsafe extern "C" fn(*mut c_void, *mut c_void, size_t, u8, u8) -> c_int;

/// How long the thread that carries packets waits for one.
const PATIENCE: Duration = Duration::from_secs(3600);

/// How often, and how long in between, it is looked whether the stack has done what closing a socket means.
const SETTLING_TRIES: usize = 500;
const SETTLING_PAUSE: Duration = Duration::from_millis(1);

/// Where the checksum of a packet is.
const CHECKSUM: std::ops::Range<usize> = 8..12;

/// What the program has said of itself.
#[derive(Clone, Copy, Debug)]
struct Program {
    output: Option<Output>,
    /// Whether it is called by threads of this library, and not within its own calls.
    has_threads: bool,
    /// Whether it computes and verifies the checksums.
    does_checksums: bool,
}

static PROGRAM: Mutex<Program> =
    Mutex::new(Program { output: None, has_threads: true, does_checksums: false });

static STACK: OnceLock<Stack> = OnceLock::new();

struct Stack {
    carried: Carried,
    packets: Mutex<Receiver<Packet>>,
    /// Packets that the program has been called with.
    carried_packets: AtomicU64,
    /// Where its threads are.
    process: u32,
}

thread_local! {
    /// Whether this thread carries packets already, and the program calls back from there.
    static IS_CARRYING: Cell<bool> = const { Cell::new(false) };
}

fn program() -> MutexGuard<'static, Program> {
    PROGRAM.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program says what carries its packets.
pub(crate) fn begin(output: Option<Output>, has_threads: bool) {
    let mut program = program();
    (program.output, program.has_threads) = (output, has_threads);
}

/// The program has finished: nothing of it is called any more, but for calls that are under way.
pub(crate) fn end() {
    program().output = None;
}

/// The program computes the checksums of packets that it carries, and verifies those that it hands in.
pub(crate) fn leave_checksums() {
    program().does_checksums = true;
}

/// Whether threads of this library call the program.
pub(crate) fn has_threads() -> bool {
    program().has_threads
}

fn get() -> Outcome<&'static Stack> {
    let known = match STACK.get() {
        Some(known) => known,
        None => start()?,
    };
    if known.process == std::process::id() { Ok(known) } else { Err(Fault(libc::ENETDOWN)) }
}

fn start() -> Outcome<&'static Stack> {
    let started = without_signals(|| {
        let (carried, packets) = Carried::start().map_err(|_| Fault(libc::EAGAIN))?;
        let stack = Stack {
            carried,
            packets: Mutex::new(packets),
            carried_packets: AtomicU64::new(0),
            process: std::process::id(),
        };
        let mut is_new = false;
        let known = STACK.get_or_init(|| {
            is_new = true;
            stack
        });
        if is_new && has_threads() {
            let thread = std::thread::Builder::new().name("polypath-output".into());
            thread.spawn(|| known.carry_on()).map_err(|_| Fault(libc::EAGAIN))?;
        }
        Ok(known)
    });
    started.ok_or(Fault(libc::EAGAIN))?
}

/// Does something while this thread takes no signals; nor do those that it starts, which leave them to the program.
fn without_signals<T>(act: impl FnOnce() -> T) -> Option<T> {
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both sets have room; the first is written before it is read.
    let is_done = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let outcome = is_done.then(act);
    if is_done {
        // SAFETY: the call above has written the set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    }
    outcome
}

impl Stack {
    fn packets(&self) -> MutexGuard<'_, Receiver<Packet>> {
        self.packets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands packets to the program until there is no stack.
    fn carry_on(&self) {
        IS_CARRYING.set(true);
        loop {
            // A statement of its own: nothing is locked while the program is called.
            let packet = self.packets().recv_timeout(PATIENCE);
            match packet {
                Ok(packet) => self.carry(packet),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Hands the packets to the program that wait now.
    fn carry_waiting(&self) {
        loop {
            let packet = self.packets().try_recv();
            match packet {
                Ok(packet) => self.carry(packet),
                Err(_) => return,
            }
        }
    }

    fn carry(&self, packet: Packet) {
        carry(packet);
        self.carried_packets.fetch_add(1, Ordering::Release);
    }
}

/// Hands a packet to the program.
fn carry(packet: Packet) {
    let program = *program();
    let Some(output) = program.output else { return };
    let mut content = Vec::from(packet.content);
    if program.does_checksums
        && let Some(field) = content.get_mut(CHECKSUM)
    {
        field.fill(0);
    }
    let address = std::ptr::with_exposed_provenance_mut(packet.pointer as usize);
    // What the program could not send is lost, as in a network.
    // SAFETY: the program has named the function; the packet is there, and may be changed.
    unsafe { output(address, content.as_mut_ptr().cast(), content.len(), 0, 0) };
}

/// Starts the stack, if it has not begun.
pub(crate) fn ensure() -> Outcome<()> {
    get().map(drop)
}

/// A connection for questions about sockets. Starts nothing: whoever passes a descriptor chooses its name.
pub(crate) fn reach() -> Outcome<UnixStream> {
    let stack = known().ok_or(Fault(libc::ENETDOWN))?;
    let made = UnixStream::pair().and_then(|(ours, theirs)| {
        stack.carried.attend(theirs)?;
        Ok(ours)
    });
    made.map_err(|error| Fault(error.raw_os_error().unwrap_or(libc::ENETDOWN)))
}

/// The program has an address.
pub(crate) fn register(address: *mut c_void) {
    if let Ok(stack) = get() {
        // Without it, sockets cannot be bound, which the program hears.
        let _ = stack.carried.register(address.expose_provenance() as u64);
    }
}

/// The program withdraws an address.
pub(crate) fn deregister(address: *mut c_void) {
    if let Some(stack) = known() {
        stack.carried.deregister(address.expose_provenance() as u64);
    }
}

/// The program has received a packet.
pub(crate) fn input(address: *mut c_void, packet: &[u8]) {
    let Some(stack) = known() else { return };
    let address = address.expose_provenance() as u64;
    if program().does_checksums {
        let mut verified = packet.to_vec();
        write_checksum(&mut verified);
        return stack.carried.input(address, &verified);
    }
    stack.carried.input(address, packet);
}

/// Hands waiting packets to a program that has no threads of this library.
pub(crate) fn carry_waiting() {
    let Some(stack) = known() else { return };
    if !IS_CARRYING.replace(true) {
        stack.carry_waiting();
        IS_CARRYING.set(false);
    }
}

/// Waits until the stack has aborted the associations of a closed socket, and the program has been called with the packets that were there by
/// then: it may free what their address points to. Does not wait for long for a program that holds itself up.
pub(crate) fn settle(socket: u64) {
    let Some(stack) = known() else { return };
    wait_for(|| !stack.carried.has_socket(socket));
    if !has_threads() {
        carry_waiting();
    } else if !IS_CARRYING.get() {
        let given = stack.carried.given();
        wait_for(|| stack.carried_packets.load(Ordering::Acquire) >= given);
    }
}

fn wait_for(is_done: impl Fn() -> bool) {
    for _ in 0..SETTLING_TRIES {
        if is_done() {
            return;
        }
        std::thread::sleep(SETTLING_PAUSE);
    }
}

/// Whether no association is left.
pub(crate) fn is_idle() -> bool {
    known().is_none_or(|stack| stack.carried.is_idle())
}

/// The stack, if it has begun in this process.
fn known() -> Option<&'static Stack> {
    STACK.get().filter(|stack| stack.process == std::process::id())
}
