//! Texts for people: strings of peers, and errors with their causes.

use std::error::Error;
use std::fmt::Write as _;

/// A string of a peer in printable form: at most its first `max_bytes` bytes, with `?` for each character that [steers
/// a terminal](steers_terminal).
///
/// ```
/// assert_eq!(polypath::text::printable("\u{1b}[2J red\n", 100), "?[2J red?");
/// assert_eq!(polypath::text::printable("ääää", 5), "ää");
/// ```
pub fn printable(text: &str, max_bytes: usize) -> String {
    let text = &text[..text.floor_char_boundary(max_bytes)];
    text.chars().map(|c| if steers_terminal(c) { '?' } else { c }).collect()
}

/// Whether a character changes the display instead of being displayed: control characters (C0 and C1), line and
/// paragraph separators, and the directional formatting of Unicode's bidirectional algorithm (UAX #9), which can
/// disguise a text as another.
pub fn steers_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
}

/// An error and its causes, the outermost first, as one line with colons between them.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AssociationError, SendError};

    #[test]
    fn nothing_of_a_peer_steers_a_terminal() {
        assert_eq!(printable("a\x1b[2J\nb", 200), "a?[2J?b");
        assert_eq!(printable("x\u{202e}y\u{2028}\u{9b}z", 200), "x?y??z");
        assert_eq!(printable(&"ä".repeat(300), 200), "ä".repeat(100));
        assert_eq!(printable(&"ä".repeat(300), 199), "ä".repeat(99));
        assert_eq!(printable("", 0), "");
    }

    #[test]
    fn causes_follow_what_they_caused() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot read")]
        struct Outer(#[source] SendError);

        let inner = SendError::Ended(AssociationError::EndpointClosed);
        assert_eq!(with_causes(&Outer(inner)), "cannot read: the endpoint is closed");
    }
}
