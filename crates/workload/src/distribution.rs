//! Random quantities.

use std::fmt::Display;

use polypath_units::{ByteCount, Duration, Fraction, Frequency};

use crate::random::{self, Stream};

/// A constant, or a distribution.
///
/// In files, text is a constant (`"1452 B"`) and a table with one key a distribution (`{ exponential = { mean = "1 kB"
/// } }`).
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution<T> {
    /// This value.
    Constant(T),
    /// Drawn each time.
    Drawn(Drawn<T>),
}

/// A distribution.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Drawn<T> {
    /// Uniform.
    Uniform(Uniform<T>),
    /// Exponential.
    Exponential(Exponential<T>),
    /// Pareto: heavy-tailed.
    Pareto(Pareto<T>),
    /// One of several values.
    Mix(Vec<Share<T>>),
}

macro_rules! parameters {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(
            feature = "serde",
            derive(serde::Serialize, serde::Deserialize),
            serde(deny_unknown_fields)
        )]
        pub struct $name<T> {
            $($(#[$field_doc])* pub $field: $type,)*
        }
    };
}

parameters! {
    /// A uniform distribution.
    Uniform {
        /// The smallest.
        from: T,
        /// The largest.
        to: T,
    }
}

parameters! {
    /// An exponential distribution: above x with probability exp(-x / mean).
    Exponential {
        /// Mean.
        mean: T,
    }
}

parameters! {
    /// A Pareto distribution: above x with probability (min / x)^shape.
    Pareto {
        /// The smallest value.
        min: T,
        /// Shape of the tail: the mean is infinite up to 1, the variance up to 2.
        shape: f64,
    }
}

parameters! {
    /// One of several values.
    Share {
        /// The value.
        value: T,
        /// Its probability.
        share: Fraction,
    }
}

/// What can be drawn.
pub trait Quantity: Copy + PartialOrd + Display {
    /// In the steps in which it is held.
    fn steps(self) -> f64;
    /// The value nearest to so many steps.
    fn of_steps(steps: f64) -> Self;
}

/// The nearest whole number, saturating.
fn nearest(steps: f64) -> u64 {
    (steps + 0.5) as u64
}

impl Quantity for ByteCount {
    fn steps(self) -> f64 {
        self.as_bytes() as f64
    }

    fn of_steps(steps: f64) -> Self {
        Self::from_bytes(nearest(steps))
    }
}

impl Quantity for Duration {
    fn steps(self) -> f64 {
        self.as_nanos() as f64
    }

    fn of_steps(steps: f64) -> Self {
        Self::from_nanos(nearest(steps))
    }
}

impl Quantity for Frequency {
    fn steps(self) -> f64 {
        self.as_microhertz() as f64
    }

    fn of_steps(steps: f64) -> Self {
        Self::from_microhertz(nearest(steps))
    }
}

impl<T> From<T> for Distribution<T> {
    fn from(value: T) -> Self {
        Self::Constant(value)
    }
}

impl<T: Quantity> Distribution<T> {
    /// Draws once. A constant takes nothing from `rng`.
    pub fn draw(&self, rng: &mut Stream) -> T {
        let drawn = match self {
            Self::Constant(value) => return *value,
            Self::Drawn(drawn) => drawn,
        };
        T::of_steps(match drawn {
            Drawn::Uniform(range) => random::uniform(range.from.steps(), range.to.steps(), rng),
            Drawn::Exponential(of) => random::exponential(of.mean.steps(), rng),
            Drawn::Pareto(of) => random::pareto(of.min.steps(), of.shape, rng),
            Drawn::Mix(shares) => {
                let mut rest = random::unit(rng);
                let chosen = shares.iter().find(|share| {
                    rest -= share.share.as_f64();
                    rest <= 0.0
                });
                return chosen.or(shares.last()).map_or(T::of_steps(0.0), |share| share.value);
            }
        })
    }

