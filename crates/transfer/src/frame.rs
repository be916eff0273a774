//! The frames of the transfer protocol.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use polypath::text::printable;
use polypath::{Association, Message, ReceivedMessage};
use thiserror::Error;

const OFFER: u32 = 0x5046_5401;
const ANSWER: u32 = 0x5046_5402;
const DATA: u32 = 0x5046_5403;
const END: u32 = 0x5046_5404;
const VERDICT: u32 = 0x5046_5405;
const PROOF: u32 = 0x5046_5406;
const WORKING: u32 = 0x5046_5407;

/// The stream of all frames.
const STREAM: u16 = 0;
/// Bytes of an offer of version 2 before the name.
const SECOND_HEADER: usize = 31;
/// Longest reason in bytes.
const MAX_REASON: usize = 500;
/// Most offsets that a receiver may ask about.
pub(crate) const MAX_OFFSETS: usize = 16;
/// Size of a file whose end is not known before it comes.
const UNKNOWN_SIZE: u64 = u64::MAX;
/// Permissions or time that are not known.
const UNKNOWN: u32 = u32::MAX;
/// Flag of an offer: the content follows without waiting for the answer.
const EAGER: u8 = 1;
/// Flag of an offer of version 3: other offers may follow before the content.
const AHEAD: u8 = 2;

/// Version of the protocol. A sender uses the first one with a receiver that does not know the second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Version {
    /// Whole files, one after the other.
    First = 1,
    /// Files that are resumed, directories, and content of unknown size.
    Second = 2,
    /// Offers of files whose content comes after other offers.
    Third = 3,
    /// Such offers of files of any size.
    Fourth = 4,
}

/// Adaptation code point (RFC 5061 section 4.2.6) of a side that knows version 2 of the transfer protocol: the letters PFT and the
/// version. [`association_config`](crate::association_config) has it, and a sender falls back to version 1 with a receiver that does not indicate it.
pub const ADAPTATION: u32 = 0x5046_5402;

impl Version {
    /// The version that the program at the other end knows.
    pub(crate) fn of_peer(association: &Association) -> Self {
        match association.peer_adaptation() {
            Some(ADAPTATION) => Self::Second,
            _ => Self::First,
        }
    }
}

/// Why a message is no frame of the protocol.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FrameError {
    /// A digest of another length.
    #[error("a digest of {0} bytes instead of 32")]
    DigestLength(usize),
    /// Another payload protocol identifier.
    #[error("a message with the unknown payload protocol identifier {0:#010x}")]
    UnknownIdentifier(u32),
    /// Another version of the protocol.
    #[error("version {0} of the transfer protocol; this side knows the versions 1 to 4")]
    Version(u8),
    /// An offer that ends too early.
    #[error(transparent)]
    TooShort(#[from] bytes::TryGetError),
    /// A reply without its first byte, or with another one.
    #[error("a reply that is neither yes nor no")]
    Reply,
    /// An offer of something that is neither a file nor a directory.
    #[error("an offer of the unknown kind {0}")]
    Kind(u8),
    /// Offsets that are none, too many, or do not fall.
    #[error("offsets that cannot be compared")]
    Offsets,
}

/// What a sign of life says besides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hello {
    /// A version that the receiver knows; 0 if it names none.
    pub(crate) version: u8,
    /// Whether it takes hidden files, if it says so.
    pub(crate) hidden: Option<bool>,
}

/// SHA-256 of a file, or of its first bytes.
pub(crate) type Digest = [u8; 32];

/// Yes, or why not.
pub(crate) type Reply = Result<(), String>;

/// What is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Directory,
}

/// When the content of a file comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pace {
    /// After the answer, before anything else.
    Answered,
    /// At once, without waiting for the answer.
    Eager,
    /// After the answer. Other offers, and the content of files that were offered before, may come first.
    Ahead,
}

/// When a file was modified, after 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Modified {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

/// Metadata of a file, sent before its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Offer {
    /// Version that the sender speaks.
    pub(crate) version: Version,
    /// Offers that follow this one.
    pub(crate) following: u32,
    /// Bytes, if they are known before.
    pub(crate) size: Option<u64>,
    pub(crate) kind: Kind,
    pub(crate) pace: Pace,
    /// Permission bits, if known.
    pub(crate) mode: Option<u32>,
    pub(crate) modified: Option<Modified>,
    /// Name; not yet checked where it was received.
    pub(crate) name: Bytes,
}

