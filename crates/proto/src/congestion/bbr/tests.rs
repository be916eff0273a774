//! The phases of BBR, round by round, on a path of 50 Mbit/s and 20 ms with packets of 1,000 bytes: its bandwidth-delay product is
//! 125,000 bytes.

mod cycle;
mod signals;
mod window;

use super::probe_bw::AckPhase;
use super::*;
use crate::congestion::{LossSample, Parameters};
use crate::{Duration, Instant};

const UNIT: u64 = 1000;
const P: Parameters = Parameters::plain(UNIT, 2 * UNIT);
/// 50 Mbit/s in bytes per second.
const RATE: Rate = 6_250_000;
const BDP: u64 = 125_000;
const RTT: Duration = Duration::from_millis(20);

struct Bench {
    bbr: Bbr,
    now: Instant,
    delivered: u64,
    flight: u64,
    limit: RateLimit,
    in_recovery: bool,
    /// The window was full before each acknowledgement.
    fills_window: bool,
}

impl Bench {
    fn new() -> Self {
        Self {
            bbr: Bbr::new(&NewPath::new(P, 10 * UNIT, u64::MAX)),
            now: Instant::ZERO + Duration::from_secs(1),
            delivered: 0,
            flight: BDP,
            limit: RateLimit::Cwnd,
            in_recovery: false,
            fills_window: true,
        }
    }

    /// In the cycle of probes, with the model of the path.
    fn cruising() -> Self {
        let mut bench = Self::new();
        for _ in 0..8 {
            bench.round(RATE);
        }
        assert_eq!(bench.bbr.phase, Phase::Cruise);
        bench
    }

    /// In the phase, if that comes in time; the rates are those of the path.
    fn until(mut self, phase: Phase) -> Self {
        for _ in 0..1000 {
            if self.bbr.phase == phase {
                return self;
            }
            self.round(RATE);
        }
        panic!("no {phase:?}, but {:?}", self.bbr.phase);
    }

    fn cx(&self) -> Context<'static> {
        Context {
            srtt: Some(RTT),
            smallest_rtt: Some(RTT),
            flight: self.flight,
            ..Context::new(self.now, &P)
        }
    }

    /// A round trip in which one acknowledgement brings what the path delivers at this rate.
    fn round(&mut self, rate: Rate) {
        self.round_of(rate, RTT, 0);
    }

    fn round_of(&mut self, rate: Rate, round_trip: Duration, lost: u64) {
        self.now += round_trip;
        let bytes = bandwidth::bytes_in(rate, round_trip);
        self.ack(self.delivered, bytes, round_trip, lost);
    }

    /// An acknowledgement of what was sent when `before` bytes had been delivered.
    fn ack(&mut self, before: u64, bytes: u64, round_trip: Duration, lost: u64) {
        self.ack_over((before, bytes), round_trip, lost, Some(round_trip));
    }

    /// An acknowledgement over another path, which measures no round trip.
    fn ack_elsewhere(&mut self, bytes: u64) {
        self.ack_over((self.delivered, bytes), RTT, 0, None);
    }

    fn ack_over(
        &mut self,
        (before, bytes): (u64, u64),
        interval: Duration,
        lost: u64,
        round_trip: Option<Duration>,
    ) {
        self.delivered += bytes;
        let sample = RateSample {
            delivered: bytes,
            interval,
            round_trip,
            delivered_before: before,
            delivered_total: self.delivered,
            flight_then: self.flight,
            lost,
            limit: self.limit,
        };
        let acked = Acked {
            acked_bytes: bytes,
            acked_in_gaps: 0,
            flight_before: if self.fills_window { self.bbr.cwnd() } else { 0 },
            flight_after: self.flight,
            advanced: true,
            in_recovery: self.in_recovery,
            rtt: None,
            rate: Some(sample),
        };
        let cx = self.cx();
        self.bbr.on_ack(&cx, &acked);
    }

    /// A packet is sent.
    fn send(&mut self) {
        let cx = self.cx();
        self.bbr.on_sent(&cx, &Sent { bytes: UNIT });
    }

    fn time_out(&mut self) {
        let cx = self.cx();
        self.bbr.on_timeout(&cx, &Timeout::default());
    }

    /// What counted as lost has arrived.
    fn find_spurious(&mut self) {
        let cx = self.cx();
        self.bbr.on_spurious_loss(&cx, &SpuriousLoss::default());
    }

    fn lose(&mut self, bytes: u64, lost: u64) {
        self.lose_sent_after(self.delivered, bytes, lost);
    }

    /// Loses what was sent when `before` bytes had been delivered.
    fn lose_sent_after(&mut self, before: u64, bytes: u64, lost: u64) {
        let sample = LossSample {
            flight_then: self.flight,
            lost,
            delivered_before: before,
            delivered_total: self.delivered,
            limit: self.limit,
        };
        let loss = Loss {
            lost_bytes: bytes,
            in_recovery: self.in_recovery,
            sample: Some(sample),
            ..Loss::default()
        };
        let cx = self.cx();
        self.bbr.on_loss(&cx, &loss);
        self.in_recovery = true;
    }

    fn mbit(&self) -> f64 {
        self.bbr.pacing_rate().unwrap().as_bits_per_second() as f64 / 1e6
    }
}

