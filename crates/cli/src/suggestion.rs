//! Suggestions for misspelt names.

/// Minimum similarity, up to 1, of a word and its suggestion.
const ALIKE: f64 = 0.7;

/// The suggestion whose word is most similar to the given one, if any is similar enough. `known` has pairs of a word and its
/// suggestion.
pub(crate) fn nearest<'a>(
    written: &str,
    known: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<&'a str> {
    let likeness = |word| strsim::normalized_damerau_levenshtein(written, word);
    known
        .map(|(word, suggestion)| (likeness(word), suggestion))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, suggestion)| suggestion)
}

/// Least similarity of words of which there may be several.
const SOMEWHAT: f64 = 0.4;

/// Words that resemble the given one at least a little, the most similar first. A part of a word counts, too.
pub(crate) fn somewhat_like<'a>(
    written: &str,
    known: impl Iterator<Item = &'a str>,
) -> Vec<&'a str> {
    let likeness = |word: &str| {
        let parts = word
            .split(['.', '_', '-'])
            .map(|part| strsim::normalized_damerau_levenshtein(written, part));
        let whole = strsim::normalized_damerau_levenshtein(written, word);
        whole.max(parts.fold(0.0, f64::max) * 0.9)
    };
    let mut words: Vec<_> = known.map(|word| (likeness(word), word)).collect();
    words.retain(|(likeness, _)| *likeness >= SOMEWHAT);
    words.sort_by(|a, b| b.0.total_cmp(&a.0));
    words.into_iter().map(|(_, word)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_come_first() {
        let known = ["mtu_bytes", "policies.rto.min", "send_buffer_bytes"];
        assert_eq!(somewhat_like("buffers", known.into_iter())[0], "send_buffer_bytes");
        assert_eq!(somewhat_like("mtus", known.into_iter())[0], "mtu_bytes");
        assert!(somewhat_like("zzz", known.into_iter()).is_empty());
    }

    #[test]
    fn slips_are_told_from_other_words() {
        let known = || [("one", "1"), ("three", "3"), ("seven", "7")].into_iter();
        assert_eq!(nearest("thre", known()), Some("3"));
        assert_eq!(nearest("foo", known()), None);
        assert_eq!(nearest("seven", known()), Some("7"));
    }
}
