//! Options that can be changed during an association (RFC 6458 section 8).

use alloc::string::String;

use thiserror::Error;

use super::check::{MAX_DSCP, MAX_FLOW_LABEL, MAX_SACK_DELAY, within};
use super::{
    AssociationConfig, Burst, ConfigError, CongestionAlgorithm, FailureDetection, LongMessages,
    PartialReliability, PmtuDiscovery, SmallMessages,
};
use crate::Duration;

/// Whether an idle path is probed (`spp_hbinterval`, `SPP_HB_ENABLE`, `SPP_HB_DISABLE`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heartbeats {
    /// No. Failed and unconfirmed paths are still probed.
    Off,
    /// At this interval plus a retransmission timeout (HB.interval).
    Every(Duration),
}

impl Heartbeats {
    pub(crate) fn of(interval: Option<Duration>) -> Self {
        interval.map_or(Self::Off, Self::Every)
    }

    pub(crate) fn interval(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Every(interval) => Some(interval),
        }
    }
}

/// A change of the parameters of an association. A field that is `None` does not change;
/// [`Association::options`](crate::Association::options) returns all fields.
///
/// The documentation of each field names the option of RFC 6458 and, if the name differs, the field of
/// [`AssociationConfig`], which has units and bounds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AssociationOptions {
    /// `srto_initial` of `SCTP_RTOINFO` (`policies.rto.initial`); for paths that are added later.
    pub rto_initial: Option<Duration>,
    /// `srto_min` (`policies.rto.min`).
    pub rto_min: Option<Duration>,
    /// `srto_max` (`policies.rto.max`).
    pub rto_max: Option<Duration>,
    /// `sasoc_asocmaxrxt` of `SCTP_ASSOCINFO`.
    pub association_max_retrans: Option<u32>,
    /// `spp_pathmaxrxt` of `SCTP_PEER_ADDR_PARAMS` for all paths without [options](PathOptions) of their own.
    pub path_max_retrans: Option<u32>,
    /// `spt_pathpfthld` of `SCTP_PEER_ADDR_THLDS` (RFC 7829; `policies.failover.pf_threshold`), likewise.
    pub pf_threshold: Option<u32>,
    /// `spt_pathcpthld` (RFC 7829 section 5; `policies.failover.primary_switchover`); `u32::MAX` for never.
    pub primary_switchover: Option<u32>,
    /// `spp_hbinterval` (`heartbeat_interval`), likewise.
    pub heartbeats: Option<Heartbeats>,
    /// `sack_delay` of `SCTP_DELAYED_SACK`, `spp_sackdelay` (`policies.delayed_ack.delay`).
    pub sack_delay: Option<Duration>,
    /// `sack_freq` (`policies.delayed_ack.packets`); 1 means no delay.
    pub sack_packets: Option<u8>,
    /// Congestion control (`policies.congestion`) of all paths. Congestion windows are kept, and slow-start thresholds if both
    /// controls have them. A custom one of the program
    /// ([`custom_congestion`](AssociationConfig::custom_congestion)) cannot be changed.
    pub congestion: Option<CongestionAlgorithm>,
    /// `SCTP_MAX_BURST` (`policies.burst`), in packets; 0 for no limit.
    pub max_burst: Option<u32>,
    /// `SCTP_MAXSEG`: maximum user data in a chunk in bytes; 0 for what the paths carry. Sent chunks keep their size.
    pub max_fragment_bytes: Option<u32>,
    /// `SCTP_DISABLE_FRAGMENTS`.
    pub long_messages: Option<LongMessages>,
    /// `SCTP_NODELAY`.
    pub small_messages: Option<SmallMessages>,
    /// `SCTP_PARTIAL_DELIVERY_POINT` in bytes; 0 for the size of the receive buffer.
    pub partial_delivery_point: Option<u32>,
    /// `pr_policy` and `pr_value` of `SCTP_DEFAULT_PRINFO` (`policies.partial_reliability`).
    pub reliability: Option<PartialReliability>,
    /// `SO_SNDBUF`. A smaller buffer keeps the data that it holds.
    pub send_buffer_bytes: Option<u64>,
    /// `SO_RCVBUF`. It can only grow, since the peer may use the advertised window.
    pub receive_buffer_bytes: Option<u32>,
    /// `SCTP_AUTOCLOSE`; zero turns it off.
    pub autoclose: Option<Duration>,
    /// `spp_dscp` of `SCTP_PEER_ADDR_PARAMS` for all paths without [options](PathOptions) of their own.
    pub dscp: Option<u8>,
    /// `spp_ipv6_flowlabel`, likewise.
    pub ipv6_flow_label: Option<u32>,
}

