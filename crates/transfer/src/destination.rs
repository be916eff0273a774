//! Where a received file goes, and why it did not get there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thiserror::Error;
use tokio::task::JoinError;

use crate::frame::Modified;
use crate::name::NameError;
use crate::quota::QuotaError;

/// Why a file was not received.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// Its name is not acceptable.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A directory has that name.
    #[error("{0:?} is a directory there")]
    IsDirectory(String),
    /// A file has that name and is to be kept.
    #[error("{0:?} exists there already; the receiver replaces it only with --overwrite")]
    Exists(String),
    /// A file of that name and size is there, with other content.
    #[error(
        "{0:?} exists there already, with other content; the receiver replaces it only with --overwrite"
    )]
    Differs(String),
    /// A part of the path is there and is no directory, for example a symbolic link.
    #[error("{0:?} is there and is no directory")]
    NotADirectory(String),
    /// A directory could not be made.
    #[error("cannot make the directory {name:?}")]
    MakeDirectory {
        /// Its path.
        name: String,
        /// What the system says.
        source: io::Error,
    },
    /// Another sender is at the same file.
    #[error(
        "another sender is sending {0:?} at the moment; try again when that transfer has ended"
    )]
    Busy(String),
    /// The file system is full.
    #[error("the disk is full: {0:?} does not fit")]
    DiskFull(String),
    /// The file system has too little free space.
    #[error(
        "{bytes} bytes do not fit: {free} bytes are free for them; make room at the receiver (--out, --keep-free)"
    )]
    NoRoom {
        /// Bytes of the file that are still to come.
        bytes: u64,
        /// Bytes that are free, without those that are promised to others or [stay free](crate::Inbox::keep_free).
        free: u64,
    },
    /// The file system can hold few more files, however short they are.
    #[error("the file system can hold only {0} more files")]
    NoInodes(u64),
    /// The sender has used up what one may store here.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// The system gave no random number for the hidden name.
    #[error(transparent)]
    Random(#[from] getrandom::Error),
    /// The file under the hidden name could not be made.
    #[error("cannot create a file")]
    Create(#[source] io::Error),
    /// Its content could not be written.
    #[error("cannot write")]
    Write(#[source] io::Error),
    /// A file that is there could not be read.
    #[error("cannot read the file that is there")]
    Read(#[source] io::Error),
    /// It could not get its final name.
    #[error("cannot rename the complete file")]
    Rename(#[source] io::Error),
    /// More content was received than was offered.
    #[error("more than the {0} bytes that were offered")]
    TooLong(u64),
    /// Less content was received than was offered.
    #[error("{received} bytes instead of the {offered} that were offered")]
    TooShort {
        /// Bytes that were received.
        received: u64,
        /// Bytes that were offered.
        offered: u64,
    },
    /// The content is not what the sender read.
    #[error("SHA-256 differs: the content changed on the way or while it was read")]
    Digest,
    /// The transfer ended before the file was complete.
    #[error("the transfer ended")]
    Ended,
    /// The file was stored or discarded before.
    #[error("the file has already been handled")]
    Done,
    /// A thread that works on files failed.
    #[error(transparent)]
    Thread(#[from] JoinError),
    /// The thread that writes the file failed.
    #[error("the thread that writes the file failed")]
    ThreadFailed,
    /// A receiver whose content goes elsewhere takes files only.
    #[error(
        "this receiver writes no files: it takes the content of a single file, and no directories"
    )]
    NoDirectories,
}

/// What to do with a file that exists under the final name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Existing {
    /// Keep it and refuse the new one, unless it is the same.
    #[default]
    Keep,
    /// Keep it and do not take the new one, which is no failure.
    Skip,
    /// Replace it when the new one is complete.
    Replace,
}

/// What becomes of files that are not complete when their transfer ends early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incomplete {
    /// They are removed.
    Discard,
    /// They are kept under their hidden names, so that their sender can go on from there.
    Keep {
        /// How long after the last byte came. Then they are removed.
        time: Duration,
        /// Most bytes of all that are kept while nobody sends them; the oldest are removed first. `None`: what the disk has room for.
        max_bytes: Option<u64>,
    },
}

impl Default for Incomplete {
    /// They are kept for seven days.
    fn default() -> Self {
        Self::Keep { time: Duration::from_secs(7 * 24 * 3600), max_bytes: None }
    }
}

/// Where a file is to go, and what its sender knows of it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The directory of the inbox.
    pub(crate) directory: PathBuf,
    /// The checked path below it.
    pub(crate) name: String,
    pub(crate) size: Option<u64>,
    pub(crate) mode: Option<u32>,
    pub(crate) modified: Option<Modified>,
    pub(crate) existing: Existing,
}

