//! Receives the files of one association.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Error, Result, anyhow, bail};
use polypath::{Association, Message, ReceivedMessage};
use tokio::time::timeout;

use super::destination::{Existing, PartialFile};
use super::frame::{self, Digest, Frame, Offer};
use super::name::{self, Hidden};
use super::patience::{Patience, Watch};
use super::progress::{FileProgress, Progress, Side};
use super::summary::FileSummary;
use super::writer::{Finished, Stopped, Writer};
use super::{FAREWELL, part, traffic, watched};

/// Longest message with content; `send` makes none that comes near. Bounds the memory that a peer can take.
const LONGEST_MESSAGE: usize = 512 << 10;

/// Where files go, what is shown meanwhile, and how slow a peer may be.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) directory: PathBuf,
    pub(crate) existing: Existing,
    pub(crate) hidden: Hidden,
    pub(crate) patience: Patience,
    pub(crate) progress: Progress,
}

/// One association's files. [`run`](Self::run) may be dropped at any time; [`give_up`](Self::give_up) must follow, as
/// after an error.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    association: &'a Association,
    settings: &'a Settings,
    watch: Watch,
    current: Option<Current>,
    files: Vec<FileSummary>,
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
    File(Error),
    /// Nothing more comes of this association.
    Association(Error),
}

impl<'a> Session<'a> {
    pub(crate) fn new(association: &'a Association, settings: &'a Settings) -> Self {
        let watch = Watch::new(settings.patience, traffic(association));
        Self { association, settings, watch, current: None, files: Vec::new() }
    }

    /// Receives all files that the peer announces.
    pub(crate) async fn run(&mut self) -> Result<()> {
        let mut left = None;
        loop {
            let Some(message) = self.hear().await? else {
                bail!("the peer left before it was done");
            };
            let offer = match Frame::decode(message) {
                Ok(Frame::Offer(offer)) => offer,
                Ok(other) => {
                    return Err(violation(anyhow!("{} without an offer", other.kind())));
                }
                Err(error) => return Err(violation(error)),
            };
            if left.is_some_and(|left| offer.following >= left) {
                return Err(violation(anyhow!(
                    "{} files to follow, which is no fewer than before",
                    offer.following
                )));
            }
            left = Some(offer.following);
            self.receive_file(&offer).await?;
            if offer.following == 0 {
                break;
            }
        }
        part(self.association, self.settings.patience.idle).await
    }

    /// Ends the association because of `error`. Nothing incomplete is left when the peer learns of it.
    pub(crate) async fn give_up(&mut self, error: &Error) {
        self.discard(error).await;
        self.association.abort(format!("{error:#}"));
    }

    /// Every file that was offered, stored or not.
    pub(crate) fn into_files(self) -> Vec<FileSummary> {
        self.files
    }

    async fn receive_file(&mut self, offer: &Offer) -> Result<()> {
        let begun = self.begin(offer).await;
        let reply = begun.as_ref().map(|_| ()).map_err(|error| format!("{error:#}"));
        self.say(frame::answer(&reply)).await?;
        if let Err(error) = begun {
            self.current = None;
            self.conclude(FileSummary::failed(name::shown(&offer.name), &error), None);
            return Ok(());
        }
        match self.take_content(offer).await {
            Ok(()) => self.say(frame::verdict(&Ok(()))).await,
            Err(Stop::Association(error)) => Err(error),
            Err(Stop::File(error)) => {
                self.discard(&error).await;
                self.refuse_rest(&error).await;
                Err(error)
            }
        }
    }

    async fn begin(&mut self, offer: &Offer) -> Result<()> {
        let settings = self.settings;
        let name = name::check(&offer.name, settings.hidden)?.to_owned();
        let (size, directory, existing) =
            (offer.size, settings.directory.clone(), settings.existing);
        let shown = name::shown(&offer.name);
        let writer = Writer::start(move || PartialFile::create(&directory, &name, size, existing));
        let current = Current { name: shown, size, begin: Instant::now(), writer };
        self.current.insert(current).writer.begun().await
    }

