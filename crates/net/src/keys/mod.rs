//! Keys in files, which restrict associations to peers with a key (AUTH, RFC 4895).

mod file;
mod parse;

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use polypath_proto::config::{AssociationConfig, AuthenticatedChunks, SharedKeys};
use sha2::Sha256;
use zeroize::Zeroizing;

pub use file::KeyFileError;
pub use parse::KeyTextError;

/// Maximum number of keys in a file, equal to that of an association.
const MAX_KEYS: usize = 32;

/// The text whose code identifies a key.
const IDENTIFIED: &[u8] = b"polypath shared key identifier";

/// The keys of a file, each with a name: `polypath key new` makes one.
///
/// A file is text. Each line has a name (letters, digits and `.`, `-`, `_`, `@`, at most 64 of them), white space, and
/// the key as hexadecimal digits, 16 to 64 bytes; `#` begins a comment. Names are local; only the keys must be the same
/// on both sides.
///
/// The identifier in AUTH chunks is derived from the key, so it needs no agreement: HMAC-SHA-256 with the key of the
/// text `polypath shared key identifier`, of which the first two bytes as a number in network byte order, modulo 65535,
/// plus 1. (0 is the identifier of the empty key if there is no other.) A file cannot have two keys with one
/// identifier.
///
/// `Debug` output and errors contain no keys, and memory that held a key is wiped.
///
/// ```
/// use polypath::{AssociationConfig, KeyRing};
///
/// # fn main() -> Result<(), polypath::KeyTextError> {
/// let ring = KeyRing::parse("alice 000102030405060708090a0b0c0d0e0f # her laptop")?;
/// let mut config = AssociationConfig::default();
/// ring.authenticate_with_first(&mut config);
/// assert_eq!(ring.name(config.shared_keys.active()), Some("alice"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRing(Vec<Key>);

/// The bytes of a key, whose memory is wiped when it is dropped.
type Secret = Zeroizing<Box<[u8]>>;

/// A key of a ring.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    name: String,
    id: u16,
    secret: Secret,
}

impl Key {
    fn new(name: &str, secret: Secret) -> Self {
        Self { name: name.to_owned(), id: identifier(&secret), secret }
    }
}

impl KeyRing {
    /// Authenticates all chunks that can be, in both directions, with the first key of the file. For
    /// [`Endpoint::connect`](crate::Endpoint::connect).
    pub fn authenticate_with_first(&self, config: &mut AssociationConfig) {
        let first = self.0.iter().take(1);
        authenticate(config, &shared(first));
    }

    /// Accepts only peers that have one of the keys; each association uses the key of its peer. For
    /// [`EndpointConfig::association`](polypath_proto::config::EndpointConfig::association).
    /// [`Association::peer_key`](crate::Association::peer_key) and [`name`](Self::name) identify the key of a peer.
    pub fn authenticate_peers(&self, config: &mut AssociationConfig) {
        authenticate(config, &self.shared_keys());
    }

    /// The keys of peers, for [`Endpoint::set_shared_keys`](crate::Endpoint::set_shared_keys) when a file has changed.
    pub fn shared_keys(&self) -> SharedKeys {
        shared(self.0.iter())
    }

    /// The name of the key with this identifier.
    pub fn name(&self, id: u16) -> Option<&str> {
        self.0.iter().find(|key| key.id == id).map(|key| key.name.as_str())
    }

    /// The names, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|key| key.name.as_str())
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|key| (&key.name, key.id))).finish()
    }
}

fn authenticate(config: &mut AssociationConfig, keys: &SharedKeys) {
    config.policies.authenticated_chunks = AuthenticatedChunks::All;
    config.shared_keys = keys.clone();
}

/// The limits of a ring are within those of `SharedKeys`; if one were exceeded, no peer would be accepted.
fn shared<'k>(keys: impl Iterator<Item = &'k Key>) -> SharedKeys {
    let keys = keys.map(|key| (key.id, &**key.secret));
    SharedKeys::one_per_peer(keys).or_else(|_| SharedKeys::one_per_peer([])).unwrap_or_default()
}

/// The identifier of a key, which reveals nothing about the key.
fn identifier(secret: &[u8]) -> u16 {
    let Ok(mut code) = Hmac::<Sha256>::new_from_slice(secret) else { return 1 };
    code.update(IDENTIFIED);
    match code.finalize().into_bytes()[..] {
        [high, low, ..] => u16::from_be_bytes([high, low]) % u16::MAX + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str =
        "alice 000102030405060708090a0b0c0d0e0f\nbob 0f0e0d0c0b0a09080706050403020100\n";

    #[test]
    fn the_identifier_follows_from_the_key_and_not_from_its_name() {
        let ring = KeyRing::parse(TWO).unwrap();
        let other = KeyRing::parse("carol 000102030405060708090A0B0C0D0E0F").unwrap();
        let ids: Vec<u16> = ring.shared_keys().ids().collect();
        assert_eq!(ids.len(), 2);
        assert_eq!((ring.name(ids[0]), other.name(ids[0])), (Some("alice"), Some("carol")));
        assert_eq!(other.name(ids[1]), None);
        // The codes begin with 3a92 and 0bd6, as computed by other implementations of HMAC-SHA-256.
        assert_eq!(ids, [0x3a92 + 1, 0x0bd6 + 1]);
    }

    #[test]
    fn a_side_has_the_first_key_or_all() {
        let ring = KeyRing::parse(TWO).unwrap();
        let ids: Vec<u16> = ring.shared_keys().ids().collect();
        let (mut one, mut many) = (AssociationConfig::default(), AssociationConfig::default());
        ring.authenticate_with_first(&mut one);
        ring.authenticate_peers(&mut many);
        assert_eq!(one.shared_keys.ids().collect::<Vec<_>>(), ids[..1]);
        assert_eq!(many.shared_keys.ids().collect::<Vec<_>>(), ids);
        for config in [one, many] {
            assert_eq!(config.policies.authenticated_chunks, AuthenticatedChunks::All);
            assert_eq!(config.shared_keys.active(), ids[0]);
            config.check().unwrap();
        }
    }

    #[test]
    fn debug_shows_no_key() {
        let shown = format!("{:?}", KeyRing::parse(TWO).unwrap());
        assert!(shown.contains("alice") && !shown.contains("0001") && !shown.contains("[0, 1"));
    }
}
