//! Directories, standard input and output, and what is offered in the second version of the protocol.

use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output, Stdio};

use polypath::Message;
use serde_json::Value;

use crate::frames::{ANSWER, DIRECTORY, EAGER, FILE, PROOF, VERDICT, data, end, second_offer};
use crate::peer::{connect, refusal};
use crate::support::{Receiver, content, polypath, run, stderr};

fn send(receiver: &Receiver, arguments: &[&str]) -> Command {
    let mut send = polypath();
    send.args(["send", "--to", "127.0.0.1", "--encapsulation-port", &receiver.port]);
    send.args(arguments);
    send
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_tree_arrives_and_links_and_pipes_are_left_out() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    fs::create_dir_all(tree.join("sub/empty")).unwrap();
    fs::write(tree.join("sub/large"), content(1_000_000)).unwrap();
    fs::write(tree.join("small"), "small").unwrap();
    std::os::unix::fs::symlink("/etc", tree.join("out")).unwrap();
    nix::unistd::mkfifo(&tree.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let receiver = Receiver::start("127.0.0.1", &[]);
    let path = tree.to_str().unwrap();
    let sent = run(&mut send(&receiver, &[path]));
    assert!(sent.status.success(), "{}", stderr(&sent));
    let told = text(&sent);
    assert!(told.contains("out was left out: it is a symbolic link"), "{told}");
    assert!(told.contains("pipe was left out: it is no regular file"), "{told}");
    assert_eq!(receiver.content("tree/sub/large"), content(1_000_000));
    assert_eq!(receiver.content("tree/small"), b"small");
    assert!(receiver.directory.path().join("tree/sub/empty").is_dir());
    assert!(!receiver.directory.path().join("tree/out").exists());
    // Again: nothing to do, and that is no failure.
    let again = run(&mut send(&receiver, &[path, "--json"]));
    assert!(again.status.success(), "{}", stderr(&again));
    let summary: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        (summary["bytes"].as_u64(), summary["left_out"].as_array().unwrap().len()),
        (Some(0), 2)
    );
    let there =
        summary["files"].as_array().unwrap().iter().filter(|file| file["status"] == "there");
    assert_eq!(there.count(), 2);
    // With -q nothing is said at all.
    let quiet = run(&mut send(&receiver, &[path, "-q"]));
    assert_eq!((quiet.stdout.as_slice(), stderr(&quiet).as_str()), (&b""[..], ""));
}

#[test]
fn hidden_files_are_announced_before_anything_is_sent() {
    let place = tempfile::tempdir().unwrap();
    let tree = place.path().join("tree");
    fs::create_dir_all(tree.join(".git")).unwrap();
    for name in [".git/config", ".env", "plain"] {
        fs::write(tree.join(name), name).unwrap();
    }
    let path = tree.to_str().unwrap();
    let mut receiver = Receiver::start("127.0.0.1", &[]);
    let sent = run(&mut send(&receiver, &[path]));
    assert_eq!(sent.status.code(), Some(1), "{}", stderr(&sent));
    let told = stderr(&sent);
    let first = told.lines().next().unwrap();
    assert!(
        first.starts_with("3 of 5 files and directories are hidden (tree/.env is the first)"),
        "{told}"
    );
    assert!(first.contains("--hidden") && first.contains("--skip-hidden"), "{told}");
    assert!(
        text(&sent).contains("tree/.env: FAILED: its name begins with a dot"),
        "{}",
        text(&sent)
    );
    assert_eq!(receiver.content("tree/plain"), b"plain");
    // The receiver was not even asked about them.
    receiver.hear("received tree/", "directory");
    receiver.hear("received tree/plain", "verified");

    let sent = run(&mut send(&receiver, &[path, "--skip-hidden"]));
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert_eq!(stderr(&sent), "");
    assert!(text(&sent).contains("tree/.git was left out: it is hidden"), "{}", text(&sent));
    assert!(!receiver.directory.path().join("tree/.env").exists());
    receiver.hear("received tree/", "directory");
    receiver.hear("skipped tree/plain: ", "");

    let receiver = Receiver::start("127.0.0.1", &["--hidden"]);
    let sent = run(&mut send(&receiver, &[path]));
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert_eq!(stderr(&sent), "");
    assert_eq!(receiver.content("tree/.git/config"), b".git/config");
}

#[test]
fn names_that_no_receiver_takes_are_refused_before_anything_is_sent() {
    for (name, expected) in
        [(&b"\xff"[..], "is not UTF-8"), (b"a\nb", "only plain names"), (b"nul", "means a device")]
    {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("tree")).unwrap();
        let file = place.path().join("tree").join(std::ffi::OsStr::from_bytes(name));
        fs::write(file, "").unwrap();
        let mut send = polypath();
        let sent = run(send.args(["send", "--to", "127.0.0.1"]).arg(place.path().join("tree")));
        assert_eq!(sent.status.code(), Some(2), "{}", stderr(&sent));
        assert!(stderr(&sent).contains(expected), "{}", stderr(&sent));
    }
}

