//! Requests of the peer (RFC 5061 sections 5.2 and 5.3).

use core::net::IpAddr;

use polypath_wire::{
    Asconf, AsconfAck, Cause, Causes, Chunk, Parameter, Parameters, UnknownAction,
};

use super::super::Association;
use super::super::input::{ArrivedPacket, MAX_WAITING_ANSWERS};
use super::super::newcomers::Stranger;
use super::super::output::To;
use super::super::path_table::NewRemote;
use crate::extension::asconf::{
    AddressVerdict, AsconfResponses, AsconfTurn, Refusal, Situation, judge, request_in,
};
use crate::paths::reach::{Reach, Reason, Signal};
use crate::types::{AddressList, PathSet, PeerAddress};
use crate::{AddressChange, Cx, Event, Instant, Notice, PathChange, PathId};

impl Association {
    /// Handles an ASCONF. It is carried out once, and answered each time that it arrives.
    pub(in super::super) fn handle_asconf(
        &mut self,
        cx: &mut Cx<'_>,
        chunk: &Asconf<'_>,
        arrival: &ArrivedPacket<'_>,
    ) {
        if !self.may_answer_changes() || chunk.address().is_none() {
            return;
        }
        let Some(own) = &mut self.address_changes else { return };
        let answer = match own.answers.turn(chunk.serial) {
            AsconfTurn::Discard => {
                own.counts.discarded += 1;
                return;
            }
            AsconfTurn::Again(answer) => answer,
            AsconfTurn::Next => {
                own.counts.received += 1;
                let answer = self.work_off(cx, &chunk.parameters, arrival);
                if let Some(own) = &mut self.address_changes {
                    own.answers.keep(answer.clone());
                }
                answer
            }
        };
        if self.control.len() < MAX_WAITING_ANSWERS {
            let answer = AsconfAck { serial: chunk.serial, parameters: answer };
            self.queue_control(Chunk::AsconfAck(answer), self.way_back(arrival));
        }
    }

    /// The source of the chunk (rule E6), if that is an address of the peer.
    ///
    /// NOTE(deviation): a chunk from another address, which it has not added, is answered on another path.
    fn way_back(&self, arrival: &ArrivedPacket<'_>) -> To {
        let place = arrival.place();
        match arrival.stranger {
            Some(Stranger::Asked(serial)) => To::Newcomer(arrival.path, serial),
            None | Some(_) => {
                let is_there =
                    |local: IpAddr, remote| local == place.local && remote == place.remote;
                let path = self.paths.iter().find(|path| is_there(path.local, path.remote));
                path.map_or(To::Best, |path| To::Path(path.id))
            }
        }
    }

