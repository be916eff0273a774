//! `polypath study run` and `polypath reproduce` are killed in the middle, and the same commands go on.
#![cfg(unix)]

mod common;
#[path = "common/paper.rs"]
mod paper;
#[path = "common/small_study.rs"]
mod small_study;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::directory;
use nix::sys::signal::Signal;
use serde_json::Value;
use small_study::{STUDY, run, study_in};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// All files below a directory, with their content. What is being renamed meanwhile may be left out.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if let Ok(content) = fs::read(&path) {
                found.insert(path.strip_prefix(directory).expect("below it").to_owned(), content);
            }
        }
    }
    found
}

fn is_journal(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// How far a command has come that writes to a directory: its files, and the runs in its journals.
fn progress(out: &Path) -> usize {
    let steps = files(out).into_iter().map(|(path, content)| match is_journal(&path) {
        true => 1 + content.iter().filter(|byte| **byte == b'\n').count(),
        false => 1,
    });
    steps.sum()
}

/// What a command is to find: all but how long it took, and in how many attempts. A file that was about to get its name when the command was
/// killed stays beside it, and nobody reads it.
fn results(out: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let is_account = |path: &Path| path.file_stem().is_some_and(|stem| stem == "execution");
    let mut results = files(out);
    let is_part = |path: &Path| path.extension().is_some_and(|extension| extension == "part");
    results.retain(|path, _| !is_account(path) && !is_journal(path) && !is_part(path));
    for (path, content) in &mut results {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {
                let mut report = serde_json::from_slice(content).expect("JSON");
                forget_attempts(&mut report);
                *content = serde_json::to_vec(&report).expect("JSON");
            }
            Some("html") => {
                let page = String::from_utf8_lossy(content);
                let is_time = |line: &str| {
                    line.contains(" on one core, this command ") || line.ends_with(" s</td></tr>")
                };
                let lines: Vec<_> = page.lines().filter(|line| !is_time(line)).collect();
                *content = lines.join("\n").into_bytes();
            }
            _ => {}
        }
    }
    results
}

/// Takes out of a report how long it took and what was known before.
fn forget_attempts(report: &mut Value) {
    match report {
        Value::Object(fields) => {
            fields.retain(|key, _| !["new", "known", "core_s", "wall_s"].contains(&key.as_str()));
            fields.values_mut().for_each(forget_attempts);
        }
        Value::Array(values) => values.iter_mut().for_each(forget_attempts),
        _ => {}
    }
}

/// Runs a command and kills it as soon as it has come to `point`. Whether it was at work by then.
fn kill_at(arguments: &[&str], out: &Path, point: usize) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("a program that runs");
    while child.try_wait().expect("a child").is_none() && progress(out) < point {
        std::thread::yield_now();
    }
    // It may have ended meanwhile.
    let _ = child.kill();
    child.wait().expect("a child").signal() == Some(Signal::SIGKILL as i32)
}

/// Runs a command to its end.
fn finish(arguments: &[&str]) {
    let (code, _, err) = run(arguments);
    assert_eq!(code, Some(0), "{err}");
}

/// Most points at which a command is killed.
const MOST_POINTS: usize = 12;

/// Kills a command that writes to `out` at points all along its way, and lets the same command go on: from each point by itself, and
/// then from all of them in turn.
fn killed_all_along(arguments: &[&str], out: &Path) {
    let begin_anew = || fs::remove_dir_all(out).expect("a directory");
    finish(arguments);
    let (expected, end) = (results(out), progress(out));
    let points: Vec<_> = (1..=end).step_by(end.div_ceil(MOST_POINTS)).collect();
    let mut killed = 0;
    for &point in &points {
        begin_anew();
        killed += usize::from(kill_at(arguments, out, point));
        finish(arguments);
        assert!(results(out) == expected, "killed at {point} of {end}");
    }
    // Only the last points may be too close to the end.
    assert!(killed > points.len() / 2, "{killed} of {}", points.len());
    begin_anew();
    for point in points {
        kill_at(arguments, out, point);
    }
    finish(arguments);
    assert!(results(out) == expected, "killed again and again");
}

#[test]
fn a_study_that_is_killed_goes_on_to_the_same_results() {
    let place = directory("study-killed");
    let (study, out) = (study_in(&place, STUDY), place.join("out"));
    killed_all_along(&["study", "run", text(&study), "--out", text(&out)], &out);
}

#[test]
fn a_reproduction_that_is_killed_goes_on_to_the_same_results() {
    let place = directory("reproduce-killed");
    let (papers, out) = (paper::papers_in(&place), place.join("out"));
    let papers = text(&papers);
    killed_all_along(&["reproduce", "all", "--papers", papers, "--out", text(&out)], &out);
}
