//! A program that says anything to the service of the SCTP sockets: questions, and frames on the descriptors of sockets. The service runs in
//! the process.

use std::io::{IoSliceMut, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, fs, process};

use polypath::{AssociationConfig, Endpoint};
use polypath_sockets::board::{Posted, SLOT_BYTES};
use polypath_sockets::control::{Abort, Operation, Reply, Request};
use polypath_sockets::frame::Head;
use polypath_sockets::names::SocketName;
use polypath_sockets::service::{Service, Settings};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix, getpeername,
    recv, recvmsg, send,
};

/// Steps of a run.
const MOST_STEPS: usize = 12;
/// Sockets of a run.
const MOST_SOCKETS: usize = 4;
/// Questions may have no answer for a long time: then the program stops waiting.
pub const SHORT: Duration = Duration::from_millis(20);
/// For questions that must have one.
pub const LONG: Duration = Duration::from_secs(60);

/// Says to the service what the bytes are; it must be there for others afterwards. Returns the number of questions that it has answered
/// without an error, each within `patience`.
///
/// # Panics
///
/// If it is not.
pub fn say(bytes: &[u8], patience: Duration) -> usize {
    decode(bytes);
    let Some(mut program) = Program::begin(patience) else { return 0 };
    let mut left = bytes;
    for _ in 0..MOST_STEPS {
        let Some((step, rest)) = Step::read(left) else { break };
        left = rest;
        program.take(step);
    }
    let done = program.done;
    drop(program);
    let mut other = Program::begin(LONG).expect("the service accepts");
    let answer = other.ask(&Request::new(Operation::Status, 0).encoded());
    assert!(answer.is_some_and(|(reply, _)| reply.value >= 0), "no status");
    done
}

/// What is read is written as it was.
fn decode(bytes: &[u8]) {
    if let Some(head) = Head::decode(bytes) {
        assert_eq!(Head::decode(&head.encoded()), Some(head));
    }
    if let Ok(request) = Request::decode(bytes) {
        assert_eq!(Request::decode(&request.encoded()[4..]), Ok(request));
    }
    if let Some(abort) = Abort::decode(bytes) {
        assert_eq!(Abort::decode(&abort.encoded()), Some(abort));
    }
    if let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let _ = Reply::read(&mut &rest[..], *length);
    }
    if let Some(slot) = bytes.first_chunk::<SLOT_BYTES>() {
        let word = |at: usize| u64::from_ne_bytes(slot[at..at + 8].try_into().expect("a word"));
        if let Some(posted) = Posted::decode((word(0), word(8)), 7) {
            assert_eq!(posted.encoded(7), *slot);
        }
    }
}

/// What a program does.
enum Step<'a> {
    Open {
        family: i32,
        style: i32,
    },
    Ask {
        socket: u8,
        operation: u8,
        first: i32,
        second: i32,
        bytes: &'a [u8],
    },
    /// A question as it is, with its length in front.
    Say(&'a [u8]),
    /// A frame as it is.
    Frame {
        socket: u8,
        bytes: &'a [u8],
    },
    /// A frame whose kind there is.
    Message {
        socket: u8,
        kind: u8,
        bytes: &'a [u8],
    },
    Read {
        socket: u8,
    },
    Close {
        socket: u8,
    },
}

impl<'a> Step<'a> {
    /// A byte for the kind, one for the length of what follows, and that.
    fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (&[kind, length], rest) = bytes.split_first_chunk::<2>()?;
        let (own, rest) = rest.split_at(usize::from(length).min(rest.len()));
        let at = |place: usize| own.get(place).copied().unwrap_or(0);
        let number = |place: usize| {
            i32::from_le_bytes([at(place), at(place + 1), at(place + 2), at(place + 3)])
        };
        let from = |place: usize| own.get(place..).unwrap_or_default();
        let step = match kind % 8 {
            0 => Self::Open {
                family: if at(0) & 1 == 0 { 4 } else { 6 },
                style: (at(0) >> 1 & 1).into(),
            },
            1 | 2 => Self::Ask {
                socket: at(0),
                operation: at(1) % 20,
                first: number(2),
                second: number(6),
                bytes: from(10),
            },
            3 => Self::Say(own),
            4 => Self::Frame { socket: at(0), bytes: from(1) },
            5 => Self::Message { socket: at(0), kind: at(1) % 8, bytes: from(2) },
            6 => Self::Read { socket: at(0) },
            _ => Self::Close { socket: at(0) },
        };
        Some((step, rest))
    }
}

/// A program with its connection and its sockets.
struct Program {
    stream: UnixStream,
    sockets: Vec<(u64, OwnedFd)>,
    /// Questions answered without an error.
    done: usize,
    patience: Duration,
}

