//! Packets of the peer from a transport address that no path has: what is sent there, and what becomes of it.

use polypath_wire::{Chunk, Parameter, Parameters};

use super::Association;
use super::output::To;
use crate::paths::heartbeat::{Info, Purpose};
use crate::paths::newcomers::{Admitted, Claim, Place, Proved};
use crate::paths::reach::Signal;
use crate::{Body, Cx, Duration, PathId, Received};

/// Shortest time between two probes of a newcomer.
const LEAST_PAUSE: Duration = Duration::from_millis(100);

/// Where a packet came from that is not from where its path leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stranger {
    /// From a newcomer of this name, which is sent a HEARTBEAT: an answer may go along.
    Asked(u16),
    /// Nothing is sent there at present.
    Ignored,
}

impl Association {
    /// What is to be made of the transport address that a packet came from; `None`: its path leads there.
    #[inline]
    pub(super) fn stranger(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        came_on: PathId,
    ) -> Option<Stranger> {
        let path = &self.paths[came_on];
        let is_known =
            path.encapsulation == received.encapsulation && path.remote == received.remote;
        if is_known { None } else { self.meet_stranger(cx, received, came_on) }
    }

    #[cold]
    fn meet_stranger(
        &mut self,
        cx: &mut Cx<'_>,
        received: &Received<'_>,
        came_on: PathId,
    ) -> Option<Stranger> {
        let path = &self.paths[came_on];
        let is_of_path = path.remote == received.remote && path.local == received.local;
        if received.body.verification_tag() != Some(self.identity.local_tag) || !is_of_path {
            return None;
        }
        if self.state.is_handshake() {
            // The INIT ACK, and nobody else has the tag yet (RFC 6951 section 5.4).
            self.follow_in_handshake(received, came_on);
            return None;
        }
        if !self.state.is_connected() || !has_chunks(&received.body) {
            return Some(Stranger::Ignored);
        }
        let Received { local, remote, encapsulation, .. } = *received;
        let place = Place { local, remote, encapsulation };
        Some(self.ask_newcomer(cx, place, Claim::Moved(came_on), came_on))
    }

    /// Sends a newcomer its HEARTBEAT, if one is due.
    fn ask_newcomer(
        &mut self,
        cx: &mut Cx<'_>,
        place: Place,
        claim: Claim,
        stands_for: PathId,
    ) -> Stranger {
        let pause = self.transmitter.paths[stands_for].rtt.rto_without_backoff().max(LEAST_PAUSE);
        let nonce = cx.rng.next_u64();
        let admitted = self.newcomers.admit(cx.now, place, claim, pause, nonce);
        let Some(Admitted { serial, nonce }) = admitted else { return Stranger::Ignored };
        let info = Info { path: stands_for.0, nonce, purpose: Purpose::Reachability }.encode();
        let parameters = Parameters::build([Parameter::HeartbeatInfo(&info)]);
        self.queue_control(Chunk::Heartbeat(parameters), To::Newcomer(stands_for, serial));
        Stranger::Asked(serial)
    }

    /// A nonce that was sent to a newcomer came back, from `place`.
    #[cold]
    pub(super) fn newcomer_answered(&mut self, cx: &mut Cx<'_>, place: Place, nonce: u64) {
        let Some(proved) = self.newcomers.answered(place, nonce) else { return };
        match proved.claim {
            Claim::Moved(path) => self.move_path(cx, path, &proved),
        }
    }

    /// The peer's address on the path is another one.
    fn move_path(&mut self, cx: &mut Cx<'_>, id: PathId, proved: &Proved) {
        let Some(path) = self.paths.get_mut(id) else { return };
        path.encapsulation = proved.place.encapsulation;
        path.denied_since = None;
        path.heartbeat.outstanding = None;
        let headers = path.headers();
        let sending = &mut self.transmitter.paths[id];
        sending.resize(sending.mtu(), headers, &self.config);
        // UDP takes its part of each packet.
        self.fit_fragments();
        self.transmitter.paths[id].sample_control_rtt(cx.now, cx.probe, proved.sent_at);
        self.path_works(cx, id, Signal::HeartbeatAck);
        self.schedule_heartbeat(cx, id);
        // What went to the old address is lost.
        let (transmitter, mut send_cx) = self.sending(cx);
        transmitter.on_path_lost(&mut send_cx, id);
        self.apply_effects(cx);
    }

    /// During the handshake the peer is where its answer comes from.
    fn follow_in_handshake(&mut self, received: &Received<'_>, came_on: PathId) {
        let path = &mut self.paths[came_on];
        path.encapsulation = received.encapsulation;
        let headers = path.headers();
        let sending = &mut self.transmitter.paths[came_on];
        sending.resize(sending.mtu(), headers, &self.config);
        let named = self.state.handshake_mut().map(|handshake| handshake.named.iter_mut());
        for named in named.into_iter().flatten() {
            if named.address == received.remote {
                named.encapsulation = received.encapsulation;
            }
        }
        self.fit_fragments();
    }
}

/// Whether there is anything in a packet behind its header.
fn has_chunks(body: &Body<'_>) -> bool {
    match body {
        Body::Structured(packet) => !packet.chunks.is_empty(),
        Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
            bytes.len() > polypath_wire::COMMON_HEADER_LEN
        }
        Body::Damaged { .. } => false,
    }
}
