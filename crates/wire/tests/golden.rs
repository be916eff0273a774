//! The bytes of one packet per chunk type, parameter and error cause.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use common::{golden, hex};
use polypath_wire::{Checksum, ChecksumPolicy, Chunk, Data, PacketView, Payload, VirtualPayload};

/// Environment variable that has the bytes written anew, to be read and committed.
const UPDATE: &str = "POLYPATH_UPDATE_GOLDEN";

#[test]
fn packets_are_written_as_ever() {
    let mut text = String::new();
    for (name, packet) in golden::packets() {
        let mut bytes = Vec::new();
        packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
        writeln!(text, "{name} {}", hex::encode(&bytes)).unwrap();
    }
    if std::env::var_os(UPDATE).is_some() {
        fs::write(golden::file(), &text).unwrap();
    }
    let kept = fs::read_to_string(golden::file()).unwrap();
    for (written, kept) in text.lines().zip(kept.lines()) {
        assert_eq!(written, kept, "set {UPDATE}=1 to keep the new bytes if they are right");
    }
    assert_eq!(text.lines().count(), kept.lines().count());
}

#[test]
fn kept_packets_are_read_as_they_were_meant() {
    let kept = fs::read_to_string(golden::file()).unwrap();
    let packets = golden::packets();
    assert_eq!(kept.lines().count(), packets.len());
    for (line, (name, packet)) in kept.lines().zip(packets) {
        let (kept_name, bytes) = line.split_once(' ').unwrap();
        assert_eq!(kept_name, name);
        let bytes = hex::decode(bytes);
        let view = PacketView::parse(&bytes, ChecksumPolicy::Verify).unwrap();
        let read = view.to_packet().unwrap();
        match (&read.chunks[..], &packet.chunks[..]) {
            ([Chunk::Data(read)], [Chunk::Data(Data { payload: Payload::Virtual(v), .. })]) => {
                let Payload::Borrowed(bytes) = read.payload else { panic!("not borrowed") };
                assert_eq!(bytes.len(), v.len as usize, "{name}");
                assert!(VirtualPayload::verify(v.message, v.offset, bytes), "{name}");
            }
            _ => assert_eq!(read, packet, "{name}"),
        }
    }
}

#[test]
fn every_chunk_type_has_a_packet() {
    let types: BTreeSet<u8> = golden::packets()
        .iter()
        .flat_map(|(_, packet)| packet.chunks.iter().map(|chunk| chunk.chunk_type()))
        .collect();
    let known = (0..=16).chain([64, 128, 129, 130, 132, 192, 193, 194]);
    let unknown = [0x3E, 0x7E, 0xBE, 0xFE];
    assert_eq!(types, known.chain(unknown).collect());
}
