//! What the receiver tells, when and by which path, and what the sender makes of it.

use polypath_units::Fraction;

use super::{BytesCounted, policy_enum, policy_group};
use crate::Duration;

policy_enum!(
    /// When a path's congestion window may grow (INET `cmtCUCVariant`).
    CwndUpdate {
        /// When the cumulative TSN ack advances over chunks of the path (RFC 9260 section 7.2.1).
        Normal = "normal",
        /// When the lowest outstanding TSN of the path is acknowledged (CUC).
        PseudoCumAck = "pseudo-cum-ack",
        /// The same, followed apart for retransmitted chunks (CUCv2).
        PseudoCumAckV2 = "pseudo-cum-ack-v2",
    }
);

policy_enum!(
    /// What a gap in the received TSNs means for delaying the SACK.
    GapAck {
        /// Acknowledge at once (RFC 9260 section 6.7).
        Immediate = "immediate",
        /// Acknowledge at once while TSNs are missing, but not the packet that brings the last one of them (ns-2).
        WhileOpen = "while-open",
        /// Delay as usual (delayed ack for CMT, DAC).
        Delayed = "delayed",
    }
);

policy_enum!(
    /// How the first DATA of an association is acknowledged.
    FirstData {
        /// At once (RFC 9260 section 5.1).
        Immediate = "immediate",
        /// As any other (INET).
        Delayed = "delayed",
    }
);

policy_enum!(
    /// Whether SACKs carry the number of data packets they answer (DAC; bits 7-6 of the SACK flags).
    DacCount {
        /// Neither sent nor read.
        Off = "off",
        /// Sent and read.
        SackFlags = "sack-flags",
        /// The same; but whether a SACK has news of several paths, its gap ack blocks say alone (ns-2.35).
        SackFlagsInGaps = "sack-flags-in-gaps",
        /// Sent and read, but 0 when SACKs are not delayed, and then worth no missing report: an artefact of ns-2
        /// that `sarwar` fig. 4 shows.
        CountZeroWhenNotDelayed = "count-zero-when-not-delayed",
    }
);

policy_enum!(
    /// Which packets count towards a SACK.
    AckScope {
        /// Packets of all paths together (RFC 9260 section 6.2).
        Association = "association",
        /// Packets of each path separately: `delayed_ack.packets` of one path make a SACK due, whatever other paths bring.
        Path = "path",
    }
);

policy_enum!(
    /// How much of the way back SACKs may take.
    AckVolume {
        /// Whatever they need.
        Any = "any",
        /// A SACK with many gap ack blocks answers more packets: so many that it takes at most 4 % of what their data took.
        PartOfData = "part-of-data",
    }
);

policy_group!(
    /// Delayed acknowledgement (RFC 9260 section 6.2).
    DelayedAck {
        /// A SACK answers at the latest this many data packets.
        #[cfg_attr(feature = "serde", serde(deserialize_with = "super::values::positive"))]
        packets: u8,
        /// A SACK is delayed at most this long (SACK.Delay; at most 500 ms).
        delay: Duration,
        /// What a gap means.
        on_gap: GapAck,
        /// Whether the first DATA is different.
        first_data: FirstData,
        /// Whether the number of packets is reported.
        count: DacCount,
        /// Which packets count.
        scope: AckScope,
        /// How much of the way back SACKs may take.
        volume: AckVolume,
    }
);

policy_enum!(
    /// How the receiver advertises a window that the application has opened again.
    WindowUpdates {
        /// With a SACK of its own, once it is worth it (RFC 9260 section 6.2).
        On = "on",
        /// With the next SACK only, however little it is (ns-2).
        Off = "off",
    }
);

policy_group!(
    /// The advertised receive window (RFC 9260 section 6.2.1).
    AdvertisedWindow {
        /// Which bytes of a chunk take room, at both ends: the user data, or its chunk header too (ns-2).
        bytes_counted: BytesCounted,
        /// How a window is advertised that the application has opened again.
        updates: WindowUpdates,
    }
);

policy_enum!(
    /// Non-renegable acknowledgement (NR-SACK; draft-tuexen-tsvwg-sctp-multipath section 4), when both sides have it.
    NrSack {
        /// Neither offered nor used.
        Off = "off",
        /// Chunks are non-renegable once they can be delivered: unordered ones, and those in sequence on their stream.
        Deliverable = "deliverable",
        /// All chunks are, for a receiver that never reneges (INET `disableReneging`).
        All = "all",
        /// All chunks are, and of more than 124 gap ack blocks a SACK names those around what came in last; every eighth one
        /// names all, or as many as there is room for, in turn.
        AllInTurn = "all-in-turn",
    }
);

/// Whether the receiver discards what it has acknowledged in gap blocks (RFC 9260 section 6.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Reneging {
    /// Never.
    Never,
    /// The highest TSNs, when a lower one needs their room.
    UnderPressure,
    /// The highest gap-acknowledged TSNs, with this probability for each packet with DATA: for tests of senders.
    Simulated(Fraction),
}

policy_enum!(
    /// Reports of damaged packets (PKTDROP; draft-stewart-sctp-pktdrprep), when both sides have them.
    PacketDropReport {
        /// Neither offered nor used.
        Off = "off",
        /// A damaged packet that reaches the stack is reported, and the sender repairs without reducing its window.
        On = "on",
    }
);

policy_enum!(
    /// The path on which SACKs return (INET `cmtSackPath`).
    SackPath {
        /// To the source of the last DATA (RFC 9260 section 6.4).
        LastData = "last-data",
        /// The primary path; a SACK that reports duplicates, to the source of the last DATA, since SACKs may be lost here.
        Primary = "primary",
        /// The paths that brought DATA since the last SACK in turn, longest unused first.
        RoundRobin = "round-robin",
        /// The path with the smallest smoothed round-trip time; a SACK that reports duplicates, to the source of the last DATA.
        SmallestSrtt = "smallest-srtt",
    }
);

policy_enum!(
    /// Which SACKs measure a path's round-trip time.
    RttSample {
        /// Any, whatever path it took (RFC 9260 section 6.3.1, as ns-2 and usrsctp apply it).
        Classic = "classic",
        /// Only one that came back over the path of the chunk it acknowledges (INET).
        PathBound = "path-bound",
        /// The same, and a chunk first acknowledged over another path is measured by the next SACK over its own that
        /// covers it, even a stale one (INET `cmtSlowPathRTTUpdate`).
        SlowPathUpdate = "slow-path-update",
    }
);

policy_enum!(
    /// How answers to control chunks (INIT ACK, HEARTBEAT ACK) count as measurements of a path's round-trip time.
    ControlRtt {
        /// Like those of data (RFC 9260 section 8.3).
        Counts = "counts",
        /// As a provisional value, until data measures the path, and again when the last measurement by data is 10 s old:
        /// control chunks are small and are answered without a delay.
        Provisional = "provisional",
    }
);

policy_enum!(
    /// When data asks for its SACK at once (I bit, RFC 7053).
    SackRequest {
        /// When a chunk is moved to another path, sent as a probe, or the last one before a shutdown.
        AtShutdown = "at-shutdown",
        /// Also when no more data waits to be sent, since the SACK would be delayed until the next message, and when the
        /// chunk measures the round-trip time of its path, since a delay would count as part of it.
        WhenNeeded = "when-needed",
    }
);
