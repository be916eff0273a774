//! The service's end of a socket's descriptor.

use std::collections::BTreeSet;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};

use bytes::Bytes;
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketAddrAny, SocketAddrUnix, SocketFlags,
    SocketType, bind, getpeername, getsockname, recv, recvmsg, sendmsg, shutdown, socketpair,
    sockopt,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;

use super::cut::cut;
use crate::annex;
use crate::frame::{HEAD_BYTES, Head, MAX_PIECE_BYTES};
use crate::names::SocketName;

/// Bytes of frames that a descriptor may hold in each direction, if the system allows it.
const QUEUE_BYTES: usize = 1 << 20;

/// The service's end of a pair of sockets.
#[derive(Debug)]
pub(super) struct Channel {
    /// In truth not of streams but of packets, which makes no difference to waiting.
    fd: UnixStream,
    /// Number of the next frame to the program.
    next: AtomicU32,
    /// How many frames were handed to the program.
    given: AtomicU32,
    /// Held for writing while frames move to another channel.
    gate: RwLock<()>,
}

/// The end of a channel, to wait for.
#[derive(Debug)]
pub(super) struct HangUp(AsyncFd<OwnedFd>);

impl HangUp {
    /// Waits for it.
    pub(super) async fn wait(&self) {
        // Such data there is not: only the end is reported.
        let _ = self.0.ready(Interest::PRIORITY).await;
    }
}

