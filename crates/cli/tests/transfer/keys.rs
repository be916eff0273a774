//! `--key`: who has none, or another one, gets nothing in and learns why.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Receiver, content, polypath, run, stderr};

/// Files with keys of these names, each made by `key new`.
fn keys(of: &[&str]) -> (TempDir, Vec<PathBuf>) {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<_> =
        of.iter().map(|name| directory.path().join(name).with_extension("key")).collect();
    for path in &paths {
        let output = run(polypath().args(["key", "new"]).arg(path));
        assert!(output.status.success(), "{}", stderr(&output));
    }
    (directory, paths)
}

/// A file with the lines of others, as `cat` makes it.
fn joined(directory: &Path, files: &[&PathBuf]) -> PathBuf {
    let path = directory.join("receiver.keys");
    write_private(&path, files);
    path
}

fn write_private(path: &Path, files: &[&PathBuf]) {
    let text: String = files.iter().map(|file| fs::read_to_string(file).unwrap()).collect();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

fn sender(receiver: &Receiver, file: &Path, key: Option<&PathBuf>) -> Command {
    let mut command = polypath();
    command.arg("send").arg(file).args(["--to", "127.0.0.1", "--encapsulation-port"]);
    command.args([&receiver.port, "--connect-timeout", "2"]);
    if let Some(key) = key {
        command.arg("--key").arg(key);
    }
    command
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// The digits of the key in a file.
fn secret(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.trim().rsplit(' ').next().expect("a key").to_owned()
}

#[test]
fn a_receiver_takes_files_of_those_with_a_key_only() {
    let (place, files) = keys(&["alice", "bob", "eve"]);
    let [alice, bob, eve] = &files[..] else { unreachable!() };
    let both = joined(place.path(), &[alice, bob]);
    let mut receiver = Receiver::start("127.0.0.1", &["--key", text(&both), "--json"]);
    let send = |receiver: &Receiver, name: &str, key: Option<&PathBuf>| -> Output {
        let file = place.path().join(name);
        fs::write(&file, b"content").unwrap();
        run(&mut sender(receiver, &file, key))
    };
    for (name, key, expected) in [
        ("none", None, "it accepts only peers with a key: name a file with the key (--key)"),
        ("other", Some(eve), "it does not accept this key (--key)"),
    ] {
        let output = send(&receiver, name, key);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(told.contains(expected) && told.trim().lines().count() == 1, "{told}");
        assert!(!told.contains(&secret(eve)));
    }
    for (name, key) in [("from-alice", alice), ("from-bob", bob)] {
        let output = send(&receiver, name, Some(key));
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(receiver.files(), ["from-alice", "from-bob"]);

    // Without her line, alice has no key any more. The receiver says when it has seen that.
    receiver.hear("received from-alice: ", ", key alice");
    receiver.hear("received from-bob: ", ", key bob");
    write_private(&both, &[bob]);
    receiver.hear("receiver.keys was read again: ", "bob");
    assert_eq!(send(&receiver, "revoked", Some(alice)).status.code(), Some(3));
    assert!(send(&receiver, "again", Some(bob)).status.success());
    assert_eq!(receiver.files(), ["again", "from-alice", "from-bob"]);
    receiver.hear("received again: ", ", key bob");

    // Without any key it accepts nobody, rather than everybody.
    fs::write(&both, "# revoked\n").unwrap();
    receiver.hear("it has no key", "no peer is accepted until that is fixed");
    for key in [Some(bob), None] {
        assert_eq!(send(&receiver, "late", key).status.code(), Some(3));
    }
    assert_eq!(receiver.files(), ["again", "from-alice", "from-bob"]);

    receiver.child.kill().unwrap();
    let (_, out, _) = receiver.wait();
    let named: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["key"].clone())
        .collect();
    assert_eq!(named, ["alice", "bob", "bob"]);
}

#[test]
fn associations_end_whose_key_is_revoked() {
    let (place, files) = keys(&["alice", "bob"]);
    let [alice, bob] = &files[..] else { unreachable!() };
    let both = joined(place.path(), &[alice, bob]);
    let mut receiver = Receiver::start("127.0.0.1", &["--key", text(&both)]);
    // Each takes minutes.
    let send = |receiver: &Receiver, name: &str, key: &PathBuf| {
        let file = place.path().join(name);
        fs::write(&file, content(4_000_000)).unwrap();
        let mut sender = sender(receiver, &file, Some(key));
        sender.args(["--limit-rate", "200 kbit/s", "--retry-for", "0"]);
        sender.stderr(Stdio::piped()).spawn().unwrap()
    };
    let from_alice = send(&receiver, "from-alice", alice);
    receiver.hear_of("from-alice: ");
    let mut from_bob = send(&receiver, "from-bob", bob);
    receiver.hear_of("from-bob: ");
    write_private(&both, &[bob]);
    receiver.hear_of("1 association whose key was revoked was aborted");
    let output = from_alice.wait_with_output().unwrap();
    let told = stderr(&output);
    assert!(!output.status.success() && told.contains("the key was revoked"), "{told}");
    // The other one goes on until the file is empty.
    assert!(from_bob.try_wait().unwrap().is_none());
    fs::write(&both, "").unwrap();
    receiver.hear_of("1 association whose key was revoked was aborted");
    assert!(stderr(&from_bob.wait_with_output().unwrap()).contains("the key was revoked"));
}

#[test]
fn a_sender_with_a_key_sends_to_nobody_without() {
    let (place, files) = keys(&["alice"]);
    let receiver = Receiver::start("127.0.0.1", &[]);
    let file = place.path().join("file");
    fs::write(&file, b"content").unwrap();
    let output = run(&mut sender(&receiver, &file, Some(&files[0])));
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("it has no key: start it with one (--key)"), "{told}");
    assert!(receiver.files().is_empty());
}

#[test]
fn a_key_is_private_and_never_replaced() {
    let (place, files) = keys(&["alice"]);
    assert_eq!(fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    let before = fs::read_to_string(&files[0]).unwrap();
    let again = run(polypath().args(["key", "new"]).arg(&files[0]));
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("is never replaced"), "{}", stderr(&again));
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), before);

    let bad_name = run(polypath().args(["key", "new"]).arg(place.path().join("al ice.key")));
    assert_eq!(bad_name.status.code(), Some(2));
    assert!(stderr(&bad_name).contains("--name"), "{}", stderr(&bad_name));
    let named = run(polypath()
        .args(["key", "new", "--name", "alice"])
        .arg(place.path().join("al ice.key")));
    assert!(named.status.success());
    assert!(!String::from_utf8_lossy(&named.stdout).contains(&secret(&files[0])));
}

