//! Files that a scenario names, such as traces of links: a resolved study finds them from any directory, and the location of
//! files does not affect the identity of a study.

use std::path::{Path, PathBuf, absolute};

use polypath_sim::document::{Document, Place, Step};
use toml::Value;

use super::axis::text;
use super::file::{Axis, StudyFile};

/// Tables with a key `file`: traces of links, and lists of messages.
const TABLES: [&str; 2] = ["rate_trace", "trace"];
const FILE: &str = "file";

/// Transforms the name of a file at a place of the scenario.
type Rename<'a> = &'a dyn Fn(&[Step<'_>], &str) -> Option<String>;

/// Makes the names of all files absolute. Relative names start from the folder of the file in which they are written: the
/// scenario's, or `folder`, the study's. Values of axes keep their labels in tables and pictures.
pub(super) fn make_absolute(file: &mut StudyFile, base: &Document, folder: &Path) {
    let of_scenario = |path: &[Step<'_>], name: &str| {
        let written_in = match base.place(path) {
            Place::File { name, .. } | Place::WholeFile { name } => name,
            Place::Set { .. } | Place::Default => base.name().to_owned(),
        };
        absolute_in(Path::new(&written_in).parent().unwrap_or(Path::new("")), name)
    };
    let of_study = |_: &[Step<'_>], name: &str| absolute_in(folder, name);
    let words = |axis: &Axis| -> Vec<String> { axis.values.iter().map(text).collect() };
    let written: Vec<Vec<String>> = file.axes.iter().map(words).collect();
    rename_all(file, &of_scenario, &of_study);
    for (axis, written) in file.axes.iter_mut().zip(written) {
        if axis.labels.is_empty() && words(axis) != written {
            axis.labels = written;
        }
    }
}

/// Reduces the names of files to what does not depend on the folder. Studies that are equal then are the same one, perhaps in
/// copies of the repository; the identifiers of runs cover the content of the files.
pub(super) fn leave_folders(mut file: StudyFile) -> StudyFile {
    rename_all(&mut file, &last_part, &last_part);
    file
}

/// The values of an axis as text, with names of files reduced by [`leave_folders`].
pub(super) fn named_only(axis: &Axis) -> Vec<String> {
    let mut values = axis.values.clone();
    for key in &axis.keys {
        values.iter_mut().for_each(|value| at_key(key, value, &last_part));
    }
    values.iter().map(text).collect()
}

fn absolute_in(folder: &Path, name: &str) -> Option<String> {
    let path: PathBuf = absolute(folder.join(name)).ok()?;
    path.to_str().map(str::to_owned)
}

fn last_part(_: &[Step<'_>], name: &str) -> Option<String> {
    Path::new(name).file_name()?.to_str().map(str::to_owned)
}

fn rename_all(file: &mut StudyFile, of_scenario: Rename<'_>, of_study: Rename<'_>) {
    if let Some(inline) = &mut file.inline {
        walk(inline, &[], of_scenario);
    }
    for (key, value) in file.variants.iter_mut().flat_map(|variant| &mut variant.set) {
        at_key(key, value, of_study);
    }
    for axis in &mut file.axes {
        for key in &axis.keys {
            axis.values.iter_mut().for_each(|value| at_key(key, value, of_study));
        }
        for (key, values) in &mut axis.with {
            values.iter_mut().for_each(|value| at_key(key, value, of_study));
        }
    }
}

/// A value at `key.to.value`.
fn at_key(key: &str, value: &mut Value, rename: Rename<'_>) {
    let mut steps = key.rsplit('.');
    match (steps.next(), steps.next()) {
        (Some(FILE), Some(table)) if TABLES.contains(&table) => put(value, &[], rename),
        (Some(table), _) if TABLES.contains(&table) => in_table(value, &[], rename),
        _ => walk(value, &[], rename),
    }
}

fn walk(value: &mut Value, path: &[Step<'_>], rename: Rename<'_>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                let path = [path, &[Step::Key(key)]].concat();
                let then = if TABLES.contains(&key.as_str()) { in_table } else { walk };
                then(value, &path, rename);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                walk(value, &[path, &[Step::Index(index)]].concat(), rename);
            }
        }
        _ => {}
    }
}

fn in_table(value: &mut Value, path: &[Step<'_>], rename: Rename<'_>) {
    if let Some(name) = value.get_mut(FILE) {
        put(name, &[path, &[Step::Key(FILE)]].concat(), rename);
    }
}

fn put(name: &mut Value, path: &[Step<'_>], rename: Rename<'_>) {
    if let Value::String(name) = name
        && let Some(renamed) = rename(path, name)
    {
        *name = renamed;
    }
}
