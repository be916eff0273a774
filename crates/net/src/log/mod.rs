//! Logging of associations with the crate feature `tracing`. Without the feature, all of it is empty.

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(not(feature = "tracing"))]
pub(crate) use off::{Log, LogProbe};
#[cfg(feature = "tracing")]
pub(crate) use on::{Log, LogProbe};
