//! Probes of associations: what an observer is told, and that both ends agree about what happened.
#![allow(missing_docs)]

mod common;

use std::sync::{Arc, Mutex};

use common::{CLIENT, SERVER, addresses, client_on, pair, peer_of, server_with};
use polypath::{
    AssociationConfig, AssociationState, BoxedProbe, Endpoint, Event, EventKinds, Initiator,
    Instant, Message, ObservedAssociation, Probe, ProbeEvent, TransmissionCause,
};

/// Events of all associations of an endpoint, with the association's number in the order in which they began.
#[derive(Clone, Default)]
struct Diary {
    began: Arc<Mutex<Vec<ObservedAssociation>>>,
    events: Arc<Mutex<Vec<(usize, Instant, ProbeEvent)>>>,
}

struct Pen {
    diary: Diary,
    association: usize,
}

impl Diary {
    fn pen(&self, association: usize) -> BoxedProbe {
        Box::new(Pen { diary: self.clone(), association })
    }

    fn observe(&self, association: &ObservedAssociation) -> BoxedProbe {
        let mut began = self.began.lock().unwrap();
        began.push(association.clone());
        self.pen(began.len() - 1)
    }

    fn count(&self, wanted: impl Fn(&ProbeEvent) -> bool) -> usize {
        self.events.lock().unwrap().iter().filter(|(_, _, event)| wanted(event)).count()
    }
}

impl Probe for Pen {
    fn on(&mut self, now: Instant, event: ProbeEvent) {
        self.diary.events.lock().unwrap().push((self.association, now, event));
    }
}

fn observed(diary: &Diary, local: &[&str], backlog: usize) -> Endpoint {
    let diary = diary.clone();
    Endpoint::builder(addresses(local))
        .encapsulation_port(0)
        .listen(backlog)
        .observer(Arc::new(move |begins: &ObservedAssociation| Some(diary.observe(begins))))
        .bind()
        .unwrap()
}

fn first_sent(event: &ProbeEvent) -> bool {
    matches!(event, ProbeEvent::ChunkSent { cause: TransmissionCause::New, .. })
}

fn received(event: &ProbeEvent) -> bool {
    matches!(event, ProbeEvent::ChunkReceived { .. })
}

fn acked(event: &ProbeEvent) -> bool {
    matches!(event, ProbeEvent::ChunkAcked { .. })
}

#[tokio::test]
async fn both_ends_see_the_same_transfer() {
    let (sending, receiving) = (Diary::default(), Diary::default());
    let server = observed(&receiving, &SERVER, 4);
    let client = observed(&sending, &CLIENT, 0);
    let near = client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
    let far = server.accept().await.unwrap();
    for number in 0..100_u8 {
        near.send(Message::new(0, vec![number; 5000])).await.unwrap();
        assert_eq!(far.receive().await.unwrap().unwrap().len(), 5000);
    }
    near.sender_dry().await.unwrap();
    let chunks = sending.count(first_sent);
    assert!(chunks >= 100);
    assert_eq!(sending.count(acked), chunks);
    assert_eq!(receiving.count(received), chunks);
    assert_eq!((sending.count(received), receiving.count(first_sent)), (0, 0));
    assert!(sending.count(|event| matches!(event, ProbeEvent::Rtt { .. })) > 0);
    let events = sending.events.lock().unwrap();
    assert!(events.is_sorted_by_key(|(_, at, _)| *at), "time does not run backwards");

    let began = sending.began.lock().unwrap();
    assert_eq!(began.len(), 1);
    assert_eq!(began[0].initiator, Initiator::Local);
    assert_eq!((began[0].local_port, began[0].remote_port), (client.port(), server.port()));
    assert_eq!(began[0].remote_addresses, server.local_addresses()[..1]);
    assert!(began[0].begins <= events[0].1);
    // Both hear of the association from its beginning, although it began before they were asked.
    assert_eq!(events[0].2, ProbeEvent::State { state: AssociationState::CookieWait });
    let received = receiving.events.lock().unwrap();
    assert_eq!(received[0].2, ProbeEvent::State { state: AssociationState::Established });
    let ProbeEvent::PathOpened { path, local, remote, .. } = received[1].2 else {
        panic!("{:?}", received[1])
    };
    assert_eq!(path.0, 0);
    assert!(server.local_addresses().contains(&local));
    assert!(client.local_addresses().contains(&remote));
    drop(received);
    let carries = |event: &ProbeEvent, wanted: &str| match event {
        ProbeEvent::PacketSent { chunks, .. } | ProbeEvent::PacketReceived { chunks, .. } => {
            chunks.names().any(|name| name == wanted)
        }
        _ => false,
    };
    let cookies = [&events, &receiving.events.lock().unwrap()]
        .map(|events| events.iter().filter(|(_, _, event)| carries(event, "COOKIE-ECHO")).count());
    assert_eq!(cookies, [1, 1]);
    let accepted = receiving.began.lock().unwrap();
    assert_eq!((accepted.len(), accepted[0].initiator), (1, Initiator::Peer));
    assert_eq!(accepted[0].remote_port, client.port());
}

