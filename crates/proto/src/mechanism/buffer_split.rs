//! Buffer splitting: no path fills more than its share of the send buffer or of the peer's receive window.
//!
//! `dreibholz-asymmetric` sections III-A, III-B and IV-B, formulas 1 and 2. INET: `cmtBufferSplitVariant`,
//! `cmtBufferSplittingUsesOSB`, one chunk more generous; usrsctp: `cmt_use_bs`, by bytes in flight.
//!
//! Shares are equal in the paper. But then a path that could use more than its share is slower than alone, while other
//! shares stay empty: shares by need give the fastest path what the others cannot use according to their windows. A
//! slower one would only fill its queue with it.
//!
//! Without shares, data that waits for a slow path would occupy the whole buffer, and the fast paths could send
//! nothing. Shares apply to new data only: a retransmission needs no further space.

use smallvec::SmallVec;

use crate::Duration;
use crate::config::{BufferSplit, BufferSplitBy};
use crate::types::BufferBytes;

/// A path's part in the buffers, in bytes of user data; where the send buffer is concerned, as it counts them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SplitView {
    /// Size of the send buffer.
    pub(crate) send_buffer: u64,
    /// What is left of the peer's receive window, outstanding data deducted.
    pub(crate) peer_window: u64,
    /// In flight on all paths.
    pub(crate) outstanding: u64,
    /// Paths among which the buffers are split.
    pub(crate) paths: u32,
    /// Sent on the path and not yet released.
    pub(crate) unreleased: BufferBytes,
    /// In flight on the path.
    pub(crate) in_flight: BufferBytes,
    /// MTU of the path.
    pub(crate) mtu: u64,
    /// What each other path could use, where this one is the fastest and shares go by need.
    pub(crate) needs: Option<SmallVec<[u64; 4]>>,
}

/// A path as a candidate for what others leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Speed {
    /// Its congestion window in bytes.
    pub(crate) cwnd: u64,
    /// Its round-trip time, once known.
    pub(crate) srtt: Option<Duration>,
}

impl Speed {
    /// Whether a congestion window per round trip is more than another path's.
    pub(crate) fn exceeds(&self, other: &Self) -> bool {
        let Some(srtt) = self.srtt else { return false };
        // A path that was never measured has carried nothing yet.
        let Some(others) = other.srtt else { return true };
        let product = |cwnd: u64, srtt: Duration| u128::from(cwnd) * u128::from(srtt.as_nanos());
        product(self.cwnd, others) > product(other.cwnd, srtt)
    }
}

impl SplitView {
    /// The path's part in a buffer.
    fn share(&self, buffer: u64) -> u64 {
        let equal = buffer / u64::from(self.paths.max(1));
        let Some(needs) = &self.needs else { return equal };
        let used = needs.iter().map(|need| (*need).min(equal)).fold(0, u64::saturating_add);
        buffer.saturating_sub(used).max(equal)
    }
}

