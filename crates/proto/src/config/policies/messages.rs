//! Reliability of messages, and the order of streams.

use super::policy_enum;
use crate::Duration;

policy_enum!(
    /// The stream whose message is sent next (RFC 8260 section 3; `SCTP_STREAM_SCHEDULER` of section 4.3.2).
    StreamScheduler {
        /// First come, first served (`SCTP_SS_FCFS`).
        Fcfs = "fcfs",
        /// One message of each stream in turn (`SCTP_SS_RR`).
        RoundRobin = "round-robin",
        /// One packet of each stream in turn (`SCTP_SS_RR_PKT`).
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
    /// Stream reconfiguration (RE-CONFIG, RFC 6525), if both sides have it.
    StreamReconfiguration {
        /// Neither offered nor used.
        Off = "off",
        /// Either side may reset streams and add streams.
        On = "on",
    }
);

policy_enum!(
    /// Dynamic address reconfiguration (ASCONF, RFC 5061), if both sides have it.
    AddressReconfiguration {
        /// Neither offered nor used.
        Off = "off",
        /// Either side may add and delete its addresses with authenticated chunks (RFC 4895);
        /// authentication is offered as well.
        Authenticated = "authenticated",
        /// As `authenticated`, but also with peers without authentication (`asconf_auth_nochk` of
        /// usrsctp). Anybody who knows the verification tag can change the peer's addresses; only
        /// for protected networks or lower layers.
        Unauthenticated = "unauthenticated",
    }
);

policy_enum!(
    /// User message interleaving (I-DATA, RFC 8260), if both sides have it.
    MessageInterleaving {
        /// Neither offered nor used: the fragments of a message are sent one after the other.
        Off = "off",
        /// Fragments of messages of different streams are interleaved in the order of the stream
        /// scheduler.
        On = "on",
    }
);

/// Reliability of messages for which none is set (RFC 3758, RFC 7496).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum PartialReliability {
    /// Fully reliable.
    #[default]
    None,
    /// Abandoned after this time (timed reliability, RFC 3758 section 4.1).
    Timed(Duration),
    /// Abandoned when it would need more retransmissions than this (RFC 7496 section 3.1).
    LimitedRetransmissions(u16),
    /// Abandoned when a message of higher priority (a lower number) needs its space in the send buffer (RFC 7496
    /// section 3.2).
    Priority(u32),
}
