//! Any text as the file of `polypath with --config`.
#![no_main]
#![allow(dead_code)]

use std::path::PathBuf;
use std::sync::OnceLock;
use std::{env, fs, process};

use libfuzzer_sys::fuzz_target;

/// What the file needs of the program.
mod failure {
    #[derive(Debug)]
    pub struct Failure(pub anyhow::Error);

    impl Failure {
        pub fn usage(error: impl Into<anyhow::Error>) -> Self {
            Self(error.into())
        }
    }
}

/// The same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Paths {
    AsBound,
    All,
}

#[path = "../../crates/cli/src/commands/with/file.rs"]
mod file;

fuzz_target!(|text: &str| {
    let path = path();
    fs::write(path, text).expect("room");
    match file::Options::read(path) {
        Ok(options) => {
            assert!(options.raw != Some(true) || options.encapsulation_port.is_none());
        }
        Err(failure::Failure(error)) => {
            // Names the file, and a line of it.
            let told = error.to_string();
            let place = told.strip_prefix(path.to_str().expect("text")).expect("the file");
            let line = place.strip_prefix(':').and_then(|rest| rest.split(':').next());
            let line: Option<usize> = line.and_then(|line| line.trim().parse().ok());
            assert!(line.is_some_and(|line| line <= text.lines().count() + 1), "{told}");
        }
    }
});

/// A file in memory, if the system has such a place.
fn path() -> &'static PathBuf {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let place = if memory.is_dir() { memory } else { env::temp_dir() };
        place.join(format!("polypath-fuzz-with-{}.toml", process::id()))
    })
}
