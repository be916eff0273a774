//! The MTU of each path: reported by routers, or determined by probes (RFC 8899 section 6.2).

use alloc::boxed::Box;
use alloc::vec;

use polypath_wire::{Chunk, Packet, Parameter, Parameters, Raw, chunk_type};

use super::Association;
use super::output::{Built, Tag};
use crate::config::PmtuDiscovery;
use crate::mechanism::size_black_hole::{LowestTimeout, SizeBlackHole};
use crate::paths::heartbeat::{Info, Purpose};
use crate::paths::plpmtu::{Timing, Traffic};
use crate::paths::reach::{Reach, Reason, Signal};
use crate::transmit::{PacketBuilder, SendPath};
use crate::types::PathSet;
use crate::{
    AssociationEnd, Cx, Event, Fragmentation, Instant, PathChange, PathId, ProbeEvent, Tsn,
};

/// Chunk header.
const CHUNK_HEADER: u32 = 4;

/// When and where the discovery has something to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct MtuWork {
    /// The earliest deadline of any path.
    due: Instant,
    /// Paths whose discovery may have changed its mind or wants to send.
    paths: PathSet,
}

impl Default for MtuWork {
    fn default() -> Self {
        Self { due: Instant::FAR_FUTURE, paths: PathSet::EMPTY }
    }
}

impl MtuWork {
    /// The earliest deadline.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.due != Instant::FAR_FUTURE).then_some(self.due)
    }

    /// Whether nothing is to be taken over or sent now.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.paths.is_empty()
    }

    fn note(&mut self, path: PathId) {
        self.paths.insert(path);
    }
}

impl Association {
    /// Begins the discovery on the paths that work already.
    pub(super) fn start_mtu_discovery(&mut self) {
        self.mtu_work = MtuWork::default();
        for path in self.paths.ids() {
            self.follow_reachability(path);
        }
    }

    /// What a path's reachability means for its MTU.
    pub(super) fn follow_reachability(&mut self, id: PathId) {
        let path = &mut self.paths[id];
        let reach = path.reach();
        let Some(plpmtu) = &mut path.plpmtu else { return };
        match reach {
            Reach::Active => plpmtu.connect(),
            Reach::PotentiallyFailed => plpmtu.pause(),
            Reach::Inactive(Reason::Timeouts) => plpmtu.fail(),
            Reach::Unconfirmed | Reach::Inactive(_) => plpmtu.disconnect(),
        }
        self.mtu_work.note(id);
    }

    /// A router or this host says that a packet was larger than the `mtu_bytes` that go through.
    pub(super) fn packet_too_big(&mut self, cx: &mut Cx<'_>, id: PathId, mtu_bytes: u32) {
        let is_fixed = self.pmtu_discovery(id) == PmtuDiscovery::Fixed;
        let path = &mut self.paths[id];
        if let Some(plpmtu) = &mut path.plpmtu {
            plpmtu.on_too_big(cx.now, mtu_bytes);
            self.mtu_work.note(id);
        } else if !is_fixed {
            let least = path.least_mtu();
            let present = self.transmitter.paths[id].mtu();
            let mtu = mtu_bytes.clamp(least, present.max(least));
            self.set_mtu(cx, id, mtu);
        }
    }

    /// T3-rtx expired on the path.
    ///
    /// Where the MTU of several paths falls at once, each of their timeouts counts against the association, and could end it before
    /// the discovery has found a size that passes. So when half of them have been counted, a HEARTBEAT, which is small, asks
    /// whether the peer is there.
    pub(super) fn doubt_mtu(&mut self, cx: &mut Cx<'_>, id: PathId) {
        let Some(plpmtu) = &mut self.paths[id].plpmtu else { return };
        plpmtu.on_data_timeout(cx.now);
        self.mtu_work.note(id);
        if self.paths.errors >= self.config.association_max_retrans / 2 {
            self.ask_whether_there(cx, id);
        }
    }

    /// T3-rtx of the path expired while the lowest outstanding chunk, with this much user data, was on it. Returns
    /// whether that ends the association: the chunk is too large for every path.
    pub(super) fn is_too_large(
        &mut self,
        cx: &mut Cx<'_>,
        path: PathId,
        lowest: Option<(Tsn, u32)>,
    ) -> bool {
        let fits = self.transmitter.max_fragment;
        let Some((tsn, user_bytes)) = lowest.filter(|(_, bytes)| *bytes > fits) else {
            return false;
        };
        let rto = self.transmitter.paths[path].rtt.rto_without_backoff();
        let longest = self.config.policies.rto.max;
        let hole = self.size_black_hole.get_or_insert_with(|| Box::new(SizeBlackHole::new(tsn)));
        hole.on_timeout(cx.now, LowestTimeout { tsn, path, rto, longest });
        let tried = self.paths.iter().filter(|path| path.bounds_fragments()).map(|path| path.id);
        let is_proved = hole.is_proved(self.config.association_max_retrans, tried);
        if is_proved {
            self.fail(cx, AssociationEnd::ChunkTooLarge { user_bytes });
        }
        is_proved
    }

    /// A probe was answered. Unlike an answered HEARTBEAT, it measures no RTT: its size is not that of data.
    pub(super) fn mtu_probe_answered(&mut self, cx: &mut Cx<'_>, id: PathId, nonce: u64) {
        let Some(plpmtu) = self.paths.get_mut(id).and_then(|path| path.plpmtu.as_mut()) else {
            return;
        };
        if plpmtu.on_answer(cx.now, nonce) {
            self.mtu_work.note(id);
            self.path_works(cx, id, Signal::HeartbeatAck);
        }
    }

