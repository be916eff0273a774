//! This program.

use polypath_lab::run::{Program, TestBed};

/// Runs scenarios with `test_bed` on this machine; Linux only.
pub(crate) fn test_bed() -> &'static dyn TestBed {
    #[cfg(target_os = "linux")]
    return &crate::test_bed::Namespaces;
    #[cfg(not(target_os = "linux"))]
    return &NoTestBed;
}

/// A machine without network namespaces.
#[cfg(not(target_os = "linux"))]
struct NoTestBed;

#[cfg(not(target_os = "linux"))]
impl TestBed for NoTestBed {
    fn objection(&self) -> Option<String> {
        Some("network namespaces, which a test bed is made of, are a matter of Linux".into())
    }

    fn machine(&self) -> String {
        std::env::consts::OS.into()
    }

    fn run(
        &self,
        _scenario: &polypath_sim::Scenario,
        _seed: u64,
    ) -> Result<polypath_lab::run::Outcome, String> {
        Err(self.objection().unwrap_or_default())
    }
}

/// Version, revision and machine, which are recorded with results.
pub(crate) fn program() -> Program {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Program {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        revision: env!("POLYPATH_REVISION").to_owned(),
        host: host.trim().to_owned(),
    }
}
