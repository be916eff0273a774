//! Explicit congestion notification (draft-stewart-tsvwg-sctpecn): marks on packets, and the chunks that echo and answer them.

use polypath_wire::{ChecksumPolicy, Chunk, Cwr, Ecne, PacketView};

use super::Association;
use super::input::MAX_WAITING_ANSWERS;
use super::output::{Control, To};
use super::state::Peer;
use crate::paths::Path;
use crate::receive::Receiver;
use crate::transmit::PacketBuilder;
use crate::types::Capabilities;
use crate::{Body, Cx, Ecn, PathEcn, PathId, Received, Tsn};

/// Bytes of an ECNE chunk.
const ECHO_BYTES: usize = 12;
/// User data that arrives over a path without one ECN-capable packet when something on the way clears the field, in bytes: more than
/// retransmissions, which are never ECN-capable, bring by chance.
const TELLING_BYTES: u64 = 65_536;
/// What is kept for the acknowledgement behind the echoes of many paths, in bytes.
const LEAST_SACK_BYTES: usize = 32;

impl Association {
    /// A packet arrived ECN-capable or marked. What brings no new data says nothing (draft-stewart-tsvwg-sctpecn-05 section 5.5).
    #[cold]
    pub(super) fn note_codepoint(&mut self, received: &Received<'_>, path: PathId) {
        if !self.state.has_agreed_on(Capabilities::ECN)
            || !self.state.receiver().is_some_and(Receiver::packet_brings_data)
        {
            return;
        }
        self.stats.seldom.ecn_capable_packets_received += 1;
        let Some(peer) = self.state.peer_mut() else { return };
        peer.echoes.on_capable(path);
        if received.ecn == Ecn::Ce
            && let Some(lowest) = lowest_tsn(&received.body)
        {
            peer.echoes.on_marked(path, lowest);
            self.stats.seldom.ecn_marked_packets_received += 1;
        }
    }

    /// What is known of ECN on a path.
    pub(super) fn path_ecn(&self, path: &Path) -> PathEcn {
        let agreed = |peer: &&Peer| peer.extensions.contains(Capabilities::ECN);
        let Some(peer) = self.state.peer().filter(agreed) else { return PathEcn::Off };
        let is_cleared = path.counters.data_bytes_received >= TELLING_BYTES
            && !peer.echoes.has_seen_capable(path.id);
        match self.transmitter.drops_capable(path.id) {
            true => PathEcn::Dropped,
            false if is_cleared => PathEcn::Cleared,
            false => PathEcn::On,
        }
    }

    /// Bytes of the echoes in front of the next acknowledgement. Where they must be authenticated, every packet has room for that.
    pub(super) fn echo_bytes(&self) -> usize {
        self.state.peer().map_or(0, |peer| peer.echoes.len() * ECHO_BYTES)
    }

    /// Adds pending echoes before the acknowledgement: afterwards the sender may no longer know the path of the marked
    /// packet (section 5.3).
    pub(super) fn push_echoes(&self, packet: &mut PacketBuilder<'_>) {
        let Some(peer) = self.state.peer() else { return };
        for echo in peer.echoes.chunks() {
            if (packet.left() as usize) < ECHO_BYTES + LEAST_SACK_BYTES {
                break;
            }
            packet.push(Chunk::Ecne(echo));
        }
    }

    /// The peer echoes marks of what this side has sent.
    pub(super) fn handle_ecn_echo(&mut self, cx: &mut Cx<'_>, echo: &Ecne) {
        if !self.state.may_send_data() {
            return;
        }
        let (transmitter, mut send_cx) = self.sending(cx);
        let answer = transmitter.on_ecn_echo(&mut send_cx, echo);
        self.apply_effects(cx);
        let Some(answer) = answer else { return };
        let to = answer.path.map_or(To::Best, To::Path);
        let is_older = |it: &Control| matches!(it.chunk, Chunk::Cwr(_)) && it.to == to;
        self.control.retain(|waiting| !is_older(waiting));
        if self.control.len() < MAX_WAITING_ANSWERS {
            self.queue_control(Chunk::Cwr(answer.cwr), to);
        }
    }

    /// The peer has reacted to an echo.
    pub(super) fn handle_cwr(&mut self, cwr: &Cwr, path: PathId) {
        if let Some(peer) = self.state.peer_mut()
            && let Some(echoes) = peer.echoes.if_used()
        {
            echoes.on_cwr(path, cwr);
        }
    }
}

/// The lowest TSN among the DATA chunks of a packet.
fn lowest_tsn(body: &Body<'_>) -> Option<Tsn> {
    let tsn_of = |chunk: &Chunk<'_>| match chunk {
        Chunk::Data(data) => Some(Tsn(data.tsn)),
        Chunk::IData(data) => Some(Tsn(data.tsn)),
        _ => None,
    };
    let lower = |a: Tsn, b: Tsn| if b.is_before(a) { b } else { a };
    match body {
        Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
            let view = PacketView::parse(bytes, ChecksumPolicy::Ignore).ok()?;
            let chunks = view.chunks().map_while(Result::ok);
            chunks.filter_map(|chunk| tsn_of(&chunk)).reduce(lower)
        }
        Body::Structured(packet) => packet.chunks.iter().filter_map(tsn_of).reduce(lower),
        Body::Damaged { .. } => None,
    }
}
