//! One study of a paper: its runs, tables, pictures and verdicts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::compare::{Beside, beside};
use super::{Order, ReproduceError, Row};
use crate::figure::draw_all;
use crate::paper::{Paper, Part};
use crate::results::{self, Dataset, EXECUTION, Table, TableError};
use crate::run::{Cell, Finish, Journal, Limits, Request, Sharing, Status, Summary, run_study};
use crate::sampling::run_until_decided;
use crate::study::{Extent, Reading, Study};
use crate::verdict::judge;

/// Results of a study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StudyReport {
    /// Its file name.
    pub study: String,
    /// Its title.
    pub title: String,
    /// Directory with the results.
    pub directory: PathBuf,
    /// Number of runs.
    pub rows: usize,
    /// Number of runs made now.
    pub new: usize,
    /// Runs by status.
    pub statuses: BTreeMap<Status, usize>,
    /// Some of the errors.
    pub errors: Vec<String>,
    /// The seed from which all seeds are derived.
    pub seed: u64,
    /// Whether the study is deterministic.
    pub deterministic: bool,
    /// Number of points of its axes.
    pub points: usize,
    /// Curves.
    pub variants: usize,
    /// Time that runs took on one core, in seconds.
    pub core_s: f64,
    /// Versions of the program, and machines.
    pub programs: Vec<String>,
    /// Pictures: title and file.
    pub pictures: Vec<(String, PathBuf)>,
}

impl StudyReport {
    /// Number of runs without a result.
    pub fn rows_without_result(&self) -> usize {
        let without = self.statuses.iter().filter(|(status, _)| !status.has_results());
        without.map(|(_, count)| count).sum()
    }
}

/// Outcome of a study.
pub(super) enum Ran {
    /// It was run.
    Done(Box<Done>),
    /// It was interrupted.
    Stopped,
    /// It takes real time, which was not requested or is impossible on this machine; the reason.
    Not(String),
}

/// Report, verdicts and comparisons of a study.
pub(super) struct Done {
    pub report: StudyReport,
    pub statements: Vec<Row>,
    pub references: Vec<Beside>,
}

/// Reads a study of a paper, and the folder of its results. If only one statement is judged, it is the part that this needs.
pub(super) fn read(
    order: &Order<'_>,
    part: &Part,
    name: &str,
) -> Result<(Study, PathBuf), ReproduceError> {
    let paper = &order.papers[part.paper];
    let reading = Reading { extent: order.extent, edits: &[] };
    let study = Study::read(&paper.study(name), reading)?;
    let study = match order.runs {
        Some(runs) => study.with_runs(runs),
        None => study,
    };
    let study = match order.until_decided {
        Some(_) if !study.is_in_real_time() => study.until_decided(),
        _ => study,
    };
    let study = match part.only(paper) {
        Some(statement) => statement.narrow(study),
        None => study,
    };
    let place = PathBuf::from(paper.key()).join(name.trim_end_matches(".toml"));
    Ok((study, place))
}

/// Why a study in real time is not run: its results need a machine that does nothing else, so it must be requested.
pub(super) fn objection(order: &Order<'_>, paper: &Paper, study: &Study) -> Option<String> {
    if !study.is_in_real_time() {
        return None;
    }
    match order.test_bed {
        Some(bed) => bed.objection(),
        None => Some(format!(
            "it is measured in real time, on links that the kernel shapes: as root, with --real, or by name (polypath \
             reproduce {}/FIGURE)",
            paper.key()
        )),
    }
}

