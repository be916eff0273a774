//! `polypath policies`.

mod catalog;
mod pages;

use anyhow::anyhow;

use self::catalog::Catalog;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::suggestion::nearest;
use crate::table::Width;
use polypath::config::POLICY_KEYS;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath policies
  polypath policies retransmission
  polypath policies path_order congestion
  polypath policies --json")]
pub(crate) struct Args {
    /// Only keys that contain this text
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the page of the documentation
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// Lists the policies, their values, and what the presets make of them.
pub(crate) fn run(args: &Args) -> Outcome {
    let catalog = Catalog::new(|key| asked_for(key, &args.keys))?;
    if catalog.policies.is_empty() {
        return Err(Failure::usage(nothing_found(&args.keys)));
    }
    let mut text = match (args.json, args.markdown) {
        (true, _) => serde_json::to_string_pretty(&catalog)?,
        (_, true) => pages::markdown(&catalog),
        _ => pages::terminal(&catalog, Width::of_output()),
    };
    if args.json {
        text.push('\n');
    }
    output::print(text.as_bytes())
}

fn asked_for(key: &str, wanted: &[String]) -> bool {
    wanted.is_empty()
        || wanted
            .iter()
            .any(|wanted| key.starts_with(wanted.as_str()) || key.split('.').any(|p| p == wanted))
}

fn nothing_found(wanted: &[String]) -> anyhow::Error {
    // What is asked for may be a key, the beginning of one, or a part.
    let words = || {
        POLICY_KEYS.iter().flat_map(|policy| {
            let beginnings = policy.key.match_indices('.').map(|(dot, _)| &policy.key[..dot]);
            let words = policy.key.split('.').chain(beginnings).chain([policy.key]);
            words.map(|word| (word, word))
        })
    };
    let hint = match wanted.iter().find_map(|wanted| nearest(wanted, words())) {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => "`polypath policies` lists them all".to_owned(),
    };
    anyhow!("there is no policy '{}'; {hint}", wanted.join(" "))
}
