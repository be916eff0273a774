//! An SCTP port: routes packets to associations, and answers what belongs to none (RFC 9260 sections 5, 8.4 and 8.5).

mod amplification;
mod collision;
pub(crate) mod cookie;
mod departures;
mod dispatch;
mod echo;
mod init;
mod limits;
mod origins;
mod ports;
mod route;
mod spent_tags;
mod table;

use alloc::boxed::Box;
use core::net::IpAddr;

use smallvec::SmallVec;

use crate::config::{AssociationConfig, EndpointConfig, ErrorDetection, SharedConfig, SharedKeys};
use crate::io::LOWER_LAYER_LOCAL;
use crate::receive::budget::{Budget, SharedBudget};
use crate::types::address_scope::{is_unicast, reaches};
use crate::types::{AddressList, MAX_ADDRESSES, PeerAddress};
use crate::{
    Association, AssociationId, ConnectError, Cx, Encapsulation, Identity, LocalAddressChange,
    Notice, Received,
};
use cookie::CookieSecrets;
use departures::Departures;
use limits::EndpointLimits;
use origins::Origins;
use ports::BoundPorts;
use spent_tags::SpentTags;
use table::{AddressProof, AssociationTable, Ports};

pub use ports::{PortAddresses, PortConfig};
pub use route::{Collision, DropReason, Route};

/// One SCTP port with its local addresses.
///
/// It determines where each packet belongs, but owns no association: the driver keeps associations under the ids
/// assigned here, and passes their [notices](Association::poll_notice) to [`on_notice`](Self::on_notice). INIT is
/// answered without keeping state; an association begins with its COOKIE ECHO.
///
/// Further associations with the same peer have SCTP ports of their own on this side. So do the sockets of programs
/// that share the endpoint: see [`bind_port`](Self::bind_port).
///
/// Packets over IP to other SCTP ports are dropped without an answer, since they may belong to others on the same host.
/// Over UDP they are answered as if those ports were not in use.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    /// Configuration of associations that peers begin, as they have it.
    accepted: SharedConfig,
    local_port: u16,
    local_addresses: AddressList,
    /// Whether a lower layer carries the packets of this endpoint.
    is_over_lower_layer: bool,
    /// SCTP ports beside `local_port` and those of `config`.
    bound: BoundPorts,
    table: AssociationTable,
    spent: SpentTags,
    secrets: CookieSecrets,
    limits: EndpointLimits,
    origins: Origins,
    departures: Departures,
    /// Memory of the associations that peers began, if it is limited.
    budget: Option<SharedBudget>,
    dropped: [u64; DropReason::COUNT],
}

impl Endpoint {
    /// An endpoint at `local_port` of `local_addresses`, which must be addresses of interfaces, not wildcards.
    ///
    /// Draws the secret of its cookies from `cx.rng`.
    pub fn new(
        mut config: EndpointConfig,
        local_port: u16,
        local_addresses: &[IpAddr],
        cx: &mut Cx<'_>,
    ) -> Self {
        config.further_ports.retain(|port| *port != 0);
        // A cookie lives twice its configured life if the peer wishes.
        let max_cookie_life = config.cookie_life * 2;
        let secrets =
            CookieSecrets::new(config.cookie_secret_life, max_cookie_life, cx.now, cx.rng);
        Self {
            limits: EndpointLimits::new(&config, cx.now),
            origins: Origins::new(&config),
            departures: Departures::default(),
            budget: config.max_buffered_bytes.map(|bytes| SharedBudget::new(Budget::new(bytes))),
            accepted: config.association.clone().shared(),
            config,
            local_port,
            local_addresses: local_addresses.iter().copied().filter(|a| is_unicast(*a)).collect(),
            is_over_lower_layer: false,
            bound: BoundPorts::default(),
            table: AssociationTable::default(),
            spent: SpentTags::default(),
            secrets,
            dropped: [0; DropReason::COUNT],
        }
    }