    /// Expires the timers that are due.
    pub(super) fn expire_mtu_timers(&mut self, now: Instant) {
        if self.mtu_work.due > now || !self.state.may_send_data() {
            return;
        }
        for path in self.paths.iter_mut() {
            let Some(plpmtu) = &mut path.plpmtu else { continue };
            let Some(due) = plpmtu.deadline().filter(|due| *due <= now) else { continue };
            let is_recent = |at: Instant| due.since(at) < crate::paths::plpmtu::RAISE_INTERVAL;
            let last_data_sent = self.transmitter.paths[path.id].last_data_sent;
            let traffic = match last_data_sent.is_some_and(is_recent) {
                true => Traffic::Some,
                false => Traffic::None,
            };
            plpmtu.expire(now, traffic);
            self.mtu_work.note(path.id);
        }
    }

    /// Takes over what the discovery has found.
    #[inline]
    pub(super) fn settle_mtus(&mut self, cx: &mut Cx<'_>) {
        if !self.mtu_work.is_settled() {
            self.settle_each_mtu(cx);
        }
    }

    #[cold]
    fn settle_each_mtu(&mut self, cx: &mut Cx<'_>) {
        for id in self.paths.ids() {
            if self.mtu_work.paths.contains(id) {
                let path = &self.paths[id];
                let found = path.plpmtu.as_ref().and_then(|plpmtu| plpmtu.mtu());
                let present = self.transmitter.paths[id].mtu();
                self.set_mtu(cx, id, found.unwrap_or(present));
            }
        }
        self.schedule_mtu_work();
    }

    fn schedule_mtu_work(&mut self) {
        let deadlines = self.paths.iter().filter_map(|path| path.plpmtu.as_ref()?.deadline());
        self.mtu_work.due = deadlines.min().unwrap_or(Instant::FAR_FUTURE);
    }

    pub(super) fn set_mtu(&mut self, cx: &mut Cx<'_>, id: PathId, mtu: u32) {
        if self.transmitter.paths[id].mtu() != mtu {
            let headers = self.paths[id].headers() + self.auth_data_room();
            self.transmitter.paths[id].resize(mtu, headers, &self.config);
            self.events.push(Event::Path { path: id, change: PathChange::MtuChanged });
            cx.probe.on(cx.now, ProbeEvent::PathMtu { path: id, bytes: mtu });
        }
        self.fit_fragments();
    }

    /// Messages are cut to what every path carries that works (AMDCS, RFC 9260 section 7.3), so that retransmissions may
    /// go to any.
    pub(super) fn fit_fragments(&mut self) {
        let sending = &self.transmitter.paths;
        let bounding = sending.iter().filter(|path| self.paths[path.id].bounds_fragments());
        let least = bounding.map(SendPath::max_chunk_payload).min();
        let any = || sending.iter().map(SendPath::max_chunk_payload).min();
        let most = self.config.max_fragment_bytes.unwrap_or(u32::MAX);
        self.transmitter.max_fragment = least.or_else(any).unwrap_or(0).min(most);
    }

    /// A packet that probes the MTU of its path: a HEARTBEAT and a PAD chunk (RFC 4820), and nothing that would be missed.
    /// Windows do not limit it (RFC 8899 section 6.2).
    #[inline]
    pub(super) fn mtu_probe_packet(
        &mut self,
        cx: &mut Cx<'_>,
        packet: &mut Packet<'static>,
    ) -> Option<Built> {
        if self.mtu_work.is_settled() { None } else { self.next_mtu_probe(cx, packet) }
    }

    #[cold]
    fn next_mtu_probe(&mut self, cx: &mut Cx<'_>, packet: &mut Packet<'static>) -> Option<Built> {
        while let Some(id) = self.mtu_work.paths.pop() {
            let wanted = self.paths.get(id).and_then(|path| path.plpmtu.as_ref()?.take(cx.now));
            if let Some(size) = wanted.filter(|_| self.state.may_send_data()) {
                return Some(self.probe_mtu(cx, id, size, packet));
            }
        }
        None
    }

    fn probe_mtu(
        &mut self,
        cx: &mut Cx<'_>,
        id: PathId,
        size: u32,
        packet: &mut Packet<'static>,
    ) -> Built {
        let sending = &self.transmitter.paths[id];
        // Where only one of both is authenticated, the probe is as long as a packet with data all the same.
        let capacity = sending.capacity_of(size) + self.auth_data_room();
        let mut packet = PacketBuilder::new(id, capacity, packet);
        packet.reserve(self.auth_room_of(&[chunk_type::HEARTBEAT, chunk_type::PAD]));
        let nonce = cx.rng.next_u64();
        let info = Info { path: id.0, nonce, purpose: Purpose::Mtu(size) }.encode();
        packet.push(Chunk::Heartbeat(Parameters::build([Parameter::HeartbeatInfo(&info)])));
        if let Some(padding) = packet.left().checked_sub(CHUNK_HEADER) {
            packet.push(Chunk::Pad(Raw::Shared(vec![0; padding as usize].into())));
        }
        let rto = sending.rtt.rto();
        let timing = Timing { rtt: sending.rtt.srtt().unwrap_or(rto), rto };
        if let Some(plpmtu) = &mut self.paths[id].plpmtu {
            plpmtu.on_sent(cx.now, nonce, size, timing);
        }
        self.schedule_mtu_work();
        Built { fragmentation: Fragmentation::Forbidden, ..Built::of(&packet, Tag::Peer) }
    }
}
