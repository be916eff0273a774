//! Configuration of endpoints and associations.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::TrafficMarks;
use crate::Duration;

use super::plug_in::{CustomCongestion, CustomScheduler};
use super::{AddressReconfiguration, MissingReports, NetworkLimit, Policies, Preset, SharedKeys};

/// Which pairs of a local and a remote address become paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum PathPairing {
    /// Uses every local and every remote address at least once: the first with the first, the second with the second,
    /// and the last address of the shorter list with the rest of the longer one.
    #[default]
    ByIndex,
    /// Pairs each remote address with the local address that the system uses to reach it, according to
    /// [`routes`](AssociationConfig::routes); by index without a route.
    ByRoute,
    /// Every local address with every remote address.
    FullMesh,
    /// One path per remote address (RFC 9260 section 1.3), from the local address at the same position if there is
    /// one, else from the first.
    Rfc9260,
}

/// Whether the peer may use addresses that it did not list in the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum AddressJoin {
    /// Packets from other addresses are dropped. A path through an address translator works only if the handshake used
    /// it.
    #[default]
    Off,
    /// If both sides have it, either side may open paths from behind address translators and from later addresses, and
    /// keep a path whose address changes. HEARTBEATs prove that an address belongs to the peer; it is used once it has
    /// answered.
    On,
}

/// How damaged packets are detected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[non_exhaustive]
pub enum ErrorDetection {
    /// The CRC32c of each packet (RFC 9260 section 6.8).
    #[default]
    Crc32c,
    /// By DTLS, which carries every packet of the association (RFC 8261). The handshake says so, and packets with a
    /// checksum of zero are accepted; if the peer does the same, packets are sent with a checksum of zero (RFC 9653).
    LowerLayerDtls,
}

/// What happens to messages that do not fit into one chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum LongMessages {
    /// They are sent in several chunks.
    #[default]
    Fragment,
    /// They are rejected (`SCTP_DISABLE_FRAGMENTS`, RFC 6458 section 8.1.11).
    Refuse,
}

/// When messages are sent that do not fill a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum SmallMessages {
    /// As soon as congestion control permits (`SCTP_NODELAY`, RFC 6458 section 8.1.5).
    #[default]
    Immediate,
    /// Once all earlier data is acknowledged, or enough of them wait to fill a packet (Nagle's algorithm, RFC 1122
    /// section 4.2.3.4). Many small messages take fewer packets, and a message waits for up to a round trip.
    Bundled,
}

/// When the association answers the peer's SHUTDOWN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ShutdownAnswer {
    /// Once every message is acknowledged. After the SHUTDOWN the user can send no more messages.
    #[default]
    Automatic,
    /// Once the user has asked for shutdown as well, and every message is acknowledged. Until then the user can send
    /// messages: those that waited in a queue of its own when the SHUTDOWN arrived.
    OnRequest,
}

/// How the MTU of a path is determined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum PmtuDiscovery {
    /// It is always the MTU that is set, whatever routers report (RFC 6458 `SPP_PMTUD_DISABLE`).
    Fixed,
    /// It starts at the MTU that is set and shrinks when routers or this host report that packets are too big (RFC 1191, RFC
    /// 8201). If ICMP is filtered, packets that are too big are lost.
    Icmp,
    /// Probes determine it, from 1200 bytes up to the MTU that is set, with or without ICMP, and detect when it shrinks or
    /// grows (RFC 8899).
    Probe,
}

/// A route of the system to a remote address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceRoute {
    /// The address to reach.
    pub remote: IpAddr,
    /// The local address that the system uses.
    pub local: IpAddr,
}

