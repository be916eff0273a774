//! `struct sctp_initmsg`: as a socket option, and as ancillary data of a message that begins an association.

use crate::layout::{Building, Fields};

/// Parameters of an association to come; 0 leaves one as it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct InitMessage {
    /// Streams on which this side sends (`sinit_num_ostreams`).
    pub outbound_streams: u16,
    /// Most streams on which the peer may send (`sinit_max_instreams`).
    pub inbound_streams: u16,
    /// Most retransmissions of INIT (`sinit_max_attempts`).
    pub attempts: u16,
    /// Most milliseconds between two INITs (`sinit_max_init_timeo`).
    pub max_timeout_ms: u16,
}

impl InitMessage {
    /// Bytes of the structure.
    pub const BYTES: usize = 8;

    /// Reads the structure at an offset; `None` beyond the end.
    pub fn read(fields: Fields<'_>, offset: usize) -> Option<Self> {
        Some(Self {
            outbound_streams: fields.u16(offset)?,
            inbound_streams: fields.u16(offset + 2)?,
            attempts: fields.u16(offset + 4)?,
            max_timeout_ms: fields.u16(offset + 6)?,
        })
    }

    /// The structure as programs have it.
    pub fn encoded(self) -> Vec<u8> {
        let streams = Building::new().u16(self.outbound_streams).u16(self.inbound_streams);
        streams.u16(self.attempts).u16(self.max_timeout_ms).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_read_as_it_was_written() {
        let (outbound_streams, inbound_streams) = (3, 65_535);
        let init =
            InitMessage { outbound_streams, inbound_streams, attempts: 4, max_timeout_ms: 900 };
        let bytes = init.encoded();
        assert_eq!(bytes.len(), InitMessage::BYTES);
        assert_eq!(InitMessage::read(Fields(&bytes), 0), Some(init));
        assert_eq!(InitMessage::read(Fields(&bytes), 1), None, "cut off");
    }
}
