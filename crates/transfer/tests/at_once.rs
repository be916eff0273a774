//! Small files and directories, many of which are on their way at a time, and offers that come before the content of others.

#[path = "common/frames.rs"]
mod frames;

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use frames::{
    AHEAD, ANSWER, DATA, DIRECTORY, EAGER, END, FILE, OFFER, VERDICT, WORKING, data, end, offer,
    offer_ahead, reason, reply, second_offer,
};
use polypath::text::with_causes;
use polypath::{AssociationConfig, Endpoint, EndpointConfig, Message, Peer, Preset};
use polypath_transfer::{
    Batch, Event, FileStatus, Inbox, Quota, Report, Sender, association_config,
};
use tempfile::TempDir;
use tokio::sync::Notify;

fn local(last: u8) -> [IpAddr; 1] {
    [IpAddr::from([127, 0, 16, last])]
}

fn config() -> AssociationConfig {
    association_config(Preset::Recommended)
}

fn listening(last: u8, association: AssociationConfig) -> (Endpoint, Peer) {
    let config = EndpointConfig { association, ..EndpointConfig::default() };
    let endpoint = Endpoint::builder(local(last)).encapsulation_port(0).config(config);
    let endpoint = endpoint.listen(16).bind().unwrap();
    let peer =
        Peer::new(local(last), endpoint.port()).encapsulation_port(endpoint.encapsulation_port());
    (endpoint, peer)
}

fn own(last: u8) -> Endpoint {
    Endpoint::builder(local(last)).encapsulation_port(0).bind().unwrap()
}

/// So many small files.
fn files(count: usize) -> (TempDir, Vec<PathBuf>) {
    let place = tempfile::tempdir().unwrap();
    let make = |number: usize| {
        let path = place.path().join(format!("{number:04}"));
        fs::write(&path, format!("content of {number}")).unwrap();
        path
    };
    let paths = (0..count).map(make).collect();
    (place, paths)
}

/// Answers come in the order of offers, though files are stored at a time and some need not be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_order_of_answers_is_that_of_offers() {
    const ROUNDS: u32 = 50;
    let (endpoint, peer) = listening(1, config());
    let place = tempfile::tempdir().unwrap();
    let quota = Quota { max_refused: 1000, ..Quota::default() };
    let inbox = Inbox::new(place.path()).quota(quota);
    let listening = endpoint.clone();
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&listening).await.unwrap();
        let received = receiver.run().await;
        (received.is_ok(), receiver.into_report())
    });
    let own = own(2);
    let association = own.connect(&peer, config()).await.unwrap();
    // In each round: a directory, a file in it, the same once more, one that is refused, and a file that waits for its answer.
    let mut following = 5 * ROUNDS;
    let mut next = || {
        following -= 1;
        following
    };
    for round in 0..ROUNDS {
        let directory = format!("d{round}");
        let file = format!("{directory}/file");
        let small = |following, name: &[u8]| second_offer(following, 2, (FILE, EAGER), name);
        association
            .send(second_offer(next(), 0, (DIRECTORY, 0), directory.as_bytes()))
            .await
            .unwrap();
        for name in [file.as_bytes(), file.as_bytes(), b"../up"] {
            association.send(small(next(), name)).await.unwrap();
            association.send(data(b"ok")).await.unwrap();
            association.send(end(b"ok")).await.unwrap();
        }
        association.send(offer(next(), 5, b"a/b")).await.unwrap();
    }
    for _ in 0..ROUNDS {
        let mut kinds = Vec::new();
        for _ in 0..5 {
            let reply = reply(&association).await;
            kinds.push((reply.ppid() == VERDICT, reply.into_bytes()[0]));
        }
        // Of two that are the same, one is stored. The other one may find it, or come while it is being stored.
        let [first, second] = [kinds.remove(1), kinds.remove(1)];
        let other = if first == (true, 0) { second } else { first };
        assert!(first == (true, 0) || second == (true, 0), "{first:?} {second:?}");
        assert!([(false, 1), (false, 3)].contains(&other), "{other:?}");
        assert_eq!(kinds, [(true, 0), (false, 1), (false, 1)]);
    }
    assert!(association.receive().await.unwrap().is_none());
    let (is_ok, report) = receiving.await.unwrap();
    assert!(is_ok && !report.complete);
    assert_eq!(report.files.len() as u64 + report.files_omitted, u64::from(5 * ROUNDS));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), ROUNDS as usize);
}

