//! Receives the files of one association.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Error, Result, anyhow, bail};
use polypath::{Association, ReceivedMessage};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::destination::{Existing, PartialFile};
use super::frame::{self, Digest, Frame, Offer};
use super::name;
use super::progress::{Progress, Side};
use super::summary::FileSummary;

/// Messages between network and disk. When the disk is slower, they wait in the association's receive buffer, whose
/// window then slows the sender.
const MESSAGES_AHEAD: usize = 32;
/// Longest message with content; `send` makes none that comes near. Bounds the memory that a peer can take.
const LONGEST_MESSAGE: usize = 512 << 10;
/// Bytes hashed and written at a time.
const WRITE_SIZE: usize = 256 << 10;

/// Where files go and what is shown meanwhile.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) directory: PathBuf,
    pub(crate) existing: Existing,
    pub(crate) progress: Progress,
}

/// What became of an offer.
enum Outcome {
    Stored(Digest),
    /// Not wanted; the next offer may be.
    Refused(Error),
    /// Nothing more comes of this association.
    Broken(Error),
}

/// Receives all files that the peer announces. `done` gets every file that was offered, stored or not.
pub(crate) async fn receive_files(
    association: &Association,
    settings: &Settings,
    done: &mut Vec<FileSummary>,
) -> Result<()> {
    let mut left = None;
    loop {
        let Some(message) = association.receive().await? else {
            bail!("the peer left before it was done");
        };
        let offer = match Frame::decode(message) {
            Ok(Frame::Offer(offer)) => offer,
            Ok(other) => {
                return Err(violation(association, anyhow!("{} without an offer", other.kind())));
            }
            Err(error) => return Err(violation(association, error)),
        };
        if left.is_some_and(|left| offer.following >= left) {
            let error =
                anyhow!("{} files to follow, which is no fewer than before", offer.following);
            return Err(violation(association, error));
        }
        left = Some(offer.following);
        let (shown, begin) = (name::shown(&offer.name), Instant::now());
        let (file, broken) = match receive_file(association, settings, &offer).await {
            Outcome::Stored(digest) => {
                (FileSummary::stored(shown, offer.size, &digest, begin.elapsed()), None)
            }
            Outcome::Refused(error) => (FileSummary::failed(shown, &error), None),
            Outcome::Broken(error) => (FileSummary::failed(shown, &error), Some(error)),
        };
        settings.progress.tell(&format!("received {file}"));
        done.push(file);
        if let Some(error) = broken {
            return Err(error);
        }
        if offer.following == 0 {
            break;
        }
    }
    super::part(association).await?;
    Ok(())
}

/// The peer does not keep to the protocol: nothing it says can be trusted to mean what it seems.
fn violation(association: &Association, error: Error) -> Error {
    let error = error.context("the peer broke the transfer protocol");
    association.abort(format!("{error:#}"));
    error
}

async fn receive_file(association: &Association, settings: &Settings, offer: &Offer) -> Outcome {
    let begun = begin(settings, offer).await;
    let reply = begun.as_ref().map(|_| ()).map_err(|error| format!("{error:#}"));
    if let Err(error) = association.send(frame::answer(&reply)).await {
        return Outcome::Broken(error.into());
    }
    let file = match begun {
        Ok(file) => file,
        Err(error) => return Outcome::Refused(error),
    };
    let mut writer = Writer::start(file);
    let progress =
        settings.progress.file(Side::Receiver, &name::shown(&offer.name), offer.size, association);
    let end = match collect(association, offer.size, &mut writer, |bytes| progress.advance(bytes))
        .await
    {
        Ok(end) => end,
        // The disk is the cause if the writer has stopped, and the peer is to know.
        Err(Stop::Disk) => return refuse_rest(association, writer.failure().await).await,
        Err(Stop::Size(error)) => return refuse_rest(association, error).await,
        Err(Stop::Association(error)) => return Outcome::Broken(error),
        Err(Stop::Violation(error)) => return Outcome::Broken(violation(association, error)),
    };
    match store(writer, end).await {
        Ok(()) => match association.send(frame::verdict(&Ok(()))).await {
            Ok(()) => Outcome::Stored(end),
            // It is stored, but the sender may not have learnt of it.
            Err(error) => Outcome::Broken(error.into()),
        },
        Err(error) => refuse_rest(association, error).await,
    }
}

