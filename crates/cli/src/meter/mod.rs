//! What `polypath meter` adds to the library: options, text, CSV and captures, and each path alone.

pub(crate) mod capture;
pub(crate) mod client;
mod columns;
mod csv;
pub(crate) mod gain;
pub(crate) mod numbers;
pub(crate) mod options;
pub(crate) mod reporter;
mod text;
