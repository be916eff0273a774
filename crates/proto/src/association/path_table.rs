//! The table of paths: created in the handshake, and changed when local addresses of a live association are added or
//! removed.
//!
//! If both sides have ASCONF (`association/asconf`), it announces the change. Otherwise the peer learns a new path from
//! its packets, whose HEARTBEAT proves that they are ours (`extension/address_join`), and a removed one from its own
//! timeouts.

use core::mem;
use core::net::IpAddr;

use smallvec::SmallVec;

use super::Association;
use super::handshake::{Handshake, HandshakeStep, Tries};
use crate::config::{AssociationConfig, PathPairing, SharedConfig, SourceRoute};
use crate::congestion::window::Family;
use crate::paths::first_contact::InitTry;
use crate::paths::reach::{Reach, Reason, Signal};
use crate::paths::{self, Path, pairing};
use crate::transmit::SendPath;
use crate::types::address_scope::reaches;
use crate::types::{PathSet, PeerAddress};
use crate::{Cx, Event, LocalAddressChange, PathChange, PathId};

/// An address that the peer has added.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewRemote {
    pub(super) remote: PeerAddress,
    /// Our destination address of a packet from there.
    pub(super) seen_from: Option<IpAddr>,
}

impl Association {
    /// Both halves of a path that nothing is known of yet.
    pub(super) fn new_path(
        &self,
        id: PathId,
        local: IpAddr,
        remote: PeerAddress,
    ) -> (Path, SendPath) {
        let family = if remote.address.is_ipv4() { Family::V4 } else { Family::V6 };
        let headers = paths::headers(remote.address, remote.encapsulation) + self.auth_data_room();
        let sending = SendPath::new(id, family, headers, self.transmitter.chunk, &self.config);
        let PeerAddress { address, encapsulation } = remote;
        let path = Path::new(id, local, address, encapsulation, sending.mtu(), &self.config);
        (path, sending)
    }

    /// Makes the path table from this side's and the peer's addresses; all paths begin unconfirmed. The pair on which
    /// the handshake went is always among them.
    pub(super) fn build_paths(
        &mut self,
        peer: &[PeerAddress],
        handshake_pair: Option<(IpAddr, PeerAddress)>,
    ) {
        let AssociationConfig { path_pairing, routes, .. } = &*self.config;
        let mut pairs = pairing::pairs(*path_pairing, routes, &self.identity.local_addresses, peer);
        let limit = usize::from(self.config.max_paths.clamp(1, 32));
        if let Some(pair) = handshake_pair {
            let place = pairs.iter().position(|(l, r)| *l == pair.0 && r.address == pair.1.address);
            match place {
                Some(place) if place < limit => {}
                Some(place) => pairs[..=place].rotate_right(1),
                None => pairs.insert(0, pair),
            }
        }
        self.stats.ignore_addresses(pairs.len().saturating_sub(limit) as u64);
        // The results of INITs on a path, and their counts, stay.
        let asked: SmallVec<[_; 2]> = self
            .paths
            .iter()
            .filter(|path| path.init != InitTry::None)
            .map(|path| ((path.local, path.remote), path.init, path.counters))
            .collect();
        let count = pairs.len().min(limit);
        self.paths.clear();
        self.transmitter.paths.clear(count);
        for (local, remote) in pairs.into_iter().take(limit) {
            let id = PathId(self.paths.len() as u8);
            let (path, sending) = self.new_path(id, local, remote);
            self.paths.push(path);
            self.transmitter.paths.push(sending);
            let known = asked.iter().find(|(pair, ..)| *pair == (local, remote.address));
            if let Some((_, init, counters)) = known {
                let path = &mut self.paths[id];
                (path.init, path.counters) = (*init, *counters);
            }
        }
        self.fit_fragments();
    }

    /// Marks the path on which the handshake went as confirmed.
    pub(super) fn confirm_handshake_pair(&mut self, local: IpAddr, remote: IpAddr) -> PathId {
        let Some(path) = self.paths.find(local, remote) else { return PathId(0) };
        self.paths.set_reach(path, Reach::Active);
        path
    }

