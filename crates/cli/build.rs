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
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = package.join("../..");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=POLYPATH_REVISION={}", revision(&package, &root));
    let demo = first(&root.join("scenarios/demo.toml"), &package.join("demo.toml"))?;
    println!("cargo:rustc-env=POLYPATH_DEMO={}", demo.display());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(
        out.join("papers.rs"),
        papers(&first(&root.join("papers"), &package.join("papers"))?)?,
    )
}

/// The first of both that exists: a file of the source, or its copy in a package.
fn first(source: &Path, copy: &Path) -> io::Result<PathBuf> {
    let found = if source.exists() { source } else { copy };
    found
        .canonicalize()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", found.display())))
}

/// What the environment says, or git, or the commit that a package was made from; `unknown` where there is none.
fn revision(package: &Path, root: &Path) -> String {
    println!("cargo:rerun-if-env-changed=POLYPATH_REVISION");
    if let Ok(revision) = env::var("POLYPATH_REVISION") {
        return revision;
    }
    // A package may lie inside of somebody else's repository.
    let in_source = root.join("Cargo.lock").exists() && root.join(".git").exists();
    let found = if in_source { described(root) } else { packaged(package) };
    found.unwrap_or_else(|| "unknown".to_owned())
}

/// The commit in the file that cargo adds to packages, as short as git's.
fn packaged(package: &Path) -> Option<String> {
    let text = fs::read_to_string(package.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    (commit.len() >= 12 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| commit[..12].to_owned())
}

/// What git says of the source.
fn described(root: &Path) -> Option<String> {
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
    git(&["describe", "--always", "--dirty", "--abbrev=12"])
}

/// A list of names and contents of all files of papers, as Rust.
fn papers(folder: &Path) -> io::Result<String> {
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut code = String::from("[\n");
    for paper in sorted(folder)?.into_iter().filter(|path| path.is_dir()) {
        for file in sorted(&paper)? {
            let ending = file.extension().and_then(|ending| ending.to_str());
            if !ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
                continue;
            }
            let file = file.canonicalize()?;
            let name = |path: &Path| path.file_name().map(|name| name.to_os_string());
            let (paper, name) = (name(&paper).unwrap_or_default(), name(&file).unwrap_or_default());
            let _ = writeln!(code, "    ({paper:?}, {name:?}, include_str!({file:?})),");
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
