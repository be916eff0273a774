//! Congestion windows and timeouts.

use super::policy_enum;
use crate::Duration;

policy_enum!(
    /// Congestion control (`dreibholz-asymmetric` section II; INET `cmtCCVariant`).
    CongestionAlgorithm {
        /// RFC 9260 section 7.2 on each path (the same as `cmt`; INET `off`).
        Rfc9260 = "rfc9260",
        /// The same on each path, uncoupled: fair per path (INET `cmt`).
        Cmt = "cmt",
        /// Resource pooling by slow-start thresholds (CMT/RPv1; INET `cmtrpv1`).
        CmtRpV1 = "cmt-rp-v1",
        /// Resource pooling by bandwidth (CMT/RPv2; INET `cmtrpv2`).
        CmtRpV2 = "cmt-rp-v2",
        /// Linked increases (LIA; RFC 6356; INET `like-mptcp`).
        Lia = "lia",
        /// Opportunistic linked increases (OLIA; draft-khalili-mptcp-congestion-control).
        Olia = "olia",
        /// Balanced linked adaptation (BALIA; draft-walid-mptcp-congestion-control).
        Balia = "balia",
    }
);

/// Limit on packets sent in one go, as bursts of n x MTU beyond what is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Burst {
    /// The window is treated as flight + n x MTU while that is less (RFC 9260 section 6.1 D; INET
    /// `useItOrTempLoseIt`).
    MaxBurst(u32),
    /// A larger window is cut to flight + n x MTU (INET `useItOrLoseIt`; Allman, Blanton 2005).
    UseItOrLoseIt(u32),
    /// The same, and the slow-start threshold takes what the window was (INET `congestionWindowLimiting`).
    CongestionWindowLimiting(u32),
    /// No limit.
    Off,
}

policy_enum!(
    /// Which bytes count against congestion windows.
    BytesCounted {
        /// DATA chunk header, user data and padding (RFC 9260 section 7.2).
        WithHeader = "with-header",
        /// User data only (INET's default).
        Payload = "payload",
    }
);

policy_enum!(
    /// What happens to the window of a path that sends nothing (RFC 9260 section 7.2.1).
    IdleRule {
        /// Halved per RTO, not below 4 PMDCS; the slow-start threshold remembers it.
        Rfc9260 = "rfc9260",
        /// Kept.
        Keep = "keep",
    }
);

policy_enum!(
    /// Whether user data may be sent to an address that was named in the handshake but not yet confirmed.
    DataBeforeConfirmation {
        /// On confirmed paths from the first moment (RFC 9260 section 5.4).
        On = "on",
        /// Not before every path is confirmed or has failed (ns-2).
        Off = "off",
    }
);

/// Congestion window that a path begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum InitialCwnd {
    /// min(4 PMDCS, max(2 PMDCS, 4404 bytes)), with 4344 bytes over IPv6 (RFC 9260 section 7.2.1).
    #[cfg_attr(feature = "serde", serde(rename = "rfc9260"))]
    Rfc9260,
    /// This many bytes.
    Bytes(u32),
    /// This many times the MTU.
    Mtu(u32),
}

/// Slow-start threshold that a path begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum InitialSsthresh {
    /// The receive window that the peer announced in the handshake.
    PeerWindow,
    /// This many bytes.
    Bytes(u64),
    /// Without limit.
    Unlimited,
}

/// Congestion windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Window {
    /// Window at the start.
    pub initial_cwnd: InitialCwnd,
    /// Slow-start threshold at the start.
    pub initial_ssthresh: InitialSsthresh,
    /// Smallest slow-start threshold, in MTUs (4: RFC 9260; 2: RFC 2960).
    pub ssthresh_floor_mtu: u8,
    /// Which bytes count.
    pub bytes_counted: BytesCounted,
    /// What idling does.
    pub idle: IdleRule,
}

/// Retransmission timeout (RFC 9260 section 6.3).
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Rto {
    /// RTO.Initial: before the first measurement.
    pub initial: Duration,
    /// RTO.Min.
    pub min: Duration,
    /// RTO.Max.
    pub max: Duration,
    /// RTO.Alpha: weight of a new sample in the smoothed round-trip time.
    pub alpha: f64,
    /// RTO.Beta: weight of a new sample in the variation.
    pub beta: f64,
    /// Whether confirmed paths carry data before all paths are confirmed.
    pub data_before_confirmation: DataBeforeConfirmation,
}

/// Which paths are taken to share a bottleneck: coupled congestion control takes a share of the capacity per group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum PathGroups {
    /// All paths of the association are one group.
    #[default]
    All,
    /// Each path is a group of its own.
    Separate,
    /// Consecutive paths, this many a group, in the order of their ids.
    Consecutive(u8),
}
