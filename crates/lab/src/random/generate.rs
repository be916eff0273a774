//! Draws networks.

use super::change::{self, Change};
use super::draw::{Draw, rounded};
use super::kind::{Kind, Ranges};
use super::network::{Loss, Network, PACKET_BYTES, Path, Return, Traffic};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// Minimum size of a queue in packets.
const SHORTEST_QUEUE: u64 = 5;
/// Maximum number of packets that the paths could carry during a run; longer runs are shortened, down to [`FEWEST_ROUND_TRIPS`].
const COST_PACKETS: u64 = 1_000_000;
/// The shortest run, in milliseconds, and in round trips.
const SHORTEST_MS: u64 = 10_000;
const ROUND_TRIPS: u64 = 30;
const FEWEST_ROUND_TRIPS: u64 = 10;
/// Time limit for a file, or for the last response, in milliseconds.
const DEADLINE_MS: u64 = 7_200_000;
/// Duration of a call, and time limit for its last messages, in milliseconds.
pub(super) const CALL_MS: u64 = 60_000;
const CALL_END_MS: u64 = 60_000;

impl Network {
    /// Network `number` of the sample with this seed. It depends on kind, seed and number only, and files of every length
    /// go over the same networks.
    pub fn draw(kind: Kind, seed: u64, number: u32) -> Self {
        let mut draw = Draw::of(seed, &format!("random network 1/{}/{number}", kind.name()));
        let draw = &mut draw;
        let ranges = kind.ranges();
        let mut paths = draw_paths(draw, &ranges);
        draw_losses(draw, &ranges, &mut paths);
        let (send_buffer, receive_buffer) = draw_buffers(draw);
        let unordered = draw.percent(30);
        let (traffic, message_bytes) = draw_traffic(draw, kind, send_buffer.min(receive_buffer));
        let change = (kind == Kind::Changing).then(|| Change::draw(draw, &paths));
        let seed = draw.seed();
        let duration_ms = duration(kind, &paths);
        Self {
            kind,
            number,
            paths,
            send_buffer,
            receive_buffer,
            message_bytes,
            unordered,
            traffic,
            change,
            duration_ms,
            seed,
        }
    }
}

/// Paths without losses. In a quarter of the networks they are similar, since random ones hardly ever are.
fn draw_paths(draw: &mut Draw, ranges: &Ranges) -> Vec<Path> {
    let (three, four) = ranges.more_paths;
    let count = draw.pick(2, &[(three, 3), (four, 4)]);
    let similar = draw.percent(25);
    let mut paths: Vec<Path> = Vec::new();
    for _ in 0..count {
        let near = paths.first().copied().filter(|_| similar);
        paths.push(draw_path(draw, ranges, near));
    }
    paths
}

/// A path, within a factor of 1.5 of another one if it is to be similar.
fn draw_path(draw: &mut Draw, ranges: &Ranges, near: Option<Path>) -> Path {
    let mut whole = |(from, to): (u64, u64), near: Option<u64>| match near {
        Some(near) => rounded(near as f64 * draw.log_uniform(1.0 / 1.5, 1.5)).clamp(from, to),
        None => draw.whole(from, to),
    };
    let rate = whole(ranges.rate, near.map(|path| path.rate));
    let delay = whole(ranges.delay, near.map(|path| path.delay));
    let back = (draw.percent(30) && ranges.asymmetric).then(|| Return {
        rate: rounded(rate as f64 * draw.log_uniform(0.05, 1.0)),
        delay: rounded(delay as f64 * draw.uniform(1.0, 2.0)),
    });
    let mut path = Path { rate, delay, queue: 0, red: false, loss: Loss::None, back };
    path.queue = if draw.percent(50) {
        let product = rate as f64 * path.round_trip() as f64 / 8e6 / PACKET_BYTES as f64;
        rounded(product * draw.log_uniform(0.2, 8.0)).max(SHORTEST_QUEUE)
    } else {
        draw.whole(10, 1_000)
    };
    path.red = draw.percent(20);
    if path.red {
        // Random early detection needs room between its thresholds.
        path.queue = path.queue.max(4 * SHORTEST_QUEUE);
    }
    path
}

