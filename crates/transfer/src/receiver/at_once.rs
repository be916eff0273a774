//! What is offered without waiting for the answer to what came before: directories, small files with their content, and files whose
//! content comes after other offers.
//!
//! Several of them are stored at a time, since each waits for the disk. The sender hears of them in the order of its offers.

use std::collections::VecDeque;
use std::time::Instant;

use polypath::text::with_causes;
use tokio::task::{JoinHandle, spawn_blocking};

use super::ahead::Kept;
use super::{Receiver, hear, violation};
use crate::destination::{FileError, check_room, make_directories};
use crate::error::{ReceiveError, Violation};
use crate::event::Event;
use crate::frame::{self, Answer, Digest, Frame, Offer, Version};
use crate::ledger::Reservation;
use crate::name;
use crate::report::FileReport;
use crate::small::{MOST_AHEAD, MOST_EAGER, Outcome, hand_on, look, store};
use crate::wait::with_signs_of_life;

/// Most files of a sender that are stored at a time, each of which is in memory.
const MOST_JOBS: usize = 16;

/// Most of them that a thread of their own stores.
const MOST_THREADS: usize = 4;

/// Bytes of those after which no more are taken in.
const MOST_BYTES: u64 = 1 << 20;
/// Most files whose content was asked for and has not come.
const MOST_AWAITED: usize = 10_000;

/// Those of them that are not stored in one piece. Each has room that is promised to it.
const MOST_LARGE: usize = 64;

/// Files whose content is to come, in this order.
pub(super) type Awaited = VecDeque<Expected>;

/// One of them.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) offer: Offer,
    /// None if it is to be offered once more, for itself.
    pub(super) promised: Option<Reservation>,
}

/// Files and directories that are being stored, in the order of their offers.
pub(super) type Jobs = VecDeque<Job>;

/// One of them.
#[derive(Debug)]
pub(super) struct Job {
    offer: Offer,
    claimed: Digest,
    begin: Instant,
    reservation: Option<Reservation>,
    /// Bytes of content that it has in memory.
    bytes: u64,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Running(JoinHandle<Outcome>),
    Done(Outcome),
    /// A file that its own thread stores.
    Kept(Box<Kept>),
}

impl Job {
    fn refused(offer: Offer, error: FileError) -> Self {
        let (begin, work) = (Instant::now(), Work::Done(Outcome::Refused(error)));
        Self { offer, claimed: Digest::default(), begin, reservation: None, bytes: 0, work }
    }

    /// A file of which all content has come, and which its own thread stores.
    pub(super) fn kept(offer: Offer, claimed: Digest, kept: Kept) -> Self {
        let (begin, work) = (Instant::now(), Work::Kept(Box::new(kept)));
        Self { offer, claimed, begin, reservation: None, bytes: 0, work }
    }

    /// Whether its own thread stores it.
    fn is_kept(&self) -> bool {
        matches!(self.work, Work::Kept(_))
    }

    /// Waits for its end. May be dropped and called again.
    async fn end(&mut self) {
        match &mut self.work {
            Work::Running(thread) => {
                let outcome = thread.await.unwrap_or_else(|error| Outcome::Failed(error.into()));
                self.work = Work::Done(outcome);
            }
            Work::Kept(kept) => kept.end().await,
            Work::Done(_) => {}
        }
    }

