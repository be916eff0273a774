//! Sends files over an association.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use bytes::{Bytes, BytesMut};
use polypath::{Association, PathStats};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::frame::{self, Digest, Frame, Offer, Reply};
use super::name;
use super::progress::{Progress, Side};
use super::summary::FileSummary;

/// Messages read ahead from the disk.
const MESSAGES_AHEAD: usize = 32;
/// Size that data messages come close to: large enough that their cost does not matter, small beside the buffers.
const MESSAGE_SIZE: usize = 64 << 10;

/// A file that is to be sent, open.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    name: String,
    size: u64,
}

/// What became of a file.
enum Outcome {
    Stored(Digest),
    /// Not wanted; the next one may be.
    Refused(Error),
    /// Nothing more can be sent.
    Broken(Error),
}

impl Source {
    /// Opens a file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let context = || format!("cannot send {}", path.display());
        let file = File::open(path).with_context(context)?;
        let metadata = file.metadata().with_context(context)?;
        ensure!(metadata.is_file(), "cannot send {}: it is not a regular file", path.display());
        let canonical: PathBuf;
        let base = match path.file_name() {
            Some(base) => base,
            None => {
                canonical = path.canonicalize().with_context(context)?;
                canonical.file_name().with_context(context)?
            }
        };
        let name = name::check(base.as_encoded_bytes()).with_context(context)?.to_owned();
        Ok(Self { file, name, size: metadata.len() })
    }

    fn offer(&self, following: u32) -> Offer {
        Offer { following, size: self.size, name: self.name.clone().into() }
    }
}

/// Sends files one after the other. `done` gets every file that was tried, stored or not.
pub(crate) async fn send_files(
    association: &Association,
    sources: Vec<Source>,
    progress: &Progress,
    done: &mut Vec<FileSummary>,
) -> Result<()> {
    let mut following = u32::try_from(sources.len()).context("too many files")?;
    for source in sources {
        following -= 1;
        let (name, size, begin) = (source.name.clone(), source.size, Instant::now());
        let (file, broken) = match send_file(association, source, following, progress).await {
            Outcome::Stored(digest) => {
                (FileSummary::stored(name, size, &digest, begin.elapsed()), None)
            }
            Outcome::Refused(error) => (FileSummary::failed(name, &error), None),
            Outcome::Broken(error) => (FileSummary::failed(name, &error), Some(error)),
        };
        done.push(file);
        if let Some(error) = broken {
            return Err(error);
        }
    }
    // Every file is on the receiver's disk, whatever becomes of the association.
    let _ = super::part(association).await;
    Ok(())
}

async fn send_file(
    association: &Association,
    source: Source,
    following: u32,
    progress: &Progress,
) -> Outcome {
    let answer = match offer(association, source.offer(following)).await {
        Ok(answer) => answer,
        Err(error) => return Outcome::Broken(error),
    };
    if let Err(reason) = answer {
        return Outcome::Refused(anyhow!("refused by the receiver: {reason}"));
    }
    let progress = progress.file(Side::Sender, &source.name, source.size, association);
    let mut reader = Reader::start(source, message_size(&association.path_stats()));
    let sent = tokio::select! {
        biased;
        early = next_frame(association) => Err(match early {
            Ok(Frame::Verdict(Err(reason))) => anyhow!("the receiver failed: {reason}"),
            Ok(other) => anyhow!("the receiver sent {} before the end of the file", other.kind()),
            Err(error) => error,
        }),
        sent = send_content(association, &mut reader, |bytes| progress.advance(bytes)) => sent,
    };
    match sent {
        Ok(digest) => match finish(association, &digest).await {
            Ok(()) => Outcome::Stored(digest),
            Err(error) => Outcome::Broken(error),
        },
        Err(error) => {
            association.abort(format!("{error:#}"));
            Outcome::Broken(error)
        }
    }
}

async fn offer(association: &Association, offer: Offer) -> Result<Reply> {
    association.send(frame::offer(&offer)).await?;
    match next_frame(association).await? {
        Frame::Answer(answer) => Ok(answer),
        other => bail!("the receiver sent {} instead of an answer", other.kind()),
    }
}

