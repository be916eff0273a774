//! The sender of a reported packet: what a report requests.

use polypath_wire::{Payload, chunk_type};

use super::carried::CarriedChunk;
use super::flags;
use crate::types::{Fate, UserDataChunk};
use crate::{Duration, Tsn};

/// Bytes of user data that must agree before a report is accepted (as in usrsctp; the draft says "a portion"). TSN and
/// data of a damaged packet are as doubtful as everything else in it, and this is the only test of them.
pub(crate) const COMPARED_BYTES: usize = 31;

/// What a carried chunk requests from the sender of the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Request<'a> {
    /// Retransmit this DATA chunk, whose user data begins like this.
    Data(Tsn, &'a [u8; COMPARED_BYTES]),
    /// Send a current SACK.
    Sack,
    /// Send a HEARTBEAT.
    Heartbeat,
    /// Retransmit COOKIE ECHO.
    CookieEcho,
    /// Retransmit COOKIE ACK.
    CookieAck,
    /// Retransmit SHUTDOWN.
    Shutdown,
    /// Retransmit SHUTDOWN ACK.
    ShutdownAck,
    /// Nothing: the chunk that it answered will be repeated, or nothing waits for it. This includes INIT: reports are negotiated
    /// by its answer.
    Nothing,
}

/// What a carried chunk requests (draft-stewart-sctp-pktdrprep-16 section 5).
pub(crate) fn request<'a>(chunk: &CarriedChunk<'a>) -> Request<'a> {
    match chunk.chunk_type {
        chunk_type::DATA => data(chunk.bytes, UserDataChunk::Data).unwrap_or(Request::Nothing),
        chunk_type::I_DATA => data(chunk.bytes, UserDataChunk::IData).unwrap_or(Request::Nothing),
        chunk_type::SACK | chunk_type::NR_SACK => Request::Sack,
        chunk_type::HEARTBEAT => Request::Heartbeat,
        chunk_type::COOKIE_ECHO => Request::CookieEcho,
        chunk_type::COOKIE_ACK => Request::CookieAck,
        chunk_type::SHUTDOWN => Request::Shutdown,
        chunk_type::SHUTDOWN_ACK => Request::ShutdownAck,
        _ => Request::Nothing,
    }
}

/// A chunk with enough user data to compare.
fn data(bytes: &[u8], chunk: UserDataChunk) -> Option<Request<'_>> {
    let tsn = u32::from_be_bytes(*bytes.get(4..)?.first_chunk()?);
    let start = bytes.get(chunk.header_bytes() as usize..)?.first_chunk()?;
    Some(Request::Data(Tsn(tsn), start))
}

/// An outstanding chunk that a report names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RepairView<'a> {
    /// Flags of the report.
    pub(crate) flags: u8,
    /// Beginning of the reported user data.
    pub(crate) reported: &'a [u8; COMPARED_BYTES],
    /// The user data that was sent.
    pub(crate) sent: &'a Payload<'static>,
    pub(crate) fate: Fate,
    /// The receive window that the peer last advertised, in bytes.
    pub(crate) advertised_window: u64,
    /// Time since the last transmission.
    pub(crate) age: Duration,
    /// Smoothed round-trip time of the path of the last transmission.
    pub(crate) srtt: Option<Duration>,
}

/// How to treat an outstanding chunk that a report names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Repair {
    /// Retransmit it.
    Retransmit,
    /// Do nothing.
    Nothing,
    /// Ignore the rest of this report.
    Distrust,
}

/// Judges the report on a DATA chunk.
pub(crate) fn judge(view: &RepairView<'_>) -> Repair {
    if view.fate == Fate::Acked || view.flags & (flags::BAD_CHECKSUM | flags::MIDDLEBOX) == 0 {
        return Repair::Nothing;
    }
    let mut sent = [0; COMPARED_BYTES];
    view.sent.copy_to(&mut sent);
    if view.sent.len() < COMPARED_BYTES || sent != *view.reported {
        return Repair::Distrust;
    }
    // The receiver would have no room. (Outstanding data is part of the window already, so that an exhausted window is no
    // obstacle.)
    let closed = view.advertised_window == 0;
    // The transmission is too recent for a report: the report was duplicated, or the peer tries to cause a flood.
    let too_young = view.srtt.is_some_and(|srtt| view.age < srtt / 4);
    match view.fate {
        Fate::InFlight if !closed && !too_young => Repair::Retransmit,
        _ => Repair::Nothing,
    }
}

