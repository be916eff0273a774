//! A part of one's own against the built-in one, in the simulator: a line each, and a picture of the windows.
//!
//! ```text
//! simulate gentle scenarios/two-100mbit.toml pictures
//! simulate earliest-first crates/examples/tests/bursts.toml pictures "run.duration=10 s"
//! ```
//!
//! What follows the folder changes the scenario, as `--set` of `polypath sim` does.

use std::env;
use std::path::Path;

use anyhow::Context as _;
use polypath::AssociationConfig;
use polypath_examples::{with_earliest_first, with_gentle};
use polypath_lab::figure::{self, Curve, FigureStyle, Picture, Scale, Shape, Spot};
use polypath_sim::{Form, RunResult, Scenario, Simulation};

/// The curves of the picture.
const RECORD: &str = "record.series=50 ms";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [part, file, folder, changes @ ..] = &arguments[..] else {
        anyhow::bail!("usage: simulate gentle|earliest-first SCENARIO FOLDER [KEY=VALUE]...");
    };
    let customize: fn(&mut AssociationConfig) = match part.as_str() {
        "gentle" => with_gentle,
        "earliest-first" => with_earliest_first,
        other => anyhow::bail!("there is no part {other}; parts: gentle, earliest-first"),
    };
    let changes: Vec<&str> = [RECORD].into_iter().chain(changes.iter().map(|it| &**it)).collect();
    let scenario = Scenario::read(Path::new(file), &changes)?;
    let built_in = Simulation::new(&scenario)?.run()?;
    let own = Simulation::customized(&scenario, 1, Form::default(), |_, config| {
        customize(config);
    })?
    .run()?;
    let mut curves = Vec::new();
    for (name, result) in [("built-in", &built_in), (part, &own)] {
        report(name, result);
        let looks = curves.len()..;
        curves.extend(
            windows(name, result)
                .into_iter()
                .zip(looks)
                .map(|(curve, look)| Curve { look, ..curve }),
        );
    }
    let picture = Picture {
        title: scenario.title.clone(),
        note: String::new(),
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
    let written = figure::write(&picture, Path::new(folder), "windows", FigureStyle::default())?;
    println!("figure: {written}");
    Ok(())
}

fn report(name: &str, result: &RunResult) {
    let paths = result.paths.iter().filter(|path| path.from == "a");
    let srtt = paths.filter_map(|path| path.srtt_s).fold(0.0, f64::max);
    let (goodput, again) = (result.goodput_bit_s / 1e6, retransmissions(result));
    let delays = result.flows.iter().filter_map(|flow| flow.delay.max_s);
    let slowest = delays.fold(0.0, f64::max) * 1e3;
    println!(
        "{name:>14}: {goodput:.1} Mbit/s, round trip {:.1} ms, slowest message {slowest:.0} ms, {again} retransmissions",
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
        parts: vec![name.to_owned(), path.name.clone()],
        look: 0,
        spots: series
            .time_s
            .iter()
            .zip(&path.cwnd_bytes)
            .filter_map(|(time, cwnd)| Some(Spot::exact(*time, (*cwnd)? as f64 / 1e3)))
            .collect(),
    };
    series.paths.iter().filter(|path| path.from == "a").map(curve).collect()
}