/// What has the name of a file that is to be received.
#[derive(Debug)]
pub(crate) enum Found {
    /// Nothing, or what may be replaced.
    Nothing,
    /// A regular file of the same size. Its content may be the same.
    SameSize(File),
    /// A file that need not be sent, and why.
    There(&'static str),
}

impl Target {
    /// Its full path.
    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// Looks at what has the name.
    pub(crate) fn look(&self) -> Result<Found, FileError> {
        let path = self.path();
        let Ok(found) = fs::symlink_metadata(&path) else { return Ok(Found::Nothing) };
        if found.is_dir() {
            return Err(FileError::IsDirectory(self.name.clone()));
        }
        let is_same_size = found.is_file() && self.size == Some(found.len());
        let same_time = self.modified.and_then(Modified::time) == found.modified().ok();
        match self.existing {
            _ if is_same_size && self.modified.is_some() && same_time => {
                Ok(Found::There("it is there already, with the same size and time"))
            }
            Existing::Skip => Ok(Found::There("a file of that name is there, and is kept")),
            // What cannot be read cannot be compared, and to open a pipe would wait for its writer.
            existing => match is_same_size.then(|| File::open(&path).ok()).flatten() {
                Some(file) => Ok(Found::SameSize(file)),
                None if existing == Existing::Keep => Err(FileError::Exists(self.name.clone())),
                None => Ok(Found::Nothing),
            },
        }
    }

    /// Makes the directories that lead to it. None of them may be a symbolic link: it could lead out of the inbox.
    pub(crate) fn make_parents(&self) -> Result<(), FileError> {
        match self.name.rsplit_once('/') {
            Some((parents, _)) => make_directories(&self.directory, parents),
            None => Ok(()),
        }
    }

    /// Gives a complete file the permissions and the time that its sender named.
    pub(crate) fn dress(&self, file: &File) -> io::Result<()> {
        set_mode(file, self.mode)?;
        match self.modified.and_then(Modified::time) {
            Some(time) => file.set_modified(time),
            None => Ok(()),
        }
    }
}

impl Modified {
    /// As the system has it, if it can.
    pub(crate) fn time(self) -> Option<SystemTime> {
        let fraction = Duration::from_nanos(self.nanoseconds.into());
        let seconds = Duration::from_secs(self.seconds.unsigned_abs());
        let whole = match self.seconds < 0 {
            true => UNIX_EPOCH.checked_sub(seconds),
            false => UNIX_EPOCH.checked_add(seconds),
        };
        whole?.checked_add(fraction)
    }

    /// Of a time of the system, if it fits.
    pub(crate) fn of(time: SystemTime) -> Option<Self> {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Some(Self {
                seconds: i64::try_from(since.as_secs()).ok()?,
                nanoseconds: since.subsec_nanos(),
            }),
            Err(before) => {
                // The fraction counts forward.
                let before = before.duration();
                let (seconds, fraction) =
                    (i64::try_from(before.as_secs()).ok()?, before.subsec_nanos());
                Some(match fraction {
                    0 => Self { seconds: -seconds, nanoseconds: 0 },
                    _ => Self { seconds: -seconds - 1, nanoseconds: 1_000_000_000 - fraction },
                })
            }
        }
    }
}