    pub(super) fn apply_local_address(&mut self, cx: &mut Cx<'_>, change: LocalAddressChange) {
        if self.state.is_closed() {
            return;
        }
        match change {
            LocalAddressChange::Added(address) => {
                let meant = self.paths.iter().any(|path| reaches(address, path.remote));
                if !self.identity.local_addresses.contains(&address) {
                    if meant {
                        self.identity.local_addresses.push(address);
                        if self.announce_address(address) {
                            self.leave_lost_address(cx);
                        }
                    }
                } else if let Some(tuning) = self.tuning.if_used() {
                    tuning.lost_address = tuning.lost_address.filter(|lost| *lost != address);
                }
            }
            LocalAddressChange::Removed(address) => {
                // The last one stays: its paths are tried until it returns or the association fails.
                if !self.remains_without(address) {
                    if self.state.is_connected() {
                        self.tuning.lost_address = Some(address);
                    }
                    return;
                }
                if !self.identity.local_addresses.contains(&address) {
                    return;
                }
                self.identity.local_addresses.retain(|local| *local != address);
                if !self.state.is_cookie_wait() {
                    self.close_paths_from(cx, address);
                    if let Some(path) = self.state.handshake().map(|handshake| handshake.path)
                        && self.paths[path].local == address
                    {
                        self.handshake_refused(cx.now, path);
                    }
                    self.withdraw_address(address);
                }
            }
        }
        match self.state.is_cookie_wait() {
            true => self.rebuild_handshake_paths(cx),
            false => self.open_missing_paths(cx, None),
        }
    }

    /// Another address takes the place of the last one, which was lost: paths from there would keep those from the new one away, as if they
    /// served the peer's addresses.
    fn leave_lost_address(&mut self, cx: &mut Cx<'_>) {
        let lost = self.tuning.if_used().and_then(|tuning| tuning.lost_address.take());
        if let Some(lost) = lost {
            self.identity.local_addresses.retain(|local| *local != lost);
            self.close_paths_from(cx, lost);
            self.withdraw_address(lost);
        }
    }

    pub(super) fn apply_routes(&mut self, cx: &mut Cx<'_>, routes: &[SourceRoute]) {
        SharedConfig::make_mut(&mut self.config).routes = routes.to_vec();
        let is_settled = !self.state.is_cookie_wait() && !self.state.is_closed();
        if is_settled && self.config.path_pairing == PathPairing::ByRoute {
            self.open_missing_paths(cx, None);
        }
    }

    /// Whether a local address is left that packets can go from.
    fn remains_without(&self, address: IpAddr) -> bool {
        let mut others = self.identity.local_addresses.iter().filter(|local| **local != address);
        match self.state.handshake() {
            Some(Handshake { step: HandshakeStep::CookieWait, named, .. }) => others
                .any(|local| named.iter().any(|named| local.is_ipv4() == named.address.is_ipv4())),
            _ => others.next().is_some(),
        }
    }

    /// Nothing is settled yet, so the table is rebuilt. The handshake continues where it was, or starts at once
    /// elsewhere, and, if the policy uses all paths, on new ones too.
    fn rebuild_handshake_paths(&mut self, cx: &mut Cx<'_>) {
        let Some(handshake) = self.state.handshake() else { return };
        let tried = &self.paths[handshake.path];
        let (local, remote) = (tried.local, tried.remote);
        let waiting = self.waiting_for_init_ack(handshake);
        let named = handshake.named.clone();
        self.build_paths(&named, None);
        self.report_paths(cx);
        let same = |path: &&Path| path.local == local && path.remote == remote;
        let kept = self.paths.iter().find(same).map(|path| path.id);
        if kept.is_none() {
            self.control.clear();
        }
        let asked = self.paths.iter().filter(|path| waiting.contains(&(path.local, path.remote)));
        let asked = asked.map(|path| path.id).collect();
        if let Some(handshake) = self.state.handshake_mut() {
            handshake.path = kept.unwrap_or(PathId(0));
            handshake.timer.tries = Tries { asked, ..Tries::default() };
        }
        self.send_init(cx.now);
    }

    /// The pairs of addresses that took an INIT which may still be answered.
    fn waiting_for_init_ack(&self, handshake: &Handshake) -> SmallVec<[(IpAddr, IpAddr); 4]> {
        let Tries { asked, refused, .. } = handshake.timer.tries;
        let waiting = asked.without(refused);
        let paths = self.paths.iter().filter(|path| waiting.contains(path.id));
        paths.map(|path| (path.local, path.remote)).collect()
    }

    pub(super) fn close_paths_from(&mut self, cx: &mut Cx<'_>, address: IpAddr) {
        for id in self.paths.ids() {
            let path = &self.paths[id];
            if path.local == address && path.reach() != Reach::Inactive(Reason::NoLocalAddress) {
                self.lose_path(cx, id, Signal::LocalAddressGone);
                self.paths[id].heartbeat = Default::default();
                let (transmitter, mut send_cx) = self.sending(cx);
                transmitter.on_path_lost(&mut send_cx, id);
            }
        }
    }

