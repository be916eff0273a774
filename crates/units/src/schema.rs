//! What quantities are in a JSON Schema: text with a unit, and a pattern for it.
//!
//! A pattern takes what the program reads, but for numbers beyond the range of the quantity and digits finer than its
//! smallest step: no pattern that people could read tells these apart where powers of ten are written.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::text::Quantity;
use crate::{BitRate, ByteCount, Duration, Fraction, Frequency, Instant};

/// A decimal number, with an exponent or without.
const NUMBER: &str = r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?";

/// A number and a unit.
fn pattern(quantity: &Quantity) -> String {
    let units: Vec<&str> = quantity.units.iter().map(|unit| unit.name).collect();
    format!(r"^\s*{NUMBER}\s*({})\s*$", units.join("|"))
}

/// Up to 100 per cent, or a number with an exponent; a file may not say `0.5`.
const FRACTION: &str = concat!(
    r"^\s*(0*(100(\.0+)?|[0-9]{1,2}(\.[0-9]+)?)\s*%",
    r"|[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+(\s*%)?)\s*$"
);

macro_rules! text_schema {
    ($type:ident, $quantity:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "description": format!("{}, with its unit.", $quantity.name),
                    "pattern": pattern(&$quantity),
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
            "pattern": FRACTION,
            "examples": ["1 %", "1e-6"],
        })
    }
}