/// What a receiver says to an offer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The content from this byte on is wanted.
    From(u64),
    /// It is not wanted, and that is why.
    Refused(String),
    /// Which of these beginnings are the same? The offsets fall. A [`Frame::Proof`] answers.
    Prove(Vec<u64>),
    /// It is there already, or need not be; what is there.
    There(String),
    /// Something of it may be there. It is to be offered once more, for itself, when its content would come.
    Alone,
}

/// A frame that arrived.
#[derive(Debug)]
pub(crate) enum Frame {
    /// A file follows if the answer allows it.
    Offer(Offer),
    /// Whether the file is wanted.
    Answer(Answer),
    /// Content.
    Data(ReceivedMessage),
    /// The content is complete.
    End(Digest),
    /// Whether the file was stored.
    Verdict(Reply),
    /// Digests of the beginnings that were asked about.
    Proof(Vec<Digest>),
    /// Its sender is at work, and something will follow; at the beginning, also what it knows and takes.
    Working(Hello),
}

impl Frame {
    /// Reads a message.
    pub(crate) fn decode(message: ReceivedMessage) -> Result<Self, FrameError> {
        let ppid = message.ppid();
        if ppid == DATA {
            return Ok(Self::Data(message));
        }
        let content = message.into_bytes();
        match ppid {
            OFFER => Ok(Self::Offer(decode_offer(&content)?)),
            ANSWER => Ok(Self::Answer(decode_answer(&content)?)),
            END => match content.as_ref().try_into() {
                Ok(digest) => Ok(Self::End(digest)),
                Err(_) => Err(FrameError::DigestLength(content.len())),
            },
            VERDICT => Ok(Self::Verdict(decode_reply(&content)?)),
            PROOF => Ok(Self::Proof(decode_proof(&content)?)),
            WORKING => Ok(Self::Working(Hello {
                version: content.get(1).copied().unwrap_or(0),
                hidden: content.get(2).map(|takes| *takes != 0),
            })),
            _ => Err(FrameError::UnknownIdentifier(ppid)),
        }
    }

    /// What it is, for messages about frames at the wrong time.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Offer(_) => "an offer",
            Self::Answer(_) => "an answer",
            Self::Data(_) => "data",
            Self::End(_) => "an end",
            Self::Verdict(_) => "a verdict",
            Self::Proof(_) => "digests",
            Self::Working(_) => "a sign of life",
        }
    }
}

/// Offers a file.
pub(crate) fn offer(offer: &Offer) -> Message {
    let mut content = BytesMut::with_capacity(SECOND_HEADER + offer.name.len());
    content.put_u8(offer.version as u8);
    content.put_u32(offer.following);
    content.put_u64(offer.size.unwrap_or(UNKNOWN_SIZE));
    if offer.version >= Version::Second {
        content.put_u8(u8::from(offer.kind == Kind::Directory));
        content.put_u8(match offer.pace {
            Pace::Answered => 0,
            Pace::Eager => EAGER,
            Pace::Ahead => AHEAD,
        });
        content.put_u32(offer.mode.unwrap_or(UNKNOWN));
        let modified = offer.modified.unwrap_or(Modified { seconds: 0, nanoseconds: UNKNOWN });
        content.put_i64(modified.seconds);
        content.put_u32(modified.nanoseconds);
    }
    content.put_slice(&offer.name);
    message(OFFER, content.freeze())
}

/// Answers an offer.
pub(crate) fn answer(answer: &Answer) -> Message {
    message(ANSWER, encode_answer(answer))
}

/// Carries content.
pub(crate) fn data(content: Bytes) -> Message {
    message(DATA, content)
}

/// Ends the content.
pub(crate) fn end(digest: &Digest) -> Message {
    message(END, Bytes::copy_from_slice(digest))
}

/// Reports whether the file was stored.
pub(crate) fn verdict(reply: &Reply) -> Message {
    message(VERDICT, encode_reply(reply))
}

/// Gives the digests of beginnings.
pub(crate) fn proof(digests: &[Digest]) -> Message {
    message(PROOF, digests.concat().into())
}

/// Says at the beginning which version this side knows, and whether it takes hidden files. To a peer of version 2, it is a sign of life.
pub(crate) fn hello(version: Version, hidden: bool) -> Message {
    message(WORKING, Bytes::copy_from_slice(&[0, version as u8, u8::from(hidden)]))
}

/// Says that something will follow.
pub(crate) fn working() -> Message {
    // A message has content (RFC 9260 section 3.3.1).
    message(WORKING, Bytes::from_static(&[0]))
}

fn message(ppid: u32, content: Bytes) -> Message {
    Message::new(STREAM, content).ppid(ppid)
}

