//! How policies with a choice are written down: one definition gives the type, the names in files and the reference.

/// One value of a policy, for reference pages and help texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyValue {
    /// The name in files and on the command line.
    pub name: &'static str,
    /// What it means, and the names that papers and other tools have for it.
    pub meaning: &'static str,
}

/// Defines a policy whose values have no parameters: an enum, its serde names and [`PolicyValue`]s from the doc
/// comments.
macro_rules! policy_enum {
    ($(#[$doc:meta])* $name:ident {
        $($(#[doc = $vdoc:literal])+ $variant:ident = $key:literal),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum $name {
            $($(#[doc = $vdoc])+ #[cfg_attr(feature = "serde", serde(rename = $key))] $variant),+
        }

        impl $name {
            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
            /// Every value, with its name in files and its meaning.
            pub const VALUES: &[$crate::config::PolicyValue] = &[
                $($crate::config::PolicyValue { name: $key, meaning: concat!($($vdoc, "\n"),+) }),+
            ];
        }
    };
}

/// Derives what every group of keys has.
macro_rules! policy_group {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
        pub struct $name { $($(#[$fdoc])* pub $field: $type),+ }
    };
}

pub(super) use {policy_enum, policy_group};

/// Reads a number that must not be 0, so that a complaint about another value names the numbers that do.
#[cfg(feature = "serde")]
pub(super) fn positive<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    use serde::Deserialize;

    core::num::NonZeroU8::deserialize(deserializer).map(core::num::NonZeroU8::get)
}

/// How a time that may be `"off"` stands in files.
#[cfg(feature = "serde")]
pub(super) mod or_off {
    use alloc::string::String;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Duration;

    const OFF: &str = "off";

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => time.serialize(serializer),
            None => OFF.serialize(serializer),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.as_str() {
            OFF => Ok(None),
            time => time.parse().map(Some).map_err(D::Error::custom),
        }
    }
}

/// What [`or_off`] reads, for schemas.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
pub(super) enum TimeOrOff {
    /// None.
    Off(Off),
    /// So long.
    Time(crate::Duration),
}

/// The word for none.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
pub(super) enum Off {
    /// None.
    #[schemars(rename = "off")]
    Off,
}
