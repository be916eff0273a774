//! The tree of a document.

use toml::de::{DeTable, DeValue};

use super::Step;
use super::error::Problem;

/// Where a value came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The text, at this byte.
    Text(usize),
    /// The edit of this number.
    Set(usize),
    /// A default.
    Default,
}

/// A value and its origin.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub value: Value,
    pub origin: Origin,
}

/// A TOML value; dates and times are kept as text.
#[derive(Clone, Debug)]
pub(super) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Date(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    pub key_origin: Origin,
    pub node: Node,
}

impl Node {
    /// An empty table.
    pub fn table(origin: Origin) -> Self {
        Self { value: Value::Table(Vec::new()), origin }
    }

    /// The value one step below.
    pub fn child(&self, step: &Step<'_>) -> Option<&Self> {
        match (&self.value, step) {
            (Value::Table(entries), Step::Key(key)) => {
                entries.iter().find(|entry| entry.key == *key).map(|entry| &entry.node)
            }
            (Value::Array(nodes), Step::Index(index)) => nodes.get(*index),
            _ => None,
        }
    }

    /// Sets a key of a table; other values stay as they are.
    pub fn insert(&mut self, key: &str, node: Self) {
        if let Value::Table(entries) = &mut self.value {
            entries.retain(|entry| entry.key != key);
            entries.push(Entry { key: key.to_owned(), key_origin: node.origin, node });
        }
    }
}

impl Value {
    /// The kind of the value, for messages.
    pub fn describe(&self) -> &'static str {
        match self {
            Self::String(_) => "text",
            Self::Integer(_) | Self::Float(_) => "a number",
            Self::Boolean(_) => "true or false",
            Self::Date(_) => "a date",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

/// The tree of a TOML text.
pub(super) fn parse_document(text: &str) -> Result<Node, Problem> {
    let root = DeTable::parse(text).map_err(|error| not_toml(&error))?;
    let table = convert_table(root.into_inner(), &Origin::Text)?;
    Ok(Node { value: table, origin: Origin::Text(0) })
}

/// The tree of a TOML expression, with `origin` for all of its values.
pub(super) fn parse_value(text: &str, origin: Origin) -> Result<Node, Problem> {
    let value = DeValue::parse(text).map_err(|error| not_toml(&error).at(origin))?;
    convert(value.into_inner(), origin, &|_| origin)
}

/// The tree of a value, with `origin` for all of its values.
pub(super) fn from_value(value: toml::Value, origin: Origin) -> Node {
    let value = match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::Integer(number),
        toml::Value::Float(number) => Value::Float(number),
        toml::Value::Boolean(truth) => Value::Boolean(truth),
        toml::Value::Datetime(date) => Value::Date(date.to_string()),
        toml::Value::Array(values) => {
            Value::Array(values.into_iter().map(|value| from_value(value, origin)).collect())
        }
        toml::Value::Table(table) => Value::Table(
            table
                .into_iter()
                .map(|(key, value)| Entry {
                    key,
                    key_origin: origin,
                    node: from_value(value, origin),
                })
                .collect(),
        ),
    };
    Node { value, origin }
}

/// The value of a tree; dates become text.
pub(super) fn to_value(node: &Node) -> toml::Value {
    match &node.value {
        Value::String(text) | Value::Date(text) => toml::Value::String(text.clone()),
        Value::Integer(number) => toml::Value::Integer(*number),
        Value::Float(number) => toml::Value::Float(*number),
        Value::Boolean(truth) => toml::Value::Boolean(*truth),
        Value::Array(nodes) => toml::Value::Array(nodes.iter().map(to_value).collect()),
        Value::Table(entries) => toml::Value::Table(
            entries.iter().map(|entry| (entry.key.clone(), to_value(&entry.node))).collect(),
        ),
    }
}

fn not_toml(error: &toml::de::Error) -> Problem {
    let problem = match error.message() {
        // Usually a quantity: `5 s`.
        message if message.contains("must be quoted") => {
            Problem::new("not valid TOML: text has to stand in quotes")
                .with_help("quantities are text, too: \"5 s\"")
        }
        message => Problem::new(format!("not valid TOML: {message}")),
    };
    match error.span() {
        Some(span) => problem.at(Origin::Text(span.start)),
        None => problem,
    }
}

fn convert_table(
    table: DeTable<'_>,
    origin_of: &dyn Fn(usize) -> Origin,
) -> Result<Value, Problem> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let origin = origin_of(value.span().start);
        let key_origin = origin_of(key.span().start);
        let key = key.into_inner().into_owned();
        let node = convert(value.into_inner(), origin, origin_of)
            .map_err(|problem| problem.under(&Step::Key(&key)))?;
        entries.push(Entry { key, key_origin, node });
    }
    Ok(Value::Table(entries))
}

fn convert(
    value: DeValue<'_>,
    origin: Origin,
    origin_of: &dyn Fn(usize) -> Origin,
) -> Result<Node, Problem> {
    let value =
        match value {
            DeValue::String(text) => Value::String(text.into_owned()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()) {
                    Ok(number) => Value::Integer(number),
                    Err(_) => return Err(Problem::new(
                        "the number is too large: whole numbers are at most 9223372036854775807",
                    )
                    .at(origin)),
                }
            }
            DeValue::Float(number) => match number.as_str().replace('_', "").parse() {
                Ok(number) => Value::Float(number),
                Err(_) => return Err(Problem::new("not a number").at(origin)),
            },
            DeValue::Boolean(truth) => Value::Boolean(truth),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(values) => {
                let mut nodes = Vec::with_capacity(values.len());
                for (index, value) in values.into_iter().enumerate() {
                    let origin = origin_of(value.span().start);
                    let node = convert(value.into_inner(), origin, origin_of)
                        .map_err(|problem| problem.under(&Step::Index(index)))?;
                    nodes.push(node);
                }
                Value::Array(nodes)
            }
            DeValue::Table(table) => convert_table(table, origin_of)?,
        };
    Ok(Node { value, origin })
}
