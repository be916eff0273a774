//! Studies: a scenario, its variations, and the measures.
//!
//! A study is a TOML file of its own ([`StudyFile`]); docs/studies.md describes it. At each point of its axes each
//! variant is run a number of times. A run is a pure function of its configuration and its seed.

mod axis;
mod check;
mod figure;
mod file;
mod files;
mod narrow;
mod operand;
mod pattern;
mod points;
mod schema;
mod seed;
mod select;

pub use axis::text;
pub use figure::{FigureKind, FigurePlan, Reference, Scale};
pub use file::{
    Aggregate, Axis, Better, CommonRandomNumbers, Measure, Quick, Replications, SeriesPlan,
    Settings, StudyFile, Until, Variant,
};
pub use operand::Operand;
pub use pattern::matches;
pub(crate) use pattern::no;
pub use points::{Point, Points};
pub use schema::schema;
pub use select::{AxisRange, Where};

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use polypath_sim::Scenario;
use polypath_sim::document::{Document, DocumentError, Layer, Place, Step, nearest};
use polypath_sim::scenario::Record;
use toml::Value;

use crate::stats::Confidence;

/// Minimum number of runs of each configuration if runs are added until statements are decided: the spread of fewer is too
/// uncertain.
const FIRST_RUNS: u32 = 8;

/// How a study is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reading<'a> {
    /// Full or quick form.
    pub extent: Extent,
    /// Changes of the scenario on top, `key.to.value=value`.
    pub edits: &'a [String],
}

/// Extent of a study.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Extent {
    /// The whole study.
    #[default]
    Full,
    /// The reduced form of its table `quick`.
    Quick,
}

/// A checked study.
#[derive(Clone, Debug)]
pub struct Study {
    file: StudyFile,
    /// The study as read, for error messages.
    source: Document,
    /// The scenario with the changes for all runs.
    base: Document,
    /// The folder of the study.
    folder: PathBuf,
    /// Where the values of each axis are written.
    axis_places: Vec<Vec<Place>>,
    /// Where the changes of each variant are written.
    variant_places: Vec<Place>,
    points: Points,
    /// The values of each axis as text that does not depend on folders, for seeds.
    axis_words: Vec<Vec<String>>,
}

impl Study {
    /// Reads a study and the scenario that it names.
    ///
    /// # Errors
    /// A key or value is unknown, missing, of the wrong kind or invalid; the error says which and where.
    pub fn read(path: &Path, reading: Reading<'_>) -> Result<Self, DocumentError> {
        let directory = path.parent().unwrap_or(Path::new(""));
        Self::from_document(&Document::read(path)?, directory, reading)
    }

    /// Reads a study from text; the scenario that it names is relative to `directory`.
    ///
    /// # Errors
    /// As [`Study::read`].
    pub fn from_document(
        document: &Document,
        directory: &Path,
        reading: Reading<'_>,
    ) -> Result<Self, DocumentError> {
        let mut file: StudyFile = document.decode(&[Layer::At(&[])])?;
        if file.variants.is_empty() {
            file.variants.push(Variant { name: "all".into(), label: None, set: Settings::new() });
        }
        let mut base = match (&file.scenario, document.part(&[Step::Key("inline")])) {
            (Some(name), None) => read_scenario(name, directory, document)?,
            (None, Some(inline)) => inline,
            (_, Some(_)) => {
                let path = [Step::Key("inline")];
                return Err(document.complain(&path, "the study already has a `scenario`"));
            }
            (None, None) => {
                let message = "a study needs a `scenario`, the name of a file, or the scenario itself under `inline`";
                return Err(document.complain(&[], message));
            }
        };
        put_all(&mut base, &file.set, document, &[Step::Key("set")])?;
        let axis_places = (0..file.axes.len())
            .map(|axis| {
                let place = |value| {
                    let steps = [Step::Key("axes"), Step::Index(axis)];
                    let values = [Step::Key("values"), Step::Index(value)];
                    document.place(&[steps, values].concat())
                };
                (0..file.axes[axis].values.len()).map(place).collect()
            })
            .collect();
        let variant_places = (0..file.variants.len())
            .map(|index| {
                document.place(&[Step::Key("variants"), Step::Index(index), Step::Key("set")])
            })
            .collect();
        let folder = Path::new(document.name()).parent().unwrap_or(Path::new("")).to_owned();
        let source = document.clone();
        let mut study = Self {
            file,
            source,
            base,
            folder,
            axis_places,
            variant_places,
            points: Points::default(),
            axis_words: Vec::new(),
        };
        check::check(&study.file, document)?;
        let quick = study.file.quick.take();
        if let (Extent::Quick, Some(quick)) = (reading.extent, quick) {
            study.leave(&quick, document)?;
        }
        for edit in reading.edits {
            check::not_varied(&study.file, edit)?;
            study.base.set(edit)?;
        }
        study.points = Points::of(&study.file.axes).ok_or_else(|| {
            let message = "the axes have more points than can be numbered; leave out some values";
            document.complain(&[Step::Key("axes")], message)
        })?;
        study.axis_words = study.file.axes.iter().map(files::named_only).collect();
        Ok(study)
    }

