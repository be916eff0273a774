//! Measurements that go well. Nothing depends on how fast the machine is.

use serde_json::Value;

use crate::support::{Server, number, schema, stderr};

const QUICK: [&str; 4] = ["-t", "0.6", "-i", "0.2"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    QUICK.iter().chain(more).copied().collect()
}

/// Bytes that were sent and received in a sum of the end.
fn bytes(document: &Value, sum: &str) -> f64 {
    number(&document["end"][sum]["bytes"])
}

#[test]
fn two_paths_carry_what_is_sent() {
    let server = Server::start("127.0.7.1,127.0.7.2", &[]);
    let document = server
        .measure("127.0.7.3,127.0.7.4", &with(&["-b", "4M", "-T", "two", "--extra-data", "more"]));
    assert_eq!(document["schema"], "polypath/meter-1");
    assert_eq!(document["complete"], true);
    assert_eq!((&document["title"], &document["extra_data"]), (&"two".into(), &"more".into()));
    assert_eq!(document["start"]["connected"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["start"]["test_start"]["protocol"], "SCTP");
    assert_eq!(document["intervals"].as_array().map(Vec::len), Some(3));
    assert!(bytes(&document, "sum_sent") > 0.0);
    assert_eq!(bytes(&document, "sum_sent"), bytes(&document, "sum_received"));
    assert_eq!(document["end"]["streams"][0]["receiver"]["lost_messages"], 0);
    let paths = document["end"]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 2);
    assert!(document["end"]["peer_paths"].as_array().unwrap().len() == 2);
    let carried: f64 = paths.iter().map(|path| number(&path["sent_bytes"])).sum();
    assert!(carried >= bytes(&document, "sum_sent"), "control messages count too");
    if cfg!(target_os = "linux") {
        assert_eq!(document["start"]["clock"]["source"], "shared");
    }
    assert!(document["end"]["streams"][0]["receiver"]["delay"]["p99_us"].is_u64());
    if cfg!(unix) {
        let shares = &document["end"]["cpu_utilization_percent"];
        assert!(number(&shares["host_total"]) > 0.0 && number(&shares["remote_total"]) > 0.0);
    }
}

#[test]
fn the_server_sends_and_both_send() {
    let server = Server::start("127.0.7.5", &[]);
    let reverse = server.measure("127.0.7.6", &with(&["-b", "4M", "-R"]));
    assert_eq!(reverse["start"]["test_start"]["reverse"], 1);
    assert_eq!(bytes(&reverse, "sum_sent"), bytes(&reverse, "sum_received"));
    assert_eq!(reverse["intervals"][0]["streams"][0]["sender"], false);
    let both = server.measure("127.0.7.6", &with(&["-b", "4M", "--bidir"]));
    assert_eq!(both["start"]["test_start"]["bidir"], 1);
    assert_eq!(bytes(&both, "sum_sent"), bytes(&both, "sum_received"));
    let back = bytes(&both, "sum_sent_bidir_reverse");
    assert!(back > 0.0 && back == bytes(&both, "sum_received_bidir_reverse"));
    assert_eq!(both["end"]["streams"].as_array().map(Vec::len), Some(2));
}

