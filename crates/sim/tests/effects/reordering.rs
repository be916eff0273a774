//! Paths that deliver packets out of order.

use polypath_sim::RunResult;

use crate::scenarios::bulk;
use crate::{Covered, effect, run};

/// Two paths on which every fifth packet comes up to 20 ms late.
const REORDERED: &str = bulk!(
    r#"
title = "Two paths that reorder"

[run]
duration = "12 s"
measure_from = "4 s"

[[network.disjoint.paths]]
name = "one"
[network.disjoint.paths.bottleneck]
rate = "40 Mbit/s"
delay = "10 ms"
reordering = { probability = "20 %", extra_delay = "20 ms" }

[[network.disjoint.paths]]
name = "other"
[network.disjoint.paths.bottleneck]
rate = "20 Mbit/s"
delay = "25 ms"
reordering = { probability = "20 %", extra_delay = "20 ms" }

"#
);

pub const COVERAGE: &[Covered] = &[Covered {
    key: "fast_retransmit.reports",
    value: "adaptive",
    against: "overdue",
    scenario: REORDERED,
    set: &[],
    effect: effect!(a_window_that_adapts_bears_reordering),
}];

const ADAPTIVE: &str = "sctp.policies.fast_retransmit.reports=adaptive";
const OVERDUE: &str = "sctp.policies.fast_retransmit.reports=overdue";

/// What is only late counts as lost once, whatever the congestion control.
#[test]
fn a_window_that_adapts_bears_reordering() {
    for congestion in ["bbr", "cubic", "cmt"] {
        let congestion = format!("sctp.policies.congestion={congestion}");
        let with = |reports: &str| run(REORDERED, &[reports, &congestion]);
        let (adaptive, overdue) = (with(ADAPTIVE), with(OVERDUE));
        let (goodput, before) = (adaptive.goodput_bit_s, overdue.goodput_bit_s);
        assert!(goodput > 50e6, "{congestion}: {goodput} bit/s");
        assert!(goodput > 2.0 * before, "{congestion}: {goodput} against {before} bit/s");
        let recoveries = |result: &RunResult| -> u64 {
            result.paths.iter().map(|path| path.fast_recoveries).sum()
        };
        assert!(5 * recoveries(&adaptive) < recoveries(&overdue), "{congestion}");
    }
}

/// A window that was wide for a while is no reason to lose less quickly where the order is kept.
#[test]
fn random_loss_costs_no_more_than_by_age() {
    let none = ["one", "other"]
        .map(|path| format!("network.disjoint.paths.{path}.bottleneck.reordering.probability=0 %"));
    let loss = ["one", "other"]
        .map(|path| format!("network.disjoint.paths.{path}.bottleneck.loss.forward=0.5 %"));
    let with = |reports: &str| {
        let edits: Vec<&str> = none.iter().chain(&loss).map(String::as_str).collect();
        run(REORDERED, &[&edits[..], &[reports]].concat()).goodput_bit_s
    };
    let (adaptive, overdue) = (with(ADAPTIVE), with(OVERDUE));
    assert!(adaptive > 0.98 * overdue, "{adaptive} against {overdue} bit/s");
}