/// What leaves in a burst is acknowledged at the pace of the bottleneck: the sample with which a round begins is low, and those behind it
/// show how the rate grows.
#[test]
fn samples_within_a_round_show_growth_unless_the_program_limits_them() {
    for (limit, phase) in
        [(RateLimit::Cwnd, Phase::Startup), (RateLimit::Application, Phase::Drain)]
    {
        let mut bench = Bench::new();
        for round in 0..6 {
            bench.now += RTT;
            let begin = bench.delivered;
            bench.limit = RateLimit::Cwnd;
            bench.ack(begin, UNIT, RTT, 0);
            bench.limit = limit;
            bench.ack(begin, UNIT << (round + 1), RTT, 0);
        }
        assert_eq!(bench.bbr.phase, phase, "{limit:?}");
    }
}

#[test]
fn startup_ends_where_the_path_is_full() {
    let mut bench = Bench::new();
    assert_eq!(bench.bbr.pacing_rate(), None);
    bench.round(RATE / 50);
    // 2.77 x 10,000 bytes in 20 ms.
    assert_eq!(bench.bbr.pacing_rate().unwrap().as_bits_per_second(), 11_080_000);
    for part in [8, 4, 2, 1] {
        bench.round(RATE / part);
    }
    assert_eq!(bench.bbr.phase, Phase::Startup);
    // 2.77 x 50 Mbit/s, less 1 %.
    assert!((bench.mbit() - 137.1).abs() < 0.1, "{}", bench.mbit());
    bench.flight = 2 * BDP;
    for phase in [Phase::Startup, Phase::Startup, Phase::Drain] {
        bench.round(RATE);
        assert_eq!(bench.bbr.phase, phase);
    }
    assert!((bench.mbit() - 24.75).abs() < 0.01, "{}", bench.mbit());
    bench.round(RATE);
    assert_eq!(bench.bbr.phase, Phase::Drain, "the queue is not empty");
    bench.flight = BDP;
    bench.round(RATE);
    assert_eq!(bench.bbr.phase, Phase::Cruise, "nor does Down have anything to drain");
    assert!((bench.mbit() - 49.5).abs() < 0.01, "{}", bench.mbit());
}

#[test]
fn draining_ends_after_three_rounds_in_any_case() {
    let mut bench = Bench::new();
    bench.flight = 2 * BDP;
    let mut bench = bench.until(Phase::Drain);
    for phase in [Phase::Drain, Phase::Drain, Phase::Drain, Phase::Down] {
        bench.round(RATE);
        assert_eq!(bench.bbr.phase, phase);
    }
    assert!((bench.mbit() - 44.55).abs() < 0.01, "nine tenths: {}", bench.mbit());
}

#[test]
fn an_application_that_sends_little_never_fills_the_path() {
    let mut bench = Bench::new();
    bench.limit = RateLimit::Application;
    for _ in 0..100 {
        bench.round(RATE / 10);
    }
    assert_eq!(bench.bbr.phase, Phase::Startup);
}

