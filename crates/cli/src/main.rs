//! The command line of Polypath.
#![forbid(unsafe_code)]

mod commands;
mod connecting;
mod doctor;
mod failure;
mod interfaces;
mod kind;
mod local_addresses;
mod meter;
mod network_picture;
mod output;
mod picture;
mod place;
mod program;
mod progress;
mod qlog;
mod report;
mod runtime;
mod sctp_args;
mod settings;
mod suggestion;
#[cfg(target_os = "linux")]
mod test_bed;
mod time;
mod transfer;
mod unused;
mod zoned;

use std::process::ExitCode;

use clap::Parser;

use crate::commands::Command;

/// Multipath SCTP: one stack, in a simulator and on real networks.
#[derive(Debug, Parser)]
#[command(name = "polypath", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "\
Exit codes: 0 success, 1 failed, 2 wrong usage or a bad scenario, 3 cannot connect, 4 a requirement was missed, 5 the
machine lacks something or refuses it (an address, a port, a privilege; see doctor), 130 interrupted.
See 'polypath COMMAND --help' for what a command does, with examples.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_long_help().or(command.get_after_help());
            let help = help.map(ToString::to_string).unwrap_or_default();
            let name = command.get_name();
            assert!(
                help.contains("Examples:") && help.contains(&format!("polypath {name}")),
                "{name}"
            );
        }
    }
}
