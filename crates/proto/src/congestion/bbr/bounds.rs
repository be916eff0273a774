//! What loss says about the path: how much in flight it bears for long, and how much and how fast since the last probe (section
//! 5.5.10).

use super::bandwidth::{Rate, percent};

/// No bound.
pub(super) const NONE: u64 = u64::MAX;
/// BBR.Beta in percent: what a round with loss leaves at least.
const BETA: u64 = 70;
/// BBR.Headroom in percent: the share left to other flows.
const HEADROOM: u64 = 15;
/// BBR.LossThresh in percent.
const LOSS: u64 = 2;

/// Standard deviations of random loss that are taken for chance, squared.
const CHANCE: u128 = 9;

/// Whether more of the data in flight, in packets of `unit` bytes, is lost than a probe may cost: more than 2 %, and
/// more than chance explains. With 100 packets in flight and 2 % random loss, three or more are lost in every third
/// round.
pub(super) fn is_too_much(lost: u64, flight: u64, unit: u64) -> bool {
    let tolerated = percent(flight, LOSS);
    let excess = lost.saturating_sub(tolerated);
    // The variance of a number of losses is that number.
    let variance = u128::from(tolerated) * u128::from(unit);
    u128::from(excess).saturating_mul(excess.into()) > variance.saturating_mul(CHANCE)
}

/// How much was in flight when the losses became too many, where the last `size` of `lost` bytes were lost at once
/// (InflightAtLoss).
pub(super) fn flight_at_loss(flight: u64, lost: u64, size: u64) -> u64 {
    let (before, lost_before) = (flight.saturating_sub(size), lost.saturating_sub(size));
    let allowance = percent(before, LOSS).saturating_sub(lost_before);
    let prefix = u128::from(allowance) * 100 / u128::from(100 - LOSS);
    before.saturating_add(u64::try_from(prefix).unwrap_or(u64::MAX))
}

/// The largest rate and volume of delivery in one round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Latest {
    pub(super) rate: Rate,
    pub(super) volume: u64,
    /// What had been delivered when the round began.
    pub(super) round_begin: u64,
    /// The present acknowledgement ends it.
    pub(super) round_ends: bool,
    /// Something was lost in it.
    pub(super) has_loss: bool,
    /// How often.
    pub(super) losses: u32,
    /// The most bytes that were in flight when one of these was sent, up to 4 GB.
    lost_of: u32,
    /// What was in flight when the last probe, or Startup, ended.
    probe_flight: u32,
    /// How many bytes of packets that were sent since the last probe.
    pub(super) lost: u64,
    /// What had been delivered when the last probe, or Startup, ended.
    pub(super) probed: u64,
}

impl Latest {
    pub(super) fn on_sample(&mut self, rate: Rate, volume: u64, before: u64, delivered: u64) {
        self.rate = self.rate.max(rate);
        self.volume = self.volume.max(volume);
        self.round_ends = before >= self.round_begin;
        if self.round_ends {
            self.round_begin = delivered;
        }
    }

    /// The sample was used. If it ended the round, it is the first of the next one.
    pub(super) fn after_sample(&mut self, rate: Rate, volume: u64) {
        if self.round_ends {
            (self.rate, self.volume, self.losses) = (rate, volume, 0);
        }
    }

    /// Notes that `bytes` were found lost after this much was delivered, of a packet that was sent after `before` bytes, when `flight` bytes
    /// were in flight.
    pub(super) fn on_loss(&mut self, delivered: u64, before: u64, flight: u64, bytes: u64) {
        if !self.has_loss {
            (self.round_begin, self.lost, self.lost_of) = (delivered, 0, 0);
        }
        self.lost_of = self.lost_of.max(u32::try_from(flight).unwrap_or(u32::MAX));
        self.has_loss = true;
        self.losses = self.losses.saturating_add(1);
        if before >= self.probed {
            self.lost = self.lost.saturating_add(bytes);
        }
    }

    /// How much of what was `lost` since the packet of a sample was sent counts for the short term; `is_limited` as for the sample.
    ///
    /// What a probe sent is lost because it was a probe. The draft counts it for the rounds after the probe, too. That costs little where they deliver
    /// at the rate of the path, which is the lowest bound. But where all buffers are full, they wait for the retransmissions and
    /// deliver little, and nothing that was sent since the probe shows that the path carries less.
    pub(super) fn counting(&self, lost: u64, is_limited: bool) -> u64 {
        if is_limited { lost.min(self.lost) } else { lost }
    }

