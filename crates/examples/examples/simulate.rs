//! The controller against the built-in one, in the simulator: a line each, and a picture of the windows.
//!
//! ```text
//! cargo run --package polypath-examples --example simulate -- scenarios/two-100mbit.toml pictures
//! ```

use std::env;
use std::path::Path;

use anyhow::Context as _;
use polypath_examples::with_gentle;
use polypath_lab::figure::{self, Curve, Picture, Scale, Shape, Spot};
use polypath_sim::{Form, RunResult, Scenario, Simulation};

/// What the scenario file leaves open or says otherwise: both hosts have buffers that do not limit them.
const CHANGES: [&str; 6] = [
    "run.duration=10 s",
    "record.series=50 ms",
    "record.occupancy=50 ms",
    "sctp.preset=recommended",
    "sctp.send_buffer=4 MiB",
    "sctp.receive_buffer=4 MiB",
];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, folder] = &arguments[..] else {
        anyhow::bail!("usage: simulate SCENARIO FOLDER");
    };
    let scenario = Scenario::read(Path::new(file), &CHANGES)?;
    let built_in = Simulation::new(&scenario)?.run()?;
    let gentle = Simulation::customized(&scenario, 1, Form::default(), |_, config| {
        with_gentle(config);
    })?
    .run()?;
    let mut curves = Vec::new();
    for (name, result) in [("built-in", &built_in), ("gentle", &gentle)] {
        report(name, result);
        curves.extend(windows(name, result));
    }
    let picture = Picture {
        title: scenario.title.clone(),
        x_label: "Time in s".into(),
        y_label: "Congestion window in kB".into(),
        x_scale: Scale::Linear,
        y_scale: Scale::Log,
        categories: Vec::new(),
        shape: Shape::Lines,
        curves,
        references: Vec::new(),
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {folder}"))?;
    for path in figure::write(&picture, Path::new(folder), "windows")? {
        println!("picture: {}", path.display());
    }
    Ok(())
}

fn report(name: &str, result: &RunResult) {
    let paths = result.paths.iter().filter(|path| path.from == "a");
    let srtt = paths.filter_map(|path| path.srtt_s).fold(0.0, f64::max);
    let (goodput, lost) = (result.goodput_bit_s / 1e6, retransmissions(result));
    println!(
        "{name:>9}: {goodput:6.1} Mbit/s, {:5.1} ms round trip, {lost} packets lost",
        srtt * 1e3
    );
}

fn retransmissions(result: &RunResult) -> u64 {
    let again =
        |path: &polypath_sim::PathResult| path.fast_retransmissions + path.timeout_retransmissions;
    result.paths.iter().map(again).sum()
}

/// The window of each path of host a over time.
fn windows(name: &str, result: &RunResult) -> Vec<Curve> {
    let Some(series) = &result.series else { return Vec::new() };
    let curve = |path: &polypath_sim::PathSeries| Curve {
        label: format!("{name}, {}", path.name),
        spots: series
            .time_s
            .iter()
            .zip(&path.cwnd_bytes)
            .filter_map(|(time, cwnd)| Some(Spot::exact(*time, (*cwnd)? as f64 / 1e3)))
            .collect(),
    };
    series.paths.iter().filter(|path| path.from == "a").map(curve).collect()
}
