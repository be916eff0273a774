//! SCTP in the network simulator: scenario files, hosts, applications and meters.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::path::Path;
//!
//! use polypath_sim::{Scenario, Simulation};
//!
//! let scenario = Scenario::read(Path::new("scenarios/two-100mbit.toml"), &["run.seed=7"])?;
//! let result = Simulation::new(&scenario)?.run()?;
//! println!("{:.1} Mbit/s", result.goodput_bit_s / 1e6);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod app;
mod background;
pub mod document;
mod error;
mod frame;
mod handmade;
mod host;
mod live;
mod load;
mod map;
mod meter;
mod place;
mod probe;
mod result;
pub mod scenario;
mod simulation;
mod wiring;

pub use app::Violations;
pub use background::{TcpResult, UdpResult};
pub use error::SetupError;
pub use frame::{Form, RawFrame, SctpFrame, SimFrame, TcpFrame, UdpFrame};
pub use handmade::{HandmadeExample, HandmadeSack, HandmadeState};
pub use live::{Delivery, Drops, ExternalHost, ExternalPort, LinkCounts, Live, Refusal};
pub use map::{MapLink, MapNode, MapRoute, MapSide, NetworkMap};
pub use meter::{BottleneckSeries, FlowSeries, HostSeries, PathSeries, Series};
pub use probe::{
    BlockedSeries, BlockingResult, ChangeSeries, ConstantWindow, Distribution, FailureResult,
    LifeSeries, ObservedAssociation, Observer, PathBlockingResult, PathChangeSeries, PathModel,
    PathProbeResult, PathTsnResult, PathTsnSeries, ProbeResult, RttSeries, StallResult,
    StallSeries, StateSeries, TimeoutResult, TimeoutSeries, TsnPoints, TsnResult, TsnSeries,
    ValueSeries, WindowBlocking, WindowSeries, blocking_time, window_blocking,
};
pub use result::{
    AbandonedResult, AssociationResult, BlockedResult, BottleneckResult, DelayResult, FlowResult,
    HostResult, PathResult, RunResult,
};
pub use scenario::Scenario;
pub use simulation::{CapturedHost, Simulation};