    /// How much was found lost in the last round that had losses, and the most that was in flight with any of it.
    pub(super) fn lost_in_round(&self) -> (u64, u64) {
        (self.lost, self.lost_of.into())
    }

    /// Whether all that was in flight when the last probe ended had been answered before a packet was sent that had so much delivered before
    /// it.
    pub(super) fn is_past_probe(&self, delivered_before: u64) -> bool {
        delivered_before >= self.probed.saturating_add(self.probe_flight.into())
    }

    /// Forgets the signals (ResetCongestionSignals).
    pub(super) fn reset(&mut self) {
        (self.rate, self.volume, self.has_loss) = (0, 0, false);
    }

    /// A probe or Startup ends after so much was delivered, with `flight` bytes in flight.
    pub(super) fn end_probe(&mut self, delivered: u64, flight: u64) {
        (self.lost, self.probed) = (0, delivered);
        self.probe_flight = u32::try_from(flight).unwrap_or(u32::MAX);
    }
}

/// Bounds of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    /// Bytes in flight that the path bore when it was probed, inflight_longterm.
    pub(super) long: u64,
    /// Bytes in flight and rate since the last probe, inflight_shortterm and bw_shortterm.
    pub(super) short: u64,
    pub(super) rate: Rate,
}

impl Bounds {
    pub(super) fn new() -> Self {
        Self { long: NONE, short: NONE, rate: NONE }
    }

    /// Forgets the short term.
    pub(super) fn reset_short_term(&mut self) {
        (self.short, self.rate) = (NONE, NONE);
    }

    /// A round in which no probe was made ends, and something was lost in it.
    pub(super) fn on_lossy_round(&mut self, latest: &Latest, max_bw: Rate, cwnd: u64) {
        let rate = if self.rate == NONE { max_bw } else { self.rate };
        let short = if self.short == NONE { cwnd } else { self.short };
        self.rate = latest.rate.max(percent(rate, BETA));
        self.short = latest.volume.max(percent(short, BETA));
    }

    /// A packet was marked while no probe was made, with `flight` bytes in flight; `full` is what the path carries without a queue. What was
    /// delivered in the round says nothing against it: nothing of the queue was dropped.
    pub(super) fn on_mark(&mut self, latest: &Latest, max_bw: Rate, flight: u64, full: u64) {
        let rate = if self.rate == NONE { max_bw } else { self.rate };
        self.rate = latest.rate.max(percent(rate, BETA));
        self.short = percent(flight, BETA).max(full).min(self.short);
    }

    /// A probe lost too much with `flight` bytes in flight; `full` is what the path carries without a queue.
    pub(super) fn on_failed_probe(&mut self, flight: u64, full: u64) {
        self.long = flight.max(full);
    }

