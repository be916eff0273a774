//! Programs that are killed, and started again with the same arguments.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;
use polypath::{Endpoint, Peer};
use serde_json::Value;
use tempfile::TempDir;

use crate::peer::{PORT, local, signal};
use crate::support::{Receiver, content, names, polypath, run, stderr};

/// Random numbers that a seed decides on. It is printed; POLYPATH_TRANSFER_SEED repeats a case.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        let seed = match std::env::var("POLYPATH_TRANSFER_SEED") {
            Ok(text) => text.parse().expect("a number"),
            Err(_) => getrandom::u64().expect("random numbers"),
        };
        println!("POLYPATH_TRANSFER_SEED={seed}");
        Self(seed)
    }

    /// A number below `most` (SplitMix64).
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % most
    }
}

/// A sender and a receiver, each of which may be dead.
struct Pair {
    address: &'static str,
    port: String,
    place: TempDir,
    file: PathBuf,
    receiver: Option<Child>,
    sender: Option<Child>,
    /// More arguments of the receiver.
    receive: &'static [&'static str],
    /// The file with the key of both.
    key: Option<PathBuf>,
}

impl Pair {
    fn new(address: &'static str, len: usize) -> Self {
        // Nobody else wants it in the meantime: each test has an address of its own.
        let port = UdpSocket::bind((address, 0)).unwrap().local_addr().unwrap().port().to_string();
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, content(len)).unwrap();
        fs::create_dir(place.path().join("inbox")).unwrap();
        Self { address, port, place, file, receiver: None, sender: None, receive: &[], key: None }
    }

    fn inbox(&self) -> PathBuf {
        self.place.path().join("inbox")
    }

    /// Starts who is dead.
    fn start(&mut self) {
        self.start_receiver();
        if self.sender.is_none() {
            let mut send = polypath();
            send.args(["send", "--json", "--to", self.address, "--encapsulation-port", &self.port]);
            self.key.iter().for_each(|key| {
                send.arg("--key").arg(key);
            });
            send.arg(&self.file).stdout(Stdio::piped()).stderr(Stdio::null());
            self.sender = Some(send.spawn().unwrap());
        }
    }

    fn start_receiver(&mut self) {
        if self.receiver.is_none() {
            let mut receive = polypath();
            receive.args(["receive", "--listen", self.address, "--encapsulation-port", &self.port]);
            receive.args(self.receive).arg("--out").arg(self.inbox()).stderr(Stdio::piped());
            self.key.iter().for_each(|key| {
                receive.arg("--key").arg(key);
            });
            let mut child = receive.spawn().unwrap();
            let mut told = String::new();
            // What comes later fits the pipe.
            let mut stderr = BufReader::new(child.stderr.as_mut().unwrap());
            stderr.read_line(&mut told).unwrap();
            assert!(told.starts_with("listening on "), "{told}");
            self.receiver = Some(child);
        }
    }

    /// Bytes of the incomplete file.
    fn part(&self) -> u64 {
        let inbox = self.inbox();
        let part = names(&inbox).into_iter().find(|name| name.ends_with(".part"));
        part.and_then(|name| fs::metadata(inbox.join(name)).ok()).map_or(0, |found| found.len())
    }

    /// Waits until so much of the file is there, or the sender has ended.
    fn wait_for(&mut self, bytes: u64) -> u64 {
        loop {
            let part = self.part();
            if part >= bytes || self.sender.as_mut().unwrap().try_wait().unwrap().is_some() {
                return part;
            }
            std::thread::yield_now();
        }
    }

    fn kill_sender(&mut self) {
        kill(self.sender.take());
    }

    fn kill_receiver(&mut self) {
        kill(self.receiver.take());
    }

    /// Waits for the sender, and gives its summary.
    fn end(&mut self) -> Value {
        let output = self.sender.take().unwrap().wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.kill_sender();
        self.kill_receiver();
    }
}

fn kill(child: Option<Child>) {
    if let Some(mut child) = child {
        let _ = child.kill();
        let _ = child.wait();
    }
}

fn carried(summary: &Value) -> u64 {
    summary["paths"].as_array().unwrap().iter().map(|path| path["bytes"].as_u64().unwrap()).sum()
}

