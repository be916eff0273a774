//! Receives the files of one association.

use std::path::PathBuf;
use std::time::Instant;

use polypath::text::with_causes;
use polypath::{Association, Message, ReceivedMessage};
use tokio::time::timeout;

use crate::destination::{Existing, FileError, PartialFile};
use crate::error::{ReceiveError, Violation};
use crate::event::{Event, Observer};
use crate::frame::{self, Digest, Frame, Offer};
use crate::limits::{PeerLimits, Watch};
use crate::name;
use crate::quota::{Account, Quota};
use crate::report::{FileReport, Files, Report, Side};
use crate::wait::{SHUTDOWN_LIMIT, shut_down, watched};
use crate::writer::{Finished, Stopped, Writer};

/// Longest message with content; no sender makes one that comes near. Bounds the memory that a peer can take.
const LONGEST_MESSAGE: usize = 512 << 10;

/// Receives the files of one association, of which [`Inbox::accept`](crate::Inbox::accept) makes one for each sender.
///
/// ```no_run
/// # async fn example(endpoint: polypath::Endpoint) -> Result<(), Box<dyn std::error::Error>> {
/// let inbox = polypath_transfer::Inbox::new("downloads");
/// inbox.prepare()?;
/// let mut receiver = inbox.accept(&endpoint).await?;
/// let received = tokio::select! {
///     received = receiver.run() => received,
///     _ = tokio::time::sleep(std::time::Duration::from_secs(60)) => {
///         receiver.abort("a minute is over").await;
///         Ok(())
///     }
/// };
/// println!("{received:?}: {:?}", receiver.into_report().files);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Receiver {
    association: Association,
    rules: Rules,
    begin: Instant,
    watch: Watch,
    observer: Observer,
    current: Option<Current>,
    files: Files,
    account: Account,
    error: Option<String>,
}

/// Where received files go, which of them are accepted, and how slow and how demanding a sender may be.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) directory: PathBuf,
    pub(crate) existing: Existing,
    /// Whether names that begin with a dot are accepted.
    pub(crate) accepts_hidden: bool,
    pub(crate) limits: PeerLimits,
    pub(crate) quota: Quota,
}

/// The file that is being received.
#[derive(Debug)]
struct Current {
    name: String,
    size: u64,
    begin: Instant,
    writer: Writer,
}

/// Why content does not come any more.
enum Stop {
    /// The file failed, and the peer is to know.
    File(FileError),
    /// Nothing more comes of this association.
    Association(ReceiveError),
}

impl Receiver {
    pub(crate) fn new(association: Association, rules: Rules) -> Self {
        let watch = Watch::new(rules.limits, association.progress_bytes());
        let quota = rules.quota;
        Self {
            association,
            rules,
            begin: Instant::now(),
            watch,
            observer: Observer::default(),
            current: None,
            files: Files::at_most(quota.max_summaries),
            account: Account::new(quota),
            error: None,
        }
    }

    /// Calls `observe` for each [`Event`], in the task that receives: it must not block.
    #[must_use]
    pub fn on_event(mut self, observe: impl FnMut(&Event) + Send + 'static) -> Self {
        self.observer = Observer::new(observe);
        self
    }

    /// The association.
    pub fn association(&self) -> &Association {
        &self.association
    }

    /// The files that were offered so far, stored or not: as many of them as the [`Quota`](crate::Quota) allows summaries.
    pub fn files(&self) -> &[FileReport] {
        self.files.kept()
    }

    /// The report of the transfer so far.
    pub fn into_report(self) -> Report {
        let elapsed = self.begin.elapsed();
        Report::new(Side::Receiver, &self.association, self.files, elapsed, self.error)
    }

    /// Receives all files that the sender announces, and ends the association. A file that is refused is in
    /// [`files`](Self::files) and no error: the others are received.
    ///
    /// If the future is dropped, [`abort`](Self::abort) must follow.
    ///
    /// # Errors
    ///
    /// A file or the association failed, or the sender broke the protocol or was slower than the [`PeerLimits`] of the inbox
    /// allow. The association is aborted, and nothing incomplete is left.
    pub async fn run(&mut self) -> Result<(), ReceiveError> {
        let received = self.receive_files().await;
        if let Err(error) = &received {
            self.abort(with_causes(error)).await;
        }
        received
    }

    /// Aborts the association. `reason` is sent to the sender and is the error of the report. Incomplete files are removed
    /// first.
    pub async fn abort(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        self.discard(&reason).await;
        self.association.abort(reason.clone());
        self.error = Some(reason);
    }

    async fn receive_files(&mut self) -> Result<(), ReceiveError> {
        let mut left = None;
        loop {
            let message = self.hear().await?.ok_or(ReceiveError::SenderLeft)?;
            let offer = match Frame::decode(message) {
                Ok(Frame::Offer(offer)) => offer,
                Ok(other) => return Err(violation(Violation::NoOffer(other.kind()))),
                Err(error) => return Err(violation(error.into())),
            };
            if left.is_some_and(|left| offer.following >= left) {
                return Err(violation(Violation::EndlessOffers(offer.following)));
            }
            left = Some(offer.following);
            self.receive_file(&offer).await?;
            if offer.following == 0 {
                break;
            }
        }
        shut_down(&self.association, self.rules.limits.idle_timeout).await
    }

