//! Estimates the cost of runs from trial runs, or parts of runs.

use std::collections::{BTreeMap, BTreeSet};

use polypath_sim::scenario::{Flow, Transport};
use polypath_sim::{Form, Scenario, Simulation};
use polypath_units::{ByteCount, Duration};
use polypath_workload::Source;

use super::clock::Clock;
use super::cost::Cost;
use super::job::outcome_of;
use crate::study::Study;

/// Maximum number of configurations that are tried.
const TRIED: usize = 8;
/// Fraction of a run's time that is tried, but at least a second of simulated time.
const PART: u64 = 20;
/// Number of events below which a trial says little, so that a longer one is made: failures happen late, and idle runs are cheap.
const EVENTS: u64 = 50_000;
/// Factor by which that trial is longer.
const LONGER: u64 = 4;
/// Maximum bytes of each file in a trial of a run that ends when its files have arrived; it is tried to its end.
const BYTES: u64 = 4 << 20;
/// Overhead of a run in real time: creating links, starting programs.
const IN_REAL_TIME_S: f64 = 1.0;

/// Cost of a run.
#[derive(Clone, Copy, Default)]
struct Price {
    simulated_s: f64,
    core_s: f64,
    packets: f64,
    events: u64,
}

impl Price {
    /// Scales the cost beyond `before`, that of a trial without traffic, by `factor`: a longer run builds the network only once.
    fn times(self, factor: f64, before: Self) -> Self {
        let scaled = |one: f64, before: f64| before + (one - before).max(0.0) * factor;
        Self {
            simulated_s: scaled(self.simulated_s, before.simulated_s),
            core_s: scaled(self.core_s, before.core_s),
            packets: scaled(self.packets, before.packets),
            events: self.events,
        }
    }
}

/// Adds the cost of the remaining runs, from their number at each point and variant.
pub(super) fn add(study: &Study, remaining: &BTreeMap<(usize, usize), usize>, cost: &mut Cost) {
    let mut by_variant: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (point, variant) in remaining.keys() {
        by_variant.entry(*variant).or_default().push(*point);
    }
    let by_variant: Vec<(usize, Vec<usize>)> = by_variant.into_iter().collect();
    let lengths: Vec<usize> = by_variant.iter().map(|(_, points)| points.len()).collect();
    let mut prices = Vec::new();
    for (group, index) in tried(&lengths) {
        let (variant, points) = &by_variant[group];
        let point = &points[index];
        let scenario = study.scenario(&study.points().at(*point), *variant).ok();
        prices.extend(scenario.and_then(|scenario| price(scenario, study.points().len())));
    }
    // Runs that were not tried cost as much as the mean of these.
    let runs: usize = remaining.values().sum();
    let each = runs as f64 / prices.len().max(1) as f64;
    // A deterministic study is verified by a second run with another seed.
    let times = if study.replications().deterministic { 2.0 } else { 1.0 };
    for price in prices {
        cost.simulated_s += price.simulated_s * each;
        cost.packets += price.packets * each;
        cost.core_s += price.core_s * each * times;
    }
}

/// The configurations to try, as variants and indices into their points, given the number of points of each variant. Up to [`TRIED`]
/// variants get equal numbers of trials. Points are spread by the golden ratio: with equal steps, variants could get the same ones.
fn tried(lengths: &[usize]) -> BTreeSet<(usize, usize)> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let variants = lengths.len();
    let tries = match variants {
        0..=TRIED => TRIED.div_ceil(variants.max(1)) * variants,
        _ => TRIED,
    };
    let one = |number: usize| {
        let variant = if variants <= TRIED { number % variants } else { number * variants / TRIED };
        let place = ((number as f64 + 0.5) * GOLDEN).fract() * lengths[variant] as f64;
        (variant, place as usize)
    };
    (0..tries).map(one).collect()
}

