//! What tests share: sockets without a service, a service that answers as a test says, and a hand between two steps of a reader.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Mutex, OnceLock, PoisonError};

use libc::{c_int, iovec};
use polypath_sockets::board::{BOARD_BYTES, Place, Posted, SLOT_BYTES};
use polypath_sockets::control::{Operation, Reply, Request};
use polypath_sockets::frame::{Head, Kind};
use polypath_sockets::names::{SERVICE_VARIABLE, SocketName, Style};

use crate::frames;
use crate::table::{self, Sctp};

/// The service's end of a one-to-one socket with this number, the program's, and the socket.
pub(crate) fn pair(id: u64) -> (OwnedFd, OwnedFd, Sctp) {
    named(SocketName {
        id,
        style: Style::OneToOne,
        is_ipv6: false,
        is_carried: false,
        place: Place::default(),
    })
}

/// The same with any name.
pub(crate) fn named(name: SocketName) -> (OwnedFd, OwnedFd, Sctp) {
    let mut fds = [0; 2];
    // SAFETY: all zero is an address, whose fields are set then; the calls get memory that lives longer than they take.
    let [ours, theirs] = unsafe {
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        assert_eq!(libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()), 0);
        let mut address: libc::sockaddr_un = std::mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let encoded = name.encoded();
        for (place, byte) in address.sun_path[1..].iter_mut().zip(&encoded) {
            *place = byte.cast_signed();
        }
        let length = (size_of::<libc::sa_family_t>() + 1 + encoded.len()) as libc::socklen_t;
        let bound = libc::bind(fds[0], (&raw const address).cast(), length);
        assert_eq!(bound, 0, "{}", std::io::Error::last_os_error());
        fds.map(|fd| OwnedFd::from_raw_fd(fd))
    };
    assert!(table::learn(theirs.as_raw_fd()));
    let socket = Sctp::of(theirs.as_raw_fd()).unwrap();
    (ours, theirs, socket)
}

/// Puts a frame into the queue of a socket.
pub(crate) fn put(to: &OwnedFd, kind: Kind, number: u32, content: &[u8]) {
    pass(to, &Head { number, ..Head::of(kind) }, content, &[]);
}

/// The same with descriptors.
pub(crate) fn pass(to: &OwnedFd, head: &Head, content: &[u8], passed: &[&dyn AsFd]) {
    let bytes = [&head.encoded(), content].concat();
    let mut part = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let fds: Vec<c_int> = passed.iter().map(|fd| fd.as_fd().as_raw_fd()).collect();
    let mut control = [0_u64; 16];
    // SAFETY: the message points to memory that lives longer than the call, and the header has room in it.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if !fds.is_empty() {
            let bytes = size_of_val(&fds[..]) as u32;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(bytes) as usize;
            assert!(message.msg_controllen <= size_of_val(&control));
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(bytes) as usize;
            let to = libc::CMSG_DATA(header).cast::<c_int>();
            std::ptr::copy_nonoverlapping(fds.as_ptr(), to, fds.len());
        }
        let sent = crate::real::sendmsg(to.as_raw_fd(), &raw const message, 0);
        assert_eq!(sent, bytes.len() as isize, "{}", std::io::Error::last_os_error());
    }
}

/// Takes the next frame, as another process would.
pub(crate) fn steal(theirs: &OwnedFd) {
    // SAFETY: there is room for a byte.
    unsafe {
        let mut byte = 0_u8;
        let byte = (&raw mut byte).cast();
        crate::real::recv(theirs.as_raw_fd(), byte, 1, libc::MSG_DONTWAIT);
    }
}

type Act<'a> = Box<dyn FnMut(usize) + 'a>;

struct Watch {
    fd: c_int,
    looks: usize,
    before: Act<'static>,
    after: Act<'static>,
}

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Does something in which a thread looks at the queue of a descriptor; before and after each look other things happen, which get its number.
pub(crate) fn between_looks<'a, T>(
    fd: c_int,
    before: impl FnMut(usize) + 'a,
    after: impl FnMut(usize) + 'a,
    act: impl FnOnce() -> T,
) -> T {
    let (before, after): (Act<'a>, Act<'a>) = (Box::new(before), Box::new(after));
    // SAFETY: both are dropped below, before what they borrow.
    let (before, after) = unsafe {
        (
            std::mem::transmute::<Act<'a>, Act<'static>>(before),
            std::mem::transmute::<Act<'a>, Act<'static>>(after),
        )
    };
    WATCH.set(Some(Watch { fd, looks: 0, before, after }));
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(act));
    WATCH.set(None);
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// To be called where a queue is about to be looked at.
pub(crate) fn before_look(fd: c_int) {
    with_watch(fd, |watch| {
        watch.looks += 1;
        (watch.before)(watch.looks);
    });
}

