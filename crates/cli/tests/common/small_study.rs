//! A small study, and commands about it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{polypath, texts};

/// Eight short runs, of which nothing is random.
pub const STUDY: &str = r#"
title = "a small study"
[replications]
runs = 2
[[axes]]
name = "rate"
unit = "Mbit/s"
keys = ["network.disjoint.paths.path 2.bottleneck.rate"]
values = ["1 Mbit/s", "2 Mbit/s"]
[[variants]]
name = "one"
set = { "sctp.preset" = "rfc9260" }
[[variants]]
name = "both"
[[measures]]
name = "goodput"
result = "goodput_bit_s"
unit = "Mbit/s"
scale = 1e-6
[series]
interval = "100 ms"
[inline]
title = "two paths"
[inline.run]
duration = "1 s"
[[inline.network.disjoint.paths]]
name = "path 1"
bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }
[[inline.network.disjoint.paths]]
name = "path 2"
bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }
[[inline.traffic]]
name = "bulk"
source = "saturated"
message_size = "1452 B"
"#;

/// Writes a study into a directory.
pub fn study_in(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("study.toml");
    fs::write(&path, text).expect("writable");
    path
}

/// Runs `polypath` with arguments of which some are paths.
pub fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = polypath(arguments);
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}
