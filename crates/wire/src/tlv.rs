//! Type, length, value: the common form of parameters and error causes (RFC 9260 sections 3.2.1 and 3.3.10).

use alloc::vec::Vec;

use crate::error::{TlvError, TlvErrorReason};

/// Length of type and length.
pub(crate) const HEADER_LEN: usize = 4;

/// The longest one that the length field can tell and that still ends on a boundary of 4 bytes.
const LONGEST: usize = 65_532;

/// One element of a list.
#[derive(Clone, Copy)]
pub(crate) struct Tlv<'a> {
    pub(crate) code: u16,
    pub(crate) value: &'a [u8],
}

/// Walks over a list; ends after the first error.
#[derive(Clone)]
pub(crate) struct Tlvs<'a> {
    rest: &'a [u8],
    offset: usize,
}

impl<'a> Tlvs<'a> {
    pub(crate) fn new(list: &'a [u8]) -> Self {
        Self { rest: list, offset: 0 }
    }

    /// The next element made into what `read` makes of it, which returns `None` for a bad value.
    pub(crate) fn next_as<T>(
        &mut self,
        read: impl FnOnce(Tlv<'a>) -> Option<T>,
    ) -> Option<Result<T, TlvError>> {
        if self.rest.is_empty() {
            return None;
        }
        let list = core::mem::take(&mut self.rest);
        let offset = self.offset;
        let result = split(list).and_then(|(tlv, rest)| {
            self.offset += list.len() - rest.len();
            let bad = (tlv.code, TlvErrorReason::BadValue { len: tlv.value.len() });
            let item = read(tlv).ok_or(bad)?;
            self.rest = rest;
            Ok(item)
        });
        Some(result.map_err(|(code, reason)| TlvError { code, offset, reason }))
    }
}

/// Splits the first element off; padding belongs to it, and may be missing after the last one.
fn split(list: &[u8]) -> Result<(Tlv<'_>, &[u8]), (u16, TlvErrorReason)> {
    let available = list.len();
    let Some((&[t0, t1, l0, l1], _)) = list.split_first_chunk() else {
        return Err((0, TlvErrorReason::HeaderCutOff { available }));
    };
    let code = u16::from_be_bytes([t0, t1]);
    let length = u16::from_be_bytes([l0, l1]);
    let end = usize::from(length);
    if end < HEADER_LEN {
        return Err((code, TlvErrorReason::TooShort { length }));
    }
    let Some(value) = list.get(HEADER_LEN..end) else {
        return Err((code, TlvErrorReason::BeyondChunk { length, available }));
    };
    let rest = list.get(end.next_multiple_of(4)..).unwrap_or_default();
    Ok((Tlv { code, value }, rest))
}

/// Appends one element: pads what is there, then writes type, length and whatever `value` appends.
///
/// A value that the length field cannot tell is cut; no chunk could carry it either.
pub(crate) fn append(out: &mut Vec<u8>, code: u16, value: impl FnOnce(&mut Vec<u8>)) {
    out.resize(out.len().next_multiple_of(4), 0);
    let start = out.len();
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(&[0, 0]);
    value(out);
    out.truncate(start + LONGEST);
    let length = (out.len() - start) as u16;
    out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// A list of 16-bit numbers: borrowed as it stands on the wire, or given by the one who builds a parameter.
#[derive(Clone, Copy, Debug)]
pub enum U16List<'a> {
    /// Two bytes per number, most significant first; an odd last byte is ignored.
    Wire(&'a [u8]),
    /// Numbers.
    Numbers(&'a [u16]),
}

impl<'a> U16List<'a> {
    /// A list on the wire, `None` when a number is cut.
    pub(crate) fn from_wire(bytes: &'a [u8]) -> Option<Self> {
        bytes.len().is_multiple_of(2).then_some(Self::Wire(bytes))
    }

    /// Count of numbers.
    pub fn len(&self) -> usize {
        match self {
            Self::Wire(bytes) => bytes.len() / 2,
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + Clone + 'a {
        let (wire, numbers) = match *self {
            Self::Wire(bytes) => (bytes.as_chunks::<2>().0, &[][..]),
            Self::Numbers(numbers) => (&[][..], numbers),
        };
        wire.iter().map(|b| u16::from_be_bytes(*b)).chain(numbers.iter().copied())
    }

    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    }
}

impl PartialEq for U16List<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for U16List<'_> {}
