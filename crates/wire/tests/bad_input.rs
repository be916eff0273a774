//! Malformed packets: what is refused, with which error, and what a robust receiver still takes.

mod common;

use common::{golden, walk};
use polypath_wire::{
    Cause, Causes, Checksum, ChecksumPolicy, Chunk, ChunkErrorReason as Reason, Data, DataFlags,
    EncodeError, Packet, PacketView, Parameter, Parameters, Payload, TlvErrorReason, UnknownAction,
    VirtualPayload, chunk_type,
};

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
    bytes
}

/// Every chunk of the golden packets as bytes with padding, and its length without.
fn chunks() -> Vec<(String, Vec<u8>, usize)> {
    let mut all = Vec::new();
    for (name, packet) in golden::packets() {
        for chunk in &packet.chunks {
            let mut bytes = vec![0; chunk.padded_len()];
            chunk.encode_into(&mut bytes).unwrap();
            all.push((name.clone(), bytes, chunk.encoded_len()));
        }
    }
    all
}

fn with_length(bytes: &[u8], length: u16) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// A common header without checksum in front of chunks.
fn packet_of(chunks: &[u8]) -> Vec<u8> {
    [&[0; 12], chunks].concat()
}

/// The chunks of a packet up to an error.
fn read(packet: &[u8]) -> Vec<Result<Chunk<'_>, Reason>> {
    let view = PacketView::parse(packet, ChecksumPolicy::Ignore).unwrap();
    view.chunks().map(|result| result.map_err(|error| error.reason)).collect()
}

#[test]
fn a_chunk_cut_anywhere_is_an_error() {
    for (name, bytes, len) in chunks() {
        for available in 0..len {
            let error = Chunk::parse(&bytes[..available]).unwrap_err();
            let expected = match available {
                0..4 => Reason::HeaderCutOff { available },
                _ => Reason::BeyondPacket { length: len as u16, available },
            };
            assert_eq!(error.reason, expected, "{name} cut to {available} bytes");
        }
    }
}

#[test]
fn a_length_below_the_chunk_header_is_an_error() {
    for (name, bytes, _) in chunks() {
        for length in 0..4 {
            let error = Chunk::parse(&with_length(&bytes, length)).unwrap_err();
            assert_eq!(error.reason, Reason::TooShort { length, least: 4 }, "{name}");
        }
    }
}

#[test]
fn a_length_beyond_the_packet_is_an_error() {
    for (name, bytes, _) in chunks() {
        let available = bytes.len();
        for length in [available as u16 + 1, 0x7FFF, u16::MAX] {
            let error = Chunk::parse(&with_length(&bytes, length)).unwrap_err();
            assert_eq!(error.reason, Reason::BeyondPacket { length, available }, "{name}");
        }
    }
}

/// The least length of each chunk with a fixed part, and one of each that has nothing else.
#[test]
fn a_length_that_cuts_the_fixed_part_is_an_error() {
    let least = |chunk: u8| match chunk {
        chunk_type::DATA | chunk_type::SACK | chunk_type::PACKET_DROP => 16,
        chunk_type::I_DATA | chunk_type::INIT | chunk_type::INIT_ACK | chunk_type::NR_SACK => 20,
        chunk_type::SHUTDOWN | chunk_type::ECNE | chunk_type::CWR | chunk_type::AUTH => 8,
        chunk_type::ASCONF | chunk_type::ASCONF_ACK => 8,
        chunk_type::FORWARD_TSN | chunk_type::I_FORWARD_TSN => 8,
        _ => 4,
    };
    for (name, bytes, _) in chunks() {
        let least = least(bytes[0]);
        for length in 4..least {
            let bytes = with_length(&bytes, length);
            let error = Chunk::parse(&bytes).unwrap_err();
            assert_eq!(error.reason, Reason::TooShort { length, least }, "{name}");
        }
    }
}

/// With a shortened length field the rest of the chunk becomes more chunks; nothing is read twice or lost.
#[test]
fn a_shortened_length_is_read_or_refused() {
    for (_, bytes, len) in chunks() {
        for length in 4..=len as u16 {
            walk::packet(&packet_of(&with_length(&bytes, length)));
        }
    }
}