    /// Receives and stores the file that was begun.
    async fn take_content(&mut self, offer: &Offer) -> Result<(), Stop> {
        let (association, settings) = (self.association, self.settings);
        let Some(current) = &mut self.current else { return Ok(()) };
        let progress =
            settings.progress.file(Side::Receiver, &current.name, offer.size, association);
        let claimed = self.collect(offer.size, &progress).await?;
        let Some(current) = &mut self.current else { return Ok(()) };
        let finished = current.writer.store(claimed).await.map_err(Stop::File)?;
        drop(progress);
        if let Some(current) = self.current.take() {
            self.conclude(current.finished(&finished), finished.warning());
        }
        Ok(())
    }

    /// Hands content to the writer until the end, and gives the digest that the peer claims.
    async fn collect(&mut self, size: u64, progress: &FileProgress) -> Result<Digest, Stop> {
        let mut received = 0_u64;
        loop {
            let message = match self.hear().await {
                Ok(Some(message)) => message,
                Ok(None) => {
                    return Err(Stop::Association(anyhow!(
                        "the peer stopped in the middle of the file"
                    )));
                }
                Err(error) => return Err(Stop::Association(error)),
            };
            match Frame::decode(message).map_err(broken)? {
                Frame::Data(message) if message.len() > LONGEST_MESSAGE => {
                    return Err(broken(anyhow!(
                        "content of {} bytes in one message",
                        message.len()
                    )));
                }
                Frame::Data(message) => {
                    let len = message.len() as u64;
                    received += len;
                    if received > size {
                        return Err(Stop::File(anyhow!(
                            "more than the {size} bytes that were offered"
                        )));
                    }
                    self.write(message).await?;
                    progress.advance(len);
                }
                Frame::End(_) if received < size => {
                    return Err(Stop::File(anyhow!(
                        "{received} bytes instead of the {size} that were offered"
                    )));
                }
                Frame::End(digest) => return Ok(digest),
                other => return Err(broken(anyhow!("{} in the middle of a file", other.kind()))),
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

    /// Gives up the file that is being received, if any, and waits until it is gone.
    async fn discard(&mut self, error: &Error) {
        // It stays in its place meanwhile, so that another attempt can follow one that was dropped.
        let Some(current) = &mut self.current else { return };
        let finished = current.writer.discard().await;
        let Some(current) = self.current.take() else { return };
        match finished {
            Some(finished) => self.conclude(current.finished(&finished), finished.warning()),
            None => self.conclude(FileSummary::failed(current.name, error), None),
        }
    }

    fn conclude(&mut self, file: FileSummary, warning: Option<&str>) {
        self.settings.progress.tell(&format!("received {file}"));
        if let Some(warning) = warning {
            self.settings.progress.tell(&format!("  warning: {warning}"));
        }
        self.files.push(file);
    }

    /// Tells the sender that the file failed and waits, but not for long, until it has understood.
    async fn refuse_rest(&self, error: &Error) {
        let understood = async {
            let verdict = frame::verdict(&Err(format!("{error:#}")));
            if self.association.send(verdict).await.is_ok() {
                while let Ok(Some(_)) = self.association.receive().await {}
            }
        };
        // If it has not, the association is aborted anyway, and that says the same.
        let _ = timeout(FAREWELL, understood).await;
    }

    async fn hear(&mut self) -> Result<Option<ReceivedMessage>> {
        let association = self.association;
        let heard = watched(&mut self.watch, || traffic(association), association.receive());
        Ok(heard.await??)
    }

    async fn say(&mut self, message: Message) -> Result<()> {
        let association = self.association;
        let said = watched(&mut self.watch, || traffic(association), association.send(message));
        Ok(said.await??)
    }
}

impl Current {
    fn finished(&self, finished: &Finished) -> FileSummary {
        let elapsed = self.begin.elapsed();
        FileSummary::stored(self.name.clone(), self.size, &finished.digest, elapsed)
    }
}

/// The peer does not keep to the protocol: nothing it says can be trusted to mean what it seems.
fn violation(error: Error) -> Error {
    error.context("the peer broke the transfer protocol")
}

fn broken(error: Error) -> Stop {
    Stop::Association(violation(error))
}
