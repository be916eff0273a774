//! Traffic: what flows carry, and how much of it arrives.
//!
//! A [`FlowSpec`] says what a flow is to carry; a [`Generator`] turns it into messages, one at a time, whenever the
//! transport has room; a [`GoodputMeter`] measures at the other end. None of them knows a transport protocol or a clock.
#![forbid(unsafe_code)]

mod flow;
mod generator;
mod meter;

pub use flow::{Delivery, FlowError, FlowSpec, Source};
pub use generator::{Generator, Message};
pub use meter::GoodputMeter;
