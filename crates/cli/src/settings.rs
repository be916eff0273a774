//! Settings of an association from `--preset` and `--set KEY=VALUE`.

use anyhow::{Result, anyhow, bail};
use polypath::{AssociationConfig, Preset};
use polypath_sim::document::{Defaults, Document, Layer};
use serde_json::Value;

use crate::suggestion::{self, nearest};

/// The configuration of a transfer with these changes.
pub(crate) fn association_config(preset: Preset, changes: &[String]) -> Result<AssociationConfig> {
    let config = changed(&polypath_transfer::association_config(preset), changes)?;
    polypath_transfer::check_config(&config).map_err(|error| anyhow!("--set {error}"))?;
    Ok(config)
}

/// A configuration with these changes.
pub(crate) fn changed(config: &AssociationConfig, changes: &[String]) -> Result<AssociationConfig> {
    let mut document = serde_json::to_value(config)?;
    for change in changes {
        document = apply(document, change)?;
    }
    let config: AssociationConfig = serde_json::from_value(document)?;
    config.check().map_err(|error| anyhow!("--set {error}"))?;
    Ok(config)
}

/// Applies one change and checks that the result is valid, so that an error names the change. Values have the syntax of
/// scenarios.
fn apply(mut document: Value, change: &str) -> Result<Value> {
    let Some((key, text)) = change.split_once('=') else {
        bail!("--set {change}: write it as KEY=VALUE");
    };
    let (key, text) = (key.trim(), text.trim());
    let place = find(&mut document, key).map_err(|error| error.context(format!("--set {key}")))?;
    // `none` unsets an optional key; for other keys it is a value.
    let before = std::mem::take(place);
    if text == "none" && serde_json::from_value::<AssociationConfig>(document.clone()).is_ok() {
        return Ok(document);
    }
    *find(&mut document, key)? = before;
    let config: AssociationConfig = serde_json::from_value(document.clone())?;
    let mut edit = Document::empty("--set");
    edit.set(change)?;
    let layers = [Layer::At(&[]), Layer::Defaults(&Defaults::of(&config)?)];
    edit.decode::<AssociationConfig>(&layers)?;
    let mut value = serde_json::to_value(edit.to_value())?;
    *find(&mut document, key)? = find(&mut value, key)?.take();
    Ok(document)
}

fn find<'a>(document: &'a mut Value, key: &str) -> Result<&'a mut Value> {
    let known = keys(document);
    let path: Vec<_> = key.split('.').collect();
    let found = path.iter().try_fold(document, |place, step| place.as_object_mut()?.get_mut(*step));
    found.ok_or_else(|| unknown(key, &known))
}

/// How many keys an error names.
const NEAREST: usize = 5;
/// Where all of them are.
const LISTS: &str =
    "`polypath policies` lists the policies, and docs/networks.md (Settings) the other keys";

fn unknown(key: &str, known: &[String]) -> anyhow::Error {
    // Steps at the beginning may be missing.
    let words = known.iter().flat_map(|key| {
        let tails = key.match_indices('.').map(|(dot, _)| &key[dot + 1..]);
        tails.chain([key.as_str()]).map(move |word| (word, key.as_str()))
    });
    match nearest(key, words) {
        Some(nearest) => anyhow!("no such key; did you mean '{nearest}'?"),
        None => {
            let near = suggestion::somewhat_like(key, known.iter().map(String::as_str));
            match near.get(..near.len().min(NEAREST)).unwrap_or_default() {
                [] => anyhow!("no such key; {LISTS}"),
                near => anyhow!("no such key; the nearest are {}; {LISTS}", near.join(", ")),
            }
        }
    }
}

/// Every key of an association.
pub(crate) fn known_keys() -> Vec<String> {
    let config = serde_json::to_value(AssociationConfig::default()).unwrap_or_default();
    keys(&config)
}