/// Cost of a run of a scenario; `None` if it cannot be run.
fn price(mut scenario: Scenario, seed: usize) -> Option<Price> {
    if scenario.test_bed.is_some() {
        let core_s = scenario.run.duration.as_secs_f64() + IN_REAL_TIME_S;
        return Some(Price { core_s, ..Price::default() });
    }
    scenario.run.measure_from = Duration::ZERO;
    scenario.run.measure_until = None;
    scenario.record = scenario.record.without_lists();
    let seed = seed as u64;
    let whole = scenario.run.duration;
    let starts = || scenario.traffic.iter().map(|flow| flow.start);
    let (first, last) = (starts().min().unwrap_or_default(), starts().max().unwrap_or_default());
    // Before the traffic starts, there is nothing to measure.
    let before = |scenario: &mut Scenario, start: Duration| {
        tried_for(scenario, start.max(Duration::from_millis(1)).min(whole), seed)
    };
    if let Some(factor) = shortened(&mut scenario) {
        let before = before(&mut scenario, first)?;
        let mut price = tried_for(&mut scenario, whole, seed)?.times(factor, before);
        price.simulated_s = price.simulated_s.min(whole.as_secs_f64());
        return Some(price);
    }
    let start = last.min(whole);
    let before = before(&mut scenario, start)?;
    let rest = whole - start;
    let mut part =
        Duration::from_nanos(rest.as_nanos() / PART).max(Duration::from_secs(1)).min(rest);
    loop {
        let tried = tried_for(&mut scenario, start + part, seed)?;
        let has_ended = tried.simulated_s < (start + part).as_secs_f64();
        if has_ended || part == rest {
            return Some(tried);
        }
        if tried.events >= EVENTS {
            let seconds = [whole, start + part].map(|end| end.as_secs_f64() - before.simulated_s);
            let price = tried.times(seconds[0] / seconds[1].max(f64::MIN_POSITIVE), before);
            return Some(Price { simulated_s: whole.as_secs_f64(), ..price });
        }
        part = Duration::from_nanos(part.as_nanos().saturating_mul(LONGER)).min(rest);
    }
}

/// Cost of a run of this duration.
fn tried_for(scenario: &mut Scenario, duration: Duration, seed: u64) -> Option<Price> {
    scenario.run.duration = duration;
    let clock = Clock::start();
    let result = Simulation::with(scenario, seed, Form::default()).ok()?.run().ok()?;
    let outcome = outcome_of(&result);
    let core_s = clock.elapsed_s();
    drop(outcome);
    Some(Price {
        simulated_s: result.duration_s,
        core_s,
        packets: result.data_packets as f64,
        events: result.events,
    })
}

/// Shortens the files of a scenario that ends with them, and returns by which factor; `None` for a scenario with another end.
fn shortened(scenario: &mut Scenario) -> Option<f64> {
    let bytes = |source: &Source| match source {
        Source::File(bytes) => Some(bytes.as_bytes()),
        _ => None,
    };
    let awaited = || scenario.traffic.iter().filter(|flow| is_awaited(flow));
    let sizes: Option<Vec<u64>> = awaited().map(|flow| bytes(&flow.source)).collect();
    let largest = sizes?.into_iter().max()?;
    let factor = (largest as f64 / BYTES as f64).max(1.0);
    for flow in scenario.traffic.iter_mut().filter(|flow| is_awaited(flow)) {
        let shorter = bytes(&flow.source)? as f64 / factor;
        flow.source = Source::File(ByteCount::from_bytes(shorter.max(1.0) as u64));
    }
    Some(factor)
}

/// Whether a run waits for the end of this flow: one of an association, or another one that has an end.
fn is_awaited(flow: &Flow) -> bool {
    let is_endless = match &flow.source {
        Source::Saturated
        | Source::Constant(_)
        | Source::Poisson(_)
        | Source::ParetoOnOff(_)
        | Source::CrossTraffic(_) => flow.stop.is_none(),
        _ => false,
    };
    flow.transport == Transport::Sctp || !is_endless
}

