//! What goes through the descriptor of a socket: a head, and for messages and notifications what they say.

use std::net::SocketAddr;

use crate::address;
use crate::init::InitMessage;
use crate::layout::{Building, Fields};

/// Bytes of a head.
pub const HEAD_BYTES: usize = 84;

/// Where the TSNs are, behind the longest address.
const TSN_OFFSET: usize = 56;

/// Most bytes of a message in the frame itself. The rest is in its [annex](crate::annex).
pub const MAX_PIECE_BYTES: usize = 128 * 1024;

/// Most bytes of a message that a program sends, whatever the send buffer is.
pub const MAX_MESSAGE_BYTES: u64 = 32 << 20;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// A message, or a part of one.
    Data = 1,
    /// A notification (RFC 6458 section 6), in the layout of Linux.
    Notification = 2,
    /// To the program: a socket with an association that a peer has begun. The descriptor comes with it.
    Accepted = 3,
    /// To the program: an association, or an attempt to begin one, has ended with the error in [`Head::value`]. The service keeps it as `SO_ERROR`; the frame wakes who
    /// reads, and means nothing any more once that is taken.
    Fault = 4,
    /// To the service: means nothing; it lies in the queue as long as an association is being set up, so that the descriptor is not writable.
    Filler = 5,
    /// To the service: `shutdown`; [`Head::value`] is the [direction](shut).
    Shutdown = 6,
    /// To the service: the program has accepted the socket.
    Taken = 7,
}

/// Directions of `shutdown`.
pub mod shut {
    /// The program reads nothing more.
    pub const READ: u32 = 1;
    /// No more messages follow.
    pub const WRITE: u32 = 2;
}

/// Ancillary data that the program has asked for ([`Head::wanted`]).
pub mod wanted {
    /// `SCTP_SNDRCV`.
    pub const SNDRCV: u8 = 1;
    /// `SCTP_RCVINFO`.
    pub const RCVINFO: u8 = 2;
    /// `SCTP_NXTINFO`.
    pub const NXTINFO: u8 = 4;
    /// From the program: the message came without stream, flags and so on, and has those that were set for the socket.
    pub const DEFAULTS: u8 = 8;
    /// From the program: the message came without a policy of partial reliability.
    pub const DEFAULT_PR: u8 = 16;
    /// To the program: no ancillary data, but that messages must fit into a packet (`SCTP_DISABLE_FRAGMENTS`).
    pub const UNFRAGMENTED: u8 = 32;
}

/// What stands in front of every frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// What the frame is.
    pub kind: Kind,
    /// Whether a message ends with the frame (`MSG_EOR`).
    pub ends: bool,
    /// Ancillary data that the program has asked for.
    pub wanted: u8,
    /// `SCTP_UNORDERED`, `SCTP_EOF` and so on.
    pub flags: u16,
    /// Stream.
    pub stream: u16,
    /// Stream sequence number.
    pub ssn: u16,
    /// Policy of partial reliability (`SCTP_PR_SCTP_TTL` and so on).
    pub pr_policy: u16,
    /// Payload protocol identifier, as it lies in the program's memory.
    pub ppid: u32,
    /// Context of the message.
    pub context: u32,
    /// Value of `pr_policy`; of a fault the error number.
    pub value: u32,
    /// Association.
    pub association: i32,
    /// Where a message goes to, or came from.
    pub peer: Option<SocketAddr>,
    /// To the program: TSN of the message.
    pub tsn: u32,
    /// To the program: last TSN that had arrived with all before it.
    pub cumulative_tsn: u32,
    /// To the service: parameters of the association that begins with the message (`SCTP_INIT`).
    pub init: InitMessage,
    /// Bytes of the message that are in the [annex](crate::annex) of the frame, behind those in the frame.
    pub rest: u32,
    /// To the program: number of the frame, by which one is known again that was read in part.
    pub number: u32,
    /// To the service: the key that authenticates the message, if it is not the active one.
    pub key: Option<u16>,
}

