//! Kinds of traffic over an association: what is offered, what arrives, and when.

use polypath_sim::document::Document;
use polypath_sim::{FlowResult, Form, RunResult, Scenario, Simulation};

mod common;

const NETWORK: &str = r#"
    title = "Traffic"
    [run]
    duration = "60 s"
    [[network.disjoint.paths]]
    name = "path 1"
    bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }
    [[network.disjoint.paths]]
    name = "path 2"
    bottleneck = { rate = "5 Mbit/s", delay = "30 ms" }
    [[traffic]]
    name = "flow"
"#;

fn scenario(flow: &str) -> Result<Scenario, String> {
    let document = Document::parse("traffic.toml", format!("{NETWORK}{flow}"));
    let document = document.map_err(|error| error.to_string())?;
    Scenario::from_document(&document).map_err(|error| error.to_string())
}

/// Runs a flow in both forms of packets, which must not differ.
fn run(flow: &str) -> RunResult {
    let scenario = scenario(flow).unwrap_or_else(|error| panic!("{error}"));
    let [result, wire] = [Form::Structured, Form::Wire]
        .map(|form| Simulation::with(&scenario, 1, form).unwrap().run().unwrap());
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(result.trace_hash, wire.trace_hash);
    assert_eq!(result.flows, wire.flows);
    result
}

fn delivered_all(flow: &FlowResult) {
    assert_eq!(flow.messages_sent, flow.messages_offered);
    assert_eq!((flow.messages_delivered, flow.messages_dropped), (flow.messages_sent, 0));
    assert_eq!(flow.delay.count, flow.messages_delivered);
}

