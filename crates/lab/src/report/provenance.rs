//! Provenance of results: studies, program and time.

use maud::{Markup, Render, html};

use super::page::{RowKind, TableHtml};
use super::text::duration;
use crate::reproduce::{PaperReport, Report};

/// A row for each study.
pub(super) fn table(report: &Report, paper: &PaperReport) -> Markup {
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
            study.points.render(),
            study.variants.render(),
            study.rows.render(),
            study.new.render(),
            ended.join(", ").render(),
            seed.render(),
            duration(study.core_s).render(),
        ];
        table.row(RowKind::Plain, &html! { code { (study.study) } }, cells);
    }
    let mut programs: Vec<&str> = Vec::new();
    for program in paper.studies.iter().flat_map(|study| &study.programs) {
        if !programs.contains(&program.as_str()) {
            programs.push(program);
        }
    }
    let program = &report.program;
    html! {
        (table.html())
        p {
            "Written by Polypath " (program.version) " (" (program.revision) ") on " (program.host) ". Runs made by "
            (programs.join("; ")) ". They took " (duration(paper.core_s)) " on one core, this command "
            (duration(paper.wall_s)) "."
        }
        "\n"
        p {
            "Each run is named by a hash of its resolved configuration and seed. Beside this page, each study has a folder with "
            code { "runs" } ", " code { "series" } " and " code { "execution" } " as Parquet and CSV, the resolved "
            code { "study.toml" } ", which runs by itself, and its figures as SVG, PDF and PNG with their numbers."
        }
    }
}

/// Studies and runs without results.
pub(super) fn errors(paper: &PaperReport) -> Markup {
    let incomplete = paper.studies.iter().filter(|study| study.rows_without_result() > 0);
    html! {
        @for failure in &paper.failures {
            div.note.error role="note" {
                p { strong { code { (failure.study) } " has no results:" } " " (failure.error) }
            }
        }
        @for study in incomplete {
            div.note.error role="note" {
                p {
                    strong {
                        (study.rows_without_result()) " of " (study.rows) " runs of " code { (study.study) }
                        " have no result:"
                    }
                }
                ul { @for error in &study.errors { li { (error) } } }
            }
        }
    }
}
