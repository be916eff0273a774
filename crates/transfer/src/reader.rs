//! The thread that reads and hashes a file that is being sent.

use std::io::{self, Read};
use std::sync::Arc;
use std::thread;

use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::error::SendError;
use crate::frame::Digest;
use crate::part::{Beginnings, beginnings};
use crate::source::Source;

/// Messages read ahead from the disk.
const MESSAGES_AHEAD: usize = 32;

/// What a thread reads.
pub(crate) struct Reader {
    pub(crate) content: mpsc::Receiver<Bytes>,
    outcome: oneshot::Receiver<Result<Digest, SendError>>,
}

/// From where a file is read, and what its content before that comes to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Beginning {
    pub(crate) offset: u64,
    pub(crate) digest: Sha256,
}

impl Reader {
    /// Starts reading behind a beginning, in messages of at most `message_size` bytes.
    pub(crate) fn start(source: Source, from: Beginning, message_size: usize) -> io::Result<Self> {
        let (queue, content) = mpsc::channel(MESSAGES_AHEAD);
        let (told, outcome) = oneshot::channel();
        let read = move || {
            // Nobody waits for it if the transfer has ended.
            let _ = told.send(read_all(source, from, message_size, &queue));
        };
        // Not of the runtime's threads, which are waited for at its end: standard input may never end.
        thread::Builder::new().name("reader".to_owned()).spawn(read)?;
        Ok(Self { content, outcome })
    }

    /// The digest of the whole file, when all content was taken.
    pub(crate) async fn digest(&mut self) -> Result<Digest, SendError> {
        (&mut self.outcome).await.unwrap_or(Err(SendError::Ended))
    }
}

/// Hashes the beginnings of a file up to `offsets`, which fall. Dropping the future ends the thread soon.
pub(crate) async fn prove(
    mut source: Source,
    offsets: Vec<u64>,
) -> Result<(Source, Beginnings), SendError> {
    let wanted = Arc::new(());
    let here = Arc::clone(&wanted);
    let found = spawn_blocking(move || {
        let found = beginnings(&mut source, &offsets, || Arc::strong_count(&here) == 1);
        (source, found)
    });
    let (source, found) = found.await?;
    drop(wanted);
    match found {
        Ok(found) => Ok((source, found)),
        Err(error) => Err(unreadable(&source, error)),
    }
}

/// Reads as many bytes as the file had when it was opened: what is appended meanwhile is left out. Standard input is read to its
/// end.
pub(crate) fn read_all(
    mut source: Source,
    from: Beginning,
    message_size: usize,
    queue: &mpsc::Sender<Bytes>,
) -> Result<Digest, SendError> {
    let Beginning { offset, mut digest } = from;
    source.seek(offset).map_err(|error| unreadable(&source, error))?;
    let mut rest = source.size().map(|size| size.saturating_sub(offset));
    while rest != Some(0) {
        let most = usize::try_from(rest.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        let mut content = BytesMut::zeroed(message_size.min(most));
        let read = fill(&mut source, &mut content).map_err(|error| unreadable(&source, error))?;
        match &mut rest {
            Some(_) if read < content.len() => {
                return Err(unreadable(&source, io::ErrorKind::UnexpectedEof.into()));
            }
            Some(rest) => *rest -= read as u64,
            None if read == 0 => break,
            None => content.truncate(read),
        }
        digest.update(&content);
        if queue.blocking_send(content.freeze()).is_err() {
            return Err(SendError::Ended);
        }
    }
    Ok(digest.finalize().into())
}

/// Reads until the buffer is full or nothing comes any more.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A small file as a whole, and its digest.
pub(crate) fn read_small(mut source: Source, size: u64) -> Result<(Bytes, Digest), SendError> {
    let mut content = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    source.read_exact(&mut content).map_err(|error| unreadable(&source, error))?;
    let digest = Sha256::digest(&content).into();
    Ok((content.into(), digest))
}

fn unreadable(source: &Source, error: io::Error) -> SendError {
    let (name, bytes) = (source.name().to_owned(), source.size().unwrap_or(0));
    SendError::Read { name, bytes, source: error }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::source::Links;

    fn source(path: &Path) -> Source {
        Source::open(path, "file", Links::Follow).unwrap()
    }

    fn all(mut content: mpsc::Receiver<Bytes>, most: usize) -> Vec<u8> {
        let mut read = Vec::new();
        while let Some(part) = content.blocking_recv() {
            assert!(part.len() <= most);
            read.extend_from_slice(&part);
        }
        read
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let source = source(&path);
        std::fs::write(&path, "less").unwrap();
        let (queue, _content) = mpsc::channel(4);
        let error = read_all(source, Beginning::default(), 100, &queue).unwrap_err();
        assert!(error.to_string().contains("7 bytes at the beginning"), "{error}");
    }

    #[test]
    fn what_is_appended_meanwhile_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let source = source(&path);
        std::fs::write(&path, "content and more").unwrap();
        let (queue, content) = mpsc::channel(4);
        let digest = read_all(source, Beginning::default(), 3, &queue).unwrap();
        drop(queue);
        assert_eq!(all(content, 3), b"content");
        assert_eq!(digest, <[u8; 32]>::from(Sha256::digest(b"content")));
    }

    #[tokio::test]
    async fn reading_goes_on_behind_a_beginning() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let (source, found) = prove(source(&path), vec![5, 3]).await.unwrap();
        assert_eq!(found.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [5, 3]);
        let (offset, digest) = found[0].clone();
        let mut reader = Reader::start(source, Beginning { offset, digest }, 100).unwrap();
        let mut read = Vec::new();
        while let Some(part) = reader.content.recv().await {
            read.extend_from_slice(&part);
        }
        assert_eq!(read, b"nt");
        assert_eq!(reader.digest().await.unwrap(), <[u8; 32]>::from(Sha256::digest(b"content")));
        assert!(prove(self::source(&path), vec![8]).await.is_err(), "it is shorter");
    }
}
