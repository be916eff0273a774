//! Files that a scenario names.

use std::fs;
use std::path::{Path, PathBuf};

use polypath_netsim::TraceHasher;

use crate::document::{Document, DocumentError, Place, Step};

/// Longest file.
const MOST_BYTES: u64 = 256 << 20;

/// A file with text.
#[derive(Debug)]
pub(super) struct TextFile {
    /// As messages name it.
    pub name: String,
    pub text: String,
    /// Hash of the text.
    pub digest: String,
}

impl TextFile {
    /// Reads what the keys `file` and `digest` of the table at `steps` name. A relative name starts from the folder of the
    /// scenario.
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
        let length = fs::metadata(&path).map_err(|error| unreadable(error.to_string()))?.len();
        if length > MOST_BYTES {
            return Err(unreadable(format!("it has {length} B, more than {MOST_BYTES}")));
        }
        let text = fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
        let digest = digest(&text);
        if let Some(wanted) = wanted.filter(|wanted| **wanted != digest) {
            let message = format!("`{name}` has another content: {digest}, not {wanted}");
            return Err(document.complain(&at("digest"), message));
        }
        Ok(Self { name, text, digest })
    }
}

/// The folder from which a relative name starts: that of the file in which it was written, or of the document's if it
/// comes from an edit.
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
