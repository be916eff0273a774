//! Announcements of this side's addresses (RFC 5061 sections 5.1 and 5.3).

use core::net::IpAddr;

use polypath_wire::{AsconfAck, Cause, Causes, Chunk, chunk_type};

use super::super::Association;
use super::super::output::To;
use super::super::state::ConnectedPhase;
use crate::extension::asconf::{AddressRequest, AsconfAcked, ChangeOutcome};
use crate::paths::Path;
use crate::paths::reach::{Reach, Reason, Signal};
use crate::types::address_scope::is_private;
use crate::{
    AddressChange, AddressChangeError, Cx, Encapsulation, Event, Instant, PathChange, PathId,
    ProbeEvent, TimerKind,
};

impl Association {
    /// Requests the peer to prefer an address of this side for what it sends (RFC 5061 section 4.2.4;
    /// `SCTP_SET_PEER_PRIMARY_ADDR`). [`Event::LocalAddress`] or [`Event::AddressChangeRefused`] follows.
    ///
    /// # Errors
    ///
    /// One side lacks the extension, the peer does not know the address, or too many requests are pending.
    pub fn set_peer_primary(&mut self, address: IpAddr) -> Result<(), AddressChangeError> {
        if !matches!(self.state.phase(), Some(ConnectedPhase::Established)) {
            return Err(AddressChangeError::NotEstablished);
        }
        let is_hidden = self.is_hidden(address);
        let own = self.address_changes.as_mut().ok_or(AddressChangeError::Unsupported)?;
        let is_known = self.identity.local_addresses.contains(&address);
        if !is_known || own.requests.is_deleting(address) {
            return Err(AddressChangeError::UnknownAddress);
        }
        let change = AddressChange::MadePrimary;
        if !own.requests.may_ask_for(change) {
            return Err(AddressChangeError::Unsupported);
        }
        if !own.requests.push(AddressRequest { change, address, by_source: is_hidden }) {
            return Err(AddressChangeError::Busy);
        }
        self.stir();
        Ok(())
    }

    /// Whether addresses of this side can be announced to the peer.
    pub fn can_change_addresses(&self) -> bool {
        let own = self.address_changes.as_ref();
        own.is_some_and(|own| own.requests.may_ask_for(AddressChange::Added))
    }

    /// This side has got another address, which is among the local ones already. Returns whether it may take the place of one that was lost:
    /// not if the peer cannot be told of it now.
    pub(in super::super) fn announce_address(&mut self, address: IpAddr) -> bool {
        let by_source = self.is_hidden(address);
        let Some(own) = &mut self.address_changes else { return true };
        let change = AddressChange::Added;
        // If it can be taken back, the peer has not been requested to delete it yet.
        if !own.requests.take_back(AddressRequest::new(change, address)) {
            if !own.requests.push(AddressRequest { change, address, by_source }) {
                return false;
            }
            own.unannounced.push(address);
        }
        true
    }

    /// This side has lost an address, which is no longer among the local ones.
    pub(in super::super) fn withdraw_address(&mut self, address: IpAddr) {
        let (left, is_hidden) = (self.identity.local_addresses.clone(), self.is_hidden(address));
        let Some(own) = &mut self.address_changes else { return };
        let change = AddressChange::Removed;
        own.unannounced.retain(|local| *local != address);
        if own.requests.take_back(AddressRequest::new(change, address)) {
            return;
        }
        match left.as_slice() {
            _ if !is_hidden => {
                own.requests.push(AddressRequest::new(change, address));
            }
            // What the peer calls it is unknown here, but not what the other one is called.
            [only] => {
                let (address, by_source) = (*only, true);
                own.requests.push(AddressRequest { change, address, by_source });
            }
            _ => {}
        }
    }

    /// Whether a translator hides the address: the peer sees another one.
    fn is_hidden(&self, address: IpAddr) -> bool {
        is_private(address)
            && self
                .paths
                .iter()
                .all(|path| path.encapsulation != Encapsulation::None && !is_private(path.remote))
    }

    /// Whether there is a request to send and none in flight.
    #[inline]
    pub(in super::super) fn has_address_changes_to_send(&self) -> bool {
        self.address_changes.as_ref().is_some_and(|own| own.requests.is_ready())
    }

    /// Sends what waits, if nothing is in flight.
    #[inline(never)]
    pub(in super::super) fn send_address_changes(&mut self, now: Instant) {
        let Some(own) = &self.address_changes else { return };
        if !own.requests.is_ready() || !self.may_ask_for_changes() {
            return;
        }
        let Some(path) = self.path_for_changes(None) else { return };
        let due = now + self.transmitter.paths[path].rtt.rto();
        let known = self.known_address(path);
        let Some(own) = &mut self.address_changes else { return };
        if let Some(chunk) = own.requests.send(path, due, known) {
            own.counts.sent += 1;
            self.queue_control(Chunk::Asconf(chunk), To::Path(path));
        }
    }

    /// T-4 has expired (RFC 5061 section 5.1, rules B1 to B5).
    pub(in super::super) fn repeat_address_changes(&mut self, cx: &mut Cx<'_>) {
        let Some(own) = &self.address_changes else { return };
        let Some(failed) = own.requests.path() else { return };
        let timer = TimerKind::T4Asconf;
        cx.probe.on(cx.now, ProbeEvent::TimerExpired { timer, path: Some(failed) });
        if self.paths.get(failed).is_some() {
            self.transmitter.paths[failed].rtt.back_off();
            self.count_path_error(cx, failed);
        }
        if !self.state.is_connected() {
            return;
        }
        let path = self.path_for_changes(Some(failed)).or_else(|| self.path_for_changes(None));
        let timed = path.unwrap_or_else(|| self.paths.best());
        let due = cx.now + self.transmitter.paths[timed].rtt.rto();
        let Some(own) = &mut self.address_changes else { return };
        match path {
            None => own.requests.put_off(due),
            Some(path) => {
                if let Some(chunk) = own.requests.repeat(path, due) {
                    self.queue_control(Chunk::Asconf(chunk), To::Path(path));
                }
            }
        }
    }

