//! Receives the files of one association.

mod ahead;
mod at_once;
mod content;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use polypath::text::with_causes;
use polypath::{Association, Message};
use tokio::sync::Notify;
use tokio::time::timeout;

use self::at_once::{Awaited, Jobs};
use crate::destination::{Existing, FileError, Incomplete, Target};
use crate::error::{ReceiveError, Violation};
use crate::event::{Event, Observer};
use crate::frame::{self, Answer, Digest, Frame, Kind, Offer, Pace, Version};
use crate::ledger::{Claim, Ledger, Reservation, Sender};
use crate::limits::{PeerLimits, Stalled, Watch};
use crate::name::{self, NameError};
use crate::part::{MIN_KEPT, is_partial, part_name, sweep};
use crate::quota::{Account, Quota, Totals};
use crate::report::{FileReport, Files, Report, Side};
use crate::sink::Sink;
use crate::wait::{SHUTDOWN_LIMIT, shut_down, watched, with_signs_of_life};
use crate::writer::{Begun, Finished, Plan, Wanted, Writer};

/// Bytes that a sender hashes in a second, at least.
const HASH_RATE: u64 = 10_000_000;

/// Longest time before the first offer of a sender, unless the idle timeout is shorter: those that offer nothing take places.
const FIRST_OFFER: Duration = Duration::from_secs(60);

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
    ledger: Arc<Ledger>,
    sender: Arc<Sender>,
    /// Name of the sender, if senders have keys.
    owner: Option<String>,
    /// Notified when another sender goes on with the file that this one left.
    evicted: Arc<Notify>,
    begin: Instant,
    watch: Watch,
    observer: Observer,
    current: Option<Current>,
    jobs: Jobs,
    /// Files whose content was asked for and has not come.
    awaited: Awaited,
    files: Files,
    account: Account,
    /// Whether the sender knows version 2 of the protocol.
    knows_signs_of_life: bool,
    error: Option<String>,
}

/// Where received files go, which of them are accepted, and how slow and how demanding a sender may be.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) directory: PathBuf,
    pub(crate) existing: Existing,
    pub(crate) incomplete: Incomplete,
    /// Whether names that begin with a dot are accepted.
    pub(crate) accepts_hidden: bool,
    pub(crate) limits: PeerLimits,
    pub(crate) quota: Quota,
    /// Most that all senders together may store.
    pub(crate) totals: Totals,
    /// Bytes of the disk that files leave free.
    pub(crate) keep_free: u64,
    /// Where content goes in place of the directory.
    pub(crate) sink: Option<Sink>,
}

/// The file that is being received.
#[derive(Debug)]
struct Current {
    name: String,
    /// Bytes, if its sender knows.
    size: Option<u64>,
    /// Bytes that need not be sent.
    resumed: u64,
    received: u64,
    /// Of them, those that observers have heard of; none before they know that it has begun.
    shown: Option<u64>,
    begin: Instant,
    writer: Writer,
    reservation: Reservation,
    claim: Option<Claim>,
}

/// Why content does not come any more.
enum Stop {
    /// The file failed, and the peer is to know.
    File(FileError),
    /// Nothing more comes of this association.
    Association(ReceiveError),
}

impl From<FileError> for Stop {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<ReceiveError> for Stop {
    fn from(error: ReceiveError) -> Self {
        Self::Association(error)
    }
}

impl Receiver {
    pub(crate) fn new(association: Association, rules: Rules, ledger: Arc<Ledger>) -> Self {
        let watch = Watch::new(rules.limits, association.progress_bytes());
        let quota = rules.quota;
        let sender = ledger.sender(address_of(&association));
        Self {
            association,
            rules,
            ledger,
            sender,
            owner: None,
            evicted: Arc::default(),
            begin: Instant::now(),
            watch,
            observer: Observer::default(),
            current: None,
            jobs: Jobs::new(),
            awaited: Awaited::new(),
            files: Files::at_most(quota.max_summaries),
            account: Account::new(quota),
            knows_signs_of_life: false,
            error: None,
        }
    }

