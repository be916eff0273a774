//! Random samples, end to end.

use std::fs;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use polypath_lab::random::{
    Found, Kind, Numbers, Request, Sample, SampleError, hurt, run_sample, summaries,
};
use polypath_lab::results::{NETWORKS, RUNS, Table, TableError};
use polypath_lab::run::{Program, Progress, Silent, Status};
use polypath_units::ByteCount;

fn sample(networks: u32) -> Sample {
    Sample {
        kinds: vec![Kind::Range, Kind::File(ByteCount::from_bytes(10_000))],
        numbers: Numbers::First(networks),
        runs: NonZeroU32::MIN,
        seed: 4,
        edits: vec!["run.duration=1 s".into()],
    }
}

fn run(
    sample: &Sample,
    directory: &Path,
    jobs: usize,
    (stop, progress): (&AtomicBool, &dyn Progress),
) -> Result<Found, SampleError> {
    let jobs = NonZeroUsize::new(jobs);
    run_sample(sample, directory, &Request { jobs, program: Program::default(), stop, progress })
}

fn run_all(sample: &Sample, directory: &Path, jobs: usize) -> Found {
    run(sample, directory, jobs, (&AtomicBool::new(false), &Silent)).expect("a sample that runs")
}

#[test]
fn results_depend_on_nothing_but_the_sample() {
    let place = tempfile::tempdir().expect("a directory");
    let [one, two] = ["one", "two"].map(|name| place.path().join(name));
    let sample = sample(2);
    // In one go on two threads, or in two on one.
    let at_once = run_all(&sample, &one, 2);
    let first = Sample { numbers: Numbers::First(1), ..sample.clone() };
    run_all(&first, &two, 1);
    let in_parts = run_all(&sample, &two, 1);
    assert_eq!(at_once.cases, in_parts.cases);
    assert!(in_parts.new < at_once.new && in_parts.kept == at_once.kept);
    for table in [RUNS, NETWORKS] {
        let read = |folder: &Path| fs::read(folder.join(table)).expect("a table");
        assert!(read(&one) == read(&two), "{table}");
    }
    let cases = at_once.cases.expect("all of it");
    assert_eq!((cases.len(), at_once.without_result), (4, 0));
    assert!(cases.iter().all(|case| case.values.iter().all(|values| values.all.is_some())));
    let lines = summaries(&sample.kinds, &cases);
    assert!(lines.iter().all(|line| line.networks == 2 && line.without == 0), "{lines:?}");
    assert!(hurt(&sample.kinds, &cases).iter().all(|hurt| hurt.ratio < 0.98));
    let networks = Table::open(&one.join(NETWORKS)).expect("a table");
    assert_eq!(networks.columns().len(), 26);
}

/// Stops the sample after its first run.
struct Stopping<'a>(&'a AtomicBool);

impl Progress for Stopping<'_> {
    fn expect(&self, _runs: usize) {}

    fn done(&self, _status: Status) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

#[test]
fn an_interrupted_sample_goes_on() {
    let place = tempfile::tempdir().expect("a directory");
    let stop = AtomicBool::new(false);
    let stopped = run(&sample(1), place.path(), 1, (&stop, &Stopping(&stop))).expect("a sample");
    assert_eq!((stopped.cases, stopped.new), (None, 1));
    assert!(!place.path().join(RUNS).exists());
    let rest = run_all(&sample(1), place.path(), 1);
    assert_eq!(rest.new, rest.runs - 1);
}

#[test]
fn changes_that_make_no_scenario_are_complained_about_before_anything_is_written() {
    let place = tempfile::tempdir().expect("a directory");
    let directory = place.path().join("out");
    let wrong = Sample { edits: vec!["sctp.preset=recomended".into()], ..sample(1) };
    let error = run(&wrong, &directory, 1, (&AtomicBool::new(false), &Silent));
    let error = error.expect_err("no such preset").to_string();
    assert!(error.contains("--set sctp.preset") && error.contains("recommended"), "{error}");
    assert!(!directory.exists());
}

#[test]
fn the_means_of_several_runs_are_compared() {
    let place = tempfile::tempdir().expect("a directory");
    let thrice = Sample {
        kinds: vec![Kind::Bulk],
        runs: NonZeroU32::new(3).expect("not 0"),
        edits: vec!["run.duration=2 s".into()],
        ..sample(3)
    };
    let once = run_all(&Sample { runs: NonZeroU32::MIN, ..thrice.clone() }, place.path(), 2);
    let found = run_all(&thrice, place.path(), 2);
    assert_eq!((found.runs, found.new), (3 * once.runs, 2 * once.runs));
    let table = Table::open(&place.path().join(RUNS)).expect("a table");
    let columns = ["seed", "value"].map(|name| table.column(name).expect("a column"));
    let mut values: Vec<[f64; 2]> = Vec::new();
    let read: Result<(), TableError> = table.rows(&columns, |row| {
        values.push([row[0].number(), row[1].number()].map(|cell| cell.expect("a number")));
        Ok(())
    });
    read.expect("rows");
    assert!(values.chunks(3).all(|runs| runs[1][0] == runs[0][0] + 1.0), "{values:?}");
    assert!(values.chunks(3).any(|runs| runs[0][1] != runs[1][1]), "chance plays no part");
    let means = values.chunks(3).map(|runs| runs.iter().map(|run| run[1]).sum::<f64>() / 3.0);
    let cases = found.cases.expect("all of it");
    let told = cases
        .iter()
        .flat_map(|case| [case.values[0].all].into_iter().chain(case.values[0].alone.clone()));
    assert!(told.flatten().eq(means), "{values:?}");
}
