//! `polypath send` and `polypath receive`, together and against peers that misbehave.

#[cfg(unix)]
#[path = "../../../transfer/tests/common/frames.rs"]
mod frames;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod keys;
#[cfg(unix)]
mod patience;
#[cfg(unix)]
mod peer;
#[cfg(unix)]
mod resume;
#[cfg(unix)]
mod shares;
mod support;
mod together;
#[cfg(unix)]
mod trees;
