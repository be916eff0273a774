//! Configuration documents: TOML text, edits from the command line and defaults in one tree. The tree keeps the origin
//! of every value, so that every error names its place.

mod de;
mod error;
mod node;
mod set;
mod words;

pub use error::{DocumentError, Place, nearest};

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use self::de::Layers;
use self::error::Problem;
use self::node::{Node, Origin};

/// A TOML document with edits.
#[derive(Clone, Debug)]
pub struct Document {
    name: String,
    text: String,
    root: Node,
    /// Where each edit was made.
    edits: Vec<Place>,
}

/// Default values.
#[derive(Clone, Debug)]
pub struct Defaults(Node);

/// A step of a path through a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// A key of a table.
    Key(&'a str),
    /// An element of an array, counted from 0.
    Index(usize),
}

/// Opens a file for reading.
///
/// # Errors
/// It does not exist, cannot be read, or is a named pipe, since opening one without a writer would block. The
/// `<(command)` of shells is accepted.
pub fn open_file(path: &Path) -> io::Result<File> {
    if is_named_pipe(path) {
        let message = "it is a named pipe, which may never have a writer: name a file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    File::open(path)
}

#[cfg(unix)]
fn is_named_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;

    let is_descriptor =
        ["/dev/fd", "/dev/stdin", "/proc"].iter().any(|place| path.starts_with(place));
    !is_descriptor && path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_named_pipe(_path: &Path) -> bool {
    false
}

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not TOML.
    pub fn read(path: &Path) -> Result<Self, DocumentError> {
        let name = path.display().to_string();
        match open_file(path).and_then(io::read_to_string) {
            Ok(text) => Self::parse(name, text),
            Err(error) => Err(DocumentError::unreadable(name, &error)),
        }
    }

    /// Parses `text`; `name` is its name in messages.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn parse(name: impl Into<String>, text: impl Into<String>) -> Result<Self, DocumentError> {
        let (name, text) = (name.into(), text.into());
        match node::parse_document(&text) {
            Ok(root) => Ok(Self { name, text, root, edits: Vec::new() }),
            Err(problem) => Err(problem.locate(&name, &text, &[])),
        }
    }

    /// Name in messages: of the file, or as passed to [`parse`](Self::parse).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An empty document, for settings that are edits only.
    pub fn empty(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: String::new(),
            root: Node::table(Origin::Text(0)),
            edits: Vec::new(),
        }
    }

    /// Applies `key.to.value=value` to the document. The value is TOML, or a string without quotes; elements of arrays
    /// are addressed by number (`paths.0.rate`).
    ///
    /// # Errors
    /// There is no `=`, a step of the key is empty, or the key leads through a value that is neither table nor array.
    pub fn set(&mut self, edit: &str) -> Result<(), DocumentError> {
        let index = self.edits.len();
        let key = edit.split_once('=').map_or(edit, |(key, _)| key).trim().to_owned();
        self.edits.push(Place::Set { key });
        set::apply(&mut self.root, edit, index).map_err(|problem| self.locate(problem))
    }

    /// Sets the value at `key.to.value`, like [`set`](Self::set); `place` is its origin.
    ///
    /// # Errors
    /// A step of the key is empty, or the key leads through a value that is neither table nor array.
    pub fn put(
        &mut self,
        key: &str,
        value: toml::Value,
        place: Place,
    ) -> Result<(), DocumentError> {
        let origin = Origin::Set(self.edits.len());
        self.edits.push(place);
        let node = node::from_value(value, origin);
        set::put(&mut self.root, key, node, origin).map_err(|problem| self.locate(problem))
    }

    /// The table at `path` as a document of its own; its errors name this document's text.
    pub fn part(&self, path: &[Step<'_>]) -> Option<Self> {
        let root = self.find(path)?.clone();
        Some(Self { root, ..self.clone() })
    }

    /// All values, including edits.
    pub fn to_value(&self) -> toml::Value {
        node::to_value(&self.root)
    }

    /// The origin of the value at `path`, or of the nearest value above that exists.
    pub fn place(&self, path: &[Step<'_>]) -> Place {
        self.complain(path, "").place
    }

    /// The tables of `layers` as a `T`. For each key, the first layer that has it wins; paths that do not exist are
    /// skipped.
    ///
    /// # Errors
    /// A key is unknown or missing, or a value does not fit.
    pub fn decode<T: DeserializeOwned>(&self, layers: &[Layer<'_>]) -> Result<T, DocumentError> {
        let nodes = layers.iter().filter_map(|layer| match layer {
            Layer::At(path) => self.find(path),
            Layer::Defaults(Defaults(node)) => Some(node),
        });
        let path = layers.iter().find_map(|layer| match layer {
            Layer::At(path) => self.find(path).map(|_| *path),
            Layer::Defaults(_) => None,
        });
        let result = T::deserialize(Layers::new(nodes));
        result.map_err(|problem| {
            self.locate(path.unwrap_or_default().iter().rev().fold(problem, Problem::under))
        })
    }

    /// Whether there is a value at `path`.
    pub fn has(&self, path: &[Step<'_>]) -> bool {
        self.find(path).is_some()
    }

    /// An error about the value at `path`, or about the nearest value above that exists.
    pub fn complain(
        &self,
        path: &[Step<'_>],
        message: impl Into<Cow<'static, str>>,
    ) -> DocumentError {
        let origin =
            (0..=path.len()).rev().find_map(|n| self.find(&path[..n])).map(|node| node.origin);
        let problem = Problem::new(message).at(origin.unwrap_or(Origin::Text(0)));
        self.locate(path.iter().rev().fold(problem, Problem::under))
    }

    fn find(&self, path: &[Step<'_>]) -> Option<&Node> {
        path.iter().try_fold(&self.root, |node, step| node.child(step))
    }

    fn locate(&self, problem: Problem) -> DocumentError {
        problem.locate(&self.name, &self.text, &self.edits)
    }
}

/// One source of values for [`Document::decode`].
#[derive(Clone, Copy, Debug)]
pub enum Layer<'a> {
    /// The table at this path of the document.
    At(&'a [Step<'a>]),
    /// Values from elsewhere.
    Defaults(&'a Defaults),
}

impl Defaults {
    /// The values of a structure, as it would be written.
    ///
    /// # Errors
    /// `value` has no TOML form.
    pub fn of<T: Serialize>(value: &T) -> Result<Self, DocumentError> {
        match toml::Value::try_from(value) {
            Ok(value) => Ok(Self(node::from_value(value, Origin::Default))),
            Err(error) => Err(DocumentError::without_form(&error)),
        }
    }

    /// The same values one table deeper.
    #[must_use]
    pub fn under(self, key: &str) -> Self {
        let mut table = Node::table(Origin::Default);
        table.insert(key, self.0);
        Self(table)
    }
}

#[cfg(test)]
mod tests;
