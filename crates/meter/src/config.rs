//! Settings of an association that is measured, and limits of time.

use polypath::{AssociationConfig, BUFFER_BYTES, Duration, Preset};

use crate::proposal::MAX_FLOWS;

/// SCTP port of the meter: that of iperf3.
pub const PORT: u16 = 5201;

/// Longest time for the shutdown of an association over which everything was said.
pub(crate) const SHUTDOWN_LIMIT: std::time::Duration = std::time::Duration::from_secs(3);
/// Default of the idle timeout of either side.
pub(crate) const IDLE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// Longest time that a peer can put off the end of an association (T5-shutdown-guard).
const SHUTDOWN_GUARD: Duration = Duration::from_secs(10);

/// Settings that suit a measurement: buffers of [`BUFFER_BYTES`] at each end whatever the preset, streams for as many flows
/// as there may be, and ten seconds for the end.
pub fn association_config(preset: Preset) -> AssociationConfig {
    let config = AssociationConfig::with_preset(preset);
    AssociationConfig {
        send_buffer_bytes: BUFFER_BYTES.into(),
        receive_buffer_bytes: BUFFER_BYTES,
        shutdown_guard: Some(SHUTDOWN_GUARD),
        outbound_streams: config.outbound_streams.max(MAX_FLOWS as u16 + 1),
        ..config
    }
}
