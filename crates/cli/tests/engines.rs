//! `polypath study run --unit`, `status`, `merge` and `submit`: many processes in one directory.

mod common;
#[path = "common/small_study.rs"]
mod small_study;

use std::fs;
use std::path::{Path, PathBuf};

use common::{directory, texts};
use small_study::{STUDY, run, study_in};

const RUNS: usize = 16;

/// The same runs twice as long, twice as many, and with losses.
fn lossy_study() -> String {
    let path = r#"bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }"#;
    let lossy =
        r#"bottleneck = { rate = "1 Mbit/s", delay = "10 ms", loss = { forward = "1 %" } }"#;
    let study = STUDY.replace("runs = 2", "runs = 4").replace("\"1 s\"", "\"2 s\"");
    study.replacen(path, lossy, 1)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn unit(study: &Path, out: &Path, unit: &str) -> (Option<i32>, String, String) {
    run(&["study", "run", text(study), "--out", text(out), "--unit", unit])
}

fn status(out: &Path) -> serde_json::Value {
    let (code, json, err) = run(&["study", "status", text(out), "--json"]);
    assert_eq!(code, Some(0), "{err}");
    serde_json::from_str(&json).expect("JSON")
}

fn parts(out: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(out.join("journal")).into_iter().flatten();
    let mut parts: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    parts.sort();
    parts
}

/// Results of the study that one process made alone.
fn alone(place: &Path, study: &Path) -> PathBuf {
    let out = place.join("alone");
    let (code, _, err) = run(&["study", "run", text(study), "--out", text(&out)]);
    assert_eq!(code, Some(0), "{err}");
    out
}

fn assert_same(one: &Path, other: &Path) {
    for table in ["runs.parquet", "series.parquet"] {
        assert!(
            fs::read(one.join(table)).expect("a table")
                == fs::read(other.join(table)).expect("a table")
        );
    }
}

#[test]
fn units_in_one_directory_are_a_study() {
    let place = directory("engines-units");
    let study = study_in(&place, &lossy_study());
    let out = place.join("out");
    for number in ["1/3", "2/3"] {
        let (code, table, err) = unit(&study, &out, number);
        assert_eq!((code, table.as_str()), (Some(0), ""), "{err}");
        assert!(err.contains(&format!("unit {number} is done")), "{err}");
    }
    let (code, _, err) = run(&["study", "merge", text(&out)]);
    assert!(code == Some(1) && err.contains("5 runs are missing"), "{err}");
    let found = status(&out);
    assert_eq!((&found["runs"], &found["done"]), (&RUNS.into(), &11.into()));
    assert_eq!((&found["processes"], &found["has_tables"]), (&0.into(), &false.into()));
    assert_eq!(unit(&study, &out, "3/3").0, Some(0));
    // Another division finds everything done.
    let (code, _, err) = unit(&study, &out, "1/2");
    assert!(code == Some(0) && err.contains("8 runs, 0 of them new"), "{err}");
    assert_eq!(parts(&out).len(), 3, "no part without runs");
    let (code, table, err) = run(&["study", "merge", text(&out)]);
    assert_eq!(code, Some(0), "{err}");
    assert!(table.contains("16 runs, 0 of them new"), "{table}");
    assert_same(&out, &alone(&place, &study));
    let (_, words, _) = run(&["study", "status", text(&out)]);
    assert!(words.contains("done       16 of 16 runs (100.0 %)"), "{words}");
}

/// Two processes make the same unit at the same time, and others beside them.
#[test]
fn two_writers_of_a_unit_count_no_run_twice() {
    use std::process::{Command, Stdio};
    let place = directory("engines-twice");
    let study = study_in(&place, &lossy_study());
    let out = place.join("out");
    let children: Vec<_> = ["1/2", "1/2", "2/2", "2/2", "1/1"]
        .iter()
        .map(|unit| {
            Command::new(env!("CARGO_BIN_EXE_polypath"))
                .args(["study", "run", text(&study), "--out", text(&out), "--unit", unit])
                .stderr(Stdio::null())
                .spawn()
                .expect("a program that runs")
        })
        .collect();
    for mut child in children {
        assert!(child.wait().expect("a child").success());
    }
    let found = status(&out);
    assert_eq!((&found["done"], &found["statuses"]["ok"]), (&RUNS.into(), &RUNS.into()));
    assert_eq!(run(&["study", "merge", text(&out)]).0, Some(0));
    assert_same(&out, &alone(&place, &study));
}

/// Writers are killed again and again, and the last line of a part is cut off: what was finished is not lost.
#[cfg(unix)]
#[test]
fn killed_writers_lose_no_finished_run() {
    use std::process::{Command, Stdio};
    let place = directory("engines-killed");
    let study = study_in(&place, &lossy_study().replace("runs = 4", "runs = 100"));
    let out = place.join("out");
    let finished = || {
        let texts = parts(&out).into_iter().map(|part| fs::read_to_string(part).expect("text"));
        texts
            .map(|text| {
                text.split_inclusive('\n')
                    .filter(|l| l.starts_with("{\"run\":") && l.ends_with('\n'))
                    .count()
            })
            .sum::<usize>()
    };
    let mut before = 0;
    for round in 0..5 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_polypath"))
            .args(["study", "run", text(&study), "--out", text(&out), "--unit", "1/1"])
            .stderr(Stdio::null())
            .spawn()
            .expect("a program that runs");
        // Only how often it looks; what happens does not depend on it.
        while finished() < before + 5 && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        child.kill().expect("a child");
        child.wait().expect("a child");
        // As if it had been killed within a line.
        let last = parts(&out).pop().expect("a part");
        let bytes = fs::read(&last).expect("bytes");
        fs::write(&last, [&bytes[..], b"{\"run\":{\"run\":\"12"].concat()).expect("writable");
        let done = status(&out)["done"].as_u64().expect("a number") as usize;
        assert_eq!(done, finished(), "round {round}");
        assert!(done >= before);
        before = done;
    }
    let (code, _, err) = unit(&study, &out, "1/1");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(&format!("400 runs, {} of them new", 400 - before)), "{err}");
    assert_eq!(run(&["study", "merge", text(&out)]).0, Some(0));
    assert_same(&out, &alone(&place, &study));
}

