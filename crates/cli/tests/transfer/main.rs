//! `polypath send` and `polypath receive`, together and against peers that misbehave.

#[cfg(unix)]
mod hostile;
mod support;
mod together;
