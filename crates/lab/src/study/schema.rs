//! JSON Schema of study files.

use schemars::{Schema, SchemaGenerator};

use super::StudyFile;

/// JSON Schema of study files.
pub fn schema() -> Schema {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<StudyFile>();
    schema.insert("title".into(), "Study of Polypath".into());
    schema
}
