//! Chunks that this side does not understand, or that belong to extensions that were not agreed on: the two highest
//! bits of their type say what happens (RFC 9260 section 3.2).

mod common;

use common::{Victim, config, ip};
use polypath_proto::Fragmentation;
use polypath_proto::config::Preset;
use polypath_wire::{
    Asconf, AsconfAck, Auth, Cause, Chunk, DataFlags, ForwardTsn, IData, Parameter, Parameters,
    Payload, Raw, UnknownChunk,
};

fn unknown(chunk_type: u8) -> Chunk<'static> {
    Chunk::Unknown(UnknownChunk { chunk_type, flags: 3, value: Raw::Borrowed(b"new") })
}

/// Whether the chunk is reported, and whether what follows it is processed.
fn fate(chunk: &Chunk<'static>) -> (bool, bool) {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    let info = Parameters::build([Parameter::HeartbeatInfo(b"info")]);
    victim.receive(ip(2), vec![chunk.clone(), Chunk::Heartbeat(info)]);
    let (mut reported, mut goes_on) = (false, false);
    for sent in victim.sent().iter().flat_map(|transmit| &transmit.packet.chunks) {
        match sent {
            Chunk::HeartbeatAck(_) => goes_on = true,
            Chunk::Error(causes) => {
                let mut bytes = vec![0; chunk.padded_len()];
                chunk.encode_into(&mut bytes).unwrap();
                bytes.truncate(chunk.encoded_len());
                assert!(causes.iter().eq([Cause::UnrecognizedChunk(&bytes)]), "{causes:?}");
                reported = true;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(victim.association().is_established());
    (reported, goes_on)
}

#[test]
fn the_type_says_what_happens() {
    for (chunk_type, expected) in
        [(0x3D, (false, false)), (0x7D, (true, false)), (0xBD, (false, true)), (0xFD, (true, true))]
    {
        assert_eq!(fate(&unknown(chunk_type)), expected, "{chunk_type:#x}");
    }
}

#[test]
fn extensions_that_were_not_agreed_on_are_unknown() {
    let parameters = || Parameters::build([Parameter::SsnTsnReset { request_sequence: 1 }]);
    let data = IData {
        flags: DataFlags::BEGIN | DataFlags::END,
        tsn: 1,
        stream: 0,
        mid: 0,
        ppid_or_fsn: 0,
        payload: Payload::Shared(b"data"[..].into()),
    };
    let hmac = Raw::Borrowed(&[7; 20]);
    for (chunk, expected) in [
        (Chunk::Auth(Auth { shared_key_id: 0, hmac_id: 1, hmac }), (false, false)),
        (Chunk::IData(data), (true, false)),
        (Chunk::ReConfig(parameters()), (false, true)),
        (Chunk::AsconfAck(AsconfAck { serial: 1, parameters: parameters() }), (false, true)),
        (Chunk::Asconf(Asconf { serial: 1, parameters: parameters() }), (true, true)),
        (Chunk::IForwardTsn(ForwardTsn::of_streams(1, [])), (true, true)),
    ] {
        assert_eq!(fate(&chunk), expected, "{chunk:?}");
    }
}

/// A chunk that fills its packet is reported as far as the report fits one.
#[test]
fn a_report_fits_a_packet() {
    let mut victim = Victim::established(config(Preset::Rfc9260));
    let value = Raw::from(vec![7; 9000]);
    let large = Chunk::Unknown(UnknownChunk { chunk_type: 0xFD, flags: 0, value });
    victim.receive(ip(2), vec![large]);
    let sent = victim.sent();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].fragmentation, Fragmentation::Avoided);
    assert_eq!(sent[0].packet.encoded_len(), 1480);
    // A flood of them gets no flood of answers.
    victim.receive(ip(2), vec![unknown(0xFD); 1000]);
    let reports: usize = victim.sent().iter().map(|transmit| transmit.packet.chunks.len()).sum();
    assert_eq!(reports, 32);
}