/// Configuration of an association. Fields can be changed before it is created.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct AssociationConfig {
    /// Number of outbound streams to request.
    pub outbound_streams: u16,
    /// Largest number of inbound streams to accept.
    pub max_inbound_streams: u16,
    /// Size of the send buffer in bytes: unsent and unacknowledged data. A message counts at least 128 bytes, about the
    /// memory of the shortest one.
    pub send_buffer_bytes: u64,
    /// Size of the receive buffer in bytes, which the receive window advertises.
    pub receive_buffer_bytes: u32,
    /// Size in bytes from which a message is delivered in [pieces](crate::Piece) before it is complete
    /// (`SCTP_PARTIAL_DELIVERY_POINT`, RFC 6458 section 8.1.21). `None`: only messages larger than the receive buffer
    /// are.
    pub partial_delivery_point: Option<u32>,
    /// Largest path MTU in bytes, including the IP header; over another lower layer, its longest SCTP packet. It is the
    /// initial path MTU unless the path is probed. The minimum is the headers and 64 bytes.
    pub mtu_bytes: u16,
    /// How path MTUs are determined. `None`: the driver decides; real networks are probed, simulated ones are not.
    pub pmtu_discovery: Option<PmtuDiscovery>,
    /// Maximum user data in a chunk in bytes (`SCTP_MAXSEG`, RFC 6458 section 8.1.16); `None`: what every path carries.
    pub max_fragment_bytes: Option<u32>,
    /// What happens to messages that do not fit into one chunk.
    pub long_messages: LongMessages,
    /// When messages are sent that do not fill a packet.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub small_messages: SmallMessages,
    /// When the peer's SHUTDOWN is answered.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub shutdown_answer: ShutdownAnswer,
    /// DSCP of all packets (`spp_dscp` of `SCTP_PEER_ADDR_PARAMS`, RFC 6458 section 8.1.12), from 0 to 63; 0 is best
    /// effort. Sockets set it on Linux and Android.
    pub dscp: u8,
    /// Flow label of packets over IPv6 (`spp_ipv6_flowlabel`), from 1 to 0xF_FFFF; 0: the system chooses. Sockets set
    /// it on Linux and Android.
    pub ipv6_flow_label: u32,
    /// Which address pairs become paths.
    pub path_pairing: PathPairing,
    /// Routes of the system, for [`PathPairing::ByRoute`]; set by drivers.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub routes: Vec<SourceRoute>,
    /// Whether the peer may use addresses that it did not list in the handshake.
    pub address_join: AddressJoin,
    /// How damaged packets are detected. Only programs that pass all packets through DTLS may change it: nothing else
    /// detects damage then.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub error_detection: ErrorDetection,
    /// Adaptation code point for the peer's program (RFC 5061 section 4.2.6; `SCTP_ADAPTATION_LAYER`); `None`: not
    /// sent.
    pub adaptation_layer: Option<u32>,
    /// A local address that the handshake requests the peer to use as long as it works (Set Primary Address in INIT and
    /// INIT ACK, RFC 5061 section 5.4), if `policies.address_reconfiguration` is on. It must be an address of the
    /// association that the handshake lists.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub preferred_address: Option<IpAddr>,
    /// Largest number of paths, at most 32; further addresses are ignored and counted.
    pub max_paths: u8,
    /// Association.Max.Retrans: consecutive timeouts over all paths before the association fails. With
    /// `policies.failover.outage_probe_interval` they count like those of one path whose timeout doubles up to RTO.Max:
    /// the 20 of `recommended` are about 13 minutes of silence.
    pub association_max_retrans: u32,
    /// Path.Max.Retrans: a path fails when its consecutive timeouts exceed this.
    pub path_max_retrans: u32,
    /// Max.Init.Retransmits: maximum number of retransmissions of INIT and of COOKIE ECHO.
    pub max_init_retransmits: u32,
    /// HB.interval: added to the RTO, the interval between heartbeats on an idle path. `None`: heartbeats only confirm
    /// addresses and probe failed paths, at the RTO, up to RTO.Max.
    pub heartbeat_interval: Option<Duration>,
    /// HB.Max.Burst: number of unconfirmed paths probed at a time, an RTO apart; limits the effect of a forged list of
    /// addresses.
    pub heartbeat_max_burst: u32,
    /// Longest shutdown, from the call (T5-shutdown-guard, RFC 9260 section 9.2). `None`: 5 times RTO.Max from the
    /// first SHUTDOWN, so data may take as long as it needs.
    pub shutdown_guard: Option<Duration>,
    /// Time without user data in either direction after which the association shuts down (`SCTP_AUTOCLOSE`, RFC 6458
    /// section 8.1.8), at most a quarter of it later; `None`: never.
    pub autoclose: Option<Duration>,
    /// Keys shared with the peer, used if `policies.authenticated_chunks` is on (RFC 4895).
    #[cfg_attr(feature = "serde", serde(skip))]
    pub shared_keys: SharedKeys,
    /// Policies: what the standard and the literature leave open.
    pub policies: Policies,
    /// A congestion control of the program; `None`: that of `policies.congestion`. The other policies apply to it as
    /// well.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub custom_congestion: Option<CustomCongestion>,
    /// A path scheduler of the program; `None`: `policies.path_order` and `policies.path_fill`. Other policies still
    /// depend on `policies.path_order`, which should not be `primary` then.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub custom_scheduler: Option<CustomScheduler>,
}

