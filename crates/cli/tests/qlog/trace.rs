//! Traces, as a reader sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use polypath_qlog::EVENTS;
use serde_json::Value;

/// A trace that was read.
pub(crate) struct Trace {
    pub(crate) header: Value,
    pub(crate) events: Vec<Value>,
}

impl Trace {
    /// Reads a file; every record must be of a known kind, with its fields and no others, and in the order of time.
    pub(crate) fn read(file: &Path) -> Self {
        let bytes = fs::read(file).expect("a trace");
        let mut texts = bytes.split(|byte| *byte == 0x1E).inspect(|text| {
            assert!(text.is_empty() || text.ends_with(b"\n"), "{}", String::from_utf8_lossy(text));
        });
        assert_eq!(texts.next(), Some(&b""[..]), "a separator stands first");
        let mut texts = texts.map(|text| serde_json::from_slice(text).expect("JSON"));
        let header = texts.next().expect("a header");
        let trace = Self { header, events: texts.collect() };
        trace.events.iter().for_each(check);
        assert!(trace.events.is_sorted_by_key(|event| event["time"].as_f64().expect("a time")));
        trace
    }

    /// Kinds of its events, with the fields that they have.
    pub(crate) fn kinds(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for event in &self.events {
            kinds.entry(name(event)).or_default().extend(fields(event));
        }
        kinds
    }

    /// Number of events of a kind.
    pub(crate) fn count(&self, kind: &str) -> usize {
        self.events.iter().filter(|event| name(event) == kind).count()
    }

    /// A field of all events of a kind, in their order.
    pub(crate) fn values(&self, kind: &str, field: &str) -> Vec<&Value> {
        let events = self.events.iter().filter(|event| name(event) == kind);
        events.map(|event| &event["data"][field]).collect()
    }

    /// Number of chunks that were sent for the first time.
    pub(crate) fn first_sent(&self) -> usize {
        let sent = self.events.iter().filter(|event| name(event) == "sctp:chunk_sent");
        sent.filter(|event| event["data"]["trigger"] == "new").count()
    }
}

fn name(event: &Value) -> &str {
    event["name"].as_str().expect("a name")
}

fn fields(event: &Value) -> BTreeSet<&str> {
    event["data"].as_object().expect("an object").keys().map(String::as_str).collect()
}

fn check(event: &Value) {
    let kind = EVENTS.iter().find(|kind| kind.name == name(event));
    let kind = kind.unwrap_or_else(|| panic!("{event} is not in the list"));
    let found = fields(event);
    for field in kind.fields {
        assert!(!field.required || found.contains(field.name), "{event} has no {}", field.name);
    }
    let known = |field: &&str| kind.fields.iter().any(|known| known.name == *field);
    assert!(found.iter().all(known), "{event} has strange fields");
}
