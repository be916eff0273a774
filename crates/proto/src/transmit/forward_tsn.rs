//! FORWARD-TSN (RFC 3758): sending it while the peer has to move on.

use polypath_wire::{Chunk, ForwardTsn};

use super::effects::{Delivered, Effect};
use super::packet_builder::PacketBuilder;
use super::partial_reliability::forward::Proof;
use super::{SendCx, Transmitter};
use crate::types::UserDataChunk;

/// Bytes of a FORWARD-TSN without streams, and of a stream there and in an I-FORWARD-TSN.
const HEADER_BYTES: u32 = 8;
const STREAM_BYTES: u32 = 4;
const MESSAGES_BYTES: u32 = 8;

impl Transmitter {
    /// Adds the FORWARD-TSN that is due to an empty packet.
    pub(crate) fn push_forward_tsn(&mut self, cx: &SendCx<'_>, packet: &mut PacketBuilder<'_>) {
        let (outstanding, space) = (&self.outstanding, packet.left() - HEADER_BYTES);
        let point = match self.chunk {
            UserDataChunk::Data => {
                let most = space / STREAM_BYTES;
                let (point, skipped) = self.forward.content(outstanding, most as usize);
                packet.push(Chunk::ForwardTsn(ForwardTsn::of_streams(point.0, skipped)));
                point
            }
            UserDataChunk::IData => {
                let most = space / MESSAGES_BYTES;
                let (point, skipped) = self.forward.content_by_mid(outstanding, most as usize);
                packet.push(Chunk::IForwardTsn(ForwardTsn::of_messages(point.0, skipped)));
                point
            }
        };
        let guarded_by = self.forward.guarded_by();
        self.forward.on_sent(cx.now, packet.path, point);
        self.stats.seldom.forward_tsns_sent += 1;
        self.paths[packet.path].start_t3(cx.now, cx.config);
        // The timer of the path that the one before took has nothing left to guard.
        if let Some(before) = guarded_by.filter(|before| *before != packet.path) {
            self.settle(before);
        }
    }

    /// Steps of a SACK, after the normal ones (rules C1 to C3).
    pub(super) fn advance_peer_ack_point(&mut self, cx: &mut SendCx<'_>) {
        let told = self.forward.told();
        self.forward.advance(&self.outstanding);
        let Some((point, path, proof)) = told else { return };
        if !point.is_before(self.outstanding.base()) {
            let rtt = &self.paths[path].rtt;
            let round_trip = rtt.expected();
            return self.forward.on_sack(cx.now, round_trip);
        }
        self.outstanding.stop_keeping_abandoned();
        cx.effects.push(Effect::PeerAnswered);
        if proof == Proof::OfThePath {
            cx.effects.push(Effect::Delivered(path, Delivered::Once));
        }
        self.settle(path);
    }

    /// A FORWARD-TSN whose guard is gone has to be retransmitted.
    pub(super) fn watch_forward_tsn(&mut self) {
        if let Some(path) = self.forward.guarded_by()
            && self.paths[path].t3.is_none()
        {
            self.forward.on_timeout(path);
        }
    }
}