/// Maximum size in bytes of the send and of the receive buffer in the default configuration. In a smaller buffer than
/// what the paths carry during the smallest retransmission timeout (1 s), one chunk that is lost twice on one path
/// stops all paths; this size is enough for 268 Mbit/s.
pub const BUFFER_BYTES: u32 = 32 << 20;

/// The same in the presets of the literature; studies set the sizes that they compare.
pub const STUDY_BUFFER_BYTES: u32 = 1 << 20;

/// The shared configuration of associations: those that peers initiate at one endpoint share one, and none of them
/// changes it. It is a twelfth of the memory of an idle association, and not part of its state.
#[allow(clippy::disallowed_types)]
pub(crate) type SharedConfig = alloc::sync::Arc<AssociationConfig>;

impl AssociationConfig {
    /// The form that associations use.
    pub(crate) fn shared(mut self) -> SharedConfig {
        // With a timeout of zero, timers would expire without time passing.
        let rto = &mut self.policies.rto;
        for span in [&mut rto.initial, &mut rto.min, &mut rto.max] {
            *span = (*span).max(Duration::from_millis(1));
        }
        SharedConfig::new(self)
    }

    /// Markings of its packets for the network.
    #[inline]
    pub(crate) fn traffic(&self) -> TrafficMarks {
        TrafficMarks { dscp: self.dscp, flow_label: self.ipv6_flow_label }
    }

    /// Whether congestion controllers need the other paths of their group.
    pub(crate) fn couples_windows(&self) -> bool {
        self.policies.congestion.couples() || self.custom_congestion.is_some()
    }

    /// Whether congestion controllers need the delivery rates of their paths.
    pub(crate) fn samples_rates(&self) -> bool {
        self.policies.congestion.samples_rates() || self.custom_congestion.is_some()
    }

    /// Whether a reordering window detects losses.
    pub(crate) fn adapts_to_reordering(&self) -> bool {
        self.policies.fast_retransmit.reports == MissingReports::Adaptive
    }

    /// The configuration of a preset. [`Preset::Recommended`] is the default; the other presets have buffers of
    /// [`STUDY_BUFFER_BYTES`].
    pub fn with_preset(preset: Preset) -> Self {
        let buffer_bytes = match preset {
            Preset::Recommended => BUFFER_BYTES,
            _ => STUDY_BUFFER_BYTES,
        };
        Self {
            send_buffer_bytes: buffer_bytes.into(),
            receive_buffer_bytes: buffer_bytes,
            heartbeat_max_burst: match preset {
                Preset::Recommended => Self::default().heartbeat_max_burst,
                _ => 1,
            },
            // RFC 9260 section 16.
            association_max_retrans: match preset {
                Preset::Recommended => Self::default().association_max_retrans,
                _ => 10,
            },
            address_join: match preset {
                Preset::Recommended => AddressJoin::On,
                _ => AddressJoin::Off,
            },
            policies: preset.policies(),
            ..Self::default()
        }
    }
}

/// What fits a lower layer.
impl AssociationConfig {
    /// The default for an association over a lower layer that leads to one peer and carries SCTP packets of
    /// `mtu_bytes`, such as DTLS (RFC 8261). RFC 8261 recommends at most 1200 if the path below is unknown.
    ///
    /// The path MTU is `mtu_bytes`. If the lower layer's own packets are not fragmented, set `pmtu_discovery` to
    /// [`PmtuDiscovery::Probe`] and `mtu_bytes` to the maximum of the lower layer: probes then determine the path MTU,
    /// from 1200 bytes up.
    pub fn over_lower_layer(mtu_bytes: u16) -> Self {
        let mut config =
            Self { mtu_bytes, pmtu_discovery: Some(PmtuDiscovery::Fixed), ..Self::default() };
        // RFC 8261 section 6.1.
        config.path_max_retrans = config.association_max_retrans;
        config.fit_lower_layer();
        config
    }

