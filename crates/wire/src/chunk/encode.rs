//! Writing chunks.

use super::*;
use crate::codes::chunk_type as t;
use crate::error::EncodeError;

/// Length of the chunk header: type, flags, length (RFC 9260 section 3.2).
pub(crate) const HEADER_LEN: usize = 4;

impl Chunk<'_> {
    /// Chunk type.
    pub fn chunk_type(&self) -> u8 {
        match self {
            Self::Data(_) => t::DATA,
            Self::IData(_) => t::I_DATA,
            Self::Init(_) => t::INIT,
            Self::InitAck(_) => t::INIT_ACK,
            Self::Sack(_) => t::SACK,
            Self::NrSack(_) => t::NR_SACK,
            Self::Heartbeat(_) => t::HEARTBEAT,
            Self::HeartbeatAck(_) => t::HEARTBEAT_ACK,
            Self::Abort(_) => t::ABORT,
            Self::Shutdown { .. } => t::SHUTDOWN,
            Self::ShutdownAck => t::SHUTDOWN_ACK,
            Self::Error(_) => t::ERROR,
            Self::CookieEcho(_) => t::COOKIE_ECHO,
            Self::CookieAck => t::COOKIE_ACK,
            Self::Ecne(_) => t::ECNE,
            Self::Cwr(_) => t::CWR,
            Self::ShutdownComplete { .. } => t::SHUTDOWN_COMPLETE,
            Self::Auth(_) => t::AUTH,
            Self::Asconf(_) => t::ASCONF,
            Self::AsconfAck(_) => t::ASCONF_ACK,
            Self::PacketDrop(_) => t::PACKET_DROP,
            Self::ReConfig(_) => t::RE_CONFIG,
            Self::Pad(_) => t::PAD,
            Self::ForwardTsn(_) => t::FORWARD_TSN,
            Self::IForwardTsn(_) => t::I_FORWARD_TSN,
            Self::Unknown(unknown) => unknown.chunk_type,
        }
    }

    /// Length in bytes, chunk header included, padding not: what the length field tells.
    // Nearly all chunks are of three types; the others are apart, so that this is part of the caller.
    #[inline(always)]
    pub fn encoded_len(&self) -> usize {
        match self {
            Self::Data(data) => 16 + data.payload.len(),
            Self::IData(data) => 20 + data.payload.len(),
            Self::Sack(sack) => 16 + 4 * (sack.gap_ack_blocks.len() + sack.duplicate_tsns.len()),
            other => other.encoded_len_of_others(),
        }
    }

    #[inline(never)]
    fn encoded_len_of_others(&self) -> usize {
        match self {
            Self::Data(_) | Self::IData(_) | Self::Sack(_) => self.encoded_len(),
            Self::Init(init) | Self::InitAck(init) => 20 + init.parameters.as_slice().len(),
            Self::NrSack(sack) => {
                let blocks = sack.renegable_blocks.len() + sack.non_renegable_blocks.len();
                20 + 4 * (blocks + sack.duplicate_tsns.len())
            }
            Self::Heartbeat(list) | Self::HeartbeatAck(list) | Self::ReConfig(list) => {
                HEADER_LEN + list.as_slice().len()
            }
            Self::Abort(abort) => HEADER_LEN + abort.causes.as_slice().len(),
            Self::Error(causes) => HEADER_LEN + causes.as_slice().len(),
            Self::Shutdown { .. } | Self::Cwr(_) => 8,
            Self::ShutdownAck | Self::CookieAck | Self::ShutdownComplete { .. } => HEADER_LEN,
            Self::Ecne(ecne) => 8 + if ecne.marked_packets.is_some() { 4 } else { 0 },
            Self::CookieEcho(raw) | Self::Pad(raw) => HEADER_LEN + raw.len(),
            Self::Auth(auth) => 8 + auth.hmac.len(),
            Self::Asconf(Asconf { parameters, .. })
            | Self::AsconfAck(AsconfAck { parameters, .. }) => 8 + parameters.as_slice().len(),
            Self::PacketDrop(report) => 16 + report.packet.len(),
            Self::ForwardTsn(forward) | Self::IForwardTsn(forward) => 8 + forward.skipped.len(),
            Self::Unknown(unknown) => HEADER_LEN + unknown.value.len(),
        }
    }

    /// Length in bytes with padding: what the chunk occupies in a packet.
    #[inline]
    pub fn padded_len(&self) -> usize {
        self.encoded_len().next_multiple_of(4)
    }

    /// Writes the chunk with its padding to the start of `buf`; returns [`Self::padded_len`].
    pub fn encode_into(&self, buf: &mut [u8]) -> Result<usize, EncodeError> {
        let length = self.length_field()?;
        let len = usize::from(length);
        let padded = len.next_multiple_of(4);
        let available = buf.len();
        let Some(out) = buf.get_mut(..padded) else {
            return Err(EncodeError::BufferTooSmall { needed: padded, available });
        };
        let (out, padding) = out.split_at_mut(len);
        padding.fill(0);
        self.write(length, out);
        Ok(padded)
    }

    /// The content of the length field, for chunks that it can hold.
    pub(crate) fn length_field(&self) -> Result<u16, EncodeError> {
        let len = self.encoded_len();
        let too_long = |_| EncodeError::ChunkTooLong { chunk_type: self.chunk_type(), len };
        u16::try_from(len).map_err(too_long)
    }

    /// Writes the chunk into exactly as many bytes as it needs.
    fn write(&self, length: u16, out: &mut [u8]) {
        let header = |flags: u8| {
            let [high, low] = length.to_be_bytes();
            [self.chunk_type(), flags, high, low]
        };
        let mut w = Writer(out);
        match self {
            Self::Data(data) => {
                w.put(&header(data.flags.bits()));
                w.put(&data.tsn.to_be_bytes());
                w.put(&(u32::from(data.stream) << 16 | u32::from(data.ssn)).to_be_bytes());
                w.put(&data.ppid.to_be_bytes());
                data.payload.copy_to(w.0);
            }
            Self::IData(data) => {
                w.put(&header(data.flags.bits()));
                w.put(&data.tsn.to_be_bytes());
                w.put(&(u32::from(data.stream) << 16).to_be_bytes());
                w.put(&data.mid.to_be_bytes());
                w.put(&data.ppid_or_fsn.to_be_bytes());
                data.payload.copy_to(w.0);
            }
            Self::Sack(sack) => sack.write(header(sack.flags), &mut w),
            Self::NrSack(sack) => sack.write(header(sack.flags), &mut w),
            Self::Init(init) | Self::InitAck(init) => init.write(header(0), &mut w),
            Self::Heartbeat(list) | Self::HeartbeatAck(list) | Self::ReConfig(list) => {
                w.put(&header(0));
                w.put(list.as_slice());
            }
            Self::Abort(abort) => {
                w.put(&header(u8::from(abort.reflected_tag)));
                w.put(abort.causes.as_slice());
            }
            Self::Error(causes) => {
                w.put(&header(0));
                w.put(causes.as_slice());
            }
            Self::Shutdown { cumulative_tsn_ack } => {
                w.put(&header(0));
                w.put(&cumulative_tsn_ack.to_be_bytes());
            }
            Self::ShutdownAck | Self::CookieAck => w.put(&header(0)),
            Self::ShutdownComplete { reflected_tag } => w.put(&header(u8::from(*reflected_tag))),
            Self::CookieEcho(raw) | Self::Pad(raw) => {
                w.put(&header(0));
                w.put(raw.as_slice());
            }
            Self::Ecne(ecne) => {
                w.put(&header(0));
                w.put(&ecne.lowest_tsn.to_be_bytes());
                if let Some(marked) = ecne.marked_packets {
                    w.put(&marked.to_be_bytes());
                }
            }
            Self::Cwr(cwr) => {
                w.put(&header(u8::from(cwr.override_mark)));
                w.put(&cwr.tsn.to_be_bytes());
            }
            Self::Auth(auth) => auth.write(header(0), &mut w),
            Self::Asconf(Asconf { serial, parameters })
            | Self::AsconfAck(AsconfAck { serial, parameters }) => {
                w.put(&header(0));
                w.put(&serial.to_be_bytes());
                w.put(parameters.as_slice());
            }
            Self::PacketDrop(report) => report.write(header(report.flags), &mut w),
            Self::ForwardTsn(forward) | Self::IForwardTsn(forward) => {
                w.put(&header(0));
                w.put(&forward.new_cumulative_tsn.to_be_bytes());
                w.put(forward.skipped.as_slice());
            }
            Self::Unknown(unknown) => {
                w.put(&header(unknown.flags));
                w.put(unknown.value.as_slice());
            }
        }
    }
}

