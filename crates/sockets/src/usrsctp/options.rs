//! Options: their numbers, and their structures, in which Linux has some fields at other places.

use super::notifications::kind_of_linux;
use super::{flags_from_linux, flags_of_linux, policy_from_linux, policy_of_linux};
use crate::abi::option;
use crate::layout::Fields;

/// Bytes of a field: its place here, its place in Linux, and how many.
type Move = (usize, usize, usize);

/// An option whose structure differs.
struct Structure {
    number: i32,
    /// Bytes of the structure here, and in Linux.
    sizes: [usize; 2],
    moves: &'static [Move],
}

/// `struct sctp_paddrinfo`, from this place on: the address comes first here, and the association in Linux.
const PEER: [Move; 3] = [(0, 4, 128), (128, 0, 4), (132, 132, 20)];

const STRUCTURES: &[Structure] = &[
    Structure {
        number: option::ASSOCINFO,
        sizes: [20, 20],
        moves: &[(0, 0, 4), (4, 8, 4), (8, 12, 4), (12, 16, 4), (16, 4, 2), (18, 6, 2)],
    },
    Structure {
        number: option::PRIMARY_ADDR,
        sizes: [136, 132],
        moves: &[(0, 4, 128), (128, 0, 4)],
    },
    Structure {
        number: option::SET_PEER_PRIMARY_ADDR,
        sizes: [136, 132],
        moves: &[(0, 4, 128), (128, 0, 4)],
    },
    Structure {
        number: option::PEER_ADDR_PARAMS,
        sizes: [152, 156],
        moves: &[
            (0, 4, 128),
            (128, 0, 4),
            (132, 132, 4),
            (136, 138, 4),
            (140, 146, 4),
            (144, 150, 4),
            (148, 136, 2),
            (150, 154, 1),
        ],
    },
    Structure { number: option::GET_PEER_ADDR_INFO, sizes: [152, 152], moves: &PEER },
    Structure {
        number: option::STATUS,
        sizes: [176, 176],
        moves: &[(0, 0, 24), (24, 28, 128), (152, 24, 4), (156, 156, 20)],
    },
    Structure {
        number: option::DEFAULT_PRINFO,
        sizes: [12, 12],
        moves: &[(0, 8, 2), (4, 4, 4), (8, 0, 4)],
    },
    Structure {
        number: option::REMOTE_UDP_ENCAPS_PORT,
        sizes: [136, 144],
        moves: &[(0, 8, 128), (128, 0, 4), (132, 136, 2)],
    },
];

/// Numbers of options: here, and in Linux.
const NUMBERS: &[(i32, i32)] = &[
    (0x1, option::RTOINFO),
    (0x2, option::ASSOCINFO),
    (0x3, option::INITMSG),
    (0x4, option::NODELAY),
    (0x5, option::AUTOCLOSE),
    (0x6, option::SET_PEER_PRIMARY_ADDR),
    (0x7, option::PRIMARY_ADDR),
    (0x8, option::ADAPTATION_LAYER),
    (0x9, option::DISABLE_FRAGMENTS),
    (0xA, option::PEER_ADDR_PARAMS),
    (0xD, option::I_WANT_MAPPED_V4_ADDR),
    (0xE, option::MAXSEG),
    (0xF, option::DELAYED_SACK),
    (0x10, option::FRAGMENT_INTERLEAVE),
    (0x11, option::PARTIAL_DELIVERY_POINT),
    (0x12, option::AUTH_CHUNK),
    (0x13, option::AUTH_KEY),
    (0x14, option::HMAC_IDENT),
    (0x15, option::AUTH_ACTIVE_KEY),
    (0x16, option::AUTH_DELETE_KEY),
    (0x18, option::AUTO_ASCONF),
    (0x19, option::MAX_BURST),
    (0x1A, option::CONTEXT),
    (0x1C, option::REUSE_PORT),
    (0x1D, option::AUTH_DEACTIVATE_KEY),
    (0x1E, option::EVENT),
    (0x1F, option::RECVRCVINFO),
    (0x20, option::RECVNXTINFO),
    (0x21, option::DEFAULT_SNDINFO),
    (0x22, option::DEFAULT_PRINFO),
    (0x24, option::REMOTE_UDP_ENCAPS_PORT),
    (0x25, option::ECN_SUPPORTED),
    (0x26, option::PR_SUPPORTED),
    (0x27, option::AUTH_SUPPORTED),
    (0x28, option::ASCONF_SUPPORTED),
    (0x29, option::RECONFIG_SUPPORTED),
    (0x100, option::STATUS),
    (0x101, option::GET_PEER_ADDR_INFO),
    (0x104, option::GET_ASSOC_NUMBER),
    (0x105, option::GET_ASSOC_ID_LIST),
    (0x107, option::PR_STREAM_STATUS),
    (0x108, option::PR_ASSOC_STATUS),
    (0x900, option::ENABLE_STREAM_RESET),
    (0x901, option::RESET_STREAMS),
    (0x902, option::RESET_ASSOC),
    (0x903, option::ADD_STREAMS),
    (0x1203, option::STREAM_SCHEDULER),
    (0x1204, option::STREAM_SCHEDULER_VALUE),
];

