//! Limits of runs that are added until statements are decided.

use std::num::NonZeroU32;

use crate::counts;
use polypath_lab::run::Budget;
use polypath_lab::sampling::{Caps, Ended};

/// Options of `study run` and `reproduce`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct CapArgs {
    /// With --until-decided: maximum number of runs per configuration
    #[arg(long, value_name = "N", default_value = "1000", requires = "until_decided", value_parser = counts::parse::<NonZeroU32>)]
    max_runs: NonZeroU32,
    /// With --until-decided: maximum processor time of this command, in hours
    #[arg(long, value_name = "CPU-HOURS", requires = "until_decided", value_parser = hours)]
    budget: Option<f64>,
}

/// A positive number.
fn hours(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|hours: &f64| hours.is_finite() && *hours > 0.0);
    number.ok_or_else(|| "hours are a number above 0".into())
}

impl CapArgs {
    /// Maximum number of runs.
    pub fn caps(self) -> Caps {
        Caps { max_runs: self.max_runs.get() }
    }

    /// The budget, if set.
    pub fn budget(self) -> Option<Budget> {
        self.budget.map(|hours| Budget::of_seconds(hours * 3600.0))
    }

    /// Why runs ended, in words.
    pub fn reason(self, ended: Ended) -> String {
        match ended {
            Ended::Decided => "all are decided".into(),
            Ended::MostRuns => format!("--max-runs {} is reached", self.max_runs),
            Ended::Budget => "the budget is used up".into(),
            Ended::Stopped => "interrupted".into(),
        }
    }
}
