//! Sends files over an association, or over one after the other.

mod content;
mod pending;
mod said;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use polypath::text::with_causes;
use polypath::{
    Association, AssociationConfig, ConnectError, Endpoint, Message, PathStats, Peer,
    ReceivedMessage,
};
use polypath_units::BitRate;
use tokio::task::spawn_blocking;

use self::pending::{Pending, Sent, What};
use self::said::Said;
use crate::batch::{Batch, Entry};
use crate::error::SendError;
use crate::event::{Event, Observer};
use crate::frame::Pace::{Ahead, Answered, Eager};
use crate::frame::{self, Digest, Frame, Kind, Offer, Version};
use crate::name;
use crate::pace::Pace;
use crate::reader::read_small;
use crate::report::{FileReport, Files, Past, Report, Side};
use crate::small::{MOST_AHEAD, MOST_EAGER};
use crate::source::{Links, Source, SourceError, base_name};
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
    /// Since when the association exists, and how long it did, once it has ended.
    since: Instant,
    lived: Option<Duration>,
    idle_timeout: Duration,
    /// Size of the send buffer in bytes: no message can be larger.
    send_buffer: u64,
    pace: Pace,
    observer: Observer,
    files: Files,
    /// What is to be sent, and how many entries of it are done with.
    batch: Batch,
    done: usize,
    /// What became of entries behind the first that is not done with.
    ended: BTreeMap<usize, Ended>,
    /// What the receiver says that it knows and takes.
    said: Arc<Said>,
    /// Bytes of the first file that is not done with which observers have heard of; none before they know that it has begun.
    shown: Option<u64>,
    /// What was sent over associations that have ended.
    past: Past,
    error: Option<String>,
}

