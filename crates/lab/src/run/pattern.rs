//! Names of results with `*` for any name of an element.

/// Whether `name` fits `pattern`. A `*` between dots stands for one or more characters without a dot.
///
/// ```
/// # use polypath_lab::run::matches;
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
