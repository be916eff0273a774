//! `polypath completions`.

use anyhow::anyhow;
use clap::ValueEnum;
use clap_complete::Shell;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath completions bash > ~/.local/share/bash-completion/completions/polypath
  polypath completions zsh > ~/.zfunc/_polypath
  polypath completions fish > ~/.config/fish/completions/polypath.fish")]
pub(crate) struct Args {
    /// The shell [default: the one that runs]
    shell: Option<Shell>,
}

/// Prints the script.
pub(crate) fn run(args: &Args) -> Outcome {
    let Some(shell) = args.shell.or_else(Shell::from_env) else {
        let names: Vec<_> = Shell::value_variants().iter().map(ToString::to_string).collect();
        return Err(Failure::usage(anyhow!("name the shell: {}", names.join(", "))));
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "polypath", &mut script);
    output::print(&script)
}
