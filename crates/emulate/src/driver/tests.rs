use std::cell::Cell;
use std::collections::VecDeque;

use polypath_sim::Scenario;
use polypath_sim::document::Document;

use super::*;

/// Two external hosts, a path of 10 Mbit/s and 20 ms each way.
const SCENARIO: &str = r#"
title = "One path"
[run]
duration = "10 s"
[record]
occupancy = "10 s"
[[network.disjoint.paths]]
name = "left"
bottleneck = { rate = "10 Mbit/s", delay = "20 ms", queue = { drop-tail = { packets = 3 } } }
[hosts.a]
external = true
[hosts.b]
external = true
"#;

fn scenario() -> Scenario {
    let document = Document::parse("test.toml", SCENARIO).unwrap();
    Scenario::from_document(&document).unwrap()
}

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// A clock that somebody else turns, and that goes on by a step whenever it is read.
#[derive(Default)]
struct FakeClock(Cell<Instant>, Cell<Duration>);

impl Clock for FakeClock {
    fn now(&self) -> Instant {
        self.0.replace(self.0.get() + self.1.get())
    }
}

/// Devices in memory.
#[derive(Default)]
struct FakeDevices {
    from_programs: VecDeque<(usize, Bytes)>,
    to_programs: Vec<(usize, Vec<u8>)>,
}

impl Devices for FakeDevices {
    fn receive(&mut self, host: usize, _port: usize) -> io::Result<Option<Bytes>> {
        let place = self.from_programs.iter().position(|(from, _)| *from == host);
        Ok(place.and_then(|place| self.from_programs.remove(place)).map(|(_, packet)| packet))
    }

    fn deliver(&mut self, host: usize, _port: usize, packet: &[u8]) -> bool {
        self.to_programs.push((host, packet.to_vec()));
        true
    }
}

/// An IPv4 packet of `length` bytes from host a to host b, or back, with a number in it.
fn packet(from: usize, length: u16, number: u8) -> (usize, Bytes) {
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, number, 0x40, 0, 64, 17, 0, 0]);
    let last = [1 + from as u8, 2 - from as u8];
    packet.extend([10, 1, 1, last[0], 10, 1, 1, last[1]]);
    packet.resize(length.into(), number);
    (from, packet.into())
}

struct Bench<'a> {
    driver: Driver<'a>,
    clock: FakeClock,
    devices: FakeDevices,
}

impl<'a> Bench<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let driver = Driver::new(Live::new(scenario, 1).unwrap());
        Self { driver, clock: FakeClock::default(), devices: FakeDevices::default() }
    }

    /// A turn at this time; what programs got, by host and number, and when to come back.
    fn turn(&mut self, at: Instant) -> (Vec<(usize, u8)>, Instant) {
        self.clock.0.set(at);
        let next = self.driver.turn(&self.clock, &mut self.devices).unwrap();
        let got = self.devices.to_programs.drain(..).map(|(host, packet)| (host, packet[5]));
        (got.collect(), next)
    }
}

#[test]
fn packets_take_the_time_that_the_link_takes() {
    let scenario = scenario();
    let mut bench = Bench::new(&scenario);
    // 1250 bytes at 10 Mbit/s are 1 ms, then 20 ms on the way.
    bench.devices.from_programs.extend([packet(0, 1_250, 7), packet(0, 1_250, 8)]);
    let (got, next) = bench.turn(us(500));
    assert_eq!((got, next), (vec![], us(10_500)), "nothing is due; it sleeps 10 ms at most");
    assert_eq!(bench.turn(us(10_500)).0, []);
    let (got, next) = bench.turn(us(20_000));
    assert_eq!((got, next), (vec![], us(21_500)));
    let (got, next) = bench.turn(us(21_500));
    assert_eq!((got, next), (vec![(1, 7)], us(22_500)));
    assert_eq!(bench.turn(us(22_500)).0, [(1, 8)]);
    let timing = bench.driver.timing().outcome(us(22_500));
    assert_eq!((timing.deliveries.max_s, timing.behind_s), (Some(0.0), 0.0));
    assert_eq!(bench.driver.counts()[0][0].sent, 2);
    assert_eq!(bench.driver.counts()[1][0].received, 2);
}