async fn send_content(
    association: &Association,
    reader: &mut Reader,
    advance: impl Fn(u64),
) -> Result<Digest> {
    while let Some(content) = reader.content.recv().await {
        let len = content.len() as u64;
        association.send(frame::data(content)).await?;
        advance(len);
    }
    (&mut reader.thread).await?
}

async fn finish(association: &Association, digest: &Digest) -> Result<()> {
    association.send(frame::end(digest)).await?;
    match next_frame(association).await? {
        Frame::Verdict(Ok(())) => Ok(()),
        Frame::Verdict(Err(reason)) => bail!("the receiver failed: {reason}"),
        other => bail!("the receiver sent {} instead of a verdict", other.kind()),
    }
}

async fn next_frame(association: &Association) -> Result<Frame> {
    let message = association.receive().await?.context("the receiver ended the association")?;
    Frame::decode(message).context("the receiver broke the transfer protocol")
}

/// A whole number of fragments, so that every packet but the last of a file is full and segmentation offload works.
fn message_size(paths: &[PathStats]) -> usize {
    let fragment = paths.iter().map(|path| {
        let ip = if path.local.is_ipv4() { 20 } else { 40 };
        // UDP header, SCTP common header, DATA chunk header.
        (path.mtu_bytes as usize).saturating_sub(ip + 8 + 12 + 16) & !3
    });
    match fragment.min() {
        Some(fragment) if (1..=MESSAGE_SIZE).contains(&fragment) => {
            MESSAGE_SIZE / fragment * fragment
        }
        _ => MESSAGE_SIZE,
    }
}

/// A thread that reads and hashes.
struct Reader {
    content: mpsc::Receiver<Bytes>,
    thread: JoinHandle<Result<Digest>>,
}

impl Reader {
    fn start(source: Source, message_size: usize) -> Self {
        let (queue, content) = mpsc::channel(MESSAGES_AHEAD);
        Self { content, thread: spawn_blocking(move || read_all(source, message_size, &queue)) }
    }
}

/// Reads as many bytes as the file had when it was opened: what is appended meanwhile is left out.
fn read_all(
    mut source: Source,
    message_size: usize,
    queue: &mpsc::Sender<Bytes>,
) -> Result<Digest> {
    let mut digest = Sha256::new();
    let mut rest = source.size;
    while rest > 0 {
        let len = message_size.min(usize::try_from(rest).unwrap_or(usize::MAX));
        let mut content = BytesMut::zeroed(len);
        source.file.read_exact(&mut content).with_context(|| {
            format!("cannot read {}: it had {} bytes at the beginning", source.name, source.size)
        })?;
        digest.update(&content);
        rest -= len as u64;
        if queue.blocking_send(content.freeze()).is_err() {
            bail!("the transfer ended");
        }
    }
    Ok(digest.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let source = Source::open(&path).unwrap();
        assert_eq!((source.name.as_str(), source.size), ("file", 7));
        let error = Source::open(directory.path()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        let error = Source::open(&directory.path().join("missing")).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let source = Source::open(&path).unwrap();
        std::fs::write(&path, "less").unwrap();
        let (queue, _content) = mpsc::channel(4);
        let error = read_all(source, 100, &queue).unwrap_err();
        assert!(error.to_string().contains("7 bytes at the beginning"), "{error}");
    }

    #[test]
    fn what_is_appended_meanwhile_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let source = Source::open(&path).unwrap();
        std::fs::write(&path, "content and more").unwrap();
        let (queue, mut content) = mpsc::channel(4);
        let digest = read_all(source, 3, &queue).unwrap();
        drop(queue);
        let mut read = Vec::new();
        while let Some(part) = content.blocking_recv() {
            assert!(part.len() <= 3);
            read.extend_from_slice(&part);
        }
        assert_eq!(read, b"content");
        assert_eq!(digest, <[u8; 32]>::from(Sha256::digest(b"content")));
    }
}
