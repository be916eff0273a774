//! Who makes runs.

use polypath_lab::run::Program;

/// This package and this machine, as they stand beside results.
pub(crate) fn program() -> Program {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: option_env!("POLYPATH_REVISION").unwrap_or("package").to_owned(),
        host: host.trim().to_owned(),
    }
}
