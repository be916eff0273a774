//! `polypath completions`.

use anyhow::{Context, anyhow};
use clap_complete::Shell;
use clap_complete::env::Shells;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The script asks the program for completions, among them the keys of --set and the presets, so it stays correct after an
update.

Examples:
  polypath completions bash > ~/.local/share/bash-completion/completions/polypath
  polypath completions zsh > ~/.zfunc/_polypath
  polypath completions fish > ~/.config/fish/completions/polypath.fish")]
pub(crate) struct Args {
    /// The shell [default: the current one]
    shell: Option<Shell>,
}

/// Environment variable in which the script passes what to complete.
pub(crate) const VARIABLE: &str = "POLYPATH_COMPLETE";

/// Prints the script.
pub(crate) fn run(args: &Args) -> Outcome {
    let (shells, wanted) = (Shells::builtins(), args.shell.or_else(Shell::from_env));
    let wanted = wanted.map(|shell| shell.to_string());
    let Some(shell) = wanted.as_deref().and_then(|name| shells.completer(name)) else {
        let names: Vec<&str> = shells.names().collect();
        return Err(Failure::usage(anyhow!("name the shell: {}", names.join(", "))));
    };
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, "polypath", "polypath", "polypath", &mut script)
        .context("cannot write the script")?;
    output::print(&script)
}