impl Program {
    fn begin(patience: Duration) -> Option<Self> {
        let stream = UnixStream::connect(place()).ok()?;
        stream.set_read_timeout(Some(patience)).ok()?;
        Some(Self { stream, sockets: Vec::new(), done: 0, patience })
    }

    fn socket(&self, number: u8) -> Option<&(u64, OwnedFd)> {
        self.sockets.get(usize::from(number) % self.sockets.len().max(1))
    }

    fn take(&mut self, step: Step<'_>) {
        match step {
            Step::Open { family, style } if self.sockets.len() < MOST_SOCKETS => {
                let request =
                    Request { first: family, second: style, ..Request::new(Operation::Open, 0) };
                if let Some((_, Some(fd))) = self.ask(&request.encoded())
                    && let Some(id) = id_of(&fd)
                {
                    self.sockets.push((id, fd));
                }
            }
            Step::Open { .. } => {}
            Step::Ask { socket, operation, first, second, bytes } => {
                let id = self.socket(socket).map_or(0, |(id, _)| *id);
                let request = Request {
                    first,
                    second,
                    bytes: bytes.to_vec(),
                    ..Request::new(Operation::Status, id)
                };
                let mut encoded = request.encoded();
                // Behind length, mark and version.
                encoded[8] = operation;
                self.ask(&encoded);
            }
            Step::Say(bytes) => {
                self.ask(bytes);
            }
            Step::Frame { socket, bytes } => self.frame(socket, bytes),
            Step::Message { socket, kind, bytes } => {
                let mut frame = vec![0; 84];
                let known = bytes.len().min(frame.len() - 1);
                frame[1..=known].copy_from_slice(&bytes[..known]);
                frame[0] = kind;
                frame.extend_from_slice(&bytes[known..]);
                self.frame(socket, &frame);
            }
            Step::Read { socket } => {
                if let Some((_, fd)) = self.socket(socket) {
                    let mut buffer = [0; 4096];
                    if let Ok((_, got)) = recv(fd, &mut buffer[..], RecvFlags::DONTWAIT) {
                        assert!(got == 0 || Head::decode(&buffer).is_some(), "no frame");
                    }
                }
            }
            Step::Close { socket } => {
                if !self.sockets.is_empty() {
                    let place = usize::from(socket) % self.sockets.len();
                    self.sockets.swap_remove(place);
                }
            }
        }
    }

    fn frame(&self, socket: u8, bytes: &[u8]) {
        if let Some((_, fd)) = self.socket(socket) {
            let _ = send(fd, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        }
    }

    /// Asks a question. Without an answer in time, another connection follows.
    fn ask(&mut self, question: &[u8]) -> Option<(Reply, Option<OwnedFd>)> {
        let answer = self.stream.write_all(question).ok().and_then(|()| self.answer());
        self.done += usize::from(answer.as_ref().is_some_and(|(reply, _)| reply.value >= 0));
        if answer.is_none()
            && let Some(program) = Self::begin(self.patience)
        {
            self.stream = program.stream;
        }
        answer
    }

    fn answer(&mut self) -> Option<(Reply, Option<OwnedFd>)> {
        let mut length = [0; 4];
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut passed = RecvAncillaryBuffer::new(&mut space);
        let got = recvmsg(
            self.stream.as_fd(),
            &mut [IoSliceMut::new(&mut length)],
            &mut passed,
            RecvFlags::CMSG_CLOEXEC,
        )
        .ok()?;
        let fd = passed.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        self.stream.read_exact(length.get_mut(got.bytes..)?).ok()?;
        if got.bytes == 0 {
            return None;
        }
        Some((Reply::read(&mut self.stream, length).ok()?, fd))
    }
}

/// What the name of the other end says.
fn id_of(fd: &OwnedFd) -> Option<u64> {
    let name = SocketAddrUnix::try_from(getpeername(fd).ok()??).ok()?;
    SocketName::decode(name.abstract_name()?).map(|name| name.id)
}

/// Where the service is.
pub fn place() -> &'static PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let place = env::temp_dir().join(format!("polypath-sockets-nonsense-{}", process::id()));
        let _ = fs::remove_file(&place);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (told, begun) = std::sync::mpsc::channel();
        let path = place.clone();
        std::thread::spawn(move || {
            runtime.block_on(async {
                let local = "127.0.0.91".parse().expect("an address");
                let endpoint =
                    Endpoint::builder([local]).encapsulation_port(0).bind().expect("an endpoint");
                let udp_port = endpoint.encapsulation_port();
                let service = Service::new(endpoint, move |_| {
                    Ok(Settings {
                        association: AssociationConfig::default(),
                        encapsulation_port: Some(udp_port),
                        all_addresses: false,
                    })
                });
                let listener = tokio::net::UnixListener::bind(&path).expect("a socket");
                told.send(()).expect("somebody waits");
                service.serve(listener, Duration::MAX).await;
            });
        });
        begun.recv().expect("it begins");
        place
    })
}