#[test]
fn a_constant_rate_arrives_as_it_is_offered() {
    let result = run(r#"
        source = { constant = { rate = "800 kbit/s" } }
        message_size = "1 kB"
        start = "1 s"
        stop = "41 s"
    "#);
    let [flow] = &result.flows[..] else { panic!("one flow") };
    delivered_all(flow);
    assert_eq!((flow.messages_offered, flow.complete), (4_000, true));
    // Over a path without load: propagation and transmission of a packet.
    let delay = &flow.delay;
    assert!((0.020..0.032).contains(&delay.p50_s.unwrap()), "{delay:?}");
    assert!(
        delay.mean_s <= delay.p95_s && delay.p95_s <= delay.p99_s && delay.p99_s <= delay.max_s
    );
    // The run ends when all is delivered.
    assert!(result.completed_s.unwrap() < 42.0);
}

#[test]
fn what_the_paths_cannot_carry_waits_and_is_dropped() {
    let result = run(r#"
        source = { poisson = { rate = "30 Mbit/s" } }
        message_size = "1400 B"
        queue = 100
        stop = "10 s"
    "#);
    let [flow] = &result.flows[..] else { panic!("one flow") };
    // 26,786 messages in the mean; four standard deviations are 655.
    assert!(flow.messages_offered.abs_diff(26_786) < 655, "{}", flow.messages_offered);
    assert_eq!(flow.messages_offered, flow.messages_sent + flow.messages_dropped);
    let share = flow.messages_dropped as f64 / flow.messages_offered as f64;
    assert!((0.4..0.7).contains(&share), "{share}");
    // Send buffer and queue are full: messages wait for all of both.
    assert!(flow.delay.p50_s > Some(0.2), "{:?}", flow.delay);
}

#[test]
fn bursts_with_heavy_tails_arrive() {
    let result = run(r#"
        source.pareto-on-off = { rate = "400 kbit/s", on = "500 ms", off = "500 ms", shape = 1.9, sources = 20 }
        message_size = { mix = [{ value = "100 B", share = "50 %" }, { value = "1 kB", share = "50 %" }] }
        delivery = "unordered"
    "#);
    let [flow] = &result.flows[..] else { panic!("one flow") };
    assert!(flow.messages_offered - flow.messages_delivered < 100, "{flow:?}");
    assert!((flow.goodput_bit_s / 4e6 - 1.0).abs() < 0.15, "{}", flow.goodput_bit_s);
}

#[test]
fn a_client_asks_and_a_server_answers() {
    let result = run(r#"
        message_size = "200 B"
        [traffic.source.request-response]
        response = { uniform = { from = "1 kB", to = "50 kB" } }
        think = { exponential = { mean = "100 ms" } }
        service = "10 ms"
        requests = 150
    "#);
    let [requests, responses] = &result.flows[..] else { panic!("two flows") };
    assert_eq!((requests.name.as_str(), requests.from.as_str()), ("flow", "a"));
    assert_eq!((responses.name.as_str(), responses.from.as_str()), ("flow response", "b"));
    for flow in [requests, responses] {
        delivered_all(flow);
        assert_eq!((flow.messages_sent, flow.complete), (150, true));
    }
    assert!(result.completed_s.is_some());
    // A round trip of 40 or 60 ms, 10 ms of service, and at least one window of a response.
    let times = responses.response_time.unwrap();
    assert_eq!((times.count, requests.response_time), (150, None));
    assert!((0.05..0.2).contains(&times.mean_s.unwrap()), "{times:?}");
    assert!(times.p50_s > responses.delay.p50_s);
}

#[test]
fn lists_of_messages_are_sent_as_they_are_written() {
    let folder = tempfile();
    std::fs::write(
        folder.join("list.csv"),
        "time [ms],size [B],stream,ordered\n0,500,1,yes\n10,20000,0,no\n10,8,2,\n500,1200,,\n",
    )
    .unwrap();
    let text = format!(
        "{NETWORK}\nsource = {{ trace = {{ file = \"list.csv\", after_end = \"repeat\" }} }}\nstreams = 3\nstop = \"5 s\""
    );
    std::fs::write(folder.join("list.toml"), text).unwrap();
    let scenario = Scenario::read(&folder.join("list.toml"), &[] as &[&str]).unwrap();
    let result = Simulation::new(&scenario).unwrap().run().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(result.is_ok());
    let [flow] = &result.flows[..] else { panic!("one flow") };
    delivered_all(flow);
    // A round takes 990 ms; five of them begin before the fifth second, and the sixth does at 4950 ms.
    assert_eq!(flow.messages_sent, 5 * 4 + 3);
    assert_eq!(flow.bytes_delivered, 5 * 21_708 + 20_508);
}

/// A new folder.
fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("polypath-traffic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn netperfmeter_is_as_in_table_2() {
    let result = run("source = { netperfmeter = {} }");
    let [flow] = &result.flows[..] else { panic!("one flow") };
    delivered_all_but_window(flow);
    // 10 frames of 1452 B per second from 1 s to 30 s, measured from 5 s on.
    assert_eq!(flow.messages_offered, 290);
    assert!((flow.goodput_bit_s / (10.0 * 1_452.0 * 8.0) - 1.0).abs() < 0.01);
}

fn delivered_all_but_window(flow: &FlowResult) {
    assert_eq!(flow.messages_sent, flow.messages_offered);
    assert_eq!(flow.messages_delivered, flow.messages_sent);
    assert!(flow.delay.count < flow.messages_delivered);
}

#[test]
fn netperfmeter_goes_both_ways_with_shares_of_messages() {
    let result = run(r#"
        [traffic.source.netperfmeter]
        frame_rate = { uniform = { from = "20 Hz", to = "40 Hz" } }
        frame_size = { exponential = { mean = "8 kB" } }
        unordered = "30 %"
        unreliable = "20 %"
        direction = "both-ways"
        start = "0 s"
        reset = "0 s"
        stop = "20 s"
    "#);
    let [there, back] = &result.flows[..] else { panic!("two flows") };
    assert_eq!((back.name.as_str(), back.from.as_str()), ("flow back", "b"));
    for flow in [there, back] {
        // The mean of 1 / x from 20 to 40 is ln 2 / 20: 577 frames of 5.9 messages in the mean.
        assert!((2_600..4_300).contains(&flow.messages_offered), "{flow:?}");
        assert_eq!(flow.messages_delivered + flow.messages_abandoned, flow.messages_sent);
    }
    assert_ne!(there.messages_offered, back.messages_offered);
}

#[test]
fn a_saturated_netperfmeter_fills_the_paths() {
    let result = run(
        r#"source = { netperfmeter = { frame_rate = "0 Hz", frame_size = "10 kB", stop = "10 s" } }"#,
    );
    let [flow] = &result.flows[..] else { panic!("one flow") };
    assert!(flow.goodput_bit_s > 0.85 * 15e6, "{}", flow.goodput_bit_s);
}

#[test]
fn what_a_frame_leaves_over_is_known_by_its_bytes() {
    // A message of one byte could not be told from others where packets are bytes.
    let result = run(r#"
        source = { netperfmeter = { frame_rate = "0 Hz", frame_size = "1453 B", reset = "2 s", stop = "3 s" } }
    "#);
    let [flow] = &result.flows[..] else { panic!("one flow") };
    assert!(flow.messages_delivered > 1_000 && flow.complete, "{flow:?}");
}

#[test]
fn the_example_of_applications_works() {
    let set = ["run.duration=8 s", "traffic.video.source.netperfmeter.stop=7 s"];
    let scenario = common::read("voice", &set);
    let result = Simulation::new(&scenario).unwrap().run().unwrap();
    assert!(result.is_ok(), "{result:?}");
    let names: Vec<&str> = result.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["voice", "web", "sensors", "video", "game", "web response"]);
    for flow in &result.flows {
        assert!(flow.messages_delivered > 50, "{flow:?}");
        assert!(flow.messages_sent - flow.messages_delivered < 60, "{flow:?}");
    }
}

#[test]
fn the_documented_distributions_and_defaults_are_right() {
    let docs = include_str!("../../../docs/scenarios.md");
    let (_, section) = docs.split_once("## Traffic").unwrap();
    let blocks: Vec<&str> = section.split("```").take(4).collect();
    let sizes = blocks[1].lines().filter(|line| line.starts_with("message_size"));
    let mut distributions = 0;
    for line in sizes {
        scenario(&format!("source = \"saturated\"\n{line}")).unwrap();
        distributions += 1;
    }
    assert_eq!(distributions, 5);
    let meter = |text: &str| scenario(text).unwrap().traffic[0].source.clone();
    let documented = meter(blocks[3].trim_start_matches("toml"));
    assert_eq!(documented, meter("source = { netperfmeter = {} }"));
    let mut kinds = 0;
    for line in section.lines().filter(|line| line.starts_with("| `{") || line.starts_with("| `\""))
    {
        let source = line.trim_start_matches("| `").split('`').next().unwrap();
        let size = if source.contains("netperfmeter") { "" } else { "message_size = \"1 kB\"" };
        if !source.contains("trace") {
            scenario(&format!("source = {source}\n{size}")).unwrap();
        }
        kinds += 1;
    }
    assert_eq!(kinds, 8);
}

#[test]
fn mistakes_are_found_where_they_are() {
    let cases = [
        (
            "source = { constant = { rate = \"0 bit/s\" } }\nmessage_size = \"1 kB\"",
            "traffic.0.source.constant.rate: must not be zero",
        ),
        (
            "source = { constant = { rate = \"1 Mbit/s\" } }",
            "traffic.0.message_size: is missing: `constant` needs it",
        ),
        (
            "source = { constant = { rate = 5 } }\nmessage_size = \"1 kB\"",
            "traffic.0.source.constant.rate: expected a data rate as text",
        ),
        ("source = { poison = { rate = \"1 Mbit/s\" } }", "did you mean `poisson`?"),
        (
            "source = \"saturated\"\nmessage_size = { exponentail = { mean = \"1 kB\" } }",
            "did you mean `exponential`?",
        ),
        (
            "source = \"saturated\"\nmessage_size = { uniform = { from = \"2 kB\", to = \"1 kB\" } }",
            "traffic.0.message_size.uniform.from: 2 kB is more than the largest, 1 kB",
        ),
        (
            "source = \"saturated\"\nmessage_size = { mix = [{ value = \"1 kB\", share = \"99 %\" }] }",
            "traffic.0.message_size.mix: the shares are 99 % together",
        ),
        (
            "source = { netperfmeter = { frame_rate = \"10\" } }",
            "`10` has no unit: write a frequency like `10 Hz`",
        ),
        (
            "source = { netperfmeter = { stop = \"1 s\" } }",
            "traffic.0.source.netperfmeter.stop: 1 s is not after the start, 1 s",
        ),
        (
            "source = { netperfmeter = {} }\nstart = \"2 s\"",
            "traffic.0.start: `netperfmeter` has its own",
        ),
        (
            "source = { netperfmeter = {} }\nmessage_size = \"1 kB\"",
            "traffic.0.message_size: `netperfmeter` says itself",
        ),
        (
            "source = { pareto-on-off = { rate = \"1 Mbit/s\", shape = 1.0 } }\nmessage_size = \"1 kB\"",
            "traffic.0.source.pareto-on-off.shape: must be above 1, not 1",
        ),
        (
            "source = { cross-traffic = { load = \"50 %\" } }",
            "traffic.0.source.cross-traffic: is for `transport = \"udp\"`",
        ),
        (
            "source = { request-response = { response = \"1 kB\" } }\nmessage_size = \"1 kB\"\nreliability = { timed = \"1 s\" }",
            "traffic.0.reliability: a client would wait for ever",
        ),
        (
            "source = { request-response = { response = \"10 MB\" } }\nmessage_size = \"1 kB\"",
            "traffic.0.source.request-response.response: 10 MB does not fit the buffers",
        ),
        (
            "source = { trace = { file = \"nowhere.csv\" } }",
            "traffic.0.source.trace.file: cannot read `nowhere.csv`",
        ),
        ("source = \"responses\"", "`responses` is not a choice here"),
        (
            "source = \"saturated\"\nmessage_size = \"1 kB\"\nqueue = 0",
            "traffic.0.queue: must be at least 1",
        ),
    ];
    for (flow, message) in cases {
        let error = scenario(flow).expect_err(flow);
        assert!(error.contains(message), "{flow}\n{error}");
    }
}