    async fn receive_file(&mut self, offer: &Offer) -> Result<(), ReceiveError> {
        let begun = self.begin(offer).await;
        let reply = begun.as_ref().map(|_| ()).map_err(|error| with_causes(error));
        self.say(frame::answer(&reply)).await?;
        if let Err(reason) = reply {
            self.current = None;
            self.conclude(FileReport::refused(name::shown(&offer.name), reason), None);
            return self.account.refused().map_err(ReceiveError::Refused);
        }
        self.account.accepted(offer.size);
        match self.take_content(offer).await {
            Ok(()) => self.say(frame::verdict(&Ok(()))).await,
            Err(Stop::Association(error)) => Err(error),
            Err(Stop::File(error)) => {
                let reason = with_causes(&error);
                self.discard(&reason).await;
                self.refuse_rest(reason).await;
                Err(error.into())
            }
        }
    }

    async fn begin(&mut self, offer: &Offer) -> Result<(), FileError> {
        self.account.check(offer.size)?;
        let rules = &self.rules;
        let name = name::check(&offer.name)?.to_owned();
        if !rules.accepts_hidden {
            name::check_visible(&name)?;
        }
        let (size, directory, existing) = (offer.size, rules.directory.clone(), rules.existing);
        let shown = name::shown(&offer.name);
        let writer = Writer::start(move || PartialFile::create(&directory, &name, size, existing));
        let current = Current { name: shown, size, begin: Instant::now(), writer };
        self.current.insert(current).writer.begun().await
    }

    /// Receives and stores the file that was begun.
    async fn take_content(&mut self, offer: &Offer) -> Result<(), Stop> {
        let Some(current) = &self.current else { return Ok(()) };
        self.observer.hear(&Event::Begun { name: current.name.clone(), bytes: offer.size });
        let claimed = self.collect(offer.size).await?;
        let Some(current) = &mut self.current else { return Ok(()) };
        let finished = current.writer.store(claimed).await.map_err(Stop::File)?;
        if let Some(current) = self.current.take() {
            self.conclude(current.finished(&finished), finished.warning());
        }
        Ok(())
    }

    /// Hands content to the writer until the end, and gives the digest that the peer claims.
    async fn collect(&mut self, size: u64) -> Result<Digest, Stop> {
        let mut received = 0_u64;
        loop {
            let message = match self.hear().await {
                Ok(Some(message)) => message,
                Ok(None) => return Err(Stop::Association(ReceiveError::SenderStopped)),
                Err(error) => return Err(Stop::Association(error)),
            };
            match Frame::decode(message).map_err(|error| broken(error.into()))? {
                Frame::Data(message) if message.len() > LONGEST_MESSAGE => {
                    return Err(broken(Violation::LongMessage(message.len())));
                }
                Frame::Data(message) => {
                    let bytes = message.len() as u64;
                    received += bytes;
                    if received > size {
                        return Err(Stop::File(FileError::TooLong(size)));
                    }
                    self.write(message).await?;
                    self.observer.hear(&Event::Progress { bytes });
                }
                Frame::End(_) if received < size => {
                    return Err(Stop::File(FileError::TooShort { received, offered: size }));
                }
                Frame::End(digest) => return Ok(digest),
                other => return Err(broken(Violation::WithinFile(other.kind()))),
            }
        }
    }

    async fn write(&mut self, message: ReceivedMessage) -> Result<(), Stop> {
        let Some(current) = &mut self.current else { return Ok(()) };
        match current.writer.write(message).await {
            Ok(()) => Ok(()),
            // The disk is the cause if the writer has stopped, and the peer is to know.
            Err(Stopped) => Err(Stop::File(current.writer.failure().await)),
        }
    }

    /// Discards the file that is being received, if any, and waits until it is removed.
    async fn discard(&mut self, reason: &str) {
        // It stays in its place meanwhile, so that another attempt can follow one that was dropped.
        let Some(current) = &mut self.current else { return };
        let finished = current.writer.discard().await;
        let Some(current) = self.current.take() else { return };
        match finished {
            Some(finished) => self.conclude(current.finished(&finished), finished.warning()),
            None => self.conclude(FileReport::failed(current.name, reason.to_owned()), None),
        }
    }

    fn conclude(&mut self, file: FileReport, warning: Option<&str>) {
        let warning = warning.map(str::to_owned);
        self.observer.hear(&Event::Ended { file: file.clone(), warning });
        self.files.add(file);
    }

    /// Reports to the sender that the file failed, and waits briefly for its confirmation.
    async fn refuse_rest(&mut self, reason: String) {
        let understood = async {
            let verdict = frame::verdict(&Err(reason));
            if self.association.send(verdict).await.is_ok() {
                while let Ok(Some(_)) = self.association.receive().await {}
            }
        };
        // If it has not, the association is aborted anyway, and that says the same.
        let _ = timeout(SHUTDOWN_LIMIT, understood).await;
    }

    async fn hear(&mut self) -> Result<Option<ReceivedMessage>, ReceiveError> {
        let association = &self.association;
        let heard =
            watched(&mut self.watch, || association.progress_bytes(), association.receive());
        Ok(heard.await??)
    }

    async fn say(&mut self, message: Message) -> Result<(), ReceiveError> {
        let association = &self.association;
        let said =
            watched(&mut self.watch, || association.progress_bytes(), association.send(message));
        Ok(said.await??)
    }
}

impl Current {
    fn finished(&self, finished: &Finished) -> FileReport {
        let elapsed = self.begin.elapsed();
        FileReport::stored(self.name.clone(), self.size, &finished.digest, elapsed)
    }
}

/// The peer does not keep to the protocol: nothing it says can be trusted to mean what it seems.
fn violation(violation: Violation) -> ReceiveError {
    ReceiveError::Protocol(violation)
}

fn broken(error: Violation) -> Stop {
    Stop::Association(violation(error))
}
