//! The catalog for readers: on the terminal, and as a page of the documentation.

use std::fmt::Write;

use super::catalog::{Catalog, PolicyEntry, ValueEntry};
use crate::table::Width;

/// Most columns of a terminal page.
const WIDEST: usize = 100;

/// The columns of a page.
#[derive(Clone, Copy)]
struct Columns {
    /// All of them.
    width: usize,
    /// Where the meanings of values begin.
    meanings: usize,
}

/// What a terminal shows.
pub(super) fn terminal(catalog: &Catalog, width: Width) -> String {
    let width = width.at_most(WIDEST);
    let columns = Columns { width, meanings: if width < 80 { 18 } else { 34 } };
    let meanings = columns.meanings;
    let mut page = String::new();
    for policy in &catalog.policies {
        let _ = writeln!(page, "{}", policy.key);
        paragraph(&mut page, policy.meaning, 4, width);
        for value in &policy.values {
            let _ = write!(page, "      {:<width$}", value.example, width = meanings - 6);
            if value.example.len() > meanings - 8 {
                page.push('\n');
                let _ = write!(page, "{:meanings$}", "");
            }
            wrapped(&mut page, &value.meaning, columns);
        }
        if let Some(what) = policy.quantity {
            paragraph(&mut page, &format!("({what})"), 6, width);
        }
        for (value, presets) in by_value(policy) {
            paragraph(&mut page, &format!("{value}: {presets}"), 4, width);
        }
        paragraph(&mut page, &format!("from {}", policy.source), 4, width);
        page.push('\n');
    }
    page.push_str("Presets\n");
    for preset in &catalog.presets {
        let _ = write!(page, "    {:<width$}", preset.name, width = meanings - 4);
        if preset.name.len() > meanings - 6 {
            let _ = write!(page, "\n{:meanings$}", "");
        }
        wrapped(&mut page, &preset.meaning, columns);
    }
    page
}

/// The page of the documentation.
pub(super) fn markdown(catalog: &Catalog) -> String {
    let mut page = String::from(
        "<!-- made by `polypath policies --markdown`; a test compares the two -->\n\
         # Policies\n\n\
         Every choice that SCTP or CMT leaves open has a key below `[sctp.policies]` in scenario files, and below \
         `policies.` in `--set`.\nA preset sets all of them; `polypath policies` prints this page.\n\n\
         ## Presets\n\n| preset | what it is |\n| --- | --- |\n",
    );
    for preset in &catalog.presets {
        let _ = writeln!(page, "| `{}` | {} |", preset.name, preset.meaning);
    }
    page.push_str("\n## Keys\n");
    for policy in &catalog.policies {
        let _ = writeln!(page, "\n### `{}`\n\n{}\n", policy.key, policy.meaning);
        for ValueEntry { example, meaning, .. } in &policy.values {
            let _ = writeln!(page, "* `{example}`: {meaning}");
        }
        if let Some(what) = policy.quantity {
            let _ = writeln!(page, "* {what}");
        }
        page.push('\n');
        for (value, presets) in by_value(policy) {
            let _ = writeln!(page, "`{value}` in {presets}.  ");
        }
        let _ = writeln!(page, "Source: {}.", policy.source);
    }
    page
}

/// The values that presets set, each with its presets; the one of most presets first, as "all others" if it has more
/// than half of them.
fn by_value(policy: &PolicyEntry) -> Vec<(String, String)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (preset, value) in &policy.defaults {
        match groups.iter_mut().find(|(known, _)| known == value) {
            Some((_, presets)) => presets.push(preset),
            None => groups.push((value, vec![preset])),
        }
    }
    groups.sort_by_key(|(_, presets)| std::cmp::Reverse(presets.len()));
    let (all, only) = (policy.defaults.len(), groups.len() == 1);
    let text = |presets: &Vec<&str>| match (only, presets.len() * 2 > all) {
        (true, _) => "all presets".to_owned(),
        (_, true) => "all other presets".to_owned(),
        _ => presets.join(", "),
    };
    groups.iter().map(|(value, presets)| ((*value).to_owned(), text(presets))).collect()
}

fn paragraph(page: &mut String, text: &str, indent: usize, width: usize) {
    let _ = write!(page, "{:indent$}", "");
    wrapped(page, text, Columns { width, meanings: indent });
}

/// Text that begins at the column of meanings, on the line already begun.
fn wrapped(page: &mut String, text: &str, Columns { width, meanings: indent }: Columns) {
    let mut column = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            let _ = write!(page, "\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            page.push(' ');
            column += 1;
        }
        page.push_str(word);
        column += length;
    }
    page.push('\n');
}
