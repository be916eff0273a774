//! What becomes of runs: made once, never lost, never silent.

mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::{STUDY, run, study};
use polypath_lab::results::{self, Dataset, Table, TableError};
use polypath_lab::run::{
    Cell, Finish, Limits, MakeError, Program, Progress, Request, RunError, Shard, Sharing, Silent,
    Status, Summary, run_study,
};
use polypath_lab::study::{Extent, Study};

/// Values of a column of `runs`.
fn column(directory: &Path, name: &str) -> Vec<Cell> {
    let table = Table::open(&directory.join(results::RUNS)).expect("a table");
    let number = table.column(name).expect("a column");
    let mut cells = Vec::new();
    table
        .rows::<TableError>(&[number], |row| {
            cells.extend_from_slice(row);
            Ok(())
        })
        .expect("readable");
    cells
}

fn texts(cells: Vec<Cell>) -> Vec<String> {
    let text = |cell| match cell {
        Cell::Text(text) => text,
        other => format!("{other:?}"),
    };
    cells.into_iter().map(text).collect()
}

#[test]
fn rows_lie_in_the_order_of_points_variants_and_replications() {
    let directory = tempfile::tempdir().expect("a directory");
    let summary = run(&study(STUDY, Extent::Full), directory.path());
    assert_eq!((summary.rows, summary.new, summary.known), (12, 12, 0));
    let variants = texts(column(directory.path(), "variant"));
    assert_eq!(variants, [["one"; 3], ["both"; 3], ["one"; 3], ["both"; 3]].concat());
    let at: Vec<_> = column(directory.path(), "at.rate").iter().filter_map(Cell::number).collect();
    assert_eq!(at, [[1.0; 6], [4.0; 6]].concat());
    let seeds = column(directory.path(), "seed");
    assert!(seeds[..3] == seeds[3..6] && seeds[..3] != seeds[6..9], "common random numbers");
    let measured = column(directory.path(), "measure.goodput");
    let results = column(directory.path(), "result.goodput_bit_s");
    for (measured, result) in measured.iter().zip(&results) {
        assert_eq!(measured.number(), result.number().map(|number| number * 1e-6));
    }
}

#[test]
fn a_study_without_randomness_has_to_be_one() {
    let quiet = STUDY.replace(", loss = { forward = \"1 %\" }", "");
    for (text, expected) in [(STUDY, Status::Refused), (&quiet, Status::Ok)] {
        let directory = tempfile::tempdir().expect("a directory");
        let text = text.replace("runs = 3\n", "deterministic = true\n");
        let summary = run(&study(&text, Extent::Full), directory.path());
        let statuses: Vec<Status> = summary.statuses.keys().copied().collect();
        assert_eq!((summary.rows, statuses), (4, vec![expected]), "{:?}", summary.errors);
        let says = summary.errors.iter().all(|error| error.contains("nothing is random"));
        assert!(says && summary.errors.is_empty() == (expected == Status::Ok));
    }
}

#[test]
fn a_run_can_be_repeated_by_itself() {
    let directory = tempfile::tempdir().expect("a directory");
    let study = study(STUDY, Extent::Full);
    run(&study, directory.path());
    let hashes = texts(column(directory.path(), "trace_hash"));
    let Cell::Int(seed) = column(directory.path(), "seed")[11] else { panic!("a seed") };
    let scenario = study.scenario(&study.points().at(1), 1).expect("a scenario");
    let outcome = polypath_lab::run::run_once(&scenario, seed as u64);
    assert_eq!(outcome.trace_hash.as_deref(), Some(hashes[11].as_str()));
}

/// Sets the flag after some runs.
struct StopAfter<'a> {
    left: AtomicUsize,
    stop: &'a AtomicBool,
}

impl Progress for StopAfter<'_> {
    fn expect(&self, _runs: usize) {}
    fn done(&self, _status: Status) {
        if self.left.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.stop.store(true, Ordering::SeqCst);
        }
    }
}

fn request<'a>(stop: &'a AtomicBool, progress: &'a dyn Progress) -> Request<'a> {
    let program = Program::default();
    let jobs = std::num::NonZeroUsize::new(1);
    let (shard, sharing, limits) = (Shard::WHOLE, Sharing::Alone, Limits::default());
    Request { jobs, shard, sharing, limits, at_least: &[], program, test_bed: None, stop, progress }
}

#[test]
fn an_interrupted_study_goes_on_where_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    let [whole, parts] = ["whole", "parts"].map(|name| directory.path().join(name));
    let study = study(STUDY, Extent::Full);
    run(&study, &whole);
    let mut made = 0;
    let mut pieces = 0;
    let last: Summary = loop {
        let stop = AtomicBool::new(false);
        let progress = StopAfter { left: AtomicUsize::new(5), stop: &stop };
        let summary = run_study(&study, &parts, &request(&stop, &progress)).expect("no trouble");
        made += summary.new;
        pieces += 1;
        if summary.finish == Finish::Complete {
            break summary;
        }
        assert_eq!(summary.new, 5);
        assert!(!parts.join(results::RUNS).exists(), "no table with holes");
    };
    assert_eq!((made, pieces, last.known), (12, 3, 10));
    for name in [results::RUNS, results::SERIES] {
        assert!(fs::read(whole.join(name)).ok() == fs::read(parts.join(name)).ok(), "{name}");
    }
}

