//! Small types that all modules share. The lowest layer: it uses only public items of the crate.

pub(crate) mod address_scope;
mod addresses;
mod buffer_bytes;
mod capabilities;
mod fate;
mod lazy;
mod mul_div;
mod path_delta;
mod path_set;
mod path_times;
mod user_data;

/// Nanoseconds of a second, for rates per second.
pub(crate) const NANOS_PER_SECOND: u128 = 1_000_000_000;

pub use addresses::PeerAddress;
pub(crate) use addresses::{AddressList, MAX_ADDRESSES};
pub(crate) use buffer_bytes::BufferBytes;
pub(crate) use capabilities::Capabilities;
pub(crate) use fate::Fate;
pub(crate) use lazy::{Lazy, Vacant};
pub(crate) use mul_div::{mul_div, mul_div_ceil};
pub(crate) use path_delta::{PathDelta, TimedChunk, Unambiguous};
pub(crate) use path_set::PathSet;
pub(crate) use path_times::PathTimes;
pub use user_data::UserDataChunk;