    /// The value, if it is always the same.
    pub fn constant(&self) -> Option<T> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Drawn(_) => None,
        }
    }

    /// Mean, in the steps in which the quantity is held; infinite where there is none.
    pub fn mean_steps(&self) -> f64 {
        match self {
            Self::Constant(value) => value.steps(),
            Self::Drawn(Drawn::Uniform(range)) => (range.from.steps() + range.to.steps()) / 2.0,
            Self::Drawn(Drawn::Exponential(of)) => of.mean.steps(),
            Self::Drawn(Drawn::Pareto(of)) if of.shape <= 1.0 => f64::INFINITY,
            Self::Drawn(Drawn::Pareto(of)) => of.min.steps() * of.shape / (of.shape - 1.0),
            Self::Drawn(Drawn::Mix(shares)) => {
                shares.iter().map(|share| share.value.steps() * share.share.as_f64()).sum()
            }
        }
    }

    /// The smallest value that can be drawn.
    pub fn smallest(&self) -> T {
        match self {
            Self::Constant(value) => *value,
            Self::Drawn(Drawn::Uniform(range)) => range.from,
            Self::Drawn(Drawn::Exponential(_)) => T::of_steps(0.0),
            Self::Drawn(Drawn::Pareto(of)) => of.min,
            Self::Drawn(Drawn::Mix(shares)) => {
                let values = shares.iter().map(|share| share.value);
                values.reduce(|a, b| if b < a { b } else { a }).unwrap_or(T::of_steps(0.0))
            }
        }
    }

    /// The largest value that can be drawn; nothing where there is no limit.
    pub fn largest(&self) -> Option<T> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Drawn(Drawn::Uniform(range)) => Some(range.to),
            Self::Drawn(Drawn::Exponential(_) | Drawn::Pareto(_)) => None,
            Self::Drawn(Drawn::Mix(shares)) => {
                shares.iter().map(|share| share.value).reduce(|a, b| if b > a { b } else { a })
            }
        }
    }

    /// What makes no sense: the key in question, with dots, and why.
    pub fn problem(&self) -> Option<(&'static str, String)> {
        let Self::Drawn(drawn) = self else { return None };
        match drawn {
            Drawn::Uniform(Uniform { from, to }) if from > to => {
                Some(("uniform.from", format!("{from} is more than the largest, {to}")))
            }
            Drawn::Uniform(_) => None,
            Drawn::Exponential(of) if of.mean.steps() == 0.0 => {
                Some(("exponential.mean", "must not be zero".into()))
            }
            Drawn::Exponential(_) => None,
            Drawn::Pareto(of) if of.min.steps() == 0.0 => {
                Some(("pareto.min", "must not be zero".into()))
            }
            Drawn::Pareto(of) if !(of.shape.is_finite() && of.shape > 0.0) => {
                Some(("pareto.shape", format!("must be above 0, not {}", of.shape)))
            }
            Drawn::Pareto(_) => None,
            Drawn::Mix(shares) => {
                let sum: u128 = shares.iter().map(|share| u128::from(share.share.as_atto())).sum();
                (sum != u128::from(Fraction::ONE.as_atto())).then(|| {
                    let percent = sum as f64 / Fraction::ONE.as_atto() as f64 * 100.0;
                    ("mix", format!("the shares are {percent} % together, not 100 %"))
                })
            }
        }
    }
}

#[cfg(feature = "serde")]
mod files {
    use std::fmt;
    use std::marker::PhantomData;

    use serde::de::value::MapAccessDeserializer;
    use serde::de::{Error, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Distribution, Drawn};

    impl<T: Serialize> Serialize for Distribution<T> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self {
                Self::Constant(value) => value.serialize(serializer),
                Self::Drawn(drawn) => drawn.serialize(serializer),
            }
        }
    }

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Distribution<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(TextOrTable(PhantomData))
        }
    }

    struct TextOrTable<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for TextOrTable<T> {
        type Value = Distribution<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "a quantity as text, or a distribution, for example { exponential = { mean = … } }",
            )
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            T::deserialize(text.into_deserializer()).map(Distribution::Constant)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let drawn = Drawn::deserialize(MapAccessDeserializer::new(&mut map))?;
            if map.next_key::<IgnoredAny>()?.is_some() {
                return Err(A::Error::custom("there is more than one distribution"));
            }
            Ok(Distribution::Drawn(drawn))
        }
    }
}

#[cfg(feature = "schema")]
mod schema {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Distribution, Drawn};

    impl<T: JsonSchema> JsonSchema for Distribution<T> {
        fn schema_name() -> Cow<'static, str> {
            format!("DistributionOf{}", T::schema_name()).into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let constant = generator.subschema_for::<T>();
            let drawn = generator.subschema_for::<Drawn<T>>();
            json_schema!({
                "description": "A quantity as text, or a distribution from which it is drawn each time.",
                "anyOf": [constant, drawn],
            })
        }
    }
}

#[cfg(test)]
mod tests;
