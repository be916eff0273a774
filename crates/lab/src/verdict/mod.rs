//! Statements about studies, and whether they hold.
//!
//! A [`Statement`] is data: an id, a rule, and selectors of the curves and points that it is about. [`judge`] computes its
//! verdict from the runs with their intervals. The rules themselves are pure functions of numbers ([`rule`]).

mod calculation;
mod check;
mod claimed;
mod deciding;
mod defaults;
mod enough;
mod evaluate;
mod knee;
mod needs;
pub mod rule;
mod statement;

pub use calculation::{Calculated, Calculation, ConstantPath, Windows};
pub use defaults::Defaults;
pub use enough::not_enough;
pub use evaluate::{Judgement, PlaceJudgement, RELATIVE, StatementError, judge};
pub use rule::Verdict;
pub use statement::{
    Cause, Conclusion, Degree, Expectations, NotRun, Over, Rule, Statement, Wanted, schema,
};

pub use crate::study::Operand;

#[cfg(test)]
mod tests;
