//! `polypath man`: manual pages, and the page of the documentation about commands. For packagers and maintainers.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::Context;
use clap::builder::StyledStr;
use clap::{Arg, Command};
use polypath_lab::results::make_directory;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  polypath man target/man
  polypath man --markdown > docs/cli.md")]
pub(crate) struct Args {
    /// Directory for a manual page (section 1) of each command; created if necessary
    #[arg(value_name = "DIR", required_unless_present = "markdown")]
    directory: Option<PathBuf>,
    /// Print the page of the documentation
    #[arg(long, conflicts_with = "directory")]
    markdown: bool,
}

/// Writes the pages.
pub(crate) fn run(args: &Args) -> Outcome {
    let Some(directory) = &args.directory else {
        return output::print(markdown(&built()).as_bytes());
    };
    make_directory(directory).map_err(Failure::usage)?;
    clap_mangen::generate_to(with_synopsis(built()), directory)
        .with_context(|| format!("cannot write manual pages to {}", directory.display()))?;
    Ok(())
}

/// The command line with the options that clap adds, but without its `help` subcommands.
fn built() -> Command {
    let mut command = crate::command().disable_help_subcommand(true);
    command.build();
    command
}

/// The command with a synopsis that has the values of its options.
fn with_synopsis(command: Command) -> Command {
    let text = synopsis(&command);
    // A line for each form, and no more: one is enough.
    command.override_usage(StyledStr::from(text)).mut_subcommands(with_synopsis)
}

fn synopsis(command: &Command) -> String {
    let mut words = vec![command.get_bin_name().unwrap_or(command.get_name()).to_owned()];
    let (required, optional): (Vec<_>, Vec<_>) = command
        .get_arguments()
        .filter(|arg| !is_common(arg) && !arg.is_positional())
        .partition(|arg| arg.is_required_set());
    words.extend(optional.into_iter().map(|arg| format!("[{}]", spelled(arg))));
    words.extend(required.into_iter().map(spelled));
    for arg in command.get_positionals().filter(|arg| !arg.is_hide_set()) {
        let more = match arg.get_num_args() {
            Some(number) if number.max_values() > 1 => "...",
            _ => "",
        };
        words.push(match arg.is_required_set() {
            true => format!("{}{more}", value(arg)),
            false => format!("[{}]{more}", value(arg)),
        });
    }
    if command.get_subcommands().any(|part| !part.is_hide_set()) {
        words.push("COMMAND".to_owned());
    }
    words.join(" ")
}

/// An option with its value.
fn spelled(arg: &Arg) -> String {
    let mut names =
        arg.get_short().map(|letter| format!("-{letter}")).into_iter().collect::<Vec<_>>();
    names.extend(arg.get_long().map(|name| format!("--{name}")));
    let name = names.join("|");
    match arg.get_action().takes_values() {
        true => format!("{name} {}", value(arg)),
        false => name,
    }
}

fn value(arg: &Arg) -> String {
    match arg.get_value_names() {
        Some(names) => names.join(" "),
        None => arg.get_id().as_str().to_uppercase(),
    }
}

const INTRODUCTION: &str = "\
<!-- made by `polypath man --markdown`; a test compares the two -->
# Command line

For users of the program `polypath`: every command with its options, as `--help` shows them. `polypath man DIR` writes the same as manual pages.

## Output

Results go to standard output, everything else to standard error. Tables fit the terminal from 60 columns up. A table that is too wide takes the first of these forms that fits:

1. The names of columns, and words in a last column, take several lines.
2. The table continues below: each block begins with the columns that name a row.
3. Rows are stacked, with a line per column.

`polypath meter` prints line by line: it shortens times and then omits columns from the right. Output that does not go to a terminal has its full width; the environment \
variable `COLUMNS` sets another one for both. Results in JSON do not depend on it.

Colours are only used on a terminal, and not if the environment variable `NO_COLOR` has a value.

## Completion

`polypath completions bash` (`elvish`, `fish`, `powershell`, `zsh`) prints a script that asks the program for completions: commands, options, presets, and the keys and values \
of `--set`. Bash divides words at `=`, so it completes keys but not their values.

## Exit codes

| code | meaning |
| --- | --- |
| 0 | success |
| 1 | failed |
| 2 | wrong usage, or an error in a file |
| 3 | cannot connect, refused or busy |
| 4 | a requirement was missed |
| 5 | the machine lacks something or refuses it (an address, a port, a privilege); see `polypath doctor` |
| 130 | interrupted |
";

