//! What was run, by what, and for how long.

use super::page::TableHtml;
use super::text::{duration, escape};
use crate::reproduce::{PaperReport, Report};

/// A line for each study.
pub(super) fn table(report: &Report, paper: &PaperReport) -> String {
    let columns =
        ["Study", "Points", "Curves", "Runs", "of them new", "Ended", "Seed", "Time on one core"];
    let mut table = TableHtml::new("Studies", &columns);
    for study in &paper.studies {
        let ended: Vec<String> = study
            .statuses
            .iter()
            .map(|(status, count)| format!("{count} {}", status.name()))
            .collect();
        let seed = match study.deterministic {
            true => "nothing is random".to_owned(),
            false => study.seed.to_string(),
        };
        let cells = [
            format!("<code>{}</code>", escape(&study.study)),
            study.points.to_string(),
            study.variants.to_string(),
            study.rows.to_string(),
            study.new.to_string(),
            escape(&ended.join(", ")),
            seed,
            duration(study.core_s),
        ];
        table.row("", &cells);
    }
    let mut programs: Vec<&str> = Vec::new();
    for program in paper.studies.iter().flat_map(|study| &study.programs) {
        if !programs.contains(&program.as_str()) {
            programs.push(program);
        }
    }
    let mut html = table.html();
    html += &format!(
        "<p>Written by Polypath {} ({}) on {}. Runs made by {}. They took {} on one core, this command {}.</p>\n",
        escape(&report.program.version),
        escape(&report.program.revision),
        escape(&report.program.host),
        escape(&programs.join("; ")),
        duration(paper.core_s),
        duration(paper.wall_s),
    );
    html += "<p>Each run is named by a hash of its resolved configuration and seed. Beside this page, each study has a folder \
             with <code>runs</code>, <code>series</code> and <code>execution</code> as Parquet and CSV, the resolved \
             <code>study.toml</code>, which runs by itself, and its figures as SVG, PDF and PNG with their numbers.</p>\n";
    html
}

/// What could not be run.
pub(super) fn errors(paper: &PaperReport) -> String {
    let failures: String = paper
        .failures
        .iter()
        .map(|failure| {
            format!(
                "<div class=\"note error\" role=\"note\"><p><strong><code>{}</code> has no results:</strong> {}</p></div>\n",
                escape(&failure.study),
                escape(&failure.error)
            )
        })
        .collect();
    let failed = paper.studies.iter().filter(|study| study.rows_without_result() > 0);
    let runs: String = failed
        .map(|study| {
            let errors: Vec<String> =
                study.errors.iter().map(|error| format!("<li>{}</li>", escape(error))).collect();
            format!(
                "<div class=\"note error\" role=\"note\"><p><strong>{} of {} runs of <code>{}</code> have no result:\
                 </strong></p><ul>{}</ul></div>\n",
                study.rows_without_result(),
                study.rows,
                escape(&study.study),
                errors.concat()
            )
        })
        .collect();
    failures + &runs
}
