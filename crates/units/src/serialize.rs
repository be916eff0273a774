//! Quantities in files: always the text with the unit.

use alloc::string::ToString;
use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::Quantity;
use crate::{BitRate, ByteCount, Duration, Fraction, Instant, ParseError};

/// Reads `T` from a string; the quantity tells what to expect.
struct TextVisitor<T>(&'static Quantity, PhantomData<T>);

impl<T: FromStr<Err = ParseError>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as text, for example \"{}\"", self.0.name, self.0.example)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// As [`TextVisitor`]; a plain number says all about a fraction, so that is read too.
struct FractionVisitor;

impl Visitor<'_> for FractionVisitor {
    type Value = Fraction;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fraction from 0 to 1, for example \"1 %\" or 0.01")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Fraction, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Fraction, E> {
        let exact = Fraction::from_f64(value).map_err(E::custom)?;
        // The shortest decimal is what was written; only a number finer than the type has none.
        Ok(value.to_string().parse().unwrap_or(exact))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Fraction, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Fraction, E> {
        self.visit_f64(value as f64)
    }
}

macro_rules! text_form {
    ($type:ty, $quantity:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(TextVisitor::<Self>(&$quantity, PhantomData))
            }
        }
    };
}

text_form!(BitRate, crate::rate::QUANTITY);
text_form!(ByteCount, crate::bytes::QUANTITY);
text_form!(Duration, crate::time::QUANTITY);
text_form!(Instant, crate::time::QUANTITY);

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FractionVisitor)
    }
}
