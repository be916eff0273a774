//! Whole runs are what they were: their trace hashes are committed.
//!
//! A change of behaviour changes hashes. If it is meant, look at what the runs do now, then write the new hashes with
//! `POLYPATH_UPDATE_TRACES=1 cargo test -p polypath-sim --test trace_hashes`.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use common::RUNS;
use polypath_sim::Form;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/trace_hashes.txt")
}

/// Hash by name of the run.
fn committed() -> BTreeMap<String, String> {
    let text = fs::read_to_string(file()).expect("the committed hashes");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (hash, name) = line.split_once(' ').expect("a hash and a name");
            (name.to_owned(), hash.to_owned())
        })
        .collect()
}

#[test]
fn traces_are_the_committed_ones() {
    let hashes: BTreeMap<String, String> = RUNS
        .iter()
        .map(|run| (run.name.to_owned(), run.run(Form::Structured).trace_hash.to_string()))
        .collect();
    if std::env::var_os("POLYPATH_UPDATE_TRACES").is_some() {
        let mut text = "# Trace hashes of the runs in tests/common/mod.rs; tests/trace_hashes.rs says how to renew them.\n".to_owned();
        for (name, hash) in &hashes {
            writeln!(text, "{hash} {name}").expect("a string");
        }
        fs::write(file(), text).expect("a file that can be written");
        return;
    }
    assert_eq!(hashes, committed());
}
