//! Directories, small files with their content, and offers of larger ones, which are sent without waiting for the answer to those
//! before.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Instant;

use bytes::Bytes;
use polypath::Message;
use polypath::text::with_causes;
use tokio::task::spawn_blocking;

use super::{Ended, Sender, message_size, next_frame, open, out_of_turn, refused, understand};
use crate::error::SendError;
use crate::frame::{self, Answer, Digest, Frame};
use crate::reader::{Beginning, Reader, read_small};
use crate::report::FileReport;
use crate::small::MOST_AHEAD;
use crate::source::{Source, SourceError};
use crate::wait::while_progressing;

/// Most of them that are on their way.
const MOST: usize = 4096;
/// Most bytes of them. After an outage those of files of a megabyte and less are sent again.
const MOST_BYTES: u64 = 16 << 20;
/// What a larger file counts at most, so that several are on their way.
const MOST_OF_ONE: u64 = 4 << 20;

/// What was sent and not answered yet, in order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    sent: VecDeque<Sent>,
    bytes: u64,
    /// Answers that came while others were being sent.
    heard: VecDeque<Frame>,
    /// Files that were offered ahead, and whose content is wanted now, or which are to be offered once more.
    wanted: VecDeque<Sent>,
}

/// Something that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    /// Its place in the batch.
    pub(super) place: usize,
    pub(super) name: String,
    /// Bytes that were sent, or are to be sent.
    pub(super) bytes: u64,
    pub(super) begin: Instant,
    pub(super) what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Directory,
    /// The offer of a file, without its content.
    Offer,
    /// The same, to be made once more.
    Again,
    /// The content of a file.
    Content(Digest),
}

impl Pending {
    pub(super) fn push(&mut self, sent: Sent) {
        self.bytes += sent.weight();
        self.sent.push_back(sent);
    }

    /// Whether answers come first: there are some, or so much is on its way.
    pub(super) fn is_full(&self) -> bool {
        !self.sent.is_empty()
            && (self.sent.len() >= MOST || self.bytes >= MOST_BYTES || !self.heard.is_empty())
    }

    fn pop(&mut self) -> Option<Sent> {
        let sent = self.sent.pop_front()?;
        self.bytes -= sent.weight();
        Some(sent)
    }

    /// Takes the report of a failure out that has come, though answers before it were not dealt with.
    fn take_failure(&mut self) -> Option<SendError> {
        let failure = self.heard.iter_mut().find_map(|frame| match frame {
            Frame::Verdict(Err(reason)) => Some(std::mem::take(reason)),
            _ => None,
        });
        failure.map(SendError::ReceiverFailed)
    }
}

impl Sent {
    fn weight(&self) -> u64 {
        self.bytes.min(MOST_OF_ONE)
    }
}

impl Sender {
    /// Waits for what became of everything that is on its way.
    pub(super) async fn settle_all(&mut self, pending: &mut Pending) -> Result<(), SendError> {
        loop {
            self.send_wanted(pending).await?;
            if pending.sent.is_empty() {
                return Ok(());
            }
            self.settle(pending).await?;
        }
    }

    /// Waits for what became of the first of those that are on their way.
    pub(super) async fn settle(&mut self, pending: &mut Pending) -> Result<(), SendError> {
        let Some(first) = pending.pop() else { return Ok(()) };
        let frame = match pending.heard.pop_front() {
            Some(frame) => frame,
            None => self.hear().await?,
        };
        let (place, name, bytes) = (first.place, first.name.clone(), first.bytes);
        let ended = match (frame, first.what) {
            (Frame::Answer(Answer::From(0)), What::Offer) => {
                pending.wanted.push_back(first);
                return Ok(());
            }
            (Frame::Answer(Answer::Alone), What::Offer) => {
                pending.wanted.push_back(Sent { what: What::Again, ..first });
                return Ok(());
            }
            (Frame::Verdict(Ok(())), What::Directory) => Ended::Now(FileReport::directory(name)),
            (Frame::Verdict(Ok(())), What::Content(digest)) => {
                let elapsed = first.begin.elapsed();
                Ended::AtOnce(FileReport::stored(name, bytes, 0, &digest, elapsed))
            }
            (Frame::Verdict(Err(reason)), _) => return Err(SendError::ReceiverFailed(reason)),
            (Frame::Answer(Answer::Refused(reason)), _) => {
                Ended::Now(FileReport::refused(name, refused(&reason)))
            }
            (Frame::Answer(Answer::There(what)), _) => Ended::Now(FileReport::there(name, what)),
            (other, What::Offer) => return Err(out_of_turn(&other, "instead of an answer")),
            (other, _) => return Err(out_of_turn(&other, "instead of a verdict")),
        };
        self.conclude(place, ended);
        Ok(())
    }

