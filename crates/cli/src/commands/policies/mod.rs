//! `polypath policies`.

mod catalog;
mod pages;

use anyhow::anyhow;

use self::catalog::Catalog;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::suggestion::nearest;
use crate::table::Width;
use polypath::Preset;
use polypath::config::POLICY_KEYS;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath policies
  polypath policies retransmission
  polypath policies path_order congestion
  polypath policies recommended
  polypath policies cmt rto
  polypath policies --json")]
pub(crate) struct Args {
    /// Only keys that begin with this text or have it as a part; with the name of a preset, what it sets
    #[arg(value_name = "KEY|PRESET")]
    names: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the page of the documentation
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// Lists the policies, their values, and the values that presets set.
pub(crate) fn run(args: &Args) -> Outcome {
    // As `--set` has them.
    let names = args.names.iter().map(|name| name.strip_prefix("policies.").unwrap_or(name));
    let (presets, keys): (Vec<_>, Vec<_>) =
        names.partition(|name| Preset::from_name(name).is_some());
    let catalog = Catalog::new(|key| asked_for(key, &keys))?;
    if catalog.policies.is_empty() {
        return Err(Failure::usage(nothing_found(&keys)));
    }
    let mut text = match (args.json, args.markdown) {
        (true, _) => serde_json::to_string_pretty(&catalog.of(&presets))?,
        (_, true) => pages::markdown(&catalog),
        _ if presets.is_empty() => pages::terminal(&catalog, Width::of_output()),
        _ => pages::presets(&catalog, &presets, Width::of_output()),
    };
    if args.json {
        text.push('\n');
    }
    output::print(text.as_bytes())
}

fn asked_for(key: &str, wanted: &[&str]) -> bool {
    wanted.is_empty()
        || wanted
            .iter()
            .any(|wanted| key.starts_with(wanted) || key.split('.').any(|part| part == *wanted))
}

fn nothing_found(wanted: &[&str]) -> anyhow::Error {
    // A name can be a key, the beginning or a part of one, or a preset.
    let words = || {
        let keys = POLICY_KEYS.iter().flat_map(|policy| {
            let beginnings = policy.key.match_indices('.').map(|(dot, _)| &policy.key[..dot]);
            let words = policy.key.split('.').chain(beginnings).chain([policy.key]);
            words.map(|word| (word, word))
        });
        keys.chain(Preset::ALL.iter().map(|preset| (preset.name(), preset.name())))
    };
    let hint = match wanted.iter().find_map(|wanted| nearest(wanted, words())) {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => "`polypath policies` lists them all".to_owned(),
    };
    anyhow!("there is no policy or preset '{}'; {hint}", wanted.join(" "))
}