    /// Names the sender, for example by its key. An incomplete file that a sender with a name left is gone on with by a sender
    /// with the same name only.
    #[must_use]
    pub fn owner(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        // No address has a colon in front.
        self.sender = self.ledger.sender(format!(": {name}"));
        self.owner = Some(name);
        self
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

    /// Whether the sender of an association that ended with `error` may connect again, and go on with what is kept here: it
    /// knows how to, incomplete files are kept, and [the error is an outage](ReceiveError::is_outage).
    pub fn may_be_resumed(&self, error: &ReceiveError) -> bool {
        self.rules.sink.is_none()
            && self.rules.incomplete != Incomplete::Discard
            && Version::of_peer(&self.association) >= Version::Second
            && error.is_outage()
    }

    /// The files that were begun or refused so far, stored or not: as many of them as the [`Quota`](crate::Quota) allows summaries.
    pub fn files(&self) -> &[FileReport] {
        self.files.kept()
    }

    /// The report of the transfer so far.
    pub fn into_report(self) -> Report {
        // Its transfer is that of one association.
        let times = [self.begin.elapsed(); 2];
        Report::new(Side::Receiver, &self.association, self.files, times, self.error)
    }

    /// Receives all files that the sender announces, and ends the association. A file that is refused is in
    /// [`files`](Self::files) and no error: the others are received.
    ///
    /// If the future is dropped, [`abort`](Self::abort) must follow.
    ///
    /// # Errors
    ///
    /// A file or the association failed, or the sender broke the protocol or was slower than the [`PeerLimits`] of the inbox
    /// allow. The association is aborted; an incomplete file is removed, or kept as the [`Incomplete`] of the inbox says.
    pub async fn run(&mut self) -> Result<(), ReceiveError> {
        let evicted = Arc::clone(&self.evicted);
        let received = tokio::select! {
            received = self.receive_files() => received,
            () = evicted.notified() => Err(ReceiveError::TakenOver),
        };
        if let Err(error) = &received {
            self.abort(with_causes(error)).await;
        }
        received
    }

    /// Aborts the association. `reason` is sent to the sender and is the error of the report. Incomplete files are removed, or kept
    /// for the sender, first.
    pub async fn abort(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        self.discard(&reason).await;
        self.association.abort(reason.clone());
        self.error = Some(reason);
    }

    async fn receive_files(&mut self) -> Result<(), ReceiveError> {
        // Older senders do not know what this means, or not even that it is something.
        if Version::of_peer(&self.association) >= Version::Second {
            // What is handed on keeps its order.
            let is_sink = self.rules.sink.is_some();
            let version = if is_sink { Version::Third } else { Version::Fourth };
            self.say(frame::hello(version, self.rules.accepts_hidden)).await?;
        }
        let (mut left, mut is_last) = (None, false);
        loop {
            if is_last && self.awaited.is_empty() {
                // Some of them may be wanted still.
                self.end_jobs().await?;
                if self.awaited.is_empty() {
                    break;
                }
            }
            let heard = match left {
                None => self.hear_first().await?,
                Some(_) => self.hear_beside_jobs().await?,
            };
            let offer = match heard.ok_or(ReceiveError::SenderLeft)? {
                Frame::Offer(offer) if self.is_awaited_alone(&offer) => {
                    self.awaited.pop_front();
                    self.end_jobs().await?;
                    self.receive_file(&offer).await?;
                    continue;
                }
                Frame::Offer(offer) if !is_last => offer,
                frame @ (Frame::Data(_) | Frame::End(_)) if self.is_content_awaited() => {
                    self.receive_awaited(frame).await?;
                    continue;
                }
                other => return Err(violation(Violation::NoOffer(other.kind()))),
            };
            if left.is_some_and(|left| offer.following >= left) {
                return Err(violation(Violation::EndlessOffers(offer.following)));
            }
            left = Some(offer.following);
            self.knows_signs_of_life = offer.version >= Version::Second;
            is_last = offer.following == 0;
            match (offer.kind, offer.pace) {
                (Kind::Directory, _) => self.receive_directory(offer),
                (Kind::File, Pace::Eager) => self.receive_small(offer).await?,
                (Kind::File, Pace::Ahead) => self.receive_ahead(offer)?,
                (Kind::File, Pace::Answered) => {
                    self.end_jobs().await?;
                    if !self.awaited.is_empty() {
                        return Err(violation(Violation::WithinFile("an offer")));
                    }
                    self.receive_file(&offer).await?;
                }
            }
        }
        shut_down(&self.association, self.rules.limits.idle_timeout).await
    }

    /// The name of what is offered, if it and its size are acceptable.
    fn admit(&self, offer: &Offer) -> Result<String, FileError> {
        self.account.check(offer.size.unwrap_or(0))?;
        let name = match offer.version {
            Version::First => name::check(&offer.name)?,
            _ => name::check_path(&offer.name)?,
        };
        if !self.rules.accepts_hidden {
            name::check_visible(name)?;
        }
        // Names of incomplete files are no sender's to give.
        if let Some(part) = name.split('/').find(|part| is_partial(part)) {
            return Err(NameError::Hidden(part.to_owned()).into());
        }
        Ok(name.to_owned())
    }

    fn target(&self, offer: &Offer, name: String) -> Target {
        Target {
            directory: self.rules.directory.clone(),
            name,
            size: offer.size,
            mode: offer.mode,
            modified: offer.modified,
            existing: self.rules.existing,
        }
    }

    /// Refuses what is offered.
    async fn refuse(&mut self, offer: &Offer, reason: String) -> Result<(), ReceiveError> {
        self.say(frame::answer(&Answer::Refused(reason.clone()))).await?;
        self.conclude(FileReport::refused(name::shown_briefly(&offer.name), reason), None);
        self.account.refused().map_err(ReceiveError::Refused)
    }

    async fn receive_file(&mut self, offer: &Offer) -> Result<(), ReceiveError> {
        let answer = match self.begin(offer).await {
            Ok(answer) => answer,
            Err(Stop::Association(error)) => return Err(error),
            Err(Stop::File(error)) => {
                self.current = None;
                return self.refuse(offer, with_causes(&error)).await;
            }
        };
        self.say(frame::answer(&answer)).await?;
        match answer {
            Answer::From(_) => {}
            Answer::There(what) => {
                self.current = None;
                self.conclude(FileReport::there(name::shown(&offer.name), what), None);
                return Ok(());
            }
            // `begin` gives none of them.
            Answer::Refused(_) | Answer::Prove(_) | Answer::Alone => return Ok(()),
        }
        self.account.accepted(offer.size.unwrap_or(0));
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

    /// Opens what is offered, and finds out with the sender how much of it is wanted.
    async fn begin(&mut self, offer: &Offer) -> Result<Answer, Stop> {
        let name = self.admit(offer)?;
        match self.open(offer, name, None).await? {
            Begun::Fresh => Ok(Answer::From(0)),
            Begun::There(what) => Ok(Answer::There(what.to_owned())),
            Begun::Prove(offsets) => self.compare(offsets).await,
        }
    }

    /// The hidden name under which a file is kept that does not become complete, if it is.
    fn part(&self, offer: &Offer, name: &str) -> Option<String> {
        let is_kept = self.rules.sink.is_none()
            && self.rules.incomplete != Incomplete::Discard
            && offer.version >= Version::Second
            && offer.size.is_some_and(|size| size >= MIN_KEPT);
        is_kept.then(|| part_name(self.owner.as_deref(), name))
    }

    /// Opens what is offered, with the room that was promised to it, or new room.
    async fn open(
        &mut self,
        offer: &Offer,
        name: String,
        promised: Option<Reservation>,
    ) -> Result<Begun, Stop> {
        let (part, mut claim) = (self.part(offer, &name), None);
        if let Some(hidden) = &part {
            claim = self.ledger.claim(hidden, &self.evicted).await;
            if claim.is_none() {
                return Err(FileError::Busy(name).into());
            }
            self.sweep(hidden).await?;
        }
        let size = offer.size.unwrap_or(0);
        let reservation = match promised {
            Some(promised) => promised,
            None => self.sender.reserve(size, self.rules.totals).map_err(FileError::from)?,
        };
        let taken = self.taken(size);
        let target = self.target(offer, name);
        let compares = offer.version >= Version::Second;
        let shown = name::shown(&offer.name);
        let writer = match self.rules.sink.clone() {
            Some(sink) => Writer::into_sink(sink, shown).map_err(FileError::Create)?,
            None => Writer::start(Plan { target, part, taken, compares }),
        };
        let current = Current {
            name: name::shown(&offer.name),
            size: offer.size,
            resumed: 0,
            received: 0,
            shown: None,
            begin: Instant::now(),
            writer,
            reservation,
            claim,
        };
        Ok(self.current.insert(current).writer.begun().await?)
    }

    /// Removes incomplete files that nobody has come back for, except one.
    async fn sweep(&mut self, except: &str) -> Result<(), FileError> {
        let is_limited =
            matches!(self.rules.incomplete, Incomplete::Keep { max_bytes: Some(_), .. });
        if !is_limited && !self.ledger.is_sweep_due() {
            return Ok(());
        }
        let (directory, ledger) = (self.rules.directory.clone(), Arc::clone(&self.ledger));
        let (rule, except) = (self.rules.incomplete, except.to_owned());
        let work = move || sweep(&directory, &ledger, rule, &except);
        Ok(tokio::task::spawn_blocking(work).await?)
    }

    /// Asks the sender what it has, and compares.
    async fn compare(&mut self, offsets: Vec<u64>) -> Result<Answer, Stop> {
        let longest = offsets.first().copied().unwrap_or(0);
        let asked = offsets.len();
        self.say(frame::answer(&Answer::Prove(offsets))).await?;
        let digests = self.hear_proof(longest).await?;
        if digests.len() > asked {
            return Err(ReceiveError::Protocol(Violation::Proofs(digests.len())).into());
        }
        let Some(current) = &mut self.current else { return Ok(Answer::From(0)) };
        let proving = current.writer.prove(digests);
        let wanted = with_signs_of_life(&self.association, proving).await?;
        Ok(match wanted {
            Wanted::Nothing => Answer::There("the same is there already".to_owned()),
            Wanted::From(offset) => {
                current.resumed = offset;
                current.received = offset;
                current.reservation.found(offset);
                Answer::From(offset)
            }
        })
    }

    /// Waits for digests, with patience for a sender that reads a long file.
    async fn hear_proof(&mut self, bytes: u64) -> Result<Vec<Digest>, ReceiveError> {
        let idle_timeout = self.rules.limits.idle_timeout;
        let usual = std::mem::replace(
            &mut self.watch,
            Watch::new(
                PeerLimits { idle_timeout, min_rate: None },
                self.association.progress_bytes(),
            ),
        );
        let most = idle_timeout.saturating_add(Duration::from_secs(bytes / HASH_RATE));
        let heard = timeout(most, self.hear()).await;
        self.watch = usual;
        match heard.map_err(|_| Stalled::Idle(most))?? {
            Some(Frame::Proof(digests)) => Ok(digests),
            Some(other) => Err(violation(Violation::WithinFile(other.kind()))),
            None => Err(ReceiveError::SenderStopped),
        }
    }

    /// Gives the file up that is being received, if any, and waits until it is removed or kept.
    async fn discard(&mut self, reason: &str) {
        self.abandon_jobs().await;
        // It stays in its place meanwhile, so that another attempt can follow one that was dropped.
        let Some(current) = &mut self.current else { return };
        let finished = current.writer.discard().await;
        let Some(mut current) = self.current.take() else { return };
        let warning = finished.as_ref().and_then(Finished::warning).map(str::to_owned);
        let file = match &finished {
            Some(finished) => current.finished(finished),
            None => {
                let kept = self.kept(&mut current);
                FileReport::failed(current.name.clone(), reason.to_owned()).keeping(kept)
            }
        };
        if finished.is_some() {
            current.reservation.stored();
        }
        self.conclude(file, warning);
    }

    /// Bytes of an incomplete file that are still there.
    fn kept(&self, current: &mut Current) -> u64 {
        let Some(claim) = &mut current.claim else { return 0 };
        let path = self.rules.directory.join(claim.part());
        let kept = std::fs::metadata(path).map_or(0, |found| found.len());
        claim.keeps(kept);
        kept
    }

    fn conclude(&mut self, file: FileReport, warning: Option<String>) {
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

    /// The first frame that says something. Whoever offers nothing keeps a place from others.
    async fn hear_first(&mut self) -> Result<Option<Frame>, ReceiveError> {
        let most = self.rules.limits.idle_timeout.min(FIRST_OFFER);
        timeout(most, self.hear()).await.map_err(|_| Stalled::Idle(most))?
    }

    /// The next frame that says something; nothing after the last.
    async fn hear(&mut self) -> Result<Option<Frame>, ReceiveError> {
        let association = &self.association;
        watched(&mut self.watch, || association.progress_bytes(), hear(association)).await?
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
        let (elapsed, bytes) = (self.begin.elapsed(), self.size.unwrap_or(self.received));
        FileReport::stored(self.name.clone(), bytes, self.resumed, &finished.digest, elapsed)
    }
}

/// Where the sender is: its first address, of IPv6 the network of it.
fn address_of(association: &Association) -> String {
    match association.remote_addresses().first() {
        Some(IpAddr::V6(address)) => (address.to_bits() >> 64).to_string(),
        Some(IpAddr::V4(address)) => address.to_string(),
        None => String::new(),
    }
}

/// The next frame that says something; nothing after the last. Dropping the future loses none.
async fn hear(association: &Association) -> Result<Option<Frame>, ReceiveError> {
    loop {
        let Some(message) = association.receive().await? else { return Ok(None) };
        match Frame::decode(message) {
            Ok(Frame::Working(_)) => {}
            Ok(frame) => return Ok(Some(frame)),
            Err(error) => return Err(violation(error.into())),
        }
    }
}

/// The peer does not keep to the protocol: nothing it says can be trusted to mean what it seems.
fn violation(violation: Violation) -> ReceiveError {
    ReceiveError::Protocol(violation)
}
