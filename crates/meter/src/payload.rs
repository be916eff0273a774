//! The messages that are measured: NETPERFMETER_DATA of NetPerfMeter's protocol (NPMP), which Wireshark dissects.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |   Type = 5    |  Flags      EB|            Length             |
//! +---------------+---------------+-------------------------------+
//! |                            Flow ID                            |
//! +---------------------------------------------------------------+
//! |                    Measurement ID (64 bit)                    |
//! +-------------------------------+-------------------------------+
//! |           Stream ID           |            Padding            |
//! +-------------------------------+-------------------------------+
//! |                           Frame ID                            |
//! +---------------------------------------------------------------+
//! |            Sequence number of the message (64 bit)            |
//! +---------------------------------------------------------------+
//! |      Sequence number of its first byte (64 bit), from 0       |
//! +---------------------------------------------------------------+
//! |      Time in microseconds since 1970-01-01 UTC (64 bit)       |
//! +---------------------------------------------------------------+
//! |     Pattern: 30, 31, ... 127, 30, ... from the active side,   |
//! |              127, 126, ... 30, 127, ... from the passive one  |
//! +---------------------------------------------------------------+
//! ```
//!
//! B and E tell that a message begins or ends a frame. Numbers are big-endian; the length is that of the whole message.

use std::sync::LazyLock;

use bytes::{BufMut, Bytes, BytesMut};

/// Payload protocol identifier of NPMP data (IANA).
pub(crate) const PPID: u32 = 37;
/// Length of the header of messages in bytes: no message is shorter.
pub const HEADER: usize = 48;
/// Length of the longest message in bytes: its field has 16 bits.
pub const LONGEST: usize = u16::MAX as usize;

/// Headers that memory is taken for at a time.
const HEADERS_AT_A_TIME: usize = 256;

const TYPE_DATA: u8 = 5;
const FRAME_BEGIN: u8 = 1;
const FRAME_END: u8 = 2;

/// An end of a measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The client, NetPerfMeter's active side.
    Client,
    /// The server, its passive side.
    Server,
}

/// What a message says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    /// Flow of the measurement.
    pub flow: u32,
    /// Random name of the measurement.
    pub measurement: u64,
    /// Stream that carries the flow.
    pub stream: u16,
    /// Number of the frame, from 0.
    pub frame: u32,
    /// Number of the message, from 0.
    pub sequence: u64,
    /// Bytes of the flow before this message.
    pub byte_sequence: u64,
    /// Microseconds since 1970.
    pub time_us: u64,
}

impl Header {
    /// What a message of `length` bytes begins with, which is a frame of its own.
    fn encode(&self, length: u16) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        [bytes[0], bytes[1]] = [TYPE_DATA, FRAME_BEGIN | FRAME_END];
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.flow.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.measurement.to_be_bytes());
        bytes[16..18].copy_from_slice(&self.stream.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.frame.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[32..40].copy_from_slice(&self.byte_sequence.to_be_bytes());
        bytes[40..48].copy_from_slice(&self.time_us.to_be_bytes());
        bytes
    }
}

/// Makes messages. The pattern is the same memory in all of them: so much that nobody has read before would drive everything
/// else out of the processor's caches, and take longer to fetch than all else that is done with a message.
#[derive(Debug)]
pub(crate) struct Messages {
    role: Role,
    /// Memory for the next headers.
    headers: BytesMut,
}

impl Messages {
    /// For what `role` sends.
    pub fn new(role: Role) -> Self {
        Self { role, headers: BytesMut::new() }
    }

    /// A message of `length` bytes, headers and all, that is a frame of its own: its header, and what follows.
    pub fn encode(&mut self, header: &Header, length: usize) -> (Bytes, Bytes) {
        let length = length.clamp(HEADER, LONGEST);
        if self.headers.capacity() < HEADER {
            self.headers = BytesMut::with_capacity(HEADERS_AT_A_TIME * HEADER);
        }
        self.headers.put_slice(&header.encode(length as u16));
        let tail = Bytes::from_static(&pattern(self.role)[..length - HEADER]);
        (self.headers.split().freeze(), tail)
    }
}

