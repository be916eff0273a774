//! How associations begin: ports, addresses and the primary path (`dreibholz-model` table 2).

use polypath_sim::document::Document;
use polypath_sim::{RunResult, Scenario, Simulation};

const TEXT: &str = r#"
    title = "Begin"
    run = { duration = "10 s" }
    traffic = [{ name = "flow", source = { netperfmeter = { reset = "2 s", stop = "9 s" } } }]
    sctp = { preset = "rfc9260" }
    [[network.disjoint.paths]]
    name = "path 1"
    bottleneck = { rate = "10 Mbit/s", delay = "20 ms" }
    [[network.disjoint.paths]]
    name = "path 2"
    bottleneck = { rate = "5 Mbit/s", delay = "30 ms" }
"#;

fn scenario(association: &str) -> Result<Scenario, String> {
    let text = format!("{TEXT}\n[association]\n{association}\n");
    let document = Document::parse("begin.toml", text).map_err(|error| error.to_string())?;
    Scenario::from_document(&document).map_err(|error| error.to_string())
}

fn run(association: &str) -> RunResult {
    let scenario = scenario(association).unwrap_or_else(|error| panic!("{error}"));
    let result = Simulation::new(&scenario).expect("a network").run().expect("a result");
    assert!(result.is_ok() && result.flows[0].messages_delivered > 70, "{result:?}");
    result
}

/// Data packets by path of the sending host, in the order of the association.
fn data(result: &RunResult) -> Vec<(&str, bool)> {
    let own = result.paths.iter().filter(|path| path.from == "a");
    own.map(|path| (path.name.as_str(), path.data_packets_sent > 0)).collect()
}

#[test]
fn data_goes_over_the_path_that_is_named() {
    for (association, expected) in [
        ("", vec![("path 1", true), ("path 2", false)]),
        ("primary_path = \"path 1\"", vec![("path 1", true), ("path 2", false)]),
        ("primary_path = \"path 2\"", vec![("path 1", false), ("path 2", true)]),
        // The address that is called first belongs to the first path, and so does the only one of the caller.
        ("remote_address = \"path 2\"", vec![("path 2", true), ("path 1", false)]),
        ("local_address = \"path 2\"", vec![("path 2", true), ("path 2 to path 1", false)]),
        // The primary path is a choice of the host that begins.
        ("client = \"b\"\nprimary_path = \"path 2\"", vec![("path 1", true), ("path 2", false)]),
    ] {
        assert_eq!(data(&run(association)), expected, "{association}");
    }
}

#[test]
fn ports_are_on_the_wire_and_change_nothing_else() {
    let plain = run("");
    let same = run("local_port = 9000\nremote_port = 9000");
    assert_eq!(plain.trace_hash, same.trace_hash);
    let other = run("local_port = 4000\nremote_port = 5000");
    assert_eq!(other.flows, plain.flows);
}

#[test]
fn mistakes_are_found() {
    for (association, expected) in [
        ("local_port = 0", "association.local_port: must not be zero"),
        ("remote_port = 65536", "association.remote_port"),
        ("primary_path = \"path 3\"", "there is no path `path 3`; did you mean `path"),
        ("local_address = \"x\"", "association.local_address: there is no path `x`"),
        ("connect = \"10 s\"", "association.connect: lies at the end of the run"),
    ] {
        let error = scenario(association).expect_err(association);
        assert!(error.contains(expected), "{error}");
    }
}
