//! Messages of the Data Channel Establishment Protocol (RFC 8832 section 5).

use thiserror::Error;

/// Payload protocol identifier of these messages.
pub const PPID: u32 = 50;

const ACK: u8 = 0x02;
const OPEN: u8 = 0x03;
/// The bit of the channel type that says "unordered".
const UNORDERED: u8 = 0x80;
/// Bytes before the label.
const HEADER_LEN: usize = 12;

/// How long a channel tries to deliver a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Reliability {
    /// Until it is delivered.
    #[default]
    Reliable,
    /// With at most so many retransmissions.
    MaxRetransmissions(u32),
    /// For at most so many milliseconds.
    MaxLifetimeMs(u32),
}

/// What both sides know of a channel: the content of DATA_CHANNEL_OPEN.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct ChannelParameters {
    /// Name of the channel; need not be unique, may be empty.
    pub label: String,
    /// Subprotocol, mostly registered at IANA; may be empty.
    pub protocol: String,
    /// Whether messages arrive in the order of sending.
    pub ordered: bool,
    /// How long a message is tried.
    pub reliability: Reliability,
    /// Priority: 128 is below normal, 256 normal, 512 high, 1024 extra high (RFC 8831 section 6.4).
    pub priority: u16,
}

impl ChannelParameters {
    /// Reliable and ordered, of normal priority, without a subprotocol.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            protocol: String::new(),
            ordered: true,
            reliability: Reliability::Reliable,
            priority: 256,
        }
    }

    /// Messages may arrive in any order.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// Sets how long a message is tried.
    #[must_use]
    pub fn reliability(mut self, reliability: Reliability) -> Self {
        self.reliability = reliability;
        self
    }

    /// Sets the priority.
    #[must_use]
    pub fn priority(mut self, priority: u16) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the subprotocol.
    #[must_use]
    pub fn protocol(mut self, protocol: impl Into<String>) -> Self {
        self.protocol = protocol.into();
        self
    }
}

/// A message of the protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DcepMessage {
    /// DATA_CHANNEL_OPEN.
    Open(ChannelParameters),
    /// DATA_CHANNEL_ACK.
    Ack,
}

/// Why a message is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum DcepError {
    /// It ends too early, or goes on behind its end.
    #[error("a message of {length} bytes, where {wanted} are due")]
    Length {
        /// Bytes of the message.
        length: usize,
        /// Bytes that it should have.
        wanted: usize,
    },
    /// Its type is not known.
    #[error("message type {0:#04x} is not known")]
    MessageType(u8),
    /// The type of the channel is not known.
    #[error("channel type {0:#04x} is not known")]
    ChannelType(u8),
    /// Label or subprotocol are not UTF-8.
    #[error("the label or the subprotocol is not UTF-8")]
    Text,
}

/// The label or the subprotocol has more than 65535 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("the {what} has {length} bytes, and at most 65535 can be told")]
pub struct TooLong {
    /// `label` or `subprotocol`.
    pub what: &'static str,
    /// Its bytes.
    pub length: usize,
}

impl DcepMessage {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// What is wrong with it. The channel is to be closed then (RFC 8832 section 6).
    pub fn parse(bytes: &[u8]) -> Result<Self, DcepError> {
        let length = bytes.len();
        match bytes {
            [] => Err(DcepError::Length { length, wanted: 1 }),
            // pion fills it up to four bytes.
            [ACK, ..] => Ok(Self::Ack),
            [OPEN, ..] => parse_open(bytes).map(Self::Open),
            [other, ..] => Err(DcepError::MessageType(*other)),
        }
    }

    /// The bytes of the message.
    ///
    /// # Errors
    ///
    /// If the label or the subprotocol is too long.
    pub fn encode(&self) -> Result<Vec<u8>, TooLong> {
        match self {
            Self::Ack => Ok(vec![ACK]),
            Self::Open(parameters) => encode_open(parameters),
        }
    }
}

fn parse_open(bytes: &[u8]) -> Result<ChannelParameters, DcepError> {
    let length = bytes.len();
    let short = DcepError::Length { length, wanted: HEADER_LEN };
    let (header, text) = bytes.split_first_chunk::<HEADER_LEN>().ok_or(short)?;
    let [_, channel_type, p0, p1, r0, r1, r2, r3, l0, l1, s0, s1] = *header;
    let label_len = usize::from(u16::from_be_bytes([l0, l1]));
    let wanted = HEADER_LEN + label_len + usize::from(u16::from_be_bytes([s0, s1]));
    if length != wanted {
        return Err(DcepError::Length { length, wanted });
    }
    let parameter = u32::from_be_bytes([r0, r1, r2, r3]);
    let reliability = match channel_type & !UNORDERED {
        // The parameter of a reliable channel is to be ignored.
        0 => Reliability::Reliable,
        1 => Reliability::MaxRetransmissions(parameter),
        2 => Reliability::MaxLifetimeMs(parameter),
        _ => return Err(DcepError::ChannelType(channel_type)),
    };
    let (label, protocol) = text.split_at(label_len);
    let read = |text: &[u8]| String::from_utf8(text.to_vec()).map_err(|_| DcepError::Text);
    Ok(ChannelParameters {
        label: read(label)?,
        protocol: read(protocol)?,
        ordered: channel_type & UNORDERED == 0,
        reliability,
        priority: u16::from_be_bytes([p0, p1]),
    })
}