#[cfg(test)]
mod tests {
    use polypath_sim::document::Document;
    use polypath_sim::scenario::{Fault, OutageFault, Way};
    use polypath_units::Instant;

    use super::*;

    fn scenario(source: &str) -> Scenario {
        let text = format!(
            "title = \"x\"\n[run]\nduration = \"600 s\"\n[[network.disjoint.paths]]\nname = \"p\"\n\
             bottleneck = {{ rate = \"8 Mbit/s\", delay = \"1 ms\" }}\n[[traffic]]\nname = \"f\"\n\
             source = {source}\nmessage_size = \"1 kB\"\n"
        );
        Scenario::from_document(&Document::parse("x.toml", text).expect("TOML"))
            .expect("a scenario")
    }

    #[test]
    fn every_variant_is_tried_at_points_far_apart() {
        for (points, variants, tries) in [(7, 6, 12), (9, 4, 8), (36, 3, 9), (100, 1, 8)] {
            let tried = tried(&vec![points; variants]);
            let of = |variant| tried.iter().filter(|(of, _)| *of == variant).count();
            assert!((0..variants).all(|variant| of(variant) > 0), "{points} x {variants}");
            assert!(tried.len() <= tries && tried.len() * 4 >= tries * 3, "{tried:?}");
            assert!(tried.iter().all(|(_, point)| *point < points));
            let low = tried.iter().filter(|(_, point)| point * 2 < points).count();
            assert!(low * 4 >= tried.len() && low * 4 <= tried.len() * 3, "{tried:?}");
        }
        assert_eq!(tried(&[1; 20]).len(), 8);
        assert_eq!(tried(&[1, 1]).len(), 2);
        assert!(tried(&[]).is_empty());
    }

    #[test]
    fn a_file_costs_what_its_bytes_need_and_not_the_longest_time() {
        // 8 MB at 8 Mbit/s less the headers: some 8.4 s, and 8,000 packets.
        let price = price(scenario("{ file = \"8 MB\" }"), 1).expect("a price");
        assert!((8.0..12.0).contains(&price.simulated_s), "{}", price.simulated_s);
        assert!((7_900.0..9_500.0).contains(&price.packets), "{}", price.packets);
    }

    #[test]
    fn what_starts_late_is_tried_when_it_has_started() {
        let mut late = scenario("\"saturated\"");
        late.traffic[0].start = Duration::from_secs(500);
        let price = price(late, 1).expect("a price");
        assert_eq!(price.simulated_s, 600.0);
        assert!((80_000.0..100_000.0).contains(&price.packets), "{}", price.packets);
    }

    #[test]
    fn a_run_ends_with_its_file_whatever_else_is_sent() {
        let mut beside = scenario("{ file = \"8 MB\" }");
        let mut other = scenario("{ constant = { rate = \"100 kbit/s\" } }").traffic.remove(0);
        other.name = "other".into();
        other.transport = Transport::Udp;
        beside.traffic.push(other);
        let price = price(beside, 1).expect("a price");
        assert!((8.0..12.0).contains(&price.simulated_s), "{}", price.simulated_s);
    }

    #[test]
    fn what_ends_early_is_not_taken_for_the_whole() {
        let mut broken = scenario("\"saturated\"");
        broken.run.duration = Duration::from_secs(100);
        broken.faults.push(Fault::Outage(OutageFault {
            path: "p".into(),
            from: Instant::ZERO + Duration::from_secs(10),
            until: None,
            way: Way::default(),
        }));
        let price = price(broken, 1).expect("a price");
        // 10 s of 100 s at 8 Mbit/s.
        assert!((8_000.0..10_000.0).contains(&price.packets), "{}", price.packets);
    }

    #[test]
    fn what_never_ends_takes_the_whole_time() {
        let price = price(scenario("\"saturated\""), 1).expect("a price");
        assert_eq!(price.simulated_s, 600.0);
        // 600 s at 8 Mbit/s: 600,000 kB less the headers.
        assert!((500_000.0..600_000.0).contains(&price.packets), "{}", price.packets);
    }
}
