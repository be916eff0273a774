//! SCTP settings of a host.

use std::sync::OnceLock;

use polypath_proto::config::{
    AddressJoin, AssociationConfig, EndpointConfig, PathPairing, PmtuDiscovery, Policies, Preset,
};
use polypath_units::{ByteCount, Duration};
use serde::{Deserialize, Serialize};

use crate::document::{Defaults, DocumentError};

/// SCTP settings of a host. Omitted keys have the value of the preset.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct SctpSettings {
    /// The preset that supplies omitted keys.
    pub preset: Preset,
    /// Size of the send buffer: unsent and unacknowledged data.
    pub send_buffer: ByteCount,
    /// Size of the receive buffer, which the receive window advertises.
    pub receive_buffer: ByteCount,
    /// Path MTU, including the IP header. With probing, the largest size that is tried.
    pub mtu: ByteCount,
    /// How the path MTU is determined. Default: `fixed`. Routers of the simulator send no ICMP messages.
    #[serde(default = "fixed", skip_serializing_if = "is_fixed")]
    pub pmtu_discovery: PmtuDiscovery,
    /// Number of outbound streams to request.
    pub outbound_streams: u16,
    /// Largest number of inbound streams to accept.
    pub max_inbound_streams: u16,
    /// Which pairs of a local and a remote address become paths.
    pub path_pairing: PathPairing,
    /// Whether the peer may open paths from addresses that it did not list. Default: `off`, since simulated networks do
    /// not translate addresses.
    #[serde(default, skip_serializing_if = "is_off")]
    pub address_join: AddressJoin,
    /// Largest number of paths.
    pub max_paths: u8,
    /// Association.Max.Retrans.
    pub association_max_retrans: u32,
    /// Path.Max.Retrans.
    pub path_max_retrans: u32,
    /// Max.Init.Retransmits.
    pub max_init_retransmits: u32,
    /// Heartbeats on idle paths.
    pub heartbeat: Heartbeat,
    /// HB.Max.Burst.
    pub heartbeat_max_burst: u32,
    /// Valid.Cookie.Life.
    pub cookie_life: Duration,
    /// Size from which a message is delivered in pieces, before it is complete. If omitted, only messages larger than
    /// the receive buffer are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial_delivery_point: Option<ByteCount>,
    /// Maximum user data in a chunk. If omitted, what every path carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_fragment: Option<ByteCount>,
    /// Longest shutdown (T5-shutdown-guard). If omitted, 5 times RTO.Max.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shutdown_guard: Option<Duration>,
    /// Time without user data after which the association shuts down. If omitted, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoclose: Option<Duration>,
    /// Policies: what the standard and the literature leave open.
    pub policies: Policies,
}

fn fixed() -> PmtuDiscovery {
    PmtuDiscovery::Fixed
}

fn is_fixed(discovery: &PmtuDiscovery) -> bool {
    *discovery == fixed()
}

fn is_off(join: &AddressJoin) -> bool {
    *join == AddressJoin::Off
}

/// Heartbeats on idle paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    rename_all = "kebab-case",
    expecting = "\"off\" or a time, for example { interval = \"30 s\" }"
)]
pub enum Heartbeat {
    /// HB.interval: added to the RTO, the interval between heartbeats.
    Interval(Duration),
    /// Heartbeats only confirm addresses.
    Off,
}

