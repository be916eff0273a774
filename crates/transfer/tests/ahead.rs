//! Files of more than a megabyte, several of which are on their way at a time.

#[path = "common/frames.rs"]
mod frames;

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use frames::{
    AHEAD, ANSWER, DATA, END, FILE, OFFER, VERDICT, WORKING, data, end, large_offer_ahead, reason,
    reply, second_offer,
};
use polypath::text::with_causes;
use polypath::{Association, AssociationConfig, Endpoint, EndpointConfig, Message, Peer, Preset};
use polypath_transfer::{Event, FileStatus, Inbox, Quota, Report, Sender, association_config};
use tempfile::TempDir;

fn local(last: u8) -> [IpAddr; 1] {
    [IpAddr::from([127, 0, 18, last])]
}

fn config() -> AssociationConfig {
    association_config(Preset::Recommended)
}

fn listening(last: u8) -> (Endpoint, Peer) {
    let config = EndpointConfig { association: config(), ..EndpointConfig::default() };
    let endpoint = Endpoint::builder(local(last)).encapsulation_port(0).config(config);
    let endpoint = endpoint.listen(16).bind().unwrap();
    let peer =
        Peer::new(local(last), endpoint.port()).encapsulation_port(endpoint.encapsulation_port());
    (endpoint, peer)
}

fn own(last: u8) -> Endpoint {
    Endpoint::builder(local(last)).encapsulation_port(0).bind().unwrap()
}

fn content(number: usize) -> Vec<u8> {
    vec![number as u8 + 1; 1_500_000 + number * 1000]
}

/// So many files of a megabyte and a half.
fn files(count: usize) -> (TempDir, Vec<PathBuf>) {
    let place = tempfile::tempdir().unwrap();
    let make = |number: usize| {
        let path = place.path().join(format!("{number:02}"));
        fs::write(&path, content(number)).unwrap();
        path
    };
    let paths = (0..count).map(make).collect();
    (place, paths)
}

/// The next message that is one of these.
async fn next(association: &Association) -> (u32, Bytes) {
    let message = association.receive().await.unwrap().unwrap();
    (message.ppid(), message.into_bytes())
}

/// The content that comes next, up to its end.
async fn whole(association: &Association) -> Vec<u8> {
    let mut came = Vec::new();
    loop {
        match next(association).await {
            (DATA, part) => came.extend_from_slice(&part),
            (ppid, _) => {
                assert_eq!(ppid, END);
                return came;
            }
        }
    }
}

/// Four are on their way where the receiver knows how to take them: offered, or waiting for a verdict.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_ones_are_offered_before_the_content_of_the_first() {
    const FILES: usize = 6;
    let (endpoint, peer) = listening(1);
    let (_place, paths) = files(FILES);
    let sending = tokio::spawn(async move {
        let mut sender = Sender::connect(&own(2), &peer, config()).await.unwrap();
        let sent = sender.send(&paths).await;
        (sent.map_err(|error| with_causes(&error)), sender.into_report())
    });
    let association = endpoint.accept().await.unwrap();
    let say = async |ppid: u32, content: &[u8]| {
        let message = Message::new(0, content.to_vec()).ppid(ppid);
        association.send(message).await.unwrap();
    };
    // The first offer may come before the version.
    let (ppid, first) = next(&association).await;
    assert!(ppid == OFFER && first[0] == 2, "{first:?}");
    say(WORKING, &[0, 4]).await;
    say(ANSWER, b"\x03it is there").await;
    for number in 1..FILES {
        let (ppid, offered) = next(&association).await;
        assert_eq!((ppid, offered[0], offered[14]), (OFFER, 4, AHEAD), "{number}");
    }
    // The second is to come alone, and is offered once more when its turn comes.
    say(ANSWER, &[0]).await;
    say(ANSWER, &[4]).await;
    say(ANSWER, &[0]).await;
    assert!(whole(&association).await == content(1));
    // Replies come in the order of what they answer.
    say(ANSWER, b"\x01not wanted").await;
    say(ANSWER, &[0]).await;
    say(VERDICT, &[0]).await;
    let (ppid, again) = next(&association).await;
    assert_eq!((ppid, again[0], again[14]), (OFFER, 2, 0));
    assert!(again.ends_with(b"02"));
    say(ANSWER, &[0]).await;
    assert!(whole(&association).await == content(2));
    say(VERDICT, &[0]).await;
    for number in [3, 5] {
        assert!(whole(&association).await == content(number), "{number}");
        say(VERDICT, &[0]).await;
    }
    association.shutdown().await.unwrap();
    let (sent, report) = sending.await.unwrap();
    sent.unwrap();
    let status: Vec<_> = report.files.iter().map(|file| file.status).collect();
    let stored = FileStatus::Stored;
    let expected = [FileStatus::There, stored, stored, stored, FileStatus::Refused, stored];
    assert_eq!(status, expected);
}

