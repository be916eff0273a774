use std::path::{Path, PathBuf};

use super::*;
use crate::journal::{Cell, Identity};

fn outcome(value: f64) -> Outcome {
    Outcome {
        status: Status::Ok,
        error: None,
        trace_hash: Some("xxh64:0".into()),
        result: FlatResult {
            names: vec!["a".into(), "b".into(), "c".into()].into(),
            values: vec![Cell::Float(value), Cell::Null, Cell::Int(-3)],
            series: vec![("s".into(), vec![0.1], vec![Some(value)])],
        },
    }
}

const EXECUTION: Execution = Execution { wall_s: 0.25, core_s: Some(0.125), started_unix_s: 1e9 };

fn id(number: u64) -> RunId {
    Identity::refused("test").run(number)
}

#[test]
fn what_was_written_is_there_again_to_the_last_bit() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    // Numbers that a careless decimal form would change.
    let values = [0.1 + 0.2, 1.0 / 3.0, 5e-324, 9_007_199_254_740_993.0, 4.35];
    {
        let journal = Journal::open(path).expect("a journal");
        journal.sign(&Program { version: "1".into(), ..Program::default() }, 1).expect("written");
        for (number, value) in (0..).zip(values) {
            journal.add(id(number), outcome(value), EXECUTION).expect("written");
        }
    }
    let journal = Journal::open(path).expect("a journal");
    assert_eq!(journal.len(), values.len());
    for (number, value) in (0..).zip(values) {
        let entry = journal.read(id(number)).expect("readable").expect("there");
        assert_eq!(entry.outcome, outcome(value));
        assert_eq!((entry.execution, entry.program.version.as_str()), (EXECUTION, "1"));
    }
    assert_eq!(journal.read(id(99)).expect("readable"), None);
}

/// The parts of a journal, by name.
fn parts(directory: &Path) -> Vec<PathBuf> {
    part::parts_of(directory, Shard::WHOLE).expect("a folder")
}

/// Writes a run in a part of its own.
fn write(directory: &Path, number: u64) {
    let journal = Journal::open(directory).expect("a journal");
    journal.add(id(number), outcome(number as f64), EXECUTION).expect("written");
}

#[test]
fn a_writer_that_is_killed_anywhere_loses_what_it_was_writing_and_nothing_else() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    {
        let journal = Journal::open(path).expect("a journal");
        journal.sign(&Program::default(), 2).expect("written");
        (1..=3).for_each(|n| journal.add(id(n), outcome(n as f64), EXECUTION).expect("written"));
    }
    let part = &parts(path)[0];
    let bytes = std::fs::read(part).expect("readable");
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    for length in 0..=bytes.len() {
        std::fs::write(part, &bytes[..length]).expect("writable");
        let whole = ends.iter().filter(|end| **end < length).count();
        let journal = Journal::open(path).expect("a journal");
        // Threads, program and shape come before the runs.
        assert_eq!(journal.len(), whole.saturating_sub(3), "cut after {length} bytes");
        for id in journal.ids() {
            assert!(journal.read(id).expect("readable").is_some());
        }
    }
    std::fs::write(part, &bytes[..bytes.len() - 5]).expect("writable");
    write(path, 3);
    write(path, 4);
    let journal = Journal::open(path).expect("a journal");
    assert_eq!((journal.len(), parts(path).len()), (4, 3));
    for number in 1..=4 {
        let entry = journal.read(id(number)).expect("readable").expect("there");
        assert_eq!(entry.outcome, outcome(number as f64));
    }
}

#[test]
fn a_line_that_makes_no_sense_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    std::fs::write(path.join("journal.jsonl"), "{\"shape\":[]}\nwhat\n").expect("writable");
    let error = Journal::open(path).expect_err("no journal").to_string();
    assert!(error.contains("journal.jsonl:2: not a line of a journal"), "{error}");
}