    /// A lower layer is one path, whatever addresses the peer lists.
    pub(crate) fn fit_lower_layer(&mut self) {
        self.max_paths = 1;
        self.address_join = AddressJoin::Off;
        self.policies.address_reconfiguration = AddressReconfiguration::Off;
    }
}

/// The preset `recommended`, with which a transfer over several paths is not slower than over the best of them. Its
/// buffers grow with what the paths carry, up to [`BUFFER_BYTES`].
impl Default for AssociationConfig {
    fn default() -> Self {
        Self {
            outbound_streams: 10,
            max_inbound_streams: 2048,
            send_buffer_bytes: BUFFER_BYTES.into(),
            receive_buffer_bytes: BUFFER_BYTES,
            partial_delivery_point: None,
            mtu_bytes: 1500,
            pmtu_discovery: None,
            max_fragment_bytes: None,
            long_messages: LongMessages::Fragment,
            small_messages: SmallMessages::Immediate,
            shutdown_answer: ShutdownAnswer::Automatic,
            dscp: 0,
            ipv6_flow_label: 0,
            path_pairing: PathPairing::ByIndex,
            routes: Vec::new(),
            address_join: AddressJoin::On,
            error_detection: ErrorDetection::Crc32c,
            adaptation_layer: None,
            preferred_address: None,
            max_paths: 8,
            association_max_retrans: 20,
            path_max_retrans: 5,
            max_init_retransmits: 8,
            heartbeat_interval: Some(Duration::from_secs(30)),
            heartbeat_max_burst: 8,
            shutdown_guard: None,
            autoclose: None,
            shared_keys: SharedKeys::new(),
            policies: Preset::Recommended.policies(),
            custom_congestion: None,
            custom_scheduler: None,
        }
    }
}

/// Configuration of an endpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct EndpointConfig {
    /// Whether associations initiated by peers are accepted.
    pub listening: bool,
    /// SCTP ports on which they are accepted, beside that of the endpoint.
    pub further_ports: Vec<u16>,
    /// Valid.Cookie.Life: how long a state cookie is valid; up to twice as long at the peer's request.
    pub cookie_life: Duration,
    /// Interval at which the secret for cookies changes, at least two `cookie_life`; the previous secret stays valid as
    /// long as its cookies.
    pub cookie_secret_life: Duration,
    /// Maximum number of associations; an INIT beyond it is answered with ABORT (out of resource).
    pub max_associations: u32,
    /// Maximum number of associations initiated by peers at one address, according to the source of their INIT; of IPv6
    /// addresses, the first 64 bits count. An INIT beyond it is answered with ABORT, with the reason. `None`:
    /// unlimited.
    pub max_associations_per_address: Option<u32>,
    /// The same for all addresses of a network together, so that a peer with many addresses does not take every place.
    /// `None`: unlimited.
    pub max_associations_per_network: Option<NetworkLimit>,
    /// Maximum number of bytes in the receive buffers of all associations that peers initiated, counted as the memory
    /// that the data occupies. From half of it, each association is limited to a share: the receive windows of those
    /// above it shrink, and DATA beyond is dropped until the program reads. Near the limit, further associations are
    /// refused (out of resource). `None`: limited by [`max_associations`](Self::max_associations) and the receive
    /// buffers.
    pub max_buffered_bytes: Option<u64>,
    /// Maximum number of answers to packets out of the blue (ABORT, SHUTDOWN COMPLETE, ERROR) per second.
    pub max_out_of_the_blue_answers_per_s: u32,
    /// Configuration of associations initiated by peers.
    pub association: AssociationConfig,
}

impl EndpointConfig {
    /// The configuration over a lower layer that carries SCTP packets of `mtu_bytes`; see
    /// [`AssociationConfig::over_lower_layer`]. The endpoint listens.
    pub fn over_lower_layer(mtu_bytes: u16) -> Self {
        let association = AssociationConfig::over_lower_layer(mtu_bytes);
        Self { listening: true, association, ..Self::default() }
    }
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            listening: false,
            further_ports: Vec::new(),
            cookie_life: Duration::from_secs(60),
            cookie_secret_life: Duration::from_secs(3600),
            max_associations: 65_536,
            max_associations_per_address: None,
            max_associations_per_network: None,
            max_buffered_bytes: None,
            max_out_of_the_blue_answers_per_s: 100,
            association: AssociationConfig::default(),
        }
    }
}