#[test]
fn standard_input_goes_to_standard_output() {
    let mut receive = polypath();
    receive.args(["receive", "--listen", "127.0.22.1", "--out", "-", "--encapsulation-port", "0"]);
    let mut receiving = receive.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = std::io::BufReader::new(receiving.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut told, &mut line).unwrap();
    let port = line.trim().rsplit(' ').next().unwrap();
    let mut send = polypath();
    send.args([
        "send",
        "-",
        "--name",
        "made/up.tar",
        "--to",
        "127.0.22.1",
        "--encapsulation-port",
        port,
    ]);
    let mut sending = send.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = sending.stdin.take().unwrap();
    let writing = std::thread::spawn(move || input.write_all(&content(5_000_000)).unwrap());
    let received = receiving.wait_with_output().unwrap();
    writing.join().unwrap();
    let sent = sending.wait_with_output().unwrap();
    assert!(received.status.success() && sent.status.success(), "{}", text(&sent));
    assert!(received.stdout == content(5_000_000));
    assert!(text(&sent).contains("made/up.tar: 5.0 MB"), "{}", text(&sent));
}

#[test]
fn standard_input_becomes_a_file_and_has_limits() {
    let receiver = Receiver::start("127.0.0.1", &["--max-total", "1 MB"]);
    for (len, expected) in [(700_000, 0), (700_000, 1)] {
        let mut sending = send(&receiver, &["-", "--name", &format!("input{expected}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The sender may end before it has read everything.
        let _ = sending.stdin.take().unwrap().write_all(&content(len));
        let sent = sending.wait_with_output().unwrap();
        assert_eq!(sent.status.code(), Some(expected), "{}", stderr(&sent));
        if expected == 1 {
            assert!(
                stderr(&sent).contains("at most 1000000 bytes altogether"),
                "{}",
                stderr(&sent)
            );
        }
    }
    assert_eq!(receiver.files(), ["input0"]);
    assert_eq!(receiver.content("input0"), content(700_000));
}

#[test]
fn existing_files_are_skipped_where_that_is_wanted() {
    let receiver = Receiver::start("127.0.0.1", &["--skip-existing"]);
    fs::write(receiver.directory.path().join("file"), "old").unwrap();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "new and longer").unwrap();
    let sent = run(&mut send(&receiver, &[file.to_str().unwrap()]));
    assert!(sent.status.success(), "{}", stderr(&sent));
    assert!(text(&sent).contains("file: skipped: a file of that name is there"), "{}", text(&sent));
    assert_eq!(receiver.content("file"), b"old");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn paths_that_lead_out_are_refused_in_every_form() {
    let receiver = Receiver::start("127.0.0.1", &["--hidden"]);
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), receiver.directory.path().join("link")).unwrap();
    let (_endpoint, association) = connect(&receiver).await;
    let mut following = 1000;
    for name in [
        &b"../up"[..],
        b"a/../../up",
        b"/etc/up",
        b"a//up",
        b"a/.",
        b"a\\..\\up",
        b"a/b\0c",
        b"a/nul",
        b"a/\xff",
        b"link/up",
        b".polypath-0123456789abcdef.part",
        b"a/.polypath-0123456789abcdef.part",
        b"link/deeper/up",
        &[b'a'; 3000],
    ] {
        for (kind, flags) in [(FILE, 0), (FILE, EAGER), (DIRECTORY, 0)] {
            following -= 1;
            association.send(second_offer(following, 2, (kind, flags), name)).await.unwrap();
            if flags == EAGER {
                association.send(data(b"ok")).await.unwrap();
                association.send(end(b"ok")).await.unwrap();
            }
            let reason = refusal(association.receive().await.unwrap(), ANSWER);
            assert!(!reason.is_empty());
        }
    }
    association.send(second_offer(0, 2, (FILE, EAGER), b"plain/good")).await.unwrap();
    association.send(data(b"ok")).await.unwrap();
    association.send(end(b"ok")).await.unwrap();
    assert_eq!(association.receive().await.unwrap().unwrap().ppid(), VERDICT);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    assert_eq!(receiver.files(), ["link", "plain"]);
    let stored = fs::metadata(receiver.directory.path().join("plain/good")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&stored.permissions());
    assert_eq!(mode & 0o7000, 0, "no special bits");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_second_version_is_kept_to_or_the_association_ends() {
    let receiver = Receiver::start("127.0.0.1", &[]);
    let too_eager = second_offer(0, 1 << 20, (FILE, EAGER), b"large");
    let unknown_kind = second_offer(0, 1, (7, 0), b"odd");
    let proof = Message::new(0, vec![0; 32]).ppid(PROOF);
    for message in [too_eager, unknown_kind, proof] {
        let (_endpoint, association) = connect(&receiver).await;
        association.send(message).await.unwrap();
        let error = association.receive().await.unwrap_err().to_string();
        assert!(error.contains("the peer broke the transfer protocol"), "{error}");
    }
    assert!(receiver.files().is_empty());
}
