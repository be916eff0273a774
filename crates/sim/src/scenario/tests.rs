use std::path::Path;

use polypath_proto::config::{
    AddressJoin, AssociationConfig, Burst, CwndUpdate, FastRecoveryScope, InitialCwnd, PathOrder,
    PmtuDiscovery, SplitFastRetransmit,
};
use polypath_units::{BitRate, ByteCount, Duration, Fraction, Instant};

use super::*;

const TEXT: &str = r#"
title = "A test"

[run]
duration = "10 s"
measure_from = "2 s"

[[network.disjoint.paths]]
name = "left"
access = { rate = "1 Gbit/s" }

[network.disjoint.paths.bottleneck]
rate = "100 Mbit/s"
delay = "1 ms"
framing = "7 B"
queue = { drop-tail = { packets = 100 } }
loss = { forward = "1 %" }

[[network.disjoint.paths]]
name = "right"
bottleneck = { rate = "10 Mbit/s", delay = "45 ms" }

[sctp]
preset = "cmt"
send_buffer = "5 MB"

[sctp.policies]
cwnd_update = "normal"

[sctp.policies.window]
initial_cwnd = { bytes = 4380 }

[hosts.b.sctp]
receive_buffer = "64 KiB"

[[traffic]]
name = "bulk"
source = { file = "8 MiB" }
message_size = "1452 B"
delivery = "unordered"
start = "1 s"

[[faults]]
outage = { path = "right", from = "3 s", until = "4 s" }
"#;

fn document(text: &str) -> Document {
    Document::parse("test.toml", text).unwrap()
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_document(&document(text)).unwrap_or_else(|error| panic!("{error}"))
}

fn error_with(from: &str, to: &str) -> String {
    assert!(TEXT.contains(from), "{from}");
    Scenario::from_document(&document(&TEXT.replacen(from, to, 1))).unwrap_err().to_string()
}

#[test]
fn a_scenario_is_read() {
    let scenario = scenario(TEXT);
    assert_eq!(scenario.run.seed, 1);
    let [left, right] = scenario.network.paths() else { panic!("two paths") };
    assert_eq!(left.access.map(|access| access.rate), Some(BitRate::from_gbit(1)));
    assert_eq!(left.bottleneck.loss.forward, Fraction::from_percent(1));
    assert!(left.bottleneck.loss.backward.is_zero());
    assert_eq!(right.access, None);
    assert_eq!(scenario.traffic[0].source, Source::File(ByteCount::from_mib(8)));
    assert_eq!(scenario.traffic[0].from.as_deref(), Some("a"));
    assert_eq!(scenario.traffic[0].ends, FlowEnds::default());
}

#[test]
fn sctp_settings_lie_in_layers() {
    let scenario = scenario(TEXT);
    let [a, b] = &scenario.sctp[..] else { panic!("two hosts") };
    for host in [a, b] {
        assert_eq!(host.send_buffer, ByteCount::from_bytes(5_000_000));
        assert_eq!(host.policies.cwnd_update, CwndUpdate::Normal);
        assert_eq!(host.policies.window.initial_cwnd, InitialCwnd::Bytes(4380));
        assert_eq!(host.policies.fast_retransmit.split, SplitFastRetransmit::Sfr);
    }
    assert_eq!(b.receive_buffer, ByteCount::from_bytes(64 << 10));
    assert_eq!(a.receive_buffer, SctpSettings::of_preset(Preset::Cmt).receive_buffer);
}

#[test]
fn keys_go_before_presets_and_those_of_a_host_before_those_of_both() {
    let mut document = document(TEXT);
    document.set("hosts.b.sctp.preset=rfc9260").unwrap();
    document.set("hosts.b.sctp.policies.burst=off").unwrap();
    document.set("sctp.policies.path_order=rotating").unwrap();
    let sctp = Scenario::from_document(&document).unwrap().sctp;
    let [a, b] = &sctp[..] else { panic!("two hosts") };
    // The host's preset goes before the one of both.
    assert_eq!((a.preset, b.preset), (Preset::Cmt, Preset::Rfc9260));
    assert_eq!(a.policies.fast_recovery, FastRecoveryScope::PerPath);
    assert_eq!(b.policies.fast_recovery, FastRecoveryScope::AssociationWide);
    // A key of both goes before any preset.
    for host in [a, b] {
        assert_eq!(host.policies.path_order, PathOrder::Rotating);
        assert_eq!(host.policies.cwnd_update, CwndUpdate::Normal);
    }
    // A key of the host goes before everything.
    assert_eq!((a.policies.burst, b.policies.burst), (Burst::MaxBurst(4), Burst::Off));
    assert_eq!(b.receive_buffer, ByteCount::from_bytes(64 << 10));
}

