//! The same study gives the same tables, whoever runs it and however.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{STUDY, run, run_part, study};
use polypath_lab::results::{self, Table, TableError};
use polypath_lab::study::Extent;
use sha2::{Digest, Sha256};

fn tables(directory: &Path) -> [Vec<u8>; 2] {
    [results::RUNS, results::SERIES].map(|name| fs::read(directory.join(name)).expect("a table"))
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
    let runs = ["variant", "replication", "at.rate", "seed", "status", "trace_hash"];
    let measures = ["measure.goodput", "measure.retransmissions"];
    let mut found = lines(&directory.path().join(results::RUNS), &[&runs[..], &measures].concat());
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
    let missing = results::merge(&shards[..2], &joined).expect_err("a shard is missing");
    assert!(missing.to_string().starts_with("4 runs are missing"), "{missing}");
    results::merge(&shards, &joined).expect("all shards");
    assert!(tables(&joined) == tables(&directory.path().join("whole")));
}
