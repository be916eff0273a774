//! The conversion of an event of the protocol to the name and data of a qlog event.

use std::net::IpAddr;

use polypath_proto::{AssociationState, ChunkKinds, Duration, PathStatus, ProbeEvent};
use serde::{Serialize, Serializer};

/// The importance of an event, as qlog defines it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Importance {
    /// Expected in every trace.
    Core,
    /// Needed for most questions.
    Base,
    /// Details.
    Extra,
}

/// A kind of event in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventKind {
    /// Its name, with the namespace.
    pub name: &'static str,
    /// How important it is.
    pub importance: Importance,
    /// The fields of its data.
    pub fields: &'static [Field],
}

/// A field in the data of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type, and its unit if it has one.
    pub form: &'static str,
    /// Whether every event of the kind has it.
    pub required: bool,
}

const fn kind(name: &'static str, importance: Importance, fields: &'static [Field]) -> EventKind {
    EventKind { name, importance, fields }
}

const fn field(name: &'static str, form: &'static str) -> Field {
    Field { name, form, required: true }
}

const fn optional(name: &'static str, form: &'static str) -> Field {
    Field { name, form, required: false }
}

const PATH: Field = field("path_id", "number");
const TSN: Field = field("tsn", "number");
const STATE: Field = field("state", "text");
const PACKET: &[Field] = &[PATH, field("length", "bytes"), field("chunks", "list of texts")];
const SACK: &[Field] = &[
    PATH,
    field("cumulative_tsn", "number"),
    field("gap_blocks", "number"),
    field("receive_window", "bytes"),
];

/// Every kind of event, in the order of the documentation.
pub const EVENTS: &[EventKind] = &[
    kind("sctp:association_state_updated", Importance::Base, &[field("new", "text")]),
    kind(
        "sctp:association_ended",
        Importance::Core,
        &[field("reason", "text"), optional("cause_code", "number")],
    ),
    kind(
        "sctp:path_opened",
        Importance::Core,
        &[PATH, field("local_address", "text"), field("remote_address", "text"), STATE],
    ),
    kind("sctp:path_state_updated", Importance::Core, &[PATH, field("new", "text")]),
    kind("sctp:path_mtu_updated", Importance::Base, &[PATH, field("mtu", "bytes")]),
    kind("sctp:packet_sent", Importance::Core, PACKET),
    kind("sctp:packet_received", Importance::Core, PACKET),
    kind("sctp:chunk_sent", Importance::Core, &[PATH, TSN, field("trigger", "text")]),
    kind("sctp:chunk_acked", Importance::Base, &[PATH, TSN]),
    kind("sctp:chunk_lost", Importance::Core, &[PATH, TSN, field("trigger", "text")]),
    kind("sctp:chunk_abandoned", Importance::Base, &[PATH, TSN]),
    kind("sctp:chunk_received", Importance::Core, &[PATH, TSN]),
    kind("sctp:sack_sent", Importance::Base, SACK),
    kind("sctp:sack_received", Importance::Base, SACK),
    kind(
        "sctp:congestion_window_updated",
        Importance::Core,
        &[
            PATH,
            field("congestion_window", "bytes"),
            optional("ssthresh", "bytes"),
            field("bytes_in_flight", "bytes"),
        ],
    ),
    kind(
        "sctp:rtt_updated",
        Importance::Core,
        &[
            PATH,
            field("latest_rtt", "ms"),
            field("smoothed_rtt", "ms"),
            field("retransmission_timeout", "ms"),
        ],
    ),
    kind("sctp:path_marked", Importance::Base, &[PATH, field("packets", "number")]),
    kind("sctp:fast_recovery_entered", Importance::Base, &[PATH]),
    kind("sctp:fast_recovery_left", Importance::Base, &[optional("path_id", "number")]),
    kind(
        "sctp:timer_expired",
        Importance::Core,
        &[
            optional("path_id", "number"),
            field("timer_type", "text"),
            optional("error_count", "number"),
        ],
    ),
    kind("sctp:heartbeat_sent", Importance::Base, &[PATH]),
    kind("sctp:heartbeat_acked", Importance::Base, &[PATH, field("rtt", "ms")]),
    kind("sctp:peer_window_updated", Importance::Base, &[field("peer_window", "bytes")]),
    kind("sctp:sending_blocked", Importance::Base, &[field("cause", "text")]),
    kind(
        "sctp:paths_rest",
        Importance::Base,
        &[
            PATH,
            field("goodput_alone", "bits per second"),
            field("goodput_together", "bits per second"),
        ],
    ),
    kind("sctp:paths_return", Importance::Base, &[]),
    kind(MISSED, Importance::Core, &[field("count", "number")]),
];

