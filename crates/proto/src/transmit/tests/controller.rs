//! What the congestion controller of a path hears, and what is made of its answers.

use alloc::boxed::Box;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::vec::Vec;

use polypath_units::BitRate;
use polypath_wire::PacketDrop;

use super::*;
use crate::config::plug_in::CustomCongestion;
use crate::config::{
    AssociationConfig, BlockingEstimation, BufferSize, Burst, FastRecoveryScope, Pacing, PathFill,
    PathOrder, Reduction, RttSample,
};
use crate::congestion::{
    Acked, Context, Controller, Correction, Idle, Loss, LossCause, MeasuredRate, Pause, RateLimit,
    SpuriousLoss, Timeout,
};
use crate::extension::packet_drop::flags;
use crate::extension::packet_drop::repair::COMPARED_BYTES;
use crate::mechanism::copies::CopyAnswer;
use crate::probe::TransmissionCause::FastRetransmission;
use crate::transmit::outstanding::History;
use crate::transmit::recovery::Losses;
use crate::types::PathSet;
use crate::{Duration, PathId, ProbeEvent};

/// What the controller of path 0 was told.
#[derive(Clone, Debug)]
enum Told {
    Acked(Acked),
    Lost(Loss),
    Idle(Idle),
    Spurious(u32),
}

/// A congestion window that changes only with the first event of a kind.
#[derive(Debug)]
struct Listener {
    cwnd: u64,
    delivers: Option<MeasuredRate>,
    pacing_rate: Option<BitRate>,
    told: Option<Sender<Told>>,
}

impl Listener {
    fn tell(&self, told: Told) {
        if let Some(listener) = &self.told {
            // The test may not listen any more.
            let _ = listener.send(told);
        }
    }
}

impl Controller for Listener {
    fn on_ack(&mut self, _: &Context<'_>, acked: &Acked) {
        self.tell(Told::Acked(*acked));
    }

    fn on_loss(&mut self, _: &Context<'_>, loss: &Loss) {
        self.tell(Told::Lost(*loss));
    }

