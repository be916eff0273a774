//! The font of figures, and the width of text.

use std::sync::OnceLock;

use ttf_parser::Face;

/// Font families. The alternatives are at most as wide, so that text fits without this font, too.
pub(super) const FAMILY: &str =
    "'DejaVu Sans Condensed', Arial, Helvetica, 'Liberation Sans', sans-serif";
/// Family name in the font file.
pub(super) const NAME: &str = "DejaVu Sans";
/// Height of capitals, and depth of letters below the baseline, relative to the size.
pub(super) const RISE: f64 = 0.76;
pub(super) const FALL: f64 = 0.24;
/// Line spacing relative to the size.
pub(super) const LINE: f64 = 1.2;
/// Width of a letter that the font does not have.
const UNKNOWN: f64 = 0.7;

/// The font file.
pub(super) fn bytes() -> &'static [u8] {
    dejavu::sans_condensed::regular()
}

fn face() -> Option<&'static Face<'static>> {
    static FACE: OnceLock<Option<Face<'static>>> = OnceLock::new();
    FACE.get_or_init(|| Face::parse(bytes(), 0).ok()).as_ref()
}

/// Width of a text of this size, in the unit of the size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(advance).sum::<f64>() * size
}

/// Width of a letter of size 1. Those of European texts are looked up once.
fn advance(letter: char) -> f64 {
    static KNOWN: OnceLock<Vec<f64>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| ('\0'..='\u{17f}').map(measured).collect());
    known.get(letter as usize).copied().unwrap_or_else(|| measured(letter))
}

fn measured(letter: char) -> f64 {
    let width = |face: &Face<'_>| {
        let glyph = face.glyph_index(letter)?;
        Some(f64::from(face.glyph_hor_advance(glyph)?) / f64::from(face.units_per_em()))
    };
    face().and_then(width).unwrap_or(UNKNOWN)
}

/// Breaks a text at spaces into lines of a maximum width; a longer word is a line of its own.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Breaks a text into lines; words that are too long are cut with an ellipsis.
pub(super) fn fitted(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines = wrapped(text, size, most);
    for line in lines.iter_mut().filter(|line| width(line, size) > most) {
        let mut room = most - width("\u{2026}", size);
        let fits = |letter: &char| {
            room -= advance(*letter) * size;
            room >= 0.0
        };
        *line = line.chars().take_while(fits).chain(['\u{2026}']).collect();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        let face = Face::parse(bytes(), 0).expect("a font");
        let names: Vec<String> = face.names().into_iter().filter_map(|n| n.to_string()).collect();
        assert!(names.iter().any(|name| name == NAME), "{names:?}");
        assert!(width("iii", 10.0) < width("mmm", 10.0));
        assert_eq!(width("ab", 20.0), 2.0 * width("ab", 10.0));
        assert_eq!(width("", 10.0), 0.0);
        assert_eq!(width("\u{e000}", 10.0), 10.0 * UNKNOWN);
    }

    #[test]
    fn lines_break_at_spaces() {
        let most = width("goodput of", 8.0) + 0.1;
        assert_eq!(wrapped("goodput of both paths", 8.0, most), ["goodput of", "both paths"]);
        assert_eq!(wrapped("retransmissions", 8.0, 5.0), ["retransmissions"]);
        let cut = fitted("retransmissions", 8.0, 30.0);
        assert!(cut.len() == 1 && cut[0].ends_with('\u{2026}') && width(&cut[0], 8.0) <= 30.0);
        assert!(wrapped(" ", 8.0, 5.0).is_empty());
    }
}