#[test]
fn chunks_without_value_and_chunks_of_one_number_have_one_length() {
    use chunk_type as t;
    let none = [t::SHUTDOWN_ACK, t::COOKIE_ACK, t::SHUTDOWN_COMPLETE].map(|chunk| (chunk, 4));
    let one = [t::SHUTDOWN, t::CWR].map(|chunk| (chunk, 8));
    for (chunk, right) in none.into_iter().chain(one) {
        for length in right..=16_u16 {
            let mut bytes = [0; 16];
            bytes[0] = chunk;
            let result = Chunk::parse(&with_length(&bytes, length)).map(|_| ());
            let reason = result.map_err(|error| error.reason);
            let expected =
                if length == right { Ok(()) } else { Err(Reason::LengthMismatch { length }) };
            assert_eq!(reason, expected, "chunk {chunk}");
        }
    }
    let ecne = |length| Chunk::parse(&with_length(&[t::ECNE; 16], length)).is_ok();
    assert_eq!((8..=16).filter(|length| ecne(*length)).collect::<Vec<_>>(), [8, 12]);
}

#[test]
fn padding_may_be_missing_at_the_end_and_is_never_looked_at() {
    for (name, packet) in golden::packets() {
        let bytes = encoded(&packet);
        let Some(last) = packet.chunks.last() else { continue };
        let padding = last.padded_len() - last.encoded_len();
        let expected: Vec<_> = read(&bytes);
        assert_eq!(read(&bytes[..bytes.len() - padding]), expected, "{name}");
        let mut filled = bytes.clone();
        filled[bytes.len() - padding..].fill(0xFF);
        assert_eq!(read(&filled), expected, "{name}");
    }
}

#[test]
fn bytes_too_few_for_a_chunk_behind_the_last_one_are_an_error() {
    for extra in 1..4 {
        let cookie_ack = [11, 0, 0, 4, 11, 0, 0, 4];
        let packet = packet_of(&cookie_ack[..4 + extra]);
        let result = read(&packet);
        assert_eq!(result.len(), 2);
        assert_eq!(result[0], Ok(Chunk::CookieAck));
        assert_eq!(result[1], Err(Reason::HeaderCutOff { available: extra }));
    }
}

#[test]
fn an_error_tells_where_the_chunk_starts_and_ends_the_packet() {
    let packet = packet_of(&[11, 0, 0, 4, 8, 0, 0, 4, 3, 0, 0, 8, 1, 2, 3, 4, 11, 0, 0, 4]);
    let mut chunks = PacketView::parse(&packet, ChecksumPolicy::Ignore).unwrap().chunks();
    assert_eq!(chunks.next(), Some(Ok(Chunk::CookieAck)));
    assert_eq!(chunks.next(), Some(Ok(Chunk::ShutdownAck)));
    let error = chunks.next().unwrap().unwrap_err();
    assert_eq!((error.chunk_type, error.offset), (chunk_type::SACK, 20));
    assert_eq!(
        error.to_string().as_str(),
        "malformed chunk of type 3 at byte 20: length 8 is below the 16 bytes that such a chunk has at least"
    );
    assert_eq!(chunks.next(), None);
}

/// Every parameter and every cause in the golden packets, cut at every place.
#[test]
fn a_parameter_or_cause_cut_anywhere_makes_its_list_malformed() {
    let mut seen = 0;
    for (name, packet) in golden::packets() {
        for chunk in &packet.chunks {
            let parameters = match chunk {
                Chunk::Init(init) | Chunk::InitAck(init) => Some(&init.parameters),
                Chunk::Heartbeat(list) | Chunk::ReConfig(list) => Some(list),
                Chunk::Asconf(asconf) => Some(&asconf.parameters),
                Chunk::AsconfAck(ack) => Some(&ack.parameters),
                _ => None,
            };
            if let Some(list) = parameters {
                cut(list.as_slice(), &name, |part| Parameters::parse(part).map(|_| ()));
                seen += 1;
            }
            if let Chunk::Error(list) = chunk {
                cut(list.as_slice(), &name, |part| Causes::parse(part).map(|_| ()));
                seen += 1;
            }
        }
    }
    assert!(seen > 40);
}

/// The list may end where an element does, with or without its padding, and nowhere else.
fn cut(list: &[u8], name: &str, parse: impl Fn(&[u8]) -> Result<(), polypath_wire::TlvError>) {
    let mut ends = vec![0];
    let mut at = 0;
    while at < list.len() {
        let end = at + usize::from(u16::from_be_bytes([list[at + 2], list[at + 3]]));
        at = end.next_multiple_of(4);
        ends.extend(end..=at);
    }
    for len in 0..list.len() {
        let result = parse(&list[..len]);
        assert_eq!(result.is_ok(), ends.contains(&len), "{name} cut to {len}: {result:?}");
    }
}