    fn on_timeout(&mut self, _: &Context<'_>, _: &Timeout) {}

    fn on_spurious_loss(&mut self, _: &Context<'_>, spurious: &SpuriousLoss) {
        self.tell(Told::Spurious(spurious.chunks));
    }

    fn on_idle(&mut self, _: &Context<'_>, idle: &Idle) {
        self.tell(Told::Idle(*idle));
    }

    fn on_correction(&mut self, _: &Context<'_>, correction: &Correction) {
        self.cwnd = correction.cwnd;
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.pacing_rate
    }

    fn delivery_rate(&self) -> Option<MeasuredRate> {
        self.delivers
    }
}

/// Two paths with windows of nine packets and 50 ms, and the events that the controller of the first receives.
fn bench(tune: impl FnOnce(&mut AssociationConfig)) -> (Bench, Receiver<Told>) {
    delivering([None; 2], tune)
}

fn delivering(
    rates: [Option<MeasuredRate>; 2],
    tune: impl FnOnce(&mut AssociationConfig),
) -> (Bench, Receiver<Told>) {
    let (sender, told) = channel();
    let mut bench = Bench::tuned(preset("cmt"), 2, |config| {
        config.policies.burst = Burst::Off;
        config.policies.fast_retransmit.threshold = 1;
        let make = move |path: &crate::congestion::NewPath| -> Box<dyn Controller> {
            let told = (path.path.id == PathId(0)).then(|| sender.clone());
            let delivers = rates[path.path.id.index()];
            // A packet in 10 ms.
            let pacing_rate = Some(BitRate::from_bits_per_second(800 * CHUNK));
            Box::new(Listener { cwnd: 9 * CHUNK, delivers, pacing_rate, told })
        };
        config.custom_congestion = Some(CustomCongestion::new("listener", make));
        tune(config);
    });
    (0..2).for_each(|id| bench.shape(id, 9, 9, 50));
    (bench, told)
}

fn acks(told: &Receiver<Told>) -> Vec<Acked> {
    let acked = |told| match told {
        Told::Acked(acked) => Some(acked),
        _ => None,
    };
    told.try_iter().filter_map(acked).collect()
}

fn losses(told: &Receiver<Told>) -> Vec<Loss> {
    let lost = |told| match told {
        Told::Lost(loss) => Some(loss),
        _ => None,
    };
    told.try_iter().filter_map(lost).collect()
}

#[test]
fn a_round_trip_that_was_measured_is_told_once_and_with_its_sack() {
    let (mut bench, told) = bench(|_| {});
    bench.place(&[0, 0, 0]);
    for (ms, count, rtt) in [(40, 1, Some(40)), (10, 2, None), (10, 3, None)] {
        bench.wait(ms);
        bench.sack(&Answer::of(count));
        let acked = acks(&told);
        assert_eq!(acked.len(), 1);
        assert_eq!(acked[0].rtt.map(|rtt| rtt.as_millis()), rtt, "{count}");
        assert_eq!(acked[0].flight_after, u64::from(3 - count) * CHUNK);
    }
    // A heartbeat measures the path; a SACK that comes later says nothing of that.
    bench.place(&[0]);
    bench.path(0).timed = None;
    let (now, sent_at) = (bench.now, bench.now - Duration::from_millis(30));
    bench.path(0).sample_control_rtt(now, &mut crate::NoProbe, sent_at);
    assert_eq!(bench.path(0).last_sample(), Some(Duration::from_millis(30)));
    bench.wait(1);
    bench.sack(&Answer::of(4));
    assert_eq!(acks(&told)[0].rtt, None);
    assert_eq!(bench.path(0).last_sample(), None);
}

#[test]
fn a_rate_has_the_round_trip_of_a_sack_over_another_path_only_where_the_policy_says_so() {
    for (policy, over, is_measured) in [
        (RttSample::Classic, 0, true),
        (RttSample::Classic, 1, true),
        (RttSample::SlowPathUpdate, 0, true),
        (RttSample::SlowPathUpdate, 1, false),
    ] {
        let (mut bench, told) = bench(|config| config.policies.rtt_sample = policy);
        bench.place(&[0, 0]);
        bench.wait(50);
        bench.sack(&Answer::of(1).over(over));
        let rate = acks(&told)[0].rate.unwrap();
        assert_eq!(rate.round_trip.is_some(), is_measured, "{policy:?}, over {over}");
    }
}

/// SACKs take 25 ms over path 0 and 5 ms over path 1. Two chunks of path 0 arrive 80 ms after the one before.
#[test]
fn a_sack_that_returns_sooner_over_another_path_raises_no_rate() {
    for (over, acked_after_ms) in [(0, 80), (1, 60)] {
        let (mut bench, told) = bench(|_| {});
        let now = bench.now;
        bench.path(1).rtt.on_control_sample(now, Duration::from_millis(10));
        bench.place(&[0, 0]);
        bench.wait(50);
        bench.sack(&Answer::of(1).over(0));
        bench.place(&[0]);
        bench.wait(acked_after_ms);
        bench.sack(&Answer::of(3).over(over));
        let rate = acks(&told)[1].rate.unwrap();
        assert_eq!((rate.delivered, rate.interval.as_millis()), (2 * CHUNK, 80), "{over}");
    }
}

#[test]
fn only_a_path_of_which_something_arrived_hears_of_a_sack() {
    let (mut bench, told) = bench(|_| {});
    bench.place(&[0, 1]);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
    assert_eq!(acks(&told).len(), 0);
    bench.sack(&Answer::of(2));
    assert_eq!(acks(&told).len(), 1);
    // What arrived after all, when it counted as lost.
    bench.place(&[0]);
    bench.tx.mark_lost(bench.now, tsn(2), FastRetransmission);
    bench.sack(&Answer::of(3));
    let acked = acks(&told);
    assert_eq!((acked.len(), acked[0].acked_bytes), (1, CHUNK));
}

/// Two chunks of the path, one of which was copied to the other.
#[test]
fn what_a_copy_may_have_brought_is_no_delivery_of_the_path() {
    type Change = fn(&mut Bench);
    let cases: [(&str, u8, Change, u64); 4] = [
        ("a SACK over the path of the copy", 1, |_| {}, CHUNK),
        ("one over its own", 0, |_| {}, 2 * CHUNK),
        (
            "one that counted as lost",
            1,
            |bench| {
                bench.tx.mark_lost(bench.now, tsn(0), FastRetransmission);
            },
            CHUNK,
        ),
        (
            "one that does not count for the cwnd anyway",
            1,
            |bench| bench.tx.outstanding.get_mut(tsn(0)).history |= History::RESCHEDULED,
            CHUNK,
        ),
    ];
    for (what, over, change, delivered) in cases {
        let (mut bench, told) = bench(|_| {});
        bench.place(&[0, 0]);
        bench.tx.outstanding.get_mut(tsn(0)).history |= History::COPIED;
        change(&mut bench);
        bench.wait(50);
        bench.sack(&Answer::of(2).over(over));
        let acked = acks(&told);
        assert_eq!((acked[0].acked_bytes, acked[0].flight_after), (delivered, 0), "{what}");
    }
}

/// The same, and the copy was sent just before: it takes half a round trip of 40 ms at least until it arrives.
#[test]
fn what_a_copy_cannot_have_brought_yet_is_a_delivery_of_the_path() {
    for (after_ms, delivered) in [(19, 2 * CHUNK), (21, CHUNK)] {
        let (mut bench, told) = bench(|_| {});
        bench.shape(1, 9, 9, 40);
        bench.place(&[0, 0]);
        bench.wait(50);
        let now = bench.now;
        bench.tx.outstanding.get_mut(tsn(0)).history |= History::COPIED;
        let copies = &mut bench.path(1).spread_mut().copies;
        copies.on_sent(now, tsn(0), CHUNK as u32, 1_000_000, CopyAnswer::Nothing);
        bench.wait(after_ms);
        bench.sack(&Answer::of(2).over(1));
        let acked = acks(&told);
        assert_eq!((acked[0].acked_bytes, acked[0].flight_after), (delivered, 0), "{after_ms} ms");
    }
}

#[test]
fn losses_are_told_with_cause_and_size_and_each_byte_once() {
    for (scope, fast_recoveries) in
        [(FastRecoveryScope::PerPath, 1), (FastRecoveryScope::AssociationWide, 1)]
    {
        let (mut bench, told) = bench(|config| {
            config.policies.fast_recovery = scope;
            config.policies.window.reduction = Reduction::Proportional;
        });
        bench.place(&[0, 0, 0, 0, 0, 0]);
        bench.sack(&Answer::of(0).gaps(&[(2, 2)]));
        let first = losses(&told);
        assert_eq!(first.len(), 1, "{scope:?}");
        let events = bench.trace();
        let (path, entered) = (PathId(0), ProbeEvent::FastRecoveryEntered { path: PathId(0) });
        let window =
            ProbeEvent::Window { path, cwnd: 9 * CHUNK, ssthresh: u64::MAX, flight: 3 * CHUNK };
        let in_turn = events.windows(2).any(|told| told == [entered, window]);
        assert!(in_turn, "though it stays as it is: {events:?}");
        assert_eq!((first[0].cause, first[0].in_recovery), (LossCause::MissingReports, false));
        assert_eq!(first[0].lost_bytes, 2 * CHUNK);
        bench.sack(&Answer::of(0).gaps(&[(2, 2), (4, 4)]));
        let second = losses(&told);
        assert_eq!((second[0].lost_bytes, second[0].in_recovery), (CHUNK, true), "{scope:?}");
        let counters = &bench.path(0).counters;
        assert_eq!(counters.repairs.fast_recoveries, fast_recoveries, "{scope:?}");
        assert!(!bench.path(0).record.reduction.is_under_way(), "it has no threshold");
    }
}

#[test]
fn what_a_middlebox_reports_is_told_as_no_congestion() {
    for (recovers, of) in [(false, None), (true, Some(0)), (true, None)] {
        let (mut bench, told) = bench(|config| {
            config.policies.fast_recovery = match of {
                Some(_) => FastRecoveryScope::PerPath,
                None => FastRecoveryScope::AssociationWide,
            };
        });
        bench.place(&[0, 0, 0]);
        if recovers {
            bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
            losses(&told);
        }
        let mut start = [0; COMPARED_BYTES];
        bench.chunk(2).payload.copy_to(&mut start);
        bench.wait(20);
        for (chunk, reports) in [(7, 0), (2, 1), (2, 0)] {
            let (tx, mut cx) = bench.lend();
            tx.on_drop_report(&mut cx, tsn(chunk), &start, flags::MIDDLEBOX);
            let losses = losses(&told);
            assert_eq!(losses.len(), reports, "{chunk}");
            for loss in losses {
                assert_eq!((loss.cause, loss.lost_bytes), (LossCause::DropReport, CHUNK));
                assert_eq!(loss.in_recovery, recovers, "{of:?}");
            }
        }
        bench.phase = crate::transmit::SendPhase::Closed;
        let (tx, mut cx) = bench.lend();
        tx.on_drop_report(&mut cx, tsn(1), &start, flags::MIDDLEBOX);
        assert_eq!(losses(&told).len(), 0, "nothing can be sent again");
    }
}

#[test]
fn a_pause_goes_on_until_data_ends_it() {
    let (mut bench, told) = bench(|_| {});
    let pauses = |told: &Receiver<Told>| -> Vec<(u64, Pause)> {
        let idle = |told| match told {
            Told::Idle(idle) => Some((idle.periods, idle.pause)),
            _ => None,
        };
        told.try_iter().filter_map(idle).collect()
    };
    bench.place(&[0]);
    bench.wait(50);
    bench.sack(&Answer::of(1));
    let rto = bench.rto(0);
    bench.wait(2 * rto - 50);
    bench.begin();
    assert_eq!(pauses(&told), [(2, Pause::Begins)]);
    bench.wait(rto);
    bench.begin();
    assert_eq!(pauses(&told), [(1, Pause::GoesOn)]);
    // Data goes at the moment at which the pause was applied.
    bench.place(&[0]);
    bench.sack(&Answer::of(2));
    bench.wait(rto);
    bench.begin();
    assert_eq!(pauses(&told), [(1, Pause::Begins)]);
}

#[test]
fn a_sender_with_window_left_proves_no_limit_of_the_path() {
    for (packets, burst, limit) in [
        (8, Burst::Off, RateLimit::Application),
        (9, Burst::Off, RateLimit::Cwnd),
        (4, Burst::MaxBurst(4), RateLimit::Cwnd),
    ] {
        let (mut bench, told) = bench(|config| config.policies.burst = burst);
        bench.place(&[0; 9][..packets as usize]);
        // The next one goes when a round trip is over, and is answered after another one.
        bench.wait(50);
        bench.sack(&Answer::of(1));
        bench.place(&[0]);
        bench.wait(50);
        bench.sack(&Answer::of(packets + 1));
        let rate = acks(&told).pop().unwrap().rate.unwrap();
        assert_eq!(rate.limit, limit, "{packets} of nine packets, {burst:?}");
    }
}

/// A chunk counted as lost. Its transmission is answered, and the path is in recovery or not.
#[test]
fn a_spurious_loss_is_told_and_an_episode_ends_with_recovery() {
    let spurious = |told: &Receiver<Told>| -> Vec<u32> {
        let chunks = |told| match told {
            Told::Spurious(chunks) => Some(chunks),
            _ => None,
        };
        told.try_iter().filter_map(chunks).collect()
    };
    let (mut bench, told) = bench(|_| {});
    bench.config.policies.retransmission.fast = crate::config::RetransmissionPath::Same;
    bench.place(&[0; 8]);
    bench.wait(50);
    bench.sack(&Answer::of(0).gaps(&[(1, 1)]));
    bench.sack(&Answer::of(2));
    assert_eq!(spurious(&told), [1], "it arrived before it was sent again");
    // Two more are lost, one after the other in one recovery; the second has arrived.
    bench.sack(&Answer::of(2).gaps(&[(3, 3)]));
    bench.sack(&Answer::of(2).gaps(&[(3, 4)]));
    assert_eq!(bench.lost().len(), 1);
    bench.sack(&Answer::of(2).gaps(&[(3, 4), (6, 6)]));
    assert_eq!(bench.lost().len(), 2);
    bench.sack(&Answer::of(2).gaps(&[(3, 6)]));
    assert_eq!(spurious(&told), [0; 0], "the first may have been lost");
    bench.sends();
    bench.wait(50);
    bench.sack(&Answer::of(8));
    assert_eq!(spurious(&told), [0; 0], "it was");
    assert!(!bench.path(0).recovery.is_active());
    // What is lost now is an episode of its own.
    bench.place(&[0; 3]);
    bench.wait(50);
    bench.sack(&Answer::of(8).gaps(&[(9, 9)]));
    bench.sack(&Answer::of(11));
    assert_eq!(spurious(&told), [1]);
}

fn rate(kbit: u64, is_final: bool) -> Option<MeasuredRate> {
    let rate = BitRate::from_bits_per_second(kbit * 1000);
    Some(MeasuredRate { rate, is_final })
}

/// A packet needs half a round trip and 12 ms on path 0, half of 60 ms and a tenth of a millisecond on path 1.
#[test]
fn a_chunk_waits_for_a_path_with_a_longer_round_trip_that_sends_it_faster() {
    let fast = rate(100_000, true);
    for (slow, expected) in [(rate(1000, true), 1), (rate(8000, true), 0)] {
        let (mut bench, _told) = delivering([slow, fast], |config| {
            config.policies.blocking_estimation = BlockingEstimation::On;
            config.policies.path_order = PathOrder::LowestSrtt;
        });
        bench.path(1).rtt = crate::paths::rtt::RttEstimator::with_rules(
            bench.config.policies.rto,
            bench.config.policies.control_rtt,
        );
        bench.shape(1, 9, 9, 60);
        bench.send(1);
        let path = bench.choice().map(|(path, _)| path);
        assert_eq!(path, Some(expected), "{slow:?}");
    }
}

#[test]
fn the_cause_of_a_loss_is_that_which_says_most() {
    let of = |ids: &[u8]| ids.iter().map(|id| PathId(*id)).collect::<PathSet>();
    for (reported, probed, rescheduled, cause) in [
        (&[0][..], &[][..], &[][..], Some(LossCause::MissingReports)),
        (&[], &[0], &[], Some(LossCause::TailProbe)),
        (&[], &[], &[0], Some(LossCause::Rescheduling)),
        (&[0], &[0], &[0], Some(LossCause::MissingReports)),
        (&[], &[0], &[0], Some(LossCause::TailProbe)),
        (&[1], &[1], &[1], None),
    ] {
        let (mut bench, told) = bench(|_| {});
        let (tx, mut cx) = bench.lend();
        let groups = tx.group_views(&cx);
        let lost_on =
            Losses { reported: of(reported), probed: of(probed), rescheduled: of(rescheduled) };
        tx.reduce_cwnds(&mut cx, lost_on, &groups);
        assert_eq!(losses(&told).first().map(|loss| loss.cause), cause);
    }
}

#[test]
fn a_path_that_delivers_so_much_needs_no_larger_window() {
    // 1.2 Mbit/s for 50 ms and a quarter are 9,375 bytes; the window has 13,212.
    for (delivers, needed) in [
        (None, 9 * CHUNK),
        (rate(1200, true), 9375),
        (rate(1200, false), 9 * CHUNK),
        (rate(5000, true), 9 * CHUNK),
    ] {
        let (mut bench, _told) = delivering([delivers; 2], |_| {});
        assert_eq!(bench.path(0).needed_cwnd(), needed, "{delivers:?}");
        assert_eq!(bench.path(0).delivery_rate(), delivers);
    }
}

/// A path with a round trip of 800 ms and a window of nine packets, all in flight, which the next SACK makes grow.
fn satellite() -> Bench {
    let mut bench = Bench::tuned(preset("cmt"), 1, |config| {
        config.policies.burst = Burst::MaxBurst(4);
    });
    bench.shape(0, 4, 40, 800);
    bench.place(&[0; 4]);
    bench.wait(800);
    bench
}

#[test]
fn a_report_of_a_bottleneck_changes_the_window_as_it_was_before_the_packet() {
    let report = |bandwidth, queued| PacketDrop {
        flags: flags::MIDDLEBOX,
        bandwidth_or_limit: bandwidth,
        queued,
        truncated_length: 0,
        reserved: 0,
        packet: [].as_slice().into(),
    };
    // More is queued than the bottleneck carries in a round trip, but less of this path than its window admits.
    for (packets_later, is_before) in [(0, true), (1, false)] {
        let mut bench = satellite();
        let before = bench.path(0).congestion.cwnd;
        bench.sack(&Answer::of(2));
        let grown = bench.path(0).congestion.cwnd;
        assert!(grown > before);
        (0..packets_later).for_each(|_| bench.tx.begin_packet());
        bench.trace();
        let (tx, mut cx) = bench.lend();
        tx.on_bottleneck(&mut cx, &report(20_000, 16_500), PathId(0));
        let expected = if is_before { before } else { grown };
        assert_eq!(bench.path(0).congestion.cwnd, expected, "{packets_later}");
        let told = bench.trace();
        assert!(matches!(told[..], [ProbeEvent::Window { .. }]), "{told:?}");
    }
    // One that is free adds no more than a burst.
    let mut bench = satellite();
    let before = bench.path(0).congestion.cwnd;
    let (tx, mut cx) = bench.lend();
    tx.on_bottleneck(&mut cx, &report(1_000_000, 0), PathId(0));
    let mtu = u64::from(bench.path(0).mtu());
    assert_eq!(bench.path(0).congestion.cwnd, before + 4 * mtu);
    let mut unlimited = satellite();
    unlimited.config.policies.burst = Burst::Off;
    let (tx, mut cx) = unlimited.lend();
    tx.on_bottleneck(&mut cx, &report(100_000, 0), PathId(0));
    // A quarter of what is free of 80,000 bytes.
    let expected = before + (80_000 - 4 * CHUNK) / 4;
    assert_eq!(unlimited.path(0).congestion.cwnd, expected);
}

#[test]
fn packets_leave_at_the_rate_that_the_controller_asks_for() {
    let (mut bench, _told) = bench(|config| config.policies.pacing = Pacing::On);
    bench.path(0).set_cwnd(1000 * CHUNK, None);
    bench.path(1).set_cwnd(0, None);
    bench.send(200);
    let end = bench.now + Duration::from_secs(1);
    let mut packets = bench.flush().len();
    while bench.await_pace() && bench.now < end {
        packets += bench.flush().len();
    }
    assert!((98..=106).contains(&packets), "{packets}");
}

/// With 128 packets in flight a path waits until two fit.
#[test]
fn what_waits_for_room_for_a_train_waits_for_the_window() {
    for (cwnd, limit) in [(129, RateLimit::Cwnd), (130, RateLimit::Application)] {
        let (mut bench, told) = bench(|config| {
            config.policies.path_fill = PathFill::Runs;
            config.policies.path_order = PathOrder::LowestSrtt;
            config.policies.send_buffer = BufferSize::Infinite;
        });
        bench.path(0).set_cwnd(128 * CHUNK, None);
        bench.place(&[0; 128]);
        bench.path(0).set_cwnd(cwnd * CHUNK, None);
        assert_eq!(bench.sends(), [], "nothing waits");
        bench.wait(50);
        bench.sack(&Answer::of(1));
        bench.place(&[0]);
        bench.wait(50);
        bench.sack(&Answer::of(129));
        assert_eq!(acks(&told).pop().unwrap().rate.unwrap().limit, limit, "{cwnd}");
    }
}
