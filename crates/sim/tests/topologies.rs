//! Networks whose hosts have names: stars, dumbbells and graphs.

mod common;

use common::read;
use polypath_sim::document::Document;
use polypath_sim::{Form, RunResult, Scenario, Simulation};

fn run(name: &str, edits: &[&str], form: Form) -> RunResult {
    let scenario = read(name, edits);
    Simulation::with(&scenario, scenario.run.seed, form).unwrap().run().unwrap()
}

/// Runs a scenario in both forms, which must not differ; all of it must arrive.
fn run_whole(name: &str, edits: &[&str]) -> RunResult {
    let result = run(name, edits, Form::Structured);
    assert!(result.is_ok(), "{name}: {:?} {:?}", result.association, result.violations);
    assert!(result.flows.iter().all(|flow| flow.complete), "{name}: {:?}", result.flows);
    assert!(result.hosts.iter().all(|host| host.packets_unroutable == 0), "{name}");
    let mut wire = run(name, edits, Form::Wire);
    wire.form = Form::Structured;
    assert_eq!(result, wire, "{name}");
    result
}

fn paths(result: &RunResult) -> Vec<[&str; 3]> {
    result.paths.iter().map(|path| [&path.pair[..], &path.from, &path.name]).collect()
}

#[test]
fn a_host_of_a_star_has_an_association_with_each_other_host() {
    let result = run_whole("star", &[]);
    assert_eq!(
        paths(&result),
        [
            ["client 1 and server", "client 1", "left"],
            ["client 1 and server", "client 1", "right"],
            ["client 2 and server", "client 2", "left"],
            ["client 2 and server", "client 2", "right"],
            ["client 1 and client 2", "client 2", "left"],
            ["client 1 and client 2", "client 2", "right"],
        ]
    );
    assert!(result.paths.iter().all(|path| path.data_packets_sent > 50), "{:?}", result.paths);
    let links: Vec<_> = result.bottlenecks.iter().map(|b| (&b.path[..], &b.from[..])).collect();
    assert_eq!((links.len(), links[2]), (12, ("left/server", "server")));
    assert_eq!(links[11], ("right/server", "right/router"));
}

#[test]
fn more_hosts_and_networks_are_more_numbers() {
    let hosts: Vec<String> = (0..20).map(|host| format!("'h{host}'")).collect();
    let networks = ["p", "q", "r", "s"].map(|name| {
        format!("{{ name = '{name}', link = {{ rate = '10 Mbit/s', delay = '1 ms' }} }}")
    });
    let flow = |index: usize| {
        let (from, to) = (index, (index * 7 + 3) % 20);
        format!(
            "{{ name = 'f{index}', from = 'h{from}', to = 'h{to}', source = {{ file = '50 kB' }}, \
             message_size = '1000 B' }}"
        )
    };
    let flows: Vec<String> =
        (0..20).filter(|index| (index * 7 + 3) % 20 != *index).map(flow).collect();
    let star = format!(
        "network={{ star = {{ hosts = [{}], networks = [{}] }} }}",
        hosts.join(", "),
        networks.join(", ")
    );
    let result =
        run("star", &[&star, &format!("traffic=[{}]", flows.join(", "))], Form::Structured);
    assert!(result.is_ok(), "{:?}", result.association);
    assert!(result.flows.iter().all(|flow| flow.complete));
    assert_eq!(result.bottlenecks.len(), 160);
}

#[test]
fn cross_traffic_meets_a_transfer_in_the_cores_of_dumbbells() {
    let result = run_whole("dual-dumbbell", &[]);
    assert_eq!(
        paths(&result)[..3],
        [
            ["a and b", "a", "path 1"],
            ["a and b", "a", "path 2"],
            ["path 1/cross-1/a and path 1/cross-1/b", "path 1/cross-1/a", "path 1"],
        ]
    );
    let [one, other] = &result.bottlenecks[..2] else { panic!("two cores") };
    assert_eq!([&one.path[..], &other.path], ["path 1", "path 2"]);
    let own = |path: usize| result.paths[path].packets_sent;
    assert!(
        one.packets_delivered + one.dropped_queue_full > own(0) + 700,
        "there is cross traffic"
    );
    assert_eq!(other.packets_delivered + other.dropped_queue_full, own(1), "there is none");
    let again = run("dual-dumbbell", &["run.seed=2"], Form::Structured);
    assert_ne!(again.trace_hash, result.trace_hash, "delays of last hops are drawn");
    let fixed = |seed: &str| {
        let edits = [
            seed,
            "traffic.transfer.source={ file = '100 kB' }",
            "network.dumbbell.paths.path 1.cross.delay_max=5 ms",
        ];
        run("dual-dumbbell", &edits, Form::Structured).flows[1].last_delivery_s
    };
    assert_eq!(fixed("run.seed=1"), fixed("run.seed=2"), "all delays are equal");
}

