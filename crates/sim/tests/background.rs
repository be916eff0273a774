//! UDP and TCP flows beside associations and alone.

use polypath_sim::document::Document;
use polypath_sim::{FlowResult, Form, RunResult, Scenario, Simulation};

mod common;

/// One path of 10 Mbit/s and a round trip of 40 ms.
const NETWORK: &str = r#"
    title = "Background"
    [run]
    duration = "60 s"
    measure_from = "5 s"
    [[network.disjoint.paths]]
    name = "path 1"
    [network.disjoint.paths.bottleneck]
    rate = "10 Mbit/s"
    delay = "20 ms"
    queue = { drop-tail = { bdp = 2 } }
"#;

fn scenario(text: &str, set: &[&str]) -> Result<Scenario, String> {
    let mut document = Document::parse("background.toml", text).map_err(|e| e.to_string())?;
    for edit in set {
        document.set(edit).map_err(|error| error.to_string())?;
    }
    Scenario::from_document(&document).map_err(|error| error.to_string())
}

fn run(flows: &str, set: &[&str]) -> RunResult {
    let scenario = scenario(&format!("{NETWORK}{flows}"), set);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let result = Simulation::new(&scenario).unwrap().run().unwrap();
    assert!(result.is_ok(), "{result:?}");
    result
}

fn flow<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    result.flows.iter().find(|flow| flow.name == name).expect("a flow of that name")
}

/// Fewer packets per second, and a bandwidth-delay product that is still long enough for windows to breathe.
const SLOW: [&str; 2] = [
    "network.disjoint.paths.0.bottleneck.rate=2 Mbit/s",
    "network.disjoint.paths.0.bottleneck.delay=50 ms",
];

const UDP: &str = r#"
    [[traffic]]
    name = "udp"
    transport = "udp"
    source = { constant = { rate = "2 Mbit/s" } }
    message_size = "1000 B"
    stop = "10 s"
"#;

const TCP: &str = r#"
    [[traffic]]
    name = "tcp"
    transport = "tcp"
    source = "saturated"
    message_size = "1448 B"
"#;

const SECOND_TCP: &str = r#"
    [[traffic]]
    name = "second"
    transport = "tcp"
    source = "saturated"
    message_size = "1448 B"
"#;

#[test]
fn datagrams_are_counted() {
    let result = run(UDP, &[]);
    let udp = flow(&result, "udp");
    let counts = udp.udp.unwrap();
    assert_eq!((udp.messages_offered, counts.sent, counts.received), (2_500, 2_500, 2_500));
    assert_eq!((counts.lost, counts.damaged, counts.duplicated, counts.overtaken), (0, 0, 0, 0));
    // 1028 B at 10 Mbit/s and 20 ms.
    assert!((udp.delay.mean_s.unwrap() - 0.020_822_4).abs() < 1e-6, "{:?}", udp.delay);
    assert_eq!(udp.delay.jitter_s, Some(0.0));
    // No association, and the end of the flow is that of the run.
    assert_eq!((result.association.state, result.hosts.len(), udp.complete), ("none", 0, true));
    assert!((10.0..10.1).contains(&result.completed_s.unwrap()));
}

#[test]
fn what_networks_do_to_datagrams_is_seen() {
    let bottleneck = "network.disjoint.paths.0.bottleneck";
    let with = |key: &str| run(UDP, &[&format!("{bottleneck}.{key}")]);
    let counts = |result: &RunResult| flow(result, "udp").udp.unwrap();
    // Four standard deviations of 2,500 draws of 5 % are 44.
    let lossy = counts(&with("loss={forward='5 %'}"));
    assert!(lossy.lost.abs_diff(125) < 44 && lossy.received + lossy.lost == 2_500, "{lossy:?}");
    let copies = counts(&with("duplication=5 %"));
    assert!(copies.duplicated.abs_diff(125) < 44 && copies.lost == 0, "{copies:?}");
    let damaged = with("bit_errors={rate='5e-6', damaged='delivered'}");
    // 1028 B have 8224 bits: 4 %.
    let damaged = counts(&damaged);
    assert!(damaged.damaged.abs_diff(101) < 40 && damaged.damaged == damaged.lost, "{damaged:?}");
    let late = counts(&with("reordering={probability='5 %', extra_delay='10 ms'}"));
    assert!(late.overtaken.abs_diff(125) < 44 && late.lost == 0, "{late:?}");
    // A link of 1 Mbit/s cannot carry all of it.
    let full = counts(&with("rate=1 Mbit/s"));
    assert!((1_150..1_400).contains(&full.received), "{full:?}");
}

