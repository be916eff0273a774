//! One outstanding chunk.

use bitflags::bitflags;
use polypath_wire::{Chunk, Data, DataFlags, IData, Payload, VirtualPayload};

use crate::transmit::partial_reliability::Reliability;
use crate::types::{BufferBytes, Fate, UserDataChunk};
use crate::{Instant, PathId, Tsn};

bitflags! {
    /// What happened to a chunk so far.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub(crate) struct History: u16 {
        /// It was retransmitted after missing reports.
        const FAST_RETRANSMITTED = 1;
        /// It was retransmitted after a timeout.
        const TIMER_RETRANSMITTED = 2;
        /// It was acknowledged in a gap block and later withdrawn by the receiver.
        const RENEGED = 4;
        /// Its bytes were credited to a congestion window.
        const CREDITED = 8;
        /// It was retransmitted because the peer's receive window had been closed.
        const REPEATED = 16;
        /// Its transmissions took different paths.
        const MOVED = 32;
        /// It was retransmitted on another path because it blocked the buffers.
        const RESCHEDULED = 64;
        /// It was retransmitted as a tail probe.
        const PROBED = 128;
        /// A copy of it went over another path.
        const COPIED = 256;
        /// A retransmission went over a second path as well.
        const COPIED_AGAIN = 512;
    }
}

/// An outstanding chunk.
#[derive(Clone, Debug)]
pub(crate) struct OutstandingChunk {
    pub(crate) payload: Payload<'static>,
    pub(crate) flags: DataFlags,
    pub(crate) stream: u16,
    /// SSN of DATA, MID of I-DATA.
    pub(crate) number: u32,
    /// Payload protocol identifier; FSN of I-DATA that does not begin a message.
    pub(crate) ppid: u32,
    /// Path of the last transmission.
    pub(crate) path: PathId,
    pub(crate) fate: Fate,
    pub(crate) history: History,
    pub(crate) transmissions: u16,
    pub(crate) missing_reports: u8,
    /// Path over which the SACK came that acknowledged it in a gap block.
    pub(crate) acked_over: PathId,
    /// First TSN that was sent after its last retransmission.
    pub(crate) sent_before: Tsn,
    /// Bytes that it counts in the flight and in the congestion window.
    pub(crate) flight_bytes: u32,
    pub(crate) context: u32,
    /// What it counts against the limit of the send buffer.
    pub(crate) cost: u32,
    /// User bytes that the receiver holds back for their order, although they have left the send buffer.
    pub(crate) released_early: u32,
    pub(crate) sent_at: Instant,
    pub(crate) reliability: Reliability,
}

impl OutstandingChunk {
    /// Bytes of user data.
    #[inline]
    pub(crate) fn user_bytes(&self) -> u32 {
        self.payload.len() as u32
    }

    /// What it takes in the send buffer.
    #[inline]
    pub(crate) fn buffer_bytes(&self) -> BufferBytes {
        BufferBytes { user_bytes: self.user_bytes().into(), cost: self.cost.into() }
    }

    /// Whether a gap block acknowledged it.
    #[inline]
    pub(crate) fn is_acked(&self) -> bool {
        self.fate == Fate::Acked
    }

    /// The chunk of this kind to transmit, with further flags.
    #[inline]
    pub(crate) fn to_chunk(
        &self,
        kind: UserDataChunk,
        tsn: Tsn,
        also: DataFlags,
    ) -> Chunk<'static> {
        let Self { flags, stream, number, ppid, .. } = *self;
        let (flags, tsn, payload) = (flags | also, tsn.0, self.payload.clone());
        match kind {
            UserDataChunk::Data => {
                Chunk::Data(Data { flags, tsn, stream, ssn: number as u16, ppid, payload })
            }
            UserDataChunk::IData => {
                Chunk::IData(IData { flags, tsn, stream, mid: number, ppid_or_fsn: ppid, payload })
            }
        }
    }

    /// Stream, U bit and number of its message.
    pub(crate) fn message(&self) -> (u16, bool, u32) {
        (self.stream, self.flags.contains(DataFlags::UNORDERED), self.number)
    }

    /// A chunk without anything.
    pub(crate) fn vacant() -> Self {
        Self {
            payload: Payload::Virtual(VirtualPayload { message: 0, offset: 0, len: 0 }),
            flags: DataFlags::empty(),
            stream: 0,
            number: 0,
            ppid: 0,
            path: PathId(0),
            fate: Fate::InFlight,
            history: History::empty(),
            transmissions: 0,
            missing_reports: 0,
            acked_over: PathId(0),
            sent_before: Tsn(0),
            flight_bytes: 0,
            context: 0,
            cost: 0,
            released_early: 0,
            sent_at: Instant::ZERO,
            reliability: Reliability::Full,
        }
    }
}
