//! Packets in the simulated network. This file has those of SCTP; other transports have files of their own.

mod checksum;
mod packet;
mod raw;
mod tcp;
mod udp;

pub use packet::SimFrame;
pub use raw::RawFrame;
pub use tcp::TcpFrame;
pub(crate) use udp::HEADER as UDP_HEADER;
pub use udp::UdpFrame;

use std::net::IpAddr;
use std::ops::Range;

use bytes::Bytes;
use polypath_netsim::{Fields, Frame, TraceHasher};
use polypath_proto::{Body, Ecn, Encapsulation, Fragmentation, Received};
use polypath_wire::{
    Checksum, ChecksumPolicy, Chunk, Data, DataFlags, IData, Packet, PacketView, Payload, Sack,
    VirtualPayload, chunk_type,
};
use serde::Serialize;

/// Minimum length of a message that its bytes alone identify.
pub(crate) const RECOGNISABLE: usize = 8;

/// IP protocol number of SCTP.
const SCTP: u8 = 132;

/// Where the checksum is in a packet (RFC 9260 section 3.1).
const CHECKSUM_BITS: Range<u64> = 64..96;

/// Form of packets in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As structures with virtual payload: fast.
    #[default]
    Structured,
    /// As bytes: encoded with checksum by the sender, decoded and encoded at every hop, decoded by the receiver.
    Wire,
}

/// Memory of arrived packets, for reuse.
#[derive(Debug, Default)]
pub(crate) struct Spares {
    /// The packet to be built next; its content is overwritten.
    pub next: Box<Packet<'static>>,
    #[expect(clippy::vec_box, reason = "boxes are what it keeps")]
    more: Vec<Box<Packet<'static>>>,
}

impl Spares {
    /// Takes the built packet.
    #[inline]
    pub fn take(&mut self) -> Box<Packet<'static>> {
        std::mem::replace(&mut self.next, self.more.pop().unwrap_or_default())
    }

    /// Returns the memory of an arrived frame.
    #[inline]
    pub fn keep_frame(&mut self, frame: SctpFrame) {
        if let FrameBody::Structured(packet) = frame.body {
            self.more.push(packet);
        }
    }
}

/// An SCTP packet in the network.
#[derive(Clone, Debug)]
pub struct SctpFrame {
    ecn: Ecn,
    /// Whether routers may fragment it.
    may_fragment: bool,
    /// Bits of the checksum that were damaged, while the packet is a structure.
    checksum_flips: u32,
    body: FrameBody,
}

#[derive(Clone, Debug)]
enum FrameBody {
    /// Boxed, so that moving a frame is cheap; [`Spares`] avoids an allocation per packet.
    Structured(Box<Packet<'static>>),
    Wire(Bytes),
}

impl FrameBody {
    #[cold]
    fn encoded(packet: Box<Packet<'static>>) -> Self {
        match encode(&packet) {
            Some(bytes) => Self::Wire(bytes),
            None => Self::Structured(packet),
        }
    }
}

impl SctpFrame {
    /// A packet of a stack, with whether it may be fragmented. A packet that cannot be encoded stays a structure.
    #[inline]
    pub fn new(
        ecn: Ecn,
        fragmentation: Fragmentation,
        packet: Box<Packet<'static>>,
        form: Form,
    ) -> Self {
        let body = match form {
            Form::Structured => FrameBody::Structured(packet),
            Form::Wire => FrameBody::encoded(packet),
        };
        let may_fragment = fragmentation == Fragmentation::Allowed;
        Self { ecn, may_fragment, checksum_flips: 0, body }
    }

    /// The form of the packet.
    #[inline]
    pub fn form(&self) -> Form {
        match self.body {
            FrameBody::Structured(_) => Form::Structured,
            FrameBody::Wire(_) => Form::Wire,
        }
    }

