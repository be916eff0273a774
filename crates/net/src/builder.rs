//! Binding an endpoint.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polypath_proto::Cx;
use polypath_proto::config::{AssociationOptions, EndpointConfig, ErrorDetection, PmtuDiscovery};
use rand_chacha::ChaCha12Rng;
use rand_core::Rng;
use tokio::runtime::RuntimeFlavor;
use tokio::sync::Notify;

use crate::accept::AcceptOptions;
use crate::address;
use crate::carriers::Carriers;
use crate::clock::{Clock, Context, secure_rng};
use crate::device::Devices;
use crate::driver::{Driver, LayerDriver};
use crate::endpoint::Endpoint;
use crate::error::BindError;
use crate::lower_layer::LowerLayer;
use crate::peer::ENCAPSULATION_PORT;
use crate::places::{MakeWay, Places};
use crate::probe::{ObservedAssociation, Observer, Observing};
use crate::socket::{Binding, SharedSockets, Sockets};
use crate::state::{Accepting, EndpointShared, EndpointState, Mailbox, Shards};
use crate::tap::{PacketTap, Tap};
use crate::wildcard::Wildcard;

/// Maximum number of shards.
const MAX_SHARDS: usize = 64;
/// Maximum number of shards by default.
const DEFAULT_SHARDS: usize = 8;

/// Settings of an endpoint to be bound; see [`Endpoint::builder`].
#[derive(Clone, Debug)]
pub struct EndpointBuilder {
    local_addresses: Vec<IpAddr>,
    devices: Devices,
    port: u16,
    further_ports: Vec<u16>,
    encapsulation_port: u16,
    carriers: Carriers,
    backlog: Option<usize>,
    config: EndpointConfig,
    tap: Tap,
    observing: Observing,
    accept_options: AcceptOptions,
    make_way: Option<MakeWay>,
    shards: Option<usize>,
}

impl Endpoint {
    /// Starts to configure an endpoint with these local addresses. Peers learn all of them, and each gets a socket of
    /// its own.
    ///
    /// On Linux, `0.0.0.0` stands for every IPv4 address of the host's interfaces, and `::` for every IPv6 address
    /// except link-local ones; list both for both. Each of these addresses gets a socket, too. Addresses that
    /// interfaces get and lose later are added and removed, as by [`Endpoint::bind_add`] and [`Endpoint::bind_remove`];
    /// changes by the program take precedence.
    ///
    /// ```
    /// use polypath::Endpoint;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let endpoint = Endpoint::builder(["127.0.0.13".parse()?, "::1".parse()?])
    ///     .port(5001)
    ///     .encapsulation_port(0)
    ///     .listen(16)
    ///     .bind()?;
    /// assert_eq!(endpoint.port(), 5001);
    /// # Ok(())
    /// # }
    /// ```
    pub fn builder(local_addresses: impl IntoIterator<Item = IpAddr>) -> EndpointBuilder {
        EndpointBuilder::new(local_addresses)
    }

    /// Starts to configure an endpoint without addresses and sockets: packets of up to `mtu_bytes` are sent over a
    /// lower layer of the program, such as DTLS (RFC 8261). Its configuration is [`EndpointConfig::over_lower_layer`],
    /// and it listens.
    ///
    /// ```
    /// use polypath::{AssociationConfig, ChannelLayer, Endpoint, Message};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (near, far) = ChannelLayer::pair(100);
    /// let here = Endpoint::over_lower_layer(1200).port(5000).start(near)?;
    /// let there = Endpoint::over_lower_layer(1200).port(5000).start(far)?;
    ///
    /// let config = AssociationConfig::over_lower_layer(1200);
    /// let (here, there) = tokio::try_join!(
    ///     here.connect_over_lower_layer(5000, config.clone()),
    ///     there.connect_over_lower_layer(5000, config),
    /// )?;
    /// here.send(Message::new(0, "both began")).await?;
    /// assert_eq!(there.receive().await?.ok_or("no message")?.into_bytes(), "both began");
    /// # Ok(())
    /// # }
    /// ```
    pub fn over_lower_layer(mtu_bytes: u16) -> EndpointBuilder {
        EndpointBuilder::new([]).config(EndpointConfig::over_lower_layer(mtu_bytes)).listen(16)
    }

