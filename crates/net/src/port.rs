//! SCTP ports beside that of the endpoint, for several sockets that share one endpoint.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use polypath_proto::config::{AssociationConfig, ErrorDetection, PmtuDiscovery};
use polypath_proto::{PortAddresses, PortConfig};

use crate::association::Association;
use crate::endpoint::Endpoint;
use crate::error::{BindError, ConnectError};
use crate::peer::Peer;
use crate::state::{EndpointState, NOT_ACCEPTING, PortQueue};

/// An SCTP port of an [`Endpoint`], with its own addresses, configuration and queue of associations that wait to be
/// accepted.
///
/// Ports share the sockets and the UDP port of the endpoint, like the sockets of several programs share a host (`bind`,
/// `listen` of the sockets API). When it is dropped, the port is free again; associations that wait to be accepted are
/// aborted, and all others continue.
#[derive(Debug)]
pub struct BoundPort {
    endpoint: Endpoint,
    port: u16,
}

impl Endpoint {
    /// Binds a further SCTP port; 0: any free dynamic port.
    ///
    /// ```
    /// use polypath::{AssociationConfig, Endpoint, Message, Peer, PortAddresses, PortConfig};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = Endpoint::builder(["127.0.0.51".parse()?]).encapsulation_port(0).bind()?;
    /// let config = |listening| PortConfig {
    ///     local_addresses: PortAddresses::All,
    ///     listening,
    ///     association: AssociationConfig::default(),
    /// };
    /// let server = endpoint.bind_port(7000, config(true), 16)?;
    /// let client = endpoint.bind_port(0, config(false), 0)?;
    ///
    /// let peer = Peer::new(["127.0.0.51".parse()?], 7000).encapsulation_port(endpoint.encapsulation_port());
    /// let (there, here) =
    ///     tokio::try_join!(server.accept(), client.connect(&peer, AssociationConfig::default()))?;
    /// here.send(Message::new(0, "from one socket to another")).await?;
    /// assert!(there.receive().await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`BindError::PortInUse`] if the port is in use, and [`BindError::NotLocal`] if an address is not one of the
    /// endpoint.
    pub fn bind_port(
        &self,
        port: u16,
        config: PortConfig,
        backlog: usize,
    ) -> Result<BoundPort, BindError> {
        let mut state = self.shared().state();
        if state.closed {
            return Err(BindError::EndpointClosed);
        }
        let protocol = &state.protocol;
        let foreign = |address: &&IpAddr| !protocol.local_addresses().contains(address);
        if let PortAddresses::Listed(listed) = &config.local_addresses
            && let Some(address) = listed.iter().find(foreign)
        {
            return Err(BindError::NotLocal(*address));
        }
        let port = match port {
            0 => {
                let now = self.shared().clock.now();
                let EndpointState { protocol, context, .. } = &mut *state;
                let first = context.lend(now, |cx| cx.rng.next_u32()) as u16;
                protocol.free_port(first).ok_or(BindError::NoFreePort)?
            }
            taken if protocol.is_port_bound(taken) => return Err(BindError::PortInUse(taken)),
            free => free,
        };
        state.protocol.bind_port(port, prepared(config));
        state.ports.insert(port, PortQueue::new(backlog));
        state.refuse_if_full(port);
        drop(state);
        Ok(BoundPort { endpoint: self.clone(), port })
    }
}

/// The configuration with what associations over sockets need.
fn prepared(mut config: PortConfig) -> PortConfig {
    config.association.pmtu_discovery.get_or_insert(PmtuDiscovery::Probe);
    config.association.error_detection = ErrorDetection::Crc32c;
    config
}

impl BoundPort {
    /// SCTP port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Changes the configuration of future associations, and the number that may wait to be accepted. While so many wait, peers are
    /// refused as if the port did not listen.
    pub fn set(&self, config: PortConfig, backlog: usize) {
        let mut state = self.endpoint.shared().state();
        state.protocol.bind_port(self.port, prepared(config));
        if let Some(queue) = state.ports.get_mut(&self.port) {
            queue.backlog = backlog;
        }
        state.refuse_if_full(self.port);
    }