/// To be called where a queue was looked at.
pub(crate) fn after_look(fd: c_int) {
    with_watch(fd, |watch| (watch.after)(watch.looks));
}

fn with_watch(fd: c_int, act: impl FnOnce(&mut Watch)) {
    // Out of its place, so that what it does may look, too.
    let Some(mut watch) = WATCH.take() else { return };
    if watch.fd == fd {
        act(&mut watch);
    }
    WATCH.set(Some(watch));
}

type Answer = Box<dyn FnMut(&Request) -> (Reply, Option<OwnedFd>) + Send>;

static ANSWERS: Mutex<BTreeMap<u64, Answer>> = Mutex::new(BTreeMap::new());

/// From now on, a service answers questions about a socket so.
pub(crate) fn answer_by(
    socket: u64,
    mut answer: impl FnMut(Operation) -> (i32, Vec<u8>) + Send + 'static,
) {
    answer_with(socket, move |request| {
        let (value, bytes) = answer(request.operation);
        (Reply { value, bytes }, None)
    });
}

/// The same with the whole question, and a descriptor.
pub(crate) fn answer_with(
    socket: u64,
    answer: impl FnMut(&Request) -> (Reply, Option<OwnedFd>) + Send + 'static,
) {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("polypath-capi-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        // SAFETY: no test reads the environment otherwise than by the standard library.
        unsafe { std::env::set_var(SERVICE_VARIABLE, &path) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serve(&mut stream.unwrap());
            }
        });
    });
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    answers.insert(socket, Box::new(answer));
}

fn serve(stream: &mut UnixStream) {
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut body = vec![0; u32::from_ne_bytes(length) as usize];
    stream.read_exact(&mut body).unwrap();
    let request = Request::decode(&body).unwrap();
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let answer = answers.get_mut(&request.socket).map(|answer| answer(&request));
    drop(answers);
    let (reply, fd) = answer.unwrap_or((Reply::value(-libc::ENOTCONN), None));
    let bytes = reply.encoded();
    let part = iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let passed = fd.as_ref().map(AsRawFd::as_raw_fd);
    // The program may wait no more.
    // SAFETY: so many bytes are there.
    unsafe { frames::send_parts(stream.as_raw_fd(), &[part], passed, libc::MSG_NOSIGNAL) };
}

/// A board as services have it.
pub(crate) struct Board {
    id: u64,
    memory: OwnedFd,
}

impl Board {
    pub(crate) fn new(id: u64) -> Self {
        // SAFETY: the arguments are numbers and a name that ends with zero; the descriptor is new.
        let memory = unsafe {
            let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
            let fd = libc::memfd_create(c"board".as_ptr(), flags);
            assert_eq!(libc::ftruncate(fd, BOARD_BYTES as i64), 0);
            assert_eq!(libc::fcntl(fd, libc::F_ADD_SEALS, libc::F_SEAL_SHRINK), 0);
            OwnedFd::from_raw_fd(fd)
        };
        let board = Self { id, memory };
        board.write(0, 0, id);
        board
    }

    pub(crate) fn place(&self, slot: u32) -> Place {
        Place { board: self.id, slot }
    }

    pub(crate) fn descriptor(&self) -> OwnedFd {
        self.memory.try_clone().unwrap()
    }

    /// Posts flags of a socket.
    pub(crate) fn write(&self, slot: u32, flags: u8, socket: u64) {
        use std::os::unix::fs::FileExt;
        let bytes = Posted { flags, ..Posted::default() }.encoded(socket);
        let file = std::fs::File::from(self.descriptor());
        file.write_all_at(&bytes, u64::from(slot) * SLOT_BYTES as u64).unwrap();
    }
}