impl SctpSettings {
    /// The settings of a preset.
    pub fn of_preset(preset: Preset) -> Self {
        let AssociationConfig {
            outbound_streams,
            max_inbound_streams,
            send_buffer_bytes,
            receive_buffer_bytes,
            mtu_bytes,
            pmtu_discovery,
            path_pairing,
            max_paths,
            association_max_retrans,
            path_max_retrans,
            max_init_retransmits,
            heartbeat_interval,
            heartbeat_max_burst,
            policies,
            partial_delivery_point,
            max_fragment_bytes,
            shutdown_guard,
            autoclose,
            // Simulated networks do not translate addresses, and the scenario defines the paths.
            address_join: _,
            routes: _,
            preferred_address: _,
            // Simulated applications send messages of any length, and damaged packets must be detected.
            long_messages: _,
            small_messages: _,
            error_detection: _,
            // Queues of the simulator ignore DSCPs.
            dscp: _,
            ipv6_flow_label: _,
            // For programs.
            shutdown_answer: _,
            adaptation_layer: _,
            shared_keys: _,
            custom_congestion: _,
            custom_scheduler: _,
        } = AssociationConfig::with_preset(preset);
        Self {
            preset,
            send_buffer: ByteCount::from_bytes(send_buffer_bytes),
            receive_buffer: ByteCount::from_bytes(receive_buffer_bytes.into()),
            mtu: ByteCount::from_bytes(mtu_bytes.into()),
            pmtu_discovery: pmtu_discovery.unwrap_or_else(fixed),
            outbound_streams,
            max_inbound_streams,
            path_pairing,
            address_join: AddressJoin::Off,
            max_paths,
            association_max_retrans,
            path_max_retrans,
            max_init_retransmits,
            heartbeat: heartbeat_interval.map_or(Heartbeat::Off, Heartbeat::Interval),
            heartbeat_max_burst,
            cookie_life: EndpointConfig::default().cookie_life,
            partial_delivery_point: partial_delivery_point
                .map(|bytes| ByteCount::from_bytes(bytes.into())),
            max_fragment: max_fragment_bytes.map(|bytes| ByteCount::from_bytes(bytes.into())),
            shutdown_guard,
            autoclose,
            policies,
        }
    }

    /// The configuration of the association. Sizes beyond what the protocol can express are reduced to it; scenarios
    /// are checked for that before.
    pub fn association_config(&self) -> AssociationConfig {
        let cut = |size: ByteCount, most: u64| size.as_bytes().min(most);
        AssociationConfig {
            outbound_streams: self.outbound_streams,
            max_inbound_streams: self.max_inbound_streams,
            send_buffer_bytes: self.send_buffer.as_bytes(),
            receive_buffer_bytes: cut(self.receive_buffer, u32::MAX.into()) as u32,
            mtu_bytes: cut(self.mtu, u16::MAX.into()) as u16,
            pmtu_discovery: Some(self.pmtu_discovery),
            path_pairing: self.path_pairing,
            max_paths: self.max_paths,
            association_max_retrans: self.association_max_retrans,
            path_max_retrans: self.path_max_retrans,
            max_init_retransmits: self.max_init_retransmits,
            heartbeat_interval: match self.heartbeat {
                Heartbeat::Interval(interval) => Some(interval),
                Heartbeat::Off => None,
            },
            heartbeat_max_burst: self.heartbeat_max_burst,
            partial_delivery_point: self
                .partial_delivery_point
                .map(|bytes| cut(bytes, u32::MAX.into()) as u32),
            max_fragment_bytes: self.max_fragment.map(|bytes| cut(bytes, u32::MAX.into()) as u32),
            shutdown_guard: self.shutdown_guard,
            autoclose: self.autoclose,
            policies: self.policies,
            address_join: self.address_join,
            ..AssociationConfig::default()
        }
    }

    /// The configuration of the endpoint.
    pub fn endpoint_config(&self) -> EndpointConfig {
        EndpointConfig {
            listening: true,
            cookie_life: self.cookie_life,
            association: self.association_config(),
            ..EndpointConfig::default()
        }
    }
}

/// The keys of a preset as defaults of a document; built once per preset.
pub(super) fn defaults(preset: Preset) -> Result<&'static Defaults, DocumentError> {
    static KNOWN: [OnceLock<Result<Defaults, DocumentError>>; Preset::ALL.len()] =
        [const { OnceLock::new() }; Preset::ALL.len()];
    let made =
        KNOWN[preset as usize].get_or_init(|| Defaults::of(&SctpSettings::of_preset(preset)));
    made.as_ref().map_err(Clone::clone)
}
