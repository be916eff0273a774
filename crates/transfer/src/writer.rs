//! The thread that hashes, writes and stores one file.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use polypath::ReceivedMessage;
use sha2::{Digest as _, Sha256};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::destination::{Existing, FileError, Found, Target};
use crate::frame::Digest;
use crate::part::{MIN_KEPT, PartialFile, Stored, longest_same};
use crate::sink::Sink;

/// Messages between network and disk. When the disk is slower, they wait in the association's receive buffer, whose
/// window then slows the sender.
const MESSAGES_AHEAD: usize = 32;
/// How long another process is waited for that writes the same incomplete file.
const OTHER_PROCESS: Duration = Duration::from_secs(3);
/// Pause between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes hashed and written at a time.
const WRITE_SIZE: usize = 256 << 10;

/// A file that is to be written.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) target: Target,
    /// The hidden name under which it is kept if it does not become complete.
    pub(crate) part: Option<String>,
    /// Free bytes of the disk that it may not have.
    pub(crate) taken: u64,
    /// Whether the sender can say what it has, so that it need not send what is there.
    pub(crate) compares: bool,
}

/// What was found when a file was to begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Begun {
    /// All of it is wanted.
    Fresh,
    /// The sender is to say what it has up to these offsets, which fall.
    Prove(Vec<u64>),
    /// Nothing of it is wanted.
    There(&'static str),
}

/// What is wanted of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// The content from this byte on.
    From(u64),
    /// Nothing: the same is there.
    Nothing,
}

/// What the thread is to do.
#[derive(Debug)]
enum Order {
    /// Compare these digests of the sender's beginnings, and say what is wanted.
    Prove(Vec<Digest>, oneshot::Sender<Wanted>),
    /// Append content.
    Write(ReceivedMessage),
    /// Give the file its name if its digest is this one.
    Store(Digest),
    /// Keep nothing of it.
    Spoil,
}

/// A file that is being written. To abandon it, call [`discard`](Self::discard), which waits until the thread has let go of
/// it; merely dropping it lets the thread clean up later.
#[derive(Debug)]
pub(crate) struct Writer {
    orders: mpsc::Sender<Order>,
    begun: Option<oneshot::Receiver<Begun>>,
    outcome: Option<oneshot::Receiver<Result<Finished, FileError>>>,
    /// Whether what takes the content may block for ever.
    may_block: bool,
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
    /// Starts a thread that writes a file.
    pub(crate) fn start(plan: Plan) -> Self {
        let (orders, queue) = mpsc::channel(MESSAGES_AHEAD);
        let (told, begun) = oneshot::channel();
        let (end, outcome) = oneshot::channel();
        // The runtime waits for it at its end, so that nothing is left behind.
        spawn_blocking(move || end.send(work(plan, queue, told)));
        Self { orders, begun: Some(begun), outcome: Some(outcome), may_block: false }
    }

    /// Starts a thread that hands content on.
    pub(crate) fn into_sink(sink: Sink, name: String) -> io::Result<Self> {
        let (orders, queue) = mpsc::channel(MESSAGES_AHEAD);
        let (told, begun) = oneshot::channel();
        let (end, outcome) = oneshot::channel();
        let work = move || {
            let _ = told.send(Begun::Fresh);
            let _ = end.send(pass_on(&sink, &name, queue));
        };
        thread::Builder::new().name("content".to_owned()).spawn(work)?;
        Ok(Self { orders, begun: Some(begun), outcome: Some(outcome), may_block: true })
    }

