//! Files that a scenario names, such as traces of links: a resolved study finds them from anywhere.

use std::path::{Path, PathBuf, absolute};

use polypath_sim::document::{Document, Place, Step};
use toml::Value;

use super::file::StudyFile;

/// The table that names a file with its key `file`.
const TABLE: &str = "rate_trace";
const FILE: &str = "file";

/// Says from which folder the name of a file starts that stands at a place of the scenario.
type FolderOf<'a> = &'a dyn Fn(&[Step<'_>]) -> PathBuf;

/// Makes the names of all files absolute. Relative ones start from the folder of the file in which they are written: that
/// of the scenario, or `folder`, that of the study.
pub(super) fn make_absolute(file: &mut StudyFile, base: &Document, folder: &Path) {
    let folder_of = |path: &[Step<'_>]| {
        let name = match base.place(path) {
            Place::File { name, .. } | Place::WholeFile { name } => name,
            Place::Set { .. } | Place::Default => base.name().to_owned(),
        };
        Path::new(&name).parent().map(Path::to_owned).unwrap_or_default()
    };
    if let Some(inline) = &mut file.inline {
        walk(inline, &[], &folder_of);
    }
    let of_study = |_: &[Step<'_>]| folder.to_owned();
    for (key, value) in file.variants.iter_mut().flat_map(|variant| &mut variant.set) {
        at_key(key, value, &of_study);
    }
    for axis in &mut file.axes {
        for key in &axis.keys {
            axis.values.iter_mut().for_each(|value| at_key(key, value, &of_study));
        }
        for (key, values) in &mut axis.with {
            values.iter_mut().for_each(|value| at_key(key, value, &of_study));
        }
    }
}

/// A value that is put at `key.to.value`.
fn at_key(key: &str, value: &mut Value, folder_of: FolderOf<'_>) {
    let mut steps = key.rsplit('.');
    match (steps.next(), steps.next()) {
        (Some(FILE), Some(TABLE)) => rename(value, &folder_of(&[])),
        (Some(TABLE), _) => in_table(value, &[], folder_of),
        _ => walk(value, &[], folder_of),
    }
}

fn walk(value: &mut Value, path: &[Step<'_>], folder_of: FolderOf<'_>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                let path = [path, &[Step::Key(key)]].concat();
                let then = if key == TABLE { in_table } else { walk };
                then(value, &path, folder_of);
            }
        }
        Value::Array(values) => {
            for (index, value) in values.iter_mut().enumerate() {
                walk(value, &[path, &[Step::Index(index)]].concat(), folder_of);
            }
        }
        _ => {}
    }
}

fn in_table(value: &mut Value, path: &[Step<'_>], folder_of: FolderOf<'_>) {
    if let Some(name) = value.get_mut(FILE) {
        rename(name, &folder_of(&[path, &[Step::Key(FILE)]].concat()));
    }
}

fn rename(name: &mut Value, folder: &Path) {
    if let Value::String(name) = name
        && let Ok(path) = absolute(folder.join(&*name))
        && let Some(path) = path.to_str()
    {
        *name = path.to_owned();
    }
}
