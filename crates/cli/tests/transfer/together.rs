//! Both ends are ours.

use std::fs;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{Receiver, content, polypath, run, stderr};

fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn files_of_any_size_arrive_over_two_paths() {
    // Buffers that begin small hold what one path of a loopback interface carries, and leave the other one nothing to do.
    let fixed = ["--set", "policies.send_buffer=bytes", "--set", "policies.receive_buffer=bytes"];
    let options = [&["--once", "--json"][..], &fixed].concat();
    let mut receiver = Receiver::start("127.0.0.1,127.0.0.2", &options);
    let sources = tempfile::tempdir().unwrap();
    let files = [("empty", 0), ("one byte", 1), ("übergröße.bin", 3_000_000), ("message", 64_980)];
    let mut send = polypath();
    send.args(["send", "--to", "127.0.0.1,127.0.0.2", "--from", "127.0.0.3,127.0.0.4", "--json"]);
    send.args(["--encapsulation-port", &receiver.port]);
    send.args(fixed);
    for (name, len) in files {
        let path = sources.path().join(name);
        fs::write(&path, content(len)).unwrap();
        send.arg(path);
    }
    let sent = run(&mut send);
    assert!(sent.status.success(), "{}", stderr(&sent));
    let (status, received, told) = receiver.wait();
    assert!(status.success(), "{told}");
    assert_eq!(receiver.files().len(), files.len());
    let summaries =
        [serde_json::from_slice(&sent.stdout).unwrap(), serde_json::from_str(&received).unwrap()];
    for (summary, role) in summaries.into_iter().zip(["send", "receive"]) {
        let summary: Value = summary;
        assert_eq!(summary["role"], role);
        assert_eq!(summary["complete"], true);
        assert_eq!(summary["bytes"], 3_064_981);
        assert!(summary["goodput_bit_s"].as_f64().unwrap() > 0.0);
        let paths = summary["paths"].as_array().unwrap();
        assert_eq!(paths.len(), 2);
        assert!(paths.iter().all(|path| path["bytes"].as_u64().unwrap() > 0), "{paths:?}");
        let listed = summary["files"].as_array().unwrap();
        assert_eq!(listed.len(), files.len());
        for (index, (name, len)) in files.into_iter().enumerate() {
            // The sender has them as they were named, the receiver as they were complete.
            let place = match role {
                "send" => Some(index),
                _ => listed.iter().position(|file| file["name"] == name),
            };
            let file = &listed[place.unwrap()];
            assert_eq!(
                (file["name"].as_str(), file["bytes"].as_u64()),
                (Some(name), Some(len as u64))
            );
            assert_eq!(file["sha256"], hex(&content(len)));
            assert_eq!(receiver.content(name), content(len));
        }
    }
}

#[test]
fn the_directory_is_made_and_what_a_killed_receiver_left_is_named() {
    let place = tempfile::tempdir().unwrap();
    let inbox = place.path().join("inbox");
    let mut receiver =
        Receiver::start_in((place, &inbox), "127.0.0.1", &["--once"], std::process::Stdio::null());
    assert!(inbox.is_dir());
    receiver.child.kill().unwrap();
    receiver.wait();
    let place = tempfile::tempdir().unwrap();
    let left = ".polypath-0123456789abcdef.part";
    fs::write(place.path().join(left), "half").unwrap();
    let out = place.path().to_owned();
    let mut receiver =
        Receiver::start_in((place, &out), "127.0.0.1", &["--once"], std::process::Stdio::null());
    receiver.hear("incomplete files", left);
    assert_eq!(receiver.files(), [left]);
    receiver.child.kill().unwrap();
    receiver.wait();
}

#[test]
fn a_file_that_exists_is_kept_and_the_others_are_stored() {
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    fs::write(receiver.directory.path().join("old"), "old").unwrap();
    let sources = tempfile::tempdir().unwrap();
    for name in ["old", "new"] {
        fs::write(sources.path().join(name), "sent").unwrap();
    }
    let mut send = polypath();
    send.args(["send", "--to", "127.0.0.1", "--encapsulation-port", &receiver.port]);
    let sent = run(send.arg(sources.path().join("old")).arg(sources.path().join("new")));
    assert_eq!(sent.status.code(), Some(1), "{}", stderr(&sent));
    let text = String::from_utf8(sent.stdout).unwrap();
    assert!(
        text.contains("old: FAILED: refused by the receiver: \"old\" exists there already"),
        "{text}"
    );
    assert_eq!(receiver.wait().0.code(), Some(1));
    assert_eq!(receiver.content("old"), b"old");
    assert_eq!(receiver.content("new"), b"sent");
    assert_eq!(receiver.files(), ["new", "old"]);
}

