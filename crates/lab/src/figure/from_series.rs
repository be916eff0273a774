//! Figures of series over time.

use std::collections::BTreeSet;
use std::path::Path;

use super::from_measures::variants;
use super::words::SeriesWords;
use super::{Curve, FigureError, Picture, Shape, Spot};
use crate::results::{ResultsError, samples};
use crate::study::{FigureKind, FigurePlan, Scale, Study, matches, no};

/// The picture that a plan describes: a curve for each series of the first run of each variant at each selected point.
///
/// # Errors
/// There are no series, or they cannot be read.
pub fn of_series(
    plan: &FigurePlan,
    study: &Study,
    directory: &Path,
) -> Result<Picture, FigureError> {
    let wrong = |message| FigureError::Plan { name: plan.name.clone(), message };
    let points = study.select(&plan.selection).map_err(wrong)?;
    let drawn: Vec<&str> = variants(plan, study)
        .iter()
        .map(|number| study.variants()[*number].name.as_str())
        .collect();
    let mut curves: Vec<((usize, usize, String), Vec<Spot>)> = Vec::new();
    let mut found = BTreeSet::new();
    samples(directory, |sample| {
        if !found.contains(sample.series) {
            found.insert(sample.series.to_owned());
        }
        let Some(variant) = drawn.iter().position(|name| *name == sample.variant) else { return };
        let wanted = plan.series.iter().any(|pattern| matches(pattern, sample.series));
        if sample.replication != 0 || !wanted || !points.contains(&sample.point) {
            return;
        }
        let Some(value) = sample.value else { return };
        let key = (sample.point, variant, sample.series);
        let same = |(point, variant, series): &(usize, usize, String)| {
            (*point, *variant, series.as_str()) == key
        };
        let spot = Spot::exact(sample.time_s, value * plan.scale);
        // Samples of a series are consecutive.
        match curves.last_mut().filter(|(known, _)| same(known)) {
            Some((_, spots)) => spots.push(spot),
            None => curves.push(((sample.point, variant, sample.series.to_owned()), vec![spot])),
        }
    })
    .map_err(ResultsError::from)?;
    let is_there = |pattern: &&String| found.iter().any(|name| matches(pattern, name));
    if let Some(missing) = plan.series.iter().find(|pattern| !is_there(pattern)) {
        return Err(wrong(no("series", missing, found.iter().map(String::as_str))));
    }
    let words: Vec<SeriesWords> = curves
        .iter()
        .filter_map(|((_, _, series), _)| SeriesWords::of(series, plan.scale))
        .collect();
    let parts = |(point, variant, series): &(usize, usize, String)| {
        let mut parts = Vec::new();
        if drawn.len() > 1 {
            let variant = study.variant(drawn[*variant]).map(|number| &study.variants()[number]);
            parts.extend(variant.map(|v| v.label.as_ref().unwrap_or(&v.name).clone()));
        }
        if points.len() > 1 {
            let values = study.points().at(*point).values.into_iter().zip(study.axes());
            parts.extend(
                values.map(|(index, axis)| format!("{} {}", axis.name, axis.label_of(index))),
            );
        }
        if plan.series.len() > 1 || plan.series.iter().any(|pattern| pattern.contains('*')) {
            parts.push(plan.series_name(series, &words));
        }
        if parts.is_empty() { vec![plan.series_name(series, &words)] } else { parts }
    };
    let curves = curves.into_iter().enumerate();
    let curves = curves.map(|(look, (key, spots))| Curve { parts: parts(&key), look, spots });
    Ok(Picture {
        title: plan.title.clone().unwrap_or_else(|| study.title().to_owned()),
        note: String::new(),
        x_label: "time (s)".into(),
        y_label: plan.y_label.clone().unwrap_or_else(|| plan.series_names()),
        x_scale: Scale::Linear,
        y_scale: plan.y_scale,
        categories: Vec::new(),
        shape: if plan.kind == FigureKind::Sequence { Shape::Dots } else { Shape::Lines },
        curves: curves.collect(),
        references: plan.references.clone(),
    })
}