#[test]
fn every_setting_of_a_preset_survives_being_written_and_read() {
    for &preset in Preset::ALL {
        let settings = SctpSettings::of_preset(preset);
        let layers = [Layer::Defaults(sctp::defaults(preset).unwrap())];
        let read: SctpSettings = Document::empty("empty").decode(&layers).unwrap();
        assert_eq!(read, settings);
        let config = read.association_config();
        // A preset leaves it to whoever has the sockets; here that is the scenario.
        let pmtu_discovery = Some(PmtuDiscovery::Fixed);
        // And no address translator is simulated.
        let address_join = AddressJoin::Off;
        let of_preset = AssociationConfig::with_preset(preset);
        assert_eq!(config, AssociationConfig { pmtu_discovery, address_join, ..of_preset });
    }
}

#[test]
fn limits_that_no_preset_has_reach_the_association() {
    let mut document = self::document(TEXT);
    for (key, value) in [
        ("partial_delivery_point", "8 KiB"),
        ("max_fragment", "500 B"),
        ("shutdown_guard", "9 s"),
        ("autoclose", "20 s"),
    ] {
        document.set(&format!("hosts.b.sctp.{key}={value}")).unwrap();
    }
    let sctp = Scenario::from_document(&document).unwrap().sctp;
    let [a, b] = [&sctp[0], &sctp[1]].map(SctpSettings::association_config);
    assert_eq!((a.partial_delivery_point, a.max_fragment_bytes), (None, None));
    assert_eq!((b.partial_delivery_point, b.max_fragment_bytes), (Some(8192), Some(500)));
    assert_eq!(b.shutdown_guard, Some(Duration::from_secs(9)));
    assert_eq!(b.autoclose, Some(Duration::from_secs(20)));
    for (key, value, problem) in [
        ("max_fragment", "3 B", "sctp.max_fragment: 3 is not from 16 to 65535"),
        (
            "partial_delivery_point",
            "1 GiB",
            "sctp.partial_delivery_point: 1073741824 is not from 1 to 65536",
        ),
        ("autoclose", "0 s", "sctp.autoclose: must not be zero; leave it out for none"),
        ("shutdown_guard", "0 s", "sctp.shutdown_guard: must not be zero; leave it out for none"),
    ] {
        document.set(&format!("hosts.b.sctp.{key}={value}")).unwrap();
        let error = Scenario::from_document(&document).unwrap_err().to_string();
        assert!(error.ends_with(problem), "{error}");
        document = self::document(TEXT);
    }
}

