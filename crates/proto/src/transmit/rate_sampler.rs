//! How fast a path delivers, and what it loses (draft-cheng-iccrg-delivery-rate-estimation-02; draft-ietf-ccwg-bbr section
//! 4.1), for controllers that want to know.
//!
//! With each packet it is noted what had been delivered and lost when it was sent. When the packet is acknowledged, what
//! was delivered since then, by the time that it took, is a sample. Sending faster than the path carries does not shorten
//! that time, and acknowledgements that come in one lump do not either, because the longer of both times counts: that in
//! which the data was sent, and that in which it was acknowledged.
//!
//! A SACK may return over another path, and sooner than the last one did. Then the data of both seems to have arrived within
//! less time, that is, at a higher rate than the path has. So what the last SACK before the packet was sent took longer than that
//! of the sample is added. (If it took less, the sample is too low, which does no harm.) Half of the smallest RTT of a path is what a SACK
//! takes over it. Where the ways there and back differ, part of the error remains.
//!
//! Packets that have arrived are remembered for a round trip more, because those that were lost between them are found
//! later: for one of the path itself, since losses are found by its round trip, whatever path brings the acknowledgements.
//!
//! NOTE(deviation): a SACK that names what came in last may leave out what came in before, until one has room for it. That is no
//! delivery of the time since. What was sent before a packet that was known to have arrived, when another one was sent, counts
//! as delivered before that one ([`LateReports`]).

mod late_reports;
#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;

use self::late_reports::LateReports;
use crate::congestion::{LossSample, RateLimit, RateSample};
use crate::{Duration, Instant, PathId};

/// Most packets that are remembered. Those beyond give no samples.
const MOST_PACKETS: usize = 1 << 16;

/// State of one path, in counted bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    /// Packets in the order of sending.
    packets: VecDeque<Packet>,
    /// For each of them, what was reported later although it had been delivered when the packet was sent.
    late: LateReports,
    /// Delivered so far.
    delivered: u64,
    /// When that was last more, or when sending began on the idle path.
    delivered_at: Instant,
    /// The path over which a SACK said so, and how long it took there; zero if there was none, or that is not known.
    over: Option<PathId>,
    took: Duration,
    /// Found lost so far.
    lost: u64,
    /// When the packet was sent that was last known to arrive.
    first_sent_at: Instant,
    /// Until more than so much is delivered, what is outstanding was not limited by the congestion window.
    limited_until: u64,
    /// When the newest chunk was sent that the present SACK acknowledges.
    newest: Option<Instant>,
    /// When the newest chunk was sent that was found lost since the last loss sample.
    newest_lost: Option<Instant>,
    /// Shortest time from the sending of a packet to a sample of it.
    shortest: Option<Duration>,
}

/// What was so when a packet was sent.
#[derive(Clone, Copy, Debug)]
struct Packet {
    sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    over: Option<PathId>,
    took: Duration,
    lost: u64,
    first_sent_at: Instant,
    /// Bytes outstanding, its own included.
    flight: u64,
    limit: RateLimit,
}

/// A SACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SackArrival {
    pub(crate) now: Instant,
    /// The path that it came over.
    pub(crate) over: PathId,
    /// About how long it was on its way, if known.
    pub(crate) took: Option<Duration>,
    /// It measures the round trip of the path.
    pub(crate) measures: bool,
}

impl RateSampler {
    /// A sampler that begins while packets are under way: what arrives from now on counts.
    pub(crate) fn amid_transfer(now: Instant) -> Self {
        Self { delivered_at: now, first_sent_at: now, ..Self::default() }
    }

    /// A packet with data is sent, which makes `flight` bytes outstanding of `before`.
    pub(crate) fn on_sent(&mut self, now: Instant, before: u64, flight: u64) {
        if before == 0 {
            // Nothing of what was before tells of the path now.
            self.packets.clear();
            self.late.clear();
            (self.delivered_at, self.first_sent_at, self.took) = (now, now, Duration::ZERO);
        }
        if self.packets.len() >= MOST_PACKETS {
            return;
        }
        let is_limited = self.limited_until > 0 && self.delivered <= self.limited_until;
        let limit = if is_limited { RateLimit::Application } else { RateLimit::Cwnd };
        self.packets.push_back(Packet {
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            over: self.over,
            took: self.took,
            lost: self.lost,
            first_sent_at: self.first_sent_at,
            flight,
            limit,
        });
        self.late.push();
    }

