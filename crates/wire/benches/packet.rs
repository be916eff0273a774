//! What encoding and reading a packet costs: `cargo bench -p polypath-wire`.

use bytes::Bytes;
use divan::{Bencher, black_box, counter::BytesCount};
use polypath_wire::{
    Checksum, ChecksumPolicy, Chunk, Data, DataFlags, DuplicateTsns, GapAckBlock, GapAckBlocks,
    Packet, PacketView, Payload, Sack, VirtualPayload, packet_checksum,
};

const MESSAGE: usize = 1400;

fn main() {
    divan::main();
}

fn packet(chunks: impl IntoIterator<Item = Chunk<'static>>) -> Packet<'static> {
    Packet {
        source_port: 5001,
        destination_port: 5002,
        verification_tag: 0x1234_5678,
        chunks: chunks.into_iter().collect(),
    }
}

fn data(payload: Payload<'static>) -> Packet<'static> {
    let flags = DataFlags::BEGIN | DataFlags::END;
    packet([Chunk::Data(Data { flags, tsn: 7, stream: 1, ssn: 2, ppid: 3, payload })])
}

fn shared_data() -> Packet<'static> {
    data(Payload::Shared(Bytes::from(vec![0x5A; MESSAGE])))
}

fn sack(gaps: u16) -> Packet<'static> {
    let blocks = (0..gaps).map(|i| GapAckBlock { start: 3 * i + 2, end: 3 * i + 3 });
    packet([Chunk::Sack(Sack {
        flags: 0,
        cumulative_tsn_ack: 7,
        a_rwnd: 100_000,
        gap_ack_blocks: GapAckBlocks::Owned(blocks.collect()),
        duplicate_tsns: DuplicateTsns::Owned([].into_iter().collect()),
    })])
}

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
    bytes
}

fn encode(bencher: Bencher<'_, '_>, packet: &Packet<'_>, checksum: Checksum) {
    let mut buffer = [0; 2048];
    bencher
        .counter(BytesCount::new(packet.encoded_len()))
        .bench_local(|| black_box(packet).encode_into(black_box(&mut buffer), checksum));
}

fn parse(bencher: Bencher<'_, '_>, bytes: &[u8], policy: ChecksumPolicy) {
    bencher.counter(BytesCount::of_slice(bytes)).bench_local(|| {
        let view = PacketView::parse(black_box(bytes), policy).unwrap();
        for chunk in view.chunks() {
            black_box(&chunk).as_ref().unwrap();
        }
    });
}

#[divan::bench]
fn checksum_of_data(bencher: Bencher<'_, '_>) {
    let bytes = encoded(&shared_data());
    bencher
        .counter(BytesCount::of_slice(&bytes))
        .bench_local(|| packet_checksum(black_box(&bytes)));
}

#[divan::bench]
fn checksum_of_small(bencher: Bencher<'_, '_>) {
    let bytes = encoded(&sack(0));
    bencher.bench_local(|| packet_checksum(black_box(&bytes)));
}

#[divan::bench(args = [Checksum::Crc32c, Checksum::Zero])]
fn encode_data(bencher: Bencher<'_, '_>, checksum: Checksum) {
    encode(bencher, &shared_data(), checksum);
}

#[divan::bench]
fn encode_virtual_data(bencher: Bencher<'_, '_>) {
    let payload = VirtualPayload { message: 9, offset: 1400, len: MESSAGE as u32 };
    encode(bencher, &data(Payload::Virtual(payload)), Checksum::Zero);
}

#[divan::bench(args = [0, 4, 100])]
fn encode_sack(bencher: Bencher<'_, '_>, gaps: u16) {
    encode(bencher, &sack(gaps), Checksum::Crc32c);
}

#[divan::bench(args = [ChecksumPolicy::Verify, ChecksumPolicy::Ignore])]
fn parse_data(bencher: Bencher<'_, '_>, policy: ChecksumPolicy) {
    parse(bencher, &encoded(&shared_data()), policy);
}

#[divan::bench(args = [0, 4, 100])]
fn parse_sack(bencher: Bencher<'_, '_>, gaps: u16) {
    parse(bencher, &encoded(&sack(gaps)), ChecksumPolicy::Verify);
}

#[divan::bench]
fn verify_virtual_data(bencher: Bencher<'_, '_>) {
    let mut bytes = vec![0; MESSAGE];
    VirtualPayload { message: 9, offset: 1400, len: MESSAGE as u32 }.fill(&mut bytes);
    bencher.bench_local(|| VirtualPayload::verify(9, 1400, black_box(&bytes)));
}