#[test]
fn whoever_is_killed_at_any_time_the_same_commands_go_on() {
    const LEN: usize = 40_000_000;
    let mut dice = Dice::new();
    let mut pair = Pair::new("127.0.21.1", LEN);
    let mut at_least = 0;
    for _ in 0..4 {
        pair.start();
        let (victim, until) = (dice.below(3), dice.below(LEN as u64 / 4));
        let before = pair.wait_for(at_least + until);
        println!("killing {victim} at {before}");
        if before == 0 && !names(&pair.inbox()).is_empty() && pair.part() == 0 {
            break;
        }
        if victim != 1 {
            pair.kill_sender();
        }
        if victim != 0 {
            pair.kill_receiver();
        }
        // What was written is there, whoever dies.
        assert!(pair.part() >= before || pair.inbox().join("file").exists());
        at_least = before;
    }
    pair.start();
    let summary = pair.end();
    assert_eq!(fs::read(pair.inbox().join("file")).unwrap(), content(LEN));
    assert_eq!(names(&pair.inbox()), ["file"], "nothing hidden is left");
    let file = &summary["files"][0];
    if file["status"] == "stored" {
        let resumed = file["resumed_bytes"].as_u64().unwrap();
        assert!(resumed >= at_least || at_least < 65_536, "{resumed} of {at_least}");
    }
}

#[test]
fn a_sender_that_is_killed_sends_nothing_twice() {
    const LEN: usize = 30_000_000;
    let mut dice = Dice::new();
    let mut pair = Pair::new("127.0.21.2", LEN);
    pair.start();
    let least = 1_000_000 + dice.below(LEN as u64 / 2);
    pair.wait_for(least);
    pair.kill_sender();
    pair.start();
    let summary = pair.end();
    assert_eq!(fs::read(pair.inbox().join("file")).unwrap(), content(LEN));
    let file = &summary["files"][0];
    let resumed = file["resumed_bytes"].as_u64().unwrap();
    assert!(file["status"] == "stored" && resumed >= least, "{summary}");
    let rest = LEN as u64 - resumed;
    assert!((rest..rest + 10_000).contains(&carried(&summary)), "{summary}");
}

#[test]
fn once_waits_for_the_sender_to_connect_again() {
    const LEN: usize = 30_000_000;
    let mut pair = Pair::new("127.0.21.7", LEN);
    pair.receive = &["--once"];
    pair.start();
    let before = pair.wait_for(2_000_000);
    pair.kill_sender();
    // The address is refused until the receiver has learnt that the first association is lost.
    let mut told = String::new();
    let mut stderr = BufReader::new(pair.receiver.as_mut().unwrap().stderr.take().unwrap());
    while !told.contains("waiting 600 s for the sender to connect again") {
        assert_ne!(stderr.read_line(&mut told).unwrap(), 0, "{told}");
    }
    pair.start();
    let summary = pair.end();
    assert!(summary["files"][0]["resumed_bytes"].as_u64().unwrap() >= before, "{summary}");
    let ended = pair.receiver.take().unwrap().wait().unwrap();
    assert!(ended.success(), "what came before does not count");
    assert_eq!(fs::read(pair.inbox().join("file")).unwrap(), content(LEN));
}

#[test]
fn once_does_not_wait_for_a_sender_that_gives_up_or_if_told_not_to() {
    for (receive, kill) in
        [(&["--once"][..], Signal::SIGINT), (&["--once", "--wait-for", "0"], Signal::SIGKILL)]
    {
        let mut pair = Pair::new("127.0.21.8", 30_000_000);
        pair.receive = receive;
        pair.start();
        pair.wait_for(2_000_000);
        signal(pair.sender.as_ref().unwrap(), kill);
        assert_eq!(pair.receiver.take().unwrap().wait().unwrap().code(), Some(1), "{receive:?}");
        assert!(pair.part() >= 2_000_000);
    }
}

#[test]
fn a_receiver_that_is_killed_is_gone_on_with_by_the_sender_itself() {
    const LEN: usize = 60_000_000;
    let mut dice = Dice::new();
    let mut pair = Pair::new("127.0.21.3", LEN);
    pair.start();
    let least = 1_000_000 + dice.below(LEN as u64 / 2);
    let before = pair.wait_for(least);
    pair.kill_receiver();
    pair.start();
    let summary = pair.end();
    assert_eq!(fs::read(pair.inbox().join("file")).unwrap(), content(LEN));
    assert_eq!(
        (summary["associations"].as_u64(), summary["complete"].as_bool()),
        (Some(2), Some(true))
    );
    let resumed = summary["files"][0]["resumed_bytes"].as_u64().unwrap();
    assert!(resumed >= before, "{resumed} of {before}");
    // What the receiver had acknowledged and not yet written comes again, and no more.
    let total = carried(&summary);
    assert!(total < 2 * LEN as u64 - resumed / 2, "{total} bytes");
}