impl Channel {
    /// A pair: the service's end, which has this name, and the program's.
    pub(super) fn pair(name: SocketName) -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        for end in [&ours, &theirs] {
            // Without the privilege it is what the system allows.
            if sockopt::set_socket_send_buffer_size_force(end, QUEUE_BYTES).is_err() {
                sockopt::set_socket_send_buffer_size(end, QUEUE_BYTES)?;
            }
        }
        bind(&ours, &SocketAddrUnix::new_abstract_name(&name.encoded())?)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        let fd = UnixStream::from_std(ours.into())?;
        Ok((
            Self { fd, next: AtomicU32::new(1), given: AtomicU32::new(0), gate: RwLock::new(()) },
            theirs,
        ))
    }

    /// The head of the next frame, which stays there, and the size of the whole frame. `None` when the program has closed all of its
    /// descriptors.
    pub(super) async fn peek(&self) -> io::Result<Option<(Option<Head>, usize)>> {
        self.fd
            .async_io(Interest::READABLE, || {
                let mut head = [0_u8; HEAD_BYTES];
                let flags = RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT;
                let (got, size) = despite_reset(|| recv(&self.fd, &mut head, flags))?;
                Ok((size > 0).then(|| (Head::decode(&head[..got]), size)))
            })
            .await
    }

    /// Takes the next frame, which [`peek`](Self::peek) has seen with this size; gives what follows the head.
    pub(super) fn take(&self, size: usize) -> io::Result<Bytes> {
        let mut frame = Vec::with_capacity(size);
        despite_reset(|| recv(&self.fd, spare_capacity(&mut frame), RecvFlags::DONTWAIT))?;
        let frame = Bytes::from(frame);
        Ok(frame.slice(HEAD_BYTES.min(frame.len())..))
    }

    /// The same for a message of which so many bytes are in the annex of the frame.
    pub(super) fn take_with_annex(&self, size: usize, rest: u32) -> io::Result<Bytes> {
        let mut frame = vec![0; size];
        let (got, annex) = receive_with_annex(self.fd.as_fd(), &mut frame)?;
        let annex = annex.ok_or(io::ErrorKind::InvalidData)?;
        frame.truncate(got);
        frame.drain(..HEAD_BYTES.min(got));
        annex::append(&annex, rest, &mut frame)?;
        Ok(frame.into())
    }

    /// Bytes of the frames that the program has sent and that were not taken.
    pub(super) fn unread(&self) -> usize {
        let bytes = rustix::io::ioctl_fionread(&self.fd).unwrap_or(0);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Takes the next frame, and does not look at it.
    pub(super) fn skip(&self) -> io::Result<()> {
        despite_reset(|| recv(&self.fd, &mut [0_u8; 1], RecvFlags::DONTWAIT))?;
        Ok(())
    }

    /// Hands a message to the program as [`give`](Self::give) does, with what does not fit into the frame. Does nothing, and gives false, if
    /// it `belongs` here no more when there is room.
    pub(super) async fn give_message(
        &self,
        head: &Head,
        fragments: &[&[u8]],
        belongs: impl Fn() -> bool,
    ) -> io::Result<bool> {
        let (fit, rest) = cut(fragments);
        if rest.is_empty() {
            return self.send(head, &fit, None, belongs).await;
        }
        let bytes: usize = rest.iter().map(|part| part.len()).sum();
        let rest_bytes = u32::try_from(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        let annex = annex::with(&rest)?;
        self.send(&Head { rest: rest_bytes, ..*head }, &fit, Some(annex.as_fd()), belongs).await
    }

    /// Hands a frame to the program; waits while its queue is full.
    pub(super) async fn give(&self, head: &Head, pieces: &[&[u8]]) -> io::Result<()> {
        self.send(head, pieces, None, || true).await.map(drop)
    }

    /// Hands over a frame with a descriptor, if it `belongs` here when there is room.
    pub(super) async fn give_descriptor(
        &self,
        head: &Head,
        fd: BorrowedFd<'_>,
        belongs: impl Fn() -> bool,
    ) -> io::Result<()> {
        self.send(head, &[], Some(fd), belongs).await.map(drop)
    }

    async fn send(
        &self,
        head: &Head,
        pieces: &[&[u8]],
        passed: Option<BorrowedFd<'_>>,
        belongs: impl Fn() -> bool,
    ) -> io::Result<bool> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let head = Head { number, ..*head }.encoded();
        let mut parts = Vec::with_capacity(1 + pieces.len());
        parts.push(IoSlice::new(&head));
        parts.extend(pieces.iter().map(|piece| IoSlice::new(piece)));
        let send = || {
            let _gate = self.gate.read().unwrap_or_else(PoisonError::into_inner);
            match belongs() {
                true => send_with(self.fd.as_fd(), &parts, passed).map(|_| true),
                false => Ok(false),
            }
        };
        let sent = self.fd.async_io(Interest::WRITABLE, send).await;
        if let Ok(true) = sent {
            self.given.fetch_add(1, Ordering::Release);
        }
        sent
    }

    /// How many frames were handed to the program so far.
    pub(super) fn given(&self) -> u32 {
        self.given.load(Ordering::Acquire)
    }

    /// Takes those frames out of the program's queue that are meant for the program's end of another channel, and puts them into its queue, in front of
    /// what comes later. `theirs` is the program's end. Gives the associations whose frames the system had no memory or descriptors for.
    ///
    /// Meanwhile `move_on` decides that no more such frames come here.
    pub(super) fn hand_over(
        &self,
        theirs: Option<BorrowedFd<'_>>,
        to: &Self,
        move_on: impl FnOnce(),
        is_meant: impl Fn(&Head) -> bool,
    ) -> BTreeSet<i32> {
        // Nothing comes in between here, and nothing before them there.
        let _gate = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let _other = to.gate.write().unwrap_or_else(PoisonError::into_inner);
        move_on();
        // Where it goes on, none has the number of an old one, by which a frame is known again.
        to.next.store(self.next.load(Ordering::Relaxed), Ordering::Relaxed);
        let mut lost = BTreeSet::new();
        for frame in theirs.map(frames_in).unwrap_or_default() {
            let Some(head) = Head::decode(&frame.bytes) else { continue };
            let to = if is_meant(&head) { to } else { self };
            let annex = frame.annex.as_ref().map(AsFd::as_fd);
            let is_whole = annex.is_some() == (head.rest > 0);
            let parts = [IoSlice::new(&frame.bytes)];
            if !is_whole || send_with(to.fd.as_fd(), &parts, annex).is_err() {
                lost.insert(head.association);
            }
        }
        lost
    }

    /// Whether a descriptor is the program's end.
    pub(super) fn is_other_end(&self, fd: BorrowedFd<'_>) -> bool {
        let name = |address: Option<SocketAddrAny>| {
            let address = SocketAddrUnix::try_from(address?).ok()?;
            address.abstract_name().map(<[u8]>::to_vec)
        };
        let theirs = getpeername(fd).ok().and_then(name);
        theirs.is_some() && theirs == getsockname(&self.fd).ok().and_then(|own| name(Some(own)))
    }

    /// Whether the program has closed all of its descriptors, although frames may still lie here. Nothing else ends the direction to the service: a
    /// program that reads nothing more ends the other one.
    pub(super) fn is_hung_up(&self) -> bool {
        let mut fds = [PollFd::new(&self.fd, PollFlags::RDHUP)];
        let asked = poll(&mut fds, Some(&Timespec::default()));
        asked.is_ok() && fds[0].revents().contains(PollFlags::RDHUP)
    }

    /// Tells when the program has closed all of its descriptors, although frames may still lie here.
    pub(super) fn hang_up(&self) -> io::Result<HangUp> {
        let fd = self.fd.as_fd().try_clone_to_owned()?;
        #[expect(
            deprecated,
            reason = "what replaces it is unsafe, and this descriptor is owned and stays open"
        )]
        let watched = AsyncFd::with_interest(fd, Interest::PRIORITY)?;
        Ok(HangUp(watched))
    }

    /// Nothing more comes for the program; what it has not read yet stays readable.
    pub(super) fn end(&self) {
        // Fails if the program has closed its end, which is as good.
        let _ = shutdown(&self.fd, Shutdown::Write);
    }
}

