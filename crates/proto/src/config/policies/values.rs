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