    /// Waits until the file exists, or need not.
    pub(crate) async fn begun(&mut self) -> Result<Begun, FileError> {
        let told = match &mut self.begun {
            Some(begun) => begun.await,
            None => return Err(self.failure().await),
        };
        self.begun = None;
        match told {
            Ok(begun) => Ok(begun),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Compares what the sender says it has with what is here.
    pub(crate) async fn prove(&mut self, digests: Vec<Digest>) -> Result<Wanted, FileError> {
        let (told, wanted) = oneshot::channel();
        let _ = self.orders.send(Order::Prove(digests, told)).await;
        match wanted.await {
            Ok(wanted) => Ok(wanted),
            Err(_) => Err(self.failure().await),
        }
    }

    /// Appends content, if there is room for it at once; gives it back otherwise.
    pub(crate) fn try_write(&self, message: ReceivedMessage) -> Option<ReceivedMessage> {
        match self.orders.try_send(Order::Write(message)) {
            Ok(()) => None,
            Err(error) => match error.into_inner() {
                Order::Write(message) => Some(message),
                _ => None,
            },
        }
    }

    /// Appends content.
    pub(crate) async fn write(&self, message: ReceivedMessage) -> Result<(), Stopped> {
        self.orders.send(Order::Write(message)).await.map_err(|_| Stopped)
    }

    /// Stores the file if its content has the digest `claimed`.
    pub(crate) async fn store(&mut self, claimed: Digest) -> Result<Finished, FileError> {
        self.begin_to_store(claimed).await;
        self.stored().await
    }

    /// The same without waiting for the end. [`stored`](Self::stored) does.
    pub(crate) async fn begin_to_store(&self, claimed: Digest) {
        // If the thread has stopped, its outcome says why.
        let _ = self.orders.send(Order::Store(claimed)).await;
        // It has written everything when it takes that: no content waits in memory while that of the next file comes.
        let _ = self.orders.reserve_many(MESSAGES_AHEAD).await;
    }

    /// Waits until the file is stored. May be dropped and called again.
    pub(crate) async fn stored(&mut self) -> Result<Finished, FileError> {
        self.outcome().await
    }

    /// Nothing of the content is to be kept.
    pub(crate) async fn spoil(&self) {
        let _ = self.orders.send(Order::Spoil).await;
    }

    /// Why the thread has stopped.
    pub(crate) async fn failure(&mut self) -> FileError {
        match self.outcome().await {
            Ok(_) => FileError::Done,
            Err(error) => error,
        }
    }

    /// Gives the file up and waits until nobody writes to it: what came of it is removed or kept. If it was too late, because the
    /// file has just been stored, gives where.
    pub(crate) async fn discard(&mut self) -> Option<Finished> {
        // The thread stops at the next order when nobody can give any.
        self.orders = mpsc::channel(1).0;
        if self.may_block {
            return None;
        }
        self.outcome().await.ok()
    }

    async fn outcome(&mut self) -> Result<Finished, FileError> {
        let Some(outcome) = &mut self.outcome else { return Err(FileError::Done) };
        let told = outcome.await;
        self.outcome = None;
        // A thread that has said nothing has panicked.
        told.unwrap_or(Err(FileError::ThreadFailed))
    }
}

/// What the thread does.
fn work(
    plan: Plan,
    mut queue: mpsc::Receiver<Order>,
    told: oneshot::Sender<Begun>,
) -> Result<Finished, FileError> {
    let same = match plan.target.look()? {
        Found::There(why) if plan.compares => {
            let _ = told.send(Begun::There(why));
            return Err(FileError::Done);
        }
        Found::SameSize(file) if plan.compares => Some(file),
        Found::SameSize(_) if plan.target.existing == Existing::Replace => None,
        Found::There(_) | Found::SameSize(_) => return Err(FileError::Exists(plan.target.name)),
        Found::Nothing => None,
    };
    if let Some(mut found) = same {
        let size = plan.target.size.unwrap_or(0);
        let offsets = if size > MIN_KEPT { vec![size, MIN_KEPT] } else { vec![size] };
        // Nobody waits for it if the file is to be discarded.
        let _ = told.send(Begun::Prove(offsets.clone()));
        let (digests, told) = proof(&mut queue)?;
        let same = longest_same(&mut found, &offsets, &digests, || queue.is_closed());
        let is_same = match same.map_err(FileError::Read)?.0 {
            // Nothing is all there is, and the digest has to be that of nothing.
            0 => size == 0 && digests.first() == Some(&Digest::from(Sha256::digest([]))),
            offset => offset == size,
        };
        if is_same {
            let _ = told.send(Wanted::Nothing);
            return Err(FileError::Done);
        }
        if plan.target.existing != Existing::Replace {
            return Err(FileError::Differs(plan.target.name));
        }
        let mut file = open(&plan)?;
        file.go_on_from(0)?;
        let _ = told.send(Wanted::From(0));
        return serve(file, Sha256::new(), queue);
    }
    let mut file = open(&plan)?;
    let offsets = if plan.compares { file.offsets() } else { Vec::new() };
    if offsets.is_empty() {
        file.go_on_from(0)?;
        let _ = told.send(Begun::Fresh);
        return serve(file, Sha256::new(), queue);
    }
    let _ = told.send(Begun::Prove(offsets.clone()));
    let (digests, told) = proof(&mut queue)?;
    let (offset, digest) = match file.longest_same(&offsets, &digests, || queue.is_closed()) {
        Ok(longest) => longest,
        Err(_) if queue.is_closed() => return Err(FileError::Ended),
        // What cannot be read begins anew.
        Err(_) => (0, Sha256::new()),
    };
    file.go_on_from(offset)?;
    let _ = told.send(Wanted::From(offset));
    serve(file, digest, queue)
}

/// Waits for what the sender says it has, and for whom to tell what is wanted.
fn proof(
    queue: &mut mpsc::Receiver<Order>,
) -> Result<(Vec<Digest>, oneshot::Sender<Wanted>), FileError> {
    match queue.blocking_recv() {
        Some(Order::Prove(digests, told)) => Ok((digests, told)),
        _ => Err(FileError::Ended),
    }
}

fn open(plan: &Plan) -> Result<PartialFile, FileError> {
    let Some(part) = &plan.part else {
        return PartialFile::create(plan.target.clone(), plan.taken);
    };
    let begin = Instant::now();
    loop {
        match PartialFile::open(plan.target.clone(), part, plan.taken) {
            // Another process has it, which may be about to end.
            Err(FileError::Busy(_)) if begin.elapsed() < OTHER_PROCESS => thread::sleep(LOOK),
            opened => return opened,
        }
    }
}

/// Hands content on as it comes. Whether it was right is known at the end.
fn pass_on(
    sink: &Sink,
    name: &str,
    mut queue: mpsc::Receiver<Order>,
) -> Result<Finished, FileError> {
    let mut digest = Sha256::new();
    while let Some(order) = queue.blocking_recv() {
        match order {
            Order::Write(_) | Order::Store(_) if queue.is_closed() => break,
            Order::Write(message) => {
                for fragment in message.fragments() {
                    digest.update(fragment);
                    sink.write(fragment).map_err(FileError::Write)?;
                }
            }
            Order::Store(claimed) => {
                sink.flush().map_err(FileError::Write)?;
                let digest = Digest::from(digest.finalize());
                if digest != claimed {
                    return Err(FileError::Digest);
                }
                let stored = Stored { path: name.into(), warning: None };
                return Ok(Finished { stored, digest });
            }
            Order::Prove(..) | Order::Spoil => break,
        }
    }
    Err(FileError::Ended)
}

fn serve(
    mut file: PartialFile,
    mut digest: Sha256,
    mut queue: mpsc::Receiver<Order>,
) -> Result<Finished, FileError> {
    let mut buffer = Vec::with_capacity(WRITE_SIZE + (64 << 10));
    while let Some(order) = queue.blocking_recv() {
        let claimed = match order {
            Order::Write(message) => {
                message.fragments().for_each(|fragment| buffer.extend_from_slice(fragment));
                None
            }
            Order::Store(_) if queue.is_closed() => break,
            Order::Store(claimed) => Some(claimed),
            Order::Spoil => {
                file.spoil();
                return Err(FileError::Ended);
            }
            Order::Prove(..) => return Err(FileError::Done),
        };
        if buffer.len() >= WRITE_SIZE || claimed.is_some() {
            digest.update(&buffer);
            file.write(&buffer)?;
            buffer.clear();
        }
        if let Some(claimed) = claimed {
            let digest = Digest::from(digest.finalize());
            if digest != claimed {
                file.spoil();
                return Err(FileError::Digest);
            }
            return Ok(Finished { stored: file.complete()?, digest });
        }
    }
    // What came is worth keeping as far as the disk takes it.
    file.write(&buffer)?;
    Err(FileError::Ended)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::part::part_name;

    fn plan(directory: &Path, size: u64, existing: Existing) -> Plan {
        let (directory, name) = (directory.to_owned(), "file".to_owned());
        let target =
            Target { directory, name, size: Some(size), mode: None, modified: None, existing };
        Plan { target, part: None, taken: 0, compares: false }
    }

    fn writer(directory: &Path) -> Writer {
        Writer::start(plan(directory, 0, Existing::Keep))
    }

    /// With what the sender can prove, and what was left.
    fn comparing(directory: &Path, size: u64, existing: Existing) -> Writer {
        let part = Some(part_name(None, "file"));
        Writer::start(Plan { part, compares: true, ..plan(directory, size, existing) })
    }

    fn digest(content: &[u8]) -> Digest {
        Sha256::digest(content).into()
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

    #[tokio::test]
    async fn the_longest_beginning_that_is_the_same_is_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        let content = vec![7; 3 << 20];
        let part = directory.path().join(part_name(None, "file"));
        let (all, less) = (2 << 20, 1 << 20);
        let first = digest(&content[..MIN_KEPT as usize]);
        for (proof, expected) in [
            (vec![digest(&content[..all]), digest(&content[..less]), first], all as u64),
            (vec![[0; 32], digest(&content[..less]), first], less as u64),
            (vec![[0; 32], [0; 32], first], MIN_KEPT),
            (vec![digest(&content[..all]), digest(&content[..less]), [0; 32]], 0),
            (vec![], 0),
        ] {
            std::fs::write(&part, &content[..all]).unwrap();
            let mut writer = comparing(directory.path(), 3 << 20, Existing::Keep);
            let begun = writer.begun().await.unwrap();
            assert_eq!(begun, Begun::Prove(vec![all as u64, less as u64, MIN_KEPT]));
            assert_eq!(writer.prove(proof).await.unwrap(), Wanted::From(expected));
            assert_eq!(std::fs::metadata(&part).unwrap().len(), expected);
            assert_eq!(writer.discard().await, None);
        }
        // The digest is that of the whole file.
        std::fs::write(&part, &content).unwrap();
        let mut writer = comparing(directory.path(), 3 << 20, Existing::Keep);
        let Begun::Prove(offsets) = writer.begun().await.unwrap() else { panic!("a part") };
        let proof = offsets.iter().map(|offset| digest(&content[..*offset as usize])).collect();
        assert_eq!(writer.prove(proof).await.unwrap(), Wanted::From(3 << 20));
        let finished = writer.store(digest(&content)).await.unwrap();
        assert_eq!(std::fs::read(finished.stored.path).unwrap(), content);
        assert!(!part.exists());
    }

    #[tokio::test]
    async fn a_file_that_is_there_is_compared() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for (existing, proof, expected) in [
            (Existing::Keep, digest(b"old"), Ok(Wanted::Nothing)),
            (Existing::Replace, digest(b"old"), Ok(Wanted::Nothing)),
            (Existing::Keep, digest(b"new"), Err("with other content")),
            (Existing::Replace, digest(b"new"), Ok(Wanted::From(0))),
        ] {
            std::fs::write(&path, "old").unwrap();
            let mut writer = comparing(directory.path(), 3, existing);
            assert_eq!(writer.begun().await.unwrap(), Begun::Prove(vec![3]));
            match (writer.prove(vec![proof]).await, expected) {
                (Ok(wanted), Ok(expected)) => assert_eq!(wanted, expected),
                (Err(error), Err(text)) => assert!(error.to_string().contains(text), "{error}"),
                other => panic!("{other:?}"),
            }
            assert_eq!(writer.discard().await, None);
            assert_eq!(std::fs::read(&path).unwrap(), b"old");
            assert_eq!(names(directory.path()), 1);
        }
        let mut writer = comparing(directory.path(), 3, Existing::Skip);
        assert!(matches!(writer.begun().await, Ok(Begun::There(_))));
    }
}
