//! Any bytes as what happens to two established endpoints: packets lost, damaged, repeated and forged, and calls of their users.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| polypath_testkit::run_mutations(bytes));
