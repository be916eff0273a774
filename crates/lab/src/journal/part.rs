//! A part of the journal: the file of one writer.
//!
//! A file of JSON lines that only grows, and that only its writer changes. If the writer is killed, all complete lines stay valid;
//! an incomplete last one is ignored.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;

use super::{JournalError, Shard, sealed};

/// File with the finished runs of older versions; read as a part.
const SINGLE: &str = "journal.jsonl";
/// Directory of parts.
const FOLDER: &str = "journal";
/// File name extension of a part.
const ENDING: &str = ".jsonl";
/// Maximum number of attempts to create a part and to lock it, since a reader may hold the lock.
const TRIES: usize = 1000;

/// Parts of a directory that may have runs of a share of the work, ordered by name. Units of the same division have no run in
/// common, so a unit does not read the parts of the others.
pub(super) fn parts_of(directory: &Path, share: Shard) -> io::Result<Vec<PathBuf>> {
    let mut parts = Vec::new();
    let single = directory.join(SINGLE);
    if single.exists() {
        parts.push(single);
    }
    let folder = directory.join(FOLDER);
    let found = match fs::read_dir(&folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(parts),
        Err(error) => return Err(error),
    };
    let mut names = Vec::new();
    for entry in found {
        let name = entry?.file_name();
        if name.to_str().is_some_and(|name| name.ends_with(ENDING) && concerns(name, share)) {
            names.push(folder.join(name));
        }
    }
    names.sort_unstable();
    parts.extend(names);
    Ok(parts)
}

/// Whether a part of this name may have runs of a share.
fn concerns(name: &str, share: Shard) -> bool {
    if share.is_whole() {
        return true;
    }
    let unit = name.split('_').next().and_then(|scope| scope.strip_prefix("unit-"));
    let unit = unit.and_then(|unit| unit.replacen("-of-", "/", 1).parse::<Shard>().ok());
    unit.is_none_or(|unit| unit == share || !unit.is_of_same_division(share))
}

/// Prefix of the names of parts of a share.
fn scope(share: Shard) -> String {
    match share.is_whole() {
        true => "all".into(),
        false => format!("unit-{}", share.to_string().replacen('/', "-of-", 1)),
    }
}

/// Reads the complete lines of a part from offset `from`, and passes each with its offset and length. Returns the offset after the
/// last one.
pub(super) fn read<L: DeserializeOwned>(
    path: &Path,
    mut each: impl FnMut(L, u64, usize) -> Result<(), String>,
) -> Result<(), JournalError> {
    let io = |error| JournalError::Io { path: path.to_owned(), error };
    let mut reader = BufReader::new(File::open(path).map_err(io)?);
    let (mut line, mut number, mut start) = (Vec::new(), 0, 0);
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line).map_err(io)?;
        if line.last() != Some(&b'\n') {
            return Ok(());
        }
        number += 1;
        let damaged =
            |message| JournalError::Damaged { path: path.to_owned(), line: number, message };
        let json = sealed::open(&line).map_err(|error| damaged(error.to_string()))?;
        let read = serde_json::from_slice(json).map_err(|error| damaged(error.to_string()))?;
        each(read, start, line.len()).map_err(damaged)?;
        start += line.len() as u64;
    }
}

/// Size of a part in bytes.
pub(super) fn bytes(path: &Path, start: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Whether the writer of a part still runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Writing {
    /// It does.
    Now,
    /// It has ended.
    Over,
    /// Unknown: the file system has no locks.
    Unknown,
}

/// Checks whether the writer of a part still runs, by the lock that it holds.
pub(super) fn writing(path: &Path) -> io::Result<Writing> {
    Ok(match File::open(path)?.try_lock() {
        Ok(()) => Writing::Over,
        Err(TryLockError::WouldBlock) => Writing::Now,
        Err(TryLockError::Error(_)) => Writing::Unknown,
    })
}

/// The writer of a part.
#[derive(Debug)]
pub(super) struct Writer {
    file: File,
    path: PathBuf,
    end: u64,
    has_runs: bool,
}

impl Writer {
    /// Creates a part with a unique name in a directory.
    pub fn begin(directory: &Path, share: Shard, host: &str) -> io::Result<Self> {
        let folder = directory.join(FOLDER);
        let host: String = host
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' })
            .take(64)
            .collect();
        let id = process::id();
        // A folder can vanish with the last part of another writer, and a name can be taken.
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for _ in 0..TRIES {
            fs::create_dir_all(&folder)?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let name = format!("{}_{}_{host}_{id}{ENDING}", scope(share), now.as_nanos());
            let path = folder.join(name);
            match File::options().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => {
                    hold(&file);
                    return Ok(Self { file, path, end: 0, has_runs: false });
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound => last = error,
                    _ => return Err(error),
                },
            }
        }
        Err(last)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line and returns its offset. A failed write leaves nothing behind.
    pub fn write(&mut self, text: &str) -> io::Result<u64> {
        let start = self.end;
        let written = self
            .file
            .seek(SeekFrom::Start(start))
            .and_then(|_| self.file.write_all(text.as_bytes()));
        if let Err(error) = written {
            let _ = self.file.set_len(start);
            return Err(error);
        }
        self.end += text.len() as u64;
        Ok(start)
    }

    /// The same, for the line of a run.
    pub fn write_run(&mut self, text: &str) -> io::Result<u64> {
        let start = self.write(text)?;
        self.has_runs = true;
        Ok(start)
    }

    /// Flushes to disk.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Removes the part.
    pub fn discard(mut self) {
        self.has_runs = false;
    }
}

impl Drop for Writer {
    /// Removes a part without runs, and a directory without parts.
    fn drop(&mut self) {
        if !self.has_runs && fs::remove_file(&self.path).is_ok() {
            let _ = self.path.parent().map(fs::remove_dir);
        }
    }
}

/// Locks a new part, so that other processes see its writer. On file systems without locks they do not.
fn hold(file: &File) {
    for _ in 0..TRIES {
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            Ok(()) | Err(TryLockError::Error(_)) => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_reads_its_own_parts_and_those_of_other_divisions() {
        let unit: Shard = "2/8".parse().expect("a unit");
        for (name, expected) in [
            ("unit-2-of-8_1_host_1.jsonl", true),
            ("unit-3-of-8_1_host_1.jsonl", false),
            ("unit-3-of-4_1_host_1.jsonl", true),
            ("all_1_host_1.jsonl", true),
            ("unit-x_1.jsonl", true),
        ] {
            assert_eq!(concerns(name, unit), expected, "{name}");
            assert!(concerns(name, Shard::WHOLE));
        }
        assert_eq!(scope(unit), "unit-2-of-8");
    }
}
