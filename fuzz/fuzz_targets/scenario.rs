//! Any text as a scenario.
#![no_main]

use libfuzzer_sys::fuzz_target;
use polypath_sim::document::Document;
use polypath_sim::scenario::Scenario;

fuzz_target!(|text: &str| {
    let Ok(document) = Document::parse("scenario.toml", text) else { return };
    match Scenario::from_document(&document) {
        Ok(_) => {}
        Err(error) => assert!(error.to_string().starts_with("scenario.toml"), "{error}"),
    }
});