impl AssociationOptions {
    /// All options, from a configuration.
    pub fn of(config: &AssociationConfig) -> Self {
        let policies = &config.policies;
        Self {
            rto_initial: Some(policies.rto.initial),
            rto_min: Some(policies.rto.min),
            rto_max: Some(policies.rto.max),
            association_max_retrans: Some(config.association_max_retrans),
            path_max_retrans: Some(config.path_max_retrans),
            pf_threshold: Some(policies.failover.pf_threshold),
            primary_switchover: Some(policies.failover.primary_switchover.unwrap_or(u32::MAX)),
            heartbeats: Some(Heartbeats::of(config.heartbeat_interval)),
            sack_delay: Some(policies.delayed_ack.delay),
            sack_packets: Some(policies.delayed_ack.packets),
            congestion: Some(policies.congestion),
            max_burst: Some(match policies.burst {
                Burst::MaxBurst(packets)
                | Burst::MaxBurstAfterLoss(packets)
                | Burst::MaxBurstOnce(packets)
                | Burst::MaxBurstFromRetransmission(packets)
                | Burst::UseItOrLoseIt(packets)
                | Burst::CongestionWindowLimiting(packets) => packets,
                Burst::Off => 0,
            }),
            max_fragment_bytes: Some(config.max_fragment_bytes.unwrap_or(0)),
            long_messages: Some(config.long_messages),
            small_messages: Some(config.small_messages),
            partial_delivery_point: Some(config.partial_delivery_point.unwrap_or(0)),
            reliability: Some(policies.partial_reliability),
            send_buffer_bytes: Some(config.send_buffer_bytes),
            receive_buffer_bytes: Some(config.receive_buffer_bytes),
            autoclose: Some(config.autoclose.unwrap_or(Duration::ZERO)),
            dscp: Some(config.dscp),
            ipv6_flow_label: Some(config.ipv6_flow_label),
        }
    }

    /// The configuration with these changes.
    ///
    /// # Errors
    ///
    /// Names the first invalid setting.
    pub fn applied_to(&self, before: &AssociationConfig) -> Result<AssociationConfig, ConfigError> {
        let mut config = before.clone();
        let (policies, rto) = (&mut config.policies, before.policies.rto);
        policies.rto.initial = self.rto_initial.unwrap_or(rto.initial);
        policies.rto.min = self.rto_min.unwrap_or(rto.min);
        policies.rto.max = self.rto_max.unwrap_or(rto.max);
        set(&mut policies.failover.pf_threshold, self.pf_threshold);
        let switchover = self.primary_switchover.map(|it| (it < u32::MAX).then_some(it));
        set(&mut policies.failover.primary_switchover, switchover);
        set(&mut policies.delayed_ack.delay, self.sack_delay);
        set(&mut policies.delayed_ack.packets, self.sack_packets);
        set(&mut policies.partial_reliability, self.reliability);
        if let Some(packets) = self.max_burst {
            policies.burst = with_packets(policies.burst, packets);
        }
        set(&mut policies.congestion, self.congestion);
        if policies.congestion != before.policies.congestion && before.custom_congestion.is_some() {
            return Err(ConfigError {
                key: "policies.congestion",
                problem: "has no effect while the association has a congestion control of the program's own \
                          (custom_congestion)"
                    .into(),
            });
        }
        set(&mut config.association_max_retrans, self.association_max_retrans);
        set(&mut config.path_max_retrans, self.path_max_retrans);
        set(&mut config.heartbeat_interval, self.heartbeats.map(Heartbeats::interval));
        set(
            &mut config.max_fragment_bytes,
            self.max_fragment_bytes.map(|it| (it > 0).then_some(it)),
        );
        set(&mut config.long_messages, self.long_messages);
        set(&mut config.small_messages, self.small_messages);
        set(
            &mut config.partial_delivery_point,
            self.partial_delivery_point.map(|it| (it > 0).then_some(it)),
        );
        set(&mut config.send_buffer_bytes, self.send_buffer_bytes);
        set(&mut config.autoclose, self.autoclose.map(|it| (it > Duration::ZERO).then_some(it)));
        set(&mut config.dscp, self.dscp);
        set(&mut config.ipv6_flow_label, self.ipv6_flow_label);
        if let Some(bytes) = self.receive_buffer_bytes {
            within("receive_buffer_bytes", bytes, before.receive_buffer_bytes, u32::MAX)?;
            config.receive_buffer_bytes = bytes;
        }
        config.check()?;
        Ok(config)
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// The same kind of burst limit with another number.
fn with_packets(burst: Burst, packets: u32) -> Burst {
    match (burst, packets) {
        (_, 0) => Burst::Off,
        (Burst::MaxBurstAfterLoss(_), _) => Burst::MaxBurstAfterLoss(packets),
        (Burst::MaxBurstOnce(_), _) => Burst::MaxBurstOnce(packets),
        (Burst::MaxBurstFromRetransmission(_), _) => Burst::MaxBurstFromRetransmission(packets),
        (Burst::UseItOrLoseIt(_), _) => Burst::UseItOrLoseIt(packets),
        (Burst::CongestionWindowLimiting(_), _) => Burst::CongestionWindowLimiting(packets),
        (Burst::MaxBurst(_) | Burst::Off, _) => Burst::MaxBurst(packets),
    }
}

/// A change of the parameters of one path (`SCTP_PEER_ADDR_PARAMS`, RFC 6458 section 8.1.12; `SCTP_PEER_ADDR_THLDS`, RFC 7829
/// section 7.2). A field that is `None` does not change; [`Association::path_options`](crate::Association::path_options) returns
/// all fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathOptions {
    /// `spp_hbinterval` with `SPP_HB_ENABLE` and `SPP_HB_DISABLE`.
    pub heartbeats: Option<Heartbeats>,
    /// `spp_pathmaxrxt`: maximum number of consecutive timeouts before the path fails.
    pub max_retrans: Option<u32>,
    /// `spt_pathpfthld`: maximum number of consecutive timeouts before it becomes potentially failed.
    pub pf_threshold: Option<u32>,
    /// `SPP_PMTUD_ENABLE` and `SPP_PMTUD_DISABLE`: how its MTU is determined.
    pub pmtu_discovery: Option<PmtuDiscovery>,
    /// `spp_pathmtu` in bytes, including the IP header, if the MTU is not probed.
    pub mtu_bytes: Option<u16>,
    /// `sack_delay` of `SCTP_DELAYED_SACK` with an address, `spp_sackdelay`: maximum delay of the SACK for packets on the
    /// path, up to 500 ms; zero means no delay.
    pub sack_delay: Option<Duration>,
    /// `sack_freq`: number of packets after which a SACK is sent once one has arrived on the path, from 1; 1 means no delay.
    pub sack_packets: Option<u8>,
    /// `spp_dscp`: the DSCP of packets on the path, from 0 to 63.
    pub dscp: Option<u8>,
    /// `spp_ipv6_flowlabel`: their flow label over IPv6, up to 0xF_FFFF; with 0 the system chooses.
    pub ipv6_flow_label: Option<u32>,
}

/// Why options of a path cannot be changed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum PathOptionsError {
    /// The path does not exist.
    #[error("the association has no such path")]
    NoSuchPath,
    /// A value is invalid.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
}

