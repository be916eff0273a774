//! A connection of a program: question, answer, question, until it is closed.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;

use super::calls::{self, Answer};
use super::socket::Theirs;
use super::{Service, channel};
use crate::control::{MAX_BYTES, Operation, Reply, Request, Unreadable};

/// Serves a connection until the program closes it or says what nobody understands.
pub(super) async fn converse(service: Arc<Service>, mut stream: UnixStream, process: i32) {
    // Nobody is there to hear of an error.
    let _ = talk(&service, &mut stream, process).await;
}

async fn talk(service: &Arc<Service>, stream: &mut UnixStream, process: i32) -> io::Result<()> {
    loop {
        let (length, passed) = first_bytes(stream).await?;
        let length = u32::from_ne_bytes(length) as usize;
        if length > MAX_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await?;
        let answer = match Request::decode(&body) {
            Ok(request) if request.operation == Operation::Settle => {
                // Each waits for as long as an attempt takes, and others ask meanwhile.
                if service.waiting.take(process) {
                    let settled = settle(service, stream, process, &request).await;
                    service.waiting.give_back(process);
                    match settled? {
                        Some(answer) => answer,
                        None => return Ok(()),
                    }
                } else {
                    (Reply::value(-Errno::BUSY.raw_os_error()), None)
                }
            }
            Ok(request) => calls::answer(service, process, (&request, passed)).await,
            Err(Unreadable::OtherVersion) => (Reply::of_other_version(), None),
            Err(Unreadable::Nonsense) => return Err(io::ErrorKind::InvalidData.into()),
        };
        give(stream, answer).await?;
    }
}

/// Answers when no attempt to connect is under way; nothing if the program stops waiting before, for example after a signal.
async fn settle(
    service: &Arc<Service>,
    stream: &UnixStream,
    process: i32,
    request: &Request,
) -> io::Result<Option<Answer>> {
    tokio::select! {
        answer = calls::answer(service, process, (request, None)) => Ok(Some(answer)),
        left = is_left(stream) => left.map(|()| None),
    }
}

/// Waits until the program closes the connection, or says something although it has no answer yet.
async fn is_left(stream: &UnixStream) -> io::Result<()> {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let look = || Ok(recv(stream, &mut [0_u8; 1], flags).map(drop)?);
    stream.async_io(Interest::READABLE, look).await
}

/// The length in front of a question, with which a descriptor may come.
async fn first_bytes(stream: &mut UnixStream) -> io::Result<([u8; 4], Option<OwnedFd>)> {
    let mut length = [0; 4];
    let receive = || channel::receive_with_annex(stream.as_fd(), &mut length);
    let (got, passed) = stream.async_io(Interest::READABLE, receive).await?;
    if got == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    stream.read_exact(&mut length[got..]).await?;
    Ok((length, passed))
}

/// Sends an answer; a descriptor goes with its first byte.
async fn give(stream: &mut UnixStream, (reply, fd): Answer) -> io::Result<()> {
    let encoded = reply.encoded();
    let sent = match fd.as_ref().and_then(Theirs::as_fd) {
        Some(fd) => pass(stream, &encoded, fd).await?,
        None => 0,
    };
    stream.write_all(&encoded[sent..]).await
}

async fn pass(stream: &UnixStream, bytes: &[u8], fd: BorrowedFd<'_>) -> io::Result<usize> {
    let send = || channel::send_with(stream.as_fd(), &[IoSlice::new(bytes)], Some(fd));
    stream.async_io(Interest::WRITABLE, send).await
}
