//! Congestion controllers and path schedulers of the program's own: what they are told, and that what they say counts.

// The tests look at what controllers inside an association heard.
#![allow(clippy::disallowed_types)]

mod common;

use std::sync::{Arc, Mutex};

use common::{config, message, millis, secs};
use polypath_proto::config::{AssociationConfig, Preset};
use polypath_proto::congestion::{
    Acked, Context, Controller, CustomCongestion, Idle, Loss, LossCause, RateLimit, Sent, Timeout,
};
use polypath_proto::scheduling::{CustomScheduler, NewData, PathScheduler, PathView};
use polypath_proto::{Duration, Instant, PathId};
use polypath_testkit::{Pair, PairConfig, Side};

/// What controllers of one path heard.
#[derive(Clone, Debug, Default)]
struct Heard {
    sent: u64,
    acked: u64,
    round_trips: Vec<Duration>,
    limits: Vec<RateLimit>,
    losses: Vec<Loss>,
    timeouts: Vec<Timeout>,
    pauses: u64,
    most_in_flight: u64,
}

/// A window of so many bytes, and notes of what happens.
#[derive(Debug)]
struct Fixed {
    cwnd: u64,
    heard: Arc<Mutex<Heard>>,
}

impl Controller for Fixed {
    fn on_sent(&mut self, cx: &Context<'_>, sent: &Sent) {
        let mut heard = self.heard.lock().unwrap();
        heard.sent += sent.bytes;
        heard.most_in_flight = heard.most_in_flight.max(cx.flight);
    }

    fn on_ack(&mut self, cx: &Context<'_>, acked: &Acked) {
        assert_eq!(cx.flight, acked.flight_after);
        let mut heard = self.heard.lock().unwrap();
        heard.acked += acked.acked_bytes;
        heard.round_trips.extend(acked.rtt);
        heard.limits.extend(acked.rate.map(|rate| rate.limit));
    }

    fn on_loss(&mut self, _: &Context<'_>, loss: &Loss) {
        self.heard.lock().unwrap().losses.push(*loss);
    }

    fn on_timeout(&mut self, _: &Context<'_>, timeout: &Timeout) {
        self.heard.lock().unwrap().timeouts.push(*timeout);
    }

    fn on_idle(&mut self, _: &Context<'_>, idle: &Idle) {
        self.heard.lock().unwrap().pauses += idle.periods;
    }

    fn cwnd(&self) -> u64 {
        self.cwnd
    }
}

/// A configuration with a window of `cwnd` bytes on each path, and what path 0 of the host hears that data leaves.
fn fixed(cwnd: u64) -> (AssociationConfig, Arc<Mutex<Heard>>) {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let (first, mut config) = (Arc::clone(&heard), config(Preset::Cmt));
    config.custom_congestion = Some(CustomCongestion::new("fixed", move |path| {
        let heard = if path.path.id == PathId(0) { Arc::clone(&first) } else { Arc::default() };
        Box::new(Fixed { cwnd, heard })
    }));
    (config, heard)
}

/// A pair whose paths are all confirmed; only the client has the configuration.
fn confirmed(paths: usize, client: AssociationConfig) -> Pair {
    let mut pair = Pair::connected(PairConfig::new(paths, client));
    assert!(pair.run_until(secs(60), Pair::all_confirmed));
    pair
}

fn send(pair: &mut Pair, messages: u64) {
    for number in 0..messages {
        pair.send(Side::Client, message(number, 1400)).unwrap();
    }
}

fn arrived(messages: usize) -> impl Fn(&Pair) -> bool {
    move |pair| pair.slot(Side::Server).messages.len() == messages
}

#[test]
fn a_window_holds_and_everything_is_told() {
    let (config, log) = fixed(6000);
    let mut pair = confirmed(1, config);
    send(&mut pair, 100);
    assert!(pair.run_until(secs(60), arrived(100)));
    pair.run_for(secs(1));
    let heard = log.lock().unwrap().clone();
    // 1,400 bytes, 16 of the chunk header.
    assert_eq!((heard.sent, heard.acked), (141_600, 141_600));
    // A packet may go while fewer bytes are outstanding: 5 x 1,416.
    assert_eq!(heard.most_in_flight, 7080);
    assert!(!heard.round_trips.is_empty());
    // The first packet went alone, before there were more messages, and the four that followed it before it had arrived have
    // the same rate; three SACKs answer these five. All others went while more waited.
    let (first, rest) = heard.limits.split_at(3);
    assert_eq!(first, [RateLimit::Application; 3]);
    assert!(rest.len() > 20 && rest.iter().all(|limit| *limit == RateLimit::Cwnd));
    assert!(heard.losses.is_empty() && heard.timeouts.is_empty());
    pair.send(Side::Client, message(100, 1400)).unwrap();
    pair.run_for(secs(1));
    let limits = log.lock().unwrap().limits.clone();
    assert_eq!(limits.last(), Some(&RateLimit::Application));
    let stats = pair.slot(Side::Client).association.path_stats().remove(0);
    assert_eq!((stats.cwnd_bytes, stats.ssthresh_bytes), (6000, u64::MAX));
}

