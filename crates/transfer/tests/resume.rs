//! Transfers that go on after an outage, and directories: what version 2 of the protocol adds.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polypath::{Endpoint, EndpointConfig, Peer, Preset};
use polypath_transfer::{
    Batch, Event, Existing, FileStatus, Inbox, Incomplete, Report, Sender, association_config,
};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

fn local(last: u8) -> [IpAddr; 1] {
    [IpAddr::from([127, 0, 17, last])]
}

/// A receiver that serves until it is dropped; its reports are in a list.
struct Server {
    peer: Peer,
    reports: Arc<Mutex<Vec<Report>>>,
    endpoint: Endpoint,
    task: JoinHandle<()>,
    /// Breaks the association that is served.
    cut: Arc<Notify>,
}

impl Server {
    fn start(last: u8, inbox: &Inbox) -> Self {
        inbox.prepare().unwrap();
        let association = association_config(Preset::Recommended);
        let endpoint = Endpoint::builder(local(last))
            .encapsulation_port(0)
            .config(EndpointConfig { association, ..EndpointConfig::default() })
            .listen(16)
            .bind()
            .unwrap();
        let peer = Peer::new(local(last), endpoint.port())
            .encapsulation_port(endpoint.encapsulation_port());
        let reports: Arc<Mutex<Vec<Report>>> = Arc::default();
        let (list, inbox, serving) = (Arc::clone(&reports), inbox.clone(), endpoint.clone());
        let cut = Arc::new(Notify::new());
        let cuts = Arc::clone(&cut);
        let receive = move |association| {
            let (mut receiver, cut) = (inbox.receiver(association), Arc::clone(&cuts));
            async move {
                tokio::select! {
                    _ = receiver.run() => {}
                    () = cut.notified() => receiver.abort("the links are gone").await,
                }
                receiver.into_report()
            }
        };
        let task = tokio::spawn(async move {
            serving.serve(receive, |report| list.lock().unwrap().push(report)).await;
        });
        Self { peer, reports, endpoint, task, cut }
    }

    /// Waits for all senders, and gives their reports.
    async fn end(self) -> Vec<Report> {
        self.endpoint.stop_listening();
        self.task.await.unwrap();
        Arc::try_unwrap(self.reports).unwrap().into_inner().unwrap()
    }
}

async fn connect(last: u8, peer: &Peer) -> Sender {
    let endpoint = Endpoint::builder(local(last)).encapsulation_port(0).bind().unwrap();
    Sender::connect(&endpoint, peer, association_config(Preset::Recommended)).await.unwrap()
}

