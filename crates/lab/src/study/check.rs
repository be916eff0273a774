//! Checks of a study beyond its types.

use polypath_sim::document::{Document, DocumentError, Place, Step};
use toml::Value;

use super::file::{Axis, Settings, StudyFile};
use super::{axis, points, unknown};

use Step::{Index, Key};

type Result<T = ()> = std::result::Result<T, DocumentError>;

/// Maximum number of points of a study.
const MOST_POINTS: usize = 1_000_000;
/// Maximum number of runs of a configuration.
const MOST_RUNS: u32 = 1_000_000;

pub(super) fn check(file: &StudyFile, document: &Document) -> Result {
    check_settings(&file.set, &[Key("set")], document)?;
    check_axes(file, document)?;
    check_names(document, "variants", file.variants.iter().map(|variant| variant.name.as_str()))?;
    for (index, variant) in file.variants.iter().enumerate() {
        check_settings(&variant.set, &[Key("variants"), Index(index), Key("set")], document)?;
    }
    check_names(document, "measures", file.measures.iter().map(|measure| measure.name.as_str()))?;
    if file.measures.is_empty() {
        return Err(document.complain(&[Key("measures")], "a study needs at least one measure"));
    }
    check_replications(file, document)?;
    check_series(file, document)?;
    check_names(document, "figures", file.figures.iter().map(|figure| figure.name.as_str()))?;
    for (index, figure) in file.figures.iter().enumerate() {
        if let Err((key, message)) = figure.check(file) {
            return Err(document.complain(&[Key("figures"), Index(index), Key(key)], message));
        }
    }
    check_quick(file, document)
}

/// Checks names of a list: not empty, valid for files and columns, and unique.
fn check_names<'a>(
    document: &Document,
    list: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result {
    for (index, name) in names.clone().enumerate() {
        let wrong = |message: String| {
            Err(document.complain(&[Key(list), Index(index), Key("name")], message))
        };
        if name.trim().is_empty() || name == "." || name == ".." {
            return wrong("the name must not be empty".into());
        }
        if let Some(unfit) = name.chars().find(|c| matches!(c, '/' | '\\') || c.is_control()) {
            return wrong(format!("{unfit:?} cannot be part of a name"));
        }
        if names.clone().take(index).any(|other| other == name) {
            return wrong(format!("there is another `{name}`"));
        }
    }
    Ok(())
}