    /// The present SACK takes a chunk of so many bytes out of what is outstanding that was last sent at this time.
    #[inline]
    pub(crate) fn on_delivered(&mut self, sent_at: Instant, bytes: u64) {
        if self.packets.back().is_some_and(|last| last.first_sent_at > sent_at) {
            let first = self.packets.partition_point(|packet| packet.first_sent_at <= sent_at);
            self.late.add_from(first, bytes);
        }
    }

    /// The present SACK acknowledges a chunk that was last sent at this time, and only once.
    pub(crate) fn on_chunk_acked(&mut self, sent_at: Instant) {
        self.newest = self.newest.max(Some(sent_at));
    }

    /// A chunk of so many bytes that was last sent at this time is lost.
    pub(crate) fn on_lost(&mut self, sent_at: Instant, bytes: u64) {
        self.lost = self.lost.saturating_add(bytes);
        self.newest_lost = self.newest_lost.max(Some(sent_at));
    }

    /// A chunk of so many bytes that was found lost has arrived after all.
    pub(crate) fn on_found(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_sub(bytes);
    }

    /// A SACK acknowledges so many bytes of what was outstanding. A sample, if it covers a packet that is remembered and no older than
    /// that of the last sample. An answer of the path itself is expected to take `patience`.
    pub(crate) fn sample(
        &mut self,
        sack: SackArrival,
        bytes: u64,
        patience: Duration,
    ) -> Option<RateSample> {
        let SackArrival { now, over, took, measures } = sack;
        if bytes > 0 {
            self.delivered = self.delivered.saturating_add(bytes);
            (self.delivered_at, self.over) = (now, Some(over));
            self.took = took.unwrap_or_default();
        }
        let newest = self.newest.take()?;
        let place = self.last_sent_at(newest)?;
        let packet = *self.packets.get(place)?;
        if packet.sent_at < self.first_sent_at {
            return None;
        }
        let delivered = self.delivered.saturating_sub(packet.delivered);
        let delivered = delivered.saturating_sub(self.late.at(place));
        let sending = packet.sent_at.since(packet.first_sent_at);
        let sooner = match took {
            Some(took) if packet.over != Some(over) => packet.took - took,
            _ => Duration::ZERO,
        };
        let arriving = now.since(packet.delivered_at) + sooner;
        let round_trip = now.since(packet.sent_at);
        self.first_sent_at = packet.sent_at;
        self.shortest = Some(self.shortest.map_or(round_trip, |known| known.min(round_trip)));
        self.forget_older(now, round_trip.max(patience) * 2);
        let interval = sending.max(arriving);
        (interval > Duration::ZERO && delivered > 0).then_some(RateSample {
            delivered,
            interval,
            round_trip: measures.then_some(round_trip),
            delivered_before: packet.delivered,
            delivered_total: self.delivered,
            flight_then: packet.flight,
            lost: self.lost.saturating_sub(packet.lost),
            limit: packet.limit,
        })
    }

    /// What was lost since the newest of the chunks was sent that were found lost since this was last asked.
    pub(crate) fn loss_sample(&mut self) -> Option<LossSample> {
        let newest = self.newest_lost.take()?;
        let packet = self.packets.get(self.last_sent_at(newest)?)?;
        Some(LossSample {
            flight_then: packet.flight,
            lost: self.lost.saturating_sub(packet.lost),
            delivered_before: packet.delivered,
            delivered_total: self.delivered,
            limit: packet.limit,
        })
    }

    /// When the newest chunk was sent that the present SACK acknowledges.
    pub(crate) fn newest_acked(&self) -> Option<Instant> {
        self.newest
    }

    /// Shortest time from the sending of a chunk to its acknowledgement, over whatever path that came.
    pub(crate) fn shortest_round_trip(&self) -> Option<Duration> {
        self.shortest
    }

    /// Place of the last packet that was sent at this time.
    fn last_sent_at(&self, at: Instant) -> Option<usize> {
        let place = self.packets.partition_point(|packet| packet.sent_at <= at).checked_sub(1)?;
        (self.packets.get(place)?.sent_at == at).then_some(place)
    }

    /// Forgets packets that were sent longer ago.
    fn forget_older(&mut self, now: Instant, age: Duration) {
        while self.packets.front().is_some_and(|old| now.since(old.sent_at) > age) {
            self.packets.pop_front();
            self.late.pop();
        }
    }

    /// Nothing more is sent although the congestion window would admit it. What is outstanding ends the time for which that counts.
    pub(crate) fn on_spare_cwnd(&mut self, outstanding: u64) {
        self.limited_until = self.delivered.saturating_add(outstanding).max(1);
    }
}
