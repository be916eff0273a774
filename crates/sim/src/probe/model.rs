//! The minimum blocking time of `sarwar` section V, equations 2 to 4.

use polypath_netsim::topology::{Duplex, PathConfig};
use polypath_netsim::{ChannelConfig, Direction};
use polypath_units::{ByteCount, Duration};

/// A path in the model of blocking times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathModel {
    /// Time between packets, L / C_p.
    pub packet_time: Duration,
    /// Delay D of a packet without its own transmission, which the model counts as part of the departure.
    pub delay: Duration,
}

impl PathModel {
    /// The path of packets of `bytes`, with its slowest link and all its delays.
    pub(super) fn of(path: &PathConfig, direction: Direction, bytes: ByteCount) -> Self {
        // Packets cross an access link at either end.
        let access = || path.access.iter();
        let further = path.before.iter().chain([&path.bottleneck]).chain(&path.after);
        let links = access().chain(further).chain(access());
        let channels = links.map(|link| side(link, direction));
        channels.fold(Self { packet_time: Duration::ZERO, delay: Duration::ZERO }, |model, link| {
            let time = link.rate.transmission_time(bytes + link.framing);
            Self { packet_time: model.packet_time.max(time), delay: model.delay + link.delay }
        })
    }
}

fn side(link: &Duplex, direction: Direction) -> &ChannelConfig {
    match direction {
        Direction::Forward => &link.forward,
        Direction::Backward => &link.backward,
    }
}

/// T_block of packets whose paths, in the order of their sequence numbers, are `order`: all paths send at once, the nth
/// packet of a path departs at n L / C_p (equation 2), and T_block = max_i (max_{j<i} (a_j + D_j) - (a_i + D_i))
/// (equation 3). Paths that are not among `paths` deliver at once.
pub fn blocking_time(order: &[usize], paths: &[PathModel]) -> Duration {
    let mut counts = vec![0; paths.len()];
    let (mut latest, mut longest) = (Duration::ZERO, Duration::ZERO);
    for &path in order {
        let arrival = counts.get_mut(path).zip(paths.get(path)).map(|(count, path)| {
            *count += 1;
            path.packet_time * *count + path.delay
        });
        let arrival = arrival.unwrap_or_default();
        longest = longest.max(latest - arrival);
        latest = latest.max(arrival);
    }
    longest
}

/// A path with a constant congestion window: it sends this many packets at the beginning of each round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConstantWindow {
    /// Its packet time and delay.
    pub path: PathModel,
    /// Time between rounds; must not be zero.
    pub round_trip: Duration,
    /// Packets in a round.
    pub packets: usize,
}

/// The first time a receive window was full (`sarwar` section IV-A, fig. 5), from the beginning of the first round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowBlocking {
    /// Arrival of the last packet that the window admitted before the missing one.
    pub full: Duration,
    /// When all of them had arrived and the receive buffer was empty.
    pub released: Duration,
}

/// A window that is not full after this many rounds never will be.
const ROUNDS: usize = 10_000;

