//! Any bytes as a table of results (Parquet).
#![no_main]

use std::panic::{set_hook, take_hook};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::{env, fs, process};

use libfuzzer_sys::fuzz_target;
use polypath_lab::results::{Table, TableError, samples};

fuzz_target!(|bytes: &[u8]| {
    let folder = folder();
    // The same content as a table, and as the series of a study.
    let path = folder.join("series.parquet");
    fs::write(&path, bytes).expect("room");
    match read(&path) {
        Ok(()) => {}
        Err(error) => {
            assert!(error.to_string().starts_with(path.to_str().expect("text")), "{error}")
        }
    }
    let _ = samples(folder, |sample| assert!(sample.series.len() <= bytes.len().max(1) * 100));
});

/// Reads every column, row by row.
fn read(path: &std::path::Path) -> Result<(), TableError> {
    let table = Table::open(path)?;
    let columns: Vec<_> = (0..table.columns().len().min(64)).collect();
    for name in table.columns() {
        assert!(table.column(name).is_ok());
    }
    table.rows(&columns, |row| {
        assert_eq!(row.len(), columns.len());
        Ok(())
    })
}

/// A folder in memory, if the system has such a place.
fn folder() -> &'static PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        // The library panics on damaged files, and its caller catches that. Other panics end the run.
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            let is_of_library =
                panic.location().is_some_and(|place| !place.file().contains("crates/"));
            if !is_of_library {
                report(panic);
            }
        }));
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { env::temp_dir() };
        let place = place.join(format!("polypath-fuzz-table-{}", process::id()));
        fs::create_dir_all(&place).expect("a folder");
        place
    })
}