async fn begin(settings: &Settings, offer: &Offer) -> Result<PartialFile> {
    let (name, size) = (name::check(&offer.name)?.to_owned(), offer.size);
    let (directory, existing) = (settings.directory.clone(), settings.existing);
    spawn_blocking(move || PartialFile::create(&directory, &name, size, existing)).await?
}

/// Why content does not come any more.
enum Stop {
    Disk,
    Size(Error),
    Association(Error),
    Violation(Error),
}

/// Hands content to the writer until the end, and gives the digest that the peer claims.
async fn collect(
    association: &Association,
    size: u64,
    writer: &mut Writer,
    advance: impl Fn(u64),
) -> Result<Digest, Stop> {
    let mut received = 0_u64;
    loop {
        let message = match association.receive().await {
            Ok(Some(message)) => message,
            Ok(None) => {
                return Err(Stop::Association(anyhow!(
                    "the peer stopped in the middle of the file"
                )));
            }
            Err(error) => return Err(Stop::Association(error.into())),
        };
        match Frame::decode(message).map_err(Stop::Violation)? {
            Frame::Data(message) if message.len() > LONGEST_MESSAGE => {
                return Err(Stop::Violation(anyhow!(
                    "content of {} bytes in one message",
                    message.len()
                )));
            }
            Frame::Data(message) => {
                let len = message.len() as u64;
                received += len;
                if received > size {
                    return Err(Stop::Size(anyhow!(
                        "more than the {size} bytes that were offered"
                    )));
                }
                writer.write(message).await.map_err(|Stopped| Stop::Disk)?;
                advance(len);
            }
            Frame::End(_) if received < size => {
                return Err(Stop::Size(anyhow!(
                    "{received} bytes instead of the {size} that were offered"
                )));
            }
            Frame::End(digest) => return Ok(digest),
            other => {
                return Err(Stop::Violation(anyhow!("{} in the middle of a file", other.kind())));
            }
        }
    }
}

async fn store(writer: Writer, claimed: Digest) -> Result<()> {
    let (file, digest) = writer.finish().await?;
    if digest != claimed {
        bail!("SHA-256 differs: the content changed on the way or while it was read");
    }
    spawn_blocking(|| file.complete()).await??;
    Ok(())
}

/// Tells the sender that the file failed and waits until it has understood.
async fn refuse_rest(association: &Association, error: Error) -> Outcome {
    if association.send(frame::verdict(&Err(format!("{error:#}")))).await.is_ok() {
        while let Ok(Some(_)) = association.receive().await {}
    }
    Outcome::Broken(error)
}

/// A thread that hashes and writes.
struct Writer {
    content: mpsc::Sender<ReceivedMessage>,
    thread: JoinHandle<Result<(PartialFile, Digest)>>,
}

/// The writer takes nothing any more.
struct Stopped;

impl Writer {
    fn start(file: PartialFile) -> Self {
        let (content, queue) = mpsc::channel(MESSAGES_AHEAD);
        Self { content, thread: spawn_blocking(move || write_all(file, queue)) }
    }

    async fn write(&mut self, message: ReceivedMessage) -> Result<(), Stopped> {
        self.content.send(message).await.map_err(|_| Stopped)
    }

    async fn finish(self) -> Result<(PartialFile, Digest)> {
        drop(self.content);
        self.thread.await?
    }

    async fn failure(self) -> Error {
        match self.finish().await {
            Ok(_) => anyhow!("the file could not be written"),
            Err(error) => error,
        }
    }
}

fn write_all(
    mut file: PartialFile,
    mut queue: mpsc::Receiver<ReceivedMessage>,
) -> Result<(PartialFile, Digest)> {
    let mut digest = Sha256::new();
    let mut buffer = Vec::with_capacity(WRITE_SIZE + (64 << 10));
    while let Some(message) = queue.blocking_recv() {
        for fragment in message.fragments() {
            buffer.extend_from_slice(fragment);
        }
        if buffer.len() >= WRITE_SIZE {
            digest.update(&buffer);
            file.write(&buffer)?;
            buffer.clear();
        }
    }
    digest.update(&buffer);
    file.write(&buffer)?;
    Ok((file, digest.finalize().into()))
}
