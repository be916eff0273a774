//! The sending side: messages waiting, chunks outstanding, the sending half of each path, the peer's window.
//!
//! [`Transmitter`] is driven by few calls: a SACK ([`on_sack`](Transmitter::on_sack)), a timeout
//! ([`on_timeout`](Transmitter::on_timeout)), what next ([`next`](Transmitter::next)), and fill this packet
//! ([`fill`](Transmitter::fill)). What it wants done elsewhere it puts into [`Effects`],
//! which the association applies; it calls nothing above it.

mod abandon;
mod acknowledge;
mod ahead;
mod backlog;
mod bit_ring;
mod blocking;
mod buffer_share;
pub(crate) mod buffer_size;
mod bundling;
mod copies;
mod counters;
pub(crate) mod decide;
mod demand;
mod dispersion;
mod drop_report;
mod ecn;
mod effects;
mod fill;
mod flight;
mod forward_tsn;
mod guard;
mod known_early;
pub(crate) mod lanes;
mod late;
mod left_behind;
mod loss;
mod loss_episode;
mod loss_log;
mod moving;
mod originals;
pub(crate) mod outstanding;
mod packet_builder;
pub(crate) mod partial_reliability;
mod peer_limit;
mod peer_window;
pub(crate) mod queue;
mod rate_sampler;
mod recovery;
pub(crate) mod sack;
mod schedule;
mod send_path;
mod spurious;
mod stream_scheduler;
mod t3;
mod tail;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod zero_window;

pub(crate) use acknowledge::AckOutcome;
pub(crate) use counters::TransmitCounters;
pub(crate) use effects::{Delivered, Effect, Effects};
pub(crate) use packet_builder::PacketBuilder;
pub(crate) use send_path::{SendPath, SendPaths};

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use polypath_wire::{DataFlags, GapAckBlock};
use rand_core::Rng;
use smallvec::SmallVec;

use crate::config::plug_in::{CustomScheduler, PathScheduler};
use crate::config::{AssociationConfig, BufferBounds, BytesCounted, SendRoomNotice, SmallMessages};
use crate::congestion::burst::LimitAfterRepair;
use crate::congestion::recovery::FastRecovery;
use crate::extension::ecn::reaction::Reactions;
use crate::mechanism::goodput_guard::GoodputGuard;
use crate::mechanism::loss_delay::Dependents;
use crate::mechanism::peer_limit::PeerLimit;
use crate::mechanism::tail_reinjection::SearchPoint;
use crate::paths::PathBook;
use crate::types::{Fate, PathSet, UserDataChunk};
use crate::{Event, Instant, OutgoingMessage, PathId, Probe, SendError, Tsn};
use demand::Demand;
use outstanding::OutstandingData;
use partial_reliability::Reliability;
use partial_reliability::forward::Forward;
use partial_reliability::index::Place;
use queue::SendQueue;
use zero_window::{ClosedWindow, ZeroWindow};

/// What the association lends the transmitter with each call.
pub(crate) struct SendCx<'a> {
    pub(crate) now: Instant,
    pub(crate) rng: &'a mut dyn Rng,
    pub(crate) probe: &'a mut dyn Probe,
    pub(crate) config: &'a AssociationConfig,
    /// Which paths work.
    pub(crate) book: &'a PathBook,
    pub(crate) phase: SendPhase,
    /// Takes what the transmitter wants done elsewhere.
    pub(crate) effects: &'a mut Effects,
}

/// Whether DATA may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SendPhase {
    /// No: not yet, or no more.
    Closed,
    /// Yes.
    Open,
    /// Yes, and the user hands over nothing more.
    Draining,
}

impl SendCx<'_> {
    /// Whether DATA may be sent, for the first time or again.
    pub(crate) fn may_send(&self) -> bool {
        self.phase != SendPhase::Closed
    }
}

/// What was sent between an input and the time that nothing more can be sent.
#[derive(Clone, Copy, Debug, Default)]
struct Flush {
    /// Packets with acknowledgements since the last flush; each allows a burst.
    sacks: u32,
    /// Path that carried the last data packet.
    serving: Option<PathId>,
    /// Path that carried the last new data and makes a train of packets.
    train: Option<PathId>,
}

/// What is known of the peer as a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerHabits {
    /// It promises to keep what it acknowledges (NR-SACK), so that acknowledged data leaves the send buffer.
    pub(crate) acks_are_final: bool,
    /// It sends data, too, and its SACKs may take the path of that.
    pub(crate) sends_data: bool,
    /// It may not know yet that TSNs have begun anew.
    pub(crate) may_lack_answer: bool,
}

