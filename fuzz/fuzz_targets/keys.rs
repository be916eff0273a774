//! Any text as a file of keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use polypath::KeyRing;

fuzz_target!(|text: &str| match KeyRing::parse(text) {
    Ok(ring) => {
        let names: Vec<_> = ring.names().collect();
        assert!(!names.is_empty() && ring.shared_keys().ids().count() == names.len());
        assert!(!format!("{ring:?}").contains("Secret"), "keys are not shown");
    }
    Err(error) => {
        // No line of the file is in a message: it may be a key.
        let told = error.to_string();
        let long = text.split_whitespace().filter(|word| word.len() > 31);
        assert!(long.filter(|word| told.contains(word)).count() == 0, "{told}");
    }
});
