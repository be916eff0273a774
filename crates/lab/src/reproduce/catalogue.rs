//! Catalogue of papers, their figures and the statements about each, with the recorded verdicts.

use std::collections::BTreeMap;

use serde::Serialize;

use super::record::{self, Recorded};
use super::row::Answer;
use crate::paper::{Paper, slug};
use crate::verdict::NotRun;

/// A paper.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PaperEntry {
    /// Its key.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// Its figures, tables and sections, in the order of the statements.
    pub figures: Vec<FigureEntry>,
    /// Its studies, including those without statements.
    pub studies: Vec<StudyEntry>,
    /// Statements that are not judged, and why.
    pub not_run: Vec<NotRun>,
}

/// A figure, table or section.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FigureEntry {
    /// Its name in the paper.
    pub figure: String,
    /// What `polypath reproduce` calls it.
    pub target: String,
    /// File names of the studies that are run for it.
    pub studies: Vec<String>,
    /// The statements about it.
    pub statements: Vec<StatementEntry>,
}

/// A study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StudyEntry {
    /// Its file name.
    pub study: String,
    /// What `polypath reproduce` calls it.
    pub target: String,
    /// Figures, tables and sections that it has statements about; empty for an experiment.
    pub figures: Vec<String>,
    /// Number of statements that are judged by it.
    pub statements: usize,
}

/// A statement.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StatementEntry {
    /// Its name.
    pub id: String,
    /// Figure, table or section that it is about.
    pub figure: String,
    /// The statement as text.
    pub statement: String,
    /// How it is judged; `None` if it is not.
    pub rule: Option<&'static str>,
    /// File name of the study; `None` if nothing is run.
    pub study: Option<String>,
    /// Whether it is our statement, not the paper's.
    pub ours: bool,
    /// Its recorded verdict.
    pub recorded: Option<RecordedVerdict>,
    /// Why it is not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
}

/// Recorded verdict of a statement.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RecordedVerdict {
    /// Whether it held.
    pub verdict: Answer,
    /// Runs behind the number.
    pub n: usize,
    /// `quick` or `full`.
    pub form: String,
}

impl From<&Recorded> for RecordedVerdict {
    fn from(recorded: &Recorded) -> Self {
        Self { verdict: recorded.verdict, n: recorded.n, form: recorded.form.clone() }
    }
}

impl PaperEntry {
    /// The entry of a paper.
    pub fn of(paper: &Paper) -> Self {
        let rows = statements(paper);
        let about = |figure: &str| -> Vec<StatementEntry> {
            rows.iter().filter(|row| row.figure == figure).cloned().collect()
        };
        let figures = paper.expectations.figures().into_iter().map(|figure| {
            let statements = about(figure);
            let runs =
                |study: &&String| statements.iter().any(|row| row.study.as_ref() == Some(*study));
            FigureEntry {
                figure: figure.to_owned(),
                target: format!("{}/{}", paper.key(), slug(figure)),
                studies: paper.studies.iter().filter(runs).cloned().collect(),
                statements,
            }
        });
        Self {
            paper: paper.key().to_owned(),
            title: paper.title().to_owned(),
            figures: figures.collect(),
            studies: paper.studies.iter().map(|study| study_entry(paper, study)).collect(),
            not_run: paper.expectations.not_run.clone(),
        }
    }
}

fn study_entry(paper: &Paper, study: &str) -> StudyEntry {
    let judged = || paper.expectations.statements.iter().filter(|row| row.study == study);
    let mut figures: Vec<String> = Vec::new();
    for statement in judged() {
        if !figures.contains(&statement.figure) {
            figures.push(statement.figure.clone());
        }
    }
    StudyEntry {
        study: study.to_owned(),
        target: format!("{}/{}", paper.key(), slug(study.trim_end_matches(".toml"))),
        figures,
        statements: judged().count(),
    }
}

