//! Records of events.

use std::collections::BTreeSet;
use std::mem::discriminant;

use polypath_proto::{
    BlockedCause, EndReason, LossDetection, PathId, TimerKind, TransmissionCause, Tsn,
};
use serde_json::Value;

use super::*;

const PATH_ID: PathId = PathId(3);
const NUMBER: Tsn = Tsn(4_294_967_295);

/// One event of each kind.
pub(crate) fn samples() -> Vec<ProbeEvent> {
    let (path, tsn) = (PATH_ID, NUMBER);
    let [sample, srtt, rto] = [1_500, 2_000, 1_000_000].map(Duration::from_micros);
    let [local, remote] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
    let (bytes, chunks) = (1500, ChunkKinds::from_iter([0, 3]));
    let (cumulative, gap_blocks, a_rwnd) = (tsn, 2, 65_536);
    let reason = EndReason::AbortedByPeer;
    vec![
        ProbeEvent::State { state: AssociationState::CookieWait },
        ProbeEvent::Ended { reason, cause_code: Some(12) },
        ProbeEvent::PathOpened { path, local, remote, status: PathStatus::Unconfirmed },
        ProbeEvent::Reachability { path, status: PathStatus::PotentiallyFailed },
        ProbeEvent::PathMtu { path, bytes: 1500 },
        ProbeEvent::PacketSent { path, bytes, chunks },
        ProbeEvent::PacketReceived { path, bytes, chunks },
        ProbeEvent::ChunkSent { path, tsn, cause: TransmissionCause::New },
        ProbeEvent::ChunkAcked { path, tsn },
        ProbeEvent::ChunkLost { path, tsn, detection: LossDetection::Overdue },
        ProbeEvent::ChunkAbandoned { path, tsn },
        ProbeEvent::ChunkReceived { path, tsn },
        ProbeEvent::SackSent { path, cumulative, gap_blocks, a_rwnd },
        ProbeEvent::SackReceived { path, cumulative, gap_blocks, a_rwnd },
        ProbeEvent::Window { path, cwnd: 4380, ssthresh: 65_536, flight: 1452 },
        ProbeEvent::Rtt { path, sample, srtt, rto },
        ProbeEvent::PathMarked { path, packets: 2 },
        ProbeEvent::FastRecoveryEntered { path },
        ProbeEvent::FastRecoveryLeft { path: Some(path) },
        ProbeEvent::Timeout { path, errors: 2 },
        ProbeEvent::TimerExpired { timer: TimerKind::T1Init, path: Some(path) },
        ProbeEvent::HeartbeatSent { path },
        ProbeEvent::HeartbeatAcked { path, rtt: sample },
        ProbeEvent::PeerWindow { bytes: 1 << 20 },
        ProbeEvent::Blocked { cause: BlockedCause::CongestionWindow },
        ProbeEvent::PathsRest { kept: path, alone_bytes_s: 1 << 20, together_bytes_s: 1 << 19 },
        ProbeEvent::PathsReturn,
    ]
}

/// Names of the records of the samples.
pub(crate) fn names() -> Vec<&'static str> {
    samples().iter().map(name_of).collect()
}

fn written(event: &ProbeEvent) -> Value {
    serde_json::to_value(data_of(event)).unwrap()
}

#[test]
fn every_event_has_a_sample() {
    let samples = samples();
    for (place, sample) in samples.iter().enumerate() {
        assert!(samples[..place].iter().all(|other| discriminant(other) != discriminant(sample)));
    }
    assert_eq!(samples.len(), ProbeEvent::KINDS, "a new kind needs a name, data and a sample");
}

#[test]
fn every_event_is_in_the_list_with_its_fields() {
    let mut names = names();
    // Timers have one name.
    names.dedup();
    assert!(names.iter().chain([&MISSED]).eq(EVENTS.iter().map(|kind| &kind.name)));
    for event in samples() {
        let kind = EVENTS.iter().find(|kind| kind.name == name_of(&event)).unwrap();
        let data = written(&event);
        let found: BTreeSet<_> = data.as_object().unwrap().keys().map(String::as_str).collect();
        let required = kind.fields.iter().filter(|field| field.required);
        assert!(required.clone().all(|field| found.contains(field.name)), "{}", kind.name);
        for name in found {
            let field = kind.fields.iter().find(|field| field.name == name);
            let field = field.unwrap_or_else(|| panic!("{} lists no {name}", kind.name));
            let value = &data[name];
            let fits = match field.form {
                "text" => value.is_string(),
                "list of texts" => value.as_array().unwrap().iter().all(Value::is_string),
                "ms" => value.is_f64(),
                _ => value.is_u64(),
            };
            assert!(fits, "{} {name}: {value} is no {}", kind.name, field.form);
        }
    }
}