#[test]
fn what_is_known_is_not_run_again() {
    let directory = tempfile::tempdir().expect("a directory");
    run(&study(STUDY, Extent::Quick), directory.path());
    let summary = run(&study(STUDY, Extent::Full), directory.path());
    assert_eq!((summary.rows, summary.new, summary.known), (12, 8, 4));
    let more = STUDY.replace("\"4 Mbit/s\"]", "\"4 Mbit/s\", \"2 Mbit/s\"]");
    let summary = run(&study(&more, Extent::Full), directory.path());
    assert_eq!((summary.rows, summary.new), (18, 6));
    let renamed = more.replace("name = \"one\"", "name = \"primary only\"");
    assert_eq!(run(&study(&renamed, Extent::Full), directory.path()).new, 0);
}

#[test]
fn nothing_that_another_study_left_is_taken_for_this_ones() {
    let directory = tempfile::tempdir().expect("a directory");
    run(&study(STUDY, Extent::Quick), directory.path());
    let series = directory.path().join(results::SERIES);
    assert!(series.exists());
    let stop = AtomicBool::new(true);
    let without = STUDY.replace("[series]\ninterval = \"250 ms\"\n", "");
    let full = study(&without, Extent::Full);
    let summary = run_study(&full, directory.path(), &request(&stop, &Silent)).expect("no trouble");
    assert_eq!(summary.finish, Finish::Interrupted);
    assert!(Dataset::read(directory.path()).is_err(), "it is not finished");
    let summary = run(&full, directory.path());
    assert_eq!(summary.known, 4, "runs are kept");
    assert!(!series.exists());
}

#[test]
fn a_refused_configuration_is_a_row_with_its_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = STUDY.replace("\"sctp.preset\" = \"rfc9260\"", "\"sctp.mtu\" = \"40 B\"");
    let summary = run(&study(&text, Extent::Full), directory.path());
    assert_eq!(summary.rows, 12);
    assert_eq!(summary.statuses[&Status::Refused], 6);
    assert_eq!(summary.statuses[&Status::Ok], 6);
    let errors = texts(column(directory.path(), "error"));
    assert!(errors[0].contains("sctp.mtu: 40 B is not from 512 B"), "{}", errors[0]);
    assert_eq!(errors[3], "Null");
    assert_eq!(column(directory.path(), "measure.goodput")[0], Cell::Null);
}

#[test]
fn a_measure_that_no_run_has_ends_the_study_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let text = STUDY.replace("\"goodput_bit_s\"", "\"godput_bit_s\"");
    let study = study(&text, Extent::Full);
    let stop = AtomicBool::new(false);
    let error = run_study(&study, directory.path(), &request(&stop, &Silent)).expect_err("no such");
    assert!(matches!(error, RunError::Make(MakeError::NoResult(_))));
    assert!(error.to_string().ends_with("did you mean `goodput_bit_s`?"), "{error}");
}

#[test]
fn a_study_goes_on_until_intervals_are_narrow() {
    let with = |half_width: &str, max: u32| -> Study {
        let until = format!(
            "[replications.until]\nmeasure = \"goodput\"\nhalf_width = \"{half_width}\"\nmin = 3\nmax = {max}\n"
        );
        study(&STUDY.replace("[replications]\nruns = 3\n", &until), Extent::Full)
    };
    let directory = tempfile::tempdir().expect("a directory");
    let study = with("10 %", 60);
    run(&study, directory.path());
    let data = Dataset::read(directory.path()).expect("results");
    let mut counts = Vec::new();
    for point in 0..2 {
        let runs = [0, 1].map(|variant| data.values(point, variant, 0).len());
        assert_eq!(runs[0], runs[1], "variants of a point have the same number of runs");
        counts.push(runs[0]);
        for variant in 0..2 {
            let estimate = data.estimate(point, variant, 0).expect("values");
            assert!(estimate.interval.half_width() <= 0.1 * estimate.value || runs[0] == 60);
        }
    }
    assert!(counts.iter().any(|count| *count > 3), "{counts:?}");
    let limited = run(&with("0.01 %", 5), &directory.path().join("limited"));
    assert_eq!(limited.rows, 20);
}

#[test]
fn the_resolved_study_repeats_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    run(&study(STUDY, Extent::Quick), directory.path());
    let text = fs::read_to_string(directory.path().join(results::STUDY)).expect("a study");
    assert_eq!(run(&study(&text, Extent::Full), directory.path()).new, 0);
}

#[test]
fn tables_become_csv() {
    let directory = tempfile::tempdir().expect("a directory");
    run(&study(STUDY, Extent::Quick), directory.path());
    let out = directory.path().join("csv");
    let files = results::export(directory.path(), &out).expect("tables");
    assert_eq!(files.len(), 3);
    let text = fs::read_to_string(out.join("runs.csv")).expect("runs.csv");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(lines[0].starts_with("run,point,variant,replication,seed,axis.rate,at.rate,status"));
    let width = lines[0].split(',').count();
    assert!(lines.iter().all(|line| line.split(',').count() == width));
    let series = fs::read_to_string(out.join("series.csv")).expect("series.csv");
    assert!(series.contains(",goodput_bit_s,0.5,"), "{}", &series[..400]);
}
