//! Settings of an association that carries files.

use polypath::{AssociationConfig, BUFFER_BYTES, Duration, Preset};

/// SCTP port of the file transfer: not registered, of the dynamic range (RFC 6335 section 6).
pub const PORT: u16 = 59899;

/// Least size of a buffer in bytes, at either end: the longest frames that are not content must fit.
pub const MIN_BUFFER_BYTES: u64 = 4 << 10;

/// Longest time that a peer can put off the end of an association (T5-shutdown-guard).
const SHUTDOWN_GUARD: Duration = Duration::from_secs(10);

/// Settings that suit files: buffers of [`BUFFER_BYTES`] at each end whatever the preset, and ten seconds for the end.
pub fn association_config(preset: Preset) -> AssociationConfig {
    AssociationConfig {
        send_buffer_bytes: BUFFER_BYTES.into(),
        receive_buffer_bytes: BUFFER_BYTES,
        shutdown_guard: Some(SHUTDOWN_GUARD),
        ..AssociationConfig::with_preset(preset)
    }
}
