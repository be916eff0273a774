//! What quantities are in a JSON Schema: text with a unit.

use alloc::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{BitRate, ByteCount, Duration, Fraction, Frequency, Instant};

macro_rules! text_schema {
    ($type:ident, $quantity:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": alloc::format!("{}, with its unit.", $quantity.name),
                    "examples": [$quantity.example],
                })
            }
        }
    };
}

text_schema!(BitRate, crate::rate::QUANTITY);
text_schema!(ByteCount, crate::bytes::QUANTITY);
text_schema!(Frequency, crate::frequency::QUANTITY);
text_schema!(Duration, crate::time::QUANTITY);
text_schema!(Instant, crate::time::QUANTITY);

impl JsonSchema for Fraction {
    fn schema_name() -> Cow<'static, str> {
        "Fraction".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "a fraction: per cent, or a number with an exponent.",
            "pattern": "[%eE]",
            "examples": ["1 %", "1e-6"],
        })
    }
}
