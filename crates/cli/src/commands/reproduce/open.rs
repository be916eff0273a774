//! Opens a report.

use std::path::Path;
use std::process::{Command, Stdio};

/// Opens a page in the user's browser, if there is a display where it could be seen. Nothing depends on it: the command has
/// said where the page is.
pub(super) fn open(page: &Path) {
    if let Some(opener) = opener() {
        let quiet = || Stdio::null();
        let mut command = Command::new(opener);
        // It opens and is done; a browser that it starts lives on by itself.
        let _ = command.arg(page).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    }
}

/// The program that opens a page with whatever the user likes.
fn opener() -> Option<&'static str> {
    if cfg!(target_os = "macos") {
        return Some("open");
    }
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    (set("DISPLAY") || set("WAYLAND_DISPLAY")).then_some("xdg-open")
}
