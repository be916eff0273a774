//! `polypath meter`: both ends together, and peers and users that misbehave.

mod capture;
#[cfg(unix)]
mod keys;
mod runs;
mod support;
#[cfg(unix)]
mod trouble;
