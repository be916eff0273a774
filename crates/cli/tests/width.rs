//! What commands print fits the width of the terminal.

#[allow(dead_code)] // some helpers belong to other tests
mod common;
#[path = "common/small_study.rs"]
#[allow(dead_code)]
mod small_study;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{directory, texts};

/// Runs `polypath` in a directory, as on a terminal of so many columns.
fn run(place: &Path, columns: Option<usize>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.args(arguments).current_dir(place).stdin(Stdio::null()).env_remove("COLUMNS");
    if let Some(columns) = columns {
        command.env("COLUMNS", columns.to_string());
    }
    command.output().expect("a program that runs")
}

fn printed(place: &Path, columns: Option<usize>, arguments: &[&str]) -> String {
    let output = run(place, columns, arguments);
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{arguments:?}: {err}");
    out
}

fn longest(text: &str) -> &str {
    text.lines().max_by_key(|line| line.chars().count()).unwrap_or_default()
}

fn source(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The words of a text: tables that are divided repeat the names of their rows.
fn words(text: &str) -> std::collections::BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn tables_fit_from_60_columns_up_and_nothing_is_left_out() {
    let place = directory("width");
    let study = small_study::study_in(&place, small_study::STUDY);
    let [scenario, duration] = [source("scenarios/two-paths-loss.toml"), "run.duration=7 s".into()];
    let papers = source("papers");
    let study = study.to_str().expect("a path in UTF-8");
    let commands: [&[&str]; 8] = [
        &["sim", &scenario, "--set", &duration],
        &["demo", "--set", &duration],
        &["bmin", "--path", "100 Mbit/s, 110 ms", "--window", "64 KiB"],
        &["policies"],
        &["reproduce", "list", "--papers", &papers],
        &["study", "run", study, "--out", "results"],
        &["study", "status", "results"],
        &["study", "random", "bulk", "--networks", "1", "--set", "run.duration=1 s"],
    ];
    for arguments in commands {
        let wide = printed(&place, None, arguments);
        for columns in [60, 80, 100] {
            let text = printed(&place, Some(columns), arguments);
            let longest = longest(&text);
            assert!(longest.chars().count() <= columns, "{columns}: {arguments:?}: {longest}");
        }
        let narrow = words(&printed(&place, Some(60), arguments));
        // Numbers of wall-clock time differ from run to run.
        let is_name = |word: &&String| word.starts_with(|letter: char| letter.is_alphabetic());
        let lost: Vec<String> = words(&wide).difference(&narrow).filter(is_name).cloned().collect();
        assert_eq!(lost, Vec::<String>::new(), "{arguments:?}");
    }
}

#[test]
fn json_is_the_same_at_every_width() {
    let place = directory("width-json");
    let arguments = ["bmin", "--path", "100 Mbit/s, 110 ms", "--json"];
    assert_eq!(printed(&place, None, &arguments), printed(&place, Some(60), &arguments));
}

#[test]
fn a_measurement_fits() {
    let place = directory("width-meter");
    let mut server = Command::new(env!("CARGO_BIN_EXE_polypath"))
        .args(["meter", "server", "-B", "127.0.0.1", "--encap-port", "0", "--once"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a server");
    let mut line = String::new();
    let mut said = std::io::BufReader::new(server.stderr.take().expect("a pipe"));
    std::io::BufRead::read_line(&mut said, &mut line).expect("a line");
    let port = line.trim().rsplit(' ').next().expect("a port").to_owned();
    let arguments = [
        "meter",
        "client",
        "127.0.0.1",
        "-B",
        "127.0.0.1",
        "--encap-port",
        &port,
        "--bidir",
        "-t",
        "1",
        "-v",
    ];
    let text = printed(&place, Some(60), &arguments);
    assert!(longest(&text).chars().count() <= 60, "{text}");
    assert!(text.contains("Bitrate") && !text.contains("Cwnd"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
    assert!(server.wait().expect("its end").success());
}

#[test]
fn help_wraps_once() {
    let place = directory("width-help");
    for command in
        ["demo", "emulate", "receive", "send", "study", "reproduce", "key", "doctor", "ss"]
    {
        let text = printed(&place, Some(72), &[command, "--help"]);
        // Lines that are broken twice alternate between full and nearly empty ones.
        let paragraph: Vec<&str> =
            text.lines().skip_while(|line| !line.starts_with("Options:")).collect();
        let prose =
            paragraph.iter().skip(1).filter(|line| !line.is_empty() && !line.starts_with(' '));
        let lines: Vec<&&str> = prose.filter(|line| !line.ends_with(':')).collect();
        for (line, next) in lines.iter().zip(lines.iter().skip(1)) {
            let word = next.split(' ').next().unwrap_or_default();
            let fits = line.chars().count() + 1 + word.chars().count() <= 72;
            assert!(!fits || line.ends_with('.'), "{command}: {line} | {next}");
        }
    }
}
