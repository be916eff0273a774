//! Interface of test beds, which run scenarios in real time.

use polypath_sim::Scenario;

use crate::journal::Outcome;

/// Runs scenarios with `test_bed` in real time, one after the other, so that each has the links for itself.
pub trait TestBed: Sync {
    /// Why nothing can be run here, and the remedy; `None` if it works.
    fn objection(&self) -> Option<String>;
    /// What affects results besides the scenario, as text: kernel and processors.
    fn machine(&self) -> String;
    /// Runs a scenario once; the seed is for random numbers of the programs.
    ///
    /// # Errors
    /// The run could not be made, for a reason that is not the scenario's; it will be repeated.
    fn run(&self, scenario: &Scenario, seed: u64) -> Result<Outcome, String>;
}
