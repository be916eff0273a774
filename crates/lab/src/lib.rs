//! Studies of scenarios, run on all cores, with results, statistics, figures and verdicts.
//!
//! A [`study`] defines what is varied, measured and drawn. [`run`] makes its runs and records each in a journal as soon as it is
//! finished; [`results`] are tables made from the journal. [`stats`] has means and intervals, [`verdict`] judges statements by them, and
//! [`figure`] draws. A [`paper`] has studies and statements; [`reproduce`] runs and judges all of them, and writes
//! a [`report`]. A [`random`] sample runs random networks instead of a study.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::path::Path;
//! use std::sync::atomic::AtomicBool;
//!
//! use polypath_lab::results::Dataset;
//! use polypath_lab::run::{Limits, Program, Request, Shard, Sharing, Silent, run_study};
//! use polypath_lab::study::{Reading, Study};
//!
//! let study = Study::read(Path::new("studies/asymmetry.toml"), Reading::default())?;
//! let request = Request {
//!     jobs: None,
//!     shard: Shard::WHOLE,
//!     sharing: Sharing::Alone,
//!     limits: Limits::default(),
//!     at_least: &[],
//!     program: Program::default(),
//!     test_bed: None,
//!     stop: &AtomicBool::new(false),
//!     progress: &Silent,
//! };
//! run_study(&study, Path::new("out"), &request)?;
//! let data = Dataset::read(Path::new("out"))?;
//! println!("{:?}", data.estimate(0, 0, 0));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod figure;
mod journal;
pub mod paper;
pub mod random;
pub mod report;
pub mod reproduce;
pub mod results;
pub mod run;
pub mod sampling;
pub mod stats;
pub mod study;
pub mod verdict;