    /// The long-term bound without the headroom.
    pub(super) fn with_headroom(&self, unit: u64, least: u64) -> u64 {
        if self.long == NONE {
            return NONE;
        }
        let headroom = percent(self.long, HEADROOM).max(unit);
        self.long.saturating_sub(headroom).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 packets: 2 and three times the root of it, 6.2. 10,000 packets: 200 and 42.4.
    #[test]
    fn two_percent_and_chance_are_not_too_much() {
        for (lost, flight, expected) in [
            (2, 100, false),
            (6, 100, false),
            (7, 100, true),
            // Exactly three times the root of 1.
            (4, 50, false),
            (5, 50, true),
            (242, 10_000, false),
            (243, 10_000, true),
            (0, 0, false),
            (1, 0, true),
        ] {
            assert_eq!(
                is_too_much(lost * 1000, flight * 1000, 1000),
                expected,
                "{lost} of {flight}"
            );
        }
        assert!(is_too_much(u64::MAX, u64::MAX, u64::MAX), "the largest numbers do no harm");
    }

    /// (0.02 x 90,000 - 1,000) / 0.98 = 816 bytes into the burst, and nothing where 2 % were lost before.
    #[test]
    fn where_in_a_burst_the_losses_became_too_many() {
        assert_eq!(flight_at_loss(100_000, 11_000, 10_000), 90_816);
        assert_eq!(flight_at_loss(100_000, 12_000, 10_000), 90_000);
        assert_eq!(flight_at_loss(1000, 3000, 2000), 0);
        assert_eq!(flight_at_loss(u64::MAX, u64::MAX, 0), u64::MAX);
    }

    #[test]
    fn a_lossy_round_follows_what_was_delivered_down_to_seven_tenths() {
        let latest = |rate, volume| Latest { rate, volume, ..Latest::default() };
        let mut bounds = Bounds::new();
        bounds.on_lossy_round(&latest(950, 90_000), 1000, 100_000);
        assert_eq!((bounds.rate, bounds.short, bounds.long), (950, 90_000, NONE));
        bounds.on_lossy_round(&latest(100, 10_000), 1000, 100_000);
        assert_eq!((bounds.rate, bounds.short), (665, 63_000));
        bounds.reset_short_term();
        assert_eq!(bounds, Bounds::new());
    }

    /// Of the rate; and of what is in flight, as far as the path does not carry it without a queue.
    #[test]
    fn a_mark_leaves_seven_tenths() {
        let mut bounds = Bounds::new();
        for (what, delivered, flight, full, rate, short) in [
            ("the first", 100, 100_000, 50_000, 700, 70_000),
            ("the next, of that", 100, 60_000, 50_000, 490, 50_000),
            ("more in flight raises nothing", 100, 90_000, 0, 343, 50_000),
            ("what was delivered was no faster", 300, 40_000, 0, 300, 28_000),
        ] {
            let latest = Latest { rate: delivered, ..Latest::default() };
            bounds.on_mark(&latest, 1000, flight, full);
            assert_eq!((bounds.rate, bounds.short), (rate, short), "{what}");
        }
    }

    #[test]
    fn headroom_is_fifteen_percent_and_a_packet_at_least() {
        let mut bounds = Bounds::new();
        assert_eq!(bounds.with_headroom(1000, 4000), NONE);
        for (long, expected) in [(100_000, 85_000), (6000, 5000), (4500, 4000)] {
            bounds.long = long;
            assert_eq!(bounds.with_headroom(1000, 4000), expected, "{long}");
        }
        bounds.on_failed_probe(50_000, 70_000);
        assert_eq!(bounds.long, 70_000);
        bounds.on_failed_probe(80_000, 70_000);
        assert_eq!(bounds.long, 80_000);
    }

    #[test]
    fn a_probe_that_ends_forgets_what_was_seen() {
        let mut latest = Latest::default();
        latest.on_sample(10, 100, 0, 1000);
        latest.on_loss(1000, 0, 50, 10);
        latest.reset();
        assert_eq!((latest.rate, latest.volume, latest.has_loss), (0, 0, false));
    }

    #[test]
    fn what_a_probe_sent_counts_only_for_rounds_that_nothing_limits() {
        for (before, counting) in [(0, 0), (1999, 0), (2000, 20)] {
            let mut latest = Latest::default();
            latest.on_loss(1500, 1000, 50, 10);
            latest.end_probe(2000, 0);
            latest.on_loss(3000, before, 50, 20);
            assert!(latest.has_loss);
            assert_eq!(latest.counting(30, true), counting, "{before}");
            assert_eq!(latest.counting(30, false), 30, "{before}");
        }
    }

    /// 2,000 bytes were delivered, and 500 in flight, when the probe ended.
    #[test]
    fn what_a_probe_sent_is_answered_a_flight_later() {
        let mut latest = Latest::default();
        latest.end_probe(2000, 500);
        for (delivered_before, is_past) in [(2000, false), (2499, false), (2500, true)] {
            assert_eq!(latest.is_past_probe(delivered_before), is_past, "{delivered_before}");
        }
    }

    #[test]
    fn a_round_of_losses_begins_with_the_first() {
        let mut latest = Latest::default();
        latest.on_loss(5000, 0, 70, 10);
        latest.on_loss(6000, 0, 50, 10);
        latest.on_sample(10, 100, 4999, 7000);
        assert!(!latest.round_ends && latest.losses == 2);
        assert_eq!(latest.lost_in_round(), (20, 70));
        latest.after_sample(10, 100);
        latest.on_sample(5, 50, 5000, 8000);
        assert!(latest.round_ends);
        latest.has_loss = false;
        latest.on_loss(8000, 6000, 30, 10);
        assert_eq!(latest.lost_in_round(), (10, 30), "of the next round");
        assert_eq!((latest.rate, latest.volume), (10, 100));
        latest.after_sample(5, 50);
        assert_eq!((latest.rate, latest.volume, latest.losses), (5, 50, 0));
    }
}
