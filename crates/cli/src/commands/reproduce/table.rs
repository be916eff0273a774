//! What came out, for people at a terminal.

use std::fmt::Write;
use std::num::NonZeroUsize;

use polypath_lab::reproduce::{Answer, PaperCost, Report, Row};
use polypath_lab::verdict::{PlaceJudgement, not_enough};

use crate::report::{decided_at, measured};
use crate::table::{Table, Width};
use crate::time::{duration, threads};

/// A line for each statement, a reason for each that does not hold, and the sums.
pub(super) fn verdicts(report: &Report, width: Width) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for paper in &report.papers {
        writeln!(out, "{}\n", paper.title)?;
        let header = ["statement", "verdict", "measured", "interval", "expected", "n"];
        out += &Table::new(&header, paper.statements.iter().map(line)).text(width);
        for row in paper.statements.iter().filter(|row| row.verdict != Answer::Holds) {
            write!(out, "\n  {}, {}: {}", row.id, row.verdict.name(), row.statement)?;
            if let Some(place) = &row.place {
                let alike = |place: &&PlaceJudgement| Answer::from(place.verdict) == row.verdict;
                let count = row.places.iter().filter(alike).count();
                out += &decided_at(row.verdict.name(), place, (count, row.places.len()));
            }
            writeln!(out)?;
            if row.verdict == Answer::Undecided && !row.places.is_empty() {
                writeln!(out, "    {}", not_enough(&row.places))?;
            }
            if let Some(cause) = &row.cause {
                writeln!(out, "    {cause}")?;
            }
            if !row.shown_by.is_empty() {
                writeln!(out, "    shown by {}", row.shown_by.join(", "))?;
            }
        }
        out.push('\n');
    }
    let header: Vec<&str> = ["paper"]
        .into_iter()
        .chain(Answer::ALL.iter().map(|answer| answer.name()))
        .chain(["runs", "time on one core", "this time"])
        .collect();
    let sums = report.papers.iter().map(|paper| {
        let count = |answer: &Answer| {
            paper.statements.iter().filter(|row| row.verdict == *answer).count().to_string()
        };
        let runs: usize = paper.studies.iter().map(|study| study.rows).sum();
        let mut row = vec![paper.key.clone()];
        row.extend(Answer::ALL.iter().map(count));
        row.extend([runs.to_string(), duration(paper.core_s), duration(paper.wall_s)]);
        row
    });
    out += &Table::new(&header, sums).text(width);
    Ok(out)
}

fn line(row: &Row) -> Vec<String> {
    let number = |number: f64| measured(number, &row.unit);
    let interval = row.interval.filter(|interval| interval.half_width().is_finite());
    vec![
        row.id.clone(),
        row.verdict.name().to_owned(),
        row.measured.map_or("-".into(), number),
        interval.map_or("-".into(), |i| format!("{} to {}", number(i.low), number(i.high))),
        row.expected.clone().unwrap_or_else(|| "-".into()),
        row.n.to_string(),
    ]
}

/// What there is to do.
pub(super) fn costs(
    costs: &[PaperCost],
    jobs: Option<NonZeroUsize>,
    width: Width,
) -> Result<String, std::fmt::Error> {
    let jobs = jobs.map_or(1, NonZeroUsize::get);
    let header = [
        "",
        "runs",
        "at most",
        "done",
        "simulated (h)",
        "data packets (million)",
        "time",
        "time at most",
    ];
    let row = |name: String, cost: &polypath_lab::run::Cost| {
        vec![
            name,
            cost.runs.to_string(),
            cost.most_runs.to_string(),
            cost.done.to_string(),
            format!("{:.2}", cost.simulated_s / 3600.0),
            format!("{:.1}", cost.packets / 1e6),
            duration(cost.time_s(jobs)),
            duration(cost.most_time_s(jobs)),
        ]
    };
    let mut rows = Vec::new();
    let mut sum = polypath_lab::run::Cost::default();
    for paper in costs {
        for (study, cost) in &paper.studies {
            rows.push(row(format!("{}/{}", paper.paper, study.trim_end_matches(".toml")), cost));
        }
        rows.push(row(paper.paper.clone(), &paper.sum));
        sum += paper.sum;
    }
    rows.push(row("all of it".into(), &sum));
    let mut out = Table::new(&header, rows).text(width);
    writeln!(out, "\n  time: estimated by trying some runs, on {}", threads(&sum, jobs))?;
    Ok(out)
}
