//! Coupled congestion control: paths that may share a bottleneck together take about the share of one flow.
//!
//! Each control answers two questions from a [`GroupView`]: how much of what the window adjustment lets a window grow
//! it does grow, and which slow-start threshold a loss leaves. Paths that are coupled with no other, or whose group lacks a
//! round-trip time that the coupling needs, are controlled by the adjustment alone.

pub(crate) mod balia;
pub(crate) mod group;
pub(crate) mod lia;
pub(crate) mod olia;
pub(crate) mod rp_v1;
pub(crate) mod rp_v2;

use super::Parameters;
use super::reno::{self, Growth};
use crate::config::CongestionAlgorithm;
use crate::congestion::{GroupView, Rates};
use CongestionAlgorithm::{Balia, Bbr, Cubic, Lia, Olia, Rfc9260, RpV1, RpV2, Uncoupled};
use olia::LossIntervals;

/// Coupling of one path with its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Coupling {
    pub(super) algorithm: CongestionAlgorithm,
    /// Bytes delivered between losses.
    pub(super) intervals: LossIntervals,
}

impl Coupling {
    pub(crate) fn new(algorithm: CongestionAlgorithm) -> Self {
        Self { algorithm, intervals: LossIntervals::default() }
    }

    /// Bytes by which the window grows, or shrinks.
    pub(crate) fn step(&self, due: Growth, cwnd: u64, group: &GroupView) -> i64 {
        match self.group_that_counts(group) {
            Some(group) => step(self.algorithm, due, cwnd, group),
            None => due.bytes() as i64,
        }
    }

    /// The threshold after a loss.
    pub(crate) fn threshold(&self, cwnd: u64, p: &Parameters, group: &GroupView) -> u64 {
        match self.group_that_counts(group) {
            Some(group) => threshold(self.algorithm, cwnd, p, group),
            None => reno::threshold(cwnd, p),
        }
    }

    /// The group, if there are others in it.
    fn group_that_counts<'a>(&self, group: &'a GroupView) -> Option<&'a GroupView> {
        (group.members >= 2).then_some(group)
    }
}

/// What the formulas make of growth.
pub(super) fn step(
    algorithm: CongestionAlgorithm,
    due: Growth,
    cwnd: u64,
    group: &GroupView,
) -> i64 {
    let bytes = match (algorithm, &group.rates) {
        (Rfc9260 | Uncoupled | Cubic | Bbr, _) => due.bytes(),
        (RpV1, _) => rp_v1::growth(due, group),
        (RpV2, Some(rates)) => rp_v2::growth(due, rates),
        (Lia, Some(rates)) => lia::growth(due, cwnd, rates),
        (Olia, Some(rates)) => return olia::growth(due, rates),
        (Balia, Some(rates)) => balia::growth(due, rates),
        (RpV2 | Lia | Olia | Balia, None) => due.bytes(),
    };
    bytes as i64
}

/// What the formulas leave after a loss.
pub(super) fn threshold(
    algorithm: CongestionAlgorithm,
    cwnd: u64,
    p: &Parameters,
    group: &GroupView,
) -> u64 {
    match (algorithm, &group.rates) {
        (Rfc9260 | Uncoupled | Cubic | Bbr, _) => reno::threshold(cwnd, p),
        (RpV1, _) => rp_v1::threshold(cwnd, p, group),
        (RpV2, Some(rates)) => rp_v2::threshold(cwnd, p, rates),
        (Lia, Some(_)) => lia::threshold(cwnd, p),
        (Olia, Some(_)) => olia::threshold(cwnd, p),
        (Balia, Some(rates)) => balia::threshold(cwnd, p, rates),
        (RpV2 | Lia | Olia | Balia, None) => reno::threshold(cwnd, p),
    }
}

/// A fractional step in whole bytes: rounded up, so that a small share still moves the window.
fn whole(step: f64) -> u64 {
    libm::ceil(step).max(1.0) as u64
}

/// A path's own rate among those of its group, from 0 to 1.
fn share_of_rate(rates: &Rates) -> f64 {
    rates.own / rates.total
}
