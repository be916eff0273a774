//! Folding of lines.

use super::{Width, length};

/// Folds long lines: they continue where their last column begins, or indented by two if they have no columns. A word that is too
/// long stays whole.
pub(crate) fn fold(text: &str, width: Width) -> String {
    let Some(width) = width.columns() else { return text.to_owned() };
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive('\n') {
        let (content, end) = part.strip_suffix('\n').map_or((part, ""), |content| (content, "\n"));
        out += &line(content, width).join("\n");
        out += end;
    }
    out
}

/// Folds one line.
pub(super) fn line(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let own = text.chars().take_while(|letter| *letter == ' ').count();
    let further = " ".repeat(last_column(text, own, width / 3).unwrap_or(own + 2).min(width / 2));
    let mut lines = Vec::new();
    let (mut now, mut rest) = (" ".repeat(own), text.trim_start());
    // Spaces between words are part of the layout: they are removed only at the end of a line.
    while !rest.is_empty() {
        let gap = rest.len() - rest.trim_start().len();
        let word = rest[gap..].split(' ').next().unwrap_or_default();
        if !now.trim().is_empty() && length(&now) + gap + length(word) > width {
            lines.push(std::mem::replace(&mut now, further.clone()));
        } else {
            now += &rest[..gap];
        }
        now += word;
        rest = &rest[gap + word.len()..];
    }
    lines.push(now);
    lines
}

/// Where the last column before `end` begins: behind at least two spaces.
fn last_column(text: &str, own: usize, end: usize) -> Option<usize> {
    let letters: Vec<char> = text.chars().take(end + 1).collect();
    let begins = |at: &usize| letters[at - 2..*at] == [' ', ' '] && letters[*at] != ' ';
    (own + 3..letters.len()).rev().find(begins)
}

/// Lines of at most so many letters; a longer word has a line of its own.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| length(line));
        match lines.last_mut() {
            Some(line) if last == 0 => line.push_str(word),
            Some(line) if last + 1 + length(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_and_lines_short() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("a very-long-word b", 6), ["a", "very-long-word", "b"]);
        assert_eq!(wrapped("", 6), [""]);
    }

    #[test]
    fn long_lines_continue_further_in() {
        let text =
            "short\n  a     line that is too long for the forty columns there are here\n\nend\n";
        let expected = "short\n  a     line that is too long for the\n        forty columns there are here\n\nend\n";
        assert_eq!(fold(text, Width::of(40)), expected);
        assert_eq!(fold(text, Width::FULL), text);
    }

    #[test]
    fn whatever_the_text_every_word_of_it_stays() {
        for text in
            ["", "\n", "   ", " \u{e4}\u{f6} \u{fc}", &"x".repeat(99), &" ab  c ".repeat(30)]
        {
            for width in [40, 41, 60] {
                let folded = fold(text, Width::of(width));
                let words =
                    |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                assert_eq!(words(&folded), words(text), "{text:?}");
            }
        }
    }
}
