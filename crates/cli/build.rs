//! Puts into the program which revision it is made from, and the papers with their studies.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names of files that belong to a paper.
const ENDINGS: [&str; 4] = ["toml", "csv", "md", "trace"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../..");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=POLYPATH_REVISION");
    println!("cargo:rustc-env=POLYPATH_REVISION={}", revision(&root));
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("papers.rs"), papers(&root.join("papers"))?)
}

/// What the environment says, or git; `unknown` where there is none, as in a package.
fn revision(root: &Path) -> String {
    if let Ok(revision) = env::var("POLYPATH_REVISION") {
        return revision;
    }
    // A package may lie inside of somebody else's repository.
    if !root.join("Cargo.lock").exists() || !root.join(".git").exists() {
        return "unknown".to_owned();
    }
    let git = |arguments: &[&str]| -> Option<String> {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    // Whatever of these changes, the program is built anew anyhow.
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    if let Ok(crates) = fs::read_dir(root.join("crates")) {
        for sources in crates.flatten().map(|entry| entry.path().join("src")) {
            println!("cargo:rerun-if-changed={}", sources.display());
        }
    }
    git(&["describe", "--always", "--dirty", "--abbrev=12"]).unwrap_or_else(|| "unknown".to_owned())
}

/// A list of names and contents of all files of papers, as Rust; an empty one in a package, which has none.
fn papers(folder: &Path) -> io::Result<String> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut code = String::from("[\n");
    if folder.is_dir() {
        for paper in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
            for file in sorted(&paper)? {
                let ending = file.extension().and_then(|ending| ending.to_str());
                if !ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
                    continue;
                }
                let file = file.canonicalize()?;
                let name = |path: &Path| path.file_name().map(|name| name.to_os_string());
                let (paper, name) =
                    (name(&paper).unwrap_or_default(), name(&file).unwrap_or_default());
                let _ = writeln!(code, "    ({paper:?}, {name:?}, include_str!({file:?})),");
            }
        }
    }
    code.push_str("]\n");
    Ok(code)
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}
