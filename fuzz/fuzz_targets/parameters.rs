//! Any bytes as a list of parameters and as a list of error causes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use polypath_wire::{Causes, Parameters};

#[path = "../../crates/wire/tests/common/walk.rs"]
#[allow(dead_code)]
mod walk;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(list) = Parameters::parse(bytes) {
        walk::parameters(&list);
    }
    if let Ok(list) = Causes::parse(bytes) {
        walk::causes(&list);
    }
});