/// The event that marks a gap in a trace. It is the only one that does not come from the protocol.
pub(crate) const MISSED: &str = "sctp:events_missed";

/// The name of an event of the protocol, which is one of those in [`EVENTS`].
pub fn name_of(event: &ProbeEvent) -> &'static str {
    match event {
        ProbeEvent::State { .. } => "sctp:association_state_updated",
        ProbeEvent::Ended { .. } => "sctp:association_ended",
        ProbeEvent::PathOpened { .. } => "sctp:path_opened",
        ProbeEvent::Reachability { .. } => "sctp:path_state_updated",
        ProbeEvent::PathMtu { .. } => "sctp:path_mtu_updated",
        ProbeEvent::PacketSent { .. } => "sctp:packet_sent",
        ProbeEvent::PacketReceived { .. } => "sctp:packet_received",
        ProbeEvent::ChunkSent { .. } => "sctp:chunk_sent",
        ProbeEvent::ChunkAcked { .. } => "sctp:chunk_acked",
        ProbeEvent::ChunkLost { .. } => "sctp:chunk_lost",
        ProbeEvent::ChunkAbandoned { .. } => "sctp:chunk_abandoned",
        ProbeEvent::ChunkReceived { .. } => "sctp:chunk_received",
        ProbeEvent::SackSent { .. } => "sctp:sack_sent",
        ProbeEvent::SackReceived { .. } => "sctp:sack_received",
        ProbeEvent::Window { .. } => "sctp:congestion_window_updated",
        ProbeEvent::Rtt { .. } => "sctp:rtt_updated",
        ProbeEvent::PathMarked { .. } => "sctp:path_marked",
        ProbeEvent::FastRecoveryEntered { .. } => "sctp:fast_recovery_entered",
        ProbeEvent::FastRecoveryLeft { .. } => "sctp:fast_recovery_left",
        ProbeEvent::Timeout { .. } | ProbeEvent::TimerExpired { .. } => "sctp:timer_expired",
        ProbeEvent::HeartbeatSent { .. } => "sctp:heartbeat_sent",
        ProbeEvent::HeartbeatAcked { .. } => "sctp:heartbeat_acked",
        ProbeEvent::PeerWindow { .. } => "sctp:peer_window_updated",
        ProbeEvent::Blocked { .. } => "sctp:sending_blocked",
        ProbeEvent::PathsRest { .. } => "sctp:paths_rest",
        ProbeEvent::PathsReturn => "sctp:paths_return",
        // The enum may grow. A test fails where a kind comes here.
        _ => UNKNOWN,
    }
}

/// The name of an event that is not in the list.
const UNKNOWN: &str = "sctp:unknown";

/// The data of an event, as written.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Data {
    Ended {
        reason: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cause_code: Option<u16>,
    },
    Opened {
        path_id: u8,
        local_address: IpAddr,
        remote_address: IpAddr,
        state: &'static str,
    },
    Packet {
        path_id: u8,
        length: u32,
        chunks: Names,
    },
    /// A chunk, and why something happened to it.
    Caused {
        path_id: u8,
        tsn: u32,
        trigger: &'static str,
    },
    Chunk {
        path_id: u8,
        tsn: u32,
    },
    Sack {
        path_id: u8,
        cumulative_tsn: u32,
        gap_blocks: u32,
        receive_window: u32,
    },
    Window {
        path_id: u8,
        congestion_window: u64,
        /// Missing while there is no limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        ssthresh: Option<u64>,
        bytes_in_flight: u64,
    },
    Rtt {
        path_id: u8,
        latest_rtt: f64,
        smoothed_rtt: f64,
        retransmission_timeout: f64,
    },
    /// A path; none if it is about the whole association.
    Path {
        #[serde(skip_serializing_if = "Option::is_none")]
        path_id: Option<u8>,
    },
    Timer {
        #[serde(skip_serializing_if = "Option::is_none")]
        path_id: Option<u8>,
        timer_type: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        error_count: Option<u32>,
    },
    Heartbeat {
        path_id: u8,
        rtt: f64,
    },
    Marked {
        path_id: u8,
        packets: u64,
    },
    State {
        /// None if it is the state of the association.
        #[serde(skip_serializing_if = "Option::is_none")]
        path_id: Option<u8>,
        new: &'static str,
    },
    Mtu {
        path_id: u8,
        mtu: u32,
    },
    PeerWindow {
        peer_window: u64,
    },
    Blocked {
        cause: &'static str,
    },
    Rest {
        path_id: u8,
        goodput_alone: u64,
        goodput_together: u64,
    },
    Return {},
    Missed {
        count: u64,
    },
    Unknown {},
}

/// The names of kinds of chunks, as a list.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Names(ChunkKinds);

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.names())
    }
}

