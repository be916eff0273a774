//! The receive side of an association, without I/O: its input are DATA chunks, its output SACKs and messages.
//!
//! The order of steps: [`tsn_map`] says whether a TSN is new, [`rwnd`] whether there is space, [`reassembly`] makes
//! messages, [`ack_policy`] decides when to acknowledge, and [`sack_build`] builds the SACK. Acknowledged data is kept,
//! unless a policy makes the receiver renege ([`reneging`]).

mod ack_policy;
mod acknowledgement;
pub(crate) mod budget;
mod buffer_size;
mod claimed;
pub(crate) mod latest;
pub(crate) mod nr_sack_build;
mod partial_delivery;
mod reassembly;
mod reneging;
mod renumber;
mod rwnd;
mod sack_build;
pub(crate) mod tsn_map;

use polypath_wire::{Data, DataFlags, IData, SkippedMessages, SkippedStream};
use smallvec::SmallVec;
use thiserror::Error;

pub(crate) use self::ack_policy::PathDelay;
use self::ack_policy::{AckPolicy, PacketSummary};
use self::acknowledgement::sack_bytes;
use self::budget::Share;
use self::buffer_size::{RightSizing, SizingView};
use self::latest::LatestTsns;
use self::nr_sack_build::{Cut, Promise};
use self::reassembly::interleaved::Taken;
use self::reassembly::{Aside, Dropped, Reassembly};
use self::rwnd::ReceiveWindow;
use self::tsn_map::{Arrival, TsnMap, WideTsn};
use crate::config::{AdvertisedWindow, BufferBounds, BufferSize, DelayedAck, NrSack, Reneging};
use crate::types::{PathSet, PathTimes, UserDataChunk};
use crate::{Duration, Instant, PathId, ReceivedMessage, Ssn, Tsn};

pub use self::reassembly::{AbortedDelivery, Violation};

/// Maximum number of duplicates that are kept for the next SACK; further ones are not reported.
const MAX_DUPLICATES: usize = 64;

/// What a [`Receiver`] begins with.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverConfig {
    /// First TSN that the peer sends.
    pub initial_peer_tsn: Tsn,
    /// Receive buffer in bytes of user data; its first size was advertised in the handshake.
    pub(crate) buffer: BufferBounds,
    /// Whether and how it grows.
    pub(crate) sizing: BufferSize,
    /// What a message without all its fragments means.
    pub incomplete: Incomplete,
    /// The chunk with the user data.
    pub chunk: UserDataChunk,
    /// Streams on which the peer may send.
    pub inbound_streams: u16,
    /// Path MTU in bytes; scales silly window avoidance.
    pub mtu: u16,
    /// When to acknowledge.
    pub policy: DelayedAck,
    /// What counts against the window, and whether SACKs are sent for freed space alone.
    pub advertised_window: AdvertisedWindow,
    /// Whether, and with what promise, NR-SACKs take the place of SACKs.
    pub nr_sack: NrSack,
    /// Whether the receiver may renege on acknowledged data.
    pub reneging: Reneging,
    /// Chunks above a gap at which what lies above them is dropped.
    pub reorder_limit: Option<u32>,
    /// Bytes of a message of which the delivery begins before it is complete; `None` if only a full buffer makes it begin.
    pub partial_delivery_point: Option<u32>,
}

/// What it means that a message lacks fragments although later TSNs have arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Incomplete {
    /// The peer broke the protocol.
    #[default]
    Violation,
    /// The peer gave the message up before it sent all of it; FORWARD-TSN was agreed on (RFC 3758).
    MayBeAbandoned,
}

/// What became of a DATA chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataOutcome {
    /// It was new and is kept.
    New,
    /// It had been received before.
    Duplicate,
    /// It was dropped, as if it had not arrived: the buffer is full or the TSN too far ahead.
    Refused,
}