#[tokio::test]
async fn an_observer_may_pass_over_an_association() {
    let diary = Diary::default();
    let servers = SERVER.map(|address| server_with(&[address], AssociationConfig::default()));
    let (chosen, wanted) = (diary.clone(), servers[1].port());
    let client = Endpoint::builder(addresses(&CLIENT))
        .encapsulation_port(0)
        .observer(Arc::new(move |begins: &ObservedAssociation| {
            let probe = chosen.observe(begins);
            (begins.remote_port == wanted).then_some(probe)
        }))
        .bind()
        .unwrap();
    for server in &servers {
        let near = client.connect(&peer_of(server), AssociationConfig::default()).await.unwrap();
        let far = server.accept().await.unwrap();
        near.send(Message::new(0, "one")).await.unwrap();
        far.receive().await.unwrap().unwrap();
        near.sender_dry().await.unwrap();
    }
    let events = diary.events.lock().unwrap();
    assert!(!events.is_empty());
    assert!(events.iter().all(|(association, _, _)| *association == 1));
}

#[tokio::test]
async fn a_probe_can_come_later_and_go_again() {
    let pair = pair().await;
    let diary = Diary::default();
    let exchange = async || {
        pair.near.send(Message::new(0, "one")).await.unwrap();
        pair.far.receive().await.unwrap().unwrap();
        pair.near.sender_dry().await.unwrap();
    };
    exchange().await;
    assert!(pair.near.set_probe(Some(diary.pen(0))).is_none());
    exchange().await;
    exchange().await;
    assert_eq!((diary.count(first_sent), diary.count(acked)), (2, 2));
    assert!(pair.near.set_probe(None).is_some());
    exchange().await;
    assert_eq!(diary.count(first_sent), 2);
}

#[tokio::test]
async fn a_probe_goes_when_the_association_has_ended() {
    let diary = Diary::default();
    let server = server_with(&SERVER, AssociationConfig::default());
    let client = client_on(&CLIENT);
    let near = client.connect(&peer_of(&server), AssociationConfig::default()).await.unwrap();
    near.set_probe(Some(diary.pen(0)));
    assert_eq!(Arc::strong_count(&diary.events), 2);
    near.shutdown().await.unwrap();
    assert_eq!(Arc::strong_count(&diary.events), 1, "although a handle is left");
    near.stats();
}

#[tokio::test]
async fn listeners_get_the_kinds_of_events_that_they_want() {
    let pair = pair().await;
    let mut dry = pair.near.events_of(EventKinds::SENDER_DRY);
    let mut ends = pair.near.events_of(EventKinds::ASSOCIATION);
    let mut none = pair.near.events_of(EventKinds::empty());
    let mut all = pair.near.events();
    assert_eq!((dry.kinds(), all.kinds()), (EventKinds::SENDER_DRY, EventKinds::all()));
    pair.near.send(Message::new(0, "one")).await.unwrap();
    assert_eq!(dry.next().await, Some(Event::SenderDry));
    pair.far.abort("enough");
    assert!(matches!(ends.next().await, Some(Event::Ended(_))));
    assert_eq!((dry.next().await, ends.next().await, none.next().await), (None, None, None));
    let mut kinds = EventKinds::empty();
    while let Some(event) = all.next().await {
        kinds |= event.kind();
    }
    assert!(kinds.contains(EventKinds::SENDER_DRY | EventKinds::ASSOCIATION));
}