/// Content without a repetition.
fn content(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

fn write(directory: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = directory.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    path
}

fn places() -> (TempDir, TempDir) {
    (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap())
}

/// Sends until so many bytes are handed over, and vanishes.
async fn send_some(mut sender: Sender, paths: &[PathBuf], bytes: u64) {
    let (told, heard) = tokio::sync::oneshot::channel();
    let (mut told, mut moved) = (Some(told), 0);
    sender = sender.on_event(move |event| {
        if let Event::Progress { bytes: more } = event {
            moved += more;
            if moved >= bytes {
                told.take().map(|told| told.send(()));
            }
        }
    });
    tokio::select! {
        biased;
        _ = heard => sender.abort("the power failed"),
        _ = sender.send(paths) => panic!("it cannot be through"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_attempt_sends_what_is_missing() {
    let (from, to) = places();
    let whole = content(60_000_000);
    let paths = [write(from.path(), "large", &whole)];
    let inbox = Inbox::new(to.path());
    let server = Server::start(1, &inbox);
    send_some(connect(2, &server.peer).await, &paths, 40_000_000).await;
    while server.reports.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let kept = inbox.leftovers();
    assert_eq!(kept.len(), 1);
    let first = server.reports.lock().unwrap()[0].clone();
    assert_eq!(
        (first.files[0].status, first.files[0].resumed_bytes),
        (FileStatus::Failed, kept[0].bytes)
    );
    // Another receiver of the same directory, as after a restart.
    let other = Server::start(3, &Inbox::new(to.path()));
    let mut sender = connect(4, &other.peer).await;
    sender.send(&paths).await.unwrap();
    let report = sender.into_report();
    assert_eq!((report.complete, report.files[0].resumed_bytes), (true, kept[0].bytes));
    let carried: u64 = report.paths.iter().map(|path| path.bytes).sum();
    let missing = 60_000_000 - kept[0].bytes;
    assert!((missing..missing + 10_000).contains(&carried), "{carried} of {missing}");
    assert_eq!(fs::read(to.path().join("large")).unwrap(), whole);
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 1, "nothing hidden is left");
    assert_eq!(other.end().await[0].files[0].resumed_bytes, kept[0].bytes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_of_another_file_begins_anew_and_a_changed_end_does_no_harm() {
    let (from, to) = places();
    let whole = content(20_000_000);
    let path = write(from.path(), "file", &whole);
    let inbox = Inbox::new(to.path());
    let server = Server::start(5, &inbox);
    for (left, resumed) in [
        (vec![1; 10_000_000], 0),
        // The last bytes did not survive a power failure.
        ([&whole[..10_000_000 - 4096], &[0; 4096][..]].concat(), 10_000_000 - (1 << 20)),
        // There is more than the file has now.
        ([&whole[..], &[7; 100]].concat(), 20_000_000),
    ] {
        // What an attempt has left, with the name that it had.
        send_some(connect(6, &server.peer).await, std::slice::from_ref(&path), 1_000_000).await;
        let name = loop {
            match inbox.leftovers().first() {
                Some(part) if part.bytes >= 65_536 => break part.name.clone(),
                _ => tokio::task::yield_now().await,
            }
        };
        while inbox.is_receiving() {
            tokio::task::yield_now().await;
        }
        fs::write(to.path().join(name), left).unwrap();
        let mut sender = connect(7, &server.peer).await;
        sender.send([&path]).await.unwrap();
        assert_eq!(sender.files()[0].resumed_bytes, resumed);
        assert_eq!(fs::read(to.path().join("file")).unwrap(), whole);
        fs::remove_file(to.path().join("file")).unwrap();
        assert!(inbox.leftovers().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_goes_on_over_another_association() {
    let (from, to) = places();
    let whole = content(60_000_000);
    let batch = Batch::of(&[
        write(from.path(), "first", &whole[..100_000]),
        write(from.path(), "second", &whole),
        write(from.path(), "third", &whole[..10]),
    ]);
    let server = Server::start(8, &Inbox::new(to.path()));
    let (events, moved) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
    let mut sender = connect(9, &server.peer).await;
    let cut = Arc::clone(&server.cut);
    let (list, count) = (Arc::clone(&events), Arc::clone(&moved));
    sender = sender.on_event(move |event| match event {
        // The association breaks in the middle of the second file.
        Event::Progress { bytes }
            if count.fetch_add(*bytes, Ordering::Relaxed) < 30_000_000
                && count.load(Ordering::Relaxed) >= 30_000_000 =>
        {
            cut.notify_one();
        }
        Event::Resumed { bytes, .. } => {
            list.lock().unwrap().push(format!("resumed {}", *bytes > 0))
        }
        Event::Interrupted { .. } => list.lock().unwrap().push("interrupted".to_owned()),
        Event::Reconnected { .. } => list.lock().unwrap().push("reconnected".to_owned()),
        _ => {}
    });
    let peer = server.peer.clone();
    let endpoint = Endpoint::builder(local(10)).encapsulation_port(0).bind().unwrap();
    let again = || endpoint.connect(&peer, association_config(Preset::Recommended));
    let patience = Duration::from_secs(60);
    sender.send_with_retries(batch.unwrap(), patience, again).await.unwrap();
    assert_eq!(*events.lock().unwrap(), ["interrupted", "reconnected", "resumed true"]);
    let report = sender.into_report();
    assert!(report.complete, "{report:?}");
    assert_eq!((report.associations, report.files.len()), (2, 3));
    assert!(moved.load(Ordering::Relaxed) < 100_000_000, "not everything was sent twice");
    for (name, len) in [("first", 100_000), ("second", 60_000_000), ("third", 10)] {
        assert_eq!(fs::read(to.path().join(name)).unwrap(), whole[..len]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_to_come_back_and_who_cannot_is_told() {
    let (from, to) = places();
    let path = write(from.path(), "file", &content(50_000_000));
    let server = Server::start(11, &Inbox::new(to.path()));
    for (patience, expected) in [(0, "the links are gone"), (1, "could not reconnect within 1 s")] {
        let mut sender = connect(12, &server.peer).await;
        let mut cut = Some(Arc::clone(&server.cut));
        sender = sender.on_event(move |event| {
            if matches!(event, Event::Progress { .. })
                && let Some(cut) = cut.take()
            {
                cut.notify_one();
            }
        });
        let never = || std::future::pending::<Result<_, String>>();
        let batch = Batch::of(&[&path]).unwrap();
        let sent = sender.send_with_retries(batch, Duration::from_secs(patience), never).await;
        let error = sent.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(sender.files()[0].status, FileStatus::Failed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_arrives_with_its_empty_directories_and_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let (from, to) = places();
    let tree = from.path().join("tree");
    let whole = content(200_000);
    for number in 0..300 {
        write(&tree, &format!("small/{number}"), &whole[..number]);
    }
    let script = write(&tree, "deep/er/script", &whole);
    fs::set_permissions(&script, PermissionsExt::from_mode(0o750)).unwrap();
    fs::create_dir_all(tree.join("empty/est")).unwrap();
    let server = Server::start(13, &Inbox::new(to.path()));
    let mut sender = connect(14, &server.peer).await;
    sender.send([&tree]).await.unwrap();
    let report = sender.into_report();
    assert!(report.complete, "{report:?}");
    assert_eq!(report.files.len(), 300 + 1 + 6);
    let there = to.path().join("tree");
    for number in 0..300 {
        assert_eq!(fs::read(there.join(format!("small/{number}"))).unwrap(), whole[..number]);
    }
    assert!(there.join("empty/est").is_dir());
    let (sent, stored) =
        (script.metadata().unwrap(), there.join("deep/er/script").metadata().unwrap());
    assert_eq!(stored.permissions().mode() & 0o700, 0o700);
    assert_eq!(stored.modified().unwrap(), sent.modified().unwrap());
    // The same again: nothing is sent, and nothing fails.
    let mut sender = connect(14, &server.peer).await;
    sender.send([&tree]).await.unwrap();
    let report = sender.into_report();
    assert!(report.complete, "{report:?}");
    let there = report.files.iter().filter(|file| file.status == FileStatus::There).count();
    assert_eq!((there, report.bytes), (301, 0));
    let reports = server.end().await;
    let stored = |report: &Report| report.files.iter().all(|file| file.error.is_none());
    assert!(reports.len() == 2 && reports.iter().all(stored), "{reports:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_exists_is_skipped_replaced_or_refused() {
    let (from, to) = places();
    let paths = [
        write(from.path(), "small", b"new small"),
        write(from.path(), "large", &content(300_000)),
        write(from.path(), "same", &content(200_000)),
    ];
    for (last, existing, statuses) in [
        (20, Existing::Keep, [FileStatus::Refused, FileStatus::Refused, FileStatus::There]),
        (22, Existing::Skip, [FileStatus::There, FileStatus::There, FileStatus::There]),
        (24, Existing::Replace, [FileStatus::Stored, FileStatus::Stored, FileStatus::There]),
    ] {
        fs::write(to.path().join("small"), b"old small").unwrap();
        fs::write(to.path().join("large"), vec![0; 300_000]).unwrap();
        fs::write(to.path().join("same"), content(200_000)).unwrap();
        let server = Server::start(last, &Inbox::new(to.path()).existing(existing));
        let mut sender = connect(last + 1, &server.peer).await;
        sender.send(&paths).await.unwrap();
        let status: Vec<_> = sender.files().iter().map(|file| file.status).collect();
        assert_eq!(status, statuses, "{existing:?}");
        let is_new = fs::read(to.path().join("large")).unwrap() == content(300_000);
        assert_eq!(is_new, existing == Existing::Replace);
        assert_eq!(fs::read_dir(to.path()).unwrap().count(), 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_senders_together_have_a_limit_and_incomplete_files_can_be_discarded() {
    let (from, to) = places();
    let whole = content(50_000_000);
    let paths = [write(from.path(), "large", &whole), write(from.path(), "small", &whole[..20])];
    let inbox = Inbox::new(to.path()).max_total(Some(50_000_010)).incomplete(Incomplete::Discard);
    let server = Server::start(30, &inbox);
    send_some(connect(31, &server.peer).await, &paths, 30_000_000).await;
    while server.reports.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
    let mut sender = connect(32, &server.peer).await;
    sender.send(&paths).await.unwrap();
    let files = sender.files();
    assert_eq!((files[0].status, files[0].resumed_bytes), (FileStatus::Stored, 0));
    assert_eq!(files[1].status, FileStatus::Refused);
    let error = files[1].error.clone().unwrap();
    assert!(error.contains("at most 50000010 bytes altogether; 10 of them are left"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_without_files_hands_the_content_on() {
    #[derive(Clone, Default)]
    struct Taken(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Taken {
        fn write(&mut self, content: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(content);
            Ok(content.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let (from, _) = places();
    let whole = content(5_000_000);
    let paths = [
        write(from.path(), "large", &whole),
        write(from.path(), "small", b"small"),
        from.path().to_owned(),
    ];
    let taken = Taken::default();
    let server = Server::start(40, &Inbox::into_writer(taken.clone()).accept_hidden(true));
    let mut sender = connect(41, &server.peer).await;
    sender.send(&paths[..2]).await.unwrap();
    assert_eq!(*taken.0.lock().unwrap(), [&whole[..], b"small"].concat());
    let mut sender = connect(41, &server.peer).await;
    sender.send(&paths[2..]).await.unwrap();
    assert_eq!(sender.files()[0].status, FileStatus::Refused);
}
