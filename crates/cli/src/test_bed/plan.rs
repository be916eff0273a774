//! Converts a scenario to links and arguments of the meter.

use std::time::Duration;

use polypath::AssociationConfig;
use polypath_emulate::{ETHERNET, MOST_LINKS, ShapedLink, Side, TestBed};
use polypath_lab::study::text;
use polypath_netsim::topology::IpVersion;
use polypath_sim::Scenario;
use polypath_sim::scenario::{
    AssociationPlan, Carrier, Delivery, DisjointNetwork, Flow, HostName, Link, LinkDirection, Loss,
    Network, Queue, QueueLimit, SctpSettings, Source, WirePath,
};
use polypath_units::{ByteCount, Duration as Simulated, Fraction};
use polypath_workload::Distribution;
use serde_json::Value;

/// The measurement to run.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Plan {
    /// The links, one for each path.
    pub links: Vec<ShapedLink>,
    /// Names of the paths.
    pub names: Vec<String>,
    /// Arguments of the meter on host b.
    pub server: Vec<String>,
    /// Arguments of the meter on host a.
    pub client: Vec<String>,
    /// How long it takes.
    pub time: Duration,
}

impl Plan {
    /// The plan for a scenario.
    ///
    /// # Errors
    /// The scenario needs something that a test bed does not support.
    pub fn of(scenario: &Scenario, seed: u64) -> Result<Self, String> {
        let Some(settings) = scenario.test_bed else {
            return Err("the scenario has no `test_bed`".into());
        };
        if let Some(problem) = problem(scenario) {
            return Err(format!("a test bed has {problem}"));
        }
        let mtu = scenario.sctp_of(0, HostName::A).mtu;
        let paths = scenario.network.paths();
        let link = |path: &WirePath| ShapedLink {
            rate: path.bottleneck.rate,
            framing: path.bottleneck.framing,
            burst: settings.burst,
            queue: limit(path.bottleneck.queue, mtu).unwrap_or_default(),
            mtu,
        };
        let addresses = |side| {
            let all = (0..paths.len()).map(|link| TestBed::address(side, link).to_string());
            all.collect::<Vec<_>>().join(",")
        };
        let transport = |host, side| -> Result<Vec<String>, String> {
            let mut arguments = vec!["-B".to_owned(), addresses(side)];
            if settings.carrier == Carrier::Ip {
                arguments.push("--raw".into());
            }
            arguments.extend(policies(scenario.sctp_of(0, host))?);
            Ok(arguments)
        };
        let server = [vec!["server".to_owned()], transport(HostName::B, Side::B)?].concat();
        let client = [
            vec!["client".to_owned(), addresses(Side::B)],
            transport(HostName::A, Side::A)?,
            traffic(scenario, seed)?,
        ];
        Ok(Self {
            links: paths.iter().map(link).collect(),
            names: paths.iter().map(|path| path.name.clone()).collect(),
            server,
            client: client.concat(),
            time: Duration::from_nanos(scenario.run.duration.as_nanos()),
        })
    }
}

/// Names what a scenario needs and a test bed does not support.
fn problem(scenario: &Scenario) -> Option<&'static str> {
    let Scenario { network, external, association, traffic, faults, steps, .. } = scenario;
    let Network::Disjoint(DisjointNetwork { ip: IpVersion::V4, paths }) = network else {
        return Some("disjoint paths with IPv4 addresses");
    };
    let usual = AssociationPlan { client: association.client.clone(), ..Default::default() };
    let all = [
        (external.is_empty(), "no external hosts: all of its hosts are real"),
        (faults.is_empty() && steps.is_empty(), "no faults and steps"),
        (*association == usual, "associations that begin at once, over all paths"),
        (paths.len() <= MOST_LINKS, "no more than 200 paths"),
        (
            paths.iter().all(|path| {
                *path == plain(path) && limit(path.bottleneck.queue, ByteCount::ZERO).is_some()
            }),
            "links with a rate, framing of 14 B (Ethernet) or more and a drop-tail queue of bytes or packets, without delay, losses and access links",
        ),
        (
            matches!(&traffic[..], [flow] if is_plain(flow)),
            "one flow, saturated, reliable and from host a, in messages of one length",
        ),
    ];
    all.into_iter().find(|(is_so, _)| !is_so).map(|(_, words)| words)
}

