//! COOKIE ECHO from someone without association: an association begins (RFC 9260 section 5.1.5).

use alloc::boxed::Box;
use core::net::IpAddr;

use polypath_wire::Chunk;

use super::collision::{same_port, stale_cookie};
use super::init::ReturnPath;
use super::route::{DropReason, Incoming, Route};
use super::{Endpoint, pairs};
use crate::association::handshake::cookie::Cookie;
use crate::association::handshake::view::Established;
use crate::config::{ErrorDetection, SharedConfig};
use crate::extension::auth::{Trust, vouch_by_cookie};
use crate::receive::budget::Share;
use crate::types::{AddressList, PeerAddress};
use crate::{Association, AssociationId, Cx, Identity, Received, Transmit};

/// What a COOKIE ECHO without association calls for.
#[derive(Debug)]
pub(super) enum EchoVerdict {
    /// It belongs to this association after all.
    Collision(AssociationId),
    /// An association begins.
    Accept(Box<Established>, Trust),
    /// An answer.
    Reply(Box<Transmit>),
}

impl Endpoint {
    /// COOKIE ECHO from someone without association (RFC 9260 section 5.1.5).
    pub(super) fn route_cookie_echo(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
    ) -> Result<Route, DropReason> {
        match self.judge_cookie_echo(cx, received, packet)? {
            EchoVerdict::Collision(id) => Ok(Route::Collision(id)),
            EchoVerdict::Reply(transmit) => Ok(Route::Reply(transmit)),
            EchoVerdict::Accept(established, trust) => {
                let cookie = &established.cookie;
                let ports = packet.ports();
                let Cookie { local_tag, peer_addresses, encapsulation, .. } = cookie;
                // Who got the cookie is at the first address. Packets may carry any other one as their source.
                let proved = peer_addresses.first().copied().unwrap_or(received.remote);
                let addresses = (&[proved][..], &peer_addresses[..]);
                if !self.has_place() {
                    self.departures.choose();
                }
                let id = self.table.insert(*local_tag, ports, addresses, *encapsulation);
                self.origins.add(id, proved);
                let config = SharedConfig::clone(self.accepted_at(ports.local));
                if config.error_detection != ErrorDetection::Crc32c {
                    self.table.accept_zero_checksum(id);
                }
                let identity = self.identity_of(cookie);
                let mut association = Association::accept(cx, config, identity, *established);
                if let Some(budget) = &self.budget {
                    association.share_buffer(Share::of(budget));
                }
                // It passes over the COOKIE ECHO; DATA may follow.
                association.handle_echo(cx, received, trust);
                Ok(Route::New(id, association))
            }
        }
    }

    pub(super) fn judge_cookie_echo(
        &mut self,
        cx: &Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
    ) -> Result<EchoVerdict, DropReason> {
        let established = self.open_cookie(cx, received, packet)?;
        let cookie = &established.cookie;
        let Cookie { peer_addresses, encapsulation, .. } = cookie;
        if let Some(id) = self.table.by_any_peer(packet.ports(), peer_addresses, *encapsulation) {
            return Ok(EchoVerdict::Collision(id));
        }
        let keys = &self.accepted_at(packet.destination_port()).shared_keys;
        let trust = vouch_by_cookie(keys, packet.proof().as_ref(), cookie.auth.as_ref());
        let trust = trust.ok_or(DropReason::NotAuthenticated)?;
        let to = ReturnPath::of(received, packet);
        if let Some(by) = cookie.staleness(cx.now) {
            let error = stale_cookie(by);
            return self.answer_stranger(cx, &to, cookie.peer_tag, error).map(EchoVerdict::Reply);
        }
        let proved = cookie.source().map_or(received.remote, |source| source.address);
        if let Some(causes) = self.refusal((to.local, to.local_port), proved) {
            return self.refuse(cx, &to, cookie.peer_tag, causes).map(EchoVerdict::Reply);
        }
        let life = self.config.cookie_life * 2;
        if self.table.by_tag(cookie.local_tag).is_some()
            || self.spent.contains(cookie.local_tag, cx.now, life)
        {
            return Err(DropReason::TagTaken);
        }
        Ok(EchoVerdict::Accept(Box::new(established), trust))
    }

    /// Authenticates the cookie of a COOKIE ECHO, and checks that it was made for this packet.
    pub(super) fn open_cookie(
        &self,
        cx: &Cx<'_>,
        received: &Received<'_>,
        packet: &Incoming<'_, '_>,
    ) -> Result<Established, DropReason> {
        let first = packet.first()?;
        let Chunk::CookieEcho(bytes) = &*first else { return Err(DropReason::Malformed) };
        let cookie =
            self.secrets.open(bytes.as_slice(), cx.now).map_err(|_| DropReason::InvalidCookie)?;
        let remote =
            PeerAddress { address: received.remote, encapsulation: received.encapsulation };
        let same_packet = cookie.local_tag == packet.tag()
            && cookie.local_port == packet.destination_port()
            && cookie.remote_port == packet.source_port()
            && self.fits_addresses(&cookie, received.local, &remote);
        if !same_packet {
            return Err(DropReason::CookieMismatch);
        }
        Ok(Established { cookie, local: received.local, remote })
    }

    /// Whether the peer of the cookie may send from `remote` to `local`. From another address than its first it may,
    /// since COOKIE ECHO is repeated over all of its addresses.
    fn fits_addresses(&self, cookie: &Cookie, local: IpAddr, remote: &PeerAddress) -> bool {
        let ours =
            local == cookie.local_address || self.addresses_at(cookie.local_port).contains(&local);
        ours && cookie.peer_addresses.contains(&remote.address)
            && cookie.source().is_some_and(|source| {
                source.address != remote.address
                    || same_port(&source.encapsulation, &remote.encapsulation)
            })
    }

    pub(super) fn identity_of(&self, cookie: &Cookie) -> Identity {
        // The verified pair of addresses comes first, unless its local address was lost since.
        let own = self.addresses_at(cookie.local_port);
        let mut local_addresses = AddressList::new();
        if own.contains(&cookie.local_address) {
            local_addresses.push(cookie.local_address);
        }
        for local in own {
            let usable = cookie.peer_addresses.iter().any(|peer| pairs(local, *peer));
            if usable && local != cookie.local_address {
                local_addresses.push(local);
            }
        }
        Identity {
            local_port: cookie.local_port,
            remote_port: cookie.remote_port,
            local_addresses,
            local_tag: cookie.local_tag,
            initial_tsn: cookie.local_initial_tsn,
        }
    }
}
