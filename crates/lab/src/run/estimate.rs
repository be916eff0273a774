//! What runs will cost, by a short piece of some of them.

use std::collections::BTreeMap;
use std::time::Instant;

use polypath_sim::{Form, Simulation};
use polypath_units::Duration;

use super::plan::Cost;
use crate::study::Study;

/// Most configurations that are tried.
const TRIED: usize = 8;
/// Part of a run that is tried, but at least a second of simulated time.
const PART: u64 = 20;

/// Adds what the remaining runs cost, from the number of them for each point and variant.
pub(super) fn add(study: &Study, remaining: &BTreeMap<(usize, usize), usize>, cost: &mut Cost) {
    let step = remaining.len().div_ceil(TRIED).max(1);
    let (mut tried_s, mut wall_s, mut packets) = (0.0, 0.0, 0.0);
    for (number, ((point, variant), count)) in remaining.iter().enumerate() {
        let Ok(mut scenario) = study.scenario(&study.points()[*point], *variant) else { continue };
        cost.simulated_s += *count as f64 * scenario.run.duration.as_secs_f64();
        if number % step != 0 {
            continue;
        }
        let part = Duration::from_nanos(scenario.run.duration.as_nanos() / PART);
        scenario.run.duration = part.max(Duration::from_secs(1)).min(scenario.run.duration);
        scenario.run.measure_from = Duration::ZERO;
        scenario.run.measure_until = None;
        let start = Instant::now();
        let run = Simulation::with(&scenario, 1, Form::default()).map(Simulation::run);
        if let Ok(Ok(result)) = run {
            tried_s += result.duration_s;
            wall_s += start.elapsed().as_secs_f64();
            packets += result.data_packets as f64;
        }
    }
    if tried_s > 0.0 {
        cost.core_s = wall_s / tried_s * cost.simulated_s;
        cost.packets = packets / tried_s * cost.simulated_s;
    }
}
