//! Questions and answers beside the descriptors: one connection to the service per thread of talk, one question at a time.

use std::io::{self, Read};
use std::net::SocketAddr;

use rustix::io::Errno;

use crate::address;
use crate::layout::{Building, Fields};

/// Most bytes of a question.
pub const MAX_BYTES: usize = 64 * 1024;

/// Most bytes of an answer: the status of some ten thousand associations.
pub const MAX_REPLY_BYTES: usize = 16 << 20;

/// Version of all that programs and the service say to each other, here and through the [descriptors](crate::frame). A change of any layout, or of
/// what one means, makes a new one.
pub const VERSION: u16 = 6;

/// What every question begins with, in front of the version. It is no operation, so that services from before the versions close the connection.
const MARK: [u8; 2] = *b"PP";

/// What a program asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Operation {
    /// `socket`: `first` is 6 for IPv6, `second` 1 for one-to-many, `bytes` the settings. The descriptor comes with the answer.
    Open = 1,
    /// `bind` and `sctp_bindx`: `first` is 0 for the first addresses, 1 for more, 2 to remove; `bytes` the addresses.
    Bind = 2,
    /// `listen`: `first` is the backlog.
    Listen = 3,
    /// `connect` and `sctp_connectx`: `bytes` a `struct sctp_initmsg` and the addresses. The answer is the identifier of the association; whether it comes up, the
    /// descriptor tells.
    Connect = 4,
    /// `getsockopt`: `first` is the level, `second` the option, `bytes` what the program has put there.
    GetOption = 5,
    /// `setsockopt`. The answer is the [ancillary data](crate::frame::wanted) that the program wants now.
    SetOption = 6,
    /// `getsockname`.
    LocalName = 7,
    /// `getpeername`.
    PeerName = 8,
    /// `sctp_peeloff`: `first` is the association. The descriptor of the socket comes with the question, whose messages move, and the new one with the
    /// answer.
    PeelOff = 9,
    /// Whether the socket listens: 1 or 0.
    IsListening = 10,
    /// What sockets and associations there are, as text.
    Status = 11,
    /// Whether messages to an association are authenticated with a key (`SCTP_AUTHINFO`): `first` is the association, `second` the
    /// key, `bytes` the address of the peer where that tells which association it is.
    CheckKey = 12,
    /// An abort (`SCTP_ABORT`), which does not wait behind messages: `first` is the association, `second` 1 for all of them (`SCTP_SENDALL`), `bytes` an
    /// [`Abort`].
    Abort = 13,
    /// Waits until no attempt to connect is under way. Fails with `EBUSY` if so many of the process wait that others could not ask any more.
    Settle = 14,
    /// What a program can expect that reads: an [`outlook`]. `first` is 1 if the descriptor has come to its end, `second` an association that it is about.
    Outlook = 15,
    /// Whether a message may be sent although it is not fragmented (`SCTP_DISABLE_FRAGMENTS`): `first` is the association, `second` the
    /// bytes, `bytes` the address of the peer where that tells which association it is.
    CheckSize = 16,
    /// Where the socket is posted, and with it all others ([`board`](crate::board)). The descriptor comes with the answer.
    Board = 17,
    /// `shutdown` behind what lies in the descriptor, where that has no room for a frame that says so: `first` is the
    /// [direction](crate::frame::shut).
    Shutdown = 18,
}

impl Operation {
    fn from_number(number: u8) -> Option<Self> {
        use Operation::*;
        [
            Open,
            Bind,
            Listen,
            Connect,
            GetOption,
            SetOption,
            LocalName,
            PeerName,
            PeelOff,
            IsListening,
            Status,
            CheckKey,
            Abort,
            Settle,
            Outlook,
            CheckSize,
            Board,
            Shutdown,
        ]
        .into_iter()
        .find(|operation| *operation as u8 == number)
    }
}

/// What a program can expect that reads from a socket where nothing lies.
pub mod outlook {
    /// The end: the peer, or the program itself, has ended this direction.
    pub const END: i32 = 0;
    /// Something may come.
    pub const OPEN: i32 = 1;
    /// Nothing comes: there is no association (`ENOTCONN`).
    pub const ALONE: i32 = 2;
}