fn encode_open(parameters: &ChannelParameters) -> Result<Vec<u8>, TooLong> {
    let ChannelParameters { label, protocol, ordered, reliability, priority } = parameters;
    let length = |what, text: &str| {
        let length = text.len();
        u16::try_from(length).map_err(|_| TooLong { what, length })
    };
    let (label_len, protocol_len) = (length("label", label)?, length("subprotocol", protocol)?);
    let (kind, parameter) = match *reliability {
        Reliability::Reliable => (0, 0),
        Reliability::MaxRetransmissions(limit) => (1, limit),
        Reliability::MaxLifetimeMs(limit) => (2, limit),
    };
    let mut bytes = Vec::with_capacity(HEADER_LEN + label.len() + protocol.len());
    bytes.extend([OPEN, kind | if *ordered { 0 } else { UNORDERED }]);
    bytes.extend(priority.to_be_bytes());
    bytes.extend(parameter.to_be_bytes());
    bytes.extend(label_len.to_be_bytes());
    bytes.extend(protocol_len.to_be_bytes());
    bytes.extend(label.as_bytes());
    bytes.extend(protocol.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Written by hand after RFC 8832 section 5.1.
    #[test]
    fn an_open_has_its_fields_in_their_places() {
        let parameters = ChannelParameters::new("chat")
            .unordered()
            .reliability(Reliability::MaxRetransmissions(0x0102_0304))
            .priority(512)
            .protocol("x-é");
        let bytes = b"\x03\x81\x02\x00\x01\x02\x03\x04\x00\x04\x00\x04chatx-\xC3\xA9";
        assert_eq!(DcepMessage::Open(parameters.clone()).encode().unwrap(), bytes);
        assert_eq!(DcepMessage::parse(bytes), Ok(DcepMessage::Open(parameters)));
        assert_eq!(DcepMessage::Ack.encode().unwrap(), [2]);
        assert_eq!(DcepMessage::parse(&[2, 0, 0, 0]), Ok(DcepMessage::Ack));
    }

    #[test]
    fn types_of_channels_are_those_of_the_registry() {
        use Reliability::{MaxLifetimeMs, MaxRetransmissions, Reliable};
        for (channel_type, ordered, reliability) in [
            (0x00, true, Reliable),
            (0x80, false, Reliable),
            (0x01, true, MaxRetransmissions(7)),
            (0x81, false, MaxRetransmissions(7)),
            (0x02, true, MaxLifetimeMs(7)),
            (0x82, false, MaxLifetimeMs(7)),
        ] {
            let bytes = [3, channel_type, 1, 0, 0, 0, 0, 7, 0, 0, 0, 0];
            let Ok(DcepMessage::Open(parameters)) = DcepMessage::parse(&bytes) else {
                panic!("{channel_type:#x}")
            };
            assert_eq!((parameters.ordered, parameters.reliability), (ordered, reliability));
        }
    }

    #[test]
    fn what_is_malformed_is_named() {
        let open = |channel_type, label_len, text: &[u8]| {
            let mut bytes = vec![3, channel_type, 1, 0, 0, 0, 0, 0, 0, label_len, 0, 0];
            bytes.extend_from_slice(text);
            bytes
        };
        for (bytes, error) in [
            (vec![], DcepError::Length { length: 0, wanted: 1 }),
            (vec![1], DcepError::MessageType(1)),
            (vec![3, 0, 0], DcepError::Length { length: 3, wanted: 12 }),
            (open(0, 5, b"four"), DcepError::Length { length: 16, wanted: 17 }),
            (open(0, 3, b"four"), DcepError::Length { length: 16, wanted: 15 }),
            (open(0x03, 0, b""), DcepError::ChannelType(0x03)),
            (open(0x40, 0, b""), DcepError::ChannelType(0x40)),
            (open(0, 2, b"\xFF\xFF"), DcepError::Text),
        ] {
            assert_eq!(DcepMessage::parse(&bytes), Err(error), "{bytes:x?}");
        }
    }

    #[test]
    fn labels_that_cannot_be_told_are_refused() {
        for (what, parameters) in [
            ("label", ChannelParameters::new("x".repeat(65_536))),
            ("subprotocol", ChannelParameters::new("").protocol("x".repeat(65_536))),
        ] {
            let encoded = DcepMessage::Open(parameters).encode();
            assert_eq!(encoded, Err(TooLong { what, length: 65_536 }));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            label in ".{0,40}",
            protocol in ".{0,40}",
            ordered: bool,
            kind in 0..3,
            limit: u32,
            priority: u16,
        ) {
            let reliability = match kind {
                0 => Reliability::Reliable,
                1 => Reliability::MaxRetransmissions(limit),
                _ => Reliability::MaxLifetimeMs(limit),
            };
            let parameters = ChannelParameters { label, protocol, ordered, reliability, priority };
            let message = DcepMessage::Open(parameters);
            prop_assert_eq!(DcepMessage::parse(&message.encode().unwrap()), Ok(message));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = DcepMessage::parse(&bytes);
        }
    }
}