#[test]
fn four_streams_share_an_association_that_is_full() {
    let server = Server::start("127.0.7.7", &[]);
    let document = server.measure("127.0.7.8", &with(&["-P", "4", "-O", "0.2"]));
    let streams = document["end"]["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 4);
    assert!(streams.iter().all(|stream| number(&stream["sender"]["bytes"]) > 0.0));
    assert_eq!(document["intervals"][0]["sum"]["omitted"], true);
    assert_eq!(document["intervals"].as_array().map(Vec::len), Some(4));
}

#[test]
fn what_ends_within_the_omitted_time_does_not_count() {
    let server = Server::start("127.0.7.35", &[]);
    let more = ["-n", "10K", "-O", "1000", "--require-rate", "1", "--max-p99", "600 s", "--json"];
    let output = server.client("127.0.7.36", &more).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    schema("measurement").check(&document);
    let end = &document["end"];
    for report in [&document["intervals"][0]["sum"], &end["sum_sent"], &end["sum_received"]] {
        assert_eq!(report["omitted"], true, "{report}");
    }
    for threshold in end["thresholds"].as_array().unwrap() {
        assert!(threshold["met"] == false && threshold["measured"].is_null(), "{threshold}");
    }
}

#[test]
fn a_number_of_bytes_is_sent_and_no_more() {
    let server = Server::start("127.0.7.9", &[]);
    let document = server.measure("127.0.7.10", &["-n", "300K", "-P", "2", "-l", "1000"]);
    let sent = bytes(&document, "sum_sent");
    assert!((307_200.0..307_200.0 + 48.0).contains(&sent), "{sent}");
    assert_eq!(sent, bytes(&document, "sum_received"));
}

#[test]
fn messages_fit_the_smallest_buffers_of_either_end() {
    let (small, large) =
        (Server::start("127.0.7.37", &["-w", "4K"]), Server::start("127.0.7.38", &[]));
    for (server, more) in [
        (&small, &["--bidir"][..]),
        (&small, &["--bidir", "-w", "4K"]),
        (&large, &["-w", "4K"]),
        (&large, &["-w", "4K", "-R"]),
    ] {
        let document = server.measure("127.0.7.39", &[&["-n", "20K"], more].concat());
        assert!(bytes(&document, "sum_received") >= 20_480.0, "{more:?}: {document:#}");
    }
}

#[test]
fn flows_of_netperfmeter_go_both_ways() {
    let server = Server::start("127.0.7.11", &[]);
    let flows = [
        "--flow",
        "const50:uniform400,600:const20:const3000:description=mixed:maxmsgsize=1000",
        "--flow",
        "exp50:const200:const0:const0:unordered=0.5:unreliable=1:rtx_timeout=60000:onoff=0,0.1,0.2",
    ];
    let document = server.measure("127.0.7.12", &with(&[&flows[..], &["--seed", "7"]].concat()));
    assert_eq!(document["start"]["test_start"]["flows"][0], "mixed");
    let streams = document["end"]["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 3, "the second flow goes one way");
    for stream in streams {
        assert_eq!(stream["sender"]["messages"], stream["receiver"]["messages"], "{stream}");
    }
}

#[test]
fn several_clients_are_served_at_once_and_told_apart() {
    let server = Server::start("127.0.7.13", &[]);
    let start = |from| {
        let mut client = server.client(from, &with(&["-b", "2M", "--json"]));
        client.stdout(std::process::Stdio::piped()).spawn().expect("the program starts")
    };
    let clients = ["127.0.7.14", "127.0.7.15", "127.0.7.16"].map(start);
    for client in clients {
        let output = client.wait_with_output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["complete"], true, "{document:#}");
        assert_eq!(bytes(&document, "sum_sent"), bytes(&document, "sum_received"));
    }
}

#[test]
fn lines_of_json_follow_their_schema_and_csv_has_rows() {
    let server = Server::start("127.0.7.17", &[]);
    let directory = tempfile::tempdir().unwrap();
    let csv = directory.path().join("out.csv");
    let more = ["-b", "2M", "--json-stream", "--csv", csv.to_str().unwrap()];
    let output = server.client("127.0.7.18", &with(&more)).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["start", "interval", "interval", "interval", "end"]);
    let schema = schema("measurement-line");
    lines.iter().for_each(|line| schema.check(line));
    let rows = std::fs::read_to_string(csv).unwrap();
    // Names; then a stream, a sum and a path in both directions for each interval.
    assert_eq!(rows.lines().count(), 1 + 3 * 4, "{rows}");
}

#[test]
fn text_has_columns_and_the_server_one_too() {
    let mut server = Server::start("127.0.7.19,127.0.7.20", &["--one-off"]);
    let more = with(&["-b", "2M", "--get-server-output", "--timestamps", "-T", "Title"]);
    let output = server.client("127.0.7.21,127.0.7.22", &more).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "Interval",
        "Bitrate",
        "bits/sec",
        "[path0]",
        "[path1]",
        "sender",
        "receiver",
        "Server output:",
    ] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
    let begins = |line: &str| line.starts_with("20") && line[19..].starts_with("Z Title:");
    assert!(text.lines().all(begins), "{text}");
    assert!(!text.contains('\x1b'));
    let (status, out, err) = server.wait();
    assert!(status.success(), "{err}");
    assert!(out.contains("[path1]") && out.contains("receiver"), "{out}");
}

/// Both lines of a direction say what this side does in it.
#[test]
fn directions_are_told_apart() {
    let server = Server::start("127.0.7.31", &[]);
    let mut client = server.client("127.0.7.32,127.0.7.33", &with(&["-b", "2M", "--bidir"]));
    let output = client.arg("127.0.7.34").output().unwrap();
    let (text, told) = (String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(output.status.success(), "{told}");
    let ends = |tail: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.ends_with(tail));
        lines.map(|line| line[7..13].to_owned()).collect()
    };
    assert_eq!(ends("sender"), ["[ TX ]", "[ RX ]"], "{text}");
    assert_eq!(ends("receiver"), ["[ TX ]", "[ RX ]"], "{text}");
    assert!(told.contains("host 127.0.7.34 was not used: no path leads there"), "{told}");
}

#[test]
fn paths_of_who_receives_end_with_the_data() {
    let server = Server::start("127.0.7.27,127.0.7.28", &[]);
    let document = server.measure("127.0.7.29,127.0.7.30", &["-n", "100K", "-R"]);
    let end = &document["end"];
    let received = end["streams"][0]["receiver"]["seconds"].as_f64().unwrap();
    for path in end["paths"].as_array().unwrap() {
        assert_eq!(path["seconds"].as_f64(), Some(received), "{path}");
    }
}

#[test]
fn requirements_decide_the_exit_code() {
    let server = Server::start("127.0.7.23,127.0.7.24", &[]);
    let from = "127.0.7.25,127.0.7.26";
    let met = ["-b", "1M", "--require-rate", "1K", "--max-p99", "600 s", "--require-gain", "0.01"];
    let document = server.measure(from, &with(&met));
    let thresholds = document["end"]["thresholds"].as_array().unwrap();
    assert!(thresholds.len() == 3 && thresholds.iter().all(|threshold| threshold["met"] == true));
    assert_eq!(document["end"]["gain"]["alone"].as_array().map(Vec::len), Some(2));
    let missed = with(&["-b", "1M", "--json", "--require-rate", "900G"]);
    let output = server.client(from, &missed).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["complete"], true);
    assert_eq!(document["end"]["thresholds"][0]["met"], false);
}