    /// Reduces the study to its quick form.
    fn leave(&mut self, quick: &Quick, document: &Document) -> Result<(), DocumentError> {
        put_all(&mut self.base, &quick.set, document, &[Step::Key("quick"), Step::Key("set")])?;
        if quick.runs.is_some() {
            self.file.replications.runs = quick.runs;
            self.file.replications.until = None;
        }
        for number in 0..self.file.axes.len() {
            let axis = &self.file.axes[number];
            let Some(remaining) = quick.values.get(&axis.name) else { continue };
            let kept: Vec<usize> = (0..axis.values.len())
                .filter(|index| remaining.contains(&axis.values[*index]))
                .collect();
            self.keep_values(number, &kept);
        }
        Ok(())
    }

    /// The same study with another number of runs of each configuration, in place of `runs` and `until`. A
    /// deterministic study keeps one run.
    #[must_use]
    pub fn with_runs(mut self, runs: NonZeroU32) -> Self {
        if !self.file.replications.deterministic {
            self.file.replications.runs = Some(runs.get());
            self.file.replications.until = None;
        }
        self
    }

    /// The same study, to be run until statements are decided: the first runs of each configuration, and intervals that
    /// hold for all numbers of runs together. A deterministic study keeps one run.
    #[must_use]
    pub fn until_decided(mut self) -> Self {
        let replications = &mut self.file.replications;
        if !replications.deterministic {
            let first = match replications.until.take() {
                Some(until) => until.min,
                None => replications.runs.unwrap_or(1),
            };
            replications.runs = Some(first.max(FIRST_RUNS));
            replications.sequential = true;
        }
        self
    }

    /// The study with at least one variant, the scenario inline, and all changes applied, so that it needs no files except those
    /// that the scenario names.
    pub fn resolved(&self) -> StudyFile {
        let mut file = StudyFile {
            scenario: None,
            inline: Some(self.base.to_value()),
            set: Settings::new(),
            ..self.file.clone()
        };
        files::make_absolute(&mut file, &self.base, &self.folder);
        file
    }

