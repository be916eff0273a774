//! Everything that may be sent at one instant has an end, and nothing is lost from the books, whatever the peer says.

#![allow(clippy::disallowed_types)] // proptest's macros use Arc

use std::collections::BTreeMap;
use std::vec::Vec;

use polypath_wire::{Payload, VirtualPayload};
use proptest::prelude::*;

use super::*;
use crate::config::{BufferSize, Preset};
use crate::paths::reach::Reach;
use crate::transmit::partial_reliability::Reliability;
use crate::transmit::testing::Sent;
use crate::transmit::{AckOutcome, SendPhase};
use crate::types::Fate;
use crate::{Duration, OutgoingMessage, PathId, Tsn};

/// Packets that may leave a path beyond its congestion window in one flush: the last one overshoots, one of retransmissions ignores
/// the congestion window, and so does a tail probe.
const BEYOND: u64 = 3;

/// What counts a path, and the queue, against what the chunks say.
fn check_books(bench: &Bench) {
    let tx = &bench.tx;
    let mut flights: BTreeMap<PathId, u64> = BTreeMap::new();
    let (mut user_bytes, mut in_flight, mut tsn) = (0, 0, tx.outstanding.base());
    while tsn != tx.outstanding.next_tsn() {
        let chunk = tx.outstanding.get(tsn);
        user_bytes += u64::from(chunk.user_bytes());
        if chunk.fate == Fate::InFlight {
            *flights.entry(chunk.path).or_default() += u64::from(chunk.flight_bytes);
            in_flight += u64::from(chunk.user_bytes());
        }
        tsn = tsn.next();
    }
    for path in tx.paths.iter() {
        let expected = flights.get(&path.id).copied().unwrap_or(0);
        assert_eq!(path.flight, expected, "flight of {:?}", path.id);
        let guards = tx.forward.guarded_by() == Some(path.id);
        let bare = path.flight > 0 && path.t3.is_none();
        assert!(!bare, "in flight on {:?} without a timer", path.id);
        let idle = path.flight == 0 && path.t3.is_some() && !guards;
        let waits = tx.outstanding.lowest_lost_on(path.id).is_some();
        assert!(!idle || waits, "the timer of {:?} runs for nothing", path.id);
    }
    assert_eq!(tx.outstanding.in_flight_user_bytes(), in_flight);
    assert_eq!(tx.queue.used(), tx.queue.waiting() + user_bytes, "the send buffer");
}

/// Chunks in flight, and their user bytes.
fn in_flight(bench: &Bench) -> Vec<(Tsn, u64)> {
    let outstanding = &bench.tx.outstanding;
    let tsns = (0..outstanding.span()).map(|offset| outstanding.base().plus(offset));
    let in_flight = tsns.filter(|tsn| outstanding.get(*tsn).fate == Fate::InFlight);
    in_flight.map(|tsn| (tsn, outstanding.get(tsn).user_bytes().into())).collect()
}

/// A flush, which may send no more than the windows of the paths and the peer.
fn flush(bench: &mut Bench) -> Vec<Sent> {
    let windows: Vec<_> = bench.tx.paths.iter().map(|path| path.congestion.cwnd).collect();
    let before = bench.flights();
    let outstanding = bench.tx.outstanding.next_tsn();
    let mut room = bench.tx.peer_window();
    let in_flight = in_flight(bench);
    let sent = bench.flush();
    // What is abandoned takes no room any more.
    let abandoned = in_flight.iter().filter(|(tsn, _)| bench.tx.outstanding.is_abandoned(*tsn));
    room += abandoned.map(|(_, bytes)| bytes).sum::<u64>();
    for ((path, cwnd), before) in bench.tx.paths.iter().zip(windows).zip(before) {
        // What has moved here was in flight elsewhere; no more than a window of that either.
        let most = cwnd.max(path.congestion.cwnd).max(before) + BEYOND * CHUNK;
        assert!(path.flight <= most, "{:?}: {} bytes, {most} at most", path.id, path.flight);
    }
    let is_new = |tsn: u32| !Tsn(tsn).is_before(outstanding);
    let data = sent.iter().flat_map(|sent| &sent.data).filter(|data| is_new(data.tsn));
    // A copy takes no more room.
    let new: BTreeMap<u32, u64> = data.map(|data| (data.tsn, data.payload.len() as u64)).collect();
    let new: u64 = new.values().sum();
    assert!(new <= room.max(FULL.into()), "{new} bytes into a window of {room}");
    sent
}

