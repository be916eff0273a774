//! A [`Transmitter`] on its own: paths that work, a peer whose answers are written down, and a clock that tests set.
//!
//! Chunks have numbers from 0 on, whatever TSNs that makes; these wrap around after a few.

use core::net::{IpAddr, Ipv4Addr};
use std::format;
use std::string::String;
use std::vec::Vec;

use polypath_wire::{
    Chunk, Data, DataFlags, DuplicateTsns, ForwardTsn, Packet, Payload, Sack, VirtualPayload,
};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::decide::{Decision, What};
use super::outstanding::{History, OutstandingChunk};
use super::partial_reliability::{Reliability, Support};
use super::sack::testing::blocks;
use super::zero_window::Expiry;
use super::{AckOutcome, Effects, PacketBuilder, SendCx, SendPath, SendPhase, Transmitter};
use crate::config::{AssociationConfig, CongestionAlgorithm, DataCopies, Pacing, Preset};
use crate::congestion::window::Family;
use crate::paths::reach::{Reach, Reason};
use crate::paths::{Path, PathBook};
use crate::probe::TransmissionCause;
use crate::types::{Fate, UserDataChunk};
use crate::{
    Duration, Encapsulation, Instant, OutgoingMessage, PathId, Probe, ProbeEvent, SendError, Tsn,
};

/// Chunk 0.
const FIRST: Tsn = Tsn(u32::MAX - 2);
/// User bytes of a chunk that fills a packet of 1500 bytes, and what it counts in a congestion window.
pub(crate) const FULL: u32 = 1452;
pub(crate) const CHUNK: u64 = 1468;

/// The preset of that name.
pub(crate) fn preset(name: &str) -> Preset {
    Preset::from_name(name).unwrap()
}

/// TSN of a chunk.
pub(crate) fn tsn(chunk: u32) -> Tsn {
    FIRST.plus(chunk)
}

/// Number of a chunk.
fn number(tsn: u32) -> u32 {
    tsn.wrapping_sub(FIRST.0)
}

/// Remembers what it is told.
#[derive(Default)]
struct Trace(Vec<ProbeEvent>);

impl Probe for Trace {
    fn on(&mut self, _now: Instant, event: ProbeEvent) {
        self.0.push(event);
    }
}

/// A packet that was filled.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) path: u8,
    /// Numbers of its DATA chunks.
    pub(crate) chunks: Vec<u32>,
    pub(crate) data: Vec<Data<'static>>,
    pub(crate) forward: Option<ForwardTsn<'static>>,
    pub(crate) effects: Effects,
}

impl Sent {
    /// Whether every chunk asks for a SACK at once.
    pub(crate) fn hurries(&self) -> bool {
        self.data.iter().all(|data| data.flags.contains(DataFlags::IMMEDIATE))
    }
}

/// A SACK, by numbers of chunks.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// How many chunks are acknowledged cumulatively.
    pub(crate) count: u32,
    /// First and last chunk of each gap block.
    pub(crate) gaps: Vec<(u32, u32)>,
    pub(crate) a_rwnd: u32,
    pub(crate) over: u8,
    pub(crate) flags: u8,
    /// Chunks that arrived twice.
    pub(crate) twice: Vec<u32>,
}

impl Answer {
    /// The first `count` chunks have arrived; the peer's window is that of the beginning.
    pub(crate) fn of(count: u32) -> Self {
        let (gaps, twice) = (Vec::new(), Vec::new());
        Self { count, gaps, a_rwnd: Bench::PEER_WINDOW, over: 0, flags: 0, twice }
    }

    pub(crate) fn gaps(self, gaps: &[(u32, u32)]) -> Self {
        Self { gaps: gaps.into(), ..self }
    }

    pub(crate) fn a_rwnd(self, a_rwnd: u32) -> Self {
        Self { a_rwnd, ..self }
    }

    pub(crate) fn over(self, over: u8) -> Self {
        Self { over, ..self }
    }