    /// Carries out the requests in order. After a refused addition or deletion, all later ones are refused (rule F11).
    fn work_off(
        &mut self,
        cx: &mut Cx<'_>,
        parameters: &Parameters<'_>,
        arrival: &ArrivedPacket<'_>,
    ) -> Parameters<'static> {
        let mut responses = AsconfResponses::default();
        let mut refuses = false;
        for parameter in parameters.into_iter().skip(1) {
            if responses.is_full() {
                break;
            }
            let Some((id, change, address)) = request_in(&parameter) else {
                if report_unknown(&mut responses, &parameter) { continue } else { break }
            };
            let is_preference = change == AddressChange::MadePrimary;
            let verdict = match refuses && !is_preference {
                true => AddressVerdict::Refuse(Refusal::Shortage),
                false => self.judged(cx.now, change, address, arrival),
            };
            match self.carry_out(cx, verdict, arrival) {
                Ok(()) => responses.granted(id),
                Err(refusal) => {
                    refuses |= !is_preference;
                    if let Some(own) = &mut self.address_changes {
                        own.counts.refused += 1;
                    }
                    responses.refused(id, refusal.causes(change, id, address));
                }
            }
        }
        responses.into_parameters()
    }

    fn judged(
        &mut self,
        now: Instant,
        change: AddressChange,
        address: IpAddr,
        arrival: &ArrivedPacket<'_>,
    ) -> AddressVerdict {
        let source = arrival.place().remote;
        let named = if address.is_unspecified() { source } else { address };
        let has_room = self.has_room_for(named)
            && self.address_changes.as_mut().is_some_and(|it| it.trials.have_room(now, named));
        let peer = self.peer_addresses();
        let local = &self.identity.local_addresses;
        judge(change, address, &Situation { source, peer: &peer, local, has_room })
    }

    /// Addresses of the peer that belong to the association.
    fn peer_addresses(&self) -> AddressList {
        let mut list = AddressList::new();
        for path in self.paths.iter() {
            let is_its = path.reach() != Reach::Inactive(Reason::NoRemoteAddress);
            if is_its && !list.contains(&path.remote) {
                list.push(path.remote);
            }
        }
        list
    }

    /// Whether an address of the peer can have a path.
    fn has_room_for(&self, address: IpAddr) -> bool {
        let limit = usize::from(self.config.max_paths).clamp(1, PathSet::CAPACITY);
        let open = self.paths.iter().filter(|path| !path.reach().is_gone()).count();
        open < limit && (self.paths.len() < PathSet::CAPACITY || self.reusable(address).is_some())
    }

    fn carry_out(
        &mut self,
        cx: &mut Cx<'_>,
        verdict: AddressVerdict,
        arrival: &ArrivedPacket<'_>,
    ) -> Result<(), Refusal> {
        match verdict {
            AddressVerdict::Nothing => Ok(()),
            AddressVerdict::Refuse(refusal) => Err(refusal),
            AddressVerdict::Add(address) => self.add_peer_address(cx, address, arrival),
            AddressVerdict::Delete(addresses) => {
                addresses.iter().for_each(|address| self.delete_peer_address(cx, *address));
                self.leave_primary(cx);
                self.fit_fragments();
                Ok(())
            }
            AddressVerdict::Prefer(address) => {
                self.prefer_peer_address(address);
                Ok(())
            }
        }
    }

    /// The peer has another address, whose paths are to be confirmed (rule F14).
    fn add_peer_address(
        &mut self,
        cx: &mut Cx<'_>,
        address: IpAddr,
        arrival: &ArrivedPacket<'_>,
    ) -> Result<(), Refusal> {
        for id in self.paths.ids() {
            let path = &self.paths[id];
            // The address returns; its paths are opened if their local address exists.
            if path.remote == address && path.reach() == Reach::Inactive(Reason::NoRemoteAddress) {
                self.paths.set_reach(id, Reach::Inactive(Reason::NoLocalAddress));
            }
        }
        if let Some(own) = &mut self.address_changes {
            own.trials.begin(cx.now, address);
        }
        let place = arrival.place();
        let remote = PeerAddress { address, encapsulation: place.encapsulation };
        let seen_from = (address == place.remote).then_some(place.local);
        self.open_missing_paths(cx, Some(NewRemote { remote, seen_from }));
        if !self.paths.iter().any(|path| path.remote == address && !path.reach().is_gone()) {
            self.delete_peer_address(cx, address);
            return Err(Refusal::Unresolvable);
        }
        self.notices.push_back(Notice::PeerAddress(address));
        self.events.push_if_few(Event::PeerAddress { address, change: AddressChange::Added });
        Ok(())
    }

    /// The peer has lost an address: data in flight there is retransmitted elsewhere (rule F13).
    fn delete_peer_address(&mut self, cx: &mut Cx<'_>, address: IpAddr) {
        let was_its = self.peer_addresses().contains(&address);
        for id in self.paths.ids() {
            if self.paths[id].remote != address {
                continue;
            }
            self.lose_path(cx, id, Signal::RemoteAddressGone);
            self.paths[id].heartbeat = Default::default();
            let (transmitter, mut send_cx) = self.sending(cx);
            transmitter.on_path_lost(&mut send_cx, id);
            self.apply_effects(cx);
            self.paths[id].heartbeat = Default::default();
        }
        if was_its {
            self.notices.push_back(Notice::PeerAddressGone(address));
            let change = AddressChange::Removed;
            self.events.push_if_few(Event::PeerAddress { address, change });
        }
    }

    /// A primary path whose address was deleted is no longer the primary one (rule F12): the best of the others takes over.
    fn leave_primary(&mut self, _cx: &mut Cx<'_>) {
        if !self.paths[self.paths.primary].reach().is_gone() {
            return;
        }
        let best = self.paths.best();
        let open = || self.paths.iter().find(|path| !path.reach().is_closed()).map(|path| path.id);
        let chosen = if self.paths[best].reach().is_gone() { open() } else { Some(best) };
        if let Some(path) = chosen {
            self.paths.primary = path;
            self.events.push(Event::Path { path, change: PathChange::MadePrimary });
        }
    }

    /// The peer prefers an address (RFC 5061 section 5.4). While it is unconfirmed, another path replaces it.
    fn prefer_peer_address(&mut self, address: IpAddr) {
        let leads_there = self.paths.iter().filter(|path| path.remote == address);
        let best = leads_there.min_by_key(|path| {
            (path.reach().is_closed(), !path.reach().is_active(), path.errors, path.id)
        });
        if let Some(path) = best.map(|path| path.id) {
            self.paths.primary = path;
            let change = AddressChange::MadePrimary;
            self.events.push_if_few(Event::PeerAddress { address, change });
        }
    }

    /// Makes the path that the peer requested in the handshake the primary one.
    pub(in super::super) fn obey_preference(&mut self) {
        let own = self.address_changes.as_mut();
        if let Some(address) = own.and_then(|own| own.preferred.take()) {
            self.prefer_peer_address(address);
        }
    }

    /// Whether another packet may be sent to an address that has not answered; `is_last` if there is no other path.
    pub(in super::super) fn retry_trial(
        &mut self,
        now: Instant,
        id: PathId,
        is_last: bool,
    ) -> bool {
        let remote = self.paths[id].remote;
        let there =
            self.paths.iter().filter(|path| path.remote == remote && !path.reach().is_closed());
        let paths = there.count() as u8;
        let own = self.address_changes.as_mut();
        own.is_some_and(|own| own.trials.retry(now, remote, paths, is_last))
    }

    /// A HEARTBEAT arrived over a path whose address has not answered so far: it may answer by now.
    pub(in super::super) fn renew_trial(&mut self, now: Instant, path: PathId) {
        let Some(own) = &mut self.address_changes else { return };
        let path = &mut self.paths[path];
        if !path.reach().is_closed() && own.trials.renew(now, path.remote) {
            path.heartbeat.due = Some(now);
        }
    }
}

/// Reports a parameter that is no request, if its type says so. Returns whether to go on behind it (rule V2).
fn report_unknown(responses: &mut AsconfResponses, parameter: &Parameter<'_>) -> bool {
    let action = UnknownAction::of_parameter(parameter.parameter_type());
    let Parameter::Unknown { value, .. } = parameter else { return true };
    if action.reports() {
        let id = value.first_chunk().map_or(0, |id| u32::from_be_bytes(*id));
        let whole = Parameters::build([parameter.clone()]);
        let most = whole.as_slice().len().min(64);
        let causes = Causes::build([Cause::UnrecognizedParameters(&whole.as_slice()[..most])]);
        responses.refused(id, causes);
    }
    action.continues()
}