#[test]
fn what_is_under_way_at_the_end_is_not_lost() {
    let counts = |edits: &[&str]| flow(&run(UDP, edits), "udp").udp.unwrap();
    // Every 4 ms a datagram, which needs 20.8 ms: five or six are on the link at any time.
    let cut = counts(&["run.duration=5 s", "run.measure_from=0 s"]);
    assert_eq!(cut.lost, 0, "{cut:?}");
    assert!((5..=6).contains(&cut.under_way), "{cut:?}");
    assert_eq!(cut.sent, cut.received + cut.under_way);
    // What a link that is too slow drops is all that is lost, whatever waits for it in the end.
    let edits = [
        "run.duration=5 s",
        "run.measure_from=0 s",
        "network.disjoint.paths.0.bottleneck.rate=1 Mbit/s",
    ];
    let result = run(UDP, &edits);
    let full = flow(&result, "udp").udp.unwrap();
    let dropped: u64 = result.bottlenecks.iter().map(|link| link.dropped_queue_full).sum();
    assert!(full.under_way > 5 && full.lost > 100, "{full:?}");
    assert_eq!(full.lost, dropped, "{full:?}");
}

#[test]
fn cross_traffic_has_the_load_that_was_asked_for() {
    // A mild shape, so that the mean comes near within the time.
    let text = r#"
        [[traffic]]
        name = "cross"
        transport = "udp"
        source.cross-traffic = { load = "60 %", shape = 1.9, generators = 40, on = "200 ms", off = "200 ms" }
    "#;
    let result = run(
        text,
        &[
            "run.duration=100 s",
            "network.disjoint.paths.0.bottleneck.rate=2 Mbit/s",
            "network.disjoint.paths.0.bottleneck.queue={ drop-tail = { packets = 100000 } }",
        ],
    );
    assert!(
        (result.bottlenecks[0].utilisation / 0.6 - 1.0).abs() < 0.05,
        "{:?}",
        result.bottlenecks
    );
    // Without end, so the run goes on until its own.
    assert_eq!((result.duration_s, result.completed_s), (100.0, None));
    let sizes = flow(&result, "cross").bytes_delivered as f64
        / flow(&result, "cross").messages_delivered as f64;
    assert!((sizes / (541.0 - 28.0) - 1.0).abs() < 0.02, "{sizes}");
}

#[test]
fn cross_traffic_takes_from_an_association_and_does_not_hold_it() {
    let file = r#"
        [[traffic]]
        name = "file"
        source = { file = "1 MiB" }
        message_size = "1452 B"
    "#;
    let cross = r#"
        [[traffic]]
        name = "cross"
        transport = "udp"
        source.cross-traffic = { load = "70 %" }
    "#;
    let alone = run(file, &[]).completed_s.unwrap();
    let both = run(&format!("{file}{cross}"), &[]);
    let beside = both.completed_s.unwrap();
    assert!(beside > 1.8 * alone, "{alone} s alone, {beside} s beside cross traffic");
    assert!(both.duration_s < 60.0);
    assert_eq!(both.goodput_bit_s, flow(&both, "file").goodput_bit_s);
}

