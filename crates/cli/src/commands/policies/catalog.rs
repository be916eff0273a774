//! The policies with their values and what each preset sets.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use polypath::Preset;
use polypath::config::{POLICY_KEYS, PolicyKey, PolicyValue, PolicyValues};
use serde::Serialize;
use serde_json::Value;

/// All policies and presets.
#[derive(Debug, Serialize)]
pub(super) struct Catalog {
    pub(super) presets: Vec<PresetEntry>,
    pub(super) policies: Vec<PolicyEntry>,
}

/// A preset.
#[derive(Debug, Serialize)]
pub(super) struct PresetEntry {
    pub(super) name: &'static str,
    pub(super) meaning: String,
}

/// A key.
#[derive(Debug, Serialize)]
pub(super) struct PolicyEntry {
    pub(super) key: &'static str,
    /// Level of the users who change it.
    pub(super) level: &'static str,
    /// The side that acts on it.
    pub(super) side: &'static str,
    pub(super) meaning: &'static str,
    pub(super) source: &'static str,
    /// The names it can have; empty for a quantity.
    pub(super) values: Vec<ValueEntry>,
    /// Unit and bounds of a quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quantity: Option<&'static str>,
    /// Value in each preset, as written in a file.
    pub(super) defaults: BTreeMap<&'static str, String>,
}

/// A value.
#[derive(Debug, Serialize)]
pub(super) struct ValueEntry {
    pub(super) name: &'static str,
    pub(super) meaning: String,
    /// The value as written in a file.
    pub(super) example: String,
}

impl Catalog {
    /// The keys that `wanted` accepts.
    pub(super) fn new(wanted: impl Fn(&str) -> bool) -> Result<Self> {
        let presets = Preset::ALL
            .iter()
            .map(|preset| PresetEntry { name: preset.name(), meaning: one_line(preset.meaning()) })
            .collect();
        let settings = settings_of_presets()?;
        let policies = POLICY_KEYS.iter().filter(|key| wanted(key.key));
        let policies = policies.map(|key| entry(key, &settings)).collect::<Result<_>>()?;
        Ok(Self { presets, policies })
    }

    /// Only these presets; all of them if none is named.
    pub(super) fn of(mut self, presets: &[&str]) -> Self {
        if !presets.is_empty() {
            self.presets.retain(|preset| presets.contains(&preset.name));
            for policy in &mut self.policies {
                policy.defaults.retain(|name, _| presets.contains(name));
            }
        }
        self
    }
}

fn settings_of_presets() -> Result<Vec<(&'static str, Value)>> {
    Preset::ALL
        .iter()
        .map(|preset| Ok((preset.name(), serde_json::to_value(preset.policies())?)))
        .collect()
}

fn entry(key: &PolicyKey, settings: &[(&'static str, Value)]) -> Result<PolicyEntry> {
    let named = |value: &PolicyValue, example: String| ValueEntry {
        name: value.name,
        meaning: one_line(value.meaning),
        example,
    };
    let (values, quantity) = match key.values {
        PolicyValues::Choice(values) => {
            (values.iter().map(|value| named(value, format!("\"{}\"", value.name))).collect(), None)
        }
        PolicyValues::Parameterized(values) => {
            (values.iter().map(|v| named(&v.value, v.example.to_owned())).collect(), None)
        }
        PolicyValues::Quantity { what, .. } => (Vec::new(), Some(what)),
    };
    let mut defaults = BTreeMap::new();
    for (preset, policies) in settings {
        let pointer = format!("/{}", key.key.replace('.', "/"));
        let value = policies.pointer(&pointer).with_context(|| format!("no key {}", key.key))?;
        defaults.insert(*preset, as_toml(value));
    }
    let PolicyKey { key, level, side, meaning, source, .. } = *key;
    let (level, side) = (level.name(), side.name());
    Ok(PolicyEntry { key, level, side, meaning, source, values, quantity, defaults })
}

fn as_toml(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} = {}", as_toml(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Text of doc comments in one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