    /// The path for the next chunk, or for its retransmission, except `except`: the one most likely to work among those
    /// with an address that the chunk may be sent from.
    fn path_for_changes(&self, except: Option<PathId>) -> Option<PathId> {
        let origin = self.address_changes.as_ref()?.requests.origin();
        let rank = |path: &Path| match path.reach() {
            Reach::Active => Some(0),
            Reach::PotentiallyFailed => Some(1),
            Reach::Inactive(Reason::Unannounced) => Some(2),
            reach if reach.is_confirmed() => Some(3),
            _ => None,
        };
        let may = |path: &&Path| {
            Some(path.id) != except
                && origin.only.is_none_or(|only| only == path.local)
                && !origin.never.contains(&path.local)
        };
        let ranked = self.paths.iter().filter(may).filter_map(|path| {
            Some((rank(path)?, path.errors, path.id != self.paths.primary, path.id))
        });
        ranked.min().map(|(.., id)| id)
    }

    /// An address that the peer knows, by which it finds the association (RFC 5061 section 5.3.2).
    fn known_address(&self, path: PathId) -> IpAddr {
        let source = self.paths[path].local;
        let mut local =
            core::iter::once(source).chain(self.identity.local_addresses.iter().copied());
        let known = local.find(|local| !self.is_unannounced(*local));
        // The only one that it knows is about to be deleted.
        let deleted = || self.address_changes.as_ref()?.requests.origin().never.first().copied();
        known.or_else(deleted).unwrap_or(source)
    }

    /// An ASCONF-ACK arrived.
    pub(in super::super) fn handle_asconf_ack(&mut self, cx: &mut Cx<'_>, ack: &AsconfAck<'_>) {
        if !self.may_answer_changes() {
            return;
        }
        let Some(own) = &mut self.address_changes else { return };
        match own.requests.on_ack(ack.serial, &ack.parameters) {
            AsconfAcked::Stale => {}
            AsconfAcked::Illegal => self.abort_with(cx, Cause::IllegalAsconfAck),
            AsconfAcked::Ended(path, outcomes) => {
                self.peer_answered(cx.now);
                if let Some(path) = self.paths.get_mut(path)
                    && path.reach().is_active()
                {
                    path.errors = 0;
                }
                for (request, outcome) in outcomes {
                    self.address_request_ended(cx, request, outcome);
                }
            }
        }
    }

    /// The peer has reported by an ERROR that it does not support the chunk (RFC 5061 section 5.1, rule A9).
    #[cold]
    pub(in super::super) fn asconf_rejected(&mut self, cx: &mut Cx<'_>) {
        let Some(own) = &mut self.address_changes else { return };
        let refused = ChangeOutcome::Refused(Some(polypath_wire::cause_code::UNRECOGNIZED_CHUNK));
        for request in own.requests.on_unknown_chunk() {
            self.address_request_ended(cx, request, refused);
        }
    }

    fn address_request_ended(
        &mut self,
        cx: &mut Cx<'_>,
        request: AddressRequest,
        outcome: ChangeOutcome,
    ) {
        let AddressRequest { change, address, .. } = request;
        if let Some(own) = &mut self.address_changes
            && change == AddressChange::Added
        {
            own.unannounced.retain(|local| *local != address);
        }
        match (change, outcome) {
            (AddressChange::Added, ChangeOutcome::Done) => self.open_announced(cx, address),
            (AddressChange::Added, ChangeOutcome::Refused(_)) => {
                self.close_unannounced(cx, address)
            }
            (AddressChange::Removed | AddressChange::MadePrimary, _) => {}
        }
        self.events.push(match outcome {
            ChangeOutcome::Done => Event::LocalAddress { address, change },
            ChangeOutcome::Refused(cause) => Event::AddressChangeRefused { address, change, cause },
        });
    }

    /// The peer knows an address of ours: its paths are probed (rule F2).
    fn open_announced(&mut self, cx: &mut Cx<'_>, address: IpAddr) {
        for id in self.paths.ids() {
            let path = &self.paths[id];
            if path.local == address && path.reach() == Reach::Inactive(Reason::Unannounced) {
                self.paths.set_reach(id, Reach::Unconfirmed);
                let path = &mut self.paths[id];
                path.errors = 0;
                path.heartbeat.due = Some(cx.now);
                self.events.push(Event::Path { path: id, change: PathChange::Added });
            }
        }
        self.expire_heartbeats(cx);
    }

    /// The peer does not want an address of ours: nothing is sent from there (rule F10).
    fn close_unannounced(&mut self, cx: &mut Cx<'_>, address: IpAddr) {
        for id in self.paths.ids() {
            let path = &self.paths[id];
            if path.local == address && path.reach() == Reach::Inactive(Reason::Unannounced) {
                self.lose_path(cx, id, Signal::LocalAddressGone);
            }
        }
        if self.identity.local_addresses.len() > 1 {
            self.identity.local_addresses.retain(|local| *local != address);
        }
    }
}

/// Whether error causes say that the peer does not know ASCONF.
pub(in super::super) fn reject_asconf(causes: &Causes<'_>) -> bool {
    causes.iter().any(|cause| match cause {
        Cause::UnrecognizedChunk(chunk) => chunk.first() == Some(&chunk_type::ASCONF),
        _ => false,
    })
}
