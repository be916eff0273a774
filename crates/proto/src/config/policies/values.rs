//! Definition of policies with named values: one macro gives the type, the names in files and the reference.

/// One value of a policy, for reference pages and help texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyValue {
    /// The name in files and on the command line.
    pub name: &'static str,
    /// Meaning, and names in papers and other tools.
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
        #[non_exhaustive]
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

/// Derives the traits of every group of keys.
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

/// Reads a number that must not be 0, so that an error about another value names the valid ones.
#[cfg(feature = "serde")]
pub(super) fn positive<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    use serde::Deserialize;

    core::num::NonZeroU8::deserialize(deserializer).map(core::num::NonZeroU8::get)
}

/// Format of a time that may be `"off"`.
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

/// Type of [`or_off`], for schemas.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)]
pub(super) enum TimeOrOff {
    /// None.
    Off(Off),
    /// A time.
    Time(crate::Duration),
}

/// The name for none.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code)]
pub(super) enum Off {
    /// None.
    #[schemars(rename = "off")]
    Off,
}
