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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_other_words() {
        let known = || [("one", "1"), ("three", "3"), ("seven", "7")].into_iter();
        assert_eq!(nearest("thre", known()), Some("3"));
        assert_eq!(nearest("foo", known()), None);
        assert_eq!(nearest("seven", known()), Some("7"));
    }
}
