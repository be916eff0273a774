//! How fast a path delivers, and what it loses (draft-cheng-iccrg-delivery-rate-estimation-02; draft-ietf-ccwg-bbr section
//! 4.1), for controllers that want to know.
//!
//! With each packet it is noted what had been delivered and lost when it was sent. When the packet is acknowledged, what
//! was delivered since then, by the time that it took, is a sample. Sending faster than the path carries does not shorten
//! that time, and acknowledgements that come in one lump do not either, because the longer of both times counts: that in
//! which the data was sent, and that in which it was acknowledged.
//!
//! Packets that have arrived are remembered for a round trip more, because those that were lost between them are found
//! later: for one of the path itself, since losses are found by its round trip, whatever path brings the acknowledgements.
//!
//! NOTE(deviation): a SACK that names what came in last may leave out what came in before, until one has room for it. That is no
//! delivery of the time since. What was sent before a packet that was known to have arrived, when another one was sent, counts
//! as delivered before that one ([`LateReports`]).

mod late_reports;

use alloc::collections::VecDeque;

use self::late_reports::LateReports;
use crate::congestion::{LossSample, RateLimit, RateSample};
use crate::{Duration, Instant};

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
    lost: u64,
    first_sent_at: Instant,
    /// Bytes outstanding, its own included.
    flight: u64,
    limit: RateLimit,
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
            (self.delivered_at, self.first_sent_at) = (now, now);
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

    /// The SACK acknowledges so many bytes of what was outstanding; `measures` if it measures the round trip of the path. A
    /// sample, if it tells of a packet that is remembered and no older than the last one. An answer of the path itself is expected to take
    /// `patience`.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        bytes: u64,
        measures: bool,
        patience: Duration,
    ) -> Option<RateSample> {
        if bytes > 0 {
            self.delivered = self.delivered.saturating_add(bytes);
            self.delivered_at = now;
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
        let arriving = now.since(packet.delivered_at);
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
            delivered_total: self.delivered,
            limit: packet.limit,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is expected of the path itself is no longer than what is measured.
    const PATIENCE: Duration = Duration::ZERO;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Ten packets of 1,000 bytes a millisecond apart, each acknowledged 50 ms later.
    #[test]
    fn a_steady_path() {
        let mut sampler = RateSampler::default();
        let mut outstanding = 0;
        for n in 0..10 {
            sampler.on_sent(ms(100 + n), outstanding, outstanding + 1000);
            outstanding += 1000;
        }
        for n in 0..10 {
            sampler.on_chunk_acked(ms(100 + n));
            let sample = sampler.sample(ms(150 + n), 1000, true, PATIENCE).unwrap();
            // All were sent before anything had arrived: what has arrived since the path began to send.
            assert_eq!(sample.delivered, 1000 * (n + 1));
            assert_eq!(sample.interval, Duration::from_millis(50 + n));
            assert_eq!(sample.round_trip, Some(Duration::from_millis(50)));
            assert_eq!((sample.delivered_before, sample.limit), (0, RateLimit::Cwnd));
            sampler.on_sent(ms(150 + n), 9000, 10_000);
        }
        // From then on each packet replaces one: 10,000 bytes in a round trip, the first time.
        sampler.on_chunk_acked(ms(150));
        let sample = sampler.sample(ms(200), 1000, true, PATIENCE).unwrap();
        assert_eq!((sample.delivered, sample.interval), (10_000, Duration::from_millis(50)));
        assert_eq!(sample.rate().as_bits_per_second(), 1_600_000);
        assert_eq!((sample.delivered_before, sample.delivered_total), (1000, 11_000));
    }

    #[test]
    fn acknowledgements_in_one_lump_are_no_fast_path() {
        let mut sampler = RateSampler::default();
        for n in 0..10 {
            sampler.on_sent(ms(10 * n), 1000 * n, 1000 * (n + 1));
        }
        sampler.on_chunk_acked(ms(0));
        sampler.sample(ms(100), 1000, true, PATIENCE).unwrap();
        // The rest comes in the next millisecond, but took 90 ms to send.
        sampler.on_chunk_acked(ms(90));
        let sample = sampler.sample(ms(101), 9000, true, PATIENCE).unwrap();
        assert_eq!((sample.delivered, sample.interval), (10_000, Duration::from_millis(101)));
    }

    #[test]
    fn a_sender_with_nothing_to_send_proves_no_limit() {
        let mut sampler = RateSampler::default();
        sampler.on_sent(ms(0), 0, 1000);
        sampler.on_spare_cwnd(1000);
        sampler.on_sent(ms(5), 1000, 2000);
        sampler.on_chunk_acked(ms(0));
        assert_eq!(sampler.sample(ms(50), 1000, true, PATIENCE).unwrap().limit, RateLimit::Cwnd);
        sampler.on_chunk_acked(ms(5));
        assert_eq!(
            sampler.sample(ms(55), 1000, true, PATIENCE).unwrap().limit,
            RateLimit::Application
        );
        sampler.on_sent(ms(56), 0, 1000);
        sampler.on_chunk_acked(ms(56));
        assert_eq!(
            sampler.sample(ms(99), 1000, true, PATIENCE).unwrap().limit,
            RateLimit::Cwnd,
            "that is over"
        );
    }

    #[test]
    fn idle_time_is_not_counted() {
        let mut sampler = RateSampler::default();
        sampler.on_sent(ms(0), 0, 1000);
        sampler.on_chunk_acked(ms(0));
        sampler.sample(ms(50), 1000, true, PATIENCE).unwrap();
        sampler.on_sent(ms(5000), 0, 1000);
        sampler.on_chunk_acked(ms(5000));
        let sample = sampler.sample(ms(5050), 1000, true, PATIENCE).unwrap();
        assert_eq!((sample.delivered, sample.interval), (1000, Duration::from_millis(50)));
    }

    /// A chunk that had counted as lost arrives, and nothing that was outstanding.
    #[test]
    fn an_acknowledgement_that_delivers_nothing_does_not_end_a_time_of_delivery() {
        let mut sampler = RateSampler::default();
        sampler.on_sent(ms(0), 0, 1000);
        assert_eq!(sampler.sample(ms(30), 0, true, PATIENCE), None);
        sampler.on_sent(ms(40), 1000, 2000);
        sampler.on_chunk_acked(ms(40));
        assert_eq!(
            sampler.sample(ms(90), 2000, true, PATIENCE).unwrap().interval,
            Duration::from_millis(90)
        );
    }

    /// Packets that leave in one burst have one time, and each of their acknowledgements is a sample.
    #[test]
    fn a_burst_gives_a_sample_for_each_acknowledgement() {
        let mut sampler = RateSampler::default();
        for n in 0..4 {
            sampler.on_sent(ms(0), 1000 * n, 1000 * (n + 1));
        }
        for n in 0..4 {
            sampler.on_chunk_acked(ms(0));
            let sample = sampler.sample(ms(50 + n), 1000, true, PATIENCE).unwrap();
            assert_eq!((sample.delivered, sample.flight_then), (1000 * (n + 1), 4000));
            assert_eq!(sample.round_trip, Some(Duration::from_millis(50 + n)));
        }
        assert_eq!(sampler.shortest_round_trip(), Some(Duration::from_millis(50)));
    }

    #[test]
    fn losses_are_counted_from_the_sending_of_a_packet() {
        let mut sampler = RateSampler::default();
        for n in 0..10 {
            sampler.on_sent(ms(n), 1000 * n, 1000 * (n + 1));
        }
        // Packets 1 and 2 are lost, 3 to 5 arrive.
        sampler.on_chunk_acked(ms(5));
        sampler.sample(ms(55), 4000, true, PATIENCE).unwrap();
        assert_eq!(sampler.loss_sample(), None, "nothing lost");
        sampler.on_lost(ms(1), 1000);
        sampler.on_lost(ms(2), 1000);
        let loss = sampler.loss_sample().unwrap();
        assert_eq!((loss.flight_then, loss.lost, loss.delivered_total), (3000, 2000, 4000));
        assert_eq!(sampler.loss_sample(), None, "told once");
        // What is sent now sees later losses only.
        sampler.on_sent(ms(56), 4000, 5000);
        sampler.on_lost(ms(9), 500);
        sampler.on_chunk_acked(ms(8));
        assert_eq!(sampler.sample(ms(58), 3000, true, PATIENCE).unwrap().lost, 2500);
        sampler.on_chunk_acked(ms(56));
        assert_eq!(sampler.sample(ms(106), 1000, true, PATIENCE).unwrap().lost, 500);
    }

    #[test]
    fn what_was_found_again_was_not_lost() {
        let mut sampler = RateSampler::default();
        sampler.on_lost(ms(0), 2000);
        sampler.on_sent(ms(1), 0, 1000);
        sampler.on_lost(ms(0), 3000);
        sampler.on_found(3000);
        sampler.on_chunk_acked(ms(1));
        assert_eq!(sampler.sample(ms(50), 1000, true, PATIENCE).unwrap().lost, 0);
    }

    /// Of ten packets the SACK of the last one leaves five out, which a later one has: these were there before.
    #[test]
    fn what_was_reported_late_was_delivered_before() {
        for (late_sent_at, delivered) in [(3, 1000), (59, 6000)] {
            let mut sampler = RateSampler::default();
            for n in 0..10 {
                sampler.on_sent(ms(n), 1000 * n, 1000 * (n + 1));
            }
            sampler.on_delivered(ms(9), 5000);
            sampler.on_chunk_acked(ms(9));
            assert_eq!(sampler.sample(ms(59), 5000, true, PATIENCE).unwrap().delivered, 5000);
            sampler.on_sent(ms(60), 5000, 6000);
            sampler.on_delivered(ms(late_sent_at), 5000);
            sampler.on_delivered(ms(60), 1000);
            sampler.on_chunk_acked(ms(60));
            let sample = sampler.sample(ms(110), 6000, true, PATIENCE).unwrap();
            assert_eq!(sample.delivered, delivered, "sent at {late_sent_at} ms");
            assert_eq!(sample.delivered_total, 11_000);
        }
    }

    /// A SACK that comes over another path is there after 10 ms, but losses are found by the 50 ms of the path.
    #[test]
    fn losses_are_found_by_the_round_trip_of_the_path() {
        for (patience, is_known) in [(10, false), (50, true)] {
            let mut sampler = RateSampler::default();
            for n in 0..100 {
                sampler.on_sent(ms(n), 1000 * n, 1000 * (n + 1));
            }
            sampler.on_chunk_acked(ms(90));
            sampler.sample(ms(100), 1000, false, Duration::from_millis(patience)).unwrap();
            sampler.on_lost(ms(50), 1000);
            assert_eq!(sampler.loss_sample().is_some(), is_known, "{patience} ms");
        }
    }

    #[test]
    fn packets_are_forgotten_a_round_trip_after_they_were_passed() {
        let mut sampler = RateSampler::default();
        for n in 0..100 {
            sampler.on_sent(ms(n), 1000 * n, 1000 * (n + 1));
        }
        sampler.on_chunk_acked(ms(90));
        sampler.sample(ms(100), 1000, true, PATIENCE).unwrap();
        sampler.on_lost(ms(79), 1000);
        assert_eq!(sampler.loss_sample(), None, "sent 11 ms before, with a round trip of 10");
        sampler.on_lost(ms(80), 1000);
        assert_eq!(sampler.loss_sample().unwrap().flight_then, 81_000);
    }

    #[test]
    fn what_tells_nothing_gives_no_sample() {
        let mut sampler = RateSampler::default();
        assert_eq!(sampler.sample(ms(1), 1000, true, PATIENCE), None, "no chunk");
        sampler.on_sent(ms(2), 0, 1000);
        sampler.on_chunk_acked(ms(1));
        assert_eq!(
            sampler.sample(ms(3), 1000, true, PATIENCE),
            None,
            "a packet that is not remembered"
        );
        sampler.on_chunk_acked(ms(2));
        assert_eq!(sampler.sample(ms(2), 1000, true, PATIENCE), None, "no time has passed");
        let mut lost = RateSampler::default();
        lost.on_sent(ms(0), 0, 1000);
        lost.on_chunk_acked(ms(0));
        assert_eq!(
            lost.sample(ms(50), 0, true, PATIENCE),
            None,
            "of what was outstanding nothing arrived"
        );
    }
}
