//! `polypath study random`.

mod common;

use std::fs;
use std::path::Path;

use common::{directory, polypath, texts};
use serde_json::Value;

/// Runs `polypath study random`.
fn random(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = polypath(&[&["study", "random"], arguments].concat());
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Runs of a second; the shortest there are.
const SHORT: [&str; 2] = ["--set", "run.duration=1 s"];

#[test]
fn a_sample_is_run_summed_up_and_drawn() {
    let place = directory("random-sample");
    let out = place.join("out");
    let sample = ["range", "file", "--size", "10 kB", "--networks", "2", "--out", text(&out)];
    let (code, table, err) = random(&[&sample[..], &SHORT].concat());
    assert_eq!(code, Some(0), "{err}");
    // Two paths each in `range`; at least two in `file`.
    assert!(table.contains("runs, "), "{table}");
    for line in ["range ", "range, of the sum", "file of 10 kB"] {
        assert!(table.lines().any(|it| it.trim_start().starts_with(line)), "{line}: {table}");
    }
    let svg = fs::read_to_string(out.join("figures/ratios.svg")).expect("a picture");
    assert!(svg.starts_with("<svg") && svg.contains("file of 10 kB"));
    let sample_file = fs::read_to_string(out.join("sample.toml")).expect("a description");
    assert!(sample_file.contains("run.duration=1 s"), "{sample_file}");
    let csv = place.join("csv");
    let output = polypath(&["study", "export", text(&out), "--csv", text(&csv)]);
    assert_eq!(output.status.code(), Some(0), "{}", texts(&output).1);
    let networks = fs::read_to_string(csv.join("networks.csv")).expect("a table");
    assert_eq!(networks.lines().count(), 1 + 2 + 2, "{networks}");
    assert!(networks.starts_with("traffic,network,measure,unit,ratio,"), "{networks}");
    let runs = fs::read_to_string(csv.join("runs.csv")).expect("a table");
    assert!(runs.lines().nth(1).is_some_and(|row| row.contains(",range,1,all,")), "{runs}");
}

#[test]
fn a_larger_sample_makes_only_what_is_new() {
    let out = directory("random-more").join("out");
    let of = |networks: &str| {
        let sample = ["range", "--networks", networks, "--out", text(&out), "--json"];
        let (code, json, err) = random(&[&sample[..], &SHORT].concat());
        assert_eq!(code, Some(0), "{err}");
        serde_json::from_str::<Value>(&json).expect("JSON")
    };
    let (one, two, again) = (of("1"), of("2"), of("2"));
    assert_eq!((&one["runs"], &one["new"]), (&3.into(), &3.into()));
    assert_eq!((&two["runs"], &two["new"]), (&6.into(), &3.into()));
    assert_eq!(again["new"], 0);
    assert_eq!(two["summary"], again["summary"]);
    assert_eq!(two["summary"][0]["traffic"], "range");
    assert_eq!(two["summary"][0]["networks"], 2);
}

#[test]
fn a_network_is_looked_at_alone() {
    let place = directory("random-network");
    let arguments = ["range", "--seed", "3", "--network", "2"];
    let (code, file, err) = random(&[&arguments[..], &SHORT, &["--write-scenario"]].concat());
    assert_eq!(code, Some(0), "{err}");
    let scenario = place.join("range-2.toml");
    fs::write(&scenario, &file).expect("writable");
    let commands: Vec<&str> = file.lines().filter(|it| it.starts_with("# polypath sim ")).collect();
    assert_eq!(commands.len(), 3, "{file}");
    let out = place.join("out");
    let (code, table, err) = random(&[&arguments[..], &SHORT, &["--out", text(&out)]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(table.contains("network 2 of range") && table.contains("p2 alone"), "{table}");
    assert!(!out.join("runs.parquet").exists());
    // The file gives what the sample gives.
    let all = polypath(&["sim", text(&scenario), "--json", "--set", "run.duration=1 s"]);
    let all: Value = serde_json::from_str(&texts(&all).0).expect("JSON");
    let goodput = all["goodput_bit_s"].as_f64().expect("a number") / 1e6;
    let shown = if goodput >= 100.0 { format!("{goodput:.0}") } else { format!("{goodput:.2}") };
    assert!(table.contains(&format!("{shown} Mbit/s")), "{goodput} in {table}");
}

#[test]
fn mistakes_are_named() {
    let place = directory("random-mistakes");
    let file = place.join("file");
    fs::write(&file, "").expect("writable");
    let study = place.join("study");
    fs::create_dir(&study).expect("a folder");
    fs::write(study.join("study.toml"), "").expect("writable");
    let cases: [(&[&str], i32, &str); 11] = [
        (&["bulks"], 2, "a similar value exists: 'bulk'"),
        (&[], 2, "<KIND>"),
        (&["bulk", "--networks", "0"], 2, "--networks"),
        (&["bulk", "--network", "0"], 2, "--network"),
        (&["bulk", "--network", "1", "--networks", "2"], 2, "cannot be used with"),
        (&["bulk", "--write-scenario"], 2, "--network"),
        (&["bulk", "voice", "--network", "1", "--write-scenario"], 2, "name one kind"),
        (&["bulk", "--size", "1 MB"], 2, "--size is for the kind `file`"),
        (&["file", "--size", "2 GB"], 2, "1 B to 1 GB"),
        (&["bulk", "--set", "sctp.presett=cmt", "--out", "nowhere"], 2, "did you mean"),
        (&["bulk", "--networks", "1", "--out", text(&study)], 2, "results of a study"),
    ];
    for (arguments, expected, message) in cases {
        let (code, _, err) = random(arguments);
        assert_eq!(code, Some(expected), "{arguments:?}: {err}");
        assert!(err.contains(message), "{arguments:?}: {err}");
    }
    let (code, _, err) = random(&["bulk", "--networks", "1", "--out", text(&file)]);
    assert_eq!(code, Some(2));
    assert!(err.contains("is a file; name another directory"), "{err}");
}
