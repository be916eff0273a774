//! Messages of users, and how they travel (RFC 8831 section 6.6).

use bytes::Bytes;

const STRING: u32 = 51;
const BINARY: u32 = 53;
const STRING_EMPTY: u32 = 56;
const BINARY_EMPTY: u32 = 57;

/// A message of a user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Bytes),
}

impl Content {
    /// Payload protocol identifier and payload. SCTP cannot send an empty message, so that one is sent as a zero byte (RFC 8831 section 6.6).
    pub(crate) fn into_payload(self) -> (u32, Bytes) {
        let (some, empty, bytes) = match self {
            Self::Text(text) => (STRING, STRING_EMPTY, Bytes::from(text)),
            Self::Binary(bytes) => (BINARY, BINARY_EMPTY, bytes),
        };
        match bytes.is_empty() {
            true => (empty, Bytes::from_static(&[0])),
            false => (some, bytes),
        }
    }

    /// The other way; `None` for an identifier that is not that of a user's message, and for text that is not UTF-8.
    pub(crate) fn from_payload(ppid: u32, payload: Bytes) -> Option<Self> {
        match ppid {
            STRING => String::from_utf8(payload.into()).ok().map(Self::Text),
            BINARY => Some(Self::Binary(payload)),
            STRING_EMPTY => Some(Self::Text(String::new())),
            BINARY_EMPTY => Some(Self::Binary(Bytes::new())),
            _ => None,
        }
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self::Binary(bytes)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Binary(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_content_has_its_identifier() {
        for (content, ppid, payload) in [
            (Content::from("text"), 51, &b"text"[..]),
            (Content::from(""), 56, &[0]),
            (Content::from(vec![1, 2]), 53, &[1, 2]),
            (Content::from(vec![]), 57, &[0]),
        ] {
            let encoded = content.clone().into_payload();
            assert_eq!((encoded.0, &encoded.1[..]), (ppid, payload));
            assert_eq!(Content::from_payload(ppid, encoded.1), Some(content));
        }
        for (ppid, payload) in [(51, &b"\xFF"[..]), (50, b"x"), (52, b"x"), (54, b"x"), (0, b"x")] {
            assert_eq!(Content::from_payload(ppid, Bytes::from_static(payload)), None, "{ppid}");
        }
    }
}
