//! Authenticated chunks (RFC 4895): what an association keeps for them, and where packets meet them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use polypath_wire::{Auth, Cause, Causes, Chunk, Packet};
use rand_core::Rng;
use smallvec::SmallVec;

use super::Association;
use super::input::MAX_WAITING_ANSWERS;
use super::output::{Built, Tag, To};
use crate::config::{AssociationConfig, AuthDemand, ChunkTypes, SharedKeys};
use crate::extension::auth::{
    AuthOffer, AuthPair, AuthProof, AuthVerdict, Covered, Session, Trust, vouch_by_cookie,
};
use crate::{AuthenticationChange, Event, KeyError, PathId};

/// What an association with authentication has.
#[derive(Debug)]
pub(super) struct Authentication {
    /// What this side announces.
    own: AuthOffer,
    keys: SharedKeys,
    /// Keys with which packets of the peer were authenticated, so that each is reported once.
    of_peer: SmallVec<[u16; 2]>,
    /// The agreement of both sides, once the peer's announcement is known.
    session: Option<Session>,
}

/// What to do with a chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    /// It counts.
    Granted,
    /// It was an AUTH chunk, and right.
    Proof,
    /// It is discarded without a word, since it had to be authenticated.
    Denied,
    /// It is discarded with all that follows.
    Broken,
}

impl Authentication {
    /// What a client begins with; `None` where authentication is off.
    pub(super) fn begin(config: &AssociationConfig, rng: &mut dyn Rng) -> Option<Box<Self>> {
        let own = AuthOffer::draw(AuthDemand::of(&config.policies), rng)?;
        let (keys, of_peer) = (config.shared_keys.clone(), SmallVec::new());
        Some(Box::new(Self { own, keys, of_peer, session: None }))
    }

    /// What this side announces in its INIT.
    pub(super) fn own(&self) -> &AuthOffer {
        &self.own
    }
}

impl Association {
    /// Sets a key that both sides share, or replaces the one with this identifier (RFC 4895 section 6.1; RFC 6458 section
    /// 8.3.4). Packets are authenticated with the active key all the while. The empty key, which is key 0 if no other was set before
    /// the handshake, stays until both sides use another.
    ///
    /// # Errors
    ///
    /// [`KeyError::TooLong`], [`KeyError::TooMany`], or [`KeyError::Off`].
    pub fn set_shared_key(&mut self, id: u16, key: &[u8]) -> Result<(), KeyError> {
        self.change_keys(|keys| keys.set(id, key))?;
        self.forget_use(id);
        Ok(())
    }

    /// Forgets a key: packets that arrive with it are discarded.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`], [`KeyError::Active`], or [`KeyError::Off`].
    pub fn delete_shared_key(&mut self, id: u16) -> Result<(), KeyError> {
        self.change_keys(|keys| keys.delete(id))?;
        self.forget_use(id);
        Ok(())
    }

    /// Chooses the key that authenticates packets from now on. The peer must have it.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`] or [`KeyError::Off`].
    pub fn activate_shared_key(&mut self, id: u16) -> Result<(), KeyError> {
        let before = self.auth.as_ref().map(|auth| auth.keys.active());
        self.change_keys(|keys| keys.activate(id))?;
        if let Some(before) = before.filter(|before| *before != id) {
            self.events.push(Event::Authentication(AuthenticationChange::KeyUnused(before)));
        }
        Ok(())
    }

