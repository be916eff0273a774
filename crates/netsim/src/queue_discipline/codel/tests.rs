use super::*;
use crate::{PacketId, Ticket};

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn waiting(number: u32, since: Instant) -> Waiting {
    let ticket = Ticket { packet: PacketId(number), bytes: 1_000, order: 0 };
    Waiting { ticket, since, ect: false }
}

/// A queue that is offered `per_ms` packets each millisecond and sends one, from `begin` until `end`; when it drops.
#[derive(Debug)]
struct Bench {
    queue: CodelQueue,
    drops: Vec<u64>,
    acts: VecDeque<QueueAct>,
    sent: u32,
}

impl Bench {
    fn new(config: &CodelConfig) -> Self {
        let queue = CodelQueue::new(config);
        Self { queue, drops: Vec::new(), acts: VecDeque::new(), sent: 0 }
    }

    fn fill(&mut self, packets: u32, since: Instant) {
        (0..packets).for_each(|n| self.queue.enqueue(waiting(n, since), None).unwrap());
    }

    fn send_at(&mut self, at: u64) {
        let waiting = self.queue.dequeue(ms(at), &mut self.acts);
        self.sent += u32::from(waiting.is_some());
        let dropped = self.acts.drain(..).filter(|act| matches!(act, QueueAct::Dropped(..)));
        self.drops.extend(dropped.map(|_| at));
    }

    fn run(&mut self, from: u64, until: u64) {
        (from..until).for_each(|at| self.send_at(at));
    }
}

fn ample() -> CodelConfig {
    CodelConfig { limit: Limit::Packets(10_000), ..CodelConfig::default() }
}

#[test]
fn drops_come_by_the_square_root() {
    let law = Law {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: EcnMarking::Off,
        max_packet: 0,
    };
    // 100 ms / sqrt(count), cut to a nanosecond.
    for (count, nanos) in [
        (1, 100_000_000),
        (2, 70_710_678),
        (3, 57_735_026),
        (4, 50_000_000),
        (5, 44_721_359),
        (16, 25_000_000),
        (10_000, 1_000_000),
    ] {
        assert_eq!(law.next(ms(7), count), ms(7) + Duration::from_nanos(nanos), "{count}");
    }
}

#[test]
fn a_standing_queue_is_dropped_from_on_schedule() {
    let mut bench = Bench::new(&ample());
    bench.fill(9_000, ms(0));
    bench.run(0, 450);
    // Above the target from 5 ms on, for an interval at 105 ms. Then 100, 70.7, 57.7, 50.0 and 44.7 ms further on, each at
    // the first packet that leaves then: 205, 275.71, 333.45, 383.45, 428.17.
    assert_eq!(bench.drops, [105, 205, 276, 334, 384, 429]);
    assert_eq!(bench.sent, 450, "something was sent at all times");
}

#[test]
fn several_drops_can_be_due_at_once() {
    let mut bench = Bench::new(&ample());
    bench.fill(9_000, ms(0));
    bench.run(0, 110);
    // Nothing leaves for a while: what was due at 205, 275.71, 333.45, 383.45, 428.17 and 469.0 ms is dropped at once.
    bench.send_at(470);
    assert_eq!(bench.drops, [105, 470, 470, 470, 470, 470, 470]);
    assert_eq!(bench.queue.codel.count, 7);
}

#[test]
fn one_packet_below_the_target_ends_it() {
    let mut bench = Bench::new(&ample());
    bench.fill(300, ms(0));
    bench.run(0, 210);
    assert_eq!(bench.drops, [105, 205]);
    while bench.queue.remove().is_some() {}
    // One that waited just long enough counts as standing, one that waited less does not.
    bench.fill(300, ms(300));
    bench.send_at(304);
    assert_eq!((bench.queue.codel.phase, bench.queue.codel.first_above), (Phase::Passing, None));
    bench.send_at(305);
    assert_eq!(bench.queue.codel.first_above, Some(ms(405)));
}

#[test]
fn what_is_left_must_be_more_than_a_packet() {
    let mut bench = Bench::new(&ample());
    // With one packet behind it, a packet may have waited for ever.
    for at in [0, 200, 400, 600] {
        bench.fill(2, ms(at));
        bench.send_at(at + 150);
        assert_eq!(bench.queue.codel.first_above, None);
        bench.send_at(at + 199);
    }
    assert_eq!((bench.drops.len(), bench.sent), (0, 8));
}

#[test]
fn dropping_goes_on_at_the_old_rate_if_it_was_not_long_ago() {
    for (pause, count) in [(0, 5), (1_500, 5), (1_700, 1)] {
        let mut bench = Bench::new(&ample());
        bench.fill(9_000, ms(0));
        // Six drops: began with a count of 1, ended with 6.
        bench.run(0, 430);
        assert_eq!(bench.queue.codel.count, 6);
        while bench.queue.remove().is_some() {}
        bench.send_at(430);
        assert_eq!(bench.queue.codel.phase, Phase::Passing);
        let again = 440 + pause;
        bench.fill(9_000, ms(again));
        bench.run(again, again + 110);
        // The next drop had been due at 469 ms; 16 intervals are 1.6 s.
        assert_eq!(bench.queue.codel.count, count, "after {pause} ms");
        assert_eq!(bench.queue.codel.last_count, count);
    }
}

#[test]
fn what_can_be_marked_is_marked_on_the_same_schedule() {
    let marking = CodelConfig { ecn: EcnMarking::On, ..ample() };
    let mut queue = CodelQueue::new(&marking);
    (0..9_000)
        .for_each(|n| queue.enqueue(Waiting { ect: true, ..waiting(n, ms(0)) }, None).unwrap());
    let (mut marks, mut acts) = (Vec::new(), VecDeque::new());
    for at in 0..450 {
        let sent = queue.dequeue(ms(at), &mut acts).unwrap();
        assert_eq!(u64::from(sent.ticket.packet.0), at, "nothing is dropped");
        for act in acts.drain(..) {
            assert_eq!(act, QueueAct::Marked(sent.ticket));
            marks.push(at);
        }
    }
    assert_eq!(marks, [105, 205, 276, 334, 384, 429]);
}

#[test]
fn the_limit_holds() {
    let config = CodelConfig { limit: Limit::Packets(2), ..CodelConfig::default() };
    let mut queue = CodelQueue::new(&config);
    let verdicts = [0, 1, 2].map(|n| queue.enqueue(waiting(n, ms(0)), None));
    assert_eq!(verdicts, [Ok(()), Ok(()), Err(DropCause::QueueFull)]);
    assert_eq!(queue.level(), QueueLevel { packets: 2, bytes: 2_000 });
}

#[test]
fn senseless_parameters_are_named() {
    let plain = CodelConfig::default();
    let key = |config: CodelConfig| config.problem().map(|(key, _)| key);
    assert_eq!(key(plain), None);
    assert_eq!(key(CodelConfig { target: Duration::ZERO, ..plain }), Some("target"));
    assert_eq!(key(CodelConfig { interval: Duration::from_millis(4), ..plain }), Some("interval"));
    assert_eq!(key(CodelConfig { limit: Limit::Packets(0), ..plain }), Some("limit"));
}