/// With a key, everything that could tell the sender that its association is gone has to be authenticated, and the new receiver
/// cannot do that: it knows nothing of the association.
#[test]
fn a_receiver_with_a_key_that_is_killed_is_gone_on_with_by_the_sender_itself() {
    const LEN: usize = 60_000_000;
    let mut pair = Pair::new("127.0.21.11", LEN);
    let key = pair.place.path().join("alice.key");
    assert!(run(polypath().args(["key", "new"]).arg(&key)).status.success());
    pair.key = Some(key);
    pair.start();
    pair.wait_for(5_000_000);
    pair.kill_receiver();
    pair.start();
    let summary = pair.end();
    assert_eq!(fs::read(pair.inbox().join("file")).unwrap(), content(LEN));
    assert_eq!(summary["associations"], 2, "{summary}");
    // Long before the idle timeout of 300 s.
    assert!(summary["duration_s"].as_f64().unwrap() < 100.0, "{summary}");
    // The time without an association is in no rate of a path.
    let path = &summary["paths"][0];
    let [bytes, existed, rate] =
        ["bytes", "duration_s", "goodput_bit_s"].map(|key| path[key].as_f64().unwrap());
    assert!(existed <= summary["duration_s"].as_f64().unwrap(), "{summary}");
    assert!((rate - bytes * 8.0 / existed).abs() < 1.0, "{summary}");
}

#[test]
fn a_file_that_has_changed_begins_anew() {
    let mut pair = Pair::new("127.0.21.4", 20_000_000);
    pair.start();
    pair.wait_for(5_000_000);
    pair.kill_sender();
    let other: Vec<u8> = content(20_000_000).into_iter().rev().collect();
    fs::write(&pair.file, &other).unwrap();
    pair.start();
    let summary = pair.end();
    assert_eq!(summary["files"][0]["resumed_bytes"], 0);
    assert_eq!(fs::read(pair.inbox().join("file")).unwrap(), other);
    assert_eq!(names(&pair.inbox()), ["file"]);
}

