//! Names of files that come from a peer.

use thiserror::Error;

/// Longest name in bytes that common file systems take.
const MAX_BYTES: usize = 255;

/// Why a name is not accepted.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub(crate) enum NameError {
    #[error("the name is empty")]
    Empty,
    #[error("the name has {0} bytes, more than {MAX_BYTES}")]
    TooLong(usize),
    #[error("the name is not UTF-8")]
    NotUtf8,
    #[error("the name {0:?} is a directory")]
    Directory(String),
    #[error("the name {0:?} contains {1:?}; only plain names are accepted, no paths")]
    Forbidden(String, char),
}

/// The name if it names one file in one directory on any system.
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
    match name.chars().find(|c| is_forbidden(*c)) {
        Some(c) => Err(NameError::Forbidden(name.to_owned(), c)),
        None => Ok(name),
    }
}

/// A name as it may be shown, whatever it contains.
pub(crate) fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(&name[..name.len().min(MAX_BYTES)]);
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// Separators of any system, and what could steer a terminal.
fn is_forbidden(c: char) -> bool {
    matches!(c, '/' | '\\')
        || c.is_control()
        || cfg!(windows) && matches!(c, '<' | '>' | ':' | '"' | '|' | '?' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_pass() {
        for name in
            ["a", "report.pdf", ".hidden", "...", "name with spaces", "übergröße.txt", "日本語"]
        {
            assert_eq!(check(name.as_bytes()), Ok(name));
        }
        assert!(check("x".repeat(255).as_bytes()).is_ok());
    }

    #[test]
    fn names_are_shown_without_control_characters() {
        assert_eq!(shown(b"a\x1b[2J\nb"), "a?[2J?b");
        assert_eq!(shown(b"\xff"), "\u{fffd}");
        assert_eq!(shown(&[b'x'; 1000]).len(), 255);
    }

    #[test]
    fn paths_and_worse_are_refused() {
        assert_eq!(check(b""), Err(NameError::Empty));
        assert_eq!(check("x".repeat(256).as_bytes()), Err(NameError::TooLong(256)));
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
        ] {
            assert!(matches!(check(name.as_bytes()), Err(NameError::Forbidden(..))), "{name:?}");
        }
    }
}
