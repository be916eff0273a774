//! Congestion windows and timeouts.

use super::policy_enum;
use crate::Duration;

policy_enum!(
    /// Congestion control (`dreibholz-asymmetric` section II; INET `cmtCCVariant`).
    CongestionAlgorithm {
        /// RFC 9260 section 7.2 on each path (as `cmt`; INET `cmtCCVariant = off`).
        Rfc9260 = "rfc9260",
        /// RFC 9260 section 7.2 on each path, uncoupled: fair per path (INET `cmt`).
        Uncoupled = "cmt",
        /// Resource pooling by slow-start thresholds (CMT/RPv1; INET `cmtrpv1`).
        RpV1 = "cmt-rp-v1",
        /// Resource pooling by bandwidth (CMT/RPv2; INET `cmtrpv2`).
        RpV2 = "cmt-rp-v2",
        /// Linked increases (LIA; RFC 6356; INET `lia`).
        Lia = "lia",
        /// Opportunistic linked increases (OLIA; draft-khalili-mptcp-congestion-control).
        Olia = "olia",
        /// Balanced linked adaptation (BALIA; draft-walid-mptcp-congestion-control).
        Balia = "balia",
        /// CUBIC (RFC 9438) with HyStart++ (RFC 9406) on each path, uncoupled: for a single long or
        /// fast path. `window.slow_start` does not apply.
        Cubic = "cubic",
        /// BBR version 3 (draft-ietf-ccwg-bbr) on each path, uncoupled: for paths with random loss
        /// or long queues. `window.slow_start`, `window.reduction`, `window.idle` and thresholds do
        /// not apply.
        Bbr = "bbr",
    }
);

impl CongestionAlgorithm {
    /// Whether it couples the paths of a group.
    pub fn couples(self) -> bool {
        match self {
            Self::Rfc9260 | Self::Uncoupled | Self::Cubic | Self::Bbr => false,
            Self::RpV1 | Self::RpV2 | Self::Lia | Self::Olia | Self::Balia => true,
        }
    }

    /// Whether it uses samples of the delivery rate.
    pub(crate) fn samples_rates(self) -> bool {
        match self {
            Self::Cubic | Self::Bbr => true,
            Self::Rfc9260 | Self::Uncoupled => false,
            Self::RpV1 | Self::RpV2 | Self::Lia | Self::Olia | Self::Balia => false,
        }
    }
}

policy_enum!(
    /// Explicit congestion notification (ECN, draft-stewart-tsvwg-sctpecn), if both sides support it.
    ExplicitCongestionNotification {
        /// Neither offered nor used: only losses signal congestion.
        Off = "off",
        /// New data is sent as ECN-capable (ECT(0)). When a queue marks it, the congestion window
        /// is reduced as after a loss, without a retransmission.
        On = "on",
    }
);

/// Burst limit: n units beyond the flight size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum Burst {
    /// The window is treated as flight + n units while that is less (RFC 9260 section 6.1 D; INET
    /// `useItOrTempLoseIt`).
    MaxBurst(u32),
    /// As `max-burst`, but only from the first retransmission of the association (ns-2).
    MaxBurstAfterLoss(u32),
    /// n packets per path and SACK. Applies once a fast retransmission has been cumulatively
    /// acknowledged, until it has limited one burst (ns-2.35).
    MaxBurstOnce(u32),
    /// As `max-burst-once`, but permanently from the first cumulative acknowledgement of a
    /// retransmitted chunk (ns-2.35's CMT).
    MaxBurstFromRetransmission(u32),
    /// A larger window is cut to flight + n units (INET `useItOrLoseIt`; Allman, Blanton 2005).
    UseItOrLoseIt(u32),
    /// The same, and the slow-start threshold becomes the old window (INET `congestionWindowLimiting`).
    CongestionWindowLimiting(u32),
    /// No limit.
    Off,
}