/// Losses of the paths.
fn draw_losses(draw: &mut Draw, ranges: &Ranges, paths: &mut [Path]) {
    #[derive(Clone, Copy)]
    enum Losses {
        None,
        One,
        All,
        Bursts,
    }
    let bursts = if ranges.bursts { 10 } else { 0 };
    let shares = [(25, Losses::One), (20, Losses::All), (bursts, Losses::Bursts)];
    let losses = draw.pick(Losses::None, &shares);
    let random = |draw: &mut Draw| Loss::Random(draw.whole(100, ranges.loss));
    let one = draw.below(paths.len());
    match losses {
        Losses::None => {}
        Losses::One => paths[one].loss = random(draw),
        Losses::All => paths.iter_mut().for_each(|path| path.loss = random(draw)),
        Losses::Bursts => {
            let (to_bad, to_good) = (draw.whole(100, 10_000), draw.whole(50_000, 500_000));
            paths[one].loss = Loss::Bursts { to_bad, to_good };
        }
    }
}

/// Send and receive buffer.
fn draw_buffers(draw: &mut Draw) -> (u64, u64) {
    #[derive(Clone, Copy)]
    enum Size {
        Of(u64),
        Drawn,
    }
    let size = draw.pick(Size::Drawn, &[(25, Size::Of(32 * MIB)), (15, Size::Of(MIB))]);
    let drawn = draw.whole(64 * KIB, 8 * MIB);
    let eighths = draw.pick(8, &[(15, 4), (15, 16)]);
    match size {
        Size::Of(bytes) => (bytes, bytes),
        Size::Drawn => (drawn, (drawn * eighths / 8).max(64 * KIB)),
    }
}

/// The traffic, and the length of messages; a buffer holds at least four.
fn draw_traffic(draw: &mut Draw, kind: Kind, buffer: u64) -> (Traffic, u64) {
    let message = draw.pick(1_452, &[(12, 10_000), (8, 64 * KIB), (10, 512)]);
    let message = if message * 4 > buffer { 10_000 } else { message };
    match kind {
        Kind::Bulk | Kind::Range | Kind::Changing => (Traffic::Saturated, message),
        Kind::File(size) => (Traffic::File(size.as_bytes()), message),
        Kind::Requests => {
            let request = draw.whole(100, 1_000);
            let response = draw.whole(200, 100_000).min(buffer / 4);
            let think_ms = draw.whole(10, 1_000);
            (Traffic::Requests { response, think_ms }, request)
        }
        Kind::Voice => (Traffic::Voice, 160),
    }
}

/// Duration of a run, in milliseconds; an upper limit for finite traffic.
fn duration(kind: Kind, paths: &[Path]) -> u64 {
    match kind {
        Kind::Changing => change::DURATION_MS,
        Kind::File(_) | Kind::Requests => DEADLINE_MS,
        Kind::Voice => CALL_MS + CALL_END_MS,
        Kind::Bulk | Kind::Range => {
            let round_trip_us = paths.iter().map(Path::round_trip).max().unwrap_or_default();
            let round_trips = |count: u64| (round_trip_us * count).div_ceil(1_000);
            let rate: u64 = paths.iter().map(|path| path.rate).sum();
            let cost_ms = COST_PACKETS * PACKET_BYTES * 8_000 / rate.max(1);
            SHORTEST_MS
                .max(round_trips(ROUND_TRIPS))
                .min(cost_ms)
                .max(round_trips(FEWEST_ROUND_TRIPS))
        }
    }
}

#[cfg(test)]
mod tests {
    use polypath_units::ByteCount;

    use super::*;

    const KINDS: [Kind; 6] = [
        Kind::Bulk,
        Kind::Range,
        Kind::File(ByteCount::from_bytes(10_000)),
        Kind::Requests,
        Kind::Voice,
        Kind::Changing,
    ];

    fn networks(kind: Kind, count: u32) -> Vec<Network> {
        (1..=count).map(|number| Network::draw(kind, 5, number)).collect()
    }

    /// How many of 100 networks fulfil a condition.
    fn share(networks: &[Network], fulfils: impl Fn(&Network) -> bool) -> usize {
        networks.iter().filter(|network| fulfils(network)).count() * 100 / networks.len()
    }

    #[test]
    fn a_network_depends_on_nothing_but_kind_seed_and_number() {
        for kind in KINDS {
            let alone = Network::draw(kind, 5, 7);
            assert_eq!(networks(kind, 9)[6], alone);
            assert_ne!(Network::draw(kind, 6, 7).paths, alone.paths);
            assert_ne!(Network::draw(kind, 5, 8).paths, alone.paths);
        }
        assert_ne!(Network::draw(Kind::Bulk, 5, 7).paths, Network::draw(Kind::Voice, 5, 7).paths);
        let small = Network::draw(Kind::File(ByteCount::from_bytes(10_000)), 5, 7);
        let large = Network::draw(Kind::File(ByteCount::from_bytes(10_000_000)), 5, 7);
        assert_eq!((small.paths, small.seed), (large.paths, large.seed));
    }

