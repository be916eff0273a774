//! Chunks of which it is not known yet whether their streams have begun anew.

use polypath_wire::{Data, IData};

use crate::Tsn;

/// A chunk that is set aside.
#[derive(Debug)]
pub enum Aside {
    Data(Data<'static>),
    IData(IData<'static>),
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
        }
    }
}
