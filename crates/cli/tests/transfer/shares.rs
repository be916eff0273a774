//! How much senders may store.

use std::fs;

use crate::frames::{ANSWER, DIRECTORY, EAGER, FILE, VERDICT, data, end, offer, second_offer};
use crate::peer::{accepted, connect, refusal};
use crate::support::{Receiver, content, polypath, run, stderr};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn files_and_bytes_beyond_the_quota_are_refused_with_a_reason() {
    let limits = ["--max-files", "1", "--max-bytes", "1 kB"];
    let receiver = Receiver::start("127.0.0.1", &limits);
    let (_endpoint, association) = connect(&receiver).await;
    association.send(offer(2, 1001, b"large")).await.unwrap();
    let reason = refusal(association.receive().await.unwrap(), ANSWER);
    assert!(reason.contains("at most 1000 bytes of a sender"), "{reason}");
    association.send(offer(1, 2, b"fits")).await.unwrap();
    accepted(&association).await;
    association.send(data(b"ok")).await.unwrap();
    association.send(end(b"ok")).await.unwrap();
    assert_eq!(association.receive().await.unwrap().unwrap().ppid(), VERDICT);
    association.send(offer(0, 2, b"other")).await.unwrap();
    let reason = refusal(association.receive().await.unwrap(), ANSWER);
    assert!(reason.contains("at most 1 files of a sender"), "{reason}");
    assert_eq!(receiver.files(), ["fits"]);
}

/// Without options, a receiver that strangers reach takes a limited amount, and says so at its start.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn strangers_may_store_a_limited_amount_by_default() {
    let mut receiver = Receiver::start("0.0.0.0", &[]);
    receiver.hear("without --key", "can send files here");
    receiver.hear("each sender may store 10 GB (--max-bytes)", "1 GB stay free (--keep-free)");
    let (_endpoint, association) = connect(&receiver).await;
    for (following, size) in [(2, 10_000_000_001), (1, u64::MAX - 1)] {
        association.send(offer(following, size, b"large")).await.unwrap();
        let reason = refusal(association.receive().await.unwrap(), ANSWER);
        assert!(reason.contains("at most 10000000000 bytes of a sender"), "{reason}");
    }
    // Those that can only be of this host are no strangers.
    let receiver = Receiver::start("127.0.0.1", &[]);
    let (_endpoint, association) = connect(&receiver).await;
    association.send(offer(1, u64::MAX - 1, b"large")).await.unwrap();
    let reason = refusal(association.receive().await.unwrap(), ANSWER);
    assert!(reason.contains("bytes are free"), "{reason}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn space_that_is_to_stay_free_is_nobodys() {
    let receiver = Receiver::start("127.0.0.1", &["--keep-free", "1000000 TB"]);
    let (_endpoint, association) = connect(&receiver).await;
    let offers = [
        (offer(9, 1, b"file"), None),
        (offer(8, 0, b"empty"), None),
        (second_offer(7, 1_000_000, (FILE, 0), b"large"), None),
        (second_offer(6, u64::MAX, (FILE, 0), b"of unknown size"), None),
        (second_offer(5, 2, (FILE, EAGER), b"small"), Some(b"ok")),
        (second_offer(4, 0, (DIRECTORY, 0), b"directory"), None),
    ];
    for (offered, at_once) in offers {
        association.send(offered).await.unwrap();
        if let Some(content) = at_once {
            association.send(data(content)).await.unwrap();
            association.send(end(content)).await.unwrap();
        }
        let reason = refusal(association.receive().await.unwrap(), ANSWER);
        assert!(reason.contains("0 bytes are free for them"), "{reason}");
    }
    assert!(receiver.files().is_empty());
}

#[test]
fn a_directory_that_cannot_be_is_told_before_an_address() {
    let place = tempfile::tempdir().unwrap();
    let missing = place.path().join("missing/inbox");
    let receive = |out: &std::path::Path| {
        // Of no host.
        let output = run(polypath().args(["receive", "--listen", "192.0.2.77", "--out"]).arg(out));
        (output.status.code(), stderr(&output))
    };
    let (code, told) = receive(&missing);
    assert!(code == Some(2) && told.contains("make it first"), "{told}");
    let inbox = place.path().join("inbox");
    let (code, told) = receive(&inbox);
    assert!(code == Some(5) && told.contains("--listen: cannot bind"), "{told}");
    assert!(!inbox.exists(), "nothing was received into it");
    // The same for a sender, whatever it sends.
    let output = run(polypath()
        .args(["send", "--to", "192.0.2.1", "--from", "192.0.2.77"])
        .arg(std::env::current_exe().unwrap()));
    let told = stderr(&output);
    let expected = "--from: cannot bind a UDP port of 192.0.2.77, since no interface";
    assert!(output.status.code() == Some(5) && told.contains(expected), "{told}");
}

#[test]
fn who_is_refused_learns_why_and_both_sides_fail() {
    let limits = ["--once", "--max-total-files", "2", "--max-bytes", "100 kB"];
    let mut receiver = Receiver::start("127.0.0.1", &limits);
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for (name, len) in [("a", 10), ("b", 20), ("large", 100_001)] {
        fs::write(tree.join(name), content(len)).unwrap();
    }
    let mut send = polypath();
    send.args(["send", "--to", "127.0.0.1", "--encapsulation-port", &receiver.port]).arg(&tree);
    let sent = run(&mut send);
    assert_eq!(sent.status.code(), Some(1), "{}", stderr(&sent));
    let told = String::from_utf8_lossy(&sent.stdout).into_owned() + &stderr(&sent);
    // The directory and its first file are the two.
    assert!(told.contains("accepts at most 2 files and directories altogether"), "{told}");
    assert!(told.contains("accepts at most 100000 bytes of a sender"), "{told}");
    let (status, _, told) = receiver.wait();
    assert_eq!(status.code(), Some(1), "{told}");
    assert!(told.contains("tree/b") && told.contains("altogether"), "{told}");
    assert_eq!((receiver.files(), receiver.content("tree/a")), (vec!["tree".into()], content(10)));
    assert!(!receiver.directory.path().join("tree/b").exists());
}
