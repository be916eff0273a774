//! `polypath reproduce list`.

use std::fmt::Write;

use polypath_lab::paper::Paper;
use polypath_lab::reproduce::{Answer, FigureEntry, PaperEntry, StatementEntry, recorded_table};

use crate::failure::Outcome;
use crate::output;
use crate::table::{Width, wrapped};

/// Maximum width of the text in columns.
const WIDEST: usize = 100;
/// Minimum width of the second column; if there is less room, it is placed below the first one.
const NARROWEST: usize = 28;

/// Prints the recorded verdicts.
pub(super) fn recorded(papers: &[Paper]) -> Outcome {
    output::print(recorded_table(papers).as_bytes())
}

/// Prints the papers with their figures and statements.
pub(super) fn run(papers: &[Paper], json: bool) -> Outcome {
    let papers: Vec<PaperEntry> = papers.iter().map(PaperEntry::of).collect();
    let text = match json {
        true => serde_json::to_string_pretty(&papers)? + "\n",
        false => text(&papers, Width::of_output().at_most(WIDEST))?,
    };
    output::print(text.as_bytes())
}

/// For each paper its figures with the names of their statements, then the studies that no statement rests on.
fn text(papers: &[PaperEntry], width: usize) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let targets = papers.iter().flat_map(|paper| {
        let figures = paper.figures.iter().map(|figure| &figure.target);
        figures.chain(paper.studies.iter().map(|study| &study.target))
    });
    let column = 2 + targets.map(|target| target.chars().count()).max().unwrap_or(0) + 2;
    for paper in papers {
        let title = match paper.title.starts_with(&paper.paper) {
            true => paper.title.clone(),
            false => format!("{}: {}", paper.paper, paper.title),
        };
        writeln!(out, "{}\n", wrapped(&title, width).join("\n"))?;
        for figure in &paper.figures {
            write_row(&mut out, (column, width), &figure.target, &statements(figure))?;
        }
        for study in paper.studies.iter().filter(|study| study.statements == 0) {
            let words = format!("{}: an experiment without statements", study.study);
            write_row(&mut out, (column, width), &study.target, &words)?;
        }
        out.push('\n');
    }
    out += &wrapped(
        "`polypath reproduce` takes a paper, or a name in the left column. The recorded verdict of a statement is in \
         parentheses unless it is `holds`; --json has the texts, rules, studies and verdicts.",
        width,
    )
    .join("\n");
    out.push('\n');
    Ok(out)
}

/// The names of the statements about a figure, and why some are not judged.
fn statements(figure: &FigureEntry) -> String {
    let names = figure.statements.iter().map(|row| match verdict(row) {
        Some(verdict) => format!("{} ({verdict})", row.id),
        None => row.id.clone(),
    });
    let mut text = names.collect::<Vec<_>>().join(", ");
    for reason in figure.statements.iter().filter_map(|row| row.not_run.as_ref()) {
        text += &format!("; {reason}");
    }
    text
}

/// Verdict of a statement, unless it holds.
fn verdict(row: &StatementEntry) -> Option<&'static str> {
    if row.not_run.is_some() {
        return Some(Answer::NotRun.name());
    }
    let recorded = row.recorded.as_ref().map(|recorded| recorded.verdict);
    recorded.filter(|verdict| *verdict != Answer::Holds).map(Answer::name)
}

/// A row of two columns, the second as many lines as it needs.
fn write_row(
    out: &mut String,
    (mut column, width): (usize, usize),
    left: &str,
    right: &str,
) -> std::fmt::Result {
    if width.saturating_sub(column) < NARROWEST {
        writeln!(out, "  {left}")?;
        column = 6;
    }
    let lines = wrapped(right, width.saturating_sub(column).max(20));
    for (number, line) in lines.iter().enumerate() {
        let left = if number == 0 && column > 6 { left } else { "" };
        let row = format!("  {left:<width$}{line}", width = column - 2);
        writeln!(out, "{}", row.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_of_the_project_fit_into_a_terminal() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers");
        let papers = Paper::read_all(std::path::Path::new(folder)).expect("papers");
        let entries: Vec<PaperEntry> = papers.iter().map(PaperEntry::of).collect();
        for width in [60, 80, WIDEST] {
            let text = text(&entries, width).expect("text");
            let longest = text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default();
            assert!(longest.chars().count() <= width, "{longest}");
            for id in papers.iter().flat_map(|paper| paper.expectations.ids()) {
                assert!(text.contains(id), "{id}");
            }
        }
    }
}