fn decode_offer(content: &Bytes) -> Result<Offer, FrameError> {
    let mut rest = content.clone();
    let version = match rest.try_get_u8()? {
        1 => Version::First,
        2 => Version::Second,
        3 => Version::Third,
        4 => Version::Fourth,
        other => return Err(FrameError::Version(other)),
    };
    let (following, size) = (rest.try_get_u32()?, rest.try_get_u64()?);
    if version == Version::First {
        // Every number was a size.
        let (kind, pace, mode, modified) = (Kind::File, Pace::Answered, None, None);
        let size = Some(size);
        return Ok(Offer { version, following, size, kind, pace, mode, modified, name: rest });
    }
    let kind = match rest.try_get_u8()? {
        0 => Kind::File,
        1 => Kind::Directory,
        other => return Err(FrameError::Kind(other)),
    };
    let pace = match rest.try_get_u8()? {
        flags if flags & EAGER != 0 => Pace::Eager,
        flags if flags & AHEAD != 0 && version >= Version::Third => Pace::Ahead,
        _ => Pace::Answered,
    };
    let mode = Some(rest.try_get_u32()?).filter(|mode| *mode != UNKNOWN);
    let modified = Modified { seconds: rest.try_get_i64()?, nanoseconds: rest.try_get_u32()? };
    let modified = Some(modified).filter(|modified| modified.nanoseconds < 1_000_000_000);
    let size = Some(size).filter(|size| *size != UNKNOWN_SIZE);
    Ok(Offer { version, following, size, kind, pace, mode, modified, name: rest })
}

fn encode_answer(answer: &Answer) -> Bytes {
    match answer {
        // As a sender of version 1 expects it.
        Answer::From(0) => Bytes::from_static(&[0]),
        Answer::From(offset) => [&[0][..], &offset.to_be_bytes()].concat().into(),
        Answer::Refused(reason) => with_reason(1, reason),
        Answer::Prove(offsets) => {
            let mut content = BytesMut::with_capacity(1 + 8 * offsets.len());
            content.put_u8(2);
            offsets.iter().for_each(|offset| content.put_u64(*offset));
            content.freeze()
        }
        Answer::There(what) => with_reason(3, what),
        Answer::Alone => Bytes::from_static(&[4]),
    }
}

fn decode_answer(content: &[u8]) -> Result<Answer, FrameError> {
    match content.split_first() {
        Some((0, mut offset)) if offset.len() >= 8 => Ok(Answer::From(offset.get_u64())),
        Some((0, _)) => Ok(Answer::From(0)),
        Some((1, reason)) => Ok(Answer::Refused(shown(reason))),
        Some((2, offsets)) => {
            let (offsets, rest) = offsets.as_chunks();
            let offsets: Vec<_> =
                offsets.iter().map(|offset| u64::from_be_bytes(*offset)).collect();
            let falls = offsets.windows(2).all(|pair| pair[0] > pair[1]);
            match (1..=MAX_OFFSETS).contains(&offsets.len()) && rest.is_empty() && falls {
                true => Ok(Answer::Prove(offsets)),
                false => Err(FrameError::Offsets),
            }
        }
        Some((3, what)) => Ok(Answer::There(shown(what))),
        Some((4, _)) => Ok(Answer::Alone),
        _ => Err(FrameError::Reply),
    }
}

fn decode_proof(content: &[u8]) -> Result<Vec<Digest>, FrameError> {
    let (digests, rest) = content.as_chunks();
    match rest.is_empty() && digests.len() <= MAX_OFFSETS {
        true => Ok(digests.to_vec()),
        false => Err(FrameError::DigestLength(content.len())),
    }
}

fn encode_reply(reply: &Reply) -> Bytes {
    match reply {
        Ok(()) => Bytes::from_static(&[0]),
        Err(reason) => with_reason(1, reason),
    }
}

fn with_reason(first: u8, reason: &str) -> Bytes {
    let end = reason.floor_char_boundary(MAX_REASON);
    [&[first], &reason.as_bytes()[..end]].concat().into()
}

fn decode_reply(content: &[u8]) -> Result<Reply, FrameError> {
    match content.split_first() {
        Some((0, _)) => Ok(Ok(())),
        Some((1, reason)) => Ok(Err(shown(reason))),
        _ => Err(FrameError::Reply),
    }
}

