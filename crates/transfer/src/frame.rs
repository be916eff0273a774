//! The frames of the transfer protocol.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use polypath::text::printable;
use polypath::{Message, ReceivedMessage};
use thiserror::Error;

const OFFER: u32 = 0x5046_5401;
const ANSWER: u32 = 0x5046_5402;
const DATA: u32 = 0x5046_5403;
const END: u32 = 0x5046_5404;
const VERDICT: u32 = 0x5046_5405;

/// Version of the protocol.
pub(crate) const VERSION: u8 = 1;
/// The stream of all frames.
const STREAM: u16 = 0;
/// Bytes of an offer before the name.
const OFFER_HEADER: usize = 13;
/// Longest reason in bytes.
const MAX_REASON: usize = 500;

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
    #[error("version {0} of the transfer protocol; this is version {VERSION}")]
    Version(u8),
    /// An offer that ends too early.
    #[error(transparent)]
    TooShort(#[from] bytes::TryGetError),
    /// A reply without its first byte, or with another one.
    #[error("a reply that is neither yes nor no")]
    Reply,
}

/// SHA-256 of a file.
pub(crate) type Digest = [u8; 32];

/// Yes, or why not.
pub(crate) type Reply = Result<(), String>;

/// Metadata of a file, sent before its content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Offer {
    /// Offers that follow this one.
    pub(crate) following: u32,
    /// Bytes.
    pub(crate) size: u64,
    /// Name; not yet checked where it was received.
    pub(crate) name: Bytes,
}

/// A frame that arrived.
#[derive(Debug)]
pub(crate) enum Frame {
    /// A file follows if the answer allows it.
    Offer(Offer),
    /// Whether the file is wanted.
    Answer(Reply),
    /// Content.
    Data(ReceivedMessage),
    /// The content is complete.
    End(Digest),
    /// Whether the file was stored.
    Verdict(Reply),
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
            ANSWER => Ok(Self::Answer(decode_reply(&content)?)),
            END => match content.as_ref().try_into() {
                Ok(digest) => Ok(Self::End(digest)),
                Err(_) => Err(FrameError::DigestLength(content.len())),
            },
            VERDICT => Ok(Self::Verdict(decode_reply(&content)?)),
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
        }
    }
}

/// Offers a file.
pub(crate) fn offer(offer: &Offer) -> Message {
    let mut content = BytesMut::with_capacity(OFFER_HEADER + offer.name.len());
    content.put_u8(VERSION);
    content.put_u32(offer.following);
    content.put_u64(offer.size);
    content.put_slice(&offer.name);
    message(OFFER, content.freeze())
}

/// Answers an offer.
pub(crate) fn answer(reply: &Reply) -> Message {
    message(ANSWER, encode_reply(reply))
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

fn message(ppid: u32, content: Bytes) -> Message {
    Message::new(STREAM, content).ppid(ppid)
}

fn decode_offer(content: &Bytes) -> Result<Offer, FrameError> {
    let mut rest = content.clone();
    let version = rest.try_get_u8()?;
    if version != VERSION {
        return Err(FrameError::Version(version));
    }
    Ok(Offer { following: rest.try_get_u32()?, size: rest.try_get_u64()?, name: rest })
}

fn encode_reply(reply: &Reply) -> Bytes {
    match reply {
        Ok(()) => Bytes::from_static(&[0]),
        Err(reason) => {
            let end = reason.floor_char_boundary(MAX_REASON);
            [&[1], &reason.as_bytes()[..end]].concat().into()
        }
    }
}

/// What a peer says is shown to the user: nothing in it may steer a terminal.
fn decode_reply(content: &[u8]) -> Result<Reply, FrameError> {
    match content.split_first() {
        Some((0, _)) => Ok(Ok(())),
        Some((1, reason)) => {
            let text = String::from_utf8_lossy(&reason[..reason.len().min(MAX_REASON)]);
            Ok(Err(printable(&text, MAX_REASON)))
        }
        _ => Err(FrameError::Reply),
    }
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
    }

    #[test]
    fn reasons_are_short_and_harmless() {
        let long = Err("ä".repeat(400));
        let Err(reason) = decode_reply(&encode_reply(&long)).unwrap() else { panic!("a reason") };
        assert_eq!(reason, "ä".repeat(250));
        assert_eq!(decode_reply(b"\x01\x1b[2Jgone").unwrap(), Err("?[2Jgone".to_owned()));
        assert_eq!(decode_reply(b"\x01\xff").unwrap(), Err("\u{fffd}".to_owned()));
    }

    #[test]
    fn offers_are_checked() {
        let sent = Offer { following: 7, size: 1 << 40, name: "naïve.txt".into() };
        let content = offer(&sent).payload;
        assert_eq!(decode_offer(&content).unwrap(), sent);
        for len in 0..OFFER_HEADER {
            assert!(decode_offer(&content.slice(..len)).is_err(), "{len}");
        }
        let newer = [&[9], &content[1..]].concat().into();
        assert!(decode_offer(&newer).unwrap_err().to_string().contains("version 9"));
    }
}