#[test]
fn packets_of_a_graph_take_the_shortest_way_of_their_network() {
    let crossed = |result: &RunResult, link: &str| -> u64 {
        let both = result.bottlenecks.iter().filter(|b| b.path == link);
        both.map(|b| b.packets_delivered).sum()
    };
    let by_delay = run_whole("graph", &[]);
    assert_eq!(
        paths(&by_delay),
        [
            ["phone and server", "phone", "wlan"],
            ["phone and server", "phone", "lte"],
            ["laptop and server", "laptop", "ethernet"],
        ]
    );
    assert!(crossed(&by_delay, "fibre") > 1_000);
    assert_eq!(crossed(&by_delay, "microwave"), 0);
    let by_hops = run_whole("graph", &["network.graph.metric=hops"]);
    assert!(crossed(&by_hops, "microwave") > 1_000);
    assert_eq!(crossed(&by_hops, "fibre"), 0);
    // What belongs to the mobile network stays there.
    let on_lte = by_hops.paths.iter().find(|path| path.name == "lte").unwrap().packets_sent;
    let sent = |b: &&polypath_sim::BottleneckResult| b.path == "lte" && b.from == "phone";
    let lte = by_hops.bottlenecks.iter().find(sent).unwrap();
    assert_eq!(lte.packets_delivered + lte.dropped_queue_full + lte.dropped_loss, on_lte);
    // The outage of the line is one of the paths that lead over it.
    let dsl = by_delay.bottlenecks.iter().find(|b| b.path == "dsl").unwrap();
    assert!(dsl.dropped_outage > 0);
    let failures = by_delay.probes[0].failures.iter().map(|failure| &failure.path[..]);
    assert_eq!(failures.collect::<Vec<_>>(), ["wlan"]);
    let loss = |name| by_delay.paths.iter().find(|path| path.name == name).unwrap().oracle_loss;
    assert_eq!(loss("wlan"), Some(0.0));
    assert!((loss("lte").unwrap() - 0.001).abs() < 1e-9);
}

/// The complaint about a scenario with an edit.
fn complaint(name: &str, edit: &str) -> String {
    let file = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(file).unwrap();
    let mut document = Document::parse("scenario.toml", text).unwrap();
    document.set(edit).unwrap();
    Scenario::from_document(&document).map(|_| edit.to_owned()).unwrap_err().to_string()
}

fn check_complaints(name: &str, cases: &[(&str, &str)]) {
    for (edit, message) in cases {
        let error = complaint(name, edit);
        // The key is named once, where it is the one that was set.
        let begins = [format!(": {message}"), format!("--set {message}")];
        assert!(begins.iter().any(|begin| error.contains(begin)), "{edit}: {error}");
    }
}

#[test]
fn mistakes_in_a_star_are_named_with_their_key() {
    check_complaints(
        "star",
        &[
            (
                "network.star.hosts=['x']",
                "network.star.hosts: a network has 2 to 1000 hosts, not 1",
            ),
            ("network.star.hosts.0=server", "network.star.hosts.2: there is another host `server`"),
            (
                "network.star.networks.right.name=left",
                "network.star.networks.1.name: there is another network `left`",
            ),
            (
                "network.star.networks.1.except.0.host=sever",
                "network.star.networks.1.except.0.host: there is no host `sever`; did you mean `server`? hosts: `client 1`, `client 2`, `server`",
            ),
            (
                "network.star.networks.left.link.rate=0 bit/s",
                "network.star.networks.0.link.rate: must not be zero",
            ),
            (
                "traffic.exchange.to=cleint 1",
                "traffic.2.to: there is no host `cleint 1`; did you mean `client 1`? hosts: `client 1`, `client 2`, `server`",
            ),
            ("traffic.exchange.to=client 2", "traffic.2.to: `client 2` cannot send to itself"),
            (
                "traffic.exchange.pair=p",
                "traffic.2.pair: this network has no pairs: say `from` and `to`",
            ),
            (
                "association.client=x",
                "association.client: there is no host `x`; hosts: `client 1`, `client 2`, `server`",
            ),
            (
                "hosts.serve.sctp.mtu=1400 B",
                "hosts.serve: there is no host `serve`; did you mean `server`? hosts: `client 1`, `client 2`, `server`",
            ),
            (
                "faults=[{ outage = { path = 'left/sever', from = '1 s' } }]",
                "faults.0.outage.path: there is no link `left/sever`; did you mean `left/server`? links: `left/client 1`, `left/client 2`, `left/server`, `right/client 1`, `right/client 2`, `right/server`",
            ),
        ],
    );
}