/// Makes a directory below another one, and those that lead to it, unless they are there.
pub(crate) fn make_directories(below: &Path, path: &str) -> Result<(), FileError> {
    let mut place = below.to_owned();
    for component in path.split('/') {
        place.push(component);
        match fs::symlink_metadata(&place) {
            Ok(found) if found.is_dir() => continue,
            Ok(_) => return Err(FileError::NotADirectory(path.to_owned())),
            Err(_) => {}
        }
        let made = match fs::create_dir(&place) {
            // Another sender was quicker.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.and_then(|()| place.parent().map_or(Ok(()), sync_directory)),
        };
        made.map_err(|source| FileError::MakeDirectory { name: path.to_owned(), source })?;
    }
    Ok(())
}

/// Permissions of a file that is being received: those that it will have, and that its owner may write it.
#[cfg(unix)]
pub(crate) fn open_options(mode: Option<u32>) -> fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).mode(mode.map_or(0o666, |mode| mode & 0o777 | 0o600));
    // A link that somebody laid there is not followed.
    options.custom_flags(nix::fcntl::OFlag::O_NOFOLLOW.bits());
    options
}

#[cfg(not(unix))]
pub(crate) fn open_options(_mode: Option<u32>) -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true);
    options
}

/// Takes permissions away that the sender's file does not have. None are added: the system's mask was applied when it was made.
#[cfg(unix)]
fn set_mode(file: &File, mode: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    let Some(mode) = mode else { return Ok(()) };
    let has = file.metadata()?.permissions().mode() & 0o777;
    let wanted = has & mode;
    if wanted == has { Ok(()) } else { file.set_permissions(fs::Permissions::from_mode(wanted)) }
}

#[cfg(not(unix))]
fn set_mode(_file: &File, _mode: Option<u32>) -> io::Result<()> {
    Ok(())
}

/// Gives a file the name `to` unless that exists. The old name may remain.
#[cfg(target_os = "linux")]
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not supported by some file systems.
        Err(Errno::INVAL | Errno::NOSYS) => link_new(from, to),
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    link_new(from, to)
}

/// A link to an existing name fails, unlike a rename. The caller removes the old name, which may remain.
pub(crate) fn link_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error)
            if error.kind() == io::ErrorKind::Unsupported
                || error.kind() == io::ErrorKind::PermissionDenied =>
        {
            if fs::symlink_metadata(to).is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        result => result,
    }
}

