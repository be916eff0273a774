//! Progress of a study, whichever processes run it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::ThreadPoolBuilder;
use serde::Serialize;

use super::study::RunError;
use crate::journal::{Journal, Plan, RunId, Shard, Status, first_target, keys};
use crate::results;
use crate::study::Study;

/// Period over which the rate is calculated, in seconds.
const WINDOW_S: f64 = 600.0;

/// Maximum number of runs that are planned to determine which of them are done.
const PLANNED: usize = 50_000;

/// Progress of a study.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Survey {
    /// Title of the study.
    pub title: String,
    /// Runs of the study; with `until`, the minimum.
    pub runs: usize,
    /// Whether the runs were planned, which takes long for very many. If not, runs of an earlier form of the study count as
    /// done, and runs that several configurations share count once.
    pub is_planned: bool,
    /// Finished runs, with a result or without.
    pub done: usize,
    /// Finished runs, by status.
    pub statuses: BTreeMap<Status, usize>,
    /// Processes that write there now, or may do so on file systems without locks.
    pub processes: usize,
    /// Whether all of these are known to be running.
    pub is_certain: bool,
    /// Runs that these processes make at a time.
    pub running: usize,
    /// Runs per second that ended in the ten minutes before the end of the last run.
    pub rate_per_s: Option<f64>,
    /// Remaining time at this rate in seconds, if a process is running.
    pub left_s: Option<f64>,
    /// Time on one core that runs took, in seconds.
    pub core_s: f64,
    /// Finished runs, by machine.
    pub hosts: BTreeMap<String, usize>,
    /// Finished runs, by version and revision of the program.
    pub programs: BTreeMap<String, usize>,
    /// Whether the tables exist.
    pub has_tables: bool,
}

/// Determines the progress of the study in a directory, without writing anything.
///
/// # Errors
/// There is no study, or its journal cannot be read.
pub fn survey(directory: &Path) -> Result<Survey, RunError> {
    let study = results::study_in(directory)?;
    let journal = Journal::of_notes(directory)?;
    let workers = journal.workers()?;
    let mut survey = Survey {
        title: study.title().to_owned(),
        runs: 0,
        is_planned: true,
        done: 0,
        statuses: BTreeMap::new(),
        processes: workers.len(),
        is_certain: workers.iter().all(|worker| worker.is_certain),
        running: workers.iter().map(|worker| worker.threads).sum(),
        rate_per_s: None,
        left_s: None,
        core_s: 0.0,
        hosts: BTreeMap::new(),
        programs: BTreeMap::new(),
        has_tables: directory.join(results::RUNS).is_file(),
    };
    let mut ends = Vec::new();
    let all = study.points().len() * study.variants().len() * first_target(&study) as usize;
    survey.is_planned = all <= PLANNED;
    let (runs, refused) = match survey.is_planned {
        true => runs_of(&study)?,
        false => (journal.ids(), BTreeSet::new()),
    };
    survey.runs = if survey.is_planned { runs.len() } else { all.max(runs.len()) };
    for id in runs {
        ends.extend(survey.count(&journal, id, !refused.contains(&id)));
    }
    survey.rate_per_s = rate(ends);
    let left = survey.runs - survey.done;
    survey.running = survey.running.min(left);
    if let (Some(rate), true) = (survey.rate_per_s, survey.processes > 0) {
        survey.left_s = Some(left as f64 / rate);
    }
    Ok(survey)
}

/// All runs of a study, each once, and those of them that are not possible.
fn runs_of(study: &Study) -> Result<(Vec<RunId>, BTreeSet<RunId>), RunError> {
    let pool = ThreadPoolBuilder::new().build()?;
    let plan = pool.install(|| Plan::of(study, Shard::WHOLE));
    let targets = vec![first_target(study); study.points().len()];
    let mut refused = BTreeSet::new();
    let mut runs = Vec::with_capacity(study.points().len());
    for (point, variant, replication) in keys(study, &targets, Shard::WHOLE) {
        let id = plan.id(study, point, variant, replication);
        if plan.refused(point, variant).is_some() {
            refused.insert(id);
        }
        runs.push(id);
    }
    runs.sort_unstable();
    runs.dedup();
    Ok((runs, refused))
}

impl Survey {
    /// Counts a run; returns when it ended, in seconds since 1970.
    fn count(&mut self, journal: &Journal, id: RunId, is_possible: bool) -> Option<f64> {
        let note = match journal.note(id) {
            Some(note) => note,
            None => {
                if !is_possible {
                    self.done += 1;
                    *self.statuses.entry(Status::Refused).or_default() += 1;
                }
                return None;
            }
        };
        self.done += 1;
        *self.statuses.entry(note.status).or_default() += 1;
        self.core_s += note.execution.core_s.unwrap_or(note.execution.wall_s);
        if let Some(program) = journal.program_of(id) {
            *self.hosts.entry(program.host.clone()).or_default() += 1;
            let name = format!("{} ({})", program.version, program.revision);
            *self.programs.entry(name).or_default() += 1;
        }
        Some(note.execution.started_unix_s + note.execution.wall_s)
    }
}

/// Runs per second in the last minutes, from when each ended.
fn rate(mut ends: Vec<f64>) -> Option<f64> {
    ends.sort_unstable_by(f64::total_cmp);
    let last = *ends.last()?;
    let recent = &ends[ends.partition_point(|end| *end < last - WINDOW_S)..];
    let time = last - recent.first()?;
    // The first end only marks the beginning of the time.
    (time > 0.0).then(|| (recent.len() - 1) as f64 / time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_ten_minutes() {
        let slow = (0..100).map(|n| f64::from(n) * 100.0);
        let fast = (0..=600).map(|n| 100_000.0 + f64::from(n));
        let rate_of = |ends: Vec<f64>| rate(ends).map(|rate| (rate * 1000.0).round());
        assert_eq!(rate_of(slow.clone().chain(fast).collect()), Some(1000.0));
        assert_eq!(rate_of(slow.collect()), Some(10.0));
        assert_eq!((rate(vec![1.0]), rate(vec![])), (None, None));
    }
}
