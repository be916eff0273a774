//! Which chunks must be authenticated (AUTH, RFC 4895).

use core::fmt;

use polypath_wire::chunk_type as t;

use super::{AddressReconfiguration, Policies};

/// Types of chunks that may be demanded, with their names.
///
/// INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH are excluded (RFC 4895 section 3.2).
const NAMES: [(u8, &str); 21] = [
    (t::DATA, "DATA"),
    (t::SACK, "SACK"),
    (t::HEARTBEAT, "HEARTBEAT"),
    (t::HEARTBEAT_ACK, "HEARTBEAT-ACK"),
    (t::ABORT, "ABORT"),
    (t::SHUTDOWN, "SHUTDOWN"),
    (t::SHUTDOWN_ACK, "SHUTDOWN-ACK"),
    (t::ERROR, "ERROR"),
    (t::COOKIE_ECHO, "COOKIE-ECHO"),
    (t::COOKIE_ACK, "COOKIE-ACK"),
    (t::NR_SACK, "NR-SACK"),
    (t::I_DATA, "I-DATA"),
    (t::ASCONF_ACK, "ASCONF-ACK"),
    (t::PACKET_DROP, "PKTDROP"),
    (t::RE_CONFIG, "RE-CONFIG"),
    (t::PAD, "PAD"),
    (t::FORWARD_TSN, "FORWARD-TSN"),
    (t::ASCONF, "ASCONF"),
    (t::I_FORWARD_TSN, "I-FORWARD-TSN"),
    (t::ECNE, "ECNE"),
    (t::CWR, "CWR"),
];

/// A set of chunk types. Written as a list of their names in the RFCs, with hyphens: `["DATA", "HEARTBEAT-ACK"]`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ChunkTypes([u64; 4]);

/// Which chunks the peer must authenticate (RFC 4895).
///
/// Demands of the peer are met with every value except `off`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum AuthenticatedChunks {
    /// Authentication is not offered.
    #[default]
    Off,
    /// Authentication is offered, and nothing is demanded of the peer.
    Offered,
    /// These types must be authenticated. A peer without authentication is refused.
    Demanded(ChunkTypes),
    /// All types that may be demanded. A peer without authentication is refused.
    All,
}

impl AuthenticatedChunks {
    /// The types that the peer must authenticate.
    pub fn demanded(self) -> ChunkTypes {
        match self {
            Self::Off | Self::Offered => ChunkTypes::EMPTY,
            Self::Demanded(types) => types,
            Self::All => NAMES.iter().map(|(chunk_type, _)| *chunk_type).collect(),
        }
    }
}

impl ChunkTypes {
    /// None.
    pub const EMPTY: Self = Self([0; 4]);

    /// ASCONF and ASCONF-ACK, which must be authenticated if authentication is used (RFC 5061 section 4.1).
    pub(crate) const ADDRESS_CHANGES: Self = Self::EMPTY.with(t::ASCONF).with(t::ASCONF_ACK);

    pub(crate) const fn with(mut self, chunk_type: u8) -> Self {
        self.0[(chunk_type >> 6) as usize] |= 1 << (chunk_type & 63);
        self
    }

    /// The types in either set.
    pub(crate) fn union(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
        self
    }

    /// Whether the type is in the set.
    #[inline]
    pub fn contains(self, chunk_type: u8) -> bool {
        self.0[usize::from(chunk_type >> 6)] & 1 << (chunk_type & 63) != 0
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self == Self::EMPTY
    }

    /// Whether the sets have a type in common.
    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0.iter().zip(other.0).any(|(a, b)| a & b != 0)
    }

    /// The types in both sets.
    pub(crate) fn intersection(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= b);
        self
    }

    /// The types, lowest first.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(move |chunk_type| self.contains(*chunk_type))
    }

    /// The type of this name, if it may be demanded.
    #[cfg(any(feature = "serde", test))]
    fn named(name: &str) -> Option<u8> {
        NAMES.iter().find(|(_, known)| *known == name).map(|(chunk_type, _)| *chunk_type)
    }
}

/// Offer and demands of a side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AuthDemand {
    /// Whether it is offered.
    pub(crate) offers: bool,
    /// Whether a peer without it is refused.
    pub(crate) insists: bool,
    /// Types of chunks that are accepted only if authenticated, from a peer with authentication.
    pub(crate) listed: ChunkTypes,
}

