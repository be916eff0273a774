//! The page about traces names every event and field.

use std::fs;
use std::path::Path;

use polypath_qlog::{EVENTS, Importance};

#[test]
fn the_page_has_every_event_with_its_fields() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/qlog.md");
    let page = fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `sctp:")).collect();
    assert_eq!(rows.len(), EVENTS.len(), "one row for each");
    for (kind, row) in EVENTS.iter().zip(rows) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[1], format!("`{}`", kind.name));
        let importance = match kind.importance {
            Importance::Core => "core",
            Importance::Base => "base",
            Importance::Extra => "extra",
        };
        assert_eq!(cells[2], importance, "{}", kind.name);
        for field in kind.fields {
            assert!(
                cells[4].contains(&format!("`{}`", field.name)),
                "{} {}",
                kind.name,
                field.name
            );
        }
    }
}
