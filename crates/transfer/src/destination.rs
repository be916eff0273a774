//! Where a received file goes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;
use tokio::task::JoinError;

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
    #[error("{0:?} exists there already")]
    Exists(String),
    /// The file system has too little free space.
    #[error("{bytes} bytes do not fit: {free} bytes are free")]
    NoRoom {
        /// Size of the file.
        bytes: u64,
        /// Bytes that are free.
        free: u64,
    },
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
    #[error("the file was dealt with already")]
    Done,
    /// The thread that writes the file failed.
    #[error(transparent)]
    Thread(#[from] JoinError),
}

/// What to do with a file that exists under the final name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Existing {
    /// Keep it and refuse the new one.
    #[default]
    Keep,
    /// Replace it when the new one is complete.
    Replace,
}

/// A file that grows under a hidden name in its directory. It gets its final name when it is complete, and is removed
/// if that does not happen.
#[derive(Debug)]
pub(crate) struct PartialFile {
    file: File,
    path: PathBuf,
    target: PathBuf,
    existing: Existing,
    has_final_name: bool,
}

/// A file that has its final name.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    /// What went wrong afterwards: it changes nothing, but may be worth a look.
    pub(crate) warning: Option<String>,
}

impl PartialFile {
    /// Begins a file that will be `name` in `directory` and have `size` bytes.
    pub(crate) fn create(
        directory: &Path,
        name: &str,
        size: u64,
        existing: Existing,
    ) -> Result<Self, FileError> {
        let target = directory.join(name);
        match fs::symlink_metadata(&target) {
            Ok(found) if found.is_dir() => return Err(FileError::IsDirectory(name.to_owned())),
            Ok(_) if existing == Existing::Keep => {
                return Err(FileError::Exists(name.to_owned()));
            }
            _ => {}
        }
        if let Some(free) = free_bytes(directory).filter(|free| *free < size) {
            return Err(FileError::NoRoom { bytes: size, free });
        }
        let (file, path) = make_partial(directory)?;
        Ok(Self { file, path, target, existing, has_final_name: false })
    }

    /// Appends content.
    pub(crate) fn write(&mut self, content: &[u8]) -> Result<(), FileError> {
        self.file.write_all(content).map_err(FileError::Write)
    }

    /// Makes the content durable and gives it its final name. An error means that it did not get the name.
    pub(crate) fn complete(mut self) -> Result<Stored, FileError> {
        self.file.sync_all().map_err(FileError::Write)?;
        match self.existing {
            Existing::Replace => fs::rename(&self.path, &self.target),
            Existing::Keep => rename_new(&self.path, &self.target),
        }
        .map_err(FileError::Rename)?;
        self.has_final_name = true;
        let leftover = match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Some(format!("{} cannot be removed: {error}", self.path.display()))
            }
            _ => None,
        };
        let synced = self.target.parent().map_or(Ok(()), sync_directory);
        let volatile =
            synced.err().map(|error| format!("its name may not survive a power failure: {error}"));
        Ok(Stored { path: self.target.clone(), warning: leftover.or(volatile) })
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.has_final_name {
            // Nobody is left to tell; a file that is gone already is as good.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// What hidden names begin and end with; 16 hexadecimal digits are between.
const HIDDEN: (&str, &str) = (".polypath-", ".part");

/// Makes a file under a hidden name.
pub(crate) fn make_partial(directory: &Path) -> Result<(File, PathBuf), FileError> {
    let (begin, end) = HIDDEN;
    let path = directory.join(format!("{begin}{:016x}{end}", getrandom::u64()?));
    let file =
        OpenOptions::new().write(true).create_new(true).open(&path).map_err(FileError::Create)?;
    Ok((file, path))
}

/// Whether a receiver has made a file of this name.
pub(crate) fn is_partial(name: &str) -> bool {
    let digits = name.strip_prefix(HIDDEN.0).and_then(|rest| rest.strip_suffix(HIDDEN.1));
    digits.is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Gives a file the name `to` unless that exists. The old name may remain.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use nix::errno::Errno;
    use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};

    match renameat2(AT_FDCWD, from, AT_FDCWD, to, RenameFlags::RENAME_NOREPLACE) {
        // Some file systems cannot.
        Err(Errno::EINVAL | Errno::ENOSYS) => link_new(from, to),
        result => Ok(result?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    link_new(from, to)
}

/// A link to an existing name fails, unlike a rename. The caller removes the old name, which may remain.
fn link_new(from: &Path, to: &Path) -> io::Result<()> {
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
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_directory: &Path) -> io::Result<()> {
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
fn free_bytes(_directory: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> Vec<String> {
        let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_complete_file_has_its_name_and_content() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = PartialFile::create(directory.path(), "new", 6, Existing::Keep).unwrap();
        file.write(b"con").unwrap();
        file.write(b"tent").unwrap();
        assert!(entries(directory.path())[0].starts_with(".polypath-"));
        let stored = file.complete().unwrap();
        assert_eq!(stored, Stored { path: directory.path().join("new"), warning: None });
        assert_eq!(fs::read(stored.path).unwrap(), b"content");
        assert_eq!(entries(directory.path()), ["new"]);
    }

    #[test]
    fn an_incomplete_file_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = PartialFile::create(directory.path(), "new", 6, Existing::Keep).unwrap();
        file.write(b"half").unwrap();
        drop(file);
        assert!(entries(directory.path()).is_empty());
    }

    #[test]
    fn existing_files_are_kept_unless_told_otherwise() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("old"), "old").unwrap();
        let refused = PartialFile::create(directory.path(), "old", 1, Existing::Keep).unwrap_err();
        assert!(refused.to_string().contains("exists"), "{refused}");
        let mut file = PartialFile::create(directory.path(), "old", 1, Existing::Replace).unwrap();
        file.write(b"new").unwrap();
        assert_eq!(fs::read(directory.path().join("old")).unwrap(), b"old");
        assert_eq!(fs::read(file.complete().unwrap().path).unwrap(), b"new");
        fs::create_dir(directory.path().join("directory")).unwrap();
        assert!(PartialFile::create(directory.path(), "directory", 1, Existing::Replace).is_err());
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = PartialFile::create(directory.path(), "name", 0, Existing::Keep).unwrap();
        fs::write(directory.path().join("name"), "other").unwrap();
        assert!(file.complete().is_err());
        assert_eq!(fs::read(directory.path().join("name")).unwrap(), b"other");
        assert_eq!(entries(directory.path()), ["name"]);
        let (from, to) = (directory.path().join("from"), directory.path().join("name"));
        fs::write(&from, "from").unwrap();
        assert_eq!(link_new(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        link_new(&from, &directory.path().join("to")).unwrap();
        assert_eq!(entries(directory.path()), ["from", "name", "to"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_cannot_fit_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let refused =
            PartialFile::create(directory.path(), "huge", u64::MAX, Existing::Keep).unwrap_err();
        assert!(refused.to_string().contains("bytes are free"), "{refused}");
        assert!(entries(directory.path()).is_empty());
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        assert!(PartialFile::create(&missing, "name", 1, Existing::Keep).is_err());
    }
}
