use std::vec::Vec;

use super::*;

const RTT: Duration = Duration::from_millis(40);
const RTO: Duration = Duration::from_millis(1000);
const TIMING: Timing = Timing { rtt: RTT, rto: RTO };

/// A discovery and the path that it is about: what is larger than its MTU disappears.
struct Path {
    plpmtu: Plpmtu,
    mtu: u32,
    now: Instant,
    nonce: u64,
    /// When and of which size probes were sent.
    probes: Vec<(Instant, u32)>,
}

impl Path {
    fn new(limits: SizeLimits, mtu: u32) -> Self {
        let mut plpmtu = Plpmtu::new(limits);
        plpmtu.connect();
        Self { plpmtu, mtu, now: Instant::ZERO + RTT, nonce: 0, probes: Vec::new() }
    }

    fn v4(max: u32, mtu: u32) -> Self {
        Self::new(SizeLimits::new(28, 576, max), mtu)
    }

    /// Sends the probe that is wanted now, if any, and answers it after a round trip if it passes.
    fn step(&mut self) -> bool {
        let Some(size) = self.plpmtu.take(self.now) else { return false };
        self.nonce += 1;
        self.probes.push((self.now, size));
        self.plpmtu.on_sent(self.now, self.nonce, size, TIMING);
        if size <= self.mtu {
            self.now += RTT;
            assert!(self.plpmtu.on_answer(self.now, self.nonce));
        }
        true
    }

    /// Lets time pass, in the steps that timers take.
    fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.step() || self.plpmtu.deadline().is_some_and(|due| due <= end) {
            if let Some(due) = self.plpmtu.deadline().filter(|due| *due <= end) {
                self.now = self.now.max(due);
                self.plpmtu.expire(self.now, Traffic::Some);
            }
        }
        self.now = self.now.max(end);
    }

    fn sizes(&self) -> Vec<u32> {
        self.probes.iter().map(|probe| probe.1).collect()
    }

    /// Finds its MTU and forgets which probes that took.
    fn settled(max: u32, mtu: u32) -> Self {
        let mut path = Self::v4(max, mtu);
        path.run_for(Duration::from_secs(60));
        assert_eq!(path.plpmtu.phase, PlpmtuState::Complete);
        path.probes.clear();
        path
    }
}

#[test]
fn limits_count_the_headers() {
    for (case, headers, least, max, expected) in [
        ("UDP over IPv4", 28, 576, 1500, (576, 1228, 1500)),
        ("IPv4", 20, 576, 1500, (576, 1220, 1500)),
        ("UDP over IPv6: its least MTU is more", 48, 1280, 1500, (1280, 1280, 1500)),
        ("jumbo frames", 28, 576, 9000, (576, 1228, 9000)),
        ("told to stay small", 28, 576, 1000, (576, 1000, 1000)),
        ("told to stay tiny", 28, 576, 300, (300, 300, 300)),
    ] {
        let SizeLimits { min, base, max } = SizeLimits::new(headers, least, max);
        assert_eq!((min, base, max), expected, "{case}");
    }
}

#[test]
fn the_usual_path_takes_two_probes() {
    let mut path = Path::v4(1500, 1500);
    assert_eq!(path.plpmtu.mtu(), Some(1228), "the base size until more is proved");
    assert_eq!(path.plpmtu.sought(), 1500);
    path.run_for(Duration::from_secs(500));
    assert_eq!((path.sizes(), path.plpmtu.sought()), ([1228, 1500].to_vec(), 1500));
    assert_eq!((path.plpmtu.mtu(), path.plpmtu.phase), (Some(1500), PlpmtuState::Complete));
}

#[test]
fn nothing_happens_before_the_path_works_or_after_it_failed() {
    let mut plpmtu = Plpmtu::new(SizeLimits::new(28, 576, 1500));
    assert_eq!((plpmtu.mtu(), plpmtu.deadline(), plpmtu.take(Instant::ZERO)), (None, None, None));
    plpmtu.on_too_big(Instant::ZERO, 1000);
    plpmtu.on_data_timeout(Instant::ZERO);
    assert_eq!(plpmtu.mtu(), None);
    let mut path = Path::settled(1500, 1500);
    path.plpmtu.disconnect();
    assert_eq!((path.plpmtu.mtu(), path.plpmtu.deadline()), (None, None));
    path.plpmtu.connect();
    path.run_for(Duration::from_secs(1));
    assert_eq!(path.sizes(), [1228, 1500], "all over again");
}