    /// Waits for the next association that a peer initiates at this port, even while the port does not listen.
    ///
    /// # Errors
    ///
    /// If the endpoint is closed.
    pub async fn accept(&self) -> Result<Association, ConnectError> {
        self.accept_with_place().await.map(|(association, _)| association)
    }

    /// Like [`accept`](Self::accept), for an association that continues to wait elsewhere: it counts as waiting until its place is dropped.
    ///
    /// # Errors
    ///
    /// If the endpoint is closed.
    pub async fn accept_with_place(&self) -> Result<(Association, WaitingPlace), ConnectError> {
        let shared = self.endpoint.shared();
        loop {
            let mut notified = pin!(shared.incoming.notified());
            notified.as_mut().enable();
            {
                let mut state = shared.state();
                if let Some(queue) = state.ports.get_mut(&self.port)
                    && let Some(handle) = queue.waiting.pop_front()
                {
                    let kept = Some(Arc::clone(&queue.kept));
                    let place =
                        WaitingPlace { endpoint: self.endpoint.clone(), port: self.port, kept };
                    return Ok((Association::new(handle), place));
                }
                if state.closed {
                    return Err(ConnectError::EndpointClosed);
                }
            }
            notified.await;
        }
    }

    /// Establishes an association from this port and its addresses. Like [`Endpoint::connect`], but never from another
    /// port.
    ///
    /// # Errors
    ///
    /// Like [`Endpoint::connect`]; also if the port has an association with this peer.
    pub async fn connect(
        &self,
        peer: &Peer,
        config: AssociationConfig,
    ) -> Result<Association, ConnectError> {
        let association = self.endpoint.begin_from(peer, config, self.port)?;
        association.established().await?;
        Ok(association)
    }
}

/// What an association takes of the number that may wait at a [`BoundPort`], until it is dropped.
#[derive(Debug)]
pub struct WaitingPlace {
    endpoint: Endpoint,
    port: u16,
    /// Counts the places of the queue; another socket may have the port by now.
    kept: Option<Arc<()>>,
}

impl Drop for WaitingPlace {
    fn drop(&mut self) {
        let mut state = self.endpoint.shared().state();
        self.kept = None;
        state.refuse_if_full(self.port);
    }
}

impl Drop for BoundPort {
    fn drop(&mut self) {
        let queue = {
            let mut state = self.endpoint.shared().state();
            state.protocol.unbind_port(self.port);
            state.ports.remove(&self.port)
        };
        // Outside the lock: dropping a handle calls back into the association.
        for association in queue.into_iter().flat_map(|queue| queue.waiting) {
            let shared = Arc::clone(&association);
            shared.abort(&NOT_ACCEPTING);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn peers_are_refused_while_as_many_wait_as_may() {
        let endpoint = || Endpoint::builder(["127.0.0.92".parse().unwrap()]).encapsulation_port(0);
        let (near, far) = (endpoint().bind().unwrap(), endpoint().bind().unwrap());
        let config = PortConfig {
            local_addresses: PortAddresses::All,
            listening: true,
            association: AssociationConfig::default(),
        };
        let port = far.bind_port(7000, config.clone(), 1).unwrap();
        let peer = Peer::new(far.local_addresses(), 7000);
        let peer = peer.encapsulation_port(far.encapsulation_port());
        let connect = || near.connect(&peer, AssociationConfig::default());
        let is_refused = |outcome| match outcome {
            Err(ConnectError::Ended(_)) => true,
            Ok(_) => false,
            Err(other) => panic!("{other}"),
        };
        let first = connect().await.unwrap();
        let another_port =
            || near.bind_port(0, PortConfig { listening: false, ..config.clone() }, 0);
        let second = another_port().unwrap();
        let again = || second.connect(&peer, AssociationConfig::default());
        assert!(is_refused(again().await));
        // It has been taken, and still counts.
        let (_accepted, place) = port.accept_with_place().await.unwrap();
        assert!(is_refused(again().await));
        port.set(config.clone(), 2);
        let third = again().await.unwrap();
        port.set(config.clone(), 1);
        drop(place);
        let other = another_port().unwrap();
        assert!(is_refused(other.connect(&peer, AssociationConfig::default()).await));
        let _taken = port.accept().await.unwrap();
        let last = other.connect(&peer, AssociationConfig::default()).await;
        assert!(!is_refused(last));
        drop((first, third));
    }
}
