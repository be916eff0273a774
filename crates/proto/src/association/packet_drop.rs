//! Packet drop reports (draft-stewart-sctp-pktdrprep-16): making them, and doing what they ask for.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use polypath_wire::{COMMON_HEADER_LEN, Checksum, Chunk, Packet, PacketDrop};

use super::Association;
use super::input::MAX_WAITING_ANSWERS;
use super::output::To;
use super::state::ConnectedPhase;
use crate::extension::packet_drop::repair::{self, Repair, Request};
use crate::extension::packet_drop::report::{self, ReportView, Why};
use crate::extension::packet_drop::{carried, flags};
use crate::transmit::SendPath;
use crate::types::Capabilities;
use crate::{Body, Cx, PathId, Received};

/// A HEARTBEAT is repeated only while its path may miss this many more (as in usrsctp), so that missing answers cannot
/// be caused by reports.
const SPARE_HEARTBEATS: u32 = 3;

impl Association {
    /// A packet that is the peer's by addresses and ports has a wrong checksum.
    pub(super) fn note_damage(&mut self, received: &Received<'_>) {
        self.stats.seldom.packets_damaged += 1;
        self.report_packet(received, Why::Damaged);
    }

    /// Reports a packet to the peer, if that was agreed on.
    pub(super) fn report_packet(&mut self, received: &Received<'_>, why: Why) {
        if self.state.is_closed() {
            return;
        }
        let Some(peer) = self.state.peer() else { return };
        let Some(path) = self.paths.find(received.local, received.remote) else { return };
        if !peer.extensions.contains(Capabilities::PACKET_DROP)
            || self.control.len() >= MAX_WAITING_ANSWERS
        {
            return;
        }
        let Some(packet) = bytes_of(&received.body) else { return };
        // The tag proves the sender as far as it can; a damaged tag is no offence, but reports nothing.
        if packet.get(4..8) != Some(&self.identity.local_tag.to_be_bytes()[..]) {
            return;
        }
        let view = ReportView {
            packet: &packet,
            why,
            buffer_limit: peer.receiver.buffer_limit(),
            a_rwnd: peer.receiver.a_rwnd(),
            space: self.least_packet_capacity().saturating_sub(COMMON_HEADER_LEN),
        };
        if let Some(report) = report::report(&view)
            && self.reports_allowed.take()
        {
            self.stats.seldom.drop_reports_sent += 1;
            self.queue_control(Chunk::PacketDrop(report), To::Path(path));
        }
    }

    /// Bytes of the largest packet that every path carries.
    fn least_packet_capacity(&self) -> usize {
        self.transmitter.paths.iter().map(SendPath::packet_capacity).min().unwrap_or(0) as usize
    }

    /// Carries out a report.
    pub(super) fn handle_packet_drop(
        &mut self,
        cx: &mut Cx<'_>,
        report: &PacketDrop<'_>,
        came_on: PathId,
    ) {
        let packet = report.packet.as_slice();
        let truncated = report.flags & flags::TRUNCATED != 0;
        if truncated && usize::from(report.truncated_length) <= packet.len() {
            self.stats.seldom.packets_discarded += 1;
            return;
        }
        self.stats.seldom.drop_reports_received += 1;
        for chunk in carried::chunks(packet) {
            let request = repair::request(&chunk);
            let repair = match request {
                Request::Data(tsn, start) => {
                    let (transmitter, mut send_cx) = self.sending(cx);
                    transmitter.on_drop_report(&mut send_cx, tsn, start, report.flags)
                }
                _ => Repair::Nothing,
            };
            if repair == Repair::Distrust {
                return;
            }
            self.answer_request(cx, &request, came_on);
        }
        if !self.state.may_send_data() {
            return;
        }
        let (limit, queued) = (report.bandwidth_or_limit, report.queued);
        let (transmitter, mut send_cx) = self.sending(cx);
        // A report does not say how old it is. If it arrives after later SACKs over another path, it must not close the window that
        // they have opened: the next SACK would open it again, and what is outstanding would count as refused.
        if !transmitter.paths.is_several()
            && let Some(advertised) = repair::told_peer_window(report.flags, limit, queued)
        {
            transmitter.on_peer_window(&mut send_cx, advertised);
        }
        transmitter.on_bottleneck(&mut send_cx, report, came_on);
    }

    /// Sends again what a control chunk of a reported packet said.
    fn answer_request(&mut self, cx: &mut Cx<'_>, request: &Request<'_>, came_on: PathId) {
        if self.control.len() >= MAX_WAITING_ANSWERS {
            return;
        }
        match (request, self.state.phase()) {
            (Request::Sack, Some(_)) => {
                if let Some(receiver) = self.state.receiver_mut() {
                    receiver.request_sack();
                }
            }
            (Request::Heartbeat, _) if self.state.may_send_data() => {
                let spare = self.paths[came_on].errors.saturating_add(SPARE_HEARTBEATS);
                if spare <= self.path_max_retrans(came_on) {
                    self.send_heartbeat(cx, came_on);
                }
            }
            (Request::CookieEcho, None) => self.send_cookie_echo(),
            (Request::CookieAck, Some(_)) => {
                self.queue_control(Chunk::CookieAck, To::Path(came_on));
            }
            // Their timers go on.
            (Request::Shutdown, Some(ConnectedPhase::ShutdownSent(_))) => {
                self.repeat_shutdown(came_on)
            }
            (Request::ShutdownAck, Some(ConnectedPhase::ShutdownAckSent(_))) => {
                self.queue_control(Chunk::ShutdownAck, To::Path(came_on));
            }
            _ => {}
        }
    }
}

/// A packet as received from the network.
fn bytes_of<'a>(body: &Body<'a>) -> Option<Cow<'a, [u8]>> {
    let (packet, flips): (&Packet<'_>, u32) = match *body {
        Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
            return Some(Cow::Borrowed(bytes));
        }
        Body::Structured(packet) => (packet, 0),
        Body::Damaged { packet, checksum_flips } => (packet, checksum_flips),
    };
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).ok()?;
    let checksum = bytes.get_mut(8..COMMON_HEADER_LEN)?;
    for (byte, flips) in checksum.iter_mut().zip(flips.to_be_bytes()) {
        *byte ^= flips;
    }
    Some(Cow::Owned(bytes))
}
