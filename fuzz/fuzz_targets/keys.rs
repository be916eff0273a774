//! Any text as a file of keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use polypath::KeyRing;

fuzz_target!(|text: &str| match KeyRing::parse(text) {
    Ok(ring) => {
        let names: Vec<_> = ring.names().collect();
        assert!(!names.is_empty() && ring.shared_keys().ids().count() == names.len());
        let shown = format!("{ring:?}");
        let keys = text.lines().filter_map(|line| line.split_whitespace().nth(1));
        let mut keys =
            keys.filter(|key| key.len() > 31 && !names.iter().any(|name| name.contains(key)));
        assert!(!keys.any(|key| shown.contains(key)), "{shown}");
    }
    Err(error) => {
        // No line of the file is in a message: it may be a key.
        let told = error.to_string();
        let mut long = text.split_whitespace().filter(|word| word.len() > 31);
        assert!(!long.any(|word| told.contains(word)), "{told}");
    }
});
