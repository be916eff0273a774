//! What somebody may have meant who wrote what there is not.

/// How alike two words have to be, of 1, for one to be a slip of the other.
const ALIKE: f64 = 0.7;

/// The suggestion whose word is most like what was written, if that is alike at all. `known` has pairs of a word and what is
/// suggested for it.
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
