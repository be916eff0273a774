//! `polypath reproduce` from outside.

mod common;
#[path = "common/paper.rs"]
mod paper;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{directory, polypath, texts};
use paper::papers_in;
use serde_json::Value;

/// Runs `polypath reproduce` with the small paper.
fn reproduce(
    target: &str,
    papers: &Path,
    out: &Path,
    more: &[&str],
) -> (Option<i32>, String, String) {
    let [papers, out] = [papers, out].map(|path| path.to_str().expect("a path in UTF-8"));
    let arguments = ["reproduce", target, "--papers", papers, "--out", out];
    let output = polypath(&[&arguments, more].concat());
    let (text, err) = texts(&output);
    (output.status.code(), text, err)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn all_is_run_judged_and_reported_and_never_twice() {
    let place = directory("reproduce-all");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let (code, text, err) = reproduce("all", &papers, &out, &["--full", "--json", "--jobs", "2"]);
    assert_eq!(code, Some(0), "{err}");
    let report = json(&text);
    assert_eq!(report["extent"], "full");
    let paper = &report["papers"][0];
    let rows = paper["statements"].as_array().expect("statements");
    let verdicts: Vec<&str> = rows.iter().filter_map(|row| row["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["holds", "differs", "holds", "not run"]);
    for key in [
        "id",
        "paper",
        "figure",
        "statement",
        "rule",
        "n",
        "verdict",
        "measured",
        "interval",
        "expected",
    ] {
        assert!(rows.iter().all(|row| row.get(key).is_some()), "{key}");
    }
    assert_eq!(
        (&rows[1]["cause"], &rows[3]["cause"]),
        (&"made up".into(), &"it is far away".into())
    );
    assert_eq!(rows[0]["n"], 4);
    let agreement = |number: usize| paper["references"][number]["agreement"].as_str();
    assert_eq!([0, 1, 2].map(agreement), [Some("agrees"), Some("differs"), Some("unknown")]);
    for file in ["index.html", "report.json", "tiny/report.html", "tiny/report.json"] {
        assert!(out.join(file).exists(), "{file}");
    }
    for file in [
        "runs.parquet",
        "runs.csv",
        "study.toml",
        "figures/1.svg",
        "figures/1.pdf",
        "figures/1.png",
        "figures/1.csv",
    ] {
        assert!(out.join("tiny/fig1").join(file).exists(), "{file}");
    }
    let page = fs::read_to_string(out.join("tiny/report.html")).expect("a page");
    for words in ["tiny: a paper", "<svg", "It says that", "made up", "a tool"] {
        assert!(page.contains(words), "{words}");
    }
    let (code, again, _) = reproduce("all", &papers, &out, &["--full", "--json"]);
    let new = |number: usize| json(&again)["papers"][0]["studies"][number]["new"].clone();
    assert_eq!((code, new(0), new(1)), (Some(0), 0.into(), 0.into()));
}

#[test]
fn one_statement_runs_only_what_it_needs() {
    let place = directory("reproduce-statement");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let expected = papers.join("tiny/expected.toml");
    let text = fs::read_to_string(&expected).expect("statements");
    let slow = "where = { rate = { at = [\"1 Mbit/s\"] } }\ncause = \"made up\"";
    fs::write(&expected, text.replace("cause = \"made up\"", slow)).expect("writable");
    let new_and_all = |target: &str| {
        let (code, text, err) = reproduce(target, &papers, &out, &["--full", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        let paper = &json(&text)["papers"][0];
        assert_eq!(paper["statements"].as_array().map(Vec::len), Some(1), "{target}");
        let study = &paper["studies"][0];
        [&study["new"], &study["rows"]].map(|number| number.as_u64().unwrap_or_default())
    };
    // One of two points with both variants; and both points with one of them.
    assert_eq!(new_and_all("tiny/tiny-2"), [8, 8]);
    assert_eq!(new_and_all("tiny/tiny-3"), [8, 8]);
    let (_, text, _) = reproduce("tiny/1", &papers, &out, &["--full", "--json"]);
    assert_eq!(json(&text)["papers"][0]["studies"][0]["new"], 8, "the same runs are in the whole");
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_display_it_is_said_which_page_to_open() {
    let place = directory("reproduce-open");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_polypath"))
        .args(["reproduce", "tiny/1", "--open", "--papers"])
        .arg(papers)
        .arg("--out")
        .arg(&out)
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .expect("the program starts");
    let (_, err) = texts(&output);
    let page = out.join("tiny/report-1.html");
    assert!(err.contains(&format!("open {} in one", page.display())), "{err}");
}

#[test]
fn a_figure_has_its_own_report() {
    let place = directory("reproduce-figure");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let (code, text, err) = reproduce("tiny/1", &papers, &out, &[]);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("the quick form") && err.contains("report-1.html"), "{err}");
    assert!(text.contains("tiny-1") && !text.contains("tiny-3"), "{text}");
    assert!(out.join("tiny/report-1.html").exists() && !out.join("tiny/fig2").exists());
    let (code, text, _) = reproduce("tiny/3", &papers, &out, &[]);
    assert_eq!(code, Some(0));
    assert!(text.contains("not run") && text.contains("it is far away"), "{text}");
    let (code, _, err) = reproduce("tiny/9", &papers, &out, &[]);
    assert_eq!(code, Some(2));
    assert!(err.contains("there is no figure of tiny `9`"), "{err}");
}

#[test]
fn parts_are_joined() {
    let place = directory("reproduce-parts");
    let papers = papers_in(&place);
    let [one, two, all] = ["one", "two", "all"].map(|name| place.join(name));
    for (shard, out) in [("1/2", &one), ("2/2", &two)] {
        let (code, _, err) = reproduce("tiny", &papers, out, &["--shard", shard]);
        assert_eq!(code, Some(0), "{err}");
        assert!(!out.join("tiny/report.html").exists());
    }
    let [one, two] = [&one, &two].map(|path| path.to_str().expect("UTF-8"));
    let merge = ["--merge", one, "--merge", two, "--json"];
    let (code, text, err) = reproduce("tiny", &papers, &all, &merge);
    assert_eq!(code, Some(0), "{err}");
    let report = json(&text);
    let study = &report["papers"][0]["studies"][0];
    assert_eq!((&study["new"], &study["rows"]), (&0.into(), &8.into()));
}

#[test]
fn costs_come_first() {
    let place = directory("reproduce-costs");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let (code, text, err) = reproduce("all", &papers, &out, &["--full", "--dry-run", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let sum = &json(&text)[0]["sum"];
    assert_eq!((&sum["runs"], &sum["simulated_s"]), (&32.into(), &64.0.into()));
    let more = ["--full", "--runs", "40", "--dry-run", "--json"];
    let (_, twice, _) = reproduce("all", &papers, &out, &more);
    assert_eq!(json(&twice)[0]["sum"]["runs"], 320);
    assert!(sum["packets"].as_f64().is_some_and(|packets| packets > 1000.0));
    assert!(!out.join("tiny").exists(), "nothing was run");
}

#[test]
fn what_cannot_be_run_is_shown_and_fails() {
    let place = directory("reproduce-errors");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let study = papers.join("tiny/fig2.toml");
    let text = fs::read_to_string(&study).expect("a study");
    // A shorter time than where measuring begins: refused when its turn comes.
    let wrong = text
        .replace("values = [\"1 Mbit/s\", \"2 Mbit/s\"]", "values = [\"1 Mbit/s\", \"2 Mbit\"]");
    fs::write(&study, wrong).expect("writable");
    let (code, _, err) = reproduce("tiny", &papers, &out, &[]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("4 runs have no result") && err.contains("2 Mbit"), "{err}");
    let page = fs::read_to_string(out.join("tiny/report.html")).expect("a page");
    assert!(page.contains("4 of 8 runs of"), "the page shows it");
}

#[test]
fn a_study_that_makes_no_sense_does_not_stop_the_others() {
    let place = directory("reproduce-broken");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let study = papers.join("tiny/fig1.toml");
    let text = fs::read_to_string(&study).expect("a study");
    fs::write(&study, text.replace("goodput_bit_s", "godput_bit_s")).expect("writable");
    let (code, text, err) = reproduce("tiny", &papers, &out, &["--full", "--json"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("fig1.toml: measure `goodput`: runs have no result"), "{err}");
    let report = json(&text);
    let verdict = |number: usize| report["papers"][0]["statements"][number]["verdict"].clone();
    assert_eq!([0, 1, 2].map(verdict), ["not run", "not run", "holds"]);
}

#[test]
fn surprises_fail_if_that_is_asked_for() {
    let place = directory("reproduce-strict");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let (code, _, err) = reproduce("tiny/1", &papers, &out, &["--full", "--strict"]);
    assert_eq!(code, Some(0), "the cause is known: {err}");
    let expected = papers.join("tiny/expected.toml");
    let text = fs::read_to_string(&expected).expect("statements");
    fs::write(&expected, text.replace("cause = \"made up\"\n", "")).expect("writable");
    let (code, _, err) = reproduce("tiny/1", &papers, &out, &["--full", "--strict"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("without a known cause differ: tiny-2"), "{err}");
}

#[test]
fn the_program_carries_the_papers_wherever_it_is() {
    let place = directory("reproduce-carried");
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    let output = command.args(["reproduce", "list", "--json"]).current_dir(&place).output();
    let (text, err) = texts(&output.expect("a program that runs"));
    let papers = json(&text);
    let keys: Vec<&str> = papers
        .as_array()
        .expect("papers")
        .iter()
        .filter_map(|paper| paper["paper"].as_str())
        .collect();
    assert_eq!(
        keys,
        ["dreibholz-asymmetric", "dreibholz-model", "iyengar", "natarajan", "sarwar"],
        "{err}"
    );
    assert_eq!(
        fs::read_dir(&place).expect("a directory").count(),
        0,
        "a list leaves nothing behind"
    );
    for (target, told) in [("iyengar/0", "there is no figure"), ("nobody", "there is no paper")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
        let output = command.args(["reproduce", target]).current_dir(&place).output();
        let output = output.expect("a program that runs");
        let (_, err) = texts(&output);
        assert!(output.status.code() == Some(2) && err.contains(told), "{err}");
        assert_eq!(fs::read_dir(&place).expect("a directory").count(), 0, "{target}");
    }
    for statement in papers.as_array().into_iter().flatten().flat_map(statements_of) {
        for key in ["id", "figure", "statement", "rule", "study", "ours", "recorded"] {
            assert!(statement.get(key).is_some(), "{key}: {statement}");
        }
    }
}

/// The statements of all figures of a paper that is listed.
fn statements_of(paper: &Value) -> Vec<Value> {
    let figures = paper["figures"].as_array().expect("figures");
    let statements = figures.iter().filter_map(|figure| figure["statements"].as_array());
    let all: Vec<Value> = statements.flatten().cloned().collect();
    assert!(!all.is_empty(), "{}", paper["paper"]);
    all
}

/// A study with a test bed is left out where nobody asks for it, which is no failure.
#[test]
fn what_takes_real_time_is_left_out_unless_somebody_asks_for_it() {
    let place = directory("reproduce-real");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let study = papers.join("tiny/fig2.toml");
    let text = fs::read_to_string(&study).expect("a study");
    fs::write(&study, format!("{text}\n[set]\n\"test_bed.carrier\" = \"udp\"\n"))
        .expect("writable");
    let (code, text, err) = reproduce("tiny", &papers, &out, &["--json"]);
    assert_eq!(code, Some(0), "{err}");
    let report = json(&text);
    let paper = &report["papers"][0];
    let row = &paper["statements"][2];
    assert_eq!((&row["id"], &row["verdict"]), (&"tiny-3".into(), &"not run".into()));
    assert!(row["cause"].as_str().is_some_and(|cause| cause.contains("--real")), "{row}");
    assert_eq!(paper["left_out"][0]["study"], "fig2.toml");
    assert_eq!(paper["failures"].as_array().map(Vec::len), Some(0));
    // It has a delay, which a test bed does not have: said by whoever has root, and others hear of root.
    let (code, _, err) = reproduce("tiny/2", &papers, &out, &[]);
    assert!(matches!(code, Some(1 | 5)), "{err}");
    let words = ["without delay", "root", "iproute2", "sch_tbf", "namespaces"];
    assert!(words.iter().any(|word| err.contains(word)), "{err}");
    let (_, text, err) = reproduce("tiny/2", &papers, &out, &["--dry-run", "--json"]);
    assert!(json(&text)[0]["studies"].is_array(), "{err}");
    // A dry run of the study itself knows that threads make nothing shorter.
    let study = study.to_str().expect("a path in UTF-8");
    let (text, err) = texts(&polypath(&["study", "run", study, "--dry-run", "--json"]));
    let cost = json(&text);
    assert!(cost["core_s"].as_f64().is_some_and(|time| time > 1.0), "{err}");
    assert_eq!((&cost["real_s"], &cost["most_real_s"]), (&cost["core_s"], &cost["most_core_s"]));
}

#[test]
fn a_folder_of_papers_that_is_missing_is_told_in_words() {
    let place = directory("reproduce-missing");
    let (code, _, err) = reproduce("all", &place.join("nowhere"), &place.join("out"), &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("there is no such folder") && err.contains("expected.toml"), "{err}");
}

#[test]
fn verdicts_are_written_down_beside_the_statements() {
    let place = directory("reproduce-record");
    let (papers, out) = (papers_in(&place), place.join("out"));
    let file = papers.join("tiny/verdicts.csv");
    let lines = || fs::read_to_string(&file).expect("verdicts").lines().count();
    let (code, _, err) = reproduce("tiny/1", &papers, &out, &["--record"]);
    assert_eq!((code, lines()), (Some(0), 3), "{err}");
    let (code, _, err) = reproduce("all", &papers, &out, &["--full", "--record"]);
    assert_eq!((code, lines()), (Some(0), 5), "{err}");
    let full = fs::read_to_string(&file).expect("verdicts");
    assert!(
        full.contains("tiny-2,differs,4,") && full.contains("tiny-4,not run,0,,,,,full,"),
        "{full}"
    );
    // The quick form has fewer runs: it changes nothing.
    let (code, _, err) = reproduce("tiny", &papers, &out, &["--record"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(fs::read_to_string(&file).expect("verdicts"), full);
    let (_, table, _) = reproduce("list", &papers, &out, &["--markdown"]);
    assert!(table.contains("| `tiny` | 4 | 4 | 0 | 2 | 1 | 0 | 1 |"), "{table}");
    // A conclusion follows from what is recorded, also from earlier commands.
    let expected = papers.join("tiny/expected.toml");
    let text = fs::read_to_string(&expected).expect("statements");
    let conclusion = "[[conclusions]]\nid = \"tiny-c\"\nfigure = \"conclusions\"\nstatement = \"So be it.\"\n\
                      from = [\"tiny-1\", \"tiny-3\"]\n";
    fs::write(&expected, text + conclusion).expect("writable");
    let (code, _, err) = reproduce("tiny/2", &papers, &out, &["--full", "--record"]);
    assert_eq!(code, Some(0), "{err}");
    let recorded = fs::read_to_string(&file).expect("verdicts");
    assert!(recorded.contains("tiny-c,holds,4,2.000000,,,all 2 statements"), "{recorded}");
}

/// The table in docs/papers.md is what the recorded verdicts say.
#[test]
fn the_table_of_the_documentation_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let place = directory("reproduce-docs");
    let (code, table, err) = reproduce("list", &root.join("papers"), &place, &["--markdown"]);
    assert_eq!(code, Some(0), "{err}");
    let file = root.join("docs/papers.md");
    let page = fs::read_to_string(&file).expect("docs/papers.md");
    let (start, end) = ("--markdown` -->\n", "<!-- end -->");
    let (before, rest) = page.split_once(start).expect("where the table begins");
    let (_, after) = rest.split_once(end).expect("where it ends");
    let expected = format!("{before}{start}{table}{end}{after}");
    if std::env::var_os("POLYPATH_UPDATE_DOCS").is_some() {
        fs::write(&file, &expected).expect("a page that can be written");
    } else {
        assert!(
            page == expected,
            "docs/papers.md is not what `polypath reproduce list --markdown` prints"
        );
    }
}

#[test]
fn a_directory_to_merge_that_is_not_there_is_wrong_usage() {
    let place = directory("reproduce-merge-nowhere");
    let (papers, out) = (papers_in(&place), place.join("out"));
    for more in [&["--merge", "nodir"][..], &["--merge", "nodir", "--dry-run"]] {
        let (code, text, err) = reproduce("all", &papers, &out, more);
        assert_eq!((code, text.as_str()), (Some(2), ""), "{err}");
        assert!(err.contains("--merge nodir: there is no such directory"), "{err}");
    }
    assert!(!out.exists(), "nothing was run");
}
