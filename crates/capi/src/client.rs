//! Questions to the service. Each has a connection of its own: a program may close any descriptor that it does not know,
//! and threads and forks do not get into each other's way.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use libc::{c_int, c_uint};
use polypath_sockets::address;
use polypath_sockets::control::{Operation, Reply, Request};
use polypath_sockets::layout::Fields;
use polypath_sockets::names::{
    SERVICE_VARIABLE, SETTINGS_VARIABLE, START_VARIABLE, default_service_path, is_trusted,
};

use crate::complaint::complain;
use crate::fault::{Fault, Outcome};
use crate::frames;
use crate::real;
use crate::stack;
use crate::table::{self, MAX_DESCRIPTORS, Sctp};

/// Where the service listens that `polypath with` has named, or that of the user.
fn service() -> PathBuf {
    named_service().unwrap_or_else(|| {
        // SAFETY: it only gives a number.
        default_service_path(unsafe { libc::getuid() })
    })
}

fn named_service() -> Option<PathBuf> {
    std::env::var_os(SERVICE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Starts the service, by the command that `polypath with` has left in the environment, or else that of the user.
fn start() -> io::Result<()> {
    let named = std::env::var_os(START_VARIABLE).filter(|words| !words.is_empty());
    let words = named.unwrap_or_else(|| "polypath\nwith\ntrue".into());
    let mut words = words.as_bytes().split(|byte| *byte == b'\n').map(OsStr::from_bytes);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).env_remove("LD_PRELOAD").stdin(Stdio::null());
    let close_all = || {
        // SAFETY: the descriptors are those of the child, which is about to be another program.
        unsafe { libc::syscall(libc::SYS_close_range, 3, c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
        Ok(())
    };
    // SAFETY: between fork and exec there is nothing but a system call.
    unsafe { command.pre_exec(close_all) };
    match command.stdout(Stdio::null()).status() {
        // Where the program does not want to hear of its children, there is no status.
        Err(error) if error.raw_os_error() != Some(libc::ECHILD) => Err(error),
        _ => Ok(()),
    }
}

/// Whether this process knows how the service is started.
fn can_start() -> bool {
    named_service().is_none() || std::env::var_os(START_VARIABLE).is_some()
}

/// A connection to the service, which is started for a new socket if it does not run: it ends when there has been no socket for a while.
fn connect(path: &Path, operation: Operation) -> Outcome<UnixStream> {
    let attempt = reach(path);
    let may_start = operation == Operation::Open && can_start();
    if attempt.as_ref().is_err_and(|error| !is_forbidden(error)) && may_start {
        if let Err(error) = start() {
            complain(format_args!(
                "no service for SCTP sockets listens at {}, and `polypath`, which starts it, cannot be run: {error}; install it in PATH",
                path.display()
            ));
            return Err(Fault(libc::EPROTONOSUPPORT));
        }
        return trusted(path, reach(path));
    }
    trusted(path, attempt)
}

/// The connection, unless another user has made the service: who could read and change everything.
fn trusted(path: &Path, attempt: io::Result<UnixStream>) -> Outcome<UnixStream> {
    let stream = attempt.map_err(|error| silent(path, &error))?;
    let theirs = user_of(&stream).map_err(|error| silent(path, &error))?;
    // SAFETY: it only gives a number.
    let own = unsafe { libc::geteuid() };
    if is_trusted(theirs, own, named_service().is_some()) {
        return Ok(stream);
    }
    complain(format_args!(
        "the service of the SCTP sockets at {} belongs to another user ({theirs}), who could read and change everything; set XDG_RUNTIME_DIR to a folder of this user",
        path.display()
    ));
    Err(Fault(libc::EACCES))
}

/// The user at the other end of a connection.
fn user_of(stream: &UnixStream) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the structure and its length live longer than the call.
    let done = unsafe {
        real::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if done == 0 { Ok(peer.uid) } else { Err(io::Error::last_os_error()) }
}

fn reach(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

/// Whether a sandbox has no sockets of `AF_UNIX`.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EPERM))
}

/// The service does not answer.
fn silent(path: &Path, error: &io::Error) -> Fault {
    if is_forbidden(error) {
        complain(format_args!(
            "SCTP sockets need sockets of AF_UNIX, which this program may not have ({error}): allow them in its sandbox"
        ));
        return Fault(libc::EPROTONOSUPPORT);
    }
    let why: &dyn Display = match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            &"it closed the connection, as services of other versions, of other users and with too many questions do"
        }
        _ => error,
    };
    complain(format_args!(
        "the service of the SCTP sockets does not answer at {}: {why}; start the program anew with `polypath with`",
        path.display()
    ));
    Fault(libc::ENETDOWN)
}

/// Asks about a socket.
pub(crate) fn ask(
    operation: Operation,
    socket: Sctp,
    values: (c_int, c_int),
    bytes: &[u8],
) -> Outcome<Reply> {
    let passing = Passing { ours: None, flags: libc::SOCK_CLOEXEC, place: Place::of(socket) };
    let (reply, _) = exchange(&request_about(operation, socket, values, bytes), passing)?;
    without_error(reply)
}

/// The same, without a word on standard error if there is no answer.
pub(crate) fn ask_silently(
    operation: Operation,
    socket: Sctp,
    values: (c_int, c_int),
    bytes: &[u8],
) -> Outcome<Reply> {
    let request = request_about(operation, socket, values, bytes);
    let (reply, _) = silent_question(&request, Place::of(socket))
        .map_err(|error| Fault(error.raw_os_error().unwrap_or(libc::ENETDOWN)))?;
    without_error(reply)
}

fn request_about(
    operation: Operation,
    socket: Sctp,
    (first, second): (c_int, c_int),
    bytes: &[u8],
) -> Request {
    Request { operation, socket: socket.id, first, second, bytes: bytes.to_vec() }
}

/// The answer, unless its value is a negative error number.
fn without_error(reply: Reply) -> Outcome<Reply> {
    if reply.value < 0 { Err(Fault(-reply.value)) } else { Ok(reply) }
}

/// A descriptor of the memory where the service of this socket posts what is so of its sockets; `None` if there is none. Says nothing on standard
/// error: without it, the service is asked.
///
/// # Errors
///
/// It cannot be had now, and later perhaps.
pub(crate) fn board(socket: Sctp) -> io::Result<Option<OwnedFd>> {
    let request = Request::new(Operation::Board, socket.id);
    match silent_question(&request, Place::of(socket)) {
        // The system had no descriptor for it.
        Ok((reply, None)) if reply.value == 0 => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        Ok((_, fd)) => Ok(fd),
        Err(error) if is_passing(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether the next attempt to ask may succeed.
fn is_passing(error: &io::Error) -> bool {
    use libc::{EAGAIN, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM};
    let is_short = |number| [EAGAIN, EINTR, EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(&number);
    // A service to which a process has too many connections closes the next one.
    is_gone(error) || error.raw_os_error().is_some_and(is_short)
}

fn silent_question(request: &Request, place: Place) -> io::Result<(Reply, Option<OwnedFd>)> {
    let passing = Passing { ours: None, flags: libc::SOCK_CLOEXEC, place };
    question(&mut silently_reached(place)?, request, passing)
}

/// A connection to where a stack is, if that is trusted. Says nothing on standard error.
fn silently_reached(place: Place) -> io::Result<UnixStream> {
    if place == Place::Process {
        return stack::reach().map_err(|fault| io::Error::from_raw_os_error(fault.0));
    }
    let stream = reach(&service())?;
    let theirs = user_of(&stream)?;
    // SAFETY: it only gives a number.
    let own = unsafe { libc::geteuid() };
    match is_trusted(theirs, own, named_service().is_some()) {
        true => Ok(stream),
        false => Err(io::Error::from_raw_os_error(libc::EACCES)),
    }
}

/// Waits until no attempt to connect is under way, as a call waits that receives: no longer than until a signal comes that ends such calls, and no longer
/// than a limit, if there is one. Fails with `EBUSY` if too many wait so.
pub(crate) fn settle(socket: Sctp, limit: Option<Duration>) -> Outcome<()> {
    if limit.is_some_and(|limit| limit.is_zero()) {
        return Err(Fault(libc::EAGAIN));
    }
    let stream = silently_reached(Place::of(socket)).map_err(|_| Fault(libc::ENETDOWN))?;
    // At least a microsecond: none is no limit.
    let limit = limit.map(|limit| limit.max(Duration::from_micros(1)));
    stream.set_read_timeout(limit).map_err(|_| Fault(libc::ENETDOWN))?;
    let request = Request::new(Operation::Settle, socket.id).encoded();
    write(&stream, &request, None)
        .map_err(|error| Fault(error.raw_os_error().unwrap_or(libc::ENETDOWN)))?;
    let mut answer = [0_u8; 8];
    // SAFETY: the buffer has so many bytes.
    let got =
        unsafe { real::recv(stream.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
    match usize::try_from(got).map_err(|_| Fault::last())? {
        0 => Err(Fault(libc::ENETDOWN)),
        // A length comes in front.
        _ => match Fields(&answer).i32(4) {
            Some(number @ ..0) => Err(Fault(-number)),
            _ => Ok(()),
        },
    }
}

/// Opens a socket of a family and a type. `flags` are `SOCK_CLOEXEC` and `SOCK_NONBLOCK`.
pub(crate) fn open(domain: c_int, style: c_int, flags: c_int) -> Outcome<c_int> {
    let request = Request {
        operation: Operation::Open,
        socket: 0,
        first: if domain == libc::AF_INET6 { 6 } else { 4 },
        second: (style == libc::SOCK_SEQPACKET).into(),
        bytes: std::env::var(SETTINGS_VARIABLE).unwrap_or_default().into_bytes(),
    };
    open_by(&request, Passing { ours: None, flags, place: Place::Service })
}

/// Opens a socket of a type whose packets the program carries.
pub(crate) fn open_carried(style: c_int) -> Outcome<c_int> {
    if !matches!(style, libc::SOCK_STREAM | libc::SOCK_SEQPACKET) {
        return Err(Fault(libc::ESOCKTNOSUPPORT));
    }
    stack::ensure()?;
    let request = Request {
        first: 6,
        second: (style == libc::SOCK_SEQPACKET).into(),
        ..Request::new(Operation::Open, 0)
    };
    open_by(&request, Passing { ours: None, flags: libc::SOCK_CLOEXEC, place: Place::Process })
}

/// Where the stack of a socket is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// In the service that programs share.
    Service,
    /// In this process.
    Process,
}

impl Place {
    pub(crate) fn of(socket: Sctp) -> Self {
        if socket.is_carried() { Self::Process } else { Self::Service }
    }
}

/// The descriptor that goes with a question, and flags of the one that comes with the answer.
#[derive(Clone, Copy)]
pub(crate) struct Passing {
    pub(crate) ours: Option<c_int>,
    pub(crate) flags: c_int,
    pub(crate) place: Place,
}

/// Asks for a socket; gives its descriptor.
pub(crate) fn open_by(request: &Request, passing: Passing) -> Outcome<c_int> {
    let flags = passing.flags;
    let (reply, fd) = exchange(request, passing)?;
    if reply.value < 0 {
        return Err(Fault(-reply.value));
    }
    take(lowest(fd.ok_or(Fault(libc::EMFILE))?.into_raw_fd(), flags), flags)
}

/// The same socket by the lowest number that is free, as POSIX promises for every new descriptor and programs rely on: the connection
/// to the service had it meanwhile.
fn lowest(fd: c_int, flags: c_int) -> c_int {
    let command = match flags & libc::SOCK_CLOEXEC {
        0 => libc::F_DUPFD,
        _ => libc::F_DUPFD_CLOEXEC,
    };
    // SAFETY: the command takes a number; the descriptor that is closed is ours, and nobody else knows it.
    unsafe {
        let other = real::fcntl(fd, command, std::ptr::null_mut());
        if other < 0 {
            return fd;
        }
        let (kept, spare) = if other < fd { (other, fd) } else { (fd, other) };
        real::close(spare);
        kept
    }
}

/// A descriptor that came from the service is a socket of this process.
pub(crate) fn take(fd: c_int, flags: c_int) -> Outcome<c_int> {
    if fd as usize >= MAX_DESCRIPTORS || !table::learn(fd) {
        // SAFETY: the descriptor is ours, and nobody else knows it.
        unsafe { real::close(fd) };
        return Err(Fault(libc::EMFILE));
    }
    if flags & libc::SOCK_NONBLOCK != 0 {
        // SAFETY: these commands take no pointer.
        unsafe {
            let now = real::fcntl(fd, libc::F_GETFL, std::ptr::null_mut());
            let wanted = (now | libc::O_NONBLOCK) as usize as *mut libc::c_void;
            real::fcntl(fd, libc::F_SETFL, wanted);
        }
    }
    Ok(fd)
}

fn exchange(request: &Request, passing: Passing) -> Outcome<(Reply, Option<OwnedFd>)> {
    if request.socket == table::FOREIGN_ID {
        return Err(Fault(libc::EPROTONOSUPPORT));
    }
    if passing.place == Place::Process {
        let answer = question(&mut stack::reach()?, request, passing);
        return answer.map_err(|_| Fault(libc::ENETDOWN));
    }
    let path = service();
    let attempt = || {
        let mut stream = connect(&path, request.operation)?;
        Ok(question(&mut stream, request, passing))
    };
    let mut answer = attempt()?;
    if request.operation == Operation::Open && answer.as_ref().is_err_and(is_gone) {
        // It may have ended just now, for want of sockets.
        answer = attempt()?;
    }
    let (reply, fd) = answer.map_err(|error| silent(&path, &error))?;
    if reply.value < 0 && !reply.bytes.is_empty() {
        complain(format_args!("{}", String::from_utf8_lossy(&reply.bytes)));
    }
    Ok((reply, fd))
}

/// Whether a service has closed its end.
fn is_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

/// A question and its answer.
fn question(
    stream: &mut UnixStream,
    request: &Request,
    passing: Passing,
) -> io::Result<(Reply, Option<OwnedFd>)> {
    write(stream, &request.encoded(), passing.ours)?;
    let (length, fd) = first_bytes(stream, passing.flags)?;
    Ok((Reply::read(stream, length)?, fd))
}

/// Writes all bytes, a descriptor with the first of them. Where nobody reads them any more, the program gets no signal.
fn write(stream: &UnixStream, mut bytes: &[u8], mut passed: Option<c_int>) -> io::Result<()> {
    while !bytes.is_empty() {
        let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
        // SAFETY: so many bytes are there.
        let sent =
            unsafe { frames::send_parts(stream.as_raw_fd(), &[part], passed, libc::MSG_NOSIGNAL) };
        match usize::try_from(sent) {
            Ok(sent) => {
                passed = None;
                bytes = bytes.get(sent..).unwrap_or_default();
            }
            Err(_) => match Fault::last() {
                Fault(libc::EINTR) => {}
                fault => return Err(io::Error::from_raw_os_error(fault.0)),
            },
        }
    }
    Ok(())
}

/// The length in front of an answer, with which a descriptor may come.
fn first_bytes(stream: &mut UnixStream, flags: c_int) -> io::Result<([u8; 4], Option<OwnedFd>)> {
    let mut length = [0; 4];
    let part = libc::iovec { iov_base: length.as_mut_ptr().cast(), iov_len: length.len() };
    let on_exec = if flags & libc::SOCK_CLOEXEC != 0 { libc::MSG_CMSG_CLOEXEC } else { 0 };
    let got = loop {
        // SAFETY: so many bytes are there.
        match unsafe { frames::receive(stream.as_raw_fd(), &[part], on_exec) } {
            Err(Fault(libc::EINTR)) => {}
            Err(fault) => return Err(io::Error::from_raw_os_error(fault.0)),
            Ok(got) => break got,
        }
    };
    if got.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    stream.read_exact(&mut length[got.bytes..])?;
    Ok((length, got.passed))
}

/// Addresses as the service takes them: packed, each with the size of its family.
pub(crate) fn packed(addresses: &[SocketAddr]) -> Vec<u8> {
    addresses.iter().flat_map(|one| address::written(*one, false)).collect()
}