    /// An endpoint without addresses, at `local_port` over a lower layer to one peer, such as DTLS (RFC 8261).
    /// Associations have one path, and list no addresses in INIT. Received packets are passed as
    /// [`Received::from_lower_layer`], and packets to send have [`Encapsulation::LowerLayer`]; several endpoints may
    /// have ports over one lower layer.
    ///
    /// [`EndpointConfig::over_lower_layer`] is a suitable configuration.
    pub fn over_lower_layer(config: EndpointConfig, local_port: u16, cx: &mut Cx<'_>) -> Self {
        Self::over_lower_layer_named(config, local_port, LOWER_LAYER_LOCAL, cx)
    }

    /// Like [`over_lower_layer`](Self::over_lower_layer), with a lower layer that has a name in the form of an address, which is both the
    /// local address of each association and the address of its peer. It is not sent. Received packets are passed as
    /// [`Received::from_lower_layer_named`].
    pub fn over_lower_layer_named(
        mut config: EndpointConfig,
        local_port: u16,
        name: IpAddr,
        cx: &mut Cx<'_>,
    ) -> Self {
        config.association.fit_lower_layer();
        Self { is_over_lower_layer: true, ..Self::new(config, local_port, &[name], cx) }
    }

    /// Begins an association with the peer at `remote_port` of the addresses `peer`, all of which belong to it.
    ///
    /// Addresses that cannot be reached from any local one are left out, and so are those beyond
    /// [`max_paths`](AssociationConfig::max_paths).
    ///
    /// # Errors
    ///
    /// If no address remains, a port is 0, one of the addresses belongs to an association with the same port, or there
    /// are as many associations as there may be.
    pub fn connect(
        &mut self,
        cx: &mut Cx<'_>,
        config: AssociationConfig,
        remote_port: u16,
        peer: &[PeerAddress],
    ) -> Result<(AssociationId, Box<Association>), ConnectError> {
        let ports = Ports { local: self.local_port, remote: remote_port };
        self.connect_from(cx, config, ports, peer)
    }

    /// Begins a further association with a peer that this endpoint has one with, from an SCTP port of its own. Which of the dynamic
    /// ports (RFC 6335 section 6) is drawn from `cx.rng`.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), and if no port is found that is free.
    pub fn connect_from_another_port(
        &mut self,
        cx: &mut Cx<'_>,
        config: AssociationConfig,
        remote_port: u16,
        peer: &[PeerAddress],
    ) -> Result<(AssociationId, Box<Association>), ConnectError> {
        let first = cx.rng.next_u32() as u16;
        let local = self.free_port(first).ok_or(ConnectError::AlreadyConnected)?;
        self.connect_from(cx, config, Ports { local, remote: remote_port }, peer)
    }

    /// As [`connect`](Self::connect), from a port that is [bound](Self::bind_port), with the addresses of that port.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), and [`ConnectError::InvalidPort`] if the port is not bound.
    pub fn connect_from_port(
        &mut self,
        cx: &mut Cx<'_>,
        config: AssociationConfig,
        [local, remote]: [u16; 2],
        peer: &[PeerAddress],
    ) -> Result<(AssociationId, Box<Association>), ConnectError> {
        if !self.is_bound(local) {
            return Err(ConnectError::InvalidPort);
        }
        self.connect_from(cx, config, Ports { local, remote }, peer)
    }

    /// Binds a further SCTP port, or changes its configuration. Several programs, or several sockets of one, can thus
    /// share the endpoint and its UDP port. Existing associations at the port do not change.
    pub fn bind_port(&mut self, port: u16, mut config: PortConfig) {
        if self.is_over_lower_layer {
            config.association.fit_lower_layer();
        }
        if port != 0 {
            self.bound.set(port, config);
        }
    }

    /// Says that no further association may wait to be accepted at a port that is bound, or that it may again. Meanwhile peers are
    /// refused as at a port that does not listen; a new configuration of the port does not change that.
    pub fn set_port_full(&mut self, port: u16, full: bool) {
        self.bound.set_full(port, full);
    }

