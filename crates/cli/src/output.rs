//! Standard output and standard error.

use std::io::{self, ErrorKind, Write};

use anyhow::Context;

use crate::failure::Outcome;

/// Writes a line to standard error. If it has been closed, the line is dropped and the command continues.
pub(crate) fn tell(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes to standard output. A reader that has had enough (`| head`) is no failure.
pub(crate) fn print(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result.context("cannot write to standard output")?),
    }
}
