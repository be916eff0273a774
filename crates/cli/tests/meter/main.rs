//! `polypath meter`: both ends together, and peers and users that misbehave.

mod capture;
mod runs;
mod support;
#[cfg(unix)]
mod trouble;