    /// Sends the content of the files that were offered ahead and are wanted.
    pub(super) async fn send_wanted(&mut self, pending: &mut Pending) -> Result<(), SendError> {
        while let Some(wanted) = pending.wanted.pop_front() {
            let Some(entry) = self.batch.entries().get(wanted.place).cloned() else { break };
            let (name, bytes) = (wanted.name.clone(), wanted.bytes);
            let gone = |error: &SourceError| SendError::Changed { name, error: with_causes(error) };
            let source = open(entry).await?.map_err(|error| gone(&error))?;
            if wanted.what == What::Again {
                while !pending.sent.is_empty() {
                    self.settle(pending).await?;
                }
                self.send_alone(wanted.place, source, wanted.begin).await?;
                continue;
            }
            if bytes > MOST_AHEAD {
                self.send_large(source, wanted, pending).await?;
                continue;
            }
            let (content, digest) = spawn_blocking(move || read_small(source, bytes)).await??;
            self.send_small((content, digest), pending).await?;
            pending.push(Sent { what: What::Content(digest), ..wanted });
        }
        Ok(())
    }

    /// Sends the content of a file of any size, and takes in answers meanwhile.
    async fn send_large(
        &mut self,
        source: Source,
        wanted: Sent,
        pending: &mut Pending,
    ) -> Result<(), SendError> {
        // It was offered with this size, and may have grown since.
        let source = source.with_size(wanted.bytes);
        let longest = self.send_buffer.min(self.association.stats().peer_window_bytes);
        let size = message_size(&self.association.path_stats(), longest);
        let mut reader =
            Reader::start(source, Beginning::default(), size).map_err(SendError::NoThread)?;
        let mut sent = 0;
        while let Some(content) = reader.content.recv().await {
            let bytes = content.len() as u64;
            self.pace.wait(bytes).await;
            self.say_beside(frame::data(content), pending).await?;
            if let Some(failure) = pending.take_failure() {
                return Err(failure);
            }
            sent += bytes;
            self.show(wanted.place, (&wanted.name, wanted.bytes), sent);
        }
        let digest = reader.digest().await?;
        self.say_beside(frame::end(&digest), pending).await?;
        pending.push(Sent { what: What::Content(digest), ..wanted });
        Ok(())
    }

    /// Takes in the answers that are there.
    pub(super) fn take_answers(&self, pending: &mut Pending) -> Result<(), SendError> {
        while pending.heard.len() < pending.sent.len()
            && let Ok(Some(message)) = self.association.try_receive()
        {
            if let Some(frame) = understand(message, &self.said)? {
                pending.heard.push_back(frame);
            }
        }
        Ok(())
    }

    /// Sends content, and its digest.
    pub(super) async fn send_small(
        &mut self,
        (content, digest): (Bytes, Digest),
        pending: &mut Pending,
    ) -> Result<(), SendError> {
        let longest = self.send_buffer.min(self.association.stats().peer_window_bytes);
        let size = message_size(&self.association.path_stats(), longest);
        let mut rest = content;
        while !rest.is_empty() {
            let part = rest.split_to(size.min(rest.len()));
            self.pace.wait(part.len() as u64).await;
            self.say_beside(frame::data(part), pending).await?;
        }
        self.say_beside(frame::end(&digest), pending).await
    }

    /// Sends a message and takes in answers meanwhile: a receiver whose answers nobody takes does not read on.
    pub(super) async fn say_beside(
        &mut self,
        message: Message,
        pending: &mut Pending,
    ) -> Result<(), SendError> {
        let (association, said) = (&self.association, &self.said);
        let Pending { sent, heard, .. } = pending;
        let said = async {
            let mut sending = pin!(association.send(message));
            loop {
                tokio::select! {
                    biased;
                    said = &mut sending => return Ok(said?),
                    frame = next_frame(association, said), if heard.len() < sent.len() => {
                        heard.push_back(frame?);
                    }
                }
            }
        };
        while_progressing(association, self.idle_timeout, said).await?
    }
}
