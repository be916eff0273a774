//! The same study gives the same tables, whoever runs it, where and however.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{STUDY, run, run_part, study};
use polypath_lab::results::{self, Table, TableError};
use polypath_lab::run::{Cost, Shard, cost, merge};
use polypath_lab::study::{Extent, Reading, Study};
use sha2::{Digest, Sha256};

fn tables(directory: &Path) -> [Vec<u8>; 2] {
    [runs(directory), fs::read(directory.join(results::SERIES)).expect("a table")]
}

fn runs(directory: &Path) -> Vec<u8> {
    fs::read(directory.join(results::RUNS)).expect("a table")
}

/// Cells of some columns of a table as lines of text; numbers with all their digits.
fn lines(path: &Path, columns: &[&str]) -> String {
    let table = Table::open(path).expect("a table");
    let numbers: Vec<usize> =
        columns.iter().map(|name| table.column(name).expect("a column")).collect();
    let mut text = String::new();
    table
        .rows::<TableError>(&numbers, |row| {
            let cells: Vec<String> = row.iter().map(|cell| format!("{cell:?}")).collect();
            text += &(cells.join(" ") + "\n");
            Ok(())
        })
        .expect("readable");
    text
}

/// Results that were committed: this test runs in optimised code too, so that both agree to the last bit. Only a change of
/// the stack's behaviour changes them; new results and new keys of scenarios do not.
#[test]
fn results_are_the_committed_ones() {
    let directory = tempfile::tempdir().expect("a directory");
    run(&study(STUDY, Extent::Full), directory.path());
    let keys = ["variant", "replication", "at.rate", "seed", "status", "trace_hash"];
    let measures = ["measure.goodput", "measure.retransmissions"];
    let mut found = lines(&directory.path().join(results::RUNS), &[&keys[..], &measures].concat());
    let series = ["point", "variant", "series", "time_s", "value"];
    let samples = lines(&directory.path().join(results::SERIES), &series);
    let goodput: Vec<&str> =
        samples.lines().filter(|line| line.contains("(\"goodput_bit_s\")")).collect();
    let digest = Sha256::digest(goodput.join("\n"));
    found += &format!("{} samples: {:x?}\n", goodput.len(), &digest[..8]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/determinism.txt");
    if std::env::var_os("POLYPATH_UPDATE_TRACES").is_some() {
        fs::write(path, &found).expect("writable");
    }
    let committed = fs::read_to_string(path).expect("determinism.txt");
    assert_eq!(
        found, committed,
        "if the change is intended: POLYPATH_UPDATE_TRACES=1 cargo test -p polypath-lab --test determinism"
    );
}

#[test]
fn threads_make_no_difference() {
    let directory = tempfile::tempdir().expect("a directory");
    let study = study(STUDY, Extent::Full);
    let [one, two] = [1, 2].map(|jobs| {
        let path = directory.path().join(jobs.to_string());
        run_part(&study, &path, jobs, "1/1").expect("results");
        tables(&path)
    });
    assert!(one == two);
}

#[test]
fn shards_make_no_difference() {
    let directory = tempfile::tempdir().expect("a directory");
    let study = study(STUDY, Extent::Full);
    run(&study, &directory.path().join("whole"));
    let shards: Vec<PathBuf> = (1..=3)
        .map(|number| {
            let path = directory.path().join(number.to_string());
            let summary = run_part(&study, &path, 1, &format!("{number}/3")).expect("results");
            assert_eq!(summary.rows, 4);
            path
        })
        .collect();
    let joined = directory.path().join("joined");
    let missing = merge(&shards[..2], &joined).expect_err("a shard is missing");
    assert!(missing.to_string().starts_with("4 runs are missing"), "{missing}");
    assert!(!joined.exists(), "nothing half-made stays");
    merge(&shards, &joined).expect("all shards");
    assert!(tables(&joined) == tables(&directory.path().join("whole")));
}

/// A trace in the scenario, others in an axis and a variant, and a list of messages.
const TRACES: &str = r#"
title = "traces in another folder"
scenario = "scenario.toml"
[replications]
runs = 2
[[axes]]
name = "second"
keys = ["network.disjoint.paths.path 2.bottleneck.rate_trace"]
values = [{ file = "../traces/slow.csv" }, { file = "../traces/fast.csv" }]
[[variants]]
name = "as it is"
[[variants]]
name = "first slow"
set = { "network.disjoint.paths.path 1.bottleneck.rate_trace.file" = "../traces/slow.csv" }
[[measures]]
name = "goodput"
result = "goodput_bit_s"
"#;

const TRACES_SCENARIO: &str = r#"
title = "two paths"
[run]
duration = "1 s"
[[network.disjoint.paths]]
name = "path 1"
bottleneck = { rate = "4 Mbit/s", delay = "10 ms", rate_trace = { file = "../traces/fast.csv" } }
[[network.disjoint.paths]]
name = "path 2"
bottleneck = { rate = "4 Mbit/s", delay = "10 ms", loss = { forward = "1 %" } }
[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
[[traffic]]
name = "list"
source = { trace = { file = "../traces/messages.csv" } }
"#;

/// The folder of a study with all its files.
fn place(folder: &Path) -> PathBuf {
    for (name, text) in [
        ("studies/study.toml", TRACES),
        ("studies/scenario.toml", TRACES_SCENARIO),
        ("traces/fast.csv", "time [s],rate [Mbit/s]\n0,4\n0.5,3\n1,4\n"),
        ("traces/slow.csv", "time [s],rate [Mbit/s]\n0,2\n0.4,1\n1,2\n"),
        ("traces/messages.csv", "time [s],size [B]\n0.1,500\n0.2,700\n"),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("writable");
    }
    folder.join("studies/study.toml")
}

fn read(path: &Path) -> Study {
    Study::read(path, Reading::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn done(study: &Study, directory: &Path) -> (usize, usize) {
    let Cost { runs, done, .. } = cost(study, directory, Shard::WHOLE).expect("a cost");
    (runs, done)
}

#[test]
fn shards_and_copies_of_a_study_with_traces_are_the_same_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    let study = read(&place(&at("here")));
    let summary = run(&study, &at("whole"));
    assert_eq!(summary.new, 8, "{:?}", summary.errors);
    for number in ["1", "2"] {
        run_part(&study, &at(number), 1, &format!("{number}/2")).expect("results");
    }
    merge(&[at("1"), at("2")], &at("joined")).expect("all shards");
    assert!(runs(&at("joined")) == runs(&at("whole")), "bit for bit");
    // The study beside the results, and the same one in another folder.
    assert_eq!(done(&read(&at("whole").join(results::STUDY)), &at("whole")), (8, 8));
    let copy = read(&place(&at("there/deeper")));
    assert_eq!(done(&copy, &at("whole")), (8, 8));
    run_part(&copy, &at("3"), 1, "2/2").expect("results");
    merge(&[at("1"), at("3")], &at("both")).expect("shards from two places");
    assert!(runs(&at("both")) == runs(&at("whole")));
}

#[test]
fn another_content_is_another_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let (path, out) = (place(directory.path()), directory.path().join("out"));
    run(&read(&path), &out);
    let slow = directory.path().join("traces/slow.csv");
    fs::write(slow, "time [s],rate [Mbit/s]\n0,2\n0.4,1.5\n1,2\n").expect("writable");
    // Of two points and two variants, one has it nowhere.
    assert_eq!(done(&read(&path), &out), (8, 2));
}
