//! Results of a study in memory, for figures and statements.

use std::path::Path;

use super::{RUNS, ResultsError, Table, finished};
use crate::journal::Cell;
use crate::stats::{Estimate, mean};
use crate::study::Study;

/// Maximum replication that is read: a table from elsewhere may name any number.
const MOST_REPLICATIONS: usize = 1_000_000;

/// The measures of all runs of a study.
#[derive(Clone, Debug)]
pub struct Dataset {
    study: Study,
    /// By point and variant, then by replication, then by measure.
    runs: Vec<Vec<Option<Vec<Option<f64>>>>>,
}

/// One measured value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Observation {
    /// Number of the point.
    pub point: usize,
    /// Number of the variant.
    pub variant: usize,
    /// Number of the run.
    pub replication: usize,
    /// Number of the measure.
    pub measure: usize,
    /// The value; `None` if the run has none.
    pub value: Option<f64>,
}

impl Dataset {
    /// A dataset without runs.
    pub fn empty(study: Study) -> Self {
        let runs = vec![Vec::new(); study.points().len() * study.variants().len()];
        Self { study, runs }
    }

    /// A dataset of given values.
    pub fn of(study: Study, observations: impl IntoIterator<Item = Observation>) -> Self {
        let mut data = Self::empty(study);
        for observation in observations {
            data.insert(observation);
        }
        data
    }

    /// Reads the results in a directory.
    ///
    /// # Errors
    /// There are no results, runs are missing, or files are damaged.
    pub fn read(directory: &Path) -> Result<Self, ResultsError> {
        let study = finished(directory)?;
        let table = Table::open(&directory.join(RUNS))?;
        let mut columns = Vec::new();
        for name in ["point", "variant", "replication"] {
            columns.push(table.column(name)?);
        }
        for measure in study.measures() {
            columns.push(table.column(&format!("measure.{}", measure.name))?);
        }
        let mut data = Self::empty(study);
        table.rows::<ResultsError>(&columns, |row| {
            let [Cell::Int(point), Cell::Text(variant), Cell::Int(replication), values @ ..] = row
            else {
                return Ok(());
            };
            let Some(variant) = data.study.variant(variant) else { return Ok(()) };
            for (measure, value) in values.iter().enumerate() {
                data.insert(Observation {
                    point: usize::try_from(*point).unwrap_or(usize::MAX),
                    variant,
                    replication: usize::try_from(*replication).unwrap_or_default(),
                    measure,
                    value: value.number(),
                });
            }
            Ok(())
        })?;
        Ok(data)
    }

    fn insert(&mut self, observation: Observation) {
        let Observation { point, variant, replication, measure, value } = observation;
        let measures = self.study.measures().len();
        let place = point.saturating_mul(self.study.variants().len()).saturating_add(variant);
        if measure >= measures || replication >= MOST_REPLICATIONS {
            return;
        }
        let Some(runs) = self.runs.get_mut(place) else { return };
        if runs.len() <= replication {
            runs.resize(replication + 1, None);
        }
        runs[replication].get_or_insert_with(|| vec![None; measures])[measure] = value;
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    /// Number of runs of a variant at a point.
    pub(crate) fn count(&self, point: usize, variant: usize) -> usize {
        let place = point * self.study.variants().len() + variant;
        self.runs.get(place).map_or(0, Vec::len)
    }

    /// Values that the runs of a variant at a point measured, by replication.
    pub fn values(&self, point: usize, variant: usize, measure: usize) -> Vec<Option<f64>> {
        let runs = self.runs.get(point * self.study.variants().len() + variant);
        let value = |run: &Option<Vec<Option<f64>>>| run.as_ref().and_then(|run| run[measure]);
        runs.map(|runs| runs.iter().map(value).collect()).unwrap_or_default()
    }

    /// The mean of a measure over the runs of a variant at a point; `None` if no run has a value.
    pub fn estimate(&self, point: usize, variant: usize, measure: usize) -> Option<Estimate> {
        let values: Vec<f64> = self.values(point, variant, measure).into_iter().flatten().collect();
        mean(&values, self.study.confidence())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use polypath_sim::document::Document;

    use super::*;
    use crate::study::Reading;

    #[test]
    fn absurd_numbers_in_a_table_take_no_memory() {
        let text = include_str!("../../../../studies/asymmetry.toml");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies");
        let document = Document::parse("asymmetry.toml", text).expect("a document");
        let study = Study::from_document(&document, &folder, Reading::default()).expect("a study");
        let observation = |point, replication| Observation {
            point,
            variant: 0,
            replication,
            measure: 0,
            value: Some(1.0),
        };
        let data = Dataset::of(
            study,
            [(0, usize::MAX), (usize::MAX, 0), (0, MOST_REPLICATIONS), (0, 1)]
                .map(|(point, replication)| observation(point, replication)),
        );
        assert_eq!(data.values(0, 0, 0), [None, Some(1.0)]);
    }
}
