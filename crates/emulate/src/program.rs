//! Programs that run on external hosts.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;

use crate::error::Error;

/// How long programs may take to end when they are asked to.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(10);
/// How often who listens to a program that says nothing looks whether it should still, in ms.
const LOOK_UP: u16 = 50;
/// Most bytes of a line that are kept: a longer one is reported in pieces.
const LONGEST_LINE: usize = 64 << 10;

/// A command for the shell of a host, from `HOST=COMMAND`. With `&` at its end it is in the background: it does not keep
/// the emulation going.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Name of the host.
    pub host: String,
    /// The command.
    pub command: String,
    /// Whether the emulation ends without waiting for it.
    pub in_background: bool,
}

/// Why a text is no program.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProgramError {
    /// There is no `=`, or nothing at one side of it.
    #[error("write it as HOST=COMMAND, for example 'a=ping -c 3 10.1.1.2'")]
    Form,
}

impl FromStr for Program {
    type Err = ProgramError;

    fn from_str(text: &str) -> Result<Self, ProgramError> {
        let (host, command) = text.split_once('=').ok_or(ProgramError::Form)?;
        let (host, command) = (host.trim(), command.trim());
        let background = command.strip_suffix('&').filter(|rest| !rest.ends_with('&'));
        let in_background = background.is_some();
        let command = background.unwrap_or(command).trim();
        if host.is_empty() || command.is_empty() {
            return Err(ProgramError::Form);
        }
        Ok(Self { host: host.to_owned(), command: command.to_owned(), in_background })
    }
}

/// Where a line of a program comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What became of a program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProgramOutcome {
    /// Name of the host.
    pub host: String,
    /// The command.
    pub command: String,
    /// Its exit code; nothing if a signal ended it.
    pub exit_code: Option<i32>,
    /// Whether the emulation ended it.
    pub was_stopped: bool,
}

impl ProgramOutcome {
    /// Whether it failed by itself.
    pub fn has_failed(&self) -> bool {
        !self.was_stopped && self.exit_code != Some(0)
    }
}

/// A program on the way.
#[derive(Debug)]
pub(crate) struct Running {
    program: Program,
    child: Child,
    status: Option<ExitStatus>,
    was_stopped: bool,
}

impl Running {
    /// Starts a program in a namespace, in a process group of its own: an interruption by the keyboard is for the emulation,
    /// which ends its programs.
    pub fn start(program: &Program, namespace: &str) -> Result<Self, Error> {
        let child = Command::new("ip")
            .args(["netns", "exec", namespace, "sh", "-c", &program.command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let child =
            child.map_err(|error| Error::Start { command: program.command.clone(), error })?;
        Ok(Self { program: program.clone(), child, status: None, was_stopped: false })
    }

    /// Calls `said` with each line that it writes, endless lines in pieces, until no process has its output open any more, or
    /// `is_over`.
    pub fn listen<'scope>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        said: impl Fn(Stream, &str) + Copy + Send + 'scope,
        is_over: &'scope AtomicBool,
    ) -> impl Iterator<Item = ScopedJoinHandle<'scope, ()>> {
        let out = self.child.stdout.take().map(|out| (OwnedFd::from(out), Stream::Out));
        let err = self.child.stderr.take().map(|err| (OwnedFd::from(err), Stream::Err));
        out.into_iter().chain(err).map(move |(from, stream)| {
            scope.spawn(move || each_line(from, is_over, |line| said(stream, line)))
        })
    }

    /// Whether it keeps the emulation going.
    pub fn is_in_foreground(&self) -> bool {
        !self.program.in_background
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_some()
    }

    fn signal(&self, signal: Signal) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), signal);
        }
    }

    /// What became of it.
    pub fn outcome(&self) -> ProgramOutcome {
        ProgramOutcome {
            host: self.program.host.clone(),
            command: self.program.command.clone(),
            exit_code: self.status.and_then(|status| {
                // As shells have it: that of a program that a signal ended tells which.
                status.code().or_else(|| status.signal().map(|signal| 128 + signal))
            }),
            was_stopped: self.was_stopped,
        }
    }
}

