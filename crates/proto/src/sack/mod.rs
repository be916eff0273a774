//! Selective acknowledgements: SACK x window -> [`AckDelta`], without side effects outside the window.

mod apply;
mod delta;
mod renege;

mod validate;

pub(crate) use apply::apply;
pub(crate) use delta::{AckDelta, PathDelta};
pub(crate) use renege::renege_missing;
pub(crate) use validate::{SackProblem, Verdict, validate};

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
