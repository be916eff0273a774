//! Names of files that come from a peer.

use polypath::text::{printable, steers_terminal};
use thiserror::Error;

/// Longest name in bytes that common file systems take.
const MAX_BYTES: usize = 255;

/// Longest path in bytes, and its most components.
const MAX_PATH_BYTES: usize = 2000;
const MAX_DEPTH: usize = 64;

/// Why a name is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NameError {
    /// There is none.
    #[error("the name is empty")]
    Empty,
    /// Common file systems do not take a name of so many bytes.
    #[error("the name has {0} bytes, more than {MAX_BYTES}")]
    TooLong(usize),
    /// Bytes that are no text.
    #[error("the name is not UTF-8")]
    NotUtf8,
    /// `.` or `..`.
    #[error("the name {0:?} is a directory")]
    Directory(String),
    /// A separator, or a character that changes how others are shown.
    #[error("the name {0:?} contains {1:?}; only plain names are accepted, no paths")]
    Forbidden(String, char),
    /// A path of too many bytes or directories.
    #[error("the path has more than {MAX_PATH_BYTES} bytes or {MAX_DEPTH} parts")]
    LongPath,
    /// A hidden file, where those are refused.
    #[error("the name {0:?} begins with a dot: the file would be hidden")]
    Hidden(String),
    /// A device of Windows, which the directory may be shared with.
    #[error("the name {0:?} means a device on some systems")]
    Device(String),
}

/// The name if it names one file in one directory on any system, and can be shown as it is. It may be
/// [hidden](check_visible).
pub(crate) fn check(name: &[u8]) -> Result<&str, NameError> {
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    if name.len() > MAX_BYTES {
        return Err(NameError::TooLong(name.len()));
    }
    let name = std::str::from_utf8(name).map_err(|_| NameError::NotUtf8)?;
    if matches!(name, "." | "..") {
        return Err(NameError::Directory(name.to_owned()));
    }
    if let Some(c) = name.chars().find(|c| is_forbidden(*c)) {
        return Err(NameError::Forbidden(name.to_owned(), c));
    }
    if cfg!(windows)
        && let Some(c) = name.chars().next_back().filter(|c| matches!(c, '.' | ' '))
    {
        return Err(NameError::Forbidden(name.to_owned(), c));
    }
    if is_device(name) {
        return Err(NameError::Device(name.to_owned()));
    }
    Ok(name)
}

/// The path if each of its components [can be a name](check): it leads from a directory to something below it on any system. Components
/// are separated by `/`.
pub(crate) fn check_path(path: &[u8]) -> Result<&str, NameError> {
    let mut components = 0;
    for component in path.split(|byte| *byte == b'/') {
        // An empty component makes a path absolute, or is a second separator.
        if component.is_empty() && path.len() > 1 {
            let shown = shown(path);
            return Err(NameError::Forbidden(shown, '/'));
        }
        check(component)?;
        components += 1;
    }
    if path.len() > MAX_PATH_BYTES || components > MAX_DEPTH {
        return Err(NameError::LongPath);
    }
    std::str::from_utf8(path).map_err(|_| NameError::NotUtf8)
}

/// Refuses a path with a component that begins with a dot: a hidden file may configure the programs of its owner.
pub(crate) fn check_visible(name: &str) -> Result<(), NameError> {
    match hidden_part(name) {
        Some(hidden) => Err(NameError::Hidden(hidden.to_owned())),
        None => Ok(()),
    }
}

/// The first component of a path that begins with a dot.
pub(crate) fn hidden_part(name: &str) -> Option<&str> {
    name.split('/').find(|component| component.starts_with('.'))
}

/// A name as it may be shown, whatever it contains.
pub(crate) fn shown(name: &[u8]) -> String {
    printable(&String::from_utf8_lossy(&name[..name.len().min(MAX_PATH_BYTES)]), MAX_PATH_BYTES)
}

/// The first part of a name as it may be shown: a peer whose offers are refused cannot fill a log with them.
pub(crate) fn shown_briefly(name: &[u8]) -> String {
    printable(&shown(name), MAX_BYTES)
}

/// Separators of any system, and what could steer a terminal.
fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\')
        || steers_terminal(c)
        || cfg!(windows) && matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*')
}

