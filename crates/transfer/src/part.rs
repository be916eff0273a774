//! Incomplete files: they grow under hidden names in the directory of an inbox, and some are kept so that their sender can go on.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

use crate::destination::{
    Existing, FileError, Incomplete, Target, check_room, open_options, rename_new, sync_directory,
};
use crate::frame::Digest;
use crate::ledger::Ledger;

/// Fewer bytes are not worth keeping.
pub(crate) const MIN_KEPT: u64 = 64 << 10;
/// Bytes that are hashed at a time.
const HASH_SIZE: usize = 256 << 10;
/// A power failure loses no more than about this much of an incomplete file.
const SYNC_BYTES: u64 = 64 << 20;
/// The same in time, for slow senders.
const SYNC_TIME: Duration = Duration::from_secs(10);
/// How much further a file of unknown size may grow before its disk is looked at again.
const ROOM_STEP: u64 = 4 << 20;
/// How far before the end of an incomplete file its beginning is also compared: the last bytes may not have survived.
const STEPS_BACK: [u64; 7] = [0, 1 << 20, 8 << 20, 64 << 20, 256 << 20, 1 << 30, 8 << 30];

/// A file that grows under a hidden name. It gets its final name when it is complete. If that does not happen it is removed,
/// or kept for its sender.
#[derive(Debug)]
pub(crate) struct PartialFile {
    file: File,
    path: PathBuf,
    target: Target,
    is_kept: bool,
    has_final_name: bool,
    /// Bytes that it has.
    length: u64,
    /// Free bytes of the disk that it may not have.
    taken: u64,
    /// The length that there is room for, if its size was not known before.
    room_until: u64,
    sync: Sync,
}

/// A file that has its final name.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    /// What went wrong afterwards: it changes nothing, but may be worth a look.
    pub(crate) warning: Option<String>,
}

/// Beginnings of a file, with what their digests come of. The longest comes first.
pub(crate) type Beginnings = Vec<(u64, Sha256)>;

impl PartialFile {
    /// Begins a file that is not kept. It may not have `taken` bytes of the free ones of the disk: they are promised to others, or are
    /// to stay free.
    pub(crate) fn create(target: Target, taken: u64) -> Result<Self, FileError> {
        check_room(&target.directory, target.size.unwrap_or(0), taken)?;
        target.make_parents()?;
        let (file, path) = make_partial(&target.directory, target.mode)?;
        Ok(Self::new(file, path, target, (false, 0), taken))
    }

