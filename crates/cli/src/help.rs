//! Help texts that wrap once, at the width of the terminal.

use clap::Command;
use clap::builder::StyledStr;

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
    let (after, after_long) = (fit(command.get_after_help()), fit(command.get_after_long_help()));
    let mut command = command.mut_args(|arg| {
        let [help, long] = [arg.get_help(), arg.get_long_help()]
            .map(|text| text.map(|text| StyledStr::from(unbreakable(&text.to_string()))));
        let arg = if let Some(help) = help { arg.help(help) } else { arg };
        if let Some(long) = long { arg.long_help(long) } else { arg }
    });
    if let Some(text) = after {
        command = command.after_help(text);
    }
    if let Some(text) = after_long {
        command = command.after_long_help(text);
    }
    command.mut_subcommands(|part| fitted_to(part, columns))
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
    let units = [
        "s", "ms", "us", "min", "h", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "bit/s",
        "kbit/s", "Mbit/s", "Gbit/s", "%", "bytes", "seconds",
    ];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(space) = rest.find(' ') {
        let (before, behind) = (&rest[..space], &rest[space + 1..]);
        out.push_str(before);
        let word = out.rsplit([' ', NO_BREAK]).next().unwrap_or_default();
        let next = behind.split(' ').next().unwrap_or_default();
        let value = word.rsplit(['(', '\'', '=']).next().unwrap_or_default();
        let is_number = value.parse::<f64>().is_ok();
        let unit = next.trim_end_matches(['.', ',', ';', ')', ':', '\'', ']']);
        let quote = out.rfind(" '").filter(|start| !out[start + 2..].contains('\''));
        let is_short = quote.is_some_and(|start| {
            behind.find('\'').is_some_and(|end| out.len() - start + end < SHORT)
        });
        out.push(if is_number && units.contains(&unit) || is_short { NO_BREAK } else { ' ' });
        rest = behind;
    }
    out + rest
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
        ] {
            assert_eq!(unbreakable(text).replace(NO_BREAK, "~"), expected);
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
