//! Names of results with `*` for any name of an element.

use polypath_sim::document::nearest;

/// Whether `name` fits `pattern`. A `*` between dots stands for one or more characters without a dot.
///
/// ```
/// # use polypath_lab::study::matches;
/// assert!(matches("paths.a.*.timeouts", "paths.a.path 2.timeouts"));
/// assert!(!matches("paths.*.timeouts", "paths.a.path 2.timeouts"));
/// ```
pub fn matches(pattern: &str, name: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == name;
    }
    let (mut pattern, mut name) = (pattern.split('.'), name.split('.'));
    loop {
        match (pattern.next(), name.next()) {
            (None, None) => return true,
            (Some(wanted), Some(given)) if wanted == "*" || wanted == given => {}
            _ => return false,
        }
    }
}

/// The error for a name without a match.
pub(crate) fn no<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!("runs have no {what} `{name}`; did you mean `{near}`?"),
        None => format!("runs have no {what} `{name}`"),
    }
}