#[test]
fn overwriting_and_several_senders() {
    let mut receiver = Receiver::start("::1", &["--overwrite"]);
    let sources = tempfile::tempdir().unwrap();
    let path = sources.path().join("file");
    for version in ["first", "second"] {
        fs::write(&path, version).unwrap();
        let mut send = polypath();
        send.args(["send", "--to", "::1", "--encapsulation-port", &receiver.port]);
        let sent =
            run(send.args(["--preset", "rfc9260", "--set", "policies.rto.min=200 ms"]).arg(&path));
        assert!(sent.status.success(), "{}", stderr(&sent));
        assert_eq!(receiver.content("file"), version.as_bytes());
    }
    receiver.child.kill().unwrap();
    receiver.wait();
}

#[test]
fn an_address_that_is_not_the_receivers_is_told() {
    let mut receiver = Receiver::start("127.0.0.11", &["--once"]);
    let sources = tempfile::tempdir().unwrap();
    fs::write(sources.path().join("file"), content(100_000)).unwrap();
    let mut send = polypath();
    send.args(["send", "--to", "127.0.0.11,127.0.0.12", "--encapsulation-port", &receiver.port]);
    let sent = run(send.arg(sources.path().join("file")));
    assert!(sent.status.success(), "{}", stderr(&sent));
    let told = String::from_utf8(sent.stdout).unwrap();
    assert!(told.contains("--to 127.0.0.12 was not used: no path leads there"), "{told}");
    assert!(!told.contains("--to 127.0.0.11 "), "{told}");
    receiver.wait();
}

#[test]
fn small_buffers_carry_large_files() {
    let mut receiver =
        Receiver::start("127.0.0.1", &["--once", "--set", "receive_buffer_bytes=4096"]);
    let sources = tempfile::tempdir().unwrap();
    fs::write(sources.path().join("file"), content(100_000)).unwrap();
    let mut send = polypath();
    send.args(["send", "--to", "127.0.0.1", "--encapsulation-port", &receiver.port]);
    let sent = run(send.args(["--set", "send_buffer_bytes=4096"]).arg(sources.path().join("file")));
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert!(receiver.wait().0.success());
    assert_eq!(receiver.content("file"), content(100_000));
}

#[cfg(unix)]
#[test]
fn more_files_than_a_process_may_open() {
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    let sources = tempfile::tempdir().unwrap();
    let mut send = std::process::Command::new("sh");
    send.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_polypath")]);
    send.args(["send", "--to", "127.0.0.1", "--encapsulation-port", &receiver.port]);
    for number in 0..60 {
        let path = sources.path().join(number.to_string());
        fs::write(&path, content(number)).unwrap();
        send.arg(path);
    }
    let sent = run(&mut send);
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert!(receiver.wait().0.success());
    assert_eq!(receiver.files().len(), 60);
}

