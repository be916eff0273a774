//! Packets sent in fragments although the first link could carry them whole.
//!
//! A packet built for a larger path MTU is sent in fragments once the path MTU has shrunk. Routers fragment IPv4, but
//! not IPv6 (RFC 8200 section 4.5): the sender must. Linux fragments only packets larger than the MTU that it knows,
//! which does not include links behind a silent router. Such a packet therefore gets a PAD chunk (RFC 4820) that makes
//! it larger than the MTU of the first link; it is then sent in fragments of the size set on the socket, which every
//! link carries.

use polypath_wire::{chunk_type, write_checksum};

/// Where the type of the first chunk is, behind the common header (RFC 9260 section 3.1).
const FIRST_CHUNK: usize = 12;
/// Length of a chunk's header (RFC 9260 section 3.2).
const CHUNK_HEADER: usize = 4;
/// The longest such packet: with its headers, it must fit into a datagram.
const LONGEST: usize = 65_000;

/// The SCTP packet, padded to more than `mtu_bytes`; `None` if it is longer already or cannot be padded.
pub(super) fn beyond(packet: &[u8], mtu_bytes: usize) -> Option<Vec<u8>> {
    // The headers of IP and UDP make it longer still, which is harmless.
    let missing = (mtu_bytes + 1).checked_sub(packet.len()).filter(|missing| *missing > 0)?;
    let padding = missing.next_multiple_of(4).max(CHUNK_HEADER);
    if packet.len() + padding > LONGEST || is_alone(*packet.get(FIRST_CHUNK)?) {
        return None;
    }
    let [high, low] = u16::try_from(padding).ok()?.to_be_bytes();
    let mut padded = Vec::with_capacity(packet.len() + padding);
    padded.extend_from_slice(packet);
    padded.extend_from_slice(&[chunk_type::PAD, 0, high, low]);
    padded.resize(packet.len() + padding, 0);
    write_checksum(&mut padded);
    Some(padded)
}

/// Whether the packet consists of a chunk that must be the last one.
pub(super) fn stands_alone(packet: &[u8]) -> bool {
    packet.get(FIRST_CHUNK).is_none_or(|chunk| is_alone(*chunk))
}

/// Whether this chunk must be the last one of a packet (RFC 9260 section 6.10).
fn is_alone(chunk: u8) -> bool {
    matches!(chunk, chunk_type::INIT | chunk_type::INIT_ACK | chunk_type::SHUTDOWN_COMPLETE)
}

#[cfg(test)]
mod tests {
    use polypath_wire::{Checksum, ChecksumPolicy, Chunk, Packet, PacketView};

    use super::*;

    fn packet() -> Vec<u8> {
        let chunks = [Chunk::CookieAck].into_iter().collect();
        let packet = Packet { source_port: 1, destination_port: 2, verification_tag: 3, chunks };
        let mut bytes = Vec::new();
        packet.append_to(&mut bytes, Checksum::Crc32c).unwrap();
        bytes
    }

    #[test]
    fn padding_changes_nothing_but_the_length() {
        for mtu in [16, 17, 1499, 1500, 9000] {
            let padded = beyond(&packet(), mtu).unwrap();
            assert!(
                padded.len() > mtu && padded.len() <= mtu + 4 && padded.len().is_multiple_of(4)
            );
            let view = PacketView::parse(&padded, ChecksumPolicy::Verify).unwrap();
            let chunks: Vec<_> = view.chunks().map(Result::unwrap).collect();
            assert_eq!((view.verification_tag(), &chunks[0]), (3, &Chunk::CookieAck));
            assert_eq!(chunks[1].chunk_type(), chunk_type::PAD);
            assert_eq!(chunks.len(), 2);
        }
    }

    #[test]
    fn what_needs_no_padding_or_bears_none_stays_as_it_is() {
        let mut bytes = packet();
        assert_eq!(beyond(&bytes, bytes.len() - 1), None);
        assert_eq!(beyond(&bytes, 65_536), None);
        assert_eq!(beyond(&[], 1500), None);
        for alone in [chunk_type::INIT, chunk_type::INIT_ACK, chunk_type::SHUTDOWN_COMPLETE] {
            bytes[FIRST_CHUNK] = alone;
            assert_eq!(beyond(&bytes, 1500), None);
        }
    }
}
