//! Files that are replaced as a whole: readers see the old content or all of the new one, even if several processes write at
//! once.
//!
//! The content is written to a temporary file beside the file (a "part"), which then gets its name. A process that is killed in
//! between leaves its part. The writer holds a lock on the part, which ends with the process, so that the next writer can remove
//! parts without a writer.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ENDING: &str = ".part";

/// Parts that changed within this time are not removed: a writer on another machine, which does not see locks, may be about to
/// rename one.
const OLD: Duration = Duration::from_secs(600);

/// Number of attempts to write a part that another process removes meanwhile.
const TRIES: usize = 3;

/// Replaces the content of a file.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut written = attempt(path, bytes);
    for _ in 1..TRIES {
        match written {
            Err(error) if error.kind() == ErrorKind::NotFound => written = attempt(path, bytes),
            done => return done,
        }
    }
    written
}

fn attempt(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let part = path.with_extension(format!("{}-{}{ENDING}", process::id(), now.as_nanos()));
    let written = File::create(&part).and_then(|mut file| {
        // Not every file system has locks.
        let _ = file.try_lock();
        file.write_all(bytes)?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// Removes the parts of a file that ended processes have left.
pub(super) fn remove_left(path: &Path) {
    let Some(folder) = path.parent() else { return };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for part in entries.map(|entry| entry.path()).filter(|other| is_part_of(other, path)) {
        if is_old(&part) && is_left(&part) {
            let _ = fs::remove_file(&part);
        }
    }
}

fn is_part_of(other: &Path, path: &Path) -> bool {
    let [name, stem] = [other.file_name(), path.file_stem()].map(|name| name?.to_str());
    let middle = name.zip(stem).and_then(|(name, stem)| {
        name.strip_prefix(stem)?.strip_prefix('.')?.strip_suffix(ENDING)?.split_once('-')
    });
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    middle.is_some_and(|(process, time)| is_number(process) && is_number(time))
}

fn is_old(part: &Path) -> bool {
    let changed = fs::metadata(part).and_then(|found| found.modified());
    changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|age| age >= OLD))
}

/// Whether no process has it open for writing.
fn is_left(part: &Path) -> bool {
    File::options().write(true).open(part).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a file that was changed so long ago.
    fn make(path: &Path, age: Duration) -> File {
        let file = File::create(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
        file
    }

    #[test]
    fn parts_of_killed_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.toml");
        replace(&path, b"before").unwrap();
        let age = OLD * 2;
        drop(make(&folder.path().join("study.17-1000.part"), age));
        let held = make(&folder.path().join("study.18-1000.part"), age);
        held.try_lock().unwrap();
        // Just written, of another file, and named by the user.
        for (other, age) in [
            ("study.19-1000.part", Duration::ZERO),
            ("runs.17-1000.part", age),
            ("study.17.part", age),
            ("study.old-1.part", age),
        ] {
            drop(make(&folder.path().join(other), age));
        }
        remove_left(&path);
        replace(&path, b"after").unwrap();
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.sort_unstable();
        let expected = [
            "runs.17-1000.part",
            "study.17.part",
            "study.18-1000.part",
            "study.19-1000.part",
            "study.old-1.part",
            "study.toml",
        ];
        assert_eq!(names, expected);
        assert_eq!(fs::read(&path).unwrap(), b"after");
        drop(held);
        remove_left(&path);
        assert!(!folder.path().join("study.18-1000.part").exists(), "its process has ended");
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study.toml");
        fs::create_dir(&path).unwrap();
        assert!(replace(&path, b"content").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("missing/study.toml"), b"content").is_err());
    }
}
