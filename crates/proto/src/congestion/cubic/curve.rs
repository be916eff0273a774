//! The cubic function of time that a window follows (RFC 9438 section 4.2), in whole numbers: the same on every machine.

use crate::Duration;

/// Microseconds beyond which the distance from the plateau counts no more: 19 hours.
const FARTHEST: i128 = 1 << 36;

/// Largest unit of windows that is reckoned with; that of a path is below 64 KiB.
const LARGEST_UNIT: u64 = 1 << 17;

/// W_cubic(t) = C (t - K)^3 + W_max with C = 0.4 units per cubic second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Curve {
    /// W_max in bytes: the height of the plateau.
    plateau: u64,
    /// K in microseconds: when it is reached.
    k: u64,
    unit: u64,
}

impl Curve {
    /// The curve that begins with a window of `cwnd` bytes and has its plateau at `plateau`, or at once if it is not below
    /// that.
    pub(super) fn new(plateau: u64, cwnd: u64, unit: u64) -> Self {
        let unit = unit.clamp(1, LARGEST_UNIT);
        // (plateau - cwnd) / unit / C, in cubic microseconds: below 2^126.
        let missing = u128::from(plateau.saturating_sub(cwnd));
        let cube = missing * 2_500_000_000_000_000_000 / u128::from(unit);
        Self { plateau: plateau.max(cwnd), k: cube_root(cube), unit }
    }

    /// The window in bytes after this time.
    pub(super) fn window(&self, time: Duration) -> u64 {
        let distance = i128::from(time.as_micros()) - i128::from(self.k);
        let distance = distance.clamp(-FARTHEST, FARTHEST);
        // 2/5 of a unit per cubic second; at most 3 x 36 + 17 + 1 bits.
        let bytes = distance.pow(3) * i128::from(self.unit) * 2 / 5 / 1_000_000_000_000_000_000;
        let window = (i128::from(self.plateau) + bytes).max(0);
        u64::try_from(window).unwrap_or(u64::MAX)
    }

    /// When the plateau is reached.
    #[cfg(test)]
    pub(super) fn k(&self) -> Duration {
        Duration::from_micros(self.k)
    }
}

/// The cube root of a number below 2^126, rounded down.
fn cube_root(number: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..42).rev() {
        let larger = root | 1 << bit;
        if larger.pow(3) <= number {
            root = larger;
        }
    }
    root as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 1000;

    #[test]
    fn cube_roots() {
        for (number, root) in [
            (0, 0),
            (1, 1),
            (7, 1),
            (8, 2),
            (26, 2),
            (27, 3),
            (75_000_000_000_000_000_000, 4_217_163),
            ((1 << 126) - 1, 4_398_046_511_103),
        ] {
            assert_eq!(cube_root(number), root, "{number}");
        }
    }

    /// A window of 100 units is reduced to 70 by a loss: K = cbrt(30 / 0.4) = 4.217163 s.
    #[test]
    fn from_a_loss_over_the_plateau() {
        let curve = Curve::new(100 * UNIT, 70 * UNIT, UNIT);
        assert_eq!(curve.k().as_micros(), 4_217_163);
        for (ms, bytes) in [
            (0, 70_000),
            // 100 - 0.4 x 3.217163^3, and so on.
            (1000, 86_681),
            (2000, 95_640),
            (4000, 99_995),
            (4217, 100_000),
            (5000, 100_191),
            (8434, 129_993),
        ] {
            let window = curve.window(Duration::from_millis(ms));
            assert!(window.abs_diff(bytes) <= 1, "{ms} ms: {window}");
        }
    }

    #[test]
    fn a_window_at_its_plateau_probes_beyond_it() {
        for plateau in [50 * UNIT, 20 * UNIT] {
            let curve = Curve::new(plateau, 50 * UNIT, UNIT);
            assert_eq!(curve.k(), Duration::ZERO);
            // 0.4 t^3 units.
            for (s, bytes) in [(0, 50_000), (1, 50_400), (5, 100_000)] {
                assert_eq!(curve.window(Duration::from_secs(s)), bytes, "{plateau} {s}");
            }
        }
    }

    #[test]
    fn the_largest_numbers_do_no_harm() {
        let curve = Curve::new(u64::MAX, 0, 0);
        assert!(curve.window(Duration::ZERO) < u64::MAX);
        assert_eq!(curve.window(Duration::MAX), u64::MAX);
        let curve = Curve::new(u64::MAX, 0, u64::MAX);
        assert!(curve.window(Duration::from_secs(1)) > 0);
    }
}
