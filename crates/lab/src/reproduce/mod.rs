//! Reproduces papers: runs all studies, judges all statements, writes tables, pictures and reports.
//!
//! The directory of results has a folder for each paper, which has one for each study with its tables and pictures. Finished
//! runs are not repeated.

mod catalogue;
mod compare;
mod conclusion;
mod cost;
mod record;
mod row;
mod study;

pub use catalogue::{FigureEntry, PaperEntry, RecordedVerdict, StatementEntry, StudyEntry};
pub use compare::{Agreement, Beside};
pub use cost::{PaperCost, costs};
pub use record::{Recorded, VERDICTS, read as recorded, table as recorded_table};
pub use row::{Answer, Row};
use study::Ran;
pub use study::StudyReport;

use std::collections::BTreeMap;
use std::io;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use polypath_sim::document::DocumentError;
use serde::Serialize;

use crate::figure::{FigureError, FigureStyle};
use crate::journal::advice;
use crate::paper::{Paper, Part, Target, slug};
use crate::results::{DirectoryError, ResultsError};
use crate::run::{Budget, JournalError, Program, Progress, RunError, Shard, TestBed};
use crate::sampling::{Caps, SamplingError};
use crate::study::Extent;
use crate::verdict::StatementError;

/// Request to reproduce papers.
pub struct Order<'a> {
    /// All papers.
    pub papers: &'a [Paper],
    /// The papers or figures to reproduce.
    pub target: &'a Target,
    /// Extent of each study.
    pub extent: Extent,
    /// Runs of each configuration; default: as in each study.
    pub runs: Option<NonZeroU32>,
    /// Adds runs until statements are decided; default: only the runs of the studies.
    pub until_decided: Option<UntilDecided<'a>>,
    /// Directory for results.
    pub out: &'a Path,
    /// Style of figures.
    pub figure_style: FigureStyle,
    /// Directories with results of shards, whose runs are included.
    pub merge: &'a [PathBuf],
    /// The part to run.
    pub shard: Shard,
    /// Threads; default: the number of processors.
    pub jobs: Option<NonZeroUsize>,
    /// The program that runs it.
    pub program: Program,
    /// Test bed for studies in real time; default: none, which leaves them out.
    pub test_bed: Option<&'a dyn TestBed>,
    /// When set, no more runs are started.
    pub stop: &'a AtomicBool,
    /// Called with the progress of the runs.
    pub progress: &'a dyn Watch,
}

/// Limits for adding runs until statements are decided.
#[derive(Clone, Copy, Debug)]
pub struct UntilDecided<'a> {
    /// Maximum number of runs.
    pub caps: Caps,
    /// Budget of processor time of all studies; default: no limit.
    pub budget: Option<&'a Budget>,
}

/// Receives progress.
pub trait Watch: Progress {
    /// A study begins.
    fn begin(&self, paper: &str, study: &str);
    /// A study ends.
    fn end(&self, paper: &str, study: &StudyReport);
}

/// Results.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Report {
    /// The program that ran it.
    pub program: Program,
    /// `quick` or `full`.
    pub extent: &'static str,
    /// Runs of each configuration, if requested.
    pub runs: Option<NonZeroU32>,
    /// The requested papers or figures.
    pub target: String,
    /// The part that was run; verdicts need the whole.
    pub shard: Option<String>,
    /// Whether all studies were run.
    pub complete: bool,
    /// Number of statements by verdict.
    pub verdicts: BTreeMap<&'static str, usize>,
    /// The papers.
    pub papers: Vec<PaperReport>,
    /// Time that it took, in seconds.
    pub wall_s: f64,
}

/// Results of a paper.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PaperReport {
    /// Its key.
    pub key: String,
    /// Its title.
    pub title: String,
    /// The requested figure; default: all.
    pub figure: Option<String>,
    /// All statements.
    pub statements: Vec<Row>,
    /// All numbers of other tools.
    pub references: Vec<Beside>,
    /// The studies.
    pub studies: Vec<StudyReport>,
    /// Studies that could not be run, judged or drawn, with the reason.
    pub failures: Vec<StudyFailure>,
    /// Studies in real time that were left out: not requested, or impossible on this machine; with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<StudyFailure>,
    /// Time that runs took on one core, in seconds; also those of earlier commands.
    pub core_s: f64,
    /// Time that this command took, in seconds.
    pub wall_s: f64,
}

/// A study without results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StudyFailure {
    /// Its file name.
    pub study: String,
    /// The reason.
    pub error: String,
}

