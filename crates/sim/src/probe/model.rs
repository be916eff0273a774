//! The minimum blocking time of `sarwar` section V, equations 2 to 4.

use polypath_netsim::topology::{Duplex, PathConfig};
use polypath_netsim::{ChannelConfig, Direction};
use polypath_units::{ByteCount, Duration};

/// A path as the model knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PathModel {
    /// Time between packets, L / C_p.
    pub packet_time: Duration,
    /// Delay D of a packet, its own transmission not counted: the model has that in its departure.
    pub delay: Duration,
}

impl PathModel {
    /// Packets of `bytes` over the slowest link of a path and all its delays.
    pub fn of(path: &PathConfig, direction: Direction, bytes: ByteCount) -> Self {
        let links = path.before.iter().chain([&path.bottleneck]).chain(&path.after);
        let channels = || links.clone().map(|link| side(link, direction));
        let access = path.access.as_ref().map(|link| side(link, direction));
        let packet_time = channels().map(|link| {
            let on_link = ByteCount::from_bytes(bytes.as_bytes() + link.framing.as_bytes());
            link.rate.transmission_time(on_link)
        });
        let delay: Duration = channels().map(|link| link.delay).sum();
        Self {
            packet_time: packet_time.max().unwrap_or_default(),
            delay: delay + access.map_or(Duration::ZERO, |link| link.delay * 2),
        }
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
/// (equation 3).
pub(super) fn blocking_time(order: &[usize], paths: &[PathModel]) -> Duration {
    let mut counts = vec![0; paths.len()];
    let (mut latest, mut longest) = (Duration::ZERO, Duration::ZERO);
    for &path in order {
        counts[path] += 1;
        let arrival = paths[path].packet_time * counts[path] + paths[path].delay;
        longest = longest.max(latest - arrival);
        latest = latest.max(arrival);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WiFi and 3G of `sarwar` section IV-A: 10 Mbit/s with 20 ms and 1 Mbit/s with 400 ms, there and back.
    const PATHS: [PathModel; 2] = [
        PathModel { packet_time: Duration::from_micros(1_200), delay: Duration::from_millis(10) },
        PathModel { packet_time: Duration::from_millis(12), delay: Duration::from_millis(200) },
    ];

    #[test]
    fn blocking_times_are_those_of_the_equations() {
        // Ten packets on the first path, two on the second, and so on: with the window of 44 packets of the paper, the
        // 36th of the first path comes after 1.2 * 36 + 10 ms, the sixth of the second after 12 * 6 + 200 ms.
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
    fn equal_paths_in_turn_block_for_no_more_than_a_packet() {
        let equal = [PATHS[0]; 2];
        let order: Vec<usize> = (0..40).map(|i| i % 2).collect();
        assert_eq!(blocking_time(&order, &equal), Duration::ZERO);
        assert_eq!(blocking_time(&[], &equal), Duration::ZERO);
        assert_eq!(blocking_time(&[1, 1, 1], &PATHS), Duration::ZERO);
        assert_eq!(blocking_time(&[1, 0], &PATHS), Duration::from_micros(212_000 - 11_200));
    }
}