#[test]
fn a_size_fails_after_three_losses() {
    let mut path = Path::v4(1500, 1400);
    path.run_for(Duration::from_secs(60));
    let expected = [1228, 1500, 1500, 1500, 1280, 1358, 1400, 1420, 1420, 1420];
    assert_eq!(path.sizes(), expected);
    assert_eq!((path.plpmtu.mtu(), path.plpmtu.sought()), (Some(1400), 1400));
    let waits = path.probes.windows(2).map(|pair| pair[1].0.since(pair[0].0));
    let expected = [RTT, RTO, RTO, RTO, RTT, RTT, RTT, RTO, RTO];
    assert_eq!(waits.collect::<Vec<_>>(), expected);
}

#[test]
fn jumbo_frames_are_found() {
    for (mtu, expected) in [(9000, 9000), (8000, 7952), (1500, 1500), (1400, 1400), (65_535, 9000)]
    {
        let mut path = Path::v4(9000, mtu);
        path.run_for(Duration::from_secs(120));
        assert_eq!(path.plpmtu.mtu(), Some(expected), "{mtu}");
    }
}

#[test]
fn probes_wait_for_the_larger_of_a_second_and_the_rto() {
    for (rto, waits) in [(200, 1000), (1000, 1000), (3000, 3000)] {
        let mut plpmtu = Plpmtu::new(SizeLimits::new(28, 576, 1500));
        plpmtu.connect();
        let rto = Duration::from_millis(rto);
        plpmtu.on_sent(Instant::ZERO, 1, 1228, Timing { rtt: RTT, rto });
        let due = Instant::ZERO + Duration::from_millis(waits);
        assert_eq!(plpmtu.deadline(), Some(due));
        assert_eq!(plpmtu.take(due), None, "one at a time");
    }
}

#[test]
fn answers_count_once_and_in_time() {
    let mut path = Path::v4(1500, 0);
    path.step();
    assert!(!path.plpmtu.on_answer(path.now, path.nonce + 1), "another nonce");
    assert!(path.plpmtu.on_answer(path.now, path.nonce));
    assert!(!path.plpmtu.on_answer(path.now, path.nonce), "twice");
    path.run_for(RTT);
    let late = path.nonce;
    path.run_for(RTO);
    assert!(!path.plpmtu.on_answer(path.now, late), "too late");
    assert_eq!(path.plpmtu.mtu(), Some(1228));
}

#[test]
fn the_search_begins_again_after_ten_minutes() {
    let mut path = Path::settled(1500, 1400);
    path.mtu = 1500;
    path.run_for(Duration::from_secs(500));
    assert_eq!(path.sizes(), [0_u32; 0]);
    path.run_for(Duration::from_secs(100));
    assert_eq!(path.sizes(), [1500]);
    assert_eq!(path.plpmtu.mtu(), Some(1500));
}

#[test]
fn an_idle_path_is_not_probed_again() {
    let mut path = Path::settled(1500, 1400);
    for _ in 0..3 {
        path.now = path.plpmtu.deadline().expect("the raise timer");
        path.plpmtu.expire(path.now, Traffic::None);
        assert_eq!(path.plpmtu.take(path.now), None);
        assert_eq!(path.plpmtu.deadline(), Some(path.now + RAISE_INTERVAL));
    }
}

#[test]
fn a_black_hole_is_noticed_by_data_and_confirmed_by_probes() {
    let mut path = Path::settled(1500, 1500);
    path.mtu = 1400;
    path.plpmtu.on_data_timeout(path.now);
    assert_eq!(path.plpmtu.mtu(), Some(1500), "one timeout says little");
    path.run_for(Duration::from_secs(60));
    let expected = [1500, 1500, 1228, 1500, 1500, 1500, 1280, 1358, 1400, 1420, 1420, 1420];
    assert_eq!(path.sizes(), expected);
    assert_eq!((path.plpmtu.mtu(), path.plpmtu.counts.black_holes), (Some(1400), 1));
}

#[test]
fn three_timeouts_are_a_black_hole_without_probes() {
    let mut path = Path::settled(1500, 1400);
    for mtu in [1400, 1400, 1228] {
        path.plpmtu.on_data_timeout(path.now);
        assert_eq!(path.plpmtu.mtu(), Some(mtu));
    }
    assert_eq!(path.plpmtu.phase, PlpmtuState::Base);
}

#[test]
fn an_answer_removes_all_doubts() {
    let mut path = Path::settled(1500, 1500);
    for _ in 0..10 {
        path.plpmtu.on_data_timeout(path.now);
        path.plpmtu.on_data_timeout(path.now);
        path.run_for(Duration::from_secs(2));
    }
    assert_eq!((path.plpmtu.mtu(), path.plpmtu.counts.black_holes), (Some(1500), 0));
}

#[test]
fn a_doubt_comes_before_the_search() {
    let mut path = Path::v4(1500, 1300);
    path.run_for(RTT);
    assert_eq!(path.sizes(), [1228, 1500]);
    path.plpmtu.on_data_timeout(path.now);
    path.run_for(RTT * 2);
    assert_eq!(path.sizes()[2..], [1228, 1500], "and then it goes on");
}

