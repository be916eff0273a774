//! Which checksums are accepted and written (RFC 9260 section 6.8, RFC 9653).

mod common;

use common::golden;
use polypath_wire::{
    Checksum, ChecksumPolicy, Packet, PacketView, ParseError, chunk_type, packet_checksum,
    write_checksum,
};

const FIELD: std::ops::Range<usize> = 8..12;

fn encoded(packet: &Packet<'_>, checksum: Checksum) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, checksum).unwrap();
    bytes
}

fn accepted(bytes: &[u8], policy: ChecksumPolicy) -> bool {
    match PacketView::parse(bytes, policy) {
        Ok(view) => {
            assert_eq!(view.as_slice(), bytes);
            true
        }
        Err(ParseError::WrongChecksum { found, computed }) => {
            assert_eq!(found.to_le_bytes(), bytes[FIELD]);
            assert_eq!(Some(computed), packet_checksum(bytes));
            false
        }
        Err(other) => panic!("{other}"),
    }
}

fn has(packet: &Packet<'_>, types: &[u8]) -> bool {
    packet.chunks.iter().any(|chunk| types.contains(&chunk.chunk_type()))
}

#[test]
fn the_right_checksum_is_always_accepted() {
    for (name, packet) in golden::packets() {
        let bytes = encoded(&packet, Checksum::Crc32c);
        for policy in [ChecksumPolicy::Verify, ChecksumPolicy::AcceptZero, ChecksumPolicy::Ignore] {
            assert!(accepted(&bytes, policy), "{name}");
        }
    }
}

#[test]
fn zero_is_accepted_by_agreement_but_not_for_init_and_cookie_echo() {
    for (name, packet) in golden::packets() {
        let mut bytes = encoded(&packet, Checksum::Crc32c);
        bytes[FIELD].fill(0);
        let insists = has(&packet, &[chunk_type::INIT, chunk_type::COOKIE_ECHO]);
        assert!(!accepted(&bytes, ChecksumPolicy::Verify), "{name}");
        assert_eq!(accepted(&bytes, ChecksumPolicy::AcceptZero), !insists, "{name}");
        assert!(accepted(&bytes, ChecksumPolicy::Ignore), "{name}");
    }
}

#[test]
fn a_wrong_checksum_that_is_not_zero_is_refused_with_and_without_agreement() {
    for (name, packet) in golden::packets() {
        let right = encoded(&packet, Checksum::Crc32c);
        for bit in 0..32 {
            let mut bytes = right.clone();
            bytes[FIELD.start + bit / 8] ^= 1 << (bit % 8);
            assert!(!accepted(&bytes, ChecksumPolicy::Verify), "{name}");
            assert!(!accepted(&bytes, ChecksumPolicy::AcceptZero), "{name}");
            assert!(accepted(&bytes, ChecksumPolicy::Ignore), "{name}");
        }
    }
}

#[test]
fn init_hidden_behind_other_chunks_still_insists_on_a_checksum() {
    let cookie_ack = [11, 0, 0, 4];
    let unknown = [0xFE, 0, 0, 5, 1, 0, 0, 0];
    for insisting in [chunk_type::INIT, chunk_type::COOKIE_ECHO] {
        let mut bytes = vec![7; 12];
        bytes[FIELD].fill(0);
        bytes.extend(cookie_ack);
        bytes.extend(unknown);
        bytes.extend([insisting, 0, 0, 20]);
        assert!(!accepted(&bytes, ChecksumPolicy::AcceptZero));
        write_checksum(&mut bytes);
        assert!(accepted(&bytes, ChecksumPolicy::AcceptZero));
    }
    // A length of 0 does not hold up the search.
    let looping = [[7; 8].as_slice(), &[0; 4], &[0, 0, 0, 0], &[1, 0, 0, 4]].concat();
    assert!(!accepted(&looping, ChecksumPolicy::AcceptZero));
}

#[test]
fn zero_is_written_where_it_may_be() {
    for (name, packet) in golden::packets() {
        let crc = encoded(&packet, Checksum::Crc32c);
        let zero = encoded(&packet, Checksum::Zero);
        let insists =
            has(&packet, &[chunk_type::INIT, chunk_type::COOKIE_ECHO, chunk_type::ASCONF]);
        assert_eq!(zero[FIELD] != [0; 4], insists, "{name}");
        assert_eq!(zero == crc, insists, "{name}");
        assert!(accepted(&zero, ChecksumPolicy::AcceptZero), "{name}");
    }
}

