//! The SCTP packets of the captures in `tests/vectors`.

use std::fs;
use std::path::{Path, PathBuf};

/// A capture and the SCTP packets in it, each from its common header on.
pub struct Capture {
    pub name: String,
    pub packets: Vec<Vec<u8>>,
}

/// All captures, by name.
pub fn all() -> Vec<Capture> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .expect("directory with captures")
        .map(|entry| entry.expect("directory entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "zst"))
        .collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Capture {
    let compressed = fs::File::open(path).expect("capture");
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(compressed).expect("zstd frame");
    let mut pcap = Vec::new();
    std::io::copy(&mut decoder, &mut pcap).expect("zstd data");
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    Capture { name, packets: sctp_packets(&pcap) }
}

/// Walks over a pcap file of Ethernet frames, written on a machine with the least significant byte first.
fn sctp_packets(pcap: &[u8]) -> Vec<Vec<u8>> {
    const FILE_HEADER_LEN: usize = 24;
    const RECORD_HEADER_LEN: usize = 16;
    assert_eq!(pcap[..4], 0xa1b2_c3d4_u32.to_le_bytes(), "pcap magic number");
    let mut packets = Vec::new();
    let mut rest = &pcap[FILE_HEADER_LEN..];
    while !rest.is_empty() {
        let captured = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (frame, next) = rest[RECORD_HEADER_LEN..].split_at(captured);
        packets.extend(sctp_of_frame(frame).map(<[u8]>::to_vec));
        rest = next;
    }
    packets
}

/// The SCTP packet in an Ethernet frame with IPv4, bare or in UDP.
fn sctp_of_frame(frame: &[u8]) -> Option<&[u8]> {
    const ETHERNET_LEN: usize = 14;
    const UDP_LEN: usize = 8;
    let (ethernet, ip) = frame.split_at(ETHERNET_LEN);
    if ethernet[12..] != [0x08, 0x00] {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let body = &ip[usize::from(ip[0] & 15) * 4..total];
    match ip[9] {
        132 => Some(body),
        17 => Some(&body[UDP_LEN..]),
        _ => None,
    }
}