    /// What became of it, which is for the report, and what went wrong after it was stored. The sender hears the frame.
    fn conclude(self) -> Concluded {
        let (shown, size) = (name::shown(&self.offer.name), self.offer.size.unwrap_or(0));
        let outcome = match self.work {
            Work::Done(outcome) => outcome,
            Work::Kept(kept) => return Concluded::Kept(kept),
            Work::Running(_) => {
                let file = FileReport::failed(shown, with_causes(&FileError::Ended));
                return Concluded::Failed(file, FileError::Ended);
            }
        };
        match outcome {
            Outcome::Made => {
                self.reservation.into_iter().for_each(Reservation::stored);
                Concluded::Stored(FileReport::directory(shown), None)
            }
            Outcome::Stored(stored) => {
                self.reservation.into_iter().for_each(Reservation::stored);
                let elapsed = self.begin.elapsed();
                let file = FileReport::stored(shown, size, 0, &self.claimed, elapsed);
                Concluded::Stored(file, stored.warning)
            }
            Outcome::Wanted => Concluded::Wanted(self.offer, self.reservation),
            Outcome::Alone => Concluded::Alone(self.offer),
            Outcome::There(what) => {
                Concluded::There(FileReport::there(shown, what.to_owned()), what)
            }
            Outcome::Refused(error) => Concluded::Refused(self.offer, with_causes(&error)),
            Outcome::Failed(error) => {
                Concluded::Failed(FileReport::failed(shown, with_causes(&error)), error)
            }
        }
    }
}

enum Concluded {
    Wanted(Offer, Option<Reservation>),
    Alone(Offer),
    Kept(Box<Kept>),
    Stored(FileReport, Option<String>),
    There(FileReport, &'static str),
    Refused(Offer, String),
    Failed(FileReport, FileError),
}

impl Receiver {
    /// The next frame, or nothing after the last. Meanwhile, what was stored is reported; all of it is before nothing more can come.
    pub(super) async fn hear_beside_jobs(&mut self) -> Result<Option<Frame>, ReceiveError> {
        loop {
            // What is handed on keeps its order.
            let most = if self.rules.sink.is_some() { 1 } else { MOST_JOBS };
            let bytes: u64 = self.jobs.iter().map(|job| job.bytes).sum();
            let threads = self.jobs.iter().filter(|job| job.is_kept()).count();
            let is_full = self.jobs.len() >= most || bytes >= MOST_BYTES || threads >= MOST_THREADS;
            let Some(first) = self.jobs.front_mut() else { return self.hear().await };
            // The sender may be waiting for this side: its silence says nothing.
            tokio::select! {
                biased;
                () = with_signs_of_life(&self.association, first.end()) => {}
                frame = hear(&self.association), if !is_full => return frame,
            }
            self.report_first_job().await?;
        }
    }

    /// Waits until everything that was offered is stored, and reports it.
    pub(super) async fn end_jobs(&mut self) -> Result<(), ReceiveError> {
        while let Some(job) = self.jobs.front_mut() {
            with_signs_of_life(&self.association, job.end()).await;
            self.report_first_job().await?;
        }
        Ok(())
    }

    /// The same when the sender does not hear of it any more.
    pub(super) async fn abandon_jobs(&mut self) {
        while let Some(job) = self.jobs.front_mut() {
            job.end().await;
            match self.jobs.pop_front().map(Job::conclude) {
                Some(Concluded::Stored(file, warning)) => self.conclude_at_once(file, warning),
                Some(Concluded::There(file, _) | Concluded::Failed(file, _)) => {
                    self.conclude(file, None);
                }
                Some(Concluded::Refused(offer, reason)) => {
                    self.conclude(
                        FileReport::refused(name::shown_briefly(&offer.name), reason),
                        None,
                    );
                }
                Some(Concluded::Kept(kept)) => {
                    let _ = self.conclude_kept(*kept);
                }
                Some(Concluded::Wanted(..) | Concluded::Alone(_)) | None => {}
            }
        }
        self.awaited.clear();
    }

