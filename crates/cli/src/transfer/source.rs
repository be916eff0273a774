//! Files that are to be sent.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::name::{self, Hidden};

/// A file that is being sent.
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    name: String,
    size: u64,
}

impl Source {
    /// Opens a file. What is no regular file is refused without waiting for it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let context = || format!("cannot send {}", path.display());
        let file = open(path).with_context(context)?;
        let metadata = file.metadata().with_context(context)?;
        ensure!(metadata.is_file(), "cannot send {}: it is not a regular file", path.display());
        let canonical: PathBuf;
        let base = match path.file_name() {
            Some(base) => base,
            None => {
                canonical = path.canonicalize().with_context(context)?;
                canonical.file_name().with_context(context)?
            }
        };
        // Whether it takes hidden files is the receiver's decision.
        let name = name::check(base.as_encoded_bytes(), Hidden::Allowed).with_context(context)?;
        Ok(Self { file, name: name.to_owned(), size: metadata.len() })
    }

    /// The name that the receiver is told.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that it had when it was opened.
    pub(super) fn size(&self) -> u64 {
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
pub(crate) fn check_all(paths: &[PathBuf]) -> Result<()> {
    let mut names: Vec<(String, &Path)> = Vec::with_capacity(paths.len());
    for path in paths {
        names.push((Source::open(path)?.name, path));
    }
    names.sort();
    for pair in names.windows(2) {
        if let [(name, first), (other, second)] = pair
            && name == other
        {
            bail!("{} and {} would both be named {name:?}", first.display(), second.display());
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
        let error = check_all(&paths).unwrap_err();
        assert!(error.to_string().contains("both be named \"same\""), "{error}");
        check_all(&paths[1..]).unwrap();
        paths.push(directory.path().join("missing"));
        let error = check_all(&paths[1..]).unwrap_err();
        assert!(error.to_string().contains("cannot send"), "{error}");
    }
}