/// Content that is not what was offered ends the association, after the answers to what came before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_comes_after_what_was_stored_before_it() {
    let (endpoint, peer) = listening(3, config());
    let place = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(place.path());
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap();
        let received = receiver.run().await;
        (received.unwrap_err().to_string(), receiver.into_report(), endpoint)
    });
    let own = own(4);
    let association = own.connect(&peer, config()).await.unwrap();
    for number in 0..10_u8 {
        let offered = second_offer(100 - u32::from(number), 2, (FILE, EAGER), &[b'a' + number]);
        association.send(offered).await.unwrap();
        association.send(data(b"ok")).await.unwrap();
        association.send(end(if number == 7 { b"no" } else { b"ok" })).await.unwrap();
    }
    for _ in 0..7 {
        let reply = reply(&association).await;
        assert_eq!((reply.ppid(), reply.into_bytes()[0]), (VERDICT, 0));
    }
    let reply = reply(&association).await.into_bytes();
    assert!(reason(&reply).contains("SHA-256 differs"), "{reply:?}");
    assert!(association.receive().await.is_err());
    let (error, report, _endpoint) = receiving.await.unwrap();
    assert!(error.contains("SHA-256 differs"), "{error}");
    // Those behind it may have been stored as well; the report says which.
    let stored = report.files.iter().filter(|file| file.bytes == 2).count();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), stored);
    assert!(stored >= 7 && report.files[7].error.is_some(), "{report:?}");
}

/// A thousand files are on their way before the first of them is answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_does_not_wait_for_answers() {
    const FILES: usize = 1000;
    let (endpoint, peer) = listening(5, config());
    let (_place, paths) = files(FILES);
    let sending = tokio::spawn(async move {
        let mut sender = Sender::connect(&own(6), &peer, config()).await.unwrap();
        let sent = sender.send(&paths).await;
        (sent.is_ok(), sender.into_report())
    });
    let association = endpoint.accept().await.unwrap();
    let mut ends = 0;
    while ends < FILES {
        ends += usize::from(association.receive().await.unwrap().unwrap().ppid() == END);
    }
    for _ in 0..FILES {
        association.send(Message::new(0, vec![0]).ppid(VERDICT)).await.unwrap();
    }
    association.shutdown().await.unwrap();
    let (is_ok, report) = sending.await.unwrap();
    assert!(is_ok && report.complete && report.files.len() == FILES, "{report:?}");
}

/// With buffers for a few frames at each end, a side that does not read stops the other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_buffers_carry_many_small_files() {
    const FILES: usize = 300;
    let small =
        AssociationConfig { send_buffer_bytes: 4096, receive_buffer_bytes: 4096, ..config() };
    let (endpoint, peer) = listening(7, small.clone());
    let (_place, paths) = files(FILES);
    let downloads = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(downloads.path());
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap();
        let received = receiver.run().await;
        (received.is_ok(), receiver.into_report(), endpoint)
    });
    let mut sender = Sender::connect(&own(8), &peer, small).await.unwrap();
    sender.send(&paths).await.unwrap();
    let (is_ok, report, _endpoint) = receiving.await.unwrap();
    assert!(is_ok && report.complete);
    assert_eq!(fs::read_dir(downloads.path()).unwrap().count(), FILES);
    let last = fs::read_to_string(downloads.path().join("0299")).unwrap();
    assert_eq!(last, "content of 299");
}

/// Answers a sender that speaks for itself, and gives what became of the transfer.
fn receive_all(
    endpoint: Endpoint,
    place: &TempDir,
) -> tokio::task::JoinHandle<(Result<(), String>, Report, Endpoint)> {
    let inbox = Inbox::new(place.path());
    tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap();
        let received = receiver.run().await.map_err(|error| with_causes(&error));
        (received, receiver.into_report(), endpoint)
    })
}

