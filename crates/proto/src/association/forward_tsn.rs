//! FORWARD-TSN (RFC 3758): sending it while the peer has to move on, and moving on when the peer says so.

use polypath_wire::{Chunk, ForwardTsn, Packet};

use super::Association;
use super::output::Tag;
use super::packet_builder::PacketBuilder;
use crate::paths::reach::Signal;
use crate::transmit::partial_reliability::Support;
use crate::transmit::partial_reliability::forward::Proof;
use crate::{Cx, Envelope, Tsn};

/// Bytes of a FORWARD-TSN without streams, and of a stream.
const HEADER_BYTES: u32 = 8;
const STREAM_BYTES: u32 = 4;

impl Association {
    /// A packet that begins with the FORWARD-TSN that is due. DATA goes along if there is any (rule F2); nothing waits
    /// for it, because the receiver may hold messages back.
    pub(super) fn forward_tsn_packet(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet<'static>,
    ) -> Option<Envelope> {
        if !self.sender.forward.is_due() || !self.state.may_send_data() {
            return None;
        }
        let round = self.begin_round(cx);
        let with_data = self.next_data_path(cx, &round);
        let path = with_data.unwrap_or_else(|| self.best_path());
        let mut packet = self.builder(path, packet);
        self.push_forward_tsn(cx, &mut packet);
        if with_data == Some(path) {
            self.fill_with_data(cx, path, &round, &mut packet);
        }
        Some(self.finish(packet, Tag::Peer))
    }

    fn push_forward_tsn(&mut self, cx: &mut Cx<'_>, packet: &mut PacketBuilder<'_>) {
        let most = (packet.left() - HEADER_BYTES) / STREAM_BYTES;
        let (point, skipped) = self.sender.forward.content(&self.sender.window, most as usize);
        packet.push(Chunk::ForwardTsn(ForwardTsn::of_streams(point.0, skipped)));
        self.sender.forward.on_sent(cx.now, packet.path, point);
        self.stats.forward_tsns_sent += 1;
        self.paths[packet.path].start_t3(cx.now);
    }

    /// Steps of a SACK, after the normal ones (rules C1 to C3).
    pub(super) fn advance_peer_ack_point(&mut self, cx: &mut Cx<'_>, reneged: u32) {
        if reneged > 0 {
            self.sender.forward.on_reneged();
        }
        let told = self.sender.forward.told();
        self.sender.forward.advance(&self.sender.window);
        let Some((point, path, proof)) = told else { return };
        if !point.is_before(self.sender.window.base()) {
            let rtt = &self.paths[path].rtt;
            let round_trip = rtt.srtt().unwrap_or_else(|| rtt.rto());
            return self.sender.forward.on_sack(cx.now, round_trip);
        }
        self.errors = 0;
        if proof == Proof::OfThePath {
            self.path_works(cx, path, Signal::DataAck);
        }
        if self.paths[path].flight == 0 && self.sender.forward.guarded_by() != Some(path) {
            self.paths[path].t3 = None;
        }
    }

    /// A FORWARD-TSN whose guard is gone has to be sent again.
    pub(super) fn watch_forward_tsn(&mut self) {
        if let Some(path) = self.sender.forward.guarded_by()
            && self.paths[path].t3.is_none()
        {
            self.sender.forward.on_timeout(path);
        }
    }

    /// A FORWARD-TSN arrived. It means something only if both sides agreed on it.
    pub(super) fn handle_forward_tsn(&mut self, chunk: &ForwardTsn<'_>) {
        if !self.state.accepts_data() || self.sender.queue.support() != Support::Yes {
            return;
        }
        self.stats.forward_tsns_received += 1;
        let Some(receiver) = &mut self.receiver else { return };
        receiver.on_forward_tsn(Tsn(chunk.new_cumulative_tsn), chunk.streams());
    }
}
