//! `polypath study`, `check` and `schema`.

mod common;
#[path = "common/small_study.rs"]
mod small_study;

use std::fs;
use std::path::{Path, PathBuf};

use common::directory;
use small_study::{STUDY, run, study_in};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// The part of the journal of a directory in which one process made runs.
fn part(out: &Path) -> PathBuf {
    let mut parts = fs::read_dir(out.join("journal")).expect("a journal");
    parts.next().expect("a part").expect("an entry").path()
}

const FIGURES: &str = r#"[[figures]]
name = "lines"
[[figures]]
name = "over time"
kind = "time-lines"
series = ["goodput_bit_s", "paths.a.*.goodput_bit_s"]
[inline]
"#;

#[test]
fn a_study_is_run_drawn_exported_and_judged() {
    let place = directory("study-run");
    let study = study_in(&place, &STUDY.replace("[inline]\n", FIGURES));
    let out = place.join("out");
    let (code, table, err) = run(&["study", "run", text(&study), "--out", text(&out)]);
    assert_eq!(code, Some(0), "{err}");
    assert!(table.contains("8 runs, 8 of them new"), "{table}");
    assert!(table.contains("goodput (Mbit/s)"), "{table}");
    for name in ["lines", "over time"] {
        let svg = fs::read_to_string(out.join(format!("figures/{name}.svg"))).expect("a picture");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{name}");
        let png = fs::read(out.join(format!("figures/{name}.png"))).expect("a picture");
        assert!(png.starts_with(b"\x89PNG"), "{name}");
    }
    let (code, files, err) =
        run(&["study", "export", text(&out), "--csv", text(&place.join("csv"))]);
    assert_eq!((code, files.lines().count()), (Some(0), 3), "{err}");
    let statements = place.join("expected.toml");
    let statement = "[[statements]]\nid = \"p-1\"\nfigure = \"1\"\nstudy = \"study.toml\"\n\
         statement = \"two paths carry more\"\n\
         rule = { better = { of = { variant = \"both\" }, than = [{}], by = \"clearly\" } }\n";
    let about_another = statement.replace("p-1", "p-2").replace("study.toml", "other.toml");
    fs::write(&statements, format!("paper = \"p\"\n{statement}{about_another}")).expect("writable");
    let other = STUDY.replacen("title = \"", "title = \"not ", 1);
    fs::write(place.join("other.toml"), other).expect("writable");
    let (code, verdicts, err) = run(&["study", "judge", text(&statements), text(&out), "--json"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("not judged, for other.toml"), "{err}");
    assert!(!verdicts.contains("p-2"), "{verdicts}");
    let verdicts: serde_json::Value = serde_json::from_str(&verdicts).expect("JSON");
    assert_eq!(verdicts[0]["verdict"], "holds");
    assert_eq!(verdicts[0]["n"], 2);
    let (code, again, _) = run(&["study", "run", text(&study), "--out", text(&out), "--json"]);
    let again: serde_json::Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!((code, &again["new"], &again["rows"]), (Some(0), &0.into(), &8.into()));
}

#[test]
fn replacing_the_tables_of_another_study_is_announced() {
    let place = directory("study-replaced");
    let study = study_in(&place, STUDY);
    let out = place.join("out");
    let run_here = |study: &Path| run(&["study", "run", text(study), "--out", text(&out)]);
    let notice = "they will be replaced";
    for _ in 0..2 {
        let (code, _, err) = run_here(&study);
        assert_eq!((code, err.contains(notice)), (Some(0), false), "{err}");
    }
    let other = place.join("other.toml");
    fs::write(&other, STUDY.replacen("title = \"", "title = \"not ", 1)).expect("writable");
    let (code, table, err) = run_here(&other);
    assert_eq!((code, err.contains(notice)), (Some(0), true), "{err}");
    assert!(table.contains("8 runs, 0 of them new"), "{table}");
}

#[test]
fn shards_are_joined() {
    let place = directory("study-shards");
    let study = study_in(&place, STUDY);
    let [one, two, all] = ["one", "two", "all"].map(|name| place.join(name));
    for (shard, out) in [("1/2", &one), ("2/2", &two)] {
        let (code, _, err) =
            run(&["study", "run", text(&study), "--out", text(out), "--shard", shard]);
        assert_eq!(code, Some(0), "{err}");
    }
    let (code, _, err) = run(&["study", "merge", text(&one), "--out", text(&all)]);
    assert_eq!(code, Some(1));
    assert!(err.contains("4 runs are missing"), "{err}");
    let (code, table, err) = run(&["study", "merge", text(&one), text(&two), "--out", text(&all)]);
    assert_eq!(code, Some(0), "{err}");
    assert!(table.contains("8 runs"), "{table}");
}

/// Series are of the first run only, which the second shard does not have.
#[test]
fn a_shard_leaves_pictures_to_the_merge() {
    let place = directory("study-shard-figures");
    let figures = STUDY.replace("[inline]\n", FIGURES);
    let study = study_in(&place, &figures.replace("\"1 Mbit/s\", \"2 Mbit/s\"", "\"1 Mbit/s\""));
    let [one, two, all] = ["one", "two", "all"].map(|name| place.join(name));
    for (shard, out) in [("1/2", &one), ("2/2", &two)] {
        let (code, _, err) =
            run(&["study", "run", text(&study), "--out", text(out), "--shard", shard]);
        assert_eq!((code, err.lines().count()), (Some(0), 1), "{err}");
        assert!(err.contains("`polypath study merge`"), "{err}");
        assert!(!out.join("figures").exists());
    }
    let (code, _, err) = run(&["study", "merge", text(&one), text(&two), "--out", text(&all)]);
    assert_eq!(code, Some(0), "{err}");
    assert!(all.join("figures/over time.svg").exists(), "{err}");
}

#[test]
fn figures_are_drawn_anew_in_another_style_without_runs() {
    let place = directory("study-styles");
    let study = study_in(&place, &STUDY.replace("[inline]\n", FIGURES));
    let out = place.join("out");
    for (style, width) in [("screen", "200mm"), ("paper", "88mm"), ("slides", "254mm")] {
        let (code, table, err) =
            run(&["study", "run", text(&study), "--out", text(&out), "--figure-style", style]);
        assert_eq!(code, Some(0), "{err}");
        assert!(style == "screen" || table.contains("8 runs, 0 of them new"), "{table}");
        assert!(err.contains("figures/lines.svg (.pdf, .png, .csv, .py)"), "{err}");
        let svg = fs::read_to_string(out.join("figures/lines.svg")).expect("a figure");
        assert!(svg.contains(&format!("width=\"{width}\"")), "{style}");
        let pdf = fs::read(out.join("figures/lines.pdf")).expect("a figure");
        assert!(pdf.starts_with(b"%PDF"), "{style}");
    }
    let numbers = fs::read_to_string(out.join("figures/lines.csv")).expect("numbers");
    assert!(numbers.starts_with("panel,curve,x,place,y,low,high\n"), "{numbers}");
    let (code, _, err) = run(&["study", "merge", text(&out), "--figure-style", "poster"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("paper, slides, screen"), "{err}");
}

#[test]
fn a_study_that_no_statement_is_about_is_wrong_usage() {
    let place = directory("study-judge-misspelt");
    let study = study_in(&place, STUDY);
    let (out, statements) = (place.join("out"), place.join("expected.toml"));
    let (code, _, err) = run(&["study", "run", text(&study), "--out", text(&out)]);
    assert_eq!(code, Some(0), "{err}");
    let statement = "paper = \"p\"\n[[statements]]\nid = \"p-1\"\nfigure = \"1\"\nstudy = \"study.toml\"\n\
         statement = \"one path carries much more\"\n\
         rule = { between = { of = { variant = \"one\", divided_by = { variant = \"both\" } }, from = 2 } }\n";
    fs::write(&statements, statement).expect("writable");
    let judge = |study| run(&["study", "judge", text(&statements), text(&out), "--study", study]);
    let (code, table, err) = judge("studi.toml");
    assert_eq!((code, table.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("did you mean `study.toml`?"), "{err}");
    // Named by its path, or by its name, the place that decided is told: at 2 Mbit/s both paths carry more than twice as much.
    for name in ["study.toml", text(&study)] {
        let (code, table, err) = judge(name);
        assert_eq!(code, Some(0), "{err}");
        let at = "differs in 2 of 2 places; measured: one / both; rate 2 Mbit/s";
        assert!(table.contains(at), "{table}");
    }
}

#[test]
fn places_for_results_that_do_not_work_are_named() {
    let place = directory("study-places");
    let study = study_in(&place, STUDY);
    let (file, out) = (place.join("file"), place.join("out"));
    fs::write(&file, "").expect("writable");
    for wrong in [file.clone(), file.join("below")] {
        let (code, _, err) = run(&["study", "run", text(&study), "--out", text(&wrong)]);
        let expected =
            format!("cannot make the directory {}: {} is a file", text(&wrong), text(&file));
        assert!(code == Some(2) && err.contains(&expected), "{err}");
    }
    let nowhere = format!("there are no results in {}", text(&out));
    let csv = place.join("csv");
    let export = || run(&["study", "export", text(&out), "--csv", text(&csv)]);
    let (code, _, err) = export();
    assert!(
        code == Some(2) && err.contains(&nowhere) && err.contains("polypath study run"),
        "{err}"
    );
    let (code, _, err) = run(&["study", "merge", text(&out), "--out", text(&csv)]);
    assert!(code == Some(2) && err.contains(&nowhere), "{err}");
    // A study that was interrupted has its journal and no tables yet.
    let (code, _, err) = run(&["study", "run", text(&study), "--out", text(&out)]);
    assert_eq!(code, Some(0), "{err}");
    let part = part(&out);
    let journal = fs::read_to_string(&part).expect("a journal");
    let is_run = |line: &&str| line.starts_with("{\"run\":");
    let last: Vec<&str> = journal.lines().filter(is_run).skip(5).collect();
    let rest: Vec<&str> = journal.lines().filter(|line| !last.contains(line)).collect();
    fs::write(&part, rest.join("\n") + "\n").expect("writable");
    fs::remove_file(out.join("runs.parquet")).expect("a table");
    let (code, _, err) = export();
    let unfinished = "3 of 8 runs are missing; the same `polypath study run` goes on";
    assert!(code == Some(1) && err.contains(unfinished), "{err}");
    assert!(!csv.exists(), "nothing is left behind");
    let (code, _, err) = run(&["study", "run", text(&study), "--out", text(&out)]);
    assert_eq!(code, Some(0), "{err}");
    let (code, _, err) = run(&["study", "export", text(&out), "--csv", text(&file)]);
    assert!(code == Some(2) && err.contains("is a file; name another directory"), "{err}");
    assert_eq!(export().0, Some(0));
}

#[test]
fn a_file_of_another_kind_is_named_with_the_command_that_reads_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = |name: &str| root.join(name).to_str().expect("a path in UTF-8").to_owned();
    let scenario = file("scenarios/demo.toml");
    let study = file("studies/asymmetry.toml");
    let statements = file("studies/asymmetry-expected.toml");
    for (arguments, expected) in [
        (vec!["sim", &study], "is a study: `polypath study run "),
        (vec!["sim", &statements], "has statements: `polypath study judge "),
        (vec!["study", "run", &scenario], "is a scenario: `polypath sim "),
        (vec!["study", "run", &statements], "has statements: `polypath study judge "),
        (vec!["study", "judge", &study, "out"], "is a study: `polypath study run "),
    ] {
        let (code, _, err) = run(&arguments);
        assert!(code == Some(2) && err.contains(expected), "{arguments:?}: {err}");
    }
}

#[test]
fn a_dry_run_tells_and_does_nothing() {
    let place = directory("study-dry");
    let study = study_in(&place, STUDY);
    let out = place.join("out");
    let arguments = ["study", "run", text(&study), "--out", text(&out), "--dry-run", "--json"];
    let (code, cost, err) = run(&arguments);
    assert_eq!(code, Some(0), "{err}");
    let cost: serde_json::Value = serde_json::from_str(&cost).expect("JSON");
    assert_eq!((&cost["runs"], &cost["done"]), (&8.into(), &0.into()));
    assert_eq!(cost["simulated_s"], 8.0);
    assert!(cost["packets"].as_f64().is_some_and(|packets| packets > 100.0), "{cost}");
    assert!(!out.exists());
}

#[test]
fn mistakes_are_wrong_usage_and_runs_without_result_a_failure() {
    let place = directory("study-mistakes");
    let cases = [
        ("[replications]", "[replication]", "did you mean `replications`?"),
        ("\"1 Mbit/s\", \"2 Mbit/s\"", "\"1 Mbit/s\", \"2 Mbits\"", "study.toml:9:23: "),
        ("\"rfc9260\"", "\"rfc926\"", "did you mean `rfc9260`?"),
        (
            "\"goodput_bit_s\"\nunit",
            "\"goodputs\"\nunit",
            "study.toml:17:10: measures.0.result: runs have no result `goodputs`; did you mean `goodput_bit_s`?",
        ),
        (
            "unit = \"Mbit/s\"\nkeys",
            "unit = \"ms\"\nkeys",
            "study.toml:7:8: axes.0.unit: `1 Mbit/s` cannot",
        ),
        ("\"100 ms\"", "\"1 ns\"", "study.toml:21:12: series.interval: 1000000000 samples"),
        (
            "[inline]\n",
            "only = [\"goodput_bit\"]\n[inline]\n",
            "series.only.0: runs have no series `goodput_bit`; did you mean `goodput_bit_s`?",
        ),
        (
            "[inline]\n",
            "[[figures]]\nname = \"f\"\nkind = \"time-lines\"\nseries = [\"path.a.*.cwnd_bytes\"]\n[inline]\n",
            "study.toml:25:11: figures.0.series.0: runs have no series `path.a.*.cwnd_bytes`",
        ),
    ];
    for (right, wrong, expected) in cases {
        let study = study_in(&place, &STUDY.replacen(right, wrong, 1));
        for command in [&["check"][..], &["study", "run"]] {
            let (code, _, err) = run(&[command, &[text(&study)]].concat());
            assert_eq!(code, Some(2), "{err}");
            assert!(err.contains(expected), "{err}");
        }
    }
}

#[test]
fn a_check_finds_what_a_study_lacks() {
    let place = directory("study-check");
    let figure =
        "[[figures]]\nname = \"f\"\nwhere = { rate = { at = [\"3 Mbit/s\"] } }\n[inline]\n";
    let study = study_in(&place, &STUDY.replace("[inline]\n", figure));
    let (code, _, err) = run(&["check", text(&study)]);
    assert_eq!(code, Some(2));
    assert!(err.contains("figures.0.where: the axis `rate` has no value `3 Mbit/s`"), "{err}");
    let no_scenario =
        "title = \"t\"\nscenario = \"zz.toml\"\n[[measures]]\nname = \"m\"\nresult = \"r\"\n";
    let study = study_in(&place, no_scenario);
    let (code, _, err) = run(&["check", text(&study)]);
    assert_eq!(code, Some(2));
    assert!(err.contains("study.toml:2:12: scenario: ") && err.contains("cannot read"), "{err}");
}

#[test]
fn a_check_of_statements_looks_into_their_study() {
    let place = directory("statements-check");
    study_in(&place, STUDY);
    let file = place.join("expected.toml");
    let good = "paper = \"p\"\n[[statements]]\nid = \"p-1\"\nfigure = \"1\"\nstudy = \"study.toml\"\n\
         statement = \"two paths carry more\"\nwhere = { rate = { at = [\"1 Mbit/s\"] } }\n\
         rule = { better = { of = { variant = \"both\", measure = \"goodput\" }, than = [{}] } }\n";
    let rises = ("rule = { better", "rule = { rises = { of = {}, along = \"rat\" } }\n# ");
    for (right, wrong, expected) in [
        ("", "", "1 statement"),
        ("both", "nope", "expected.toml:8:8: statements.0.rule: there is no variant `nope`"),
        ("\"goodput\"", "\"good\"", "there is no measure `good`"),
        ("rate =", "rat =", "statements.0.where: there is no axis `rat`; did you mean `rate`?"),
        ("1 Mbit/s", "7 Mbit/s", "statements.0.where: the axis `rate` has no value `7 Mbit/s`"),
        ("[{}]", "[{ at = { rate = \"9 Mbit/s\" } }]", "the study has no point with rate"),
        (rises.0, rises.1, "there is no axis `rat`"),
        ("study.toml", "stud.toml", "expected.toml:5:9: statements.0.study: there is no file"),
    ] {
        fs::write(&file, good.replacen(right, wrong, 1)).expect("writable");
        let (code, out, err) = run(&["check", text(&file)]);
        assert_eq!(code, Some(if right.is_empty() { 0 } else { 2 }), "{err}");
        assert!(format!("{out}{err}").contains(expected), "{out}{err}");
    }
}

#[test]
fn files_are_checked_by_what_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (file, expected) in [
        ("scenarios/demo.toml", "scenario with 2 paths and 1 flow"),
        ("studies/asymmetry.toml", "study of 6 points and 3 variants; with --quick of 2 points"),
        ("studies/asymmetry-expected.toml", "4 statements"),
    ] {
        let (code, out, err) = run(&["check", text(&root.join(file))]);
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains(expected), "{out}");
    }
}

