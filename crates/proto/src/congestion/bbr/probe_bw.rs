//! When and how far a path is probed for more capacity, and the results (section 5.3.3).

use super::bandwidth::Rate;
use super::bounds::NONE;
use crate::{Duration, Instant, PathId};

/// Rounds after which a probe is due though the time is not up, so that flows that grow by a packet in a round keep a share.
const RENO_ROUNDS: u64 = 63;
/// Most doublings of the growth in one probe.
const MOST_DOUBLINGS: u32 = 30;

/// The state of the feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum AckPhase {
    /// Nothing of a probe.
    #[default]
    Init,
    /// The path fills before a probe.
    Refilling,
    /// A probe begins.
    ProbeStarting,
    /// Feedback of a probe.
    ProbeFeedback,
    /// How the end of a probe went.
    ProbeStopping,
}

/// State of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Probing {
    pub(super) acks: AckPhase,
    /// Losses are those of a probe.
    pub(super) is_probe_sample: bool,
    /// The last probe lost too much.
    pub(super) was_too_high: bool,
    /// The last probe ended where the one before had lost too much.
    pub(super) was_cautious: bool,
    /// Bytes acknowledged since the long-term bound grew.
    acked: u64,
    /// Bytes for each of which it grows by a packet.
    acked_per_unit: u64,
    doublings: u32,
    /// Rounds since the last probe.
    rounds: u64,
    /// Longest time between probes.
    wait: Duration,
    since: Instant,
}

impl Probing {
    pub(super) fn new() -> Self {
        Self {
            acks: AckPhase::Init,
            is_probe_sample: false,
            was_too_high: false,
            was_cautious: false,
            acked: 0,
            acked_per_unit: NONE,
            doublings: 0,
            rounds: 0,
            wait: Duration::ZERO,
            since: Instant::ZERO,
        }
    }

    /// The time until the next probe begins: two to three seconds, or 62 to 63 rounds (PickProbeWait).
    pub(super) fn begin_wait(&mut self, now: Instant, path: PathId, delivered: u64) {
        self.acked_per_unit = NONE;
        let draw = draw(path, now, delivered);
        self.rounds = draw & 1;
        self.wait = Duration::from_millis(2000 + (draw >> 1) % 1001);
        self.since = now;
        self.acks = AckPhase::ProbeStopping;
    }

    pub(super) fn begin_refill(&mut self) {
        (self.doublings, self.acked, self.was_cautious) = (0, 0, false);
        self.acks = AckPhase::Refilling;
    }

    pub(super) fn begin_probe(&mut self, cwnd: u64, unit: u64) {
        self.acks = AckPhase::ProbeStarting;
        self.steepen(cwnd, unit);
    }

    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
    }

    /// Rounds since the last probe.
    pub(super) fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Whether a probe is due, with this many packets of the path in flight.
    pub(super) fn is_due(&self, now: Instant, packets: u64) -> bool {
        now.since(self.since) > self.wait || self.rounds >= packets.min(RENO_ROUNDS)
    }

    /// Bytes by which the long-term bound grows after an acknowledgement during a probe that it limits: a packet in the first
    /// round, two in the second, four in the third.
    pub(super) fn growth(&mut self, acked: u64, round_starts: bool, cwnd: u64, unit: u64) -> u64 {
        self.acked = self.acked.saturating_add(acked);
        let packets = self.acked / self.acked_per_unit.max(1);
        self.acked -= packets * self.acked_per_unit.max(1);
        if round_starts {
            self.steepen(cwnd, unit);
        }
        packets.saturating_mul(unit)
    }

    fn steepen(&mut self, cwnd: u64, unit: u64) {
        self.acked_per_unit = (cwnd >> self.doublings).max(unit).max(1);
        self.doublings = (self.doublings + 1).min(MOST_DOUBLINGS);
    }
}

/// A number that differs between flows and from one time to the next, and is the same when a run is repeated: controllers have
/// no randomness but what happens to them. After splitmix64.
fn draw(path: PathId, now: Instant, delivered: Rate) -> u64 {
    let mut mixed = now.as_nanos() ^ delivered.rotate_left(32) ^ u64::from(path.0).rotate_left(56);
    mixed = mixed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn waits_are_spread_and_repeat() {
        let mut seen = alloc::collections::BTreeSet::new();
        for n in 0..100 {
            let mut probing = Probing::new();
            probing.begin_wait(ms(n), PathId(n as u8 & 3), n * 1000);
            let wait = probing.wait.as_millis();
            assert!((2000..=3000).contains(&wait) && probing.rounds <= 1);
            seen.insert((wait, probing.rounds));
            let mut again = Probing::new();
            again.begin_wait(ms(n), PathId(n as u8 & 3), n * 1000);
            assert_eq!(again, probing);
        }
        assert!(seen.len() > 80, "{}", seen.len());
    }

    /// The first number of splitmix64 with seed 0. The time, the bytes and the path share bits here that cancel out.
    #[test]
    fn draws_are_those_of_splitmix64() {
        const FIRST: u64 = 0xE220_A839_7B1D_CDAF;
        let at = |nanos| Instant::ZERO + Duration::from_nanos(nanos);
        for (path, nanos, delivered) in [(0, 0, 0), (0, 1 << 32, 1), (1, 1 << 56, 0)] {
            assert_eq!(draw(PathId(path), at(nanos), delivered), FIRST, "{path} {delivered}");
        }
        let mut probing = Probing::new();
        probing.begin_wait(at(0), PathId(0), 0);
        // Its lowest bit is a round, the others are milliseconds.
        assert_eq!(probing.rounds, 1);
        assert_eq!(probing.wait.as_millis(), 2000 + (FIRST / 2) % 1001);
    }

    #[test]
    fn a_probe_is_due_after_the_wait_or_enough_rounds() {
        let mut probing = Probing::new();
        probing.begin_wait(ms(1000), PathId(0), 0);
        (probing.wait, probing.rounds) = (Duration::from_millis(2500), 0);
        assert!(!probing.is_due(ms(3500), 100));
        assert!(probing.is_due(ms(3501), 100));
        for _ in 0..62 {
            probing.on_round();
        }
        assert!(!probing.is_due(ms(1000), 100) && probing.is_due(ms(1000), 62));
        probing.on_round();
        assert!(probing.is_due(ms(1000), 100));
    }

    /// A window of 16 packets: 1, 2, 4, 8 and then 16 packets a round.
    #[test]
    fn growth_doubles_from_round_to_round() {
        let mut probing = Probing::new();
        probing.begin_refill();
        probing.begin_probe(16_000, 1000);
        for expected in [1, 2, 4, 8, 16, 16] {
            let grown: u64 =
                (0..16).map(|n| probing.growth(1000, n == 15, 16_000, 1000)).sum::<u64>();
            assert_eq!(grown, expected * 1000);
        }
        let mut idle = Probing::new();
        assert_eq!(idle.growth(u64::MAX - 1, false, 1, 0), 0);
    }
}
