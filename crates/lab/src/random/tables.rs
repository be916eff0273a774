//! The tables of a sample.

use std::collections::BTreeSet;
use std::path::Path as FilePath;

use super::case::Case;
use super::measure::{measures, value};
use super::network::{Loss, Network, Path};
use super::run::{Job, seed_of};
use crate::journal::{Cell, Entry, Journal, Kind, Outcome, RunId, Status};
use crate::results::{
    self, Column, Places, TableWriter, WriteError, column, execution_columns, execution_row, float,
    result_columns,
};

/// Writes a row per run, and one per run about how it was executed.
pub(super) fn write_runs(
    directory: &FilePath,
    networks: &[Network],
    jobs: &[Job],
    journal: &Journal,
) -> Result<(), WriteError> {
    let known = journal.kinds(jobs.iter().filter_map(|job| job.id.as_ref().ok().copied()));
    let names: Vec<&String> = known.keys().collect();
    let mut columns = run_columns();
    columns.extend(result_columns(&known));
    let mut runs = TableWriter::create(&directory.join(results::RUNS), columns)?;
    let mut execution =
        TableWriter::create(&directory.join(results::EXECUTION), execution_columns())?;
    let (mut executed, mut places) = (BTreeSet::new(), Places::default());
    for job in jobs {
        let entry = match &job.id {
            Ok(id) => journal.read(*id)?.map(|entry| (*id, entry)),
            Err(_) => None,
        };
        if let Some((id, entry)) = entry.as_ref().filter(|(id, _)| executed.insert(*id)) {
            execution.push(execution_row(*id, entry))?;
        }
        let mut outcome = outcome_of(job, entry);
        places.find(&outcome.result.names, &names);
        let mut row = run_cells(&networks[job.network], job, &outcome);
        places.take(&mut outcome.result.values, &mut row);
        runs.push(row)?;
    }
    runs.finish()?;
    Ok(execution.finish()?)
}

fn outcome_of(job: &Job, entry: Option<(RunId, Entry)>) -> Outcome {
    match (entry, &job.id) {
        (Some((_, entry)), _) => entry.outcome,
        (None, Err(error)) => Outcome::without_result(Status::Refused, error.clone()),
        (None, Ok(_)) => {
            Outcome::without_result(Status::Refused, "the run was not made".to_owned())
        }
    }
}

/// Columns that every run has a value for.
fn run_columns() -> Vec<Column> {
    vec![
        column("run", Kind::Text),
        column("traffic", Kind::Text),
        column("network", Kind::Int),
        column("paths", Kind::Text),
        column("seed", Kind::Int),
        column("status", Kind::Text),
        column("error", Kind::Text),
        column("trace_hash", Kind::Text),
        column("value", Kind::Float),
    ]
}

fn run_cells(network: &Network, job: &Job, outcome: &Outcome) -> Vec<Cell> {
    let text = |text: &Option<String>| text.clone().map_or(Cell::Null, Cell::Text);
    let id = job.id.as_ref().ok().map(RunId::to_string);
    let first = measures(network.kind);
    let value = first.first().and_then(|it| value(network.kind, it, outcome).ok().flatten());
    vec![
        text(&id),
        Cell::Text(network.kind.label()),
        Cell::Int(network.number.into()),
        Cell::Text(job.way.to_string()),
        Cell::Int(seed_of(network.seed, job.run) as i64),
        Cell::Text(outcome.status.name().into()),
        text(&outcome.error),
        text(&outcome.trace_hash),
        float(value),
    ]
}

/// Writes a row per network and measure, with what decides over the network.
pub(super) fn write_networks(path: &FilePath, cases: &[Case]) -> Result<(), WriteError> {
    let mut table = TableWriter::create(path, network_columns())?;
    for case in cases {
        for (values, measure) in case.values.iter().zip(measures(case.network.kind)) {
            let best = values.best();
            let name = best.map(|(place, _)| Cell::Text(Path::name(place)));
            let mut row = vec![
                Cell::Text(case.network.kind.label()),
                Cell::Int(case.network.number.into()),
                Cell::Text(measure.name),
                Cell::Text(measure.unit),
                float(values.ratio()),
                float(values.ratio_to_sum()),
                float(values.all),
                float(best.map(|(_, value)| value)),
                name.unwrap_or_default(),
            ];
            row.extend(feature_cells(&case.network));
            table.push(row)?;
        }
    }
    Ok(table.finish()?)
}

fn network_columns() -> Vec<Column> {
    use Kind::{Bool, Float, Int, Text};
    let columns = [
        ("traffic", Text),
        ("network", Int),
        ("measure", Text),
        ("unit", Text),
        ("ratio", Float),
        ("ratio_to_sum", Float),
        ("all", Float),
        ("best", Float),
        ("best_path", Text),
        ("paths", Int),
        ("lowest_rate_mbit_s", Float),
        ("highest_rate_mbit_s", Float),
        ("lowest_delay_ms", Float),
        ("highest_delay_ms", Float),
        ("shortest_queue_packets", Int),
        ("longest_queue_packets", Int),
        ("red", Bool),
        ("loss", Text),
        ("asymmetric", Bool),
        ("send_buffer_bytes", Int),
        ("receive_buffer_bytes", Int),
        ("message_bytes", Int),
        ("unordered", Bool),
        ("change", Text),
        ("duration_s", Float),
        ("description", Text),
    ];
    columns.map(|(name, kind)| column(name, kind)).into()
}

/// The parameters of a network that may explain its ratio.
fn feature_cells(network: &Network) -> [Cell; 17] {
    let paths = || network.paths.iter();
    let least = |of: fn(&Path) -> u64| paths().map(of).min().unwrap_or_default();
    let most = |of: fn(&Path) -> u64| paths().map(of).max().unwrap_or_default();
    let scaled = |number: u64, scale: f64| Cell::Float(number as f64 * scale);
    let int = |number: u64| Cell::Int(number as i64);
    let change = network.change.map(|change| Cell::Text(change.name().into()));
    [
        int(network.paths.len() as u64),
        scaled(least(|path| path.rate), 1e-6),
        scaled(most(|path| path.rate), 1e-6),
        scaled(least(|path| path.delay), 1e-3),
        scaled(most(|path| path.delay), 1e-3),
        int(least(|path| path.queue)),
        int(most(|path| path.queue)),
        Cell::Bool(paths().any(|path| path.red)),
        Cell::Text(losses(&network.paths).into()),
        Cell::Bool(paths().any(|path| path.back.is_some())),
        int(network.send_buffer),
        int(network.receive_buffer),
        int(network.message_bytes),
        Cell::Bool(network.unordered),
        change.unwrap_or_default(),
        scaled(network.duration_ms, 1e-3),
        Cell::Text(network.to_string()),
    ]
}

/// Which paths lose packets, in a word.
fn losses(paths: &[Path]) -> &'static str {
    let lossy = paths.iter().filter(|path| path.loss != Loss::None).count();
    let bursts = paths.iter().any(|path| matches!(path.loss, Loss::Bursts { .. }));
    match lossy {
        0 => "none",
        _ if bursts => "bursts",
        lossy if lossy == paths.len() => "all",
        _ => "one",
    }
}