/// Makes the missing runs, and from them tables, pictures and verdicts.
pub(super) fn run(order: &Order<'_>, part: &Part, name: &str) -> Result<Ran, ReproduceError> {
    let paper = &order.papers[part.paper];
    let (study, place) = read(order, part, name)?;
    if let Some(reason) = objection(order, paper, &study) {
        return Ok(Ran::Not(reason));
    }
    let directory = order.out.join(&place);
    take_over(order, &place)?;
    let request = Request {
        jobs: order.jobs,
        shard: order.shard,
        sharing: Sharing::Alone,
        limits: Limits {
            budget: order.until_decided.and_then(|until| until.budget),
            ..Limits::default()
        },
        at_least: &[],
        program: order.program.clone(),
        test_bed: order.test_bed,
        stop: order.stop,
        progress: order.progress,
    };
    let summary = match order.until_decided {
        Some(until) if study.replications().sequential => {
            let about: Vec<_> = part.about(paper, name).collect();
            run_until_decided(&study, &about, &directory, &request, until.caps)?.summary
        }
        _ => run_study(&study, &directory, &request)?,
    };
    match summary.finish {
        Finish::Complete => {}
        Finish::Interrupted => return Ok(Ran::Stopped),
        Finish::Exhausted => {
            return Ok(Ran::Not("the budget (--budget) was used up before it".into()));
        }
    }
    let mut report = StudyReport::of(&study, name, summary)?;
    if !order.shard.is_whole() {
        let done = Done { report, statements: Vec::new(), references: Vec::new() };
        return Ok(Ran::Done(Box::new(done)));
    }
    results::export(&directory, &directory)?;
    let drawn = draw_all(&directory, order.figure_style)?;
    let svgs = drawn.iter().map(|written| written.svg().to_owned());
    let titles = study.figures().iter().map(|plan| {
        plan.title.clone().unwrap_or_else(|| format!("{}: {}", plan.name, study.title()))
    });
    report.pictures = titles.zip(svgs).collect();
    let data = Dataset::read(&directory)?;
    let references = match part.statement {
        Some(_) => Vec::new(),
        None => beside(&paper.reference, name, &data),
    };
    let statements = judged(order, part, name, &data)?;
    Ok(Ran::Done(Box::new(Done { report, statements, references })))
}

/// The verdicts of the statements about a study.
fn judged(
    order: &Order<'_>,
    part: &Part,
    name: &str,
    data: &Dataset,
) -> Result<Vec<Row>, ReproduceError> {
    let paper = &order.papers[part.paper];
    part.about(paper, name)
        .map(|statement| match judge(statement, paper.key(), data) {
            Ok(judgement) => Ok(Row::judged(name, judgement)),
            Err(error) if order.extent == Extent::Quick => {
                let reason = format!("the quick form leaves this out: {}", error.message);
                Ok(Row::unanswered(paper.key(), statement, &reason))
            }
            Err(error) => Err(error.into()),
        })
        .collect()
}

/// Includes the runs of other directories.
fn take_over(order: &Order<'_>, place: &PathBuf) -> Result<(), ReproduceError> {
    for other in order.merge {
        let theirs = other.join(place);
        if !theirs.exists() {
            continue;
        }
        let directory = order.out.join(place);
        results::make_directory(&directory)?;
        let ours = Journal::open(&directory)?;
        ours.absorb(&Journal::open(&theirs)?)?;
        ours.sync()?;
    }
    Ok(())
}

impl StudyReport {
    fn of(study: &Study, name: &str, summary: Summary) -> Result<Self, ReproduceError> {
        let (core_s, programs) = execution(&summary)?;
        Ok(Self {
            study: name.to_owned(),
            title: study.title().to_owned(),
            directory: summary.directory,
            rows: summary.rows,
            new: summary.new,
            statuses: summary.statuses,
            errors: summary.errors,
            seed: study.replications().seed,
            deterministic: study.replications().deterministic,
            points: study.points().len(),
            variants: study.variants().len(),
            core_s,
            programs,
            pictures: Vec::new(),
        })
    }
}

/// Time that runs took, and the machines and versions that made them.
fn execution(summary: &Summary) -> Result<(f64, Vec<String>), ReproduceError> {
    let table =
        Table::open(&summary.directory.join(EXECUTION)).map_err(results::ResultsError::from)?;
    let column = |name| table.column(name);
    let columns = ["core_s", "wall_s", "version", "revision", "host"].map(column);
    let columns: Result<Vec<usize>, TableError> = columns.into_iter().collect();
    let columns = columns.map_err(results::ResultsError::from)?;
    let (mut core_s, mut programs) = (0.0, Vec::new());
    let each = |row: &[Cell]| -> Result<(), TableError> {
        if let [core, wall, Cell::Text(version), Cell::Text(revision), Cell::Text(host)] = row {
            // Runs in real time, or from before processor time was recorded, have only wall-clock time.
            core_s += core.number().or(wall.number()).unwrap_or_default();
            let program = format!("{version} ({revision}) on {host}");
            if !programs.contains(&program) {
                programs.push(program);
            }
        }
        Ok(())
    };
    table.rows(&columns, each).map_err(results::ResultsError::from)?;
    Ok((core_s, programs))
}
