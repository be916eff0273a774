//! Keys that both ends of an association share (RFC 4895 section 6.1).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use zeroize::Zeroizing;

use crate::KeyError;

/// Longest key in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 1024;

/// Maximum number of keys.
pub(crate) const MAX_KEYS: usize = 32;

/// The endpoint pair shared keys by identifier, and the active key, which authenticates sent chunks.
///
/// Without any key, key 0 is the empty one, which only proves that both sides took part in the handshake. As soon as a key
/// is set, only set keys are valid, so that nobody can fall back to the empty one. A live association that has the empty key keeps it
/// until both sides use another.
///
/// A side with many peers that have keys of their own uses [`one_per_peer`](Self::one_per_peer).
///
/// Its `Debug` shows no key, and memory that held a key is wiped.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct SharedKeys {
    keys: Vec<(u16, KeyBytes)>,
    /// Keys that must not authenticate sent chunks any more.
    deactivated: Vec<u16>,
    active: u16,
    choice: Choice,
    /// Key 0 is the empty one, and goes as soon as both sides use another.
    keeps_empty: bool,
}

/// A key, whose memory is wiped when it is dropped.
type KeyBytes = Zeroizing<Box<[u8]>>;

/// Which side selects the active key.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Choice {
    /// This side.
    #[default]
    Own,
    /// The peer, once, by the first packet that it authenticates.
    OfPeer,
}

impl SharedKeys {
    /// Only the empty key.
    pub fn new() -> Self {
        Self::default()
    }

    /// A single, active key.
    ///
    /// # Errors
    ///
    /// [`KeyError::TooLong`].
    pub fn with_key(id: u16, key: &[u8]) -> Result<Self, KeyError> {
        let mut keys = Self::new();
        keys.set(id, key)?;
        keys.activate(id)?;
        Ok(keys)
    }

    /// The keys of many peers, one each. An association of such a peer keeps only the key with which the peer authenticates its
    /// first packet: it becomes active, and the others are removed, so that nobody with another of these keys can interfere. Until
    /// then the first key is active.
    ///
    /// Without keys, no peer that must authenticate is accepted: there is no empty key.
    ///
    /// # Errors
    ///
    /// As [`set`](Self::set).
    pub fn one_per_peer<'k>(
        keys: impl IntoIterator<Item = (u16, &'k [u8])>,
    ) -> Result<Self, KeyError> {
        let mut all = Self { choice: Choice::OfPeer, ..Self::new() };
        for (id, key) in keys {
            all.set(id, key)?;
        }
        let first = all.ids().next();
        all.active = first.unwrap_or_default();
        Ok(all)
    }

    /// Sets a key, or replaces the one with this identifier. The active key does not change.
    ///
    /// # Errors
    ///
    /// [`KeyError::TooLong`] beyond 1024 bytes, [`KeyError::TooMany`] beyond 32 keys.
    pub fn set(&mut self, id: u16, key: &[u8]) -> Result<(), KeyError> {
        if key.len() > MAX_KEY_BYTES {
            return Err(KeyError::TooLong { bytes: key.len() });
        }
        self.deactivated.retain(|known| *known != id);
        self.keeps_empty &= id != 0;
        if let Some((_, known)) = self.keys.iter_mut().find(|(known, _)| *known == id) {
            *known = KeyBytes::new(key.into());
        } else if self.keys.len() >= MAX_KEYS {
            return Err(KeyError::TooMany);
        } else {
            self.keys.push((id, KeyBytes::new(key.into())));
        }
        Ok(())
    }

    /// Removes a key: chunks that arrive with it are discarded.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`], or [`KeyError::Active`] for the active key.
    pub fn delete(&mut self, id: u16) -> Result<(), KeyError> {
        let place = self.keys.iter().position(|(known, _)| *known == id);
        let place = place.ok_or(KeyError::Unknown { id })?;
        if id == self.active {
            return Err(KeyError::Active { id });
        }
        self.keys.remove(place);
        self.deactivated.retain(|known| *known != id);
        Ok(())
    }

    /// Deactivates a key for sent chunks, until it is set again. Chunks that arrive with it are still accepted.
    ///
    /// # Errors
    ///
    /// As [`delete`](Self::delete).
    pub fn deactivate(&mut self, id: u16) -> Result<(), KeyError> {
        self.get(id).ok_or(KeyError::Unknown { id })?;
        if id == self.active {
            return Err(KeyError::Active { id });
        }
        if !self.deactivated.contains(&id) {
            self.deactivated.push(id);
        }
        Ok(())
    }

    /// Selects the active key. The peer must have it by then.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`], or [`KeyError::Deactivated`].
    pub fn activate(&mut self, id: u16) -> Result<(), KeyError> {
        self.get(id).ok_or(KeyError::Unknown { id })?;
        if self.deactivated.contains(&id) {
            return Err(KeyError::Deactivated { id });
        }
        self.active = id;
        Ok(())
    }

    /// Identifier of the active key.
    pub fn active(&self) -> u16 {
        self.active
    }

    /// Identifiers of the keys that were set, in the order of setting.
    pub fn ids(&self) -> impl Iterator<Item = u16> {
        self.keys.iter().map(|(id, _)| *id)
    }

    /// The key with this identifier.
    pub(crate) fn get(&self, id: u16) -> Option<&[u8]> {
        match self.keys.iter().find(|(known, _)| *known == id) {
            Some((_, key)) => Some(key),
            None if self.choice == Choice::OfPeer => None,
            None if self.keys.is_empty() && id == 0 => Some(&[]),
            None => None,
        }
    }