/// A receiver that says that it knows version 3 is offered files before the content of those before is there. One that says nothing is
/// not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offers_come_ahead_where_the_receiver_knows_that() {
    const FILES: usize = 40;
    let (endpoint, peer) = listening(9, config());
    let place = tempfile::tempdir().unwrap();
    let content = |number: usize| vec![number as u8; 70_000 + number];
    let make = |number: usize| {
        let path = place.path().join(format!("{number:04}"));
        fs::write(&path, content(number)).unwrap();
        path
    };
    let paths: Vec<_> = (0..=FILES).map(make).collect();
    let sending = tokio::spawn(async move {
        let mut sender = Sender::connect(&own(10), &peer, config()).await.unwrap();
        let sent = sender.send(&paths).await;
        (sent.is_ok(), sender.into_report())
    });
    let association = endpoint.accept().await.unwrap();
    let next = async || association.receive().await.unwrap().unwrap();
    let first = next().await;
    assert_eq!((first.ppid(), &first.into_bytes()[..1]), (OFFER, &[2][..]));
    association.send(Message::new(0, vec![0, 3]).ppid(WORKING)).await.unwrap();
    association.send(Message::new(0, "\u{3}it is there").ppid(ANSWER)).await.unwrap();
    for number in 1..=FILES {
        let offered = next().await;
        assert_eq!(offered.ppid(), OFFER);
        let offered = offered.into_bytes();
        assert_eq!((offered[0], offered[14]), (3, AHEAD));
        assert!(offered.ends_with(format!("{number:04}").as_bytes()));
    }
    // Every second one is wanted.
    for number in 1..=FILES {
        let answer = if number % 2 == 0 { "\u{0}" } else { "\u{1}no" };
        association.send(Message::new(0, answer).ppid(ANSWER)).await.unwrap();
    }
    for number in (2..=FILES).step_by(2) {
        let mut came = Vec::new();
        let digest = loop {
            let message = next().await;
            match message.ppid() {
                DATA => came.extend_from_slice(&message.into_bytes()),
                ppid => break (ppid, message.into_bytes()),
            }
        };
        assert!(came == content(number) && digest.0 == END);
        association.send(Message::new(0, vec![0]).ppid(VERDICT)).await.unwrap();
    }
    association.shutdown().await.unwrap();
    let (is_ok, report) = sending.await.unwrap();
    assert!(is_ok && report.files.len() == FILES + 1, "{report:?}");
    for (number, file) in report.files.iter().enumerate() {
        assert_eq!(file.name, format!("{number:04}"));
        let is_stored = number > 0 && number % 2 == 0;
        assert_eq!(file.bytes, if is_stored { 70_000 + number as u64 } else { 0 });
    }
}