/// A table under a key of one step is probably a key without quotes, and would replace a whole section.
fn check_settings(settings: &Settings, path: &[Step<'_>], document: &Document) -> Result {
    for (key, value) in settings {
        if let (false, Value::Table(table)) = (key.contains('.'), value) {
            let inner = table.keys().next().map_or("…", String::as_str);
            let message = format!(
                "replaces all of `{key}`: write a key of the scenario in quotes, \"{key}.{inner}…\" = value"
            );
            return Err(document.complain(&[path, &[Key(key)]].concat(), message));
        }
    }
    Ok(())
}

fn check_axes(file: &StudyFile, document: &Document) -> Result {
    check_names(document, "axes", file.axes.iter().map(|axis| axis.name.as_str()))?;
    for (index, axis) in file.axes.iter().enumerate() {
        if let Some((key, message)) = axis_problem(axis) {
            return Err(document.complain(&[Key("axes"), Index(index), Key(key)], message));
        }
        for at in 0..axis.values.len() {
            if let Err(message) = axis.changes(at) {
                let path = [Key("axes"), Index(index), Key("values"), Index(at)];
                return Err(document.complain(&path, message));
            }
        }
    }
    let mut count = 1_usize;
    for group in points::groups(&file.axes) {
        let length = file.axes[group[0]].values.len();
        for axis in &group {
            let other = file.axes[*axis].values.len();
            if other != length {
                let message = format!(
                    "{other} values, but `{}`, with which it advances, has {length}",
                    file.axes[group[0]].name
                );
                return Err(document.complain(&[Key("axes"), Index(*axis), Key("values")], message));
            }
        }
        count = count.saturating_mul(length);
    }
    if count > MOST_POINTS {
        let message = format!("{count} points are more than {MOST_POINTS}");
        return Err(document.complain(&[Key("axes")], message));
    }
    Ok(())
}

/// The error in an axis, and its key.
fn axis_problem(axis: &Axis) -> Option<(&'static str, String)> {
    let count = axis.values.len();
    if count == 0 {
        return Some(("values", "an axis needs at least one value".into()));
    }
    if axis.keys.is_empty() && axis.with.is_empty() && axis.scaled.is_empty() {
        return Some(("keys", "the axis changes nothing: name keys of the scenario".into()));
    }
    if let Some(twice) =
        (0..count).find(|index| axis.values[..*index].contains(&axis.values[*index]))
    {
        let message = format!("{} is listed twice", axis.values[twice]);
        return Some(("values", message));
    }
    if !axis.labels.is_empty() && axis.labels.len() != count {
        return Some(("labels", format!("{} labels for {count} values", axis.labels.len())));
    }
    if let Some((key, values)) = axis.with.iter().find(|(_, values)| values.len() != count) {
        let message = format!("`{key}` has {} values, the axis {count}", values.len());
        return Some(("with", message));
    }
    if let Some((_, factor)) = axis.scaled.iter().find(|(_, factor)| !axis::is_factor(**factor)) {
        return Some((
            "scaled",
            format!("{factor} is not a factor: it must be a finite number from 0, such as 0.5"),
        ));
    }
    axis.unit_problem().map(|message| ("unit", message))
}

fn check_replications(file: &StudyFile, document: &Document) -> Result {
    let replications = &file.replications;
    let wrong = |path: &[Step<'_>], message: String| {
        Err(document.complain(&[&[Key("replications")], path].concat(), message))
    };
    if replications.runs.is_some_and(|runs| !(1..=MOST_RUNS).contains(&runs)) {
        return wrong(&[Key("runs")], format!("must be from 1 to {MOST_RUNS}"));
    }
    let confidence = replications.confidence.as_f64();
    if !(0.5..1.0).contains(&confidence) {
        return wrong(&[Key("confidence")], "must be at least 50 % and less than 100 %".into());
    }
    if replications.deterministic && replications.runs.is_some_and(|runs| runs > 1) {
        return wrong(&[Key("runs")], "all runs of a deterministic study are the same".into());
    }
    let Some(until) = &replications.until else { return Ok(()) };
    if replications.runs.is_some() {
        return wrong(&[Key("runs")], "`until` has its own numbers of runs".into());
    }
    if replications.deterministic {
        return wrong(&[Key("until")], "a deterministic study needs one run".into());
    }
    let names = file.measures.iter().map(|measure| measure.name.as_str());
    if !names.clone().any(|name| name == until.measure) {
        let message = unknown("measure", &until.measure, names);
        return wrong(&[Key("until"), Key("measure")], message);
    }
    if until.half_width.is_zero() {
        return wrong(&[Key("until"), Key("half_width")], "must not be zero".into());
    }
    if until.min < 2 {
        return wrong(&[Key("until"), Key("min")], "an interval needs at least 2 runs".into());
    }
    if !(until.min..=MOST_RUNS).contains(&until.max) {
        let message = format!("must be from {} (min) to {MOST_RUNS}", until.min);
        return wrong(&[Key("until"), Key("max")], message);
    }
    Ok(())
}

fn check_series(file: &StudyFile, document: &Document) -> Result {
    let Some(series) = &file.series else { return Ok(()) };
    let wrong =
        |key, message: &str| Err(document.complain(&[Key("series"), Key(key)], message.to_owned()));
    if series.interval.is_zero() {
        return wrong("interval", "must not be zero");
    }
    if series.runs == 0 {
        return wrong("runs", "must be at least 1; to keep no series, leave out the table");
    }
    Ok(())
}

fn check_quick(file: &StudyFile, document: &Document) -> Result {
    let Some(quick) = &file.quick else { return Ok(()) };
    check_settings(&quick.set, &[Key("quick"), Key("set")], document)?;
    if quick.runs == Some(0) {
        return Err(document.complain(&[Key("quick"), Key("runs")], "must be at least 1"));
    }
    for (name, values) in &quick.values {
        let wrong = |message: String| {
            Err(document.complain(&[Key("quick"), Key("values"), Key(name)], message))
        };
        let Some(axis) = file.axes.iter().find(|axis| axis.name == *name) else {
            return wrong(unknown("axis", name, file.axes.iter().map(|axis| axis.name.as_str())));
        };
        if values.is_empty() {
            return wrong("at least one value must remain".into());
        }
        if let Some(other) = values.iter().find(|value| !axis.values.contains(value)) {
            return wrong(format!("{other} is not a value of the axis"));
        }
        let kept = |axis: &Axis| -> Option<Vec<usize>> {
            let remaining = quick.values.get(&axis.name)?;
            Some((0..axis.values.len()).filter(|i| remaining.contains(&axis.values[*i])).collect())
        };
        let mut partners =
            file.axes.iter().filter(|other| other.zip.is_some() && other.zip == axis.zip);
        if let Some(partner) = partners.find(|other| kept(other) != kept(axis)) {
            return wrong(format!(
                "`{}` advances with it and must keep the values at the same places",
                partner.name
            ));
        }
    }
    Ok(())
}

/// Rejects a change of a key that the study varies: it would change nothing, or only some of the runs.
pub(super) fn not_varied(file: &StudyFile, edit: &str) -> Result {
    let key = edit.split_once('=').map_or(edit, |(key, _)| key).trim();
    let axes = file.axes.iter().flat_map(|axis| {
        let keys = axis.keys.iter().chain(axis.with.keys()).chain(axis.scaled.keys());
        keys.map(move |key| (key, format!("axis `{}`", axis.name)))
    });
    let variants = file.variants.iter().flat_map(|variant| {
        variant.set.keys().map(move |key| (key, format!("variant `{}`", variant.name)))
    });
    let meets =
        |a: &str, b: &str| a == b || a.strip_prefix(b).is_some_and(|rest| rest.starts_with('.'));
    match axes.chain(variants).find(|(varied, _)| meets(varied, key) || meets(key, varied)) {
        None => Ok(()),
        Some((_, by)) => Err(DocumentError {
            place: Place::Set { key: key.to_owned() },
            key: String::new(),
            message: format!("the {by} sets this key"),
            help: None,
        }),
    }
}
