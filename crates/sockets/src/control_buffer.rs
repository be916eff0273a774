//! Items of ancillary data as they lie in the control buffer of `recvmsg`: each a `struct cmsghdr` with what follows.

use crate::abi::IPPROTO_SCTP;
use crate::layout::Building;

/// Bytes of a `struct cmsghdr`.
const HEADER_BYTES: usize = 16;

/// Each item begins at a multiple of this.
const ALIGNMENT: usize = 8;

/// An item with its header.
pub fn item(kind: i32, data: &[u8]) -> Vec<u8> {
    let length = (HEADER_BYTES + data.len()) as u64;
    Building::new().u64(length).i32(IPPROTO_SCTP).i32(kind).bytes(data).0
}

/// The items as far as there is room; whether these are all. As in Linux, what follows on the last one needs no room, and one for which there is
/// not enough is cut, unless it had no head.
pub fn within(room: usize, all: &[Vec<u8>]) -> (Vec<u8>, bool) {
    let mut fit: Vec<u8> = Vec::new();
    let mut are_all = true;
    for item in all {
        let start = fit.len();
        let left = room - start;
        if left < HEADER_BYTES {
            return (fit, false);
        }
        let kept = item.len().min(left);
        are_all &= kept == item.len();
        fit.extend_from_slice(&item[..kept]);
        fit[start..start + ALIGNMENT].copy_from_slice(&kept.to_ne_bytes());
        let end = start + item.len().next_multiple_of(ALIGNMENT);
        fit.resize(end.min(room), 0);
    }
    (fit, are_all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Fields;

    #[test]
    fn the_last_item_needs_no_room_behind_it_and_what_is_cut_says_so() {
        let all = [item(1, &[1; 28]), item(2, &[2; 5])];
        let length = |at: usize, bytes: &[u8]| Fields(bytes).u64(at);
        // 16 bytes of a header and 28, up to the next multiple of 8, then 16 and 5.
        for (room, filled, first, second, are_all) in [
            (100, 48 + 24, 44, Some(21), true),
            (48 + 21, 48 + 21, 44, Some(21), true),
            (48 + 20, 48 + 20, 44, Some(20), false),
            (48 + 16, 48 + 16, 44, Some(16), false),
            (48 + 15, 48, 44, None, false),
            (44, 44, 44, None, false),
            (43, 43, 43, None, false),
            (16, 16, 16, None, false),
        ] {
            let (bytes, whole) = within(room, &all);
            assert_eq!((bytes.len(), whole), (filled, are_all), "{room}");
            assert_eq!((length(0, &bytes), length(48, &bytes)), (Some(first), second), "{room}");
        }
        assert_eq!(within(15, &all), (Vec::new(), false));
        assert_eq!(within(0, &[]), (Vec::new(), true));
        let (alone, whole) = within(44, &all[..1]);
        assert!(whole && alone.len() == 44);
    }
}
