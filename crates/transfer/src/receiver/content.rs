//! The content of a file that was begun.

use polypath::ReceivedMessage;
use tokio::task::spawn_blocking;

use super::{Current, Receiver, Stop, violation};
use crate::destination::{FileError, check_room};
use crate::error::{ReceiveError, Violation};
use crate::event::Event;
use crate::frame::{Digest, Frame, Offer, Version};
use crate::wait::with_signs_of_life;
use crate::writer::Stopped;

/// Longest message with content; no sender makes one that comes near. Bounds the memory that a peer can take.
const LONGEST_MESSAGE: usize = 512 << 10;

impl Receiver {
    /// Receives and stores the file that was begun.
    pub(super) async fn take_content(&mut self, offer: &Offer) -> Result<(), Stop> {
        self.show();
        let claimed = self.collect(offer.size, None).await?;
        let Some(current) = &mut self.current else { return Ok(()) };
        let storing = current.writer.store(claimed);
        let finished = match offer.version {
            Version::First => storing.await?,
            _ => with_signs_of_life(&self.association, storing).await?,
        };
        if let Some(current) = self.current.take() {
            let file = current.finished(&finished);
            current.reservation.stored();
            self.conclude(file, finished.warning().map(str::to_owned));
        }
        Ok(())
    }

    /// Lets observers know how far the file has come. They hear of files one after the other: those before it come first.
    fn show(&mut self) {
        if !self.jobs.is_empty() {
            return;
        }
        let Some(current) = &mut self.current else { return };
        let Current { resumed, received, .. } = *current;
        let shown = match current.shown {
            Some(shown) => shown,
            None => {
                let (name, bytes) = (current.name.clone(), current.size.unwrap_or(0));
                self.observer.hear(&Event::Begun { name: name.clone(), bytes });
                if resumed > 0 {
                    self.observer.hear(&Event::Resumed { name, bytes: resumed });
                }
                resumed
            }
        };
        current.shown = Some(received);
        if received > shown {
            self.observer.hear(&Event::Progress { bytes: received - shown });
        }
    }

    /// Hands content to the writer until the end, and gives the digest that the peer claims. What is still being stored of other files
    /// is reported meanwhile. `first` has come already.
    pub(super) async fn collect(
        &mut self,
        size: Option<u64>,
        mut first: Option<Frame>,
    ) -> Result<Digest, Stop> {
        loop {
            let received = self.current.as_ref().map_or(0, |current| current.received);
            let next = match first.take() {
                Some(frame) => frame,
                None => self.hear_beside_jobs().await?.ok_or(ReceiveError::SenderStopped)?,
            };
            match next {
                Frame::Data(message) if message.len() > LONGEST_MESSAGE => {
                    return Err(violation(Violation::LongMessage(message.len())).into());
                }
                Frame::Data(message) => {
                    let bytes = message.len() as u64;
                    match size {
                        Some(size) if received + bytes > size => {
                            return Err(self.spoiled(FileError::TooLong(size)).await);
                        }
                        Some(_) => {}
                        None => self.grow(bytes)?,
                    }
                    self.write(message).await?;
                    self.show();
                }
                Frame::End(_) if size.is_some_and(|size| received < size) => {
                    let offered = size.unwrap_or(0);
                    return Err(self.spoiled(FileError::TooShort { received, offered }).await);
                }
                Frame::End(digest) => return Ok(digest),
                other => return Err(violation(Violation::WithinFile(other.kind())).into()),
            }
        }
    }

    /// More came of a file whose size is not known.
    fn grow(&mut self, bytes: u64) -> Result<(), FileError> {
        self.account.grow(bytes)?;
        match &mut self.current {
            Some(current) => Ok(current.reservation.extend(bytes, self.rules.totals)?),
            None => Ok(()),
        }
    }

    /// What came is not what was offered: nothing of it is kept.
    async fn spoiled(&mut self, error: FileError) -> Stop {
        if let Some(current) = &mut self.current {
            current.writer.spoil().await;
        }
        Stop::File(error)
    }

    /// Looks whether the disk has room for more of a slow sender, as its promise counts in part only.
    async fn look_for_room(&mut self) -> Result<(), FileError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let due = current.reservation.take_look().filter(|_| self.rules.sink.is_none());
        let Some((bytes, promised)) = due else { return Ok(()) };
        let (directory, keep_free) = (self.rules.directory.clone(), self.rules.keep_free);
        let taken = promised.saturating_add(keep_free);
        spawn_blocking(move || check_room(&directory, bytes, taken)).await?
    }

    async fn write(&mut self, message: ReceivedMessage) -> Result<(), Stop> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let bytes = message.len() as u64;
        let written = match current.writer.try_write(message) {
            None => Ok(()),
            // A disk or a reader that is slow is no silence of this side.
            Some(message) if self.knows_signs_of_life => {
                with_signs_of_life(&self.association, current.writer.write(message)).await
            }
            Some(message) => current.writer.write(message).await,
        };
        match written {
            Ok(()) => {
                current.received += bytes;
                if let Some(claim) = &current.claim {
                    claim.moved(bytes);
                }
                let written = current.reservation.write(bytes, self.rules.totals);
                written.map_err(FileError::from)?;
                Ok(self.look_for_room().await?)
            }
            // The disk is the cause if the writer has stopped, and the peer is to know.
            Err(Stopped) => Err(Stop::File(current.writer.failure().await)),
        }
    }
}