#[test]
fn a_result_that_was_changed_is_no_result() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    Journal::open(path).expect("a journal").add(id(1), outcome(0.25), EXECUTION).expect("ok");
    let part = &parts(path)[0];
    let text = std::fs::read_to_string(part).expect("text");
    assert!(text.contains("0.25"));
    std::fs::write(part, text.replacen("0.25", "0.75", 1)).expect("writable");
    let error = Journal::open(path).expect_err("it has changed").to_string();
    assert!(error.contains(".jsonl:2:") && error.contains("checksum is wrong"), "{error}");
    assert!(error.contains("delete it and the lines after it"), "{error}");
    // The single file of older versions is read, and lines of before there were checksums.
    let old: String =
        text.lines().map(|line| line.split('\t').next().unwrap().to_owned() + "\n").collect();
    std::fs::remove_file(part).expect("a part");
    std::fs::write(path.join("journal.jsonl"), old).expect("writable");
    let journal = Journal::open(path).expect("a journal");
    assert_eq!(journal.read(id(1)).expect("readable").expect("there").outcome, outcome(0.25));
}

#[test]
fn many_write_at_once_and_what_two_make_counts_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let write = |unit: &str, runs: std::ops::Range<u64>| {
        let journal = Journal::of_share(path, unit.parse().expect("a unit")).expect("a journal");
        journal.sign(&Program { host: unit.into(), ..Program::default() }, 1).expect("written");
        for run in runs {
            journal.add(id(run), outcome(run as f64), EXECUTION).expect("written");
        }
    };
    std::thread::scope(|scope| {
        for unit in 0..4 {
            let (name, first) = (format!("{}/4", unit + 1), unit * 100);
            let two = [first..first + 100, first + 50..first + 100];
            for runs in two {
                let name = name.clone();
                scope.spawn(move || write(&name, runs));
            }
        }
    });
    let journal = Journal::open(path).expect("a journal");
    assert_eq!((journal.len(), parts(path).len()), (400, 8));
    for run in 0..400 {
        let entry = journal.read(id(run)).expect("readable").expect("there");
        assert_eq!(entry.outcome, outcome(run as f64));
        assert_eq!(entry.program.host, format!("{}/4", run / 100 + 1));
    }
    let own = Journal::of_share(path, "2/4".parse().expect("a unit")).expect("a journal");
    assert_eq!(own.len(), 100, "others of the same division are not read");
}

#[test]
fn a_writer_is_seen_while_it_is_there() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let writer = Journal::open(path).expect("a journal");
    assert_eq!(parts(path).len(), 0, "who only reads leaves nothing");
    let program = Program { host: "here".into(), ..Program::default() };
    writer.sign(&program, 3).expect("written");
    let seen = Journal::open(path).expect("a journal").workers().expect("readable");
    assert_eq!((seen.len(), seen[0].threads, seen[0].program.host.as_str()), (1, 3, "here"));
    writer.add(id(1), outcome(1.0), EXECUTION).expect("written");
    drop(writer);
    assert!(Journal::open(path).expect("a journal").workers().expect("readable").is_empty());
    Journal::open(path).expect("a journal").sign(&program, 3).expect("written");
    assert_eq!(parts(path).len(), 1, "a part without runs is taken away");
}

#[test]
fn a_result_counts_more_than_a_crash_whoever_wrote_first() {
    for crash_first in [true, false] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let crash = || Outcome::without_result(Status::Crashed, "why".into());
        let mut outcomes = vec![crash(), outcome(1.0)];
        if !crash_first {
            outcomes.reverse();
        }
        for outcome in outcomes {
            let journal = Journal::open(path).expect("a journal");
            journal.add(id(1), outcome, EXECUTION).expect("written");
            journal.add(id(2), crash(), EXECUTION).expect("written");
        }
        let journal = Journal::open(path).expect("a journal");
        assert_eq!(journal.note(id(1)).expect("there").status, Status::Ok);
        let entry = journal.read(id(1)).expect("readable").expect("there");
        assert_eq!(entry.outcome, outcome(1.0));
        assert_eq!(journal.note(id(2)).expect("there").failures, 2);
    }
}

#[test]
fn one_takes_over_what_another_has_more() {
    let directory = tempfile::tempdir().expect("a directory");
    let [one, two] =
        ["one", "two"].map(|name| Journal::open(&directory.path().join(name)).expect("a journal"));
    one.add(id(1), outcome(1.0), EXECUTION).expect("written");
    two.add(id(1), outcome(1.0), EXECUTION).expect("written");
    two.add(id(2), outcome(2.0), EXECUTION).expect("written");
    assert_eq!(one.absorb(&two).expect("readable"), 1);
    assert_eq!(one.read(id(2)).expect("readable").expect("there").outcome, outcome(2.0));
}
