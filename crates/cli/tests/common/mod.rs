//! The program, and a place for its files.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory of its own for a test, empty at the start.
pub fn directory(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory that can be made");
    path
}

/// Runs `polypath`.
pub fn polypath(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_polypath"));
    command.args(arguments).output().expect("a program that runs")
}

/// Standard output and standard error as text.
pub fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text in UTF-8");
    (text(&output.stdout), text(&output.stderr))
}