#[test]
fn what_is_wrong_with_a_parameter_is_told() {
    let cases: &[(&[u8], TlvErrorReason)] = &[
        (&[0, 5, 0, 3, 1, 2, 3, 4], TlvErrorReason::TooShort { length: 3 }),
        (&[0, 5, 0, 0], TlvErrorReason::TooShort { length: 0 }),
        (&[0, 5, 0], TlvErrorReason::HeaderCutOff { available: 3 }),
        (&[0, 5, 0, 9, 1, 2, 3, 4], TlvErrorReason::BeyondChunk { length: 9, available: 8 }),
        (
            &[0, 5, 255, 255, 1, 2, 3, 4],
            TlvErrorReason::BeyondChunk { length: 65_535, available: 8 },
        ),
        (&[0, 5, 0, 7, 1, 2, 3, 0], TlvErrorReason::BadValue { len: 3 }),
        (&[0, 6, 0, 8, 1, 2, 3, 4], TlvErrorReason::BadValue { len: 4 }),
        (&[0, 9, 0, 4], TlvErrorReason::BadValue { len: 0 }),
        (&[0, 12, 0, 7, 0, 5, 0, 0], TlvErrorReason::BadValue { len: 3 }),
        (&[0, 13, 0, 8, 0, 0, 0, 1], TlvErrorReason::BadValue { len: 4 }),
        (&[0, 15, 0, 12, 0, 0, 0, 1, 0, 0, 0, 2], TlvErrorReason::BadValue { len: 8 }),
        (&[0, 17, 0, 8, 0, 0, 0, 1], TlvErrorReason::BadValue { len: 4 }),
        (&[0x80, 0, 0, 8, 0, 0, 0, 0], TlvErrorReason::BadValue { len: 4 }),
        (&[0x80, 1, 0, 6, 0, 0, 0, 0], TlvErrorReason::BadValue { len: 2 }),
        (&[0xC0, 0, 0, 8, 0, 0, 0, 0], TlvErrorReason::BadValue { len: 4 }),
        (&[0xC0, 5, 0, 4], TlvErrorReason::BadValue { len: 0 }),
        (&[0xC0, 6, 0, 6, 0, 0, 0, 0], TlvErrorReason::BadValue { len: 2 }),
    ];
    for (list, reason) in cases {
        let error = Parameters::parse(list).unwrap_err();
        assert_eq!((error.offset, error.reason), (0, *reason), "{list:?}");
        // The same behind a good one.
        let behind = [&[0xC0, 0, 0, 4], *list].concat();
        let error = Parameters::parse(&behind).unwrap_err();
        assert_eq!(error.offset, 4, "{list:?}");
    }
}

/// Address requests hold an address parameter and nothing else.
#[test]
fn what_is_nested_is_checked_too() {
    let request = |inner: &[u8]| {
        let [high, low] = (8 + inner.len() as u16).to_be_bytes();
        Parameters::parse(&[&[0xC0, 1, high, low, 0, 0, 0, 1], inner].concat()).is_ok()
    };
    assert!(request(&[0, 5, 0, 8, 192, 0, 2, 1]));
    assert!(!request(&[]));
    assert!(!request(&[0, 5, 0, 9, 192, 0, 2, 1]));
    assert!(!request(&[0, 5, 0, 7, 192, 0, 2, 1]));
    assert!(!request(&[0, 11, 0, 8, b'h', b'o', b's', b't']));
    assert!(!request(&[0, 5, 0, 8, 192, 0, 2, 1, 0, 5, 0, 8, 192, 0, 2, 2]));
    let deeper = [0xC0, 1, 0, 16, 0, 0, 0, 2, 0, 5, 0, 8, 192, 0, 2, 1];
    assert!(!request(&deeper));

    let indication = |causes: &[u8]| {
        let [high, low] = (8 + causes.len() as u16).to_be_bytes();
        Parameters::parse(&[&[0xC0, 3, high, low, 0, 0, 0, 1], causes].concat()).is_ok()
    };
    assert!(indication(&[]));
    assert!(indication(&[0, 0xA3, 0, 4]));
    assert!(!indication(&[0, 0xA3, 0, 5]));
}