    /// The packet for the receiver's stack.
    #[inline]
    pub fn received(&self, from: IpAddr, to: IpAddr) -> Received<'_> {
        let body = match &self.body {
            FrameBody::Structured(packet) if self.checksum_flips == 0 => Body::Structured(packet),
            FrameBody::Structured(packet) => {
                Body::Damaged { packet, checksum_flips: self.checksum_flips }
            }
            FrameBody::Wire(bytes) => Body::Datagram(bytes),
        };
        let encapsulation = Encapsulation::None;
        Received { local: to, remote: from, encapsulation, ecn: self.ecn, body }
    }
}

impl SctpFrame {
    /// Calls `each` for each chunk of user data, with its TSN and, if it begins a message that its bytes identify, the
    /// identity of that message. Damaged packets, and later fragments of interleaved messages, which need not be
    /// consecutive, are skipped.
    pub fn for_each_chunk_of_data(&self, mut each: impl FnMut(u32, Option<Option<u64>>)) {
        let mut tell = |packet: &Packet<'_>| {
            for chunk in &packet.chunks {
                let (Chunk::Data(Data { flags, tsn, payload, .. })
                | Chunk::IData(IData { flags, tsn, payload, .. })) = chunk
                else {
                    continue;
                };
                let begins = flags.contains(DataFlags::BEGIN);
                let follows = !begins && matches!(chunk, Chunk::Data(_));
                // A message too short to be identified by its bytes is not identified as a structure, either.
                let known = identity(payload).filter(|_| begins && payload.len() >= RECOGNISABLE);
                each(*tsn, (!follows).then_some(known));
            }
        };
        match &self.body {
            FrameBody::Structured(packet) if self.checksum_flips == 0 => tell(packet),
            FrameBody::Structured(_) => {}
            FrameBody::Wire(bytes) => {
                if let Some(packet) = read(bytes, ChecksumPolicy::Verify) {
                    tell(&packet);
                }
            }
        }
    }
}

/// The identity of the message that begins with these bytes.
pub(crate) fn identity(payload: &Payload<'_>) -> Option<u64> {
    match payload {
        Payload::Virtual(payload) => Some(payload.message),
        Payload::Borrowed(bytes) => VirtualPayload::identify(bytes),
        Payload::Shared(bytes) => VirtualPayload::identify(bytes),
        // Messages of simulated programs have one part.
        Payload::Joined(_) => None,
    }
}

impl Frame for SctpFrame {
    #[inline(always)]
    fn wire_len(&self) -> usize {
        match &self.body {
            FrameBody::Structured(packet) => packet.encoded_len(),
            FrameBody::Wire(bytes) => bytes.len(),
        }
    }

    fn protocol(&self) -> u8 {
        SCTP
    }

    #[inline]
    fn traffic_class(&self) -> u8 {
        match self.ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
    }

    fn ports(&self) -> [u16; 2] {
        match &self.body {
            FrameBody::Structured(packet) => [packet.source_port, packet.destination_port],
            FrameBody::Wire(bytes) => match bytes.first_chunk() {
                Some([s0, s1, d0, d1]) => {
                    [u16::from_be_bytes([*s0, *s1]), u16::from_be_bytes([*d0, *d1])]
                }
                None => [0, 0],
            },
        }
    }

    fn may_fragment(&self) -> bool {
        self.may_fragment
    }

    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }

    /// A structure with a damaged checksum stays a structure, with a mark. Other damage turns it into bytes, so that
    /// the receiver detects it as on a real network.
    fn damage(&mut self, bit: u64) {
        let mut bytes = match &self.body {
            FrameBody::Structured(_) if CHECKSUM_BITS.contains(&bit) => {
                self.checksum_flips ^= 0x8000_0000 >> (bit - CHECKSUM_BITS.start);
                return;
            }
            FrameBody::Structured(_) => {
                let mut bytes = Vec::new();
                self.append_to(&mut bytes);
                bytes
            }
            FrameBody::Wire(bytes) => bytes.to_vec(),
        };
        if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|at| bytes.get_mut(at)) {
            *byte ^= 0x80 >> (bit % 8);
            self.body = FrameBody::Wire(bytes.into());
        }
    }

    fn checksum_bits(&self) -> Range<u64> {
        CHECKSUM_BITS
    }

    #[inline(always)]
    fn trace_fields(&self, hasher: &mut TraceHasher) {
        let class = self.traffic_class();
        match &self.body {
            FrameBody::Structured(packet) => trace_packet(class, packet, hasher),
            FrameBody::Wire(bytes) => trace_bytes(class, bytes, hasher),
        }
    }

    /// Bytes are decoded and encoded again; a damaged packet stays as it is.
    #[inline(always)]
    fn crossed_link(&mut self) -> Fields {
        match &mut self.body {
            FrameBody::Structured(_) => Fields::Same,
            FrameBody::Wire(bytes) => {
                let again = read(bytes, ChecksumPolicy::Verify).and_then(|packet| encode(&packet));
                if let Some(again) = again {
                    *bytes = again;
                }
                Fields::Rebuilt
            }
        }
    }

    fn write_transport(&self, _from: IpAddr, _to: IpAddr, out: &mut Vec<u8>) {
        self.append_to(out);
    }
}