/// A receiver of the version before is offered large files one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_receivers_get_one_after_the_other() {
    let (endpoint, peer) = listening(3);
    let (_place, paths) = files(3);
    let sending = tokio::spawn(async move {
        let mut sender = Sender::connect(&own(4), &peer, config()).await.unwrap();
        sender.send(&paths).await.map_err(|error| with_causes(&error))
    });
    let association = endpoint.accept().await.unwrap();
    association.send(Message::new(0, vec![0, 3]).ppid(WORKING)).await.unwrap();
    for number in 0..3 {
        let (ppid, offered) = next(&association).await;
        assert_eq!((ppid, offered[0], offered[14]), (OFFER, 2, 0));
        association.send(Message::new(0, vec![0]).ppid(ANSWER)).await.unwrap();
        assert!(whole(&association).await == content(number));
        association.send(Message::new(0, vec![0]).ppid(VERDICT)).await.unwrap();
    }
    association.shutdown().await.unwrap();
    sending.await.unwrap().unwrap();
}

/// Begun, bytes, ended: of each file in its turn.
type Heard = Arc<Mutex<Vec<(String, u64, bool)>>>;

fn listener() -> (Heard, impl FnMut(&Event) + Send + 'static) {
    let heard = Heard::default();
    let hear = Arc::clone(&heard);
    let listen = move |event: &Event| {
        let mut heard = hear.lock().unwrap();
        match event {
            Event::Begun { name, .. } => {
                assert!(heard.last().is_none_or(|(_, _, ended)| *ended), "{name}: {heard:?}");
                heard.push((name.clone(), 0, false));
            }
            Event::Progress { bytes } => {
                let last = heard.last_mut().unwrap();
                assert!(!last.2, "{last:?}");
                last.1 += bytes;
            }
            Event::Ended { file, .. } => {
                let last = heard.last_mut().unwrap();
                assert_eq!((&last.0, last.2), (&file.name, false));
                last.2 = true;
            }
            _ => {}
        }
    };
    (heard, listen)
}

/// Both sides report one file after the other, though several are on their way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_hear_of_one_file_after_the_other() {
    const FILES: usize = 20;
    let (endpoint, peer) = listening(5);
    let (_place, paths) = files(FILES);
    let downloads = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(downloads.path());
    let (at_receiver, listen) = listener();
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap().on_event(listen);
        let received = receiver.run().await.map_err(|error| with_causes(&error));
        (received, endpoint)
    });
    let (at_sender, listen) = listener();
    let sender = Sender::connect(&own(6), &peer, config()).await.unwrap();
    sender.on_event(listen).send(&paths).await.unwrap();
    let (received, _endpoint) = receiving.await.unwrap();
    received.unwrap();
    let name = |number| format!("{number:02}");
    let expected: Vec<_> =
        (0..FILES).map(|number| (name(number), content(number).len() as u64, true)).collect();
    assert_eq!(*at_sender.lock().unwrap(), expected);
    assert_eq!(*at_receiver.lock().unwrap(), expected);
    for number in 0..FILES {
        assert!(fs::read(downloads.path().join(name(number))).unwrap() == content(number));
    }
}