/// A path with nothing but rate, framing and queue.
fn plain(path: &WirePath) -> WirePath {
    let bottleneck = Link {
        rate: path.bottleneck.rate,
        queue: path.bottleneck.queue,
        delay: Simulated::ZERO,
        framing: path.bottleneck.framing.max(ETHERNET),
        mtu: None,
        loss: Loss::default(),
        gilbert_elliott: None,
        bit_errors: None,
        jitter: None,
        reordering: None,
        duplication: Fraction::default(),
        rate_trace: None,
        forward: LinkDirection::default(),
        backward: LinkDirection::default(),
    };
    WirePath {
        name: path.name.clone(),
        access: None,
        before: Vec::new(),
        bottleneck,
        after: Vec::new(),
    }
}

/// What a queue holds.
fn limit(queue: Queue, mtu: ByteCount) -> Option<ByteCount> {
    match queue {
        Queue::DropTail(QueueLimit::Bytes(bytes)) => Some(bytes),
        Queue::DropTail(QueueLimit::Packets(packets)) => {
            let frame = mtu.as_bytes() + ETHERNET.as_bytes();
            Some(ByteCount::from_bytes(packets.saturating_mul(frame)))
        }
        _ => None,
    }
}

fn is_plain(flow: &Flow) -> bool {
    flow.ends.from == HostName::A
        && flow.source == Source::Saturated
        && flow.stop.is_none()
        && flow.streams == 1
        && flow.reliability.is_none()
        && size(flow).is_some()
}

/// Bytes of each message.
fn size(flow: &Flow) -> Option<u64> {
    match &flow.message_size {
        Some(Distribution::Constant(size)) => Some(size.as_bytes()),
        _ => None,
    }
}

/// The flow, and how long it is measured. It begins as soon as the association is there; what the scenario does not
/// measure does not count.
fn traffic(scenario: &Scenario, seed: u64) -> Result<Vec<String>, String> {
    let flow = scenario.traffic.first().ok_or("there is no flow")?;
    let size = size(flow).unwrap_or_default();
    let unordered = u8::from(flow.delivery == Delivery::Unordered);
    let spec = format!("const0:const{size}:const0:const0:maxmsgsize={size}:unordered={unordered}");
    let run = scenario.run;
    let until = run.measure_until.unwrap_or(run.duration);
    let seconds = |from: Simulated, to: Simulated| {
        (to.as_nanos().saturating_sub(from.as_nanos()) as f64 / 1e9).to_string()
    };
    let omit = seconds(flow.start, run.measure_from);
    let time = seconds(run.measure_from, until);
    let seed = seed.to_string();
    let arguments =
        ["--flow", &spec, "-O", &omit, "-t", &time, "-i", "0", "--seed", &seed, "--json"];
    Ok(arguments.map(str::to_owned).to_vec())
}

/// The arguments that turn the defaults of the meter into these settings.
fn policies(settings: &SctpSettings) -> Result<Vec<String>, String> {
    let mut arguments = vec!["--preset".to_owned(), settings.preset.name().to_owned()];
    let json =
        |config: AssociationConfig| serde_json::to_value(config).map_err(|error| error.to_string());
    let wanted = json(settings.association_config())?;
    let begins = json(AssociationConfig::with_preset(settings.preset))?;
    let mut changes = Vec::new();
    differences("", &begins, &wanted, &mut changes);
    // Of these the meter has its own.
    for key in ["send_buffer_bytes", "receive_buffer_bytes"] {
        changes.retain(|(changed, _)| changed != key);
        changes.push((key.to_owned(), wanted[key].clone()));
    }
    for (key, value) in changes {
        arguments.extend(["--set".to_owned(), format!("{key}={}", toml_of(&value)?)]);
    }
    Ok(arguments)
}

/// Keys that differ, with their values in `wanted`. A choice with parameters is a value as a whole.
fn differences(prefix: &str, begins: &Value, wanted: &Value, found: &mut Vec<(String, Value)>) {
    if begins == wanted {
        return;
    }
    match (begins, wanted) {
        (Value::Object(begins), Value::Object(wanted)) if begins.keys().eq(wanted.keys()) => {
            for (key, value) in wanted {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                differences(&name, &begins[key], value, found);
            }
        }
        _ => found.push((prefix.to_owned(), wanted.clone())),
    }
}

