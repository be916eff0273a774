//! `polypath doctor`.

use anyhow::anyhow;
use clap::ValueEnum;

use crate::doctor::{Check, Verdict, examine};
use crate::failure::{Failure, Outcome};
use crate::{doctor, output};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A check fails if every use of Polypath needs it; the others warn, unless --require names them. Exit code 5: a check failed. Nothing is sent to other machines, and nothing is changed.

Examples:
  polypath doctor
  polypath doctor --require raw,tun
  polypath doctor --json")]
pub(crate) struct Args {
    /// Checks whose warnings count as failures, separated by commas
    #[arg(long, value_name = "CHECK", value_delimiter = ',')]
    require: Vec<Check>,
    /// Print the findings as one line of JSON
    #[arg(long)]
    json: bool,
}

/// Examines the machine.
pub(crate) fn run(args: &Args) -> Outcome {
    let findings: Vec<_> = Check::value_variants()
        .iter()
        .map(|&check| {
            let finding = examine(check);
            if args.require.contains(&check) { finding.required() } else { finding }
        })
        .collect();
    let text = if args.json { doctor::to_json(&findings)? } else { doctor::to_text(&findings) };
    output::answer(args.json, &text)?;
    let failed: Vec<_> = findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Fail)
        .map(|finding| finding.check.name())
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Unfit(anyhow!("this machine lacks something: {}", failed.join(", "))))
}
