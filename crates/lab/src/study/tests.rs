use polypath_sim::document::Document;

use super::*;

const SCENARIO: &str = r#"
[inline]
title = "two paths"
[inline.run]
duration = "1 s"
[[inline.network.disjoint.paths]]
name = "path 1"
bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }
[[inline.network.disjoint.paths]]
name = "path 2"
bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }
[[inline.traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
"#;

const HEAD: &str = r#"title = "a study"
[[measures]]
name = "goodput"
result = "goodput_bit_s"
"#;

const AXES: &str = r#"
[[axes]]
name = "rate"
keys = ["network.disjoint.paths.path 2.bottleneck.rate"]
values = ["1 Mbit/s", "2 Mbit/s", "3 Mbit/s"]
zip = "link"
[[axes]]
name = "preset"
keys = ["sctp.preset"]
values = ["cmt", "rfc9260"]
[[axes]]
name = "delay"
values = ["10 ms", "20 ms", "30 ms"]
scaled = { "network.disjoint.paths.path 2.bottleneck.delay" = 0.5 }
with = { "run.duration" = ["1 s", "2 s", "4 s"] }
zip = "link"
[[variants]]
name = "big"
set = { "sctp.receive_buffer" = "1 MB" }
[[variants]]
name = "small"
set = { "sctp.receive_buffer" = "64 kB" }
[quick]
runs = 1
set = { "run.measure_from" = "100 ms" }
values = { rate = ["1 Mbit/s", "3 Mbit/s"], delay = ["10 ms", "30 ms"] }
"#;

fn read(text: &str, reading: Reading<'_>) -> Result<Study, DocumentError> {
    let text = format!("{text}{SCENARIO}");
    Study::from_document(&Document::parse("study.toml", text)?, Path::new(""), reading)
}

fn study(extent: Extent) -> Study {
    let text = format!("{HEAD}{AXES}");
    read(&text, Reading { extent, edits: &[] }).expect("a study")
}

#[test]
fn axes_form_a_grid_of_groups_that_advance_together() {
    let study = study(Extent::Full);
    let values: Vec<_> = study.points().iter().map(|point| point.values).collect();
    let expected = [[0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1], [2, 0, 2], [2, 1, 2]];
    assert_eq!(values, expected);
    let scenario = study.scenario(&study.points().at(4), 1).expect("a scenario");
    let link = &scenario.network.paths()[1].bottleneck;
    assert_eq!(link.rate.to_string(), "3 Mbit/s");
    assert_eq!(link.delay.to_string(), "15 ms");
    assert_eq!(scenario.run.duration.to_string(), "4 s");
    assert_eq!(scenario.sctp[0].receive_buffer.as_bytes(), 64_000);
}

#[test]
fn quick_leaves_some_values_and_changes_the_scenario() {
    let study = study(Extent::Quick);
    assert_eq!(study.points().len(), 4);
    assert_eq!(study.replications().runs, Some(1));
    let last = study.scenario(&study.points().at(3), 0).expect("a scenario");
    assert_eq!(last.network.paths()[1].bottleneck.rate.to_string(), "3 Mbit/s");
    assert_eq!(last.run.duration.to_string(), "4 s");
    assert_eq!(last.run.measure_from.to_string(), "100 ms");
}

#[test]
fn the_resolved_study_is_the_same_study() {
    let edits = ["sctp.send_buffer=1 MB".to_owned()];
    let text = format!("{HEAD}{AXES}");
    let study = read(&text, Reading { extent: Extent::Quick, edits: &edits }).expect("a study");
    let text = toml::to_string(&study.resolved()).expect("TOML");
    let document = Document::parse("resolved.toml", text).expect("TOML");
    let again =
        Study::from_document(&document, Path::new(""), Reading::default()).expect("a study");
    assert_eq!(again.resolved(), study.resolved());
    for (point, same) in study.points().iter().zip(again.points().iter()) {
        assert_eq!(again.scenario(&same, 1).ok(), study.scenario(&point, 1).ok());
        assert_eq!(again.seed(&same, 1, 5), study.seed(&point, 1, 5));
    }
}

#[test]
fn seeds_are_common_where_the_study_says_so() {
    let seeds = |scope: &str| {
        let text = format!("{HEAD}{AXES}[replications]\ncommon_random_numbers = \"{scope}\"\n");
        let study = read(&text, Reading::default()).expect("a study");
        let seed = |point: usize, variant, run| study.seed(&study.points().at(point), variant, run);
        [seed(0, 0, 0), seed(0, 1, 0), seed(1, 0, 0), seed(0, 0, 1)]
    };
    let [own, variant, point, run] = seeds("variants");
    assert!(own == variant && own != point && own != run);
    let [own, variant, point, run] = seeds("all");
    assert!(own == variant && own == point && own != run);
    let [own, variant, point, run] = seeds("none");
    assert!(own != variant && own != point && own != run && variant != point);
    assert!(own < 1 << 53, "fits every tool");
}

#[test]
fn more_values_leave_the_seeds_of_others_alone() {
    let full = study(Extent::Full);
    let quick = study(Extent::Quick);
    assert_eq!(full.seed(&full.points().at(5), 0, 2), quick.seed(&quick.points().at(3), 0, 2));
}

#[test]
fn a_sample_has_every_value_with_every_variant() {
    let study = study(Extent::Full);
    let sample = study.sample();
    for variant in 0..2 {
        for (axis, count) in [3, 2, 3].into_iter().enumerate() {
            for value in 0..count {
                let has = |(point, other): &(usize, usize)| {
                    *other == variant && study.points().at(*point).values[axis] == value
                };
                assert!(sample.iter().any(has), "variant {variant}, axis {axis}, value {value}");
            }
        }
    }
    assert!(sample.len() < study.points().len() * 2);
}

#[test]
fn selections_take_values_and_ranges() {
    let study = study(Extent::Full);
    let select = |text: &str| {
        let selection: std::collections::BTreeMap<String, AxisRange> =
            toml::from_str(text).expect("TOML");
        study.select(&selection)
    };
    assert_eq!(select(""), Ok(vec![0, 1, 2, 3, 4, 5]));
    assert_eq!(select("rate = { at = [\"1000 kbit/s\"] }"), Ok(vec![0, 1]));
    assert_eq!(select("rate = { from = \"2 Mbit/s\" }"), Ok(vec![2, 3, 4, 5]));
    assert_eq!(select("rate = { to = \"2 Mbit/s\" }\npreset = { at = [\"cmt\"] }"), Ok(vec![0, 2]));
    let error = select("rat = { at = [1] }").expect_err("no such axis");
    assert_eq!(error, "there is no axis `rat`; did you mean `rate`?");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let measure = "[[measures]]\nname = \"goodput\"\nresult = \"x\"\n";
    let cases = [
        ("titel = \"x\"\n", "study.toml:1:1: unknown key `titel`\n  did you mean `title`?"),
        ("title = \"x\"\nmeasures = []\n", "measures: a study needs at least one measure"),
        (
            "title = \"x\"\nscenario = \"y\"\n[[measures]]\nname = \"m\"\nresult = \"r\"\n",
            "inline: the study already has a `scenario`",
        ),
        (&format!("{HEAD}{measure}"), "measures.1.name: there is another `goodput`"),
        (
            &format!("{HEAD}[set]\nsctp.preset = \"cmt\"\n"),
            "set.sctp: replaces all of `sctp`: write a key of the scenario in quotes, \"sctp.preset…\"",
        ),
        (
            &format!("{HEAD}[[axes]]\nname = \"a\"\nkeys = [\"b\"]\nvalues = [1, 2, 1]\n"),
            "axes.0.values: 1 is listed twice",
        ),
        (
            &format!("{HEAD}[[axes]]\nname = \"a\"\nvalues = [1]\n"),
            "axes.0.keys: the axis changes nothing",
        ),
        (
            &format!(
                "{HEAD}[[axes]]\nname = \"a\"\nkeys = [\"x\"]\nvalues = [1, 2]\nlabels = [\"one\"]\n"
            ),
            "axes.0.labels: 1 labels for 2 values",
        ),
        (
            &format!(
                "{HEAD}[replications.until]\nmeasure = \"godput\"\nhalf_width = \"5 %\"\nmin = 3\nmax = 9\n"
            ),
            "replications.until.measure: there is no measure `godput`; did you mean `goodput`?",
        ),
        (
            &format!("{HEAD}{AXES}[[figures]]\nname = \"f\"\nx = \"rates\"\n"),
            "figures.0.x: there is no axis `rates`; did you mean `rate`?",
        ),
    ];
    for (text, expected) in cases {
        let error = read(text, Reading::default()).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}\n  instead of\n{expected}");
    }
}

#[test]
fn a_wrong_value_is_reported_where_the_study_has_it() {
    let text = format!(
        "{HEAD}[[axes]]\nname = \"rate\"\nkeys = [\"network.disjoint.paths.path 2.bottleneck.rate\"]\n\
         values = [\"1 Mbit/s\",\n  \"2 Mbits\"]\n"
    );
    let study = read(&text, Reading::default()).expect("a study");
    let error = study.scenario(&study.points().at(1), 0).expect_err("no rate").to_string();
    assert!(
        error.starts_with("study.toml:9:3: network.disjoint.paths.1.bottleneck.rate: `2 Mbits`"),
        "{error}"
    );
}

#[test]
fn an_edit_of_what_is_varied_is_refused() {
    let text = format!("{HEAD}{AXES}");
    for (edit, by) in [
        ("sctp.preset=cmt", "axis `preset`"),
        ("sctp.receive_buffer=1 MB", "variant `big`"),
        ("run={}", "axis `delay`"),
    ] {
        let edits = [edit.to_owned()];
        let reading = Reading { extent: Extent::Full, edits: &edits };
        let error = read(&text, reading).expect_err(edit).to_string();
        assert!(error.contains(by), "{error}");
    }
}

#[test]
fn files_of_the_scenario_are_found_from_anywhere() {
    let key = "network.disjoint.paths.path 2.bottleneck.rate_trace";
    let text = format!(
        "{HEAD}[[axes]]\nname = \"trace\"\nkeys = [\"{key}\"]\nvalues = [{{ file = \"a.csv\" }}, {{ file = \"/b.csv\" }}]\n\
         [[variants]]\nname = \"v\"\nset = {{ \"{key}.file\" = \"c.csv\" }}\n[set]\n\"{key}\" = {{ file = \"d.csv\" }}\n{SCENARIO}"
    );
    let document = Document::parse("/folder/study.toml", text).expect("TOML");
    let study =
        Study::from_document(&document, Path::new("/folder"), Reading::default()).expect("a study");
    let resolved = toml::to_string(&study.resolved()).expect("TOML");
    for name in ["\"/folder/a.csv\"", "\"/b.csv\"", "\"/folder/c.csv\"", "\"/folder/d.csv\""] {
        assert!(resolved.contains(name), "{name} in {resolved}");
    }
    assert_eq!(resolved.matches("/folder/").count(), 3);
}

#[test]
fn a_narrowed_study_has_some_of_the_same_runs() {
    let whole = study(Extent::Full);
    // The points 3 and 5: the second and the third link, both with the second preset.
    let part = whole.clone().narrowed(&[3, 5], &[1]);
    assert_eq!((part.points().len(), part.variants().len()), (2, 1));
    assert_eq!(part.variants()[0].name, "small");
    for (there, here) in [(3, 0), (5, 1)] {
        let (there, here) = (whole.points().at(there), part.points().at(here));
        assert_eq!(whole.seed(&there, 1, 4), part.seed(&here, 0, 4));
        let scenarios = [whole.scenario(&there, 1), part.scenario(&here, 0)];
        let [expected, found] = scenarios.map(|scenario| scenario.expect("a scenario"));
        assert_eq!(found, expected);
    }
    let other = whole.points().at(1);
    assert_ne!(whole.seed(&other, 1, 4), part.seed(&part.points().at(0), 0, 4));
}

#[test]
fn variants_that_determine_the_number_of_runs_together_remain() {
    let until = "[replications]\nuntil = { measure = \"goodput\", half_width = \"5 %\", min = 2, max = 9 }\n";
    let text = format!("{HEAD}{until}{AXES}");
    let whole = read(&text, Reading { extent: Extent::Full, edits: &[] }).expect("a study");
    let part = whole.clone().narrowed(&[0], &[1]);
    assert_eq!((part.points().len(), part.variants().len()), (1, 2));
    let part = whole.until_decided().narrowed(&[0], &[1]);
    assert_eq!((part.points().len(), part.variants().len()), (1, 1));
}
