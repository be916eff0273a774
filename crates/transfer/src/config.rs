//! Settings of an association that carries files.

use polypath::{AssociationConfig, BUFFER_BYTES, Duration, Preset};
use thiserror::Error;

use crate::frame::ADAPTATION;

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
        adaptation_layer: Some(ADAPTATION),
        ..AssociationConfig::with_preset(preset)
    }
}

/// A setting with which no file can be transferred.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{setting}={bytes}: a transfer needs at least {MIN_BUFFER_BYTES}")]
#[non_exhaustive]
pub struct ConfigError {
    /// Field of [`AssociationConfig`].
    pub setting: &'static str,
    /// Its value.
    pub bytes: u64,
}

/// Checks that a transfer can use an association with this configuration: both buffers have [`MIN_BUFFER_BYTES`].
///
/// # Errors
///
/// A buffer is smaller.
pub fn check_config(config: &AssociationConfig) -> Result<(), ConfigError> {
    let buffers = [
        ("send_buffer_bytes", config.send_buffer_bytes),
        ("receive_buffer_bytes", config.receive_buffer_bytes.into()),
    ];
    for (setting, bytes) in buffers {
        if bytes < MIN_BUFFER_BYTES {
            return Err(ConfigError { setting, bytes });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_buffers_are_named() {
        let config = association_config(Preset::Recommended);
        assert_eq!(check_config(&config), Ok(()));
        let small = AssociationConfig { receive_buffer_bytes: 4095, ..config };
        let told = check_config(&small).unwrap_err().to_string();
        assert_eq!(told, "receive_buffer_bytes=4095: a transfer needs at least 4096");
    }
}