/// The last parameter ends inside the packet but outside its chunk: whoever validates with the chunk's length and
/// loads with the packet's reads too far.
#[test]
fn a_parameter_beyond_its_chunk_is_refused_though_the_packet_has_the_bytes() {
    let mut init = vec![1, 0, 0, 28, 0, 0, 0, 1, 0, 0, 16, 0, 0, 1, 0, 1, 0, 0, 0, 1];
    init.extend([0, 5, 0, 8, 192, 0, 2, 1]);
    assert!(Chunk::parse(&init).is_ok());
    for length in 21..28 {
        let packet = packet_of(&with_length(&init, length));
        let available = usize::from(length) - 20;
        let expected = match available {
            0..4 => TlvErrorReason::HeaderCutOff { available },
            _ => TlvErrorReason::BeyondChunk { length: 8, available },
        };
        match read(&packet)[..] {
            [Err(Reason::Parameter(error))] => assert_eq!(error.reason, expected),
            ref other => panic!("length {length}: {other:?}"),
        }
    }
}

#[test]
fn acknowledgements_have_the_length_that_their_counts_tell() {
    let kinds: [(u8, usize, &[usize]); 2] =
        [(chunk_type::SACK, 16, &[12, 14]), (chunk_type::NR_SACK, 20, &[12, 14, 16])];
    for (chunk, fixed, counts) in kinds {
        for count in counts {
            for (claimed, there) in [(1, 0), (0, 1), (2, 3), (u16::MAX, 0), (u16::MAX, 100), (3, 3)]
            {
                let mut bytes = vec![0; fixed + 4 * usize::from(there)];
                bytes[0] = chunk;
                bytes[*count..][..2].copy_from_slice(&u16::to_be_bytes(claimed));
                let length = bytes.len() as u16;
                let reason = Chunk::parse(&with_length(&bytes, length))
                    .map(|(_, occupied)| occupied)
                    .map_err(|error| error.reason);
                let expected = match claimed == there {
                    true => Ok(bytes.len()),
                    false => Err(Reason::LengthMismatch { length }),
                };
                assert_eq!(reason, expected, "chunk {chunk}, {claimed} claimed, {there} there");
            }
        }
    }
}

/// A list of parameters whose count is wrong is no list: the cause is handed out as one that is not known.
#[test]
fn missing_parameters_are_as_many_as_their_count_tells() {
    for there in 0..5_u16 {
        for claimed in [0, 1, 2, 3, 4, 5, 1 << 31, u32::MAX] {
            let mut bytes = vec![0, 2, 0, 8 + 2 * there as u8];
            bytes.extend(claimed.to_be_bytes());
            bytes.extend((0..there).flat_map(u16::to_be_bytes));
            let causes = Causes::parse(&bytes).unwrap();
            let read: Vec<_> = causes.iter().collect();
            match read[..] {
                [Cause::MissingParameters(types)] => {
                    assert_eq!(claimed, u32::from(there));
                    assert!(types.iter().eq(0..there));
                }
                [Cause::Unknown { code: 2, value }] => {
                    assert_ne!(claimed, u32::from(there));
                    assert_eq!(value, &bytes[4..]);
                }
                ref other => panic!("{claimed} claimed, {there} there: {other:?}"),
            }
        }
    }
}

#[test]
fn gap_blocks_are_handed_out_as_they_came_however_odd() {
    let ends = [(9, 3), (0, 0), (5, 6), (5, 6), (65_535, 1), (2, 65_535)];
    let mut bytes = vec![3, 0, 0, 40, 0, 0, 0, 9, 0, 0, 0, 0, 0, 6, 0, 0];
    for (start, end) in ends {
        bytes.extend(u16::to_be_bytes(start));
        bytes.extend(u16::to_be_bytes(end));
    }
    let (Chunk::Sack(sack), 40) = Chunk::parse(&bytes).unwrap() else { panic!("SACK") };
    assert!(sack.gap_ack_blocks.iter().map(|block| (block.start, block.end)).eq(ends));
}

#[test]
fn forward_tsn_lists_are_whole() {
    for (chunk, entry) in [(chunk_type::FORWARD_TSN, 4), (chunk_type::I_FORWARD_TSN, 8)] {
        for len in 8..40_u16 {
            let mut bytes = [0; 40];
            bytes[0] = chunk;
            let whole = (len - 8) % entry == 0;
            assert_eq!(Chunk::parse(&with_length(&bytes, len)).is_ok(), whole, "{chunk}, {len}");
        }
    }
}

/// A receiver has to answer it with an error cause that names the TSN, so it must be readable.
#[test]
fn data_without_user_data_is_readable() {
    let bytes = [0, 3, 0, 16, 0, 0, 0, 77, 0, 1, 0, 2, 0, 0, 0, 3];
    let (Chunk::Data(data), 16) = Chunk::parse(&bytes).unwrap() else { panic!("DATA") };
    assert!(data.payload.is_empty());
    assert_eq!(data.tsn, 77);
}

