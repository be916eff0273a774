//! Configuration of endpoints and associations.

use alloc::vec::Vec;
use core::net::IpAddr;

use super::TrafficMarks;
use crate::Duration;

use super::plug_in::{CustomCongestion, CustomScheduler};
use super::{AddressReconfiguration, MissingReports, Policies, Preset, SharedKeys};

/// Which pairs of a local and a remote address become paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum PathPairing {
    /// Every local and every remote address at least once: the first with the first, the second with the second, and
    /// the shorter list's last address with what is left of the longer one.
    #[default]
    ByIndex,
    /// For each remote address the local one that the system sends from to reach it, as far as
    /// [`routes`](AssociationConfig::routes) say; by index for those of which they say nothing.
    ByRoute,
    /// Every local address with every remote address.
    FullMesh,
    /// One path per remote address (RFC 9260 section 1.3), from the local address at the same position if there is
    /// one, else from the first.
    Rfc9260,
}

/// Whether packets of the peer may come from addresses that it did not name in the handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum AddressJoin {
    /// No: a packet from another address is dropped, and a path behind an address translator that is not that of the handshake
    /// carries nothing.
    #[default]
    Off,
    /// Yes, if both sides have it: a side opens paths from behind address translators, from addresses that it got later, and goes
    /// on with a path whose address has changed. Its HEARTBEATs prove that they are its own, and an address is used when it has
    /// answered.
    On,
}

/// What finds out that a packet was damaged on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ErrorDetection {
    /// The CRC32c of each packet (RFC 9260 section 6.8).
    #[default]
    Crc32c,
    /// DTLS, which carries every packet of the association (RFC 8261). This side says so in the handshake and takes a
    /// checksum of zero; if the peer says the same, packets are sent with one (RFC 9653).
    LowerLayerDtls,
}

/// What becomes of messages that do not fit one chunk.
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
    /// They are not accepted (`SCTP_DISABLE_FRAGMENTS`, RFC 6458 section 8.1.11).
    Refuse,
}

/// When the association answers the peer's SHUTDOWN.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum ShutdownAnswer {
    /// Once every message is acknowledged. After the SHUTDOWN the user can hand over none.
    #[default]
    Automatic,
    /// Once the user has asked for shutdown as well, and every message is acknowledged. Until then the user can hand over messages:
    /// those that waited in a queue of its own when the SHUTDOWN arrived.
    OnRequest,
}

/// How the MTU of a path is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum PmtuDiscovery {
    /// Not at all: it is `mtu_bytes`, whatever routers say (RFC 6458 `SPP_PMTUD_DISABLE`).
    Fixed,
    /// It begins with `mtu_bytes` and shrinks when routers or this host say that packets are too big (RFC 1191, RFC
    /// 8201). Where ICMP is filtered, packets that are too big disappear.
    Icmp,
    /// Probes find it, from 1200 bytes up to `mtu_bytes`, with or without ICMP, and notice when it shrinks or grows (RFC
    /// 8899).
    Probe,
}

/// What the system's routing says of a remote address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceRoute {
    /// The address to reach.
    pub remote: IpAddr,
    /// The local address that the system would send from.
    pub local: IpAddr,
}

