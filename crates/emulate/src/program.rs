//! Programs that run on external hosts.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;

use crate::emulation::Watcher;
use crate::error::Error;

/// How long programs may take to end when they are asked to.
const PATIENCE: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(10);

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

    /// Tells the watcher what it says, line by line, until nobody has its output open any more.
    pub fn listen<'scope>(
        &mut self,
        scope: &'scope thread::Scope<'scope, '_>,
        watcher: &'scope dyn Watcher,
    ) {
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        let listen = |from: Option<Box<dyn Read + Send>>, stream: Stream| {
            let (Some(from), host) = (from, self.program.host.clone()) else { return };
            scope.spawn(move || {
                let mut lines = BufReader::new(from);
                let mut line = Vec::new();
                while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                    let text = String::from_utf8_lossy(&line);
                    watcher.said(&host, stream, text.trim_end_matches(['\r', '\n']));
                    line.clear();
                }
            });
        };
        listen(out.map(|out| Box::new(out) as _), Stream::Out);
        listen(err.map(|err| Box::new(err) as _), Stream::Err);
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

/// Ends those that still run: asks first, and ends what has not ended in time.
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
        // Also what a program that has ended left behind.
        program.signal(Signal::SIGKILL);
        if program.status.is_none() {
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
