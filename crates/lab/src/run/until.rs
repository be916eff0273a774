//! Adds runs where intervals are too wide.

use std::collections::{BTreeMap, btree_map};

use super::laboratory::Laboratory;
use super::study::RunError;
use crate::journal::{Entry, NoResult, RunId, points_of};
use crate::stats::mean;
use crate::study::{Measure, Until};

impl Laboratory<'_> {
    /// Raises the number of runs of points where an interval is too wide; returns whether there are any.
    pub fn extend(
        &self,
        until: &Until,
        targets: &mut [u32],
        seen: &mut BTreeMap<RunId, Option<f64>>,
    ) -> Result<bool, RunError> {
        let mut extended = false;
        for point in points_of(self.study, self.shard) {
            let target = &mut targets[point];
            let mut wanted = *target;
            for variant in 0..self.study.variants().len() {
                if self.plan.refused(point, variant).is_none() {
                    let values = self.values(until, point, variant, *target, seen)?;
                    wanted = wanted.max(self.wanted(until, &values, *target));
                }
            }
            extended |= wanted > *target;
            *target = wanted;
        }
        Ok(extended)
    }

    /// Values that the runs of a configuration measured.
    fn values(
        &self,
        until: &Until,
        point: usize,
        variant: usize,
        target: u32,
        seen: &mut BTreeMap<RunId, Option<f64>>,
    ) -> Result<Vec<f64>, RunError> {
        let measure =
            self.study.measure(&until.measure).map(|number| &self.study.measures()[number]);
        let Some(measure) = measure else { return Ok(Vec::new()) };
        let mut values = Vec::new();
        for replication in 0..target {
            let id = self.plan.id(self.study, point, variant, replication);
            let value = match seen.entry(id) {
                btree_map::Entry::Occupied(known) => *known.get(),
                btree_map::Entry::Vacant(place) => {
                    *place.insert(self.value(measure, self.journal.read(id)?)?)
                }
            };
            values.extend(value);
        }
        Ok(values)
    }

    /// Values that a run measured; `None` if it has no results.
    fn value(&self, measure: &Measure, entry: Option<Entry>) -> Result<Option<f64>, NoResult> {
        let outcome = entry.map(|entry| entry.outcome);
        match outcome.filter(|outcome| outcome.status.has_results()) {
            Some(outcome) => measure.of(&outcome.result.names, &outcome.result.values),
            None => Ok(None),
        }
    }

    /// The number of runs after which the interval is probably narrow enough, extrapolated from its present width, but at
    /// most twice as many as now. It depends only on the runs so far.
    fn wanted(&self, until: &Until, values: &[f64], now: u32) -> u32 {
        let Some(estimate) = mean(values, self.study.confidence()) else { return now };
        let half_width = estimate.interval.half_width();
        let allowed = until.half_width.as_f64() * estimate.value.abs();
        if half_width <= allowed || now >= until.max {
            return now;
        }
        let factor = if allowed > 0.0 { (half_width / allowed).powi(2) } else { 2.0 };
        let suggested = (f64::from(now) * factor.min(2.0)).ceil() as u32;
        suggested.clamp(now + 1, until.max)
    }
}
