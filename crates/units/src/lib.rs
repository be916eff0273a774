//! Quantities with units.
//!
//! Every crate of the project speaks of time, sizes and rates through these types, so that a number never travels
//! without its unit. `no_std`; the types are plain integers underneath and all arithmetic saturates.
//!
//! Each type is read from text that carries its unit (`"100 Mbit/s"`, `"45 ms"`, `"64 KiB"`, `"1 %"`) and prints a
//! canonical form that reads back to exactly the same value. Prefixes are those of SI and IEC 80000-13: `k` is 1000,
//! `Ki` is 1024, and `m` is not `M`. Text is converted in integers: a value that the type cannot hold exactly is an
//! error, never rounded.
//!
//! ```
//! use polypath_units::{BitRate, ByteCount, Duration};
//!
//! let rate: BitRate = "100 Mbit/s".parse().unwrap();
//! assert_eq!(rate.transmission_time(ByteCount::from_bytes(1_500)), Duration::from_micros(120));
//! assert_eq!(rate.to_string(), "100 Mbit/s");
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bytes;
mod fraction;
mod frequency;
mod rate;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "serde")]
mod serialize;
mod text;
mod time;

pub use bytes::ByteCount;
pub use fraction::{Fraction, NotAFraction};
pub use frequency::Frequency;
pub use rate::BitRate;
pub use text::{ParseError, UnitList};
pub use time::{Duration, Instant};

/// The README, whose example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