/// What the page about studies shows as files are files that work, beside those of the repository.
#[test]
fn the_documented_study_and_statements_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let place = directory("study-documented");
    for name in ["asymmetry.toml", "asymmetry-scenario.toml"] {
        fs::copy(root.join("studies").join(name), place.join(name)).expect("a copy");
    }
    let page = fs::read_to_string(root.join("docs/studies.md")).expect("the page");
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let expected = [
        "study of 3 points and 2 variants; with --quick of 2 points",
        "2 statements",
        "4 statements",
    ];
    assert_eq!(blocks.clone().count(), expected.len());
    for (number, (block, expected)) in blocks.zip(expected).enumerate() {
        let file = place.join(format!("{number}.toml"));
        fs::write(&file, block).expect("writable");
        let (code, out, err) = run(&["check", text(&file)]);
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains(expected), "{out}");
    }
}

#[test]
fn schemas_are_json() {
    for kind in ["scenario", "study", "statements"] {
        let (code, out, err) = run(&["schema", kind]);
        assert_eq!(code, Some(0), "{err}");
        let schema: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        assert!(schema["properties"].is_object(), "{kind}");
    }
}

/// Long runs are interrupted; what is done by then is kept, and the rest is made afterwards.
#[cfg(unix)]
#[test]
fn an_interrupted_study_goes_on() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use std::process::{Command, Stdio};
    let place = directory("study-interrupted");
    let longer = STUDY.replace("runs = 2", "runs = 50");
    let study = study_in(&place, &longer);
    let out = place.join("out");
    let mut child = Command::new(env!("CARGO_BIN_EXE_polypath"))
        .args(["study", "run", text(&study), "--out", text(&out)])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("a program that runs");
    // As soon as one run is done, there is something to keep.
    let done = || {
        let part = fs::read_dir(out.join("journal")).ok().and_then(|mut parts| parts.next());
        let text = part.and_then(|part| fs::read_to_string(part.ok()?.path()).ok());
        text.map_or(0, |text| text.lines().filter(|line| line.starts_with("{\"run\":")).count())
    };
    while done() == 0 && child.try_wait().expect("a child").is_none() {
        // Only how often it looks; what happens does not depend on it.
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("a child");
    let status = child.wait().expect("a child");
    assert_eq!(status.code(), Some(130));
    assert!(!out.join("runs.parquet").exists());
    let kept = done();
    let (code, summary, err) = run(&["study", "run", text(&study), "--out", text(&out), "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!((&summary["known"], &summary["rows"]), (&kept.into(), &200.into()));
}