    /// Like [`over_lower_layer`](Self::over_lower_layer), with a lower layer that has a name in the form of an address.
    /// Ports are [bound](Endpoint::bind_port) at that address, and [`BoundPort::connect`](crate::BoundPort::connect)
    /// reaches the peer by it. The peer does not learn it. The endpoint itself does not listen.
    ///
    /// ```
    /// use polypath::{AssociationConfig, ChannelLayer, Endpoint, Peer, PortAddresses, PortConfig};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (near, far) = ChannelLayer::pair(100);
    /// let name = "100:0:0:1::7".parse()?;
    /// let here = Endpoint::over_lower_layer_named(name, 1200).start(near)?;
    /// let there = Endpoint::over_lower_layer_named(name, 1200).start(far)?;
    ///
    /// let association = AssociationConfig::over_lower_layer(1200);
    /// let config = |listening| PortConfig {
    ///     local_addresses: PortAddresses::Listed(vec![name]),
    ///     listening,
    ///     association: association.clone(),
    /// };
    /// let (here, there) =
    ///     (here.bind_port(5000, config(false), 0)?, there.bind_port(5000, config(true), 1)?);
    /// let peer = Peer::new([name], 5000);
    /// let (here, there) = tokio::try_join!(here.connect(&peer, association.clone()), there.accept())?;
    /// assert_eq!((here.local_addresses(), there.local_addresses()), (vec![name], vec![name]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn over_lower_layer_named(name: IpAddr, mtu_bytes: u16) -> EndpointBuilder {
        EndpointBuilder::new([name]).config(EndpointConfig::over_lower_layer(mtu_bytes))
    }
}

impl EndpointBuilder {
    fn new(local_addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        Self {
            local_addresses: local_addresses.into_iter().collect(),
            devices: Devices::default(),
            port: 0,
            further_ports: Vec::new(),
            encapsulation_port: ENCAPSULATION_PORT,
            carriers: Carriers::default(),
            backlog: None,
            config: EndpointConfig::default(),
            tap: Tap::default(),
            observing: Observing::default(),
            accept_options: AcceptOptions::default(),
            make_way: None,
            shards: None,
        }
    }