impl PathOptions {
    /// Checks the changes for a path whose MTU is determined by `discovery`, from `least_mtu` to `most_mtu` bytes.
    pub(crate) fn check(
        &self,
        config: &AssociationConfig,
        discovery: PmtuDiscovery,
        [least_mtu, most_mtu]: [u16; 2],
    ) -> Result<(), ConfigError> {
        let refuse = |key, problem: &str| Err(ConfigError { key, problem: String::from(problem) });
        if let Some(Heartbeats::Every(interval)) = self.heartbeats {
            within("heartbeats", interval, Duration::ZERO, Duration::from_secs(1 << 31))?;
        }
        if let Some(delay) = self.sack_delay {
            within("sack_delay", delay, Duration::ZERO, MAX_SACK_DELAY)?;
        }
        if let Some(packets) = self.sack_packets {
            within("sack_packets", packets, 1, u8::MAX)?;
        }
        if let Some(dscp) = self.dscp {
            within("dscp", dscp, 0, MAX_DSCP)?;
        }
        if let Some(label) = self.ipv6_flow_label {
            within("ipv6_flow_label", label, 0, MAX_FLOW_LABEL)?;
        }
        let suspects = config.policies.failover.detection != FailureDetection::Rfc9260;
        if self.pf_threshold.is_some() && !suspects {
            let problem = "has no effect while policies.failover.detection is \"rfc9260\"";
            return refuse("pf_threshold", problem);
        }
        let Some(mtu) = self.mtu_bytes else { return Ok(()) };
        if self.pmtu_discovery.unwrap_or(discovery) == PmtuDiscovery::Probe {
            let problem = "the MTU is probed; set pmtu_discovery to \"fixed\" or \"icmp\"";
            return refuse("mtu_bytes", problem);
        }
        within("mtu_bytes", mtu, least_mtu, most_mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;

    #[test]
    fn what_was_read_changes_nothing_and_each_field_is_kept() {
        for &preset in Preset::ALL {
            let config = AssociationConfig::with_preset(preset);
            let options = AssociationOptions::of(&config);
            assert_eq!(options.applied_to(&config).as_ref(), Ok(&config), "{preset:?}");
            assert_eq!(AssociationOptions::default().applied_to(&config), Ok(config), "{preset:?}");
        }
        let changed = AssociationOptions {
            rto_initial: Some(Duration::from_millis(900)),
            rto_min: Some(Duration::from_millis(300)),
            rto_max: Some(Duration::from_secs(7)),
            association_max_retrans: Some(3),
            path_max_retrans: Some(2),
            pf_threshold: Some(1),
            primary_switchover: Some(6),
            heartbeats: Some(Heartbeats::Off),
            sack_delay: Some(Duration::from_millis(70)),
            sack_packets: Some(3),
            congestion: Some(CongestionAlgorithm::Cubic),
            max_burst: Some(9),
            max_fragment_bytes: Some(500),
            long_messages: Some(LongMessages::Refuse),
            small_messages: Some(SmallMessages::Bundled),
            partial_delivery_point: Some(5000),
            reliability: Some(PartialReliability::LimitedRetransmissions(2)),
            send_buffer_bytes: Some(1_000_000),
            receive_buffer_bytes: Some(1 << 30),
            autoclose: Some(Duration::from_secs(5)),
            dscp: Some(46),
            ipv6_flow_label: Some(0xA_BCDE),
        };
        let config = changed.applied_to(&AssociationConfig::with_preset(Preset::CmtPf)).unwrap();
        assert_eq!(AssociationOptions::of(&config), changed);
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let config = AssociationConfig::with_preset(Preset::Cmt);
        let none = AssociationOptions::default;
        for (key, options) in [
            (
                "policies.rto.max",
                AssociationOptions { rto_max: Some(Duration::from_millis(1)), ..none() },
            ),
            (
                "policies.delayed_ack.delay",
                AssociationOptions { sack_delay: Some(Duration::from_secs(1)), ..none() },
            ),
            (
                "policies.delayed_ack.packets",
                AssociationOptions { sack_packets: Some(0), ..none() },
            ),
            (
                "policies.failover.pf_threshold",
                AssociationOptions { pf_threshold: Some(1), ..none() },
            ),
            (
                "policies.failover.primary_switchover",
                AssociationOptions { primary_switchover: Some(4), ..none() },
            ),
            ("send_buffer_bytes", AssociationOptions { send_buffer_bytes: Some(0), ..none() }),
            (
                "receive_buffer_bytes",
                AssociationOptions { receive_buffer_bytes: Some(1500), ..none() },
            ),
            (
                "partial_delivery_point",
                AssociationOptions { partial_delivery_point: Some(u32::MAX), ..none() },
            ),
            ("dscp", AssociationOptions { dscp: Some(64), ..none() }),
            ("ipv6_flow_label", AssociationOptions { ipv6_flow_label: Some(1 << 20), ..none() }),
            ("max_fragment_bytes", AssociationOptions { max_fragment_bytes: Some(3), ..none() }),
        ] {
            let error = options.applied_to(&config).unwrap_err();
            assert_eq!(error.key, key);
        }
    }

    #[test]
    fn options_of_paths_are_checked() {
        let none = PathOptions::default();
        let probed = PathOptions { pmtu_discovery: Some(PmtuDiscovery::Probe), ..none };
        let fixed = PathOptions { pmtu_discovery: Some(PmtuDiscovery::Fixed), ..none };
        for (preset, options, refused) in [
            (Preset::Cmt, none, None),
            (Preset::Cmt, PathOptions { pf_threshold: Some(1), ..none }, Some("pf_threshold")),
            (Preset::CmtPf, PathOptions { pf_threshold: Some(1), ..none }, None),
            (
                Preset::Cmt,
                PathOptions { sack_delay: Some(Duration::from_millis(501)), ..none },
                Some("sack_delay"),
            ),
            (Preset::Cmt, PathOptions { sack_packets: Some(0), ..none }, Some("sack_packets")),
            (Preset::Cmt, PathOptions { dscp: Some(64), ..none }, Some("dscp")),
            (
                Preset::Cmt,
                PathOptions { ipv6_flow_label: Some(1 << 20), ..none },
                Some("ipv6_flow_label"),
            ),
            (Preset::Cmt, PathOptions { mtu_bytes: Some(1400), ..none }, None),
            (Preset::Cmt, PathOptions { mtu_bytes: Some(575), ..none }, Some("mtu_bytes")),
            (Preset::Cmt, PathOptions { mtu_bytes: Some(1501), ..none }, Some("mtu_bytes")),
            (Preset::Cmt, PathOptions { mtu_bytes: Some(1400), ..probed }, Some("mtu_bytes")),
            (Preset::Cmt, PathOptions { mtu_bytes: Some(1400), ..fixed }, None),
        ] {
            let config = AssociationConfig::with_preset(preset);
            let checked = options.check(&config, PmtuDiscovery::Icmp, [576, 1500]);
            assert_eq!(checked.err().map(|error| error.key), refused, "{options:?}");
        }
    }
}
