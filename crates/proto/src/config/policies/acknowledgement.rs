//! Acknowledgements: content, time and path of SACKs, and their interpretation by the sender.

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
        /// As `pseudo-cum-ack`, with a separate pseudo-cumulative ack for retransmitted chunks
        /// (CUCv2).
        PseudoCumAckV2 = "pseudo-cum-ack-v2",
    }
);

policy_enum!(
    /// Whether a gap in the received TSNs makes the receiver acknowledge immediately.
    GapAck {
        /// Acknowledge immediately (RFC 9260 section 6.7).
        Immediate = "immediate",
        /// Acknowledge immediately while TSNs are missing, but not the packet that fills the last
        /// gap (ns-2).
        WhileOpen = "while-open",
        /// Delay as usual (delayed ack for CMT, DAC).
        Delayed = "delayed",
    }
);

policy_enum!(
    /// How the first DATA of an association is acknowledged.
    FirstData {
        /// Immediately (RFC 9260 section 5.1).
        Immediate = "immediate",
        /// Like any other DATA, with delay (INET).
        Delayed = "delayed",
    }
);

policy_enum!(
    /// Whether SACKs carry the number of data packets they answer (DAC; bits 7-6 of the SACK flags).
    DacCount {
        /// The count is neither sent nor used.
        Off = "off",
        /// The count is sent and used.
        SackFlags = "sack-flags",
        /// As `sack-flags`, but only the gap ack blocks decide whether a SACK acknowledges data of
        /// several paths (ns-2.35).
        SackFlagsInGaps = "sack-flags-in-gaps",
        /// As `sack-flags`, but 0 when SACKs are not delayed, which then counts as no missing
        /// report: an artefact of ns-2 that `sarwar` fig. 4 shows.
        CountZeroWhenNotDelayed = "count-zero-when-not-delayed",
    }
);

policy_enum!(
    /// Which packets count towards a SACK.
    AckScope {
        /// Packets of all paths together (RFC 9260 section 6.2).
        Association = "association",
        /// Packets of each path separately: `delayed_ack.packets` packets on one path make a SACK
        /// due, regardless of the other paths.
        Path = "path",
    }
);

policy_enum!(
    /// How much of the return path's capacity SACKs may use.
    AckVolume {
        /// No limit.
        Any = "any",
        /// A SACK with many gap ack blocks acknowledges more packets, so that it is at most 4 % of
        /// the size of their data.
        PartOfData = "part-of-data",
    }
);

policy_group!(
    /// Delayed acknowledgement (RFC 9260 section 6.2).
    DelayedAck {
        /// Maximum number of data packets per SACK.
        #[cfg_attr(feature = "serde", serde(deserialize_with = "super::values::positive"))]
        packets: u8,
        /// Maximum delay of a SACK (SACK.Delay; at most 500 ms).
        delay: Duration,
        /// Effect of a gap.
        on_gap: GapAck,
        /// How the first DATA is acknowledged.
        first_data: FirstData,
        /// Whether the number of packets is reported.
        count: DacCount,
        /// Which packets count.
        scope: AckScope,
        /// How much of the return path's capacity SACKs may use.
        volume: AckVolume,
    }
);

policy_enum!(
    /// How the receiver advertises receive-buffer space that the application has freed.
    WindowUpdates {
        /// With a window update, a separate SACK, once enough is free (RFC 9260 section 6.2).
        On = "on",
        /// Only with the next SACK, however little is free (ns-2).
        Off = "off",
    }
);

policy_group!(
    /// The advertised receive window (RFC 9260 section 6.2.1).
    AdvertisedWindow {
        /// Bytes of a chunk that count, at both ends: the user data, or also the chunk header (ns-2).
        bytes_counted: BytesCounted,
        /// How space that the application has freed is advertised.
        updates: WindowUpdates,
    }
);

policy_enum!(
    /// Non-renegable acknowledgement (NR-SACK; draft-tuexen-tsvwg-sctp-multipath section 4), if both sides support it.
    NrSack {
        /// Neither offered nor used.
        Off = "off",
        /// Chunks are non-renegable once they can be delivered: unordered chunks, and chunks in
        /// sequence on their stream.
        Deliverable = "deliverable",
        /// All chunks are non-renegable: the receiver never reneges (INET `disableReneging`).
        All = "all",
        /// As `all`. With more than 124 gap ack blocks, a SACK contains those around the most
        /// recent arrivals; every eighth SACK contains all of them, or as many as fit, in turn.
        AllInTurn = "all-in-turn",
    }
);

/// Whether the receiver discards data that it has acknowledged in gap ack blocks (RFC 9260 section 6.2.1).
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
    /// The highest TSNs, when a lower TSN needs the space.
    UnderPressure,
    /// The highest gap-acknowledged TSNs, with this probability for each packet with DATA: for tests of senders.
    Simulated(Fraction),
}

policy_enum!(
    /// Reports of damaged packets (PKTDROP; draft-stewart-sctp-pktdrprep), if both sides support them.
    PacketDropReport {
        /// Neither offered nor used.
        Off = "off",
        /// The receiver reports damaged packets, and the sender retransmits their chunks without
        /// reducing its congestion window.
        On = "on",
    }
);

policy_enum!(
    /// The path on which SACKs return (INET `cmtSackPath`).
    SackPath {
        /// The path of the last DATA (RFC 9260 section 6.4).
        LastData = "last-data",
        /// The primary path; SACKs that report duplicates use the path of the last DATA, since
        /// SACKs on the primary path may have been lost.
        Primary = "primary",
        /// The paths on which DATA arrived since the last SACK, in turn, the longest unused one
        /// first.
        RoundRobin = "round-robin",
        /// The path with the smallest smoothed round-trip time; SACKs that report duplicates use
        /// the path of the last DATA.
        SmallestSrtt = "smallest-srtt",
    }
);

policy_enum!(
    /// SACKs that measure a path's round-trip time.
    RttSample {
        /// All SACKs, regardless of their path (RFC 9260 section 6.3.1, as applied by ns-2 and
        /// usrsctp).
        Classic = "classic",
        /// Only SACKs that arrive on the path of the chunk that they acknowledge (INET).
        PathBound = "path-bound",
        /// As `path-bound`; in addition, a chunk first acknowledged over another path is measured
        /// by the next SACK on its own path that covers it, even a stale one (INET
        /// `cmtSlowPathRTTUpdate`). Until data has measured a path, a SACK over another one gives an
        /// estimate.
        SlowPathUpdate = "slow-path-update",
    }
);

policy_enum!(
    /// How answers to control chunks (INIT ACK, HEARTBEAT ACK) count as measurements of a path's round-trip time.
    ControlRtt {
        /// Like those of data (RFC 9260 section 8.3).
        Counts = "counts",
        /// As provisional values, until data measures the path, and again when the last sample of
        /// data is 10 s old: control chunks are small and are answered without delay.
        Provisional = "provisional",
    }
);

policy_enum!(
    /// When data requests an immediate SACK (I bit, RFC 7053).
    SackRequest {
        /// On rescheduled chunks, on probes, and on the last chunk before a shutdown.
        AtShutdown = "at-shutdown",
        /// As `at-shutdown`; also when no more data waits, since the SACK would be delayed until
        /// the next message, and on chunks that measure the RTT of their path, since the delay
        /// would be part of the sample.
        WhenNeeded = "when-needed",
    }
);
