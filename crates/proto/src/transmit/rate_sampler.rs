//! How fast a path delivers (draft-cheng-iccrg-delivery-rate-estimation-02), for controllers that want to know.
//!
//! With each packet it is noted what had been delivered when it was sent. When the packet is acknowledged, what was
//! delivered since then, by the time that it took, is a sample. Sending faster than the path carries does not shorten that
//! time, and acknowledgements that come in one lump do not either, because the longer of both times counts: that in which
//! the data was sent, and that in which it was acknowledged.

use alloc::collections::VecDeque;

use crate::congestion::{RateLimit, RateSample};
use crate::{Duration, Instant};

/// Most packets that are remembered. Those beyond give no samples.
const MOST_PACKETS: usize = 1 << 16;

/// State of one path, in charged bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    /// Packets sent and not yet known to have arrived, in the order of sending.
    packets: VecDeque<Packet>,
    /// Delivered so far.
    delivered: u64,
    /// When that was last more, or when sending began on the idle path.
    delivered_at: Instant,
    /// When the packet was sent that was last known to arrive.
    first_sent_at: Instant,
    /// Until more than so much is delivered, what is outstanding was not limited by the window.
    limited_until: u64,
    /// When the newest chunk was sent that the present SACK acknowledges.
    newest: Option<Instant>,
}

/// What was so when a packet was sent.
#[derive(Clone, Copy, Debug)]
struct Packet {
    sent_at: Instant,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    limit: RateLimit,
}

impl RateSampler {
    /// A packet with data is sent while so many bytes are outstanding, its own not counted.
    pub(crate) fn on_sent(&mut self, now: Instant, outstanding: u64) {
        if outstanding == 0 {
            // Nothing of what was before tells of the path now.
            self.packets.clear();
            (self.delivered_at, self.first_sent_at) = (now, now);
        }
        if self.packets.len() >= MOST_PACKETS {
            return;
        }
        let is_limited = self.limited_until > 0 && self.delivered <= self.limited_until;
        let limit = if is_limited { RateLimit::Application } else { RateLimit::Window };
        self.packets.push_back(Packet {
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            limit,
        });
    }

    /// The present SACK acknowledges a chunk that was last sent at this time, and only once.
    pub(crate) fn on_chunk_acked(&mut self, sent_at: Instant) {
        self.newest = self.newest.max(Some(sent_at));
    }

    /// The SACK acknowledges so many bytes of what was outstanding. A sample, if it tells of a packet that is remembered.
    pub(crate) fn sample(&mut self, now: Instant, bytes: u64) -> Option<RateSample> {
        if bytes > 0 {
            self.delivered = self.delivered.saturating_add(bytes);
            self.delivered_at = now;
        }
        let newest = self.newest.take()?;
        let mut found = None;
        while let Some(packet) = self.packets.front().filter(|packet| packet.sent_at <= newest) {
            found = Some(*packet);
            self.packets.pop_front();
        }
        let packet = found.filter(|packet| packet.sent_at == newest)?;
        let sending = packet.sent_at.since(packet.first_sent_at);
        let arriving = now.since(packet.delivered_at);
        self.first_sent_at = packet.sent_at;
        let (interval, delivered) =
            (sending.max(arriving), self.delivered.saturating_sub(packet.delivered));
        (interval > Duration::ZERO && delivered > 0).then_some(RateSample {
            delivered,
            interval,
            round_trip: now.since(packet.sent_at),
            delivered_before: packet.delivered,
            delivered_total: self.delivered,
            limit: packet.limit,
        })
    }

    /// Nothing more is sent although the window would admit it. What is outstanding ends the time for which that counts.
    pub(crate) fn on_spare_window(&mut self, outstanding: u64) {
        self.limited_until = self.delivered.saturating_add(outstanding).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// Ten packets of 1,000 bytes a millisecond apart, each acknowledged 50 ms later.
    #[test]
    fn a_steady_path() {
        let mut sampler = RateSampler::default();
        let mut outstanding = 0;
        for n in 0..10 {
            sampler.on_sent(ms(100 + n), outstanding);
            outstanding += 1000;
        }
        for n in 0..10 {
            sampler.on_chunk_acked(ms(100 + n));
            let sample = sampler.sample(ms(150 + n), 1000).unwrap();
            // All were sent before anything had arrived: what has arrived since the path began to send.
            assert_eq!(sample.delivered, 1000 * (n + 1));
            assert_eq!(sample.interval, Duration::from_millis(50 + n));
            assert_eq!(sample.round_trip, Duration::from_millis(50));
            assert_eq!((sample.delivered_before, sample.limit), (0, RateLimit::Window));
            sampler.on_sent(ms(150 + n), 9000);
        }
        // From then on each packet replaces one: 10,000 bytes in a round trip, the first time.
        sampler.on_chunk_acked(ms(150));
        let sample = sampler.sample(ms(200), 1000).unwrap();
        assert_eq!((sample.delivered, sample.interval), (10_000, Duration::from_millis(50)));
        assert_eq!(sample.rate().as_bits_per_second(), 1_600_000);
        assert_eq!((sample.delivered_before, sample.delivered_total), (1000, 11_000));
    }

    #[test]
    fn acknowledgements_in_one_lump_are_no_fast_path() {
        let mut sampler = RateSampler::default();
        for n in 0..10 {
            sampler.on_sent(ms(10 * n), 1000 * n);
        }
        sampler.on_chunk_acked(ms(0));
        sampler.sample(ms(100), 1000).unwrap();
        // The rest comes in the next millisecond, but took 90 ms to send.
        sampler.on_chunk_acked(ms(90));
        let sample = sampler.sample(ms(101), 9000).unwrap();
        assert_eq!((sample.delivered, sample.interval), (10_000, Duration::from_millis(101)));
    }

    #[test]
    fn a_sender_with_nothing_to_send_proves_no_limit() {
        let mut sampler = RateSampler::default();
        sampler.on_sent(ms(0), 0);
        sampler.on_spare_window(1000);
        sampler.on_sent(ms(5), 1000);
        sampler.on_chunk_acked(ms(0));
        assert_eq!(sampler.sample(ms(50), 1000).unwrap().limit, RateLimit::Window);
        sampler.on_chunk_acked(ms(5));
        assert_eq!(sampler.sample(ms(55), 1000).unwrap().limit, RateLimit::Application);
        sampler.on_sent(ms(56), 0);
        sampler.on_chunk_acked(ms(56));
        assert_eq!(sampler.sample(ms(99), 1000).unwrap().limit, RateLimit::Window, "that is over");
    }

    #[test]
    fn idle_time_is_not_counted() {
        let mut sampler = RateSampler::default();
        sampler.on_sent(ms(0), 0);
        sampler.on_chunk_acked(ms(0));
        sampler.sample(ms(50), 1000).unwrap();
        sampler.on_sent(ms(5000), 0);
        sampler.on_chunk_acked(ms(5000));
        let sample = sampler.sample(ms(5050), 1000).unwrap();
        assert_eq!((sample.delivered, sample.interval), (1000, Duration::from_millis(50)));
    }

    #[test]
    fn what_tells_nothing_gives_no_sample() {
        let mut sampler = RateSampler::default();
        assert_eq!(sampler.sample(ms(1), 1000), None, "no chunk");
        sampler.on_sent(ms(2), 0);
        sampler.on_chunk_acked(ms(1));
        assert_eq!(sampler.sample(ms(3), 1000), None, "a packet that is not remembered");
        sampler.on_chunk_acked(ms(2));
        assert_eq!(sampler.sample(ms(2), 1000), None, "no time has passed");
    }
}
