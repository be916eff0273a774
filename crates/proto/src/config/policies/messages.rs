//! What messages may ask for, and the order of streams.

use super::policy_enum;
use crate::Duration;

policy_enum!(
    /// Which stream's message is sent next (RFC 8260 section 3; `SCTP_STREAM_SCHEDULER` of section 4.3.2).
    StreamScheduler {
        /// First come, first served (`SCTP_SS_FCFS`).
        Fcfs = "fcfs",
        /// The streams in turn, a message each (`SCTP_SS_RR`).
        RoundRobin = "round-robin",
        /// The streams in turn, a packet each (`SCTP_SS_RR_PKT`).
        RoundRobinPerPacket = "round-robin-per-packet",
        /// The stream with the highest priority, that is the lowest number (`SCTP_SS_PRIO`).
        Priority = "priority",
        /// Equal bytes for each stream (`SCTP_SS_FC`).
        Fair = "fair",
        /// Bytes in proportion to the weights of the streams (`SCTP_SS_WFQ`).
        WeightedFair = "weighted-fair",
    }
);

policy_enum!(
    /// Stream reconfiguration (RE-CONFIG, RFC 6525), when both sides have it.
    StreamReconfiguration {
        /// Neither offered nor used.
        Off = "off",
        /// Either side may let streams begin anew, and add streams.
        On = "on",
    }
);

policy_enum!(
    /// Dynamic address reconfiguration (ASCONF, RFC 5061), when both sides have it.
    AddressReconfiguration {
        /// Neither offered nor used.
        Off = "off",
        /// Either side may add and delete its addresses, by chunks that are authenticated (RFC 4895): authentication is offered, too.
        Authenticated = "authenticated",
        /// The same with a peer that has no authentication (`asconf_auth_nochk` of usrsctp): whoever knows the verification tag can
        /// change the addresses of the peer. For networks, or a layer below, that keep others away.
        Unauthenticated = "unauthenticated",
    }
);

policy_enum!(
    /// User message interleaving (I-DATA, RFC 8260), when both sides have it.
    MessageInterleaving {
        /// Neither offered nor used: fragments of a message follow each other.
        Off = "off",
        /// Fragments of messages of different streams alternate, as the stream scheduler says.
        On = "on",
    }
);

/// How reliable messages are that do not say it themselves (RFC 3758, RFC 7496).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum PartialReliability {
    /// Fully.
    #[default]
    None,
    /// Given up after this time (timed reliability, RFC 3758 section 4.1).
    Timed(Duration),
    /// Given up when it would have to be retransmitted more often than this (RFC 7496 section 3.1).
    LimitedRetransmissions(u16),
    /// Given up when a message of higher priority, that is with a lower number, needs its room in the send buffer
    /// (RFC 7496 section 3.2).
    Priority(u32),
}