#[test]
fn values_are_those_of_the_event() {
    for (name, text) in [
        ("sctp:association_state_updated", r#"{"new":"cookie_wait"}"#),
        ("sctp:association_ended", r#"{"cause_code":12,"reason":"aborted_by_peer"}"#),
        (
            "sctp:path_opened",
            r#"{"local_address":"192.0.2.1","path_id":3,"remote_address":"192.0.2.2","state":"unconfirmed"}"#,
        ),
        ("sctp:path_state_updated", r#"{"new":"potentially_failed","path_id":3}"#),
        ("sctp:packet_sent", r#"{"chunks":["DATA","SACK"],"length":1500,"path_id":3}"#),
        ("sctp:chunk_sent", r#"{"path_id":3,"trigger":"new","tsn":4294967295}"#),
        ("sctp:chunk_lost", r#"{"path_id":3,"trigger":"overdue","tsn":4294967295}"#),
        (
            "sctp:sack_received",
            r#"{"cumulative_tsn":4294967295,"gap_blocks":2,"path_id":3,"receive_window":65536}"#,
        ),
        (
            "sctp:congestion_window_updated",
            r#"{"bytes_in_flight":1452,"congestion_window":4380,"path_id":3,"ssthresh":65536}"#,
        ),
        (
            "sctp:rtt_updated",
            r#"{"latest_rtt":1.5,"path_id":3,"retransmission_timeout":1000.0,"smoothed_rtt":2.0}"#,
        ),
        ("sctp:timer_expired", r#"{"error_count":2,"path_id":3,"timer_type":"t3_rtx"}"#),
        ("sctp:heartbeat_acked", r#"{"path_id":3,"rtt":1.5}"#),
        ("sctp:sending_blocked", r#"{"cause":"congestion_window"}"#),
    ] {
        let samples = samples();
        let event = samples.iter().find(|event| name_of(event) == name).unwrap();
        assert_eq!(written(event).to_string(), text);
    }
    let expired = ProbeEvent::TimerExpired { timer: TimerKind::ZeroWindow, path: None };
    assert_eq!(written(&expired).to_string(), r#"{"timer_type":"zero_window"}"#);
}

#[test]
fn what_there_is_not_is_left_out() {
    let event = ProbeEvent::Window { path: PATH_ID, cwnd: 1, ssthresh: u64::MAX, flight: 0 };
    assert_eq!(written(&event).get("ssthresh"), None);
    let left = ProbeEvent::FastRecoveryLeft { path: None };
    assert_eq!(written(&left).to_string(), "{}");
    let ended = ProbeEvent::Ended { reason: EndReason::Aborted, cause_code: None };
    assert_eq!(written(&ended).to_string(), r#"{"reason":"aborted"}"#);
}

/// Asserts that no two of `values` have the same name.
fn differ<T>(values: &[T], name: impl Fn(&T) -> &'static str) {
    assert_eq!(values.iter().map(name).collect::<BTreeSet<_>>().len(), values.len());
}

#[test]
fn causes_and_states_have_names_of_their_own() {
    use TransmissionCause as Cause;
    differ(
        &[
            Cause::New,
            Cause::FastRetransmission,
            Cause::DropReport,
            Cause::TimerRetransmission,
            Cause::Rescheduled,
            Cause::TailProbe,
            Cause::WindowProbe,
        ],
        |cause| cause.name(),
    );
    use LossDetection as Detection;
    differ(
        &[
            Detection::MissingReports,
            Detection::Overdue,
            Detection::TailProbe,
            Detection::DropReport,
            Detection::Timeout,
            Detection::PathLost,
            Detection::WindowClosed,
        ],
        |how| how.name(),
    );
    use PathStatus::{Active, Inactive, PotentiallyFailed, Unconfirmed};
    differ(&[Unconfirmed, Active, PotentiallyFailed, Inactive], |status| state(*status));
    differ(
        &[
            AssociationState::Closed,
            AssociationState::CookieWait,
            AssociationState::CookieEchoed,
            AssociationState::Established,
            AssociationState::ShutdownPending,
            AssociationState::ShutdownSent,
            AssociationState::ShutdownReceived,
            AssociationState::ShutdownAckSent,
        ],
        |state| association_state(*state),
    );
    differ(
        &[
            EndReason::ShutdownComplete,
            EndReason::Aborted,
            EndReason::AbortedByPeer,
            EndReason::CannotConnect,
            EndReason::HandshakeRefused,
            EndReason::ShutdownTimeout,
            EndReason::Unreachable,
            EndReason::ChunkTooLarge,
            EndReason::ProtocolViolation,
            EndReason::ProtocolUnreachable,
        ],
        |reason| reason.name(),
    );
    differ(
        &[
            TimerKind::T1Init,
            TimerKind::T1Cookie,
            TimerKind::T2Shutdown,
            TimerKind::T5ShutdownGuard,
            TimerKind::Heartbeat,
            TimerKind::T4Asconf,
            TimerKind::ZeroWindow,
        ],
        |which| which.name(),
    );
    differ(
        &[
            BlockedCause::Application,
            BlockedCause::SendBuffer,
            BlockedCause::CongestionWindow,
            BlockedCause::PeerWindow,
            BlockedCause::BufferShare,
            BlockedCause::NoPath,
        ],
        |cause| cause.name(),
    );
}
