//! Links with an MTU, and associations that look for it by probes (RFC 8899).

use std::io;
use std::sync::{Arc, Mutex};

use polypath_sim::document::Document;
use polypath_sim::{Form, RunResult, Scenario, Simulation};

/// Two paths, one of which carries packets of 1,400 bytes at most and says nothing of it.
const TEXT: &str = r#"
title = "a small MTU"
[run]
duration = "20 s"
[[network.disjoint.paths]]
name = "narrow"
bottleneck = { rate = "2 Mbit/s", delay = "10 ms", mtu = "1400 B" }
[[network.disjoint.paths]]
name = "wide"
bottleneck = { rate = "2 Mbit/s", delay = "10 ms" }
[sctp]
preset = "cmt"
pmtu_discovery = "probe"
[[traffic]]
name = "bulk"
source = "saturated"
message_size = "1440 B"
"#;

fn scenario(text: &str, edits: &[&str]) -> Scenario {
    let mut document = Document::parse("mtu.toml", text).expect("TOML");
    for edit in edits {
        document.set(edit).expect("an edit");
    }
    Scenario::from_document(&document).unwrap_or_else(|error| panic!("{error}"))
}

/// A file in memory.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("one thread").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same run in both forms.
fn run(edits: &[&str]) -> RunResult {
    let scenario = scenario(TEXT, edits);
    let [structured, mut wire] = [Form::Structured, Form::Wire].map(|form| {
        Simulation::with(&scenario, 1, form).expect("a network").run().expect("no capture")
    });
    wire.form = structured.form;
    assert_eq!(structured, wire);
    assert!(structured.is_ok(), "{structured:?}");
    structured
}

fn dropped(result: &RunResult, path: &str) -> u64 {
    let of_path = result.bottlenecks.iter().filter(|bottleneck| bottleneck.path == path);
    of_path.map(|bottleneck| bottleneck.dropped_too_large).sum()
}

#[test]
fn probes_find_the_mtu_of_each_path() {
    let result = run(&[]);
    let mtus: Vec<u32> = result.paths.iter().map(|path| path.mtu_bytes).collect();
    assert_eq!(mtus, [1400, 1500]);
    for path in &result.paths {
        assert!(path.goodput_bit_s > 1.6e6, "{}: {}", path.name, path.goodput_bit_s);
        assert_eq!(path.black_holes, 0, "{}", path.name);
    }
    let lost: u64 = result.paths.iter().map(|path| path.mtu_probes_lost).sum();
    assert!(lost > 0 && dropped(&result, "narrow") >= lost, "probes in both directions");
    assert_eq!(dropped(&result, "wide"), 0);
}

#[test]
fn without_probes_nothing_large_passes() {
    let fixed = run(&["sctp.pmtu_discovery=fixed"]);
    let by_name = |name: &str| fixed.paths.iter().find(|path| path.name == name).expect("a path");
    assert_eq!(by_name("narrow").goodput_bit_s, 0.0);
    assert_eq!(by_name("narrow").mtu_bytes, 1500);
    assert!(by_name("wide").goodput_bit_s > 0.0);
    assert!(dropped(&fixed, "narrow") > 0);
    let known = run(&["sctp.pmtu_discovery=fixed", "sctp.mtu=1400 B"]);
    assert_eq!(dropped(&known, "narrow"), 0);
    assert!(known.paths.iter().all(|path| path.goodput_bit_s > 1.6e6));
}

/// The route changes at 8 s, and nobody tells: data of the old size does not pass any more.
#[test]
fn a_black_hole_in_the_middle_is_found_and_left_again() {
    let hole = "steps=[{ path = 'wide', at = '8 s', mtu = '1300 B', way = 'forward' }]";
    let result = run(&[hole]);
    let wide = result.paths.iter().find(|path| path.name == "wide").expect("a path");
    // The search ends when the next size to try is hardly larger.
    assert!((1280..=1300).contains(&wide.mtu_bytes), "{}", wide.mtu_bytes);
    assert_eq!((wide.black_holes, wide.status), (1, "active"));
    assert!(dropped(&result, "wide") > 0);
    assert!(wide.goodput_bit_s > 1.4e6, "{}", wide.goodput_bit_s);
    // What was cut for 1,500 bytes before is sent again, and may be fragmented on its way.
    assert!(result.flows[0].messages_delivered > 5_000);
    let fixed =
        run(&[hole, "sctp.pmtu_discovery=fixed", "network.disjoint.paths.0.bottleneck.mtu=1500 B"]);
    let wide = fixed.paths.iter().find(|path| path.name == "wide").expect("a path");
    assert!(wide.goodput_bit_s < 1.2e6, "no data passes after 8 s: {}", wide.goodput_bit_s);
}

/// The same on both paths at once: no other one takes what was cut for 1,500 bytes.
#[test]
fn black_holes_on_every_path_are_left_again() {
    let holes = "steps=[{ path = 'wide', at = '8 s', mtu = '1300 B', way = 'forward' }, \
                 { path = 'narrow', at = '8 s', mtu = '1300 B', way = 'forward' }]";
    for preset in ["cmt", "recommended"] {
        let preset = format!("sctp.preset={preset}");
        let result = run(&[holes, &preset, "sctp.mtu=1500 B"]);
        for path in &result.paths {
            assert!((1200..=1300).contains(&path.mtu_bytes), "{}: {}", path.name, path.mtu_bytes);
            assert!(path.goodput_bit_s > 1e6, "{}: {}", path.name, path.goodput_bit_s);
        }
    }
}

#[test]
fn captures_say_why_a_packet_did_not_arrive() {
    let scenario = scenario(TEXT, &["run.duration=10 s"]);
    let mut simulation = Simulation::with(&scenario, 1, Form::Structured).expect("a network");
    let captured = Captured::default();
    let host = simulation.capturable().remove(0).0;
    simulation.capture(host, Box::new(captured.clone()));
    simulation.run().expect("a capture");
    let bytes = captured.0.lock().expect("one thread").clone();
    let comment = b": too-large";
    assert!(bytes.windows(comment.len()).any(|window| window == comment));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (edit, expected) in [
        ("network.disjoint.paths.0.bottleneck.mtu=60 B", "60 B is less than 68 B"),
        ("network.disjoint.paths.0.bottleneck.forward.mtu=60 B", "bottleneck.forward.mtu"),
        (
            "network.disjoint.paths.0.bottleneck.mtu=1400",
            "for example \"64 KiB\", found the number 1400",
        ),
        ("steps=[{ path = 'wide', at = '10 s', mtu = '1 B' }]", "steps.0.mtu"),
        ("steps=[{ path = 'wide', at = '10 s' }]", "give it rate, delay, loss or mtu"),
    ] {
        let mut document = Document::parse("mtu.toml", TEXT).expect("TOML");
        document.set(edit).expect("an edit");
        let error = Scenario::from_document(&document).expect_err(edit).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
