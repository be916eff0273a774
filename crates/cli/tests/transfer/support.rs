//! The program under test.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::thread::{self, JoinHandle};

use tempfile::TempDir;

pub(crate) fn polypath() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.stdin(Stdio::null());
    command
}

pub(crate) fn run(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Bytes that differ from place to place.
pub(crate) fn content(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

/// A receiver that listens; its files are in `directory`.
pub(crate) struct Receiver {
    pub(crate) child: Child,
    pub(crate) directory: TempDir,
    pub(crate) port: String,
    stderr: Option<BufReader<ChildStderr>>,
}

impl Receiver {
    pub(crate) fn start(listen: &str, more: &[&str]) -> Self {
        Self::start_with(listen, more, Stdio::piped())
    }

    /// With standard output of its own.
    pub(crate) fn start_with(listen: &str, more: &[&str], stdout: Stdio) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let out = directory.path().to_owned();
        Self::start_in((directory, &out), listen, more, stdout)
    }

    /// With files that go to a path in `directory`, or to itself.
    pub(crate) fn start_in(
        (directory, out): (TempDir, &Path),
        listen: &str,
        more: &[&str],
        stdout: Stdio,
    ) -> Self {
        let mut command = polypath();
        command
            .args(["receive", "--listen", listen, "--encapsulation-port", "0", "--out"])
            .arg(out);
        command.args(more).stdout(stdout).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it speaks");
        let port = line.trim().rsplit(' ').next().expect("a port").to_owned();
        assert!(line.starts_with("listening on "), "{line}");
        Self { child, directory, port, stderr: Some(stderr) }
    }

    /// The next line of standard error has both of these in it.
    pub(crate) fn hear(&mut self, first: &str, second: &str) {
        let mut line = String::new();
        let stderr = self.stderr.as_mut().expect("nobody else reads it");
        stderr.read_line(&mut line).expect("it speaks");
        assert!(line.contains(first) && line.contains(second), "{line}");
    }

    /// Reads lines of standard error until one has this in it.
    pub(crate) fn hear_of(&mut self, text: &str) {
        let stderr = self.stderr.as_mut().expect("nobody else reads it");
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            let read = stderr.read_line(&mut line).expect("it speaks");
            assert!(read > 0, "it ended without a word of {text}");
        }
    }

    /// Reads the rest of standard error in a thread, which gives it at its end.
    pub(crate) fn read_on(&mut self) -> JoinHandle<String> {
        let mut stderr = self.stderr.take().expect("nobody reads it yet");
        thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).expect("text");
            text
        })
    }

    /// Waits for its end: exit status, standard output and the rest of standard error.
    pub(crate) fn wait(&mut self) -> (ExitStatus, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        if let Some(stderr) = &mut self.stderr {
            stderr.read_to_string(&mut err).expect("text");
        }
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut out).expect("text");
        }
        (self.child.wait().expect("it ends"), out, err)
    }

    /// Names in its directory, hidden ones too.
    pub(crate) fn files(&self) -> Vec<String> {
        names(self.directory.path())
    }

    pub(crate) fn content(&self, name: &str) -> Vec<u8> {
        fs::read(self.directory.path().join(name)).expect("a file")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
