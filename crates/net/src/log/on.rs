//! Spans and events of `tracing`.

use std::net::IpAddr;

use polypath_proto::{
    Association as Protocol, AssociationId, Event, Instant, PathChange, PathStatus, Probe,
    ProbeEvent, TimerKind, TransmissionCause,
};
use tracing::{Level, Span, debug, error, info, info_span, trace, warn};

use crate::error::AssociationError;

/// The target of all spans and events.
const TARGET: &str = "polypath";

/// The log of one association: the span that contains all of its events.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    span: Span,
}

impl Log {
    /// The span of an association that begins.
    pub(crate) fn begin(id: AssociationId, protocol: &Protocol) -> Self {
        let identity = protocol.identity();
        let peer = || protocol.path_stats().first().map(|path| path.remote);
        let span = info_span!(
            target: TARGET,
            parent: None,
            "association",
            id = id.0,
            local_port = identity.local_port,
            remote_port = identity.remote_port,
            peer = peer().map(tracing::field::display),
        );
        debug!(target: TARGET, parent: &span, "association begins");
        Self { span }
    }

    /// The probe that logs the events of the protocol; `None` if no subscriber wants them.
    pub(crate) fn probe(&self) -> Option<LogProbe> {
        (!self.span.is_disabled()).then(|| LogProbe { span: self.span.clone() })
    }

    /// Logs a notification of the association.
    pub(crate) fn event(&self, event: &Event) {
        if self.span.is_disabled() {
            return;
        }
        let parent = &self.span;
        match event {
            Event::Established { outbound_streams, inbound_streams } => {
                info!(target: TARGET, parent: parent, outbound_streams, inbound_streams, "established");
            }
            Event::Restarted { unread_messages, .. } => {
                warn!(target: TARGET, parent: parent, unread_messages, "the peer restarted");
            }
            Event::Path { path, change } => {
                let path = path.0;
                match change {
                    PathChange::Unreachable | PathChange::PotentiallyFailed => {
                        warn!(target: TARGET, parent: parent, path, ?change, "path change");
                    }
                    _ => info!(target: TARGET, parent: parent, path, ?change, "path change"),
                }
            }
            Event::SendFailed { stream, context, .. } => {
                warn!(target: TARGET, parent: parent, stream, context, "message not delivered");
            }
            Event::Abandoned { stream, context, .. } => {
                debug!(target: TARGET, parent: parent, stream, context, "message abandoned");
            }
            Event::RemoteError(_) => {
                warn!(target: TARGET, parent: parent, "the peer reports an error");
            }
            Event::PeerShutdown => {
                info!(target: TARGET, parent: parent, "the peer shuts down");
            }
            Event::SenderDry => debug!(target: TARGET, parent: parent, "everything acknowledged"),
            // `ended` logs the end, with its error; readiness to read or write says nothing new.
            Event::Ended(_) | Event::Readable | Event::StreamReadable { .. } | Event::Writable => {}
            Event::PeerAddress { address, change } => {
                info!(target: TARGET, parent: parent, %address, ?change, "address of the peer");
            }
            Event::LocalAddress { address, change } => {
                info!(target: TARGET, parent: parent, %address, ?change, "address of this side");
            }
            Event::AddressChangeRefused { address, change, cause } => {
                warn!(target: TARGET, parent: parent, %address, ?change, cause, "the peer refuses a change of addresses");
            }
            other => debug!(target: TARGET, parent: parent, event = ?other, "event"),
        }
    }

    /// Logs the end of the association; graceful if there is no error.
    pub(crate) fn ended(&self, error: Option<&AssociationError>) {
        match error {
            None => info!(target: TARGET, parent: &self.span, "ended"),
            Some(error) => error!(target: TARGET, parent: &self.span, %error, "ended"),
        }
    }

    /// Logs that the system refused to send a packet.
    pub(crate) fn fault(&self, local: IpAddr, remote: IpAddr, fault: &str) {
        debug!(target: TARGET, parent: &self.span, %local, %remote, fault, "the system refused a packet");
    }
}

/// Logs the events of the protocol.
#[derive(Debug)]
pub(crate) struct LogProbe {
    span: Span,
}

