//! Any bytes as a part of the journal of a study.
#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;
use std::{env, fs, process};

use libfuzzer_sys::fuzz_target;
use polypath_lab::run::{Journal, JournalError};

// Lines without a checksum are those of older programs, and are read: no mutation has to guess one.
fuzz_target!(|bytes: &[u8]| {
    let (found, copy) = directories();
    fs::write(found.join("journal.jsonl"), bytes).expect("room");
    let journal = match Journal::open(found) {
        Ok(journal) => journal,
        Err(error) => {
            assert!(matches!(error, JournalError::Damaged { .. }), "{error}");
            assert!(error.to_string().contains("journal.jsonl"), "{error}");
            return;
        }
    };
    let mut sound = 0;
    for id in journal.ids() {
        assert!(journal.has(id));
        let read = journal.read(id).expect("what was read a moment ago");
        sound += usize::from(read.is_some());
    }
    assert_eq!(sound, journal.len());
    // What was read can be written, and is the same then.
    let _ = fs::remove_dir_all(copy.join("journal"));
    let other = Journal::open(copy).expect("an empty folder");
    other.absorb(&journal).expect("room");
    drop(other);
    let other = Journal::open(copy).expect("what this side wrote");
    assert_eq!(other.ids(), journal.ids());
    for id in other.ids() {
        let [ours, theirs] = [&other, &journal].map(|journal| journal.read(id).expect("there"));
        let shown = |entry| format!("{entry:?}");
        assert_eq!(
            shown(ours.map(|entry| entry.outcome)),
            shown(theirs.map(|entry| entry.outcome))
        );
    }
});

/// A folder with the journal and one for the copy, in memory if the system has such a place.
fn directories() -> &'static (PathBuf, PathBuf) {
    static MADE: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    MADE.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { env::temp_dir() };
        let place = place.join(format!("polypath-fuzz-{}", process::id()));
        let made = (place.join("found"), place.join("copy"));
        fs::create_dir_all(&made.0).expect("a folder");
        fs::create_dir_all(&made.1).expect("a folder");
        made
    })
}
