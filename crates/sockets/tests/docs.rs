//! The tables of `docs/sockets-api.md` say what the code does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use polypath_sockets::abi::option;
use polypath_sockets::support::{FUNCTIONS, OPTIONS, USRSCTP, tables};

/// Between these lines the page is generated.
const BEGIN: &str = "<!-- generated: tables -->\n";
const END: &str = "<!-- end of generated -->\n";

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// With `POLYPATH_UPDATE_DOCS` set, the page is brought up to date.
#[test]
fn the_page_has_the_tables_of_the_code() {
    let path = root().join("docs/sockets-api.md");
    let page = fs::read_to_string(&path).expect("docs/sockets-api.md");
    let (before, rest) = page.split_once(BEGIN).expect("the begin of the tables");
    let (now, after) = rest.split_once(END).expect("the end of the tables");
    if std::env::var_os("POLYPATH_UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", tables())).unwrap();
    } else {
        assert_eq!(
            now,
            tables(),
            "POLYPATH_UPDATE_DOCS=1 cargo test -p polypath-sockets brings it up to date"
        );
    }
}

#[test]
fn every_option_of_linux_is_in_the_table() {
    let listed: Vec<_> = OPTIONS.iter().map(|option| (option.number, option.name)).collect();
    assert_eq!(listed, option::ALL);
}

/// Functions that C programs can call, in the files of a folder.
fn functions_in(folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(root().join("crates/capi/src").join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        for after in text.split("#[unsafe(no_mangle)]\n").skip(1) {
            let (_, after) = after.split_once("extern \"C\" fn ").expect("a function");
            found.insert(after.split('(').next().unwrap().to_owned());
        }
    }
    found
}

fn names(rows: &[(&str, &str)]) -> BTreeSet<String> {
    rows.iter().map(|(name, _)| (*name).to_owned()).collect()
}

#[test]
fn the_functions_of_the_library_are_those_of_the_table() {
    let mut found = functions_in("");
    // Forms of others that only compilers call.
    found.retain(|name| !name.starts_with("__"));
    assert_eq!(found, names(FUNCTIONS));
    let mut found = functions_in("usrsctp");
    // Settings, which a macro declares.
    found.retain(|name| !name.starts_with('$'));
    assert_eq!(found, names(USRSCTP));
}