/// Files of all sizes, of which some are there already, in directories.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_all_sizes_arrive_in_their_order() {
    let (endpoint, peer) = listening(11, config());
    let (place, downloads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = place.path().join("tree");
    let sizes = [0, 1, 65_536, 65_537, 300_000, 1 << 20, (1 << 20) + 1, 2_000_000];
    let content = |number: usize| vec![number as u8; sizes[number % sizes.len()]];
    for number in 0..64 {
        let below = format!("{}/{number:02}", number / 16);
        fs::create_dir_all(tree.join(&below).parent().unwrap()).unwrap();
        fs::write(tree.join(&below), content(number)).unwrap();
        if number % 7 == 0 {
            let there = downloads.path().join("tree").join(&below);
            fs::create_dir_all(there.parent().unwrap()).unwrap();
            // The same, and one of the same size with other content.
            let other = vec![0xFF; content(number).len()];
            fs::write(&there, if number % 2 == 0 { content(number) } else { other }).unwrap();
            // Size and time say nothing.
            let file = fs::File::options().write(true).open(there).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
    }
    let receiving = receive_all(endpoint, &downloads);
    let mut sender = Sender::connect(&own(12), &peer, config()).await.unwrap();
    sender.send([&tree]).await.unwrap();
    let (received, report, _endpoint) = receiving.await.unwrap();
    received.unwrap();
    let names: Vec<_> = sender.files().iter().map(|file| file.name.clone()).collect();
    let files: Vec<_> = names.iter().filter(|name| !name.ends_with('/')).collect();
    assert!(files.len() == 64 && files.is_sorted(), "{names:?}");
    assert_eq!(report.files.len(), names.len());
    for number in 0..64 {
        let below = format!("tree/{}/{number:02}", number / 16);
        let status = sender.files().iter().find(|file| file.name == below).unwrap().status;
        let expected = match number {
            number if number % 7 > 0 => FileStatus::Stored,
            number if number % 2 == 0 || content(number).is_empty() => FileStatus::There,
            _ => FileStatus::Refused,
        };
        assert_eq!(status, expected, "{below}");
        let is_as_sent = fs::read(downloads.path().join(&below)).unwrap() == content(number);
        assert_eq!(is_as_sent, expected != FileStatus::Refused, "{below}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_offers_ahead_keeps_to_the_order_or_the_association_ends() {
    let large = offer_ahead(9, (1 << 20) + 1, b"large");
    let cases: [(&str, Vec<Message>); 4] = [
        ("content of 1048577 bytes", vec![large]),
        ("data", vec![data(b"nobody asked")]),
        (
            "an offer in the middle of a file",
            vec![offer_ahead(9, 5, b"first"), second_offer(8, 5, (FILE, 0), b"second")],
        ),
        (
            "an offer in the middle of a file",
            vec![offer_ahead(9, 5, b"first"), data(b"12"), offer_ahead(8, 5, b"second")],
        ),
    ];
    for (number, (expected, messages)) in (0_u8..).zip(cases) {
        let (endpoint, peer) = listening(20 + 2 * number, config());
        let place = tempfile::tempdir().unwrap();
        let receiving = receive_all(endpoint, &place);
        let own = own(21 + 2 * number);
        let association = own.connect(&peer, config()).await.unwrap();
        for message in messages {
            let is_data = message.ppid == DATA;
            if is_data && number > 1 {
                assert_eq!(reply(&association).await.into_bytes().as_ref(), [0]);
            }
            association.send(message).await.unwrap();
        }
        while let Ok(Some(_)) = association.receive().await {}
        let (received, report, _endpoint) = receiving.await.unwrap();
        let error = received.unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert!(!report.complete && fs::read_dir(place.path()).unwrap().count() == 0);
    }
}

/// After an outage, what had no answer is sent again, each file has one report, and the order stays.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_among_many_files_loses_none() {
    const FILES: usize = 150;
    let (endpoint, peer) = listening(40, config());
    let (place, downloads) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let tree = place.path().join("tree");
    fs::create_dir(&tree).unwrap();
    // Some with their offers, some ahead, and one in a while that waits.
    let content = |number: usize| vec![number as u8; [1000, 80_000, 80_001, 1_100_000][number % 4]];
    for number in 0..FILES {
        fs::write(tree.join(format!("{number:03}")), content(number)).unwrap();
    }
    let inbox = Inbox::new(downloads.path());
    let receiving = tokio::spawn(async move {
        for enough in [30, 60, usize::MAX] {
            let over = Arc::new(Notify::new());
            let (mut ended, bell) = (0, Arc::clone(&over));
            let observe = move |event: &Event| {
                ended += usize::from(matches!(event, Event::Ended { .. }));
                if ended == enough {
                    bell.notify_one();
                }
            };
            let mut receiver = inbox.accept(&endpoint).await.unwrap().on_event(observe);
            tokio::select! {
                received = receiver.run() => {
                    received.unwrap();
                    break;
                }
                () = over.notified() => receiver.abort("away").await,
            }
        }
        endpoint
    });
    let own = own(41);
    let mut sender = Sender::connect(&own, &peer, config()).await.unwrap();
    let batch = Batch::of(&[&tree]).unwrap();
    let again = || own.connect(&peer, config());
    sender.send_with_retries(batch, Duration::from_secs(60), again).await.unwrap();
    let _endpoint = receiving.await.unwrap();
    for number in 0..FILES {
        let there = downloads.path().join(format!("tree/{number:03}"));
        assert!(fs::read(there).unwrap() == content(number), "{number}");
    }
    let report = sender.into_report();
    assert_eq!((report.complete, report.associations), (true, 3));
    let names: Vec<_> = report.files.iter().map(|file| file.name.clone()).collect();
    let expected = (0..FILES).map(|number| format!("tree/{number:03}"));
    assert!(names[1..].iter().cloned().eq(expected), "{names:?}");
}
