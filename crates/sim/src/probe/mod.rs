//! Probes: what a run records beside its counters.
//!
//! A [`Watch`] at each host receives the events of the protocol and records them ([`Recorder`]), if the scenario
//! records anything. After the run, pure functions turn the records into results: the life of each TSN ([`life`]),
//! delivery stalls ([`stall`]) and their model ([`model`]), what the sender waited for ([`blocking`]), consecutive
//! timeouts ([`streak`]) and the detection of failures ([`failure`]).

mod blocking;
mod changes;
mod chunks;
mod distribution;
mod failure;
mod life;
mod model;
mod observer;
mod recorder;
mod result;
mod series;
mod stall;
mod streak;

pub use blocking::{BlockingResult, PathBlockingResult};
pub use changes::{
    ChangeSeries, PathChangeSeries, RttSeries, StateSeries, ValueSeries, WindowSeries,
};
pub(crate) use changes::{limited, state_number};
pub use distribution::Distribution;
pub use failure::FailureResult;
pub(crate) use life::Delivered;
pub use life::{PathTsnResult, TsnResult};
pub use model::{ConstantWindow, PathModel, WindowBlocking, blocking_time, window_blocking};
pub(crate) use observer::Observing;
pub use observer::{ObservedAssociation, Observer};
pub(crate) use recorder::Watch;
pub(crate) use result::View;
pub use result::{PathProbeResult, ProbeResult};
pub use series::{
    BlockedSeries, LifeSeries, PathTsnSeries, StallSeries, TimeoutSeries, TsnPoints, TsnSeries,
};
pub use stall::StallResult;
pub use streak::TimeoutResult;

use polypath_units::{Duration, Instant};

/// A time in seconds.
fn seconds(at: Instant) -> f64 {
    at.as_secs_f64()
}

/// Sum of times.
fn total(times: impl Iterator<Item = Duration>) -> f64 {
    times.fold(Duration::ZERO, |sum, time| sum + time).as_secs_f64()
}