/// Every key with a value, as a path with dots.
fn keys(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), document)];
    while let Some((prefix, value)) = open.pop() {
        for (name, value) in value.as_object().into_iter().flatten() {
            let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            match value.as_object().filter(|object| object.keys().all(|name| !name.contains('-'))) {
                Some(_) => open.push((key, value)),
                None => found.push(key),
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use polypath::config::{BufferSplit, Burst, PathOrder, RescheduleSide};
    use polypath::{Duration, PathPairing};

    use super::*;

    fn set(changes: &[&str]) -> Result<AssociationConfig> {
        association_config(
            Preset::Cmt,
            &changes.iter().map(|&change| change.to_owned()).collect::<Vec<_>>(),
        )
    }

    fn error(change: &str) -> String {
        format!("{:#}", set(&[change]).unwrap_err())
    }

    #[test]
    fn without_changes_it_is_the_preset() {
        for &preset in Preset::ALL {
            let config = association_config(preset, &[]).unwrap();
            assert_eq!(config.policies, preset.policies());
            assert_eq!(config.receive_buffer_bytes, 32 << 20);
        }
    }

    #[test]
    fn values_of_every_kind_can_be_set() {
        let config = set(&[
            "send_buffer_bytes = 1000000",
            "path_pairing=full-mesh",
            "heartbeat_interval=none",
            "policies.rto.min=200 ms",
            "policies.rto.alpha=0.25",
            "policies.burst={ max-burst = 8 }",
            "policies.path_order=\"rotating\"",
        ])
        .unwrap();
        assert_eq!(config.send_buffer_bytes, 1_000_000);
        assert_eq!(config.path_pairing, PathPairing::FullMesh);
        assert_eq!(config.heartbeat_interval, None);
        assert_eq!(config.policies.rto.min, Duration::from_millis(200));
        assert_eq!(config.policies.rto.alpha.to_string(), "0.25");
        assert_eq!(config.policies.burst, Burst::MaxBurst(8));
        assert_eq!(config.policies.path_order, PathOrder::Rotating);
        assert_eq!(set(&["policies.burst=off"]).unwrap().policies.burst, Burst::Off);
        let split = association_config(
            Preset::Recommended,
            &[
                "policies.buffer_split=none".to_owned(),
                "policies.reschedule.side = none".to_owned(),
            ],
        );
        let policies = split.unwrap().policies;
        assert_eq!(policies.buffer_split, BufferSplit::None);
        assert_eq!(policies.reschedule.side, RescheduleSide::None);
        assert!(set(&["heartbeat_interval=5 s"]).unwrap().heartbeat_interval.is_some());
    }

    #[test]
    fn mistakes_are_named() {
        assert!(error("mtu").contains("KEY=VALUE"));
        assert!(error("mtu_byte=1400").contains("did you mean 'mtu_bytes'?"));
        assert!(
            error("rto.mn=1 s").contains("did you mean 'policies.rto.min'?"),
            "{}",
            error("rto.mn=1 s")
        );
        let none = error("zzz=1");
        assert!(none.contains("no such key; `polypath policies`"), "{none}");
        let far = error("bufers=1");
        assert!(
            far.contains("the nearest are ") && far.contains("policies.buffer_split,"),
            "{far}"
        );
        assert!(far.len() < 300 && far.contains("`polypath policies`"), "{far}");
        let wrong = error("policies.path_order=sideways");
        assert!(
            wrong.starts_with("--set policies.path_order: ") && wrong.contains("rotating"),
            "{wrong}"
        );
        assert!(
            error("max_paths=0").contains("max_paths: 0 is not from 1"),
            "{}",
            error("max_paths=0")
        );
        assert!(error("send_buffer_bytes=1").contains("at least 4096"));
        assert!(error("receive_buffer_bytes=4095").contains("at least 4096"));
        assert!(error("mtu_bytes=many").contains("a whole number from 0 to 65535"));
        for value in ["0", "900"] {
            let wrong = error(&format!("policies.fast_retransmit.threshold={value}"));
            assert!(wrong.contains("a whole number from 1 to 255"), "{wrong}");
        }
        let near = error("policies.path_order=rotatin");
        assert!(near.contains("did you mean `rotating`?"), "{near}");
        let wrong = error("policies.burst=0");
        assert!(wrong.contains("found the number 0") && !wrong.contains("integer"), "{wrong}");
        assert!(error("policies.path_order=none").contains("rotating"));
        assert!(error("policies.rto.min=5").contains("text"), "{}", error("policies.rto.min=5"));
    }
}
