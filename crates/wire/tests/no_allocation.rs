//! Reading any packet, and writing DATA and SACK, allocates nothing.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use bytes::Bytes;
use common::golden;
use polypath_wire::{
    Checksum, ChecksumPolicy, Chunk, Data, DataFlags, GapAckBlock, Packet, PacketView, Payload,
    Sack,
};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator with a count per thread.
struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations<R>(run: impl FnOnce() -> R) -> usize {
    let before = ALLOCATIONS.get();
    black_box(run());
    ALLOCATIONS.get() - before
}

fn packet(chunks: impl IntoIterator<Item = Chunk<'static>>) -> Packet<'static> {
    Packet {
        source_port: 1,
        destination_port: 2,
        verification_tag: 3,
        chunks: chunks.into_iter().collect(),
    }
}

fn sack(blocks: u16) -> Chunk<'static> {
    Chunk::Sack(Sack {
        flags: 0,
        cumulative_tsn_ack: 7,
        a_rwnd: 9,
        gap_ack_blocks: (0..blocks).map(|n| GapAckBlock { start: n, end: n }).collect(),
        duplicate_tsns: (0..100).collect(),
    })
}

#[test]
fn counting_counts() {
    assert_eq!(allocations(|| Vec::<u8>::with_capacity(black_box(100))), 1);
}

#[test]
fn writing_data_and_sack() {
    let payload = Payload::Shared(Bytes::from(vec![1; 1400]));
    let flags = DataFlags::BEGIN | DataFlags::END;
    let data = Chunk::Data(Data { flags, tsn: 1, stream: 2, ssn: 3, ppid: 4, payload });
    let packet = packet([sack(50), data]);
    let mut buffer = vec![0; packet.encoded_len()];
    for checksum in [Checksum::Crc32c, Checksum::Zero] {
        assert_eq!(allocations(|| packet.encode_into(&mut buffer, checksum).unwrap()), 0);
    }
}

#[test]
fn reading_golden_packets() {
    for (name, packet) in golden::packets() {
        let mut bytes = Vec::new();
        packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
        let count = allocations(|| {
            let view = PacketView::parse(&bytes, ChecksumPolicy::Verify).unwrap();
            view.chunks().for_each(|chunk| look_at(&chunk.unwrap()));
        });
        assert_eq!(count, 0, "{name}");
    }
}

/// However many blocks a chunk has, and however many it claims to have.
#[test]
fn reading_an_acknowledgement_of_thousands_of_blocks() {
    let mut bytes = Vec::new();
    packet([sack(16_000)]).append_to(&mut bytes, Checksum::Crc32c).unwrap();
    let read = |bytes: &[u8]| {
        let view = PacketView::parse(bytes, ChecksumPolicy::Ignore).unwrap();
        view.chunks().filter(|chunk| chunk.as_ref().inspect(|chunk| look_at(chunk)).is_ok()).count()
    };
    assert_eq!(read(&bytes), 1);
    assert_eq!(allocations(|| read(&bytes)), 0);
    const GAP_BLOCK_COUNT: usize = 12 + 12;
    bytes[GAP_BLOCK_COUNT..][..2].fill(0xFF);
    assert_eq!(read(&bytes), 0);
    assert_eq!(allocations(|| read(&bytes)), 0);
}

/// Goes through all lists of a chunk.
fn look_at(chunk: &Chunk<'_>) {
    match chunk {
        Chunk::Init(init) | Chunk::InitAck(init) => {
            black_box(init.parameters.iter().count());
        }
        Chunk::Heartbeat(list) | Chunk::HeartbeatAck(list) | Chunk::ReConfig(list) => {
            black_box(list.iter().count());
        }
        Chunk::Asconf(asconf) => {
            black_box(asconf.parameters.iter().count());
        }
        Chunk::Error(causes) => {
            black_box(causes.iter().count());
        }
        Chunk::Sack(sack) => {
            black_box(sack.gap_ack_blocks.iter().map(|block| u32::from(block.end)).sum::<u32>());
            black_box(sack.duplicate_tsns.iter().max());
        }
        _ => {}
    }
}