#[test]
fn mistakes_are_named_with_file_line_key_and_nearest_key() {
    for (from, to, message) in [
        (
            "framing",
            "framign",
            "test.toml:15:1: network.disjoint.paths.0.bottleneck: unknown key `framign`\n  did you mean `framing`? keys \
             here: `rate`, `delay`, `framing`, `mtu`, `queue`, `loss`, `gilbert_elliott`, `bit_errors`, `jitter`, \
             `reordering`, `duplication`, `rate_trace`, `forward`, `backward`",
        ),
        (
            "cwnd_update = \"normal\"",
            "cwnd_update = \"nomal\"",
            "test.toml:28:15: sctp.policies.cwnd_update: `nomal` is not a choice here\n  did you mean `normal`? choices: \
             `normal`, `pseudo-cum-ack`, `pseudo-cum-ack-v2`",
        ),
        (
            "[hosts.b.sctp]\nreceive_buffer",
            "[hosts.b.sctp]\nreceive_bufer",
            "test.toml:34:1: hosts.b.sctp: unknown key `receive_bufer`\n  did you mean `receive_buffer`? keys here: \
             `preset`, `send_buffer`, `receive_buffer`, `mtu`, `pmtu_discovery`, `outbound_streams`, `max_inbound_streams`, \
             `path_pairing`, `address_join`, `max_paths`, `association_max_retrans`, `path_max_retrans`, `max_init_retransmits`, \
             `heartbeat`, `heartbeat_max_burst`, `cookie_life`, `partial_delivery_point`, `max_fragment`, `shutdown_guard`, \
             `autoclose`, `policies`",
        ),
        (
            "preset = \"cmt\"",
            "preset = \"ctm\"",
            "test.toml:24:10: sctp.preset: `ctm` is not a choice here\n  did you mean `cmt`? choices: \
             `rfc9260`, `cmt`, `cmt-pf`, `cmt-rp-v1`, `cmt-rp-v2`, `lia`, `olia`, `balia`, `dreibholz-asymmetric`, \
             `ns2-2005`, `ns2-2.35`, `inet`, `recommended`",
        ),
        (
            "path = \"right\"",
            "path = \"rigth\"",
            "test.toml:44:19: faults.0.outage.path: there is no path `rigth`; did you mean `right`? paths: `left`, `right`",
        ),
        ("title = \"A test\"\n", "", "test.toml:1:1: the key `title` is missing"),
        (
            "measure_from = \"2 s\"",
            "measure_from = \"10 s\"",
            "test.toml:6:16: run.measure_from: lies at the end of the run or after it (10 s)",
        ),
        (
            "start = \"1 s\"",
            "start = \"10 s\"",
            "test.toml:41:9: traffic.0.start: lies at the end of the run or after it (10 s)",
        ),
        (
            "message_size = \"1452 B\"",
            "message_size = \"4 B\"",
            "test.toml:39:16: traffic.0.message_size: must be at least 8 B",
        ),
        (
            "name = \"right\"",
            "name = \"left\"",
            "test.toml:20:8: network.disjoint.paths.1.name: there is another path `left`",
        ),
    ] {
        assert_eq!(error_with(from, to), message);
    }
}

#[test]
fn a_quantity_without_unit_is_refused() {
    let error = error_with("rate = \"100 Mbit/s\"", "rate = 100");
    assert!(
        error.starts_with(
            "test.toml:13:8: network.disjoint.paths.0.bottleneck.rate: expected a data rate as text"
        ),
        "{error}"
    );
    let error = error_with("delay = \"1 ms\"", "delay = \"1 msec\"");
    assert!(
        error.contains("test.toml:14:9: network.disjoint.paths.0.bottleneck.delay:"),
        "{error}"
    );
}

#[test]
fn edits_are_reported_as_such() {
    let mut document = document(TEXT);
    document.set("network.disjoint.paths.left.bottleneck.rate=0 bit/s").unwrap();
    let error = Scenario::from_document(&document).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set network.disjoint.paths.left.bottleneck.rate: network.disjoint.paths.0.bottleneck.rate: must not be zero"
    );
}