/// Makes a rename durable.
#[cfg(unix)]
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_directory(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// Bytes that may still be written to the file system of `directory`, where that is known.
#[cfg(unix)]
fn free_bytes(directory: &Path) -> Option<u64> {
    let status = nix::sys::statvfs::statvfs(directory).ok()?;
    #[allow(clippy::useless_conversion)] // narrower types on other systems
    Some(u64::from(status.blocks_available()).saturating_mul(u64::from(status.fragment_size())))
}

#[cfg(not(unix))]
pub(crate) fn free_bytes(_directory: &Path) -> Option<u64> {
    None
}

/// Files that the file system of `directory` can hold, and how many of them can still be made, where that is known.
#[cfg(unix)]
fn inodes(directory: &Path) -> Option<(u64, u64)> {
    let status = nix::sys::statvfs::statvfs(directory).ok()?;
    #[allow(clippy::useless_conversion)] // narrower types on other systems
    Some((u64::from(status.files()), u64::from(status.files_available())))
}

#[cfg(not(unix))]
fn inodes(_directory: &Path) -> Option<(u64, u64)> {
    None
}

/// Many short files leave a hundredth of them to others. A file system that makes them as it needs them says zero.
fn check_inodes((all, available): (u64, u64)) -> Result<(), FileError> {
    match all > 0 && available <= all / 100 {
        true => Err(FileError::NoInodes(available)),
        false => Ok(()),
    }
}

/// Whether so many bytes fit the disk of a directory, without `taken` ones that are free but promised to others, or are to stay free.
pub(crate) fn check_room(directory: &Path, bytes: u64, taken: u64) -> Result<(), FileError> {
    inodes(directory).map_or(Ok(()), check_inodes)?;
    let Some(free) = free_bytes(directory) else { return Ok(()) };
    match free.checked_sub(taken) {
        Some(free) if bytes <= free => Ok(()),
        free => Err(FileError::NoRoom { bytes, free: free.unwrap_or(0) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(directory: &Path, name: &str, size: u64, existing: Existing) -> Target {
        let (directory, name) = (directory.to_owned(), name.to_owned());
        Target { directory, name, size: Some(size), mode: None, modified: None, existing }
    }

    #[test]
    fn what_is_there_is_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("old");
        fs::write(&path, "old").unwrap();
        fs::create_dir(directory.path().join("directory")).unwrap();
        let look =
            |name: &str, size, existing| target(directory.path(), name, size, existing).look();
        assert!(matches!(look("new", 3, Existing::Keep), Ok(Found::Nothing)));
        assert!(matches!(look("old", 4, Existing::Keep), Err(FileError::Exists(_))));
        assert!(matches!(look("old", 4, Existing::Replace), Ok(Found::Nothing)));
        assert!(matches!(look("old", 4, Existing::Skip), Ok(Found::There(_))));
        assert!(matches!(look("old", 3, Existing::Keep), Ok(Found::SameSize(_))));
        assert!(matches!(look("old", 3, Existing::Replace), Ok(Found::SameSize(_))));
        for existing in [Existing::Keep, Existing::Skip, Existing::Replace] {
            assert!(matches!(look("directory", 3, existing), Err(FileError::IsDirectory(_))));
        }
        let modified = Modified::of(fs::metadata(&path).unwrap().modified().unwrap());
        let same = Target { modified, ..target(directory.path(), "old", 3, Existing::Replace) };
        assert!(matches!(same.look(), Ok(Found::There(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_that_is_there_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let look = |existing| target(directory.path(), "pipe", 0, existing).look();
        assert!(matches!(look(Existing::Keep), Err(FileError::Exists(_))));
        assert!(matches!(look(Existing::Replace), Ok(Found::Nothing)));
    }

    #[test]
    fn short_files_leave_some_inodes_to_others() {
        assert!(check_inodes((0, 0)).is_ok(), "it makes them as it needs them");
        assert!(check_inodes((1_000_000, 10_001)).is_ok());
        let error = check_inodes((1_000_000, 10_000)).unwrap_err().to_string();
        assert_eq!(error, "the file system can hold only 10000 more files");
        assert!(check_inodes((50, 1)).is_ok(), "a small one can be used up");
        assert!(check_inodes((50, 0)).is_err());
    }

    #[test]
    fn times_before_and_after_1970_survive() {
        for time in [
            UNIX_EPOCH,
            UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789),
            UNIX_EPOCH - Duration::new(5, 0),
            UNIX_EPOCH - Duration::new(5, 1),
        ] {
            assert_eq!(Modified::of(time).unwrap().time(), Some(time));
        }
        let absurd = Modified { seconds: i64::MIN, nanoseconds: 0 };
        // Whatever the system makes of it, nothing panics.
        let _ = absurd.time();
    }

    #[cfg(unix)]
    #[test]
    fn directories_are_made_and_links_lead_nowhere() {
        let place = tempfile::tempdir().unwrap();
        let (inbox, outside) = (place.path().join("inbox"), place.path().join("outside"));
        fs::create_dir(&inbox).unwrap();
        fs::create_dir(&outside).unwrap();
        target(&inbox, "a/b/file", 1, Existing::Keep).make_parents().unwrap();
        target(&inbox, "a/b/other", 1, Existing::Keep).make_parents().unwrap();
        assert!(inbox.join("a/b").is_dir());
        std::os::unix::fs::symlink(&outside, inbox.join("link")).unwrap();
        fs::write(inbox.join("file"), "").unwrap();
        for name in ["link/file", "link/deeper/file", "file/file"] {
            let error = target(&inbox, name, 1, Existing::Keep).make_parents().unwrap_err();
            assert!(matches!(error, FileError::NotADirectory(_)), "{error}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn a_link_to_an_existing_name_fails() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("name"));
        fs::write(&from, "from").unwrap();
        fs::write(&to, "other").unwrap();
        assert_eq!(link_new(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        link_new(&from, &directory.path().join("to")).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"other");
    }
}
