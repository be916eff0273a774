//! Sends files over an association.

use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use polypath::text::with_causes;
use polypath::{Association, AssociationConfig, ConnectError, Endpoint, Message, PathStats, Peer};
use sha2::{Digest as _, Sha256};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::error::SendError;
use crate::event::{Event, Observer};
use crate::frame::{self, Digest, Frame, Offer, Reply};
use crate::name;
use crate::report::{FileReport, Files, Report, Side};
use crate::source::Source;
use crate::wait::{shut_down, while_progressing};

/// Messages read ahead from the disk.
const MESSAGES_AHEAD: usize = 32;
/// Size that data messages come close to: large enough that their cost does not matter, small beside the buffers.
const MESSAGE_SIZE: usize = 64 << 10;
/// Default of the idle timeout: a receiver must be able to write a file to its disk within it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// Sends files over an association, one after the other.
///
/// ```no_run
/// # async fn example(endpoint: polypath::Endpoint, peer: polypath::Peer) -> Result<(), Box<dyn std::error::Error>> {
/// use polypath::Preset;
/// use polypath_transfer::{Event, Sender, association_config};
///
/// let config = association_config(Preset::Recommended);
/// let mut sender = Sender::connect(&endpoint, &peer, config).await?.on_event(|event| {
///     if let Event::Ended { file, .. } = event {
///         println!("{}: {:?}", file.name, file.status);
///     }
/// });
/// sender.send(["film.mkv", "subtitles.srt"]).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Sender {
    association: Association,
    begin: Instant,
    idle_timeout: Duration,
    /// Size of the send buffer in bytes: no message can be larger.
    send_buffer: u64,
    observer: Observer,
    files: Files,
    error: Option<String>,
}

/// What became of a file.
enum Outcome {
    Stored(Digest),
    /// Not wanted; the next one may be.
    Refused(String),
    /// Nothing more can be sent.
    Broken(SendError),
}

impl Sender {
    /// Connects to a receiver. [`association_config`](crate::association_config) has settings that suit files.
    ///
    /// # Errors
    ///
    /// There is no association, for the reasons of [`Endpoint::connect`].
    pub async fn connect(
        endpoint: &Endpoint,
        peer: &Peer,
        config: AssociationConfig,
    ) -> Result<Self, ConnectError> {
        let send_buffer = config.send_buffer_bytes;
        let association = endpoint.connect(peer, config).await?;
        Ok(Self::new(association).send_buffer_bytes(send_buffer))
    }

    /// A sender over an established association that carries nothing else.
    pub fn new(association: Association) -> Self {
        let send_buffer = association.stats().send_buffer_size_bytes;
        Self {
            association,
            begin: Instant::now(),
            idle_timeout: IDLE_TIMEOUT,
            send_buffer,
            observer: Observer::default(),
            files: Files::all(),
            error: None,
        }
    }

    /// Longest time without any progress before the association is aborted. Default: 300 s. The receiver must be able to
    /// write a file to its disk within that time.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }

    /// The size that the send buffer may grow to: messages are made to fit. Default: what [`connect`](Self::connect) was
    /// given, or the present size.
    #[must_use]
    pub fn send_buffer_bytes(mut self, bytes: u64) -> Self {
        self.send_buffer = bytes;
        self
    }

    /// Calls `observe` for each [`Event`], in the task that sends: it must not block.
    #[must_use]
    pub fn on_event(mut self, observe: impl FnMut(&Event) + Send + 'static) -> Self {
        self.observer = Observer::new(observe);
        self
    }

    /// The association.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// The files that were tried so far, stored or not.
    pub fn files(&self) -> &[FileReport] {
        self.files.kept()
    }

    /// The report of the transfer so far.
    pub fn into_report(self) -> Report {
        Report::new(Side::Sender, &self.association, self.files, self.begin.elapsed(), self.error)
    }

    /// Sends files, and ends the association when the receiver has stored or refused the last of them. A file that is not
    /// sent, because it cannot be opened or the receiver refuses it, is in [`files`](Self::files) and no error: the others
    /// are sent. [`check_files`](crate::check_files) finds many of these before.
    ///
    /// If the future is dropped, [`abort`](Self::abort) must follow.
    ///
    /// # Errors
    ///
    /// The receiver or the association failed, the receiver was [idle](Self::idle_timeout) for too long, or a file could not be
    /// read to its end. The association is aborted, and the receiver keeps nothing that is incomplete.
    pub async fn send<P>(&mut self, paths: impl IntoIterator<Item = P>) -> Result<(), SendError>
    where
        P: Into<PathBuf>,
    {
        let paths = paths.into_iter().map(Into::into).collect();
        let sent = self.send_files(paths).await;
        if let Err(error) = &sent {
            self.abort(with_causes(error));
        }
        sent
    }

    /// Aborts the association. `reason` is sent to the receiver and is the error of the report.
    pub fn abort(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        self.association.abort(reason.clone());
        self.error = Some(reason);
    }

