//! The command line of Polypath.
#![forbid(unsafe_code)]

mod commands;
mod completion;
mod connecting;
mod counts;
mod crowding;
mod doctor;
mod failure;
mod figure_args;
mod help;
mod hosts;
mod interfaces;
mod keys;
mod kind;
mod local_addresses;
mod meter;
mod names;
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
mod seed;
mod settings;
mod suggestion;
mod table;
#[cfg(target_os = "linux")]
mod test_bed;
mod time;
mod transfer;
mod unused;
mod zoned;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use clap_complete::CompleteEnv;

use crate::commands::Command;
use crate::table::Width;

/// Multipath SCTP: one stack, in a simulator and on real networks.
#[derive(Debug, Parser)]
#[command(name = "polypath", version, long_version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("POLYPATH_REVISION"), ")"))]
#[command(propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "\
Exit codes: 0 success, 1 failed, 2 wrong usage or a bad scenario, 3 cannot connect, 4 a requirement was missed, 5 the
machine lacks something or refuses it (an address, a port, a privilege; see doctor), 130 interrupted.
See 'polypath COMMAND --help' for what a command does, with examples.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    CompleteEnv::with_factory(command).var(commands::COMPLETION).complete();
    let matches = help::fitted(command(), Width::of_output()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let code = match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error has been closed, the exit code still reports the failure.
            output::tell(format_args!("error: {failure}"));
            failure.exit_code()
        }
    };
    output::finish();
    code
}

/// The command line as users see it.
fn command() -> clap::Command {
    completion::with_completers(reads_negative_numbers(names::with_aliases(help::unbroken(
        Cli::command(),
    ))))
}

/// The command with options that accept values that begin with a minus and a digit, so that their own parsers report the error.
/// Otherwise such a value would be taken for another option.
fn reads_negative_numbers(command: clap::Command) -> clap::Command {
    let reads = |arg: clap::Arg| match arg.get_action().takes_values() && !arg.is_positional() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(reads).mut_subcommands(reads_negative_numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_fit_together() {
        reads_negative_numbers(Cli::command()).debug_assert();
    }

    #[test]
    fn a_negative_number_is_a_value_and_no_option() {
        for (arguments, expected) in [
            (
                &["polypath", "sim", "file.toml", "--seed", "-1"][..],
                "invalid value '-1' for '--seed <N>'",
            ),
            (&["polypath", "demo", "--seed", "-1"], "invalid value '-1' for '--seed <N>'"),
            (
                &["polypath", "meter", "client", "192.0.2.1", "-t", "-5"],
                "invalid value '-5' for '--time <SECONDS>'",
            ),
        ] {
            let found = reads_negative_numbers(Cli::command()).try_get_matches_from(arguments);
            let error = found.unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("tip"), "{error}");
        }
    }

    /// Every option of every command with what is no value of any.
    #[test]
    fn errors_of_values_are_in_words() {
        let mut whole = command();
        let mut open = vec![(vec!["polypath".to_owned()], command())];
        while let Some((words, part)) = open.pop() {
            for arg in part.get_arguments().filter(|arg| arg.get_action().takes_values()) {
                let Some(long) = arg.get_long() else { continue };
                let words = words.iter().cloned().chain([format!("--{long}=-x!")]);
                if let Err(error) = whole.try_get_matches_from_mut(words) {
                    let error = error.to_string();
                    for raw in ["invalid digit", "cannot parse", "is not in", "number too"] {
                        assert!(!error.contains(raw), "{error}");
                    }
                }
            }
            open.extend(part.get_subcommands().map(|inner| {
                let words = words.iter().cloned().chain([inner.get_name().to_owned()]);
                (words.collect(), inner.clone())
            }));
        }
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