#[test]
fn nobody_is_there() {
    let silent = std::net::UdpSocket::bind("127.0.0.9:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    let mut send = polypath();
    send.args([
        "send",
        file!(),
        "--to",
        "127.0.0.9",
        "--connect-timeout",
        "1",
        "--encap-port",
        &port,
        "--json",
    ]);
    send.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let sent = run(&mut send);
    assert_eq!(sent.status.code(), Some(3), "{}", stderr(&sent));
    assert!(stderr(&sent).contains("cannot connect to 127.0.0.9"), "{}", stderr(&sent));
    let summary: Value = serde_json::from_slice(&sent.stdout).unwrap();
    assert_eq!(summary["complete"], false);
    assert!(summary["error"].as_str().unwrap().starts_with("cannot connect to"), "{summary}");
}

#[test]
fn a_receiver_is_found_by_name() {
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    let mut send = polypath();
    send.args(["send", "Cargo.toml", "--to", "localhost", "--encapsulation-port", &receiver.port]);
    let sent = run(&mut send);
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert_eq!(receiver.files(), ["Cargo.toml"]);
    assert!(receiver.wait().0.success());
}

#[test]
fn wrong_usage_is_told_before_anything_is_sent() {
    let table: &[(&[&str], i32, &str)] = &[
        (&["send", "--to", "127.0.0.1"], 2, "<FILE>"),
        (&["send", "missing", "--to", "127.0.0.1"], 2, "missing"),
        (&["send", "/dev/null", "--to", "127.0.0.1"], 2, "not a regular file"),
        (&["send", "-", "--to", "127.0.0.1"], 2, "give it one with --name"),
        (
            &["send", "-", "Cargo.toml", "--name", "a", "--to", "127.0.0.1"],
            2,
            "cannot be sent together with files",
        ),
        (
            &["send", "Cargo.toml", "--name", "a", "--to", "127.0.0.1"],
            2,
            "--name is for standard input",
        ),
        (&["send", "-", "--name", "../up", "--to", "127.0.0.1"], 2, "is a directory"),
        (
            &["send", "Cargo.toml", "--to", "127.0.0.1", "--limit-rate", "1 kbit/s"],
            2,
            "at least 16 kbit/s",
        ),
        (
            &["receive", "--listen", "127.0.0.1", "--out", ".", "--overwrite", "--skip-existing"],
            2,
            "cannot be used with",
        ),
        (
            &["receive", "--listen", "127.0.0.1", "--out", "-", "--json"],
            2,
            "leaves no place there for --json",
        ),
        (&["send", "Cargo.toml", "--to", "fe80::1"], 2, "as in fe80::1%eth0"),
        (&["receive", "--listen", "fe80::1", "--out", "."], 2, "as in fe80::1%eth0"),
        (
            &["send", "Cargo.toml", "--to", "127.0.0.1", "--from", "::1"],
            3,
            "127.0.0.1 is reached from 127.0.0.1",
        ),
        (
            &["send", "Cargo.toml", "src/../Cargo.toml", "--to", "127.0.0.1"],
            2,
            "would both be named \"Cargo.toml\"",
        ),
        (
            &["send", "Cargo.toml", "--to", "127.0.0.1", "--set", "send_buffer_bytes=100"],
            2,
            "at least 4096",
        ),
        (&["send", "Cargo.toml", "--to", "127.0.0.1:9899"], 2, "--encapsulation-port the UDP port"),
        (
            &["send", "Cargo.toml", "--to", "127.0.0.1", "--from", "localhost"],
            2,
            "not an IP address",
        ),
        (
            &["send", "Cargo.toml", "--to", "127.0.0.1", "--set", "mtu_byte=1"],
            2,
            "did you mean 'mtu_bytes'?",
        ),
        (&["send", "Cargo.toml", "--to", "127.0.0.1", "--preset", "cnt"], 2, "cmt"),
        (
            &["send", "Cargo.toml", "--to", "127.0.0.1", "--encapsulation-port", "0"],
            2,
            "--encapsulation-port",
        ),
        (
            &["send", "Cargo.toml", "--to", "127.0.0.1", "--from", "192.0.2.1"],
            5,
            "name one that an interface has",
        ),
        (&["receive", "--listen", "192.0.2.1", "--out", "."], 5, "name one that an interface has"),
        (
            &["receive", "--listen", "127.0.0.1", "--encapsulation-port", "0", "--out", "no/in"],
            2,
            "there is no directory no; make it first",
        ),
        (
            &["receive", "--listen", "127.0.0.1", "--encapsulation-port", "0", "--out", "build.rs"],
            2,
            "build.rs: that is a file and not a directory",
        ),
        #[cfg(target_os = "linux")]
        (
            &["receive", "--listen", "127.0.0.1", "--encapsulation-port", "0", "--out", "/proc"],
            2,
            "no file can be made there",
        ),
        #[cfg(not(target_os = "linux"))]
        (
            &["receive", "--listen", "0.0.0.0", "--out", "."],
            2,
            "0.0.0.0 is not the address of an interface",
        ),
    ];
    for (arguments, code, text) in table {
        let output = run(polypath().args(*arguments).current_dir(env!("CARGO_MANIFEST_DIR")));
        assert_eq!(output.status.code(), Some(*code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(text), "{arguments:?}: {}", stderr(&output));
    }
}
