//! Texts of users and peers that are sent and shown.

use polypath::text::printable;

/// Longest title or description in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 200;

/// A title, a description or the like as it can be shown.
pub(crate) fn shown(text: &str) -> String {
    printable(text, MAX_TEXT_BYTES)
}
