//! Files that a scenario names.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use polypath_netsim::TraceHasher;

use crate::document::{Document, DocumentError, Place, Step, open_file};

/// Longest file.
const MOST_BYTES: u64 = 256 << 20;

/// A file with text.
#[derive(Debug)]
pub(super) struct TextFile {
    /// Name for messages.
    pub name: String,
    pub text: String,
    /// Hash of the text.
    pub digest: String,
}

impl TextFile {
    /// Reads the file that the keys `file` and `digest` of the table at `steps` name. Relative names start from the
    /// folder of the scenario.
    pub fn beside(
        document: &Document,
        steps: &[Step<'_>],
        file: &str,
        wanted: Option<&str>,
    ) -> Result<Self, DocumentError> {
        let at = |key: &'static str| [steps, &[Step::Key(key)]].concat();
        let path = folder(document, &at("file")).join(file);
        let name = path.display().to_string();
        let unreadable = |problem: String| {
            document.complain(&at("file"), format!("cannot read `{name}`: {problem}"))
        };
        let file = open_file(&path).map_err(|error| unreadable(error.to_string()))?;
        let text = read(file, MOST_BYTES).map_err(|error| unreadable(error.to_string()))?;
        let digest = digest(&text);
        if let Some(wanted) = wanted.filter(|wanted| **wanted != digest) {
            let message = format!("`{name}` has another content: {digest}, not {wanted}");
            return Err(document.complain(&at("digest"), message));
        }
        Ok(Self { name, text, digest })
    }
}

/// Text of at most `most` bytes. The length is counted while reading, since devices and pipes report none.
fn read(source: impl Read, most: u64) -> io::Result<String> {
    let mut text = String::new();
    source.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        let message = format!("it has more than {most} B");
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// The folder that relative names start from: that of the file with the key, or that of the document for a key of an
/// edit.
fn folder(document: &Document, steps: &[Step<'_>]) -> PathBuf {
    let file = match document.place(steps) {
        Place::File { name, .. } | Place::WholeFile { name } => name,
        Place::Set { .. } | Place::Default => document.name().to_owned(),
    };
    Path::new(&file).parent().map(Path::to_owned).unwrap_or_default()
}

fn digest(text: &str) -> String {
    let mut hasher = TraceHasher::new();
    hasher.bytes(text.as_bytes());
    hasher.hash().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_read_no_further_than_the_limit() {
        assert_eq!(read(&b"12345"[..], 5).unwrap(), "12345");
        let error = read(&b"123456"[..], 5).unwrap_err();
        assert_eq!(error.to_string(), "it has more than 5 B");
        let error = read(io::repeat(b'0'), 1 << 20).unwrap_err();
        assert!(error.to_string().contains("more than 1048576 B"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_device_has_no_length_and_is_refused_all_the_same() {
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        assert_eq!(zeros.metadata().unwrap().len(), 0);
        assert!(read(zeros, 1 << 20).is_err());
    }
}