/// What became of an entry, for the report and for observers.
#[derive(Debug)]
enum Ended {
    /// They have heard of its beginning, if it had one.
    Now(FileReport),
    /// It was sent among others: they hear of its beginning with its end.
    AtOnce(FileReport),
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
            since: Instant::now(),
            lived: None,
            idle_timeout: IDLE_TIMEOUT,
            send_buffer,
            pace: Pace::default(),
            observer: Observer::default(),
            files: Files::all(),
            batch: Batch::default(),
            done: 0,
            ended: BTreeMap::new(),
            said: Arc::default(),
            shown: None,
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
        let times = [self.begin.elapsed(), self.lived()];
        let report = Report::new(Side::Sender, &self.association, self.files, times, self.error);
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
        self.ended.clear();
        if let Some(entry) = self.batch.entries().get(self.done) {
            let shown = name::shown(entry.name().as_bytes());
            self.conclude(self.done, Ended::Now(FileReport::failed(shown, reason.clone())));
        }
        self.abort(reason);
    }

    /// The association has ended.
    pub(crate) fn association_ended(&mut self) {
        self.lived = Some(self.lived());
    }

    fn lived(&self) -> Duration {
        self.lived.unwrap_or_else(|| self.since.elapsed())
    }

    /// Goes on over another association, since the present one has ended.
    pub(crate) fn continue_over(&mut self, association: Association) {
        let lived = self.lived();
        self.past.add(Side::Sender, &self.association, lived);
        (self.since, self.lived) = (Instant::now(), None);
        self.version = Version::of_peer(&association);
        self.said = Arc::default();
        self.shown = None;
        self.association = association;
        // What the receiver has of them, it has; that will be seen.
        self.ended.clear();
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
        self.ask_about_hidden().await?;
        // What is pending comes before the next one.
        for place in self.done..self.batch.len() {
            self.send_wanted(&mut pending).await?;
            self.send_entry(place, &mut pending).await?;
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

    async fn send_entry(&mut self, place: usize, pending: &mut Pending) -> Result<(), SendError> {
        let Some(entry) = self.batch.entries().get(place).cloned() else { return Ok(()) };
        let following = u32::try_from(self.batch.len() - place - 1).unwrap_or(u32::MAX);
        let begin = Instant::now();
        let shown = name::shown(entry.name().as_bytes());
        if self.version < Version::Second && !entry.is_single_file() {
            let reason =
                "the receiver has an older version of this program, which takes single files only";
            self.conclude(place, Ended::Now(FileReport::refused(shown, reason.to_owned())));
            return Ok(());
        }
        if let Entry::Directory { name } = &entry {
            let offer = frame::offer(&self.offer_of(following, name, Kind::Directory));
            self.say_beside(offer, pending).await?;
            pending.push(Sent { place, name: shown, bytes: 0, begin, what: What::Directory });
            return Ok(());
        }
        let source = match open(entry).await? {
            Ok(source) => source,
            // It has gone or changed since it was looked at; the others are still to be sent.
            Err(error) => {
                self.conclude(place, Ended::Now(FileReport::failed(shown, with_causes(&error))));
                return Ok(());
            }
        };
        match source.size() {
            Some(bytes) if bytes <= MOST_EAGER && self.version >= Version::Second => {
                let offer = Offer { pace: Eager, ..self.offer_of_file(following, &source) };
                let (content, digest) = spawn_blocking(move || read_small(source, bytes)).await??;
                self.say_beside(frame::offer(&offer), pending).await?;
                self.send_small((content, digest), pending).await?;
                let what = What::Content(digest);
                pending.push(Sent { place, name: shown, bytes, begin, what });
                return Ok(());
            }
            Some(bytes) if self.may_offer_ahead(bytes) => {
                let version = ahead_version(bytes);
                let offer = self.offer_of_file(following, &source);
                let offer = Offer { version, pace: Ahead, ..offer };
                self.say_beside(frame::offer(&offer), pending).await?;
                pending.push(Sent { place, name: shown, bytes, begin, what: What::Offer });
                return Ok(());
            }
            _ => {}
        }
        self.settle_all(pending).await?;
        self.send_alone(place, source, begin).await
    }

    /// Sends a file between whose offer and whose verdict nothing else is on its way.
    async fn send_alone(
        &mut self,
        place: usize,
        source: Source,
        begin: Instant,
    ) -> Result<(), SendError> {
        let following = u32::try_from(self.batch.len() - place - 1).unwrap_or(u32::MAX);
        let shown = name::shown(source.name().as_bytes());
        let file = match self.send_file(source, following).await {
            Outcome::Stored { digest, bytes, resumed } => {
                FileReport::stored(shown, bytes, resumed, &digest, begin.elapsed())
            }
            Outcome::There(what) => FileReport::there(shown, what),
            Outcome::Refused(reason) => FileReport::refused(shown, reason),
            Outcome::Broken(error) => return Err(error),
        };
        self.conclude(place, Ended::Now(file));
        Ok(())
    }

    fn may_offer_ahead(&self, bytes: u64) -> bool {
        self.version >= Version::Second && self.said.version() >= ahead_version(bytes) as u8
    }

    /// Lets observers know that so many bytes of an entry were sent, if those before it are done with.
    fn show(&mut self, place: usize, (name, bytes): (&str, u64), sent: u64) {
        if place != self.done {
            return;
        }
        let shown = match self.shown {
            Some(shown) => shown,
            None => {
                self.observer.hear(&Event::Begun { name: name.to_owned(), bytes });
                0
            }
        };
        self.shown = Some(sent);
        if sent > shown {
            self.observer.hear(&Event::Progress { bytes: sent - shown });
        }
    }

    /// Takes note of what became of an entry. Those before it come first.
    fn conclude(&mut self, place: usize, ended: Ended) {
        self.ended.insert(place, ended);
        while let Some(ended) = self.ended.remove(&self.done) {
            let file = match ended {
                Ended::Now(file) => file,
                Ended::AtOnce(file) => {
                    self.show(self.done, (&file.name, file.bytes), file.bytes);
                    file
                }
            };
            self.shown = None;
            self.observer.hear(&Event::Ended { file: file.clone(), warning: None });
            self.files.add(file);
            self.done += 1;
        }
    }

    fn offer_of(&self, following: u32, name: &str, kind: Kind) -> Offer {
        Offer {
            version: self.version,
            following,
            size: Some(0),
            kind,
            pace: Answered,
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
        let next = next_frame(&self.association, &self.said);
        while_progressing(&self.association, self.idle_timeout, next).await?
    }
}

fn refused(reason: &str) -> String {
    format!("refused by the receiver: {reason}")
}

/// Opens a file, or standard input.
async fn open(entry: Entry) -> Result<Result<Source, SourceError>, SendError> {
    let open = move || match entry {
        Entry::Input { name } | Entry::Directory { name } => Ok(Source::input(&name)),
        Entry::File { path, name, links } => Source::open(&path, &name, links),
        Entry::Unknown { path } => Source::open(&path, &base_name(&path)?, Links::Follow),
    };
    Ok(spawn_blocking(open).await?)
}

/// The version of an offer ahead of others of a file of so many bytes.
fn ahead_version(bytes: u64) -> Version {
    if bytes <= MOST_AHEAD { Version::Third } else { Version::Fourth }
}

/// The next frame that says something. Notes the version that the receiver says it knows.
async fn next_frame(association: &Association, said: &Said) -> Result<Frame, SendError> {
    loop {
        let message = association.receive().await?.ok_or(SendError::ReceiverLeft)?;
        if let Some(frame) = understand(message, said)? {
            return Ok(frame);
        }
    }
}

fn understand(message: ReceivedMessage, said: &Said) -> Result<Option<Frame>, SendError> {
    match Frame::decode(message).map_err(SendError::Protocol)? {
        Frame::Working(hello) => {
            said.note(hello);
            Ok(None)
        }
        frame => Ok(Some(frame)),
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
