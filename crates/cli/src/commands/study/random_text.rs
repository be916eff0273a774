//! A random sample for people.

use std::fmt::{self, Write};
use std::path::Path;

use polypath_lab::random::{Case, Found, Hurt, Summary, measures};

use crate::table::{Table, Width};
use crate::time::duration;

/// Most networks that are listed of each measure; the table `networks` has all.
const LISTED: usize = 10;

/// The distribution of each ratio, and the networks in which more paths hurt.
pub(super) fn summary(
    found: &Found,
    lines: &[Summary],
    worst: &[Hurt],
    (out, took_s): (&Path, f64),
    width: Width,
) -> Result<String, fmt::Error> {
    let mut text = String::new();
    let took = duration(took_s);
    writeln!(text, "all paths / best path alone (below 1, more paths hurt)\n")?;
    writeln!(text, "  {} runs, {} of them new, in {took}", found.runs, found.new)?;
    writeln!(text, "  results in {}", out.display())?;
    if let (1.., Some(error)) = (found.failed, found.errors.first()) {
        writeln!(text, "  {} runs failed (column error), for example: {error}", found.failed)?;
    }
    let header =
        ["traffic", "n", "least", "p1", "p5", "median", "mean", "<0.95 %", "<0.98 %", "<1 %"];
    let ratio = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.3}"));
    let part =
        |value: Option<f64>| value.map_or("-".into(), |value| format!("{:.1}", value * 100.0));
    let row = |line: &Summary| {
        let mut row = vec![line.traffic.clone(), line.networks.to_string()];
        row.extend([line.least, line.p1, line.p5, line.median, line.mean].map(ratio));
        row.extend([line.below_95, line.below_98, line.below_100].map(part));
        row
    };
    text += &Table::new(&header, lines.iter().map(row)).text(width);
    for line in lines.iter().filter(|line| line.without > 0) {
        let (traffic, without) = (&line.traffic, line.without);
        writeln!(text, "  {traffic}: {without} networks have no ratio: no single path finished")?;
    }
    write_worst(&mut text, worst, width)?;
    Ok(text)
}

/// The worst networks, by what was measured.
fn write_worst(text: &mut String, worst: &[Hurt], width: Width) -> fmt::Result {
    if worst.is_empty() {
        return writeln!(text, "\nNo network is below 0.98.");
    }
    let mut rest = worst;
    while let Some(first) = rest.first() {
        let is_like = |it: &Hurt| (&it.kind, &it.measure) == (&first.kind, &first.measure);
        let count = rest.iter().take_while(|it| is_like(it)).count();
        let (group, others) = rest.split_at(count);
        rest = others;
        writeln!(text, "\nBelow 0.98: {count} of {}, {}", first.kind, first.measure)?;
        let rows = group.iter().take(LISTED).map(|it| {
            vec![
                it.network.to_string(),
                format!("{:.3}", it.ratio),
                value(it.all, &it.unit),
                value(Some(it.best), &it.unit),
                it.description.clone(),
            ]
        });
        let header = ["network", "ratio", "all", "best", ""];
        *text += &Table::new(&header, rows).with_words().text(width);
        if count > LISTED {
            writeln!(text, "  … {} more in networks.parquet", count - LISTED)?;
        }
    }
    Ok(())
}

/// What was measured of each network, in all of its runs.
pub(super) fn networks(cases: &[Case], width: Width) -> Result<String, fmt::Error> {
    let mut text = String::new();
    for (number, case) in cases.iter().enumerate() {
        let network = &case.network;
        let gap = if number > 0 { "\n" } else { "" };
        writeln!(text, "{gap}network {} of {}: {network}", network.number, network.kind.label())?;
        let mut header = vec!["measure".to_owned(), "ratio".to_owned(), "all".to_owned()];
        header.extend((1..=network.paths.len()).map(|path| format!("p{path} alone")));
        let rows = case.values.iter().zip(measures(network.kind)).map(|(values, measure)| {
            let ratio = values.ratio().map_or("-".into(), |ratio| format!("{ratio:.3}"));
            let mut row = vec![measure.name, ratio, value(values.all, &measure.unit)];
            row.extend(values.alone.iter().map(|alone| value(*alone, &measure.unit)));
            row
        });
        text += &Table::new(&header, rows).text(width);
    }
    Ok(text)
}

/// A value with its unit; `-` for a run that came to no end.
fn value(value: Option<f64>, unit: &str) -> String {
    match value {
        None => "-".into(),
        Some(value) if value >= 100.0 => format!("{value:.0} {unit}"),
        Some(value) if value >= 1.0 => format!("{value:.2} {unit}"),
        Some(value) => format!("{value:.4} {unit}"),
    }
}