#[test]
fn settings_that_no_association_can_work_with_are_refused() {
    for (edit, key) in [
        ("sctp.mtu=100 B", "sctp.mtu"),
        ("sctp.receive_buffer=1 KiB", "sctp.receive_buffer"),
        ("hosts.b.sctp.receive_buffer=1 KiB", "hosts.b.sctp.receive_buffer"),
        ("sctp.send_buffer=0 B", "sctp.send_buffer"),
        ("sctp.send_buffer=1025 MiB", "sctp.send_buffer"),
        ("hosts.a.sctp.send_buffer=1 TB", "hosts.a.sctp.send_buffer"),
        ("sctp.outbound_streams=0", "sctp.outbound_streams"),
        ("hosts.b.sctp.max_inbound_streams=0", "hosts.b.sctp.max_inbound_streams"),
        ("sctp.max_paths=0", "sctp.max_paths"),
        ("sctp.max_paths=33", "sctp.max_paths"),
        ("sctp.heartbeat_max_burst=0", "sctp.heartbeat_max_burst"),
        ("sctp.cookie_life=0 s", "sctp.cookie_life"),
        ("sctp.policies.delayed_ack.packets=4", "sctp.policies.delayed_ack.packets"),
        ("sctp.policies.window.initial_cwnd.bytes=1499", "sctp.policies.window.initial_cwnd.bytes"),
        ("sctp.policies.rto.initial=61 s", "sctp.policies.rto.initial"),
        ("sctp.policies.fast_retransmit.threshold=0", "sctp.policies.fast_retransmit.threshold"),
        ("sctp.policies.delayed_ack.packets=0", "sctp.policies.delayed_ack.packets"),
        ("sctp.policies.delayed_ack.delay=501 ms", "sctp.policies.delayed_ack.delay"),
        ("sctp.policies.burst.max-burst=0", "sctp.policies.burst.max-burst"),
        ("sctp.policies.rto.min=61 s", "sctp.policies.rto.min"),
        ("sctp.policies.rto.min=0 s", "sctp.policies.rto.min"),
        ("sctp.policies.rto.alpha=nan", "sctp.policies.rto.alpha"),
        ("sctp.policies.rto.beta=1.5", "sctp.policies.rto.beta"),
        ("traffic.bulk.message_size=6 MB", "traffic.0.message_size"),
        ("traffic.bulk.reliability={ timed = \"0 s\" }", "traffic.0.reliability"),
        (
            "sctp.policies.partial_reliability={ timed = \"0 ms\" }",
            "sctp.policies.partial_reliability",
        ),
        ("traffic.bulk.streams=11", "traffic.0.streams"),
        ("traffic.bulk.stop=1 s", "traffic.0.stop"),
        ("traffic.bulk.name=a/b", "traffic.0.name"),
        ("association.connect=10 s", "association.connect"),
        ("faults.0.outage.from=10 s", "faults.0.outage.from"),
        ("network.disjoint.paths.0.name=a/b", "network.disjoint.paths.0.name"),
        ("network.disjoint.paths.0.name=a\\b", "network.disjoint.paths.0.name"),
        ("network.disjoint.paths.0.name=..", "network.disjoint.paths.0.name"),
        ("network.disjoint.paths.0.name= ", "network.disjoint.paths.0.name"),
        ("traffic.bulk.source.file=0 B", "traffic.0.source"),
        ("run.measure_until=1 s", "run.measure_until"),
        ("record.series=0 s", "record.series"),
        ("record.series=1 ns", "record.series"),
        ("record.occupancy=0 s", "record.occupancy"),
        ("record.occupancy=1 ns", "record.occupancy"),
    ] {
        let mut document = document(TEXT);
        document.set(edit).unwrap();
        let error = Scenario::from_document(&document).map(|_| ()).unwrap_err();
        assert_eq!(error.key, key, "{error}");
    }
}

#[test]
fn more_paths_than_associations_use_are_refused_unless_that_is_meant() {
    let mut text = String::from("title = \"many\"\n[run]\nduration = \"1 s\"\n");
    for path in 0..9 {
        text += &format!("[[network.disjoint.paths]]\nname = \"p{path}\"\n");
        text += "bottleneck = { rate = \"1 Mbit/s\", delay = \"1 ms\" }\n";
    }
    text += "[[traffic]]\nname = \"bulk\"\nsource = \"saturated\"\nmessage_size = \"1452 B\"\n";
    let error = Scenario::from_document(&document(&text)).unwrap_err();
    assert_eq!(error.key, "sctp.max_paths");
    assert!(error.message.starts_with("the network has 9 paths"), "{error}");
    for edit in ["sctp.max_paths=9", "sctp.max_paths=4"] {
        let mut document = document(&text);
        document.set(edit).unwrap();
        assert!(Scenario::from_document(&document).is_ok(), "{edit}");
    }
}