/// The sending side of an association.
#[derive(Debug)]
pub(crate) struct Transmitter {
    pub(crate) queue: SendQueue,
    /// Paths on which data was sent before data had measured them.
    ahead: PathSet,
    /// What chooses paths for new data, where the program brings it.
    scheduler: Option<Box<dyn PathScheduler>>,
    /// Size in bytes to which the send buffer may grow.
    most_buffer: u64,
    pub(crate) outstanding: OutstandingData,
    /// The sending half of each path.
    pub(crate) paths: SendPaths,
    /// Largest user data of a new chunk in bytes; it fits the path with the smallest MTU.
    pub(crate) max_fragment: u32,
    /// What carries user data.
    pub(crate) chunk: UserDataChunk,
    pub(crate) peer: PeerHabits,
    /// What the present flush has sent so far.
    flush: Flush,
    /// Whether small messages wait, in this flush.
    small_messages: SmallMessages,
    /// Number of the packet from the peer that is being handled.
    packet: u64,
    /// That packet brought an acknowledgement.
    acknowledged: bool,
    /// Memory for the blocks of NR-SACKs, once there was one with both kinds; empty in between.
    joined_blocks: Option<Box<SmallVec<[GapAckBlock; 4]>>>,
    pub(crate) stats: TransmitCounters,
    /// Progress of the FORWARD-TSN, which tells the peer of abandoned chunks.
    pub(crate) forward: Forward,
    /// The peer's receive window as it last announced it.
    pub(crate) advertised_window: u64,
    /// Whether a burst limit holds that a retransmission brought about.
    repaired: LimitAfterRepair,
    /// What a chunk takes of that window.
    window_counts: BytesCounted,
    /// That window, while it is closed.
    pub(crate) closed_window: Option<ClosedWindow>,
    /// How many chunks may wait above a gap at the peer.
    peer_limit: PeerLimit,
    /// What compares all paths with the best one, where the policy wants that.
    guard: Option<Box<GoodputGuard>>,
    /// Congestion marks of each path, where both sides have ECN.
    reactions: Option<Box<Reactions>>,
    /// Probing of a window that is closed.
    pub(crate) zero_window: ZeroWindow,
    /// Association-wide fast recovery, where the policy wants one.
    pub(crate) recovery: FastRecovery,
    /// Rank of the last data packet.
    pub(crate) transmissions: u64,
    /// Path that was served last.
    pub(crate) last_served: u8,
    /// Path that carried new data last.
    pub(crate) last_new: u8,
    /// Since when data has been sent without a pause.
    busy_since: Instant,
    /// What would wait for the last new chunk.
    dependents: Dependents,
    /// What the user waits for.
    demand: Demand,
    /// Search for chunks that would arrive earlier on another path.
    tail_search: SearchPoint,
    /// Paths that data had measured at the last search.
    tail_measured: u8,
    /// Everything was acknowledged and the user was told.
    pub(crate) dry_told: bool,
}

impl Transmitter {
    pub(crate) fn new(initial_tsn: Tsn, config: &AssociationConfig) -> Self {
        let buffer = config.send_buffer();
        Self {
            queue: SendQueue::new(buffer.first, config.policies.stream_scheduler),
            ahead: PathSet::EMPTY,
            scheduler: config.custom_scheduler.as_ref().map(CustomScheduler::scheduler),
            most_buffer: buffer.most,
            outstanding: OutstandingData::new(initial_tsn),
            paths: SendPaths::default(),
            max_fragment: 0,
            chunk: UserDataChunk::Data,
            peer: PeerHabits::default(),
            flush: Flush::default(),
            small_messages: config.small_messages,
            packet: 0,
            acknowledged: false,
            joined_blocks: None,
            stats: TransmitCounters::default(),
            forward: Forward::new(initial_tsn),
            advertised_window: 0,
            repaired: LimitAfterRepair::default(),
            window_counts: config.policies.advertised_window.bytes_counted,
            closed_window: None,
            peer_limit: PeerLimit::default(),
            guard: None,
            reactions: None,
            zero_window: ZeroWindow::default(),
            recovery: FastRecovery::default(),
            transmissions: 0,
            last_served: u8::MAX,
            last_new: u8::MAX,
            busy_since: Instant::ZERO,
            dependents: Dependents::new(),
            demand: Demand::default(),
            tail_search: SearchPoint::new(initial_tsn),
            tail_measured: 0,
            dry_told: true,
        }
    }

    /// A packet from the peer is about to be handled.
    pub(crate) fn begin_packet(&mut self) {
        self.packet += 1;
    }

    /// The packet was handled. If it brought an acknowledgement, that allows another burst.
    pub(crate) fn end_packet(&mut self) {
        if core::mem::take(&mut self.acknowledged) {
            self.flush.sacks = self.flush.sacks.saturating_add(1);
        }
    }

    /// Gives memory back that nothing needs now.
    pub(crate) fn release_memory(&mut self) {
        self.queue.release_memory();
        self.outstanding.release_memory();
        self.paths.iter_mut().for_each(SendPath::release_memory);
        self.joined_blocks = None;
        self.guard = None;
    }