    async fn send_files(&mut self, paths: Vec<PathBuf>) -> Result<(), SendError> {
        let mut following = u32::try_from(paths.len()).map_err(SendError::TooManyFiles)?;
        for path in paths {
            following -= 1;
            let begin = Instant::now();
            let shown = path.file_name().map(|base| name::shown(base.as_encoded_bytes()));
            let shown = shown.unwrap_or_else(|| path.display().to_string());
            let source = match spawn_blocking(move || Source::open(&path)).await? {
                Ok(source) => source,
                // It has gone or changed since it was looked at; the others are still to be sent.
                Err(error) => {
                    self.conclude(FileReport::failed(shown, with_causes(&error)));
                    continue;
                }
            };
            let (name, size) = (source.name().to_owned(), source.size());
            let (file, broken) = match self.send_file(source, following).await {
                Outcome::Stored(digest) => {
                    (FileReport::stored(name, size, &digest, begin.elapsed()), None)
                }
                Outcome::Refused(reason) => (FileReport::refused(name, reason), None),
                Outcome::Broken(error) => {
                    (FileReport::failed(name, with_causes(&error)), Some(error))
                }
            };
            self.conclude(file);
            if let Some(error) = broken {
                return Err(error);
            }
        }
        // Every file is on the receiver's disk, whatever becomes of the association.
        let _ = shut_down::<SendError>(&self.association, self.idle_timeout).await;
        Ok(())
    }

    fn conclude(&mut self, file: FileReport) {
        self.observer.hear(&Event::Ended { file: file.clone(), warning: None });
        self.files.add(file);
    }

    async fn send_file(&mut self, source: Source, following: u32) -> Outcome {
        let offer = Offer { following, size: source.size(), name: source.name().to_owned().into() };
        let answer = match self.ask(&offer).await {
            Ok(answer) => answer,
            Err(error) => return Outcome::Broken(error),
        };
        if let Err(reason) = answer {
            return Outcome::Refused(format!("refused by the receiver: {reason}"));
        }
        let (name, bytes) = (source.name().to_owned(), source.size());
        self.observer.hear(&Event::Begun { name, bytes });
        let association = self.association.clone();
        let longest = self.send_buffer.min(association.stats().peer_window_bytes);
        let mut reader = Reader::start(source, message_size(&association.path_stats(), longest));
        let sent = tokio::select! {
            biased;
            early = early_frame(&association) => Err(early),
            sent = self.send_content(&mut reader) => sent,
        };
        let stored = match sent {
            Ok(digest) => self.finish(&digest).await.map(|()| digest),
            Err(error) => Err(error),
        };
        stored.map_or_else(Outcome::Broken, Outcome::Stored)
    }

    async fn ask(&mut self, offer: &Offer) -> Result<Reply, SendError> {
        self.say(frame::offer(offer)).await?;
        match self.hear().await? {
            Frame::Answer(answer) => Ok(answer),
            other => Err(out_of_turn(&other, "instead of an answer")),
        }
    }

    async fn send_content(&mut self, reader: &mut Reader) -> Result<Digest, SendError> {
        while let Some(content) = reader.content.recv().await {
            let bytes = content.len() as u64;
            self.say(frame::data(content)).await?;
            self.observer.hear(&Event::Progress { bytes });
        }
        (&mut reader.thread).await?
    }

    async fn finish(&mut self, digest: &Digest) -> Result<(), SendError> {
        self.say(frame::end(digest)).await?;
        match self.hear().await? {
            Frame::Verdict(Ok(())) => Ok(()),
            Frame::Verdict(Err(reason)) => Err(SendError::ReceiverFailed(reason)),
            other => Err(out_of_turn(&other, "instead of a verdict")),
        }
    }

    async fn say(&mut self, message: Message) -> Result<(), SendError> {
        Ok(while_progressing(&self.association, self.idle_timeout, self.association.send(message))
            .await??)
    }

    async fn hear(&mut self) -> Result<Frame, SendError> {
        while_progressing(&self.association, self.idle_timeout, next_frame(&self.association))
            .await?
    }
}

/// The receiver says something before it has the whole file.
async fn early_frame(association: &Association) -> SendError {
    match next_frame(association).await {
        Ok(Frame::Verdict(Err(reason))) => SendError::ReceiverFailed(reason),
        Ok(other) => out_of_turn(&other, "before the end of the file"),
        Err(error) => error,
    }
}

async fn next_frame(association: &Association) -> Result<Frame, SendError> {
    let message = association.receive().await?.ok_or(SendError::ReceiverLeft)?;
    Frame::decode(message).map_err(SendError::Protocol)
}

fn out_of_turn(frame: &Frame, place: &'static str) -> SendError {
    SendError::OutOfTurn { found: frame.kind(), place }
}

/// A whole number of fragments, so that every packet but the last of a file is full and segmentation offload works.
/// Buffers of `buffer` bytes, at both ends, have room for two such messages if for a fragment at all.
fn message_size(paths: &[PathStats], buffer: u64) -> usize {
    let largest = usize::try_from(buffer / 2).unwrap_or(usize::MAX).clamp(1, MESSAGE_SIZE);
    match paths.iter().map(|path| path.full_fragment_bytes as usize).min() {
        Some(fragment) if (1..=largest).contains(&fragment) => largest / fragment * fragment,
        _ => largest,
    }
}

/// A thread that reads and hashes.
struct Reader {
    content: mpsc::Receiver<Bytes>,
    thread: JoinHandle<Result<Digest, SendError>>,
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
) -> Result<Digest, SendError> {
    let mut digest = Sha256::new();
    let mut rest = source.size();
    while rest > 0 {
        let len = message_size.min(usize::try_from(rest).unwrap_or(usize::MAX));
        let mut content = BytesMut::zeroed(len);
        if let Err(error) = source.read_exact(&mut content) {
            let (name, bytes) = (source.name().to_owned(), source.size());
            return Err(SendError::Read { name, bytes, source: error });
        }
        digest.update(&content);
        rest -= len as u64;
        if queue.blocking_send(content.freeze()).is_err() {
            return Err(SendError::Ended);
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