/// A DATA chunk that needs an answer other than a SACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum DataError {
    /// Answer with ABORT, cause "No User Data" (RFC 9260 section 6.2).
    #[error("the DATA chunk with TSN {tsn} has no user data")]
    NoUserData {
        /// The chunk's TSN.
        tsn: u32,
    },
    /// Answer with ERROR, cause "Invalid Stream Identifier". The chunk counts as received and its data was discarded
    /// (RFC 9260 section 6.5); go on with the rest of the packet.
    #[error("stream {stream} does not exist")]
    InvalidStream {
        /// The stream named.
        stream: u16,
    },
    /// Answer with ABORT, cause "Protocol Violation".
    #[error(transparent)]
    Violation(#[from] Violation),
    /// Answer with ABORT, cause "Out of Resource": the buffer is full, the user has read everything that can be
    /// delivered, and the missing part does not fit, so there would be no progress.
    #[error("a message on stream {stream} does not fit the receive buffer; enlarge it")]
    MessageTooLarge {
        /// Stream of the chunk that could not be kept.
        stream: u16,
    },
}

/// Counters of the receive side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiveCounters {
    /// DATA chunks received for the first time.
    pub new_chunks: u64,
    /// DATA chunks received again.
    pub duplicate_chunks: u64,
    /// DATA chunks dropped because the buffer was full.
    pub refused_chunks: u64,
    /// DATA chunks discarded after they had been acknowledged.
    pub reneged_chunks: u64,
    /// Messages handed to the user.
    pub messages: u64,
    /// Bytes of user data handed to the user.
    pub message_bytes: u64,
}

/// The receive side of an association.
///
/// For each packet with DATA chunks call [`begin_packet`](Self::begin_packet), [`on_data`](Self::on_data) per chunk and
/// [`end_packet`](Self::end_packet). Any number of packets may pass before [`take_sack`](Self::take_sack): a SACK that
/// is due stays due and then answers all of them.
#[derive(Debug)]
pub struct Receiver {
    tsns: TsnMap,
    latest: LatestTsns,
    window: ReceiveWindow,
    /// What makes the buffer grow, if it does.
    sizing: Option<RightSizing>,
    /// User data that arrived for the first time.
    received_bytes: u64,
    reassembly: Reassembly,
    acks: AckPolicy,
    /// What NR-SACKs promise; `None` while SACKs are sent.
    promise: Option<Promise>,
    reneging: Reneging,
    reorder_limit: Option<u32>,
    inbound_streams: u16,
    packet: PacketSummary,
    /// The path on which it arrived.
    packet_path: PathId,
    sack_path: Option<PathId>,
    /// Bit per path that brought DATA since the last SACK.
    sources: PathSet,
    duplicates: SmallVec<[u32; 2]>,
    counters: ReceiveCounters,
}

impl Receiver {
    /// A receiver that expects the peer's first DATA chunk.
    pub fn new(config: ReceiverConfig) -> Self {
        let promise = match config.nr_sack {
            NrSack::Off => None,
            NrSack::Deliverable => Some(Promise::Delivered),
            NrSack::All => Some(Promise::Everything(Cut::Lowest)),
            NrSack::AllInTurn => Some(Promise::Everything(Cut::InTurn)),
        };
        let mut reassembly = Reassembly::new(config.incomplete, config.chunk);
        reassembly.set_partial_delivery_point(config.partial_delivery_point);
        if promise == Some(Promise::Delivered) {
            reassembly.follow_joined();
        }
        let [first, most] = [config.buffer.first, config.buffer.most]
            .map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        let sizing = (first < most).then(|| RightSizing::new(config.sizing, first, most));
        Self {
            sizing,
            received_bytes: 0,
            // Not what the window has bytes: unordered messages above a gap are delivered and open it again.
            tsns: TsnMap::new(config.initial_peer_tsn, u32::MAX),
            latest: LatestTsns::default(),
            window: ReceiveWindow::new(first, config.mtu, config.advertised_window, config.chunk),
            reassembly,
            acks: AckPolicy::new(config.policy),
            promise,
            reneging: config.reneging,
            reorder_limit: config.reorder_limit,
            inbound_streams: config.inbound_streams,
            packet: PacketSummary::default(),
            packet_path: PathId(0),
            sack_path: None,
            sources: PathSet::EMPTY,
            duplicates: SmallVec::new(),
            counters: ReceiveCounters::default(),
        }
    }

