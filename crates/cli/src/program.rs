//! This program.

use polypath_lab::run::Program;

/// Its version and revision, and the machine it runs on: what stands beside results.
pub(crate) fn program() -> Program {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: env!("POLYPATH_REVISION").to_owned(),
        host: host.trim().to_owned(),
    }
}
