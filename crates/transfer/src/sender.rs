//! Sends files over an association, or over one after the other.

mod content;
mod pending;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use polypath::text::with_causes;
use polypath::{Association, AssociationConfig, ConnectError, Endpoint, Message, PathStats, Peer};
use polypath_units::BitRate;
use tokio::task::spawn_blocking;

use self::pending::{Pending, Sent};
use crate::batch::{Batch, Entry};
use crate::error::SendError;
use crate::event::{Event, Observer};
use crate::frame::{self, Digest, Frame, Kind, Offer, Version};
use crate::name;
use crate::pace::Pace;
use crate::report::{FileReport, Files, Past, Report, Side};
use crate::small::MOST_EAGER;
use crate::source::{Links, Source, base_name};
use crate::wait::{shut_down, while_progressing};

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
    version: Version,
    begin: Instant,
    idle_timeout: Duration,
    /// Size of the send buffer in bytes: no message can be larger.
    send_buffer: u64,
    pace: Pace,
    observer: Observer,
    files: Files,
    /// What is to be sent, and how many entries of it are done with.
    batch: Batch,
    done: usize,
    /// What was sent over associations that have ended.
    past: Past,
    error: Option<String>,
}

/// What became of a file.
enum Outcome {
    Stored {
        digest: Digest,
        bytes: u64,
        resumed: u64,
    },
    /// It need not be sent.
    There(String),
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
            version: Version::of_peer(&association),
            association,
            begin: Instant::now(),
            idle_timeout: IDLE_TIMEOUT,
            send_buffer,
            pace: Pace::default(),
            observer: Observer::default(),
            files: Files::all(),
            batch: Batch::default(),
            done: 0,
            past: Past::default(),
            error: None,
        }
    }

    /// Longest time without any progress before the association is aborted. Default: 300 s. The receiver must be able to
    /// write a file to its disk within that time, if it has version 1 of the protocol.
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

    /// Sends content no faster than this, on average. Default: as fast as the paths allow.
    #[must_use]
    pub fn limit_rate(mut self, rate: Option<BitRate>) -> Self {
        self.pace = Pace::of(rate);
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
        let elapsed = self.begin.elapsed();
        let report = Report::new(Side::Sender, &self.association, self.files, elapsed, self.error);
        report.after(self.past)
    }

    /// Sends files and directories, and ends the association when the receiver has stored or refused the last of them. A file that is not
    /// sent, because it cannot be opened or the receiver refuses it, is in [`files`](Self::files) and no error: the others
    /// are sent. [`check_files`](crate::check_files) finds many of these before.
    ///
    /// If the future is dropped, [`abort`](Self::abort) must follow.
    ///
    /// # Errors
    ///
    /// The receiver or the association failed, the receiver was [idle](Self::idle_timeout) for too long, or a file could not be
    /// read to its end. The association is aborted. The receiver may keep what came of a file, for a later attempt.
    pub async fn send<P>(&mut self, paths: impl IntoIterator<Item = P>) -> Result<(), SendError>
    where
        P: Into<PathBuf>,
    {
        self.send_batch(Batch::lenient(paths.into_iter().map(Into::into))).await
    }

    /// The same for a batch that was checked before.
    ///
    /// # Errors
    ///
    /// Those of [`send`](Self::send).
    pub async fn send_batch(&mut self, batch: Batch) -> Result<(), SendError> {
        self.begin_batch(batch);
        let sent = self.go_on().await;
        if let Err(error) = &sent {
            self.give_up(error);
        }
        sent
    }

    /// Aborts the association. `reason` is sent to the receiver and is the error of the report.
    pub fn abort(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        self.association.abort(reason.clone());
        self.error = Some(reason);
    }

    /// Begins with a batch.
    pub(crate) fn begin_batch(&mut self, batch: Batch) {
        (self.batch, self.done) = (batch, 0);
    }

    /// The file that was being sent has failed for good, and with it the transfer.
    pub(crate) fn give_up(&mut self, error: &SendError) {
        let reason = with_causes(error);
        if let Some(entry) = self.batch.entries().get(self.done) {
            self.conclude(FileReport::failed(name::shown(entry.name().as_bytes()), reason.clone()));
        }
        self.abort(reason);
    }

    /// Goes on over another association, since the present one has ended.
    pub(crate) fn continue_over(&mut self, association: Association) {
        let elapsed = self.begin.elapsed();
        self.past.add(Side::Sender, &self.association, elapsed);
        self.version = Version::of_peer(&association);
        self.association = association;
    }

    /// Whether what is sent now can be sent again.
    pub(crate) fn can_begin_again(&self) -> bool {
        !matches!(self.batch.entries().get(self.done), Some(Entry::Input { .. }))
    }

    /// Entries of the batch that are done with.
    pub(crate) fn done(&self) -> usize {
        self.done
    }

    pub(crate) fn tell(&mut self, event: &Event) {
        self.observer.hear(event);
    }

    /// Sends what is left of the batch.
    pub(crate) async fn go_on(&mut self) -> Result<(), SendError> {
        u32::try_from(self.batch.len()).map_err(SendError::TooManyFiles)?;
        let mut pending = Pending::default();
        // What is pending comes before the next one.
        let mut next = self.done;
        while let Some(entry) = self.batch.entries().get(next).cloned() {
            let following = u32::try_from(self.batch.len() - next - 1).unwrap_or(u32::MAX);
            next += 1;
            self.send_entry(entry, following, &mut pending).await?;
            self.take_answers(&mut pending)?;
            while pending.is_full() {
                self.settle(&mut pending).await?;
            }
        }
        self.settle_all(&mut pending).await?;
        // Every file is on the receiver's disk, whatever becomes of the association.
        let _ = shut_down::<SendError>(&self.association, self.idle_timeout).await;
        Ok(())
    }

    async fn send_entry(
        &mut self,
        entry: Entry,
        following: u32,
        pending: &mut Pending,
    ) -> Result<(), SendError> {
        let begin = Instant::now();
        let shown = name::shown(entry.name().as_bytes());
        if self.version < Version::Second && !entry.is_single_file() {
            let reason =
                "the receiver has an older version of this program, which takes single files only";
            let file = FileReport::refused(shown, reason.to_owned());
            return self.settle_and_conclude(pending, file).await;
        }
        let opened = match entry {
            Entry::Directory { name } => {
                let offer = frame::offer(&self.offer_of(following, &name, Kind::Directory));
                self.say_beside(offer, pending).await?;
                let (kind, digest) = (Kind::Directory, Digest::default());
                pending.push(Sent { name: shown, kind, bytes: 0, digest, begin });
                return Ok(());
            }
            Entry::Input { name } => Ok(Source::input(&name)),
            Entry::File { path, name, links } => {
                spawn_blocking(move || Source::open(&path, &name, links)).await?
            }
            Entry::Unknown { path } => {
                let open = move || Source::open(&path, &base_name(&path)?, Links::Follow);
                spawn_blocking(open).await?
            }
        };
        let source = match opened {
            Ok(source) => source,
            // It has gone or changed since it was looked at; the others are still to be sent.
            Err(error) => {
                let file = FileReport::failed(shown, with_causes(&error));
                return self.settle_and_conclude(pending, file).await;
            }
        };
        if let Some(bytes) = source.size().filter(|bytes| *bytes <= MOST_EAGER)
            && self.version >= Version::Second
        {
            let digest = self.send_small(source, (following, bytes), pending).await?;
            pending.push(Sent { name: shown, kind: Kind::File, bytes, digest, begin });
            return Ok(());
        }
        self.settle_all(pending).await?;
        let file = match self.send_file(source, following).await {
            Outcome::Stored { digest, bytes, resumed } => {
                FileReport::stored(shown, bytes, resumed, &digest, begin.elapsed())
            }
            Outcome::There(what) => FileReport::there(shown, what),
            Outcome::Refused(reason) => FileReport::refused(shown, reason),
            Outcome::Broken(error) => return Err(error),
        };
        self.conclude(file);
        Ok(())
    }

    fn conclude(&mut self, file: FileReport) {
        self.observer.hear(&Event::Ended { file: file.clone(), warning: None });
        self.files.add(file);
        self.done += 1;
    }

    fn offer_of(&self, following: u32, name: &str, kind: Kind) -> Offer {
        Offer {
            version: self.version,
            following,
            size: Some(0),
            kind,
            eager: false,
            mode: None,
            modified: None,
            name: name.to_owned().into(),
        }
    }

    fn offer_of_file(&self, following: u32, source: &Source) -> Offer {
        let (size, mode, modified) = (source.size(), source.mode(), source.modified());
        Offer { size, mode, modified, ..self.offer_of(following, source.name(), Kind::File) }
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

fn refused(reason: &str) -> String {
    format!("refused by the receiver: {reason}")
}

/// The next frame that says something.
async fn next_frame(association: &Association) -> Result<Frame, SendError> {
    loop {
        let message = association.receive().await?.ok_or(SendError::ReceiverLeft)?;
        match Frame::decode(message).map_err(SendError::Protocol)? {
            Frame::Working => {}
            frame => return Ok(frame),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_fit_the_buffers() {
        assert_eq!(message_size(&[], 1 << 30), MESSAGE_SIZE);
        assert_eq!(message_size(&[], 3000), 1500);
        assert_eq!(message_size(&[], 0), 1);
    }
}
