//! The control messages of both ends on stream 0, and their form on the wire.
//!
//! Each message is JSON behind two bytes: the version, and whether more of the same message follows. Messages are cut, so
//! that they fit any buffer.

use bytes::{BufMut, Bytes, BytesMut};
use polypath::ReceivedMessage;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::clock::ClockRelation;
use crate::document::SideReport;
use crate::proposal::Proposal;
use crate::text::shown;

/// Payload protocol identifier of control messages.
pub(crate) const PPID: u32 = 0x504D_5401;
/// Stream of control messages.
pub(crate) const STREAM: u16 = 0;
/// Version of the control protocol. It changes with any message: peers of another version are refused.
pub(crate) const VERSION: u8 = 2;
/// Most bytes of a piece: it fits a packet, and the smallest buffers.
const PIECE: usize = 1000;
/// Longest message in bytes.
const LONGEST: usize = 1 << 20;

const LAST: u8 = 0;
const MORE: u8 = 1;

/// Why a message is none of the control protocol.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// It cannot be written as JSON.
    #[error(transparent)]
    Encode(#[from] serde_json::Error),
    /// It has too many bytes.
    #[error("a control message of {0} bytes")]
    TooLong(usize),
    /// It is too short for the header.
    #[error("a control message without header")]
    NoHeader,
    /// It is of another version.
    #[error("version {0} of the control protocol; this is version {VERSION}")]
    Version(u8),
    /// Its pieces do not end.
    #[error("a control message without end")]
    Endless,
    /// Its mark says neither that more follows nor that it ends.
    #[error("a control message with mark {0}")]
    Mark(u8),
    /// Its content is no control message of this protocol; the text says why.
    #[error("a control message that says nothing: {0}")]
    Nothing(String),
    /// It is of another protocol, or on another stream.
    #[error("payload protocol {ppid:#010x} on stream {stream}")]
    Foreign {
        /// Payload protocol identifier.
        ppid: u32,
        /// Stream.
        stream: u16,
    },
}

/// A control message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Control {
    /// The client wants this.
    Propose(Box<Proposal>),
    /// The server agrees.
    Accept(Accept),
    /// The server does not.
    Refuse(Refused),
    /// The client asks for the server's time.
    Ask(u64),
    /// The server says the client's time, and its own.
    Answer(u64, u64),
    /// It begins now, with this relation of the clocks.
    Start(ClockRelation),
    /// Everything that this side had to send was acknowledged or abandoned: so many messages of each flow.
    Finished(Vec<u64>),
    /// What this side measured.
    Results(Box<SideReport>),
}

/// What a server says of itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Accept {
    /// This start of its machine, where it has a name.
    pub boot_id: Option<String>,
    /// Version of the program.
    pub version: String,
}

/// Why a server does not measure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refused {
    /// In words.
    pub reason: String,
}

/// The pieces of a control message, each of which is a message of the association.
pub(crate) fn encode(control: &Control) -> Result<Vec<Bytes>, ControlError> {
    let content = serde_json::to_vec(control)?;
    if content.len() > LONGEST {
        return Err(ControlError::TooLong(content.len()));
    }
    let count = content.len().div_ceil(PIECE);
    let piece = |(part, number): (&[u8], usize)| {
        let mut piece = BytesMut::with_capacity(part.len() + 2);
        piece.put_u8(VERSION);
        piece.put_u8(if number == count { LAST } else { MORE });
        piece.put_slice(part);
        piece.freeze()
    };
    Ok(content.chunks(PIECE).zip(1..).map(piece).collect())
}

/// Puts control messages together.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    content: Vec<u8>,
}

impl Assembler {
    /// Takes a piece; gives the message if it was the last.
    pub fn take(&mut self, message: ReceivedMessage) -> Result<Option<Control>, ControlError> {
        self.add(&message.into_bytes())
    }

    fn add(&mut self, piece: &[u8]) -> Result<Option<Control>, ControlError> {
        let [version, more, part @ ..] = piece else { return Err(ControlError::NoHeader) };
        if *version != VERSION {
            return Err(ControlError::Version(*version));
        }
        if self.content.len() + part.len() > LONGEST {
            return Err(ControlError::Endless);
        }
        self.content.extend_from_slice(part);
        match *more {
            MORE => Ok(None),
            LAST => {
                let content = std::mem::take(&mut self.content);
                let control = serde_json::from_slice(&content);
                // The error quotes what the peer wrote.
                control.map_err(|error| ControlError::Nothing(shown(&error.to_string()))).map(Some)
            }
            other => Err(ControlError::Mark(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_cut_and_put_together() {
        let refusal = Control::Refuse(Refused { reason: "x".repeat(5000) });
        let pieces = encode(&refusal).unwrap();
        assert!(pieces.len() == 6 && pieces.iter().all(|piece| piece.len() <= PIECE + 2));
        let mut assembler = Assembler::default();
        let heard: Vec<_> =
            pieces.iter().filter_map(|piece| assembler.add(piece).unwrap()).collect();
        assert_eq!(heard, [refusal]);
        let ask = encode(&Control::Ask(7)).unwrap();
        assert_eq!(assembler.add(&ask[0]).unwrap(), Some(Control::Ask(7)), "it begins anew");
    }

    #[test]
    fn another_version_is_refused_by_its_number() {
        let mut piece = encode(&Control::Ask(7)).unwrap().remove(0).to_vec();
        piece[0] -= 1;
        let error = Assembler::default().add(&piece).unwrap_err();
        assert_eq!(error.to_string(), "version 1 of the control protocol; this is version 2");
    }

    #[test]
    fn garbage_is_an_error_and_takes_no_room() {
        for garbage in [
            &b""[..],
            &[2],
            &[9, 0, b'{'],
            &[2, 7],
            &[2, 0],
            b"\x02\x00[1",
            b"\x02\x00{\"ask\":-1}",
        ] {
            assert!(Assembler::default().add(garbage).is_err(), "{garbage:?}");
        }
        let steering = Assembler::default().add(b"\x02\x00{\"\\u001b[2J\":1}").unwrap_err();
        let steering = steering.to_string();
        assert!(steering.contains("[2J") && !steering.contains('\x1b'), "{steering}");
        let mut assembler = Assembler::default();
        let endless =
            (0..).find_map(|_| assembler.add(&[&[2, 1][..], &[b' '; 100_000]].concat()).err());
        assert!(endless.unwrap().to_string().contains("without end"));
        assert!(assembler.content.len() <= LONGEST);
    }
}
