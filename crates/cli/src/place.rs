//! Files and directories that the user names: one that is unusable is wrong usage, reported before any work.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Context, anyhow};
use polypath_lab::random::SampleError;
use polypath_lab::reproduce::ReproduceError;
use polypath_lab::results::{ResultsError, TableError, WriteError};
use polypath_lab::run::{JournalError, MakeError, RunError};

use crate::failure::{Failure, Outcome};

/// Checks that a file can be written, and leaves it as it was.
pub(crate) fn check_file(file: &Path) -> Outcome {
    let refuse = |why: String| Err(Failure::usage(anyhow!("{why}")));
    if let Some(why) = unusable(file) {
        return refuse(why);
    }
    let is_new = !file.exists();
    if is_pipe(file) {
        // Opening and closing it would end its reader.
        return Ok(());
    }
    match File::options().append(true).create(true).open(file) {
        Err(error) => refuse(refused(file, &error)),
        Ok(opened) => {
            drop(opened);
            if is_new {
                let _ = fs::remove_file(file);
            }
            Ok(())
        }
    }
}

/// Why no file can be there, and what to do about it.
fn unusable(file: &Path) -> Option<String> {
    let cannot = format!("cannot write {}", file.display());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Some(format!("{cannot}: there is no folder {}; make it first", folder.display()));
    }
    file.is_dir().then(|| format!("{cannot}: it is a folder; name a file"))
}

/// What the system says, and what to do about it.
fn refused(file: &Path, error: &io::Error) -> String {
    let advice = match is_place(error) {
        true => "; name a file where you may write",
        false => "",
    };
    format!("cannot write {}: {error}{advice}", file.display())
}

/// What happens to the content of a file that is opened for writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    Keep,
    Discard,
}

/// Opens a file for writing, creating it if necessary. A named pipe without a reader is an error, so that nothing waits for it.
pub(crate) fn open_to_write(path: &Path, before: Before) -> anyhow::Result<File> {
    if let Some(why) = unusable(path) {
        return Err(anyhow!(why));
    }
    let mut options = File::options();
    match before {
        Before::Keep => options.append(true).create(true),
        Before::Discard => options.write(true).create(true).truncate(true),
    };
    match is_pipe(path) {
        true => open_pipe(&mut options, path)
            .with_context(|| format!("cannot write {}", path.display())),
        false => options.open(path).map_err(|error| anyhow!(refused(path, &error))),
    }
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;

    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_path: &Path) -> bool {
    false
}

#[cfg(unix)]
fn open_pipe(options: &mut fs::OpenOptions, path: &Path) -> anyhow::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, OFlag, fcntl};

    let opened = options.custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
    let pipe = opened.map_err(|error| match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ENXIO) => {
            anyhow!("it is a named pipe that nobody reads; start its reader first, or name a file")
        }
        _ => error.into(),
    })?;
    // Its reader may be slower than what is written.
    let flags = OFlag::from_bits_retain(fcntl(&pipe, FcntlArg::F_GETFL)?);
    fcntl(&pipe, FcntlArg::F_SETFL(flags.difference(OFlag::O_NONBLOCK)))?;
    Ok(pipe)
}

#[cfg(not(unix))]
fn open_pipe(options: &mut fs::OpenOptions, path: &Path) -> anyhow::Result<File> {
    Ok(options.open(path)?)
}

/// An error of reading or writing results.
pub(crate) trait PlaceError: Into<anyhow::Error> {
    /// Whether the file or directory that the user named is the cause.
    fn is_usage(&self) -> bool;

    /// The failure of the command.
    fn into_failure(self) -> Failure {
        match self.is_usage() {
            true => Failure::usage(self),
            false => Failure::Failed(self.into()),
        }
    }
}

/// Whether another file or directory would help.
pub(crate) fn is_place(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
    )
}

impl PlaceError for ResultsError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Study(_)
            | Self::Different { .. }
            | Self::Directory(_)
            | Self::Nowhere { .. }
            | Self::Nothing => true,
            Self::Io { error, .. } | Self::Table(TableError::Io { error, .. }) => is_place(error),
            Self::Table(_) | Self::Unfinished { .. } | Self::Remaining(_) => false,
        }
    }
}

impl PlaceError for JournalError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::Io { error, .. } if is_place(error))
    }
}

impl PlaceError for MakeError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Directory(_) => true,
            Self::Journal(error) | Self::Write(WriteError::Journal(error)) => error.is_usage(),
            Self::Write(
                WriteError::Io { error, .. } | WriteError::Table(TableError::Io { error, .. }),
            ) => is_place(error),
            Self::Write(_) | Self::NoResult(_) | Self::Threads(_) => false,
        }
    }
}

impl PlaceError for RunError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Make(error) => error.is_usage(),
            Self::Results(error) => error.is_usage(),
            Self::TestBed(_) | Self::Missing { .. } => false,
        }
    }
}

impl PlaceError for SampleError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Make(error) => error.is_usage(),
            Self::Change(_) | Self::Occupied(_) => true,
        }
    }
}

impl PlaceError for ReproduceError {
    fn is_usage(&self) -> bool {
        match self {
            Self::Run(error) => error.is_usage(),
            Self::Journal(error) => error.is_usage(),
            Self::Results(error) => error.is_usage(),
            Self::Directory(_) => true,
            Self::Io { error, .. } => is_place(error),
            _ => false,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_named_pipe_is_written_to_if_somebody_reads_it_and_never_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(check_file(&pipe).is_ok());
        for before in [Before::Keep, Before::Discard] {
            let error = format!("{:#}", open_to_write(&pipe, before).unwrap_err());
            assert!(error.contains("a named pipe that nobody reads"), "{error}");
        }
        let path = pipe.clone();
        let reading = std::thread::spawn(move || {
            let mut read = Vec::new();
            File::open(path).unwrap().read_to_end(&mut read).unwrap();
            read.len()
        });
        let mut opened = loop {
            // Until the reader is there.
            match open_to_write(&pipe, Before::Discard) {
                Ok(opened) => break opened,
                Err(_) => std::thread::yield_now(),
            }
        };
        // More than a pipe holds.
        opened.write_all(&vec![7; 1 << 20]).unwrap();
        drop(opened);
        assert_eq!(reading.join().unwrap(), 1 << 20);
    }

    #[test]
    fn what_cannot_be_written_comes_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing/file");
        for (path, told) in [
            (missing.as_path(), "missing; make it first"),
            (folder.path(), "it is a folder; name a file"),
            // Not even root may.
            #[cfg(target_os = "linux")]
            (Path::new("/proc/file"), "name a file where you may write"),
        ] {
            let checked = check_file(path).unwrap_err().to_string();
            let opened = format!("{:#}", open_to_write(path, Before::Keep).unwrap_err());
            for error in [checked, opened] {
                assert!(error.starts_with("cannot write /") && error.contains(told), "{error}");
            }
        }
        assert!(!missing.parent().unwrap().exists());
    }

    #[test]
    fn files_are_kept_or_begin_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (before, expected) in [(Before::Keep, "ab"), (Before::Discard, "b")] {
            fs::write(&path, "a").unwrap();
            open_to_write(&path, before).unwrap().write_all(b"b").unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        }
    }
}