    /// Takes over the unread messages of the receiver `before`, and returns their number without those of claimed
    /// streams. They still occupy the window.
    pub fn inherit(&mut self, before: &mut Self) -> usize {
        self.window.share(before.window.take_share());
        let mut messages = 0;
        while let Some(message) = before.reassembly.receive() {
            messages += 1;
            message.fragments.iter().for_each(|fragment| self.window.hold(fragment.len()));
            self.reassembly.keep(message);
        }
        let Self { reassembly, window, .. } = self;
        reassembly.inherit_claims(&mut before.reassembly, |message| {
            message.fragments.iter().for_each(|fragment| window.hold(fragment.len()));
        });
        messages
    }

    /// Counts the held data in a budget as well, which limits it.
    pub(crate) fn share(&mut self, share: Share) {
        self.window.share(share);
    }

    /// Resets these streams of the peer to SSN 0; all of them if none is listed.
    pub(crate) fn reset_streams(&mut self, streams: &[u16]) {
        let dropped = self.reassembly.reset_streams(streams);
        self.window.release(dropped.bytes, dropped.chunks);
    }

    /// Sets the number of streams on which the peer may send.
    pub(crate) fn set_inbound_streams(&mut self, count: u16) {
        self.inbound_streams = count;
    }

    /// Gives memory back that nothing needs now.
    pub(crate) fn release_memory(&mut self) {
        self.tsns.release_memory();
        self.acks.release_memory();
        self.latest.forget();
        self.reassembly.release_memory();
        self.duplicates.shrink_to_fit();
    }

    /// Begins a packet that arrived on `path`.
    pub fn begin_packet(&mut self, path: PathId) {
        self.packet_path = path;
        self.packet = PacketSummary { gaps: self.tsns.has_gaps(), ..PacketSummary::default() };
    }

    /// Takes in a DATA chunk. After an error other than [`DataError::InvalidStream`] the receiver is of no further use.
    #[inline(always)]
    pub fn on_data(&mut self, data: &Data<'_>) -> Result<DataOutcome, DataError> {
        let facts = (data.tsn, data.stream, data.flags, data.payload.len());
        let keep = |reassembly: &mut Reassembly, tsn| {
            reassembly.on_data(tsn, data)?;
            Ok(Taken::Kept)
        };
        self.take_in(facts, Reassembly::continues_delivery, keep)
    }

    /// The same for an I-DATA chunk (RFC 8260).
    pub fn on_i_data(&mut self, data: &IData<'_>) -> Result<DataOutcome, DataError> {
        let facts = (data.tsn, data.stream, data.flags, data.payload.len());
        let continues = |reassembly: &Reassembly, _| reassembly.continues_interleaved(data);
        self.take_in(facts, continues, |reassembly, tsn| reassembly.on_i_data(tsn, data))
    }

    /// Processes user data with this TSN, stream, flags and length; `keep` stores it. `continues` says whether it goes
    /// directly to the user.
    #[inline(always)]
    fn take_in(
        &mut self,
        (number, stream, flags, bytes): (u32, u16, DataFlags, usize),
        continues: impl FnOnce(&Reassembly, WideTsn) -> bool,
        keep: impl FnOnce(&mut Reassembly, WideTsn) -> Result<Taken, Violation>,
    ) -> Result<DataOutcome, DataError> {
        if bytes == 0 {
            return Err(DataError::NoUserData { tsn: number });
        }
        self.packet.immediate |= flags.contains(DataFlags::IMMEDIATE);
        let tsn = match self.tsns.classify(Tsn(number)) {
            Arrival::New(tsn) => tsn,
            Arrival::Duplicate => return Ok(self.note_duplicate(number)),
            Arrival::TooFar => return Ok(self.note_refused()),
        };
        if stream >= self.inbound_streams {
            self.record_unkept(tsn)?;
            return Err(DataError::InvalidStream { stream });
        }
        if self.is_beyond_limit(tsn) {
            // As usrsctp does: a SACK is due as for any DATA above a gap.
            self.packet.new_chunks += 1;
            return Ok(DataOutcome::Refused);
        }
        if !self.has_place_for(tsn) && !self.finds_place_for(tsn)? {
            let goes_on = self.is_needed_next(tsn) && continues(&self.reassembly, tsn);
            if !goes_on {
                return self.refuse(tsn, stream);
            }
        }
        if keep(&mut self.reassembly, tsn)? == Taken::Abandoned {
            self.record_unkept(tsn)?;
            return Ok(DataOutcome::New);
        }
        self.window.hold(bytes);
        self.received_bytes += bytes as u64;
        self.packet.new_bytes = self.packet.new_bytes.saturating_add(bytes as u32);
        self.record(tsn)?;
        if self.reassembly.follows_joined() {
            self.make_joined_firm();
        }
        Ok(DataOutcome::New)
    }

