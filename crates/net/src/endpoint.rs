//! The handle of an endpoint.

use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use bytes::Bytes;
use polypath_proto::config::{
    AssociationConfig, ErrorDetection, PathPairing, PmtuDiscovery, SharedKeys,
};
use polypath_proto::{
    Association as Protocol, AssociationId, Cx, Encapsulation, LocalAddressChange, PeerAddress,
};
use polypath_wire::cause_code;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::address::is_unicast;
use crate::association::Association;
use crate::error::{AssociationError, BindError, ConnectError};
use crate::peer::Peer;
use crate::probe::Initiator;
use crate::route;
use crate::state::{
    Accepting, AssociationShared, EndpointShared, EndpointState, Handle, NOT_ACCEPTING, Rebind,
};
use crate::stats::EndpointStats;

/// Further ports that are tried if the peer mistakes this host for another one with the same port.
const MAX_OTHER_PORTS: u32 = 3;

/// SCTP port of a new association.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The port of the endpoint, unless it has an association with the peer.
    Endpoint,
    /// A port of its own.
    Another,
    /// A bound port.
    Bound(u16),
}

/// Whether a peer refuses an association because it has another one with that port and address (RFC 9260 section
/// 5.2.2).
fn is_taken(causes: &[u8]) -> bool {
    causes.starts_with(&cause_code::RESTART_WITH_NEW_ADDRESSES.to_be_bytes())
}

/// An SCTP endpoint: a set of local addresses and an SCTP port, over UDP (RFC 6951) or IP itself.
///
/// It initiates associations with [`connect`](Self::connect) and, if it listens, returns those of peers from
/// [`accept`](Self::accept). A task of the tokio runtime in which it was bound does the work.
///
/// Clones are handles of the same endpoint. After the last one is dropped, no further association is accepted; existing
/// ones continue until they end, and then the sockets are closed.
#[derive(Debug)]
pub struct Endpoint {
    shared: Arc<EndpointShared>,
}

impl Endpoint {
    pub(crate) fn new(shared: Arc<EndpointShared>) -> Self {
        shared.handles.fetch_add(1, Ordering::Relaxed);
        Self { shared }
    }

