//! Which size is probed next (RFC 8899 section 5.3.2).
//!
//! A size that passes costs one round trip, one that does not costs MAX_PROBES expiries of the timer, a second or more
//! each. The largest size therefore comes first, which most paths carry; behind interfaces with jumbo frames, that of
//! Ethernet before it. If that does not pass, common sizes are tried upward, so that at most one more fails, and the
//! remaining gap is halved as long as the gain is worth it. A search thus waits for a handful of failures; halving from
//! the start would wait for one in two of its steps.

/// What most paths carry.
const ETHERNET: u32 = 1500;

/// MTUs of links, tunnels and clouds. The smallest ones serve paths that do not even carry the base size.
const COMMON: [u32; 24] = [
    576,   // RFC 791: what every host takes
    1006,  // SLIP (RFC 1191 section 7.1)
    1200,  //
    1280,  // least of IPv6 (RFC 8200), many tunnels
    1358,  // mobile networks
    1400,  // mobile networks, virtual private networks
    1420,  // WireGuard
    1430,  // mobile networks
    1440,  // IPsec
    1450,  // VXLAN
    1460,  // clouds
    1472,  // UDP over 1500
    1476,  // GRE
    1480,  // IP in IP, 6in4
    1492,  // PPPoE (RFC 2516)
    1500,  // Ethernet
    1600,  // baby giants
    2304,  // 802.11
    4352,  // FDDI (RFC 1191)
    8192,  //
    8896,  // clouds
    9000,  // jumbo frames
    9216,  // jumbo frames
    17914, // token ring (RFC 1191)
];

/// Least part of the MTU that is worth another probe.
const GAIN_DIVISOR: u32 = 64;
/// Least gain in bytes: packets grow in steps of four.
const LEAST_GAIN: u32 = 4;

/// The next size, if `good` is known to pass, nothing from `too_big` on does, and `max` is the largest that is wanted.
pub(super) fn next(good: u32, too_big: u32, max: u32) -> Option<u32> {
    if good >= max || too_big <= good + 1 {
        return None;
    }
    if too_big > max {
        return Some(if good < ETHERNET { max.min(ETHERNET) } else { max });
    }
    let between = COMMON.iter().copied().find(|size| (good + 1..too_big).contains(size));
    let gap = too_big - good;
    let worth = gap / 2 >= (good / GAIN_DIVISOR).max(LEAST_GAIN);
    between.or_else(|| worth.then_some(good + gap / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_size_comes_first() {
        for (case, good, too_big, max, expected) in [
            ("nothing failed", 1228, 1501, 1500, Some(1500)),
            ("jumbo frames: Ethernet first", 1228, 9001, 9000, Some(1500)),
            ("then all of it", 1500, 9001, 9000, Some(9000)),
            ("a small limit", 1228, 1401, 1400, Some(1400)),
            ("found", 1500, 1501, 1500, None),
            ("at the limit of what failed", 1400, 1401, 1500, None),
            ("below the base size", 576, 1229, 1228, Some(1228)),
        ] {
            assert_eq!(next(good, too_big, max), expected, "{case}");
        }
    }

    #[test]
    fn common_sizes_follow_upward_and_then_halves() {
        for (case, good, too_big, expected) in [
            ("upward", 1228, 1500, Some(1280)),
            ("the next one", 1280, 1500, Some(1358)),
            ("the last one", 1480, 1500, Some(1492)),
            ("none is left: half the gap", 1280, 1358, Some(1319)),
            ("not worth it", 1280, 1319, None),
            ("a large gap", 4352, 8192, Some(6272)),
            ("what failed is not tried again", 1492, 1500, None),
        ] {
            assert_eq!(next(good, too_big, 9000), expected, "{case}");
        }
    }

    #[test]
    fn every_search_ends_close_to_the_truth_after_few_failures() {
        for (base, max) in [(1228, 1500), (1228, 9000), (1280, 65_535), (576, 1228)] {
            for truth in base..=max {
                let (mut good, mut too_big) = (base, max + 1);
                let (mut passed, mut failed) = (0, 0);
                while let Some(size) = next(good, too_big, max) {
                    assert!(size > good && size < too_big && size <= max);
                    if size <= truth {
                        good = size;
                        passed += 1;
                    } else {
                        too_big = size;
                        failed += 1;
                    }
                }
                assert!(good <= truth);
                assert!(truth - good <= (good / 32).max(2 * LEAST_GAIN), "{truth}: {good}");
                assert!(passed <= 30 && failed <= 13, "{truth}: {passed} passed, {failed} failed");
            }
        }
    }
}
