//! Files that are to be sent.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::name::{self, NameError};

/// Why a file cannot be sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It cannot be opened, or looked at.
    #[error("cannot send {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is a directory, a pipe or the like.
    #[error("cannot send {}: it is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// Its path has no last part, as `/`.
    #[error("cannot send {}: its path has no name", .0.display())]
    NoName(PathBuf),
    /// No receiver would accept its name.
    #[error("cannot send {}", path.display())]
    Name {
        /// The file.
        path: PathBuf,
        /// What is wrong with its name.
        source: NameError,
    },
    /// Two files would have the same name at the receiver.
    #[error("{} and {} would both be named {name:?}", first.display(), second.display())]
    SameName {
        /// A file.
        first: PathBuf,
        /// Another one.
        second: PathBuf,
        /// The name of both.
        name: String,
    },
}

/// A file that is being sent.
#[derive(Debug)]
pub(crate) struct Source {
    file: File,
    name: String,
    size: u64,
}

impl Source {
    /// Opens a file. What is no regular file is refused without waiting for it.
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let failed = |source| SourceError::Open { path: path.to_owned(), source };
        let file = open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(SourceError::NotRegular(path.to_owned()));
        }
        let canonical: PathBuf;
        let base = match path.file_name() {
            Some(base) => base,
            None => {
                canonical = path.canonicalize().map_err(failed)?;
                canonical.file_name().ok_or_else(|| SourceError::NoName(path.to_owned()))?
            }
        };
        // Whether it takes hidden files is the receiver's decision.
        let name = name::check(base.as_encoded_bytes())
            .map_err(|source| SourceError::Name { path: path.to_owned(), source })?;
        Ok(Self { file, name: name.to_owned(), size: metadata.len() })
    }

    /// The name that is sent to the receiver.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that it had when it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read(buffer)
    }
}

/// Looks whether these files can be sent together, before anything is sent. They are not kept open, since there may be
/// more than a process may have.
///
/// # Errors
///
/// A file cannot be read or is not a regular one, no receiver would accept its name, or two have the same.
pub fn check_files<P: AsRef<Path>>(paths: &[P]) -> Result<(), SourceError> {
    let mut names: Vec<(String, &Path)> = Vec::with_capacity(paths.len());
    for path in paths {
        names.push((Source::open(path.as_ref())?.name, path.as_ref()));
    }
    names.sort();
    for pair in names.windows(2) {
        if let [(name, first), (other, second)] = pair
            && name == other
        {
            let (first, second) = (first.to_path_buf(), second.to_path_buf());
            return Err(SourceError::SameName { first, second, name: name.clone() });
        }
    }
    Ok(())
}

/// Opening a named pipe for reading waits for a writer unless told otherwise; for regular files it makes no difference.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    OpenOptions::new().read(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let source = Source::open(&path).unwrap();
        assert_eq!((source.name(), source.size()), ("file", 7));
        let error = Source::open(directory.path()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        let error = Source::open(&directory.path().join("missing")).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_named_pipe_is_refused_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = Source::open(&pipe).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[test]
    fn two_files_of_one_name_are_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for place in ["b", "a"] {
            std::fs::create_dir(directory.path().join(place)).unwrap();
            for name in ["same", place] {
                paths.push(directory.path().join(place).join(name));
                std::fs::write(paths.last().unwrap(), place).unwrap();
            }
        }
        let error = check_files(&paths).unwrap_err();
        assert!(error.to_string().contains("both be named \"same\""), "{error}");
        check_files(&paths[1..]).unwrap();
        paths.push(directory.path().join("missing"));
        let error = check_files(&paths[1..]).unwrap_err();
        assert!(error.to_string().contains("cannot send"), "{error}");
    }
}