    /// Opens missing paths: closed ones whose local address is back, then pairs of the pairing for addresses of either
    /// side without an open path, including the one that the peer has added.
    pub(super) fn open_missing_paths(&mut self, cx: &mut Cx<'_>, added: Option<NewRemote>) {
        let limit = usize::from(self.config.max_paths).clamp(1, PathSet::CAPACITY);
        for (local, remote) in self.wanted_pairs(added) {
            let same = |path: &&Path| path.local == local && path.remote == remote.address;
            let known = self.paths.iter().find(same).map(|path| (path.id, path.reach()));
            if known.is_some_and(|(_, reach)| !reach.is_gone()) {
                continue;
            }
            let open = || self.paths.iter().filter(|path| !path.reach().is_gone());
            // Addresses that never answered need no path.
            let never_used = Reach::Inactive(Reason::NeverConfirmed);
            let serving = || open().filter(|path| path.reach() != never_used);
            let served = serving().any(|path| path.local == local)
                && serving().any(|path| path.remote == remote.address);
            let serves_pairs =
                matches!(self.config.path_pairing, PathPairing::FullMesh | PathPairing::ByRoute);
            if known.is_none() && served && !serves_pairs {
                continue;
            }
            let slot = match known {
                Some((id, _)) => Some(id),
                None if self.paths.len() >= PathSet::CAPACITY => self.reusable(remote.address),
                None => Some(PathId(self.paths.len() as u8)),
            };
            let Some(id) = slot.filter(|_| open().count() < limit) else {
                self.stats.seldom.addresses_ignored += 1;
                continue;
            };
            self.open_missing_path(cx, id, local, remote);
        }
        self.fit_fragments();
        if self.state.is_connected() {
            self.expire_heartbeats(cx);
        }
    }

    /// The pairs of addresses that may become paths, the most important first.
    fn wanted_pairs(&self, added: Option<NewRemote>) -> SmallVec<[(IpAddr, PeerAddress); 4]> {
        let mut peer: SmallVec<[PeerAddress; 4]> = SmallVec::new();
        for path in self.paths.iter() {
            let is_its = path.reach() != Reach::Inactive(Reason::NoRemoteAddress);
            if is_its && peer.iter().all(|known| known.address != path.remote) {
                peer.push(PeerAddress { address: path.remote, encapsulation: path.encapsulation });
            }
        }
        let mut wanted: SmallVec<[(IpAddr, PeerAddress); 4]> = SmallVec::new();
        if let Some(NewRemote { remote, seen_from }) = added {
            if peer.iter().all(|known| known.address != remote.address) {
                peer.push(remote);
            }
            wanted.extend(seen_from.map(|local| (local, remote)));
        }
        let local = &self.identity.local_addresses;
        let gone = Reach::Inactive(Reason::NoLocalAddress);
        let back =
            self.paths.iter().filter(|path| path.reach() == gone && local.contains(&path.local));
        wanted.extend(back.map(|path| {
            let encapsulation = path.encapsulation;
            (path.local, PeerAddress { address: path.remote, encapsulation })
        }));
        wanted.extend(pairing::pairs(self.config.path_pairing, &self.config.routes, local, &peer));
        wanted
    }

    /// Where identifiers of paths are used up: that of a path to an address which the peer has deleted, or to this one from an address
    /// that is gone. A host that moves all the time must not run out of paths.
    pub(super) fn reusable(&self, remote: IpAddr) -> Option<PathId> {
        let gone = |path: &&Path| match path.reach() {
            Reach::Inactive(Reason::NoRemoteAddress) => true,
            Reach::Inactive(Reason::NoLocalAddress) => path.remote == remote,
            _ => false,
        };
        self.paths.iter().find(gone).map(|path| path.id)
    }

    fn open_missing_path(
        &mut self,
        cx: &mut Cx<'_>,
        id: PathId,
        local: IpAddr,
        remote: PeerAddress,
    ) {
        let (mut path, mut sending) = self.new_path(id, local, remote);
        let sharers = self.paths.sharers(&self.config.policies, id);
        sending.reset_cwnd(&self.config, self.transmitter.advertised_window, sharers);
        if self.is_unannounced(local) {
            path = path.unannounced();
        }
        let waits = path.reach().is_closed();
        if id.index() < self.paths.len() {
            // Counters and rank continue; measurements of the old attachment do not.
            let (old, old_sending) = (&mut self.paths[id], &mut self.transmitter.paths[id]);
            (path.counters, path.suspicion) = (old.counters, mem::take(&mut old.suspicion));
            sending.counters = mem::take(&mut old_sending.counters);
            sending.transmission_rank = old_sending.transmission_rank;
            self.paths.replace(path);
            self.transmitter.paths[id] = sending;
            self.transmitter.forget_marks(id);
            if let Some(echoes) = self.state.peer_mut().and_then(|peer| peer.echoes.if_used()) {
                echoes.forget_capable(id);
            }
        } else {
            self.paths.push(path);
            self.transmitter.paths.push(sending);
        }
        self.report_path(cx, id);
        if self.state.is_connected() && !waits {
            self.events.push(Event::Path { path: id, change: PathChange::Added });
            self.paths[id].heartbeat.due = Some(cx.now);
        }
    }
}