    /// Learns from the handshake what carries user data, and the peer's receive window in bytes. A later answer changes nothing
    /// once something was sent.
    pub(crate) fn settle_user_data(&mut self, chunk: UserDataChunk, window: u32) {
        let was_sent = self.outstanding.next_tsn() != self.outstanding.base();
        if !was_sent {
            self.chunk = chunk;
            self.queue.settle_chunk(chunk, window);
        }
    }

    /// Begins anew because the peer restarted. What the user gave the streams stays.
    pub(crate) fn restart(&mut self, initial_tsn: Tsn, config: &AssociationConfig) {
        let values = self.queue.take_stream_values();
        let stats = core::mem::take(&mut self.stats);
        *self = Self { stats, packet: self.packet, ..Self::new(initial_tsn, config) };
        for (stream, value) in (0..=u16::MAX).zip(values) {
            self.queue.set_stream_value(stream, value);
        }
    }

    /// Goes on from this TSN, where nothing is outstanding: what was remembered of earlier ones means nothing.
    pub(crate) fn renumber(&mut self, next: Tsn) {
        debug_assert!(self.outstanding.is_empty(), "its TSNs would be lost");
        self.outstanding = OutstandingData::new(next);
        self.forward = Forward::new(next);
        self.tail_search = SearchPoint::new(next);
        self.peer_limit = PeerLimit::default();
        self.recovery = FastRecovery::default();
        self.guard = None;
        self.paths.iter_mut().for_each(SendPath::forget_tsns);
    }

    /// What a chunk takes of the peer's receive window beside its user data, in bytes.
    fn window_header(&self) -> u32 {
        self.chunk.counted_header(self.window_counts)
    }

    /// What is left of the peer's receive window (RFC 9260 section 6.2.1).
    pub(crate) fn peer_window(&self) -> u64 {
        let headers =
            u64::from(self.window_header()) * u64::from(self.outstanding.in_flight_count());
        self.advertised_window.saturating_sub(self.outstanding.in_flight_user_bytes() + headers)
    }

    /// Whether the peer's window admits a new chunk (RFC 9260 section 6.1 A). With nothing in flight one chunk may go:
    /// into a window smaller than it at once, into a closed one when a probe is due. A window smaller than the chunk
    /// is otherwise as good as closed, which is the sender's half of silly-window avoidance.
    pub(crate) fn peer_window_admits(&self, user_bytes: u32) -> bool {
        self.peer_window() >= u64::from(user_bytes + self.window_header())
            || self.outstanding.in_flight_user_bytes() == 0
                && (self.advertised_window > 0 || self.zero_window.may_probe())
    }

    /// Makes the send buffer at least this large, within its bounds.
    pub(crate) fn enlarge_buffer(&mut self, bytes: u64) {
        self.queue.enlarge(bytes.min(self.most_buffer));
    }

    /// Gives the send buffer other bounds.
    pub(crate) fn resize_buffer(&mut self, bounds: BufferBounds) {
        self.most_buffer = bounds.most;
        self.queue.resize(bounds);
    }

    /// Queues a message, which may take the place of less important ones.
    pub(crate) fn enqueue(
        &mut self,
        cx: &mut SendCx<'_>,
        message: OutgoingMessage,
        wanted: Reliability,
    ) -> Result<(), SendError> {
        let size = message.payload.len();
        self.hold_message(size);
        self.make_space(cx, size, wanted);
        self.reserve(size)?;
        match message.piece.begins() {
            true => {
                let reliability = self.agreed_reliability(wanted);
                self.queue.push(message, reliability);
                self.stats.messages_sent += 1;
            }
            false => self.queue.append(message),
        }
        self.demand.accept();
        self.tidy_index();
        self.dry_told = false;
        Ok(())
    }

    /// A buffer that adapts itself holds at least each message.
    fn hold_message(&mut self, size: usize) {
        if size as u64 <= self.most_buffer {
            self.enlarge_buffer(size as u64);
        }
    }

    /// Whether a message of `size` bytes has room now; if not, the user wants to know when.
    pub(crate) fn reserve(&mut self, size: usize) -> Result<(), SendError> {
        if size as u64 > self.most_buffer {
            return Err(SendError::MessageTooLarge { size, limit: self.most_buffer as usize });
        }
        self.hold_message(size);
        let wanted = self.queue.cost(size);
        if wanted > self.queue.free() {
            self.demand.refuse(wanted);
            return Err(SendError::WouldBlock);
        }
        // And two of each that it took, so that the next one does not wait for the last chunk of the one before.
        self.enlarge_buffer((size as u64).saturating_mul(2));
        Ok(())
    }

