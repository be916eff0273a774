//! The directory that received files go to.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polypath::{Association, ConnectError, Endpoint};
use thiserror::Error;

use crate::destination::{Existing, FileError, Incomplete};
use crate::ledger::Ledger;
use crate::limits::PeerLimits;
use crate::part::{make_partial, parts, sweep};
use crate::quota::{Quota, Totals};
use crate::receiver::{Receiver, Rules};
use crate::report::Report;
use crate::sink::Sink;

/// Where received files go, which of them are taken, and how slow a sender may be.
///
/// A clone is the same inbox with rules of its own: its receivers share the account of what is being received.
#[derive(Clone, Debug)]
pub struct Inbox {
    rules: Rules,
    ledger: Arc<Ledger>,
}

/// Why a directory cannot be an inbox. The texts begin with its name and say what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InboxError {
    /// It is a file.
    #[error("{}: that is a file and not a directory; name a directory for the files", .0.display())]
    NotADirectory(PathBuf),
    /// The system does not say what it is.
    #[error("{}", directory.display())]
    Unknown {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The directory that it would be made in is missing.
    #[error("{}: there is no directory {}; make it first", directory.display(), parent.display())]
    NoParent {
        /// The directory.
        directory: PathBuf,
        /// What is missing.
        parent: PathBuf,
    },
    /// It is missing and cannot be made.
    #[error("{}: cannot make the directory", directory.display())]
    Make {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Nothing can be written into it.
    #[error(
        "{}: no file can be made there; name a directory that this user may write into",
        directory.display()
    )]
    Write {
        /// The directory.
        directory: PathBuf,
        /// Why not.
        source: FileError,
    },
    /// What was written to try it stays there.
    #[error("{}: a file there cannot be removed", directory.display())]
    Remove {
        /// The directory.
        directory: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// An incomplete file in an inbox. Its origin is unknown: it may belong to a receiver that runs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub struct Leftover {
    /// Its hidden name.
    pub name: String,
    /// Bytes that it has so far.
    pub bytes: u64,
}

impl Inbox {
    /// An inbox that keeps files which exist, refuses names that begin with a dot, and has the default [`PeerLimits`] and
    /// [`Quota`].
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            rules: Rules {
                directory: directory.into(),
                existing: Existing::default(),
                incomplete: Incomplete::default(),
                accepts_hidden: false,
                limits: PeerLimits::default(),
                quota: Quota::default(),
                totals: Totals::default(),
                keep_free: 0,
                sink: None,
            },
            ledger: Arc::default(),
        }
    }

    /// An inbox without a directory: the content of each file is written to `to` as it comes. Whether it is right is known at its end,
    /// from the [report](crate::Report). Directories are refused, and nothing can be gone on with after an outage.
    ///
    /// `to` may block: that slows the sender.
    pub fn into_writer(to: impl Write + Send + 'static) -> Self {
        let mut inbox = Self::new(PathBuf::new());
        inbox.rules.sink = Some(Sink::new(to));
        inbox
    }

    /// What becomes of files that exist under the name of a received one. Default: they are kept.
    #[must_use]
    pub fn existing(mut self, existing: Existing) -> Self {
        self.rules.existing = existing;
        self
    }

    /// What becomes of files that are not complete when a transfer ends. Default: they are kept for seven days, so that their sender
    /// can go on with them. Those of senders that know only version 1 of the protocol are removed.
    #[must_use]
    pub fn incomplete(mut self, incomplete: Incomplete) -> Self {
        self.rules.incomplete = incomplete;
        self
    }

    /// Most bytes that all senders together may store in the life of this inbox, by the sizes that they announce, with what is kept of
    /// incomplete files. Default: any number.
    #[must_use]
    pub fn max_total(mut self, bytes: Option<u64>) -> Self {
        self.rules.totals.max_bytes = bytes;
        self
    }

    /// Most files and directories that all senders together may store in the life of this inbox. Default: any number.
    #[must_use]
    pub fn max_total_files(mut self, files: Option<u64>) -> Self {
        self.rules.totals.max_files = files;
        self
    }

    /// Bytes of the disk that stay free: what would leave fewer is refused. Default: none. Other programs may use them all the same.
    #[must_use]
    pub fn keep_free(mut self, bytes: u64) -> Self {
        self.rules.keep_free = bytes;
        self
    }

    /// Whether names that begin with a dot are accepted. Default: they are refused, since a file that is not listed may
    /// configure the programs of its owner.
    #[must_use]
    pub fn accept_hidden(mut self, accept: bool) -> Self {
        self.rules.accepts_hidden = accept;
        self
    }

    /// How slow a sender may be. Slower ones are aborted.
    #[must_use]
    pub fn limits(mut self, limits: PeerLimits) -> Self {
        self.rules.limits = limits;
        self
    }

    /// How much one sender may store, and how often it may be refused. Default: [`Quota::default`].
    #[must_use]
    pub fn quota(mut self, quota: Quota) -> Self {
        self.rules.quota = quota;
        self
    }

    /// Makes sure that the directory is there or can be made, and changes nothing.
    ///
    /// # Errors
    ///
    /// The directory is something else, or the one that it would be in is missing.
    pub fn check(&self) -> Result<(), InboxError> {
        if self.rules.sink.is_some() {
            return Ok(());
        }
        is_there(&self.rules.directory).map(drop)
    }

    /// Makes sure that files can be written to the directory: makes its last part if that is missing, and tries.
    ///
    /// # Errors
    ///
    /// The directory is something else, cannot be made, or nothing can be written into it.
    pub fn prepare(&self) -> Result<(), InboxError> {
        if self.rules.sink.is_some() {
            return Ok(());
        }
        prepare(&self.rules.directory)?;
        self.sweep();
        Ok(())
    }

    /// Removes incomplete files that are older than the [rule](Self::incomplete) allows, and the oldest of those beyond its size.
    /// [`prepare`](Self::prepare) does so, and each file that begins.
    pub fn sweep(&self) {
        if self.rules.sink.is_some() {
            return;
        }
        sweep(&self.rules.directory, &self.ledger, self.rules.incomplete, "");
    }

    /// The incomplete files that lie in the directory now, by name. Their senders can go on with them, unless a sender of version 1
    /// left them to a receiver that was killed; another receiver may be writing them.
    pub fn leftovers(&self) -> Vec<Leftover> {
        let leftover = |part: crate::part::Part| Leftover { name: part.name, bytes: part.bytes };
        let mut found: Vec<_> = parts(&self.rules.directory).into_iter().map(leftover).collect();
        found.sort();
        found
    }

    /// Whether files are being received now whose beginning would be kept.
    pub fn is_receiving(&self) -> bool {
        self.ledger.is_any_claimed()
    }

    /// The next sender that connects to an endpoint. Dropping the future loses no sender.
    ///
    /// # Errors
    ///
    /// The endpoint does not listen, or no longer.
    pub async fn accept(&self, endpoint: &Endpoint) -> Result<Receiver, ConnectError> {
        Ok(self.receiver(endpoint.accept().await?))
    }

    /// A receiver of the files that come over an association.
    pub fn receiver(&self, association: Association) -> Receiver {
        Receiver::new(association, self.rules.clone(), Arc::clone(&self.ledger))
    }

    /// Receives from all senders that connect to an endpoint, each in a task of its own, and calls `ended` with the report of
    /// each, as [`Endpoint::serve`] does. A failure of one does not concern the others.
    pub async fn serve(&self, endpoint: &Endpoint, ended: impl FnMut(Report)) {
        let receive = |association| {
            let mut receiver = self.receiver(association);
            async move {
                // The report has the error.
                let _ = receiver.run().await;
                receiver.into_report()
            }
        };
        endpoint.serve(receive, ended).await;
    }
}