/// A question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// What is asked for.
    pub operation: Operation,
    /// Socket; 0 where there is none yet.
    pub socket: u64,
    /// See [`Operation`].
    pub first: i32,
    /// See [`Operation`].
    pub second: i32,
    /// See [`Operation`].
    pub bytes: Vec<u8>,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reply {
    /// What the call returns; an error number of Linux with a minus in front.
    pub value: i32,
    /// What else it gives.
    pub bytes: Vec<u8>,
}

/// What an abort says beside the association.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Abort {
    /// The peer, where that tells which association it is.
    pub peer: Option<SocketAddr>,
    /// Content of the cause "User-Initiated Abort" in the ABORT.
    pub reason: Vec<u8>,
}

impl Abort {
    /// As it is in a request.
    pub fn encoded(&self) -> Vec<u8> {
        let peer = self.peer.map(|peer| address::written(peer, false)).unwrap_or_default();
        Building::new().u32(peer.len() as u32).bytes(&peer).bytes(&self.reason).0
    }

    /// Reads one; `None` if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let fields = Fields(bytes);
        let end = (fields.u32(0)? as usize).checked_add(4)?;
        let peer = bytes.get(4..end)?;
        let reason = fields.rest(end).to_vec();
        match peer.is_empty() {
            true => Some(Self { peer: None, reason }),
            false => Some(Self { peer: Some(address::read(peer)?.0), reason }),
        }
    }
}

/// Why a question cannot be answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// It comes from another version of this project.
    OtherVersion,
    /// It is no question.
    Nonsense,
}

/// Bytes of a request in front of its variable part, without its length.
const REQUEST_BYTES: usize = 21;

impl Request {
    /// A question about a socket, without arguments.
    pub fn new(operation: Operation, socket: u64) -> Self {
        Self { operation, socket, first: 0, second: 0, bytes: Vec::new() }
    }

    /// As it goes over the connection, with its length in front.
    pub fn encoded(&self) -> Vec<u8> {
        let length = (REQUEST_BYTES + self.bytes.len()) as u32;
        Building::new()
            .u32(length)
            .bytes(&MARK)
            .u16(VERSION)
            .u8(self.operation as u8)
            .u64(self.socket)
            .i32(self.first)
            .i32(self.second)
            .bytes(&self.bytes)
            .0
    }

    /// Reads a question, without the length.
    ///
    /// # Errors
    ///
    /// If it is none, or one of another version.
    pub fn decode(body: &[u8]) -> Result<Self, Unreadable> {
        let fields = Fields(body);
        if (fields.bytes(0), fields.u16(2)) != (Some(MARK), Some(VERSION)) {
            // Those from before the versions begin with the operation.
            let is_old = body.first().is_some_and(|first| (1..=14).contains(first));
            return Err(match is_old || fields.bytes(0) == Some(MARK) {
                true => Unreadable::OtherVersion,
                false => Unreadable::Nonsense,
            });
        }
        let read = || {
            Some(Self {
                operation: Operation::from_number(fields.u8(4)?)?,
                socket: fields.u64(5)?,
                first: fields.i32(13)?,
                second: fields.i32(17)?,
                bytes: fields.rest(REQUEST_BYTES).to_vec(),
            })
        };
        read().ok_or(Unreadable::Nonsense)
    }
}

impl Reply {
    /// A call that gives a number and nothing else.
    pub fn value(value: i32) -> Self {
        Self { value, bytes: Vec::new() }
    }

    /// As it goes over the connection, with its length in front.
    pub fn encoded(&self) -> Vec<u8> {
        Building::new().u32((4 + self.bytes.len()) as u32).i32(self.value).bytes(&self.bytes).0
    }

