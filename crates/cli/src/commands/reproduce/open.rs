//! Opens a report.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::output;

/// Opens a page in the user's browser, or prints how to open it.
pub(super) fn open(page: &Path) {
    if opener().is_none_or(|opener| start(opener, page).is_err()) {
        output::tell(format_args!("no browser can be opened here: open {} in one", page.display()));
    }
}

fn start(opener: &str, page: &Path) -> io::Result<()> {
    let quiet = || Stdio::null();
    let mut command = Command::new(opener);
    // The opener exits at once; a browser that it starts keeps running.
    command.arg(page).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().map(drop)
}

/// The program that opens a page with the user's default application.
fn opener() -> Option<&'static str> {
    if cfg!(target_os = "macos") {
        return Some("open");
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    (set("DISPLAY") || set("WAYLAND_DISPLAY")).then_some("xdg-open")
}
