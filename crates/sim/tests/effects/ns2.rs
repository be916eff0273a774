//! Rules of ns-2.35, with what that tool itself takes for the same transfers (Debian's package `ns2`, scripts/ns2): seconds from
//! the first DATA to the arrival of the last one.

use crate::{Covered, effect, run};

const ONE_PATH: &str = include_str!("../../../../scripts/ns2/one-path.toml");
const TWO_PATHS: &str = include_str!("../../../../scripts/ns2/two-paths.toml");

/// The packets with TSN 100 of one path, and with 60, 170 and 100 of two.
const ONE_LOSES_100: &str = "network.disjoint.paths.path 1.bottleneck.forward.lost_packets=[102]";
const TWO_LOSE_60: &str = "network.disjoint.paths.path 1.bottleneck.forward.lost_packets=[33]";
const TWO_LOSE_170: &str = "network.disjoint.paths.path 1.bottleneck.forward.lost_packets=[77]";
const TWO_LOSE_100: &str = "network.disjoint.paths.path 2.bottleneck.forward.lost_packets=[55]";

/// One value of a key, as ns-2 has it or not, in a scenario in which that shows.
const fn rule(
    key: &'static str,
    value: &'static str,
    against: &'static str,
    scenario: &'static str,
    set: &'static [&'static str],
) -> Covered {
    let effect = effect!(each_rule_is_needed);
    Covered { key, value, against, scenario, set, effect }
}

pub(crate) const COVERAGE: &[Covered] = &[
    rule("delayed_ack.on_gap", "while-open", "immediate", ONE_PATH, &[ONE_LOSES_100]),
    rule("delayed_ack.count", "sack-flags-in-gaps", "sack-flags", TWO_PATHS, &[TWO_LOSE_170]),
    rule("advertised_window.bytes_counted", "with-header", "payload", TWO_PATHS, &[]),
    rule("advertised_window.bytes_counted", "payload", "with-header", TWO_PATHS, &[]),
    rule("advertised_window.updates", "off", "on", TWO_PATHS, &[]),
    rule("advertised_window.updates", "on", "off", TWO_PATHS, &[]),
    rule("window.avoidance", "of-full-window", "all", TWO_PATHS, &[TWO_LOSE_60]),
    rule("window.avoidance", "all", "of-full-window", TWO_PATHS, &[TWO_LOSE_60]),
    rule("window.recovery_growth", "on", "off", TWO_PATHS, &[TWO_LOSE_60]),
    rule("window.recovery_growth", "off", "on", TWO_PATHS, &[TWO_LOSE_60]),
    rule("burst", "{ max-burst-once = 4 }", "off", ONE_PATH, &[ONE_LOSES_100]),
    rule(
        "burst",
        "{ max-burst-from-retransmission = 4 }",
        "{ max-burst-once = 4 }",
        TWO_PATHS,
        &[TWO_LOSE_100],
    ),
    rule("path_order", "rotating-new-data", "rotating", TWO_PATHS, &[TWO_LOSE_60]),
];

fn seconds(scenario: &str, edits: &[&str]) -> f64 {
    let result = run(scenario, edits);
    let begin = result.association.established_s.expect("an association");
    result.completed_s.expect("a whole file") - begin
}

/// Over two paths a peer of ours sends its first SACKs over the path that it has confirmed, which is 0.37 ms quicker.
#[test]
fn transfers_take_as_long_as_in_ns2() {
    for (scenario, edits, ns2) in [
        (ONE_PATH, &["sctp.receive_buffer=8 KiB"][..], 8.2814),
        (ONE_PATH, &["sctp.receive_buffer=16 KiB"], 3.4410),
        (ONE_PATH, &["sctp.receive_buffer=24 KiB"], 2.3624),
        (ONE_PATH, &["sctp.receive_buffer=32 KiB"], 1.8207),
        (ONE_PATH, &["sctp.receive_buffer=48 KiB"], 1.4368),
        (ONE_PATH, &[], 1.2514),
        (ONE_PATH, &["sctp.receive_buffer=8 KiB", "sctp.policies.delayed_ack.packets=1"], 6.6359),
        (ONE_PATH, &["sctp.receive_buffer=24 KiB", "sctp.policies.delayed_ack.packets=1"], 2.2457),
        (ONE_PATH, &["sctp.policies.delayed_ack.packets=1"], 1.0612),
        (ONE_PATH, &[ONE_LOSES_100], 1.8557),
        (
            ONE_PATH,
            &["network.disjoint.paths.path 1.bottleneck.forward.lost_packets=[22, 37]"],
            3.9260,
        ),
        (TWO_PATHS, &[], 0.9837),
        (TWO_PATHS, &["sctp.receive_buffer=128 KiB"], 0.6972),
        (TWO_PATHS, &[TWO_LOSE_60], 1.3711),
        (TWO_PATHS, &[TWO_LOSE_100], 1.3726),
        (TWO_PATHS, &[TWO_LOSE_170], 1.3235),
    ] {
        let ours = seconds(scenario, edits);
        assert!((ours - ns2).abs() < 6e-4, "{edits:?}: {ours:.4} s, {ns2} s in ns-2");
    }
}

/// Without any one of them, a transfer takes another time than in ns-2.
#[test]
fn each_rule_is_needed() {
    let differs = |scenario: &str, edits: &[&str], change: &str, ns2: f64| {
        let ours = seconds(scenario, &[edits, &[change]].concat());
        assert!((ours - ns2).abs() > 1e-3, "{change}: {ours:.4} s, {ns2} s in ns-2");
    };
    let one_loss = &[ONE_LOSES_100][..];
    for (edits, change, ns2) in [
        (&["sctp.receive_buffer=24 KiB"][..], "association.reads=after-sack", 2.3624),
        (&[], "sctp.policies.advertised_window.bytes_counted=payload", 1.2514),
        (one_loss, "sctp.policies.advertised_window.updates=on", 1.8557),
        (one_loss, "sctp.policies.delayed_ack.on_gap=immediate", 1.8557),
        (one_loss, "sctp.policies.burst=off", 1.8557),
        (one_loss, "sctp.policies.burst={ max-burst-from-retransmission = 4 }", 1.8557),
    ] {
        differs(ONE_PATH, edits, change, ns2);
    }
    for (loss, change, ns2) in [
        (TWO_LOSE_60, "sctp.policies.window.avoidance=all", 1.3711),
        (TWO_LOSE_60, "sctp.policies.window.recovery_growth=off", 1.3711),
        (TWO_LOSE_60, "sctp.policies.path_order=rotating", 1.3711),
        (TWO_LOSE_100, "sctp.policies.burst={ max-burst-once = 4 }", 1.3726),
        (TWO_LOSE_170, "sctp.policies.delayed_ack.count=sack-flags", 1.3235),
    ] {
        differs(TWO_PATHS, &[loss], change, ns2);
    }
}
