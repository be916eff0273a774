//! The conversion of an event of the protocol to the name and data of a qlog event.

use polypath_proto::{Duration, PathStatus, ProbeEvent, TransmissionCause};
use serde::Serialize;

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

const fn field(name: &'static str, form: &'static str) -> Field {
    Field { name, form, required: true }
}

const PATH: Field = field("path_id", "number");
const TSN: Field = field("tsn", "number");

/// Every kind of event, in the order of the documentation.
pub const EVENTS: &[EventKind] = &[
    EventKind {
        name: "sctp:chunk_sent",
        importance: Importance::Core,
        fields: &[PATH, TSN, field("trigger", "text")],
    },
    EventKind { name: "sctp:chunk_acked", importance: Importance::Base, fields: &[PATH, TSN] },
    EventKind { name: "sctp:chunk_abandoned", importance: Importance::Base, fields: &[PATH, TSN] },
    EventKind { name: "sctp:chunk_received", importance: Importance::Core, fields: &[PATH, TSN] },
    EventKind {
        name: "sctp:congestion_window_updated",
        importance: Importance::Core,
        fields: &[
            PATH,
            field("congestion_window", "bytes"),
            Field { name: "ssthresh", form: "bytes", required: false },
            field("bytes_in_flight", "bytes"),
        ],
    },
    EventKind {
        name: "sctp:rtt_updated",
        importance: Importance::Core,
        fields: &[
            PATH,
            field("latest_rtt", "ms"),
            field("smoothed_rtt", "ms"),
            field("retransmission_timeout", "ms"),
        ],
    },
    EventKind { name: "sctp:fast_recovery_entered", importance: Importance::Base, fields: &[PATH] },
    EventKind {
        name: "sctp:timer_expired",
        importance: Importance::Core,
        fields: &[PATH, field("timer_type", "text"), field("error_count", "number")],
    },
    EventKind {
        name: "sctp:path_state_updated",
        importance: Importance::Core,
        fields: &[PATH, field("new", "text")],
    },
    EventKind {
        name: "sctp:path_mtu_updated",
        importance: Importance::Base,
        fields: &[PATH, field("mtu", "bytes")],
    },
    EventKind {
        name: "sctp:peer_window_updated",
        importance: Importance::Base,
        fields: &[field("peer_window", "bytes")],
    },
    EventKind { name: MISSED, importance: Importance::Core, fields: &[field("count", "number")] },
];

/// The event that marks a gap in a trace. It is the only one that does not come from the protocol.
pub(crate) const MISSED: &str = "sctp:events_missed";

/// The name of an event of the protocol, which is one of those in [`EVENTS`].
pub fn name_of(event: &ProbeEvent) -> &'static str {
    match event {
        ProbeEvent::ChunkSent { .. } => "sctp:chunk_sent",
        ProbeEvent::ChunkAcked { .. } => "sctp:chunk_acked",
        ProbeEvent::ChunkAbandoned { .. } => "sctp:chunk_abandoned",
        ProbeEvent::ChunkReceived { .. } => "sctp:chunk_received",
        ProbeEvent::Window { .. } => "sctp:congestion_window_updated",
        ProbeEvent::Rtt { .. } => "sctp:rtt_updated",
        ProbeEvent::FastRecoveryEntered { .. } => "sctp:fast_recovery_entered",
        ProbeEvent::Timeout { .. } => "sctp:timer_expired",
        ProbeEvent::Reachability { .. } => "sctp:path_state_updated",
        ProbeEvent::PathMtu { .. } => "sctp:path_mtu_updated",
        ProbeEvent::PeerWindow { .. } => "sctp:peer_window_updated",
    }
}

/// The data of an event, as written.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Data {
    Sent {
        path_id: u8,
        tsn: u32,
        trigger: &'static str,
    },
    Chunk {
        path_id: u8,
        tsn: u32,
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
    Path {
        path_id: u8,
    },
    Timer {
        path_id: u8,
        timer_type: &'static str,
        error_count: u32,
    },
    State {
        path_id: u8,
        new: &'static str,
    },
    Mtu {
        path_id: u8,
        mtu: u32,
    },
    PeerWindow {
        peer_window: u64,
    },
    Missed {
        count: u64,
    },
}

/// The data of an event.
pub(crate) fn data_of(event: &ProbeEvent) -> Data {
    match *event {
        ProbeEvent::ChunkSent { path, tsn, cause } => {
            Data::Sent { path_id: path.0, tsn: tsn.0, trigger: trigger(cause) }
        }
        ProbeEvent::ChunkAcked { path, tsn }
        | ProbeEvent::ChunkAbandoned { path, tsn }
        | ProbeEvent::ChunkReceived { path, tsn } => Data::Chunk { path_id: path.0, tsn: tsn.0 },
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
        ProbeEvent::FastRecoveryEntered { path } => Data::Path { path_id: path.0 },
        ProbeEvent::Timeout { path, errors } => {
            Data::Timer { path_id: path.0, timer_type: "t3_rtx", error_count: errors }
        }
        ProbeEvent::Reachability { path, status } => {
            Data::State { path_id: path.0, new: state(status) }
        }
        ProbeEvent::PathMtu { path, bytes } => Data::Mtu { path_id: path.0, mtu: bytes },
        ProbeEvent::PeerWindow { bytes } => Data::PeerWindow { peer_window: bytes },
    }
}

fn trigger(cause: TransmissionCause) -> &'static str {
    match cause {
        TransmissionCause::New => "new",
        TransmissionCause::FastRetransmission => "fast_retransmission",
        TransmissionCause::DropReport => "drop_report",
        TransmissionCause::TimerRetransmission => "timer_retransmission",
        TransmissionCause::Rescheduled => "rescheduled",
        TransmissionCause::TailProbe => "tail_probe",
        TransmissionCause::WindowProbe => "window_probe",
    }
}

