//! Reports as HTML: each page is one file that needs nothing else.

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

use crate::paper::slug;
use crate::reproduce::{Answer, PaperReport, Report, Row};
use page::{Page, TableHtml};
use text::{duration, escape};

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
    let [before, behind] = prose::split(words);
    page.section(
        "verdicts",
        "Verdicts",
        &(provenance::errors(paper) + &verdicts::table(&paper.statements, report.extent)),
    );
    page.section("claims", "The paper, and how it is rebuilt here", &before);
    page.section("pictures", "Pictures", &pictures::all(&paper.studies)?);
    page.section("comparison", "Beside other tools", &comparison::tables(&paper.references));
    page.section("explanations", "What comes out differently, and why", &behind);
    page.section("provenance", "Where this comes from", &provenance::table(report, paper));
    let lead = extent_note(report) + &verdicts::counts(paper.statements.iter());
    Ok(page.html(&lead, &foot(report)))
}

/// The page over all papers, with links to theirs: key and file of each.
pub fn index_page(report: &Report, files: &[(&str, String)]) -> String {
    let mut page = Page::new("Multipath SCTP: five papers, figure by figure");
    let mut columns = vec!["Paper"];
    columns.extend(Answer::ALL.iter().map(|answer| answer.name()));
    columns.extend(["Runs", "Time on one core", "This time"]);
    let mut table = TableHtml::new("Papers", &columns);
    for (paper, (_, file)) in report.papers.iter().zip(files) {
        let mut cells = vec![format!("<a href=\"{}\">{}</a>", escape(file), escape(&paper.title))];
        for answer in Answer::ALL {
            let count = paper.statements.iter().filter(|row| row.verdict == answer).count();
            cells.push(count.to_string());
        }
        cells.push(paper.studies.iter().map(|study| study.rows).sum::<usize>().to_string());
        cells.extend([duration(paper.core_s), duration(paper.wall_s)]);
        table.row("", &cells);
    }
    let errors: String = report.papers.iter().map(provenance::errors).collect();
    page.section("papers", "Papers", &(errors + &table.html()));
    for answer in [Answer::Differs, Answer::Undecided, Answer::NotRun, Answer::Holds] {
        let title = match answer {
            Answer::Differs => "What differs",
            Answer::Undecided => "What needs more runs",
            Answer::NotRun => "What was not run",
            Answer::Holds => "What holds",
        };
        page.section(answer.name().replace(' ', "-").as_str(), title, &list(report, files, answer));
    }
    let rows = report.papers.iter().flat_map(|paper| &paper.statements);
    page.html(&(extent_note(report) + &verdicts::counts(rows)), &foot(report))
}

/// All statements with an answer, with links into the pages of the papers.
fn list(report: &Report, files: &[(&str, String)], answer: Answer) -> String {
    let mut html = String::new();
    for (paper, (_, file)) in report.papers.iter().zip(files) {
        let rows: Vec<&Row> = paper.statements.iter().filter(|row| row.verdict == answer).collect();
        if rows.is_empty() {
            continue;
        }
        html += &format!("<h3>{}</h3>\n<ul>\n", escape(&paper.title));
        for row in rows {
            let cause = row.cause.as_deref().map(|cause| format!("<br>{}", escape(cause)));
            html += &format!(
                "<li><a href=\"{}#{}\">{}</a> (figure {}): {}{}{}</li>\n",
                escape(file),
                escape(&row.id),
                escape(&row.id),
                escape(&row.figure),
                escape(&row.statement),
                verdicts::deciding(row),
                cause.unwrap_or_default()
            );
        }
        html += "</ul>\n";
    }
    html
}

/// What a reader has to know of the numbers first.
fn extent_note(report: &Report) -> String {
    let mut html = String::new();
    if report.extent == "quick" {
        html += "<p class=\"note\">This is the <strong>quick</strong> form: few runs, fewer points, short times. The verdicts are \
                 made by the same rules, so more of them are undecided; counts and means over other times than those of \
                 the paper are not comparable with other tools' in full.</p>\n";
    }
    if !report.complete {
        html += "<p class=\"note error\">This was interrupted: studies are missing. The same command resumes.</p>\n";
    }
    html
}

fn foot(report: &Report) -> String {
    format!(
        "Polypath {} ({}), <code>polypath reproduce {} --{}</code>",
        escape(&report.program.version),
        escape(&report.program.revision),
        escape(&report.target),
        report.extent
    )
}

#[cfg(test)]
pub(crate) mod tests;
