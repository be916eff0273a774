//! Quantities in files: always the text with the unit.

use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::Quantity;
use crate::{BitRate, ByteCount, Duration, Fraction, Frequency, Instant, ParseError};

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

/// As [`TextVisitor`], but stricter than [`FromStr`]: `1` could be one per cent or all of it, so a file has to say `%`, or
/// write a power of ten as one does for rates of bit errors.
struct FractionVisitor;

impl Visitor<'_> for FractionVisitor {
    type Value = Fraction;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fraction as text, for example \"1 %\" or \"1e-6\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Fraction, E> {
        let fraction = text.parse().map_err(E::custom)?;
        if text.contains(['%', 'e', 'E']) {
            return Ok(fraction);
        }
        Err(E::custom(format_args!(
            "the fraction `{text}` has no unit: write for example \"1 %\" or \"1e-6\""
        )))
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
text_form!(Frequency, crate::frequency::QUANTITY);
text_form!(Duration, crate::time::QUANTITY);
text_form!(Instant, crate::time::QUANTITY);

impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FractionVisitor)
    }
}