/// All statements of a paper, in the order of its lists.
fn statements(paper: &Paper) -> Vec<StatementEntry> {
    let recorded: BTreeMap<String, Recorded> =
        record::read(&paper.folder).into_iter().map(|row| (row.id.clone(), row)).collect();
    let entry = |id: &String, figure: &String, statement: &String| StatementEntry {
        id: id.clone(),
        figure: figure.clone(),
        statement: statement.clone(),
        rule: None,
        study: None,
        ours: false,
        recorded: recorded.get(id).map(RecordedVerdict::from),
        not_run: None,
    };
    let all = &paper.expectations;
    let judged = all.statements.iter().map(|row| StatementEntry {
        rule: Some(row.rule.name()),
        study: Some(row.study.clone()),
        ours: row.ours,
        ..entry(&row.id, &row.figure, &row.statement)
    });
    let calculated = all.calculations.iter().map(|row| StatementEntry {
        rule: Some("calculation"),
        ..entry(&row.id, &row.figure, &row.statement)
    });
    let defaults = all.defaults.iter().map(|row| StatementEntry {
        rule: Some("defaults"),
        ..entry(&row.id, &row.figure, &row.statement)
    });
    let not_run = all.not_run.iter().map(|row| StatementEntry {
        not_run: Some(row.reason.clone()),
        ..entry(&row.id, &row.figure, &row.statement)
    });
    let conclusions = all.conclusions.iter().map(|row| StatementEntry {
        rule: Some("all of"),
        ..entry(&row.id, &row.figure, &row.statement)
    });
    judged.chain(calculated).chain(defaults).chain(not_run).chain(conclusions).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::paper::Target;

    fn papers() -> Vec<Paper> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
        Paper::read_all(Path::new(folder)).expect("papers")
    }

    #[test]
    fn every_statement_and_every_study_is_listed_once() {
        for paper in &papers() {
            let entry = PaperEntry::of(paper);
            let statements = entry.figures.iter().flat_map(|figure| &figure.statements);
            let mut listed: Vec<&str> = statements.map(|row| row.id.as_str()).collect();
            let mut ids = paper.expectations.ids();
            listed.sort_unstable();
            ids.sort_unstable();
            assert_eq!(listed, ids, "{}", paper.key());
            let studies: Vec<&String> = entry.studies.iter().map(|row| &row.study).collect();
            assert_eq!(studies, paper.studies.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_target_that_is_listed_can_be_reproduced() {
        let papers = papers();
        for entry in papers.iter().map(PaperEntry::of) {
            let figures = entry.figures.iter().map(|figure| (&figure.target, &figure.studies));
            for (target, studies) in figures {
                let parts = target.parse::<Target>().and_then(|target| target.among(&papers));
                let parts = parts.unwrap_or_else(|error| panic!("{target}: {error}"));
                let has = |study: &&String| parts[0].studies.contains(study);
                assert!(studies.iter().all(|study| has(&study)), "{target}: {studies:?}");
            }
            for study in &entry.studies {
                let parts = study.target.parse::<Target>().and_then(|t| t.among(&papers));
                assert!(parts.is_ok_and(|parts| parts[0].studies.contains(&study.study)));
            }
        }
    }

    #[test]
    fn what_nothing_is_run_for_is_listed_too() {
        let papers = papers();
        let of = |key: &str| papers.iter().find(|paper| paper.key() == key).map(PaperEntry::of);
        let figure = |key: &str, figure: &str| {
            let found = of(key)?.figures.into_iter().find(|entry| entry.figure == figure)?;
            Some(found.statements.len())
        };
        for (key, name) in [
            ("dreibholz-model", "table 1"),
            ("dreibholz-model", "8, right"),
            ("sarwar", "5"),
            ("sarwar", "conclusions"),
        ] {
            assert!(figure(key, name).is_some_and(|count| count > 0), "{key}: {name}");
        }
    }
}
