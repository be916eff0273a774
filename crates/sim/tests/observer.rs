//! Observers of a simulation: they see what the counters count, and change nothing.

mod common;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use polypath_proto::{AssociationState, Probe, ProbeEvent};
use polypath_sim::{Form, ObservedAssociation, Observer, PathResult, RunResult, Simulation};
use polypath_units::Instant;

type Log = Arc<Mutex<Vec<(Instant, ProbeEvent)>>>;

/// Logs of associations, by name of the host.
type Logs = Arc<Mutex<BTreeMap<String, (ObservedAssociation, Log)>>>;

struct Writer(Log);

impl Probe for Writer {
    fn on(&mut self, now: Instant, event: ProbeEvent) {
        self.0.lock().unwrap().push((now, event));
    }
}

fn run(set: &[&str], logs: Option<&Logs>) -> RunResult {
    let set: Vec<&str> = ["traffic.file.source.file=512 KiB"].iter().chain(set).copied().collect();
    let scenario = common::read("two-paths-loss", &set);
    let mut simulation = Simulation::with(&scenario, 1, Form::Structured).unwrap();
    if let Some(logs) = logs {
        let logs = Arc::clone(logs);
        let observer = move |begins: &ObservedAssociation| {
            let log = Log::default();
            let entry = (begins.clone(), Arc::clone(&log));
            logs.lock().unwrap().insert(begins.host.clone(), entry);
            Some(Box::new(Writer(log)) as Box<dyn Probe + Send>)
        };
        simulation.observe(&(Arc::new(observer) as Arc<dyn Observer>));
    }
    simulation.run().unwrap()
}

fn count(logs: &Logs, host: &str, wanted: impl Fn(&ProbeEvent) -> bool) -> u64 {
    let logs = logs.lock().unwrap();
    let log = logs[host].1.lock().unwrap();
    log.iter().filter(|(_, event)| wanted(event)).count() as u64
}

#[test]
fn observers_see_what_is_counted() {
    for set in [&[][..], &["record.tsns=list", "record.changes=on"]] {
        let logs = Logs::default();
        let result = run(set, Some(&logs));
        let sent: u64 = result.paths.iter().map(|path| path.data_chunks_sent).sum();
        assert!(sent > 300);
        assert_eq!(count(&logs, "a", |e| matches!(e, ProbeEvent::ChunkSent { .. })), sent);
        let received = count(&logs, "b", |e| matches!(e, ProbeEvent::ChunkReceived { .. }));
        assert_eq!(count(&logs, "a", |e| matches!(e, ProbeEvent::ChunkAcked { .. })), received);
        let packets = result.paths.iter().filter(|path| path.from == "a");
        let packets: u64 = packets.map(|path| path.packets_sent).sum();
        assert_eq!(count(&logs, "a", |e| matches!(e, ProbeEvent::PacketSent { .. })), packets);
        let repeated = |path: &PathResult| path.fast_retransmissions + path.timeout_retransmissions;
        let repeated: u64 = result.paths.iter().map(repeated).sum();
        let lost = count(&logs, "a", |e| matches!(e, ProbeEvent::ChunkLost { .. }));
        assert!(repeated > 0 && lost >= repeated, "{lost} lost, {repeated} sent again");
        let timeouts: u64 = result.paths.iter().map(|path| path.timeouts).sum();
        assert_eq!(count(&logs, "a", |e| matches!(e, ProbeEvent::Timeout { .. })), timeouts);
        let logs = logs.lock().unwrap();
        let [a, b] = ["a", "b"].map(|host| &logs[host].0);
        assert_eq!((a.is_client, b.is_client), (true, false));
        assert_eq!((a.local_port, a.remote_port), (b.remote_port, b.local_port));
        assert!(logs["a"].1.lock().unwrap().is_sorted_by_key(|(at, _)| *at));
    }
}

/// The endpoint begins associations before anybody can say who observes them.
#[test]
fn observers_hear_of_an_association_from_its_beginning() {
    let logs = Logs::default();
    run(&[], Some(&logs));
    let logs = logs.lock().unwrap();
    for (host, begins) in
        [("a", AssociationState::CookieWait), ("b", AssociationState::Established)]
    {
        let log = logs[host].1.lock().unwrap();
        assert_eq!(log[0].1, ProbeEvent::State { state: begins });
        assert!(matches!(log[1].1, ProbeEvent::PathOpened { .. }), "{:?}", log[1]);
        let is_packet = |event: &ProbeEvent| {
            matches!(event, ProbeEvent::PacketSent { .. } | ProbeEvent::PacketReceived { .. })
        };
        let (_, first) = log.iter().find(|(_, event)| is_packet(event)).unwrap();
        match (host, first) {
            ("a", ProbeEvent::PacketSent { chunks, .. }) => assert_eq!(chunks.to_string(), "INIT"),
            ("b", ProbeEvent::PacketReceived { chunks, .. }) => {
                assert!(chunks.names().any(|name| name == "COOKIE-ECHO"), "{chunks}");
            }
            _ => panic!("{host}: {first:?}"),
        }
    }
}

#[test]
fn observers_change_nothing() {
    for set in [&[][..], &["record.tsns=list", "record.blocking=list"]] {
        assert_eq!(run(set, None), run(set, Some(&Logs::default())));
    }
}