    /// Reads an answer from the connection, after its length.
    ///
    /// # Errors
    ///
    /// Those of the connection, and if it is no answer.
    pub fn read(from: &mut impl Read, length: [u8; 4]) -> io::Result<Self> {
        let length = u32::from_ne_bytes(length) as usize;
        if !(4..=MAX_REPLY_BYTES).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut value = [0; 4];
        from.read_exact(&mut value)?;
        let mut bytes = Vec::new();
        from.take(length as u64 - 4).read_to_end(&mut bytes)?;
        if bytes.len() != length - 4 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Self { value: i32::from_ne_bytes(value), bytes })
    }

    /// Refuses a question of another version. Libraries of all versions write the text on standard error.
    pub fn of_other_version() -> Self {
        let text = format!(
            "the library of this program and the service of the SCTP sockets are not of the same version of Polypath: end the service, version {}, process {}, when no other program needs its associations, and start this program anew",
            env!("CARGO_PKG_VERSION"),
            std::process::id(),
        );
        Self { value: -Errno::PROTONOSUPPORT.raw_os_error(), bytes: text.into_bytes() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Head, Kind};

    /// Whoever changes a layout finds here that the version has to change with it.
    #[cfg(target_endian = "little")]
    #[test]
    fn the_layouts_are_those_of_the_version() {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let bytes = vec![0xAB];
        let request =
            Request { operation: Operation::Connect, socket: 0x0102, first: 3, second: 4, bytes };
        let reply = Reply { value: -1, bytes: vec![0xCD] };
        let head = Head {
            ends: false,
            wanted: 5,
            flags: 6,
            stream: 7,
            ssn: 8,
            pr_policy: 9,
            ppid: 10,
            context: 11,
            value: 12,
            association: 13,
            peer: Some("192.0.2.1:258".parse().unwrap()),
            tsn: 14,
            cumulative_tsn: 15,
            init: crate::init::InitMessage { outbound_streams: 16, ..Default::default() },
            rest: 17,
            number: 18,
            key: Some(19),
            ..Head::of(Kind::Notification)
        };
        let posted = crate::board::Posted { flags: 1, wanted: 2, ended: 3 };
        let posted = hex(&posted.encoded(4));
        let all = [hex(&request.encoded()), hex(&reply.encoded()), hex(&head.encoded()), posted];
        assert_eq!((VERSION, all.each_ref().map(String::as_str)), LAYOUTS);
    }

    #[cfg(target_endian = "little")]
    const LAYOUTS: (u16, [&str; 4]) = (
        6,
        [
            "16000000505006000402010000000000000300000004000000ab",
            "05000000ffffffffcd",
            "0200050006000700080009000a0000000b0000000c0000000d00000002000102c000020100000000000000000000000000000000000000000e0000000f0000001000000000000000110000001200000001001300",
            "01020000030000001d9c2cccb9563811",
        ],
    );

    #[test]
    fn questions_and_answers_are_read_as_they_were_written() {
        let request = Request {
            operation: Operation::SetOption,
            socket: u64::MAX,
            first: 132,
            second: -1,
            bytes: vec![1, 2, 3],
        };
        let encoded = request.encoded();
        assert_eq!(Request::decode(&encoded[4..]), Ok(request));
        assert_eq!(encoded[..4], (encoded.len() as u32 - 4).to_ne_bytes());

        let reply = Reply { value: -22, bytes: vec![4; 5] };
        let encoded = reply.encoded();
        let length = encoded[..4].try_into().unwrap();
        assert_eq!(Reply::read(&mut &encoded[4..], length).unwrap(), reply);
    }

    #[test]
    fn aborts_are_read_as_they_were_written() {
        for peer in [None, Some("192.0.2.1:7"), Some("[2001:db8::1]:7")] {
            let peer = peer.map(|text| text.parse().unwrap());
            let abort = Abort { peer, reason: b"why".to_vec() };
            let encoded = abort.encoded();
            assert_eq!(Abort::decode(&encoded), Some(abort));
            let cut = &encoded[..encoded.len() - 4];
            assert!(peer.is_none() || Abort::decode(cut).is_none(), "cut off");
        }
        assert_eq!(Abort::decode(&[255; 8]), None);
        assert_eq!(Abort::decode(&[0; 3]), None);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let good = Request::new(Operation::Settle, 1).encoded();
        for end in 0..good.len() - 4 {
            assert_ne!(Request::decode(&good[4..][..end]).map(drop), Ok(()), "cut off at {end}");
        }
        let mut other = good.clone();
        other[8] = 99;
        assert_eq!(Request::decode(&other[4..]), Err(Unreadable::Nonsense), "no such operation");
        assert_eq!(Request::decode(&[0; 21]), Err(Unreadable::Nonsense));
        let mut later = good;
        later[6..8].copy_from_slice(&(VERSION + 1).to_ne_bytes());
        assert_eq!(Request::decode(&later[4..]), Err(Unreadable::OtherVersion));
        assert_eq!(Request::decode(&[14; 17]), Err(Unreadable::OtherVersion), "without a version");
        assert!(Reply::read(&mut &[0; 8][..], 3_u32.to_ne_bytes()).is_err());
        assert!(Reply::read(&mut &[0; 8][..], u32::MAX.to_ne_bytes()).is_err());
    }
}
