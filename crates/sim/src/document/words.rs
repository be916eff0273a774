//! Names of values in errors, for people who write files.

use serde::de::{Expected, Unexpected};

use super::node::Value;

/// What was expected: the description of the type, or a plain word for a Rust type.
pub(super) fn expected(by: &dyn Expected) -> String {
    let text = by.to_string();
    if let Some(bits) = text.strip_prefix('u').and_then(|bits| bits.parse::<u32>().ok()) {
        return whole(0, bits);
    }
    if let Some(bits) = text.strip_prefix("a nonzero u").and_then(|bits| bits.parse().ok()) {
        return whole(1, bits);
    }
    let words = match text.as_str() {
        "usize" => return whole(0, u64::BITS),
        "a nonzero usize" => return whole(1, u64::BITS),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number, for example 5",
        "f32" | "f64" => "a number, for example 0.5",
        "a boolean" => "true or false",
        "a string" | "a borrowed string" | "a character" | "path string" => {
            "text in quotes, for example \"some text\""
        }
        "a sequence" => "a list such as [1, 2]",
        "a map" => "a table, for example { key = value }",
        _ if is_type(&text) => "a table",
        _ => return text,
    };
    words.to_owned()
}

/// A whole number with this many bits.
fn whole(least: u8, bits: u32) -> String {
    let example = "for example 5";
    match u64::MAX.checked_shr(u64::BITS.saturating_sub(bits)) {
        Some(most) if bits <= u32::BITS => {
            format!("a whole number from {least} to {most}, {example}")
        }
        _ => format!("a whole number, {least} or more, {example}"),
    }
}

/// Whether the text is the name of a Rust type, without a description.
fn is_type(text: &str) -> bool {
    let kinds = ["struct ", "enum ", "tuple ", "unit ", "internally tagged enum "];
    kinds.iter().any(|kind| text.starts_with(kind))
}

/// The description of a type.
pub(super) fn own(by: &dyn Expected) -> Option<String> {
    Some(by.to_string()).filter(|text| !is_type(text))
}

/// The error that a table with these keys was expected.
pub(super) fn table(by: &dyn Expected, keys: &[&str]) -> String {
    if let Some(text) = own(by) {
        return text;
    }
    // A few keys identify the kind of table.
    let names: Vec<String> = keys.iter().take(4).map(|key| format!("`{key}`")).collect();
    match names.as_slice() {
        [] => "a table without keys".to_owned(),
        [_] => format!("a table, for example {{ {} = … }}", keys[0]),
        [others @ .., last] => {
            format!("a table with keys such as {} and {last}", others.join(", "))
        }
    }
}

/// The error that a list of this length was expected.
pub(super) fn list_of(count: usize) -> String {
    let values: Vec<String> = (1..=count.min(4)).map(|number| number.to_string()).collect();
    format!("a list of {count} values such as [{}]", values.join(", "))
}

/// What was found.
pub(super) fn found(by: Unexpected<'_>) -> String {
    match by {
        Unexpected::Bool(truth) => format!("{truth}"),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number:?}"),
        Unexpected::Char(letter) => format!("the text \"{letter}\""),
        Unexpected::Str(text) => format!("the text \"{text}\""),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Other(words) => words.to_owned(),
        _ => "something else".to_owned(),
    }
}

/// The same, for a value of a file.
pub(super) fn found_value(value: &Value) -> String {
    match value {
        Value::String(text) => found(Unexpected::Str(text)),
        Value::Integer(number) => found(Unexpected::Signed(*number)),
        Value::Float(number) => found(Unexpected::Float(*number)),
        Value::Boolean(truth) => found(Unexpected::Bool(*truth)),
        Value::Date(text) => format!("the date {text}"),
        Value::Array(values) => match values.len() {
            1 => "a list of one value".to_owned(),
            count => format!("a list of {count} values"),
        },
        Value::Table(entries) => match entries.len() {
            1 => "a table with one key".to_owned(),
            count => format!("a table with {count} keys"),
        },
    }
}