    /// Whether space for a chunk can be made.
    #[inline(never)]
    fn finds_place_for(&mut self, tsn: WideTsn) -> Result<bool, DataError> {
        if self.reassembly.has_aside() {
            // The peer could neither continue nor reset.
            self.relieve_aside(tsn.narrow())?;
            if self.has_place_for(tsn) {
                return Ok(true);
            }
        }
        Ok(self.grow_for_more() || self.make_place_for(tsn))
    }

    /// Ends a packet that arrived on `path`, whose acknowledgements may have a delay of their own.
    pub fn end_packet(&mut self, now: Instant, path: PathId, own: Option<PathDelay>) {
        if self.reassembly.claims().is_some() {
            self.release_excess();
        }
        if self.packet.has_data() {
            let mut packet = self.packet;
            packet.leaves_gaps = self.tsns.has_gaps();
            packet.gaps |= packet.leaves_gaps;
            self.sack_path = Some(path);
            self.sources.insert(path);
            let Self { acks, promise, tsns, duplicates, .. } = self;
            acks.on_packet(now, path, own, packet, || sack_bytes(*promise, tsns, duplicates.len()));
            if !self.window.has_space() {
                self.deliver_from_full_buffer();
            }
        }
        self.packet = PacketSummary::default();
    }

    /// Whether the buffer may grow by itself: [`adapt_buffer`](Self::adapt_buffer) makes it do so.
    pub fn adapts_buffer(&self) -> bool {
        self.sizing.is_some()
    }

    /// Lets the buffer grow after a packet, on paths with these times.
    pub fn adapt_buffer(&mut self, now: Instant, times: PathTimes) {
        let read = self.counters.message_bytes + self.discarded_bytes();
        let Some(sizing) = &mut self.sizing else { return };
        let stuck = if self.reassembly.is_read_dry() { self.window.buffered() } else { 0 };
        let view = SizingView {
            now,
            received: self.received_bytes,
            read,
            stuck,
            window: self.window.a_rwnd(),
            buffer: self.window.buffer(),
            rtt: times.longest_rtt,
            rto: times.longest_rto,
            round: times.shortest_rtt,
        };
        self.window.enlarge(sizing.size(&view));
        if self.window.update_is_due() {
            self.acks.request();
        }
    }

    /// Gives the buffer larger bounds.
    pub(crate) fn enlarge_buffer(&mut self, bounds: BufferBounds) {
        let [first, most] =
            [bounds.first, bounds.most].map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
        self.window.enlarge(first);
        if let Some(sizing) = &mut self.sizing {
            sizing.set_most(most);
        }
        if self.window.update_is_due() {
            self.acks.request();
        }
    }

    /// Sets the delay of acknowledgements, and the number of packets after which one is sent.
    pub(crate) fn set_delayed_ack(&mut self, delay: Duration, packets: u8) {
        self.acks.set_delay(delay, packets);
    }

    /// Present size of the buffer in bytes.
    pub fn buffer_size(&self) -> u32 {
        self.window.buffer()
    }

    /// Handles a FORWARD-TSN (RFC 3758 section 3.6): everything up to `point` counts as received, messages that lack
    /// any of it are dropped, and the order in the listed streams continues after the given numbers. One without news
    /// is answered at once, because the SACK for it may have been lost.
    pub fn on_forward_tsn(&mut self, point: Tsn, skipped: impl Iterator<Item = SkippedStream>) {
        if !self.advances_to(point) {
            return;
        }
        let skipped: SmallVec<[SkippedStream; 16]> = skipped.collect();
        let dropped = match self.set_skip_aside(|| Aside::Skip(point, skipped.to_vec())) {
            true => Dropped::default(),
            false => self.skip_streams(point, &skipped),
        };
        self.after_skipping(dropped);
    }