/// A window of a packet, or of some, delivers less than the path did before, for more rounds than a full path needs to show.
#[test]
fn what_a_small_window_delivers_after_an_outage_fills_no_path() {
    let restart = Correction { cause: CorrectionCause::Restart, cwnd: 4 * UNIT, ssthresh: None };
    for correction in [None, Some(restart)] {
        let mut bench = Bench::new();
        bench.round(RATE / 2);
        match correction {
            None => bench.time_out(),
            Some(correction) => {
                let cx = bench.cx();
                bench.bbr.on_correction(&cx, &correction);
            }
        }
        for part in [64, 32, 16, 8] {
            bench.round(RATE / part);
            assert_eq!(bench.bbr.phase, Phase::Startup, "{correction:?}");
        }
    }
}

#[test]
fn startup_ends_where_it_loses_much() {
    let mut bench = Bench::new();
    bench.round(RATE / 4);
    bench.round(RATE / 2);
    let lose = |bench: &mut Bench| {
        bench.in_recovery = false;
        (0..6).for_each(|_| bench.lose(2 * UNIT, 12 * UNIT));
        bench.round_of(RATE, RTT, 12 * UNIT);
    };
    lose(&mut bench);
    assert_eq!(bench.bbr.phase, Phase::Startup, "the rate grew all the same");
    assert!((bench.mbit() - 61.875).abs() < 0.01, "{}", bench.mbit());
    assert!(bench.bbr.cwnd() <= BDP * 5 / 4 + BDP, "{}", bench.bbr.cwnd());
    bench.round(RATE);
    lose(&mut bench);
    // There is no queue to drain.
    assert_eq!(bench.bbr.phase, Phase::Down, "nor does a quarter more get through");
    assert_eq!(bench.bbr.bounds.long, BDP, "what was delivered in a round");
    // Had it been no loss, Startup would go on.
    let cx = bench.cx();
    bench.bbr.on_spurious_loss(&cx, &SpuriousLoss::default());
    assert_eq!((bench.bbr.phase, bench.bbr.bounds.long), (Phase::Startup, bounds::NONE));
}

#[test]
fn a_probe_follows_after_a_wait() {
    let mut bench = Bench::cruising();
    let begin = bench.now;
    bench = bench.until(Phase::Refill);
    // 62 or 63 rounds of 20 ms come before two seconds.
    let waited = bench.now.since(begin).as_millis();
    assert!((1100..=1300).contains(&waited), "{waited}");
    bench.round(RATE);
    assert_eq!(bench.bbr.phase, Phase::Up);
    assert!((bench.mbit() - 61.875).abs() < 0.01, "{}", bench.mbit());
    // 2.25 times the product, with the acknowledgement of a whole round at a time, and two packets.
    assert!(bench.bbr.cwnd() > 2 * BDP, "{}", bench.bbr.cwnd());
    for phase in [Phase::Up, Phase::Up, Phase::Down, Phase::Cruise] {
        bench.round(RATE);
        assert_eq!(bench.bbr.phase, phase);
    }
}

#[test]
fn a_probe_finds_a_faster_path() {
    let mut bench = Bench::cruising().until(Phase::Up);
    for _ in 0..4 {
        bench.round(bench.bbr.bw * 5 / 4);
        assert_eq!(bench.bbr.phase, Phase::Up);
    }
    assert!(bench.bbr.bw > 2 * RATE);
}

#[test]
fn a_probe_that_loses_much_ends_and_sets_a_bound() {
    let mut bench = Bench::cruising().until(Phase::Up);
    // 2.5 and chance: 2 % of 125 packets are no reason, nor are seven.
    bench.lose(7 * UNIT, 7 * UNIT);
    assert_eq!((bench.bbr.phase, bench.bbr.bounds.long), (Phase::Up, bounds::NONE));
    bench.lose(10 * UNIT, 17 * UNIT);
    // 125 packets less 10, and nothing more, since seven of them are more than 2 %; but as many as the path carries.
    let full = BDP + 2 * UNIT;
    assert_eq!((bench.bbr.phase, bench.bbr.bounds.long), (Phase::Down, full));
    assert!(bench.bbr.cwnd() <= full);
    assert!(bench.bbr.probing.was_too_high && !bench.bbr.probing.is_probe_sample);
    // The next probe stops as soon as so much is in flight.
    (bench.in_recovery, bench.flight) = (false, 100 * UNIT);
    let mut next = bench.until(Phase::Up);
    next.flight = 130 * UNIT;
    next.round(RATE);
    assert!(next.bbr.probing.was_cautious && !next.bbr.probing.was_too_high);
    assert_ne!(next.bbr.phase, Phase::Up);
    // Since that lost nothing, another one follows at once.
    next.round(RATE);
    assert_eq!(next.bbr.phase, Phase::Refill);
}

