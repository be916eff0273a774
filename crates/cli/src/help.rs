//! Help texts that wrap once, at the width of the terminal.

use clap::builder::{PossibleValue, StyledStr};
use clap::{Arg, Command};
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Frequency};

use crate::table::Width;

/// Columns of help texts if the terminal's are unknown, as clap has it.
const USUAL: usize = 100;
/// Joins two words: no line ends there.
const NO_BREAK: char = '\u{a0}';
/// Longest quotation that stays on one line.
const SHORT: usize = 20;

/// The command with one line per paragraph of its help texts: the source breaks its lines, and clap would break them again at
/// the width of the terminal.
pub(crate) fn unbroken(command: Command) -> Command {
    let texts = [command.get_after_help(), command.get_after_long_help(), command.get_long_about()];
    let [after, after_long, about] = texts.map(|text| text.map(|text| joined(&text.to_string())));
    let mut command = command;
    if let Some(text) = after {
        command = command.after_help(StyledStr::from(text));
    }
    if let Some(text) = after_long {
        command = command.after_long_help(StyledStr::from(text));
    }
    if let Some(text) = about {
        command = command.long_about(StyledStr::from(text));
    }
    command.mut_subcommands(unbroken)
}

/// The command with help texts for a terminal of this width: numbers stay with their units, short quotations stay whole, and
/// examples that are too long continue as a shell reads them.
pub(crate) fn fitted(command: Command, width: Width) -> Command {
    let columns = width.columns().unwrap_or(USUAL);
    fitted_to(command.term_width(columns), columns)
}

fn fitted_to(command: Command, columns: usize) -> Command {
    let fit = |text: Option<&StyledStr>| {
        text.map(|text| {
            let lines: Vec<_> =
                text.to_string().lines().map(|line| fit_line(line, columns)).collect();
            StyledStr::from(lines.join("\n"))
        })
    };
    let (about, long_about) = (fit(command.get_about()), fit(command.get_long_about()));
    let (after, after_long) = (fit(command.get_after_help()), fit(command.get_after_long_help()));
    let is_long = has_long_help(&command);
    let mut command = command.mut_args(|arg| fitted_argument(arg, is_long));
    if let Some(text) = about {
        command = command.about(text);
    }
    if let Some(text) = long_about {
        command = command.long_about(text);
    }
    if let Some(text) = after {
        command = command.after_help(text);
    }
    if let Some(text) = after_long {
        command = command.after_long_help(text);
    }
    command.mut_subcommands(|part| fitted_to(part, columns))
}

/// Whether `--help` shows more than `-h`, as clap decides it.
fn has_long_help(command: &Command) -> bool {
    let texts =
        [command.get_long_about(), command.get_before_long_help(), command.get_after_long_help()];
    let is_long = |arg: &Arg| {
        let values = arg.get_possible_values();
        let explains = |value: &PossibleValue| !value.is_hide_set() && value.get_help().is_some();
        !arg.is_hide_set()
            && (arg.get_long_help().is_some()
                || arg.is_hide_long_help_set()
                || arg.is_hide_short_help_set()
                || !arg.is_hide_possible_values_set() && values.iter().any(explains))
    };
    texts.iter().any(Option::is_some) || command.get_arguments().any(is_long)
}

/// The argument with help texts in which numbers stay with their units; `is_long`: of a command with long help.
fn fitted_argument(arg: Arg, is_long: bool) -> Arg {
    let default = default_with_unit(&arg);
    let fit = |text: &StyledStr| unbreakable(&text.to_string());
    let [mut help, mut long] = [arg.get_help().map(fit), arg.get_long_help().map(fit)];
    let mut arg = arg;
    if let Some(default) = default {
        // Placed as clap does, which would break the line between the number and the unit.
        let joined = |text: Option<String>, gap: &str| {
            text.map_or_else(|| default.clone(), |text| format!("{text}{gap}{default}"))
        };
        long = is_long.then(|| joined(long.or_else(|| help.clone()), "\n\n"));
        help = Some(joined(help, " "));
        arg = arg.hide_default_value(true);
    }
    if let Some(help) = help {
        arg = arg.help(help);
    }
    if let Some(long) = long {
        arg = arg.long_help(long);
    }
    arg
}