    /// An I-FORWARD-TSN arrived (RFC 8260 section 2.3.1): the same with message identifiers, of ordered and of unordered
    /// messages.
    pub fn on_i_forward_tsn(&mut self, point: Tsn, skipped: impl Iterator<Item = SkippedMessages>) {
        if !self.advances_to(point) {
            return;
        }
        let skipped: SmallVec<[SkippedMessages; 16]> = skipped.collect();
        let dropped = match self.set_skip_aside(|| Aside::SkipMessages(point, skipped.to_vec())) {
            true => Dropped::default(),
            false => self.skip_messages(&skipped),
        };
        self.after_skipping(dropped);
    }

    /// Whether a FORWARD-TSN brings something new: everything up to its point counts as received then.
    fn advances_to(&mut self, point: Tsn) -> bool {
        let is_new = point.is_after(self.tsns.cumulative_tsn());
        match is_new {
            true => self.tsns.advance_to(point),
            false => self.acks.request(),
        }
        is_new
    }

    fn skip_streams(&mut self, point: Tsn, skipped: &[SkippedStream]) -> Dropped {
        for &SkippedStream { stream, ssn } in skipped {
            if stream < self.inbound_streams {
                self.reassembly.skip(stream, Ssn(ssn));
            }
        }
        self.reassembly.drop_incomplete(self.tsns.wide(point), self.tsns.cumulative())
    }

    fn skip_messages(&mut self, skipped: &[SkippedMessages]) -> Dropped {
        let mut dropped = Dropped::default();
        for messages in skipped.iter().filter(|it| it.stream < self.inbound_streams) {
            dropped.add(self.reassembly.skip_messages(*messages));
        }
        dropped
    }

    fn after_skipping(&mut self, dropped: Dropped) {
        self.window.release(dropped.bytes, dropped.chunks);
        // The sender waits for the answer to report the next gap, so reordering between paths (DAC) is no reason to
        // delay it.
        if self.window.update_is_due() || self.tsns.has_gaps() {
            self.acks.request();
        }
        // For the next SACK it is like DATA.
        self.packet.new_chunks += 1;
    }

    /// Makes a SACK due.
    pub fn request_sack(&mut self) {
        self.acks.request();
    }

