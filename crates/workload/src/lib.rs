//! Traffic: what flows carry, and how much of it arrives when.
//!
//! A [`FlowSpec`] says what a flow is to carry; a [`Generator`] turns it into messages, one at a time, whenever the
//! transport has room; a [`GoodputMeter`] and a [`DelayMeter`] measure at the other end. None of them knows a transport
//! protocol or a clock, and random numbers are handed in.
#![forbid(unsafe_code)]

mod delay;
mod delivery;
pub mod distribution;
mod flow;
mod generator;
mod meter;
mod pulled;
mod random;
mod source;
mod triggered;

pub use delay::DelayMeter;
pub use delivery::Delivery;
pub use distribution::Distribution;
pub use flow::{DEFAULT_QUEUE, FlowError, FlowSpec};
pub use generator::{Carrier, Effort, Generator, Message};
pub use meter::GoodputMeter;
pub use random::Stream;
pub use source::{
    AfterEnd, CrossTraffic, Direction, MessageTrace, NetPerfMeter, ParetoOnOff, RequestResponse,
    Responses, Source, SteadyRate, TraceError, TraceRow, TraceSource,
};