policy_enum!(
    /// Unit of congestion windows: the value that the formulas use for one MTU.
    WindowUnit {
        /// The largest DATA chunk of the path, so that a window of one unit admits one packet (RFC
        /// 9260 section 7.2: PMDCS).
        Pmdcs = "pmdcs",
        /// The path's MTU with all headers, so that a window of one unit admits two packets (RFC
        /// 4960; INET, Linux).
        PathMtu = "path-mtu",
    }
);

policy_enum!(
    /// Bytes of a chunk that count against congestion windows.
    BytesCounted {
        /// DATA chunk header, user data and padding (RFC 9260 section 7.2).
        WithHeader = "with-header",
        /// User data only (INET's default).
        Payload = "payload",
    }
);

policy_enum!(
    /// Growth of a congestion window per SACK in slow start.
    SlowStart {
        /// At most one unit (RFC 9260 section 7.2.1, L = 1).
        PerSack = "per-sack",
        /// One unit for every second packet that it acknowledges, as if no SACK had been lost or
        /// reordered between paths.
        PerSecondPacket = "per-second-packet",
    }
);

policy_enum!(
    /// Acknowledged bytes that count for window growth in congestion avoidance.
    AvoidanceBytes {
        /// All of them (RFC 9260 section 7.2.2, partial_bytes_acked).
        All = "all",
        /// Bytes that are cumulatively acknowledged while the window was full, and bytes in gap ack
        /// blocks when the path's pseudo-cumulative ack advances (ns-2.35).
        OfFullWindow = "of-full-window",
    }
);

policy_enum!(
    /// Whether congestion windows grow during fast recovery.
    RecoveryGrowth {
        /// No (RFC 9260 section 7.2.1).
        Off = "off",
        /// Yes, as outside of fast recovery (ns-2.35's CMT).
        On = "on",
    }
);

policy_enum!(
    /// What a path sends while fast recovery halves its congestion window.
    Reduction {
        /// Nothing until half the window has left the network, then whatever the halved window
        /// admits (RFC 9260 section 7.2.4).
        AtOnce = "at-once",
        /// Half of what is delivered, spread over the round trip, and never more than is delivered
        /// (RFC 9937).
        Proportional = "proportional",
    }
);

policy_enum!(
    /// What happens to the window of an idle path (RFC 9260 section 7.2.1).
    IdleRule {
        /// It is halved per RTO, but not below 4 PMDCS; the slow-start threshold keeps the old
        /// value.
        Rfc9260 = "rfc9260",
        /// It returns to its initial value after one RTO if it is larger (INET; RFC 5681 section
        /// 4.1).
        Reset = "reset",
        /// It does not change.
        Keep = "keep",
    }
);

policy_enum!(
    /// Whether user data may be sent to an address that was named in the handshake but not yet confirmed.
    DataBeforeConfirmation {
        /// Yes (RFC 9260 section 5.4).
        On = "on",
        /// No: only once every path is confirmed or has failed (ns-2).
        Off = "off",
    }
);

/// Initial congestion window of a path; under RPv1 and RPv2 the paths of a group share it, with at least one unit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// This many units of windows.
    Mtu(u32),
}

/// Initial slow-start threshold of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum InitialSsthresh {
    /// The receive window that the peer advertised in the handshake.
    PeerWindow,
    /// This many bytes.
    Bytes(u64),
    /// Without limit.
    Unlimited,
}

/// Congestion windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Window {
    /// Initial window.
    pub initial_cwnd: InitialCwnd,
    /// Initial slow-start threshold.
    pub initial_ssthresh: InitialSsthresh,
    /// Value that the formulas use for one MTU.
    pub unit: WindowUnit,
    /// Smallest slow-start threshold, in units (4: RFC 9260; 2: RFC 2960; 1: coupled control, INET `rpMinCwnd`). RPv1 takes
    /// the path's share of it, but not less than one unit.
    #[cfg_attr(feature = "serde", serde(deserialize_with = "super::values::positive"))]
    pub ssthresh_floor_mtu: u8,
    /// Bytes that count.
    pub bytes_counted: BytesCounted,
    /// Growth per SACK in slow start.
    pub slow_start: SlowStart,
    /// Bytes that count in congestion avoidance.
    pub avoidance: AvoidanceBytes,
    /// Whether the window grows in fast recovery.
    pub recovery_growth: RecoveryGrowth,
    /// What a path sends during fast recovery.
    pub reduction: Reduction,
    /// Effect of idle time.
    pub idle: IdleRule,
}

