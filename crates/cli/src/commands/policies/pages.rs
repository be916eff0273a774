//! The catalog for readers: on the terminal, and as a page of the documentation.

use std::fmt::Write;

use polypath::config::PolicyLevel;

use super::catalog::{Catalog, PolicyEntry, ValueEntry};
use crate::table::Width;

/// Maximum width of a page on the terminal, in columns.
const WIDEST: usize = 100;

/// The preset with which tables compare the others.
const BASE: &str = "cmt";

const INTRODUCTION: &str = "\
<!-- made by `polypath policies --markdown`; a test compares the two -->
# Policies

For users, operators and researchers who change the behaviour of the stack. Here you find every policy with its values, what each preset sets, and \
the side of an association that acts on it.

Every choice that SCTP or CMT leaves open has a key below `[sctp.policies]` in scenario files, and below `policies.` in `--set`.
A preset sets all of them. `polypath policies` prints this page, and `polypath policies recommended` what a preset sets.

## Presets

| preset | what it is |
| --- | --- |
";

const ABOUT_TABLES: &str = "
## Keys and presets

The tables have one row for each key, by the level of those who change it. An empty cell means the same value as in `cmt`, and `none` that the \
key is unset.

A *side* is the sender of user data, its receiver, or both. With data in both directions, each side is sender and receiver. A key \
changes nothing at an end without its role. An extension of the protocol needs its key at both ends.
";

const LEVELS: [(PolicyLevel, &str); 3] = [
    (PolicyLevel::User, "What users and programs choose for their traffic."),
    (PolicyLevel::Operator, "What operators adapt to their hosts and networks."),
    (
        PolicyLevel::Research,
        "Mechanisms and their variants, to be compared in studies. Other users leave these to the preset.",
    ),
];

/// Layout of a page.
#[derive(Clone, Copy)]
struct Columns {
    /// Width of the page in columns.
    width: usize,
    /// Column at which the meanings of values begin.
    meanings: usize,
}

/// The catalog for a terminal.
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
        paragraph(&mut page, &format!("level {}, side {}", policy.level, policy.side), 4, width);
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

/// The values of presets for a terminal, those that differ from the base first.
pub(super) fn presets(catalog: &Catalog, wanted: &[&str], width: Width) -> String {
    let width = width.at_most(WIDEST);
    let mut page = String::new();
    for preset in catalog.presets.iter().filter(|preset| wanted.contains(&preset.name)) {
        let _ = writeln!(page, "{}", preset.name);
        paragraph(&mut page, &preset.meaning, 4, width);
        let (same, different): (Vec<_>, Vec<_>) = catalog
            .policies
            .iter()
            .partition(|policy| policy.defaults.get(preset.name) == policy.defaults.get(BASE));
        let groups = match preset.name {
            BASE => vec![("Sets:".to_owned(), same)],
            _ => vec![
                (format!("Differs from `{BASE}`:"), different),
                (format!("Same as `{BASE}`:"), same),
            ],
        };
        for (title, policies) in groups.iter().filter(|(_, policies)| !policies.is_empty()) {
            let _ = writeln!(page, "\n    {title}");
            for policy in policies {
                let value = policy.defaults.get(preset.name).map_or("none", String::as_str);
                let _ = writeln!(page, "      {} = {value}", policy.key);
            }
        }
        page.push('\n');
    }
    page
}

/// The page of the documentation.
pub(super) fn markdown(catalog: &Catalog) -> String {
    let mut page = INTRODUCTION.to_owned();
    for preset in &catalog.presets {
        let _ = writeln!(page, "| `{}` | {} |", preset.name, preset.meaning);
    }
    page.push_str(ABOUT_TABLES);
    for (level, meaning) in LEVELS {
        table(&mut page, catalog, level.name(), meaning);
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
        let _ = writeln!(page, "Level: {}. Side: {}.  ", policy.level, policy.side);
        let _ = writeln!(page, "Source: {}.", policy.source);
    }
    page
}

/// The keys of a level with what each preset sets.
fn table(page: &mut String, catalog: &Catalog, level: &str, meaning: &str) {
    let _ = write!(page, "\n### Level {level}\n\n{meaning}\n\n| key | side | `{BASE}` |");
    let others: Vec<&str> =
        catalog.presets.iter().map(|preset| preset.name).filter(|name| *name != BASE).collect();
    for name in &others {
        let _ = write!(page, " `{name}` |");
    }
    let _ = write!(page, "\n| --- | --- |{}\n", " --- |".repeat(catalog.presets.len()));
    for policy in catalog.policies.iter().filter(|policy| policy.level == level) {
        let base = policy.defaults.get(BASE).map_or("", String::as_str);
        let _ =
            write!(page, "| [`{0}`](#{1}) | {2} |", policy.key, anchor(policy.key), policy.side);
        let _ = write!(page, " {} |", cell(base));
        for name in &others {
            match policy.defaults.get(name) {
                Some(value) if value != base => {
                    let _ = write!(page, " {} |", cell(value));
                }
                _ => page.push_str(" |"),
            }
        }
        page.push('\n');
    }
}

/// A value in a table, without its quotation marks.
fn cell(value: &str) -> String {
    format!("`{}`", value.trim_matches('"'))
}

/// The anchor that Markdown renderers give to the heading of a key.
fn anchor(key: &str) -> String {
    key.replace('.', "")
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