/// Whether Windows takes the name for a device, with any ending: a directory may be shared with it.
fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end();
    let stem = stem.to_ascii_uppercase();
    if matches!(stem.as_str(), "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$") {
        return true;
    }
    let number = stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT"));
    number.is_some_and(|number| {
        let mut digits = number.chars();
        matches!(digits.next(), Some('0'..='9' | '¹' | '²' | '³')) && digits.next().is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(name: &str) -> Result<&str, NameError> {
        check(name.as_bytes())
    }

    #[test]
    fn plain_names_pass() {
        for name in [
            "a",
            "report.pdf",
            "com",
            "com10",
            "lpt1x",
            "auxiliary.c",
            "übergröße.txt",
            "日本語",
            "שלום",
        ] {
            assert_eq!(received(name), Ok(name));
        }
        assert!(received(&"x".repeat(255)).is_ok());
    }

    #[test]
    fn hidden_files_only_where_they_are_wanted() {
        for name in [".profile", "...", "..a"] {
            assert_eq!(check_visible(name), Err(NameError::Hidden(name.to_owned())));
            assert_eq!(received(name).is_ok(), cfg!(unix) || name != "...");
        }
        assert_eq!(check_visible("a.b"), Ok(()));
    }

    #[test]
    fn names_of_devices_are_refused() {
        for name in ["con", "NUL", "Aux.c", "com1", "LPT9.txt", "com\u{b2}", "nul .txt", "prn.a.b"]
        {
            assert_eq!(received(name), Err(NameError::Device(name.to_owned())));
        }
    }

    #[test]
    fn names_are_shown_without_control_characters() {
        assert_eq!(shown(b"a\x1b[2J\nb"), "a?[2J?b");
        assert_eq!(shown("x\u{202e}y\u{2028}".as_bytes()), "x?y?");
        assert_eq!(shown(b"\xff"), "\u{fffd}");
        assert_eq!(shown(&[b'x'; 5000]).len(), 2000);
    }

    #[test]
    fn paths_below_a_directory_pass() {
        for path in ["a", "a/b", "photos/2024/ä.jpg", ".git/config"] {
            assert_eq!(check_path(path.as_bytes()), Ok(path));
        }
        assert!(check_visible("a/b").is_ok());
        for hidden in [".git/config", "a/.b/c", "a/.b"] {
            assert!(matches!(check_visible(hidden), Err(NameError::Hidden(_))), "{hidden}");
        }
    }

    #[test]
    fn paths_out_of_a_directory_are_refused() {
        for path in [
            "",
            "/",
            "/etc/passwd",
            "a//b",
            "a/",
            "..",
            "a/../b",
            "./a",
            "a/.",
            "a\\b",
            "a/nul",
            "a/b\0",
        ] {
            assert!(check_path(path.as_bytes()).is_err(), "{path:?}");
        }
        assert!(check_path(b"a/\xff").is_err());
        assert_eq!(
            check_path("a/".repeat(65).trim_end_matches('/').as_bytes()),
            Err(NameError::LongPath)
        );
        let long = format!("{0}/{0}/{0}/{0}/{0}/{0}/{0}/{0}", "x".repeat(255));
        assert_eq!(check_path(long.as_bytes()), Err(NameError::LongPath));
        assert!(matches!(check_path(&[b'x'; 256]), Err(NameError::TooLong(256))));
    }

    #[test]
    fn paths_and_worse_are_refused() {
        assert_eq!(check(b""), Err(NameError::Empty));
        assert_eq!(received(&"x".repeat(256)), Err(NameError::TooLong(256)));
        assert_eq!(check(b"\xff\xfe"), Err(NameError::NotUtf8));
        for name in [".", ".."] {
            assert!(matches!(check(name.as_bytes()), Err(NameError::Directory(_))));
        }
        for name in [
            "../up",
            "/etc/passwd",
            "a/b",
            "a\\b",
            "..\\up",
            "nul\0",
            "line\nbreak",
            "\x1b[2J",
            "\u{9b}2J",
            "gepj.\u{202e}exe",
            "a\u{2028}b",
            "a\u{2029}b",
            "\u{200f}a",
            "a\u{2067}b",
        ] {
            assert!(matches!(check(name.as_bytes()), Err(NameError::Forbidden(..))), "{name:?}");
        }
    }
}