#[test]
fn losses_are_told_with_their_cause() {
    let (config, heard) = fixed(60_000);
    let mut pair = confirmed(1, config);
    pair.paths[0].faults.loss = 100;
    send(&mut pair, 200);
    assert!(pair.run_until(secs(120), arrived(200)));
    let heard = heard.lock().unwrap().clone();
    let reported = |loss: &&Loss| loss.cause == LossCause::MissingReports;
    assert!(heard.losses.iter().filter(reported).count() > 3, "{:?}", heard.losses);
    assert!(heard.losses.iter().all(|loss| loss.lost_bytes % 1416 == 0));
    assert!(heard.losses.iter().filter(|loss| loss.lost_bytes > 0).count() > 3);
    assert!(!heard.losses[0].in_recovery);
    let stats = pair.slot(Side::Client).association.path_stats().remove(0);
    let begun = heard.losses.iter().filter(|loss| !loss.in_recovery).count();
    assert_eq!(stats.fast_recoveries, begun as u64);
}

#[test]
fn timeouts_and_pauses_are_told() {
    let (config, heard) = fixed(60_000);
    let mut pair = confirmed(1, config);
    pair.paths[0].faults.loss = 1000;
    send(&mut pair, 2);
    let stats = |pair: &Pair| pair.slot(Side::Client).association.path_stats().remove(0);
    assert!(pair.run_until(secs(60), |pair| stats(pair).timeouts == 1));
    assert_eq!(heard.lock().unwrap().timeouts[0].flight_before, 2832);
    pair.paths[0].faults.loss = 0;
    assert!(pair.run_until(secs(60), arrived(2)));
    pair.run_for(secs(20));
    assert_eq!(heard.lock().unwrap().pauses, 0, "nothing was to be sent");
    pair.send(Side::Client, message(2, 1400)).unwrap();
    assert!(pair.run_until(secs(60), arrived(3)));
    assert!(heard.lock().unwrap().pauses > 0);
}

/// A window of nothing, as a careless controller may say, stops nobody.
#[test]
fn the_smallest_window_is_one_packet() {
    let (config, _) = fixed(0);
    let mut pair = confirmed(2, config);
    send(&mut pair, 20);
    assert!(pair.run_until(secs(60), arrived(20)));
}

/// Waits for ever, or names a path that there is not.
#[derive(Debug)]
struct Stubborn(Option<PathId>);

impl PathScheduler for Stubborn {
    fn choose(&self, paths: &[PathView], data: &NewData) -> Option<PathId> {
        assert!(paths.iter().any(PathView::is_ready));
        assert!(data.chunk_bytes > 0 && data.waiting_bytes >= u64::from(data.chunk_bytes));
        self.0
    }
}

#[test]
fn a_scheduler_that_only_waits_stops_nobody() {
    for choice in [None, Some(PathId(9))] {
        let mut config = config(Preset::Cmt);
        config.custom_scheduler =
            Some(CustomScheduler::new("stubborn", move || Box::new(Stubborn(choice))));
        let mut pair = confirmed(2, config);
        send(&mut pair, 20);
        assert!(pair.run_until(secs(60), arrived(20)), "{choice:?}");
    }
}

/// Sends nine packets over path 1, then one over path 0, and remembers what it was told.
#[derive(Debug, Default)]
struct NineToOne {
    sent: [u64; 2],
    last: Option<Instant>,
}

impl PathScheduler for NineToOne {
    fn choose(&self, _: &[PathView], data: &NewData) -> Option<PathId> {
        assert!(self.last.is_none_or(|last| last <= data.now));
        Some(PathId(if self.sent[1] >= 9 * (self.sent[0] + 1) { 0 } else { 1 }))
    }

    fn on_sent(&mut self, path: PathId, now: Instant) {
        self.sent[path.index()] += 1;
        self.last = Some(now);
    }
}

#[test]
fn a_scheduler_decides() {
    let mut config = config(Preset::Cmt);
    config.custom_scheduler =
        Some(CustomScheduler::new("nine-to-one", || Box::<NineToOne>::default()));
    let mut pair = confirmed(2, config);
    for number in 0..100 {
        pair.send(Side::Client, message(number, 1400)).unwrap();
        pair.run_for(millis(500));
    }
    assert!(pair.run_until(secs(60), arrived(100)));
    let paths = pair.slot(Side::Client).association.path_stats();
    let packets: Vec<u64> = paths.iter().map(|path| path.data_packets_sent).collect();
    assert_eq!(packets, [10, 90]);
}