/// Stream schedulers: here, and in Linux.
const SCHEDULERS: [(u32, u32); 4] = [(0, 2), (1, 2), (3, 1), (5, 0)];

/// States of associations by their numbers in Linux.
const ASSOCIATION_STATES: [u32; 9] = [0, 0, 2, 4, 8, 0x80, 0x10, 0x20, 0x40];

/// States of paths by their numbers in Linux: inactive, potentially failed, active, unconfirmed.
const PATH_STATES: [u32; 4] = [2, 1, 1, 0x200];

/// An option as Linux has it: its number, and what the program has put into its buffer. `None` if Linux has none like it, or a number
/// in it.
pub fn question(number: i32, value: &[u8]) -> Option<(i32, Vec<u8>)> {
    let (_, linux) = NUMBERS.iter().find(|(ours, _)| *ours == number)?;
    let mut value = moved(*linux, value, |(ours, linux, bytes)| (ours, linux, bytes), 1);
    let fields = Fields(&value);
    match *linux {
        option::EVENT => {
            let kind = kind_of_linux(fields.u16(4)?)?;
            put(&mut value, 4, &kind.to_ne_bytes());
        }
        option::DEFAULT_SNDINFO => {
            let flags = flags_of_linux(fields.u16(2).unwrap_or(0));
            put(&mut value, 2, &flags.to_ne_bytes());
        }
        option::DEFAULT_PRINFO => replace_policy(&mut value, 8, policy_of_linux)?,
        option::PR_STREAM_STATUS | option::PR_ASSOC_STATUS => {
            replace_policy(&mut value, 6, policy_of_linux)?;
        }
        option::STREAM_SCHEDULER if value.len() >= 8 => {
            let scheduler = fields.u32(4)?;
            let found = SCHEDULERS.iter().find(|(ours, _)| *ours == scheduler);
            put(&mut value, 4, &found.map_or(u32::MAX, |(_, linux)| *linux).to_ne_bytes());
        }
        _ => {}
    }
    Some((*linux, value))
}

/// The answer of Linux to [`question`], of which this is the number, as the program expects it.
pub fn answer(linux: i32, value: &[u8]) -> Vec<u8> {
    let mut value = moved(linux, value, |(ours, linux, bytes)| (linux, ours, bytes), 0);
    let fields = Fields(&value);
    match linux {
        option::DEFAULT_SNDINFO => {
            let flags = flags_from_linux(fields.u16(2).unwrap_or(0));
            put(&mut value, 2, &flags.to_ne_bytes());
        }
        option::DEFAULT_PRINFO => {
            let _ = replace_policy(&mut value, 0, |policy| Some(policy_from_linux(policy)));
        }
        option::PR_STREAM_STATUS | option::PR_ASSOC_STATUS => {
            let _ = replace_policy(&mut value, 6, |policy| Some(policy_from_linux(policy)));
        }
        option::GET_PEER_ADDR_INFO => replace_state(&mut value, 132, &PATH_STATES),
        option::STATUS => {
            replace_state(&mut value, 4, &ASSOCIATION_STATES);
            replace_state(&mut value, 156, &PATH_STATES);
        }
        option::STREAM_SCHEDULER => {
            let scheduler = fields.u32(4).unwrap_or(0);
            let found = SCHEDULERS.iter().rev().find(|(_, linux)| *linux == scheduler);
            put(&mut value, 4, &found.map_or(0, |(ours, _)| *ours).to_ne_bytes());
        }
        _ => {}
    }
    value
}