impl Head {
    /// A head of this kind that says nothing else.
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            ends: true,
            wanted: 0,
            flags: 0,
            stream: 0,
            ssn: 0,
            pr_policy: 0,
            ppid: 0,
            context: 0,
            value: 0,
            association: 0,
            peer: None,
            tsn: 0,
            cumulative_tsn: 0,
            init: InitMessage::default(),
            rest: 0,
            number: 0,
            key: None,
        }
    }

    /// As it goes through the descriptor.
    pub fn encoded(&self) -> [u8; HEAD_BYTES] {
        let built = Building::new()
            .u8(self.kind as u8)
            .u8(self.ends.into())
            .u8(self.wanted)
            .u8(0)
            .u16(self.flags)
            .u16(self.stream)
            .u16(self.ssn)
            .u16(self.pr_policy)
            .u32(self.ppid)
            .u32(self.context)
            .u32(self.value)
            .i32(self.association)
            .bytes(&self.peer.map(|peer| address::written(peer, false)).unwrap_or_default())
            .padded(TSN_OFFSET)
            .u32(self.tsn)
            .u32(self.cumulative_tsn)
            .bytes(&self.init.encoded())
            .u32(self.rest)
            .u32(self.number)
            .u16(self.key.is_some().into())
            .u16(self.key.unwrap_or(0));
        let mut bytes = [0; HEAD_BYTES];
        bytes.copy_from_slice(&built.0[..HEAD_BYTES]);
        bytes
    }

    /// Reads a head; `None` if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let fields = Fields(bytes.get(..HEAD_BYTES)?);
        Some(Self {
            kind: match fields.u8(0)? {
                1 => Kind::Data,
                2 => Kind::Notification,
                3 => Kind::Accepted,
                4 => Kind::Fault,
                5 => Kind::Filler,
                6 => Kind::Shutdown,
                7 => Kind::Taken,
                _ => return None,
            },
            ends: fields.u8(1)? != 0,
            wanted: fields.u8(2)?,
            flags: fields.u16(4)?,
            stream: fields.u16(6)?,
            ssn: fields.u16(8)?,
            pr_policy: fields.u16(10)?,
            ppid: fields.u32(12)?,
            context: fields.u32(16)?,
            value: fields.u32(20)?,
            association: fields.i32(24)?,
            peer: address::read(fields.rest(28)).map(|(peer, _)| peer),
            tsn: fields.u32(TSN_OFFSET)?,
            cumulative_tsn: fields.u32(TSN_OFFSET + 4)?,
            init: InitMessage::read(fields, TSN_OFFSET + 8)?,
            rest: fields.u32(TSN_OFFSET + 16)?,
            number: fields.u32(TSN_OFFSET + 20)?,
            key: Some(fields.u16(TSN_OFFSET + 26)?)
                .filter(|_| fields.u16(TSN_OFFSET + 24) == Some(1)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_they_were_written() {
        let full = Head {
            kind: Kind::Notification,
            ends: false,
            wanted: wanted::RCVINFO | wanted::NXTINFO,
            flags: 0x201,
            stream: 7,
            ssn: 65_535,
            pr_policy: 0x20,
            ppid: u32::MAX,
            context: 3,
            value: 110,
            association: -1,
            peer: Some("[2001:db8::1]:4".parse().unwrap()),
            tsn: 0xFFFF_FFFF,
            cumulative_tsn: 5,
            init: InitMessage { outbound_streams: 9, attempts: 2, ..InitMessage::default() },
            rest: 70_000,
            number: u32::MAX - 1,
            key: Some(0),
        };
        assert_eq!(Head::decode(&full.encoded()), Some(full));
        let others = [Kind::Accepted, Kind::Fault, Kind::Filler, Kind::Shutdown, Kind::Taken];
        for kind in others.into_iter().chain([Kind::Data]) {
            assert_eq!(Head::decode(&Head::of(kind).encoded()), Some(Head::of(kind)));
        }
    }

    #[test]
    fn what_is_no_head_is_refused() {
        assert_eq!(Head::decode(&[1; HEAD_BYTES - 1]), None);
        assert_eq!(Head::decode(&[0; HEAD_BYTES]), None);
        assert_eq!(Head::decode(&[8; HEAD_BYTES]), None);
    }
}
