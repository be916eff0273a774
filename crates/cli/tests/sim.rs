//! `polypath sim` from outside.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitStatus};

use common::{directory, polypath, texts};
use serde_json::Value;

/// A file over two lossy paths, small enough for a debug build.
const SMALL: &[&str] = &["--set", "traffic.file.source.file=200 kB", "--seed", "3"];

fn scenario(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    path.with_extension("toml").display().to_string()
}

fn sim(more: &[&str]) -> (ExitStatus, String, String) {
    let scenario = scenario("two-paths-loss");
    let arguments: Vec<&str> =
        ["sim", &scenario].iter().chain(SMALL).chain(more).copied().collect();
    let output = polypath(&arguments);
    let (out, err) = texts(&output);
    (output.status, out, err)
}

#[test]
fn json_has_what_readers_rely_on() {
    let (status, out, err) = sim(&["--json"]);
    assert!(status.success(), "{err}");
    let result: Value = serde_json::from_str(&out).expect("JSON");
    for key in ["goodput_bit_s", "duration_s", "events", "data_packets", "wall_s"] {
        assert!(result[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {}", result[key]);
    }
    assert_eq!(result["seed"], 3);
    assert!(result["trace_hash"].as_str().is_some_and(|hash| hash.starts_with("xxh64:")));
    let paths = result["paths"].as_array().expect("paths");
    assert_eq!(paths.len(), 2);
    for path in paths {
        assert!(path["name"].is_string());
        for key in [
            "goodput_bit_s",
            "data_packets_sent",
            "fast_retransmissions",
            "timeout_retransmissions",
            "timeouts",
            "srtt_s",
            "cwnd_bytes",
        ] {
            assert!(path[key].is_number(), "{key}: {}", path[key]);
        }
    }
    let sum: f64 = paths.iter().filter_map(|path| path["goodput_bit_s"].as_f64()).sum();
    let goodput = result["goodput_bit_s"].as_f64().expect("a number");
    assert!((sum - goodput).abs() < 0.001 * goodput, "{sum} on the paths, {goodput} in all");
    assert_eq!(result["flows"][0]["bytes_delivered"], 200_000);
}

#[test]
fn bytes_and_structures_give_the_same_trace() {
    let hash = |more: &[&str]| {
        let (_, out, _) = sim(more);
        let result: Value = serde_json::from_str(&out).expect("JSON");
        result["trace_hash"].clone()
    };
    assert_eq!(hash(&["--json"]), hash(&["--json", "--wire"]));
    assert_ne!(
        hash(&["--json"]),
        hash(&["--json", "--set", "run.seed=5", "--set", "sctp.preset=rfc9260"])
    );
}

#[test]
fn people_get_a_table() {
    let (status, out, err) = sim(&[]);
    assert!(status.success(), "{err}");
    for word in
        ["goodput", "path 1", "path 2", "completed", "shut down", "Mbit/s", "seed 3", "xxh64:"]
    {
        assert!(out.contains(word), "{word} is not in\n{out}");
    }
}

#[test]
fn wrong_usage_and_bad_scenarios_end_with_two() {
    for (more, message) in [
        (
            &["--set", "sctp.polices.burst=off"][..],
            "--set sctp.polices.burst: sctp: unknown key `polices`",
        ),
        (&["--set", "sctp.preset=ctm"], "did you mean `cmt`?"),
        (&["--nonsense"], "unexpected argument '--nonsense'"),
        (&["--wire=x"], "unexpected value 'x'"),
    ] {
        let (status, out, err) = sim(more);
        assert_eq!(status.code(), Some(2), "{err}");
        assert!(err.contains(message), "{err}");
        assert!(out.is_empty());
    }
    let output = polypath(&["sim", "no-such-file.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let err = texts(&output).1;
    assert!(
        err.contains("no-such-file.toml: cannot read") && err.contains("check the name"),
        "{err}"
    );
}

#[test]
fn a_run_that_fails_ends_with_one() {
    let cut = [
        "--set",
        "network.disjoint.paths.path 1.bottleneck.loss.forward=100 %",
        "--set",
        "network.disjoint.paths.path 2.bottleneck.loss.forward=100 %",
        "--set",
        "sctp.max_init_retransmits=1",
    ];
    let (status, out, err) = sim(&cut);
    assert_eq!(status.code(), Some(1), "{err}");
    assert!(err.contains("the association failed: no answer"), "{err}");
    assert!(out.contains("goodput"));
}

/// Lines that tshark prints about a capture, or nothing without tshark.
fn tshark(capture: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let run = Command::new("tshark").arg("-r").arg(capture).args(arguments).output();
    let output = match run {
        Ok(output) => output,
        Err(error) => {
            let required = std::env::var("POLYPATH_REQUIRE").unwrap_or_default();
            let required = required.split(',').any(|name| name.trim() == "tshark");
            assert!(!required, "POLYPATH_REQUIRE has tshark, but {error}");
            use std::io::Write;
            let _ = writeln!(std::io::stderr(), "SKIPPED: tshark is not installed");
            return None;
        }
    };
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    Some(out.lines().map(str::to_owned).collect())
}

#[test]
fn each_of_several_hosts_has_a_capture() {
    let directory = directory("captures-of-hosts");
    let place = directory.display().to_string();
    let short = ["--set", "run.duration=300 ms", "--set", "run.measure_from=0 s"];
    let scenario = scenario("tcp-and-cmt");
    let output = polypath(&[&["sim", &scenario, "--pcap", &place][..], &short].concat());
    assert_eq!(output.status.code(), Some(0), "{}", texts(&output).1);
    let mut names: Vec<String> = fs::read_dir(&directory)
        .expect("a folder")
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let expected = ["multipath a", "multipath b", "single a", "single b"]
        .map(|n| format!("tcp-and-cmt-{n}.pcapng"));
    assert_eq!(names, expected);
    for name in names {
        // Each has seen its own packets: more than a head.
        let file = fs::metadata(directory.join(&name)).expect("a file");
        assert!(file.len() > 5_000, "{name}: {}", file.len());
    }
}

#[test]
fn packets_are_not_written_where_a_file_is() {
    let file = directory("no-captures").join("file");
    fs::write(&file, "").expect("written");
    let (status, _, err) = sim(&["--pcap", &file.display().to_string()]);
    assert_eq!(status.code(), Some(2), "{err}");
    let file = file.display();
    assert!(err.contains(&format!("cannot make the directory {file}: {file} is a file")), "{err}");
}

#[test]
fn a_picture_in_a_folder_that_is_missing_says_what_to_do() {
    let file = directory("no-folder").join("missing/network.svg");
    let (status, _, err) = sim(&["--show-network", &file.display().to_string()]);
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(err.contains("there is no folder") && err.contains("make it first"), "{err}");
    let folder = directory("no-file").display().to_string();
    let (status, _, err) = sim(&["--show-network", &folder]);
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(err.contains(&format!("cannot write {folder}: it is a folder; name a file")), "{err}");
}

#[test]
fn captures_are_read_by_tshark() {
    let directory = directory("captures");
    let (status, out, err) = sim(&["--json", "--pcap", &directory.display().to_string()]);
    assert!(status.success(), "{err}");
    let result: Value = serde_json::from_str(&out).expect("JSON");
    let capture = directory.join("two-paths-loss.pcapng");
    assert!(fs::metadata(&capture).is_ok_and(|file| file.len() > 200_000));

    let fields = [
        "-T",
        "fields",
        "-e",
        "frame.interface_name",
        "-e",
        "sctp.chunk_type",
        "-o",
        "sctp.checksum:CRC32C",
    ];
    let Some(packets) = tshark(&capture, &fields) else { return };
    for path in ["path 1", "path 2"] {
        assert!(packets.iter().any(|packet| packet.starts_with(path)), "{path} has no packets");
    }
    assert!(packets.iter().all(|packet| !packet.ends_with('\t')), "a packet is not SCTP");
    // Sent by host a, and received by it.
    let host = &result["hosts"][0];
    let count = host["packets_sent"].as_u64().zip(host["packets_received"].as_u64());
    assert_eq!(count.map(|(sent, received)| (sent + received) as usize), Some(packets.len()));

    let bad = [
        "-o",
        "sctp.checksum:CRC32C",
        "-Y",
        "_ws.malformed || sctp.checksum.status == \"Bad\" || !sctp",
    ];
    assert_eq!(tshark(&capture, &bad), Some(Vec::new()));
    let expert = tshark(&capture, &["-q", "-z", "expert,warn"]).unwrap_or_default();
    assert!(!expert.iter().any(|line| line.contains("Malformed")), "{expert:?}");
    let associations = tshark(&capture, &["-q", "-z", "sctp,stat"]).unwrap_or_default();
    assert!(associations.iter().any(|line| line.contains("10.1.1.1")), "{associations:?}");
}

#[test]
fn a_style_of_figures_without_a_figure_is_a_usage_error() {
    let (status, out, err) = sim(&["--figure-style", "paper"]);
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(out.is_empty() && err.contains("--show-network"), "{out}{err}");
}

#[test]
fn a_network_is_drawn_and_not_run() {
    let graph = scenario("graph");
    let output = polypath(&["sim", &graph, "--show-network"]);
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    assert!(out.starts_with("<svg ") && out.ends_with("</svg>\n"), "{out}");
    let directory = directory("show-network");
    let file = directory.join("graph.svg").display().to_string();
    let output = polypath(&["sim", &graph, "--show-network", &file]);
    let (told, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    assert_eq!((told, fs::read_to_string(&file).expect("a file")), (format!("{file}\n"), out));
    for (ending, start) in [("pdf", &b"%PDF"[..]), ("png", b"\x89PNG")] {
        let file = directory.join(format!("graph.{ending}"));
        let name = file.display().to_string();
        let output = polypath(&["sim", &graph, "--show-network", &name, "--figure-style", "paper"]);
        assert!(output.status.success(), "{}", texts(&output).1);
        assert!(fs::read(&file).expect("a file").starts_with(start), "{ending}");
    }
    let file = directory.join("graph.jpg").display().to_string();
    let output = polypath(&["sim", &graph, "--show-network", &file]);
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("a picture ends with one of .svg, .pdf, .png"), "{err}");
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_refused_and_not_waited_for() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let pipe = pipe.display().to_string();
    for arguments in [&["sim", &pipe][..], &["check", &pipe], &["bmin", &pipe], &["study", &pipe]] {
        let output = polypath(arguments);
        let (_, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {err}");
    }
    let output = polypath(&["sim", &pipe]);
    let (_, err) = texts(&output);
    assert!(err.contains("it is a named pipe, which may never have a writer"), "{err}");
    // What a shell makes of <(command) is read.
    let script = format!("\"$0\" check <(cat {})", scenario("two-paths-loss"));
    let shell = Command::new("bash").args(["-c", &script, env!("CARGO_BIN_EXE_polypath")]).output();
    let shell = shell.unwrap();
    assert!(shell.status.success(), "{}", String::from_utf8_lossy(&shell.stderr));
}
