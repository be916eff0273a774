//! Files of keys: reading, permissions and creation.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;
use zeroize::Zeroizing;

use super::parse::is_name;
use super::{KeyRing, KeyTextError};

/// Length of a new key in bytes, equal to that of the codes of HMAC-SHA-256.
const NEW_KEY_BYTES: usize = 32;

/// Largest file in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// What to do about a file that cannot be read; the error of the system follows as the source.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => ", which does not exist: check the name",
        io::ErrorKind::PermissionDenied => ", which this user may not read",
        _ => "",
    }
}

/// What is wrong with a file of keys.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// The system cannot open or read it.
    #[error("cannot read {}{}", .path.display(), advice(.source))]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A directory, a pipe or a device.
    #[error("{} is no regular file", .0.display())]
    NotAFile(PathBuf),
    /// Others than its owner may read or change it.
    #[error(
        "{0} has mode {mode:04o}, so others may read or change it: chmod 600 {0}", .path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It is larger than 64 KiB.
    #[error("{} is larger than {} KiB: is it a file of keys?", .0.display(), MAX_FILE_BYTES / 1024)]
    TooLarge(PathBuf),
    /// It is not text in UTF-8.
    #[error("{} is not text: is it a file of keys?", .0.display())]
    NotText(PathBuf),
    /// Its text is invalid.
    #[error("{}: {problem}", .path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: KeyTextError,
    },
    /// The new file exists already, and may contain a key in use.
    #[error("{} exists, and a file of keys is never replaced: name another, or remove it", .0.display())]
    Exists(PathBuf),
    /// The new file cannot be created.
    #[error("cannot create {}; name a file where you may write", .path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The name of a new key has invalid characters or is too long.
    #[error(
        "{0:?} is not a valid name of a key: at most 64 letters, digits and . - _ @ are allowed"
    )]
    Name(String),
    /// The system provides no random numbers.
    #[error("the system provides no random numbers")]
    NoRandomness,
}

impl KeyRing {
    /// Reads a file of keys.
    ///
    /// # Errors
    ///
    /// It cannot be read, others than its owner may read or change it (on Unix), or its text is invalid.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, KeyFileError> {
        let path = path.as_ref();
        let read = |source| KeyFileError::Read { path: path.to_owned(), source };
        // Opening a pipe would wait for its writer.
        check_kind(path, &fs::metadata(path).map_err(read)?)?;
        let file = File::open(path).map_err(read)?;
        let metadata = file.metadata().map_err(read)?;
        check_kind(path, &metadata)?;
        check_mode(path, &metadata)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(MAX_FILE_BYTES as usize + 1));
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(read)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(KeyFileError::TooLarge(path.to_owned()));
        }
        let text =
            std::str::from_utf8(&bytes).map_err(|_| KeyFileError::NotText(path.to_owned()))?;
        Self::parse(text).map_err(|problem| KeyFileError::Text { path: path.to_owned(), problem })
    }

    /// Creates a file with one new key of 32 random bytes. Only its owner may read it.
    ///
    /// # Errors
    ///
    /// The file exists or cannot be created, the name is invalid, or the system has no random numbers.
    pub fn create(path: impl AsRef<Path>, name: &str) -> Result<(), KeyFileError> {
        let path = path.as_ref();
        if !is_name(name) {
            return Err(KeyFileError::Name(name.to_owned()));
        }
        let mut key = Zeroizing::new([0; NEW_KEY_BYTES]);
        getrandom::fill(&mut *key).map_err(|_| KeyFileError::NoRandomness)?;
        // With its capacity from the start: text that grows leaves a copy behind.
        let mut text = Zeroizing::new(String::with_capacity(512));
        text.push_str(
            "# Key of Polypath: anyone with this line is admitted. A receiver's file may have many keys, one per line.\n",
        );
        text.push_str(name);
        text.push(' ');
        for digit in key.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            text.extend(char::from_digit(digit.into(), 16));
        }
        text.push('\n');
        let create = |source: io::Error| match source.kind() {
            io::ErrorKind::AlreadyExists => KeyFileError::Exists(path.to_owned()),
            _ => KeyFileError::Create { path: path.to_owned(), source },
        };
        let mut file = new_private(path).map_err(create)?;
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|source| {
            // A partial key is useless. It stays only if it cannot be removed.
            let _ = fs::remove_file(path);
            create(source)
        })
    }
}

fn check_kind(path: &Path, metadata: &Metadata) -> Result<(), KeyFileError> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(KeyFileError::NotAFile(path.to_owned())),
    }
}

#[cfg(unix)]
fn check_mode(path: &Path, metadata: &Metadata) -> Result<(), KeyFileError> {
    use std::os::unix::fs::PermissionsExt;

    /// Permissions of group and others.
    const OTHERS: u32 = 0o077;
    let mode = metadata.permissions().mode() & 0o7777;
    match mode & OTHERS {
        0 => Ok(()),
        _ => Err(KeyFileError::Exposed { path: path.to_owned(), mode }),
    }
}