/// With a clock that moves only for the pace: a transfer over unequal paths that loses every fifth packet once.
#[test]
fn with_every_preset_each_flush_of_a_transfer_ends() {
    for preset in Preset::ALL {
        for paths in 1..=3 {
            let mut bench = Bench::tuned(*preset, paths, |config| {
                config.policies.send_buffer = BufferSize::Bytes;
            });
            (0..paths).for_each(|id| bench.shape(id, 30, 20, 10 << (2 * id)));
            bench.send(200);
            let mut arrived = [false; 200];
            let mut packets = 0;
            for _ in 0..1000 {
                let sent = flush(&mut bench);
                for packet in &sent {
                    packets += 1;
                    if packets % 5 != 0 {
                        packet.chunks.iter().for_each(|chunk| arrived[*chunk as usize] = true);
                    }
                }
                check_books(&bench);
                let count = arrived.iter().take_while(|arrived| **arrived).count() as u32;
                let last = bench.tx.outstanding.next_tsn().distance_from(tsn(0));
                let gaps: Vec<_> = (count + 1..last)
                    .filter(|chunk| arrived[*chunk as usize])
                    .map(|chunk| (chunk, chunk))
                    .collect();
                let over = (packets % u32::from(paths)) as u8;
                bench.sack(&Answer::of(count).gaps(&gaps).over(over));
                check_books(&bench);
                if bench.tx.is_dry() {
                    break;
                }
                if !sent.is_empty() || bench.await_pace() {
                    continue;
                }
                let now = bench.now;
                bench.expire_next();
                bench.now = now;
            }
            assert!(bench.tx.is_dry(), "{preset:?} over {paths} paths: {packets} packets");
        }
    }
}

/// One thing that happens to a sender.
#[derive(Clone, Debug)]
enum Step {
    Send {
        bytes: u32,
        rule: Rule,
        path: Option<u8>,
    },
    Flush,
    /// A SACK for so many eighths of what is outstanding, and for those after it that have a bit set.
    Sack {
        eighths: u32,
        bits: u64,
        a_rwnd: u32,
        over: u8,
    },
    /// One that names what was never sent, or nothing in order.
    Nonsense {
        count: u32,
        gaps: (u32, u32),
    },
    Timeout,
    Late,
    ProbeDue,
    PathLost(u8),
    PathBack(u8),
    Wait(u64),
}

#[derive(Clone, Copy, Debug)]
enum Rule {
    Full,
    Retransmissions(u16),
    Priority(u32),
    Within(u64),
}

