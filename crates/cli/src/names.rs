//! The same option has the same name in every command: older and other names are aliases, all of them listed here.

use clap::{Arg, Command};

/// A command, one of its options, and the name that the option has elsewhere.
const ALIASES: [(&str, &str, &str); 10] = [
    ("with", "encapsulation-port", "encap-port"),
    ("send", "from", "bind"),
    ("receive", "listen", "bind"),
    ("receive", "once", "one-off"),
    ("server", "one-off", "once"),
    ("receive", "max-senders", "max-clients"),
    ("server", "max-clients", "max-senders"),
    ("emulate", "duration", "time"),
    ("client", "time", "duration"),
    ("export", "csv", "out"),
];

/// Short names of options, for every command that has the option without the letter.
const LETTERS: [(&str, char); 6] =
    [("json", 'J'), ("port", 'p'), ("window", 'w'), ("from", 'B'), ("listen", 'B'), ("once", '1')];

/// The command with all aliases.
pub(crate) fn with_aliases(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let taken: Vec<char> = command.get_arguments().filter_map(Arg::get_short).collect();
    let named = |arg: Arg| {
        let Some(long) = arg.get_long().map(str::to_owned) else { return arg };
        let aliases = ALIASES.iter().filter(|(of, option, _)| *of == name && *option == long);
        let arg = aliases.fold(arg, |arg, (_, _, alias)| arg.visible_alias(*alias));
        let letters =
            LETTERS.iter().filter(|(option, letter)| *option == long && !taken.contains(letter));
        letters.fold(arg, |arg, (_, letter)| arg.visible_short_alias(*letter))
    };
    command.mut_args(named).mut_subcommands(with_aliases)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use clap::CommandFactory;

    use super::*;

    /// Every command with its name.
    fn all(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        found.push((path.to_owned(), command.clone()));
        for part in command.get_subcommands() {
            all(part, &format!("{path} {}", part.get_name()), found);
        }
    }

    fn commands() -> Vec<(String, Command)> {
        let mut found = Vec::new();
        all(&with_aliases(crate::Cli::command()), "polypath", &mut found);
        found
    }

    fn names(arg: &Arg) -> Vec<String> {
        let aliases = arg.get_all_aliases().unwrap_or_default().into_iter().map(str::to_owned);
        arg.get_long().map(str::to_owned).into_iter().chain(aliases).collect()
    }

    fn has(command: &Command, name: &str) -> bool {
        command.get_arguments().any(|arg| names(arg).iter().any(|known| known == name))
    }

    #[test]
    fn every_alias_is_of_an_option_that_there_is() {
        let commands = commands();
        for (of, option, alias) in ALIASES {
            let found = commands.iter().any(|(_, command)| {
                command.get_name() == of && has(command, option) && has(command, alias)
            });
            assert!(found || !cfg!(target_os = "linux"), "{of} --{option}");
        }
    }

    #[test]
    fn names_that_mean_the_same_go_together() {
        for group in [
            &["once", "one-off"][..],
            &["max-senders", "max-clients"],
            &["encapsulation-port", "encap-port"],
        ] {
            for (path, command) in commands() {
                let known = group.iter().filter(|name| has(&command, name)).count();
                assert!(known == 0 || known == group.len(), "{path}: {group:?}");
            }
        }
    }

    #[test]
    fn a_letter_means_the_same_wherever_a_long_name_has_one() {
        let mut letters: BTreeMap<String, BTreeMap<Option<char>, Vec<String>>> = BTreeMap::new();
        for (path, command) in commands() {
            for arg in command.get_arguments() {
                let Some(long) = arg.get_long() else { continue };
                let letter = arg
                    .get_short()
                    .or_else(|| arg.get_all_short_aliases().and_then(|all| all.first().copied()));
                letters
                    .entry(long.to_owned())
                    .or_default()
                    .entry(letter)
                    .or_default()
                    .push(path.clone());
            }
        }
        // `study submit --time` is Slurm's, which has a form of its own.
        for (long, by_letter) in letters.iter().filter(|(long, _)| *long != "time") {
            assert!(by_letter.len() == 1, "--{long}: {by_letter:?}");
        }
    }

    #[test]
    fn what_shows_progress_can_be_quiet_and_verbose() {
        let wanted = [
            "send",
            "receive",
            "study run",
            "study random",
            "reproduce",
            "meter server",
            "meter client",
        ];
        for (path, command) in commands() {
            let is_wanted = wanted.iter().any(|name| path == format!("polypath {name}"));
            for name in ["quiet", "verbose"] {
                assert_eq!(has(&command, name), is_wanted, "{path} --{name}");
            }
        }
    }
}
