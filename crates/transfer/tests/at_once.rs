//! Small files and directories, many of which are on their way at a time.

#[path = "common/frames.rs"]
mod frames;

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use frames::{DIRECTORY, EAGER, END, FILE, VERDICT, data, end, offer, reason, second_offer};
use polypath::{AssociationConfig, Endpoint, EndpointConfig, Message, Peer, Preset};
use polypath_transfer::{Inbox, Quota, Sender, association_config};
use tempfile::TempDir;

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
            let reply = association.receive().await.unwrap().unwrap();
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
        let reply = association.receive().await.unwrap().unwrap();
        assert_eq!((reply.ppid(), reply.into_bytes()[0]), (VERDICT, 0));
    }
    let reply = association.receive().await.unwrap().unwrap().into_bytes();
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
