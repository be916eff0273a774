//! Heartbeat state of a path (RFC 9260 sections 5.4 and 8.3).

use crate::Instant;

/// Bytes of the Heartbeat Info that this side sends: path id, nonce.
pub(crate) const INFO_LEN: usize = 9;

/// Heartbeats of one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Heartbeat {
    /// When the next one is sent and the last one counts as unanswered.
    pub(crate) due: Option<Instant>,
    /// The one that was sent and not answered.
    pub(crate) outstanding: Option<Sent>,
}

/// A heartbeat on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sent {
    /// Proves that the answer comes from where the heartbeat went.
    pub(crate) nonce: u64,
    /// When it was sent.
    pub(crate) at: Instant,
}

/// The value of the Heartbeat Info parameter.
pub(crate) fn encode_info(path: u8, nonce: u64) -> [u8; INFO_LEN] {
    let mut info = [0; INFO_LEN];
    info[0] = path;
    info[1..].copy_from_slice(&nonce.to_be_bytes());
    info
}

/// Path and nonce of an echoed Heartbeat Info, if it can be ours.
pub(crate) fn decode_info(info: &[u8]) -> Option<(u8, u64)> {
    let info: &[u8; INFO_LEN] = info.try_into().ok()?;
    let mut nonce = [0; 8];
    nonce.copy_from_slice(&info[1..]);
    Some((info[0], u64::from_be_bytes(nonce)))
}