/// A value as `--set` takes it.
fn toml_of(value: &Value) -> Result<String, String> {
    match value {
        Value::Null => Ok("none".into()),
        value => toml::Value::try_from(value)
            .map(|value| text(&value))
            .map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use polypath_sim::document::Document;

    use super::*;

    const TEXT: &str = r#"
        title = "a"
        [run]
        duration = "4 s"
        measure_from = "1 s"
        [network.disjoint]
        paths = [
            { name = "one", bottleneck = { rate = "10 Mbit/s", delay = "0 s", framing = "14 B" } },
            { name = "two", bottleneck = { rate = "5 Mbit/s", delay = "0 s", framing = "38 B" } },
        ]
        [test_bed]
        carrier = "ip"
        [sctp]
        preset = "cmt"
        send_buffer = "1 MB"
        policies.rto.min = "200 ms"
        policies.burst = { max-burst = 8 }
        [[traffic]]
        name = "bulk"
        source = "saturated"
        message_size = "1452 B"
        delivery = "unordered"
    "#;

    fn plan(edits: &[&str]) -> Result<Plan, String> {
        let mut document = Document::parse("a.toml", TEXT).expect("TOML");
        edits.iter().for_each(|edit| document.set(edit).expect("an edit"));
        Plan::of(&Scenario::from_document(&document).expect("a scenario"), 7)
    }

    #[test]
    fn a_scenario_is_links_and_two_meters() {
        let plan = plan(&[]).expect("a plan");
        assert_eq!(plan.names, ["one", "two"]);
        assert_eq!(plan.links[1].rate, polypath_units::BitRate::from_mbit(5));
        assert_eq!(plan.links[1].framing, ByteCount::from_bytes(38));
        assert_eq!(plan.links[1].queue, ByteCount::from_bytes(100 * 1514));
        assert_eq!(plan.server[..4], ["server", "-B", "10.78.1.2,10.78.2.2", "--raw"]);
        assert_eq!(
            plan.client[..5],
            ["client", "10.78.1.2,10.78.2.2", "-B", "10.78.1.1,10.78.2.1", "--raw"]
        );
        let client = plan.client.join(" ");
        for part in [
            "--preset cmt",
            "--set policies.rto.min=200 ms",
            "--set policies.burst.max-burst=8",
            "--set send_buffer_bytes=1000000",
            "--flow const0:const1452:const0:const0:maxmsgsize=1452:unordered=1",
            "-O 1 -t 3",
        ] {
            assert!(client.contains(part), "{part}: {client}");
        }
        assert_eq!(plan.time, Duration::from_secs(4));
    }

    #[test]
    fn the_carrier_is_udp_unless_it_is_ip() {
        let plan = plan(&["test_bed.carrier=udp"]).expect("a plan");
        assert!(!plan.client.contains(&"--raw".to_owned()));
    }

    #[test]
    fn what_a_test_bed_does_not_have_is_said() {
        for (edit, told) in [
            ("network.disjoint.paths.one.bottleneck.delay=1 ms", "without delay"),
            ("network.disjoint.paths.one.bottleneck.loss.forward=1 %", "losses"),
            ("network.disjoint.paths.one.access={ rate = \"1 Gbit/s\" }", "access links"),
            ("network.disjoint.paths.one.bottleneck.framing=7 B", "14 B"),
            ("network.disjoint.ip=v6", "IPv4"),
            ("association.connect=1 s", "begin at once"),
            ("traffic.bulk.source={ file = \"1 MB\" }", "saturated"),
            ("traffic.bulk.from=b", "from host a"),
        ] {
            let error = plan(&[edit]).expect_err("no plan");
            assert!(error.contains(told), "{edit}: {error}");
        }
    }

    /// The settings that are passed to the meter lead to those of the scenario.
    #[test]
    fn policies_arrive_whole() {
        for preset in polypath::Preset::ALL {
            let edit = format!("sctp.preset={}", preset.name());
            let mut document = Document::parse("a.toml", TEXT).expect("TOML");
            document.set(&edit).expect("an edit");
            let scenario = Scenario::from_document(&document).expect("a scenario");
            let settings = scenario.sctp_of(0, HostName::A);
            let arguments = policies(settings).expect("arguments");
            let sets = arguments.iter().skip(2).filter(|text| *text != "--set").cloned();
            let found = crate::settings::association_config(*preset, &sets.collect::<Vec<_>>());
            let mut expected = settings.association_config();
            let found = found.expect("a configuration");
            // What only programs with a peer have: an end of patience, and what they say of themselves.
            expected.shutdown_guard = found.shutdown_guard;
            expected.adaptation_layer = found.adaptation_layer;
            assert_eq!(found, expected, "{}", preset.name());
        }
    }
}