impl From<AuthenticatedChunks> for AuthDemand {
    fn from(policy: AuthenticatedChunks) -> Self {
        let listed = policy.demanded();
        Self { offers: policy != AuthenticatedChunks::Off, insists: !listed.is_empty(), listed }
    }
}

impl AuthDemand {
    /// Address reconfiguration needs authentication of its own chunks (RFC 5061 section 4.2.7).
    pub(crate) fn of(policies: &Policies) -> Self {
        let own = Self::from(policies.authenticated_chunks);
        match policies.address_reconfiguration {
            AddressReconfiguration::Off => own,
            AddressReconfiguration::Unauthenticated if !own.offers => own,
            AddressReconfiguration::Authenticated | AddressReconfiguration::Unauthenticated => {
                let listed = own.listed.union(ChunkTypes::ADDRESS_CHANGES);
                Self { offers: true, listed, ..own }
            }
        }
    }
}

/// The set of these types. INIT, INIT ACK, SHUTDOWN COMPLETE and AUTH are excluded: they cannot be authenticated
/// (RFC 4895 section 3.2).
impl FromIterator<u8> for ChunkTypes {
    fn from_iter<I: IntoIterator<Item = u8>>(chunk_types: I) -> Self {
        let mut set = Self::EMPTY;
        for chunk_type in chunk_types {
            let never =
                matches!(chunk_type, t::INIT | t::INIT_ACK | t::SHUTDOWN_COMPLETE | t::AUTH);
            if !never {
                set.0[usize::from(chunk_type >> 6)] |= 1 << (chunk_type & 63);
            }
        }
        set
    }
}

impl fmt::Debug for ChunkTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(feature = "serde")]
mod files {
    use alloc::string::String;
    use alloc::vec::Vec;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{ChunkTypes, NAMES};

    impl Serialize for ChunkTypes {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let named = NAMES.iter().filter(|(chunk_type, _)| self.contains(*chunk_type));
            serializer.collect_seq(named.map(|(_, name)| name))
        }
    }

    impl<'de> Deserialize<'de> for ChunkTypes {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let names = Vec::<String>::deserialize(deserializer)?;
            let read = |name: &String| {
                Self::named(name).ok_or_else(|| {
                    let known: Vec<&str> = NAMES.iter().map(|(_, name)| *name).collect();
                    D::Error::custom(alloc::format!(
                        "no chunk type {name:?} that can be authenticated; there are {}",
                        known.join(", ")
                    ))
                })
            };
            names.iter().map(read).collect()
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for ChunkTypes {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "ChunkTypes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names = NAMES.map(|(_, name)| name);
        schemars::json_schema!({
            "type": "array",
            "items": { "type": "string", "enum": names },
            "uniqueItems": true,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    #[test]
    fn a_set_has_what_was_put_in_but_what_cannot_be_authenticated() {
        let all: ChunkTypes = (0..=u8::MAX).collect();
        let missing: Vec<u8> = (0..=u8::MAX).filter(|t| !all.contains(*t)).collect();
        assert_eq!(missing, [t::INIT, t::INIT_ACK, t::SHUTDOWN_COMPLETE, t::AUTH]);
        let some = ChunkTypes::from_iter([t::ASCONF, t::DATA, 64]);
        assert_eq!(some.iter().collect::<Vec<_>>(), [0, 64, t::ASCONF]);
        assert!(some.intersects(all) && !some.intersects(ChunkTypes::from_iter([1, 2, 3])));
        assert_eq!(all.intersection(some), some);
        assert!(ChunkTypes::EMPTY.is_empty() && !some.is_empty());
    }

    #[test]
    fn names_are_those_of_types_that_may_be_demanded() {
        for (chunk_type, name) in NAMES {
            assert_eq!(ChunkTypes::named(name), Some(chunk_type));
            assert!(AuthenticatedChunks::All.demanded().contains(chunk_type), "{name}");
        }
        assert_eq!(ChunkTypes::named("INIT"), None);
        assert!(AuthenticatedChunks::Offered.demanded().is_empty());
    }
}
