//! The table of verdicts.

use maud::{Markup, Render, html};

use super::page::{RowKind, TableHtml};
use super::plot;
use super::text::{NO_BREAK, interval, number, percent, unbroken};
use crate::reproduce::{Answer, Row};
use crate::verdict::{PlaceJudgement, RELATIVE, not_enough};

/// An answer as a badge, distinguished by colour, border and symbol.
fn badge(answer: Answer, text: &str) -> Markup {
    let (class, sign) = match answer {
        Answer::Holds => ("holds", "✓"),
        Answer::Differs => ("differs", "✗"),
        Answer::Undecided => ("undecided", "?"),
        Answer::NotRun => ("not-run", "–"),
    };
    html! {
        span class={ "verdict " (class) } { span aria-hidden="true" { (sign) } " " (text) }
    }
}

/// Number of statements with each answer.
pub(super) fn counts<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> Markup {
    let count = |answer| rows.clone().filter(|row| row.verdict == answer).count();
    let counted = Answer::ALL.map(|answer| (answer, count(answer)));
    html! {
        ul.counts aria-label="Verdicts" {
            @for (answer, count) in counted.into_iter().filter(|(_, count)| *count > 0) {
                li { (badge(answer, &format!("{count} {}", answer.name()))) }
            }
        }
    }
}

/// Every statement with its verdict.
///
/// `extent` is the option of the command that runs a statement.
pub(super) fn table(rows: &[Row], extent: &str) -> Markup {
    if rows.is_empty() {
        return Markup::default();
    }
    let columns =
        ["Figure", "Statement", "Verdict", "Measured", "95 % interval", "Expected", "Rule", "n"];
    let caption = "Statements of the paper, and whether they hold here. In a plot, each point is a comparison with its \
                   95 % interval; the claimed range is shaded";
    let mut table = TableHtml::stacked(caption, &columns);
    for row in rows {
        let format = if row.unit == RELATIVE { percent } else { number };
        let dash = || "–".to_owned();
        let cells = [
            words(row, format, extent),
            badge(row.verdict, row.verdict.name()),
            row.measured.map_or_else(dash, |value| with_unit(format(value), &row.unit)).render(),
            row.interval.map_or_else(dash, |range| interval(range, format)).render(),
            row.expected.as_deref().map_or_else(dash, unbroken).render(),
            row.rule.unwrap_or("–").render(),
            row.n.render(),
        ];
        table.row(RowKind::Target(&row.id), &row.figure, cells);
    }
    table.html()
}

/// The values that decide a statement: the measured value, its interval, the place and the expectation.
pub(super) fn deciding(row: &Row) -> Markup {
    let (Some(measured), Some(expected)) = (row.measured, &row.expected) else {
        return Markup::default();
    };
    let format = if row.unit == RELATIVE { percent } else { number };
    html! {
        br;
        "Decided by " (with_unit(format(measured), &row.unit))
        @if let Some(range) = row.interval { " (" (interval(range, format)) ")" }
        @if let Some(place) = &row.place { " at " (place) }
        "; expected: " (unbroken(expected)) "."
    }
}

/// The statement, the cause of a difference, the command that runs it alone, and all compared places.
fn words(row: &Row, format: fn(f64) -> String, extent: &str) -> Markup {
    let label = match row.verdict {
        Answer::NotRun => "Why not",
        Answer::Undecided => "If it differs, why",
        Answer::Holds | Answer::Differs => "Why it differs",
    };
    html! {
        (row.statement) " " code { (row.id) }
        @if let Some(cause) = &row.cause {
            span.cause { strong { (label) ":" } " " (cause) (experiments(&row.shown_by)) }
        }
        @if row.verdict == Answer::Undecided && !row.places.is_empty() {
            " " small { (not_enough(&row.places)) }
        }
        (plot::of(row, format))
        @if row.study.is_some() { (command(row, extent)) }
        @if row.places.len() > 1 { (comparisons(&row.places, format)) }
    }
}

/// The command that runs and judges this statement alone.
fn command(row: &Row, extent: &str) -> Markup {
    html! {
        details {
            summary { "Run just this" }
            pre { "polypath reproduce " (row.paper) "/" (row.id) " --" (extent) }
        }
    }
}

/// All compared places with their estimates.
fn comparisons(places: &[PlaceJudgement], format: fn(f64) -> String) -> Markup {
    html! {
        details {
            summary { (places.len()) " comparisons" }
            ul {
                @for place in places {
                    li {
                        (place.what) ": "
                        @if let Some(found) = place.estimate {
                            (format(found.value)) " (" (interval(found.interval, format)) ")"
                        } @else {
                            "no run has a number"
                        }
                        " – " (Answer::from(place.verdict).name())
                    }
                }
            }
        }
    }
}

/// Experiments that show a cause: statements, with links to their rows, and studies.
fn experiments(names: &[String]) -> Markup {
    html! {
        @if !names.is_empty() {
            " Shown by "
            @for (number, name) in names.iter().enumerate() {
                @if number > 0 { ", " }
                @if name.ends_with(".toml") {
                    code { (name) }
                } @else {
                    a href={ "#" (name) } { (name) }
                }
            }
            "."
        }
    }
}

/// A number with its unit; fractions are already percentages.
fn with_unit(number: String, unit: &str) -> String {
    match unit {
        "" | RELATIVE => number,
        unit => format!("{number}{NO_BREAK}{unit}"),
    }
}