/// The page of the documentation.
fn markdown(command: &Command) -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut open: Vec<(String, &Command)> = shown(command, command.get_name());
    while let Some((path, command)) = open.pop() {
        section(&mut page, &path, command);
        open.extend(shown(command, &path));
    }
    page
}

/// The commands below one, the first last.
fn shown<'a>(command: &'a Command, path: &str) -> Vec<(String, &'a Command)> {
    let parts = command.get_subcommands().filter(|part| !part.is_hide_set());
    let mut parts: Vec<_> =
        parts.map(|part| (format!("{path} {}", part.get_name()), part)).collect();
    parts.reverse();
    parts
}

fn section(page: &mut String, path: &str, command: &Command) {
    let about = command.get_long_about().or(command.get_about());
    let about = about.map(|text| escaped(&text.to_string())).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let _ = write!(page, "\n## {path}\n\n{about}.\n\n```text\n{usage}\n```\n");
    let lines: Vec<String> =
        command.get_arguments().filter(|arg| !is_common(arg)).map(argument).collect();
    if !lines.is_empty() {
        let _ = write!(page, "\n{}\n", lines.join("\n"));
    }
    let help = command.get_after_long_help().or(command.get_after_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let mut examples = false;
    for line in help.lines() {
        match line.strip_prefix("  ") {
            Some(example) if examples => {
                let _ = writeln!(page, "{example}");
            }
            _ if line == "Examples:" => {
                page.push_str("\nExamples:\n\n```text\n");
                examples = true;
            }
            _ if line.is_empty() => {}
            _ => {
                let _ = write!(page, "\n{}\n", escaped(line));
            }
        }
    }
    if examples {
        page.push_str("```\n");
    }
}

/// Whether every command has the option.
fn is_common(arg: &Arg) -> bool {
    arg.is_hide_set() || matches!(arg.get_id().as_str(), "help" | "version")
}

/// An argument as an entry of a list.
fn argument(arg: &Arg) -> String {
    let letters =
        arg.get_short().into_iter().chain(arg.get_visible_short_aliases().unwrap_or_default());
    let names = letters.map(|letter| format!("-{letter}"));
    let longs = arg.get_long_and_visible_aliases().unwrap_or_default().into_iter();
    let names: Vec<String> = names.chain(longs.map(|name| format!("--{name}"))).collect();
    let value = match (arg.get_action().takes_values(), arg.get_value_names()) {
        (true, Some([name, ..])) => format!("<{name}>"),
        (true, _) => format!("<{}>", arg.get_id().as_str().to_uppercase()),
        (false, _) => String::new(),
    };
    let mut title: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if let Some(last) = title.last_mut().filter(|_| !value.is_empty()) {
        last.insert_str(last.len() - 1, &format!(" {value}"));
    }
    if title.is_empty() {
        title.push(format!("`{value}`"));
    }
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("* {}: {}", title.join(", "), escaped(&help));
    if !arg.is_hide_possible_values_set() && arg.get_action().takes_values() {
        let values = arg.get_possible_values();
        let values: Vec<String> = values
            .iter()
            .filter(|value| !value.is_hide_set())
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        if !values.is_empty() {
            let _ = write!(text, ". Values: {}", values.join(", "));
        }
    }
    let defaults = arg.get_default_values().iter().map(|value| value.to_string_lossy());
    let defaults: Vec<String> = defaults.map(|value| format!("`{value}`")).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() && !arg.is_hide_default_value_set() {
        let _ = write!(text, ". Default: {}", defaults.join(", "));
    }
    text
}

/// Text with the characters escaped that Markdown would interpret.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_code = false;
    for letter in text.trim().replace('\n', " ").chars() {
        is_code ^= letter == '`';
        if !is_code && matches!(letter, '<' | '*' | '_' | '[' | ']' | '|') {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_option_is_on_the_page() {
        let command = built();
        let page = markdown(&command);
        let mut open: Vec<(String, &Command)> = shown(&command, "polypath");
        while let Some((path, command)) = open.pop() {
            assert!(page.contains(&format!("\n## {path}\n")), "{path}");
            for arg in command.get_arguments().filter(|arg| !is_common(arg)) {
                let long = arg.get_long().map(|long| format!("--{long}"));
                assert!(page.contains(&long.unwrap_or_default()), "{path} {}", arg.get_id());
            }
            open.extend(shown(command, &path));
        }
    }

    #[test]
    fn text_is_no_markup_but_for_code() {
        assert_eq!(escaped("a <b> `c_d` e_f"), "a \\<b> `c_d` e\\_f");
    }
}
