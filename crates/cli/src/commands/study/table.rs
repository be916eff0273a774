//! Results of a study for people.

use std::fmt::Write;

use polypath_lab::results::Dataset;
use polypath_lab::run::Summary;

use crate::table::{Table, Width};
use crate::time::duration;

/// Most lines of the table; the files have everything.
const LINES: usize = 60;

/// What was run, and a line for each variant at each point, with the mean of every measure and its interval.
pub(super) fn summary(
    data: &Dataset,
    summary: &Summary,
    width: Width,
) -> Result<String, std::fmt::Error> {
    let study = data.study();
    let mut out = String::new();
    writeln!(out, "{}\n", study.title())?;
    writeln!(
        out,
        "  {} runs, {} of them new, in {}",
        summary.rows,
        summary.new,
        duration(summary.wall_s)
    )?;
    for (status, count) in &summary.statuses {
        if *count < summary.rows {
            writeln!(out, "  {count} {}", status.name())?;
        }
    }
    writeln!(out, "  results in {}", summary.directory.display())?;
    let mut header: Vec<String> = study.axes().iter().map(|axis| axis.name.clone()).collect();
    header.push("variant".into());
    header.push("runs".into());
    for measure in study.measures() {
        header.push(match measure.unit.as_str() {
            "" => measure.name.clone(),
            unit => format!("{} ({unit})", measure.name),
        });
    }
    let variants = study.variants().len();
    let count = study.points().len() * variants;
    let rows: Vec<Vec<String>> = (0..count.min(LINES))
        .map(|number| {
            let (point, variant) = (study.points().at(number / variants), number % variants);
            let values = point.values.iter().zip(study.axes());
            let mut row: Vec<String> = values.map(|(index, axis)| axis.label_of(*index)).collect();
            row.push(study.variants()[variant].name.clone());
            row.push(data.values(point.index, variant, 0).len().to_string());
            row.extend((0..study.measures().len()).map(|m| cell(data, point.index, variant, m)));
            row
        })
        .collect();
    out += &Table::new(&header, rows).keys(study.axes().len() + 1).text(width);
    if count > LINES {
        writeln!(out, "  … {} more lines in runs.parquet", count - LINES)?;
    }
    Ok(out)
}

/// Mean and half-width of the interval.
fn cell(data: &Dataset, point: usize, variant: usize, measure: usize) -> String {
    let Some(estimate) = data.estimate(point, variant, measure) else { return "-".into() };
    let half_width = estimate.interval.half_width();
    if half_width.is_finite() {
        format!("{:.3} ± {half_width:.3}", estimate.value)
    } else {
        format!("{:.3}", estimate.value)
    }
}
