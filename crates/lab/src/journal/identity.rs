//! Identity of runs.

use std::fmt;
use std::str::FromStr;

use polypath_sim::Scenario;
use sha2::{Digest, Sha256};

use super::canonical::canonical;

/// Version of results. It changes whenever the same configuration and seed lead to other results, or the form of results changes, so
/// that results of different versions are not mixed.
pub const RESULTS_VERSION: u32 = 3;

/// The name of a run: a hash of its resolved configuration, its seed and [`RESULTS_VERSION`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RunId([u8; 16]);

/// The resolved configuration of runs.
#[derive(Clone, Debug)]
pub struct Identity(Sha256);

impl Identity {
    /// Resolves a scenario: all its values, explicit or by default, except title and seed.
    ///
    /// # Errors
    /// A value cannot be represented in JSON.
    pub fn of(scenario: &Scenario) -> Result<Self, serde_json::Error> {
        let mut hasher = Sha256::new();
        hasher.update(format!("polypath run {RESULTS_VERSION}\0"));
        hasher.update(canonical(scenario)?);
        Ok(Self(hasher))
    }

    /// Resolves an invalid configuration, which has no scenario.
    pub fn refused(what: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(format!("polypath refused {RESULTS_VERSION}\0{what}\0"));
        Self(hasher)
    }

    /// The run of this configuration with a seed.
    pub fn run(&self, seed: u64) -> RunId {
        let mut hasher = self.0.clone();
        hasher.update(seed.to_be_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize()[..16]);
        RunId(id)
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({self})")
    }
}

/// Error: a text is not the name of a run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not 32 hexadecimal digits")]
pub struct NotARunId(String);

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<Self, NotARunId> {
        let wrong = || NotARunId(text.to_owned());
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        u128::from_str_radix(text, 16).map(|number| Self(number.to_be_bytes())).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use polypath_sim::document::Document;
    use serde_json::Value;

    use super::*;

    const TEXT: &str = r#"
        title = "a"
        [run]
        duration = "1 s"
        [[network.disjoint.paths]]
        name = "path"
        bottleneck = { rate = "1 Mbit/s", delay = "10 ms" }
        [[traffic]]
        name = "bulk"
        source = "saturated"
        message_size = "1452 B"
    "#;

    fn scenario(edits: &[&str]) -> Scenario {
        let mut document = Document::parse("a.toml", TEXT).expect("TOML");
        edits.iter().for_each(|edit| document.set(edit).expect("an edit"));
        Scenario::from_document(&document).expect("a scenario")
    }

    fn run(edits: &[&str], seed: u64) -> RunId {
        Identity::of(&scenario(edits)).expect("JSON").run(seed)
    }

    /// JSON with sorted keys, by building a tree.
    fn sorted(value: &Value, out: &mut String) {
        match value {
            Value::Object(fields) => {
                let fields: BTreeMap<&String, &Value> = fields.iter().collect();
                out.push('{');
                for (key, value) in fields {
                    out.push_str(&format!("{}:", Value::from(key.as_str())));
                    sorted(value, out);
                    out.push(',');
                }
                out.push('}');
            }
            Value::Array(elements) => {
                out.push('[');
                for element in elements {
                    sorted(element, out);
                    out.push(',');
                }
                out.push(']');
            }
            scalar => out.push_str(&scalar.to_string()),
        }
    }

    #[test]
    fn a_scenario_is_written_as_its_tree_would_be() {
        for edits in
            [&[][..], &["sctp.preset=recommended"], &["traffic.0.source={ file = \"1 MB\" }"]]
        {
            let scenario = scenario(edits);
            let mut tree = serde_json::to_value(&scenario).expect("JSON");
            let fields = tree.as_object_mut().expect("an object");
            fields.remove("title");
            fields["run"].as_object_mut().expect("an object").remove("seed");
            let mut expected = String::new();
            sorted(&tree, &mut expected);
            assert_eq!(canonical(&scenario).expect("JSON"), expected);
        }
    }

    #[test]
    fn what_means_the_same_is_the_same_run() {
        let same: [&[&str]; 4] = [
            &["title=b"],
            &["run.seed=7"],
            &["run.duration=1000 ms"],
            &["sctp.preset=cmt", "sctp.policies.nr_sack=off"],
        ];
        for edits in same {
            assert_eq!(run(&[], 1), run(edits, 1), "{edits:?}");
        }
    }

    #[test]
    fn what_differs_is_another_run() {
        let other: [&[&str]; 4] = [
            &["run.duration=2 s"],
            &["sctp.preset=recommended"],
            &["hosts.b.sctp.receive_buffer=100 kB"],
            &["record.series=100 ms"],
        ];
        for edits in other {
            assert_ne!(run(&[], 1), run(edits, 1), "{edits:?}");
        }
        assert_ne!(run(&[], 1), run(&[], 2));
    }

    #[test]
    fn its_name_reads_back() {
        let id = run(&[], 1);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("12".parse::<RunId>().is_err());
    }
}
