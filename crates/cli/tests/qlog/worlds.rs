//! One exchange in two worlds: messages over one path, once in the simulator and once over the loopback interface.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use polypath::config::AddressJoin;
use polypath::{
    AssociationConfig, BoxedProbe, Endpoint, Initiator, Message, ObservedAssociation, Observer,
    Peer,
};
use polypath_qlog::{QlogDirectory, TraceHeader, VantagePoint, WhenFull};
use polypath_sim::{Scenario, Simulation};

use crate::trace::Trace;

/// Messages of the exchange, and bytes of each: they fit the first path MTU.
const MESSAGES: usize = 200;
const BYTES: usize = 1000;

/// The same in a simulation.
const SCENARIO: &str = r#"
title = "An exchange"

[run]
duration = "60 s"

[[network.disjoint.paths]]
name = "path"
bottleneck = { rate = "100 Mbit/s", delay = "1 ms", queue = { drop-tail = { packets = 1000 } } }

[[traffic]]
name = "exchange"
source = { file = "200000 B" }
message_size = "1000 B"

[sctp]
preset = "recommended"
pmtu_discovery = "probe"
"#;

/// What depends on how busy the machine is: the network may find no time for a packet.
const BY_CHANCE: [&str; 4] = [
    "sctp:chunk_lost",
    "sctp:fast_recovery_entered",
    "sctp:fast_recovery_left",
    "sctp:timer_expired",
];

fn simulated(folder: &Path) {
    let file = folder.join("exchange.toml");
    fs::write(&file, SCENARIO).unwrap();
    let scenario = Scenario::read::<&str>(&file, &[]).unwrap();
    let directory = QlogDirectory::open(folder, WhenFull::Wait).unwrap();
    let traces = directory.traces();
    let observer = move |begins: &polypath_sim::ObservedAssociation| {
        let (name, vantage_point) = match begins.is_client {
            true => ("client", VantagePoint::Client),
            false => ("server", VantagePoint::Server),
        };
        Some(Box::new(traces.begin(name, TraceHeader::new("exchange", vantage_point))) as BoxedProbe)
    };
    let mut simulation = Simulation::new(&scenario).unwrap();
    simulation.observe(&(Arc::new(observer) as Arc<dyn polypath_sim::Observer>));
    assert!(simulation.run().unwrap().is_ok());
    directory.finish().unwrap();
}

async fn real(folder: &Path) {
    let directory = QlogDirectory::open(folder, WhenFull::Wait).unwrap();
    let traces = directory.traces();
    let observer: Arc<dyn Observer> = Arc::new(move |begins: &ObservedAssociation| {
        let (name, vantage_point) = match begins.initiator {
            Initiator::Local => ("client", VantagePoint::Client),
            Initiator::Peer => ("server", VantagePoint::Server),
        };
        let header = TraceHeader::new("exchange", vantage_point);
        Some(Box::new(traces.begin(name, header)) as BoxedProbe)
    });
    let bind = |address: &str| {
        Endpoint::builder([address.parse().unwrap()])
            .encapsulation_port(0)
            .listen(1)
            .observer(Arc::clone(&observer))
            .bind()
            .unwrap()
    };
    let (server, client) = (bind("127.0.7.81"), bind("127.0.7.82"));
    let peer = Peer::new(server.local_addresses(), server.port())
        .encapsulation_port(server.encapsulation_port());
    // The simulator has no address translators, and its associations take no paths from behind them.
    let config =
        AssociationConfig { address_join: AddressJoin::Off, ..AssociationConfig::default() };
    let near = client.connect(&peer, config).await.unwrap();
    let far = server.accept().await.unwrap();
    let receive = async {
        for _ in 0..MESSAGES {
            assert_eq!(far.receive().await.unwrap().unwrap().len(), BYTES);
        }
        assert!(far.receive().await.unwrap().is_none());
    };
    let send = async {
        for _ in 0..MESSAGES {
            near.send(Message::new(0, vec![7; BYTES])).await.unwrap();
        }
        near.shutdown().await.unwrap();
    };
    tokio::join!(send, receive);
    server.idle().await;
    directory.finish().unwrap();
}

#[tokio::test]
async fn the_same_exchange_gives_the_same_events() {
    let folder = tempfile::tempdir().unwrap();
    let [simulation, network] = ["simulation", "network"].map(|world| folder.path().join(world));
    fs::create_dir(&simulation).unwrap();
    simulated(&simulation);
    real(&network).await;
    for end in ["client.sqlog", "server.sqlog"] {
        let [simulated, real] = [&simulation, &network].map(|world| Trace::read(&world.join(end)));
        assert_eq!(simulated.header, real.header);
        let kinds = |trace: &Trace| {
            let kinds = trace.kinds().into_iter().filter(|(kind, _)| !BY_CHANCE.contains(kind));
            let owned = kinds.map(|(kind, fields)| (kind.to_owned(), format!("{fields:?}")));
            owned.collect::<BTreeMap<_, _>>()
        };
        assert_eq!(kinds(&simulated), kinds(&real), "{end}");
        let (sent, received) =
            if end.starts_with("client") { (MESSAGES, 0) } else { (0, MESSAGES) };
        for (kind, field) in [
            ("sctp:association_state_updated", "new"),
            ("sctp:association_ended", "reason"),
            ("sctp:path_opened", "path_id"),
            ("sctp:path_opened", "state"),
        ] {
            let [simulated, real] = [&simulated, &real].map(|trace| trace.values(kind, field));
            assert!(!simulated.is_empty(), "{end}: no {kind}");
            assert_eq!(simulated, real, "{end}: {kind}");
        }
        for trace in [simulated, real] {
            let (data, sacks) = match sent {
                0 => ("sctp:packet_received", "sctp:sack_sent"),
                _ => ("sctp:packet_sent", "sctp:sack_received"),
            };
            let packets = trace.values(data, "chunks");
            let with_data = packets.iter().filter(|chunks| chunks[0] == "DATA").count();
            assert!(with_data > 0, "{packets:?}");
            assert!(trace.count(sacks) > 0, "{end}");
            assert_eq!(trace.first_sent(), sent);
            assert_eq!(trace.count("sctp:chunk_acked"), sent);
            assert_eq!(trace.count("sctp:chunk_received"), received);
        }
    }
}
