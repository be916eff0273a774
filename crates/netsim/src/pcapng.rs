//! Writing of pcapng files.
//!
//! As much of the format (draft-ietf-opsawg-pcapng) as a simulator needs: one section, raw IP interfaces with names and
//! nanoseconds, packets with direction and comment. All numbers are written least significant byte first.

use std::io::{self, Write};
use std::net::IpAddr;

use polypath_units::Instant;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
/// Packets begin with an IPv4 or IPv6 header.
const LINKTYPE_RAW: u16 = 101;

const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const IF_NAME: u16 = 2;
const EPB_FLAGS: u16 = 2;
const SHB_USERAPPL: u16 = 4;
const IF_TSRESOL: u16 = 9;

/// Writes one pcapng file.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    interfaces: u32,
}

/// Which way a packet crossed an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketDirection {
    /// Received.
    Inbound,
    /// Sent.
    Outbound,
}

/// A packet as it stands in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRecord<'a> {
    /// Number of the interface, in the order of [`PcapngWriter::add_interface`] from 0.
    pub interface: u32,
    /// Time since the epoch of the file.
    pub time: Instant,
    /// Which way.
    pub direction: PacketDirection,
    /// The IP packet.
    pub data: &'a [u8],
    /// Remark about the packet.
    pub comment: Option<&'a str>,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a file; `application` is named in it as its writer.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, application: &str) -> io::Result<Self> {
        let mut block = Block::new(SECTION_HEADER);
        block.u32(BYTE_ORDER_MAGIC);
        block.u16(1);
        block.u16(0);
        // Length of the section: not known in advance.
        block.u64(u64::MAX);
        block.option(SHB_USERAPPL, application.as_bytes());
        let mut writer = Self { out, interfaces: 0 };
        writer.write(block)?;
        Ok(writer)
    }

    /// Adds an interface and returns its number.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add_interface(&mut self, name: &str) -> io::Result<u32> {
        let mut block = Block::new(INTERFACE_DESCRIPTION);
        block.u16(LINKTYPE_RAW);
        block.u16(0);
        // Longest packet kept: no limit.
        block.u32(0);
        block.option(IF_NAME, name.as_bytes());
        block.option(IF_TSRESOL, &[9]);
        self.write(block)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// Those of the output, and [`io::ErrorKind::InvalidInput`] for an interface that does not exist.
    pub fn add_packet(&mut self, packet: &PacketRecord<'_>) -> io::Result<()> {
        if packet.interface >= self.interfaces {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "packet on an interface that was not added",
            ));
        }
        let nanos = packet.time.as_nanos();
        let length = u32::try_from(packet.data.len()).unwrap_or(u32::MAX);
        let mut block = Block::new(ENHANCED_PACKET);
        block.u32(packet.interface);
        block.u32((nanos >> 32) as u32);
        block.u32(nanos as u32);
        block.u32(length);
        block.u32(length);
        block.padded(packet.data);
        let flags: u32 = match packet.direction {
            PacketDirection::Inbound => 1,
            PacketDirection::Outbound => 2,
        };
        block.option(EPB_FLAGS, &flags.to_le_bytes());
        if let Some(comment) = packet.comment {
            block.option(OPT_COMMENT, comment.as_bytes());
        }
        self.write(block)
    }

    /// Hands everything to the operating system and gives the output back.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn write(&mut self, block: Block) -> io::Result<()> {
        self.out.write_all(&block.finish())
    }
}

/// A block in the making. Its length, before and after the content, is filled in at the end.
struct Block(Vec<u8>);

impl Block {
    fn new(kind: u32) -> Self {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend([0; 4]);
        Self(bytes)
    }

    fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn padded(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// An option; a value too long for its length field is cut.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.u16(code);
        self.u16(value.len() as u16);
        self.padded(value);
    }

    fn finish(mut self) -> Vec<u8> {
        self.u16(OPT_END);
        self.u16(0);
        let length = self.0.len() as u32 + 4;
        self.u32(length);
        self.0[4..8].copy_from_slice(&length.to_le_bytes());
        self.0
    }
}

/// Fields of an IP header that the simulator knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpHeader {
    /// Source.
    pub from: IpAddr,
    /// Destination; of the same IP version.
    pub to: IpAddr,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Time to live or hop limit.
    pub hop_limit: u8,
    /// IPv4 identification.
    pub identification: u16,
}

impl IpHeader {
    /// Writes the header for the payload that `write_payload` appends, and the payload. IPv4 packets carry DF and a
    /// header checksum (RFC 791), IPv6 packets the flow label 0 (RFC 8200). A length that does not fit its field
    /// is written as the largest.
    pub fn write(&self, out: &mut Vec<u8>, write_payload: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        match (self.from, self.to) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                out.extend([0x45, self.traffic_class, 0, 0]);
                out.extend(self.identification.to_be_bytes());
                out.extend([0x40, 0, self.hop_limit, self.protocol, 0, 0]);
                out.extend(from.octets());
                out.extend(to.octets());
                write_payload(out);
                let length = u16::try_from(out.len() - start).unwrap_or(u16::MAX);
                out[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
                let checksum = internet_checksum(&out[start..start + 20]);
                out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
            }
            (from, to) => {
                out.extend([0x60 | self.traffic_class >> 4, self.traffic_class << 4, 0, 0]);
                out.extend([0, 0, self.protocol, self.hop_limit]);
                out.extend(ipv6_octets(from));
                out.extend(ipv6_octets(to));
                write_payload(out);
                let length = u16::try_from(out.len() - start - 40).unwrap_or(u16::MAX);
                out[start + 4..start + 6].copy_from_slice(&length.to_be_bytes());
            }
        }
    }
}

/// The address, or the IPv4-mapped one.
pub(crate) fn ipv6_octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

/// The checksum of RFC 1071 over bytes whose checksum field is zero.
fn internet_checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum: u32 = words.sum();
    while sum > 0xFFFF {
        sum = (sum >> 16) + (sum & 0xFFFF);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests;
