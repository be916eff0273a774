//! Packets of real stacks: right checksum, readable, and the same bytes when written again.

mod common;

use std::collections::BTreeMap;

use polypath_wire::{
    Checksum, ChecksumPolicy, Chunk, Packet, PacketView, ParseError, Payload, packet_checksum,
};

#[test]
fn every_packet_parses_and_is_written_again_with_the_same_bytes() {
    let captures = common::captures::all();
    assert_eq!(captures.len(), 8);
    for capture in &captures {
        assert!(capture.packets.len() > 100, "{}", capture.name);
        for (number, bytes) in capture.packets.iter().enumerate() {
            let place = format!("{} packet {}", capture.name, number + 1);
            let view = PacketView::parse(bytes, ChecksumPolicy::Verify)
                .unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_eq!(packet_checksum(bytes), Some(view.checksum()), "{place}");
            let packet = view.to_packet().unwrap_or_else(|error| panic!("{place}: {error}"));
            assert!(!packet.chunks.is_empty(), "{place}");
            assert_encodes_to(&packet, bytes, &place);
            assert_encodes_to(&packet.clone().into_owned(), bytes, &place);
        }
    }
}

fn assert_encodes_to(packet: &Packet<'_>, bytes: &[u8], place: &str) {
    assert_eq!(packet.encoded_len(), bytes.len(), "{place}");
    let mut buffer = vec![0xAA; bytes.len() + 5];
    assert_eq!(packet.encode_into(&mut buffer, Checksum::Crc32c), Ok(bytes.len()), "{place}");
    assert_eq!(&buffer[..bytes.len()], bytes, "{place}");
    assert_eq!(buffer[bytes.len()..], [0xAA; 5], "{place}");
}

/// Counts read off the captures with another tool (chunk types as `tshark -T fields -e sctp.chunk_type` tells them).
#[test]
fn chunks_are_those_that_another_tool_counts() {
    let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
    for capture in common::captures::all() {
        for bytes in &capture.packets {
            let view = PacketView::parse(bytes, ChecksumPolicy::Verify).unwrap();
            for chunk in view.chunks() {
                *counts.entry(chunk.unwrap().chunk_type()).or_default() += 1;
            }
        }
    }
    let expected = [
        (0, 1382),
        (1, 8),
        (2, 8),
        (3, 879),
        (4, 10),
        (5, 6),
        (7, 6),
        (8, 6),
        (10, 8),
        (11, 8),
        (14, 6),
        (16, 134),
        (64, 72),
        (192, 29),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn every_flipped_bit_is_noticed() {
    for capture in common::captures::all() {
        let mut packet = capture.packets[0].clone();
        for bit in 0..packet.len() * 8 {
            packet[bit / 8] ^= 1 << (bit % 8);
            let result = PacketView::parse(&packet, ChecksumPolicy::Verify);
            assert!(matches!(result, Err(ParseError::WrongChecksum { .. })), "bit {bit}");
            packet[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn user_data_stays_in_the_datagram() {
    let captures = common::captures::all();
    let datagrams = captures.iter().flat_map(|capture| &capture.packets);
    let mut seen = 0;
    for bytes in datagrams {
        for chunk in PacketView::parse(bytes, ChecksumPolicy::Verify).unwrap().chunks() {
            if let Ok(Chunk::Data(data)) = chunk {
                let Payload::Borrowed(payload) = data.payload else { panic!("not borrowed") };
                assert!(bytes.as_ptr_range().contains(&payload.as_ptr()));
                seen += 1;
            }
        }
    }
    assert!(seen > 1000);
}
