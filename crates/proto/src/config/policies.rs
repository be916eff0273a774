//! Policies: one small type for each choice that SCTP or CMT leaves open.
//!
//! The serde names of fields and values are the keys that scenario and study files use.

use crate::Duration;

macro_rules! policy_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
    };
}

policy_enum!(
    /// Which missing reports count (Iyengar, Amer, Stewart 2006; INET `cmtUseSFR`).
    SplitFastRetransmit {
        /// RFC 9260 section 7.2.4: below the highest TSN newly acknowledged, whatever its path.
        Off,
        /// Split fast retransmit: below the highest TSN newly acknowledged *on the same path*.
        Sfr,
    }
);

policy_enum!(
    /// When a path's congestion window may grow (INET `cmtCUCVariant`).
    CwndUpdate {
        /// When the cumulative TSN ack advances over chunks of the path (RFC 9260 section 7.2.1).
        Normal,
        /// When the lowest outstanding TSN of the path is acknowledged (CUC).
        PseudoCumAck,
        /// The same, followed apart for retransmitted chunks (CUCv2).
        #[cfg_attr(feature = "serde", serde(rename = "pseudo-cum-ack-v2"))]
        PseudoCumAckV2,
    }
);

policy_enum!(
    /// What a gap in the received TSNs means for delaying the SACK.
    GapAck {
        /// Acknowledge at once (RFC 9260 section 6.7).
        Immediate,
        /// Delay as usual (delayed ack for CMT, DAC).
        Delayed,
    }
);

policy_enum!(
    /// How the first DATA of an association is acknowledged.
    FirstData {
        /// At once (RFC 9260 section 5.1).
        Immediate,
        /// As any other (INET).
        Delayed,
    }
);

policy_enum!(
    /// Whether SACKs carry the number of data packets they answer (DAC; bits 7-6 of the SACK flags).
    DacCount {
        /// Neither sent nor read.
        Off,
        /// Sent and read.
        SackFlags,
    }
);

policy_enum!(
    /// Whose losses begin and end fast recovery.
    FastRecoveryScope {
        /// One recovery for the association (RFC 9260 section 7.2.4).
        AssociationWide,
        /// One recovery per path (FRC).
        PerPath,
    }
);

policy_enum!(
    /// In which order paths are asked to carry new data.
    PathOrder {
        /// The primary path only, or its alternate while it has failed (RFC 9260 section 6.4).
        Primary,
        /// All paths, in the order of the path table.
        Fixed,
        /// The path that has not sent for the longest time first (INET `smallestLastTransmission`).
        SmallestLastTransmission,
        /// All paths, beginning after the one that began the last time.
        Rotating,
    }
);

policy_enum!(
    /// How much a path takes before the next one is asked.
    PathFill {
        /// One packet.
        PacketByPacket,
        /// As much as its window allows.
        FillWindow,
    }
);

policy_enum!(
    /// Which path a retransmission takes.
    RetransmissionPath {
        /// The path of the lost transmission, while it is active (RTX-SAME).
        Same,
        /// Another active path if there is one (RFC 9260 section 6.4.1).
        Alternate,
        /// The path with the largest congestion window, ties at random (RTX-CWND).
        Cwnd,
        /// The path with the largest slow-start threshold, ties at random (RTX-SSTHRESH).
        Ssthresh,
    }
);

policy_enum!(
    /// What happens when the path chosen for a retransmission has no window.
    NoWindow {
        /// The chunk waits for it.
        Wait,
        /// The next best path with window takes it.
        Next,
    }
);

policy_enum!(
    /// Which bytes count against congestion windows.
    BytesCounted {
        /// DATA chunk header, user data and padding (RFC 9260 section 7.2).
        WithHeader,
        /// User data only (INET's default).
        Payload,
    }
);

policy_enum!(
    /// What happens to the window of a path that sends nothing (RFC 9260 section 7.2.1).
    IdleRule {
        /// Halved per RTO, not below 4 PMDCS; the slow-start threshold remembers it.
        #[cfg_attr(feature = "serde", serde(rename = "rfc9260"))]
        Rfc9260,
        /// Kept.
        Keep,
    }
);

policy_enum!(
    /// Whether user data may be sent to an address that was named in the handshake but not yet confirmed.
    DataBeforeConfirmation {
        /// On confirmed paths from the first moment (RFC 9260 section 5.4).
        On,
        /// Not before every path is confirmed or has failed (ns-2).
        Off,
    }
);

/// Limit on packets sent in one go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Burst {
    /// The window is treated as flight + n x MTU while that is less (RFC 9260 section 6.1 D).
    MaxBurst(u32),
    /// No limit.
    Off,
}

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

/// Fast retransmit (RFC 9260 section 7.2.4). One TSN is fast-retransmitted once; after that only T3 repairs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct FastRetransmit {
    /// Which missing reports count.
    pub split: SplitFastRetransmit,
    /// Missing reports that make a TSN lost.
    pub threshold: u8,
}

/// Delayed acknowledgement (RFC 9260 section 6.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct DelayedAck {
    /// A SACK answers at the latest this many data packets.
    pub packets: u8,
    /// A SACK is delayed at most this long (SACK.Delay; at most 500 ms).
    pub delay: Duration,
    /// What a gap means.
    pub on_gap: GapAck,
    /// Whether the first DATA is different.
    pub first_data: FirstData,
    /// Whether the number of packets is reported.
    pub count: DacCount,
}

/// Where retransmissions go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Retransmission {
    /// After missing reports.
    pub fast: RetransmissionPath,
    /// After a T3 timeout.
    pub timer: RetransmissionPath,
    /// When the chosen path has no window.
    pub no_window: NoWindow,
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

/// Every policy of an association: plain data.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct Policies {
    /// Fast retransmit.
    pub fast_retransmit: FastRetransmit,
    /// When windows grow.
    pub cwnd_update: CwndUpdate,
    /// Delayed acknowledgement.
    pub delayed_ack: DelayedAck,
    /// Scope of fast recovery.
    pub fast_recovery: FastRecoveryScope,
    /// Order of paths for new data.
    pub path_order: PathOrder,
    /// How much each path takes at a time.
    pub path_fill: PathFill,
    /// Where retransmissions go.
    pub retransmission: Retransmission,
    /// Limit on bursts.
    pub burst: Burst,
    /// Congestion windows.
    pub window: Window,
    /// Retransmission timeout.
    pub rto: Rto,
}