#[test]
fn a_doubtful_path_is_left_alone() {
    let mut path = Path::settled(1500, 1500);
    path.plpmtu.on_data_timeout(path.now);
    path.plpmtu.pause();
    path.run_for(Duration::from_secs(100));
    assert_eq!(path.sizes(), [0_u32; 0]);
    assert_eq!(path.plpmtu.mtu(), Some(1500));
    path.plpmtu.connect();
    path.run_for(Duration::from_secs(1));
    assert_eq!(path.sizes(), [1500], "what was doubtful is verified");
}

#[test]
fn paths_below_the_base_size_are_served() {
    let mut path = Path::v4(1500, 1000);
    path.run_for(Duration::from_secs(60));
    assert_eq!(path.sizes()[..8], [1228, 1228, 1228, 576, 1228, 1228, 1228, 1006]);
    assert_eq!(path.plpmtu.phase, PlpmtuState::Error(Floor::Proven));
    let mtu = path.plpmtu.mtu().expect("it works");
    assert!((970..=1000).contains(&mtu), "{mtu}");
    path.mtu = 1500;
    path.run_for(RAISE_INTERVAL);
    assert_eq!(path.plpmtu.mtu(), Some(1500));
}

#[test]
fn a_black_hole_below_the_base_size_is_not_verified_twice() {
    let mut path = Path::v4(1500, 1300);
    path.run_for(RTT);
    assert_eq!(path.plpmtu.mtu(), Some(1228));
    path.mtu = 600;
    path.probes.clear();
    path.plpmtu.on_data_timeout(path.now);
    path.run_for(Duration::from_secs(4));
    assert_eq!(path.sizes()[..3], [1228, 1228, 576]);
    assert_eq!(path.plpmtu.phase, PlpmtuState::Error(Floor::Proven));
    // Nor is a size below it, which a path had until then.
    path.run_for(Duration::from_secs(100));
    path.mtu = 576;
    path.probes.clear();
    path.plpmtu.on_data_timeout(path.now);
    path.run_for(Duration::from_secs(2));
    let sizes = path.sizes();
    assert!(sizes[0] > 576 && sizes[0] <= 600 && sizes[..2] == [sizes[0]; 2], "{sizes:?}");
    assert_eq!(path.sizes()[2], 576);
    assert_eq!((path.plpmtu.mtu(), path.plpmtu.counts.black_holes), (Some(576), 2));
}

#[test]
fn an_outage_is_no_small_mtu() {
    let mut path = Path::v4(1500, 0);
    path.run_for(Duration::from_secs(100));
    assert_eq!(path.plpmtu.phase, PlpmtuState::Error(Floor::Unproven));
    assert_eq!(path.plpmtu.mtu(), Some(1228), "nothing passes, whatever its size");
    path.mtu = 1500;
    path.probes.clear();
    path.run_for(Duration::from_secs(2));
    assert_eq!(path.sizes(), [576, 1228, 1500]);
    assert_eq!(path.plpmtu.mtu(), Some(1500));
}

#[test]
fn a_path_that_fails_before_three_probes_are_lost_is_served_too() {
    for doubt in [Plpmtu::pause, Plpmtu::fail] {
        let mut path = Path::v4(1500, 1000);
        for _ in 0..3 {
            path.step();
            path.now += Duration::from_millis(900);
            doubt(&mut path.plpmtu);
            path.plpmtu.connect();
        }
        path.run_for(Duration::from_secs(1));
        assert_eq!(path.plpmtu.phase, PlpmtuState::Error(Floor::Proven), "{:?}", path.sizes());
    }
}

#[test]
fn the_least_size_of_ipv6_is_its_base() {
    let mut path = Path::new(SizeLimits::new(48, 1280, 1500), 0);
    path.run_for(Duration::from_secs(20));
    assert!(path.sizes().iter().all(|size| *size == 1280));
    path.mtu = 1280;
    path.run_for(Duration::from_secs(20));
    assert_eq!((path.plpmtu.mtu(), path.plpmtu.phase), (Some(1280), PlpmtuState::Complete));
}

/// RFC 8899 section 4.6.2, case by case.
#[test]
fn messages_of_routers_are_judged_by_their_size() {
    for (case, told, mtu, next) in [
        ("below the least size", 500, 1400, None),
        ("below the base size: it is to be confirmed first", 1000, 1228, Some(1228)),
        ("the base size", 1228, 1228, None),
        ("below the MTU", 1300, 1228, Some(1300)),
        ("the MTU", 1400, 1400, None),
        ("more than was sent", 1450, 1400, None),
    ] {
        let mut path = Path::settled(1500, 1400);
        path.plpmtu.on_too_big(path.now, told);
        assert_eq!(path.plpmtu.mtu(), Some(mtu), "{case}");
        assert_eq!(path.plpmtu.take(path.now), next, "{case}");
    }
}

