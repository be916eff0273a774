//! Files over the loopback interface, without the program.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use polypath::{Endpoint, Peer, Preset};
use polypath_transfer::{
    Event, Existing, FileStatus, Inbox, ReceiveError, Report, Sender, association_config,
    check_files,
};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Events, without those that tell how far a file is.
type Log = Arc<Mutex<Vec<String>>>;

fn log() -> (Log, impl FnMut(&Event) + Send + 'static) {
    let log = Log::default();
    let (mut moved, lines) = (0, Arc::clone(&log));
    let observe = move |event: &Event| match event {
        Event::Begun { name, bytes } => {
            lines.lock().unwrap().push(format!("{name} begins with {bytes}"));
        }
        Event::Progress { bytes } => moved += bytes,
        Event::Ended { file, .. } => {
            let line = format!("{} ends after {moved}: {:?}", file.name, file.status);
            lines.lock().unwrap().push(line);
            moved = 0;
        }
        other => panic!("{other:?}"),
    };
    (log, observe)
}

fn local(last: &[u8]) -> Vec<IpAddr> {
    last.iter().map(|&last| IpAddr::from([127, 0, 9, last])).collect()
}

fn listening(last: &[u8]) -> (Endpoint, Peer) {
    let endpoint = Endpoint::builder(local(last)).encapsulation_port(0).listen(16).bind().unwrap();
    // With all addresses named, the paths are the same whichever of them answers first.
    let peer =
        Peer::new(local(last), endpoint.port()).encapsulation_port(endpoint.encapsulation_port());
    (endpoint, peer)
}

async fn connected(last: &[u8], peer: &Peer) -> Sender {
    let endpoint = Endpoint::builder(local(last)).encapsulation_port(0).bind().unwrap();
    Sender::connect(&endpoint, peer, association_config(Preset::Recommended)).await.unwrap()
}

/// Files of these names and sizes, none of which has the content of another.
fn files(of: &[(&str, usize)]) -> (TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let make = |(name, size): &(&str, usize)| {
        let path = directory.path().join(name);
        let seed = name.len();
        fs::write(&path, (0..*size).map(|at| (at / 251 + at + seed) as u8).collect::<Vec<_>>())
            .unwrap();
        path
    };
    let paths = of.iter().map(make).collect();
    (directory, paths)
}

