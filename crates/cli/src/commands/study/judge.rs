//! `polypath study judge`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use polypath_lab::results::Dataset;
use polypath_lab::verdict::{Expectations, Judgement, Verdict, judge, not_enough};
use polypath_sim::document::{Document, Step, nearest};

use crate::failure::{Failure, Outcome};
use crate::kind::Kind;
use crate::output;
use crate::place::PlaceError;
use crate::report::{decided_at, measured};
use crate::table::{Table, Width};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath study judge studies/asymmetry-expected.toml results
  polypath study judge expected.toml results --study fig4a.toml --json")]
pub(crate) struct Args {
    /// File with statements
    #[arg(value_name = "STATEMENTS.toml")]
    statements: PathBuf,
    /// Directory with results
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Only statements about this study; default: all that these results can answer
    #[arg(long, value_name = "STUDY.toml")]
    study: Option<String>,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Judges them.
pub(crate) fn run(args: &Args) -> Outcome {
    Kind::Statements.expect(&args.statements)?;
    let document = Document::read(&args.statements).map_err(Failure::usage)?;
    let expectations = Expectations::from_document(&document).map_err(Failure::usage)?;
    let only = match &args.study {
        Some(study) => Some(known(study, &args.statements, &expectations)?),
        None => None,
    };
    let data = Dataset::read(&args.results).map_err(PlaceError::into_failure)?;
    let meant = |study: &str| only.is_none_or(|only| only == study);
    let (mut judgements, mut foreign) = (Vec::new(), Vec::new());
    let statements = expectations.statements.iter().enumerate();
    for (index, statement) in statements.filter(|(_, statement)| meant(&statement.study)) {
        let title = title_beside(&args.statements, &statement.study);
        let other = title.filter(|title| args.study.is_none() && title != data.study().title());
        let judged = match other {
            None => judge(statement, &expectations.paper, &data).map_err(|error| error.to_string()),
            Some(title) => Err(format!(
                "that study is `{title}`, and these are results of `{}`; --study judges them all the same",
                data.study().title()
            )),
        };
        match judged {
            Ok(judgement) => judgements.push(judgement),
            Err(error) => {
                let path = [Step::Key("statements"), Step::Index(index)];
                foreign.push((&statement.study, document.complain(&path, error)));
            }
        }
    }
    // Results know only the title of their study. Without --study, statements about one with another title, or that ask for what
    // these do not have, are about another one; but if all of them are, something is wrong.
    if let Some((_, error)) = foreign.pop_if(|_| args.study.is_some() || judgements.is_empty()) {
        return Err(Failure::usage(error));
    }
    for (study, error) in foreign {
        output::tell(format_args!("not judged, for {study}: {error}"));
    }
    let text = if args.json {
        serde_json::to_string_pretty(&judgements)? + "\n"
    } else {
        table(&judgements, Width::of_output())
    };
    output::answer(args.json, &text)
}

/// The study that is meant: statements name studies by their paths from where they lie themselves, users from where they are.
fn known<'a>(
    study: &str,
    statements: &Path,
    expectations: &'a Expectations,
) -> Result<&'a str, Failure> {
    let names: BTreeSet<&str> =
        expectations.statements.iter().map(|statement| statement.study.as_str()).collect();
    let is_meant =
        |name: &str| name == study || statements.with_file_name(name) == Path::new(study);
    if let Some(name) = names.iter().find(|name| is_meant(name)) {
        return Ok(name);
    }
    let meant = nearest(study, names.iter().copied());
    let meant = meant.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let all: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    Err(Failure::usage(anyhow!(
        "--study {study}: no statement is about it{meant} (statements are about {})",
        all.join(", ")
    )))
}

/// Title of a study that lies beside the statements; nothing where it cannot be read.
fn title_beside(statements: &Path, study: &str) -> Option<String> {
    let document = Document::read(&statements.with_file_name(study)).ok()?;
    Some(document.to_value().get("title")?.as_str()?.to_owned())
}

fn table(judgements: &[Judgement], width: Width) -> String {
    let header = ["statement", "verdict", "measured", "interval", "expected", "n"];
    let row = |judgement: &Judgement| {
        let number = |number: f64| measured(number, &judgement.unit);
        let interval = judgement.interval.filter(|interval| interval.half_width().is_finite());
        vec![
            judgement.id.clone(),
            judgement.verdict.name().to_owned(),
            judgement.measured.map_or("-".into(), number),
            interval.map_or("-".into(), |i| format!("{} to {}", number(i.low), number(i.high))),
            judgement.expected.clone(),
            judgement.n.to_string(),
        ]
    };
    let mut out = Table::new(&header, judgements.iter().map(row)).text(width);
    for judgement in judgements {
        out += &format!("\n  {}: {}", judgement.id, judgement.statement);
        if let Some(place) = &judgement.place
            && judgement.verdict != Verdict::Holds
        {
            let verdict = judgement.verdict;
            let count = judgement.places.iter().filter(|place| place.verdict == verdict).count();
            let all = judgement.places.len();
            out += &decided_at(verdict.name(), place, (count, all));
        }
        if judgement.verdict == Verdict::Undecided {
            out += &format!("\n    {}", not_enough(&judgement.places));
        }
        if let Some(cause) = &judgement.cause {
            out += &format!("\n    {cause}");
        }
    }
    out + "\n"
}