/// Writes from front to back into a space measured beforehand.
struct Writer<'b>(&'b mut [u8]);

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let space = core::mem::take(&mut self.0);
        // Always true: the space was measured by `encoded_len`.
        if let Some((here, rest)) = space.split_at_mut_checked(bytes.len()) {
            here.copy_from_slice(bytes);
            self.0 = rest;
        }
    }

    fn put_blocks(&mut self, blocks: &GapAckBlocks<'_>) {
        match blocks {
            GapAckBlocks::Borrowed(bytes) => self.put(bytes.as_chunks::<4>().0.as_flattened()),
            GapAckBlocks::Owned(blocks) => blocks.iter().for_each(|block| {
                let [s0, s1] = block.start.to_be_bytes();
                let [e0, e1] = block.end.to_be_bytes();
                self.put(&[s0, s1, e0, e1]);
            }),
        }
    }

    fn put_duplicates(&mut self, tsns: &DuplicateTsns<'_>) {
        match tsns {
            DuplicateTsns::Borrowed(bytes) => self.put(bytes.as_chunks::<4>().0.as_flattened()),
            DuplicateTsns::Owned(tsns) => tsns.iter().for_each(|tsn| self.put(&tsn.to_be_bytes())),
        }
    }
}

impl Sack<'_> {
    fn write(&self, header: [u8; HEADER_LEN], w: &mut Writer<'_>) {
        w.put(&header);
        w.put(&self.cumulative_tsn_ack.to_be_bytes());
        w.put(&self.a_rwnd.to_be_bytes());
        w.put(&(self.gap_ack_blocks.len() as u16).to_be_bytes());
        w.put(&(self.duplicate_tsns.len() as u16).to_be_bytes());
        w.put_blocks(&self.gap_ack_blocks);
        w.put_duplicates(&self.duplicate_tsns);
    }
}