/// Whether a new chunk may be sent on the path. One that has nothing in the buffer always may, or shares smaller than an
/// MTU would stop everything.
pub(crate) fn admits(split: BufferSplit, by: BufferSplitBy, view: &SplitView) -> bool {
    let taken = match by {
        BufferSplitBy::Buffered => view.unreleased,
        BufferSplitBy::Outstanding => view.in_flight,
    };
    let fits = |taken: u64, buffer: u64| taken.saturating_add(view.mtu) <= view.share(buffer);
    let sender = || fits(taken.cost, view.send_buffer);
    let receiver = || fits(taken.user_bytes, view.peer_window.saturating_add(view.outstanding));
    taken.user_bytes == 0
        || match split {
            BufferSplit::None => true,
            BufferSplit::Sender => sender(),
            BufferSplit::Receiver => receiver(),
            BufferSplit::Both => sender() && receiver(),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn buffered(bytes: u64) -> BufferBytes {
        BufferBytes { user_bytes: bytes, cost: bytes }
    }

    /// Two paths, a send buffer of 250,000 bytes, a peer's window that was 125,000 bytes before 60,000 were sent.
    const VIEW: SplitView = SplitView {
        send_buffer: 250_000,
        peer_window: 65_000,
        outstanding: 60_000,
        paths: 2,
        unreleased: buffered(0),
        in_flight: buffered(0),
        mtu: 1500,
        needs: None,
    };

    fn cases(by: BufferSplitBy, view: &SplitView) -> [bool; 4] {
        [BufferSplit::None, BufferSplit::Sender, BufferSplit::Receiver, BufferSplit::Both]
            .map(|split| admits(split, by, view))
    }

    #[test]
    fn the_papers_formulas() {
        use BufferSplitBy::{Buffered, Outstanding};
        let (open, shut) = (true, false);
        for (what, unreleased, in_flight, by, expected) in [
            ("room in both shares", 60_000, 9000, Buffered, [open; 4]),
            ("an MTU below the receiver's share", 61_000, 9000, Buffered, [open; 4]),
            ("a byte too much for it", 61_001, 9000, Buffered, [open, open, shut, shut]),
            ("an MTU below the sender's share", 123_500, 9000, Buffered, [open, open, shut, shut]),
            ("a byte too much for both", 123_501, 9000, Buffered, [open, shut, shut, shut]),
            ("only what is in flight counts", 200_000, 61_000, Outstanding, [open; 4]),
            ("too much in flight", 200_000, 61_001, Outstanding, [open, open, shut, shut]),
            ("nothing in flight", 200_000, 0, Outstanding, [open; 4]),
        ] {
            let view = SplitView {
                unreleased: buffered(unreleased),
                in_flight: buffered(in_flight),
                ..VIEW
            };
            assert_eq!(cases(by, &view), expected, "{what}");
        }
    }

    #[test]
    fn each_variant_is_needed_in_its_situation() {
        // Section VI-A: a slow path has 62,000 bytes on the way; the buffers of fig. 4's three plots.
        let view = |send_buffer, receive_buffer: u64| SplitView {
            send_buffer,
            peer_window: receive_buffer - 62_000,
            outstanding: 62_000,
            unreleased: buffered(62_000),
            in_flight: buffered(62_000),
            ..VIEW
        };
        let variants = |view| cases(BufferSplitBy::Buffered, &view);
        assert_eq!(variants(view(250_000, 125_000)), [true, true, false, false], "left");
        assert_eq!(variants(view(125_000, 250_000)), [true, false, true, false], "right");
        assert_eq!(variants(view(250_000, 250_000)), [true; 4], "middle");
    }

    #[test]
    fn tiny_messages_fill_the_send_buffer_before_the_peers() {
        // A thousand messages of a byte each.
        let unreleased = BufferBytes { user_bytes: 1000, cost: 128_000 };
        let view = SplitView { unreleased, ..VIEW };
        assert_eq!(cases(BufferSplitBy::Buffered, &view), [true, false, true, false]);
    }

    #[test]
    fn what_others_leave_of_their_shares_is_free_to_use() {
        // Of 125,000 bytes for three paths, 41,666 each.
        for (what, needs, share) in [
            ("both use theirs", [41_666, 90_000], 41_668),
            ("a slow one needs two packets", [3000, 90_000], 80_334),
            ("two of them", [3000, 3000], 119_000),
            ("nobody needs less than nothing", [0, 0], 125_000),
            ("windows without limit", [u64::MAX, u64::MAX], 41_668),
        ] {
            let view = SplitView { paths: 3, needs: Some(SmallVec::from_slice(&needs)), ..VIEW };
            assert_eq!(view.share(125_000), share, "{what}");
            assert_eq!(SplitView { needs: None, ..view }.share(125_000), 41_666, "{what}");
        }
    }

    #[test]
    fn the_fastest_path_has_most_bytes_per_round_trip() {
        let speed =
            |cwnd, millis: Option<u64>| Speed { cwnd, srtt: millis.map(Duration::from_millis) };
        for (one, other, exceeds) in [
            (speed(40_000, Some(40)), speed(40_000, Some(41)), true),
            (speed(40_000, Some(40)), speed(40_000, Some(40)), false),
            (speed(64_000, Some(2600)), speed(33_000, Some(40)), false),
            (speed(100_000, Some(40)), speed(10_000, Some(30)), true),
            (speed(1, Some(40)), speed(40_000, None), true),
            (speed(40_000, None), speed(1, Some(1000)), false),
            (speed(u64::MAX, Some(40)), speed(u64::MAX, Some(u64::MAX / 1_000_000)), true),
        ] {
            assert_eq!(one.exceeds(&other), exceeds, "{one:?} {other:?}");
        }
    }

    #[test]
    fn one_path_has_all_of_the_buffers() {
        for paths in [0, 1] {
            let fits = SplitView { paths, unreleased: buffered(125_000 - 1500), ..VIEW };
            assert_eq!(cases(BufferSplitBy::Buffered, &fits), [true; 4]);
            let more = SplitView { unreleased: buffered(125_001 - 1500), ..fits };
            assert_eq!(cases(BufferSplitBy::Buffered, &more), [true, true, false, false]);
        }
    }

    #[test]
    fn shares_below_an_mtu_stop_nothing() {
        let tiny = SplitView { send_buffer: 2000, peer_window: 1000, outstanding: 0, ..VIEW };
        assert_eq!(cases(BufferSplitBy::Buffered, &tiny), [true; 4]);
        let one = SplitView { unreleased: buffered(1), ..tiny };
        assert_eq!(cases(BufferSplitBy::Buffered, &one), [true, false, false, false]);
    }

    #[test]
    fn an_unlimited_buffer_is_never_full() {
        let view = SplitView { send_buffer: u64::MAX, unreleased: buffered(u64::MAX / 4), ..VIEW };
        assert_eq!(cases(BufferSplitBy::Buffered, &view), [true, true, false, false]);
        // Sums and products beyond 64 bits are no small ones.
        for unreleased in [u64::MAX - 100, 1 << 63] {
            let view = SplitView { unreleased: buffered(unreleased), ..VIEW };
            assert_eq!(cases(BufferSplitBy::Buffered, &view), [true, false, false, false]);
        }
    }
}