    /// Gives a port back that [`bind_port`](Self::bind_port) has bound. Associations at it live on.
    pub fn unbind_port(&mut self, port: u16) {
        self.bound.remove(port);
    }

    /// A dynamic port (RFC 6335 section 6) that is neither bound nor in use, the first one from `first` on.
    pub fn free_port(&self, first: u16) -> Option<u16> {
        let mut ports = (0..=0x3FFF_u16).map(|n| 0xC000 | first.wrapping_add(n) & 0x3FFF);
        ports.find(|port| !self.is_bound(*port) && !self.table.has_local_port(*port))
    }

    /// Whether a port is bound.
    pub fn is_port_bound(&self, port: u16) -> bool {
        self.is_bound(port)
    }

    fn connect_from(
        &mut self,
        cx: &mut Cx<'_>,
        mut config: AssociationConfig,
        ports: Ports,
        peer: &[PeerAddress],
    ) -> Result<(AssociationId, Box<Association>), ConnectError> {
        if self.is_over_lower_layer {
            config.fit_lower_layer();
        }
        let (identity, peer) = self.prepare_connect(cx, &config, ports, peer)?;
        let addresses: AddressList = peer.iter().map(|peer| peer.address).collect();
        let carried = peer.first().map_or(Encapsulation::None, |peer| peer.encapsulation);
        let id = self.table.insert(identity.local_tag, ports, (&addresses, &[]), carried);
        if config.error_detection != ErrorDetection::Crc32c {
            self.table.accept_zero_checksum(id);
        }
        Ok((id, Association::connect(cx, config.shared(), identity, &peer)))
    }

    /// Initiates an association with the SCTP port `remote_port` of the peer at the lower layer. Both sides may do so
    /// at once.
    ///
    /// # Errors
    ///
    /// Like [`connect`](Self::connect); without a lower layer there is no path.
    pub fn connect_over_lower_layer(
        &mut self,
        cx: &mut Cx<'_>,
        config: AssociationConfig,
        remote_port: u16,
    ) -> Result<(AssociationId, Box<Association>), ConnectError> {
        self.connect(cx, config, remote_port, &[PeerAddress::BEHIND_LOWER_LAYER])
    }

    /// Tells where a packet belongs.
    ///
    /// The checksum of a datagram is verified here; [`Association::handle`] may rely on it.
    pub fn handle(&mut self, cx: &mut Cx<'_>, received: &Received<'_>) -> Route {
        self.route(cx, received).unwrap_or_else(|reason| {
            self.count(reason);
            Route::Drop(reason)
        })
    }

    /// The association that a packet belongs to, according to addresses, ports and verification tag. Nothing else was
    /// checked: before [`Association::handle`], verify the checksum of a datagram, and that the tag still is the
    /// association's. `None` for packets that need [`handle`](Self::handle), which finds the same association.
    #[inline]
    pub fn owner_of(&self, received: &Received<'_>) -> Option<AssociationId> {
        self.peek_owner(received)
    }

    /// Handles a packet for which [`handle`](Self::handle) gave [`Route::Collision`] with this association.
    pub fn handle_collision(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        association: &mut Association,
    ) -> Collision {
        self.collide(cx, received, association).unwrap_or_else(|reason| {
            self.count(reason);
            Collision::Drop(reason)
        })
    }

    /// Accepts no further associations: INIT and COOKIE ECHO are answered as if the endpoint had never listened.
    pub fn stop_listening(&mut self) {
        self.config.listening = false;
    }

    /// Accepts associations again after [`stop_listening`](Self::stop_listening).
    pub fn resume_listening(&mut self) {
        self.config.listening = true;
    }

    /// Sets the associations that make way while [`max_associations`](EndpointConfig::max_associations) exist: each new one of a
    /// peer takes the place of one of them, the first one first, instead of being refused. The driver should name associations
    /// whose peers make no use of them, and none that it cannot end.
    ///
    /// [`take_replaced`](Self::take_replaced) has those whose places were taken.
    pub fn set_replaceable(&mut self, ids: impl IntoIterator<Item = AssociationId>) {
        self.departures.set(ids);
    }

