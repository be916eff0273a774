//! Looks at everything that a parsed packet hands out, and checks that what was validated is also usable.
//! The fuzz targets do the same.

use polypath_wire::{
    Causes, Checksum, ChecksumPolicy, Chunk, Packet, PacketView, Parameter, Parameters,
    packet_checksum,
};

/// Reads `bytes` as a packet, whatever its checksum, and checks everything in it.
pub fn packet(bytes: &[u8]) {
    let Ok(view) = PacketView::parse(bytes, ChecksumPolicy::Ignore) else {
        assert!(bytes.len() < 12);
        return;
    };
    let verified = PacketView::parse(bytes, ChecksumPolicy::Verify).is_ok();
    assert_eq!(verified, packet_checksum(bytes) == Some(view.checksum()));
    let mut chunks = view.chunks();
    let mut at = chunks.offset();
    while let Some(result) = chunks.next() {
        match result {
            Ok(parsed) => {
                let occupied = chunks.offset() - at;
                assert!(occupied >= 4 && occupied <= parsed.padded_len());
                at = chunks.offset();
                chunk(&parsed);
            }
            Err(error) => {
                assert_eq!(error.offset, at);
                assert!(chunks.next().is_none(), "nothing is read behind a malformed chunk");
            }
        }
    }
    if let Ok(parsed) = view.to_packet() {
        assert_eq!(at, bytes.len());
        read_again(&parsed, bytes);
    }
}

/// What was read is written as it was, apart from reserved flags and padding, and then read as the same.
fn read_again(parsed: &Packet<'_>, bytes: &[u8]) {
    let mut written = Vec::new();
    parsed
        .append_to(&mut written, Checksum::Crc32c)
        .expect("chunks have the lengths they came with");
    assert_eq!(written.len(), bytes.len().next_multiple_of(4));
    let view = PacketView::parse(&written, ChecksumPolicy::Verify).expect("right checksum");
    assert_eq!(&view.to_packet().expect("what was written is readable"), parsed);
    assert_eq!(&parsed.to_owned(), parsed);
}

fn chunk(chunk: &Chunk<'_>) {
    match chunk {
        Chunk::Init(init) | Chunk::InitAck(init) => parameters(&init.parameters),
        Chunk::Heartbeat(list) | Chunk::HeartbeatAck(list) | Chunk::ReConfig(list) => {
            parameters(list);
        }
        Chunk::Asconf(asconf) => {
            parameters(&asconf.parameters);
            let first = asconf.parameters.iter().next();
            assert_eq!(asconf.address(), first.and_then(|parameter| parameter.address()));
        }
        Chunk::AsconfAck(ack) => parameters(&ack.parameters),
        Chunk::Abort(abort) => causes(&abort.causes),
        Chunk::Error(list) => causes(list),
        Chunk::Sack(sack) => {
            let blocks = &sack.gap_ack_blocks;
            assert!(blocks.iter().enumerate().all(|(i, block)| blocks.get(i) == Some(block)));
            assert_eq!(blocks.iter().count(), blocks.len());
            assert_eq!(blocks.get(blocks.len()), None);
            assert_eq!(sack.duplicate_tsns.iter().count(), sack.duplicate_tsns.len());
        }
        Chunk::NrSack(sack) => {
            assert_eq!(sack.renegable_blocks.iter().count(), sack.renegable_blocks.len());
            assert_eq!(sack.non_renegable_blocks.iter().count(), sack.non_renegable_blocks.len());
        }
        Chunk::ForwardTsn(forward) => {
            assert_eq!(forward.streams().count() * 4, forward.skipped.len());
        }
        Chunk::IForwardTsn(forward) => {
            assert_eq!(forward.messages().count() * 8, forward.skipped.len());
        }
        _ => {}
    }
}

/// A list that was validated yields everything in it, and can be built again from that.
pub fn parameters(list: &Parameters<'_>) {
    let rebuilt = Parameters::build(list.iter());
    assert_same_length(rebuilt.as_slice(), list.as_slice());
    assert!(rebuilt.iter().eq(list.iter()));
    for parameter in list {
        if let Parameter::ErrorCauseIndication { causes: nested, .. } = parameter {
            causes(&nested);
        }
    }
}

/// As [`parameters`].
pub fn causes(list: &Causes<'_>) {
    let rebuilt = Causes::build(list.iter());
    assert_same_length(rebuilt.as_slice(), list.as_slice());
    assert!(rebuilt.iter().eq(list.iter()));
}

/// Padding behind the last element may be part of a list or not.
fn assert_same_length(rebuilt: &[u8], list: &[u8]) {
    assert_eq!(rebuilt.len().next_multiple_of(4), list.len().next_multiple_of(4));
}