/// With the fields where they belong: from the place that `order` puts first to the one that it puts second.
fn moved(linux: i32, value: &[u8], order: impl Fn(Move) -> Move, size: usize) -> Vec<u8> {
    let Some(structure) = STRUCTURES.iter().find(|it| it.number == linux) else {
        return value.to_vec();
    };
    let mut moved = vec![0; structure.sizes[size]];
    for (from, to, bytes) in structure.moves.iter().map(|field| order(*field)) {
        if let Some(field) = value.get(from..from + bytes) {
            put(&mut moved, to, field);
        }
    }
    // What is too short stays too short.
    let least = structure.moves.iter().map(|field| order(*field)).map(|it| it.0 + it.2).max();
    if value.len() < least.unwrap_or(0) {
        moved.truncate(value.len().min(4));
    }
    moved
}

fn put(value: &mut [u8], place: usize, bytes: &[u8]) {
    if let Some(field) = value.get_mut(place..place + bytes.len()) {
        field.copy_from_slice(bytes);
    }
}

fn replace_policy(
    value: &mut [u8],
    place: usize,
    known: impl Fn(u16) -> Option<u16>,
) -> Option<()> {
    if let Some(policy) = Fields(value).u16(place) {
        put(value, place, &known(policy)?.to_ne_bytes());
    }
    Some(())
}

fn replace_state(value: &mut [u8], place: usize, states: &[u32]) {
    let state = Fields(value).u32(place).and_then(|state| states.get(state as usize));
    put(value, place, &state.copied().unwrap_or(0).to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Building;

    #[test]
    fn structures_are_read_back_as_they_were_written() {
        for structure in STRUCTURES {
            let (ours, linux) =
                *NUMBERS.iter().find(|(_, linux)| *linux == structure.number).unwrap();
            // No field overlaps another one, here or there.
            for side in [0, 1] {
                let mut fields: Vec<_> = structure
                    .moves
                    .iter()
                    .map(|(here, there, bytes)| ([*here, *there][side], *bytes))
                    .collect();
                fields.sort_unstable();
                assert!(fields.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
                let end = fields.last().map_or(0, |(place, bytes)| place + bytes);
                assert!(end <= structure.sizes[side], "{ours:#x}");
            }
            if matches!(linux, option::DEFAULT_PRINFO | option::STATUS | option::GET_PEER_ADDR_INFO)
            {
                continue;
            }
            let mut value: Vec<u8> = (0..structure.sizes[0]).map(|byte| byte as u8 | 1).collect();
            let kept: Vec<usize> =
                structure.moves.iter().flat_map(|it| it.0..it.0 + it.2).collect();
            (0..value.len()).filter(|at| !kept.contains(at)).for_each(|at| value[at] = 0);
            let (number, asked) = question(ours, &value).unwrap();
            assert_eq!((number, asked.len()), (linux, structure.sizes[1]));
            assert_eq!(answer(linux, &asked), value, "{ours:#x}");
        }
    }

    #[test]
    fn values_have_the_numbers_of_linux() {
        let event = Building::new().i32(2).u16(1).u8(1).padded(8).0;
        let (number, asked) = question(0x1E, &event).unwrap();
        assert_eq!((number, Fields(&asked).u16(4)), (option::EVENT, Some(0x8001)));
        let unknown = Building::new().i32(2).u16(0xB).u8(1).padded(8).0;
        assert_eq!(question(0x1E, &unknown), None);
        let reliability = Building::new().u16(2).padded(4).u32(9).i32(1).0;
        let (_, asked) = question(0x22, &reliability).unwrap();
        assert_eq!(asked, Building::new().i32(1).u32(9).u16(0x30).padded(12).0);
        assert_eq!(answer(option::DEFAULT_PRINFO, &asked), reliability);
        let scheduler = Building::new().i32(0).u32(3).0;
        assert_eq!(Fields(&question(0x1203, &scheduler).unwrap().1).u32(4), Some(1));
        assert_eq!(question(0x32, &[]), None, "SCTP_MAX_CWND");
    }

    #[test]
    fn states_are_those_of_the_program() {
        let status = Building::new().i32(5).i32(4).padded(156).i32(2).padded(176).0;
        let told = answer(option::STATUS, &status);
        assert_eq!((Fields(&told).u32(4), Fields(&told).u32(156)), (Some(8), Some(1)));
    }

    #[test]
    fn what_is_too_short_stays_too_short() {
        let (_, asked) = question(0x2, &[1; 10]).unwrap();
        assert!(asked.len() < 10);
    }
}