/// Why papers cannot be reproduced.
#[derive(Debug, thiserror::Error)]
pub enum ReproduceError {
    /// There is no such paper or figure.
    #[error("{0}")]
    Target(String),
    /// A study is invalid.
    #[error(transparent)]
    Study(#[from] DocumentError),
    /// A study cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The runs of a shard cannot be included.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Results cannot be read.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// A picture cannot be made.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// A directory cannot be made.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A statement is invalid.
    #[error(transparent)]
    Statement(#[from] StatementError),
    /// A report cannot be written as JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A file cannot be written.
    #[error("cannot write {}: {error}{}", .path.display(), advice(.error))]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

/// Makes the missing runs, judges statements and writes reports.
///
/// # Errors
/// A file cannot be read or written, or a study or statement is invalid. Failed runs are not errors: the reports of
/// their studies list them.
pub fn reproduce(order: &Order<'_>) -> Result<Report, ReproduceError> {
    let start = Instant::now();
    let mut report = Report {
        program: order.program.clone(),
        extent: if order.extent == Extent::Quick { "quick" } else { "full" },
        runs: order.runs,
        target: order.target.to_string(),
        shard: (!order.shard.is_whole()).then(|| order.shard.to_string()),
        complete: true,
        verdicts: BTreeMap::new(),
        papers: Vec::new(),
        wall_s: 0.0,
    };
    let parts = order.target.among(order.papers).map_err(ReproduceError::Target)?;
    for part in &parts {
        report.papers.push(of_part(order, part)?);
        if order.stop.load(Ordering::Relaxed) {
            report.complete = false;
            break;
        }
    }
    for row in report.papers.iter().flat_map(|paper| &paper.statements) {
        *report.verdicts.entry(row.verdict.name()).or_default() += 1;
    }
    report.wall_s = start.elapsed().as_secs_f64();
    Ok(report)
}

/// Runs and evaluates all studies of a part.
fn of_part(order: &Order<'_>, part: &Part) -> Result<PaperReport, ReproduceError> {
    let start = Instant::now();
    let paper = &order.papers[part.paper];
    let mut report = PaperReport {
        key: paper.key().to_owned(),
        title: paper.title().to_owned(),
        figure: part.figure.as_deref().map(slug),
        statements: Vec::new(),
        references: Vec::new(),
        studies: Vec::new(),
        failures: Vec::new(),
        left_out: Vec::new(),
        core_s: 0.0,
        wall_s: 0.0,
    };
    for study in &part.studies {
        order.progress.begin(paper.key(), study);
        let done = match study::run(order, part, study) {
            Ok(Ran::Done(done)) => *done,
            Ok(Ran::Stopped) => break,
            Ok(Ran::Not(reason)) => {
                report.leave(paper, part, study, &reason);
                report.left_out.push(StudyFailure { study: study.clone(), error: reason });
                continue;
            }
            // The other studies go on.
            Err(error) => {
                report.fail(paper, part, study, &error);
                continue;
            }
        };
        order.progress.end(paper.key(), &done.report);
        report.core_s += done.report.core_s;
        report.statements.extend(done.statements);
        report.references.extend(done.references);
        report.studies.push(done.report);
    }
    let expectations = &paper.expectations;
    let calculated = expectations.calculations.iter().filter(|row| part.has(&row.figure));
    report.statements.extend(calculated.map(|row| Row::calculated(row.judge(paper.key()))));
    let defaults = expectations.defaults.iter().filter(|row| part.has(&row.figure));
    let judged = defaults.map(|row| row.judge(paper.key(), &paper.folder));
    report.statements.extend(judged.map(Row::calculated));
    let not_run = expectations.not_run.iter().filter(|row| part.has(&row.figure));
    report.statements.extend(not_run.map(|row| Row::not_run(paper.key(), row)));
    // In the order of the file, not by study.
    let ids: Vec<&str> = expectations.statements.iter().map(|s| s.id.as_str()).collect();
    report
        .statements
        .sort_by_key(|row| ids.iter().position(|id| *id == row.id).unwrap_or(ids.len()));
    // Conclusions rest on the whole paper.
    if part.figure.is_none() && !order.stop.load(Ordering::Relaxed) {
        for conclusion in &expectations.conclusions {
            let row = conclusion::conclude(paper.key(), conclusion, &report.statements);
            report.statements.push(row);
        }
    }
    report.wall_s = start.elapsed().as_secs_f64();
    Ok(report)
}

impl Report {
    /// Errors as text: studies without results, and runs of others without a result, with one of the reasons.
    pub fn errors(&self) -> Vec<String> {
        let failures = self.papers.iter().flat_map(|paper| &paper.failures);
        let mut errors: Vec<String> =
            failures.map(|failure| format!("{}: {}", failure.study, failure.error)).collect();
        let studies = || self.papers.iter().flat_map(|paper| &paper.studies);
        let count: usize = studies().map(StudyReport::rows_without_result).sum();
        if let Some(error) = studies().find_map(|study| study.errors.first()).filter(|_| count > 0)
        {
            errors.push(format!("{count} runs have no result, for example: {error}"));
        }
        errors
    }

    /// Number of statements with this verdict.
    pub fn count(&self, answer: Answer) -> usize {
        self.verdicts.get(answer.name()).copied().unwrap_or_default()
    }
}

impl From<SamplingError> for ReproduceError {
    fn from(error: SamplingError) -> Self {
        match error {
            SamplingError::Run(error) => Self::Run(error),
            SamplingError::Results(error) => Self::Results(error),
        }
    }
}

impl PaperReport {
    /// Adds to the statements about a study why nothing was run for them.
    fn leave(&mut self, paper: &Paper, part: &Part, study: &str, reason: &str) {
        let statements = part.about(paper, study);
        self.statements
            .extend(statements.map(|statement| Row::unanswered(paper.key(), statement, reason)));
    }

    /// Records that a study has no results.
    fn fail(&mut self, paper: &Paper, part: &Part, study: &str, error: &ReproduceError) {
        let error = error.to_string();
        self.leave(paper, part, study, &error);
        self.failures.push(StudyFailure { study: study.to_owned(), error });
    }
}
