//! FORWARD-TSN and I-FORWARD-TSN.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::Raw;

/// FORWARD-TSN (RFC 3758 section 3.2) or I-FORWARD-TSN (RFC 8260 section 2.3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardTsn<'a> {
    /// The receiver shall act as if all TSNs up to this one had arrived.
    pub new_cumulative_tsn: u32,
    /// Skipped streams: 4 bytes (stream, SSN) or 8 bytes (stream, flags, MID) each.
    pub skipped: Raw<'a>,
}

/// A stream in a FORWARD-TSN chunk (RFC 3758 section 3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SkippedStream {
    /// Stream identifier.
    pub stream: u16,
    /// The largest stream sequence number skipped in it.
    pub ssn: u16,
}

/// A stream in an I-FORWARD-TSN chunk (RFC 8260 section 2.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SkippedMessages {
    /// Stream identifier.
    pub stream: u16,
    /// Flags; bit 0 is U: the messages skipped are unordered ones. The others are reserved.
    pub flags: u16,
    /// The largest message identifier skipped in it.
    pub mid: u32,
}

impl ForwardTsn<'_> {
    /// Content of a FORWARD-TSN chunk.
    pub fn of_streams(
        new_cumulative_tsn: u32,
        skipped: impl IntoIterator<Item = SkippedStream>,
    ) -> ForwardTsn<'static> {
        let entry = |s: SkippedStream| (u32::from(s.stream) << 16 | u32::from(s.ssn)).to_be_bytes();
        ForwardTsn { new_cumulative_tsn, skipped: raw(skipped.into_iter().map(entry)) }
    }

    /// Content of an I-FORWARD-TSN chunk.
    pub fn of_messages(
        new_cumulative_tsn: u32,
        skipped: impl IntoIterator<Item = SkippedMessages>,
    ) -> ForwardTsn<'static> {
        let entry = |s: SkippedMessages| {
            let [s0, s1] = s.stream.to_be_bytes();
            let [f0, f1] = s.flags.to_be_bytes();
            let [m0, m1, m2, m3] = s.mid.to_be_bytes();
            [s0, s1, f0, f1, m0, m1, m2, m3]
        };
        ForwardTsn { new_cumulative_tsn, skipped: raw(skipped.into_iter().map(entry)) }
    }

    /// The streams in a FORWARD-TSN chunk.
    pub fn streams(&self) -> impl Iterator<Item = SkippedStream> + '_ {
        let entries = self.skipped.as_slice().as_chunks().0;
        entries.iter().map(|&[s0, s1, n0, n1]| SkippedStream {
            stream: u16::from_be_bytes([s0, s1]),
            ssn: u16::from_be_bytes([n0, n1]),
        })
    }

    /// The streams in an I-FORWARD-TSN chunk.
    pub fn messages(&self) -> impl Iterator<Item = SkippedMessages> + '_ {
        let entries = self.skipped.as_slice().as_chunks().0;
        entries.iter().map(|&[s0, s1, f0, f1, m0, m1, m2, m3]| SkippedMessages {
            stream: u16::from_be_bytes([s0, s1]),
            flags: u16::from_be_bytes([f0, f1]),
            mid: u32::from_be_bytes([m0, m1, m2, m3]),
        })
    }

    /// Copies what is borrowed.
    pub fn into_owned(self) -> ForwardTsn<'static> {
        ForwardTsn { skipped: self.skipped.into_owned(), ..self }
    }
}

impl SkippedMessages {
    /// The U bit in [`Self::flags`].
    pub const UNORDERED: u16 = 1;
}

fn raw<const N: usize>(entries: impl Iterator<Item = [u8; N]>) -> Raw<'static> {
    Raw::Shared(Bytes::from(entries.flatten().collect::<Vec<u8>>()))
}