    /// Reports the first job, which has ended.
    async fn report_first_job(&mut self) -> Result<(), ReceiveError> {
        let Some(job) = self.jobs.pop_front() else { return Ok(()) };
        match job.conclude() {
            Concluded::Stored(file, warning) => {
                self.conclude_at_once(file, warning);
                self.say(frame::verdict(&Ok(()))).await
            }
            Concluded::Wanted(offer, promised) => {
                self.awaited.push_back(Expected { offer, promised });
                self.say(frame::answer(&Answer::From(0))).await
            }
            Concluded::Alone(offer) => {
                // It counts when it is offered once more.
                self.account.withdrawn(offer.size.unwrap_or(0));
                self.awaited.push_back(Expected { offer, promised: None });
                self.say(frame::answer(&Answer::Alone)).await
            }
            Concluded::Kept(kept) => match self.conclude_kept(*kept) {
                Ok(()) => self.say(frame::verdict(&Ok(()))).await,
                Err(error) => self.fail_all(error).await,
            },
            Concluded::There(file, what) => {
                self.conclude(file, None);
                self.say(frame::answer(&Answer::There(what.to_owned()))).await
            }
            Concluded::Refused(offer, reason) => self.refuse(&offer, reason).await,
            Concluded::Failed(file, error) => {
                self.conclude(file, None);
                self.fail_all(error).await
            }
        }
    }

    /// A file has failed, and with it those that come after it.
    async fn fail_all(&mut self, error: FileError) -> Result<(), ReceiveError> {
        self.abandon_jobs().await;
        self.refuse_rest(with_causes(&error)).await;
        Err(error.into())
    }

    /// Reports a file as if it had begun and ended now: others were on their way since.
    fn conclude_at_once(&mut self, file: FileReport, warning: Option<String>) {
        if !file.is_directory() {
            let (name, bytes) = (file.name.clone(), file.bytes);
            self.observer.hear(&Event::Begun { name, bytes });
            self.observer.hear(&Event::Progress { bytes });
        }
        self.conclude(file, warning);
    }

    /// Begins to make a directory.
    pub(super) fn receive_directory(&mut self, offer: Offer) {
        let job = match self.make_directory(&offer) {
            Ok((reservation, thread)) => {
                self.account.accepted(0);
                let (begin, work) = (Instant::now(), Work::Running(thread));
                let (claimed, reservation) = (Digest::default(), Some(reservation));
                Job { offer, claimed, begin, reservation, bytes: 0, work }
            }
            Err(error) => Job::refused(offer, error),
        };
        self.jobs.push_back(job);
    }

    fn make_directory(
        &mut self,
        offer: &Offer,
    ) -> Result<(Reservation, JoinHandle<Outcome>), FileError> {
        let name = self.admit(offer)?;
        if self.rules.sink.is_some() {
            return Err(FileError::NoDirectories);
        }
        let reservation = self.sender.reserve(0, self.rules.totals)?;
        let (below, keep_free) = (self.rules.directory.clone(), self.rules.keep_free);
        let make = move || {
            let made =
                check_room(&below, 0, keep_free).and_then(|()| make_directories(&below, &name));
            made.map_or_else(Outcome::Refused, |()| Outcome::Made)
        };
        Ok((reservation, spawn_blocking(make)))
    }

    /// Receives a file whose content follows the offer at once, and begins to store it.
    pub(super) async fn receive_small(&mut self, offer: Offer) -> Result<(), ReceiveError> {
        let begin = Instant::now();
        let size = offer.size.unwrap_or(u64::MAX);
        if size > MOST_EAGER {
            return Err(violation(Violation::EagerSize(size)));
        }
        let first = self.hear().await?.ok_or(ReceiveError::SenderStopped)?;
        let (content, claimed) = self.hear_small(size, first).await?;
        let job = match self.reserve_small(&offer) {
            Ok((name, reservation)) => {
                self.account.accepted(size);
                let work = self.store_small(&offer, name, (content, claimed));
                let reservation = Some(reservation);
                Job { offer, claimed, begin, reservation, bytes: size, work }
            }
            Err(error) => Job::refused(offer, error),
        };
        self.jobs.push_back(job);
        Ok(())
    }

