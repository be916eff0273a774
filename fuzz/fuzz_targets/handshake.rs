//! Any bytes as what happens to the packets of a handshake: INIT, INIT ACK, COOKIE ECHO with its cookie, and COOKIE ACK.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| polypath_testkit::run_handshake(bytes));
