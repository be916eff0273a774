//! Sends files over an association.

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use bytes::{Bytes, BytesMut};
use polypath::{Association, PathStats};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::frame::{self, Digest, Frame, Offer, Reply};
use super::progress::{Progress, Side};
use super::source::Source;
use super::summary::FileSummary;
use super::{fragment_size, name, patiently};

/// Messages read ahead from the disk.
const MESSAGES_AHEAD: usize = 32;
/// Size that data messages come close to: large enough that their cost does not matter, small beside the buffers.
const MESSAGE_SIZE: usize = 64 << 10;

/// How files are sent.
#[derive(Debug)]
pub(crate) struct Settings {
    /// Longest silence of the receiver.
    pub(crate) idle: Duration,
    /// Size of the send buffer in bytes: no message can be larger.
    pub(crate) send_buffer: u64,
    pub(crate) progress: Progress,
}

/// What became of a file.
enum Outcome {
    Stored(Digest),
    /// Not wanted; the next one may be.
    Refused(Error),
    /// Nothing more can be sent.
    Broken(Error),
}

/// Sends files one after the other. `done` gets every file that was tried, stored or not. After an error the association
/// is of no more use.
pub(crate) async fn send_files(
    association: &Association,
    settings: &Settings,
    paths: Vec<PathBuf>,
    done: &mut Vec<FileSummary>,
) -> Result<()> {
    let mut following = u32::try_from(paths.len()).context("too many files")?;
    for path in paths {
        following -= 1;
        let begin = Instant::now();
        let shown = path.file_name().map(|base| name::shown(base.as_encoded_bytes()));
        let shown = shown.unwrap_or_else(|| path.display().to_string());
        let source = match spawn_blocking(move || Source::open(&path)).await? {
            Ok(source) => source,
            // It has gone or changed since it was looked at; the others are still to be sent.
            Err(error) => {
                done.push(FileSummary::failed(shown, &error));
                continue;
            }
        };
        let (name, size) = (source.name().to_owned(), source.size());
        let (file, broken) = match send_file(association, settings, source, following).await {
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
    let _ = super::part(association, settings.idle).await;
    Ok(())
}

async fn send_file(
    association: &Association,
    settings: &Settings,
    source: Source,
    following: u32,
) -> Outcome {
    let offer = Offer { following, size: source.size(), name: source.name().to_owned().into() };
    let answer = match ask(association, settings, &offer).await {
        Ok(answer) => answer,
        Err(error) => return Outcome::Broken(error),
    };
    if let Err(reason) = answer {
        return Outcome::Refused(anyhow!("refused by the receiver: {reason}"));
    }
    let progress = settings.progress.file(Side::Sender, source.name(), source.size(), association);
    let longest = settings.send_buffer.min(association.stats().peer_window_bytes);
    let mut reader = Reader::start(source, message_size(&association.path_stats(), longest));
    let sent = tokio::select! {
        biased;
        early = early_frame(association) => Err(early),
        sent = send_content(association, settings, &mut reader, |bytes| progress.advance(bytes)) => sent,
    };
    let stored = match sent {
        Ok(digest) => finish(association, settings, &digest).await.map(|()| digest),
        Err(error) => Err(error),
    };
    stored.map_or_else(Outcome::Broken, Outcome::Stored)
}

async fn ask(association: &Association, settings: &Settings, offer: &Offer) -> Result<Reply> {
    patiently(association, settings.idle, association.send(frame::offer(offer))).await??;
    match patiently(association, settings.idle, next_frame(association)).await?? {
        Frame::Answer(answer) => Ok(answer),
        other => bail!("the receiver sent {} instead of an answer", other.kind()),
    }
}

/// The receiver says something before it has the whole file.
async fn early_frame(association: &Association) -> Error {
    match next_frame(association).await {
        Ok(Frame::Verdict(Err(reason))) => anyhow!("the receiver failed: {reason}"),
        Ok(other) => anyhow!("the receiver sent {} before the end of the file", other.kind()),
        Err(error) => error,
    }
}

async fn send_content(
    association: &Association,
    settings: &Settings,
    reader: &mut Reader,
    advance: impl Fn(u64),
) -> Result<Digest> {
    while let Some(content) = reader.content.recv().await {
        let len = content.len() as u64;
        let sent = association.send(frame::data(content));
        patiently(association, settings.idle, sent).await??;
        advance(len);
    }
    (&mut reader.thread).await?
}

async fn finish(association: &Association, settings: &Settings, digest: &Digest) -> Result<()> {
    patiently(association, settings.idle, association.send(frame::end(digest))).await??;
    match patiently(association, settings.idle, next_frame(association)).await?? {
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
/// Buffers of `buffer` bytes, at both ends, have room for two such messages if for a fragment at all.
fn message_size(paths: &[PathStats], buffer: u64) -> usize {
    let largest = usize::try_from(buffer / 2).unwrap_or(usize::MAX).clamp(1, MESSAGE_SIZE);
    let fragment = paths.iter().map(|path| fragment_size(path).unwrap_or(0));
    match fragment.min() {
        Some(fragment) if (1..=largest).contains(&fragment) => largest / fragment * fragment,
        _ => largest,
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
    let mut rest = source.size();
    while rest > 0 {
        let len = message_size.min(usize::try_from(rest).unwrap_or(usize::MAX));
        let mut content = BytesMut::zeroed(len);
        source.read_exact(&mut content).with_context(|| {
            format!(
                "cannot read {}: it had {} bytes at the beginning",
                source.name(),
                source.size()
            )
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
    fn messages_fit_the_buffers() {
        assert_eq!(message_size(&[], 1 << 30), MESSAGE_SIZE);
        assert_eq!(message_size(&[], 3000), 1500);
        assert_eq!(message_size(&[], 0), 1);
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