/// The default value as text for help, if it has a number with a unit and is shown.
fn default_with_unit(arg: &Arg) -> Option<String> {
    let [value] = arg.get_default_values() else { return None };
    let text = format!("[default: {:?}]", value.to_str()?);
    let fitted = unbreakable(&text);
    (fitted != text && !arg.is_hide_default_value_set()).then_some(fitted)
}

/// Indented lines are commands.
fn fit_line(line: &str, columns: usize) -> String {
    match line.strip_prefix("  ") {
        Some(command) if line.chars().count() > columns => continued(command, columns),
        Some(_) => line.to_owned(),
        None => unbreakable(line),
    }
}

/// A command in lines that end with a backslash.
fn continued(command: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut line = String::from(" ");
    for word in shell_words(command) {
        // For the space and the backslash behind it.
        let is_full = line.chars().count() + 1 + word.chars().count() + 2 > columns;
        if is_full && !line.trim().is_empty() {
            out.push_str(&line);
            out.push_str(" \\\n");
            line = String::from("     ");
        }
        line.push(' ');
        line.push_str(word);
    }
    out + &line
}

/// Words as a shell divides them: not in quotations.
fn shell_words(command: &str) -> Vec<&str> {
    let mut quoted = false;
    let is_end = |letter: char| {
        quoted ^= letter == '\'';
        letter == ' ' && !quoted
    };
    command.split(is_end).filter(|word| !word.is_empty()).collect()
}

/// Text in which no line ends between a number and its unit, or in a short quotation.
fn unbreakable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(space) = rest.find(' ') {
        let (before, behind) = (&rest[..space], &rest[space + 1..]);
        out.push_str(before);
        let word = out.rsplit([' ', NO_BREAK]).next().unwrap_or_default();
        let next = behind.split(' ').next().unwrap_or_default();
        let value = word.rsplit(['(', '\'', '"', '=']).next().unwrap_or_default();
        let unit = next.trim_end_matches(['.', ',', ';', ')', ':', '\'', '"', ']']);
        let quote = out.rfind(" '").filter(|start| !out[start + 2..].contains('\''));
        let is_short = quote.is_some_and(|start| {
            behind.find('\'').is_some_and(|end| out.len() - start + end < SHORT)
        });
        out.push(if is_quantity(value, unit) || is_short { NO_BREAK } else { ' ' });
        rest = behind;
    }
    out + rest
}

/// Whether both together are a quantity as options and files have them, or written out.
fn is_quantity(value: &str, unit: &str) -> bool {
    if value.parse::<f64>().is_err() || unit.is_empty() {
        return false;
    }
    let text = format!("{value} {unit}");
    ["bytes", "seconds"].contains(&unit)
        || text.parse::<Duration>().is_ok()
        || text.parse::<ByteCount>().is_ok()
        || text.parse::<BitRate>().is_ok()
        || text.parse::<Frequency>().is_ok()
        || text.parse::<Fraction>().is_ok()
}

