//! `--qlog` of the program.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use crate::trace::Trace;

fn polypath() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.stdin(Stdio::null());
    command
}

fn scenario() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/two-paths-loss.toml");
    file.display().to_string()
}

fn simulate(traces: &Path) -> Output {
    polypath()
        .args(["sim", &scenario(), "--set", "traffic.file.source.file=256 KiB", "--qlog"])
        .arg(traces)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A program that listens, and its UDP port; killed when the test ends.
struct Listener(Child, String);

impl Listener {
    fn start(arguments: &[&str], traces: &Path) -> Self {
        let mut command = polypath();
        command.args(arguments).args(["--encap-port", "0", "--qlog"]).arg(traces);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening on "), "{line}");
        let port = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self(child, port)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The trace of a folder whose name begins so.
fn only(traces: &Path, beginning: &str) -> Trace {
    let files = fs::read_dir(traces).unwrap().map(|entry| entry.unwrap().path());
    let named = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_string_lossy();
        name.starts_with(beginning) && name.ends_with("-1.sqlog")
    };
    let files: Vec<_> = files.filter(named).collect();
    assert_eq!(files.len(), 1, "{beginning}");
    Trace::read(&files[0])
}

fn kind(trace: &Trace) -> &str {
    trace.header["trace"]["vantage_point"]["type"].as_str().unwrap()
}

#[test]
fn a_simulation_has_a_trace_per_host() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    let output = simulate(&traces);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let [a, b] = ["a", "b"].map(|host| {
        let trace = Trace::read(&traces.join(format!("two-paths-loss-{host}.sqlog")));
        assert_eq!(trace.header["trace"]["vantage_point"]["name"], host);
        trace
    });
    assert_eq!((kind(&a), kind(&b)), ("client", "server"));
    assert_eq!(a.first_sent(), b.count("sctp:chunk_received"));
    assert!(a.count("sctp:chunk_sent") > a.first_sent(), "it loses packets");
}

#[test]
fn simulations_repeat_their_traces() {
    let folder = tempfile::tempdir().unwrap();
    let content = |run: &str| {
        let traces = folder.path().join(run);
        assert!(simulate(&traces).status.success());
        fs::read(traces.join("two-paths-loss-a.sqlog")).unwrap()
    };
    assert!(content("one") == content("two"), "the same bytes");
}

#[test]
fn both_ends_of_a_transfer_have_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, file) = (folder.path().join("traces"), folder.path().join("film"));
    fs::write(&file, vec![7; 300_000]).unwrap();
    let out = folder.path().join("inbox").display().to_string();
    let receive = ["receive", "--listen", "127.0.7.83", "--out", &out, "--once"];
    let mut receiver = Listener::start(&receive, &traces);
    let send = ["--to", "127.0.7.83", "--from", "127.0.7.84", "--encap-port", &receiver.1];
    let sent =
        polypath().arg("send").arg(&file).args(send).arg("--qlog").arg(&traces).output().unwrap();
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    assert!(receiver.0.wait().unwrap().success());
    let [sender, receiver] = ["send", "receive"].map(|command| {
        let trace = only(&traces, command);
        assert_eq!(trace.header["title"], format!("polypath {command}"));
        trace
    });
    assert_eq!((kind(&sender), kind(&receiver)), ("client", "server"));
    assert!(sender.first_sent() > 200);
    assert_eq!(sender.first_sent(), receiver.count("sctp:chunk_received"));
    let common = &sender.header["trace"]["common_fields"];
    assert_eq!(common["remote_addresses"][0], "127.0.7.83");
    assert!(common["reference_time"]["wall_clock_time"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn both_ends_of_a_measurement_have_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    let mut server =
        Listener::start(&["meter", "server", "-B", "127.0.7.85", "--one-off"], &traces);
    let client = ["meter", "client", "127.0.7.85", "-B", "127.0.7.86", "-n", "100K"];
    let measured = polypath()
        .args(client)
        .args(["--encap-port", &server.1, "--qlog"])
        .arg(&traces)
        .output()
        .unwrap();
    assert!(measured.status.success(), "{}", text(&measured.stderr));
    assert!(server.0.wait().unwrap().success());
    let (client, server) = (only(&traces, "meter-client"), only(&traces, "meter-server"));
    assert_eq!((kind(&client), kind(&server)), ("client", "server"));
    assert_eq!(client.first_sent(), server.count("sctp:chunk_received"));
}

#[test]
fn a_place_that_takes_no_traces_is_wrong_usage() {
    let folder: TempDir = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let (name, out) = (file.display().to_string(), folder.path().display().to_string());
    let scenario = scenario();
    for command in [
        &["sim", &scenario][..],
        &["send", &name, "--to", "127.0.7.87"],
        &["receive", "--listen", "127.0.7.87", "--out", &out],
        &["meter", "client", "127.0.7.87"],
        &["meter", "server", "-B", "127.0.7.87"],
    ] {
        let output = polypath().args(command).args(["--qlog", &name]).output().unwrap();
        let told = format!("error: {name} is a file; name a folder for the traces\n");
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(2), told), "{command:?}");
        assert!(output.stdout.is_empty(), "nothing has started");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_once_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.path().join("two-paths-loss-a.sqlog")).unwrap();
    let output = simulate(folder.path());
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(out.contains("path 1"), "the result is there: {out}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("two-paths-loss-a.sqlog") && err.ends_with("make room there\n"), "{err}");
    Trace::read(&folder.path().join("two-paths-loss-b.sqlog"));
}
