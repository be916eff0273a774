//! What a probe hears of the association as a whole: its state, its paths, its packets.

use polypath_wire::{ChecksumPolicy, Chunk, Packet, PacketView};

use super::Association;
use super::handshake::HandshakeStep;
use super::state::{ConnectedPhase, State};
use crate::{
    AssociationEnd, AssociationState, BlockedCause, Body, ChunkKinds, Cx, EndReason, PathId,
    ProbeEvent, Received, TimerKind, Tsn,
};

impl State {
    fn public(&self) -> AssociationState {
        match self {
            Self::Handshake(handshake) => match handshake.step {
                HandshakeStep::CookieWait => AssociationState::CookieWait,
                HandshakeStep::CookieEchoed(_) => AssociationState::CookieEchoed,
            },
            Self::Connected(connected) => match connected.phase {
                ConnectedPhase::Established => AssociationState::Established,
                ConnectedPhase::ShutdownPending => AssociationState::ShutdownPending,
                ConnectedPhase::ShutdownSent(_) => AssociationState::ShutdownSent,
                ConnectedPhase::ShutdownHeld(_) | ConnectedPhase::ShutdownReceived(_) => {
                    AssociationState::ShutdownReceived
                }
                ConnectedPhase::ShutdownAckSent(_) => AssociationState::ShutdownAckSent,
            },
            Self::Closed(_) => AssociationState::Closed,
        }
    }
}

impl Association {
    /// Where it is between its handshake and its end.
    pub fn state(&self) -> AssociationState {
        self.state.public()
    }

    /// Reports the state if it is another one than before. To be called wherever it may have changed.
    pub(super) fn report_state(&mut self, cx: &mut Cx<'_>) {
        let state = self.state.public();
        if state != self.reported_state {
            self.reported_state = state;
            cx.probe.on(cx.now, ProbeEvent::State { state });
        }
    }

    /// Reports the end of the association.
    pub(super) fn report_end(&mut self, cx: &mut Cx<'_>, end: &AssociationEnd) {
        self.report_state(cx);
        let cause_code = match end {
            AssociationEnd::AbortedByPeer(causes)
            | AssociationEnd::HandshakeRefused(causes)
            | AssociationEnd::ProtocolViolation(causes) => {
                causes.first_chunk().map(|code| u16::from_be_bytes(*code))
            }
            _ => None,
        };
        cx.probe.on(cx.now, ProbeEvent::Ended { reason: EndReason::from(end), cause_code });
    }

    /// Reports a table of paths that was made anew.
    pub(super) fn report_paths(&self, cx: &mut Cx<'_>) {
        self.paths.ids().for_each(|id| self.report_path(cx, id));
    }

    /// Reports a path that was added, or is another one now.
    pub(super) fn report_path(&self, cx: &mut Cx<'_>, id: PathId) {
        let path = &self.paths[id];
        let (local, remote, status) = (path.local, path.remote, path.status());
        cx.probe.on(cx.now, ProbeEvent::PathOpened { path: id, local, remote, status });
    }

    /// Reports that T1-init or T1-cookie expired.
    pub(super) fn report_handshake_timeout(&self, cx: &mut Cx<'_>) {
        let Some(handshake) = self.state.handshake() else { return };
        let timer = match handshake.step {
            HandshakeStep::CookieWait => TimerKind::T1Init,
            HandshakeStep::CookieEchoed(_) => TimerKind::T1Cookie,
        };
        cx.probe.on(cx.now, ProbeEvent::TimerExpired { timer, path: Some(handshake.path) });
    }

    /// Reports why nothing more can be sent now, if that is another cause than before.
    pub(super) fn report_blocked(&self, cx: &mut Cx<'_>, cause: BlockedCause) {
        if self.blocked.cause() != Some(cause) {
            cx.probe.on(cx.now, ProbeEvent::Blocked { cause });
        }
    }
}

/// Reports a packet that is complete, and the SACK in it.
#[inline]
pub(super) fn packet_sent(cx: &mut Cx<'_>, path: PathId, packet: &Packet<'_>) {
    if cx.probe.wants_packets() {
        describe_sent(cx, path, packet);
    }
}

/// Reports a packet that arrived.
#[inline]
pub(super) fn packet_received(cx: &mut Cx<'_>, path: PathId, received: &Received<'_>) {
    if cx.probe.wants_packets() {
        describe_received(cx, path, received);
    }
}

#[inline(never)]
fn describe_sent(cx: &mut Cx<'_>, path: PathId, packet: &Packet<'_>) {
    for chunk in packet.chunks.iter() {
        let (cumulative, blocks, a_rwnd) = match chunk {
            Chunk::Sack(sack) => (sack.cumulative_tsn_ack, sack.gap_ack_blocks.len(), sack.a_rwnd),
            Chunk::NrSack(sack) => {
                let blocks = sack.renegable_blocks.len() + sack.non_renegable_blocks.len();
                (sack.cumulative_tsn_ack, blocks, sack.a_rwnd)
            }
            _ => continue,
        };
        let (cumulative, gap_blocks) = (Tsn(cumulative), blocks as u32);
        cx.probe.on(cx.now, ProbeEvent::SackSent { path, cumulative, gap_blocks, a_rwnd });
    }
    let chunks = packet.chunks.iter().map(Chunk::chunk_type).collect();
    let bytes = packet.encoded_len() as u32;
    cx.probe.on(cx.now, ProbeEvent::PacketSent { path, bytes, chunks });
}

#[inline(never)]
fn describe_received(cx: &mut Cx<'_>, path: PathId, received: &Received<'_>) {
    let (bytes, chunks) = match &received.body {
        Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => (bytes.len(), kinds(bytes)),
        Body::Structured(packet) | Body::Damaged { packet, .. } => {
            (packet.encoded_len(), packet.chunks.iter().map(Chunk::chunk_type).collect())
        }
    };
    cx.probe.on(cx.now, ProbeEvent::PacketReceived { path, bytes: bytes as u32, chunks });
}

/// The kinds of chunks in a packet, up to the first that cannot be parsed.
fn kinds(bytes: &[u8]) -> ChunkKinds {
    let Ok(view) = PacketView::parse(bytes, ChecksumPolicy::Ignore) else {
        return ChunkKinds::EMPTY;
    };
    view.chunks().map_while(Result::ok).map(|chunk| chunk.chunk_type()).collect()
}