/// When packets in constant windows fill a receive window of `window` packets; `None` if they never do.
///
/// Rounds that begin at the same time number their packets in the order of the paths. The sender learns of arrivals at
/// once.
pub fn window_blocking(paths: &[ConstantWindow], window: usize) -> Option<WindowBlocking> {
    let mut rounds = vec![0; paths.len()];
    let mut arrivals: Vec<Duration> = Vec::new();
    // All packets before it have arrived.
    let mut missing = 0;
    for _ in 0..ROUNDS {
        let turns = paths.iter().zip(&rounds).map(|(path, round)| path.round_trip * *round);
        let (now, turn) = turns.zip(0..).min()?;
        let path = &paths[turn];
        rounds[turn] += 1;
        missing += arrivals[missing..].iter().take_while(|arrival| **arrival <= now).count();
        let room = (missing + window).saturating_sub(arrivals.len());
        let sent = 1..=path.packets.min(room) as u64;
        arrivals.extend(sent.map(|n| now + path.path.packet_time * n + path.path.delay));
        if room < path.packets && missing < arrivals.len() {
            let hole = arrivals[missing];
            let held = arrivals[missing..].iter().filter(|arrival| **arrival < hole).max();
            let released = *arrivals.iter().max()?;
            return Some(WindowBlocking { full: *held.unwrap_or(&now), released });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use polypath_units::BitRate;

    use super::*;

    /// WiFi and 3G of `sarwar` section IV-A: 10 Mbit/s with 20 ms and 1 Mbit/s with 400 ms round-trip time.
    const PATHS: [PathModel; 2] = [
        PathModel { packet_time: Duration::from_micros(1_200), delay: Duration::from_millis(10) },
        PathModel { packet_time: Duration::from_millis(12), delay: Duration::from_millis(200) },
    ];

    #[test]
    fn the_slowest_link_of_a_path_sets_the_pace() {
        let channel = |mbit, ms| {
            let framing = ByteCount::from_bytes(50);
            let delay = Duration::from_millis(ms);
            ChannelConfig { framing, ..ChannelConfig::new(BitRate::from_mbit(mbit), delay) }
        };
        let backward = Duplex { forward: channel(10, 1), backward: channel(1, 1) };
        let plain = PathConfig { after: vec![backward], ..PathConfig::direct("p", channel(8, 20)) };
        let narrow = PathConfig { access: Some(channel(4, 3).into()), ..plain.clone() };
        let bytes = ByteCount::from_bytes(950);
        let model = |path, way| {
            let PathModel { packet_time, delay } = PathModel::of(path, way, bytes);
            (packet_time.as_micros(), delay.as_millis())
        };
        assert_eq!(model(&plain, Direction::Forward), (1_000, 21));
        assert_eq!(model(&plain, Direction::Backward), (8_000, 21));
        assert_eq!(model(&narrow, Direction::Forward), (2_000, 27));
    }

    #[test]
    fn blocking_times_are_those_of_the_equations() {
        // Ten packets on the first path, two on the second, and so on. With the paper's window of 44 packets, the 36th
        // packet of the first path arrives after 1.2 * 36 + 10 ms, and the sixth of the second after 12 * 6 + 200 ms.
        let order: Vec<usize> = (0..44).map(|i| usize::from(i % 12 >= 10)).collect();
        assert_eq!(order.iter().filter(|path| **path == 1).count(), 6);
        // The longest wait is that of the first packet after the second pair of the slow path, or of a later one.
        let first_after = |round: u64| {
            let slow = 12 * 2 * round + 200;
            let fast = 1.2 * (10.0 * round as f64 + 1.0) + 10.0;
            slow as f64 - fast
        };
        let expected = (1..=3).map(first_after).fold(0.0, f64::max);
        let found = blocking_time(&order, &PATHS).as_secs_f64() * 1e3;
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        assert!((found - (272.0 - 47.2)).abs() < 1e-6, "{found}");
    }

    #[test]
    fn the_example_of_the_paper_blocks_from_110_to_210_ms() {
        let [wifi, umts] = PATHS;
        let paths = [
            ConstantWindow { path: wifi, round_trip: Duration::from_millis(20), packets: 10 },
            ConstantWindow { path: umts, round_trip: Duration::from_millis(400), packets: 2 },
        ];
        let found = window_blocking(&paths, 44).expect("a window that is full");
        assert!(found.full.as_millis().abs_diff(110) <= 5, "{found:?}");
        assert!(found.released.as_millis().abs_diff(210) <= 15, "{found:?}");
        // A window that holds all packets of the fast path during the delay of the slow one is never full.
        assert_eq!(window_blocking(&paths[..1], 44), None);
        assert_eq!(window_blocking(&paths, 300), None);
        assert_eq!(window_blocking(&[], 44), None);
    }

    #[test]
    fn equal_paths_in_turn_block_for_no_more_than_a_packet() {
        let equal = [PATHS[0]; 2];
        let order: Vec<usize> = (0..40).map(|i| i % 2).collect();
        assert_eq!(blocking_time(&order, &equal), Duration::ZERO);
        assert_eq!(blocking_time(&[], &equal), Duration::ZERO);
        assert_eq!(blocking_time(&[1, 1, 1], &PATHS), Duration::ZERO);
        assert_eq!(blocking_time(&[1, 0], &PATHS), Duration::from_micros(212_000 - 11_200));
    }
}
