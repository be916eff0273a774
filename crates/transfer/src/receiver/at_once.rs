//! What is offered without waiting for an answer: directories, and small files with their content.

use std::time::Instant;

use polypath::text::with_causes;

use super::{Receiver, violation};
use crate::destination::{FileError, make_directories};
use crate::error::{ReceiveError, Violation};
use crate::event::Event;
use crate::frame::{self, Answer, Frame, Offer};
use crate::name;
use crate::report::FileReport;
use crate::small::{MOST_EAGER, Outcome, hand_on, store};

impl Receiver {
    pub(super) async fn receive_directory(&mut self, offer: &Offer) -> Result<(), ReceiveError> {
        let made = match self.admit(offer) {
            Ok(_) if self.rules.sink.is_some() => Err(FileError::NoDirectories),
            Ok(name) => {
                let below = self.rules.directory.clone();
                let make = move || make_directories(&below, &name);
                match tokio::task::spawn_blocking(make).await {
                    Ok(made) => made,
                    Err(error) => Err(error.into()),
                }
            }
            Err(error) => Err(error),
        };
        match made {
            Ok(()) => {
                self.account.accepted(0);
                self.conclude(FileReport::directory(name::shown(&offer.name)), None);
                self.say(frame::verdict(&Ok(()))).await
            }
            Err(error) => self.refuse(offer, with_causes(&error)).await,
        }
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
            let reservation = self.ledger.reserve(size, self.rules.max_total)?;
            Ok((self.target(offer, name), reservation))
        });
        let (target, reservation) = match admitted {
            Ok(admitted) => admitted,
            Err(error) => return self.refuse(offer, with_causes(&error)).await,
        };
        self.account.accepted(size);
        let shown = name::shown(&offer.name);
        let promised = self.ledger.unwritten().saturating_sub(size);
        let sink = self.rules.sink.clone();
        let work = move || match sink {
            Some(sink) => hand_on(&sink, target, &content, claimed),
            None => store(target, &content, claimed, promised),
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
