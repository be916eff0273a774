//! Peers that say nothing, and several at once: nobody can hold up the program or the others.

use std::fs::{self, File};
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use polypath::{Association, Endpoint, Message};
use tokio::runtime::{Builder, Runtime};

use crate::frames::{ANSWER, OFFER, VERDICT, data, end, offer};
use crate::peer::{PORT, accepted, connect, local, signal};
use crate::support::{Receiver, polypath};

/// A runtime that does nothing while nobody waits for it: what lives in it freezes.
fn freezer() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

async fn send_whole(association: &Association, content: &'static [u8], claimed: &[u8]) {
    association.send(data(content)).await.unwrap();
    association.send(end(claimed)).await.unwrap();
}

async fn stored(association: &Association) {
    let verdict = association.receive().await.unwrap().unwrap();
    assert_eq!((verdict.ppid(), verdict.into_bytes().as_ref()), (VERDICT, [0].as_slice()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn once_takes_one_sender_and_refuses_the_second() {
    let mut receiver = Receiver::start("127.0.0.1", &["--once"]);
    let (_endpoint, first) = connect(&receiver).await;
    first.send(offer(0, 2, b"first")).await.unwrap();
    accepted(&first).await;
    let peer = polypath::Peer::new(local("127.0.0.1"), PORT)
        .encapsulation_port(receiver.port.parse().unwrap());
    let other = Endpoint::builder(local("127.0.0.5")).encapsulation_port(0).bind().unwrap();
    let refused = other.connect(&peer, polypath::AssociationConfig::default()).await.unwrap_err();
    assert!(refused.to_string().contains("the peer aborted"), "{refused}");
    send_whole(&first, b"ok", b"ok").await;
    stored(&first).await;
    first.shutdown().await.unwrap();
    assert!(receiver.wait().0.success());
    assert_eq!(receiver.files(), ["first"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn silent_senders_are_given_up() {
    let receiver = Receiver::start("127.0.0.1", &["--idle-timeout", "3"]);
    for begun in [false, true] {
        let (_endpoint, association) = connect(&receiver).await;
        if begun {
            association.send(offer(0, 10, b"begun")).await.unwrap();
            accepted(&association).await;
            association.send(data(b"half")).await.unwrap();
        }
        let error = association.receive().await.unwrap_err();
        assert!(error.to_string().contains("silent for 3 s"), "{error}");
        assert!(receiver.files().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn senders_that_trickle_are_given_up() {
    let receiver =
        Receiver::start("127.0.0.1", &["--min-rate", "1 Gbit/s", "--min-rate-span", "2"]);
    let (_endpoint, association) = connect(&receiver).await;
    association.send(offer(0, 1 << 20, b"endless")).await.unwrap();
    accepted(&association).await;
    let trickle = async {
        while association.send(data(b"drop")).await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let (error, ()) = tokio::join!(association.receive(), trickle);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("slower than 1 Gbit/s for 2 s"), "{error}");
    assert!(receiver.files().is_empty());
}

#[test]
fn senders_that_freeze_cannot_hold_up_the_end() {
    // With and without a file that was stored; the second has to be told that it failed, and does not listen.
    for (claimed, files) in [(b"ok".as_slice(), 1), (b"wrong", 0)] {
        let mut receiver = Receiver::start("127.0.0.1", &["--once", "--idle-timeout", "3"]);
        let runtime = freezer();
        let kept = runtime.block_on(async {
            let (endpoint, association) = connect(&receiver).await;
            association.send(offer(0, 2, b"file")).await.unwrap();
            accepted(&association).await;
            send_whole(&association, b"ok", claimed).await;
            association.sender_dry().await.unwrap();
            (endpoint, association)
        });
        let (status, _, told) = receiver.wait();
        assert_eq!(status.code(), Some(1), "{told}");
        assert_eq!(receiver.files().len(), files);
        drop(kept);
    }
}

fn sender(to: &Endpoint, more: &[&str], directory: &tempfile::TempDir) -> Child {
    let file = directory.path().join("file");
    fs::write(&file, vec![7; 10 << 20]).unwrap();
    let (address, port) =
        (to.local_addresses()[0].to_string(), to.encapsulation_port().to_string());
    let mut send = polypath();
    send.args(["send", "--to", &address, "--encapsulation-port", &port]).args(more).arg(file);
    send.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

async fn listen(address: &str) -> Endpoint {
    let builder = Endpoint::builder(local(address)).port(PORT).encapsulation_port(0);
    builder.listen(1).bind().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn silent_receivers_are_given_up() {
    let directory = tempfile::tempdir().unwrap();
    let endpoint = listen("127.0.0.10").await;
    for answered in [false, true] {
        let sender = sender(&endpoint, &["--idle-timeout", "3", "--retry-for", "0"], &directory);
        let association = endpoint.accept().await.unwrap();
        assert_eq!(association.receive().await.unwrap().unwrap().ppid(), OFFER);
        if answered {
            // It wants the file and then reads none of it.
            association.send(Message::new(0, vec![0]).ppid(ANSWER)).await.unwrap();
        }
        let error = association.closed().await.unwrap_err();
        assert!(error.to_string().contains("silent for 3 s"), "{error}");
        let output = tokio::task::spawn_blocking(|| sender.wait_with_output()).await.unwrap();
        assert_eq!(output.unwrap().status.code(), Some(1));
    }
}

#[test]
fn an_interrupted_sender_does_not_wait_for_a_frozen_receiver() {
    let (directory, runtime) = (tempfile::tempdir().unwrap(), freezer());
    let (kept, sender) = runtime.block_on(async {
        let endpoint = listen("127.0.0.10").await;
        let sender = sender(&endpoint, &[], &directory);
        let association = endpoint.accept().await.unwrap();
        association.receive().await.unwrap().unwrap();
        association.send(Message::new(0, vec![0]).ppid(ANSWER)).await.unwrap();
        association.receive().await.unwrap().unwrap();
        ((endpoint, association), sender)
    });
    signal(&sender, Signal::SIGTERM);
    assert_eq!(sender.wait_with_output().unwrap().status.code(), Some(130));
    drop(kept);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn output_that_nobody_takes_does_not_concern_the_other_senders() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut receiver = Receiver::start_with("127.0.0.1", &["--json"], full.into());
    let (_first_endpoint, first) = connect(&receiver).await;
    let (_second_endpoint, second) = connect(&receiver).await;
    for (association, name) in [(&first, b"first"), (&second, b"secnd")] {
        association.send(offer(0, 2, name)).await.unwrap();
        accepted(association).await;
    }
    // Its summary cannot be written.
    send_whole(&first, b"ok", b"ok").await;
    stored(&first).await;
    first.shutdown().await.unwrap();
    let (_third_endpoint, third) = connect(&receiver).await;
    third.shutdown().await.unwrap();
    send_whole(&second, b"ok", b"ok").await;
    stored(&second).await;
    signal(&receiver.child, Signal::SIGINT);
    let (status, _, told) = receiver.wait();
    assert_eq!(status.code(), Some(130));
    assert!(told.contains("cannot write to standard output"), "{told}");
    assert_eq!(receiver.files(), ["first", "secnd"]);
}
