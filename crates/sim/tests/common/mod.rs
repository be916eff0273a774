//! What the tests of whole runs share.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};

use polypath_sim::{Form, RunResult, Scenario, Simulation};

/// A run of a committed scenario, shortened by edits so that a debug build is quick.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Name of the run.
    pub name: &'static str,
    /// File in `scenarios/`, without its ending.
    pub scenario: &'static str,
    /// Seed.
    pub seed: u64,
    /// Edits.
    pub set: &'static [&'static str],
}

impl Run {
    /// Reads the scenario.
    pub fn scenario(&self) -> Scenario {
        read(self.scenario, self.set)
    }

    /// Runs it.
    pub fn run(&self, form: Form) -> RunResult {
        let scenario = self.scenario();
        let simulation =
            Simulation::with(&scenario, self.seed, form).expect("a scenario that fits");
        simulation.run().expect("no capture that could fail")
    }
}

/// Folder of the scenarios.
pub fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Reads a committed scenario.
pub fn read(name: &str, set: &[&str]) -> Scenario {
    let path = scenarios().join(name).with_extension("toml");
    Scenario::read(&path, set).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs that together use every mechanism; all but the first and the drop-tail ones lose packets at random.
pub const RUNS: [Run; 16] = [
    Run {
        name: "two-100mbit",
        scenario: "two-100mbit",
        seed: 1,
        set: &["run.duration=1 s", "run.measure_from=0 s"],
    },
    Run {
        name: "loss",
        scenario: "two-paths-loss",
        seed: 1,
        set: &["traffic.file.source.file=512 KiB"],
    },
    Run {
        name: "loss-other-seed",
        scenario: "two-paths-loss",
        seed: 2,
        set: &["traffic.file.source.file=512 KiB"],
    },
    Run {
        name: "loss-one-primary-path",
        scenario: "two-paths-loss",
        seed: 1,
        set: &["traffic.file.source.file=256 KiB", "sctp.preset=rfc9260", "network.disjoint.ip=v6"],
    },
    Run {
        name: "loss-fragments-unordered",
        scenario: "two-paths-loss",
        seed: 3,
        set: &[
            "traffic.file.source.file=512 KiB",
            "traffic.file.message_size=10000 B",
            "traffic.file.delivery=unordered",
            "sctp.outbound_streams=4",
        ],
    },
    Run {
        name: "loss-small-messages-small-window",
        scenario: "two-paths-loss",
        seed: 4,
        set: &[
            "traffic.file.source.file=300003 B",
            "traffic.file.message_size=100 B",
            "sctp.receive_buffer=16 KiB",
            "sctp.path_pairing=full-mesh",
        ],
    },
    Run {
        name: "failover",
        scenario: "failover",
        seed: 1,
        set: &[
            "run.duration=20 s",
            "faults.0.outage.from=500 ms",
            "faults.0.outage.until=8 s",
            "network.disjoint.paths.path 1.bottleneck.rate=2 Mbit/s",
            "network.disjoint.paths.path 2.bottleneck.rate=2 Mbit/s",
        ],
    },
    Run { name: "drop-tail-one-path", scenario: "drop-tail-one-path", seed: 0, set: SHORT },
    Run { name: "drop-tail-cmt", scenario: "drop-tail-cmt", seed: 0, set: SHORT },
    Run { name: "drop-tail-sfr-off", scenario: "drop-tail-sfr-off", seed: 0, set: SHORT },
    Run { name: "drop-tail-cuc-normal", scenario: "drop-tail-cuc-normal", seed: 0, set: SHORT },
    Run { name: "red-cmt", scenario: "red-cmt", seed: 1, set: SHORT },
    Run {
        name: "rate-trace",
        scenario: "lte-and-dsl",
        seed: 1,
        set: &["run.duration=5 s", "run.measure_from=0 s"],
    },
    Run {
        name: "udp-cross-traffic",
        scenario: "cross-traffic",
        seed: 1,
        set: &["traffic.file.source.file=128 KiB", "run.duration=1500 ms"],
    },
    Run {
        name: "tcp-beside-cmt",
        scenario: "tcp-and-cmt",
        seed: 1,
        set: &["run.duration=3 s", "run.measure_from=0 s"],
    },
    Run {
        name: "demo",
        scenario: "demo",
        seed: 1,
        set: &["run.duration=5 s", "run.measure_from=0 s"],
    },
];

const SHORT: &[&str] = &["run.duration=1500 ms", "run.measure_from=1 s"];