#[test]
fn who_is_interrupted_leaves_what_the_next_one_goes_on_with() {
    let mut pair = Pair::new("127.0.21.5", 40_000_000);
    pair.start();
    let before = pair.wait_for(3_000_000);
    // The receiver first, which tells the sender; that tries again until it is interrupted, too.
    signal(pair.receiver.as_ref().unwrap(), Signal::SIGINT);
    let ended = pair.receiver.take().unwrap().wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(told.contains("are kept; another attempt resumes there"), "{told}");
    signal(pair.sender.as_ref().unwrap(), Signal::SIGINT);
    let ended = pair.sender.take().unwrap().wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert!(pair.part() >= before);
    pair.start();
    assert!(pair.end()["files"][0]["resumed_bytes"].as_u64().unwrap() >= before);
    assert_eq!(fs::read(pair.inbox().join("file")).unwrap(), content(40_000_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_confirmed_survives_a_receiver_that_is_killed() {
    const FILES: usize = 300;
    let mut dice = Dice::new();
    let mut pair = Pair::new("127.0.21.9", 0);
    // Small files, whose content comes with the offer, and larger ones between.
    let len = |number: usize| if number % 16 == 7 { 200_000 + number } else { number * 7 };
    let tree = pair.place.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..FILES {
        fs::write(tree.join(number.to_string()), content(len(number))).unwrap();
    }
    let mut confirmed = BTreeSet::new();
    for _ in 0..5 {
        pair.start_receiver();
        let at = dice.below(FILES as u64 - confirmed.len() as u64 / 2) as usize;
        let (tell, told) = std::sync::mpsc::channel();
        let endpoint =
            Endpoint::builder(local("127.0.21.10")).encapsulation_port(0).bind().unwrap();
        let peer =
            Peer::new(local(pair.address), PORT).encapsulation_port(pair.port.parse().unwrap());
        let config = polypath_transfer::association_config(polypath::Preset::Recommended);
        let sender = polypath_transfer::Sender::connect(&endpoint, &peer, config).await.unwrap();
        let (tell_end, end) = tokio::sync::oneshot::channel();
        let (mut victim, mut tell_end, mut ended) = (pair.receiver.take(), Some(tell_end), 0);
        let mut sender = sender.on_event(move |event| {
            if let polypath_transfer::Event::Ended { file, .. } = event
                && file.status != polypath_transfer::FileStatus::Failed
            {
                tell.send(file.name.clone()).unwrap();
                ended += 1;
                if ended > at {
                    kill(victim.take());
                    tell_end.take().map(|tell_end| tell_end.send(()));
                }
            }
        });
        tokio::select! {
            biased;
            _ = end => sender.abort("the receiver was killed"),
            sent = sender.send([&tree]) => println!("{sent:?}"),
        }
        drop(sender);
        confirmed.extend(told.iter());
        println!("killed after {at}: {} are confirmed", confirmed.len());
        for name in &confirmed {
            let (here, there) = (pair.inbox().join(name), pair.place.path().join(name));
            if there.is_dir() {
                assert!(here.is_dir(), "{name}");
            } else {
                assert_eq!(fs::read(here).unwrap(), fs::read(there).unwrap(), "{name}");
            }
        }
    }
    assert!(!confirmed.is_empty());
}

fn send(receiver: &Receiver, from: &Path, more: &[&str]) -> std::process::Output {
    let mut send = polypath();
    send.args(["send", "--to", "127.0.0.1", "--encapsulation-port", &receiver.port]);
    run(send.args(more).arg(from))
}

#[test]
fn peers_that_know_no_resumption_work_as_before() {
    let place = tempfile::tempdir().unwrap();
    let (file, tree) = (place.path().join("file"), place.path().join("tree"));
    fs::write(&file, content(3_000_000)).unwrap();
    fs::create_dir(&tree).unwrap();
    // A receiver that does not say what it knows is one of before.
    let receiver = Receiver::start("127.0.0.1", &["--set", "adaptation_layer=none"]);
    let sent = send(&receiver, &file, &[]);
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert_eq!(receiver.content("file"), content(3_000_000));
    let sent = send(&receiver, &tree, &[]);
    assert_eq!(sent.status.code(), Some(1));
    let told = String::from_utf8_lossy(&sent.stdout).into_owned();
    assert!(
        told.contains("older version of this program, which takes single files only"),
        "{told}"
    );
}

#[test]
fn incomplete_files_go_at_once_where_nobody_wants_them() {
    let mut receiver = Receiver::start("127.0.21.6", &["--keep-incomplete", "0 s", "--once"]);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, content(50_000_000)).unwrap();
    let mut send = polypath();
    send.args(["send", "--to", "127.0.21.6", "--encapsulation-port", &receiver.port]).arg(&file);
    let mut sender = send.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while receiver.files().is_empty() {
        std::thread::yield_now();
    }
    signal(&sender, Signal::SIGINT);
    assert_eq!(sender.wait().unwrap().code(), Some(130));
    assert_eq!(receiver.wait().0.code(), Some(1));
    assert!(receiver.files().is_empty());
}

#[test]
fn two_senders_of_one_file_do_not_write_it_at_once() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, content(30_000_000)).unwrap();
    let slow = |rate: &str| {
        let mut send = polypath();
        send.args(["send", "--to", "127.0.0.1", "--encapsulation-port", &receiver.port]);
        send.args(["--limit-rate", rate]).arg(&file);
        send.stdout(Stdio::null()).stderr(Stdio::null());
        send
    };
    let mut first = slow("8 Mbit/s").spawn().unwrap();
    while receiver.files().is_empty() {
        std::thread::yield_now();
    }
    let second = send(&receiver, &file, &[]);
    assert_eq!(second.status.code(), Some(1));
    let told = String::from_utf8_lossy(&second.stdout).into_owned();
    assert!(told.contains("another sender is sending \"file\" at the moment"), "{told}");
    let _ = first.kill();
    let _ = first.wait();
    // It has made way, or was never there.
    let third = send(&receiver, &file, &[]);
    assert!(third.status.success(), "{}", stderr(&third));
    assert_eq!(receiver.content("file"), content(30_000_000));
}
