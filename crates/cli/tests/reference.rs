//! Manual pages, the page about commands, and completion.

#[allow(dead_code)] // some helpers belong to other tests
mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{directory, polypath, texts};

#[test]
fn the_page_about_commands_is_up_to_date() {
    let output = polypath(&["man", "--markdown"]);
    let (page, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    // Some commands are only on Linux, and so is their place in the page.
    if cfg!(not(target_os = "linux")) {
        return;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if std::env::var_os("POLYPATH_UPDATE_DOCS").is_some() {
        fs::write(&file, &page).expect("a page that can be written");
    }
    let stored = fs::read_to_string(&file).expect("docs/cli.md");
    assert!(
        stored == page,
        "docs/cli.md is not what `polypath man --markdown` prints: run this test with POLYPATH_UPDATE_DOCS=1"
    );
}

/// Kinds of files and of what the program prints, and the pages with their keys.
const PAGES: [(&str, &str); 5] = [
    ("scenario", "scenarios.md"),
    ("study", "study-keys.md"),
    ("statements", "statement-keys.md"),
    ("comparisons", "comparison-keys.md"),
    ("measurement", "measurement-keys.md"),
];

/// The mark behind the tables of a page.
const END: &str = "<!-- end of what is made -->\n";

#[test]
fn the_pages_about_keys_are_up_to_date() {
    for (kind, name) in PAGES {
        let output = polypath(&["schema", kind, "--markdown"]);
        let (tables, err) = texts(&output);
        assert!(output.status.success(), "{err}");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        let page = fs::read_to_string(&file).expect("a page");
        let begin = format!(
            "<!-- made by `polypath schema {kind} --markdown`; a test compares the two -->\n\n"
        );
        let (before, rest) = page.split_once(&begin).expect("a mark before the tables");
        let (stored, after) = rest.split_once(END).expect("a mark after the tables");
        if std::env::var_os("POLYPATH_UPDATE_DOCS").is_some() {
            let page = [before, &begin, &tables, END, after].concat();
            fs::write(&file, page).expect("a page that can be written");
            continue;
        }
        assert!(
            stored == tables,
            "docs/{name} lacks what `polypath schema {kind} --markdown` prints: run this test with POLYPATH_UPDATE_DOCS=1"
        );
    }
}

#[test]
fn every_key_of_a_scenario_has_one_anchor() {
    let (tables, _) = texts(&polypath(&["schema", "scenario", "--markdown"]));
    let anchors = tables.split("<a id=\"").skip(1).filter_map(|part| part.split('"').next());
    let mut anchors: Vec<&str> = anchors.collect();
    let count = anchors.len();
    anchors.sort_unstable();
    anchors.dedup();
    assert_eq!(anchors.len(), count);
    for key in ["run.duration", "sctp.send_buffer", "traffic.source.file", "faults.outage.from"] {
        assert!(
            anchors.binary_search(&format!("key.{key}").as_str()).is_ok(),
            "{key}: {anchors:?}"
        );
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let place = directory("man");
    let output = polypath(&["man", place.join("pages").to_str().expect("UTF-8")]);
    assert!(output.status.success(), "{}", texts(&output).1);
    for name in [
        "polypath",
        "polypath-sim",
        "polypath-study-run",
        "polypath-meter-client",
        "polypath-key-new",
    ] {
        let page = fs::read_to_string(place.join(format!("pages/{name}.1"))).expect("a page");
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}");
    }
    let page = fs::read_to_string(place.join("pages/polypath-sim.1")).expect("a page");
    assert!(page.contains("Examples:"), "{page}");
    // Options have their values, required arguments come last.
    let synopsis =
        page.split(".SH ").find(|part| part.starts_with("SYNOPSIS")).expect("a synopsis");
    let synopsis = synopsis.replace('\\', "");
    assert!(synopsis.contains("[--set KEY=VALUE]"), "{synopsis}");
    assert!(synopsis.trim_end().ends_with("SCENARIO.toml"), "{synopsis}");
    assert!(!place.join("pages/polypath-help.1").exists());
}

/// What fish would be offered for these words, the last of which is not complete.
fn offered(words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.env("POLYPATH_COMPLETE", "fish").args(["--", "polypath"]).args(words);
    let output = command.output().expect("a program that runs");
    assert!(output.status.success(), "{}", texts(&output).1);
    texts(&output).0
}

#[test]
fn shells_are_offered_keys_presets_and_commands() {
    assert!(offered(&["sim", "x.toml", "--set", "run.du"]).starts_with("run.duration="));
    assert!(offered(&["send", "--set", "policies.path_o"]).contains("policies.path_order="));
    assert!(offered(&["study", "run", "--set", "sctp.send_b"]).contains("sctp.send_buffer="));
    assert!(
        offered(&["send", "--set", "policies.congestion=o"]).contains("policies.congestion=olia")
    );
    assert!(offered(&["receive", "--preset", "rfc"]).contains("rfc9260"));
    assert!(offered(&["stu"]).starts_with("study"));
    assert!(offered(&[""]).contains("man\t"));
}

/// Errors of unknown keys refer to the page.
#[test]
fn the_page_about_networks_has_every_setting() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/networks.md"))
            .expect("the page");
    let table = page.split("\n## ").find(|part| part.starts_with("Settings\n")).expect("its part");
    for line in offered(&["send", "--set", ""]).lines() {
        let key = line.split(['=', '\t']).next().unwrap_or_default();
        if !key.starts_with("policies.") {
            assert!(table.contains(&format!("`{key}`")), "{key}");
        }
    }
}

#[test]
fn every_shell_has_a_script() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = polypath(&["completions", shell]);
        let (script, err) = texts(&output);
        assert!(output.status.success(), "{err}");
        assert!(script.contains("POLYPATH_COMPLETE"), "{shell}: {script}");
    }
}
