//! Means with intervals, from few independent runs.
//!
//! Runs of one configuration differ in their seeds only, so their results are independent and Student's t gives the
//! interval of their mean. Runs of two configurations with common random numbers are compared run by run.

mod interval;
mod sample;
mod slope;

pub use interval::Interval;
pub use sample::{Confidence, Estimate, mean, paired_difference, ratio};
pub use slope::slope;
