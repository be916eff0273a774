//! Notifications.

use super::flags_from_linux;
use crate::abi::notification as linux;
use crate::layout::Fields;

/// Kinds: here, and in Linux.
const KINDS: [(u16, u16); 13] = [
    (0x1, linux::ASSOC_CHANGE),
    (0x2, linux::PEER_ADDR_CHANGE),
    (0x3, linux::REMOTE_ERROR),
    (0x4, linux::SEND_FAILED),
    (0x5, linux::SHUTDOWN_EVENT),
    (0x6, linux::ADAPTATION),
    (0x7, linux::PARTIAL_DELIVERY),
    (0x8, linux::AUTHENTICATION),
    (0x9, linux::STREAM_RESET),
    (0xA, linux::SENDER_DRY),
    (0xC, linux::ASSOC_RESET),
    (0xD, linux::STREAM_CHANGE),
    (0xE, linux::SEND_FAILED_EVENT),
];

/// Types of chunks.
const ABORT: u8 = 6;
const ERROR: u8 = 9;

/// Indications of keys, by their numbers in Linux: new, free, none.
const KEYS: [u32; 3] = [1, 3, 2];

pub(super) fn kind_of_linux(kind: u16) -> Option<u16> {
    KINDS.iter().find(|(ours, _)| *ours == kind).map(|(_, linux)| *linux)
}

/// A notification from one of Linux; `None` if there is none like it.
pub fn notification(content: &[u8]) -> Option<Vec<u8>> {
    let theirs = Fields(content);
    let kind = theirs.u16(0)?;
    let (ours, _) = *KINDS.iter().find(|(_, linux)| *linux == kind)?;
    let mut told = content.to_vec();
    put(&mut told, 0, &ours.to_ne_bytes());
    let next = |place| theirs.u32(place).map(|number| number + 1);
    match kind {
        linux::ASSOC_CHANGE => {
            put(&mut told, 8, &(theirs.u16(8)? + 1).to_ne_bytes());
            if !theirs.rest(20).is_empty() {
                told = with_chunk(&told, 20, ABORT, &[]);
            }
        }
        linux::REMOTE_ERROR => {
            let length = u16::try_from(4 + theirs.rest(16).len()).ok()?;
            let cause = [theirs.bytes::<2>(8)?, length.to_be_bytes()].concat();
            told = with_chunk(&told, 16, ERROR, &cause);
        }
        linux::PEER_ADDR_CHANGE => {
            put(&mut told, 136, &next(136)?.to_ne_bytes());
            told.resize(152, 0);
        }
        linux::SEND_FAILED | linux::SEND_FAILED_EVENT => {
            put(&mut told, 2, &(theirs.u16(2)? + 1).to_ne_bytes());
            // The flags of the message.
            let place = if kind == linux::SEND_FAILED { 16 } else { 14 };
            put(&mut told, place, &flags_from_linux(theirs.u16(place)?).to_ne_bytes());
        }
        linux::PARTIAL_DELIVERY => {
            let [association, stream, sequence] = [12, 16, 20].map(|at| theirs.bytes::<4>(at));
            put(&mut told, 8, &next(8)?.to_ne_bytes());
            put(&mut told, 12, &stream?);
            put(&mut told, 16, &sequence?);
            put(&mut told, 20, &association?);
        }
        linux::AUTHENTICATION => {
            let indication = KEYS.get(theirs.u32(12)? as usize)?;
            put(&mut told, 12, &indication.to_ne_bytes());
        }
        _ => {}
    }
    let length = u32::try_from(told.len()).ok()?;
    put(&mut told, 4, &length.to_ne_bytes());
    Some(told)
}

/// A notification with the head of a chunk at this place, and what follows that, in front of the rest: here the whole chunk belongs to it.
fn with_chunk(told: &[u8], place: usize, kind: u8, more: &[u8]) -> Vec<u8> {
    let (front, rest) = told.split_at(place.min(told.len()));
    let length = u16::try_from(4 + more.len() + rest.len()).unwrap_or(u16::MAX).to_be_bytes();
    [front, &[kind, 0], &length, more, rest].concat()
}

fn put(told: &mut [u8], place: usize, bytes: &[u8]) {
    if let Some(field) = told.get_mut(place..place + bytes.len()) {
        field.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Building;

    #[test]
    fn kinds_and_states_are_those_of_the_program() {
        let up = Building::new().u16(linux::ASSOC_CHANGE).u16(0).u32(20).u16(0).u16(7);
        let told = notification(&up.u16(10).u16(11).i32(5).0).unwrap();
        let expected = Building::new().u16(1).u16(0).u32(20).u16(1).u16(7).u16(10).u16(11).i32(5);
        assert_eq!(told, expected.0);
        let lost = Building::new().u16(linux::ASSOC_CHANGE).u16(0).u32(24).u16(1).u16(104);
        let told = notification(&lost.u32(0).i32(5).bytes(&[0, 12, 0, 4]).0).unwrap();
        assert_eq!((told.len(), &told[20..]), (28, &[6, 0, 0, 8, 0, 12, 0, 4][..]));
        let error = Building::new().u16(linux::REMOTE_ERROR).u16(0).u32(20).bytes(&[0, 6]).u16(0);
        let told = notification(&error.i32(5).bytes(&[63, 0, 0, 4]).0).unwrap();
        assert_eq!(&told[16..], [9, 0, 0, 12, 0, 6, 0, 8, 63, 0, 0, 4]);
        assert_eq!(Fields(&told).u32(4), Some(28));
        let change = Building::new().u16(linux::PEER_ADDR_CHANGE).u16(0).u32(148).padded(136);
        let told = notification(&change.u32(1).u32(0).i32(9).0).unwrap();
        let fields = Fields(&told);
        assert_eq!((told.len(), fields.u32(4), fields.u16(0)), (152, Some(152), Some(2)));
        assert_eq!((fields.u32(136), fields.i32(144)), (Some(2), Some(9)));
    }

    #[test]
    fn fields_are_where_the_program_looks_for_them() {
        let partial = Building::new().u16(linux::PARTIAL_DELIVERY).u16(0).u32(24).u32(0);
        let told = notification(&partial.i32(3).u32(4).u32(5).0).unwrap();
        assert_eq!(told, Building::new().u16(7).u16(0).u32(24).u32(1).u32(4).u32(5).i32(3).0);
        let failed = Building::new().u16(linux::SEND_FAILED_EVENT).u16(1).u32(33).u32(2);
        let failed = failed.u16(6).u16(1).u32(7).u32(8).i32(9).i32(9).u8(b'x').0;
        let told = notification(&failed).unwrap();
        let fields = Fields(&told);
        assert_eq!(
            (fields.u16(0), fields.u16(2), fields.u16(14)),
            (Some(0xE), Some(2), Some(0x400))
        );
        assert_eq!(told.last(), Some(&b'x'));
    }

    #[test]
    fn what_there_is_not_is_left_out() {
        assert_eq!(notification(&Building::new().u16(0x8099).padded(20).0), None);
        assert_eq!(notification(&[1]), None);
        assert_eq!(notification(&Building::new().u16(linux::ASSOC_CHANGE).0), None);
    }
}
