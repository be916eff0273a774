//! Limits SACKs to a fraction of the size of their data.
//!
//! Over paths with different round-trip times, there are a hundred gaps and more, so that a SACK has 500 bytes instead
//! of 50. One for every second packet then needs a sixth of the capacity of the data, and fills a return path with a
//! tenth of the rate, as in cable and mobile links: SACKs queue, and delay everything on that path. Large SACKs
//! therefore acknowledge more packets, up to eight: with more, a sender limited by its window would send bursts that
//! overflow a short queue.
//!
//! A sender whose window is smaller than that waits for the SACK. It is therefore sent as soon as a further packet is
//! overdue, and at most 20 ms after the last packet.

use super::COUNTED_PATHS;
use crate::{Duration, Instant, PathId};

/// Bytes of user data for each byte of a SACK.
const DATA_PER_SACK: u64 = 25;

/// A SACK of this size never waits: it has a dozen gap ack blocks, few compared with the data of two full packets.
const SMALL: usize = 68;

/// Bytes of IP, UDP and SCTP headers around a SACK.
const HEADERS: u64 = 48;

/// A packet is overdue after this multiple of the time between packets.
const MISSED: u64 = 4;

/// Packets that a SACK answers at most.
const MOST_PACKETS: u32 = 8;

/// Longest wait for a packet.
const MOST_QUIET: Duration = Duration::from_millis(20);

/// The packets since the last SACK for the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Volume {
    bytes: u64,
    packets: u32,
    /// When the first of them arrived.
    since: Instant,
}

/// Data of each path; paths beyond these share.
#[derive(Debug, Default)]
pub(super) struct Volumes {
    on_path: [Volume; COUNTED_PATHS],
}

impl Volumes {
    /// Notes a packet with this much new user data.
    pub(super) fn on_packet(&mut self, now: Instant, path: PathId, bytes: u32) {
        let volume = self.of(path);
        if volume.packets == 0 {
            volume.since = now;
        }
        volume.packets = volume.packets.saturating_add(1);
        volume.bytes = volume.bytes.saturating_add(bytes.into());
    }

    /// Until when a SACK of `bytes`, which is due otherwise, waits for more packets of the path, no longer than `delay` from the
    /// first; `None` if it does not.
    pub(super) fn wait(
        &mut self,
        now: Instant,
        path: PathId,
        bytes: usize,
        delay: Duration,
    ) -> Option<Instant> {
        let volume = self.of(path);
        let gaps = u64::from(volume.packets.saturating_sub(1));
        if gaps == 0
            || bytes <= SMALL
            || volume.packets >= MOST_PACKETS
            || volume.bytes >= (bytes as u64 + HEADERS) * DATA_PER_SACK
        {
            return None;
        }
        let quiet = now.since(volume.since).as_nanos() / gaps * MISSED;
        let until = now + Duration::from_nanos(quiet).min(MOST_QUIET);
        Some(until.min(volume.since + delay))
    }

    /// A SACK answers the path's data.
    pub(super) fn answer(&mut self, path: PathId) {
        *self.of(path) = Volume::default();
    }

    /// A SACK answers all data.
    pub(super) fn answer_all(&mut self) {
        self.on_path = Default::default();
    }

    fn of(&mut self, path: PathId) -> &mut Volume {
        &mut self.on_path[path.index() % COUNTED_PATHS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(200);
    const PATH: PathId = PathId(1);

    fn us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// Packets of 1,452 bytes every 100 us. 242 bytes of SACK and 48 around them are worth 7,250 of data: five packets.
    #[test]
    fn a_large_sack_waits_for_data_and_for_a_packet_that_does_not_come() {
        let mut volumes = Volumes::default();
        for n in 1..=5 {
            volumes.on_packet(us(n * 100), PATH, 1452);
            let quiet = Some(us(n * 100 + 400));
            let expected = if n == 1 || n == 5 { None } else { quiet };
            assert_eq!(volumes.wait(us(n * 100), PATH, 242, DELAY), expected, "{n}");
        }
        assert_eq!(volumes.wait(us(500), PATH, 243, DELAY), Some(us(900)), "a byte more");
        let short = Duration::from_micros(600);
        assert_eq!(volumes.wait(us(500), PATH, 243, short), Some(us(700)), "the delay");
        volumes.answer(PATH);
        volumes.on_packet(us(1000), PATH, 1452);
        volumes.on_packet(us(1100), PATH, 1452);
        assert_eq!(volumes.wait(us(1100), PATH, 242, DELAY), Some(us(1500)), "it counts anew");
        assert_eq!(volumes.wait(us(1100), PATH, 68, DELAY), None, "a small one");
    }

    #[test]
    fn eight_packets_are_the_most() {
        let mut volumes = Volumes::default();
        for n in 1..=8 {
            volumes.on_packet(us(n * 100), PATH, 100);
            assert_eq!(
                volumes.wait(us(n * 100), PATH, 1400, DELAY).is_none(),
                n == 1 || n == 8,
                "{n}"
            );
        }
    }

    #[test]
    fn it_waits_for_twenty_milliseconds_at_most_and_paths_count_apart() {
        let mut volumes = Volumes::default();
        let other = PathId(0);
        for n in 0..2 {
            volumes.on_packet(us(n * 30_000), PATH, 1452);
            volumes.on_packet(us(n * 10_000), other, 1452);
        }
        assert_eq!(volumes.wait(us(30_000), PATH, 1000, DELAY), Some(us(50_000)));
        volumes.answer(other);
        assert_eq!(volumes.wait(us(30_000), PATH, 1000, DELAY), Some(us(50_000)));
        assert_eq!(volumes.wait(us(30_000), other, 1000, DELAY), None);
        volumes.answer_all();
        volumes.on_packet(us(40_000), PATH, u32::MAX);
        volumes.on_packet(us(40_000), PATH, u32::MAX);
        assert_eq!(
            volumes.wait(us(40_000), PATH, 1 << 20, DELAY),
            None,
            "the largest numbers do no harm"
        );
    }
}
