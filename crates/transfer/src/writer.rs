//! The thread that hashes, writes and stores one file.

use polypath::ReceivedMessage;
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::destination::{FileError, PartialFile, Stored};
use crate::frame::Digest;

/// Messages between network and disk. When the disk is slower, they wait in the association's receive buffer, whose
/// window then slows the sender.
const MESSAGES_AHEAD: usize = 32;
/// Bytes hashed and written at a time.
const WRITE_SIZE: usize = 256 << 10;

/// What the thread is to do.
#[derive(Debug)]
enum Order {
    /// Append content.
    Write(ReceivedMessage),
    /// Give the file its name if its digest is this one.
    Store(Digest),
}

/// A file that is being written. To abandon it, call [`discard`](Self::discard), which waits until nothing is
/// left of it; merely dropping it lets the thread clean up later.
#[derive(Debug)]
pub(crate) struct Writer {
    orders: mpsc::Sender<Order>,
    begun: Option<oneshot::Receiver<()>>,
    thread: Option<JoinHandle<Result<Finished, FileError>>>,
}

/// A file that was stored, and the digest of its content.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Finished {
    pub(crate) stored: Stored,
    pub(crate) digest: Digest,
}

impl Finished {
    /// What went wrong after it was stored.
    pub(crate) fn warning(&self) -> Option<&str> {
        self.stored.warning.as_deref()
    }
}

/// The thread has ended; [`Writer::failure`] says why.
#[derive(Debug)]
pub(crate) struct Stopped;

impl Writer {
    /// Starts a thread that writes the file that `create` makes.
    pub(crate) fn start(
        create: impl FnOnce() -> Result<PartialFile, FileError> + Send + 'static,
    ) -> Self {
        let (orders, queue) = mpsc::channel(MESSAGES_AHEAD);
        let (told, begun) = oneshot::channel();
        let thread = spawn_blocking(move || {
            let file = create()?;
            // Nobody waits for it if the file is to be discarded.
            let _ = told.send(());
            serve(file, queue)
        });
        Self { orders, begun: Some(begun), thread: Some(thread) }
    }

    /// Waits until the file exists.
    pub(crate) async fn begun(&mut self) -> Result<(), FileError> {
        let told = match &mut self.begun {
            Some(begun) => begun.await,
            None => Ok(()),
        };
        self.begun = None;
        match told {
            Ok(()) => Ok(()),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Appends content.
    pub(crate) async fn write(&self, message: ReceivedMessage) -> Result<(), Stopped> {
        self.orders.send(Order::Write(message)).await.map_err(|_| Stopped)
    }

    /// Stores the file if its content has the digest `claimed`.
    pub(crate) async fn store(&mut self, claimed: Digest) -> Result<Finished, FileError> {
        // If the thread has stopped, its outcome says why.
        let _ = self.orders.send(Order::Store(claimed)).await;
        self.outcome().await
    }

    /// Why the thread has stopped.
    pub(crate) async fn failure(&mut self) -> FileError {
        match self.outcome().await {
            Ok(_) => FileError::Done,
            Err(error) => error,
        }
    }

    /// Gives the file up and waits until it is gone. If it was too late, because the file has just been stored, gives
    /// where.
    pub(crate) async fn discard(&mut self) -> Option<Finished> {
        // The thread stops at the next order when nobody can give any.
        self.orders = mpsc::channel(1).0;
        self.outcome().await.ok()
    }

    async fn outcome(&mut self) -> Result<Finished, FileError> {
        let Some(thread) = &mut self.thread else { return Err(FileError::Done) };
        let outcome = thread.await;
        self.thread = None;
        outcome?
    }
}

fn serve(mut file: PartialFile, mut queue: mpsc::Receiver<Order>) -> Result<Finished, FileError> {
    let mut digest = Sha256::new();
    let mut buffer = Vec::with_capacity(WRITE_SIZE + (64 << 10));
    while let Some(order) = queue.blocking_recv() {
        if queue.is_closed() {
            break;
        }
        let claimed = match order {
            Order::Write(message) => {
                message.fragments().for_each(|fragment| buffer.extend_from_slice(fragment));
                None
            }
            Order::Store(claimed) => Some(claimed),
        };
        if buffer.len() >= WRITE_SIZE || claimed.is_some() {
            digest.update(&buffer);
            file.write(&buffer)?;
            buffer.clear();
        }
        if let Some(claimed) = claimed {
            let digest = Digest::from(digest.finalize());
            if digest != claimed {
                return Err(FileError::Digest);
            }
            return Ok(Finished { stored: file.complete()?, digest });
        }
    }
    Err(FileError::Ended)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::destination::Existing;

    fn writer(directory: &Path) -> Writer {
        let directory = directory.to_owned();
        Writer::start(move || PartialFile::create(&directory, "file", 0, Existing::Keep))
    }

    fn names(directory: &Path) -> usize {
        std::fs::read_dir(directory).unwrap().count()
    }

    #[tokio::test]
    async fn nothing_is_left_when_discard_returns() {
        let directory = tempfile::tempdir().unwrap();
        let mut begun = writer(directory.path());
        begun.begun().await.unwrap();
        assert_eq!(names(directory.path()), 1);
        assert_eq!(begun.discard().await, None);
        assert_eq!(names(directory.path()), 0);
        // Nor if the file was not there yet.
        assert_eq!(writer(directory.path()).discard().await, None);
        assert_eq!(names(directory.path()), 0);
    }

    #[tokio::test]
    async fn a_file_that_cannot_begin_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = writer(&directory.path().join("missing"));
        assert!(writer.begun().await.is_err());
        assert_eq!(writer.discard().await, None);
    }

    #[tokio::test]
    async fn what_was_stored_is_not_discarded() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = writer(directory.path());
        let finished = writer.store(Sha256::digest(b"").into()).await.unwrap();
        assert_eq!(finished.stored.path, directory.path().join("file"));
        assert!(writer.store(Sha256::digest(b"").into()).await.is_err());
        assert_eq!(names(directory.path()), 1);
    }

    #[tokio::test]
    async fn a_file_with_another_digest_is_not_stored() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = writer(directory.path());
        let error = writer.store([0; 32]).await.unwrap_err();
        assert!(error.to_string().contains("SHA-256 differs"), "{error}");
        assert_eq!(names(directory.path()), 0);
    }
}