impl SctpFrame {
    /// The packet as bytes, with its damage.
    fn append_to(&self, out: &mut Vec<u8>) {
        match &self.body {
            FrameBody::Structured(packet) => {
                let start = out.len();
                // A packet too long to be encoded cannot have been built.
                let _ = packet.append_to(out, Checksum::Crc32c);
                let checksum = out.get_mut(start + 8..start + 12).unwrap_or_default();
                for (byte, flips) in checksum.iter_mut().zip(self.checksum_flips.to_be_bytes()) {
                    *byte ^= flips;
                }
            }
            FrameBody::Wire(bytes) => out.extend_from_slice(bytes),
        }
    }
}

fn encode(packet: &Packet<'_>) -> Option<Bytes> {
    let mut out = Vec::new();
    packet.append_to(&mut out, Checksum::Crc32c).ok().map(|_| out.into())
}

fn read(bytes: &[u8], policy: ChecksumPolicy) -> Option<Packet<'_>> {
    PacketView::parse(bytes, policy).ok()?.to_packet().ok()
}

/// Feeds the traffic class, all header fields and the length of user data. The content is not available in every form;
/// the receiving application checks it.
#[inline(always)]
fn trace_packet(class: u8, packet: &Packet<'_>, hasher: &mut TraceHasher) {
    // Adjacent fields are combined: the bytes are the same as one number after the other.
    let chunks = packet.chunks.as_slice();
    let header = header_fields(class, packet, chunks.len());
    if let [Chunk::Data(data)] = chunks {
        // The case of most packets.
        let mut fields = [0; HEADER_FIELDS + DATA_FIELDS];
        fields[..HEADER_FIELDS].copy_from_slice(&header);
        fields[HEADER_FIELDS..].copy_from_slice(&data_fields(data));
        return hasher.array(fields);
    }
    hasher.array(header);
    match chunks {
        [Chunk::Sack(sack)] if sack.gap_ack_blocks.is_empty() && sack.duplicate_tsns.is_empty() => {
            // The case of most others.
            let mut fields = [0; SACK_FIELDS + 2];
            fields[..SACK_FIELDS].copy_from_slice(&sack_fields(sack));
            hasher.array(fields);
        }
        _ => trace_chunks(chunks, hasher),
    }
}