/// With 200 packets in flight, 190 remain; while there is nothing to find, room for others is left of them, but not of what the
/// path carries.
#[test]
fn a_bound_leaves_what_the_path_carries() {
    for (flight, bound, cruises_with) in [(200, 190, 161_500), (140, 130, BDP + 2 * UNIT)] {
        let mut bench = Bench::cruising().until(Phase::Up);
        bench.flight = flight * UNIT;
        bench.lose(10 * UNIT, 17 * UNIT);
        assert_eq!(bench.bbr.bounds.long, bound * UNIT);
        (bench.in_recovery, bench.flight) = (false, 100 * UNIT);
        let mut bench = bench.until(Phase::Cruise);
        bench.round(RATE);
        assert_eq!(bench.bbr.cwnd(), cruises_with, "{flight}");
    }
}

#[test]
fn a_probe_that_was_ended_by_reordering_begins_again() {
    let mut bench = Bench::cruising().until(Phase::Up);
    bench.lose(20 * UNIT, 20 * UNIT);
    assert_eq!(bench.bbr.phase, Phase::Down);
    let cx = bench.cx();
    bench.bbr.on_spurious_loss(&cx, &SpuriousLoss::default());
    assert_eq!((bench.bbr.phase, bench.bbr.bounds.long), (Phase::Refill, bounds::NONE));
}

#[test]
fn losses_between_probes_lower_the_rate_if_they_are_many() {
    for (packets, share) in [(7, 1.0), (20, 0.8), (60, 0.7)] {
        let mut bench = Bench::cruising();
        bench.lose(packets * UNIT, packets * UNIT);
        let rate = RATE as f64 * if packets == 20 { 0.8 } else { 0.5 };
        bench.bbr.latest.rate = 0;
        bench.round_of(rate as Rate, RTT, packets * UNIT);
        bench.round_of(rate as Rate, RTT, packets * UNIT);
        let expected = RATE as f64 * share;
        assert!((bench.bbr.bw as f64 - expected).abs() < 1000.0, "{packets}: {}", bench.bbr.bw);
    }
}

/// Less was in flight while SACKs came back over a shorter path.
#[test]
fn losses_between_probes_leave_the_window_that_their_rate_needs() {
    let mut bench = Bench::cruising();
    (bench.bbr.bounds.short, bench.bbr.bounds.rate) = (10 * UNIT, RATE / 2);
    bench.bbr.update_rate();
    bench.bbr.bound_window();
    assert_eq!(bench.bbr.cwnd(), BDP / 2 + 2 * UNIT);
}

#[test]
fn after_five_seconds_the_queue_is_drained_for_a_look() {
    let mut bench = Bench::cruising();
    let cwnd = bench.bbr.cwnd();
    let longer = Duration::from_millis(25);
    for _ in 0..2000 {
        if bench.bbr.phase == Phase::ProbeRtt {
            break;
        }
        bench.round_of(RATE, longer, 0);
    }
    let begin = bench.now;
    assert!(begin.since(Instant::ZERO + Duration::from_secs(1)) > Duration::from_secs(5));
    assert_eq!((bench.bbr.phase, bench.bbr.cwnd()), (Phase::ProbeRtt, BDP / 2));
    // Samples are low on purpose.
    bench.flight = BDP / 2;
    let bw = bench.bbr.max_bw.get();
    while bench.bbr.phase == Phase::ProbeRtt {
        bench.round_of(RATE / 2, RTT, 0);
        assert_eq!(bench.bbr.max_bw.get(), bw);
        assert!(bench.now.since(begin) < Duration::from_secs(1));
    }
    assert!(bench.now.since(begin) > Duration::from_millis(200));
    assert_eq!(bench.bbr.phase, Phase::Cruise);
    assert!(bench.bbr.cwnd() >= cwnd.min(2 * BDP), "{} {cwnd}", bench.bbr.cwnd());
}