/// Nothing may hold up a task that waits for the network.
fn spawnable<T: Send>(it: T) -> T {
    it
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_arrive_whole_over_two_paths() {
    let (_place, paths) = files(&[("large", 3_000_000), ("empty", 0), ("small", 1)]);
    check_files(&paths).unwrap();
    let (endpoint, peer) = listening(&[1, 2]);
    let downloads = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(downloads.path());
    inbox.prepare().unwrap();
    let (heard, observe) = log();
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap().on_event(observe);
        let received = receiver.run().await;
        (received.is_ok(), receiver.into_report(), endpoint)
    });
    let (told, observe) = log();
    let mut sender = connected(&[3, 4], &peer).await.on_event(observe);
    spawnable(sender.send(&paths)).await.unwrap();
    let sent = sender.into_report();
    let (is_ok, received, _endpoint) = receiving.await.unwrap();
    assert!(is_ok && received.complete && sent.complete, "{sent:?} {received:?}");
    for (path, [here, there]) in
        paths.iter().zip(sent.files.iter().zip(&received.files).map(|(here, there)| [here, there]))
    {
        let content = fs::read(path).unwrap();
        assert_eq!(fs::read(downloads.path().join(&here.name)).unwrap(), content);
        let digest: String =
            Sha256::digest(&content).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((here.sha256.as_ref(), there.sha256.as_ref()), (Some(&digest), Some(&digest)));
        assert_eq!(here.bytes, content.len() as u64);
    }
    assert_eq!((sent.files.len(), sent.bytes, sent.paths.len()), (3, 3_000_001, 2));
    let expected = [
        "large begins with 3000000",
        "large ends after 3000000: Stored",
        "empty begins with 0",
        "empty ends after 0: Stored",
        "small begins with 1",
        "small ends after 1: Stored",
    ];
    assert_eq!(*told.lock().unwrap(), expected);
    assert_eq!(*heard.lock().unwrap(), expected);
    assert_eq!(fs::read_dir(downloads.path()).unwrap().count(), 3, "nothing hidden is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_does_not_concern_the_others() {
    let (_place, mut paths) = files(&[("old", 10), (".hidden", 20), ("new", 30)]);
    paths.insert(1, paths[0].with_file_name("gone"));
    let (endpoint, peer) = listening(&[5]);
    let downloads = tempfile::tempdir().unwrap();
    fs::write(downloads.path().join("old"), "kept").unwrap();
    let inbox = Inbox::new(downloads.path());
    let serving = {
        let inbox = inbox.clone();
        tokio::spawn(async move {
            let mut reports: Vec<Report> = Vec::new();
            inbox
                .serve(&endpoint, |report| {
                    reports.push(report);
                    // Nobody else is expected; who was accepted is served to the end.
                    endpoint.stop_listening();
                })
                .await;
            reports
        })
    };
    let (told, observe) = log();
    let mut sender = connected(&[6], &peer).await.on_event(observe);
    sender.send(&paths).await.unwrap();
    let status: Vec<_> = sender.files().iter().map(|file| file.status).collect();
    let expected =
        [FileStatus::Refused, FileStatus::Failed, FileStatus::Refused, FileStatus::Stored];
    assert_eq!(status, expected);
    let report = sender.into_report();
    assert!(!report.complete && report.error.is_none(), "{report:?}");
    let error = |place: usize| report.files[place].error.clone().unwrap();
    assert_eq!(
        error(0),
        "refused by the receiver: \"old\" exists there already; the receiver replaces it only with --overwrite"
    );
    assert!(error(1).contains("gone"), "{}", error(1));
    assert!(error(2).contains("begins with a dot"), "{}", error(2));
    assert_eq!(told.lock().unwrap().len(), 5, "one of four begins");
    let reports = serving.await.unwrap();
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].files.len(), 3, "what cannot be opened is not offered");
    assert_eq!(fs::read(downloads.path().join("old")).unwrap(), b"kept");

    let (endpoint, peer) = listening(&[7]);
    let liberal = inbox.existing(Existing::Replace).accept_hidden(true);
    let receiving = tokio::spawn(async move {
        let mut receiver = liberal.accept(&endpoint).await.unwrap();
        receiver.run().await.unwrap();
        (receiver.into_report(), endpoint)
    });
    paths.remove(1);
    let mut sender = connected(&[8], &peer).await;
    sender.send(&paths).await.unwrap();
    assert!(sender.into_report().complete);
    assert!(receiving.await.unwrap().0.complete);
    assert_eq!(fs::read(downloads.path().join("old")).unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_gives_up_leaves_nothing() {
    let (_place, paths) = files(&[("large", 50_000_000)]);
    let (endpoint, peer) = listening(&[9]);
    let downloads = tempfile::tempdir().unwrap();
    let inbox = Inbox::new(downloads.path());
    let receiving = tokio::spawn(async move {
        let mut receiver = inbox.accept(&endpoint).await.unwrap();
        (receiver.run().await, receiver.into_report(), endpoint)
    });
    let (told, heard) = tokio::sync::oneshot::channel();
    let mut told = Some(told);
    let mut sender = connected(&[10], &peer).await.on_event(move |event| {
        if matches!(event, Event::Progress { .. })
            && let Some(told) = told.take()
        {
            let _ = told.send(());
        }
    });
    tokio::select! {
        biased;
        _ = heard => {}
        _ = sender.send(&paths) => panic!("it cannot be through"),
    }
    sender.abort("the disk is on fire");
    let (received, report, _endpoint) = receiving.await.unwrap();
    assert!(matches!(received, Err(ReceiveError::Association(_))), "{received:?}");
    assert!(report.error.is_some_and(|error| error.contains("the disk is on fire")));
    assert_eq!(report.files[0].status, FileStatus::Failed);
    assert_eq!(sender.into_report().error.as_deref(), Some("the disk is on fire"));
    assert_eq!(fs::read_dir(downloads.path()).unwrap().count(), 0);
}

/// Who reads the JSON of the program finds the same keys here.
#[test]
fn reports_have_the_keys_of_the_program() {
    let report = Report::unconnected("nobody is there", std::time::Duration::from_secs(2));
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(
        json,
        "{\"schema\":\"polypath/transfer-1\",\"role\":\"send\",\"complete\":false,\"error\":\"nobody is there\",\"bytes\":0,\
         \"duration_s\":2.0,\"goodput_bit_s\":0.0,\"blocked_s\":{\"application\":0.0,\"congestion_window\":0.0,\
         \"peer_window\":0.0,\"no_path\":0.0},\"files\":[],\"files_omitted\":0,\"associations\":0,\"paths\":[]}"
    );
}
