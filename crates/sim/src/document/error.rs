//! Errors of documents.

use std::borrow::Cow;
use std::fmt;

use serde::de;

use super::node::Origin;
use super::{Step, words};

/// What is wrong with a document, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DocumentError {
    /// Place of the offending text.
    pub place: Place,
    /// Its key, with dots; empty for the whole document.
    pub key: String,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// Origin of an offending value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A place in a file.
    File {
        /// Name of the file.
        name: String,
        /// Line, counted from 1.
        line: usize,
        /// Column in characters, counted from 1.
        column: usize,
    },
    /// A whole file.
    WholeFile {
        /// Name of the file.
        name: String,
    },
    /// An edit.
    Set {
        /// The key of the edit.
        key: String,
    },
    /// A default of the program.
    Default,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { name, line, column } => write!(f, "{name}:{line}:{column}"),
            Self::WholeFile { name } => f.write_str(name),
            Self::Set { key } => write!(f, "--set {key}"),
            Self::Default => f.write_str("default value"),
        }
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        let is_named = matches!(&self.place, Place::Set { key } if *key == self.key);
        if !self.key.is_empty() && !is_named {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, "\n  {help}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DocumentError {}

impl DocumentError {
    pub(super) fn unreadable(name: String, error: &std::io::Error) -> Self {
        let place = Place::WholeFile { name };
        let help = match error.kind() {
            std::io::ErrorKind::NotFound => {
                Some("check the name; relative ones begin at the current directory".into())
            }
            std::io::ErrorKind::IsADirectory => Some("it is a directory: name a file".into()),
            _ => None,
        };
        Self { place, key: String::new(), message: format!("cannot read: {error}"), help }
    }

    pub(super) fn without_form(error: &toml::ser::Error) -> Self {
        let message = format!("cannot be written as TOML: {error}");
        Self { place: Place::Default, key: String::new(), message, help: None }
    }
}

/// An error whose place is not complete yet: the path grows from the inside outwards.
#[derive(Debug)]
pub(super) struct Problem {
    message: Cow<'static, str>,
    help: Option<String>,
    /// Steps in reverse.
    path: Vec<String>,
    origin: Option<Origin>,
}

impl Problem {
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), help: None, path: Vec::new(), origin: None }
    }

    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the origin, unless a more exact one is set.
    pub fn at(mut self, origin: Origin) -> Self {
        self.origin = self.origin.or(Some(origin));
        self
    }

    /// Adds the step that leads to it.
    pub fn under(mut self, step: &Step<'_>) -> Self {
        self.path.push(match step {
            Step::Key(key) => (*key).to_owned(),
            Step::Index(index) => index.to_string(),
        });
        self
    }

    pub fn locate(self, name: &str, text: &str, edits: &[Place]) -> DocumentError {
        let place = match self.origin.unwrap_or(Origin::Text(0)) {
            Origin::Text(offset) => {
                let before = text.get(..offset).unwrap_or(text);
                let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
                Place::File {
                    name: name.to_owned(),
                    line: before.matches('\n').count() + 1,
                    column: before[line_start..].chars().count() + 1,
                }
            }
            Origin::Set(index) => edits.get(index).cloned().unwrap_or(Place::Default),
            Origin::Default => Place::Default,
        };
        let key: Vec<_> = self.path.into_iter().rev().collect();
        DocumentError {
            place,
            key: key.join("."),
            message: self.message.into_owned(),
            help: self.help,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("expected {}, found {}", words::expected(expected), words::found(found)))
    }

    fn invalid_value(found: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::new(format!("expected {}, found {}", words::expected(expected), words::found(found)))
    }

    fn invalid_length(len: usize, expected: &dyn de::Expected) -> Self {
        Self::new(format!("expected {}, found a list of {len} values", words::expected(expected)))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("`{variant}` is not a choice here"))
            .with_help(choices(variant, expected, "choices"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("unknown key `{field}`")).with_help(choices(field, expected, "keys here"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::new(format!("the key `{field}` is given twice"))
    }
}

/// As many names are listed; of more, only those that are most similar.
const LISTED: usize = 24;
/// How many of the latter.
const NEAREST: usize = 5;

/// Names the nearest of `known`, if one is similar, and lists all of them, or the most similar ones.
fn choices(given: &str, known: &[&str], what: &str) -> String {
    if known.is_empty() {
        return format!("no {what}");
    }
    let listed = |names: &[&str]| {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let list = match known.len() {
        0..=LISTED => format!("{what}: {}", listed(known)),
        count => format!(
            "the nearest of {count} {what}: {}; `polypath schema` prints all",
            listed(&by_likeness(given, known)[..NEAREST])
        ),
    };
    match nearest(given, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {list}"),
        None => list,
    }
}

/// The names, the one most similar to `given` first.
fn by_likeness<'a>(given: &str, known: &[&'a str]) -> Vec<&'a str> {
    let mut names: Vec<_> = known.iter().map(|name| (likeness(given, name), *name)).collect();
    names.sort_by(|a, b| b.0.total_cmp(&a.0));
    names.into_iter().map(|(_, name)| name).collect()
}

/// The similarity of two names, up to 1. A part of a name counts, too: `cookie` is near `cookie_lifetime`.
fn likeness(given: &str, name: &str) -> f64 {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let (given, name) = (plain(given), plain(name));
    let whole = strsim::normalized_damerau_levenshtein(&given, &name);
    let parts = name.split('_').map(|part| strsim::normalized_damerau_levenshtein(&given, part));
    whole.max(parts.fold(0.0, f64::max) * 0.9)
}

/// The name most similar to `given`, if similar enough.
pub fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const ALIKE: f64 = 0.5;
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let given = plain(given);
    let mut best = None;
    for name in known {
        let likeness = strsim::normalized_damerau_levenshtein(&given, &plain(name));
        if likeness >= ALIKE && best.is_none_or(|(_, most)| likeness > most) {
            best = Some((name, likeness));
        }
    }
    best.map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_the_most_similar_are_listed() {
        let many: Vec<String> = (0..40).map(|number| format!("name_{number}")).collect();
        let mut known: Vec<&str> = many.iter().map(String::as_str).collect();
        known.extend(["receive_buffer", "send_buffer", "buffer_split"]);
        let text = choices("bufer", &known, "keys here");
        assert!(
            text.starts_with("did you mean `send_buffer`? the nearest of 43 keys here: ")
                || text.starts_with("the nearest of 43 keys here: "),
            "{text}"
        );
        for near in ["receive_buffer", "send_buffer", "buffer_split"] {
            assert!(text.contains(&format!("`{near}`")), "{text}");
        }
        assert!(text.ends_with("; `polypath schema` prints all") && text.len() < 200, "{text}");
        assert_eq!(choices("x", &["a", "b"], "choices"), "choices: `a`, `b`");
    }
}