#[test]
fn the_longest_chunk() {
    for length in 65_533..=u16::MAX {
        let mut bytes = packet_of(&vec![0xAB; 65_536]);
        bytes[12..16].copy_from_slice(&[0, 3, 255, length as u8]);
        let view = PacketView::parse(&bytes, ChecksumPolicy::Ignore).unwrap();
        let packet = view.to_packet().unwrap();
        assert_eq!(packet.chunks.len(), 1);
        assert_eq!(packet.encoded_len(), bytes.len());
        walk::packet(&bytes);
        let cut = read(&bytes[..12 + usize::from(length) - 1]);
        let available = usize::from(length) - 1;
        assert_eq!(cut, [Err(Reason::BeyondPacket { length, available })]);
    }
}

#[test]
fn thousands_of_chunks() {
    const COUNT: usize = 16_380;
    for chunk in [0x3E, 0x7E, 0xBE, 0xFE, chunk_type::COOKIE_ACK, chunk_type::HEARTBEAT] {
        let bytes = packet_of(&[chunk, 0, 0, 4].repeat(COUNT));
        let chunks = read(&bytes);
        assert_eq!(chunks.len(), COUNT);
        assert!(chunks.iter().all(|read| read.as_ref().unwrap().chunk_type() == chunk));
    }
}

#[test]
fn the_highest_bits_tell_what_to_do_with_the_unknown() {
    for (bits, continues, reports, action) in [
        (0, false, false, UnknownAction::Stop),
        (1, false, true, UnknownAction::StopAndReport),
        (2, true, false, UnknownAction::Skip),
        (3, true, true, UnknownAction::SkipAndReport),
    ] {
        for low in 0..64 {
            assert_eq!(UnknownAction::of_chunk(bits << 6 | low), action);
            assert_eq!(UnknownAction::of_parameter(u16::from(bits << 6 | low) << 8), action);
        }
        assert_eq!((action.continues(), action.reports()), (continues, reports));
    }
    let (Chunk::Unknown(unknown), 4) = Chunk::parse(&[0x7E, 1, 0, 4]).unwrap() else {
        panic!("unknown")
    };
    assert_eq!(unknown.action(), UnknownAction::StopAndReport);
}

#[test]
fn a_chunk_longer_than_its_length_field_can_tell_is_not_written() {
    let data = |len| {
        let payload = Payload::Virtual(VirtualPayload { message: 1, offset: 0, len });
        Chunk::Data(Data { flags: DataFlags::END, tsn: 1, stream: 2, ssn: 3, ppid: 4, payload })
    };
    let packet = |len| {
        let chunks = [Chunk::CookieAck, data(len)].into_iter().collect();
        Packet { source_port: 1, destination_port: 2, verification_tag: 3, chunks }
    };
    let longest = 65_535 - 16;
    assert_eq!(encoded(&packet(longest)).len(), 12 + 4 + 65_536);
    for len in [longest + 1, 1_000_000, u32::MAX] {
        let mut out = vec![1, 2, 3];
        let error = packet(len).append_to(&mut out, Checksum::Crc32c).unwrap_err();
        let expected = EncodeError::ChunkTooLong { chunk_type: 0, len: 16 + len as usize };
        assert_eq!(error, expected);
        assert_eq!(out, [1, 2, 3]);
    }
    let mut buffer = vec![0; 100_000];
    let error = packet(longest + 1).encode_into(&mut buffer, Checksum::Crc32c).unwrap_err();
    assert!(matches!(error, EncodeError::ChunkTooLong { .. }));
}

/// Such as the report of a chunk of nearly 64 KiB that was not understood.
#[test]
fn a_value_longer_than_its_length_field_can_tell_is_cut() {
    const LONGEST: usize = 65_528;
    let long = vec![7; 70_000];
    for len in [LONGEST - 1, LONGEST, LONGEST + 1, 65_535, 70_000] {
        let cut = &long[..len.min(LONGEST)];
        let causes = [Cause::UnrecognizedChunk(&long[..len]), Cause::OutOfResource];
        let read = Causes::build(causes);
        assert!(read.iter().eq([Cause::UnrecognizedChunk(cut), Cause::OutOfResource]));
        walk::causes(&Causes::parse(read.as_slice()).unwrap());
        let parameters = [Parameter::StateCookie(&long[..len]), Parameter::EcnCapable];
        let read = Parameters::build(parameters);
        assert!(read.iter().eq([Parameter::StateCookie(cut), Parameter::EcnCapable]));
        walk::parameters(&Parameters::parse(read.as_slice()).unwrap());
    }
}
