//! Any text as a study.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use polypath_lab::study::{Extent, Reading, Study, Where};
use polypath_sim::document::Document;

/// Points and variants whose scenario is made. There may be very many.
const MOST: usize = 4;

fuzz_target!(|text: &str| {
    let Ok(document) = Document::parse("study.toml", text) else { return };
    for extent in [Extent::Full, Extent::Quick] {
        let reading = Reading { extent, edits: &[] };
        match Study::from_document(&document, Path::new("/nowhere"), reading) {
            Ok(study) => use_it(&study),
            Err(error) => assert!(error.to_string().starts_with("study.toml"), "{error}"),
        }
    }
});

/// What `study run` does before it runs anything.
fn use_it(study: &Study) {
    let resolved = study.resolved();
    assert_eq!(resolved.axes.len(), study.axes().len());
    let _ = (study.confidence(), study.is_in_real_time());
    if study.points().len() > 10_000 {
        return;
    }
    let selected = study.select(&Where::default()).expect("everything");
    assert_eq!(selected.len(), study.points().len());
    for point in study.points().iter().take(MOST) {
        for variant in 0..study.variants().len().min(MOST) {
            let _ = study.seed(&point, variant, 0);
            let _ = study.scenario(&point, variant);
        }
    }
}
