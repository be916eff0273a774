//! `polypath demo` from outside.

mod common;

use std::fs;

use common::{directory, polypath, texts};

#[test]
fn the_demo_prints_a_table_and_draws_a_picture() {
    let picture = directory("demo").join("picture.svg");
    let out = picture.display().to_string();
    let short = ["--set", "run.duration=3 s", "--set", "run.measure_from=1 s"];
    let arguments: Vec<&str> = ["demo", "--out", &out].into_iter().chain(short).collect();
    let output = polypath(&arguments);
    let (text, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    let goodput = |name: &str| -> f64 {
        let row = text
            .lines()
            .find(|line| line.trim_start().starts_with(name) && line.contains("Mbit/s"));
        let row = row.unwrap_or_else(|| panic!("no row {name} in\n{text}"));
        let number = row.trim_start().trim_start_matches(name).split_whitespace().next();
        number.and_then(|number| number.parse().ok()).expect("a number")
    };
    let [one, naive, cmt] = ["one path", "naive multipath", "CMT"].map(goodput);
    assert!(cmt > 1.2 * one, "CMT {cmt}, one path {one}");
    assert!(cmt > 1.2 * naive, "CMT {cmt}, naive {naive}");

    let svg = fs::read_to_string(&picture).expect("a picture");
    assert!(svg.trim_start().starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for words in
        ["one path", "naive multipath", "CMT", "WiFi (50 Mbit/s, 10 ms)", "goodput (Mbit/s)"]
    {
        assert!(svg.contains(words), "{words} is not in the picture");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_found_before_anything_runs() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    for (out, what) in [
        ("/no/such/directory/demo.svg", "there is no folder /no/such/directory; make it first"),
        (folder, "it is a folder; name a file"),
    ] {
        let output = polypath(&["demo", "--out", out]);
        let (table, err) = texts(&output);
        assert_eq!((output.status.code(), table.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains(&format!("cannot write {out}: ")) && err.contains(what), "{err}");
    }
}

#[test]
fn completion_scripts_ask_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        let output = polypath(&["completions", shell]);
        assert!(output.status.success());
        let (script, _) = texts(&output);
        assert!(script.contains("polypath") && script.contains("POLYPATH_COMPLETE"), "{shell}");
    }
    let output = polypath(&["completions", "nonsense"]);
    assert_eq!(output.status.code(), Some(2));
}