    /// The next association whose place another one has taken: the driver aborts it. Ask after each [`Route::New`].
    pub fn take_replaced(&mut self) -> Option<AssociationId> {
        self.departures.next()
    }

    /// Replaces the shared keys of associations that peers begin from now on
    /// ([`shared_keys`](AssociationConfig::shared_keys)). Those that exist keep theirs.
    pub fn set_shared_keys(&mut self, keys: SharedKeys) {
        self.config.association.shared_keys = keys;
        self.accepted = self.config.association.clone().shared();
    }

    /// Takes note that this host got or lost an address: new associations use it, or no longer.
    ///
    /// Associations that exist do not hear of it here: call
    /// [`Association::handle_local_address`] on those that the change concerns. The last address stays.
    ///
    /// One over a lower layer has no addresses and gets none.
    pub fn handle_local_address(&mut self, change: LocalAddressChange) {
        match change {
            _ if self.is_over_lower_layer => {}
            LocalAddressChange::Added(address) => {
                if is_unicast(address) && !self.local_addresses.contains(&address) {
                    self.local_addresses.push(address);
                }
            }
            LocalAddressChange::Removed(address) => {
                if self.local_addresses.iter().any(|local| *local != address) {
                    self.local_addresses.retain(|local| *local != address);
                }
            }
        }
    }

    /// Takes note of a change inside an association.
    pub fn on_notice(&mut self, id: AssociationId, notice: Notice) {
        match notice {
            Notice::PeerAddress(address) => {
                self.table.add_address(id, address, AddressProof::Claimed);
            }
            Notice::PeerAddressConfirmed(address) => {
                self.table.add_address(id, address, AddressProof::Confirmed);
            }
            Notice::PeerAddressGone(address) => self.table.remove_address(id, address),
            Notice::TakesNewcomers => self.table.take_newcomers(id),
            Notice::TakesAddressChanges => self.table.take_address_changes(id),
            Notice::Closed => {
                self.origins.remove(id);
                self.departures.remove(id);
                if let Some(tag) = self.table.remove(id) {
                    self.spent.add(tag);
                }
            }
        }
    }

    /// The association between these SCTP ports, of this side and of the peer, whose peer is at this address: the one that an ICMP
    /// message about a packet to there may concern. Ask it whether it [has sent](Association::has_sent) that packet.
    pub fn association_with(
        &self,
        [local, remote]: [u16; 2],
        peer: PeerAddress,
    ) -> Option<AssociationId> {
        self.table.by_peer(Ports { local, remote }, peer.address, peer.encapsulation)
    }

    /// SCTP port of this endpoint.
    pub fn local_port(&self) -> u16 {
        self.local_port
    }

    /// Whether a lower layer carries the packets of this endpoint.
    pub fn is_over_lower_layer(&self) -> bool {
        self.is_over_lower_layer
    }

    /// Addresses of this endpoint.
    pub fn local_addresses(&self) -> &[IpAddr] {
        &self.local_addresses
    }

    /// Associations that have not given [`Notice::Closed`].
    pub fn association_count(&self) -> usize {
        self.table.len()
    }

    /// Bytes in the receive buffers of all associations that peers began, if
    /// [`max_buffered_bytes`](EndpointConfig::max_buffered_bytes) limits them.
    pub fn buffered_bytes(&self) -> Option<u64> {
        self.budget.as_ref().map(|budget| budget.used())
    }

    /// Packets dropped for this reason so far.
    pub fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// Whether one more association may begin without the end of another one.
    fn has_place(&self) -> bool {
        self.limits.has_room(self.table.len().saturating_sub(self.departures.count()))
    }

    /// Whether it is an SCTP port of this endpoint.
    fn is_bound(&self, port: u16) -> bool {
        port == self.local_port
            || self.config.further_ports.contains(&port)
            || self.bound.contains(port)
    }

