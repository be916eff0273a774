//! Reading chunks.

use super::encode::HEADER_LEN;
use super::*;
use crate::codes::chunk_type as t;
use crate::error::{ChunkError, ChunkErrorReason as Reason};
use crate::{Payload, Raw};

/// Type, flags, and everything behind the chunk header.
struct Fields<'a> {
    chunk_type: u8,
    flags: u8,
    length: u16,
    value: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// Reads the chunk at the start of `bytes`, without copying.
    ///
    /// Returns it with the number of bytes that it occupies, padding included as far as it is there.
    pub fn parse(bytes: &'a [u8]) -> Result<(Self, usize), ChunkError> {
        let error = |chunk_type, reason| ChunkError { chunk_type, offset: 0, reason };
        let available = bytes.len();
        let Some((&[chunk_type, flags, high, low], _)) = bytes.split_first_chunk() else {
            let chunk_type = bytes.first().copied().unwrap_or_default();
            return Err(error(chunk_type, Reason::HeaderCutOff { available }));
        };
        let length = u16::from_be_bytes([high, low]);
        let end = usize::from(length);
        if end < HEADER_LEN {
            let least = HEADER_LEN as u16;
            return Err(error(chunk_type, Reason::TooShort { length, least }));
        }
        let Some(value) = bytes.get(HEADER_LEN..end) else {
            return Err(error(chunk_type, Reason::BeyondPacket { length, available }));
        };
        let fields = Fields { chunk_type, flags, length, value };
        let chunk = fields.read().map_err(|reason| error(chunk_type, reason))?;
        Ok((chunk, end.next_multiple_of(4).min(available)))
    }
}