/// What became of a transfer whose sender says these frames, each after so many replies.
async fn said(last: u8, quota: Quota, messages: Vec<(usize, Message)>) -> (String, Report, usize) {
    let (endpoint, peer) = listening(last);
    let place = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(place.path()).quota(quota);
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap();
        let received = receiver.run().await.map_err(|error| with_causes(&error));
        (received, receiver.into_report(), endpoint)
    });
    let own = own(last + 1);
    let association = own.connect(&peer, config()).await.unwrap();
    for (replies, message) in messages {
        for _ in 0..replies {
            reply(&association).await;
        }
        if association.send(message).await.is_err() {
            break;
        }
    }
    while let Ok(Some(_)) = association.receive().await {}
    let (received, report, _endpoint) = receiving.await.unwrap();
    (received.unwrap_err(), report, fs::read_dir(place.path()).unwrap().count())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_breaks_the_order_ends_the_association_and_leaves_nothing() {
    let large = |following, name: &[u8]| large_offer_ahead(following, 2_000_000, name);
    let none = u64::MAX;
    let cases: [(&str, Vec<(usize, Message)>); 6] = [
        ("content of 18446744073709551615 bytes", vec![(0, large_offer_ahead(1, none, b"a"))]),
        ("2000000 that were offered", vec![(0, large(1, b"a")), (1, end(b""))]),
        ("an offer in the middle of a file", {
            vec![(0, large(2, b"a")), (1, data(b"x")), (0, large(1, b"b"))]
        }),
        ("an offer in the middle of a file", {
            vec![(0, large(2, b"a")), (1, second_offer(1, 9, (FILE, 0), b"b"))]
        }),
        ("digests without an offer", {
            vec![(0, large(2, b"a")), (1, Message::new(0, vec![0; 32]).ppid(frames::PROOF))]
        }),
        ("files to follow", {
            (0..100_u32).map(|n| (0, large(999 - n, format!("{n}").as_bytes()))).collect()
        }),
    ];
    for (number, (expected, messages)) in (0_u8..).zip(cases) {
        let (error, report, left) = said(20 + 2 * number, Quota::default(), messages).await;
        assert!(error.contains(expected) && !report.complete, "{number}: {error}");
        assert_eq!(left, 0, "{number}: {error}");
    }
}

/// A file that is offered twice, since something of it is there, counts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offer_that_is_made_again_counts_once() {
    let (endpoint, peer) = listening(40);
    let (_place, paths) = files(3);
    let downloads = tempfile::tempdir().unwrap();
    for number in 0..3 {
        // Of the same size, with other content.
        let path = downloads.path().join(format!("{number:02}"));
        fs::write(&path, vec![0; content(number).len()]).unwrap();
        // Its time is another one, too.
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH).unwrap();
    }
    let quota = Quota { max_files: Some(3), ..Quota::default() };
    let inbox = Inbox::new(downloads.path()).quota(quota);
    let inbox = inbox.existing(polypath_transfer::Existing::Replace);
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap();
        (receiver.run().await.map_err(|error| with_causes(&error)), endpoint)
    });
    let mut sender = Sender::connect(&own(41), &peer, config()).await.unwrap();
    sender.send(&paths).await.unwrap();
    receiving.await.unwrap().0.unwrap();
    assert!(sender.files().iter().all(|file| file.status == FileStatus::Stored));
    for number in 0..3 {
        let path = downloads.path().join(format!("{number:02}"));
        assert!(fs::read(path).unwrap() == content(number));
    }
}

/// A file that fails while the next one may be coming ends the transfer, and what came of the next one is kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_digest_is_reported_while_the_next_file_comes() {
    let (endpoint, peer) = listening(50);
    let place = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(place.path());
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap();
        let received = receiver.run().await.map_err(|error| with_causes(&error));
        (received, receiver.into_report(), endpoint)
    });
    let own = own(51);
    let association = own.connect(&peer, config()).await.unwrap();
    let size = 1 << 21;
    for name in [b"a", b"b"] {
        association.send(large_offer_ahead(u32::from(b'c' - name[0]), size, name)).await.unwrap();
        assert_eq!(reply(&association).await.into_bytes().as_ref(), [0]);
    }
    let part = || Message::new(0, vec![7; 1 << 18]).ppid(DATA);
    for _ in 0..8 {
        association.send(part()).await.unwrap();
    }
    association.send(end(b"something else")).await.unwrap();
    for _ in 0..5 {
        association.send(part()).await.unwrap();
    }
    let verdict = reply(&association).await;
    assert_eq!(verdict.ppid(), VERDICT);
    assert!(reason(&verdict.into_bytes()).contains("SHA-256 differs"));
    tokio::time::timeout(Duration::from_secs(20), async {
        while let Ok(Some(_)) = association.receive().await {}
    })
    .await
    .unwrap();
    let (received, report, _endpoint) = receiving.await.unwrap();
    assert!(received.unwrap_err().contains("SHA-256 differs"));
    // Nothing of the first one, and of the second one what had come: nothing if the thread of the first was faster than its content.
    let names: Vec<_> = report.files.iter().map(|file| file.name.as_str()).collect();
    assert!(names == ["a", "b"] || names == ["a"], "{report:?}");
    assert!(report.files.iter().all(|file| file.status == FileStatus::Failed), "{report:?}");
    let kept = report.files.iter().filter(|file| file.resumed_bytes > 0).count();
    let left = fs::read_dir(place.path()).unwrap().count();
    assert!((kept..names.len()).contains(&left), "{left}: {report:?}");
}
