//! Chunks that may date from before or after a reset of their streams.

use alloc::vec::Vec;

use polypath_wire::{Data, IData, SkippedMessages, SkippedStream};

use crate::Tsn;

/// A chunk that is set aside.
#[derive(Debug)]
pub enum Aside {
    Data(Data<'static>),
    IData(IData<'static>),
    /// Messages up to a TSN are skipped.
    Skip(Tsn, Vec<SkippedStream>),
    /// The same of message identifiers.
    SkipMessages(Tsn, Vec<SkippedMessages>),
}

impl Aside {
    pub(super) fn of_data(data: &Data<'_>) -> Self {
        Self::Data(Data {
            flags: data.flags,
            tsn: data.tsn,
            stream: data.stream,
            ssn: data.ssn,
            ppid: data.ppid,
            payload: data.payload.to_owned(),
        })
    }

    pub(super) fn of_i_data(data: &IData<'_>) -> Self {
        Self::IData(IData {
            flags: data.flags,
            tsn: data.tsn,
            stream: data.stream,
            mid: data.mid,
            ppid_or_fsn: data.ppid_or_fsn,
            payload: data.payload.to_owned(),
        })
    }

    pub(crate) fn tsn(&self) -> Tsn {
        match self {
            Self::Data(data) => Tsn(data.tsn),
            Self::IData(data) => Tsn(data.tsn),
            Self::Skip(point, _) | Self::SkipMessages(point, _) => *point,
        }
    }

    /// Streams in it whose messages are skipped.
    pub(super) fn skipped(&self) -> usize {
        match self {
            Self::Data(_) | Self::IData(_) => 0,
            Self::Skip(_, streams) => 1 + streams.len(),
            Self::SkipMessages(_, streams) => 1 + streams.len(),
        }
    }
}
