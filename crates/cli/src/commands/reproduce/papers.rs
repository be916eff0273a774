//! Where the papers are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use polypath_lab::paper::{Paper, STATEMENTS};

use crate::failure::Failure;
use crate::place::is_place;

/// Paper, name and content of every file that the program carries.
const CARRIED: &[(&str, &str, &str)] = &include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Folder of papers in a working directory, such as that of the source.
const HERE: &str = "papers";

/// Reads the papers of a folder that the user names, of the folder `papers` here, or those that the program carries; these
/// are written to a folder of their own below `out`, where everybody can read and change them.
pub(super) fn read(named: Option<&Path>, out: &Path) -> Result<(Vec<Paper>, PathBuf), Failure> {
    if let Some(named) = named.filter(|named| !named.is_dir()) {
        let message = format!(
            "--papers {}: there is no such folder; it has a folder for each paper, each with a file {STATEMENTS} \
             (without --papers, those that the program carries are used)",
            named.display()
        );
        return Err(Failure::usage(anyhow!(message)));
    }
    let folder = match named {
        Some(folder) => folder.to_owned(),
        None if has_papers(Path::new(HERE)) => HERE.into(),
        None => unpack(&out.join(HERE))?,
    };
    let papers = Paper::read_all(&folder).map_err(Failure::usage)?;
    if papers.is_empty() {
        let message = format!(
            "no paper in {}: the folder of a paper has a file {STATEMENTS}",
            folder.display()
        );
        return Err(Failure::usage(anyhow!(message)));
    }
    Ok((papers, folder))
}

fn has_papers(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| path.join(STATEMENTS).exists())
}

fn unpack(folder: &Path) -> Result<PathBuf, Failure> {
    if CARRIED.is_empty() {
        return Err(Failure::usage(anyhow!(
            "this program carries no papers: name a folder with --papers"
        )));
    }
    for (paper, name, content) in CARRIED {
        let place = folder.join(paper);
        let write = fs::create_dir_all(&place).and_then(|()| fs::write(place.join(name), content));
        write.map_err(|error| {
            let message = anyhow!(
                "cannot write to {}: {error}; name a directory where you may write (--out)",
                place.display()
            );
            match is_place(&error) {
                true => Failure::Usage(message),
                false => Failure::Failed(message),
            }
        })?;
    }
    Ok(folder.to_owned())
}
