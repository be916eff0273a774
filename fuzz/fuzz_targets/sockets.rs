//! Any bytes as what programs say to the service of the SCTP sockets: questions, and frames on the descriptors of sockets. The service runs
//! in the process; a panic of one of its tasks ends the run.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/sockets/tests/common/program.rs"]
mod program;

fuzz_target!(|bytes: &[u8]| {
    program::say(bytes, program::SHORT);
});