/// Configuration of one association. Fields can be changed before it is created.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
pub struct AssociationConfig {
    /// Outbound streams to ask for.
    pub outbound_streams: u16,
    /// Most inbound streams to accept.
    pub max_inbound_streams: u16,
    /// Bytes that may wait in the send buffer, unsent or unacknowledged. A message counts at least 128 bytes, about
    /// what the shortest one takes in memory.
    pub send_buffer_bytes: u64,
    /// Bytes of the receive buffer, advertised as receive window.
    pub receive_buffer_bytes: u32,
    /// Bytes of a message with which its delivery begins before it is complete (`SCTP_PARTIAL_DELIVERY_POINT`, RFC 6458 section
    /// 8.1.21): the user gets it in [pieces](crate::Piece). `None`: only messages that are larger than the receive buffer are
    /// delivered so.
    pub partial_delivery_point: Option<u32>,
    /// Largest path MTU in bytes, IP header included; over another lower layer, its longest SCTP packet. Paths begin with it unless theirs is probed. Headers and 64 bytes
    /// are the least that is used.
    pub mtu_bytes: u16,
    /// How path MTUs are found. `None` leaves it to who drives the association: real networks are probed, simulated ones
    /// are not.
    pub pmtu_discovery: Option<PmtuDiscovery>,
    /// Bytes of user data in a chunk at most (`SCTP_MAXSEG`, RFC 6458 section 8.1.16); `None` for what every path carries.
    pub max_fragment_bytes: Option<u32>,
    /// What becomes of messages that do not fit one chunk.
    pub long_messages: LongMessages,
    /// When the peer's SHUTDOWN is answered.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub shutdown_answer: ShutdownAnswer,
    /// DSCP of all packets (`spp_dscp` of `SCTP_PEER_ADDR_PARAMS`, RFC 6458 section 8.1.12), from 0 to 63; 0 is best effort. Sockets
    /// set it on Linux and Android.
    pub dscp: u8,
    /// Flow label of packets over IPv6 (`spp_ipv6_flowlabel`), from 1 to 0xF_FFFF; with 0 the system chooses. Sockets set it on Linux
    /// and Android.
    pub ipv6_flow_label: u32,
    /// Which address pairs become paths.
    pub path_pairing: PathPairing,
    /// Routes of the system, for [`PathPairing::ByRoute`]; drivers fill them in.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub routes: Vec<SourceRoute>,
    /// Whether the peer may open paths from addresses that it did not name.
    pub address_join: AddressJoin,
    /// What detects errors. Only a program that hands all packets to DTLS may set anything but the default: nothing else notices damage
    /// then.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub error_detection: ErrorDetection,
    /// Adaptation code point for the peer's program (RFC 5061 section 4.2.6; `SCTP_ADAPTATION_LAYER`); `None`: none is sent.
    pub adaptation_layer: Option<u32>,
    /// An address of this side that the peer is asked, in the handshake, to send to as long as it works (Set Primary Address in INIT and
    /// INIT ACK, RFC 5061 section 5.4), where `policies.address_reconfiguration` is on. It must be among those of the association;
    /// one that the peer is not told of is not asked for.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub preferred_address: Option<IpAddr>,
    /// Most paths; further addresses are ignored and counted. At most 32.
    pub max_paths: u8,
    /// Association.Max.Retrans: consecutive timeouts over all paths before the association fails. With
    /// `policies.failover.outage_probe_interval` they count as those of one path would whose timeout doubles up to RTO.Max: the 20
    /// of `recommended` are about 13 minutes of silence.
    pub association_max_retrans: u32,
    /// Path.Max.Retrans: a path fails when its consecutive timeouts exceed this.
    pub path_max_retrans: u32,
    /// Max.Init.Retransmits: retransmissions of INIT and of COOKIE ECHO before giving up.
    pub max_init_retransmits: u32,
    /// HB.interval: pause between heartbeats on an idle path, added to its RTO; `None` stops them except for
    /// confirming addresses and for probing paths that failed, which goes on at the RTO, up to RTO.Max.
    pub heartbeat_interval: Option<Duration>,
    /// HB.Max.Burst: unconfirmed paths probed at a time, an RTO apart; bounds what a forged list of addresses can cause.
    pub heartbeat_max_burst: u32,
    /// Longest time a shutdown may take, counted from the call (T5-shutdown-guard, RFC 9260 section 9.2); `None` for
    /// 5 times RTO.Max, counted from the first SHUTDOWN, so that data may take as long as it needs.
    pub shutdown_guard: Option<Duration>,
    /// An association on which no user data has been sent or received for this time shuts down (`SCTP_AUTOCLOSE`, RFC 6458 section
    /// 8.1.8), at most a quarter of it later; `None`: it does not.
    pub autoclose: Option<Duration>,
    /// Keys that this side shares with the peer, where `policies.authenticated_chunks` is on (RFC 4895).
    #[cfg_attr(feature = "serde", serde(skip))]
    pub shared_keys: SharedKeys,
    /// How SCTP and CMT behave where there is a choice.
    pub policies: Policies,
    /// A congestion control of the program's own; `None` for the one that `policies.congestion` names. The other policies hold
    /// for it, too.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub custom_congestion: Option<CustomCongestion>,
    /// A path scheduler of the program's own; `None` for `policies.path_order` and `policies.path_fill`. Other policies still go
    /// by `policies.path_order`, so it should not be `primary`.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub custom_scheduler: Option<CustomScheduler>,
}

/// Size in bytes of the send buffer and of the receive buffer in the default configuration, to which they may grow. With less
/// than what the paths carry during the smallest retransmission timeout (1 s), one chunk that is lost twice on one path stops
/// all of them; this is enough for 268 Mbit/s.
pub const BUFFER_BYTES: u32 = 32 << 20;

/// The same in the presets of the literature, which are for studies: these set the sizes that they compare.
pub const STUDY_BUFFER_BYTES: u32 = 1 << 20;

/// A configuration as associations have it: those that peers begin at one endpoint share one, which none of them changes.
/// It is a twelfth of what an idle association takes in memory, and no part of its state.
#[allow(clippy::disallowed_types)]
pub(crate) type SharedConfig = alloc::sync::Arc<AssociationConfig>;