#[test]
fn tcp_alone_fills_the_link() {
    for (congestion, ip) in [("reno", "v4"), ("cubic", "v6")] {
        let set = [
            format!("traffic.tcp.tcp={{ congestion = '{congestion}' }}"),
            format!("network.disjoint.ip={ip}"),
        ];
        let [congestion_set, ip_set] = set.each_ref().map(String::as_str);
        let result = run(TCP, &[congestion_set, ip_set, "run.duration=30 s"]);
        let tcp = flow(&result, "tcp");
        // Of 1500 B, 1440 or 1460 B are user data at the most.
        assert!((9.0e6..9.74e6).contains(&tcp.goodput_bit_s), "{congestion}: {tcp:?}");
        let connection = tcp.tcp.as_ref().unwrap();
        assert_eq!(connection.state, "ESTABLISHED");
        assert!(connection.retransmissions > 0);
        assert!(connection.retransmissions * 20 < connection.segments_sent, "{connection:?}");
        assert!(tcp.delay.p50_s > Some(0.03));
    }
}

#[test]
fn two_tcp_connections_share_alike() {
    let set = [SLOW[0], SLOW[1], "run.duration=80 s", "run.measure_from=20 s"];
    let result = run(&format!("{TCP}{SECOND_TCP}"), &set);
    let [one, two] = ["tcp", "second"].map(|name| flow(&result, name).goodput_bit_s);
    let share = one / (one + two);
    assert!((0.35..0.65).contains(&share) && one + two > 1.76e6, "{share}");
}

#[test]
fn tcp_and_sctp_share_alike() {
    let sctp = r#"
        [[traffic]]
        name = "sctp"
        source = "saturated"
        message_size = "1452 B"
    "#;
    let set = [SLOW[0], SLOW[1], "run.duration=80 s", "run.measure_from=20 s"];
    let result = run(&format!("{sctp}{TCP}"), &set);
    let [sctp, tcp] = ["sctp", "tcp"].map(|name| flow(&result, name).goodput_bit_s);
    let share = sctp / (sctp + tcp);
    assert!((0.3..0.75).contains(&share) && sctp + tcp > 1.76e6, "{share}");
}

#[test]
fn tcp_lives_with_losses_and_early_drops() {
    let loss = "network.disjoint.paths.0.bottleneck.loss={ forward = '0.5 %', backward = '0.5 %' }";
    let result = run(TCP, &[loss, "run.duration=20 s"]);
    let tcp = flow(&result, "tcp");
    // 1460 B / 41 ms times sqrt(3 / 2 / 0.005) is 4.9 Mbit/s; timeouts take from that.
    assert!((2.0e6..6.5e6).contains(&tcp.goodput_bit_s), "{tcp:?}");
    let connection = tcp.tcp.as_ref().unwrap();
    let again = connection.retransmissions as f64 / connection.segments_sent as f64;
    assert!((0.004..0.02).contains(&again), "{again}");
    let red = "network.disjoint.paths.0.bottleneck.queue={ red = {} }";
    let result = run(TCP, &[red, "run.duration=15 s"]);
    assert!(flow(&result, "tcp").goodput_bit_s > 8.5e6, "{:?}", result.flows);
    assert!(result.bottlenecks[0].dropped_early > 0);
    let damage =
        "network.disjoint.paths.0.bottleneck.bit_errors={ rate = '1e-7', damaged = 'delivered' }";
    assert!(flow(&run(TCP, &[damage, "run.duration=15 s"]), "tcp").goodput_bit_s > 4.0e6);
}

#[test]
fn a_file_over_tcp_ends_the_run() {
    let text = r#"
        [[traffic]]
        name = "file"
        transport = "tcp"
        source = { file = "1000001 B" }
        message_size = "10 kB"
        start = "2 s"
    "#;
    let result = run(text, &["network.disjoint.paths.0.bottleneck.loss={ forward = '1 %' }"]);
    let file = flow(&result, "file");
    assert_eq!(
        (file.bytes_delivered, file.messages_delivered, file.complete),
        (1_000_001, 101, true)
    );
    assert!(result.completed_s > Some(2.8) && result.duration_s < 30.0, "{result:?}");
}