    /// Opens the file with the hidden name `part`, or begins it. It is kept if it does not become complete.
    pub(crate) fn open(target: Target, part: &str, taken: u64) -> Result<Self, FileError> {
        let path = target.directory.join(part);
        let (file, length) = loop {
            let opened = open_options(target.mode).create(true).truncate(false).open(&path);
            let file = opened.map_err(FileError::Create)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(FileError::Busy(target.name)),
                // Some file systems have no locks; two receivers of one directory are left to their owner there.
                Err(TryLockError::Error(_)) => {}
            }
            let found = file.metadata().map_err(FileError::Create)?;
            if !found.is_file() {
                return Err(FileError::Create(io::ErrorKind::AlreadyExists.into()));
            }
            // Between opening and locking, another receiver may have removed it.
            if is_linked(&found) {
                break (file, found.len());
            }
        };
        let partial = Self::new(file, path, target, (true, length), taken);
        let missing = partial.target.size.map_or(0, |size| size.saturating_sub(length));
        check_room(&partial.target.directory, missing, taken)?;
        partial.target.make_parents()?;
        Ok(partial)
    }

    fn new(
        file: File,
        path: PathBuf,
        target: Target,
        (is_kept, length): (bool, u64),
        taken: u64,
    ) -> Self {
        let (has_final_name, room_until, sync) = (false, 0, Sync::new());
        Self { file, path, target, is_kept, has_final_name, length, taken, room_until, sync }
    }

    /// Ends of beginnings that may be those of the sender's file, the longest first. None are worth a look if it is short.
    pub(crate) fn offsets(&self) -> Vec<u64> {
        let most = self.target.size.map_or(0, |size| self.length.min(size));
        let steps = STEPS_BACK.iter().filter_map(|back| most.checked_sub(*back));
        let mut offsets: Vec<_> = steps.filter(|offset| *offset >= MIN_KEPT).collect();
        if offsets.last().is_some_and(|last| *last > MIN_KEPT) {
            offsets.push(MIN_KEPT);
        }
        offsets
    }

    /// The longest of these beginnings that is the same as the sender's, which has `digests`.
    pub(crate) fn longest_same(
        &mut self,
        offsets: &[u64],
        digests: &[Digest],
        stop: impl Fn() -> bool,
    ) -> Result<(u64, Sha256), FileError> {
        self.file.seek(SeekFrom::Start(0)).map_err(FileError::Read)?;
        longest_same(&mut self.file, offsets, digests, stop).map_err(FileError::Read)
    }

    /// Keeps the first `offset` bytes only; content is appended to them.
    pub(crate) fn go_on_from(&mut self, offset: u64) -> Result<(), FileError> {
        self.file.set_len(offset).map_err(FileError::Write)?;
        self.file.seek(SeekFrom::Start(offset)).map_err(FileError::Write)?;
        self.length = offset;
        Ok(())
    }

    /// Appends content.
    pub(crate) fn write(&mut self, content: &[u8]) -> Result<(), FileError> {
        let length = self.length.saturating_add(content.len() as u64);
        if self.target.size.is_none() && length > self.room_until {
            self.room_until = length.saturating_add(ROOM_STEP);
            check_room(&self.target.directory, self.room_until - self.length, self.taken)?;
        }
        self.file.write_all(content).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                FileError::DiskFull(self.target.name.clone())
            }
            _ => FileError::Write(error),
        })?;
        self.length += content.len() as u64;
        if self.is_kept {
            self.sync.look(&self.file, self.length, &self.target.directory);
        }
        Ok(())
    }

    /// Its content is wrong, and is not kept.
    pub(crate) fn spoil(&mut self) {
        self.is_kept = false;
    }

    /// Makes the content durable and gives it its final name. An error means that it did not get the name.
    pub(crate) fn complete(mut self) -> Result<Stored, FileError> {
        let dressed = self.target.dress(&self.file);
        self.file.sync_all().map_err(FileError::Write)?;
        let target = self.target.path();
        match self.target.existing {
            Existing::Replace => fs::rename(&self.path, &target),
            Existing::Keep | Existing::Skip => rename_new(&self.path, &target),
        }
        .map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                self.is_kept = false;
                FileError::Exists(self.target.name.clone())
            }
            _ => FileError::Rename(error),
        })?;
        self.has_final_name = true;
        let leftover = match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Some(format!("{} cannot be removed: {error}", self.path.display()))
            }
            _ => None,
        };
        let synced = target.parent().map_or(Ok(()), sync_directory);
        let volatile =
            synced.err().map(|error| format!("its name may not survive a power failure: {error}"));
        let undressed = dressed.err().map(|error| {
            format!("it does not have the permissions or the time of the original: {error}")
        });
        Ok(Stored { path: target, warning: leftover.or(volatile).or(undressed) })
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if self.has_final_name {
            return;
        }
        if self.is_kept && self.length >= MIN_KEPT {
            // What the disk does not take now is compared when the sender is back.
            let _ = self.file.sync_data();
            let _ = sync_directory(&self.target.directory);
        } else {
            // Nobody is left to tell; a file that is gone already is as good.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes content through to the disk now and then, beside the thread that writes.
#[derive(Debug)]
struct Sync {
    at: u64,
    since: Instant,
    is_running: Arc<AtomicBool>,
}

impl Sync {
    fn new() -> Self {
        Self { at: 0, since: Instant::now(), is_running: Arc::default() }
    }

    fn look(&mut self, file: &File, length: u64, directory: &Path) {
        let is_due =
            length.saturating_sub(self.at) >= SYNC_BYTES || self.since.elapsed() >= SYNC_TIME;
        if !is_due || self.is_running.load(Ordering::Acquire) {
            return;
        }
        let (Ok(file), Ok(runtime)) = (file.try_clone(), Handle::try_current()) else { return };
        (self.at, self.since) = (length, Instant::now());
        self.is_running.store(true, Ordering::Release);
        let (is_running, directory) = (Arc::clone(&self.is_running), directory.to_owned());
        runtime.spawn_blocking(move || {
            // An error shows when the file is complete.
            let _ = file.sync_data();
            let _ = sync_directory(&directory);
            is_running.store(false, Ordering::Release);
        });
    }
}

/// Hashes what is read up to each of `offsets`, which fall. Gives up when `stop` says so, or at the end.
pub(crate) fn beginnings(
    from: &mut impl Read,
    offsets: &[u64],
    stop: impl Fn() -> bool,
) -> io::Result<Beginnings> {
    let (mut digest, mut at, mut found) = (Sha256::new(), 0, Beginnings::new());
    let mut buffer = vec![0; HASH_SIZE];
    for offset in offsets.iter().rev() {
        at = hash_up_to(from, &mut digest, (at, *offset), &mut buffer, &stop)?;
        found.insert(0, (*offset, digest.clone()));
    }
    Ok(found)
}

/// The longest beginning with the digest that it is to have: `digests` are those of the beginnings up to `offsets`, which fall. Reads no
/// further than to the first that differs, so that nobody who has another file makes this side read a long one.
pub(crate) fn longest_same(
    from: &mut impl Read,
    offsets: &[u64],
    digests: &[Digest],
    stop: impl Fn() -> bool,
) -> io::Result<(u64, Sha256)> {
    let (mut digest, mut at, mut longest) = (Sha256::new(), 0, (0, Sha256::new()));
    let mut buffer = vec![0; HASH_SIZE];
    for (offset, expected) in offsets.iter().zip(digests).rev() {
        at = match hash_up_to(from, &mut digest, (at, *offset), &mut buffer, &stop) {
            // It is shorter than it was: what is there may be the same all the same.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
            at => at?,
        };
        if Digest::from(digest.clone().finalize()) != *expected {
            break;
        }
        longest = (*offset, digest.clone());
    }
    Ok(longest)
}

/// Hashes what is read from one offset to another, which is returned.
fn hash_up_to(
    from: &mut impl Read,
    digest: &mut Sha256,
    (mut at, to): (u64, u64),
    buffer: &mut [u8],
    stop: &impl Fn() -> bool,
) -> io::Result<u64> {
    while at < to {
        if stop() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = usize::try_from(to - at).unwrap_or(usize::MAX).min(buffer.len());
        match from.read(&mut buffer[..most]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                digest.update(&buffer[..read]);
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(at)
}

#[cfg(unix)]
fn is_linked(found: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(found) > 0
}

#[cfg(not(unix))]
fn is_linked(_found: &fs::Metadata) -> bool {
    true
}

/// What hidden names begin and end with; 16 hexadecimal digits are between.
const HIDDEN: (&str, &str) = (".polypath-", ".part");

/// Makes a file under a hidden name.
pub(crate) fn make_partial(
    directory: &Path,
    mode: Option<u32>,
) -> Result<(File, PathBuf), FileError> {
    let path = directory.join(hidden(getrandom::u64()?));
    let file = open_options(mode).create_new(true).open(&path).map_err(FileError::Create)?;
    Ok((file, path))
}

/// The hidden name of the file `name` of a sender, which has a name itself if senders have keys: what one of them left, no other
/// one goes on with.
pub(crate) fn part_name(owner: Option<&str>, name: &str) -> String {
    let mut digest = Sha256::new();
    // No name has a zero in it.
    digest.update(owner.map_or("", |owner| owner));
    digest.update([0, u8::from(owner.is_some())]);
    digest.update(name);
    let digest: [u8; 32] = digest.finalize().into();
    hidden(digest.first_chunk().map_or(0, |first| u64::from_be_bytes(*first)))
}

fn hidden(number: u64) -> String {
    let (begin, end) = HIDDEN;
    format!("{begin}{number:016x}{end}")
}

/// Whether a receiver has made a file of this name.
pub(crate) fn is_partial(name: &str) -> bool {
    let digits = name.strip_prefix(HIDDEN.0).and_then(|rest| rest.strip_suffix(HIDDEN.1));
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// An incomplete file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) written: SystemTime,
}

/// The incomplete files in a directory, those first that were written to longest ago.
pub(crate) fn parts(directory: &Path) -> Vec<Part> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let part = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| is_partial(name))?;
        let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some(Part { name, bytes: found.len(), written: found.modified().ok()? })
    };
    let mut found: Vec<_> = entries.flatten().filter_map(part).collect();
    found.sort_by(|one, other| (one.written, &one.name).cmp(&(other.written, &other.name)));
    found
}