/// Calls `tell` with each line that comes from a pipe, or each piece of a long one, until that ends, or `is_over`.
fn each_line(from: OwnedFd, is_over: &AtomicBool, mut tell: impl FnMut(&str)) {
    let mut tell = |line: &[u8]| {
        tell(String::from_utf8_lossy(line).trim_end_matches(['\r', '\n']));
    };
    let mut from = File::from(from);
    let (mut buffer, mut line) = (vec![0; 1 << 16], Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        let mut readable = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        match poll(&mut readable, LOOK_UP) {
            Ok(0) | Err(Errno::EINTR) => continue,
            Ok(_) => {}
            Err(_) => break,
        }
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => buffer.get(..read.unwrap_or(0)).unwrap_or_default(),
        };
        if read.is_empty() {
            break;
        }
        for part in read.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            // What exceeds it by no more may be the end of the line alone.
            while line.len() > LONGEST_LINE + b"\r\n".len() {
                let rest = line.split_off(end_of_piece(&line));
                tell(&line);
                line = rest;
            }
            if part.ends_with(b"\n") {
                tell(&line);
                line.clear();
            }
        }
    }
    if !line.is_empty() {
        tell(&line);
    }
}

/// Where to cut a line that is too long: no character of UTF-8 is cut, if it is text.
fn end_of_piece(line: &[u8]) -> usize {
    let begins = |place: &usize| line[*place] & 0b1100_0000 != 0b1000_0000;
    (LONGEST_LINE - 3..=LONGEST_LINE).rev().find(begins).unwrap_or(LONGEST_LINE)
}

/// Ends those that still run: asks first, and ends what has not ended in time. What they started and left is the
/// namespace's to end: groups of programs that are gone may be others' by now.
pub(crate) fn stop(programs: &mut [Running]) {
    let is_running = |program: &mut Running| !program.has_ended();
    for program in programs.iter_mut().filter_map(|p| is_running(p).then_some(p)) {
        program.was_stopped = true;
        program.signal(Signal::SIGTERM);
    }
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end && programs.iter_mut().any(is_running) {
        thread::sleep(STEP);
    }
    for program in programs {
        if !program.has_ended() {
            program.signal(Signal::SIGKILL);
            program.status = program.child.wait().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(host: &str, command: &str, in_background: bool) -> Program {
        Program { host: host.into(), command: command.into(), in_background }
    }

    #[test]
    fn programs_are_written_as_host_and_command() {
        let parse = |text: &str| text.parse::<Program>();
        assert_eq!(parse("a=ping 10.1.1.2"), Ok(program("a", "ping 10.1.1.2", false)));
        assert_eq!(parse("client 1 = x=y env "), Ok(program("client 1", "x=y env", false)));
        assert_eq!(parse("b=iperf3 -s &"), Ok(program("b", "iperf3 -s", true)));
        assert_eq!(parse("b=true &&"), Ok(program("b", "true &&", false)), "left to the shell");
        for wrong in ["", "a", "a=", "=ping", "a= &"] {
            assert_eq!(parse(wrong), Err(ProgramError::Form), "{wrong}");
        }
    }

    #[test]
    fn lines_are_told_one_by_one_and_nobody_listens_for_ever() {
        let (out, mut into) = std::io::pipe().unwrap();
        let mut lines = Vec::new();
        let is_over = AtomicBool::new(false);
        std::io::Write::write_all(&mut into, b"one\r\n\ntwo").unwrap();
        // The other end stays open.
        each_line(out.into(), &is_over, |line| {
            lines.push(line.to_owned());
            is_over.store(lines.len() == 2, Ordering::Relaxed);
        });
        assert_eq!(lines, ["one", "", "two"]);
    }

    #[test]
    fn lines_without_end_are_told_in_pieces() {
        let told = |text: String| {
            let (out, mut into) = std::io::pipe().unwrap();
            let writer = thread::spawn(move || {
                std::io::Write::write_all(&mut into, text.as_bytes()).unwrap();
            });
            let mut lines = Vec::new();
            each_line(out.into(), &AtomicBool::new(false), |line| lines.push(line.to_owned()));
            writer.join().unwrap();
            lines
        };
        let longest = "x".repeat(LONGEST_LINE);
        assert_eq!(told(format!("{longest}\r\n1")), [longest.as_str(), "1"]);
        // Two bytes each, behind one: the first piece ends before a character that it had half of.
        let line = format!("x{}", "\u{e9}".repeat(2 * LONGEST_LINE));
        let pieces = told(format!("{line}\nend"));
        let lengths: Vec<usize> = pieces.iter().map(String::len).collect();
        let full = LONGEST_LINE;
        assert_eq!(lengths, [full - 1, full, full, full, 2, 3]);
        assert_eq!(pieces.concat(), format!("{line}end"));
    }

    #[test]
    fn a_program_that_was_stopped_has_not_failed() {
        let outcome = |exit_code, was_stopped| ProgramOutcome {
            host: "a".into(),
            command: "x".into(),
            exit_code,
            was_stopped,
        };
        assert!(!outcome(Some(0), false).has_failed());
        assert!(outcome(Some(3), false).has_failed());
        assert!(outcome(None, false).has_failed());
        assert!(!outcome(Some(143), true).has_failed());
    }
}