    /// Whether peers may begin associations at this port of a local address.
    fn is_listening(&self, port: u16, local: IpAddr) -> bool {
        match self.bound.get(port) {
            Some(bound) => bound.listening && !bound.full && bound.addresses.has(local),
            None => self.config.listening && self.is_bound(port),
        }
    }

    /// Configuration of the associations that peers begin at the port.
    fn accepted_at(&self, port: u16) -> &SharedConfig {
        self.bound.get(port).map_or(&self.accepted, |bound| &bound.accepted)
    }

    /// Local addresses of the port.
    fn addresses_at(&self, port: u16) -> AddressList {
        let own = self.local_addresses.iter().copied();
        own.filter(|address| self.takes_address(port, *address)).collect()
    }

    /// Whether this local address belongs to the port.
    pub fn takes_address(&self, port: u16, address: IpAddr) -> bool {
        self.bound.get(port).is_none_or(|bound| bound.addresses.has(address))
    }

    /// Whether that is the port `own` of this endpoint itself. Another SCTP port may be another program's, and another UDP port is
    /// another endpoint, even on this host.
    fn is_self(&self, own: u16, port: u16, peer: &PeerAddress) -> bool {
        let own_carrier = match peer.encapsulation {
            Encapsulation::None => true,
            Encapsulation::Udp { local_port, remote_port } => local_port == remote_port,
            Encapsulation::LowerLayer => false,
        };
        own == port
            && self.is_bound(port)
            && own_carrier
            && self.local_addresses.contains(&peer.address)
    }

    fn count(&mut self, reason: DropReason) {
        self.dropped[reason as usize] += 1;
    }

    /// Checks a wish to connect, and draws the random numbers of the association.
    fn prepare_connect(
        &self,
        cx: &mut Cx<'_>,
        config: &AssociationConfig,
        ports: Ports,
        wished: &[PeerAddress],
    ) -> Result<(Identity, SmallVec<[PeerAddress; 2]>), ConnectError> {
        if ports.remote == 0 || ports.local == 0 {
            return Err(ConnectError::InvalidPort);
        }
        let max_addresses = usize::from(config.max_paths).clamp(1, MAX_ADDRESSES);
        let local = self.addresses_at(ports.local);
        let mut peer = SmallVec::<[PeerAddress; 2]>::new();
        for candidate in wished {
            let address = candidate.address;
            let is_carried =
                self.is_over_lower_layer == (candidate.encapsulation == Encapsulation::LowerLayer);
            let usable = is_carried
                && local.iter().any(|local| pairs(*local, address))
                && !self.is_self(ports.local, ports.remote, candidate)
                && peer.iter().all(|known| known.address != address);
            if usable && peer.len() < max_addresses {
                peer.push(*candidate);
            }
        }
        if peer.is_empty() {
            return Err(ConnectError::NoUsablePath);
        }
        let is_known =
            |peer: &PeerAddress| self.table.by_any_peer(ports, &[peer.address], peer.encapsulation);
        if peer.iter().any(|peer| is_known(peer).is_some()) {
            return Err(ConnectError::AlreadyConnected);
        }
        if !self.has_place() {
            return Err(ConnectError::TooManyAssociations);
        }
        // Of any family: the peer may have more addresses than those named (RFC 9260 section 5.1.2).
        let local = local.iter().copied();
        let offered = |a: &IpAddr| peer.iter().any(|p| reaches(*a, p.address));
        let identity = Identity {
            local_port: ports.local,
            remote_port: ports.remote,
            local_addresses: local.filter(offered).collect(),
            local_tag: self.table.draw_tag(cx.rng),
            initial_tsn: cx.rng.next_u32(),
        };
        Ok((identity, peer))
    }
}

/// Whether packets can go from `local` to `remote` at all.
fn pairs(local: IpAddr, remote: IpAddr) -> bool {
    local.is_ipv4() == remote.is_ipv4() && reaches(local, remote)
}

#[cfg(test)]
mod tests;
