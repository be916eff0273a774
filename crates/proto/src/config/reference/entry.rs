//! What an entry of the reference says.

use crate::config::PolicyValue;

/// A key of [`Policies`](crate::config::Policies).
#[derive(Clone, Copy, Debug)]
pub struct PolicyKey {
    /// Its name, with dots between the steps (`delayed_ack.packets`).
    pub key: &'static str,
    /// What it decides.
    pub meaning: &'static str,
    /// Where it is defined: RFC, draft or paper with section.
    pub source: &'static str,
    /// What it can be.
    pub values: PolicyValues,
}

/// What a key can be.
#[derive(Clone, Copy, Debug)]
pub enum PolicyValues {
    /// One of these names.
    Choice(&'static [PolicyValue]),
    /// One of these names, or, where an example has `{ name = parameter }`, a name with a parameter.
    Parameterized(&'static [PolicyExample]),
    /// A number or quantity.
    Quantity {
        /// What is counted or measured, with its bounds.
        what: &'static str,
        /// An example as it stands in a file.
        example: &'static str,
    },
}

/// A value with a parameter.
#[derive(Clone, Copy, Debug)]
pub struct PolicyExample {
    /// Name and meaning.
    pub value: PolicyValue,
    /// How it stands in a file (`{ max-burst = 4 }`, `"off"`).
    pub example: &'static str,
}

/// A key with named values.
pub(super) const fn choice(
    key: &'static str,
    meaning: &'static str,
    source: &'static str,
    values: &'static [PolicyValue],
) -> PolicyKey {
    PolicyKey { key, meaning, source, values: PolicyValues::Choice(values) }
}

/// A key of which values may have a parameter.
pub(super) const fn parameterized(
    key: &'static str,
    meaning: &'static str,
    source: &'static str,
    values: &'static [PolicyExample],
) -> PolicyKey {
    PolicyKey { key, meaning, source, values: PolicyValues::Parameterized(values) }
}

/// A key with a number or quantity.
pub(super) const fn quantity(
    key: &'static str,
    meaning: &'static str,
    source: &'static str,
    what: &'static str,
    example: &'static str,
) -> PolicyKey {
    PolicyKey { key, meaning, source, values: PolicyValues::Quantity { what, example } }
}

/// A value with an example.
pub(super) const fn example(
    name: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> PolicyExample {
    PolicyExample { value: PolicyValue { name, meaning }, example }
}