    /// Establishes an association. Fails if the peer refuses, or does not answer within the limits for INIT
    /// (`max_init_retransmits` and the RTO policy). Dropping the future aborts the attempt.
    ///
    /// Path MTUs are probed up to `config.mtu_bytes`, unless `config.pmtu_discovery` says otherwise; then they start at
    /// the smaller of that and the MTU of the routes to the peer.
    ///
    /// There may be many associations with one peer. The first one has the SCTP port of the endpoint; further ones have
    /// ports of their own ([`Association::local_port`]), on which no associations are accepted. So has an association
    /// whose port the peer knows from another host, for example one behind the same address translator.
    pub async fn connect(
        &self,
        peer: &Peer,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let mut association = self.begin(peer, config.clone(), Source::Endpoint)?;
        for _ in 0..MAX_OTHER_PORTS {
            match association.established().await {
                Ok(()) => return Ok(association),
                Err(AssociationError::AbortedByPeer(causes)) if is_taken(&causes) => {
                    association = self.begin(peer, config.clone(), Source::Another)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        association.established().await?;
        Ok(association)
    }

    /// Like [`connect`](Self::connect), to a peer by its name and SCTP port, for example `sctp.example.net:5001`, on
    /// UDP port 9899. All addresses of the name are the peer's. [`Peer::resolve`] has the rules, and other UDP ports.
    ///
    /// # Errors
    ///
    /// The name cannot be resolved, and the errors of [`connect`](Self::connect).
    pub async fn connect_to(
        &self,
        name: &str,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        self.connect(&Peer::resolve(name).await?, config).await
    }

    pub(crate) fn shared(&self) -> &Arc<EndpointShared> {
        &self.shared
    }

    /// Initiates an association from a bound port.
    pub(crate) fn begin_from(
        &self,
        peer: &Peer,
        config: AssociationConfig,
        port: u16,
    ) -> Result<Association, ConnectError> {
        self.begin(peer, config, Source::Bound(port))
    }

    fn begin(
        &self,
        peer: &Peer,
        mut config: AssociationConfig,
        source: Source,
    ) -> Result<Association, ConnectError> {
        if let Some(wrong) = peer.addresses.iter().find(|address| !is_unicast(**address)) {
            return Err(ConnectError::NotUnicast(*wrong));
        }
        // Nothing else protects packets on sockets.
        config.error_detection = ErrorDetection::Crc32c;
        let discovery = config.pmtu_discovery.get_or_insert(PmtuDiscovery::Probe);
        if *discovery != PmtuDiscovery::Probe {
            config.mtu_bytes = self.route_mtu(peer, config.mtu_bytes);
        }
        if config.path_pairing == PathPairing::ByRoute {
            config.routes = route::sources(&peer.addresses);
        }
        let encapsulation = self.encapsulation(peer)?;
        let addresses: Vec<_> =
            peer.addresses.iter().map(|&address| PeerAddress { address, encapsulation }).collect();
        self.start(self.shared.state(), |protocol, cx| {
            if let Source::Bound(port) = source {
                return protocol.connect_from_port(cx, config, [port, peer.port], &addresses);
            }
            if source == Source::Endpoint {
                match protocol.connect(cx, config.clone(), peer.port, &addresses) {
                    Err(polypath_proto::ConnectError::AlreadyConnected) => {}
                    done => return done,
                }
            }
            protocol.connect_from_another_port(cx, config, peer.port, &addresses)
        })
    }

    /// The association with SCTP port `port` of the peer at the lower layer
    /// ([`over_lower_layer`](Self::over_lower_layer)): one that the peer has initiated and that waits to be accepted,
    /// or else a new one. Both sides may thus open the association at the same time, as in WebRTC. One that the peer
    /// has initiated has the configuration of the endpoint instead of `config`.
    ///
    /// # Errors
    ///
    /// Like [`connect`](Self::connect).
    pub async fn connect_over_lower_layer(
        &self,
        port: u16,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let association = self.open_over_lower_layer(port, config)?;
        association.established().await?;
        Ok(association)
    }

    /// Notes that packets take another path below the lower layer from now on, for example because ICE chose another
    /// pair of candidates. Path MTU probing and congestion control start again (RFC 8261 section 6.1). Has no effect
    /// over sockets, which detect changes themselves.
    pub fn lower_layer_changed(&self) {
        let table: Vec<_> = self.shared.state().table.values().map(Arc::clone).collect();
        let now = self.shared.clock.now();
        for association in table {
            association.lock().call(now, Protocol::handle_lower_layer_change);
            association.command();
        }
    }

    fn open_over_lower_layer(
        &self,
        port: u16,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let mut state = self.shared.state();
        let is_its = |handle: &Handle| handle.lock().protocol.identity().remote_port == port;
        if let Some(place) = state.accept_queue.iter().position(is_its)
            && let Some(handle) = state.accept_queue.remove(place)
        {
            return Ok(Association::new(handle));
        }
        self.start(state, |protocol, cx| protocol.connect_over_lower_layer(cx, config, port))
    }

    fn start(
        &self,
        mut state: MutexGuard<'_, EndpointState>,
        connect: impl FnOnce(
            &mut polypath_proto::Endpoint,
            &mut Cx<'_>,
        )
            -> Result<(AssociationId, Box<Protocol>), polypath_proto::ConnectError>,
    ) -> Result<Association, ConnectError> {
        if state.closed {
            return Err(ConnectError::EndpointClosed);
        }
        let now = self.shared.clock.now();
        let EndpointState { protocol, context, table, .. } = &mut *state;
        let wanted = self.shared.observing.is_possible();
        let (began, early) = context.lend_early(now, wanted, |cx| connect(protocol, cx));
        let (id, association) = began?;
        let shared = self.shared.adopt(id, Initiator::Local, association, context.fork(), early);
        table.insert(id, Arc::clone(&shared));
        drop(state);
        shared.command();
        Ok(Association::new(Handle::new(shared)))
    }

    /// Waits for the next association initiated by a peer. Fails if the endpoint does not listen.
    pub async fn accept(&self) -> Result<Association, ConnectError> {
        loop {
            let mut notified = pin!(self.shared.incoming.notified());
            notified.as_mut().enable();
            if let Some(accepted) = self.try_accept() {
                return accepted;
            }
            notified.await;
        }
    }

    /// Accepts associations as long as the endpoint listens, and runs the future that `serve` returns for each in a
    /// task of its own. `ended` is called with the output of each task, except those that panic. Returns when the
    /// endpoint no longer listens and the last task has ended. Dropping the future aborts the tasks.
    ///
    /// ```no_run
    /// # async fn example(endpoint: polypath::Endpoint) {
    /// let count = async |association: polypath::Association| {
    ///     let mut messages = 0;
    ///     while let Ok(Some(_)) = association.receive().await {
    ///         messages += 1;
    ///     }
    ///     messages
    /// };
    /// endpoint.serve(count, |messages| println!("{messages} messages")).await;
    /// # }
    /// ```
    pub async fn serve<S, T>(
        &self,
        mut serve: impl FnMut(Association) -> S,
        mut ended: impl FnMut(T),
    ) where
        S: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        let mut tasks = JoinSet::new();
        let mut listens = true;
        while listens || !tasks.is_empty() {
            tokio::select! {
                accepted = self.accept(), if listens => match accepted {
                    Ok(association) => {
                        tasks.spawn(serve(association));
                    }
                    Err(_) => listens = false,
                },
                Some(done) = tasks.join_next() => {
                    if let Ok(output) = done {
                        ended(output);
                    }
                }
            }
        }
    }

    fn try_accept(&self) -> Option<Result<Association, ConnectError>> {
        let mut state = self.shared.state();
        match state.accept_queue.pop_front() {
            Some(handle) => Some(Ok(Association::new(handle))),
            None if state.closed => Some(Err(ConnectError::EndpointClosed)),
            None if state.accepting == Accepting::Stopped => Some(Err(ConnectError::NotListening)),
            None => None,
        }
    }

    /// Stops accepting associations. Those that wait to be accepted are aborted, accepted ones continue, and
    /// [`accept`](Self::accept) fails.
    pub fn stop_listening(&self) {
        let waiting = {
            let mut state = self.shared.state();
            state.accepting = Accepting::Stopped;
            state.protocol.stop_listening();
            std::mem::take(&mut state.accept_queue)
        };
        for association in waiting {
            association.abort(&NOT_ACCEPTING);
        }
        self.shared.incoming.notify_waiters();
    }

    /// Accepts associations again after [`stop_listening`](Self::stop_listening). Has no effect on an endpoint that was
    /// bound without [`listen`](crate::EndpointBuilder::listen).
    pub fn resume_listening(&self) {
        let mut state = self.shared.state();
        if self.shared.backlog > 0 {
            state.accepting = Accepting::Yes;
            state.protocol.resume_listening();
        }
    }

    /// Replaces the shared keys (RFC 4895) of future associations initiated by peers: those of
    /// [`EndpointConfig::association`](polypath_proto::config::EndpointConfig::association). Existing associations keep
    /// theirs, including those that wait to be accepted; [`revoke_other_keys`](Self::revoke_other_keys) ends them.
    pub fn set_shared_keys(&self, keys: SharedKeys) {
        self.shared.state().protocol.set_shared_keys(keys);
    }

    /// Like [`set_shared_keys`](Self::set_shared_keys), and aborts, with `reason`, the associations initiated by peers whose key
    /// is not among `keys` any more. Returns their number. Associations without authentication continue, and those of
    /// [bound ports](Self::bind_port), which have keys of their own.
    pub fn revoke_other_keys(&self, keys: &SharedKeys, reason: impl Into<Bytes>) -> usize {
        let (table, ports): (Vec<_>, Vec<u16>) = {
            let mut state = self.shared.state();
            state.protocol.set_shared_keys(keys.clone());
            let begun = state.table.values().filter(|it| it.initiator == Initiator::Peer);
            (begun.map(Arc::clone).collect(), state.ports.keys().copied().collect())
        };
        let reason = reason.into();
        let is_revoked = |it: &Arc<AssociationShared>| {
            let inner = it.lock();
            let protocol = &inner.protocol;
            let is_of_port = ports.contains(&protocol.identity().local_port);
            !protocol.is_closed() && !is_of_port && protocol.has_key_beside(keys)
        };
        let revoked: Vec<_> = table.into_iter().filter(is_revoked).collect();
        revoked.iter().for_each(|association| association.abort(&reason));
        revoked.len()
    }

    /// Aborts all associations with `reason`, and accepts no further ones. Wait for [`idle`](Self::idle) before the
    /// program ends, so that the ABORTs are sent.
    pub fn close(&self, reason: impl Into<Bytes>) {
        self.stop_listening();
        let reason = reason.into();
        let table: Vec<_> = self.shared.state().table.values().map(Arc::clone).collect();
        for association in table {
            association.abort(&reason);
        }
    }

    /// Waits until no association is left, including those without handles that shut down in the background. Call it
    /// before the program ends, so that they can finish.
    pub async fn idle(&self) {
        loop {
            let mut notified = pin!(self.shared.removed.notified());
            notified.as_mut().enable();
            if self.shared.state().table.is_empty() {
                return;
            }
            notified.await;
        }
    }

    /// SCTP port.
    pub fn port(&self) -> u16 {
        self.shared.port
    }

    /// UDP port; 0 for an endpoint that does not use UDP.
    pub fn encapsulation_port(&self) -> u16 {
        self.shared.encapsulation_port
    }

    /// Local addresses (`sctp_getladdrs`).
    pub fn local_addresses(&self) -> Vec<IpAddr> {
        self.shared.state().protocol.local_addresses().to_vec()
    }

    /// Adds a local address, with a socket of its own on the same UDP port (`sctp_bindx`, `SCTP_BINDX_ADD_ADDR`).
    ///
    /// Future associations use it. Existing ones open paths from it according to their pairing, which are probed before
    /// they carry data. If both sides have the policy `address_reconfiguration`, the peer is requested to add the
    /// address (ASCONF, RFC 5061), and it is used once the peer has acknowledged it
    /// ([`Event::LocalAddress`](crate::Event::LocalAddress)). Otherwise a path becomes usable if both sides have
    /// `address_join`, or if the peer knows the address from the handshake, for example when an address returns that
    /// was [removed](Self::bind_remove).
    ///
    /// Once polled, it completes even if the future is dropped.
    ///
    /// ```
    /// use polypath::Endpoint;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = Endpoint::builder(["127.0.0.14".parse()?]).encapsulation_port(0).bind()?;
    /// endpoint.bind_add("127.0.0.15".parse()?).await?;
    /// endpoint.bind_remove("127.0.0.14".parse()?).await?;
    /// assert_eq!(endpoint.local_addresses(), ["127.0.0.15".parse::<std::net::IpAddr>()?]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn bind_add(&self, address: IpAddr) -> Result<(), BindError> {
        self.rebind(LocalAddressChange::Added(address), None).await
    }

    /// Like [`bind_add`](Self::bind_add), and binds the address to an interface
    /// ([`EndpointBuilder::bind_to_device`](crate::EndpointBuilder::bind_to_device)).
    pub async fn bind_add_to_device(
        &self,
        address: IpAddr,
        device: impl Into<String>,
    ) -> Result<(), BindError> {
        self.rebind(LocalAddressChange::Added(address), Some(device.into())).await
    }

    /// Removes a local address and closes its socket (`sctp_bindx`, `SCTP_BINDX_REM_ADDR`). The last one stays.
    ///
    /// Paths from it become inactive at once, keep their counters, and their data in flight is retransmitted elsewhere.
    /// An association without another address keeps retrying until the address returns or its peer counts as
    /// unreachable. Call this when an interface loses an address. If both sides have the policy
    /// `address_reconfiguration`, the peer is requested to delete the address; otherwise it notices by its timeouts.
    ///
    /// Once polled, it completes even if the future is dropped.
    pub async fn bind_remove(&self, address: IpAddr) -> Result<(), BindError> {
        self.rebind(LocalAddressChange::Removed(address), None).await
    }

    async fn rebind(
        &self,
        change: LocalAddressChange,
        device: Option<String>,
    ) -> Result<(), BindError> {
        let (done, outcome) = oneshot::channel();
        let wish = Rebind { change, device, done };
        if self.shared.rebinds.leave(|wishes| wishes.push(wish)).is_none() {
            return Err(BindError::EndpointClosed);
        }
        outcome.await.unwrap_or(Err(BindError::EndpointClosed))
    }

    /// Counters of the sockets.
    pub fn stats(&self) -> EndpointStats {
        let shards = self.shared.shards.iter().map(|shard| shard.stats());
        shards.fold(EndpointStats::default(), EndpointStats::plus)
    }

    /// The carrier of packets to the peer.
    fn encapsulation(&self, peer: &Peer) -> Result<Encapsulation, ConnectError> {
        if self.shared.state().protocol.is_over_lower_layer() {
            return Ok(Encapsulation::LowerLayer);
        }
        let carriers = self.shared.carriers;
        match peer.encapsulation_port {
            Some(remote_port) if carriers.udp() => {
                Ok(Encapsulation::Udp { local_port: self.shared.encapsulation_port, remote_port })
            }
            None if carriers.raw_ip() => Ok(Encapsulation::None),
            _ => Err(ConnectError::Carrier),
        }
    }

    /// The smallest MTU of the routes between local addresses and the peer's, at most `limit`.
    fn route_mtu(&self, peer: &Peer, limit: u16) -> u16 {
        let local = self.local_addresses();
        let pairs = local.iter().flat_map(|from| peer.addresses.iter().map(move |to| (*from, *to)));
        let known = pairs.filter_map(|(from, to)| self.shared.sockets.route_mtu(from, to)).min();
        known.map_or(limit, |mtu| limit.min(u16::try_from(mtu).unwrap_or(u16::MAX)))
    }
}

impl Clone for Endpoint {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.shared))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        if self.shared.handles.fetch_sub(1, Ordering::AcqRel) == 1 {
            let waiting = {
                let mut state = self.shared.state();
                state.closed = true;
                std::mem::take(&mut state.accept_queue)
            };
            // Their handles are dropped outside the lock: dropping one calls back into the association.
            drop(waiting);
            self.shared.incoming.notify_waiters();
            self.shared.shards.front().wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use super::*;

