//! Papers: a directory each, with studies, statements of the paper, and results of other tools.
//!
//! | file | what it is |
//! | --- | --- |
//! | `README.md` | the claims of the paper, the set-up, and causes of different results |
//! | `expected.toml` | the statements ([`Expectations`]) |
//! | `NAME.toml` with `measures` | a study |
//! | `reference.csv` | numbers of another tool; optional |
//! | `reference.toml` | the study, curve and point of each of these numbers ([`Reference`]) |

mod reference;
mod target;

pub use reference::{Claim, Comparison, Places, Reference, schema};
pub use target::{Part, Target, slug};

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use polypath_sim::document::{Document, DocumentError};

use crate::verdict::Expectations;

/// File with statements.
pub const STATEMENTS: &str = "expected.toml";
/// File with the description.
pub const WORDS: &str = "README.md";

/// A paper.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Its folder.
    pub folder: PathBuf,
    /// Its statements; their key is that of the paper.
    pub expectations: Expectations,
    /// File names of its studies, in the order of figures.
    pub studies: Vec<String>,
    /// Results of other tools.
    pub reference: Reference,
    /// Its README, as Markdown.
    pub words: String,
}

/// Why a paper cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PaperError {
    /// A file or folder cannot be read.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// A file is invalid.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// A cause names a study that does not exist.
    #[error("{}: `{id}` names `{study}` among the experiments, but there is no such study beside it", .path.display())]
    NoExperiment {
        /// The file.
        path: PathBuf,
        /// The statement.
        id: String,
        /// The study that it names.
        study: String,
    },
    /// A line of `reference.csv` is invalid.
    #[error("{}:{line}: {message}", .path.display())]
    Reference {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// The error.
        message: String,
    },
}

impl PaperError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }
}

impl Paper {
    /// Reads the paper of a folder.
    ///
    /// # Errors
    /// A file is missing or invalid.
    pub fn read(folder: &Path) -> Result<Self, PaperError> {
        let words = folder.join(WORDS);
        let mut studies = Vec::new();
        for path in entries(folder)? {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if path.extension().is_some_and(|ending| ending == "toml") && is_study(&path)? {
                studies.push(name.to_owned());
            }
        }
        studies.sort_by_key(|name| natural(name));
        let path = folder.join(STATEMENTS);
        let expectations = Expectations::read(&path)?;
        for cause in expectations.causes() {
            let is_there = |study: &&str| studies.iter().any(|known| known == study);
            if let Some(study) = cause.studies().find(|study| !is_there(study)) {
                let (id, study) = (cause.id.to_owned(), study.to_owned());
                return Err(PaperError::NoExperiment { path, id, study });
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            expectations,
            studies,
            reference: Reference::read(folder)?,
            words: fs::read_to_string(&words).map_err(PaperError::io(&words))?,
        })
    }

    /// Reads all papers of a folder, in the order of their names. A folder is a paper if it has statements.
    ///
    /// # Errors
    /// A paper cannot be read.
    pub fn read_all(folder: &Path) -> Result<Vec<Self>, PaperError> {
        let folders = entries(folder)?.into_iter().filter(|path| path.join(STATEMENTS).exists());
        folders.map(|folder| Self::read(&folder)).collect()
    }

    /// Its key.
    pub fn key(&self) -> &str {
        &self.expectations.paper
    }

    /// The first headline of its README.
    pub fn title(&self) -> &str {
        let headline = self.words.lines().find_map(|line| line.strip_prefix("# "));
        headline.map_or(self.key(), str::trim)
    }

    /// The file of a study.
    pub fn study(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The content of a folder, sorted.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, PaperError> {
    let read = fs::read_dir(folder).map_err(PaperError::io(folder))?;
    let paths: io::Result<Vec<PathBuf>> = read.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(PaperError::io(folder))?;
    paths.sort();
    Ok(paths)
}

/// Whether a file is a study: scenarios and statements have no `measures`.
fn is_study(path: &Path) -> Result<bool, PaperError> {
    let document = Document::read(path)?;
    Ok(document.to_value().get("measures").is_some())
}

/// Sorts text with its numbers as numbers: `fig9` comes before `fig11`.
fn natural(text: &str) -> Vec<(String, u64)> {
    let mut parts: Vec<(String, u64)> = vec![(String::new(), 0)];
    let mut in_number = false;
    for letter in text.chars() {
        if let Some(digit) = letter.to_digit(10) {
            in_number = true;
            if let Some((_, number)) = parts.last_mut() {
                *number = number.saturating_mul(10).saturating_add(digit.into());
            }
        } else {
            if in_number {
                parts.push((String::new(), 0));
            }
            in_number = false;
            if let Some((words, _)) = parts.last_mut() {
                words.push(letter);
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    #[test]
    fn names_are_in_the_order_of_their_numbers() {
        let mut names =
            ["fig11-12.toml", "sec4b.toml", "fig9-10.toml", "fairness.toml", "fig2.toml"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(
            names,
            ["fairness.toml", "fig2.toml", "fig9-10.toml", "fig11-12.toml", "sec4b.toml"]
        );
    }

    #[test]
    fn the_papers_of_the_project_can_be_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
        let papers = Paper::read_all(Path::new(folder)).expect("papers");
        let keys: Vec<&str> = papers.iter().map(Paper::key).collect();
        assert_eq!(
            keys,
            ["dreibholz-asymmetric", "dreibholz-model", "iyengar", "natarajan", "sarwar"]
        );
        for paper in &papers {
            assert!(!paper.title().is_empty() && paper.title() != paper.key());
            for statement in &paper.expectations.statements {
                assert!(paper.studies.contains(&statement.study), "{}", statement.id);
            }
            assert!(!paper.reference.claims.is_empty(), "{}", paper.key());
            for cause in paper.expectations.causes() {
                assert!(cause.words.is_some(), "{} has experiments, but no cause", cause.id);
                assert!(
                    !cause.shown_by.is_empty(),
                    "no experiment shows the cause of {}",
                    cause.id
                );
            }
            for defaults in &paper.expectations.defaults {
                let judged = defaults.judge(paper.key(), &paper.folder);
                let is_known = judged.verdict == Verdict::Holds || defaults.cause.is_some();
                assert!(is_known, "{}: {:?}", defaults.id, judged.cause);
            }
        }
    }
}
