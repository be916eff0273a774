//! Files that are offered without waiting for the answer to what came before: a round trip for each would take longer than their content.

use std::fs;

use sha2::{Digest as _, Sha256};

use crate::destination::{Existing, FileError, Found, Target, check_room};
use crate::frame::Digest;
use crate::part::{PartialFile, Stored, beginnings};
use crate::sink::Sink;

/// Largest file whose content may come with its offer. It is in memory as a whole, at both ends.
pub(crate) const MOST_EAGER: u64 = 64 << 10;
/// Largest file that is in memory as a whole if it is offered ahead of others, and is not gone on with after an outage.
pub(crate) const MOST_AHEAD: u64 = 1 << 20;

/// What became of a small file.
#[derive(Debug)]
pub(crate) enum Outcome {
    Stored(Stored),
    /// A directory is there now.
    Made,
    /// Its content is wanted.
    Wanted,
    /// Something of it may be there: it has to be compared.
    Alone,
    /// It is there already, or need not be.
    There(&'static str),
    /// It is not wanted; others may be.
    Refused(FileError),
    Failed(FileError),
}

/// Whether the content of a file that is offered is wanted. `part` is the hidden name of a larger one, under which some of it may have
/// been kept.
pub(crate) fn look(target: &Target, part: Option<&str>, taken: u64) -> Outcome {
    let is_large = target.size.is_some_and(|size| size > MOST_AHEAD);
    let is_kept =
        part.is_some_and(|part| fs::symlink_metadata(target.directory.join(part)).is_ok());
    match target.look() {
        Err(error) => Outcome::Refused(error),
        Ok(Found::There(what)) => Outcome::There(what),
        Ok(Found::SameSize(_)) if is_large => Outcome::Alone,
        Ok(_) if is_kept => Outcome::Alone,
        Ok(Found::Nothing | Found::SameSize(_)) => {
            let room = check_room(&target.directory, target.size.unwrap_or(0), taken);
            room.map_or_else(Outcome::Refused, |()| Outcome::Wanted)
        }
    }
}

/// Stores a file with this content, if that has the digest `claimed`.
pub(crate) fn store(target: Target, content: &[u8], claimed: Digest, taken: u64) -> Outcome {
    if target.size != Some(content.len() as u64) {
        let (received, offered) = (content.len() as u64, target.size.unwrap_or(0));
        return Outcome::Failed(FileError::TooShort { received, offered });
    }
    if claimed != Digest::from(Sha256::digest(content)) {
        return Outcome::Failed(FileError::Digest);
    }
    match target.look() {
        Err(error) => return Outcome::Refused(error),
        Ok(Found::There(what)) => return Outcome::There(what),
        Ok(Found::Nothing) => {}
        Ok(Found::SameSize(mut file)) => {
            let here = beginnings(&mut file, &[content.len() as u64], || false);
            let here = here.ok().and_then(|mut here| here.pop());
            if here.is_some_and(|(_, digest)| Digest::from(digest.finalize()) == claimed) {
                return Outcome::There("the same is there already");
            }
            if target.existing != Existing::Replace {
                return Outcome::Refused(FileError::Differs(target.name));
            }
        }
    }
    let mut file = match PartialFile::create(target, taken) {
        Ok(file) => file,
        Err(error) => return Outcome::Refused(error),
    };
    match file.write(content).and_then(|()| file.complete()) {
        Ok(stored) => Outcome::Stored(stored),
        Err(error @ FileError::Exists(_)) => Outcome::Refused(error),
        Err(error) => Outcome::Failed(error),
    }
}

/// Hands a file on that does not become one here.
pub(crate) fn hand_on(sink: &Sink, target: Target, content: &[u8], claimed: Digest) -> Outcome {
    if claimed != Digest::from(Sha256::digest(content)) {
        return Outcome::Failed(FileError::Digest);
    }
    match sink.write(content).and_then(|()| sink.flush()) {
        Ok(()) => Outcome::Stored(Stored { path: target.name.into(), warning: None }),
        Err(error) => Outcome::Failed(FileError::Write(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn put(directory: &Path, content: &[u8], existing: Existing) -> Outcome {
        let (directory, name) = (directory.to_owned(), "a/file".to_owned());
        let size = Some(content.len() as u64);
        let target = Target { directory, name, size, mode: None, modified: None, existing };
        store(target, content, Sha256::digest(content).into(), 0)
    }

    #[test]
    fn a_small_file_is_stored_compared_or_refused() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path();
        let content = || fs::read(directory.join("a/file")).unwrap();
        assert!(matches!(put(directory, b"old", Existing::Keep), Outcome::Stored(_)));
        assert!(matches!(put(directory, b"old", Existing::Keep), Outcome::There(_)));
        assert!(matches!(put(directory, b"old", Existing::Replace), Outcome::There(_)));
        assert!(matches!(put(directory, b"new", Existing::Skip), Outcome::There(_)));
        for new in [&b"new"[..], b"newer"] {
            assert!(matches!(put(directory, new, Existing::Keep), Outcome::Refused(_)));
        }
        assert_eq!(content(), b"old");
        assert!(matches!(put(directory, b"new", Existing::Replace), Outcome::Stored(_)));
        assert_eq!(content(), b"new");
        assert!(matches!(put(directory, b"", Existing::Replace), Outcome::Stored(_)));
        assert!(
            matches!(put(directory, b"", Existing::Keep), Outcome::There(_)),
            "nothing is the same"
        );
        assert_eq!(fs::read_dir(directory.join("a")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(directory).unwrap().count(), 1);
    }

    #[test]
    fn content_that_is_not_what_was_offered_is_not_stored() {
        let place = tempfile::tempdir().unwrap();
        let target = Target {
            directory: place.path().to_owned(),
            name: "file".to_owned(),
            size: Some(4),
            mode: None,
            modified: None,
            existing: Existing::Keep,
        };
        let failed = |content: &[u8], claimed: &[u8]| {
            let outcome = store(target.clone(), content, Sha256::digest(claimed).into(), 0);
            assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        };
        failed(b"four", b"five");
        failed(b"one", b"one");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}
