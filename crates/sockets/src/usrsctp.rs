//! Numbers and structures of usrsctp (`usrsctp.h`), which are those of FreeBSD, and what they are in Linux.

mod notifications;
mod options;

pub use notifications::notification;
pub use options::{answer, question};

use crate::abi::flag;
use crate::layout::{Building, Fields};

/// `MSG_NOTIFICATION`.
pub const MSG_NOTIFICATION: i32 = 0x2000;

/// `AF_CONN`: addresses of a program that carries packets itself.
pub const CONN: i32 = 123;

/// `struct sctp_rcvinfo`, `struct sctp_nxtinfo`: bytes.
pub const RCVINFO_BYTES: usize = 28;
/// Bytes of `struct sctp_nxtinfo`.
pub const NXTINFO_BYTES: usize = 16;

/// Kinds of what is said beside a message that is sent (`infotype`).
pub mod sent {
    /// Nothing.
    pub const NOTHING: u32 = 0;
    /// `struct sctp_sndinfo`.
    pub const SNDINFO: u32 = 1;
    /// `struct sctp_prinfo`.
    pub const PRINFO: u32 = 2;
    /// `struct sctp_authinfo`.
    pub const AUTHINFO: u32 = 3;
    /// `struct sctp_sendv_spa`.
    pub const ALL: u32 = 4;
}

/// Kinds of what is said beside a message that is received.
pub mod received {
    /// Nothing.
    pub const NOTHING: u32 = 0;
    /// `struct sctp_rcvinfo`.
    pub const RCVINFO: u32 = 1;
    /// `struct sctp_nxtinfo`.
    pub const NXTINFO: u32 = 2;
    /// `struct sctp_recvv_rn`.
    pub const BOTH: u32 = 3;
}

/// Flags of messages: here, and in Linux.
const FLAGS: [(u16, u16); 6] = [
    (0x100, flag::EOF),
    (0x200, flag::ABORT),
    (0x400, flag::UNORDERED),
    (0x800, flag::ADDR_OVER),
    (0x1000, flag::SENDALL),
    (0x4000, flag::SACK_IMMEDIATELY),
];

/// Policies of partial reliability: here, and in Linux.
const POLICIES: [(u16, u16); 4] =
    [(0, 0), (1, flag::PR_TTL), (2, flag::PR_PRIO), (3, flag::PR_RTX)];

/// `PR_SCTP_POLICY`: all policies, in counts of abandoned messages; here, and in Linux.
const ALL_POLICIES: (u16, u16) = (0xF, 0x80);

/// Flags of a message as Linux has them.
pub fn flags_of_linux(flags: u16) -> u16 {
    FLAGS.iter().filter(|(ours, _)| flags & ours != 0).fold(0, |all, (_, linux)| all | linux)
}

/// Flags of a message from those of Linux.
pub fn flags_from_linux(flags: u16) -> u16 {
    FLAGS.iter().filter(|(_, linux)| flags & linux != 0).fold(0, |all, (ours, _)| all | ours)
}

fn policy_of_linux(policy: u16) -> Option<u16> {
    let mut all = POLICIES.iter().chain([&ALL_POLICIES]);
    all.find(|(ours, _)| *ours == policy).map(|(_, linux)| *linux)
}

fn policy_from_linux(policy: u16) -> u16 {
    let mut all = POLICIES.iter().chain([&ALL_POLICIES]);
    all.find(|(_, linux)| *linux == policy).map_or(policy, |(ours, _)| *ours)
}

/// `struct sctp_sndinfo` of Linux.
pub fn sndinfo(item: &[u8]) -> Option<Vec<u8>> {
    let fields = Fields(item.get(..16)?);
    let start = Building::new().u16(fields.u16(0)?).u16(flags_of_linux(fields.u16(2)?));
    Some(start.bytes(fields.rest(4)).0)
}

/// `struct sctp_prinfo` of Linux.
pub fn prinfo(item: &[u8]) -> Option<Vec<u8>> {
    let fields = Fields(item.get(..8)?);
    let start = Building::new().u16(policy_of_linux(fields.u16(0)?)?).padded(4);
    Some(start.u32(fields.u32(4)?).0)
}

/// `struct sctp_rcvinfo` or `struct sctp_nxtinfo` from that of Linux, which has its flags at this place.
pub fn with_flags(mut item: Vec<u8>, place: usize) -> Vec<u8> {
    /// `SCTP_NOTIFICATION` of what is next, and that of Linux, where it is the flag of the message.
    const NOTIFICATION: (u16, u16) = (0x10, 0x8000);
    if let Some(flags) = Fields(&item).u16(place) {
        let notification = if flags & NOTIFICATION.1 != 0 { NOTIFICATION.0 } else { 0 };
        let flags = flags_from_linux(flags) | notification;
        item[place..place + 2].copy_from_slice(&flags.to_ne_bytes());
    }
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_go_there_and_back() {
        for (ours, linux) in FLAGS {
            assert_eq!((flags_of_linux(ours), flags_from_linux(linux)), (linux, ours));
        }
        assert_eq!(flags_of_linux(0x100 | 0x400), flag::EOF | flag::UNORDERED);
        assert_eq!(flags_of_linux(0x2000), 0, "SCTP_EOR: whole messages are what there is");
    }

    #[test]
    fn ancillary_data_has_the_numbers_of_linux() {
        let item = Building::new().u16(7).u16(0x400).u32(1).u32(2).i32(3).0;
        let linux = Building::new().u16(7).u16(flag::UNORDERED).u32(1).u32(2).i32(3).0;
        assert_eq!(sndinfo(&item), Some(linux));
        assert_eq!(sndinfo(&item[..15]), None);
        let item = Building::new().u16(3).padded(4).u32(5).0;
        assert_eq!(prinfo(&item), Some(Building::new().u16(flag::PR_RTX).padded(4).u32(5).0));
        assert_eq!(prinfo(&Building::new().u16(9).padded(8).0), None);
        let next = Building::new().u16(7).u16(0x8000 | flag::UNORDERED).padded(16).0;
        assert_eq!(Fields(&with_flags(next, 2)).u16(2), Some(0x410));
    }
}