impl<'a> Fields<'a> {
    /// The chunk. Reserved flags are ignored where the chunk has no room for them.
    fn read(&self) -> Result<Chunk<'a>, Reason> {
        let first_flag = self.flags & 1 != 0;
        Ok(match self.chunk_type {
            t::DATA => Chunk::Data(self.data()?),
            t::I_DATA => Chunk::IData(self.i_data()?),
            t::SACK => Chunk::Sack(self.sack()?),
            t::NR_SACK => Chunk::NrSack(self.nr_sack()?),
            t::INIT => Chunk::Init(self.init()?),
            t::INIT_ACK => Chunk::InitAck(self.init()?),
            t::HEARTBEAT => Chunk::Heartbeat(parameters(self.value)?),
            t::HEARTBEAT_ACK => Chunk::HeartbeatAck(parameters(self.value)?),
            t::ABORT => {
                Chunk::Abort(Abort { reflected_tag: first_flag, causes: causes(self.value)? })
            }
            t::SHUTDOWN => Chunk::Shutdown { cumulative_tsn_ack: self.only_number()? },
            t::SHUTDOWN_ACK => self.without_value(Chunk::ShutdownAck)?,
            t::ERROR => Chunk::Error(causes(self.value)?),
            t::COOKIE_ECHO => Chunk::CookieEcho(Raw::Borrowed(self.value)),
            t::COOKIE_ACK => self.without_value(Chunk::CookieAck)?,
            t::ECNE => Chunk::Ecne(self.ecne()?),
            t::CWR => Chunk::Cwr(Cwr { override_mark: first_flag, tsn: self.only_number()? }),
            t::SHUTDOWN_COMPLETE => {
                self.without_value(Chunk::ShutdownComplete { reflected_tag: first_flag })?
            }
            t::AUTH => Chunk::Auth(self.auth()?),
            t::ASCONF => {
                let (serial, rest) = self.number()?;
                Chunk::Asconf(Asconf { serial, parameters: parameters(rest)? })
            }
            t::ASCONF_ACK => {
                let (serial, rest) = self.number()?;
                Chunk::AsconfAck(AsconfAck { serial, parameters: parameters(rest)? })
            }
            t::PACKET_DROP => Chunk::PacketDrop(self.packet_drop()?),
            t::RE_CONFIG => Chunk::ReConfig(parameters(self.value)?),
            t::PAD => Chunk::Pad(Raw::Borrowed(self.value)),
            t::FORWARD_TSN => Chunk::ForwardTsn(self.forward_tsn(4)?),
            t::I_FORWARD_TSN => Chunk::IForwardTsn(self.forward_tsn(8)?),
            chunk_type => Chunk::Unknown(UnknownChunk {
                chunk_type,
                flags: self.flags,
                value: Raw::Borrowed(self.value),
            }),
        })
    }

    fn data(&self) -> Result<Data<'a>, Reason> {
        let (&[a, b, c, d, s0, s1, n0, n1, p0, p1, p2, p3], payload) = self.split::<12>()?;
        Ok(Data {
            flags: DataFlags::from_bits_retain(self.flags),
            tsn: u32::from_be_bytes([a, b, c, d]),
            stream: u16::from_be_bytes([s0, s1]),
            ssn: u16::from_be_bytes([n0, n1]),
            ppid: u32::from_be_bytes([p0, p1, p2, p3]),
            payload: Payload::Borrowed(payload),
        })
    }

    fn i_data(&self) -> Result<IData<'a>, Reason> {
        let (&[a, b, c, d, s0, s1, _, _, m0, m1, m2, m3, p0, p1, p2, p3], payload) =
            self.split::<16>()?;
        Ok(IData {
            flags: DataFlags::from_bits_retain(self.flags),
            tsn: u32::from_be_bytes([a, b, c, d]),
            stream: u16::from_be_bytes([s0, s1]),
            mid: u32::from_be_bytes([m0, m1, m2, m3]),
            ppid_or_fsn: u32::from_be_bytes([p0, p1, p2, p3]),
            payload: Payload::Borrowed(payload),
        })
    }

    fn sack(&self) -> Result<Sack<'a>, Reason> {
        let (&[a, b, c, d, w0, w1, w2, w3, g0, g1, d0, d1], rest) = self.split::<12>()?;
        let (gaps, duplicates) = self.split_words(rest, u16::from_be_bytes([g0, g1]))?;
        self.expect_words(duplicates, u16::from_be_bytes([d0, d1]))?;
        Ok(Sack {
            flags: self.flags,
            cumulative_tsn_ack: u32::from_be_bytes([a, b, c, d]),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            gap_ack_blocks: GapAckBlocks::Borrowed(gaps),
            duplicate_tsns: DuplicateTsns::Borrowed(duplicates),
        })
    }

    fn nr_sack(&self) -> Result<NrSack<'a>, Reason> {
        let (&[a, b, c, d, w0, w1, w2, w3, g0, g1, n0, n1, d0, d1, r0, r1], rest) =
            self.split::<16>()?;
        let (renegable, rest) = self.split_words(rest, u16::from_be_bytes([g0, g1]))?;
        let (non_renegable, duplicates) = self.split_words(rest, u16::from_be_bytes([n0, n1]))?;
        self.expect_words(duplicates, u16::from_be_bytes([d0, d1]))?;
        Ok(NrSack {
            flags: self.flags,
            cumulative_tsn_ack: u32::from_be_bytes([a, b, c, d]),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            renegable_blocks: GapAckBlocks::Borrowed(renegable),
            non_renegable_blocks: GapAckBlocks::Borrowed(non_renegable),
            duplicate_tsns: DuplicateTsns::Borrowed(duplicates),
            reserved: u16::from_be_bytes([r0, r1]),
        })
    }

    fn init(&self) -> Result<Init<'a>, Reason> {
        let (&[a, b, c, d, w0, w1, w2, w3, o0, o1, i0, i1, t0, t1, t2, t3], rest) =
            self.split::<16>()?;
        Ok(Init {
            initiate_tag: u32::from_be_bytes([a, b, c, d]),
            a_rwnd: u32::from_be_bytes([w0, w1, w2, w3]),
            outbound_streams: u16::from_be_bytes([o0, o1]),
            inbound_streams: u16::from_be_bytes([i0, i1]),
            initial_tsn: u32::from_be_bytes([t0, t1, t2, t3]),
            parameters: parameters(rest)?,
        })
    }

    fn ecne(&self) -> Result<Ecne, Reason> {
        let (lowest_tsn, rest) = self.number()?;
        let marked_packets = match *rest {
            [] => None,
            [a, b, c, d] => Some(u32::from_be_bytes([a, b, c, d])),
            _ => return Err(self.mismatch()),
        };
        Ok(Ecne { lowest_tsn, marked_packets })
    }

    fn auth(&self) -> Result<Auth<'a>, Reason> {
        let (&[k0, k1, h0, h1], hmac) = self.split::<4>()?;
        Ok(Auth {
            shared_key_id: u16::from_be_bytes([k0, k1]),
            hmac_id: u16::from_be_bytes([h0, h1]),
            hmac: Raw::Borrowed(hmac),
        })
    }

    fn packet_drop(&self) -> Result<PacketDrop<'a>, Reason> {
        let (&[b0, b1, b2, b3, q0, q1, q2, q3, t0, t1, r0, r1], packet) = self.split::<12>()?;
        Ok(PacketDrop {
            flags: self.flags,
            bandwidth_or_limit: u32::from_be_bytes([b0, b1, b2, b3]),
            queued: u32::from_be_bytes([q0, q1, q2, q3]),
            truncated_length: u16::from_be_bytes([t0, t1]),
            reserved: u16::from_be_bytes([r0, r1]),
            packet: Raw::Borrowed(packet),
        })
    }

    fn forward_tsn(&self, entry: usize) -> Result<ForwardTsn<'a>, Reason> {
        let (new_cumulative_tsn, skipped) = self.number()?;
        if !skipped.len().is_multiple_of(entry) {
            return Err(self.mismatch());
        }
        Ok(ForwardTsn { new_cumulative_tsn, skipped: Raw::Borrowed(skipped) })
    }

    /// The fixed part and what follows it.
    fn split<const N: usize>(&self) -> Result<(&'a [u8; N], &'a [u8]), Reason> {
        let least = (HEADER_LEN + N) as u16;
        self.value.split_first_chunk().ok_or(Reason::TooShort { length: self.length, least })
    }

    fn number(&self) -> Result<(u32, &'a [u8]), Reason> {
        let (number, rest) = self.split::<4>()?;
        Ok((u32::from_be_bytes(*number), rest))
    }

    fn only_number(&self) -> Result<u32, Reason> {
        match self.number()? {
            (number, []) => Ok(number),
            _ => Err(self.mismatch()),
        }
    }

    fn without_value(&self, chunk: Chunk<'a>) -> Result<Chunk<'a>, Reason> {
        if self.value.is_empty() { Ok(chunk) } else { Err(self.mismatch()) }
    }

    /// The first `count` words of 4 bytes, and the rest.
    fn split_words(&self, bytes: &'a [u8], count: u16) -> Result<(&'a [u8], &'a [u8]), Reason> {
        bytes.split_at_checked(4 * usize::from(count)).ok_or_else(|| self.mismatch())
    }

    fn expect_words(&self, bytes: &[u8], count: u16) -> Result<(), Reason> {
        if bytes.len() == 4 * usize::from(count) { Ok(()) } else { Err(self.mismatch()) }
    }

    fn mismatch(&self) -> Reason {
        Reason::LengthMismatch { length: self.length }
    }
}

fn parameters(list: &[u8]) -> Result<Parameters<'_>, Reason> {
    Parameters::parse(list).map_err(Reason::Parameter)
}

fn causes(list: &[u8]) -> Result<Causes<'_>, Reason> {
    Causes::parse(list).map_err(Reason::Cause)
}