impl AssociationConfig {
    /// In the form that associations are made with.
    pub(crate) fn shared(mut self) -> SharedConfig {
        // With no time at all, timers would expire without time passing.
        let rto = &mut self.policies.rto;
        for span in [&mut rto.initial, &mut rto.min, &mut rto.max] {
            *span = (*span).max(Duration::from_millis(1));
        }
        SharedConfig::new(self)
    }

    /// What its packets ask of the network.
    #[inline]
    pub(crate) fn traffic(&self) -> TrafficMarks {
        TrafficMarks { dscp: self.dscp, flow_label: self.ipv6_flow_label }
    }

    /// Whether congestion controllers want to know of the other paths of their group.
    pub(crate) fn couples_windows(&self) -> bool {
        self.policies.congestion.couples() || self.custom_congestion.is_some()
    }

    /// Whether congestion controllers want to know how fast their paths deliver.
    pub(crate) fn samples_rates(&self) -> bool {
        self.policies.congestion.samples_rates() || self.custom_congestion.is_some()
    }

    /// Whether a reordering window finds losses.
    pub(crate) fn adapts_to_reordering(&self) -> bool {
        self.policies.fast_retransmit.reports == MissingReports::Adaptive
    }

    /// The configuration of a preset. With [`Preset::Recommended`] it is the default; the other presets have buffers of
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
    /// The default for an association over a lower layer that leads to one peer and carries SCTP packets of `mtu_bytes`, such as
    /// DTLS (RFC 8261). RFC 8261 advises at most 1200 where nothing is known of the path below.
    ///
    /// The path MTU is `mtu_bytes`. Set `pmtu_discovery` to [`PmtuDiscovery::Probe`], and `mtu_bytes` to the most that the lower layer
    /// takes, where its own packets are not fragmented: then probes find it, from 1200 bytes up.
    pub fn over_lower_layer(mtu_bytes: u16) -> Self {
        let mut config =
            Self { mtu_bytes, pmtu_discovery: Some(PmtuDiscovery::Fixed), ..Self::default() };
        // RFC 8261 section 6.1.
        config.path_max_retrans = config.association_max_retrans;
        config.fit_lower_layer();
        config
    }

    /// A lower layer is one path, whatever addresses the peer names.
    pub(crate) fn fit_lower_layer(&mut self) {
        self.max_paths = 1;
        self.address_join = AddressJoin::Off;
        self.policies.address_reconfiguration = AddressReconfiguration::Off;
    }
}

/// The preset `recommended`, with which a transfer over several paths is not slower than over the best of them. Its buffers
/// grow with what the paths carry, up to [`BUFFER_BYTES`].
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
    /// Whether associations begun by peers are accepted.
    pub listening: bool,
    /// SCTP ports at which they are, beside that of the endpoint.
    pub further_ports: Vec<u16>,
    /// Valid.Cookie.Life: how long a state cookie is good; up to twice as long if the peer asks for it.
    pub cookie_life: Duration,
    /// How often the secret that signs cookies changes, but not more often than every second `cookie_life`; the one
    /// before stays valid while its cookies may live.
    pub cookie_secret_life: Duration,
    /// Most associations at a time; INIT beyond is answered with ABORT (out of resource).
    pub max_associations: u32,
    /// Most associations at a time that peers at one address begin, by the address that their INIT came from; of IPv6
    /// addresses the first 64 bits count. INIT beyond is answered with ABORT, which says so. `None`: any number.
    pub max_associations_per_address: Option<u32>,
    /// Most bytes that the receive buffers of all associations together hold which peers began, by what the data really costs in memory.
    /// When half of that is in use, each gets a part; the windows of those who hold more shrink, and DATA beyond is dropped
    /// until the program reads. Near the limit, further associations are refused (out of resource). `None`: as many as
    /// [`max_associations`](Self::max_associations) and the receive buffers allow.
    pub max_buffered_bytes: Option<u64>,
    /// Answers to packets out of the blue (ABORT, SHUTDOWN COMPLETE, ERROR) per second at most.
    pub max_out_of_the_blue_answers_per_s: u32,
    /// Configuration of associations that peers begin.
    pub association: AssociationConfig,
}

impl EndpointConfig {
    /// For an endpoint over a lower layer that carries SCTP packets of `mtu_bytes`; see
    /// [`AssociationConfig::over_lower_layer`]. It listens.
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
            max_buffered_bytes: None,
            max_out_of_the_blue_answers_per_s: 100,
            association: AssociationConfig::default(),
        }
    }
}