    /// Handles the end of the SACK delay.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.acks.on_timeout(now);
    }

    /// The next message for the user, which [`release_first`](Self::release_first) has released.
    #[inline]
    pub fn take_first(&mut self) -> Option<ReceivedMessage> {
        self.reassembly.receive()
    }

    /// Both at once.
    #[cfg(test)]
    pub fn receive(&mut self) -> Option<ReceivedMessage> {
        self.release_first()?;
        self.take_first()
    }

    /// Whether there is a message of an unclaimed stream.
    pub fn has_unclaimed(&self) -> bool {
        self.reassembly.has_unclaimed()
    }

    /// Whether there is a message of any stream.
    pub fn has_messages(&self) -> bool {
        self.reassembly.has_messages()
    }

    /// Whether a SACK must go out now.
    pub fn sack_is_due(&self) -> bool {
        self.acks.is_due()
    }

    /// Whether a SACK is due or being delayed; it should be bundled with DATA (RFC 9260 section 6.1).
    pub fn sack_is_pending(&self) -> bool {
        self.acks.is_pending()
    }

    /// When to call [`handle_timeout`](Self::handle_timeout); `None` when no SACK is being delayed.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.acks.deadline()
    }

    /// The path of the last packet with DATA, which the SACK takes (RFC 9260 section 6.7).
    pub fn sack_path(&self) -> Option<PathId> {
        self.sack_path
    }

    /// Whether a TSN arrived again since the last SACK.
    pub fn has_duplicates(&self) -> bool {
        !self.duplicates.is_empty()
    }

    /// Bit per path that brought DATA since the last SACK.
    pub fn sources(&self) -> PathSet {
        self.sources
    }

    /// Last TSN received in sequence.
    pub fn cumulative_tsn(&self) -> Tsn {
        self.tsns.cumulative_tsn()
    }

    /// Whether the present packet has brought data that is new.
    pub fn packet_brings_data(&self) -> bool {
        self.packet.new_chunks > 0
    }

    /// Whether a chunk of the present packet was dropped because the buffer is full.
    pub fn refuses_packet(&self) -> bool {
        self.packet.refused_chunks > 0
    }

    /// Size of the receive buffer in bytes.
    pub fn buffer_limit(&self) -> u32 {
        self.window.buffer()
    }

    /// The receive window in bytes that a SACK would advertise now.
    pub fn a_rwnd(&self) -> u32 {
        self.window.a_rwnd()
    }

    /// Bytes of user data held: fragments, messages waiting for their turn and messages the user has not read.
    pub fn buffered_bytes(&self) -> u64 {
        self.window.buffered()
    }

    /// Most bytes of user data that were ever held.
    pub fn peak_buffered_bytes(&self) -> u64 {
        self.window.peak()
    }

    /// Counters.
    pub fn counters(&self) -> ReceiveCounters {
        self.counters
    }

    /// Whether there is space for a new chunk, or everything received out of order waits for it. Without gaps, a chunk
    /// beyond the window is a window probe and must be dropped (RFC 9260 section 6.2).
    #[inline(always)]
    fn has_place_for(&self, tsn: WideTsn) -> bool {
        let fills_first_gap = || self.tsns.has_gaps() && tsn == self.tsns.cumulative().next();
        self.window.has_space() || fills_first_gap() && self.window.has_reserve()
    }

    /// Enlarges a full buffer without readable messages for an active reader: only more data can complete a message, or
    /// be of another stream than the unread ones.
    #[inline(never)]
    fn grow_for_more(&mut self) -> bool {
        let Some(sizing) = &self.sizing else { return false };
        if !self.reassembly.is_read_dry() {
            return false;
        }
        self.window.enlarge(self.window.buffer().saturating_mul(2).min(sizing.most()));
        self.window.has_space()
    }

    /// Whether everything in the buffer waits for this TSN or for later ones. If its chunk continues a message whose
    /// beginning the user has, it needs no space, and the others may wait for the end of that message.
    #[inline(never)]
    fn is_needed_next(&self, tsn: WideTsn) -> bool {
        tsn == self.tsns.cumulative().next() && !self.reassembly.has_messages()
    }

    // Inlined: it runs for every chunk.
    #[inline(always)]
    fn record(&mut self, tsn: WideTsn) -> Result<(), Violation> {
        self.tsns.record(tsn);
        if self.leaves_blocks_out() && self.tsns.has_gaps() {
            self.latest.note(self.packet_path, tsn.narrow());
        }
        self.packet.new_chunks += 1;
        self.counters.new_chunks += 1;
        if self.reassembly.has_fragments() {
            let dropped = self.reassembly.check_up_to(self.tsns.cumulative())?;
            self.window.release(dropped.bytes, dropped.chunks);
        }
        Ok(())
    }

    /// Records a chunk whose user data is not kept, and so will not be discarded either.
    #[cold]
    fn record_unkept(&mut self, tsn: WideTsn) -> Result<(), Violation> {
        self.record(tsn)?;
        if self.promise == Some(Promise::Delivered) {
            self.tsns.make_firm(tsn, 1);
        }
        Ok(())
    }

    #[inline(never)]
    fn refuse(&mut self, tsn: WideTsn, stream: u16) -> Result<DataOutcome, DataError> {
        if tsn == self.tsns.cumulative().next()
            && !self.reassembly.has_messages()
            && !self.begin_partial_delivery()
            // When other associations hold too much, it is not this message that is too large.
            && !self.window.is_held_back()
        {
            return Err(DataError::MessageTooLarge { stream });
        }
        Ok(self.note_refused())
    }

    /// Whether more chunks wait above a gap than a limit that is simulated admits, and this one lies above them.
    fn is_beyond_limit(&self, tsn: WideTsn) -> bool {
        self.reorder_limit.is_some_and(|limit| self.tsns.is_crowded(tsn, limit))
    }

    #[inline(never)]
    fn note_refused(&mut self) -> DataOutcome {
        self.packet.refused_chunks += 1;
        self.counters.refused_chunks += 1;
        DataOutcome::Refused
    }

    #[inline(never)]
    fn note_duplicate(&mut self, tsn: u32) -> DataOutcome {
        self.packet.duplicate_chunks += 1;
        self.counters.duplicate_chunks += 1;
        if self.leaves_blocks_out() {
            self.latest.note(self.packet_path, Tsn(tsn));
        }
        if self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push(tsn);
        }
        DataOutcome::Duplicate
    }
}

#[cfg(test)]
mod tests;