fn rule() -> impl Strategy<Value = Rule> {
    prop_oneof![
        4 => Just(Rule::Full),
        1 => (0..3_u16).prop_map(Rule::Retransmissions),
        1 => (0..4_u32).prop_map(Rule::Priority),
        1 => (0..300_u64).prop_map(Rule::Within),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let path = 0..3_u8;
    let bytes = prop_oneof![Just(FULL), Just(100), 1..9000_u32];
    let a_rwnd = prop_oneof![4 => Just(Bench::PEER_WINDOW), 1 => Just(0), 1 => 0..20_000_u32];
    prop_oneof![
        6 => (bytes, rule(), prop::option::weighted(0.2, path.clone()))
            .prop_map(|(bytes, rule, path)| Step::Send { bytes, rule, path }),
        6 => Just(Step::Flush),
        8 => (0..=8_u32, any::<u64>(), a_rwnd, path.clone())
            .prop_map(|(eighths, bits, a_rwnd, over)| Step::Sack { eighths, bits, a_rwnd, over }),
        1 => (0..400_u32, (0..400_u32, 0..400_u32))
            .prop_map(|(count, gaps)| Step::Nonsense { count, gaps }),
        2 => Just(Step::Timeout),
        2 => Just(Step::Late),
        1 => Just(Step::ProbeDue),
        1 => path.clone().prop_map(Step::PathLost),
        1 => path.prop_map(Step::PathBack),
        4 => (0..300_u64).prop_map(Step::Wait),
    ]
}

fn sent_so_far(bench: &Bench) -> (u32, u32) {
    let first = tsn(0);
    let outstanding = &bench.tx.outstanding;
    (outstanding.base().distance_from(first), outstanding.next_tsn().distance_from(first))
}

fn answer(bench: &Bench, eighths: u32, bits: u64) -> Answer {
    let (base, next) = sent_so_far(bench);
    let count = base + (next - base) * eighths / 8;
    let gaps: Vec<_> = (count + 1..next)
        .filter(|chunk| bits >> (chunk % 64) & 1 == 1)
        .map(|chunk| (chunk, chunk))
        .collect();
    Answer::of(count).gaps(&gaps)
}

fn take(bench: &mut Bench, step: &Step) {
    match *step {
        Step::Send { bytes, rule, path } => {
            let rule = match rule {
                Rule::Full => Reliability::Full,
                Rule::Retransmissions(limit) => Reliability::Retransmissions(limit),
                Rule::Priority(priority) => Reliability::Priority(priority),
                Rule::Within(ms) => Reliability::Until(bench.now + Duration::from_millis(ms)),
            };
            let payload = VirtualPayload { message: 0, offset: 0, len: bytes };
            let message = OutgoingMessage::from_payload(0, Payload::Virtual(payload));
            let message = OutgoingMessage { path: path.map(PathId), ..message };
            // A full buffer is one of the things that happen.
            let _ = bench.send_message(message, rule);
        }
        Step::Flush => drop(flush(bench)),
        Step::Sack { eighths, bits, a_rwnd, over } => {
            let answer = answer(bench, eighths, bits).a_rwnd(a_rwnd).over(over);
            bench.sack(&answer);
        }
        Step::Nonsense { count, gaps } => {
            let acked = bench.hear(&Answer::of(count).gaps(&[gaps]));
            let (_, next) = sent_so_far(bench);
            if count > next {
                assert!(matches!(acked, AckOutcome::Refused(_)), "{acked:?}");
            }
        }
        Step::Timeout => drop(bench.expire_next()),
        Step::Late => drop(bench.expire_late()),
        Step::ProbeDue => {
            if let Some(due) = bench.tx.zero_window.deadline() {
                bench.now = bench.now.max(due);
                bench.tx.zero_window.expire(bench.now);
            }
        }
        Step::PathLost(id) => {
            bench.lose_path(id);
            bench.fail(id);
        }
        Step::PathBack(id) => bench.book.set_reach(PathId(id), Reach::Active),
        Step::Wait(ms) => bench.wait(ms),
    }
}

/// The peer acknowledges all that it gets until nothing is left.
fn finish(bench: &mut Bench) {
    bench.phase = SendPhase::Draining;
    bench.book.ids().for_each(|path| bench.book.set_reach(path, Reach::Active));
    for _ in 0..2000 {
        let (_, next) = sent_so_far(bench);
        bench.sack(&Answer::of(next));
        check_books(bench);
        if bench.tx.is_dry() {
            return;
        }
        bench.wait(100);
        flush(bench);
    }
    panic!("what waits is never sent: {:?}", bench.tx.queue);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_peer_says_a_flush_ends_and_the_books_agree(
        preset in prop::sample::select(Preset::ALL),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let mut bench = Bench::tuned(preset, 3, |config| config.send_buffer_bytes = 200_000);
        for step in &steps {
            take(&mut bench, step);
            check_books(&bench);
        }
        flush(&mut bench);
        finish(&mut bench);
        prop_assert_eq!(bench.flights(), [0, 0, 0]);
        prop_assert_eq!(bench.tx.queue.used(), 0);
        prop_assert_eq!(bench.tx.queue.free(), bench.tx.queue.limit());
        prop_assert!((0..3).all(|id| bench.t3(id).is_none()));
        prop_assert_eq!(bench.tx.outstanding.lost_count(), 0);
    }
}
