//! Peers that lie, break the protocol or are in the way, and users who interrupt.
//!
//! Tests wait for the program, which blocks: the endpoints are driven by another thread.

use std::fs;
use std::process::Stdio;

use nix::sys::signal::Signal;
use polypath::{Association, AssociationConfig, AssociationError, Endpoint, Message, Peer};

use crate::frames::{ANSWER, DATA, OFFER, VERDICT, data, end, offer};
use crate::peer::{PORT, accepted, connect, local, partial_file, refusal, signal};
use crate::support::{Receiver, polypath};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn names_that_are_paths_are_refused() {
    for name in [
        b"../escaped".as_slice(),
        b"/tmp/escaped",
        b"..",
        b"",
        b"a\\b",
        b"\xff",
        b"a\nb",
        "exe.\u{202e}gnp".as_bytes(),
        b".bashrc",
        b"nul.txt",
        &[b'x'; 300],
    ] {
        let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
        let (_endpoint, association) = connect(&receiver).await;
        association.send(offer(0, 4, name)).await.unwrap();
        let reason = refusal(association.receive().await.unwrap(), ANSWER);
        assert!(reason.contains("name"), "{reason}");
        association.shutdown().await.unwrap();
        assert_eq!(receiver.wait().0.code(), Some(1));
        assert!(receiver.files().is_empty());
        assert!(!receiver.directory.path().with_file_name("escaped").exists());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_differs_from_the_offer_leaves_nothing() {
    let table: [(&[u8], &[u8], &str); 3] = [
        (b"more than", b"more than", "more than the 5 bytes"),
        (b"less", b"less", "4 bytes instead of the 5"),
        (b"right", b"wrong", "SHA-256 differs"),
    ];
    for (content, hashed, expected) in table {
        let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
        let (_endpoint, association) = connect(&receiver).await;
        association.send(offer(0, 5, b"file")).await.unwrap();
        accepted(&association).await;
        association.send(data(content)).await.unwrap();
        association.send(end(hashed)).await.unwrap();
        let reason = refusal(association.receive().await.unwrap(), VERDICT);
        assert!(reason.contains(expected), "{reason}");
        association.abort("understood");
        let (status, _, told) = receiver.wait();
        assert_eq!(status.code(), Some(1));
        assert!(told.contains(expected), "{told}");
        assert!(receiver.files().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_cannot_fit_is_refused() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (_endpoint, association) = connect(&receiver).await;
    association.send(offer(0, u64::MAX, b"huge")).await.unwrap();
    let reason = refusal(association.receive().await.unwrap(), ANSWER);
    assert!(reason.contains("bytes are free"), "{reason}");
    assert!(receiver.files().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn breaking_the_protocol_ends_the_association_and_not_the_receiver() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let nonsense = [
        data(b"without an offer"),
        Message::new(0, "who am I").ppid(7),
        Message::new(0, vec![9; 40]).ppid(OFFER),
        Message::new(0, vec![1]).ppid(OFFER),
        Message::new(0, vec![2]).ppid(VERDICT),
    ];
    for message in nonsense {
        let (_endpoint, association) = connect(&receiver).await;
        association.send(message).await.unwrap();
        let error = association.receive().await.unwrap_err();
        assert!(matches!(error, AssociationError::AbortedByPeer(_)), "{error}");
        assert!(error.to_string().contains("the peer broke the transfer protocol"), "{error}");
    }
    // It still serves.
    let (_endpoint, association) = connect(&receiver).await;
    association.send(offer(0, 2, b"good")).await.unwrap();
    accepted(&association).await;
    association.send(data(b"ok")).await.unwrap();
    association.send(end(b"ok")).await.unwrap();
    let verdict = association.receive().await.unwrap().unwrap();
    assert_eq!((verdict.ppid(), verdict.into_bytes().as_ref()), (VERDICT, [0].as_slice()));
    assert_eq!(receiver.content("good"), b"ok");
}

#[tokio::test]
async fn offers_without_end_and_huge_messages_are_violations() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (_endpoint, association) = connect(&receiver).await;
    // A name that is refused; then an offer that announces as many as before.
    association.send(offer(3, 1, b"../up")).await.unwrap();
    refusal(association.receive().await.unwrap(), ANSWER);
    association.send(offer(3, 1, b"../up")).await.unwrap();
    let error = association.receive().await.unwrap_err();
    assert!(error.to_string().contains("3 files to follow"), "{error}");

    let (_endpoint, association) = connect(&receiver).await;
    association.send(offer(0, 2 << 20, b"big")).await.unwrap();
    accepted(&association).await;
    association.send(Message::new(0, vec![1; (512 << 10) + 1]).ppid(DATA)).await.unwrap();
    let error = association.receive().await.unwrap_err();
    assert!(error.to_string().contains("524289 bytes in one message"), "{error}");
    assert!(receiver.files().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_sender_that_vanishes_leaves_nothing() {
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    let (_endpoint, association) = connect(&receiver).await;
    association.send(offer(0, 1000, b"file")).await.unwrap();
    accepted(&association).await;
    association.send(data(b"the beginning")).await.unwrap();
    partial_file(receiver.directory.path()).await;
    association.abort("gone");
    assert_eq!(receiver.wait().0.code(), Some(1));
    assert!(receiver.files().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_interrupted_receiver_removes_what_is_incomplete() {
    for interruption in [Signal::SIGINT, Signal::SIGTERM] {
        let mut receiver = Receiver::start("127.0.0.1", &["--json"]);
        let (_endpoint, association) = connect(&receiver).await;
        association.send(offer(0, 1000, b"file")).await.unwrap();
        accepted(&association).await;
        association.send(data(b"the beginning")).await.unwrap();
        partial_file(receiver.directory.path()).await;
        signal(&receiver.child, interruption);
        let error = association.receive().await.unwrap_err();
        assert!(error.to_string().contains("interrupted"), "{error}");
        let (status, out, _) = receiver.wait();
        assert_eq!(status.code(), Some(130));
        assert!(out.contains("\"complete\":false"), "{out}");
        assert!(receiver.files().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn an_interrupted_sender_says_so() {
    let endpoint = Endpoint::builder(local("127.0.0.7"))
        .port(PORT)
        .encapsulation_port(0)
        .listen(1)
        .bind()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "content").unwrap();
    let mut send = polypath();
    send.args([
        "send",
        "--to",
        "127.0.0.7",
        "--encapsulation-port",
        &endpoint.encapsulation_port().to_string(),
    ]);
    let sender = send
        .arg(directory.path().join("file"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let association = endpoint.accept().await.unwrap();
    assert_eq!(association.receive().await.unwrap().unwrap().ppid(), OFFER);
    signal(&sender, Signal::SIGINT);
    let error = association.receive().await.unwrap_err();
    assert!(error.to_string().contains("the sender was interrupted"), "{error}");
    let output = tokio::task::spawn_blocking(|| sender.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(130));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_receiver_that_fails_in_the_middle_stops_the_sender() {
    let endpoint = Endpoint::builder(local("127.0.0.8"))
        .port(PORT)
        .encapsulation_port(0)
        .listen(1)
        .bind()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), vec![7; 40 << 20]).unwrap();
    let mut send = polypath();
    send.args([
        "send",
        "--to",
        "127.0.0.8",
        "--encapsulation-port",
        &endpoint.encapsulation_port().to_string(),
    ]);
    let sender = send
        .arg(directory.path().join("file"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let association = endpoint.accept().await.unwrap();
    association.receive().await.unwrap().unwrap();
    association.send(Message::new(0, vec![0]).ppid(ANSWER)).await.unwrap();
    association.receive().await.unwrap().unwrap();
    association.send(Message::new(0, "\u{1}disk \u{1b}[31mfull").ppid(VERDICT)).await.unwrap();
    while let Ok(Some(_)) = association.receive().await {}
    let output = tokio::task::spawn_blocking(|| sender.wait_with_output()).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("the receiver failed: disk ?[31mfull"), "{error}");
}

/// A hundred and one offers that are refused, the last of which ends the association.
async fn annoy(receiver: &Receiver) -> String {
    let (_endpoint, association) = connect(receiver).await;
    for following in (1000..1101).rev() {
        if association.send(offer(following, 1, &[b'/'; 255])).await.is_err() {
            break;
        }
    }
    loop {
        match association.receive().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it ends otherwise"),
            Err(error) => break error.to_string(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_log_that_nobody_reads_stops_no_transfer() {
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    // Each line has more than 800 bytes, and a pipe has 64 KiB: most of them wait or are left out.
    for _ in 0..10 {
        let told = annoy(&receiver).await;
        assert!(told.contains("more than 100 offers were refused"), "{told}");
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), vec![7; 3_000_000]).unwrap();
    let mut send = polypath();
    send.args(["send", "--to", "127.0.0.1", "--encapsulation-port", &receiver.port]);
    send.arg(directory.path().join("file"));
    let sent = tokio::task::spawn_blocking(move || send.output()).await.unwrap().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(receiver.content("file").len(), 3_000_000);
    signal(&receiver.child, Signal::SIGINT);
    let (status, _, told) = receiver.wait();
    assert_eq!(status.code(), Some(130));
    assert!(told.contains("lines were left out: nobody read standard error"), "no count");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_peer_that_causes_many_lines_gets_a_ration() {
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    let reading = receiver.read_on();
    for _ in 0..15 {
        annoy(&receiver).await;
    }
    signal(&receiver.child, Signal::SIGINT);
    let told = tokio::task::spawn_blocking(|| reading.join().unwrap()).await.unwrap();
    // 15 x 102 lines, of which a thousand may come at once, and ten in each second.
    let lines = told.lines().filter(|line| line.starts_with("refused ")).count();
    assert!((900..1400).contains(&lines), "{lines}");
    assert!(told.contains("lines about 127.0.0.6 were left out"), "no count");
}

/// A second sender, from another address of loopback.
async fn connect_from(
    address: &str,
    receiver: &Receiver,
) -> Result<(Endpoint, Association), String> {
    let endpoint = Endpoint::builder(local(address)).encapsulation_port(0).bind().unwrap();
    let peer =
        Peer::new(local("127.0.0.1"), PORT).encapsulation_port(receiver.port.parse().unwrap());
    let connected = endpoint.connect(&peer, AssociationConfig::default()).await;
    connected.map(|association| (endpoint, association)).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn senders_beyond_their_number_learn_why() {
    let limits = ["--max-senders", "2", "--max-per-address", "1"];
    let receiver = Receiver::start("127.0.0.1", &limits);
    let _first = connect_from("127.0.0.6", &receiver).await.unwrap();
    let told = connect_from("127.0.0.6", &receiver).await.unwrap_err();
    assert!(told.contains("at most 1 associations at a time from one address"), "{told}");
    // The address that took its share keeps nobody else away.
    let _second = connect_from("127.0.0.7", &receiver).await.unwrap();
    let told = connect_from("127.0.0.8", &receiver).await.unwrap_err();
    assert!(told.contains("out of resource"), "{told}");
}

#[test]
fn a_memory_that_holds_nothing_is_refused() {
    let mut receive = polypath();
    receive.args(["receive", "--listen", "127.0.0.1", "--out", ".", "--max-memory", "1 kB"]);
    let output = receive.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("--max-memory") && told.contains("at least 1 MiB"), "{told}");
}
