//! Interface of test beds, which run scenarios in real time.

use polypath_sim::Scenario;

use crate::journal::Outcome;

/// Runs scenarios in real time: those with `test_bed`. It has its links to itself while it does, so that runs come one
/// after the other.
pub trait TestBed: Sync {
    /// Why nothing can be run here, and the remedy; `None` if it works.
    fn objection(&self) -> Option<String>;
    /// What decides over results beside the scenario, in words: kernel and processors.
    fn machine(&self) -> String;
    /// Runs a scenario once; the seed is for what the programs draw.
    ///
    /// # Errors
    /// It cannot be run, which says nothing about the scenario and will be tried again.
    fn run(&self, scenario: &Scenario, seed: u64) -> Result<Outcome, String>;
}