impl NrSack<'_> {
    fn write(&self, header: [u8; HEADER_LEN], w: &mut Writer<'_>) {
        w.put(&header);
        w.put(&self.cumulative_tsn_ack.to_be_bytes());
        w.put(&self.a_rwnd.to_be_bytes());
        w.put(&(self.renegable_blocks.len() as u16).to_be_bytes());
        w.put(&(self.non_renegable_blocks.len() as u16).to_be_bytes());
        w.put(&(self.duplicate_tsns.len() as u16).to_be_bytes());
        w.put(&self.reserved.to_be_bytes());
        w.put_blocks(&self.renegable_blocks);
        w.put_blocks(&self.non_renegable_blocks);
        w.put_duplicates(&self.duplicate_tsns);
    }
}

impl Init<'_> {
    fn write(&self, header: [u8; HEADER_LEN], w: &mut Writer<'_>) {
        w.put(&header);
        w.put(&self.initiate_tag.to_be_bytes());
        w.put(&self.a_rwnd.to_be_bytes());
        w.put(&self.outbound_streams.to_be_bytes());
        w.put(&self.inbound_streams.to_be_bytes());
        w.put(&self.initial_tsn.to_be_bytes());
        w.put(self.parameters.as_slice());
    }
}

impl Auth<'_> {
    fn write(&self, header: [u8; HEADER_LEN], w: &mut Writer<'_>) {
        w.put(&header);
        w.put(&self.shared_key_id.to_be_bytes());
        w.put(&self.hmac_id.to_be_bytes());
        w.put(self.hmac.as_slice());
    }
}

impl PacketDrop<'_> {
    fn write(&self, header: [u8; HEADER_LEN], w: &mut Writer<'_>) {
        w.put(&header);
        w.put(&self.bandwidth_or_limit.to_be_bytes());
        w.put(&self.queued.to_be_bytes());
        w.put(&self.truncated_length.to_be_bytes());
        w.put(&self.reserved.to_be_bytes());
        w.put(self.packet.as_slice());
    }
}
