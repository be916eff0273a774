//! A file whose content waits for the receiver's answer.

use std::sync::Arc;

use polypath::Association;

use super::said::Said;
use super::{Outcome, Sender, message_size, next_frame, out_of_turn, refused};
use crate::error::SendError;
use crate::event::Event;
use crate::frame::{self, Answer, Digest, Frame};
use crate::reader::{Beginning, Reader, prove};
use crate::source::Source;
use crate::wait::with_signs_of_life;

/// Where an answer has no place.
const ALREADY: &str = "a second time for one file";

impl Sender {
    pub(super) async fn send_file(&mut self, source: Source, following: u32) -> Outcome {
        match self.try_send_file(source, following).await {
            Ok(outcome) => outcome,
            Err(error) => Outcome::Broken(error),
        }
    }

    async fn try_send_file(
        &mut self,
        source: Source,
        following: u32,
    ) -> Result<Outcome, SendError> {
        let offer = self.offer_of_file(following, &source);
        self.say(frame::offer(&offer)).await?;
        let answer = self.hear_answer().await?;
        let (source, from, answer) = match answer {
            Answer::Prove(offsets) => self.prove(source, offsets).await?,
            Answer::From(offset) if offset > 0 => return Err(SendError::WrongOffset(offset)),
            answer => (source, Beginning::default(), answer),
        };
        match answer {
            Answer::Refused(reason) => return Ok(Outcome::Refused(refused(&reason))),
            Answer::There(what) => return Ok(Outcome::There(what)),
            Answer::From(_) | Answer::Prove(_) => {}
            Answer::Alone => return Err(out_of_turn(&Frame::Answer(Answer::Alone), ALREADY)),
        }
        let (name, bytes) = (source.name().to_owned(), source.size().unwrap_or(0));
        self.observer.hear(&Event::Begun { name: name.clone(), bytes });
        let resumed = from.offset;
        if resumed > 0 {
            self.observer.hear(&Event::Resumed { name, bytes: resumed });
        }
        let (association, said) = (self.association.clone(), Arc::clone(&self.said));
        let longest = self.send_buffer.min(association.stats().peer_window_bytes);
        let size = message_size(&association.path_stats(), longest);
        let mut reader = Reader::start(source, from, size).map_err(SendError::NoThread)?;
        let (digest, sent) = tokio::select! {
            biased;
            early = early_frame(&association, &said) => return Err(early),
            sent = self.send_content(&mut reader) => sent?,
        };
        self.finish(&digest).await?;
        Ok(Outcome::Stored { digest, bytes: resumed + sent, resumed })
    }

    async fn hear_answer(&mut self) -> Result<Answer, SendError> {
        match self.hear().await? {
            Frame::Answer(answer) => Ok(answer),
            other => Err(out_of_turn(&other, "instead of an answer")),
        }
    }

    /// Says what this side has up to some offsets, and hears from where on the content is wanted.
    async fn prove(
        &mut self,
        source: Source,
        offsets: Vec<u64>,
    ) -> Result<(Source, Beginning, Answer), SendError> {
        let size = source.size().unwrap_or(0);
        if let Some(beyond) = offsets.iter().find(|offset| **offset > size) {
            return Err(SendError::WrongOffset(*beyond));
        }
        let proving = prove(source, offsets);
        let (source, found) = with_signs_of_life(&self.association, proving).await?;
        let digest =
            |(_, digest): &(u64, sha2::Sha256)| sha2::Digest::finalize(digest.clone()).into();
        let digests: Vec<Digest> = found.iter().map(digest).collect();
        self.say(frame::proof(&digests)).await?;
        let answer = self.hear_answer().await?;
        let from = match answer {
            Answer::From(0) | Answer::Refused(_) | Answer::There(_) => Beginning::default(),
            Answer::From(wanted) => match found.into_iter().find(|(offset, _)| *offset == wanted) {
                Some((offset, digest)) => Beginning { offset, digest },
                None => return Err(SendError::WrongOffset(wanted)),
            },
            Answer::Prove(_) | Answer::Alone => {
                return Err(out_of_turn(&Frame::Answer(answer), ALREADY));
            }
        };
        Ok((source, from, answer))
    }

    async fn send_content(&mut self, reader: &mut Reader) -> Result<(Digest, u64), SendError> {
        let mut sent = 0;
        while let Some(content) = reader.content.recv().await {
            let bytes = content.len() as u64;
            self.pace.wait(bytes).await;
            self.say(frame::data(content)).await?;
            sent += bytes;
            self.observer.hear(&Event::Progress { bytes });
        }
        Ok((reader.digest().await?, sent))
    }

    async fn finish(&mut self, digest: &Digest) -> Result<(), SendError> {
        self.say(frame::end(digest)).await?;
        match self.hear().await? {
            Frame::Verdict(Ok(())) => Ok(()),
            Frame::Verdict(Err(reason)) => Err(SendError::ReceiverFailed(reason)),
            other => Err(out_of_turn(&other, "instead of a verdict")),
        }
    }
}

/// The receiver says something before it has the whole file.
async fn early_frame(association: &Association, said: &Said) -> SendError {
    match next_frame(association, said).await {
        Ok(Frame::Verdict(Err(reason))) => SendError::ReceiverFailed(reason),
        Ok(other) => out_of_turn(&other, "before the end of the file"),
        Err(error) => error,
    }
}