    /// Binds the sockets of `address`, a present or future local address, to an interface (`SO_BINDTODEVICE`): its
    /// packets are sent and received there, whatever the routes say.
    ///
    /// An endpoint can thus use two uplinks at once although the default route uses one of them, without source
    /// routing. The interface needs a route to the peer, of any metric, and its `net.ipv4.conf.*.rp_filter` must not be
    /// 1, which drops packets that arrive by another route than the best one. IPv6 link-local addresses need this
    /// method.
    ///
    /// Linux only. Before Linux 5.7 it needs the capability `CAP_NET_RAW`.
    ///
    /// ```
    /// use polypath::Endpoint;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let address = "127.0.0.16".parse()?;
    /// let builder = Endpoint::builder([address]).encapsulation_port(0);
    /// # if cfg!(target_os = "linux") {
    /// let endpoint = builder.bind_to_device(address, "lo").bind()?;
    /// # }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn bind_to_device(mut self, address: IpAddr, device: impl AsRef<str>) -> Self {
        self.devices.set(address, device.as_ref());
        self
    }

    /// Sets the SCTP port; 0 (default): a random port of the dynamic range.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Also accepts associations on these SCTP ports, over the same sockets.
    /// [`Association::local_port`](crate::Association::local_port) returns the port that a peer chose; associations
    /// initiated here use the port of the endpoint.
    #[must_use]
    pub fn further_ports(mut self, ports: impl IntoIterator<Item = u16>) -> Self {
        self.further_ports = ports.into_iter().collect();
        self
    }

    /// Sets the UDP port, the same on every local address. Default: 9899; 0: chosen by the system.
    #[must_use]
    pub fn encapsulation_port(mut self, port: u16) -> Self {
        self.encapsulation_port = port;
        self
    }

    /// Sets the carrier of packets: UDP (default), IP itself, or both.
    ///
    /// Raw sockets cannot detect that another program serves the same SCTP port of the same address; both would answer.
    #[must_use]
    pub fn carriers(mut self, carriers: Carriers) -> Self {
        self.carriers = carriers;
        self
    }

    /// Accepts associations initiated by peers. At most `backlog` of them wait for [`Endpoint::accept`]; further ones
    /// are aborted.
    #[must_use]
    pub fn listen(mut self, backlog: usize) -> Self {
        self.backlog = Some(backlog);
        self
    }

    /// Sets the number of tasks that drive the associations, from 1 to 64; the threads of the runtime share them. Each
    /// association belongs to one task, the one with the fewest at that time; the first task also receives. Default:
    /// the number of threads of the runtime, at most 8.
    ///
    /// Several tasks make several associations faster on several cores, but not a single one. The order within an
    /// association and the limits of the endpoint do not depend on their number.
    #[must_use]
    pub fn shards(mut self, shards: usize) -> Self {
        self.shards = Some(shards.clamp(1, MAX_SHARDS));
        self
    }

    /// Passes every packet to `tap`.
    #[must_use]
    pub fn tap(mut self, tap: Arc<dyn PacketTap>) -> Self {
        self.tap = Tap(Some(tap));
        self
    }

    /// Sets the observer, which chooses a probe for each new association. The probe receives the association's events:
    /// chunks sent and acknowledged, windows, round-trip times, timeouts, path states. Associations without a probe
    /// have no cost; [`Association::set_probe`](crate::Association::set_probe) attaches one later.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use polypath::{BoxedProbe, Endpoint, Instant, ObservedAssociation, Probe, ProbeEvent};
    ///
    /// struct Timeouts(Arc<AtomicU64>);
    ///
    /// impl Probe for Timeouts {
    ///     fn on(&mut self, _now: Instant, event: ProbeEvent) {
    ///         if let ProbeEvent::Timeout { .. } = event {
    ///             self.0.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let timeouts = Arc::new(AtomicU64::new(0));
    /// let counter = Arc::clone(&timeouts);
    /// let endpoint = Endpoint::builder(["127.0.0.18".parse()?])
    ///     .encapsulation_port(0)
    ///     .observer(Arc::new(move |_: &ObservedAssociation| {
    ///         Some(Box::new(Timeouts(Arc::clone(&counter))) as BoxedProbe)
    ///     }))
    ///     .bind()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observing = Observing(Some(observer));
        self
    }

    /// Sets limits and the configuration of associations initiated by peers. Only [`listen`](Self::listen) makes the
    /// endpoint listen.
    #[must_use]
    pub fn config(mut self, config: EndpointConfig) -> Self {
        self.config = config;
        self
    }

    /// Chooses parameters for each association that a peer initiates, before it is answered; parameters that `choose`
    /// leaves `None` have the values of the [configuration](Self::config). If a value is invalid, the association is
    /// refused and counted in `associations_refused` of [`EndpointStats`](crate::EndpointStats).
    ///
    /// The task that drives the endpoint calls `choose` under a lock. It must not block, and must not call methods of
    /// the endpoint.
    ///
    /// ```
    /// use polypath::{AssociationOptions, Duration, Endpoint};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Endpoint::builder(["127.0.0.19".parse()?])
    ///     .encapsulation_port(0)
    ///     .listen(16)
    ///     .accept_options(|peer| AssociationOptions {
    ///         autoclose: (peer.remote_port == 7).then(|| Duration::from_secs(60)),
    ///         ..AssociationOptions::default()
    ///     })
    ///     .bind()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn accept_options(
        mut self,
        choose: impl Fn(&ObservedAssociation) -> AssociationOptions + Send + Sync + 'static,
    ) -> Self {
        self.accept_options = AcceptOptions(Some(Arc::new(choose)));
        self
    }

    /// Has idle and slow associations of peers make way for new ones while
    /// [`max_associations`](EndpointConfig::max_associations) exist: a peer that would have been refused takes the place of the
    /// slowest one, which is aborted and counted in `associations_replaced` of [`EndpointStats`](crate::EndpointStats). Default:
    /// all stay, and new ones are refused.
    ///
    /// Peers that have authenticated themselves with a shared key always stay, and so do those whose messages wait to be
    /// received, and associations that were initiated here. A new peer takes a place only when it has proved its address. From
    /// three quarters of the associations on, the rates of all are watched.
    #[must_use]
    pub fn make_way(mut self, rule: impl Into<Option<MakeWay>>) -> Self {
        self.make_way = rule.into();
        self
    }

    /// Binds a socket per local address, two for both carriers, and starts the driver as a task of the current tokio
    /// runtime.
    ///
    /// # Errors
    ///
    /// An address cannot be bound.
    pub fn bind(self) -> Result<Endpoint, BindError> {
        let (wildcard, addresses) = Wildcard::expand(&self.local_addresses);
        address::check_all(&addresses, &self.devices)?;
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        require_drivers()?;
        let mut rng = secure_rng()?;
        let port = if self.port == 0 { dynamic_port(&mut rng) } else { self.port };
        let mut binding = Binding {
            carriers: self.carriers,
            devices: self.devices.clone(),
            port,
            udp_port: self.encapsulation_port,
        };
        let sockets = binding.bind_all(&addresses)?;
        let mut config = self.config.clone();
        config.association.pmtu_discovery.get_or_insert(PmtuDiscovery::Probe);
        config.association.error_detection = ErrorDetection::Crc32c;
        let shards = Shards::new(self.shards.unwrap_or_else(|| default_shards(&runtime)));
        let ports = Ports { sctp: port, udp: binding.udp_port };
        let sockets = Sockets::new(sockets);
        let shared = self.share(config, ports, sockets, shards, rng, |config, cx| {
            polypath_proto::Endpoint::new(config, port, &addresses, cx)
        });
        let endpoint = Endpoint::new(Arc::clone(&shared));
        let driver = Driver::new(shared, binding, wildcard);
        for worker in driver.workers() {
            runtime.spawn(worker.run());
        }
        runtime.spawn(driver.run());
        Ok(endpoint)
    }

    /// Starts the driver as a task of the current tokio runtime, with `layer` instead of sockets.
    ///
    /// For an endpoint [`over a lower layer`](Endpoint::over_lower_layer). Settings of sockets have no effect on it.
    ///
    /// # Errors
    ///
    /// The runtime has no timers, or the system has no randomness.
    pub fn start(self, layer: impl LowerLayer) -> Result<Endpoint, BindError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| BindError::NoRuntime)?;
        require_time()?;
        let mut rng = secure_rng()?;
        let port = if self.port == 0 { dynamic_port(&mut rng) } else { self.port };
        let (config, name) = (self.config.clone(), self.local_addresses.first().copied());
        let (ports, sockets) = (Ports { sctp: port, udp: 0 }, Sockets::new(Vec::new()));
        let shared = self.share(config, ports, sockets, Shards::new(1), rng, |config, cx| {
            use polypath_proto::Endpoint;
            match name {
                Some(name) => Endpoint::over_lower_layer_named(config, port, name, cx),
                None => Endpoint::over_lower_layer(config, port, cx),
            }
        });
        let endpoint = Endpoint::new(Arc::clone(&shared));
        runtime.spawn(LayerDriver::new(shared, Box::new(layer), name).run());
        Ok(endpoint)
    }

    /// The state that handles and driver share.
    fn share(
        self,
        config: EndpointConfig,
        ports: Ports,
        sockets: Sockets,
        shards: Shards,
        rng: ChaCha12Rng,
        make: impl FnOnce(EndpointConfig, &mut Cx<'_>) -> polypath_proto::Endpoint,
    ) -> Arc<EndpointShared> {
        let mut config = EndpointConfig { listening: self.backlog.is_some(), ..config };
        config.further_ports.extend(self.further_ports);
        let places = Places::new(self.make_way, config.max_associations);
        let clock = Clock::start();
        let mut context = Context::new(rng);
        let protocol = context.lend(clock.now(), |cx| make(config, cx));
        let state = EndpointState {
            protocol,
            context,
            table: BTreeMap::new(),
            places,
            accept_queue: VecDeque::new(),
            accepting: match self.backlog {
                Some(_) => Accepting::Yes,
                None => Accepting::Stopped,
            },
            ports: BTreeMap::new(),
            closed: false,
        };
        Arc::new(EndpointShared {
            clock,
            port: ports.sctp,
            encapsulation_port: ports.udp,
            carriers: self.carriers,
            backlog: self.backlog.unwrap_or(0),
            tap: self.tap,
            observing: self.observing,
            accept_options: self.accept_options,
            state: Mutex::new(state),
            places_are_scarce: AtomicBool::new(false),
            sockets: SharedSockets::new(sockets),
            rebinds: Mailbox::new(shards.front().bell()),
            shards,
            incoming: Notify::new(),
            removed: Notify::new(),
            handles: AtomicUsize::new(0),
        })
    }
}