fn state(status: PathStatus) -> &'static str {
    match status {
        PathStatus::Unconfirmed => "unconfirmed",
        PathStatus::Active => "active",
        PathStatus::PotentiallyFailed => "potentially_failed",
        PathStatus::Inactive => "inactive",
    }
}

/// qlog writes times in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeSet;

    use polypath_proto::{PathId, Tsn};
    use serde_json::Value;

    use super::*;

    const PATH_ID: PathId = PathId(3);
    const NUMBER: Tsn = Tsn(4_294_967_295);

    /// One event of each kind.
    pub(crate) fn samples() -> Vec<ProbeEvent> {
        let (path, tsn) = (PATH_ID, NUMBER);
        let [sample, srtt, rto] = [1_500, 2_000, 1_000_000].map(Duration::from_micros);
        vec![
            ProbeEvent::ChunkSent { path, tsn, cause: TransmissionCause::New },
            ProbeEvent::ChunkAcked { path, tsn },
            ProbeEvent::ChunkAbandoned { path, tsn },
            ProbeEvent::ChunkReceived { path, tsn },
            ProbeEvent::Window { path, cwnd: 4380, ssthresh: 65_536, flight: 1452 },
            ProbeEvent::Rtt { path, sample, srtt, rto },
            ProbeEvent::FastRecoveryEntered { path },
            ProbeEvent::Timeout { path, errors: 2 },
            ProbeEvent::Reachability { path, status: PathStatus::PotentiallyFailed },
            ProbeEvent::PathMtu { path, bytes: 1500 },
            ProbeEvent::PeerWindow { bytes: 1 << 20 },
        ]
    }

    /// Place of a kind among the samples. A new variant of `ProbeEvent` does not compile here: give it a sample, too.
    fn place(event: &ProbeEvent) -> usize {
        match event {
            ProbeEvent::ChunkSent { .. } => 0,
            ProbeEvent::ChunkAcked { .. } => 1,
            ProbeEvent::ChunkAbandoned { .. } => 2,
            ProbeEvent::ChunkReceived { .. } => 3,
            ProbeEvent::Window { .. } => 4,
            ProbeEvent::Rtt { .. } => 5,
            ProbeEvent::FastRecoveryEntered { .. } => 6,
            ProbeEvent::Timeout { .. } => 7,
            ProbeEvent::Reachability { .. } => 8,
            ProbeEvent::PathMtu { .. } => 9,
            ProbeEvent::PeerWindow { .. } => 10,
        }
    }

    fn written(event: &ProbeEvent) -> Value {
        serde_json::to_value(data_of(event)).unwrap()
    }

    #[test]
    fn every_event_is_in_the_list_with_its_fields() {
        let samples = samples();
        assert!(samples.iter().map(place).eq(0..samples.len()));
        let names = samples.iter().map(name_of).chain([MISSED]);
        assert!(names.eq(EVENTS.iter().map(|kind| kind.name)));
        for (event, kind) in samples.iter().zip(EVENTS) {
            let data = written(event);
            let found: BTreeSet<_> = data.as_object().unwrap().keys().cloned().collect();
            let listed = kind.fields.iter().map(|field| field.name.to_owned()).collect();
            assert_eq!(found, listed, "{}", kind.name);
            for field in kind.fields {
                let value = &data[field.name];
                let fits = match field.form {
                    "text" => value.is_string(),
                    "ms" => value.is_f64(),
                    _ => value.is_u64(),
                };
                assert!(fits, "{} {}: {value} is no {}", kind.name, field.name, field.form);
            }
        }
    }

    #[test]
    fn values_are_those_of_the_event() {
        let samples = samples();
        let text = |place: usize| written(&samples[place]).to_string();
        assert_eq!(text(0), r#"{"path_id":3,"trigger":"new","tsn":4294967295}"#);
        assert_eq!(
            text(4),
            r#"{"bytes_in_flight":1452,"congestion_window":4380,"path_id":3,"ssthresh":65536}"#
        );
        assert_eq!(
            text(5),
            r#"{"latest_rtt":1.5,"path_id":3,"retransmission_timeout":1000.0,"smoothed_rtt":2.0}"#
        );
        assert_eq!(text(7), r#"{"error_count":2,"path_id":3,"timer_type":"t3_rtx"}"#);
        assert_eq!(text(8), r#"{"new":"potentially_failed","path_id":3}"#);
    }

    #[test]
    fn no_limit_is_no_number() {
        let event = ProbeEvent::Window { path: PATH_ID, cwnd: 1, ssthresh: u64::MAX, flight: 0 };
        assert_eq!(written(&event).get("ssthresh"), None);
    }

    #[test]
    fn causes_and_states_have_names_of_their_own() {
        let causes = [
            TransmissionCause::New,
            TransmissionCause::FastRetransmission,
            TransmissionCause::DropReport,
            TransmissionCause::TimerRetransmission,
            TransmissionCause::Rescheduled,
            TransmissionCause::TailProbe,
            TransmissionCause::WindowProbe,
        ];
        let names: BTreeSet<_> = causes.into_iter().map(trigger).collect();
        assert_eq!(names.len(), causes.len());
        let states = [
            PathStatus::Unconfirmed,
            PathStatus::Active,
            PathStatus::PotentiallyFailed,
            PathStatus::Inactive,
        ];
        assert_eq!(states.into_iter().map(state).collect::<BTreeSet<_>>().len(), states.len());
    }
}