    /// Whether the user must be notified now that there is room. It is expected back for a round trip of the fastest path,
    /// unless nothing is outstanding that this would matter to.
    pub(crate) fn writable_again(&mut self, notice: SendRoomNotice, now: Instant) -> bool {
        // Of several paths one may wait for data while the others hold the rest of the buffer for a round trip of theirs.
        let is_idle = notice == SendRoomNotice::WhenIdle
            && self.paths.is_several()
            && self.queue.waiting() == 0;
        let batch = if is_idle { 0 } else { self.queue.limit() / 8 };
        let is_met = self.demand.on_room(self.queue.free(), batch);
        if is_met {
            let rtts = self.paths.iter().map(|path| path.rtt.expected());
            self.demand.expect_until(now, rtts.min().unwrap_or_default());
        }
        if self.is_dry() {
            self.demand.cease();
        }
        is_met
    }

    /// When a user that was notified of room is expected no more.
    pub(crate) fn demand_deadline(&self) -> Option<Instant> {
        self.demand.until()
    }

    /// The user was notified of room and has handed over nothing in time: what it has handed over is all.
    pub(crate) fn on_demand_over(&mut self) {
        self.demand.cease();
    }

    /// The user hands over nothing more.
    pub(crate) fn end_input(&mut self) {
        self.demand = Demand::default();
    }

    /// The user has handed over all that it had: it was not kept from handing over more.
    pub(crate) fn has_all(&self) -> bool {
        !self.demand.expects_more()
    }

    /// All that the user has handed over was sent, but for what waits for more of it, and it was not kept from handing over more.
    pub(crate) fn is_all_sent(&self) -> bool {
        (self.queue.is_empty() || self.gathers()) && self.has_all()
    }

    /// Whether the user waits for room.
    pub(crate) fn wants_buffer_space(&self) -> bool {
        self.demand.is_waiting()
    }

    /// Whether the message that begins with `tsn` has this rule, and the peer may not have all of it.
    pub(crate) fn is_undelivered(&self, tsn: Tsn, rule: Reliability) -> bool {
        let outstanding = &self.outstanding;
        if !outstanding.contains(tsn)
            || outstanding.is_abandoned(tsn)
            || outstanding.get(tsn).reliability != rule
            || !outstanding.get(tsn).flags.contains(DataFlags::BEGIN)
        {
            return false;
        }
        let extent = outstanding.message_around(tsn);
        !extent.ends || outstanding.has_unacked(&extent)
    }

    /// A new chunk was sent: one that begins a message of low priority can still make room for others.
    pub(crate) fn note_sent(&mut self, tsn: Tsn) {
        let chunk = self.outstanding.get(tsn);
        if let Reliability::Priority(priority) = chunk.reliability
            && chunk.flags.contains(DataFlags::BEGIN)
        {
            self.queue.index.add_priority(priority, Place::sent(tsn));
        }
    }

    /// Forgets messages that are gone when there are too many of them in the index.
    #[inline]
    pub(crate) fn tidy_index(&mut self) {
        if !self.queue.index.is_empty() {
            self.tidy_crowded_index();
        }
    }

    fn tidy_crowded_index(&mut self) {
        let messages = self.queue.len() + self.outstanding.span() as usize;
        if !self.queue.index.is_crowded(messages) {
            return;
        }
        let mut index = core::mem::take(&mut self.queue.index);
        index.retain(|place| match place {
            Place::Sent(tsn) => {
                self.outstanding.contains(Tsn(tsn)) && !self.outstanding.is_abandoned(Tsn(tsn))
            }
            Place::Waiting { slot, serial } => self.queue.is_alive(slot, serial.0),
        });
        self.queue.index = index;
    }

    /// The association is over: reports each message that the peer did not acknowledge, in the order of sending.
    pub(crate) fn take_undelivered(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let mut tsn = self.outstanding.base();
        // Where messages are interleaved, several end later.
        let mut missing = BTreeSet::new();
        while tsn != self.outstanding.next_tsn() {
            let chunk = self.outstanding.get(tsn);
            if !chunk.is_acked() && chunk.fate != Fate::Abandoned {
                missing.insert(chunk.message());
            }
            if chunk.flags.contains(DataFlags::END) && missing.remove(&chunk.message()) {
                let (stream, context) = (chunk.stream, chunk.context);
                events.push(Event::SendFailed { stream, context, transmitted: true });
            }
            tsn = tsn.next();
        }
        for (stream, context, transmitted) in self.queue.drain_unsent() {
            events.push(Event::SendFailed { stream, context, transmitted });
        }
        events
    }

    /// Whether nothing waits and nothing is outstanding.
    pub(crate) fn is_dry(&self) -> bool {
        // What is outstanding is looked at first: that is one comparison, and mostly there is something.
        self.outstanding.is_empty() && self.queue.is_empty()
    }
}
