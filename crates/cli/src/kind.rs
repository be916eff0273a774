//! Kinds of files, and the command that reads each.

use std::path::Path;

use anyhow::anyhow;
use polypath_sim::document::{Document, Step};

use crate::failure::{Failure, Outcome};

/// A kind of file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A network and what is sent over it.
    Scenario,
    /// Variations of a scenario.
    Study,
    /// Statements about studies.
    Statements,
    /// Studies compared with each other, over papers.
    Comparisons,
}

impl Kind {
    /// The kind of a document, by keys that only such files have; a scenario if it has none of them.
    pub fn of(document: &Document) -> Self {
        let has = |keys: &[&str]| keys.iter().any(|key| document.has(&[Step::Key(key)]));
        if has(&["statements", "calculations", "defaults", "conclusions", "not_run"]) {
            Self::Statements
        } else if has(&["comparisons"]) {
            Self::Comparisons
        } else if has(&["measures", "axes", "variants", "replications", "scenario", "inline"]) {
            Self::Study
        } else {
            Self::Scenario
        }
    }

    /// Fails for a file of another kind, naming the command that reads it. A file that cannot be read, or may be of this kind with
    /// mistakes, is left to the parser of this kind.
    pub fn expect(self, path: &Path) -> Outcome {
        let Ok(document) = Document::read(path) else { return Ok(()) };
        let found = Self::of(&document);
        let is_bare = !document.has(&[Step::Key("network")]) && found == Self::Scenario;
        if found == self || is_bare {
            return Ok(());
        }
        let file = path.display();
        let message = match found {
            Self::Scenario => format!("{file} is a scenario: `polypath sim {file}` runs it"),
            Self::Study => format!("{file} is a study: `polypath study run {file}` runs it"),
            Self::Statements => {
                format!(
                    "{file} has statements: `polypath study judge {file} RESULTS` says which of them hold"
                )
            }
            Self::Comparisons => {
                format!("{file} has comparisons: `polypath check {file}` reads it")
            }
        };
        Err(Failure::usage(anyhow!(message)))
    }
}