/// A limit for the size of files stops a writer within a line, as a full disk does.
#[cfg(unix)]
#[test]
fn a_writer_without_room_says_so_and_what_it_wrote_stays() {
    use std::process::Command;
    let place = directory("engines-full");
    let study = study_in(&place, &lossy_study());
    let out = place.join("out");
    let script = "trap '' XFSZ; ulimit -f 40; exec \"$@\"";
    let output = Command::new("bash")
        .args(["-c", script, "bash", env!("CARGO_BIN_EXE_polypath"), "study", "run"])
        .args([text(&study), "--out", text(&out), "--unit", "1/1", "--jobs", "2"])
        .output()
        .expect("a shell");
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("cannot read or write"), "{err}");
    let done = status(&out)["done"].as_u64().expect("a number");
    assert!(0 < done && done < RUNS as u64, "{done}");
    let (code, _, err) = unit(&study, &out, "1/1");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains(&format!("{} of them new", RUNS as u64 - done)), "{err}");
    assert_eq!(run(&["study", "merge", text(&out)]).0, Some(0));
    assert_same(&out, &alone(&place, &study));
}

/// A run that would take hours is a row with its reason, and is made again only with more time.
#[test]
fn a_run_over_its_time_is_a_row_without_a_result() {
    let place = directory("engines-timeout");
    let long = lossy_study().replace("runs = 4", "runs = 1").replace(
        "values = [\"1 Mbit/s\", \"2 Mbit/s\"]",
        "values = [\"1 Mbit/s\", \"2 Mbit/s\"]\nwith = { \"run.duration\" = [\"1 s\", \"1000000 s\"] }",
    );
    let without_series = long.replace("[series]\ninterval = \"100 ms\"\n", "");
    let study = study_in(&place, &without_series);
    let out = place.join("out");
    let limited = ["study", "run", text(&study), "--out", text(&out), "--run-timeout", "1 s"];
    let (code, table, err) = run(&limited);
    assert!(code == Some(1) && err.contains("2 of 4 runs have no result"), "{table}{err}");
    assert!(err.contains("longer than 1 s, the limit for a run (--run-timeout)"), "{err}");
    let found = status(&out);
    assert_eq!((&found["statuses"]["timed-out"], &found["statuses"]["ok"]), (&2.into(), &2.into()));
    let (code, table, _) = run(&limited);
    assert!(code == Some(1) && table.contains("4 runs, 0 of them new"), "{table}");
}