    /// Like [`activate_shared_key`](Self::activate_shared_key), but temporarily: the previous key counts as used
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`] or [`KeyError::Off`].
    pub fn send_with_key(&mut self, id: u16) -> Result<(), KeyError> {
        self.change_keys(|keys| keys.activate(id))
    }

    /// Identifiers of the keys.
    pub fn shared_key_ids(&self) -> Vec<u16> {
        self.auth.as_ref().map_or_else(Vec::new, |auth| auth.keys.ids().collect())
    }

    /// Stops the use of a key for sending. [`AuthenticationChange::KeyUnused`] follows.
    ///
    /// # Errors
    ///
    /// [`KeyError::Unknown`], [`KeyError::Active`], or [`KeyError::Off`].
    pub fn deactivate_shared_key(&mut self, id: u16) -> Result<(), KeyError> {
        self.change_keys(|keys| keys.deactivate(id))?;
        self.events.push(Event::Authentication(AuthenticationChange::KeyUnused(id)));
        self.stir();
        Ok(())
    }

    /// Identifier of the shared key that authenticates sent packets; `None` without authentication.
    pub fn active_key(&self) -> Option<u16> {
        self.auth.as_ref().filter(|auth| auth.session.is_some()).map(|auth| auth.keys.active())
    }

    /// Types of chunks that this side and the peer accept only if they are authenticated; `None` without authentication.
    pub fn demanded_chunks(&self) -> Option<[ChunkTypes; 2]> {
        self.session().map(Session::demanded_by_both)
    }

    /// Whether both sides have authentication.
    pub fn is_authenticated(&self) -> bool {
        self.session().is_some()
    }

    /// Identifier of the shared key with which the peer authenticates its packets: of those that it has used, the last one that was
    /// new. `None` before it has used one.
    pub fn peer_key(&self) -> Option<u16> {
        self.auth.as_ref()?.of_peer.last().copied()
    }

    /// Whether the peer has authenticated a packet with a shared key, and not with the empty one, which everybody has.
    pub fn peer_has_key(&self) -> bool {
        let key = |id| self.auth.as_ref().and_then(|auth| auth.keys.get(id));
        self.peer_key().and_then(key).is_some_and(|key| !key.is_empty())
    }

    /// Whether the peer authenticates its packets with a key that is not among `keys`, with the same identifier. `false` without
    /// authentication.
    pub fn has_key_beside(&self, keys: &SharedKeys) -> bool {
        let Some(auth) = self.auth.as_ref().filter(|auth| auth.session.is_some()) else {
            return false;
        };
        let id = self.peer_key().unwrap_or_else(|| auth.keys.active());
        auth.keys.get(id) != keys.get(id)
    }

    fn change_keys(
        &mut self,
        change: impl FnOnce(&mut SharedKeys) -> Result<(), KeyError>,
    ) -> Result<(), KeyError> {
        let is_forming = self.state.is_handshake();
        let auth = self.auth.as_mut().filter(|auth| is_forming || auth.session.is_some());
        let auth = auth.ok_or(KeyError::Off)?;
        if auth.session.is_some() {
            auth.keys.keep_empty();
        }
        change(&mut auth.keys)?;
        if let Some(session) = &mut auth.session {
            session.forget_keys();
        }
        self.drop_empty_key();
        Ok(())
    }

    /// The key is another one from now on, or none.
    fn forget_use(&mut self, id: u16) {
        if let Some(auth) = &mut self.auth {
            auth.of_peer.retain(|used| *used != id);
        }
    }

    /// The peer has authenticated a packet with this key.
    fn note_use(&mut self, id: u16) {
        let Some(auth) = &mut self.auth else { return };
        if auth.keys.settle_on(id)
            && let Some(session) = &mut auth.session
        {
            session.forget_keys();
        }
        if !auth.of_peer.contains(&id) {
            auth.of_peer.push(id);
            self.events.push(Event::Authentication(AuthenticationChange::PeerUsesKey(id)));
            self.drop_empty_key();
        }
    }

    /// The empty key that was kept goes as soon as both sides have used another.
    fn drop_empty_key(&mut self) {
        let Some(auth) = &mut self.auth else { return };
        if auth.of_peer.iter().any(|id| *id != 0)
            && auth.keys.drop_empty()
            && let Some(session) = &mut auth.session
        {
            session.forget_keys();
        }
    }

    fn session(&self) -> Option<&Session> {
        self.auth.as_ref()?.session.as_ref()
    }

    /// Takes over the announcements of both sides. The keys stay those of the association if it has some.
    pub(super) fn settle_authentication(&mut self, pair: Option<AuthPair>) {
        let Some(pair) = pair else {
            if let Some(auth) = &mut self.auth {
                auth.session = None;
            }
            self.events.push(Event::Authentication(AuthenticationChange::Unsupported));
            return;
        };
        let before = self.auth.take();
        let keys = before.map_or_else(|| self.config.shared_keys.clone(), |auth| auth.keys);
        let own = pair.own.clone();
        let (of_peer, session) = (SmallVec::new(), Session::new(pair));
        self.auth = Some(Box::new(Authentication { own, keys, of_peer, session }));
    }

    /// Chunks of these types are authenticated from now on, if both sides can. Returns whether they can.
    pub(super) fn require_authentication(&mut self, chunk_types: ChunkTypes) -> bool {
        let session = self.auth.as_mut().and_then(|auth| auth.session.as_mut());
        session.map(|session| session.require(chunk_types)).is_some()
    }

    /// Bytes that AUTH may take of a packet with data.
    pub(super) fn auth_data_room(&self) -> u32 {
        self.session().map_or(0, Session::data_room)
    }

    /// Bytes that it may take of any other packet beyond that.
    pub(super) fn auth_control_room(&self) -> u32 {
        self.session().map_or(0, |session| session.room() - session.data_room())
    }

    /// Bytes that it takes of a packet with these types of chunks.
    pub(super) fn auth_room_of(&self, chunk_types: &[u8]) -> u32 {
        self.session().map_or(0, |session| session.room_of(chunk_types))
    }

    /// Puts AUTH in front of a packet that needs it.
    #[inline]
    pub(super) fn seal_if_demanded(&mut self, built: &Built, packet: &mut Packet<'static>) {
        if self.session().is_some_and(|session| session.must_cover(&packet.chunks)) {
            self.seal(built, packet);
        }
    }

    #[inline(never)]
    fn seal(&mut self, built: &Built, packet: &mut Packet<'static>) {
        let Some(auth) = &mut self.auth else { return };
        let Some(session) = &mut auth.session else { return };
        if built.tag == Tag::Peer && session.seal(&auth.keys, &mut packet.chunks) {
            self.stats.seldom.auth_chunks_sent += 1;
        }
    }

    /// What is known of a packet before its first chunk.
    #[inline]
    pub(super) fn initial_trust(&self) -> Trust {
        match &self.auth {
            None => Trust::Unguarded,
            Some(auth) => match &auth.session {
                None => Trust::Unguarded,
                Some(_) => Trust::Unproved,
            },
        }
    }

    /// AUTH, and the chunks that must be authenticated: others are accepted as they are.
    #[inline]
    pub(super) fn guarded_chunks(&self) -> ChunkTypes {
        self.session().map_or(ChunkTypes::EMPTY, Session::guarded)
    }

    /// Whether a chunk counts, and what that makes of `trust`.
    #[inline]
    pub(super) fn admit(
        &mut self,
        chunk: &Chunk<'_>,
        covered: Covered<'_>,
        trust: &mut Trust,
        came_on: PathId,
    ) -> Admission {
        let is_plain = |session: &Session| {
            !matches!(chunk, Chunk::Auth(_)) && !session.demanded().contains(chunk.chunk_type())
        };
        match self.session().is_none_or(is_plain) {
            true => Admission::Granted,
            false => self.admit_guarded(chunk, covered, trust, came_on),
        }
    }

    /// The same for AUTH, and for a chunk that is to be authenticated.
    #[inline(never)]
    fn admit_guarded(
        &mut self,
        chunk: &Chunk<'_>,
        covered: Covered<'_>,
        trust: &mut Trust,
        came_on: PathId,
    ) -> Admission {
        let Chunk::Auth(auth) = chunk else {
            if *trust != Trust::Proved {
                self.stats.seldom.unauthenticated_chunks += 1;
                return Admission::Denied;
            }
            return Admission::Granted;
        };
        let verdict = match *trust {
            Trust::Vouched => AuthVerdict::Authentic,
            Trust::Unproved => self.verify(auth, covered),
            // AUTH must not appear twice (RFC 4895 section 5.1).
            Trust::Proved | Trust::Unguarded => AuthVerdict::Refused,
        };
        match verdict {
            AuthVerdict::Authentic => {
                *trust = Trust::Proved;
                self.stats.seldom.auth_chunks_accepted += 1;
                self.note_use(auth.shared_key_id);
                return Admission::Proof;
            }
            AuthVerdict::UnknownAlgorithm(hmac_id) => {
                if self.state.is_connected() && self.control.len() < MAX_WAITING_ANSWERS {
                    let causes = Causes::build([Cause::UnsupportedHmac { hmac_id }]);
                    self.queue_control(Chunk::Error(causes), To::Path(came_on));
                }
            }
            AuthVerdict::Refused => {}
        }
        self.stats.seldom.auth_chunks_refused += 1;
        Admission::Broken
    }

    fn verify(&mut self, auth: &Auth<'_>, covered: Covered<'_>) -> AuthVerdict {
        let Some(own) = &mut self.auth else { return AuthVerdict::Refused };
        let Some(session) = &mut own.session else { return AuthVerdict::Refused };
        session.verify(&own.keys, auth, covered)
    }

    /// Whether a packet with a COOKIE ECHO of the peer may be processed, with this AUTH in front of it or none: by what this
    /// association has agreed on, or, as long as that is nothing, by what the cookie says (RFC 4895 section 6.3).
    pub(crate) fn vouch(
        &mut self,
        proof: Option<&AuthProof<'_>>,
        cookie: Option<&AuthPair>,
    ) -> Option<Trust> {
        match self.auth.as_deref_mut() {
            Some(Authentication { keys, session: Some(session), .. }) => session.vouch(keys, proof),
            Some(auth) => vouch_by_cookie(&auth.keys, proof, cookie),
            None => vouch_by_cookie(&self.config.shared_keys, proof, cookie),
        }
    }
}