    /// Endpoints and associations, to check whether they are freed.
    type Remains = (Vec<Weak<EndpointShared>>, Vec<Weak<AssociationShared>>);

    /// An endpoint with one accepted and one waiting association, and the other ends of both.
    fn associations() -> (Remains, Endpoint, Vec<Association>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let bind = |address: &str, backlog| {
                let builder = Endpoint::builder([address.parse().unwrap()]).encapsulation_port(0);
                builder.listen(backlog).bind().unwrap()
            };
            let (server, client) = (bind("127.0.0.43", 2), bind("127.0.0.44", 0));
            let peer = Peer::new(server.local_addresses(), server.port())
                .encapsulation_port(server.encapsulation_port());
            let near = client.connect(&peer, AssociationConfig::default()).await.unwrap();
            let far = server.accept().await.unwrap();
            let other = bind("127.0.0.45", 0);
            let waiting = other.connect(&peer, AssociationConfig::default()).await.unwrap();
            let endpoints = [&server, &client, &other].map(|endpoint| &endpoint.shared);
            let associations = endpoints.iter().flat_map(|endpoint| {
                endpoint.state().table.values().map(Arc::downgrade).collect::<Vec<_>>()
            });
            let remains = (endpoints.map(Arc::downgrade).to_vec(), associations.collect());
            (remains, server, vec![near, far, waiting])
        })
    }

    #[tokio::test]
    async fn who_has_a_key_or_an_unread_message_makes_no_way() {
        let key = |bytes: &[u8]| {
            let mut config = AssociationConfig::default();
            config.policies.authenticated_chunks = polypath_proto::config::AuthenticatedChunks::All;
            config.shared_keys = match bytes {
                [] => SharedKeys::new(),
                key => SharedKeys::with_key(7, key).unwrap(),
            };
            config
        };
        for (config, stays) in [
            (AssociationConfig::default(), false),
            // Everybody has the empty key.
            (key(&[]), false),
            (key(b"a key of their own"), true),
        ] {
            let bind = |address: &str, association: AssociationConfig| {
                let builder = Endpoint::builder([address.parse().unwrap()]).encapsulation_port(0);
                let config = polypath_proto::config::EndpointConfig {
                    association,
                    ..polypath_proto::config::EndpointConfig::default()
                };
                builder.config(config).listen(1).bind().unwrap()
            };
            let (server, client) =
                (bind("127.0.0.46", config.clone()), bind("127.0.0.47", config.clone()));
            let peer = Peer::new(server.local_addresses(), server.port())
                .encapsulation_port(server.encapsulation_port());
            let near = client.connect(&peer, config).await.unwrap();
            let far = server.accept().await.unwrap();
            near.send(crate::Message::new(0, "first")).await.unwrap();
            far.receive().await.unwrap().unwrap();
            let seen = far.shared.lock().seen();
            assert_eq!((seen.stays, seen.bytes), (stays, 5));
            near.send(crate::Message::new(0, "second")).await.unwrap();
            near.sender_dry().await.unwrap();
            assert!(far.shared.lock().seen().stays);
        }
    }

    #[test]
    fn nothing_keeps_itself_alive_when_the_runtime_is_gone() {
        let ((endpoints, associations), server, held) = associations();
        assert_eq!(associations.len(), 4);
        held[0].abort("nobody is there to do it");
        held[1].abort("nobody is there to do it");
        server.close("neither here");
        drop((server, held));
        assert!(endpoints.iter().all(|endpoint| endpoint.strong_count() == 0));
        assert!(associations.iter().all(|association| association.strong_count() == 0));
    }
}