/// The data of an event.
pub(crate) fn data_of(event: &ProbeEvent) -> Data {
    match *event {
        ProbeEvent::State { state } => Data::State { path_id: None, new: association_state(state) },
        ProbeEvent::Ended { reason, cause_code } => {
            Data::Ended { reason: reason.name(), cause_code }
        }
        ProbeEvent::PathOpened { path, local, remote, status } => Data::Opened {
            path_id: path.0,
            local_address: local,
            remote_address: remote,
            state: state(status),
        },
        ProbeEvent::Reachability { path, status } => {
            Data::State { path_id: Some(path.0), new: state(status) }
        }
        ProbeEvent::PathMtu { path, bytes } => Data::Mtu { path_id: path.0, mtu: bytes },
        ProbeEvent::PacketSent { path, bytes, chunks }
        | ProbeEvent::PacketReceived { path, bytes, chunks } => {
            Data::Packet { path_id: path.0, length: bytes, chunks: Names(chunks) }
        }
        ProbeEvent::ChunkSent { path, tsn, cause } => {
            Data::Caused { path_id: path.0, tsn: tsn.0, trigger: cause.name() }
        }
        ProbeEvent::ChunkLost { path, tsn, detection: how } => {
            Data::Caused { path_id: path.0, tsn: tsn.0, trigger: how.name() }
        }
        ProbeEvent::ChunkAcked { path, tsn }
        | ProbeEvent::ChunkAbandoned { path, tsn }
        | ProbeEvent::ChunkReceived { path, tsn } => Data::Chunk { path_id: path.0, tsn: tsn.0 },
        ProbeEvent::SackSent { path, cumulative, gap_blocks, a_rwnd }
        | ProbeEvent::SackReceived { path, cumulative, gap_blocks, a_rwnd } => Data::Sack {
            path_id: path.0,
            cumulative_tsn: cumulative.0,
            gap_blocks,
            receive_window: a_rwnd,
        },
        ProbeEvent::Window { path, cwnd, ssthresh, flight } => Data::Window {
            path_id: path.0,
            congestion_window: cwnd,
            ssthresh: (ssthresh != u64::MAX).then_some(ssthresh),
            bytes_in_flight: flight,
        },
        ProbeEvent::Rtt { path, sample, srtt, rto } => Data::Rtt {
            path_id: path.0,
            latest_rtt: milliseconds(sample),
            smoothed_rtt: milliseconds(srtt),
            retransmission_timeout: milliseconds(rto),
        },
        ProbeEvent::PathMarked { path, packets } => Data::Marked { path_id: path.0, packets },
        ProbeEvent::FastRecoveryEntered { path } | ProbeEvent::HeartbeatSent { path } => {
            Data::Path { path_id: Some(path.0) }
        }
        ProbeEvent::FastRecoveryLeft { path } => Data::Path { path_id: path.map(|path| path.0) },
        ProbeEvent::Timeout { path, errors } => {
            let (path_id, error_count) = (Some(path.0), Some(errors));
            Data::Timer { path_id, timer_type: "t3_rtx", error_count }
        }
        ProbeEvent::TimerExpired { timer: which, path } => {
            let path_id = path.map(|path| path.0);
            Data::Timer { path_id, timer_type: which.name(), error_count: None }
        }
        ProbeEvent::HeartbeatAcked { path, rtt } => {
            Data::Heartbeat { path_id: path.0, rtt: milliseconds(rtt) }
        }
        ProbeEvent::PeerWindow { bytes } => Data::PeerWindow { peer_window: bytes },
        ProbeEvent::Blocked { cause } => Data::Blocked { cause: cause.name() },
        ProbeEvent::PathsRest { kept, alone_bytes_s, together_bytes_s } => Data::Rest {
            path_id: kept.0,
            goodput_alone: alone_bytes_s.saturating_mul(8),
            goodput_together: together_bytes_s.saturating_mul(8),
        },
        ProbeEvent::PathsReturn => Data::Return {},
        _ => Data::Unknown {},
    }
}

fn association_state(state: AssociationState) -> &'static str {
    match state {
        AssociationState::Closed => "closed",
        AssociationState::CookieWait => "cookie_wait",
        AssociationState::CookieEchoed => "cookie_echoed",
        AssociationState::Established => "established",
        AssociationState::ShutdownPending => "shutdown_pending",
        AssociationState::ShutdownSent => "shutdown_sent",
        AssociationState::ShutdownReceived => "shutdown_received",
        AssociationState::ShutdownAckSent => "shutdown_ack_sent",
    }
}

fn state(status: PathStatus) -> &'static str {
    match status {
        PathStatus::PotentiallyFailed => "potentially_failed",
        other => other.name(),
    }
}

/// qlog writes times in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
pub(crate) mod tests;
