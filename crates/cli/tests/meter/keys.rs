//! A server with keys measures with those who have one.

use std::path::Path;
use std::process::Stdio;

use crate::support::{Server, polypath, stderr};

fn key(path: &Path) -> &str {
    let made = polypath().args(["key", "new"]).arg(path).stdout(Stdio::null()).status();
    assert!(made.expect("the program starts").success());
    path.to_str().expect("text")
}

#[test]
fn a_server_measures_with_those_who_have_a_key_and_names_it() {
    let place = tempfile::tempdir().unwrap();
    let [alice, eve] = ["alice.key", "eve.key"].map(|name| place.path().join(name));
    let (alice, eve) = (key(&alice), key(&eve));
    let mut server = Server::start("127.0.8.1", &["--one-off", "--key", alice]);
    for (more, expected) in [
        (&[][..], "it accepts only peers with a key"),
        (&["--key", eve], "it does not accept this key (--key)"),
    ] {
        let mut client = server.client("127.0.8.2", &["-n", "10K", "--connect-timeout", "2"]);
        let output = client.args(more).output().expect("the program starts");
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(told.contains(expected), "{told}");
    }
    let document = server.measure("127.0.8.3", &["-n", "10K", "--key", alice]);
    assert_eq!(document["complete"], true);
    let (status, _, told) = server.wait();
    assert!(status.success(), "{told}");
    let accepted: Vec<_> = told.lines().filter(|line| line.contains("accepted")).collect();
    assert!(accepted.len() == 1 && accepted[0].ends_with(", key alice"), "{told}");
}
