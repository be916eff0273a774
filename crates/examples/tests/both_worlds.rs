//! The controller and the scheduler in the simulator and on the loopback interface.
#![allow(missing_docs)]

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use polypath::congestion::CustomCongestion;
use polypath::scheduling::CustomScheduler;
use polypath::{AssociationConfig, Endpoint, EndpointConfig, Message, PathStats, Peer};
use polypath_examples::{EarliestFirst, Gentle, with_earliest_first, with_gentle};
use polypath_sim::{Form, RunResult, Scenario, Simulation};

/// Runs a scenario of the project after `changes`, with what `customize` puts into both hosts.
fn simulate(
    file: &str,
    changes: &[&str],
    form: Form,
    customize: fn(&mut AssociationConfig),
) -> RunResult {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let scenario = Scenario::read(&folder.join(file), changes).unwrap();
    let run = Simulation::customized(&scenario, 1, form, |_, config| customize(config));
    run.unwrap().run().unwrap()
}

/// Sends messages over two paths of the loopback interface with a configuration; what the sender's paths say at the end.
async fn transfer(bytes: usize, customize: fn(&mut AssociationConfig)) -> Vec<PathStats> {
    let mut config = AssociationConfig::default();
    customize(&mut config);
    let local = |last: [u8; 2]| last.map(|last| std::net::Ipv4Addr::new(127, 0, 0, last).into());
    let server = EndpointConfig { association: config.clone(), ..EndpointConfig::default() };
    let builder = Endpoint::builder(local([1, 2])).encapsulation_port(0).listen(1);
    let server = builder.config(server).bind().unwrap();
    let peer = Peer::new([server.local_addresses()[0]], server.port())
        .encapsulation_port(server.encapsulation_port());
    let client = Endpoint::builder(local([3, 4])).encapsulation_port(0).bind().unwrap();
    let near = client.connect(&peer, config).await.unwrap();
    let far = server.accept().await.unwrap();
    let file: Vec<u8> = (0..bytes).map(|n| (n % 251) as u8).collect();
    let sending = async {
        for piece in file.chunks(50_000) {
            near.send(Message::new(0, piece.to_vec())).await.unwrap();
        }
    };
    let receiving = async {
        let mut received = Vec::new();
        while received.len() < bytes {
            let message = far.receive().await.unwrap().expect("more is to come");
            received.extend_from_slice(&message.into_bytes());
        }
        received
    };
    let ((), received) = tokio::join!(sending, receiving);
    assert!(received == file, "{} of {bytes} bytes", received.len());
    let paths = near.path_stats();
    near.shutdown().await.unwrap();
    paths
}

/// Both paths full, and no queue to speak of: the control of RFC 9260 fills queues of 400 packets.
#[test]
fn the_controller_in_the_simulator() {
    let changes = [
        "run.duration=8 s",
        "run.measure_from=4 s",
        "network.disjoint.paths.path 1.bottleneck.rate=10 Mbit/s",
        "network.disjoint.paths.path 2.bottleneck.rate=10 Mbit/s",
        "network.disjoint.paths.path 1.bottleneck.queue={ drop-tail = { packets = 400 } }",
        "network.disjoint.paths.path 2.bottleneck.queue={ drop-tail = { packets = 400 } }",
        "sctp.preset=recommended",
        "sctp.policies.congestion=cmt",
        "sctp.send_buffer=4 MiB",
        "sctp.receive_buffer=4 MiB",
    ];
    let run = |customize| simulate("two-100mbit.toml", &changes, Form::default(), customize);
    let (built_in, gentle) = (run(|_| ()), run(with_gentle));
    for result in [&built_in, &gentle] {
        assert!(result.is_ok());
        assert!(result.goodput_bit_s > 18e6, "{}", result.goodput_bit_s);
    }
    let srtt = |result: &RunResult| {
        let paths = result.paths.iter().filter(|path| path.from == "a");
        paths.filter_map(|path| path.srtt_s).fold(0.0, f64::max)
    };
    assert!(srtt(&gentle) < 0.03, "{}", srtt(&gentle));
    assert!(srtt(&built_in) > 2.0 * srtt(&gentle), "{} and {}", srtt(&built_in), srtt(&gentle));
}

/// Bursts beside a path with a long round trip: what waits for the fast path arrives earlier than what takes the slow one.
#[test]
fn the_scheduler_in_the_simulator() {
    let file = "../crates/examples/tests/bursts.toml";
    let run = |customize| simulate(file, &[], Form::default(), customize);
    let (built_in, earliest) = (run(|_| ()), run(with_earliest_first));
    let delay = |result: &RunResult| {
        assert!(result.is_ok());
        result.flows[0].delay.max_s.expect("messages arrive")
    };
    assert!(2.0 * delay(&earliest) < delay(&built_in), "{} {}", delay(&earliest), delay(&built_in));
}

/// The same run twice, and as bytes.
#[test]
fn runs_with_own_parts_repeat() {
    let both: fn(&mut AssociationConfig) = |config| {
        with_gentle(config);
        with_earliest_first(config);
    };
    let run = |form| simulate("two-paths-loss.toml", &["run.duration=2 s"], form, both).trace_hash;
    let hash = run(Form::default());
    assert_eq!(run(Form::default()), hash);
    assert_eq!(run(Form::Wire), hash);
    let built_in = simulate("two-paths-loss.toml", &["run.duration=2 s"], Form::default(), |_| ());
    assert_ne!(built_in.trace_hash, hash, "they make no difference");
}

/// Controllers and schedulers that were made on a network.
static CONTROLLERS: AtomicU32 = AtomicU32::new(0);
static SCHEDULERS: AtomicU32 = AtomicU32::new(0);

#[tokio::test]
async fn the_controller_on_a_network() {
    let paths = transfer(3_000_000, |config| {
        config.custom_congestion = Some(CustomCongestion::new("counted", |path| {
            CONTROLLERS.fetch_add(1, Ordering::Relaxed);
            Box::new(Gentle::new(path))
        }));
    })
    .await;
    assert_eq!(paths.len(), 2);
    assert!(CONTROLLERS.load(Ordering::Relaxed) >= 4, "two for each end");
    for path in &paths {
        assert_eq!(path.ssthresh_bytes, u64::MAX, "it has none");
    }
    assert!(paths.iter().any(|path| path.data_packets_sent > 0));
}

#[tokio::test]
async fn the_scheduler_on_a_network() {
    let paths = transfer(3_000_000, |config| {
        config.custom_scheduler = Some(CustomScheduler::new("counted", || {
            SCHEDULERS.fetch_add(1, Ordering::Relaxed);
            Box::new(EarliestFirst)
        }));
    })
    .await;
    assert_eq!(SCHEDULERS.load(Ordering::Relaxed), 2, "one for each end");
    assert!(paths.iter().any(|path| path.data_packets_sent > 0));
}
