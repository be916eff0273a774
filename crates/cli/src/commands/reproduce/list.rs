//! `polypath reproduce list`.

use polypath_lab::paper::{Paper, slug};
use polypath_lab::reproduce::recorded_table;
use serde_json::json;

use crate::failure::Outcome;
use crate::output;
use crate::report::write_table;

/// Says what was recorded of the verdicts.
pub(super) fn recorded(papers: &[Paper]) -> Outcome {
    output::print(recorded_table(papers).as_bytes())
}

/// Says which papers there are, with their studies and statements.
pub(super) fn run(papers: &[Paper], json: bool) -> Outcome {
    let text = if json {
        let papers: Vec<_> = papers.iter().map(as_json).collect();
        serde_json::to_string_pretty(&papers)? + "\n"
    } else {
        table(papers)?
    };
    output::print(text.as_bytes())
}

/// The figures that a study has statements about.
fn figures<'a>(paper: &'a Paper, study: &str) -> Vec<&'a str> {
    let mut figures = Vec::new();
    for statement in paper.expectations.statements.iter().filter(|s| s.study == study) {
        if !figures.contains(&statement.figure.as_str()) {
            figures.push(&statement.figure);
        }
    }
    figures
}

fn as_json(paper: &Paper) -> serde_json::Value {
    let statements = &paper.expectations.statements;
    let studies: Vec<_> = paper
        .studies
        .iter()
        .map(|study| {
            let count = statements.iter().filter(|s| s.study == *study).count();
            json!({ "study": study, "figures": figures(paper, study), "statements": count })
        })
        .collect();
    json!({
        "paper": paper.key(),
        "title": paper.title(),
        "studies": studies,
        "not_run": paper.expectations.not_run,
    })
}

fn table(papers: &[Paper]) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    for paper in papers {
        out += &format!("{}\n\n", paper.title());
        let statements = &paper.expectations.statements;
        let mut rows: Vec<Vec<String>> = paper
            .studies
            .iter()
            .map(|study| {
                let name = slug(study.trim_end_matches(".toml"));
                let count = statements.iter().filter(|s| s.study == *study).count();
                let figures = figures(paper, study).join("; ");
                vec![format!("{}/{name}", paper.key()), count.to_string(), figures]
            })
            .collect();
        rows.extend(paper.expectations.not_run.iter().map(|row| {
            vec![
                format!("{}/{}", paper.key(), slug(&row.figure)),
                "-".into(),
                format!("not run: {}", row.reason),
            ]
        }));
        write_table(&mut out, &["polypath reproduce", "statements", "figures"], rows)?;
        out.push('\n');
    }
    Ok(out)
}
