//! JSON Schema of scenario files.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use super::ScenarioFile;

/// JSON Schema of scenario files.
pub fn schema() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<ScenarioFile>();
    schema.insert("title".into(), "Scenario of Polypath".into());
    make_optional(&mut schema, "SctpSettings");
    schema
}

/// Makes the keys of a structure and of its members optional, since presets have defaults for them.
fn make_optional(schema: &mut Schema, name: &str) {
    let Some(Value::Object(definitions)) = schema.get_mut("$defs") else { return };
    let mut pending = vec![name.to_owned()];
    while let Some(name) = pending.pop() {
        let Some(Value::Object(definition)) = definitions.get_mut(&name) else { continue };
        if definition.remove("required").is_none() {
            continue;
        }
        let Some(Value::Object(properties)) = definition.get("properties") else { continue };
        pending.extend(properties.values().filter_map(referred).map(str::to_owned));
    }
}

/// The definition that a property refers to.
fn referred(property: &Value) -> Option<&str> {
    let property: &Map<String, Value> = property.as_object()?;
    property.get("$ref")?.as_str()?.strip_prefix("#/$defs/")
}