/// Retransmission timeout (RFC 9260 section 6.3).
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Minimum difference between the timeout and the smoothed round-trip time.
    pub margin: Duration,
    /// RTO.Alpha: weight of a new sample in the smoothed round-trip time.
    pub alpha: f64,
    /// RTO.Beta: weight of a new sample in the variation.
    pub beta: f64,
    /// Whether confirmed paths carry data before all paths are confirmed.
    pub data_before_confirmation: DataBeforeConfirmation,
}

/// Paths that are assumed to share a bottleneck: coupled congestion control takes one share of the capacity per group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// The group of each path, in the order of path ids; a path beyond the list is a group of its own.
    Listed(GroupList),
}

impl PathGroups {
    /// The group of the path with this index; paths are coupled if their groups are equal.
    pub(crate) fn group_of(&self, path: usize) -> usize {
        let own = 256 + path;
        match self {
            Self::All => 0,
            Self::Separate => own,
            Self::Listed(list) => list.groups().get(path).map_or(own, |&group| usize::from(group)),
        }
    }
}

/// The group of each path, at most 32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "alloc::vec::Vec<u8>", into = "alloc::vec::Vec<u8>")
)]
pub struct GroupList {
    len: u8,
    groups: [u8; 32],
}

impl GroupList {
    /// The groups of paths, in the order of path ids; `None` for none or more than 32.
    pub fn new(groups: &[u8]) -> Option<Self> {
        if !(1..=32).contains(&groups.len()) {
            return None;
        }
        let mut list = Self { len: groups.len() as u8, groups: [0; 32] };
        list.groups[..groups.len()].copy_from_slice(groups);
        Some(list)
    }

    /// The group of each path.
    pub fn groups(&self) -> &[u8] {
        &self.groups[..usize::from(self.len)]
    }
}

impl TryFrom<alloc::vec::Vec<u8>> for GroupList {
    type Error = &'static str;

    fn try_from(groups: alloc::vec::Vec<u8>) -> Result<Self, Self::Error> {
        Self::new(&groups).ok_or("name the groups of 1 to 32 paths")
    }
}

impl From<GroupList> for alloc::vec::Vec<u8> {
    fn from(list: GroupList) -> Self {
        list.groups().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_paths() {
        let listed = PathGroups::Listed(GroupList::new(&[7, 7, 0]).unwrap());
        for (groups, coupled) in [
            (PathGroups::All, [true, true, true]),
            (PathGroups::Separate, [false, false, false]),
            (listed, [true, false, false]),
        ] {
            for ((a, b), coupled) in [(0, 1), (1, 2), (2, 3)].into_iter().zip(coupled) {
                assert_eq!(groups.group_of(a) == groups.group_of(b), coupled, "{groups:?} {a} {b}");
            }
        }
        // Each path beyond the list is a group of its own, even if a group has the same number.
        assert_ne!(listed.group_of(3), listed.group_of(4));
        assert_ne!(listed.group_of(3), listed.group_of(2));
    }

    #[test]
    fn lists_have_1_to_32_paths() {
        assert_eq!(GroupList::new(&[]), None);
        assert_eq!(GroupList::new(&[0; 33]), None);
        assert_eq!(GroupList::new(&[3; 32]).unwrap().groups(), [3; 32]);
    }
}

policy_enum!(
    /// Whether packets are paced.
    Pacing {
        /// No: packets are sent as soon as the congestion window admits them.
        Off = "off",
        /// Yes: after a burst of four packets, or of 100 us, at the controller's pacing rate.
        /// Controllers without one pace 5/4 of a window per round trip, and two windows in slow
        /// start. While a loss reduces the window, SACKs clock the packets.
        On = "on",
    }
);