/// The header of a message of `length` bytes that begins with `beginning`; nothing if it is no such message.
pub(crate) fn decode(beginning: &[u8], length: usize) -> Option<Header> {
    let bytes: &[u8; HEADER] = beginning.first_chunk()?;
    if bytes[0] != TYPE_DATA || usize::from(u16::from_be_bytes(field(bytes, 2))) != length {
        return None;
    }
    Some(Header {
        flow: u32::from_be_bytes(field(bytes, 4)),
        measurement: u64::from_be_bytes(field(bytes, 8)),
        stream: u16::from_be_bytes(field(bytes, 16)),
        frame: u32::from_be_bytes(field(bytes, 20)),
        sequence: u64::from_be_bytes(field(bytes, 24)),
        byte_sequence: u64::from_be_bytes(field(bytes, 32)),
        time_us: u64::from_be_bytes(field(bytes, 40)),
    })
}

/// The bytes of a field that begins at `place`.
fn field<const N: usize>(bytes: &[u8; HEADER], place: usize) -> [u8; N] {
    std::array::from_fn(|at| bytes[place + at])
}

fn pattern(role: Role) -> &'static [u8] {
    static RISING: LazyLock<Vec<u8>> = LazyLock::new(|| (30..=127).cycle().take(LONGEST).collect());
    static FALLING: LazyLock<Vec<u8>> =
        LazyLock::new(|| (30..=127).rev().cycle().take(LONGEST).collect());
    match role {
        Role::Client => &RISING,
        Role::Server => &FALLING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: Header = Header {
        flow: 0x0102_0304,
        measurement: 0x1112_1314_1516_1718,
        stream: 0x2122,
        frame: 0x3132_3334,
        sequence: 0x4142_4344_4546_4748,
        byte_sequence: 0x5152_5354_5556_5758,
        time_us: 0x6162_6364_6566_6768,
    };

    fn encode(header: &Header, role: Role, length: usize) -> Vec<u8> {
        let (header, tail) = Messages::new(role).encode(header, length);
        [header, tail].concat()
    }

    #[test]
    fn messages_share_their_pattern_and_no_header() {
        let mut messages = Messages::new(Role::Client);
        let made: Vec<_> = (0..1000)
            .map(|sequence| messages.encode(&Header { sequence, ..EXAMPLE }, 100))
            .collect();
        for (sequence, (header, tail)) in (0..).zip(&made) {
            let read = decode(header, 100);
            assert_eq!(read, Some(Header { sequence, ..EXAMPLE }));
            assert_eq!((tail.as_ptr(), tail.len()), (made[0].1.as_ptr(), 52));
        }
    }

    #[test]
    fn fields_are_where_the_format_has_them() {
        let message = encode(&EXAMPLE, Role::Client, 60);
        let expected = [
            &[5, 3, 0, 60, 1, 2, 3, 4][..],
            &[0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18],
            &[0x21, 0x22, 0, 0, 0x31, 0x32, 0x33, 0x34],
            &[0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48],
            &[0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58],
            &[0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68],
            &[30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41],
        ];
        assert_eq!(message, expected.concat());
        assert_eq!(decode(&message, 60), Some(EXAMPLE));
    }

    #[test]
    fn patterns_tell_the_directions_apart() {
        let tail = |role| encode(&EXAMPLE, role, 48 + 99)[48..].to_vec();
        let (rising, falling) = (tail(Role::Client), tail(Role::Server));
        assert_eq!((rising[0], rising[97], rising[98]), (30, 127, 30));
        assert_eq!((falling[0], falling[97], falling[98]), (127, 30, 127));
    }

    #[test]
    fn lengths_have_bounds() {
        assert_eq!(encode(&EXAMPLE, Role::Server, 0).len(), HEADER);
        assert_eq!(encode(&EXAMPLE, Role::Server, 1 << 20).len(), LONGEST);
    }

    #[test]
    fn anything_else_is_refused() {
        let message = encode(&EXAMPLE, Role::Client, 100);
        for cut in 0..HEADER {
            assert_eq!(decode(&message[..cut], cut), None, "{cut}");
        }
        assert_eq!(decode(&message, 101), None, "another length");
        let other = [&[4], &message[1..]].concat();
        assert_eq!(decode(&other, 100), None, "another type");
    }
}