#[test]
fn a_flow_that_stops_before_the_association_begins_is_refused() {
    let mut document = document(TEXT);
    document.set("association.connect=2 s").unwrap();
    document.set("traffic.bulk.stop=1500 ms").unwrap();
    let error = Scenario::from_document(&document).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--set traffic.bulk.stop: traffic.0.stop: 1.5 s is not after the association begins at 2 s"
    );
}

#[test]
fn a_fraction_without_unit_is_refused() {
    for (value, message) in [
        ("\"1\"", "the fraction `1` has no unit: write for example \"1 %\" or \"1e-6\""),
        ("\"0.01\"", "the fraction `0.01` has no unit: write for example \"1 %\" or \"1e-6\""),
        (
            "0.01",
            "expected a fraction as text, for example \"1 %\" or \"1e-6\", found the number 0.01",
        ),
        ("1", "expected a fraction as text, for example \"1 %\" or \"1e-6\", found the number 1"),
    ] {
        let error = error_with("forward = \"1 %\"", &format!("forward = {value}"));
        let place = "test.toml:17:20: network.disjoint.paths.0.bottleneck.loss.forward: ";
        assert_eq!(error, format!("{place}{message}"));
    }
}

/// The keys of every impairment, for the bottleneck of `left`.
const IMPAIRED: &str = r#"
[[network.disjoint.paths.before]]
rate = "50 Mbit/s"
delay = "2 ms"

