//! Scenarios with external hosts: how they are written, and that simulated flows go on beside raw packets.

use polypath_sim::document::Document;
use polypath_sim::{Live, Scenario, Simulation};
use polypath_units::{Duration, Instant};

/// A bottleneck that a pair of external hosts shares with a simulated TCP flow.
const SHARED: &str = r#"
title = "Shared"
[run]
duration = "4 s"
[[network.shared.routes]]
name = "core"
bottleneck = { rate = "10 Mbit/s", delay = "5 ms" }
[[network.shared.pairs]]
name = "real"
external = true
paths = [{ name = "p", route = "core", access = { rate = "1 Gbit/s", delay = "1 ms" } }]
[[network.shared.pairs]]
name = "simulated"
paths = [{ name = "p", route = "core", access = { rate = "1 Gbit/s", delay = "1 ms" } }]
[[traffic]]
name = "tcp"
pair = "simulated"
transport = "tcp"
source = "saturated"
message_size = "1448 B"
"#;

const DISJOINT: &str = r#"
title = "Disjoint"
[run]
duration = "1 s"
[[network.disjoint.paths]]
name = "left"
bottleneck = { rate = "10 Mbit/s", delay = "5 ms" }
"#;

fn read(text: &str) -> Result<Scenario, String> {
    let document = Document::parse("test.toml", text).unwrap();
    Scenario::from_document(&document).map_err(|error| error.to_string())
}

fn complaint(text: &str) -> String {
    read(text).unwrap_err()
}

#[test]
fn external_hosts_need_no_traffic_and_have_none() {
    let external = format!("{DISJOINT}[hosts.a]\nexternal = true\nsctp.mtu = \"1400 B\"\n");
    let scenario = read(&external).unwrap();
    let [only] = &scenario.external[..] else { panic!("{:?}", scenario.external) };
    assert_eq!((only.host, only.name.as_str(), only.mtu.as_bytes()), (0, "a", 1_400));
    let flow = "[[traffic]]\nname = \"x\"\nsource = \"saturated\"\nmessage_size = \"100 B\"\n";
    assert!(complaint(&format!("{external}{flow}")).contains("is an external host"));
    let back = flow.replace("[[traffic]]", "[[traffic]]\nfrom = \"b\"");
    let text = complaint(&format!("{external}{back}"));
    assert!(text.contains("traffic.0.to") || text.contains("to:"), "{text}");
    assert!(complaint(DISJOINT).contains("the key `traffic` is missing"));
    assert!(complaint(&format!("{DISJOINT}[hosts.a]\nexternal = false\n")).contains("traffic"));
}

#[test]
fn scenarios_without_external_hosts_serialize_as_ever() {
    let text = SHARED.replace("external = true", "");
    let flow = "[[traffic]]\nname = \"x\"\npair = \"real\"\nsource = \"saturated\"\nmessage_size = \"99 B\"\n";
    let scenario = read(&format!("{text}{flow}")).unwrap();
    assert!(scenario.external.is_empty());
    assert!(!serde_json::to_string(&scenario).unwrap().contains("external"));
}

/// Packets at half the rate of the bottleneck, through a run of the simulated flow.
fn delivered(scenario: &Scenario, seed: u64) -> (Vec<Instant>, f64) {
    let mut live = Live::new(scenario, seed).unwrap();
    let [a, b] = live.hosts() else { panic!("{:?}", live.hosts()) };
    assert_eq!((a.name.as_str(), b.name.as_str()), ("real/a", "real/b"));
    assert_eq!(a.ports[0].peers, [b.ports[0].address]);
    let mut packet = vec![0x45, 0, 0x04, 0xE2, 0, 0, 0, 0, 64, 17, 0, 0];
    for port in [&a.ports[0], &b.ports[0]] {
        let std::net::IpAddr::V4(ip) = port.address else { panic!("{port:?}") };
        packet.extend(ip.octets());
    }
    packet.resize(1_250, 0);
    let mut arrivals = Vec::new();
    for number in 0..2_000 {
        let now = Instant::ZERO + Duration::from_millis(2) * number;
        while let Some(delivery) = live.next_delivery(now) {
            assert_eq!((delivery.host, delivery.port), (1, 0));
            assert_eq!(delivery.frame.packet(), packet);
            arrivals.push(delivery.at);
        }
        assert_eq!(live.now(), now);
        live.send(0, packet.clone().into()).unwrap();
    }
    let result = live.finish().unwrap();
    (arrivals, result.flows[0].goodput_bit_s)
}

#[test]
fn simulated_flows_and_raw_packets_share_a_bottleneck() {
    let scenario = read(SHARED).unwrap();
    let (arrivals, goodput) = delivered(&scenario, 1);
    assert!((1_500..2_000).contains(&arrivals.len()), "{} packets", arrivals.len());
    assert!((2e6..6e6).contains(&goodput), "half of the link is taken: {goodput}");
    assert!(arrivals.is_sorted());
    // 1 ms to be sent and 7 ms on the way, at 10 and 1000 Mbit/s; then the queue of the other flow.
    let alone = Instant::ZERO + Duration::from_micros(8_020);
    assert_eq!(arrivals[0].max(alone), arrivals[0]);
    assert_eq!(delivered(&scenario, 1), (arrivals, goodput), "the same again");
}

#[test]
fn a_host_without_flows_does_nothing_by_itself() {
    let both = "[hosts.a]\nexternal = true\n[hosts.b]\nexternal = true\n";
    let scenario = read(&format!("{DISJOINT}{both}")).unwrap();
    let mut live = Live::new(&scenario, 1).unwrap();
    assert_eq!(live.next_delivery(Instant::ZERO + Duration::from_secs(5)), None);
    assert!(live.links().iter().all(|link| link.offered_packets == 0));
    assert_eq!(live.next_due(), Instant::FAR_FUTURE, "meters look until the end of the run only");
    // The simulator has nobody to run; `polypath sim` says so.
    assert!(Simulation::new(&scenario).unwrap().run().unwrap().flows.is_empty());
}
