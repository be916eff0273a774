//! Peers that say nonsense, servers that are not there, users who interrupt.

use std::io::{BufRead, BufReader};
use std::net::{IpAddr, UdpSocket};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use polypath::{Association, AssociationConfig, Endpoint, Message, Peer};
use serde_json::Value;

use crate::support::{Server, polypath, schema, stderr};

const CONTROL: u32 = 0x504D_5401;
const DATA: u32 = 37;

fn local(text: &str) -> [IpAddr; 1] {
    [text.parse().unwrap()]
}

async fn connect(server: &Server, from: &str) -> (Endpoint, Association) {
    let endpoint = Endpoint::builder(local(from)).encapsulation_port(0).bind().unwrap();
    let peer =
        Peer::new(local(&server.addresses), 5201).encapsulation_port(server.port.parse().unwrap());
    let association = endpoint.connect(&peer, AssociationConfig::default()).await.unwrap();
    (endpoint, association)
}

fn json(output: &Output) -> Value {
    let document = serde_json::from_slice(&output.stdout).expect("JSON");
    schema("measurement").check(&document);
    document
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn garbage_ends_no_server() {
    let server = Server::start("127.0.8.1", &[]);
    let socket = UdpSocket::bind("127.0.8.2:0").unwrap();
    for length in [0, 1, 11, 12, 100, 1400] {
        socket.send_to(&vec![0xA5; length], format!("127.0.8.1:{}", server.port)).unwrap();
    }
    let nonsense = [
        Message::new(0, "GET / HTTP/1.0\r\n\r\n").ppid(0),
        Message::new(0, vec![1, 0, b'{']).ppid(CONTROL),
        Message::new(0, vec![9, 0, b'{', b'}']).ppid(CONTROL),
        Message::new(1, vec![1, 0, b'1']).ppid(CONTROL),
        Message::new(0, &b"\x01\x00{\"ask\":1}"[..]).ppid(CONTROL),
        Message::new(0, &b"\x01\x00{\"propose\":{}}"[..]).ppid(CONTROL),
    ];
    for message in nonsense {
        let (_endpoint, association) = connect(&server, "127.0.8.3").await;
        // Data before anything was agreed is no violation; it counts nowhere.
        association.send(Message::new(1, "no header").ppid(DATA)).await.unwrap();
        association.send(message).await.unwrap();
        let error = association.receive().await.unwrap_err().to_string();
        assert!(error.contains("broke the control protocol"), "{error}");
    }
    let measured = tokio::task::spawn_blocking(move || server.measure("127.0.8.4", &["-n", "10K"]));
    assert_eq!(measured.await.unwrap()["complete"], true);
}

#[test]
fn limits_are_told_to_who_exceeds_them() {
    let limits = ["--server-max-duration", "5", "--server-bitrate-limit", "10M", "-w", "4K"];
    let server = Server::start("127.0.8.5", &limits);
    for (more, told) in [
        (&["-t", "6"][..], "6 s are more than this server's limit, 5 s"),
        (&["-b", "6M", "-P", "2", "-t", "1"], "more than this server's limit, 10 Mbit/s"),
        (&["-t", "1", "-l", "5000"], "larger than the server's receive buffer of 4096 bytes"),
        (&["-t", "1", "-l", "5000", "-R"], "larger than the server's send buffer of 4096 bytes"),
    ] {
        let output = server.client("127.0.8.6", more).arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
        let document = json(&output);
        assert_eq!(document["complete"], false);
        assert!(document["error"].as_str().unwrap().contains(told));
    }
}

#[test]
fn nobody_is_there() {
    let silent = UdpSocket::bind("127.0.8.7:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let mut client = polypath();
    client.args([
        "meter",
        "client",
        "127.0.8.7",
        "--encap-port",
        &port,
        "--connect-timeout",
        "1",
        "--json",
    ]);
    let output = client.output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot connect to 127.0.8.7"), "{}", stderr(&output));
    assert!(json(&output)["error"].as_str().unwrap().contains("cannot connect"));
    let mut client = polypath();
    let output =
        client.args(["meter", "client", "no-such-host.invalid", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("no-such-host.invalid"), "{}", stderr(&output));
    assert!(json(&output)["error"].as_str().unwrap().contains("no-such-host.invalid"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_is_busy_refuses() {
    let server = Server::start("127.0.8.14", &["--max-clients", "1"]);
    let (_endpoint, _association) = connect(&server, "127.0.8.15").await;
    let refused =
        tokio::task::spawn_blocking(move || server.client("127.0.8.16", &[]).output().unwrap());
    let output = refused.await.unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("out of resource; it is busy"), "{}", stderr(&output));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn one_address_does_not_take_every_place_of_a_server() {
    let server = Server::start("127.0.8.31", &["--max-per-address", "1", "--max-memory", "8 MiB"]);
    let (_endpoint, _association) = connect(&server, "127.0.8.32").await;
    let measured = tokio::task::spawn_blocking(move || {
        let refused = server.client("127.0.8.32", &[]).output().unwrap();
        assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
        let told = stderr(&refused);
        assert!(told.contains("at most 1 associations at a time from one address"), "{told}");
        server.measure("127.0.8.33", &["-n", "10K"])
    });
    assert_eq!(measured.await.unwrap()["complete"], true);
}

#[test]
fn a_log_file_that_is_a_pipe_which_nobody_reads_stops_no_measurement() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let path = pipe.to_str().unwrap();
    // Without a reader it is not waited for.
    let mut alone = polypath();
    alone.args(["meter", "server", "-B", "127.0.8.34", "--logfile", path]);
    let refused = alone.output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("a named pipe that nobody reads"), "{}", stderr(&refused));
    // It is open for reading, and not read.
    let kept = std::fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let server = Server::start("127.0.8.34", &["--json", "--logfile", path]);
    // Each measurement has a document of several kilobytes, and a pipe takes 64.
    for _ in 0..25 {
        assert_eq!(server.measure("127.0.8.35", &["-n", "1K", "-P", "8"])["complete"], true);
    }
    drop(kept);
}

#[test]
fn a_server_has_one_sctp_port_and_says_so() {
    let server = Server::start("127.0.8.19", &[]);
    let output = server.client("127.0.8.20", &["-p", "777"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("at that SCTP port"), "{}", stderr(&output));
}

/// Only Linux has a file that is always full.
#[cfg(target_os = "linux")]
#[test]
fn results_that_cannot_be_written_are_a_failure_of_the_server_too() {
    let mut server = Server::start("127.0.8.17", &["--one-off", "--logfile", "/dev/full"]);
    assert_eq!(server.measure("127.0.8.18", &["-n", "10K"])["complete"], true);
    let (status, _, err) = server.wait();
    assert_eq!(status.code(), Some(1), "{err}");
    assert!(err.contains("cannot write the log file"), "{err}");
}

#[test]
fn a_port_in_use_is_a_matter_of_the_environment() {
    let taken = UdpSocket::bind("127.0.8.8:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = polypath()
        .args(["meter", "server", "-B", "127.0.8.8", "--encap-port", &port])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    assert!(stderr(&output).contains("another program uses the port"), "{}", stderr(&output));
}

#[test]
fn wrong_usage_is_told_at_once() {
    for (arguments, told) in [
        (&["client"][..], "HOST"),
        (&["client", "192.0.2.1", "-t", "1", "-n", "1"], "cannot be used with"),
        (&["client", "192.0.2.1", "-R", "--bidir"], "cannot be used with"),
        (&["client", "192.0.2.1", "-l", "1"], "48 to 65535"),
        (
            &["client", "192.0.2.1", "-l", "5K", "-w", "4K"],
            "the client's send buffer of 4096 bytes",
        ),
        (&["client", "192.0.2.1", "-b", "x"], "invalid value"),
        (&["client", "192.0.2.1", "--flow", "const1"], "RATE:SIZE"),
        (&["client", "192.0.2.1", "--set", "mtu_byte=1"], "did you mean 'mtu_bytes'?"),
        (&["client", "192.0.2.1", "--encap-port", "0"], "--encapsulation-port"),
        (&["client", "192.0.2.1:5201"], "names the SCTP port"),
        (&["client", "[2001:db8::1]:5201"], "names the SCTP port"),
        (&["client", "192.0.2.1,"], "an address is missing"),
        (
            &["client", "192.0.2.1", "--csv", "/none-such/x.csv"],
            "/none-such/x.csv: there is no folder",
        ),
        (&["client", "192.0.2.1", "--logfile", "/none-such/log"], "/none-such; make it first"),
        (&["client", "192.0.2.1", "--pcap", "/none-such/x"], "/none-such; make it first"),
        (&["client", "192.0.2.1", "--connect-timeout", "0"], "more than 0 seconds"),
        (&["client", "192.0.2.1", "-C", "fastest"], "for '--congestion <NAME>'"),
        #[cfg(not(target_os = "linux"))]
        (&["server", "-B", "0.0.0.0"], "0.0.0.0 is not the address of an interface"),
    ] {
        let output = polypath().arg("meter").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(told), "{arguments:?}: {}", stderr(&output));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_has_every_address_of_its_host() {
    let mut server = Server::start("0.0.0.0", &["--one-off"]);
    server.addresses = "127.0.0.1".to_owned();
    let measured = server.measure("127.0.8.23", &["-n", "100K"]);
    assert!(measured["end"].is_object(), "{measured}");
}

/// Starts a client that measures for ever, and interrupts it when it has told of an interval in which something was sent;
/// what it tells afterwards.
fn interrupted(server: &Server) -> (std::process::Child, String) {
    let arguments = ["-t", "1000", "-i", "0.1", "-b", "1M", "--json-stream"];
    let mut client = server.client("127.0.8.10", &arguments);
    let mut child = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut sent = 0;
    while sent == 0 {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it ended");
        let line: Value = serde_json::from_str(&line).unwrap();
        sent = line["data"]["sum"]["bytes"].as_u64().unwrap_or(0);
    }
    let rest = std::thread::spawn(move || std::io::read_to_string(lines).unwrap());
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    (child, rest.join().unwrap())
}

#[test]
fn who_interrupts_gets_what_there_is() {
    let server = Server::start("127.0.8.9", &[]);
    let (mut client, rest) = interrupted(&server);
    assert_eq!(client.wait().unwrap().code(), Some(130));
    let lines: Vec<Value> = rest.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let end = lines.iter().find(|line| line["event"] == "end").expect("an end");
    assert_eq!(end["data"]["complete"], false);
    assert!(end["data"]["sum_sent"]["bytes"].as_u64().unwrap() > 0);
    assert_eq!(lines.last().unwrap()["event"], "error");
    let schema = schema("measurement-line");
    lines.iter().for_each(|line| schema.check(line));
    // The server is free again.
    assert_eq!(server.measure("127.0.8.11", &["-n", "10K"])["complete"], true);
}

/// Starts a client, and waits until it tells of an interval: then both measure.
fn measuring(mut client: Command) -> (Child, BufReader<ChildStdout>) {
    let mut child = client.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("bits/sec") {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0, "it ended");
    }
    (child, stdout)
}

#[test]
fn who_interrupts_the_measurement_of_a_single_path_gets_what_there_is() {
    let server = Server::start("127.0.8.21", &[]);
    let arguments = ["-t", "1000", "-b", "1M", "-i", "0.1", "--require-gain", "1"];
    let client = server.client("127.0.8.22,127.0.8.23", &arguments);
    let (mut child, stdout) = measuring(client);
    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let rest = std::io::read_to_string(stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(rest.contains("sender") && rest.contains("[path0]"), "{rest}");
    assert!(rest.contains("MISSED"), "the gain is not known: {rest}");
}

#[test]
fn an_interrupted_server_says_so() {
    let mut server = Server::start("127.0.8.12", &["--json"]);
    let client = server.client("127.0.8.13", &["-t", "1000", "-b", "1M", "-i", "0.1"]);
    let (child, stdout) = measuring(client);
    kill(Pid::from_raw(server.child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("the server was interrupted"), "{}", stderr(&output));
    let (status, out, _) = server.wait();
    assert_eq!(status.code(), Some(130));
    let document: Value = serde_json::from_str(&out).unwrap();
    schema("measurement").check(&document);
    assert_eq!(document["complete"], false);
}
