//! Authentication of an association (RFC 4895): its keys.

use polypath_proto::KeyError;
use polypath_proto::config::ChunkTypes;

use super::Association;

impl Association {
    /// Sets a key that both sides share, or replaces the one with this identifier (`SCTP_AUTH_KEY`, RFC 4895). The active key does not
    /// change. The initial keys are those of [`shared_keys`](polypath_proto::config::AssociationConfig::shared_keys).
    ///
    /// # Errors
    ///
    /// The key is too long, there are too many, or authentication is off (policy `authenticated_chunks`).
    pub fn set_shared_key(&self, id: u16, key: &[u8]) -> Result<(), KeyError> {
        self.shared.lock().protocol.set_shared_key(id, key)
    }

    /// Removes a key (`SCTP_AUTH_DELETE_KEY`): packets that arrive with it are discarded.
    ///
    /// # Errors
    ///
    /// There is no such key, it is the active one, or authentication is off.
    pub fn delete_shared_key(&self, id: u16) -> Result<(), KeyError> {
        self.shared.lock().protocol.delete_shared_key(id)
    }

    /// Chooses the key that authenticates packets from now on (`SCTP_AUTH_ACTIVE_KEY`). The peer must have it.
    ///
    /// # Errors
    ///
    /// There is no such key, or authentication is off.
    pub fn activate_shared_key(&self, id: u16) -> Result<(), KeyError> {
        self.shared.lock().protocol.activate_shared_key(id)
    }

    /// Deactivates a key for sent packets (`SCTP_AUTH_DEACTIVATE_KEY`); packets that arrive with it are still accepted.
    ///
    /// # Errors
    ///
    /// There is no such key, it is the active one, or authentication is off.
    pub fn deactivate_shared_key(&self, id: u16) -> Result<(), KeyError> {
        let mut inner = self.shared.lock();
        inner.protocol.deactivate_shared_key(id)?;
        drop(inner);
        self.shared.command();
        Ok(())
    }

    /// Identifier of the shared key that authenticates packets to the peer; `None` without authentication.
    pub fn active_key(&self) -> Option<u16> {
        self.shared.lock().protocol.active_key()
    }

    /// Types of chunks that this side (`SCTP_LOCAL_AUTH_CHUNKS`) and the peer (`SCTP_PEER_AUTH_CHUNKS`) accept only if they are
    /// authenticated; `None` without authentication.
    pub fn demanded_chunks(&self) -> Option<[ChunkTypes; 2]> {
        self.shared.lock().protocol.demanded_chunks()
    }

    /// Whether both sides support authentication (RFC 4895).
    pub fn is_authenticated(&self) -> bool {
        self.shared.lock().protocol.is_authenticated()
    }

    /// Identifier of the shared key with which the peer authenticates its packets; `None` before it has authenticated one.
    pub fn peer_key(&self) -> Option<u16> {
        self.shared.lock().protocol.peer_key()
    }

    /// Like [`activate_shared_key`](Self::activate_shared_key), but temporarily (`SCTP_AUTHINFO`): the active key remains in use, and
    /// [`active_key`](Self::active_key) returns the other one until this is called with the active one.
    ///
    /// # Errors
    ///
    /// There is no such key, or authentication is off.
    pub fn send_with_key(&self, id: u16) -> Result<(), KeyError> {
        self.shared.lock().protocol.send_with_key(id)
    }

    /// Identifiers of the keys that both sides share.
    pub fn shared_key_ids(&self) -> Vec<u16> {
        self.shared.lock().protocol.shared_key_ids()
    }
}
