//! Tables of keys in Markdown.

use std::fmt::Write as _;

use super::keys::{Key, Kind, Omitted, Table};

/// A section with a table for each kind of object.
pub(super) fn markdown(tables: &[Table]) -> String {
    let mut page = String::new();
    for table in tables {
        let title =
            if table.path.is_empty() { "Top level" } else { &format!("Table `{}`", table.path) };
        let _ = write!(page, "### {title}\n\n");
        if !table.meaning.is_empty() && !table.path.is_empty() {
            let _ = write!(page, "{}\n\n", escaped(&table.meaning));
        }
        if !table.also.is_empty() {
            let also: Vec<String> = table.also.iter().map(|path| format!("`{path}`")).collect();
            let _ = write!(page, "The same keys: {}.\n\n", also.join(", "));
        }
        page.push_str("| key | kind | if omitted | meaning |\n| --- | --- | --- | --- |\n");
        for key in &table.keys {
            row(&mut page, &table.path, key);
        }
        page.push('\n');
    }
    page
}

fn row(page: &mut String, table: &str, key: &Key) {
    let name = key.path.strip_prefix(table).unwrap_or(&key.path).trim_start_matches('.');
    let kind = match &key.kind {
        Kind::Plain(kind) => kind.clone(),
        Kind::Same(first) => format!("as [`{first}`](#key.{first})"),
        Kind::Table(table) => format!("[table]({})", link(table)),
        Kind::Tables(table) => format!("[list of tables]({})", link(table)),
    };
    let omitted = match &key.omitted {
        Omitted::Required => "error".to_owned(),
        Omitted::Described => String::new(),
        Omitted::Default(value) => format!("`{value}`"),
    };
    let mut meaning = escaped(&key.meaning);
    for (name, text) in &key.choices {
        let _ = write!(meaning, "<br>`\"{name}\"`: {}", escaped(text));
    }
    let _ = writeln!(
        page,
        "| <a id=\"key.{}\"></a>`{name}` | {kind} | {omitted} | {meaning} |",
        key.path
    );
}

/// The heading of a table, or a link to another page.
fn link(table: &str) -> String {
    if table.contains(".md#") {
        return table.to_owned();
    }
    let letters = table.to_lowercase();
    let letters = letters.chars().filter(|it| it.is_alphanumeric() || matches!(it, '_' | '-'));
    format!("#table-{}", letters.collect::<String>())
}

/// Text of a description as Markdown in one cell.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    for letter in text.chars() {
        is_code ^= letter == '`';
        if letter == '|' || (!is_code && matches!(letter, '<' | '*' | '_' | '[' | ']')) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}
