//! `polypath study run --until-decided`.

use std::path::Path;

use anyhow::anyhow;
use polypath_lab::results::Dataset;
use polypath_lab::run::{Request, Summary};
use polypath_lab::sampling::{Sampled, SamplingError, run_until_decided};
use polypath_lab::study::Study;
use polypath_lab::verdict::{Expectations, Statement, judge};
use polypath_sim::document::Document;

use crate::commands::caps::CapArgs;
use crate::failure::Failure;
use crate::kind::Kind;
use crate::output;
use crate::place::PlaceError;

/// The statements of a file that are about a study.
pub(super) fn statements(
    file: &Path,
    path: &Path,
    study: &Study,
) -> Result<Vec<Statement>, Failure> {
    Kind::Statements.expect(file)?;
    let document = Document::read(file).map_err(Failure::usage)?;
    let expectations = Expectations::from_document(&document).map_err(Failure::usage)?;
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_meant =
        |statement: &Statement| place(&file.with_file_name(&statement.study)) == place(path);
    let (about, others): (Vec<Statement>, Vec<Statement>) =
        expectations.statements.into_iter().partition(is_meant);
    if about.is_empty() {
        let mut studies: Vec<String> =
            others.into_iter().map(|statement| statement.study).collect();
        studies.dedup();
        return Err(Failure::usage(anyhow!(
            "--until-decided {}: no statement is about {}; there are some about {}",
            file.display(),
            path.display(),
            studies.join(", ")
        )));
    }
    let nothing = Dataset::empty(study.clone());
    let (possible, impossible): (Vec<_>, Vec<_>) = about
        .into_iter()
        .map(|statement| (judge(&statement, "", &nothing).err(), statement))
        .partition(|(error, _)| error.is_none());
    for (error, _) in impossible {
        output::tell(format_args!(
            "left out: {}",
            error.map_or_else(String::new, |e| e.to_string())
        ));
    }
    Ok(possible.into_iter().map(|(_, statement)| statement).collect())
}

/// Runs the study until they are decided.
pub(super) fn run(
    study: &Study,
    statements: &[Statement],
    out: &Path,
    request: &Request<'_>,
    caps: CapArgs,
) -> Result<Summary, Failure> {
    let statements: Vec<&Statement> = statements.iter().collect();
    let sampled = run_until_decided(study, &statements, out, request, caps.caps());
    let Sampled { summary, ended, undecided } = sampled.map_err(|error| match error {
        SamplingError::Run(error) => error.into_failure(),
        SamplingError::Results(error) => error.into_failure(),
    })?;
    let open = match &undecided[..] {
        [] => String::new(),
        ids => format!("; not decided: {}", ids.join(", ")),
    };
    let count = statements.len();
    output::tell(format_args!("statements: {count}; {}{open}", caps.reason(ended)));
    Ok(summary)
}