/// CRC32c of nine digits is the check value of the catalogues; the field has its least significant byte first.
#[test]
fn the_checksum_is_crc32c_over_the_packet_with_the_field_zeroed() {
    const CHECK: u32 = 0xE306_9283;
    assert_eq!(bitwise_crc32c(b"123456789"), CHECK);
    for (name, packet) in golden::packets() {
        let mut bytes = encoded(&packet, Checksum::Crc32c);
        let field = u32::from_le_bytes(bytes[FIELD].try_into().unwrap());
        assert_eq!(packet_checksum(&bytes), Some(field), "{name}");
        bytes[FIELD].fill(0);
        assert_eq!(bitwise_crc32c(&bytes), field, "{name}");
        assert_eq!(packet_checksum(&bytes), Some(field), "the field itself does not count");
        bytes[FIELD].fill(0x55);
        write_checksum(&mut bytes);
        assert_eq!(bytes[FIELD], field.to_le_bytes());
    }
}

#[test]
fn too_short_for_a_common_header() {
    for len in 0..12 {
        let mut bytes = vec![0; len];
        for policy in [ChecksumPolicy::Verify, ChecksumPolicy::AcceptZero, ChecksumPolicy::Ignore] {
            let error = PacketView::parse(&bytes, policy).unwrap_err();
            assert_eq!(error, ParseError::TooShort { len });
        }
        assert_eq!(packet_checksum(&bytes), None);
        write_checksum(&mut bytes);
        assert_eq!(bytes, vec![0; len]);
    }
}

/// Zero can be the right CRC32c too, and is then accepted by everybody (RFC 9653 section 3).
#[test]
fn a_right_checksum_of_zero_is_accepted() {
    let (_, packet) = &golden::packets()[0];
    let mut packet = packet.to_owned();
    packet.verification_tag = tag_for_checksum_zero(&packet);
    let bytes = encoded(&packet, Checksum::Crc32c);
    assert_eq!(bytes[FIELD], [0; 4]);
    assert!(accepted(&bytes, ChecksumPolicy::Verify));
}

/// Each bit of the tag flips a fixed set of bits of the checksum; which bits to flip is a linear equation.
fn tag_for_checksum_zero(packet: &Packet<'_>) -> u32 {
    let checksum = |verification_tag| {
        let packet = Packet { verification_tag, ..packet.clone() };
        packet_checksum(&encoded(&packet, Checksum::Crc32c)).unwrap()
    };
    let base = checksum(0);
    let mut rows: Vec<(u32, u32)> =
        (0..32).map(|bit| (checksum(1 << bit) ^ base, 1 << bit)).collect();
    let (mut left, mut tag) = (base, 0);
    for bit in 0..32 {
        let at = rows.iter().position(|(flips, _)| flips >> bit & 1 == 1).expect("independent");
        let (flips, change) = rows.swap_remove(at);
        for row in rows.iter_mut().filter(|row| row.0 >> bit & 1 == 1) {
            *row = (row.0 ^ flips, row.1 ^ change);
        }
        if left >> bit & 1 == 1 {
            left ^= flips;
            tag ^= change;
        }
    }
    assert_eq!(left, 0);
    tag
}

#[test]
fn types_are_visited_up_to_the_first_that_does_not_hold() {
    let header = [7; 12];
    let chunks = [[11, 0, 0, 4].as_slice(), &[0xFE, 0, 0, 5, 1, 0, 0, 0], &[3, 0, 0, 200]].concat();
    let bytes = [&header[..], &chunks].concat();
    let view = PacketView::parse(&bytes, ChecksumPolicy::Ignore).unwrap();
    let visited = |stops_at: u8| {
        let mut types = Vec::new();
        let all = view.every_type(|it| {
            types.push(it);
            it != stops_at
        });
        (all, types)
    };
    assert_eq!(visited(0), (true, vec![11, 0xFE, 3]));
    assert_eq!(visited(0xFE), (false, vec![11, 0xFE]));
}

fn bitwise_crc32c(bytes: &[u8]) -> u32 {
    const REFLECTED_POLYNOMIAL: u32 = 0x82F6_3B78;
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { REFLECTED_POLYNOMIAL } else { 0 }
        })
    })
}