#[test]
fn files_that_are_none_of_keys_are_refused_by_every_command() {
    let (place, files) = keys(&["alice", "exposed"]);
    let [alice, exposed] = &files[..] else { unreachable!() };
    fs::set_permissions(exposed, Permissions::from_mode(0o640)).unwrap();
    let bad = |name: &str, text: &str| {
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        path
    };
    let key = secret(alice);
    let table = [
        (exposed.clone(), "has mode 0640, so others may read or change it: chmod 600"),
        (place.path().join("missing"), "cannot read "),
        (place.path().to_owned(), "is no regular file"),
        (bad("empty", ""), "it has no key"),
        (bad("one word", &key), "line 1: a line must have a name, a space and a key"),
        (bad("short", &format!("alice {}", &key[..30])), "line 1: a key of 15 bytes"),
        (bad("digits", &format!("alice {}z", &key[1..])), "line 1: the key is not written"),
    ];
    let file = place.path().join("file");
    fs::write(&file, b"content").unwrap();
    for (path, expected) in &table {
        for arguments in [
            &["send", text(&file), "--to", "127.0.0.1"][..],
            &["receive", "--listen", "127.0.0.1", "--out", text(place.path())],
            &["meter", "client", "127.0.0.1"],
            &["meter", "server", "-B", "127.0.0.1"],
        ] {
            let output =
                run(polypath().args(arguments).arg("--key").arg(path).stdout(Stdio::piped()));
            let told = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
            assert!(told.contains("--key: ") && told.contains(expected), "{arguments:?}: {told}");
            assert!(!told.contains(&key[1..30]), "{told}");
        }
    }
}