    fn to_sack(&self) -> Sack<'static> {
        let cumulative = FIRST.plus(self.count).previous();
        let offset = |chunk: u32| tsn(chunk).0.wrapping_sub(cumulative.0) as u16;
        let pairs: Vec<_> = self.gaps.iter().map(|&(a, b)| (offset(a), offset(b))).collect();
        Sack {
            flags: self.flags,
            cumulative_tsn_ack: cumulative.0,
            a_rwnd: self.a_rwnd,
            gap_ack_blocks: blocks(&pairs),
            duplicate_tsns: DuplicateTsns::Owned(
                self.twice.iter().map(|chunk| tsn(*chunk).0).collect(),
            ),
        }
    }
}

/// A transmitter and all that it is lent.
pub(crate) struct Bench {
    pub(crate) tx: Transmitter,
    pub(crate) book: PathBook,
    pub(crate) config: AssociationConfig,
    pub(crate) now: Instant,
    pub(crate) phase: SendPhase,
    rng: Xoshiro256PlusPlus,
    trace: Trace,
    contexts: u32,
    effects: Effects,
}

impl Bench {
    /// What the peer announces in the handshake, in bytes.
    pub(crate) const PEER_WINDOW: u32 = 1 << 20;

    /// So many active paths, of which nothing is known yet, and the policies of a preset.
    pub(crate) fn new(preset: Preset, paths: u8) -> Self {
        Self::tuned(preset, paths, |_| {})
    }

    /// The same, with policies that the test chooses, and with congestion windows that a test can set.
    pub(crate) fn tuned(
        preset: Preset,
        paths: u8,
        tune: impl FnOnce(&mut AssociationConfig),
    ) -> Self {
        let mut config = AssociationConfig::with_preset(preset);
        if config.policies.congestion == CongestionAlgorithm::Bbr {
            config.policies.congestion = CongestionAlgorithm::Uncoupled;
        }
        tune(&mut config);
        Self::with(config, paths)
    }

    /// The same, where each chunk takes one path, and leaves as soon as the congestion window admits it.
    pub(crate) fn plain(preset: Preset, paths: u8) -> Self {
        Self::tuned(preset, paths, |config| {
            config.policies.data_copies = DataCopies::Off;
            config.policies.pacing = Pacing::Off;
        })
    }