    /// A change here changes the networks of every seed: published figures could not be repeated.
    #[test]
    fn networks_are_what_they_were() {
        let bulk = Network::draw(Kind::Bulk, 1, 1);
        let description = "1.38 Mbit/s 0.147 ms queue 49 + 61.5 Mbit/s 224 ms queue 2990 loss 3.51 %; \
                           buffers 1033/2067 KiB; 1452 B ordered";
        assert_eq!(bulk.to_string(), description);
        let exact = [bulk.paths[0].rate, bulk.paths[1].rate, bulk.send_buffer, bulk.duration_ms];
        assert_eq!((exact, bulk.seed), ([1_376_290, 61_502_873, 1_058_118, 13_421], 1_228_398_650));
        let changing = Network::draw(Kind::Changing, 1, 2);
        let change = changing.change.map(|change| change.to_string());
        assert_eq!(
            (changing.seed, change.as_deref()),
            (645_178_831, Some("p1 has 0.71 Mbit/s and 40.7 ms from 20 s to 40 s"))
        );
    }

    #[test]
    fn every_value_is_in_its_range() {
        for kind in KINDS {
            let ranges = kind.ranges();
            for network in networks(kind, 400) {
                assert!((2..=4).contains(&network.paths.len()));
                for path in &network.paths {
                    assert!((ranges.rate.0..=ranges.rate.1).contains(&path.rate), "{network}");
                    assert!((ranges.delay.0..=ranges.delay.1).contains(&path.delay), "{network}");
                    assert!(path.queue >= if path.red { 20 } else { 5 }, "{network}");
                    match path.loss {
                        Loss::None => {}
                        Loss::Random(loss) => assert!((100..=ranges.loss).contains(&loss)),
                        Loss::Bursts { to_bad, to_good } => {
                            assert!(ranges.bursts && to_bad <= 10_000 && to_good >= 50_000);
                        }
                    }
                    assert!(ranges.asymmetric || path.back.is_none());
                }
                for buffer in [network.send_buffer, network.receive_buffer] {
                    assert!((64 * KIB..=32 * MIB).contains(&buffer), "{network}");
                    assert!(network.message_bytes * 4 <= buffer, "{network}");
                }
                assert_eq!(network.change.is_some(), kind == Kind::Changing);
            }
        }
    }

    #[test]
    fn runs_are_long_enough_and_not_too_long() {
        for network in networks(Kind::Bulk, 1_000) {
            let round_trip = network.paths.iter().map(Path::round_trip).max().expect("paths");
            let bits = network.paths.iter().map(|path| path.rate).sum::<u64>();
            let packets = bits * network.duration_ms / 8_000 / PACKET_BYTES;
            assert!(network.duration_ms * 1_000 >= 10 * round_trip, "{network}");
            let long =
                network.duration_ms >= 10_000 && network.duration_ms * 1_000 >= 30 * round_trip;
            assert!(long || packets * 100 >= COST_PACKETS * 99, "{network}");
            assert!(packets <= 3_000_000, "{packets} packets: {network}");
        }
    }

    /// Each share of 1,000 has a standard deviation of at most 1.6 per cent.
    #[test]
    fn shares_are_those_of_the_documentation() {
        let bulk = networks(Kind::Bulk, 1_000);
        let near = |found: usize, expected: usize| {
            assert!(found.abs_diff(expected) <= 6, "{found}, not {expected}");
        };
        near(share(&bulk, |network| network.paths.len() == 2), 60);
        near(share(&bulk, |network| network.paths.len() == 4), 20);
        near(share(&bulk, |network| network.paths[0].red), 20);
        near(share(&bulk, |network| network.paths[0].back.is_some()), 30);
        near(share(&bulk, |network| network.send_buffer == 32 * MIB), 25);
        near(share(&bulk, |network| network.unordered), 30);
        near(share(&bulk, |network| network.message_bytes == 1_452), 70);
        let lossless = |network: &Network| network.paths.iter().all(|path| path.loss == Loss::None);
        near(share(&bulk, lossless), 45);
        // Half of the orders of magnitude of the rates.
        near(share(&bulk, |network| network.paths[0].rate < 14_142_136), 50);
        let range = networks(Kind::Range, 1_000);
        near(share(&range, lossless), 55);
        let changing = networks(Kind::Changing, 1_000);
        for name in ["flap", "leave", "bloat", "step"] {
            let has = |network: &Network| network.change.is_some_and(|it| it.name() == name);
            near(share(&changing, has), 25);
        }
    }
}