[network.disjoint.paths.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { drop-tail = { bdp = 2 } }
gilbert_elliott = { to_bad = "1 %", to_good = "30 %" }
bit_errors = { rate = "1e-7", damaged = "delivered" }
jitter = { extra = { uniform = { to = "3 ms" } } }
reordering = { probability = "1 %", extra_delay = "5 ms" }
duplication = "0.5 %"

[network.disjoint.paths.bottleneck.backward]
rate = "1 Mbit/s"
delay = "30 ms"
loss = "2 %"
jitter = { extra = { normal = { mean = "4 ms", deviation = "1 ms" } }, order = "overtake" }

[[network.disjoint.paths.after]]
rate = "50 Mbit/s"
delay = "3 ms"

[[steps]]
path = "left"
at = "5 s"
way = "forward"
rate = "5 Mbit/s"
delay = "40 ms"
loss = "3 %"
"#;

/// A scenario whose first path has everything.
fn impaired() -> String {
    let (start, rest) = TEXT.split_once("[network.disjoint.paths.bottleneck]").unwrap();
    let (_, rest) = rest.split_once("[[network.disjoint.paths]]").unwrap();
    let (link, steps) = IMPAIRED.split_once("[[steps]]").unwrap();
    format!("{start}{link}\n[[network.disjoint.paths]]{rest}\n[[steps]]{steps}")
}

#[test]
fn directions_of_a_link_have_their_own_parameters() {
    use polypath_netsim::impair::{Distribution, JitterOrder};
    use polypath_netsim::queue_discipline::Limit;
    use polypath_netsim::{Direction, QueueConfig};

    let scenario = scenario(&impaired());
    let config = crate::wiring::path(&scenario.network.paths()[0], &scenario);
    assert_eq!((config.before.len(), config.after.len()), (1, 1));
    let (forward, backward) = (&config.bottleneck.forward, &config.bottleneck.backward);
    assert_eq!((forward.rate, backward.rate), (BitRate::from_mbit(10), BitRate::from_mbit(1)));
    assert_eq!(backward.delay, Duration::from_millis(30));
    assert_eq!(
        (forward.uniform_loss, backward.uniform_loss),
        (Fraction::ZERO, Fraction::from_percent(2))
    );
    assert_eq!(forward.gilbert_elliott, backward.gilbert_elliott);
    assert_eq!(forward.duplication, backward.duplication);
    // 2 x (10 or 1 Mbit/s) x (20 + 30 + 2 * 2 + 2 * 3 ms).
    let bytes = |n| QueueConfig::DropTail(Limit::Bytes(ByteCount::from_bytes(n)));
    assert_eq!((forward.queue, backward.queue), (bytes(150_000), bytes(15_000)));
    let jitter = |channel: &polypath_netsim::ChannelConfig| channel.jitter.unwrap();
    assert_eq!(jitter(forward).order, JitterOrder::Keep);
    assert_eq!(jitter(backward).order, JitterOrder::Overtake);
    assert!(matches!(jitter(backward).extra, Distribution::Normal(_)));
    assert_eq!((forward.steps.len(), backward.steps.len()), (1, 0));
    assert_eq!(forward.steps[0].rate, Some(BitRate::from_mbit(5)));

    let forward_at = |seconds| {
        let now = Instant::ZERO + Duration::from_secs(seconds);
        crate::wiring::loss_rate(&config, Direction::Forward, 1_500, now)
    };
    assert!((forward_at(5) - forward_at(4) - 0.03 * (1.0 - forward_at(4))).abs() < 1e-9);
    let loss = crate::wiring::loss_rate(&config, Direction::Backward, 1_500, Instant::ZERO);
    let bursts = 0.01 / 0.31;
    let hit = 1.0 - (1.0f64 - 1e-7).powi(12_000);
    let mut oracle = crate::wiring::Oracle::new(vec![config]);
    let five = Instant::ZERO + Duration::from_secs(5);
    assert_eq!(oracle.next_change(), five);
    assert_eq!(
        [Instant::ZERO, five, five].map(|now| oracle.has_changed(now)),
        [false, true, false]
    );
    assert_eq!(oracle.next_change(), Instant::FAR_FUTURE);
    assert!((loss - (1.0 - 0.98 * (1.0 - bursts) * (1.0 - hit))).abs() < 1e-9, "{loss}");
}

#[test]
fn impairments_that_make_no_sense_are_refused() {
    let bottleneck = "network.disjoint.paths.0.bottleneck";
    for (edit, key) in [
        ("BN.queue.drop-tail.bdp=0", "BN.queue"),
        ("BN.queue={ red = { max = { packets = 10 } } }", "BN.queue.red.max"),
        ("BN.queue={ red = { mim = { packets = 10 } } }", "BN.queue.red"),
        ("BN.backward.queue={ codel = { target = '0 s' } }", "BN.backward.queue.codel.target"),
        ("BN.queue={ fq-codel = { flows = 0 } }", "BN.queue.fq-codel.flows"),
        ("BN.queue.drop-tail.bdp=0.01", "BN.queue"),
        ("BN.backward.queue.drop-tail.bdp=0.01", "BN.backward.queue"),
        ("BN.forward.rate=0 bit/s", "BN.forward.rate"),
        ("BN.jitter.extra.uniform.from=4 ms", "BN.jitter.extra.uniform.from"),
        ("BN.loss.backward=1 %", "BN.backward.loss"),
        (
            "network.disjoint.paths.0.before.0.rate=0 bit/s",
            "network.disjoint.paths.0.before.0.rate",
        ),
        ("BN.gilbert_elliott.to_bad=0.1", "BN.gilbert_elliott.to_bad"),
        ("steps.0.path=middle", "steps.0.path"),
        ("steps.0.at=10 s", "steps.0.at"),
        ("steps.0.rate=0 bit/s", "steps.0.rate"),
        ("steps=[{ path = 'left', at = '1 s' }]", "steps.0.at"),
        (
            "steps=[{ path = 'left', at = '1 s', loss = '1 %' }, { path = 'left', at = '1 s', delay = '1 s' }]",
            "steps.1.at",
        ),
    ] {
        let mut document = document(&impaired());
        document.set(&edit.replace("BN", bottleneck)).unwrap();
        let error = Scenario::from_document(&document).map(|_| ()).unwrap_err();
        assert_eq!(error.key, key.replace("BN", bottleneck), "{error}");
    }
}

/// A file of the project.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Settings of SCTP that `text` does not name.
fn settings_missing_in(text: &str) -> Vec<String> {
    fn keys(value: &toml::Value) -> Vec<String> {
        let toml::Value::Table(table) = value else { return Vec::new() };
        table.iter().flat_map(|(key, value)| keys(value).into_iter().chain([key.clone()])).collect()
    }
    let settings = SctpSettings::of_preset(Preset::Cmt);
    let all = keys(&toml::Value::try_from(settings).expect("TOML"));
    let document: toml::Value = toml::from_str(text).expect("TOML");
    let given = keys(&document["sctp"]);
    all.into_iter().filter(|key| !given.contains(key)).collect()
}

#[test]
fn the_documented_scenario_works_and_has_every_setting() {
    let text = file("docs/scenarios.md");
    let (_, rest) = text.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let read = scenario(example);
    assert_eq!((read.traffic.len(), read.faults.len()), (2, 2));
    assert_ne!(read.sctp[0], read.sctp[1]);
    assert_eq!(settings_missing_in(example), [""; 0]);
}

#[test]
fn the_documented_queues_are_the_defaults() {
    use polypath_netsim::queue_discipline::{CodelConfig, FqCodelConfig, RedConfig};
    let text = file("docs/scenarios.md");
    let (_, section) = text.split_once("## Queues").expect("a section");
    let (_, rest) = section.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let document: toml::Value = toml::from_str(example).expect("TOML");
    let queues = &document["network"]["disjoint"]["paths"]["bottleneck"]["queue"];
    let red: RedConfig = queues["red"].clone().try_into().expect("RED");
    assert_eq!(red, RedConfig::default());
    assert_eq!(queues["codel"], toml::Value::try_from(CodelConfig::default()).unwrap());
    assert_eq!(queues["fq-codel"], toml::Value::try_from(FqCodelConfig::default()).unwrap());
}

#[test]
fn scenarios_that_compare_with_other_tools_depend_on_no_preset() {
    for name in ["one-path", "cmt", "sfr-off", "cuc-normal"] {
        let text = file(&format!("scenarios/drop-tail-{name}.toml"));
        assert_eq!(settings_missing_in(&text), [""; 0], "{name}");
        let mut other = document(&text);
        other.set("sctp.preset=cmt").unwrap();
        let other = Scenario::from_document(&other).unwrap();
        let configs = |scenario: &Scenario| -> Vec<_> {
            scenario.sctp.iter().map(SctpSettings::association_config).collect()
        };
        assert_eq!(configs(&other), configs(&scenario(&text)), "{name}");
    }
}

#[test]
fn outages_of_a_path_do_not_overlap_in_a_direction() {
    let more = |way| {
        format!(
            "{TEXT}\n[[faults]]\noutage = {{ path = \"right\", from = \"3.5 s\", way = \"{way}\" }}\n"
        )
    };
    let error = Scenario::from_document(&document(&more("forward"))).unwrap_err();
    assert_eq!(error.key, "faults.1.outage.from");
    let one_way = more("forward").replace("until = \"4 s\"", "until = \"4 s\", way = \"backward\"");
    assert!(Scenario::from_document(&document(&one_way)).is_ok());
}

#[test]
fn flows_name_their_hosts() {
    let flow = |edits: &[&str]| {
        let mut document = document(TEXT);
        edits.iter().for_each(|edit| document.set(edit).unwrap());
        Scenario::from_document(&document).map(|scenario| scenario.traffic[0].ends)
    };
    let backward = FlowEnds { hosts: [1, 0], pair: 0, from: HostName::B };
    for (edits, expected) in [
        (&[][..], FlowEnds::default()),
        (&["traffic.bulk.to=b"], FlowEnds::default()),
        (&["traffic.bulk.from=b"], backward),
        (&["traffic.bulk.to=a", "traffic.bulk.from=b"], backward),
    ] {
        assert_eq!(flow(edits).unwrap(), expected, "{edits:?}");
    }
    for (edit, message) in [
        ("traffic.bulk.from=c", "traffic.0.from: there is no host `c`; hosts: `a`, `b`"),
        ("traffic.bulk.to=a", "traffic.0.to: `a` cannot send to itself"),
        (
            "traffic.bulk.pair=other",
            "traffic.0.pair: there is no pair `other`; this network has none",
        ),
        ("association.client=c", "association.client: there is no host `c`; hosts: `a`, `b`"),
        ("hosts.c.sctp.mtu=1400 B", "hosts.c: there is no host `c`; hosts: `a`, `b`"),
    ] {
        let error = flow(&[edit]).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
}
