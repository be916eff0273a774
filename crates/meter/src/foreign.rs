//! Texts of users and peers, as they may be shown.

/// Longest title or description in bytes.
pub(crate) const LONGEST_TEXT: usize = 200;

/// A text that steers no terminal and is not long.
pub(crate) fn shown(text: &str) -> String {
    let end = (0..=text.len().min(LONGEST_TEXT)).rev().find(|end| text.is_char_boundary(*end));
    harmless(&text[..end.unwrap_or(0)])
}

/// A text that steers no terminal: neither by control characters nor by ends of lines and paragraphs or the directional
/// formatting of Unicode's bidirectional algorithm, which can make a text look like another.
pub(crate) fn harmless(text: &str) -> String {
    let is_steering = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
    };
    text.chars().map(|c| if is_steering(c) { '?' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_harmless() {
        assert_eq!(shown("a\x1b[2J\nb"), "a?[2J?b");
        assert_eq!(shown("x\u{202e}y\u{2028}\u{9b}z"), "x?y??z");
        assert_eq!(shown(&"ä".repeat(300)), "ä".repeat(100));
    }
}
