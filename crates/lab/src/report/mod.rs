//! Reports as HTML: each page is a self-contained file.

mod comparison;
mod files;
mod page;
mod pictures;
mod plot;
mod prose;
mod provenance;
mod text;
mod verdicts;

pub use files::{Written, page_of};

use std::io;

use maud::{Markup, Render, html};

use crate::paper::slug;
use crate::reproduce::{Answer, PaperReport, Report, Row};
use page::{Page, RowKind, TableHtml};
use text::duration;

/// The page of a paper. `words` is its README.
///
/// # Errors
/// A picture cannot be read.
pub fn paper_page(report: &Report, paper: &PaperReport, words: &str) -> io::Result<String> {
    let title = match &paper.figure {
        Some(id) if paper.statements.iter().any(|row| slug(&row.id) == *id) => {
            format!("{}, statement {id}", paper.title)
        }
        Some(figure) => format!("{}, figure {figure}", paper.title),
        None => paper.title.clone(),
    };
    let mut page = Page::new(&title);
    let explanations = "What differs, and why";
    let [before, behind] = prose::split(words, explanations);
    let verdicts = html! {
        (provenance::errors(paper))
        (verdicts::table(&paper.statements, report.extent))
    };
    page.section("verdicts", "Verdicts", verdicts);
    page.section("claims", "The paper, and how it is rebuilt here", before);
    page.section("pictures", "Pictures", pictures::all(&paper.studies)?);
    page.section("comparison", "Beside other tools", comparison::tables(&paper.references));
    page.section("explanations", explanations, behind);
    page.section("provenance", "Where this comes from", provenance::table(report, paper));
    Ok(page.html(&lead(report, paper.statements.iter()), &foot(report)))
}

/// The page over all papers, with links to theirs: key and file of each.
pub fn index_page(report: &Report, files: &[(&str, String)]) -> String {
    let mut page = Page::new("Multipath SCTP: five papers, figure by figure");
    let mut columns = vec!["Paper"];
    columns.extend(Answer::ALL.iter().map(|answer| answer.name()));
    columns.extend(["Runs", "Time on one core", "This time"]);
    let mut table = TableHtml::new("Papers", &columns);
    for (paper, (_, file)) in report.papers.iter().zip(files) {
        let count =
            |answer| paper.statements.iter().filter(|row| row.verdict == answer).count().render();
        let runs = paper.studies.iter().map(|study| study.rows).sum::<usize>();
        let times = [paper.core_s, paper.wall_s].map(|time| duration(time).render());
        let cells = Answer::ALL.into_iter().map(count).chain([runs.render()]).chain(times);
        let name = html! { a href=(file) { (paper.title) } };
        table.row(RowKind::Plain, &name, cells);
    }
    let papers = html! {
        @for paper in &report.papers { (provenance::errors(paper)) }
        (table.html())
    };
    page.section("papers", "Papers", papers);
    for answer in [Answer::Differs, Answer::Undecided, Answer::NotRun, Answer::Holds] {
        let title = match answer {
            Answer::Differs => "What differs",
            Answer::Undecided => "What needs more runs",
            Answer::NotRun => "What was not run",
            Answer::Holds => "What holds",
        };
        page.section(answer.name().replace(' ', "-").as_str(), title, list(report, files, answer));
    }
    let rows = report.papers.iter().flat_map(|paper| &paper.statements);
    page.html(&lead(report, rows), &foot(report))
}

/// All statements with an answer, with links into the pages of the papers.
fn list(report: &Report, files: &[(&str, String)], answer: Answer) -> Markup {
    let item = |file: &str, row: &Row| {
        html! {
            li {
                a href={ (file) "#" (row.id) } { (row.id) }
                " (figure " (row.figure) "): " (row.statement)
                (verdicts::deciding(row))
                @if let Some(cause) = &row.cause { br; (cause) }
            }
        }
    };
    html! {
        @for (paper, (_, file)) in report.papers.iter().zip(files) {
            @let rows: Vec<&Row> =
                paper.statements.iter().filter(|row| row.verdict == answer).collect();
            @if !rows.is_empty() {
                h3 { (paper.title) }
                ul { @for row in rows { (item(file, row)) "\n" } }
            }
        }
    }
}

/// Content below the title: caveats about the numbers, and the number of statements with each answer.
fn lead<'a>(report: &Report, rows: impl Iterator<Item = &'a Row> + Clone) -> Markup {
    html! {
        @if report.extent == "quick" {
            p.note {
                "This is the " strong { "quick" } " form: few runs, fewer points, short times. The verdicts are made by the \
                 same rules, so more of them are undecided; counts and means over other times than those of the paper are \
                 not comparable with other tools' in full."
            }
        }
        @if !report.complete {
            p.note.error { "This was interrupted: studies are missing. The same command resumes." }
        }
        (verdicts::counts(rows))
    }
}

fn foot(report: &Report) -> Markup {
    html! {
        "Polypath " (report.program.version) " (" (report.program.revision) "), "
        code { "polypath reproduce " (report.target) " --" (report.extent) }
    }
}

#[cfg(test)]
pub(crate) mod tests;