#[test]
fn runs_repeat_in_both_forms_and_differ_by_seed() {
    let text = format!("{NETWORK}{UDP}{TCP}");
    let loss = ["network.disjoint.paths.0.bottleneck.loss={ forward = '1 %' }", "run.duration=6 s"];
    let scenario = scenario(&text, &loss).unwrap();
    let hash = |seed, form| {
        let run = Simulation::with(&scenario, seed, form).unwrap().run().unwrap();
        (run.trace_hash, run.flows.iter().map(|flow| flow.bytes_delivered).collect::<Vec<_>>())
    };
    let first = hash(1, Form::Structured);
    assert_eq!(first, hash(1, Form::Structured));
    assert_eq!(first, hash(1, Form::Wire));
    assert_ne!(first, hash(2, Form::Structured));
}

#[test]
fn another_flow_leaves_the_random_numbers_of_the_first_alone() {
    let poisson = UDP.replace("constant", "poisson");
    let offered = |text: &str| flow(&run(text, &[]), "udp").messages_offered;
    let more =
        format!("{}{poisson}", UDP.replace("\"udp\"\n    transport", "\"other\"\n    transport"));
    assert_eq!(offered(&poisson), offered(&more));
    assert_ne!(offered(&poisson), 2_500);
}

#[test]
fn the_examples_work() {
    let natarajan = common::read("cross-traffic", &["traffic.file.source.file=512 KiB"]);
    let result = Simulation::new(&natarajan).unwrap().run().unwrap();
    assert!(result.is_ok(), "{result:?}");
    let cross = result.flows.iter().filter(|flow| flow.transport == "udp");
    assert_eq!(cross.clone().count(), 16);
    // 400 datagrams per second of each, with heavy tails.
    assert!(cross.map(|flow| flow.messages_delivered).min() > Some(100));
    assert_eq!(result.association.state, "shut down");
    assert!(result.bottlenecks.iter().all(|link| (0.3..1.0).contains(&link.utilisation)));
    let competing = common::read("tcp-and-cmt", &["run.duration=8 s", "run.measure_from=2 s"]);
    let result = Simulation::new(&competing).unwrap().run().unwrap();
    assert!(result.is_ok(), "{result:?}");
    let [multipath, tcp] = ["multipath", "tcp"].map(|name| flow(&result, name).goodput_bit_s);
    assert!(tcp > 2e6 && multipath > tcp && multipath + tcp > 17e6, "{multipath} and {tcp}");
}

#[test]
fn mistakes_are_found_where_they_are() {
    let cases = [
        (
            UDP.replace("constant = { rate = \"2 Mbit/s\" }", "file = \"1 MB\""),
            "traffic.0.source: `file` needs a transport that says when it is full",
        ),
        (
            UDP.replace("1000 B", "1473 B"),
            "traffic.0.message_size: 1473 B is more than the 1472 B of a packet",
        ),
        (
            UDP.replace("stop", "path = \"path 7\"\nstop"),
            "traffic.0.path: there is no path `path 7`; paths: `path 1`",
        ),
        (UDP.replace("stop", "streams = 2\nstop"), "traffic.0.streams: `udp` has no such thing"),
        (UDP.replace("stop", "tcp = {}\nstop"), "traffic.0.tcp: is for `transport = \"tcp\"`"),
        (UDP.replace("\"udp\"\n    source", "\"upd\"\n    source"), "did you mean `udp`?"),
        (
            TCP.replace("\"saturated\"", "{ cross-traffic = { load = \"9 %\" } }")
                .replace("message_size", "# "),
            "traffic.0.source.cross-traffic: is for `transport = \"udp\"`",
        ),
        (
            format!("{TCP}\ntcp = {{ send_buffer = \"1 kB\" }}"),
            "traffic.0.tcp.send_buffer: 1 kB is not from 4 KiB to 1 GiB",
        ),
        (
            TCP.replace("\"tcp\"\n    source", "\"sctp\"\n    path = \"path 1\"\n    source"),
            "traffic.0.path: an association uses all paths",
        ),
    ];
    for (text, message) in cases {
        let error = scenario(&format!("{NETWORK}{text}"), &[]).expect_err(&text);
        assert!(error.contains(message), "{text}\n{error}");
    }
}