impl LogProbe {
    /// Logs what happened to packets, chunks and windows.
    fn on_traffic(&self, event: ProbeEvent) {
        let parent = &self.span;
        match event {
            ProbeEvent::PacketSent { path, bytes, chunks } => {
                trace!(target: TARGET, parent: parent, path = path.0, bytes, %chunks, "packet sent");
            }
            ProbeEvent::PacketReceived { path, bytes, chunks } => {
                trace!(target: TARGET, parent: parent, path = path.0, bytes, %chunks, "packet received");
            }
            ProbeEvent::SackSent { path, cumulative, gap_blocks, a_rwnd } => {
                trace!(target: TARGET, parent: parent, path = path.0, cumulative = cumulative.0, gap_blocks, a_rwnd, "SACK sent");
            }
            ProbeEvent::SackReceived { path, cumulative, gap_blocks, a_rwnd } => {
                trace!(target: TARGET, parent: parent, path = path.0, cumulative = cumulative.0, gap_blocks, a_rwnd, "SACK received");
            }
            ProbeEvent::ChunkLost { path, tsn, detection } => {
                debug!(target: TARGET, parent: parent, path = path.0, tsn = tsn.0, ?detection, "chunk lost");
            }
            ProbeEvent::PathsRest { kept, alone_bytes_s, together_bytes_s } => {
                info!(target: TARGET, parent: parent, path = kept.0, alone_bytes_s, together_bytes_s, "one path carries all");
            }
            ProbeEvent::PathsReturn => {
                info!(target: TARGET, parent: parent, "all paths carry data again");
            }
            ProbeEvent::Blocked { cause } => {
                trace!(target: TARGET, parent: parent, ?cause, "sending blocked");
            }
            ProbeEvent::ChunkAbandoned { path, tsn } => {
                debug!(target: TARGET, parent: parent, path = path.0, tsn = tsn.0, "chunk abandoned");
            }
            ProbeEvent::ChunkSent { path, tsn, cause: TransmissionCause::New } => {
                trace!(target: TARGET, parent: parent, path = path.0, tsn = tsn.0, "chunk sent");
            }
            ProbeEvent::ChunkSent { path, tsn, cause } => {
                debug!(target: TARGET, parent: parent, path = path.0, tsn = tsn.0, ?cause, "chunk retransmitted");
            }
            ProbeEvent::ChunkAcked { path, tsn } => {
                trace!(target: TARGET, parent: parent, path = path.0, tsn = tsn.0, "chunk acknowledged");
            }
            ProbeEvent::ChunkReceived { path, tsn } => {
                trace!(target: TARGET, parent: parent, path = path.0, tsn = tsn.0, "chunk received");
            }
            ProbeEvent::Window { path, cwnd, ssthresh, flight } => {
                trace!(target: TARGET, parent: parent, path = path.0, cwnd, ssthresh, flight, "congestion window");
            }
            ProbeEvent::Rtt { path, sample, srtt, rto } => {
                let [sample, srtt, rto] = [sample, srtt, rto].map(|time| time.as_micros());
                trace!(target: TARGET, parent: parent, path = path.0, sample, srtt, rto, "round-trip time");
            }
            ProbeEvent::PeerWindow { bytes } => {
                trace!(target: TARGET, parent: parent, bytes, "peer's window");
            }
            other => debug!(target: TARGET, parent: parent, event = ?other, "protocol event"),
        }
    }
}

impl Probe for LogProbe {
    fn on(&mut self, _now: Instant, event: ProbeEvent) {
        let parent = &self.span;
        match event {
            ProbeEvent::State { state } => {
                debug!(target: TARGET, parent: parent, ?state, "association state");
            }
            ProbeEvent::PathOpened { path, local, remote, status } => {
                debug!(target: TARGET, parent: parent, path = path.0, %local, %remote, ?status, "path opened");
            }
            ProbeEvent::FastRecoveryLeft { path } => {
                debug!(target: TARGET, parent: parent, path = path.map(|path| path.0), "fast recovery ended");
            }
            ProbeEvent::TimerExpired {
                timer: timer @ (TimerKind::Heartbeat | TimerKind::ZeroWindow),
                path,
            } => {
                debug!(target: TARGET, parent: parent, path = path.map(|path| path.0), ?timer, "timer expired");
            }
            ProbeEvent::TimerExpired { timer, path } => {
                warn!(target: TARGET, parent: parent, path = path.map(|path| path.0), ?timer, "timer expired");
            }
            ProbeEvent::HeartbeatSent { path } => {
                trace!(target: TARGET, parent: parent, path = path.0, "heartbeat sent");
            }
            ProbeEvent::HeartbeatAcked { path, rtt } => {
                trace!(target: TARGET, parent: parent, path = path.0, rtt = rtt.as_micros(), "heartbeat acknowledged");
            }
            ProbeEvent::Timeout { path, errors } => {
                warn!(target: TARGET, parent: parent, path = path.0, errors, "retransmission timeout");
            }
            ProbeEvent::PathMarked { path, packets } => {
                debug!(target: TARGET, parent: parent, path = path.0, packets, "packets were marked");
            }
            ProbeEvent::FastRecoveryEntered { path } => {
                debug!(target: TARGET, parent: parent, path = path.0, "fast recovery");
            }
            ProbeEvent::Reachability { path, status } => match status {
                PathStatus::Unconfirmed | PathStatus::Active => {
                    info!(target: TARGET, parent: parent, path = path.0, ?status, "path state");
                }
                _ => {
                    warn!(target: TARGET, parent: parent, path = path.0, ?status, "path state");
                }
            },
            ProbeEvent::PathMtu { path, bytes } => {
                debug!(target: TARGET, parent: parent, path = path.0, bytes, "path MTU");
            }
            // `ended` logs the end, with its error.
            ProbeEvent::Ended { .. } => {}
            traffic => self.on_traffic(traffic),
        }
    }

    fn wants_packets(&self) -> bool {
        tracing::enabled!(target: TARGET, Level::TRACE)
    }
}