/// Removes incomplete files that nobody writes to: those that are too old, and the oldest of those that are too many. The one named
/// `except` stays.
pub(crate) fn sweep(directory: &Path, ledger: &Ledger, rule: Incomplete, except: &str) {
    let Incomplete::Keep { time, max_bytes } = rule else { return };
    let now = SystemTime::now();
    let idle = |part: &Part| part.name != except && !ledger.is_claimed(&part.name);
    let idle: Vec<_> = parts(directory).into_iter().filter(idle).collect();
    let mut bytes = idle.iter().fold(0_u64, |sum, part| sum.saturating_add(part.bytes));
    for part in idle {
        let is_old = now.duration_since(part.written).is_ok_and(|age| age > time);
        let are_many = max_bytes.is_some_and(|most| bytes > most);
        if (is_old || are_many) && remove_idle(&directory.join(&part.name)) {
            ledger.removed(&part.name);
            bytes -= part.bytes;
        }
    }
}

/// Removes an incomplete file unless somebody writes to it.
fn remove_idle(path: &Path) -> bool {
    let Ok(file) = OpenOptions::new().read(true).write(true).open(path) else {
        return false;
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => false,
        _ => fs::remove_file(path).is_ok(),
    }
}

#[cfg(test)]
#[path = "part/tests.rs"]
mod tests;
