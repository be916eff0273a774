//! The tutorial docs/first-study.md says what the program does: its commands are run, and print what it shows.
//!
//! `POLYPATH_UPDATE_DOCS=1 cargo test -p polypath-cli --test first_study` writes into it what they print now.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{directory, polypath, texts};

/// A command of the tutorial and the lines that are shown below it.
#[derive(Debug)]
struct Shown {
    command: String,
    output: Vec<String>,
    /// Position of the command among the lines of the tutorial.
    line: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn tutorial() -> String {
    fs::read_to_string(root().join("docs/first-study.md")).expect("the tutorial")
}

/// What stands in blocks of kind `console`: lines with `$ ` are commands, the others what they print.
fn commands(text: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        match (inside, line) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ "), all.last_mut()) {
                (Some(command), _) => {
                    let command = command.to_owned();
                    all.push(Shown { command, output: Vec::new(), line: number });
                }
                (None, Some(last)) => last.output.push(line.to_owned()),
                (None, None) => panic!("output of no command: {line}"),
            },
            (false, _) => {}
        }
    }
    all
}

/// Words of a command; single quotes keep words together.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in command.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().expect("a word").push(letter),
        }
    }
    words
}

/// A folder with the files that commands of the tutorial name.
fn place() -> PathBuf {
    let place = directory("first-study");
    for folder in ["studies", "scenarios/traces"] {
        fs::create_dir_all(place.join(folder)).expect("a folder");
        for file in fs::read_dir(root().join(folder)).expect("a folder") {
            let file = file.expect("an entry").path();
            let name = file.file_name().expect("a name");
            if file.is_file() {
                fs::copy(&file, place.join(folder).join(name)).expect("a copy");
            }
        }
    }
    place
}

/// A line without what depends on machine and moment, and without what a terminal does not show.
fn lasting(line: &str) -> &str {
    let ends = [" events, ", " of them new, in ", "data packets    about", "time            about"];
    let end = ends.iter().filter_map(|end| line.find(end)).min();
    line[..end.unwrap_or(line.len())].trim_end()
}

/// Whether a command is run. Those of other programs are not, and neither is what takes longer than a test may; shards are
/// run in their quick form.
fn is_run(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["polypath", "study", "run", ..] => {
            words.contains(&"--dry-run") || words == QUICK_RUN || is_shard(&words)
        }
        ["polypath", "reproduce", ..] => false,
        ["polypath", ..] => true,
        _ => false,
    }
}

fn is_shard(words: &[&str]) -> bool {
    words.contains(&"--shard")
}

/// Arguments as they are given here.
fn arguments(words: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
    if is_shard(&words) {
        words.push("--quick");
    }
    words
}

const QUICK_RUN: [&str; 5] =
    ["polypath", "study", "run", "studies/lte-and-satellite.toml", "--quick"];

#[test]
fn commands_of_the_tutorial_print_what_it_shows() {
    let place = place();
    let update = std::env::var_os("POLYPATH_UPDATE_DOCS").is_some();
    let text = tutorial();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (mut compared, mut ran_silently) = (0, 0);
    let mut printed = Vec::new();
    for shown in commands(&text) {
        let words = words(&shown.command);
        if shown.command == EDIT {
            let study = fs::read_to_string(place.join("studies/lte-and-satellite.toml"));
            let study = study.expect("a study").replace(SHORT_LIST, LONG_LIST);
            assert!(study.contains(LONG_LIST), "the edit finds nothing");
            fs::write(place.join("studies/mine.toml"), study).expect("writable");
        }
        if !is_run(&words) {
            continue;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
        let output =
            command.args(arguments(&words)).current_dir(&place).output().expect("a program");
        let (out, err) = texts(&output);
        let text = out + &err;
        assert_eq!(output.status.code(), Some(0), "{}: {text}", shown.command);
        // Of these the tutorial shows nothing.
        if shown.output.is_empty() {
            ran_silently += 1;
            continue;
        }
        let same = text.lines().map(lasting).eq(shown.output.iter().map(|line| lasting(line)));
        if update {
            printed.push((shown, text));
        } else {
            assert!(same, "{}\nprints\n{text}", shown.command);
            compared += 1;
        }
    }
    assert_eq!(ran_silently, 3, "two shards, and the merge");
    let table = |folder: &str| fs::read(place.join(folder).join("runs.parquet")).expect("a table");
    assert!(table("joined") == table("lte-and-satellite-quick"), "the shards are the whole");
    // From the last one on, so that positions of lines hold while lines are put in.
    for (shown, text) in printed.into_iter().rev() {
        let place = shown.line + 1..shown.line + 1 + shown.output.len();
        lines.splice(place, text.lines().map(str::to_owned));
    }
    if update {
        fs::write(root().join("docs/first-study.md"), lines.join("\n") + "\n").expect("writable");
    } else {
        assert!(compared >= 8, "{compared} outputs compared");
    }
}

const EDIT: &str = r#"sed 's/buffer = \["64 KiB", "1 MiB"\]/buffer = ["64 KiB", "256 KiB", "1 MiB"]/' studies/lte-and-satellite.toml > studies/mine.toml"#;
const SHORT_LIST: &str = r#"buffer = ["64 KiB", "1 MiB"]"#;
const LONG_LIST: &str = r#"buffer = ["64 KiB", "256 KiB", "1 MiB"]"#;

/// Those that are not run are understood at least.
#[test]
fn commands_of_the_tutorial_have_options_that_exist() {
    let all = commands(&tutorial());
    assert!(all.iter().any(|shown| shown.command == EDIT), "the edit is another one");
    for Shown { command, .. } in all {
        let words = words(&command);
        let Some(("polypath", arguments)) = words.split_first().map(|(a, b)| (a.as_str(), b))
        else {
            continue;
        };
        let count = arguments.iter().take_while(|word| !word.contains('.')).count().min(2);
        let count = count.max(1);
        let command_words = arguments[..count].iter().map(String::as_str).chain(["--help"]);
        let (help, _) = texts(&polypath(&command_words.collect::<Vec<_>>()));
        for option in arguments.iter().filter(|word| word.starts_with("--")) {
            assert!(
                help.contains(&format!("{option} ")) || help.contains(&format!("{option}\n")),
                "{command}: {option}"
            );
        }
    }
}

/// Links lead to files that exist, and files of the repository that it names in code do too.
#[test]
fn files_that_the_tutorial_names_exist() {
    let text = tutorial();
    let mut links = 0;
    for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        if !target.contains("://") && !target.starts_with('#') {
            let file = target.split('#').next().expect("a name");
            assert!(root().join("docs").join(file).exists(), "{target}");
            links += 1;
        }
    }
    assert!(links > 3, "{links}");
    let code = text.split('`').skip(1).step_by(2);
    let named = code.filter(|code| {
        ["studies/", "scenarios/", "scripts/", "docs/"].iter().any(|start| code.starts_with(start))
            && !code.contains([' ', '\n'])
    });
    for file in named.filter(|file| *file != "studies/mine.toml") {
        assert!(root().join(file).exists(), "{file}");
    }
}
