//! Short measurements over the loopback interface, without the program. Nothing depends on how fast the machine is.

use std::net::IpAddr;
use std::time::Duration;

use polypath::{Endpoint, EndpointConfig, Message, Peer, Preset};
use polypath_meter::document::{ClockSource, Document, Interval, StreamLine, Sum};
use polypath_meter::{
    AgreementError, Client, ClientError, Direction, Event, FlowSpec, Observer, Plan, Requirements,
    Server, ServerError, Traffic, association_config,
};

fn local(last: &[u8]) -> Vec<IpAddr> {
    last.iter().map(|&last| IpAddr::from([127, 0, 10, last])).collect()
}

fn listening(last: &[u8]) -> (Endpoint, Peer) {
    let association = association_config(Preset::Recommended);
    let endpoint = Endpoint::builder(local(last))
        .encapsulation_port(0)
        .listen(16)
        .config(EndpointConfig { association, ..EndpointConfig::default() })
        .bind()
        .unwrap();
    // With all addresses named, the paths are the same whichever of them answers first.
    let peer =
        Peer::new(local(last), endpoint.port()).encapsulation_port(endpoint.encapsulation_port());
    (endpoint, peer)
}

async fn connected(last: &[u8], peer: &Peer, plan: Plan) -> Client {
    let endpoint = Endpoint::builder(local(last)).encapsulation_port(0).bind().unwrap();
    let config = association_config(Preset::Recommended);
    Client::connect(&endpoint, peer, config, plan).await.unwrap()
}

/// What an end hears of.
#[derive(Default)]
struct Heard {
    starts: usize,
    intervals: Vec<Interval>,
    wants_output: Option<bool>,
}

impl Observer for Heard {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Started { document, wants_output } => {
                assert!(!document.start.connected.is_empty() && document.intervals.is_empty());
                self.starts += 1;
                self.wants_output = Some(wants_output);
            }
            Event::Interval(interval) => self.intervals.push(interval.clone()),
            other => panic!("{other:?}"),
        }
    }

    fn output(&mut self) -> Option<String> {
        Some("what the server shows\u{1b}[2J\n".to_owned())
    }
}