/// Headers of IPv6 are longer, and a datagram that does not fit is refused, not cut in silence.
#[test]
fn datagrams_fit_the_packets_of_their_network() {
    let text = |size: &str| format!("{NETWORK}{}", UDP.replace("1000 B", size));
    let v6 = ["network.disjoint.ip=v6"];
    let error = scenario(&text("1472 B"), &v6).expect_err("too long");
    assert!(error.contains("1472 B is more than the 1452 B of a packet"), "{error}");
    let longest = scenario(&text("1452 B"), &v6).unwrap();
    let result = Simulation::new(&longest).unwrap().run().unwrap();
    let udp = flow(&result, "udp");
    assert_eq!(udp.bytes_delivered, 1_452 * udp.messages_delivered);
}

/// What no association carries can be over before one begins.
#[test]
fn datagrams_do_not_wait_for_an_association() {
    let sctp = "\n[[traffic]]\nname = \"sctp\"\nsource = { file = \"10 kB\" }\nmessage_size = \"1000 B\"\n";
    let result = run(&format!("{UDP}{sctp}"), &["association.connect=12 s"]);
    assert_eq!(flow(&result, "udp").udp.unwrap().received, 2_500);
    assert!(flow(&result, "sctp").complete && result.completed_s > Some(12.0));
}

/// The series of every flow, of whatever transport, have all that was delivered, and so do those of queues.
#[test]
fn flows_and_queues_have_series() {
    let sctp = r#"
        [[traffic]]
        name = "sctp"
        source = "saturated"
        message_size = "1452 B"
    "#;
    let asked = ["record.series=500 ms", "run.duration=6 s", "run.measure_from=1 s"];
    let all = format!("{sctp}{UDP}{TCP}").replace("10 s", "5 s");
    let with_queues = [&SLOW[..], &asked, &["record.queues=on"]].concat();
    let result = run(&all, &with_queues);
    let series = result.series.as_ref().unwrap();
    assert_eq!(series.time_s.len(), 12);
    for (flow, series) in result.flows.iter().zip(&series.flows) {
        assert_eq!((&flow.name, &flow.from), (&series.name, &series.from));
        let bytes: f64 = series.goodput_bit_s.iter().map(|rate| rate * 0.5 / 8.0).sum();
        assert!(bytes > 10_000.0 && (bytes - flow.bytes_delivered as f64).abs() < 1.0, "{flow:?}");
    }
    // As the goodput of the whole result, that of the series is of associations where there are any.
    assert_eq!(series.goodput_bit_s, series.flows[0].goodput_bit_s);
    let [forward, backward] = &series.bottlenecks[..] else { panic!("{:?}", series.bottlenecks) };
    assert_eq!([&forward.from[..], &backward.from], ["a", "b"]);
    let bottleneck = &result.bottlenecks[0];
    let most = *forward.queue_packets.iter().max().unwrap();
    assert!(most > 10 && most <= bottleneck.queue_peak_packets, "{most}");
    let pairs = forward.queue_packets.iter().zip(&forward.queue_bytes);
    assert!(pairs.clone().count() == 12 && pairs.clone().all(|(p, b)| *b <= 1_500 * p));
    assert!(backward.queue_bytes.iter().max() < forward.queue_bytes.iter().max());
    // What is not asked for is not there, and changes nothing.
    let without = run(&all, &[&SLOW[..], &asked].concat());
    assert!(without.series.unwrap().bottlenecks.is_empty());
    assert_eq!(without.trace_hash, result.trace_hash);
    let alone = run(TCP, &[&SLOW[..], &asked].concat()).series.unwrap();
    assert!(alone.goodput_bit_s == alone.flows[0].goodput_bit_s && alone.goodput_bit_s[11] > 1e6);
}
