//! `polypath bmin` from outside.

#[allow(dead_code)]
mod common;

use common::{polypath, texts};
use serde_json::Value;

fn json(arguments: &[&str]) -> Value {
    let output = polypath(&[&["bmin", "--json"], arguments].concat());
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    serde_json::from_str(&out).expect("JSON")
}

#[test]
fn the_papers_examples() {
    // 100/100 Mbit/s, RTO 1 s, RTT 110 ms: about 32 MiB.
    let path = ["--path", "100 Mbit/s, 110 ms"];
    let both = json(&[&path[..], &path].concat());
    assert_eq!(both["timeout_bytes"], 33_250_000);
    assert_eq!(both["fast_retransmission_bytes"], 5_500_000);
    let output = polypath(&[&["bmin"], &path[..], &path].concat());
    assert!(texts(&output).0.contains("31.71 MiB"), "{}", texts(&output).0);
    // 65,536 bytes in 10 ms: 52 Mbit/s.
    let ceiling = json(&["--path", "100 Mbit/s, 10 ms", "--window", "65536 B"]);
    assert_eq!(ceiling["paths"][0]["window_allows_bit_s"], 52_428_800);
}

#[test]
fn the_slowest_path_counts() {
    let answer = json(&["--path", "10 Mbit/s, 20 ms", "--path", "1 Mbit/s, 400 ms, 2 s"]);
    assert_eq!(answer["fast_retransmission_bytes"], 1_100_000);
    assert_eq!(answer["timeout_bytes"], 4_400_000);
    assert_eq!(answer["paths"][0]["rto_s"], 1.0);
}

#[test]
fn mistakes_are_usage_errors() {
    for arguments in [&["--path", "10 Mbit/s"][..], &["--path", "10 Mbit/s, 5"], &[]] {
        let output = polypath(&[&["bmin"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_wrong_part_of_a_path_is_named_with_its_reason() {
    for (path, part) in [
        ("100 Mbits, 10 ms", "rate: "),
        ("100 Mbit/s, 10", "round-trip time: `10` has no unit"),
        ("100 Mbit/s, 10 ms, 1", "retransmission timeout: `1` has no unit"),
    ] {
        let output = polypath(&["bmin", "--path", path]);
        let (_, err) = texts(&output);
        assert!(err.contains(part) && !err.contains(&format!("{part}\n")), "{err}");
    }
}