fn trace_chunks(chunks: &[Chunk<'_>], hasher: &mut TraceHasher) {
    for chunk in chunks {
        match chunk {
            Chunk::Data(data) => hasher.array(data_fields(data)),
            Chunk::Sack(sack) => trace_sack(sack, hasher),
            other => trace_other(other, hasher),
        }
    }
}

/// The same for a packet in bytes; if it cannot be decoded, its bytes are fed.
#[inline(never)]
fn trace_bytes(class: u8, bytes: &[u8], hasher: &mut TraceHasher) {
    match read(bytes, ChecksumPolicy::Ignore) {
        Some(packet) => trace_packet(class, &packet, hasher),
        None => {
            hasher.u8(class);
            hasher.bytes(bytes);
        }
    }
}

const HEADER_FIELDS: usize = 10;
const DATA_FIELDS: usize = 18;
const SACK_FIELDS: usize = 12;

#[inline]
fn header_fields(class: u8, packet: &Packet<'_>, chunks: usize) -> [u8; HEADER_FIELDS] {
    let mut fields = [0; HEADER_FIELDS];
    fields[0] = class;
    fields[1..3].copy_from_slice(&packet.source_port.to_le_bytes());
    fields[3..5].copy_from_slice(&packet.destination_port.to_le_bytes());
    fields[5..9].copy_from_slice(&packet.verification_tag.to_le_bytes());
    fields[9] = chunks as u8;
    fields
}

#[inline]
fn data_fields(data: &Data<'_>) -> [u8; DATA_FIELDS] {
    let mut fields = [0; DATA_FIELDS];
    fields[0] = chunk_type::DATA;
    fields[1] = data.flags.bits();
    fields[2..6].copy_from_slice(&data.tsn.to_le_bytes());
    fields[6..8].copy_from_slice(&data.stream.to_le_bytes());
    fields[8..10].copy_from_slice(&data.ssn.to_le_bytes());
    fields[10..14].copy_from_slice(&data.ppid.to_le_bytes());
    fields[14..].copy_from_slice(&(data.payload.len() as u32).to_le_bytes());
    fields
}

/// What comes before the blocks of a SACK; the number of its duplicates comes behind them.
#[inline]
fn sack_fields(sack: &Sack<'_>) -> [u8; SACK_FIELDS] {
    let mut fields = [0; SACK_FIELDS];
    fields[0] = chunk_type::SACK;
    fields[1] = sack.flags;
    fields[2..6].copy_from_slice(&sack.cumulative_tsn_ack.to_le_bytes());
    fields[6..10].copy_from_slice(&sack.a_rwnd.to_le_bytes());
    fields[10..].copy_from_slice(&(sack.gap_ack_blocks.len() as u16).to_le_bytes());
    fields
}

fn trace_sack(sack: &Sack<'_>, hasher: &mut TraceHasher) {
    hasher.array(sack_fields(sack));
    let blocks = &sack.gap_ack_blocks;
    let words = blocks.iter().map(|block| u32::from(block.start) | u32::from(block.end) << 16);
    hasher.u32s(blocks.len(), words);
    hasher.u16(sack.duplicate_tsns.len() as u16);
    for tsn in sack.duplicate_tsns.iter() {
        hasher.u32(tsn);
    }
}

/// Rare chunks: encoded.
#[cold]
fn trace_other(chunk: &Chunk<'_>, hasher: &mut TraceHasher) {
    hasher.u8(chunk.chunk_type());
    if let Chunk::IData(data) = chunk {
        hasher.u8(data.flags.bits());
        hasher.u32(data.tsn);
        hasher.u16(data.stream);
        hasher.u32(data.mid);
        hasher.u32(data.ppid_or_fsn);
        hasher.u32(data.payload.len() as u32);
        return;
    }
    let len = chunk.padded_len();
    hasher.u32(len as u32);
    // For a chunk too long to be encoded, its length.
    hasher.write_zeroed(len, |bytes| {
        let _ = chunk.encode_into(bytes);
    });
}

#[cfg(test)]
mod tests {
    use polypath_wire::{
        ChunkList, DataFlags, DuplicateTsns, GapAckBlock, GapAckBlocks, Payload, VirtualPayload,
    };

    use super::*;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn packet(tsn: u32) -> Packet<'static> {
        let data = Data {
            flags: DataFlags::BEGIN | DataFlags::END,
            tsn,
            stream: 3,
            ssn: 4,
            ppid: 5,
            payload: Payload::Virtual(VirtualPayload { message: 77, offset: 0, len: 101 }),
        };
        let sack = Sack {
            flags: 0x40,
            cumulative_tsn_ack: 9,
            a_rwnd: 1_000,
            gap_ack_blocks: GapAckBlocks::Owned(
                [GapAckBlock { start: 2, end: 3 }].into_iter().collect(),
            ),
            duplicate_tsns: DuplicateTsns::Owned([8].into_iter().collect()),
        };
        Packet {
            source_port: 1,
            destination_port: 2,
            verification_tag: 3,
            chunks: ChunkList::from_iter([Chunk::Sack(sack), Chunk::Data(data)]),
        }
    }

    fn frame(tsn: u32, form: Form) -> SctpFrame {
        SctpFrame::new(Ecn::Ect0, Fragmentation::Avoided, Box::new(packet(tsn)), form)
    }

    fn trace(frame: &SctpFrame) -> polypath_netsim::TraceHash {
        let mut hasher = TraceHasher::new();
        frame.trace_fields(&mut hasher);
        hasher.hash()
    }

    fn written(frame: &SctpFrame) -> Vec<u8> {
        let mut out = Vec::new();
        frame.write_transport(A, B, &mut out);
        out
    }

    #[test]
    fn both_forms_look_the_same_from_outside() {
        let (structured, mut wire) = (frame(1, Form::Structured), frame(1, Form::Wire));
        for _ in 0..3 {
            assert_eq!(structured.wire_len(), wire.wire_len());
            assert_eq!(trace(&structured), trace(&wire));
            assert_eq!(written(&structured), written(&wire));
            assert_eq!(structured.wire_len(), written(&wire).len());
            assert_eq!((structured.ports(), wire.ports()), ([1, 2], [1, 2]));
            wire.crossed_link();
        }
        assert_ne!(trace(&structured), trace(&frame(2, Form::Structured)));
    }

    #[test]
    fn the_receiver_gets_what_was_sent() {
        for form in [Form::Structured, Form::Wire] {
            let frame = frame(1, form);
            let received = frame.received(A, B);
            assert_eq!((received.local, received.remote, received.ecn), (B, A, Ecn::Ect0));
            assert_eq!(matches!(received.body, Body::Datagram(_)), form == Form::Wire);
            match received.body {
                Body::Structured(delivered) | Body::Damaged { packet: delivered, .. } => {
                    assert_eq!(*delivered, packet(1));
                }
                Body::Datagram(bytes) | Body::Part { datagram: bytes, .. } => {
                    let delivered = read(bytes, ChecksumPolicy::Verify).unwrap();
                    assert_eq!(delivered.chunks[0], packet(1).chunks[0]);
                }
            }
        }
    }

    #[test]
    fn damage_to_the_checksum_leaves_a_structure_and_looks_the_same() {
        for bit in CHECKSUM_BITS {
            let mut frames = [frame(1, Form::Structured), frame(1, Form::Wire)];
            let intact = written(&frames[1]);
            for frame in &mut frames {
                frame.damage(bit);
                frame.crossed_link();
            }
            let [structured, wire] = &frames;
            assert!(
                matches!(structured.received(A, B).body, Body::Damaged { packet: content, .. } if *content == packet(1))
            );
            assert_eq!(written(structured), written(wire), "bit {bit}");
            assert_ne!(written(structured), intact);
            assert_eq!(trace(structured), trace(wire));
            // A second hit on the same bit would repair it, in both forms.
            frames.iter_mut().for_each(|frame| frame.damage(bit));
            let [structured, wire] = &frames;
            assert!(matches!(structured.received(A, B).body, Body::Structured(_)));
            assert_eq!((written(structured), written(wire)), (intact.clone(), intact));
        }
    }

    #[test]
    fn damage_is_one_bit_and_no_hop_repairs_it() {
        for form in [Form::Structured, Form::Wire] {
            let intact = written(&frame(1, form));
            let mut frame = frame(1, form);
            frame.damage(8 * 8 + 1);
            frame.crossed_link();
            let damaged = written(&frame);
            let bits: u32 = intact.iter().zip(&damaged).map(|(a, b)| (a ^ b).count_ones()).sum();
            assert_eq!(bits, 1);
            assert_eq!(damaged[8] ^ intact[8], 0x40);
            assert!(read(&damaged, ChecksumPolicy::Verify).is_none());
            frame.damage(u64::MAX);
            assert_eq!(written(&frame), damaged);
        }
    }
}