#[test]
fn after_a_late_wake_up_everything_happens_in_order_and_the_delay_is_known() {
    let scenario = scenario();
    let mut bench = Bench::new(&scenario);
    bench.devices.from_programs.extend((1..=4).map(|number| packet(0, 1_250, number)));
    bench.devices.from_programs.push_back(packet(1, 1_250, 9));
    bench.turn(us(1_000));
    // All are through by 25 ms; the emulation sleeps until 125 ms. An answer that is seen then is of then.
    bench.devices.from_programs.push_back(packet(1, 1_250, 10));
    let (got, next) = bench.turn(us(125_000));
    assert_eq!(got, [(1, 1), (0, 9), (1, 2), (1, 3), (1, 4)]);
    assert_eq!(next, us(135_000));
    let timing = bench.driver.timing().outcome(us(125_000));
    assert_eq!(timing.deliveries.count, 5);
    assert_eq!(timing.deliveries.max_s, Some(0.103));
    assert!((timing.behind_s - 0.114).abs() < 1e-9, "since the alarm at 11 ms: {timing:?}");
    assert_eq!(bench.turn(us(145_999)).0, []);
    assert_eq!(bench.turn(us(146_000)).0, [(0, 10)]);
}

#[test]
fn an_emulation_that_is_never_done_with_an_interface_is_behind() {
    let scenario = scenario();
    let behind = |groups: &[usize]| {
        let mut bench = Bench::new(&scenario);
        // A packet takes 10 us.
        bench.clock.1.set(Duration::from_micros(10));
        let mut next = us(0);
        for group in groups {
            bench.devices.from_programs.extend((0..*group).map(|_| packet(0, 100, 1)));
            let until = next + Duration::from_millis(5);
            while next < until {
                let (_, alarm) = bench.turn(next);
                // It sleeps only where nothing waits.
                let is_done = bench.devices.from_programs.is_empty();
                let now = bench.clock.now();
                next = if is_done { alarm.min(until).max(now) } else { now };
            }
        }
        bench.driver.timing().outcome(next)
    };
    let (at_once, in_groups) = (behind(&[200]), behind(&[20; 10]));
    assert_eq!((at_once.intake.count, in_groups.intake.count), (200, 200));
    assert!(at_once.behind_s > 0.0015, "{at_once:?}");
    assert_eq!(in_groups.behind_s, 0.0, "{in_groups:?}");
    assert!(in_groups.intake.max_s.unwrap() < 0.001, "{in_groups:?}");
    assert!(at_once.busy_share > 0.2 && in_groups.busy_share < 0.1, "{at_once:?} {in_groups:?}");
}

#[test]
fn queues_drop_and_count_as_in_virtual_time() {
    let scenario = scenario();
    let mut bench = Bench::new(&scenario);
    // One is being sent, three wait, two find the queue full.
    bench.devices.from_programs.extend((1..=6).map(|number| packet(0, 1_250, number)));
    bench.turn(us(0));
    assert_eq!(bench.turn(us(60_000)).0.len(), 4);
    let links = bench.driver.into_live().links();
    let [forward, backward] = &links[..] else { panic!("{links:?}") };
    assert_eq!((forward.link.as_str(), &*forward.from, &*forward.to), ("left", "A", "B"));
    assert_eq!(
        (forward.offered_packets, forward.delivered_packets, forward.queue_max_packets),
        (6, 4, 3)
    );
    let [dropped] = &forward.dropped[..] else { panic!("{:?}", forward.dropped) };
    assert_eq!((dropped.packets, dropped.cause.as_str()), (2, "queue-full"));
    assert_eq!(backward.offered_packets, 0);
}

#[test]
fn packets_that_have_no_way_are_refused() {
    let scenario = scenario();
    let mut bench = Bench::new(&scenario);
    let (_, good) = packet(0, 100, 1);
    let mut foreign = good.to_vec();
    foreign[15] = 99;
    let mut group = good.to_vec();
    group[16..20].copy_from_slice(&[224, 0, 0, 1]);
    let wrong =
        [Bytes::from(foreign), group.into(), Bytes::from_static(b"no packet"), Bytes::new()];
    bench.devices.from_programs.extend(wrong.map(|packet| (0, packet)));
    bench.devices.from_programs.push_back((1, good));
    bench.turn(us(0));
    let counts = bench.driver.counts();
    assert_eq!((counts[0][0].refused, counts[0][0].sent), (4, 0));
    assert_eq!((counts[1][0].refused, counts[1][0].sent), (1, 0), "the other host's address");
}
