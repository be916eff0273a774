//! What is offered without waiting for an answer: directories, and small files with their content.

use std::time::Instant;

use polypath::text::with_causes;

use super::{Receiver, violation};
use crate::destination::{FileError, check_room, make_directories};
use crate::error::{ReceiveError, Violation};
use crate::event::Event;
use crate::frame::{self, Answer, Frame, Offer};
use crate::name;
use crate::report::FileReport;
use crate::small::{MOST_EAGER, Outcome, hand_on, store};

impl Receiver {
    pub(super) async fn receive_directory(&mut self, offer: &Offer) -> Result<(), ReceiveError> {
        match self.make_directory(offer).await {
            Ok(()) => {
                self.account.accepted(0);
                self.conclude(FileReport::directory(name::shown(&offer.name)), None);
                self.say(frame::verdict(&Ok(()))).await
            }
            Err(error) => self.refuse(offer, with_causes(&error)).await,
        }
    }

    async fn make_directory(&mut self, offer: &Offer) -> Result<(), FileError> {
        let name = self.admit(offer)?;
        if self.rules.sink.is_some() {
            return Err(FileError::NoDirectories);
        }
        let reservation = self.ledger.reserve(0, self.rules.totals)?;
        let (below, keep_free) = (self.rules.directory.clone(), self.rules.keep_free);
        let make = move || {
            check_room(&below, 0, keep_free)?;
            make_directories(&below, &name)
        };
        tokio::task::spawn_blocking(make).await??;
        reservation.stored();
        Ok(())
    }

    /// Receives a file whose content follows the offer at once.
    pub(super) async fn receive_small(&mut self, offer: &Offer) -> Result<(), ReceiveError> {
        let begin = Instant::now();
        let size = offer.size.unwrap_or(u64::MAX);
        if size > MOST_EAGER {
            return Err(violation(Violation::EagerSize(size)));
        }
        let mut content = Vec::new();
        let claimed = loop {
            match self.hear().await?.ok_or(ReceiveError::SenderStopped)? {
                Frame::Data(message) => {
                    if (content.len() + message.len()) as u64 > size {
                        return Err(FileError::TooLong(size).into());
                    }
                    message.fragments().for_each(|part| content.extend_from_slice(part));
                }
                Frame::End(digest) => break digest,
                other => return Err(violation(Violation::WithinFile(other.kind()))),
            }
        };
        let admitted = self.admit(offer).and_then(|name| {
            let reservation = self.ledger.reserve(size, self.rules.totals)?;
            Ok((self.target(offer, name), reservation))
        });
        let (target, reservation) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return self.refuse(offer, with_causes(&error)).await,
        };
        self.account.accepted(size);
        let shown = name::shown(&offer.name);
        let promised = self.ledger.unwritten().saturating_sub(size);
        let taken = promised.saturating_add(self.rules.keep_free);
        let sink = self.rules.sink.clone();
        let work = move || match sink {
            Some(sink) => hand_on(&sink, target, &content, claimed),
            None => store(target, &content, claimed, taken),
        };
        let storing = tokio::task::spawn_blocking(work);
        match storing.await.unwrap_or_else(|error| Outcome::Failed(error.into())) {
            Outcome::Stored(stored) => {
                reservation.stored();
                self.observer.hear(&Event::Begun { name: shown.clone(), bytes: size });
                self.observer.hear(&Event::Progress { bytes: size });
                let file = FileReport::stored(shown, size, 0, &claimed, begin.elapsed());
                self.conclude(file, stored.warning);
                self.say(frame::verdict(&Ok(()))).await
            }
            Outcome::There(what) => {
                self.conclude(FileReport::there(shown, what.to_owned()), None);
                self.say(frame::answer(&Answer::There(what.to_owned()))).await
            }
            Outcome::Refused(error) => self.refuse(offer, with_causes(&error)).await,
            Outcome::Failed(error) => {
                let reason = with_causes(&error);
                self.conclude(FileReport::failed(shown, reason.clone()), None);
                self.refuse_rest(reason).await;
                Err(error.into())
            }
        }
    }
}