    fn with(config: AssociationConfig, paths: u8) -> Self {
        let mut tx = Transmitter::new(FIRST, &config);
        let shared = config.clone().shared();
        let mut book = PathBook::default();
        for id in (0..paths).map(PathId) {
            let [local, remote] = [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(10, 0, id.0, host)));
            let mtu = config.mtu_bytes.into();
            let path = Path::new(id, local, remote, Encapsulation::None, mtu, &config);
            tx.paths.push(SendPath::new(
                id,
                Family::V4,
                path.headers(),
                UserDataChunk::Data,
                &shared,
            ));
            book.push(path);
            book.set_reach(id, Reach::Active);
        }
        let payloads = tx.paths.iter().map(SendPath::max_chunk_payload);
        tx.max_fragment = payloads.min().unwrap_or(0);
        tx.advertised_window = Self::PEER_WINDOW.into();
        tx.paths.reset_cwnds(&config, &book, Self::PEER_WINDOW.into());
        tx.settle_partial_reliability(Support::Yes);
        Self {
            tx,
            book,
            config,
            now: Instant::ZERO + Duration::from_secs(10),
            phase: SendPhase::Open,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
            trace: Trace::default(),
            contexts: 0,
            effects: Effects::new(),
        }
    }

    /// The transmitter, and what it is lent.
    pub(crate) fn lend(&mut self) -> (&mut Transmitter, SendCx<'_>) {
        let Self { tx, book, config, now, phase, rng, trace, effects, .. } = self;
        (tx, SendCx { now: *now, rng, probe: trace, config, book, phase: *phase, effects })
    }

    /// Marks a chunk lost.
    pub(crate) fn mark_lost(&mut self, tsn: Tsn, cause: TransmissionCause) -> Option<PathId> {
        self.tx.mark_lost(self.now, tsn, cause)
    }

    pub(crate) fn wait(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
    }

    pub(crate) fn path(&mut self, id: u8) -> &mut SendPath {
        &mut self.tx.paths[PathId(id)]
    }

    /// Milliseconds until T3-rtx of a path expires.
    pub(crate) fn t3(&self, id: u8) -> Option<u64> {
        self.tx.paths[PathId(id)].t3.map(|at| at.since(self.now).as_millis())
    }

    /// Retransmission timeout of a path in milliseconds.
    pub(crate) fn rto(&self, id: u8) -> u64 {
        self.tx.paths[PathId(id)].rtt.rto().as_millis()
    }

    pub(crate) fn flights(&self) -> Vec<u64> {
        self.tx.paths.iter().map(|path| path.flight).collect()
    }

    /// Gives a path a congestion window of so many packets, at its threshold unless that is another one, and a round-trip time.
    pub(crate) fn shape(&mut self, id: u8, cwnd: u64, ssthresh: u64, rtt_ms: u64) {
        let path = self.path(id);
        path.set_cwnd(cwnd * CHUNK, Some(ssthresh * CHUNK));
        path.rtt.on_data_sample(Instant::ZERO, Duration::from_millis(rtt_ms), 1468);
    }

    /// The path has failed.
    pub(crate) fn fail(&mut self, id: u8) {
        self.book.set_reach(PathId(id), Reach::Inactive(Reason::Timeouts));
    }

    /// The user has met a full buffer, and has more to send.
    pub(crate) fn has_more(&mut self) {
        self.tx.demand.refuse(1);
    }

    /// Hands over messages that fill a packet each.
    pub(crate) fn send(&mut self, messages: u32) {
        for _ in 0..messages {
            self.send_one(FULL, Reliability::Full).1.unwrap();
        }
    }

    /// Hands over a message of `bytes`; its context is its number.
    pub(crate) fn send_one(
        &mut self,
        bytes: u32,
        rule: Reliability,
    ) -> (Vec<String>, Result<(), SendError>) {
        let payload = VirtualPayload { message: self.contexts.into(), offset: 0, len: bytes };
        let message = OutgoingMessage::from_payload(0, Payload::Virtual(payload));
        self.send_message(message, rule)
    }

    pub(crate) fn send_message(
        &mut self,
        message: OutgoingMessage,
        rule: Reliability,
    ) -> (Vec<String>, Result<(), SendError>) {
        let message = OutgoingMessage { context: self.contexts, ..message };
        self.contexts += 1;
        let (tx, mut cx) = self.lend();
        let result = tx.enqueue(&mut cx, message, rule);
        (self.told(), result)
    }

    /// Begins a flush; says what that wants done.
    pub(crate) fn begin(&mut self) -> Vec<String> {
        let (tx, mut cx) = self.lend();
        tx.begin_flush(&mut cx);
        tx.watch_peer_window(&cx);
        self.told()
    }

    /// What the next packet carries first.
    pub(crate) fn decide(&mut self) -> Option<Decision> {
        let (tx, mut cx) = self.lend();
        tx.next(&mut cx)
    }

    /// The path and the first content of the next packet, in a flush of its own that ends with it.
    pub(crate) fn choice(&mut self) -> Option<(u8, What)> {
        self.begin();
        let decision = self.decide();
        self.tx.end_flush(self.now, &self.config);
        decision.map(|decision| (decision.path.0, decision.what))
    }

    /// Fills the packet that was decided on.
    pub(crate) fn fill(&mut self, decision: &Decision) -> Sent {
        self.build(decision.path, |tx, cx, packet| tx.fill(cx, decision, packet))
    }

    fn build(
        &mut self,
        path: PathId,
        fill: impl FnOnce(&mut Transmitter, &mut SendCx<'_>, &mut PacketBuilder<'_>),
    ) -> Sent {
        let capacity = self.tx.paths[path].packet_capacity();
        let mut packet = Packet::default();
        let mut builder = PacketBuilder::new(path, capacity, &mut packet);
        let (tx, mut cx) = self.lend();
        fill(tx, &mut cx, &mut builder);
        let (mut data, mut forward) = (Vec::new(), None);
        for chunk in packet.chunks {
            match chunk {
                Chunk::Data(chunk) => data.push(chunk),
                Chunk::ForwardTsn(chunk) => forward = Some(chunk),
                _ => {}
            }
        }
        let chunks = data.iter().map(|data| number(data.tsn)).collect();
        Sent { path: path.0, chunks, data, forward, effects: core::mem::take(&mut self.effects) }
    }

    /// The next packet of a flush that has begun: a FORWARD-TSN that is due, DATA, or a tail probe, as an association
    /// sends them.
    pub(crate) fn packet(&mut self) -> Option<Sent> {
        if self.tx.forward.is_due() {
            let best = self.book.best();
            return Some(self.build(best, |tx, cx, packet| {
                tx.push_forward_tsn(cx, packet);
            }));
        }
        if !self.tx.is_dry() {
            if let Some(decision) = self.decide() {
                return Some(self.fill(&decision));
            }
            let (tx, mut cx) = self.lend();
            tx.penalize_blocking_path(&mut cx);
        }
        let (tx, cx) = self.lend();
        let probe = tx.next_probe(&cx)?;
        Some(self.build(probe.path, |tx, cx, packet| tx.fill_probe(cx, probe, packet)))
    }

    /// Sends all that may be sent now. What has no end fails the test.
    pub(crate) fn flush(&mut self) -> Vec<Sent> {
        self.begin();
        let mut sent = Vec::new();
        while let Some(packet) = self.packet() {
            assert!(packet.forward.is_some() || !packet.chunks.is_empty(), "an empty packet");
            sent.push(packet);
            assert!(sent.len() < 5000, "a flush without end");
        }
        let (tx, cx) = self.lend();
        tx.watch_tail(&cx);
        tx.end_flush(cx.now, cx.config);
        let now = self.now;
        let is_later = |path: &SendPath| path.pacer().due().is_none_or(|due| due > now);
        assert!(self.tx.paths.iter().all(is_later), "a driver would poll for ever");
        sent
    }

    /// Waits until the pace of a path lets the next packet go; says whether one waits for that.
    pub(crate) fn await_pace(&mut self) -> bool {
        let due = self.tx.paths.iter().filter_map(|path| path.pacer().due()).min();
        self.now = due.unwrap_or(self.now);
        due.is_some()
    }

    /// Sends all that may be sent now; says the path and the chunks of each packet.
    pub(crate) fn sends(&mut self) -> Vec<(u8, Vec<u32>)> {
        self.flush().into_iter().map(|sent| (sent.path, sent.chunks)).collect()
    }

    /// Hands over that many full messages, each of which goes over the path that is named.
    pub(crate) fn place(&mut self, paths: &[u8]) {
        for &path in paths {
            let payload = VirtualPayload { message: 0, offset: 0, len: FULL };
            let message = OutgoingMessage::from_payload(0, Payload::Virtual(payload));
            let message = OutgoingMessage { path: Some(PathId(path)), ..message };
            self.send_message(message, Reliability::Full).1.unwrap();
        }
        let first = number(self.tx.outstanding.next_tsn().0);
        let sent = self.sends();
        let mut expected: Vec<_> = (first..).zip(paths).collect();
        for (path, chunks) in sent {
            for chunk in chunks {
                let at = expected.iter().position(|place| *place == (chunk, &path));
                expected.remove(at.unwrap_or_else(|| panic!("chunk {chunk} went over {path}")));
            }
        }
        assert!(expected.is_empty(), "had no window: {expected:?}");
    }

    /// The peer's SACK arrives in a packet of its own.
    pub(crate) fn hear(&mut self, answer: &Answer) -> AckOutcome {
        let sack = answer.to_sack();
        let (tx, mut cx) = self.lend();
        tx.begin_packet();
        let acked = tx.on_sack(&mut cx, &sack, PathId(answer.over));
        tx.end_packet();
        acked
    }

    /// The same for one that must be applied; says what that wants done.
    pub(crate) fn sack(&mut self, answer: &Answer) -> Vec<String> {
        match self.hear(answer) {
            AckOutcome::Applied => self.told(),
            other => panic!("{answer:?} gave {other:?}"),
        }
    }

    /// T3-rtx of a path expires now.
    pub(crate) fn expire(&mut self, id: u8) -> Expiry {
        let (tx, mut cx) = self.lend();
        let groups = tx.group_views(&cx);
        tx.on_timeout(&mut cx, PathId(id), &groups)
    }

    /// Waits until the first of the timers T3-rtx expires; says of which path.
    pub(crate) fn expire_next(&mut self) -> Option<(u8, Expiry)> {
        let timers = self.tx.paths.iter().filter_map(|path| Some((path.t3?, path.id.0)));
        let (at, id) = timers.min()?;
        self.now = self.now.max(at);
        Some((id, self.expire(id)))
    }

    /// Milliseconds until the reordering window of a path runs out for a chunk.
    pub(crate) fn late_in(&self, id: u8) -> Option<u64> {
        let due = self.tx.paths[PathId(id)].late_due();
        (due != Instant::FAR_FUTURE).then(|| due.since(self.now).as_millis())
    }

    /// Waits until the first of those windows runs out; says of which path.
    pub(crate) fn expire_late(&mut self) -> Option<u8> {
        let timers = self.tx.paths.iter().map(|path| (path.late_due(), path.id.0));
        let (at, id) = timers.min().filter(|(at, _)| *at != Instant::FAR_FUTURE)?;
        self.now = self.now.max(at);
        let (tx, mut cx) = self.lend();
        tx.on_late(&mut cx, PathId(id));
        Some(id)
    }

    /// The system cannot send on a path any more.
    pub(crate) fn lose_path(&mut self, id: u8) {
        let (tx, mut cx) = self.lend();
        tx.on_path_lost(&mut cx, PathId(id));
    }

    pub(crate) fn chunk(&self, chunk: u32) -> &OutstandingChunk {
        self.tx.outstanding.get(tsn(chunk))
    }

    pub(crate) fn history(&self, chunk: u32) -> History {
        self.chunk(chunk).history
    }

    /// Chunks that are lost, and how that was found.
    pub(crate) fn lost(&self) -> Vec<(u32, TransmissionCause)> {
        let outstanding = &self.tx.outstanding;
        let (mut lost, mut next) = (Vec::new(), outstanding.base());
        while next != outstanding.next_tsn() {
            if let Fate::Lost(cause) = outstanding.get(next).fate {
                lost.push((number(next.0), cause));
            }
            next = next.next();
        }
        lost
    }

    /// What the probe was told since the last call.
    pub(crate) fn trace(&mut self) -> Vec<ProbeEvent> {
        core::mem::take(&mut self.trace.0)
    }

    /// Samples of round-trip times since the last look at the trace: path and milliseconds.
    pub(crate) fn samples(&mut self) -> Vec<(u8, u64)> {
        let sample = |event| match event {
            ProbeEvent::Rtt { path, sample, .. } => Some((path.0, sample.as_nanos() / 1_000_000)),
            _ => None,
        };
        self.trace().into_iter().filter_map(sample).collect()
    }
}

impl Bench {
    /// A timeout on each path: what proves one alive is news.
    pub(crate) fn doubt_all(&mut self) {
        self.book.errors = 1;
        self.book.iter_mut().for_each(|path| path.errors = 1);
    }

    /// What the transmitter wants done since the last call, as text.
    pub(crate) fn told(&mut self) -> Vec<String> {
        told(&core::mem::take(&mut self.effects))
    }
}

/// Effects as text, in their order.
pub(crate) fn told(effects: &Effects) -> Vec<String> {
    effects.iter().map(|effect| format!("{effect:?}")).collect()
}