#[test]
fn messages_shorten_the_search() {
    for (case, told, expected) in [
        ("less than probed", 1390, &[1228, 1500, 1390][..]),
        ("the base size: nothing is left to find", 1228, &[1228, 1500]),
        ("what was probed", 1500, &[1228, 1500]),
    ] {
        let mut path = Path::v4(1500, 1395);
        path.run_for(RTT);
        assert_eq!(path.sizes(), [1228, 1500]);
        path.plpmtu.on_too_big(path.now, told);
        path.run_for(RTT);
        assert_eq!(path.sizes(), expected, "{case}");
    }
    let mut path = Path::v4(1500, 1395);
    path.run_for(RTT);
    path.plpmtu.on_too_big(path.now, 1390);
    path.run_for(Duration::from_secs(1));
    assert_eq!((path.plpmtu.mtu(), path.plpmtu.phase), (Some(1390), PlpmtuState::Complete));
}

#[test]
fn probes_are_a_round_trip_apart_even_after_messages() {
    let mut path = Path::v4(1500, 1395);
    path.run_for(RTT);
    let sent = path.probes[1].0;
    let told = sent + Duration::from_millis(5);
    path.plpmtu.on_too_big(told, 1390);
    assert_eq!(path.plpmtu.take(told), None);
    assert_eq!(path.plpmtu.deadline(), Some(sent + RTT));
}

#[test]
fn an_answer_ends_the_wait_for_a_round_trip_that_was_not_measured() {
    let mut plpmtu = Plpmtu::new(SizeLimits::new(28, 576, 1500));
    plpmtu.connect();
    plpmtu.on_sent(Instant::ZERO, 1, 1228, Timing { rtt: RTO, rto: RTO });
    assert!(plpmtu.on_answer(Instant::ZERO + RTT, 1));
    assert_eq!(plpmtu.take(Instant::ZERO + RTT), Some(1500));
}

#[test]
fn a_small_mtu_that_routers_tell_is_found_at_once() {
    let mut path = Path::v4(1500, 1000);
    path.step();
    path.plpmtu.on_too_big(path.now, 1000);
    path.run_for(RTT * 4);
    assert_eq!(path.sizes(), [1228, 576, 1000]);
    assert_eq!(path.plpmtu.mtu(), Some(1000));
    path.mtu = 700;
    path.plpmtu.on_too_big(path.now, 700);
    path.run_for(RTT * 4);
    assert_eq!(path.sizes()[3..], [576, 700], "and smaller");
    assert_eq!(path.plpmtu.mtu(), Some(700));
}

#[test]
fn a_false_message_is_found_out() {
    let mut path = Path::v4(1500, 1500);
    path.run_for(RTT * 3);
    path.plpmtu.on_too_big(path.now, 1300);
    path.run_for(RAISE_INTERVAL + RTT);
    assert_eq!(path.plpmtu.mtu(), Some(1500));
}

/// Whatever happens, the MTU stays within its limits, and once the path holds still it is found.
#[test]
fn random_events_never_confuse_it() {
    let mut seed = 7_u64;
    let mut draw = |below: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 33) as u32) % below
    };
    for round in 0..2000 {
        let max = [1500, 9000, 1228, 600][draw(4) as usize];
        let mut path = Path::v4(max, draw(max + 500));
        let limits = path.plpmtu.limits;
        for _ in 0..draw(30) {
            match draw(9) {
                0 => path.mtu = draw(max + 500),
                1 => path.plpmtu.on_too_big(path.now, draw(max + 500)),
                2 => path.plpmtu.on_data_timeout(path.now),
                3 => path.plpmtu.pause(),
                4 => path.plpmtu.disconnect(),
                5 => path.plpmtu.connect(),
                6 => path.plpmtu.fail(),
                _ => path.run_for(Duration::from_millis(draw(4000).into())),
            }
            let mtu = path.plpmtu.mtu().unwrap_or(limits.min);
            assert!((limits.min..=limits.max).contains(&mtu), "{round}: {mtu}");
        }
        path.plpmtu.disconnect();
        path.mtu = limits.min + draw(max - limits.min + 1);
        path.plpmtu.connect();
        // What is too large is noticed by data only.
        for _ in 0..3 {
            path.run_for(Duration::from_secs(5));
            if path.plpmtu.mtu().is_some_and(|mtu| mtu > path.mtu) {
                path.plpmtu.on_data_timeout(path.now);
            }
        }
        path.run_for(RAISE_INTERVAL + Duration::from_secs(120));
        let (found, truth) = (path.plpmtu.mtu().expect("it works"), path.mtu);
        assert!(found <= truth && truth - found <= (found / 32).max(8), "{round}: {truth} {found}");
    }
}
