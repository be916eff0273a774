//! Settings of an association that carries files.

use polypath::{AssociationConfig, Duration, Preset};

/// SCTP port of the file transfer: not registered, of the dynamic range (RFC 6335 section 6).
pub const PORT: u16 = 59899;

/// Least size of a buffer in bytes, at either end: the longest frames that are not content must fit.
pub const MIN_BUFFER_BYTES: u64 = 4 << 10;

/// Buffers of a transfer. With less than what the paths carry during the smallest retransmission timeout (1 s), one
/// chunk that is lost twice on one path stops all of them; this is enough for 268 Mbit/s.
const BUFFER_BYTES: u32 = 32 << 20;

/// Longest time that a peer can put off the end of an association (T5-shutdown-guard).
const SHUTDOWN_GUARD: Duration = Duration::from_secs(10);

/// Settings that suit files: buffers of 32 MiB at each end, and ten seconds for the end.
pub fn association_config(preset: Preset) -> AssociationConfig {
    AssociationConfig {
        send_buffer_bytes: BUFFER_BYTES.into(),
        receive_buffer_bytes: BUFFER_BYTES,
        shutdown_guard: Some(SHUTDOWN_GUARD),
        ..AssociationConfig::with_preset(preset)
    }
}
