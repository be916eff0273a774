//! What the library says on standard error, where an error number does not say enough.

use std::fmt::Arguments;
use std::io::Write;

/// Writes a line. A program without standard error goes on without it.
pub(crate) fn complain(what: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "polypath: {what}");
}
