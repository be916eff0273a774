//! A data channel of WebRTC as a program has it: [`dtls`] carries the packets of an association of Polypath, and
//! `polypath-datachannel` has the channels.

pub mod dtls;

use polypath::{Association, Endpoint, EndpointConfig, ErrorDetection, LowerLayer};
use polypath_datachannel::{DataChannels, Role};

/// SCTP port of both sides (`a=sctp-port`).
pub const SCTP_PORT: u16 = 5000;

/// The configuration of associations over DTLS.
pub fn config() -> polypath::AssociationConfig {
    let mut config = polypath_datachannel::config(dtls::MTU);
    config.error_detection = ErrorDetection::LowerLayerDtls;
    config
}

/// Opens an association over the layer of a DTLS connection. The peer does the same, or waits for it.
///
/// # Errors
///
/// If the peer refuses, or does not answer.
pub async fn associate(layer: impl LowerLayer) -> anyhow::Result<Association> {
    let endpoint =
        EndpointConfig { association: config(), ..EndpointConfig::over_lower_layer(dtls::MTU) };
    let endpoint =
        Endpoint::over_lower_layer(dtls::MTU).config(endpoint).port(SCTP_PORT).start(layer)?;
    Ok(endpoint.connect_over_lower_layer(SCTP_PORT, config()).await?)
}

/// The data channels of an association; `role` is the one in the DTLS handshake.
pub fn channels(association: Association, role: dtls::Role) -> DataChannels {
    let role = match role {
        dtls::Role::Client => Role::Client,
        dtls::Role::Server => Role::Server,
    };
    DataChannels::new(association, role)
}
