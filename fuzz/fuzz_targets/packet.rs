//! Any bytes as a packet: read, look at everything, write again.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/wire/tests/common/walk.rs"]
mod walk;

fuzz_target!(|bytes: &[u8]| walk::packet(bytes));
