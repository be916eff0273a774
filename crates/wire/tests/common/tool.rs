//! Programs that a test needs and a machine may lack.

use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};

/// Environment variable with a comma-separated list of what must not be skipped.
const REQUIRE: &str = "POLYPATH_REQUIRE";

/// Says why a test is skipped, or fails it when `what` is required.
pub fn skip(what: &str, why: &str) {
    let required = std::env::var(REQUIRE).unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == what),
        "{REQUIRE} has {what}, but {why}"
    );
    // Written past the test harness, which would keep it to itself.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Runs a command with `input`; `None` when there is no such program.
pub fn run(command: &mut Command, input: &str) -> Option<Output> {
    let spawned =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        result => result.expect("a program that starts"),
    };
    let mut pipe = child.stdin.take().expect("a pipe");
    std::thread::scope(|scope| {
        // A program that ends before it has read everything says why by its status.
        scope.spawn(move || match pipe.write_all(input.as_bytes()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            result => result.expect("input is read"),
        });
        Some(child.wait_with_output().expect("a program that ends"))
    })
}

/// The standard output of a run that went well.
pub fn text(output: &Output) -> &str {
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaint}", output.status);
    std::str::from_utf8(&output.stdout).expect("text in UTF-8")
}
