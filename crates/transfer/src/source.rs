//! Files that are to be sent.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::frame::Modified;
use crate::name::{self, NameError};

/// What to do about a file that cannot be opened; the error of the system follows as the source.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => ", which does not exist: check the name",
        io::ErrorKind::PermissionDenied => ", which you may not read: name another one",
        _ => "",
    }
}

/// Why a file cannot be sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It cannot be opened, or looked at.
    #[error("cannot send {}{}", path.display(), advice(source))]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It is a pipe, a device or the like.
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
    /// Standard input has no name of its own.
    #[error("cannot send standard input under this name")]
    InputName(#[source] NameError),
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
    content: Content,
    name: String,
    size: Option<u64>,
    mode: Option<u32>,
    modified: Option<Modified>,
}

#[derive(Debug)]
enum Content {
    File(File),
    Input(io::Stdin),
}

/// Whether a path may be a symbolic link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Links {
    /// It is what the user named.
    Follow,
    /// It was found in a directory.
    Refuse,
}

impl Source {
    /// Opens a file that will be `name` at the receiver. What is no regular file is refused without waiting for it.
    pub(crate) fn open(path: &Path, name: &str, links: Links) -> Result<Self, SourceError> {
        let failed = |source| SourceError::Open { path: path.to_owned(), source };
        let file = open(path, links).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(SourceError::NotRegular(path.to_owned()));
        }
        Ok(Self {
            content: Content::File(file),
            name: name.to_owned(),
            size: Some(metadata.len()),
            mode: mode(&metadata),
            modified: metadata.modified().ok().and_then(Modified::of),
        })
    }

    /// Standard input, which is read to its end.
    pub(crate) fn input(name: &str) -> Self {
        let (content, name) = (Content::Input(io::stdin()), name.to_owned());
        Self { content, name, size: None, mode: None, modified: None }
    }

    /// The name that is sent to the receiver.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The same file, of which so many bytes are to be sent.
    pub(crate) fn with_size(self, bytes: u64) -> Self {
        Self { size: Some(bytes), ..self }
    }

    /// Bytes that it had when it was opened, if that is known.
    pub(crate) fn size(&self) -> Option<u64> {
        self.size
    }

    /// Its permission bits.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.mode
    }

    /// When it was modified.
    pub(crate) fn modified(&self) -> Option<Modified> {
        self.modified
    }

    /// Goes on reading at `offset`.
    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<()> {
        match &mut self.content {
            Content::File(file) => file.seek(SeekFrom::Start(offset)).map(drop),
            Content::Input(_) if offset == 0 => Ok(()),
            Content::Input(_) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::File(file) => file.read(buffer),
            Content::Input(input) => input.read(buffer),
        }
    }
}

/// The name that a path has at the receiver: its last part.
pub(crate) fn base_name(path: &Path) -> Result<String, SourceError> {
    let canonical: PathBuf;
    let base = match path.file_name() {
        Some(base) => base,
        None => {
            let failed = |source| SourceError::Open { path: path.to_owned(), source };
            canonical = path.canonicalize().map_err(failed)?;
            canonical.file_name().ok_or_else(|| SourceError::NoName(path.to_owned()))?
        }
    };
    // Whether it takes hidden files is the receiver's decision.
    let name = name::check(base.as_encoded_bytes())
        .map_err(|source| SourceError::Name { path: path.to_owned(), source })?;
    Ok(name.to_owned())
}

#[cfg(unix)]
fn mode(metadata: &Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::mode(metadata) & 0o777)
}

#[cfg(not(unix))]
fn mode(_metadata: &Metadata) -> Option<u32> {
    None
}

/// Opening a named pipe for reading waits for a writer unless told otherwise; for regular files it makes no difference.
#[cfg(unix)]
fn open(path: &Path, links: Links) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use nix::fcntl::OFlag;

    let flags = match links {
        Links::Follow => OFlag::O_NONBLOCK,
        Links::Refuse => OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW,
    };
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, _links: Links) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(path: &Path) -> Result<Source, SourceError> {
        Source::open(path, "name", Links::Follow)
    }

    #[test]
    fn only_regular_files_are_sent() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "content").unwrap();
        let source = opened(&path).unwrap();
        assert_eq!((source.name(), source.size()), ("name", Some(7)));
        assert_eq!(base_name(&path).unwrap(), "file");
        let error = opened(directory.path()).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        let error = opened(&directory.path().join("missing")).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_named_pipe_is_refused_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = opened(&pipe).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_where_the_user_named_them_only() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("file"), directory.path().join("link"));
        std::fs::write(&path, "content").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(opened(&link).unwrap().size(), Some(7));
        assert!(Source::open(&link, "name", Links::Refuse).is_err());
    }
}
