//! What no network does: a host that loses power or restarts between any two events, and a clock that jumps.

mod common;

use std::net::IpAddr;

use common::{config, message, millis, secs};
use polypath_proto::config::{EndpointConfig, Preset};
use polypath_proto::{Duration, Event, Instant};
use polypath_testkit::{Host, Pair, PairConfig, Side};

const MESSAGES: u64 = 12;

/// Two hosts with two paths; the client has begun to connect.
fn begin(preset: Preset) -> Pair {
    let mut pair = Pair::new(PairConfig::new(2, config(preset)));
    pair.connect();
    pair
}

/// The next event of a transfer in both directions that ends with a shutdown. Says whether there was one.
fn step(pair: &mut Pair, sent: &mut [u64; 2]) -> bool {
    if pair.is_connected() {
        for (side, sent) in [Side::Client, Side::Server].into_iter().zip(sent) {
            if *sent < MESSAGES && pair.send(side, message(*sent, 2000)).is_ok() {
                *sent += 1;
            }
        }
    }
    let has_all = |side| pair.slot(side).messages.len() as u64 == MESSAGES;
    if pair.is_connected() && has_all(Side::Client) && has_all(Side::Server) {
        pair.shutdown(Side::Client);
    }
    let is_over = pair
        .hosts
        .iter()
        .all(|host| host.slots.last().is_some_and(|it| it.association.is_closed()));
    !is_over && pair.step(pair.now + secs(7200))
}

/// What one side has got are the first messages, each once and in order.
fn assert_in_order(pair: &Pair, side: Side, what: &str) -> u64 {
    let Some(slot) = pair.hosts[side as usize].slots.last() else { return 0 };
    for (number, got) in (0_u64..).zip(&slot.messages) {
        assert_eq!((u64::from(got.ppid), got.len()), (number, 2000), "{what}");
    }
    slot.messages.len() as u64
}

/// Number of ends that the user of the first association of a side has heard of.
fn ends(host: &Host) -> usize {
    let is_end = |event: &&Event| matches!(event, Event::Ended(_));
    host.slots.first().map_or(0, |slot| slot.events.iter().filter(is_end).count())
}

/// A host that has started anew: it has the addresses and the port, and nothing else.
fn restarted(pair: &Pair, side: Side, preset: Preset) -> Host {
    let addresses: Vec<IpAddr> = pair.addresses(side);
    let server = side == Side::Server;
    let config =
        EndpointConfig { listening: server, association: config(preset), ..Default::default() };
    Host::new(99, config, if server { 5001 } else { 4000 }, &addresses, pair.now)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Crash {
    /// The host is gone.
    PowerOff,
    /// The host is there again at once, without memory.
    Restart,
}

/// Runs a transfer up to event `at`, where a side crashes, and looks at the other one. Says whether the transfer was still going on.
fn crash(preset: Preset, side: Side, crash: Crash, at: usize) -> bool {
    let what = format!("{preset:?}: {crash:?} of the {side:?} at event {at}");
    let (mut pair, mut sent) = (begin(preset), [0; 2]);
    for _ in 0..at {
        if !step(&mut pair, &mut sent) {
            return false;
        }
    }
    let host = restarted(&pair, side, preset);
    pair.hosts[side as usize] = host;
    if crash == Crash::PowerOff {
        pair.paths.iter_mut().for_each(|path| path.faults.loss = 1000);
    }
    let (other, survivor) = match side {
        Side::Client => (Side::Server, 1),
        Side::Server => (Side::Client, 0),
    };
    if pair.hosts[survivor].slots.is_empty() {
        // The server had no association yet, and gets one only of a cookie that is still under way.
        pair.run_for(secs(7200));
    }
    let is_new = |pair: &Pair| {
        pair.hosts[side as usize].slots.last().is_some_and(|it| it.association.is_established())
    };
    let is_closed =
        |pair: &Pair| pair.hosts[survivor].slots.iter().all(|slot| slot.association.is_closed());
    let settled = pair.run_until(secs(7200), |pair| is_closed(pair) || is_new(pair));
    assert!(settled, "{what}: the survivor waits for ever");
    assert_in_order(&pair, other, &what);
    if is_closed(&pair) {
        assert!(ends(&pair.hosts[survivor]) <= 1, "{what}");
        let heard = pair.hosts[survivor]
            .slots
            .iter()
            .all(|slot| slot.events.iter().any(|event| matches!(event, Event::Ended(_))));
        assert!(heard, "{what}: its user was not told");
    }
    true
}

#[test]
fn whichever_side_crashes_at_whatever_event_the_other_one_ends_cleanly() {
    for preset in [Preset::Recommended, Preset::Rfc9260] {
        for side in [Side::Client, Side::Server] {
            for kind in [Crash::PowerOff, Crash::Restart] {
                let events = (0..).take_while(|&at| crash(preset, side, kind, at)).count();
                assert!(
                    events > 30,
                    "{events}: too few for a handshake, a transfer and a shutdown"
                );
            }
        }
    }
}

/// Runs a transfer to its end; before event `at` of it, the time that both hosts see jumps ahead.
fn jump(preset: Preset, at: usize, by: Duration) -> bool {
    let what = format!("{preset:?}: {by:?} at event {at}");
    let (mut pair, mut sent) = (begin(preset), [0; 2]);
    for _ in 0..at {
        if !step(&mut pair, &mut sent) {
            return false;
        }
    }
    pair.now += by;
    while step(&mut pair, &mut sent) {}
    // A cookie of before the jump has expired; what was established goes on.
    for side in [Side::Client, Side::Server] {
        assert_eq!(assert_in_order(&pair, side, &what), MESSAGES, "{what}");
    }
    assert_eq!(pair.hosts.each_ref().map(ends), [1, 1], "{what}");
    true
}

#[test]
fn a_clock_that_jumps_ahead_at_whatever_event_ends_no_transfer() {
    for preset in [Preset::Recommended, Preset::Rfc9260] {
        for by in [millis(15), secs(5), secs(3600), millis(1 << 31), millis(1 << 32)] {
            let events = (0..).take_while(|&at| jump(preset, at, by)).count();
            assert!(events > 30, "{events}");
        }
    }
}

#[test]
fn counters_of_time_that_wrap_in_a_transfer_mean_nothing() {
    // Microseconds in 32 bits, milliseconds in 31 and in 32, and nanoseconds in 63.
    for wrap in [1_u64 << 32, (1 << 31) * 1000, (1 << 32) * 1000, (1 << 63) / 1000] {
        for before in [1, 15, 40, 90] {
            let (mut pair, mut sent) =
                (Pair::new(PairConfig::new(2, config(Preset::Recommended))), [0; 2]);
            pair.now = Instant::from_nanos(wrap * 1000 - before * 1_000_000);
            pair.connect();
            while step(&mut pair, &mut sent) {}
            for side in [Side::Client, Side::Server] {
                let got = assert_in_order(&pair, side, "around the wrap");
                assert_eq!(got, MESSAGES, "{wrap} µs, {before} ms before");
            }
        }
    }
}
