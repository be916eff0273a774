//! Verdicts of statements.

use serde::Serialize;

use crate::stats::Interval;
use crate::verdict::{Judgement, NotRun, PlaceJudgement, Statement, Verdict};

/// A statement with its verdict.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    /// Name of the statement.
    pub id: String,
    /// Key of the paper.
    pub paper: String,
    /// Figure, table or section.
    pub figure: String,
    /// File name of the study; `None` if nothing is run.
    pub study: Option<String>,
    /// The statement as text.
    pub statement: String,
    /// How it is judged.
    pub rule: Option<&'static str>,
    /// Runs behind the number.
    pub n: usize,
    /// Whether it holds.
    pub verdict: Answer,
    /// The number that the rule evaluates, at the place that decides.
    pub measured: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// That place, as in [`Judgement::place`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Unit of both, as in [`Judgement::unit`].
    pub unit: String,
    /// Values for which the statement would hold.
    pub expected: Option<String>,
    /// Why it differs, or was not run, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Names of statements and studies that show the cause.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown_by: Vec<String>,
    /// All comparisons and points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlaceJudgement>,
}

/// Whether a statement holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It holds.
    Holds,
    /// It differs.
    Differs,
    /// More runs are needed.
    Undecided,
    /// No runs were made for it.
    #[serde(rename = "not run")]
    NotRun,
}

impl Answer {
    /// All verdicts, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Holds, Self::Differs, Self::Undecided, Self::NotRun];

    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::Undecided => "undecided",
            Self::NotRun => "not run",
        }
    }
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Holds => Self::Holds,
            Verdict::Undecided => Self::Undecided,
            Verdict::Differs => Self::Differs,
        }
    }
}

impl Row {
    /// The row of a statement that was judged.
    pub(super) fn judged(study: &str, judgement: Judgement) -> Self {
        let Judgement { id, paper, figure, statement, rule, n, verdict, .. } = judgement;
        let Judgement { measured, interval, place, unit, .. } = judgement;
        let Judgement { expected, cause, shown_by, places, .. } = judgement;
        Self {
            id,
            paper,
            figure,
            study: Some(study.to_owned()),
            statement,
            rule: Some(rule),
            n,
            verdict: verdict.into(),
            measured,
            interval,
            place,
            unit,
            expected: Some(expected),
            cause,
            shown_by,
            places,
        }
    }

    /// The row of a statement that needs no runs.
    pub(super) fn calculated(judgement: Judgement) -> Self {
        Self { study: None, places: Vec::new(), ..Self::judged("", judgement) }
    }

    /// The row of a statement about a study that was not run.
    pub(super) fn unanswered(paper: &str, statement: &Statement, reason: &str) -> Self {
        Self {
            study: Some(statement.study.clone()),
            rule: Some(statement.rule.name()),
            ..Self::not_run(
                paper,
                &NotRun {
                    id: statement.id.clone(),
                    figure: statement.figure.clone(),
                    statement: statement.statement.clone(),
                    reason: reason.to_owned(),
                },
            )
        }
    }

    /// The row of a statement that is not judged.
    pub(super) fn not_run(paper: &str, row: &NotRun) -> Self {
        Self {
            id: row.id.clone(),
            paper: paper.to_owned(),
            figure: row.figure.clone(),
            study: None,
            statement: row.statement.clone(),
            rule: None,
            n: 0,
            verdict: Answer::NotRun,
            measured: None,
            interval: None,
            place: None,
            unit: String::new(),
            expected: None,
            cause: Some(row.reason.clone()),
            shown_by: Vec::new(),
            places: Vec::new(),
        }
    }
}