#[test]
fn a_pause_is_as_good_as_a_look() {
    let mut bench = Bench::cruising();
    bench.now += Duration::from_secs(7);
    bench.flight = UNIT;
    let cx = bench.cx();
    bench.bbr.on_sent(&cx, &Sent { bytes: UNIT });
    assert!((bench.mbit() - 49.5).abs() < 0.01, "{}", bench.mbit());
    bench.round_of(RATE, Duration::from_millis(25), 0);
    assert_ne!(bench.bbr.phase, Phase::ProbeRtt);
}

#[test]
fn a_timeout_sends_one_packet_and_the_window_comes_back() {
    let mut bench = Bench::cruising();
    let cwnd = bench.bbr.cwnd();
    let cx = bench.cx();
    bench.bbr.on_timeout(&cx, &Timeout::default());
    assert_eq!(bench.bbr.cwnd(), UNIT);
    bench.bbr.on_timeout(&cx, &Timeout::default());
    // What was sent before is acknowledged, then what was sent since.
    bench.round(RATE / 100);
    assert!(bench.bbr.cwnd() < 10 * UNIT, "{}", bench.bbr.cwnd());
    bench.round(RATE / 100);
    assert!(bench.bbr.cwnd() >= cwnd.min(BDP), "{}", bench.bbr.cwnd());
}

#[test]
fn corrections_are_ignored_but_for_a_path_that_works_again() {
    let mut bench = Bench::cruising();
    let (cwnd, cx) = (bench.bbr.cwnd(), bench.cx());
    for (cause, expected) in [
        (CorrectionCause::Burst, cwnd),
        (CorrectionCause::Blocking, cwnd),
        (CorrectionCause::Restart, 2 * UNIT),
    ] {
        bench.bbr.on_correction(&cx, &Correction { cause, cwnd: 2 * UNIT, ssthresh: None });
        assert_eq!(bench.bbr.cwnd(), expected, "{cause:?}");
    }
    let damaged = Loss { cause: LossCause::DropReport, lost_bytes: BDP, ..Loss::default() };
    bench.bbr.on_loss(&cx, &damaged);
    assert!(!bench.bbr.latest.has_loss);
}

#[test]
fn acknowledgements_of_a_probe_have_phases() {
    let mut bench = Bench::cruising().until(Phase::Refill);
    assert_eq!(bench.bbr.probing.acks, AckPhase::Refilling);
    bench.round(RATE);
    assert_eq!(bench.bbr.probing.acks, AckPhase::ProbeStarting);
    bench.round(RATE);
    assert_eq!(bench.bbr.probing.acks, AckPhase::ProbeFeedback);
    bench = bench.until(Phase::Down);
    assert_eq!(bench.bbr.probing.acks, AckPhase::ProbeStopping);
    bench.round(RATE);
    assert_eq!(bench.bbr.probing.acks, AckPhase::Init);
}

#[test]
fn the_largest_numbers_do_no_harm() {
    let path = NewPath::new(Parameters::plain(u64::MAX, 0), u64::MAX, u64::MAX);
    let mut bbr = Bbr::new(&path);
    let cx = Context { path: &path.path, flight: u64::MAX, ..Context::new(Instant::ZERO, &P) };
    let sample = RateSample {
        delivered: u64::MAX,
        interval: Duration::from_nanos(1),
        round_trip: Some(Duration::MAX),
        delivered_before: u64::MAX,
        delivered_total: u64::MAX,
        flight_then: u64::MAX,
        lost: u64::MAX,
        limit: RateLimit::Cwnd,
    };
    let acked = Acked { acked_bytes: u64::MAX, rate: Some(sample), ..Acked::default() };
    let lost = LossSample {
        flight_then: u64::MAX,
        lost: u64::MAX,
        delivered_before: u64::MAX,
        delivered_total: u64::MAX,
        limit: RateLimit::Cwnd,
    };
    for _ in 0..10 {
        bbr.on_sent(&cx, &Sent { bytes: u64::MAX });
        bbr.on_ack(&cx, &acked);
        bbr.on_loss(&cx, &Loss { lost_bytes: 1, sample: Some(lost), ..Loss::default() });
        bbr.on_timeout(&cx, &Timeout::default());
        bbr.on_spurious_loss(&cx, &SpuriousLoss::default());
    }
    assert!(bbr.pacing_rate().is_some() && bbr.cwnd() > 0);
}