/// A frame on its way to the program, as it lies in the queue.
struct Frame {
    bytes: Vec<u8>,
    annex: Option<OwnedFd>,
}

/// Takes all frames out of the queue of the program's end of a channel.
fn frames_in(theirs: BorrowedFd<'_>) -> Vec<Frame> {
    let mut left = usize::try_from(rustix::io::ioctl_fionread(theirs).unwrap_or(0)).unwrap_or(0);
    let mut buffer = vec![0; HEAD_BYTES + MAX_PIECE_BYTES];
    let mut frames = Vec::new();
    while left > 0 {
        let Ok((got, annex)) = receive_with_annex(theirs, &mut buffer) else { break };
        if got == 0 {
            break;
        }
        frames.push(Frame { bytes: buffer[..got].to_vec(), annex });
        left = left.saturating_sub(got);
    }
    frames
}

/// Receives without waiting, with the descriptor that comes along.
pub(super) fn receive_with_annex(
    from: BorrowedFd<'_>,
    into: &mut [u8],
) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let got = despite_reset(|| recvmsg(from, &mut [IoSliceMut::new(into)], &mut ancillary, flags))?;
    let annex = ancillary.drain().find_map(|item| match item {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok((got.bytes, annex))
}

/// Receives, also where the program has closed its end without having read everything: the system reports that once, before what the program
/// had sent.
fn despite_reset<T>(mut receive: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    match receive() {
        Err(Errno::CONNRESET) => receive(),
        done => done,
    }
}

/// Sends what `parts` hold, and a descriptor, if there is one.
pub(super) fn send_with(
    to: BorrowedFd<'_>,
    parts: &[IoSlice<'_>],
    passed: Option<BorrowedFd<'_>>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let passed = passed.map(|fd| [fd]);
    if let Some(fds) = &passed {
        ancillary.push(SendAncillaryMessage::ScmRights(fds));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    Ok(sendmsg(to, parts, &mut ancillary, flags)?)
}
