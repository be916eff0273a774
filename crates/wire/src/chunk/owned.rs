//! Chunks that outlive the datagram they came in.

use super::*;

impl Chunk<'_> {
    /// Copies what is borrowed.
    pub fn into_owned(self) -> Chunk<'static> {
        match self {
            Self::Data(c) => Chunk::Data(Data { payload: c.payload.into_owned(), ..c }),
            Self::IData(c) => Chunk::IData(IData { payload: c.payload.into_owned(), ..c }),
            Self::Init(c) => Chunk::Init(c.into_owned()),
            Self::InitAck(c) => Chunk::InitAck(c.into_owned()),
            Self::Sack(c) => Chunk::Sack(c.into_owned()),
            Self::NrSack(c) => Chunk::NrSack(c.into_owned()),
            Self::Heartbeat(c) => Chunk::Heartbeat(c.into_owned()),
            Self::HeartbeatAck(c) => Chunk::HeartbeatAck(c.into_owned()),
            Self::Abort(c) => Chunk::Abort(Abort { causes: c.causes.into_owned(), ..c }),
            Self::Shutdown { cumulative_tsn_ack } => Chunk::Shutdown { cumulative_tsn_ack },
            Self::ShutdownAck => Chunk::ShutdownAck,
            Self::Error(c) => Chunk::Error(c.into_owned()),
            Self::CookieEcho(c) => Chunk::CookieEcho(c.into_owned()),
            Self::CookieAck => Chunk::CookieAck,
            Self::Ecne(c) => Chunk::Ecne(c),
            Self::Cwr(c) => Chunk::Cwr(c),
            Self::ShutdownComplete { reflected_tag } => Chunk::ShutdownComplete { reflected_tag },
            Self::Auth(c) => Chunk::Auth(Auth { hmac: c.hmac.into_owned(), ..c }),
            Self::Asconf(c) => Chunk::Asconf(Asconf { parameters: c.parameters.into_owned(), ..c }),
            Self::AsconfAck(c) => {
                Chunk::AsconfAck(AsconfAck { parameters: c.parameters.into_owned(), ..c })
            }
            Self::PacketDrop(c) => {
                Chunk::PacketDrop(PacketDrop { packet: c.packet.into_owned(), ..c })
            }
            Self::ReConfig(c) => Chunk::ReConfig(c.into_owned()),
            Self::Pad(c) => Chunk::Pad(c.into_owned()),
            Self::ForwardTsn(c) => Chunk::ForwardTsn(c.into_owned()),
            Self::IForwardTsn(c) => Chunk::IForwardTsn(c.into_owned()),
            Self::Unknown(c) => Chunk::Unknown(UnknownChunk { value: c.value.into_owned(), ..c }),
        }
    }

    /// A copy that borrows nothing.
    pub fn to_owned(&self) -> Chunk<'static> {
        self.clone().into_owned()
    }
}

impl Init<'_> {
    /// Copies what is borrowed.
    pub fn into_owned(self) -> Init<'static> {
        Init { parameters: self.parameters.into_owned(), ..self }
    }
}

impl Sack<'_> {
    /// Copies what is borrowed.
    pub fn into_owned(self) -> Sack<'static> {
        Sack {
            gap_ack_blocks: self.gap_ack_blocks.into_owned(),
            duplicate_tsns: self.duplicate_tsns.into_owned(),
            ..self
        }
    }
}

impl NrSack<'_> {
    /// Copies what is borrowed.
    pub fn into_owned(self) -> NrSack<'static> {
        NrSack {
            renegable_blocks: self.renegable_blocks.into_owned(),
            non_renegable_blocks: self.non_renegable_blocks.into_owned(),
            duplicate_tsns: self.duplicate_tsns.into_owned(),
            ..self
        }
    }
}

impl GapAckBlocks<'_> {
    /// Copies what is borrowed.
    pub fn into_owned(self) -> GapAckBlocks<'static> {
        match self {
            Self::Owned(blocks) => GapAckBlocks::Owned(blocks),
            Self::Borrowed(_) => GapAckBlocks::Owned(self.iter().collect()),
        }
    }
}

impl DuplicateTsns<'_> {
    /// Copies what is borrowed.
    pub fn into_owned(self) -> DuplicateTsns<'static> {
        match self {
            Self::Owned(tsns) => DuplicateTsns::Owned(tsns),
            Self::Borrowed(_) => DuplicateTsns::Owned(self.iter().collect()),
        }
    }
}