/// Text with a line per paragraph. Indented lines stay, and headings, which end with a colon.
fn joined(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut continues = false;
    for (number, line) in text.lines().enumerate() {
        let is_text = !line.is_empty() && !line.starts_with(' ');
        if is_text && continues {
            out.push(' ');
        } else if number > 0 {
            out.push('\n');
        }
        out.push_str(line);
        continues = is_text && !line.ends_with(':');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_become_lines_and_examples_stay() {
        let text = "One sentence that\ngoes on.\n\nExamples:\n  polypath sim\n  polypath demo";
        assert_eq!(
            joined(text),
            "One sentence that goes on.\n\nExamples:\n  polypath sim\n  polypath demo"
        );
        assert_eq!(joined(""), "");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        for (text, expected) in [
            ("at least 0 s, or 10 GB.", "at least 0~s, or 10~GB."),
            ("for example '20 Mbit/s'", "for example '20~Mbit/s'"),
            (
                "such as 'policies.rto.min=200 ms'; repeatable",
                "such as 'policies.rto.min=200~ms'; repeatable",
            ),
            (
                "one of 5 paths, the peer's 3 and the others' too",
                "one of 5 paths, the peer's 3 and the others' too",
            ),
            ("[default: 8 kbit/s]", "[default: 8~kbit/s]"),
            ("[default: \"168 h\"]", "[default: \"168~h\"]"),
            ("up to 5 MHz, in 2 steps", "up to 5~MHz, in 2 steps"),
        ] {
            assert_eq!(unbreakable(text).replace(NO_BREAK, "~"), expected);
        }
    }

    /// Short and long help, as the options print it.
    fn helps(command: &Command) -> [String; 2] {
        ["-h", "--help"].map(|option| {
            let printed = command.clone().try_get_matches_from([command.get_name(), option]);
            printed.expect_err("help").render().to_string()
        })
    }

    /// Lines of help that end with a number whose unit begins the next line.
    fn broken_quantities(command: &Command) -> Vec<String> {
        let texts = helps(command);
        let lines = texts.iter().flat_map(|text| text.lines().zip(text.lines().skip(1)));
        let is_broken = |(line, next): &(&str, &str)| {
            let value = line.rsplit([' ', '(', '\'', '"', '=']).next().unwrap_or_default();
            let unit =
                next.trim_start().split([' ', ',', ';', ')', '\'', '"', ']', '.', ':']).next();
            is_quantity(value, unit.unwrap_or_default())
        };
        let mut found: Vec<String> =
            lines.filter(is_broken).map(|(line, next)| format!("{line} / {next}")).collect();
        found.extend(command.get_subcommands().flat_map(broken_quantities));
        found
    }

    #[test]
    fn no_help_text_breaks_between_a_number_and_its_unit() {
        for columns in (40..=120).step_by(5) {
            let mut command = fitted_to(crate::command().term_width(columns), columns);
            // Passes the width on to its parts.
            command.build();
            assert_eq!(broken_quantities(&command), Vec::<String>::new(), "{columns} columns");
        }
    }

    #[test]
    fn defaults_stand_where_clap_has_them() {
        let arg = |name: &'static str| Arg::new(name).long(name).help(format!("Sets {name}"));
        let command = Command::new("any").term_width(100).arg(arg("age").default_value("168 h"));
        let long = command.clone().arg(arg("size").long_help("Sets size.\n\nIn bytes."));
        for plain in [command, long] {
            let fitted = helps(&fitted_to(plain.clone(), 100));
            assert!(fitted.iter().all(|text| text.contains("\"168\u{a0}h\"")), "{fitted:?}");
            assert_eq!(fitted.map(|text| text.replace(NO_BREAK, " ")), helps(&plain));
        }
    }

    #[test]
    fn long_examples_continue_as_shells_read_them() {
        let command = "polypath receive --listen 192.0.2.1 --max-bytes '10 GB' --key alice.key";
        let text = fit_line(&format!("  {command}"), 60);
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        let lines: Vec<_> = text.lines().map(|line| line.trim().trim_end_matches(" \\")).collect();
        assert_eq!(lines.join(" "), command);
        assert!(text.contains("'10 GB'") && text.contains(" \\\n      "), "{text}");
        assert_eq!(fit_line("  polypath demo", 60), "  polypath demo");
    }

    #[test]
    fn the_parts_of_a_command_are_changed_too() {
        let part = Command::new("part").after_help("a\nb").after_long_help("c\nd");
        let command = unbroken(Command::new("whole").after_help("e\nf").subcommand(part));
        let text = |text: Option<&StyledStr>| text.map(ToString::to_string).unwrap_or_default();
        assert_eq!(text(command.get_after_help()), "e f");
        let part = command.find_subcommand("part").expect("the part");
        assert_eq!(text(part.get_after_help()), "a b");
        assert_eq!(text(part.get_after_long_help()), "c d");
    }
}