fn bytes(sum: Option<Sum>) -> u64 {
    sum.map_or(0, |sum| sum.bytes)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_ends_count_the_same_over_two_paths() {
    let (endpoint, peer) = listening(&[1, 2]);
    let serving = tokio::spawn(async move {
        let mut session = Server::new().accept(&endpoint).await.unwrap();
        let mut heard = Heard::default();
        let served = session.run(&mut heard).await;
        assert!(served.is_ok() && session.started(), "{served:?}");
        (session.into_document(), heard, endpoint)
    });
    let plan = Plan::new()
        .bytes(2_000_000)
        .parallel(3)
        .direction(Direction::Both)
        .title("two paths")
        .server_output(true);
    let mut client = connected(&[3, 4], &peer, plan).await;
    let mut heard = Heard::default();
    client.run(&mut heard).await.unwrap();
    assert!(client.is_complete());
    let here = client.into_document();
    let (there, told, _endpoint) = serving.await.unwrap();
    assert!(here.complete && there.complete);
    assert_eq!((heard.starts, told.starts, told.wants_output), (1, 1, Some(true)));
    assert_eq!(heard.intervals, here.intervals);
    assert_eq!((&here.title, &there.title), (&Some("two paths".into()), &here.title));
    assert_eq!(here.server_output_text.as_deref(), Some("what the server shows?[2J\n"));
    for document in [&here, &there] {
        let end = &document.end;
        for sum in [
            end.sum_sent,
            end.sum_received,
            end.sum_sent_bidir_reverse,
            end.sum_received_bidir_reverse,
        ] {
            // The last message of each flow is as short as a message may be.
            assert!((2_000_000..2_000_000 + 3 * 48).contains(&bytes(sum)), "{sum:?}");
        }
        assert_eq!((end.streams.len(), end.paths.len(), end.malformed_messages), (6, 2, 0));
        for both in &end.streams {
            let received = both.receiver.as_ref().unwrap();
            assert_eq!(both.sender.as_ref().unwrap().messages, received.messages);
            assert_eq!(received.lost_messages, Some(0));
            assert!(received.delay.is_some());
        }
    }
    if cfg!(target_os = "linux") {
        assert_eq!(here.start.clock.map(|clock| clock.source), Some(ClockSource::Shared));
    }
    let verdicts = Requirements::new().rate("1 bit/s".parse::<polypath_units::BitRate>().unwrap());
    assert!(verdicts.gain(2.0).judge(&here.end).iter().map(|it| it.met).eq([true, false]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_serves_one_after_the_other_and_flows_are_as_planned() {
    let (endpoint, peer) = listening(&[5]);
    let serving = tokio::spawn(async move {
        let mut documents: Vec<Document> = Vec::new();
        let server = Server::new();
        server
            .serve(&endpoint, |document| {
                documents.push(document);
                if documents.len() == 2 {
                    endpoint.stop_listening();
                }
            })
            .await;
        documents
    });
    let text: FlowSpec = "const50:const400:description=text".parse().unwrap();
    let mut unordered = Traffic::paced(500, 400_000, 1);
    unordered.unordered = polypath_units::Fraction::ONE;
    let made = FlowSpec::new(None, Some(unordered)).description("made");
    for flows in [vec![text], vec![made]] {
        let plan = Plan::new()
            .duration(Duration::from_millis(300))
            .interval(Duration::from_millis(100))
            .seed(7)
            .flows(flows);
        let mut client = connected(&[6], &peer, plan).await;
        client.run(&mut ()).await.unwrap();
        let document = client.into_document();
        assert_eq!(document.intervals.len(), 3);
        assert!(bytes(document.end.sum_sent) > 0);
        assert_eq!(bytes(document.end.sum_sent), bytes(document.end.sum_received));
    }
    let documents = serving.await.unwrap();
    let names: Vec<_> =
        documents.iter().map(|document| document.start.test_start.flows.concat()).collect();
    assert_eq!(names, ["text", "made"]);
    assert!(documents.iter().all(|document| document.complete && document.intervals.len() == 3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_why() {
    let (endpoint, peer) = listening(&[7]);
    let serving = tokio::spawn(async move {
        let server = Server::new().max_duration(Duration::from_secs(5));
        let mut session = server.accept(&endpoint).await.unwrap();
        let served = session.run(&mut ()).await;
        (served, session.started(), session.into_document(), endpoint)
    });
    let plan = Plan::new().duration(Duration::from_secs(6));
    let mut client = connected(&[8], &peer, plan).await;
    let refused = client.run(&mut ()).await.unwrap_err();
    let reason = "6 s are more than this server's limit, 5 s";
    match &refused {
        ClientError::NotAgreed(AgreementError::Refused(told)) => assert_eq!(told, reason),
        other => panic!("{other:?}"),
    }
    let document = client.into_document();
    assert!(!document.complete && document.end.streams.is_empty());
    assert_eq!(document.error, Some(format!("the server refuses: {reason}")));
    let (served, started, document, _endpoint) = serving.await.unwrap();
    assert!(matches!(served, Err(ServerError::Refused(_))) && !started, "{served:?}");
    assert_eq!(document.error, Some(format!("refused: {reason}")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_another_version_is_told_so() {
    let (endpoint, peer) = listening(&[11]);
    let serving = tokio::spawn(async move {
        let mut session = Server::new().accept(&endpoint).await.unwrap();
        let served = session.run(&mut ()).await;
        (served, session.started(), session.into_document(), endpoint)
    });
    let other = Endpoint::builder(local(&[12])).encapsulation_port(0).bind().unwrap();
    let config = association_config(Preset::Recommended);
    let association = other.connect(&peer, config).await.unwrap();
    let proposal = Message::new(0, &b"\x01\x00{\"propose\":{}}"[..]).ppid(0x504D_5401);
    association.send(proposal).await.unwrap();
    let reason = "version 1 of the control protocol; this is version 2";
    let ended = association.receive().await.unwrap_err().to_string();
    assert!(ended.contains(reason), "{ended}");
    let (served, started, document, _endpoint) = serving.await.unwrap();
    assert!(served.is_err() && !started, "{served:?}");
    assert!(document.error.unwrap().ends_with(reason));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_gives_up_keeps_what_there_is() {
    let (endpoint, peer) = listening(&[9]);
    let serving = tokio::spawn(async move {
        let mut session = Server::new().accept(&endpoint).await.unwrap();
        let served = session.run(&mut ()).await;
        (served.is_err(), session.into_document(), endpoint)
    });
    let plan = Plan::new()
        .duration(Duration::from_secs(1000))
        .interval(Duration::from_millis(50))
        .message_bytes(1000)
        .bit_rate("1 Mbit/s".parse().unwrap(), 1);
    let mut client = connected(&[10], &peer, plan).await;
    let (told, heard) = tokio::sync::oneshot::channel();
    let mut told = Some(told);
    let mut observe = |event: Event<'_>| {
        if let Event::Interval(interval) = event
            && interval.sum.bytes > 0
            && let Some(told) = told.take()
        {
            let _ = told.send(());
        }
    };
    tokio::select! {
        biased;
        _ = heard => {}
        ended = client.run(&mut observe) => panic!("{ended:?}"),
    }
    client.abort("enough");
    let document = client.into_document();
    assert!(!document.complete && !document.intervals.is_empty());
    assert!(bytes(document.end.sum_sent) > 0);
    assert_eq!(document.error.as_deref(), Some("enough"));
    let line = serde_json::to_value(StreamLine::end(&document)).unwrap();
    assert_eq!((&line["event"], &line["data"]["complete"]), (&"end".into(), &false.into()));
    let (failed, document, _endpoint) = serving.await.unwrap();
    assert!(failed && document.error.unwrap().contains("the client gives up: enough"));
}
