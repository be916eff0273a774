//! Coupled congestion control: paths that may share a bottleneck together take about the share of one flow.
//!
//! Each control answers two questions from a [`GroupView`](group::GroupView): by how much a window grows once section
//! 7.2 of RFC 9260 lets it grow, and which slow-start threshold a loss leaves.

pub(crate) mod balia;
pub(crate) mod group;
pub(crate) mod lia;
pub(crate) mod olia;
pub(crate) mod rp_v1;
pub(crate) mod rp_v2;

use group::Rates;

/// A fractional step in whole bytes: rounded up, so that a small share still moves the window.
fn whole(step: f64) -> u64 {
    libm::ceil(step).max(1.0) as u64
}

/// A path's own rate among those of its group, from 0 to 1.
fn share_of_rate(rates: &Rates) -> f64 {
    rates.own / rates.total
}
