//! Random networks, to find those in which more paths hurt.
//!
//! A [`Sample`] has kinds of traffic, a number of networks and a seed. [`Network::draw`] makes network `i` of a kind and a seed,
//! independently of the others. [`run_sample`] runs each with all paths and with each path alone, and compares: a [`Case`] has the
//! measured values of a network, a [`Summary`] the distribution of the ratios of a measure. Finished runs are in the journal, so that
//! an interrupted sample resumes, and a larger one adds only its new networks.

mod case;
mod change;
mod draw;
mod generate;
mod kind;
mod measure;
mod network;
mod picture;
mod ratio;
mod run;
mod sample;
mod scenario;
mod summary;
mod tables;

pub use case::Case;
pub use change::Change;
pub use kind::Kind;
pub use measure::measures;
pub use network::{Loss, Network, Path, Return, Traffic};
pub use picture::{PICTURE, picture};
pub use ratio::{Distribution, Values};
pub use run::{Found, Request, SampleError, run_sample};
pub use sample::{Numbers, Sample};
pub use scenario::Way;
pub use summary::{Hurt, Summary, hurt, summaries};
