//! Figures of measures: lines and bars along an axis.

use super::range::Range;
use super::{Curve, FigureError, Picture, Shape, Spot};
use crate::results::Dataset;
use crate::stats::mean;
use crate::study::{FigureKind, FigurePlan, Operand, Study};

/// The picture that a plan describes: a curve for each variant and each combination of values of the other axes.
///
/// # Errors
/// The study has no axis.
pub fn of_measures(plan: &FigurePlan, data: &Dataset) -> Result<Picture, FigureError> {
    let study = data.study();
    let wrong = |message| FigureError::Plan { name: plan.name.clone(), message };
    let along = match &plan.x {
        Some(name) => study.axis(name),
        None => (!study.axes().is_empty()).then_some(0),
    };
    let along = along.ok_or_else(|| wrong("the study has no axis for it".into()))?;
    let measure = plan.y.as_ref().map_or(Some(0), |name| study.measure(name));
    let measure = measure.ok_or_else(|| wrong("there is no such measure".into()))?;
    let axis = &study.axes()[along];
    let points = study.select(&plan.selection).map_err(wrong)?;
    // Places are numbers if all values are; bars always stand side by side.
    let numbered = plan.kind == FigureKind::Lines
        && points.iter().all(|p| axis.position(study.points().at(*p).values[along]).is_some());
    let mut places: Vec<usize> =
        points.iter().map(|p| study.points().at(*p).values[along]).collect();
    places.sort_unstable();
    places.dedup();
    let place = |index: usize| match numbered {
        true => axis.position(index).unwrap_or_default(),
        false => places.iter().position(|place| *place == index).unwrap_or_default() as f64,
    };
    let mut curves = Vec::new();
    let mut observed = Vec::new();
    for variant in variants(plan, study) {
        let curve = curve(plan, study, variant, measure);
        for group in groups(study, &points, along) {
            let mut spots = Vec::new();
            for point in &group {
                let values: Vec<f64> =
                    curve.values(data, *point).map_err(wrong)?.into_iter().flatten().collect();
                observed.extend(values.iter().map(|value| value * plan.scale));
                let Some(estimate) = mean(&values, study.confidence()) else { continue };
                let x = place(study.points().at(*point).values[along]);
                let exact = Spot::exact(x, estimate.value * plan.scale);
                let interval = estimate.interval.scaled(plan.scale);
                spots.push(match estimate.interval.half_width().is_finite() {
                    true => Spot { low: interval.low, high: interval.high, ..exact },
                    false => exact,
                });
            }
            spots.sort_by(|a, b| a.x.total_cmp(&b.x));
            curves.push(Curve {
                parts: parts(study, variant, &group, along),
                look: curves.len(),
                spots,
            });
        }
    }
    let range = Range::of(observed);
    let spots = curves.iter_mut().flat_map(|curve: &mut Curve| &mut curve.spots);
    spots.for_each(|spot| *spot = range.clip(*spot));
    Ok(Picture {
        title: plan.title.clone().unwrap_or_else(|| study.title().to_owned()),
        note: String::new(),
        x_label: axis.title(),
        y_label: plan.y_label.clone().unwrap_or_else(|| measure_title(study, measure)),
        x_scale: plan.x_scale,
        y_scale: plan.y_scale,
        categories: match numbered {
            true => Vec::new(),
            false => places.iter().map(|place| axis.label_of(*place)).collect(),
        },
        shape: if plan.kind == FigureKind::Bars { Shape::Bars } else { Shape::MarkedLines },
        curves,
        references: plan.references.clone(),
    })
}

/// The curves of a variant.
fn curve(plan: &FigurePlan, study: &Study, variant: usize, measure: usize) -> Operand {
    let variant = Some(study.variants()[variant].name.clone());
    let measure = Some(study.measures()[measure].name.clone());
    let divided_by = plan.divided_by.clone().map(|by| {
        Box::new(Operand {
            variant: by.variant.or(variant.clone()),
            measure: by.measure.or(measure.clone()),
            ..by
        })
    });
    Operand { variant, measure, divided_by, ..Operand::default() }
}

/// Numbers of the drawn variants.
pub(super) fn variants(plan: &FigurePlan, study: &Study) -> Vec<usize> {
    if plan.variants.is_empty() {
        return (0..study.variants().len()).collect();
    }
    plan.variants.iter().filter_map(|name| study.variant(name)).collect()
}

/// Points that differ along one axis only, and the axes that advance with it.
fn groups(study: &Study, points: &[usize], along: usize) -> Vec<Vec<usize>> {
    let zip = study.axes()[along].zip.as_deref();
    let others = |point: usize| -> Vec<Option<usize>> {
        let values = study.points().at(point).values.into_iter().zip(study.axes()).enumerate();
        values
            .map(|(number, (value, axis))| {
                let moves = number == along || (zip.is_some() && axis.zip.as_deref() == zip);
                (!moves).then_some(value)
            })
            .collect()
    };
    let mut groups: Vec<(Vec<Option<usize>>, Vec<usize>)> = Vec::new();
    for point in points {
        let key = others(*point);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(*point),
            None => groups.push((key, vec![*point])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Label of the variant, and the values of other axes if there are several.
fn parts(study: &Study, variant: usize, group: &[usize], along: usize) -> Vec<String> {
    let variants = study.variants();
    let mut parts = Vec::new();
    let name = variants[variant].label.as_ref().unwrap_or(&variants[variant].name);
    let only_axes = variants.len() == 1 && study.axes().len() > 1;
    if !only_axes {
        parts.push(name.clone());
    }
    let zip = study.axes()[along].zip.as_deref();
    if let Some(point) = group.first().map(|point| study.points().at(*point)) {
        for (number, axis) in study.axes().iter().enumerate() {
            let moves = number == along || (zip.is_some() && axis.zip.as_deref() == zip);
            if !moves && axis.values.len() > 1 {
                let called = axis.label.as_ref().unwrap_or(&axis.name);
                let value = axis.label_of(point.values[number]);
                parts.push(if axis.labels.is_empty() {
                    format!("{called} {value}")
                } else {
                    value
                });
            }
        }
    }
    if parts.is_empty() { vec![name.clone()] } else { parts }
}

fn measure_title(study: &Study, measure: usize) -> String {
    let measure = &study.measures()[measure];
    let label = measure.label.as_ref().unwrap_or(&measure.name);
    if measure.unit.is_empty() { label.clone() } else { format!("{label} ({})", measure.unit) }
}
