//! The receiver of damaged packets: which packets are reported, and how.

use bytes::Bytes;
use polypath_wire::{PacketDrop, Raw, chunk_type};

use super::{HEADER_BYTES, carried, flags};

/// Maximum number of reports without an intact packet between them.
const MOST_IN_A_ROW: u32 = 64;
/// Reports that one intact packet allows. Damage beyond this share leaves nothing worth repairing.
const PER_INTACT_PACKET: u32 = 4;

/// Bytes of a refused packet that its report carries: the common header, and the beginning of the first chunk. Its peer reads nothing
/// else there, and many may be refused at once whose reports all go over a thin way back.
const REFUSED_BYTES: usize = 64;

/// Why a packet is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// Its checksum is wrong.
    Damaged,
    /// There was no room for its DATA. The report only has the receive window, and causes no retransmission.
    Refused,
}

/// Data for a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReportView<'a> {
    /// The packet, from its common header on.
    pub(crate) packet: &'a [u8],
    pub(crate) why: Why,
    /// Size of the receive buffer in bytes.
    pub(crate) buffer_limit: u32,
    /// The receive window in bytes, as in a SACK.
    pub(crate) a_rwnd: u32,
    /// Bytes for chunks in a packet that fits every path.
    pub(crate) space: usize,
}

/// The report on a packet; `None` if it must not be reported: an answer to a report, to an ABORT or to an INIT ACK could
/// loop forever, or cannot be validated.
pub(crate) fn report(view: &ReportView<'_>) -> Option<PacketDrop<'static>> {
    let unreported = |chunk: carried::CarriedChunk<'_>| {
        matches!(
            chunk.chunk_type,
            chunk_type::PACKET_DROP | chunk_type::ABORT | chunk_type::INIT_ACK
        )
    };
    if carried::chunks(view.packet).any(unreported) {
        return None;
    }
    let space = view.space.checked_sub(HEADER_BYTES)?;
    let most = match view.why {
        Why::Damaged => space,
        Why::Refused => space.min(REFUSED_BYTES),
    };
    let carried = &view.packet[..view.packet.len().min(most)];
    let mut report = PacketDrop {
        flags: match view.why {
            Why::Damaged => flags::BAD_CHECKSUM,
            Why::Refused => 0,
        },
        bandwidth_or_limit: view.buffer_limit,
        // If the receive window is 0, both numbers are equal, for whatever reason it is 0.
        queued: view.buffer_limit.saturating_sub(view.a_rwnd),
        truncated_length: 0,
        reserved: 0,
        packet: Raw::Shared(Bytes::copy_from_slice(carried)),
    };
    if carried.len() < view.packet.len() {
        report.flags |= flags::TRUNCATED;
        report.truncated_length = u16::try_from(view.packet.len()).ok()?;
    }
    Some(report)
}

/// Limits the rate of reports by the rate of intact packets, so that forged packets with wrong checksums cannot make an
/// association send at their rate for long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance(u32);

impl Default for Allowance {
    fn default() -> Self {
        Self(MOST_IN_A_ROW)
    }
}

impl Allowance {
    /// Counts an intact packet of the peer.
    pub(crate) fn refill(&mut self) {
        self.0 = (self.0 + PER_INTACT_PACKET).min(MOST_IN_A_ROW);
    }

    /// Uses one report. Returns whether it was allowed.
    pub(crate) fn take(&mut self) -> bool {
        let has = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        has
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    fn packet(chunk_types: &[u8], payload: usize) -> Vec<u8> {
        let mut packet = std::vec![7; 12];
        for chunk_type in chunk_types {
            packet.extend_from_slice(&[*chunk_type, 0]);
            packet.extend_from_slice(&(payload as u16 + 4).to_be_bytes());
            packet.resize(packet.len() + payload, 9);
        }
        packet
    }

    fn view(packet: &[u8]) -> ReportView<'_> {
        let (buffer_limit, a_rwnd) = (10_000, 4_000);
        ReportView { packet, why: Why::Damaged, buffer_limit, a_rwnd, space: 1468 }
    }

    #[test]
    fn what_is_never_reported() {
        use chunk_type::{ABORT, DATA, INIT_ACK, PACKET_DROP, SACK};
        for (chunk_types, reported) in [
            (&[DATA][..], true),
            (&[SACK, DATA], true),
            (&[], true),
            (&[DATA, PACKET_DROP], false),
            (&[ABORT], false),
            (&[SACK, ABORT], false),
            (&[INIT_ACK], false),
        ] {
            assert_eq!(
                report(&view(&packet(chunk_types, 40))).is_some(),
                reported,
                "{chunk_types:?}"
            );
        }
    }

    #[test]
    fn fields() {
        let bytes = packet(&[0], 40);
        let whole = report(&view(&bytes)).unwrap();
        assert_eq!((whole.bandwidth_or_limit, whole.queued), (10_000, 6_000));
        assert_eq!((whole.flags, whole.truncated_length), (flags::BAD_CHECKSUM, 0));
        assert_eq!(whole.packet.as_slice(), bytes);
        let refused = report(&ReportView { why: Why::Refused, a_rwnd: 0, ..view(&bytes) }).unwrap();
        assert_eq!((refused.flags, refused.queued), (0, 10_000), "no window: both numbers agree");
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        for (len, space, carried) in
            [(1436, 1468, 1452), (1440, 1468, 1452), (1464, 1468, 1452), (40, 52, 36)]
        {
            let bytes = packet(&[0], len);
            let report = report(&ReportView { space, ..view(&bytes) }).unwrap();
            assert_eq!(report.packet.len(), carried.min(bytes.len()));
            let cut = bytes.len() > carried;
            assert_eq!(report.flags & flags::TRUNCATED != 0, cut, "{len}");
            assert_eq!(report.truncated_length, if cut { bytes.len() as u16 } else { 0 });
        }
        assert_eq!(report(&ReportView { space: 15, ..view(&packet(&[0], 40)) }), None);
        let bytes = packet(&[0], 1436);
        let refused = report(&ReportView { why: Why::Refused, ..view(&bytes) }).unwrap();
        assert_eq!((refused.packet.as_slice(), refused.truncated_length), (&bytes[..64], 1452));
        assert_eq!(refused.flags, flags::TRUNCATED);
    }

    #[test]
    fn intact_packets_pay_for_reports() {
        let mut allowance = Allowance::default();
        assert_eq!((0..100).filter(|_| allowance.take()).count(), 64);
        allowance.refill();
        assert_eq!((0..100).filter(|_| allowance.take()).count(), 4);
        (0..1000).for_each(|_| allowance.refill());
        assert_eq!((0..100).filter(|_| allowance.take()).count(), 64);
    }
}
