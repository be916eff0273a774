//! Directories, and small files with their content, which are sent without waiting for the answer to those before.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Instant;

use polypath::Message;
use tokio::task::spawn_blocking;

use super::{Sender, message_size, next_frame, out_of_turn, refused};
use crate::error::SendError;
use crate::event::Event;
use crate::frame::{self, Answer, Digest, Frame, Kind, Offer};
use crate::reader::read_small;
use crate::report::FileReport;
use crate::source::Source;
use crate::wait::while_progressing;

/// Most of them that are on their way.
const MOST: usize = 4096;
/// Most bytes of them. After an outage they are sent again.
const MOST_BYTES: u64 = 16 << 20;

/// What was sent and not answered yet, in order.
#[derive(Debug, Default)]
pub(super) struct Pending {
    sent: VecDeque<Sent>,
    bytes: u64,
    /// Answers that came while others were being sent.
    heard: VecDeque<Frame>,
}

/// A directory, or a small file.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
    pub(super) digest: Digest,
    pub(super) begin: Instant,
}

impl Pending {
    pub(super) fn push(&mut self, sent: Sent) {
        self.bytes += sent.bytes;
        self.sent.push_back(sent);
    }

    /// Whether answers come first: there are some, or so much is on its way.
    pub(super) fn is_full(&self) -> bool {
        self.sent.len() >= MOST || self.bytes >= MOST_BYTES || !self.heard.is_empty()
    }

    fn pop(&mut self) -> Option<Sent> {
        let sent = self.sent.pop_front()?;
        self.bytes -= sent.bytes;
        Some(sent)
    }
}

impl Sender {
    /// Waits for what became of everything that is on its way.
    pub(super) async fn settle_all(&mut self, pending: &mut Pending) -> Result<(), SendError> {
        while !pending.sent.is_empty() {
            self.settle(pending).await?;
        }
        Ok(())
    }

    /// Takes note of a file that is not sent, after those before it.
    pub(super) async fn settle_and_conclude(
        &mut self,
        pending: &mut Pending,
        file: FileReport,
    ) -> Result<(), SendError> {
        self.settle_all(pending).await?;
        self.conclude(file);
        Ok(())
    }

    /// Waits for what became of the first of those that are on their way.
    pub(super) async fn settle(&mut self, pending: &mut Pending) -> Result<(), SendError> {
        let Some(first) = pending.pop() else { return Ok(()) };
        let frame = match pending.heard.pop_front() {
            Some(frame) => frame,
            None => self.hear().await?,
        };
        let name = first.name;
        let file = match frame {
            Frame::Verdict(Ok(())) if first.kind == Kind::Directory => FileReport::directory(name),
            Frame::Verdict(Ok(())) => {
                // Others may have been sent since: observers hear of one after the other.
                let (bytes, elapsed) = (first.bytes, first.begin.elapsed());
                self.observer.hear(&Event::Begun { name: name.clone(), bytes });
                self.observer.hear(&Event::Progress { bytes });
                FileReport::stored(name, bytes, 0, &first.digest, elapsed)
            }
            Frame::Verdict(Err(reason)) => return Err(SendError::ReceiverFailed(reason)),
            Frame::Answer(Answer::Refused(reason)) => FileReport::refused(name, refused(&reason)),
            Frame::Answer(Answer::There(what)) => FileReport::there(name, what),
            other => return Err(out_of_turn(&other, "instead of a verdict")),
        };
        self.conclude(file);
        Ok(())
    }

    /// Takes in the answers that are there.
    pub(super) fn take_answers(&self, pending: &mut Pending) -> Result<(), SendError> {
        while pending.heard.len() < pending.sent.len()
            && let Ok(Some(message)) = self.association.try_receive()
        {
            match Frame::decode(message).map_err(SendError::Protocol)? {
                Frame::Working => {}
                frame => pending.heard.push_back(frame),
            }
        }
        Ok(())
    }

    /// Sends a small file, of `bytes` bytes, without waiting for anything.
    pub(super) async fn send_small(
        &mut self,
        source: Source,
        (following, bytes): (u32, u64),
        pending: &mut Pending,
    ) -> Result<Digest, SendError> {
        let offer = Offer { eager: true, ..self.offer_of_file(following, &source) };
        let (content, digest) = spawn_blocking(move || read_small(source, bytes)).await??;
        self.say_beside(frame::offer(&offer), pending).await?;
        let longest = self.send_buffer.min(self.association.stats().peer_window_bytes);
        let size = message_size(&self.association.path_stats(), longest);
        let mut rest = content;
        while !rest.is_empty() {
            let part = rest.split_to(size.min(rest.len()));
            self.pace.wait(part.len() as u64).await;
            self.say_beside(frame::data(part), pending).await?;
        }
        self.say_beside(frame::end(&digest), pending).await?;
        Ok(digest)
    }

    /// Sends a message and takes in answers meanwhile: a receiver whose answers nobody takes does not read on.
    pub(super) async fn say_beside(
        &mut self,
        message: Message,
        pending: &mut Pending,
    ) -> Result<(), SendError> {
        let association = &self.association;
        let Pending { sent, heard, .. } = pending;
        let said = async {
            let mut sending = pin!(association.send(message));
            loop {
                tokio::select! {
                    biased;
                    said = &mut sending => return Ok(said?),
                    frame = next_frame(association), if heard.len() < sent.len() => {
                        heard.push_back(frame?);
                    }
                }
            }
        };
        while_progressing(association, self.idle_timeout, said).await?
    }
}
