//! A small study, and how tests run it.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use polypath_lab::run::{
    Limits, Program, Request, RunError, Shard, Sharing, Silent, Summary, run_study,
};
use polypath_lab::study::{Extent, Reading, Study};
use polypath_sim::document::Document;

/// Short runs with losses: two rates, two ways to use the paths.
pub const STUDY: &str = r#"
title = "a small study"
[replications]
runs = 3
[[axes]]
name = "rate"
unit = "Mbit/s"
keys = ["network.disjoint.paths.path 2.bottleneck.rate"]
values = ["1 Mbit/s", "4 Mbit/s"]
[[variants]]
name = "one"
set = { "sctp.preset" = "rfc9260" }
[[variants]]
name = "both"
label = "both paths"
set = { "sctp.preset" = "cmt" }
[[measures]]
name = "goodput"
result = "goodput_bit_s"
unit = "Mbit/s"
scale = 1e-6
[[measures]]
name = "retransmissions"
result = "paths.a.*.fast_retransmissions"
better = "lower"
[series]
interval = "250 ms"
[quick]
runs = 1
[inline]
title = "two paths"
[inline.run]
duration = "2 s"
[[inline.network.disjoint.paths]]
name = "path 1"
bottleneck = { rate = "4 Mbit/s", delay = "10 ms", loss = { forward = "1 %" } }
[[inline.network.disjoint.paths]]
name = "path 2"
bottleneck = { rate = "4 Mbit/s", delay = "10 ms", loss = { forward = "1 %" } }
[[inline.traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
"#;

/// A study from text.
pub fn study(text: &str, extent: Extent) -> Study {
    let document = Document::parse("study.toml", text).expect("TOML");
    Study::from_document(&document, Path::new(""), Reading { extent, edits: &[] }).expect("a study")
}

/// Runs a part of a study on some threads.
pub fn run_part(
    study: &Study,
    directory: &Path,
    jobs: usize,
    shard: &str,
) -> Result<Summary, RunError> {
    let request = Request {
        jobs: NonZeroUsize::new(jobs),
        shard: shard.parse::<Shard>().expect("a shard"),
        sharing: Sharing::Alone,
        limits: Limits::default(),
        at_least: &[],
        program: Program::default(),
        test_bed: None,
        stop: &AtomicBool::new(false),
        progress: &Silent,
    };
    run_study(study, directory, &request)
}

/// Runs a study.
pub fn run(study: &Study, directory: &Path) -> Summary {
    run_part(study, directory, 2, "1/1").expect("results")
}