    /// Notes that the peer has authenticated a packet with this key. Returns whether the other keys are removed.
    pub(crate) fn settle_on(&mut self, id: u16) -> bool {
        if self.choice == Choice::Own || self.get(id).is_none() {
            return false;
        }
        self.keys.retain(|(known, _)| *known == id);
        (self.active, self.choice) = (id, Choice::Own);
        true
    }

    /// The empty key is in use: it stays when another is set, until both sides have changed to that one, each at its own time.
    pub(crate) fn keep_empty(&mut self) {
        if self.keys.is_empty() && self.choice == Choice::Own && self.active == 0 {
            self.keeps_empty = true;
            self.keys.push((0, KeyBytes::default()));
        }
    }

    /// The peer uses another key than the empty one. Returns whether that goes.
    pub(crate) fn drop_empty(&mut self) -> bool {
        let goes = self.keeps_empty && self.active != 0;
        if goes {
            self.keeps_empty = false;
            self.keys.retain(|(id, _)| *id != 0);
        }
        goes
    }

    /// Whether the active key is valid: one that was set, or the empty one if there are no others.
    pub(crate) fn has_active(&self) -> bool {
        self.get(self.active).is_some()
    }
}

impl fmt::Debug for SharedKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedKeys")
            .field("ids", &self.ids().collect::<Vec<_>>())
            .field("active", &self.active)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::vec;

    use super::*;

    #[test]
    fn the_empty_key_goes_when_another_is_set() {
        let mut keys = SharedKeys::new();
        assert_eq!((keys.get(0), keys.get(1), keys.active()), (Some(&[][..]), None, 0));
        keys.set(1, b"one").unwrap();
        assert_eq!((keys.get(0), keys.get(1)), (None, Some(&b"one"[..])));
        assert!(!keys.has_active());
        keys.activate(1).unwrap();
        assert!(keys.has_active());
        keys.set(0, b"").unwrap();
        assert_eq!(keys.get(0), Some(&[][..]), "it can be set by name");
    }

    #[test]
    fn a_key_that_was_deactivated_sends_nothing_until_it_is_set_again() {
        let mut keys = SharedKeys::with_key(1, b"one").unwrap();
        keys.set(2, b"two").unwrap();
        assert_eq!(keys.deactivate(1), Err(KeyError::Active { id: 1 }));
        assert_eq!(keys.deactivate(3), Err(KeyError::Unknown { id: 3 }));
        keys.deactivate(2).unwrap();
        assert_eq!(keys.activate(2), Err(KeyError::Deactivated { id: 2 }));
        assert_eq!(keys.get(2), Some(&b"two"[..]), "it still verifies");
        keys.set(2, b"two").unwrap();
        keys.activate(2).unwrap();
        keys.deactivate(1).unwrap();
        keys.delete(1).unwrap();
        keys.set(1, b"one").unwrap();
        assert_eq!(keys.activate(1), Ok(()), "another key of the same number");
    }

    #[test]
    fn keys_change_without_a_gap() {
        let mut keys = SharedKeys::with_key(7, b"old").unwrap();
        keys.set(8, b"new").unwrap();
        assert_eq!(keys.active(), 7);
        keys.activate(8).unwrap();
        keys.delete(7).unwrap();
        assert_eq!((keys.get(7), keys.get(8)), (None, Some(&b"new"[..])));
        keys.set(8, b"newer").unwrap();
        assert_eq!(keys.get(8), Some(&b"newer"[..]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let mut keys = SharedKeys::with_key(1, b"one").unwrap();
        assert_eq!(keys.activate(2), Err(KeyError::Unknown { id: 2 }));
        assert_eq!(keys.delete(2), Err(KeyError::Unknown { id: 2 }));
        assert_eq!(keys.delete(1), Err(KeyError::Active { id: 1 }));
        let long = vec![0; MAX_KEY_BYTES + 1];
        assert_eq!(keys.set(3, &long), Err(KeyError::TooLong { bytes: 1025 }));
        assert_eq!(keys.set(3, &long[1..]), Ok(()));
        for id in 100..100 + MAX_KEYS as u16 - 2 {
            keys.set(id, b"more").unwrap();
        }
        assert_eq!(keys.set(9, b"too many"), Err(KeyError::TooMany));
        assert_eq!(keys.set(1, b"replaced"), Ok(()));
    }

    #[test]
    fn a_peer_chooses_its_key_once() {
        let both = [(7, &b"of one"[..]), (8, b"of another")];
        let mut keys = SharedKeys::one_per_peer(both).unwrap();
        assert_eq!((keys.active(), keys.get(8)), (7, Some(&b"of another"[..])));
        assert!(!keys.settle_on(9), "a key that is not known");
        assert!(keys.settle_on(8) && !keys.settle_on(7) && !keys.settle_on(8));
        assert_eq!((keys.active(), keys.get(7)), (8, None));
        assert!(!SharedKeys::with_key(1, b"own").unwrap().settle_on(1));

        let nobody = SharedKeys::one_per_peer([]).unwrap();
        assert_eq!(nobody.get(0), None, "there is no empty key");
        assert!(!nobody.has_active());
    }

    #[test]
    fn debug_shows_no_key() {
        let keys = SharedKeys::with_key(258, b"secret").unwrap();
        assert_eq!(format!("{keys:?}"), "SharedKeys { ids: [258], active: 258, .. }");
    }
}