    /// Begins to look whether a file is wanted whose content comes after other offers.
    pub(super) fn receive_ahead(&mut self, offer: Offer) -> Result<(), ReceiveError> {
        let (begin, size) = (Instant::now(), offer.size.unwrap_or(u64::MAX));
        let is_large = size > MOST_AHEAD;
        if is_large && (offer.version < Version::Fourth || offer.size.is_none()) {
            return Err(violation(Violation::EagerSize(size)));
        }
        if self.awaited.len() >= MOST_AWAITED || is_large && self.large_awaited() >= MOST_LARGE {
            return Err(violation(Violation::EndlessOffers(offer.following)));
        }
        let job = match self.reserve_small(&offer) {
            Ok((name, reservation)) => {
                self.account.accepted(size);
                let work = match self.rules.sink {
                    Some(_) => Work::Done(Outcome::Wanted),
                    None => {
                        let part = self.part(&offer, &name).filter(|_| is_large);
                        let (target, taken) = (self.target(&offer, name), self.taken(size));
                        Work::Running(spawn_blocking(move || look(&target, part.as_deref(), taken)))
                    }
                };
                let (claimed, reservation) = (Digest::default(), Some(reservation));
                Job { offer, claimed, begin, reservation, bytes: 0, work }
            }
            Err(error) => Job::refused(offer, error),
        };
        self.jobs.push_back(job);
        Ok(())
    }

    fn large_awaited(&self) -> usize {
        let sizes = self.awaited.iter().filter_map(|expected| expected.offer.size);
        sizes.filter(|size| *size > MOST_AHEAD).count()
    }

    /// Receives the content of the first file that waits for it, of which this is the first frame, and begins to store it.
    pub(super) async fn receive_awaited(&mut self, first: Frame) -> Result<(), ReceiveError> {
        let begin = Instant::now();
        let Some(Expected { offer, promised }) = self.awaited.pop_front() else { return Ok(()) };
        let size = offer.size.unwrap_or(0);
        if size > MOST_AHEAD {
            return self.receive_large(offer, promised, first).await;
        }
        let (content, claimed) = self.hear_small(size, first).await?;
        let name = String::from_utf8_lossy(&offer.name).into_owned();
        let work = self.store_small(&offer, name, (content, claimed));
        let reservation = promised;
        self.jobs.push_back(Job { offer, claimed, begin, reservation, bytes: size, work });
        Ok(())
    }

    /// The content that follows, of `size` bytes at most, and its digest as the sender has it.
    async fn hear_small(
        &mut self,
        size: u64,
        first: Frame,
    ) -> Result<(Vec<u8>, Digest), ReceiveError> {
        let (mut content, mut next) = (Vec::new(), Some(first));
        loop {
            let frame = match next.take() {
                Some(frame) => frame,
                None => self.hear().await?.ok_or(ReceiveError::SenderStopped)?,
            };
            match frame {
                Frame::Data(message) => {
                    if (content.len() + message.len()) as u64 > size {
                        return Err(FileError::TooLong(size).into());
                    }
                    message.fragments().for_each(|part| content.extend_from_slice(part));
                }
                Frame::End(digest) => return Ok((content, digest)),
                other => return Err(violation(Violation::WithinFile(other.kind()))),
            }
        }
    }

    /// The name of a small file, and room for it, if it is acceptable.
    fn reserve_small(&mut self, offer: &Offer) -> Result<(String, Reservation), FileError> {
        let name = self.admit(offer)?;
        let size = offer.size.unwrap_or(0);
        Ok((name, self.sender.reserve(size, self.rules.totals)?))
    }

    /// Free bytes of the disk that a file with room for `size` bytes may not have.
    pub(super) fn taken(&self, size: u64) -> u64 {
        self.sender.promised_to_others(size).saturating_add(self.rules.keep_free)
    }

    /// Begins to store a small file, whose name was checked.
    fn store_small(
        &mut self,
        offer: &Offer,
        name: String,
        (content, claimed): (Vec<u8>, Digest),
    ) -> Work {
        let target = self.target(offer, name);
        let taken = self.taken(offer.size.unwrap_or(0));
        let sink = self.rules.sink.clone();
        Work::Running(spawn_blocking(move || match sink {
            Some(sink) => hand_on(&sink, target, &content, claimed),
            None => store(target, &content, claimed, taken),
        }))
    }
}