/// The peer's receive window in a report (draft-stewart-sctp-pktdrprep-16 section 5); `None` if it has none.
pub(crate) fn told_peer_window(flags: u8, limit: u32, queued: u32) -> Option<u32> {
    let tells = flags & flags::MIDDLEBOX == 0 && limit != 0 && queued != 0;
    tells.then(|| limit.saturating_sub(queued))
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use bytes::Bytes;
    use polypath_wire::VirtualPayload;

    use super::super::carried;
    use super::*;
    use crate::probe::TransmissionCause;

    fn packet(chunk_type: u8, tsn: u32, payload: &[u8]) -> Vec<u8> {
        let mut packet = std::vec![0; 12];
        packet.extend_from_slice(&[chunk_type, 3]);
        packet.extend_from_slice(&(payload.len() as u16 + 16).to_be_bytes());
        packet.extend_from_slice(&tsn.to_be_bytes());
        packet.extend_from_slice(&[0; 8]);
        packet.extend_from_slice(payload);
        packet
    }

    fn first_request(packet: &[u8]) -> Option<Request<'_>> {
        carried::chunks(packet).next().map(|chunk| request(&chunk))
    }

    #[test]
    fn data_must_be_there_to_be_compared() {
        let bytes: Vec<u8> = (0..40).collect();
        let whole = packet(0, u32::MAX, &bytes);
        let start = bytes.first_chunk().unwrap();
        assert_eq!(first_request(&whole), Some(Request::Data(Tsn(u32::MAX), start)));
        assert_eq!(
            first_request(&whole[..12 + 16 + 31]),
            Some(Request::Data(Tsn(u32::MAX), start))
        );
        assert_eq!(first_request(&whole[..12 + 16 + 30]), Some(Request::Nothing), "cut too short");
        assert_eq!(first_request(&packet(0, 1, &bytes[..30])), Some(Request::Nothing));
        let start = bytes[4..].first_chunk().unwrap();
        assert_eq!(
            first_request(&packet(64, 1, &bytes)),
            Some(Request::Data(Tsn(1), start)),
            "I-DATA"
        );
        assert_eq!(first_request(&packet(3, 1, &[])), Some(Request::Sack));
        assert_eq!(first_request(&packet(6, 1, &[])), Some(Request::Nothing), "ABORT");
    }

    #[test]
    fn what_is_repaired() {
        const MS: fn(u64) -> Duration = Duration::from_millis;
        let bytes: Vec<u8> = (0..40).collect();
        let sent = Payload::Shared(Bytes::from(bytes.clone()));
        let good = RepairView {
            flags: flags::BAD_CHECKSUM,
            reported: bytes.first_chunk().unwrap(),
            sent: &sent,
            fate: Fate::InFlight,
            advertised_window: 1,
            age: MS(100),
            srtt: Some(MS(100)),
        };
        let mut other = *good.reported;
        other[30] ^= 1;
        let short = Payload::Shared(Bytes::from(bytes[..30].to_vec()));
        let lost = Fate::Lost(TransmissionCause::FastRetransmission);
        for (view, expected) in [
            (good, Repair::Retransmit),
            (RepairView { flags: flags::MIDDLEBOX, ..good }, Repair::Retransmit),
            (RepairView { flags: 0, ..good }, Repair::Nothing),
            (RepairView { flags: flags::TRUNCATED, ..good }, Repair::Nothing),
            (RepairView { flags: 0, reported: &other, ..good }, Repair::Nothing),
            (RepairView { reported: &other, ..good }, Repair::Distrust),
            (RepairView { sent: &short, ..good }, Repair::Distrust),
            (RepairView { fate: Fate::Acked, reported: &other, ..good }, Repair::Nothing),
            (RepairView { fate: lost, ..good }, Repair::Nothing),
            (RepairView { advertised_window: 0, ..good }, Repair::Nothing),
            (RepairView { age: MS(24), ..good }, Repair::Nothing),
            (RepairView { age: MS(25), ..good }, Repair::Retransmit),
            (RepairView { age: MS(0), srtt: None, ..good }, Repair::Retransmit),
        ] {
            assert_eq!(judge(&view), expected, "{view:?}");
        }
    }

    #[test]
    fn virtual_data_is_compared_by_its_pattern() {
        let payload = VirtualPayload { message: 5, offset: 1000, len: 200 };
        let mut reported = [0; COMPARED_BYTES];
        payload.fill(&mut reported);
        let view = |reported, message| {
            let sent = Payload::Virtual(VirtualPayload { message, ..payload });
            judge(&RepairView {
                flags: flags::BAD_CHECKSUM,
                reported,
                sent: &sent,
                fate: Fate::InFlight,
                advertised_window: 1,
                age: Duration::ZERO,
                srtt: None,
            })
        };
        assert_eq!(view(&reported, 5), Repair::Retransmit);
        assert_eq!(view(&reported, 6), Repair::Distrust);
    }

    #[test]
    fn the_window_is_what_the_buffer_has_left() {
        for (flags, limit, queued, expected) in [
            (0, 10, 4, Some(6)),
            (flags::BAD_CHECKSUM, 10, 10, Some(0)),
            (0, 10, 11, Some(0)),
            (0, 0, 5, None),
            (0, 5, 0, None),
            (flags::MIDDLEBOX, 10, 4, None),
        ] {
            assert_eq!(told_peer_window(flags, limit, queued), expected);
        }
    }
}