#[cfg(not(unix))]
fn check_mode(_: &Path, _: &Metadata) -> Result<(), KeyFileError> {
    Ok(())
}

/// Creates a file that only its owner may open.
fn new_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_new_file_is_private_has_a_key_of_its_own_and_replaces_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let [one, other] = ["one.key", "other.key"].map(|name| directory.path().join(name));
        KeyRing::create(&one, "alice").unwrap();
        KeyRing::create(&other, "alice").unwrap();
        assert_eq!((mode_of(&one), mode_of(&other)), (0o600, 0o600));
        let ring = KeyRing::read(&one).unwrap();
        assert_eq!(ring.names().collect::<Vec<_>>(), ["alice"]);
        assert_ne!(ring, KeyRing::read(&other).unwrap());
        let told = KeyRing::create(&one, "bob").unwrap_err();
        assert!(matches!(told, KeyFileError::Exists(_)), "{told}");
        assert_eq!(KeyRing::read(&one).unwrap(), ring, "it is the same as before");
        assert!(matches!(
            KeyRing::create(directory.path().join("x"), "al ice"),
            Err(KeyFileError::Name(_))
        ));
        assert!(!directory.path().join("x").exists());
    }

    /// Whether this process has bytes somewhere in its memory that differ from `inverse` in every bit. The stack is left out: what HMAC
    /// leaves there is overwritten by what is called next.
    #[cfg(target_os = "linux")]
    fn has_in_memory(inverse: &[u8]) -> bool {
        use std::io::{Seek, SeekFrom};

        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mut memory = File::open("/proc/self/mem").unwrap();
        let mut page = vec![0; 1 << 16];
        // What is read is overwritten by what is read next: it is found nowhere but at its place.
        let first = !inverse[0];
        maps.lines().filter(|line| line.contains(" rw-p ")).any(|line| {
            let (range, _) = line.split_once(' ').unwrap();
            let (from, to) = range.split_once('-').unwrap();
            let [mut at, to] = [from, to].map(|it| u64::from_str_radix(it, 16).unwrap());
            if (at..to).contains(&(std::ptr::from_ref(&first) as u64)) {
                return false;
            }
            while at + inverse.len() as u64 <= to {
                let wanted = page.len().min((to - at) as usize);
                if memory.seek(SeekFrom::Start(at)).is_err() {
                    return false;
                }
                let Ok(read) = memory.read(&mut page[..wanted]) else { return false };
                let own = page.as_ptr() as u64;
                let found = page[..read].windows(inverse.len()).enumerate().any(|(n, window)| {
                    window[0] == first
                        && window.iter().zip(inverse).all(|(byte, inverse)| *byte == !inverse)
                        && !(own..own + page.len() as u64).contains(&(at + n as u64))
                });
                if found {
                    return true;
                }
                at += (read.max(inverse.len()) + 1 - inverse.len()) as u64;
            }
            false
        })
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_that_held_a_key_is_wiped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        KeyRing::create(&path, "alice").unwrap();
        let ring = KeyRing::read(&path).unwrap();
        let [digits, key] = inverses(&ring);
        assert!(has_in_memory(&key), "it is there as long as it is needed");
        let shared = ring.shared_keys();
        let copy = (ring.clone(), shared.clone());
        drop((ring, shared));
        assert!(has_in_memory(&key));
        drop(copy);
        assert!(!has_in_memory(&key), "a copy of the key is left");
        assert!(!has_in_memory(&digits), "a copy of its digits is left");
    }

    /// The digits of the first key, and its bytes, with every bit inverted: the key itself is nowhere else.
    #[cfg(target_os = "linux")]
    fn inverses(ring: &KeyRing) -> [Vec<u8>; 2] {
        let digit = |digit: u8| !b"0123456789abcdef"[usize::from(digit)];
        let secret = &ring.0[0].secret;
        let digits = secret.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect();
        [digits, secret.iter().map(|byte| !byte).collect()]
    }

    #[test]
    fn files_that_are_none_of_keys_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keys");
        let told = |path: &Path| KeyRing::read(path).unwrap_err().to_string();
        assert!(told(&path).starts_with("cannot read "));
        assert!(told(directory.path()).ends_with("is no regular file"));
        KeyRing::create(&path, "alice").unwrap();
        for mode in [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(told(&path).contains(&format!("has mode {mode:04o}")), "{mode:o}");
        }
        for mode in [0o600, 0o400, 0o700] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            KeyRing::read(&path).unwrap();
        }
        for (content, expected) in [
            (&b""[..], "it has no key"),
            (b"alice", "line 1: a line must have"),
            (b"alice \xff", "is not text"),
            (&[b'#'; 64 * 1024 + 1], "larger than 64 KiB"),
        ] {
            fs::write(&path, content).unwrap();
            assert!(told(&path).contains(expected), "{}", told(&path));
        }
    }
}