/// A polite end: the writer leaves its runs, says so, and the same unit goes on.
#[cfg(unix)]
#[test]
fn a_unit_that_is_asked_to_end_leaves_its_runs_after_a_while() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use std::process::{Command, Stdio};
    let place = directory("engines-term");
    let long = lossy_study().replace("duration = \"2 s\"", "duration = \"1000000 s\"");
    let study = study_in(&place, &long.replace("[series]\ninterval = \"100 ms\"\n", ""));
    let out = place.join("out");
    let child = Command::new(env!("CARGO_BIN_EXE_polypath"))
        .args(["study", "run", text(&study), "--out", text(&out), "--unit", "1/1"])
        .args(["--grace", "0 s"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("a program that runs");
    // Once it has signed its part, it listens to signals.
    let is_signed = |part: &PathBuf| {
        fs::read_to_string(part)
            .is_ok_and(|text| text.contains("{\"program\":") && text.ends_with('\n'))
    };
    while !parts(&out).iter().any(is_signed) {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let at_work = status(&out);
    assert_eq!(at_work["processes"], 1);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).expect("a child");
    let output = child.wait_with_output().expect("a child");
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("finishing the runs in progress, for 0 s at most"), "{err}");
    assert!(parts(&out).is_empty(), "nothing was finished");
}

#[test]
fn a_submission_can_be_looked_at_first() {
    let place = directory("engines-submit");
    let study = study_in(&place, &lossy_study());
    let out = place.join("it's here");
    let base = ["study", "submit", text(&study), "--out", text(&out), "--time", "10", "--dry-run"];
    let with = |more: &[&str]| run(&[&base[..], more].concat());
    let (code, _, err) = with(&["--tasks", "4"]);
    assert!(code == Some(2) && err.contains("--slurm"), "{err}");
    let (code, _, err) = with(&["--slurm", "--tasks", "17"]);
    assert!(code == Some(2) && err.contains("--tasks 17: the study has 16 runs"), "{err}");
    let (code, _, err) = with(&["--slurm", "--tasks", "0"]);
    assert!(code == Some(2) && err.contains("it must be at least 1"), "{err}");
    let (code, plan, err) = with(&["--slurm", "--tasks", "4", "--quick", "--", "--partition=a b"]);
    assert_eq!(code, Some(0), "{err}");
    for expected in [
        "--array=1-4",
        "--unit \"$SLURM_ARRAY_TASK_ID/4\"",
        "--quick",
        "'--partition=a b'",
        "--dependency=afterany:\"$units\"",
        "study merge ",
        "it'\\''s here",
    ] {
        assert!(plan.contains(expected), "{expected}: {plan}");
    }
    assert!(!out.exists());
}

#[test]
fn runs_are_added_until_statements_are_decided() {
    let place = directory("engines-until-decided");
    let study = study_in(&place, &lossy_study());
    let (out, statements) = (place.join("out"), place.join("expected.toml"));
    let with = |study: &str| {
        format!(
            "paper = \"p\"\n[[statements]]\nid = \"p-1\"\nfigure = \"1\"\nstudy = \"{study}\"\n\
             statement = \"two paths carry more\"\n\
             rule = {{ better = {{ of = {{ variant = \"both\" }}, than = [{{}}] }} }}\n"
        )
    };
    let base = ["study", "run", text(&study), "--out", text(&out), "--until-decided"];
    fs::write(&statements, with("other.toml")).expect("writable");
    let (code, _, err) = run(&[&base[..], &[text(&statements)]].concat());
    assert!(code == Some(2) && err.contains("no statement is about"), "{err}");
    fs::write(&statements, with("study.toml")).expect("writable");
    let (code, _, err) = run(&[&base[..], &[text(&statements), "--unit", "1/2"]].concat());
    assert!(code == Some(2) && err.contains("cannot be used with"), "{err}");
    let (code, _, err) = run(&[&base[..], &[text(&statements), "--budget", "0"]].concat());
    assert!(code == Some(2) && err.contains("hours are a number above 0"), "{err}");
    let (code, table, err) = run(&[&base[..], &[text(&statements), "--budget", "1"]].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("statements: 1; all are decided"), "{err}{table}");
    let resolved = fs::read_to_string(out.join("study.toml")).expect("text");
    assert!(resolved.contains("sequential = true"), "{resolved}");
    let (code, verdicts, err) = run(&["study", "judge", text(&statements), text(&out), "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let verdicts: serde_json::Value = serde_json::from_str(&verdicts).expect("JSON");
    assert_eq!(verdicts[0]["verdict"], "holds");
    assert!(verdicts[0]["n"].as_u64() >= Some(8), "{verdicts}");
}