/// The ports of an endpoint.
struct Ports {
    sctp: u16,
    /// 0 without UDP.
    udp: u16,
}

/// One shard per thread of the runtime, within the limit.
fn default_shards(runtime: &tokio::runtime::Handle) -> usize {
    match runtime.runtime_flavor() {
        RuntimeFlavor::CurrentThread => 1,
        _ => runtime.metrics().num_workers().clamp(1, DEFAULT_SHARDS),
    }
}

/// Whether the current runtime has I/O and timers. It cannot be queried: using them panics if they are missing.
fn require_drivers() -> Result<(), BindError> {
    let probe = || {
        drop(tokio::time::sleep(Duration::ZERO));
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        tokio::net::UdpSocket::from_std(socket).map(drop)
    };
    // An error of the attempt itself comes again, with its place, when the sockets are bound.
    std::panic::catch_unwind(probe).map(|_: io::Result<()>| ()).map_err(|_| BindError::NoRuntime)
}

/// Whether the current runtime has timers.
fn require_time() -> Result<(), BindError> {
    let probe = || drop(tokio::time::sleep(Duration::ZERO));
    std::panic::catch_unwind(probe).map_err(|_| BindError::NoRuntime)
}

/// A port of the dynamic range (RFC 6335 section 6).
fn dynamic_port(rng: &mut ChaCha12Rng) -> u16 {
    0xC000 | (rng.next_u32() as u16 & 0x3FFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dynamic_ports_are_in_their_range() {
        let mut rng = secure_rng().unwrap();
        for _ in 0..100 {
            assert!(dynamic_port(&mut rng) >= 49152);
        }
    }
}
