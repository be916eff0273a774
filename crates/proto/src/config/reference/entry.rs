//! Entries of the reference.

use crate::config::PolicyValue;

/// A key of [`Policies`](crate::config::Policies).
#[derive(Clone, Copy, Debug)]
pub struct PolicyKey {
    /// Its name, with dots between the steps (`delayed_ack.packets`).
    pub key: &'static str,
    /// Level of the users who change it.
    pub level: PolicyLevel,
    /// The side that acts on it.
    pub side: PolicySide,
    /// Meaning.
    pub meaning: &'static str,
    /// Where it is defined: RFC, draft or paper with section.
    pub source: &'static str,
    /// Possible values.
    pub values: PolicyValues,
}

/// Level of the users who change a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyLevel {
    /// Users and programs, for their traffic.
    User,
    /// Operators, for their hosts and networks.
    Operator,
    /// Researchers, to compare mechanisms. Other users keep the value of the preset.
    Research,
}

impl PolicyLevel {
    /// All levels, from the widest audience to the narrowest.
    pub const ALL: [Self; 3] = [Self::User, Self::Operator, Self::Research];

    /// Its name in reference pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Operator => "operator",
            Self::Research => "research",
        }
    }
}

/// The side of an association that acts on a key. With data in both directions, each side is sender and receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicySide {
    /// The side that sends user data.
    Sender,
    /// The side that receives it.
    Receiver,
    /// Either side.
    Both,
}

impl PolicySide {
    /// Its name in reference pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Both => "both",
        }
    }
}

/// Level and side of a key.
pub(super) type Role = (PolicyLevel, PolicySide);

/// A key for users.
pub(super) const fn user(side: PolicySide) -> Role {
    (PolicyLevel::User, side)
}

/// A key for operators.
pub(super) const fn operator(side: PolicySide) -> Role {
    (PolicyLevel::Operator, side)
}

/// A key for researchers.
pub(super) const fn research(side: PolicySide) -> Role {
    (PolicyLevel::Research, side)
}

/// Possible values of a key.
#[derive(Clone, Copy, Debug)]
pub enum PolicyValues {
    /// One of these names.
    Choice(&'static [PolicyValue]),
    /// One of these names, with a parameter if the example has the form `{ name = parameter }`.
    Parameterized(&'static [PolicyExample]),
    /// A number or quantity.
    Quantity {
        /// Unit and bounds.
        what: &'static str,
        /// An example, as written in a file.
        example: &'static str,
    },
}

/// A value with a parameter.
#[derive(Clone, Copy, Debug)]
pub struct PolicyExample {
    /// Name and meaning.
    pub value: PolicyValue,
    /// The value as written in a file (`{ max-burst = 4 }`, `"off"`).
    pub example: &'static str,
}

/// A key with named values.
pub(super) const fn choice(
    key: &'static str,
    (level, side): Role,
    meaning: &'static str,
    source: &'static str,
    values: &'static [PolicyValue],
) -> PolicyKey {
    PolicyKey { key, level, side, meaning, source, values: PolicyValues::Choice(values) }
}

/// A key whose values may have a parameter.
pub(super) const fn parameterized(
    key: &'static str,
    (level, side): Role,
    meaning: &'static str,
    source: &'static str,
    values: &'static [PolicyExample],
) -> PolicyKey {
    PolicyKey { key, level, side, meaning, source, values: PolicyValues::Parameterized(values) }
}

/// A key with a number or quantity.
pub(super) const fn quantity(
    key: &'static str,
    (level, side): Role,
    meaning: &'static str,
    source: &'static str,
    what: &'static str,
    example: &'static str,
) -> PolicyKey {
    PolicyKey {
        key,
        level,
        side,
        meaning,
        source,
        values: PolicyValues::Quantity { what, example },
    }
}

/// A value with an example.
pub(super) const fn example(
    name: &'static str,
    meaning: &'static str,
    example: &'static str,
) -> PolicyExample {
    PolicyExample { value: PolicyValue { name, meaning }, example }
}
