//! Help texts that wrap once, at the width of the terminal.

use clap::Command;
use clap::builder::StyledStr;

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
