//! When the process begins: which descriptors it has been given.

use crate::fault::quietly;
use crate::{fork, table};

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Looks at the descriptors that the process has inherited through `exec`.
extern "C" fn begin() {
    quietly(learn_inherited);
}

fn learn_inherited() {
    fork::begin();
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<_> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in numbers {
        table::learn(fd);
    }
}
