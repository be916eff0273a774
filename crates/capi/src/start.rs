//! When the process begins: which descriptors it has been given.

use polypath_sockets::names::SERVICE_VARIABLE;

use crate::table;

#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

/// Looks at the descriptors that the process has inherited through `exec`.
extern "C" fn begin() {
    if std::env::var_os(SERVICE_VARIABLE).is_none() {
        return;
    }
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<_> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for fd in numbers {
        table::learn(fd);
    }
}