/// What a peer says is shown to the user: nothing in it may steer a terminal.
fn shown(text: &[u8]) -> String {
    printable(&String::from_utf8_lossy(&text[..text.len().min(MAX_REASON)]), MAX_REASON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_survive_the_wire() {
        for reply in [Ok(()), Err(String::new()), Err("disk full".to_owned())] {
            assert_eq!(decode_reply(&encode_reply(&reply)).unwrap(), reply);
        }
        assert!(decode_reply(&[]).is_err());
        assert!(decode_reply(&[2]).is_err());
        for answer in [
            Answer::From(0),
            Answer::From(1 << 40),
            Answer::Refused("no".to_owned()),
            Answer::Prove(vec![9, 4, 1]),
            Answer::There("the same".to_owned()),
            Answer::Alone,
        ] {
            assert_eq!(decode_answer(&encode_answer(&answer)).unwrap(), answer);
        }
        let digests = vec![[1; 32], [2; 32]];
        assert_eq!(decode_proof(&proof(&digests).payload).unwrap(), digests);
    }

    #[test]
    fn questions_and_proofs_are_checked() {
        for offsets in [vec![], vec![1, 1], vec![1, 2], (0..17).rev().collect()] {
            assert!(decode_answer(&encode_answer(&Answer::Prove(offsets))).is_err());
        }
        assert!(decode_answer(&[2, 0, 0]).is_err());
        assert!(decode_answer(&[5]).is_err());
        assert!(decode_proof(&[0; 31]).is_err());
        assert!(decode_proof(&[0; 32 * 17]).is_err());
    }

    #[test]
    fn what_a_peer_of_version_1_says_and_hears_is_as_before() {
        assert_eq!(encode_answer(&Answer::From(0)).as_ref(), [0]);
        assert_eq!(encode_answer(&Answer::Refused("a".to_owned())).as_ref(), b"\x01a");
        assert_eq!(decode_answer(b"\x00later").unwrap(), Answer::From(0), "it may say more");
        let first = Offer { version: Version::First, mode: None, modified: None, ..sample() };
        let mut expected = vec![1, 0, 0, 0, 7, 0, 0, 1, 0, 0, 0, 0, 0];
        expected.extend_from_slice("naïve.txt".as_bytes());
        assert_eq!(offer(&first).payload, expected);
        assert_eq!(decode_offer(&expected.into()).unwrap(), first);
    }

    #[test]
    fn reasons_are_short_and_harmless() {
        let long = Err("ä".repeat(400));
        let Err(reason) = decode_reply(&encode_reply(&long)).unwrap() else { panic!("a reason") };
        assert_eq!(reason, "ä".repeat(250));
        assert_eq!(decode_reply(b"\x01\x1b[2Jgone").unwrap(), Err("?[2Jgone".to_owned()));
        assert_eq!(decode_reply(b"\x01\xff").unwrap(), Err("\u{fffd}".to_owned()));
        assert_eq!(decode_answer(b"\x03\x1b[2J").unwrap(), Answer::There("?[2J".to_owned()));
    }

    /// Bytes of an offer of version 1 before the name.
    const FIRST_HEADER: usize = 13;

    fn sample() -> Offer {
        Offer {
            version: Version::Second,
            following: 7,
            size: Some(1 << 40),
            kind: Kind::File,
            pace: Pace::Answered,
            mode: Some(0o644),
            modified: Some(Modified { seconds: -1, nanoseconds: 999_999_999 }),
            name: "naïve.txt".into(),
        }
    }

    #[test]
    fn offers_are_checked() {
        let unknown =
            Offer { size: None, mode: None, modified: None, pace: Pace::Eager, ..sample() };
        let directory = Offer { kind: Kind::Directory, ..sample() };
        let ahead = Offer { version: Version::Third, pace: Pace::Ahead, ..sample() };
        let first = Offer { version: Version::First, mode: None, modified: None, ..sample() };
        for (sent, header) in [
            (sample(), SECOND_HEADER),
            (unknown, SECOND_HEADER),
            (directory, SECOND_HEADER),
            (ahead.clone(), SECOND_HEADER),
            (first, FIRST_HEADER),
        ] {
            let content = offer(&sent).payload;
            assert_eq!(decode_offer(&content).unwrap(), sent);
            for len in 0..header {
                assert!(decode_offer(&content.slice(..len)).is_err(), "{len}");
            }
            let newer = [&[9], &content[1..]].concat().into();
            assert!(decode_offer(&newer).unwrap_err().to_string().contains("version 9"));
        }
        let mut second = offer(&ahead).payload.to_vec();
        second[0] = 2;
        assert_eq!(
            decode_offer(&second.into()).unwrap().pace,
            Pace::Answered,
            "it has no such flag"
        );
        let mut odd = offer(&sample()).payload.to_vec();
        odd[13] = 2;
        assert!(decode_offer(&odd.into()).unwrap_err().to_string().contains("kind 2"));
    }
}
