//! Captures of what a client sends and receives, in files that Wireshark reads: an interface for each path.
//!
//! The system does not provide the IP and UDP headers, so they are reconstructed; the UDP payload is unchanged.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use bytes::BufMut;
use polypath::{PacketTap, TapDirection, TappedPacket};
use polypath_netsim::pcapng::{PacketDirection, PacketRecord, PcapngWriter};
use polypath_units::Instant;

use crate::place::{self, Before};

const UDP: u8 = 17;
const SCTP: u8 = 132;
const HOP_LIMIT: u8 = 64;

/// Maximum number of paths with an interface of their own, since source addresses can be forged.
const MOST_INTERFACES: usize = 256;

/// A file that packets are written to.
#[derive(Debug)]
pub(crate) struct Capture {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None` once the capture is finished.
    writer: Option<PcapngWriter<BufWriter<File>>>,
    /// Numbers of interfaces by addresses of this side and of the peer.
    interfaces: BTreeMap<(IpAddr, IpAddr), u32>,
    /// The interface of all other paths, if there are any.
    others: Option<u32>,
    packet: Vec<u8>,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

impl Capture {
    /// Begins a file.
    pub fn create(path: &Path) -> Result<Self> {
        let context = || format!("cannot write {}", path.display());
        let file = BufWriter::new(place::open_to_write(path, Before::Discard)?);
        let writer = PcapngWriter::new(file, "polypath meter").with_context(context)?;
        let state = State {
            writer: Some(writer),
            interfaces: BTreeMap::new(),
            others: None,
            packet: Vec::new(),
            error: None,
        };
        Ok(Self { state: Mutex::new(state) })
    }

    /// Flushes to disk; fails if anything could not be written.
    pub fn finish(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = state.error.take() {
            return Err(error).context("cannot write the capture");
        }
        let finished = state.writer.take().map(PcapngWriter::finish).transpose();
        finished
            .and_then(|out| out.map_or(Ok(()), |mut out| out.flush()))
            .context("cannot write the capture")
    }
}

impl PacketTap for Capture {
    fn packet(&self, packet: &TappedPacket<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.error.is_none()
            && let Err(error) = state.write(packet)
        {
            state.error = Some(error);
        }
    }
}

impl State {
    fn write(&mut self, packet: &TappedPacket<'_>) -> io::Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let path = (packet.local, packet.remote);
        let interface = match (self.interfaces.get(&path), self.others) {
            (Some(interface), _) => *interface,
            (None, _) if self.interfaces.len() < MOST_INTERFACES => {
                let name = format!("{} - {}", packet.local, packet.remote);
                let interface = writer.add_interface(&name)?;
                self.interfaces.insert(path, interface);
                interface
            }
            (None, Some(interface)) => interface,
            (None, None) => *self.others.insert(writer.add_interface("other paths")?),
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        self.packet.clear();
        let direction = match packet.direction {
            TapDirection::Sent => PacketDirection::Outbound,
            TapDirection::Received => PacketDirection::Inbound,
        };
        if !wrap(packet, &mut self.packet) {
            return Ok(());
        }
        writer.add_packet(&PacketRecord {
            interface,
            time: Instant::from_nanos(nanos),
            direction,
            data: &self.packet,
            comment: None,
        })
    }
}

/// Prepends IP and UDP headers to a packet; `None` if it is too long, or its addresses are of two families.
fn wrap(packet: &TappedPacket<'_>, out: &mut Vec<u8>) -> bool {
    let ports = packet.udp_ports;
    let (from, to, ports) = match packet.direction {
        TapDirection::Sent => (packet.local, packet.remote, ports),
        TapDirection::Received => {
            (packet.remote, packet.local, ports.map(|(ours, theirs)| (theirs, ours)))
        }
    };
    let udp = if ports.is_some() { 8 } else { 0 };
    let (Ok(length), Ok(whole)) = (
        u16::try_from(packet.contents.len() + udp),
        u16::try_from(packet.contents.len() + udp + 20),
    ) else {
        return false;
    };
    let protocol = if ports.is_some() { UDP } else { SCTP };
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            out.put_slice(&[0x45, 0]);
            out.put_u16(whole);
            // No identification; don't fragment.
            out.put_slice(&[0, 0, 0x40, 0, HOP_LIMIT, protocol, 0, 0]);
            out.put_slice(&from.octets());
            out.put_slice(&to.octets());
            let sum = checksum(&[&out[..20]]);
            out[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            out.put_slice(&[0x60, 0, 0, 0]);
            out.put_u16(length);
            out.put_slice(&[protocol, HOP_LIMIT]);
            out.put_slice(&from.octets());
            out.put_slice(&to.octets());
        }
        _ => return false,
    }
    if let Some((source, destination)) = ports {
        let begin = out.len();
        for field in [source, destination, length, 0] {
            out.put_u16(field);
        }
        out.put_slice(packet.contents);
        let sum = udp_checksum(from, to, length, &out[begin..]);
        out[begin + 6..begin + 8].copy_from_slice(&sum.to_be_bytes());
    } else {
        out.put_slice(packet.contents);
    }
    true
}

/// RFC 768 and RFC 8200 section 8.1: the addresses count, and zero stands for none.
fn udp_checksum(from: IpAddr, to: IpAddr, length: u16, datagram: &[u8]) -> u16 {
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let [high, low] = length.to_be_bytes();
    match checksum(&[&octets(from), &octets(to), &[0, UDP, high, low], datagram]) {
        0 => u16::MAX,
        sum => sum,
    }
}

/// The internet checksum (RFC 1071) of parts, all but the last of which have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low));
    let mut sum: u32 = words.map(word).fold(0, u32::wrapping_add);
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_internet() {
        // The example of RFC 1071 section 3.
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
        assert_eq!(checksum(&[&[0xff, 0xff], &[0x80]]), !0x8000);
    }

    #[test]
    fn forged_addresses_do_not_fill_the_memory() {
        let directory = tempfile::tempdir().unwrap();
        let capture = Capture::create(&directory.path().join("x.pcapng")).unwrap();
        for host in 0..1000_u16 {
            let [high, low] = host.to_be_bytes();
            capture.packet(&TappedPacket {
                direction: TapDirection::Received,
                local: IpAddr::from([192, 0, 2, 1]),
                remote: IpAddr::from([198, 18, high, low]),
                udp_ports: Some((1, 2)),
                contents: &[9; 5],
            });
        }
        let state = capture.state.lock().unwrap();
        assert_eq!((state.interfaces.len(), state.others), (256, Some(256)));
        drop(state);
        capture.finish().unwrap();
    }

    #[test]
    fn headers_are_those_of_the_direction() {
        let packet = |direction| TappedPacket {
            direction,
            local: IpAddr::from([192, 0, 2, 1]),
            remote: IpAddr::from([192, 0, 2, 2]),
            udp_ports: Some((1, 2)),
            contents: &[9; 5],
        };
        let mut sent = Vec::new();
        assert!(wrap(&packet(TapDirection::Sent), &mut sent));
        assert_eq!(sent.len(), 33);
        assert_eq!(sent[..4], [0x45, 0, 0, 33]);
        assert_eq!(
            sent[12..28],
            [192, 0, 2, 1, 192, 0, 2, 2, 0, 1, 0, 2, 0, 13, sent[26], sent[27]]
        );
        assert_eq!(checksum(&[&sent[..20]]), 0, "the header with its checksum sums to nothing");
        let mut received = Vec::new();
        assert!(wrap(&packet(TapDirection::Received), &mut received));
        assert_eq!(received[12..24], [192, 0, 2, 2, 192, 0, 2, 1, 0, 2, 0, 1]);
        let mixed = TappedPacket { remote: "::1".parse().unwrap(), ..packet(TapDirection::Sent) };
        assert!(!wrap(&mixed, &mut Vec::new()));
    }
}
