//! The table of verdicts.

use super::page::TableHtml;
use super::plot;
use super::text::{escape, interval, number, percent};
use crate::reproduce::{Answer, Row};
use crate::verdict::{RELATIVE, not_enough};

/// How an answer looks: in colour, by its border, and as a sign.
pub(super) fn badge(answer: Answer, text: &str) -> String {
    let (class, sign) = match answer {
        Answer::Holds => ("holds", "✓"),
        Answer::Differs => ("differs", "✗"),
        Answer::Undecided => ("undecided", "?"),
        Answer::NotRun => ("not-run", "–"),
    };
    format!(
        "<span class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> {}</span>",
        escape(text)
    )
}

/// How many statements hold, differ, are undecided or not run.
pub(super) fn counts<'a>(rows: impl Iterator<Item = &'a Row> + Clone) -> String {
    let items = Answer::ALL.iter().filter_map(|answer| {
        let count = rows.clone().filter(|row| row.verdict == *answer).count();
        let text = format!("{count} {}", answer.name());
        (count > 0).then(|| format!("<li>{}</li>", badge(*answer, &text)))
    });
    format!("<ul class=\"counts\" aria-label=\"Verdicts\">{}</ul>\n", items.collect::<String>())
}

/// Every statement with its verdict.
///
/// `extent` is the option of the command that runs a statement.
pub(super) fn table(rows: &[Row], extent: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let columns =
        ["Figure", "Statement", "Verdict", "Measured", "95 % interval", "Expected", "Rule", "n"];
    let mut table = TableHtml::new("Statements of the paper, and whether they hold here", &columns);
    for row in rows {
        let format = if row.unit == RELATIVE { percent } else { number };
        let dash = || "–".to_owned();
        let cells = [
            escape(&row.figure),
            words(row, format, extent),
            badge(row.verdict, row.verdict.name()),
            row.measured.map_or_else(dash, |value| escape(&with_unit(format(value), &row.unit))),
            row.interval.map_or_else(dash, |range| interval(range, format)),
            row.expected.as_deref().map_or_else(dash, escape),
            row.rule.map_or_else(dash, escape),
            row.n.to_string(),
        ];
        table.row(&format!(" id=\"{}\"", escape(&row.id)), &cells);
    }
    table.html()
}

/// What decides a statement: the number, its interval, the place and what is expected.
pub(super) fn deciding(row: &Row) -> String {
    let (Some(measured), Some(expected)) = (row.measured, &row.expected) else {
        return String::new();
    };
    let format = if row.unit == RELATIVE { percent } else { number };
    let range = row.interval.map(|range| format!(" ({})", interval(range, format)));
    let place = row.place.as_deref().map(|place| format!(" at {place}"));
    format!(
        "<br>Decided by {}{}{}; expected: {}.",
        escape(&with_unit(format(measured), &row.unit)),
        escape(&range.unwrap_or_default()),
        escape(&place.unwrap_or_default()),
        escape(expected)
    )
}

/// The statement, why it differs, how to run just it, and every place that was looked at.
fn words(row: &Row, format: fn(f64) -> String, extent: &str) -> String {
    let mut html = format!("{} <code>{}</code>", escape(&row.statement), escape(&row.id));
    if let Some(cause) = &row.cause {
        let label = match row.verdict {
            Answer::NotRun => "Why not",
            Answer::Undecided => "If it differs, why",
            Answer::Holds | Answer::Differs => "Why it differs",
        };
        html += &format!(
            "<span class=\"cause\"><strong>{label}:</strong> {}{}</span>",
            escape(cause),
            experiments(&row.shown_by)
        );
    }
    if row.verdict == Answer::Undecided && !row.places.is_empty() {
        html += &format!(" <small>{}</small>", escape(&not_enough(&row.places)));
    }
    html += &plot::of(row, format);
    html += &command(row, extent);
    if row.places.len() > 1 {
        html += &format!("<details><summary>{} comparisons</summary><ul>", row.places.len());
        for place in &row.places {
            let found = place.estimate.map_or_else(
                || "no run has a number".into(),
                |e| format!("{} ({})", format(e.value), interval(e.interval, format)),
            );
            let answer = Answer::from(place.verdict).name();
            html += &format!("<li>{}: {} – {answer}</li>", escape(&place.what), escape(&found));
        }
        html += "</ul></details>";
    }
    html
}

/// The command that runs what a statement needs, and judges it alone.
fn command(row: &Row, extent: &str) -> String {
    if row.study.is_none() {
        return String::new();
    }
    format!(
        "<details><summary>Run just this</summary><pre>polypath reproduce {}/{} --{}</pre></details>",
        escape(&row.paper),
        escape(&row.id),
        escape(extent)
    )
}

/// What shows a cause: statements with links to their rows, and studies.
fn experiments(names: &[String]) -> String {
    let name = |name: &String| {
        let name = escape(name);
        match name.ends_with(".toml") {
            true => format!("<code>{name}</code>"),
            false => format!("<a href=\"#{name}\">{name}</a>"),
        }
    };
    let names: Vec<String> = names.iter().map(name).collect();
    if names.is_empty() { String::new() } else { format!(" Shown by {}.", names.join(", ")) }
}

/// A number with its unit; parts are per cent already.
fn with_unit(number: String, unit: &str) -> String {
    match unit {
        "" | RELATIVE => number,
        unit => format!("{number} {unit}"),
    }
}
