//! A study with a million points: a unit plans its own, and the progress of all is known without a plan of all.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use polypath_lab::run::{
    Limits, Program, Request, Shard, Sharing, Silent, Status, run_study, survey,
};
use polypath_lab::study::{Extent, Reading, Study};
use polypath_sim::document::Document;

/// Runs of a moment over a million paths.
fn million() -> Study {
    let values = |unit: &str| -> String {
        (1..=1000).map(|number| format!("\"{number} {unit}\", ")).collect()
    };
    let text = format!(
        r#"
title = "a million points"
[[axes]]
name = "delay"
keys = ["network.disjoint.paths.path.bottleneck.delay"]
values = [{}]
[[axes]]
name = "rate"
keys = ["network.disjoint.paths.path.bottleneck.rate"]
values = [{}]
[[variants]]
name = "one"
[[measures]]
name = "goodput"
result = "goodput_bit_s"
[inline]
title = "a moment"
[inline.run]
duration = "5 ms"
[[inline.network.disjoint.paths]]
name = "path"
bottleneck = {{ rate = "1 Mbit/s", delay = "1 ms" }}
[[inline.traffic]]
name = "bulk"
source = "saturated"
message_size = "100 B"
"#,
        values("us"),
        values("Mbit/s")
    );
    let document = Document::parse("study.toml", text).expect("TOML");
    let reading = Reading { extent: Extent::Full, edits: &[] };
    Study::from_document(&document, Path::new(""), reading).expect("a study")
}

#[test]
fn a_unit_of_a_million_points_makes_its_own_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let study = million();
    assert_eq!(study.points().len(), 1_000_000);
    let unit = |name: &str| {
        let request = Request {
            jobs: None,
            shard: name.parse::<Shard>().expect("a unit"),
            sharing: Sharing::Shared,
            limits: Limits::default(),
            at_least: &[],
            program: Program::default(),
            test_bed: None,
            stop: &AtomicBool::new(false),
            progress: &Silent,
        };
        run_study(&study, directory.path(), &request).expect("a unit that runs")
    };
    let made = ["7/50000", "50000/50000", "7/50000"].map(|name| unit(name).new);
    assert_eq!(made, [20, 20, 0]);
    let survey = survey(directory.path()).expect("a study");
    assert_eq!((survey.runs, survey.done, survey.is_planned), (1_000_000, 40, false));
    assert_eq!(survey.statuses.values().sum::<usize>(), 40);
    assert!(
        survey.statuses.keys().all(|status| status.has_results() && *status != Status::Crashed)
    );
    assert_eq!(survey.programs.values().sum::<usize>(), 40);
}