/// Whether there is a directory; an error if there can be none.
fn is_there(directory: &Path) -> Result<bool, InboxError> {
    match fs::metadata(directory) {
        Ok(found) if found.is_dir() => return Ok(true),
        Ok(_) => return Err(InboxError::NotADirectory(directory.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => {
            return Err(InboxError::Unknown { directory: directory.to_owned(), source });
        }
    }
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent.filter(|parent| !parent.is_dir()) {
        Some(parent) => {
            let (directory, parent) = (directory.to_owned(), parent.to_owned());
            Err(InboxError::NoParent { directory, parent })
        }
        None => Ok(false),
    }
}

fn prepare(directory: &Path) -> Result<(), InboxError> {
    if !is_there(directory)? {
        fs::create_dir(directory)
            .map_err(|source| InboxError::Make { directory: directory.to_owned(), source })?;
    }
    let (_, path) = make_partial(directory, None)
        .map_err(|source| InboxError::Write { directory: directory.to_owned(), source })?;
    fs::remove_file(&path)
        .map_err(|source| InboxError::Remove { directory: directory.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath::text::with_causes;

    fn refusal(directory: &Path) -> String {
        let told = with_causes(&prepare(directory).unwrap_err());
        if let Err(error) = Inbox::new(directory).check() {
            assert_eq!(with_causes(&error), told);
        }
        told
    }

    #[test]
    fn the_last_part_is_made_and_nothing_is_left_in_it() {
        let place = tempfile::tempdir().unwrap();
        let inbox = place.path().join("inbox");
        Inbox::new(&inbox).check().unwrap();
        assert!(!inbox.exists(), "checking makes nothing");
        for _ in 0..2 {
            prepare(&inbox).unwrap();
            assert_eq!(fs::read_dir(&inbox).unwrap().count(), 0);
        }
    }

    #[test]
    fn what_is_in_the_way_is_named() {
        let place = tempfile::tempdir().unwrap();
        let missing = place.path().join("missing");
        let told = refusal(&missing.join("inbox"));
        assert!(told.contains(&format!("there is no directory {}", missing.display())), "{told}");
        assert!(!missing.exists());
        let file = place.path().join("file");
        fs::write(&file, "content").unwrap();
        assert!(refusal(&file).contains("is a file and not a directory"), "{}", refusal(&file));
        let told = refusal(&file.join("inbox"));
        assert!(told.contains("inbox: Not a directory"), "{told}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn where_nothing_can_be_written_that_is_said() {
        // Not even root may.
        let told = refusal(Path::new("/proc"));
        assert!(told.contains("no file can be made there"), "{told}");
        let told = refusal(Path::new("/proc/inbox"));
        assert!(told.contains("cannot make the directory"), "{told}");
    }

    #[test]
    fn what_a_killed_receiver_left_is_named_and_stays() {
        let place = tempfile::tempdir().unwrap();
        let inbox = Inbox::new(place.path());
        assert_eq!(inbox.leftovers(), []);
        let left = ".polypath-0123456789abcdef.part";
        for name in [left, ".polypath-.part", "other.part", ".polypath-0123456789abcdeX.part"] {
            fs::write(place.path().join(name), "half").unwrap();
        }
        assert_eq!(inbox.leftovers(), [Leftover { name: left.to_owned(), bytes: 4 }]);
        assert!(place.path().join(left).exists());
    }
}
