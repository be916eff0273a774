//! Files of more than a megabyte whose content comes after other offers. A thread of its own writes each, as it comes, and stores it
//! while the content of the next one is received.

use polypath::text::with_causes;

use super::at_once::{Expected, Job};
use super::{Current, Receiver, Stop};
use crate::destination::FileError;
use crate::error::ReceiveError;
use crate::event::Event;
use crate::frame::{Digest, Frame, Offer, Pace};
use crate::ledger::Reservation;
use crate::report::FileReport;
use crate::wait::with_signs_of_life;
use crate::writer::{Begun, Finished};

/// A file of which all content has come.
#[derive(Debug)]
pub(super) struct Kept {
    current: Current,
    /// Whether it was stored, once that is known.
    stored: Option<Result<Finished, FileError>>,
}

impl Kept {
    /// Waits until it is stored. May be dropped and called again.
    pub(super) async fn end(&mut self) {
        if self.stored.is_none() {
            self.stored = Some(self.current.writer.stored().await);
        }
    }
}

impl Receiver {
    /// Whether a file is offered for itself, as this side asked for it.
    pub(super) fn is_awaited_alone(&self, offer: &Offer) -> bool {
        let is_it =
            |expected: &Expected| expected.promised.is_none() && expected.offer.name == offer.name;
        offer.pace == Pace::Answered && self.awaited.front().is_some_and(is_it)
    }

    /// Whether the content of a file has its place here.
    pub(super) fn is_content_awaited(&self) -> bool {
        self.awaited.front().is_some_and(|expected| expected.promised.is_some())
    }

    /// Receives the content of a file, of which this is the first frame, and begins to store it.
    pub(super) async fn receive_large(
        &mut self,
        offer: Offer,
        promised: Option<Reservation>,
        first: Frame,
    ) -> Result<(), ReceiveError> {
        let claimed = match self.take_large(&offer, promised, first).await {
            Ok(claimed) => claimed,
            Err(Stop::Association(error)) => return Err(error),
            Err(Stop::File(error)) => {
                let reason = with_causes(&error);
                self.discard(&reason).await;
                self.refuse_rest(reason).await;
                return Err(error.into());
            }
        };
        if let Some(current) = self.current.take() {
            let writing = current.writer.begin_to_store(claimed);
            with_signs_of_life(&self.association, writing).await;
            let kept = Kept { current, stored: None };
            self.jobs.push_back(Job::kept(offer, claimed, kept));
        }
        Ok(())
    }

    async fn take_large(
        &mut self,
        offer: &Offer,
        promised: Option<Reservation>,
        first: Frame,
    ) -> Result<Digest, Stop> {
        let name = String::from_utf8_lossy(&offer.name).into_owned();
        match self.open(offer, name.clone(), promised).await? {
            Begun::Fresh => {}
            // Nothing was there when it was offered: another sender is at it.
            Begun::There(_) | Begun::Prove(_) => return Err(FileError::Busy(name).into()),
        }
        self.collect(offer.size, Some(first)).await
    }

    /// Reports a file that its own thread has stored, or not.
    pub(super) fn conclude_kept(&mut self, kept: Kept) -> Result<(), FileError> {
        let Kept { mut current, stored } = kept;
        let (name, bytes) = (current.name.clone(), current.received);
        if current.shown.is_none() {
            self.observer.hear(&Event::Begun { name: name.clone(), bytes });
        }
        let unseen = bytes.saturating_sub(current.shown.unwrap_or(0));
        if unseen > 0 {
            self.observer.hear(&Event::Progress { bytes: unseen });
        }
        match stored.unwrap_or(Err(FileError::Ended)) {
            Ok(finished) => {
                let file = current.finished(&finished);
                current.reservation.stored();
                self.conclude(file, finished.warning().map(str::to_owned));
                Ok(())
            }
            Err(error) => {
                let kept = self.kept(&mut current);
                let file = FileReport::failed(name, with_causes(&error)).keeping(kept);
                self.conclude(file, None);
                Err(error)
            }
        }
    }
}