    /// Whether this is the same study, wherever the files that its scenario names are.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        files::leave_folders(self.resolved()) == files::leave_folders(other.resolved())
    }

    /// Title.
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// Axes.
    pub fn axes(&self) -> &[Axis] {
        &self.file.axes
    }

    /// The number of the axis of this name.
    pub fn axis(&self, name: &str) -> Option<usize> {
        self.file.axes.iter().position(|axis| axis.name == name)
    }

    /// The points of the axes; one if there are no axes.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Variants; at least one.
    pub fn variants(&self) -> &[Variant] {
        &self.file.variants
    }

    /// The number of the variant of this name.
    pub fn variant(&self, name: &str) -> Option<usize> {
        self.file.variants.iter().position(|variant| variant.name == name)
    }

    /// Measures.
    pub fn measures(&self) -> &[Measure] {
        &self.file.measures
    }

    /// The number of the measure of this name.
    pub fn measure(&self, name: &str) -> Option<usize> {
        self.file.measures.iter().position(|measure| measure.name == name)
    }

    /// Independent runs of each configuration.
    pub fn replications(&self) -> &Replications {
        &self.file.replications
    }

    /// Time series to keep.
    pub fn series(&self) -> Option<&SeriesPlan> {
        self.file.series.as_ref()
    }

    /// Figures of the results.
    pub fn figures(&self) -> &[FigurePlan] {
        &self.file.figures
    }

    /// Whether its runs take real time, on a test bed.
    pub fn is_in_real_time(&self) -> bool {
        self.base.has(&[Step::Key("test_bed")])
    }

    /// Confidence of the intervals.
    pub fn confidence(&self) -> Confidence {
        match self.file.replications.deterministic {
            true => Confidence::Deterministic,
            false if self.file.replications.sequential => {
                Confidence::Always(self.file.replications.confidence)
            }
            false => Confidence::Level(self.file.replications.confidence),
        }
    }

    /// The scenario of a variant at a point. Later changes win: those for all runs, those of the axes in their order,
    /// those of the variant.
    ///
    /// # Errors
    /// The scenario is invalid; the error says where and why.
    pub fn scenario(&self, point: &Point, variant: usize) -> Result<Scenario, DocumentError> {
        let mut document = self.base.clone();
        for (axis, (places, index)) in
            self.axes().iter().zip(self.axis_places.iter().zip(&point.values))
        {
            let place = places.get(*index).cloned().unwrap_or(Place::Default);
            let changes = axis.changes(*index).map_err(|message| DocumentError {
                place: place.clone(),
                key: format!("axes.{}", axis.name),
                message,
                help: None,
            })?;
            for (key, value) in changes {
                document.put(&key, value, place.clone())?;
            }
        }
        for (key, value) in &self.variants()[variant].set {
            document.put(key, value.clone(), self.variant_places[variant].clone())?;
        }
        let scenario = Scenario::from_document(&document)?;
        let interval = self.series().map(|series| series.interval);
        match interval.and_then(|every| Record::series_problem(every, scenario.run.duration)) {
            Some(message) => {
                Err(self.complain(&[Step::Key("series"), Step::Key("interval")], message))
            }
            None => Ok(scenario),
        }
    }

    /// An error at a place of the study.
    pub(crate) fn complain(&self, path: &[Step<'_>], message: String) -> DocumentError {
        self.source.complain(path, message)
    }

    /// Some configurations, as point and variant, that together have every value of every axis and every variant: if these
    /// are valid, most others are.
    pub fn sample(&self) -> Vec<(usize, usize)> {
        let points = self.points.sample();
        let of = |variant| points.iter().map(move |point| (*point, variant));
        (0..self.variants().len()).flat_map(of).collect()
    }
}

/// The scenario that a study names.
fn read_scenario(
    name: &str,
    directory: &Path,
    document: &Document,
) -> Result<Document, DocumentError> {
    let path = directory.join(name);
    Document::read(&path).map_err(|error| match path.is_file() {
        true => error,
        false => {
            let message = format!("{}: {}", path.display(), error.message);
            document.complain(&[Step::Key("scenario")], message)
        }
    })
}

/// The elements with these numbers.
fn places_of<T: Clone>(list: &mut Vec<T>, kept: &[usize]) {
    *list = kept.iter().filter_map(|index| list.get(*index).cloned()).collect();
}

/// Applies settings that are written at `path` of the study.
fn put_all(
    base: &mut Document,
    settings: &Settings,
    document: &Document,
    path: &[Step<'_>],
) -> Result<(), DocumentError> {
    for (key, value) in settings {
        let place = document.place(&[path, &[Step::Key(key)]].concat());
        base.put(key, Value::clone(value), place)?;
    }
    Ok(())
}

/// The error for an unknown name.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> String {
    let mut message = format!("there is no {what} `{name}`");
    if let Some(near) = nearest(name, known.clone()) {
        message += &format!("; did you mean `{near}`?");
    } else {
        let names: Vec<String> = known.map(|name| format!("`{name}`")).collect();
        if !names.is_empty() {
            message += &format!("; there are {}", names.join(", "));
        }
    }
    message
}

#[cfg(test)]
mod tests;