#[test]
fn mistakes_in_dumbbells_are_named_with_their_key() {
    check_complaints(
        "dual-dumbbell",
        &[
            (
                "network.dumbbell.paths.1.cross.delay_max=1 ms",
                "network.dumbbell.paths.1.cross.delay_max: 1 ms is shorter than the shortest, 5 ms",
            ),
            (
                "network.dumbbell.paths.1.cross.pairs=255",
                "network.dumbbell.paths.1.cross.pairs: there are 1 to 254 pairs, not 255",
            ),
            (
                "network.dumbbell.paths.1.name=path 1",
                "network.dumbbell.paths.1.name: there is another path `path 1`",
            ),
            (
                "network.dumbbell.paths.1.access.rate=0 bit/s",
                "network.dumbbell.paths.1.access.rate: must not be zero",
            ),
            (
                "traffic.cross 1.to=path 2/cross-1/b",
                "traffic.1.to: no network has links all the way from `path 1/cross-1/a` to `path 2/cross-1/b` and back",
            ),
        ],
    );
}

#[test]
fn mistakes_in_a_graph_are_named_with_their_key() {
    check_complaints(
        "graph",
        &[
            (
                "network.graph.routers.0=phone",
                "network.graph.routers.0: there is another node `phone`",
            ),
            (
                "network.graph.links.dsl.name=lte",
                "network.graph.links.3.name: there is another link `lte`",
            ),
            (
                "network.graph.links.dsl.ends=['home', 'exchagne']",
                "network.graph.links.3.ends.1: there is no node `exchagne`; did you mean `exchange`? nodes: `phone`, `laptop`, `server`, `home`, `exchange`, `cell`, `core`, `peering`",
            ),
            (
                "network.graph.links.dsl.ends=['home', 'home']",
                "network.graph.links.3.ends: a link joins two nodes, not one with itself",
            ),
            (
                "network.graph.links.dsl.network=255",
                "network.graph.links.3.network: networks have numbers up to 254",
            ),
            (
                "network.graph.links.backhaul.ends=['core', 'peering']",
                "network.graph.links.1.network: network 2 joins no two hosts",
            ),
            (
                "network.graph.links.ethernet.ends=['phone', 'home']",
                "network.graph.hosts.1: no link ends at `laptop`",
            ),
            (
                "network.graph.links.ethernet.network=3",
                "network.graph.links.2.network: network 3 joins no two hosts",
            ),
            (
                "network.graph.links.ethernet.ends=['laptop', 'phone']",
                "traffic.1.to: no network has links all the way from `laptop` to `server` and back",
            ),
            (
                "network.graph.links.dsl.queue={ drop-tail = { bdp = 2 } }",
                "network.graph.links.3.queue: a link of a graph is part of no one path: say `link-bdp`, `bytes` or `packets`",
            ),
            (
                "network.graph.links.dsl.dealy=8 ms",
                "network.graph.links.3: unknown key `dealy`\n  did you mean `delay`?",
            ),
            (
                "network.graph.links.lte.forward.loss=1 %",
                "network.graph.links.1.forward.loss: loss.forward says the same; one of them is enough",
            ),
        ],
    );
}

#[test]
fn names_of_hosts_are_those_of_settings_and_of_clients() {
    let edits = ["hosts.server.sctp.receive_buffer=64 KiB", "association.client=server"];
    let scenario = read("star", &edits);
    let received = |pair: usize| {
        use polypath_sim::scenario::HostName::{A, B};
        [A, B].map(|host| scenario.sctp_of(pair, host).receive_buffer.as_bytes())
    };
    assert_eq!(received(0)[1], 65_536);
    assert_eq!(received(1)[1], 65_536);
    assert_eq!(received(2)[0], received(2)[1]);
    let clients: Vec<usize> = scenario.pairs.iter().map(|pair| pair.client.index()).collect();
    assert_eq!(clients, [1, 1, 1], "the server, the server, and who sends first");
}
