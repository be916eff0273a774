//! scapy reads what we write, and we read what scapy writes.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use common::fields::{self, CauseStyle, Fields};
use common::{captures, golden, hex, tool};
use polypath_wire::{Checksum, ChecksumPolicy, PacketView};

/// Fields that scapy has no name for, or that our script does not report.
const NOT_COMPARED: &[&str] = &[
    "chunk_flags",
    "chunk_length",
    "chunk_padding",
    "i_forward_tsn_flags",
    "parameter_value",
    "sack_number_of_duplicated_tsns",
    "sack_number_of_gap_blocks",
];

/// Chunk types in the golden packets that scapy does not know, or, as PAD, cannot read.
const UNKNOWN_TO_SCAPY: [u8; 9] = [12, 13, 16, 129, 132, 0x3E, 0x7E, 0xBE, 0xFE];

/// A packet as scapy sees it.
struct Seen {
    bytes: Vec<u8>,
    fields: Fields,
    unread: Vec<u8>,
}

#[test]
fn scapy_reads_golden_packets() {
    let packets: Vec<_> = golden::packets()
        .iter()
        .map(|(_, packet)| {
            let mut bytes = Vec::new();
            packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
            bytes
        })
        .collect();
    let Some(seen) = scapy_reads(&packets) else { return };
    let mut unknown = BTreeSet::new();
    for seen in &seen {
        compare(seen);
        unknown.extend(seen.unread.first());
    }
    assert_eq!(unknown, BTreeSet::from(UNKNOWN_TO_SCAPY));
}

#[test]
fn scapy_reads_packets_of_real_stacks() {
    for capture in captures::all() {
        let Some(seen) = scapy_reads(&capture.packets) else { return };
        seen.iter().for_each(compare);
    }
}

#[test]
fn we_read_what_scapy_writes() {
    let Some(seen) = run("write", "") else { return };
    assert!(seen.len() > 40);
    for seen in &seen {
        compare(seen);
        assert!(seen.unread.is_empty());
        common::walk::packet(&seen.bytes);
    }
}

fn scapy_reads(packets: &[Vec<u8>]) -> Option<Vec<Seen>> {
    let input: String = packets.iter().map(|bytes| hex::encode(bytes) + "\n").collect();
    let seen = run("read", &input)?;
    assert!(seen.iter().map(|seen| &seen.bytes).eq(packets));
    Some(seen)
}

/// Every field that scapy reports, and every field that we have, unless scapy cannot know it.
fn compare(seen: &Seen) {
    let place = hex::encode(&seen.bytes);
    let view = PacketView::parse(&seen.bytes, ChecksumPolicy::Verify).expect("right checksum");
    let read = seen.fields.get("chunk_type").map_or(0, Vec::len);
    let mut chunks = view.chunks();
    assert_eq!(chunks.by_ref().take(read).filter(Result::is_ok).count(), read, "{place}");
    assert_eq!(seen.bytes[chunks.offset()..], seen.unread, "{place}");

    // What scapy left unread is not compared.
    let understood = &seen.bytes[..chunks.offset()];
    let mut ours = fields::of_packet(understood, CauseStyle::Bytes);
    ours.insert("checksum.status".to_owned(), vec!["1".to_owned()]);
    ours.retain(|field, _| !NOT_COMPARED.contains(&field.as_str()));
    for field in ours.keys().chain(seen.fields.keys()) {
        assert_eq!(seen.fields.get(field), ours.get(field), "{field} in {place}");
    }
}

/// Runs the script beside this file; `None`, after saying so, when scapy is missing.
fn run(mode: &str, input: &str) -> Option<Vec<Seen>> {
    const NO_SCAPY: i32 = 77;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dissectors/scapy_peer.py");
    let output = tool::run(Command::new("python3").arg(script).arg(mode), input);
    let Some(output) = output.filter(|output| output.status.code() != Some(NO_SCAPY)) else {
        tool::skip("tshark", "python3 with scapy was not found");
        return None;
    };
    Some(tool::text(&output).lines().map(parse).collect())
}

fn parse(line: &str) -> Seen {
    let object: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let bytes = |name: &str| hex::decode(object[name].as_str().expect("text"));
    let fields = object["fields"].as_object().expect("an object").iter();
    let values = |values: &serde_json::Value| -> Vec<String> {
        let values = values.as_array().expect("a list").iter();
        values.map(|value| value.as_str().expect("text").to_owned()).collect()
    };
    Seen {
        bytes: bytes("bytes"),
        fields: fields.map(|(name, list)| (name.clone(), values(list))).collect(),
        unread: bytes("unread"),
    }
}
