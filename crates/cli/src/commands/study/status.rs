//! `polypath study status`.

use std::fmt::Write as _;
use std::path::PathBuf;

use polypath_lab::run::{Status, Survey, survey};

use crate::failure::Outcome;
use crate::output;
use crate::place::PlaceError;
use crate::time::duration;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
This writes nothing; it can run at any time, on any machine with access to the directory.

Examples:
  polypath study status results
  watch polypath study status results
  polypath study status results --json")]
pub(crate) struct Args {
    /// Directory with the results of the study
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Says how far it is.
pub(crate) fn run(args: &Args) -> Outcome {
    let survey = survey(&args.directory).map_err(PlaceError::into_failure)?;
    let text = match args.json {
        true => serde_json::to_string_pretty(&survey)? + "\n",
        false => text(&survey)?,
    };
    output::answer(args.json, &text)
}

/// A line for each thing that is known.
fn text(survey: &Survey) -> anyhow::Result<String> {
    let mut out = format!("{}\n", survey.title);
    let share = 100.0 * survey.done as f64 / survey.runs.max(1) as f64;
    writeln!(out, "done       {} of {} runs ({share:.1} %)", survey.done, survey.runs)?;
    if !survey.is_planned {
        let note = "by the runs in the directory; those of an earlier form of the study count, too";
        writeln!(out, "counted    {note}")?;
    }
    for (status, what) in [
        (Status::Failed, "with a broken association"),
        (Status::Refused, "refused, without a result"),
        (Status::Crashed, "crashed, without a result"),
        (Status::TimedOut, "over the time limit, without a result"),
    ] {
        if let Some(count) = survey.statuses.get(&status) {
            writeln!(out, "{:<10} {count} {what}", status.name())?;
        }
    }
    let seem = if survey.is_certain { "" } else { " (perhaps: the file system has no locks)" };
    let processes = match survey.processes {
        1 => "1 process".to_owned(),
        count => format!("{count} processes"),
    };
    writeln!(out, "running    {} runs in {processes}{seem}", survey.running)?;
    if let Some(rate) = survey.rate_per_s {
        let (rate, unit) = match rate {
            rate if rate < 0.1 => (rate * 3600.0, "hour"),
            rate if rate < 10.0 => (rate * 60.0, "minute"),
            rate => (rate, "second"),
        };
        writeln!(out, "rate       {rate:.1} runs per {unit}")?;
    }
    writeln!(out, "used       {} on one core", duration(survey.core_s))?;
    if let Some(left) = survey.left_s {
        writeln!(out, "time left  {}", duration(left))?;
    }
    let list = |named: &std::collections::BTreeMap<String, usize>| {
        let texts: Vec<String> =
            named.iter().map(|(name, runs)| format!("{name}: {runs} runs")).collect();
        texts.join(", ")
    };
    if !survey.hosts.is_empty() {
        writeln!(out, "hosts      {}", list(&survey.hosts))?;
        writeln!(out, "program    {}", list(&survey.programs))?;
    }
    if survey.done == survey.runs && survey.processes == 0 && !survey.has_tables {
        writeln!(out, "all runs are there; `polypath study merge` writes the tables")?;
    }
    Ok(out)
}
