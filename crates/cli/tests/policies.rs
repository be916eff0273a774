//! `polypath policies` from outside.

#[allow(dead_code)] // some tests need no directory
mod common;

use std::path::Path;

use common::{polypath, texts};
use serde_json::Value;

fn policies(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = polypath(&[&["policies"], arguments].concat());
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

#[test]
fn json_has_every_key_with_a_value_for_every_preset() {
    let (status, out, err) = policies(&["--json"]);
    assert_eq!(status, Some(0), "{err}");
    let catalog: Value = serde_json::from_str(&out).expect("JSON");
    let presets = catalog["presets"].as_array().expect("presets");
    assert!(presets.iter().any(|preset| preset["name"] == "recommended"));
    let keys = catalog["policies"].as_array().expect("policies");
    assert!(keys.iter().any(|key| key["key"] == "congestion"));
    for key in keys {
        let defaults = key["defaults"].as_object().expect("defaults");
        assert_eq!(defaults.len(), presets.len(), "{}", key["key"]);
        let values = key["values"].as_array().expect("values");
        assert!(!values.is_empty() || key["quantity"].is_string(), "{}", key["key"]);
        for name in ["meaning", "source"] {
            assert!(key[name].as_str().is_some_and(|text| text.len() > 5), "{}", key["key"]);
        }
        let level = key["level"].as_str().expect("a level");
        assert!(["user", "operator", "research"].contains(&level), "{}", key["key"]);
        let side = key["side"].as_str().expect("a side");
        assert!(["sender", "receiver", "both"].contains(&side), "{}", key["key"]);
    }
}

#[test]
fn keys_are_found_by_their_parts() {
    let (status, out, _) = policies(&["rto"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("rto.min") && !out.contains("path_order"), "{out}");
    let (status, _, err) = policies(&["path_ordr"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("did you mean 'path_order'"), "{err}");
    let (_, _, err) = policies(&["retransmision"]);
    assert!(err.contains("did you mean 'retransmission'"), "{err}");
    // Keys as `--set` has them.
    let (_, plain, _) = policies(&["rto.min"]);
    assert_eq!(policies(&["policies.rto.min"]), (Some(0), plain, String::new()));
    let (_, _, err) = policies(&["policies.rto.mn"]);
    assert!(err.contains("did you mean 'rto.min'"), "{err}");
    let (status, _, err) = policies(&["foo"]);
    assert_eq!(status, Some(2));
    assert!(!err.contains("did you mean") && err.contains("lists them all"), "{err}");
}

#[test]
fn a_preset_is_found_with_what_it_sets() {
    let (status, out, err) = policies(&["cmt-pf"]);
    assert_eq!(status, Some(0), "{err}");
    let (different, same) = out.split_once("Same as `cmt`:").expect("two parts");
    let keys = |part: &str| -> Vec<String> {
        part.lines().filter(|line| line.contains(" = ")).map(|line| line.trim().into()).collect()
    };
    assert_eq!(keys(different), ["failover.detection = \"pf-2\""]);
    assert!(keys(same).contains(&"path_order = \"smallest-last-transmission\"".into()), "{out}");
    let (_, out, _) = policies(&["cmt", "rto"]);
    assert!(out.contains("rto.min") && !out.contains("path_order"), "{out}");
    let (_, out, _) = policies(&["recommended", "--json"]);
    let catalog: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(catalog["presets"].as_array().map(Vec::len), Some(1));
    assert_eq!(catalog["policies"][0]["defaults"].as_object().map(serde_json::Map::len), Some(1));
    let (status, _, err) = policies(&["recomended"]);
    assert_eq!((status, err.contains("did you mean 'recommended'")), (Some(2), true), "{err}");
}

#[test]
fn every_key_has_a_section_and_one_row_with_all_presets() {
    let (_, out, _) = policies(&["--json"]);
    let catalog: Value = serde_json::from_str(&out).expect("JSON");
    let presets = catalog["presets"].as_array().expect("presets").len();
    let (_, page, _) = policies(&["--markdown"]);
    for key in catalog["policies"].as_array().expect("policies") {
        let key = key["key"].as_str().expect("a name");
        let heading = format!("\n### `{key}`\n");
        assert_eq!(page.matches(&heading).count(), 1, "{key}");
        let row = format!("| [`{key}`](#{})", key.replace('.', ""));
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with(&row)).collect();
        assert_eq!(rows.len(), 1, "{key}");
        assert_eq!(rows[0].matches('|').count(), presets + 3, "{}", rows[0]);
    }
}

#[test]
fn the_page_of_the_documentation_is_up_to_date() {
    let (status, page, err) = policies(&["--markdown"]);
    assert_eq!(status, Some(0), "{err}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.md");
    if std::env::var_os("POLYPATH_UPDATE_DOCS").is_some() {
        std::fs::write(&file, &page).expect("a page that can be written");
    }
    let stored = std::fs::read_to_string(&file).expect("docs/policies.md");
    assert!(stored == page, "docs/policies.md is not what `polypath policies --markdown` prints");
}
