//! Pairs of hosts whose paths share routes.

mod common;

use common::read;
use polypath_sim::{Form, RunResult, Simulation};

fn run(edits: &[&str], form: Form) -> RunResult {
    let scenario = read("shared-bottleneck", edits);
    Simulation::with(&scenario, 1, form).unwrap().run().unwrap()
}

#[test]
fn two_paths_that_are_not_coupled_take_two_shares() {
    let result = run(&["run.duration=40 s"], Form::Structured);
    assert!(result.is_ok(), "{:?}", result.association);
    let [multipath, single] = &result.flows[..] else { panic!("two flows") };
    assert_eq!((multipath.pair.as_str(), single.pair.as_str()), ("multipath", "single"));
    // 1452 of 1500 bytes are user data.
    let capacity = 20e6 * 1452.0 / 1500.0;
    assert!((0.95..1.001).contains(&(result.goodput_bit_s / capacity)), "{}", result.goodput_bit_s);
    let ratio = multipath.goodput_bit_s / single.goodput_bit_s;
    assert!((1.5..2.7).contains(&ratio), "{ratio}");
    let paths: Vec<_> = result.paths.iter().map(|p| (p.pair.as_str(), p.name.as_str())).collect();
    assert_eq!(paths, [("multipath", "path 1"), ("multipath", "path 2"), ("single", "path 1")]);
    let routes: Vec<_> =
        result.bottlenecks.iter().map(|b| (b.path.as_str(), b.from.as_str())).collect();
    assert_eq!(routes, [("core", "a"), ("core", "b")]);
}

#[test]
fn each_pair_ends_when_its_own_traffic_is_delivered() {
    let edits = [
        "run.measure_from=0 s",
        "traffic.multipath.source={ file = '200 kB' }",
        "traffic.single.source={ file = '2 MB' }",
        "traffic.single.from=b",
        "faults=[{ outage = { path = 'core', from = '500 ms', until = '1 s' } }]",
    ];
    let structured = run(&edits, Form::Structured);
    assert!(structured.is_ok() && structured.flows.iter().all(|flow| flow.complete));
    let last = |flow: usize| structured.flows[flow].last_delivery_s;
    assert!(last(0) < last(1));
    assert_eq!(structured.completed_s, last(1));
    assert!(structured.duration_s < 10.0);
    let mut wire = run(&edits, Form::Wire);
    wire.form = Form::Structured;
    assert_eq!(structured, wire);
}

#[test]
fn streams_of_one_pair_have_no_value_in_another() {
    let edits = [
        "run.duration=2 s",
        "run.measure_from=0 s",
        "sctp.policies.stream_scheduler=weighted-fair",
        "traffic.multipath.streams=2",
    ];
    let hash = |more: &[&str]| run(&[&edits, more].concat(), Form::Structured).trace_hash;
    let plain = hash(&[]);
    // A stream alone has nobody to be weighed against.
    assert_eq!(hash(&["traffic.single.stream_values=[9]"]), plain);
    assert_ne!(hash(&["traffic.multipath.stream_values=[9]"]), plain);
}

#[test]
fn mistakes_in_pairs_are_named() {
    for (edit, key) in [
        (
            "network.shared.pairs.multipath.paths.0.route=side",
            "network.shared.pairs.0.paths.0.route",
        ),
        ("network.shared.pairs.single.name=multipath", "network.shared.pairs.1.name"),
        (
            "network.shared.pairs.multipath.paths.1.name=path 1",
            "network.shared.pairs.0.paths.1.name",
        ),
        ("network.shared.routes.core.access.rate=1 Gbit/s", "network.shared.routes.0.access"),
        ("traffic.single.pair=nobody", "traffic.1.pair"),
    ] {
        let path = common::scenarios().join("shared-bottleneck.toml");
        let error = polypath_sim::Scenario::read(&path, &[edit]).map(|_| ()).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    }
}
