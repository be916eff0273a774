//! A data channel of WebRTC as a program has it: [`dtls`] carries the packets of an association of Polypath, and
//! `polypath-datachannel` has the channels.

pub mod check;
pub mod dtls;

use std::task::{Context, Poll};

use bytes::Bytes;
use polypath::config::MessageInterleaving;
use polypath::{
    Association, AssociationConfig, ChannelLayer, Endpoint, EndpointConfig, ErrorDetection,
    LowerLayer,
};
use polypath_datachannel::{DataChannels, Role};

/// SCTP port of both sides (`a=sctp-port`).
pub const SCTP_PORT: u16 = 5000;

/// Who opens the association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Begin {
    /// Both sides at once, as in WebRTC.
    #[default]
    Both,
    /// This side.
    Ours,
    /// The peer.
    Peer,
}

/// The configuration of associations over DTLS.
pub fn config() -> AssociationConfig {
    let mut config = polypath_datachannel::config(dtls::MTU);
    config.error_detection = ErrorDetection::LowerLayerDtls;
    config
}

/// The same without I-DATA.
pub fn config_without_interleaving() -> AssociationConfig {
    let mut config = config();
    config.policies.message_interleaving = MessageInterleaving::Off;
    config
}

/// Opens an association over the layer of a DTLS connection, or waits until the peer does.
///
/// # Errors
///
/// If the peer refuses, or does not answer.
pub async fn associate(
    layer: impl LowerLayer,
    begin: Begin,
    config: AssociationConfig,
) -> anyhow::Result<Association> {
    let endpoint = EndpointConfig {
        association: config.clone(),
        ..EndpointConfig::over_lower_layer(dtls::MTU)
    };
    let endpoint =
        Endpoint::over_lower_layer(dtls::MTU).config(endpoint).port(SCTP_PORT).start(layer)?;
    Ok(match begin {
        Begin::Peer => endpoint.accept().await?,
        Begin::Both | Begin::Ours => endpoint.connect_over_lower_layer(SCTP_PORT, config).await?,
    })
}

/// Drops one packet of so many in both directions; of none with 0.
#[derive(Debug)]
pub struct Lossy {
    layer: ChannelLayer,
    one_of: usize,
    packets: usize,
}

impl Lossy {
    /// Around a layer.
    pub fn new(layer: ChannelLayer, one_of: usize) -> Self {
        Self { layer, one_of, packets: 0 }
    }

    fn loses(&mut self) -> bool {
        self.packets += 1;
        self.one_of > 0 && self.packets.is_multiple_of(self.one_of)
    }
}

impl LowerLayer for Lossy {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.layer.poll_ready(cx)
    }

    fn send(&mut self, packet: Bytes) {
        if !self.loses() {
            self.layer.send(packet);
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match self.layer.poll_receive(cx) {
                Poll::Ready(Some(_)) if self.loses() => {}
                other => return other,
            }
        }
    }
}

/// The data channels of an association; `role` is the one in the DTLS handshake.
pub fn channels(association: Association, role: dtls::Role) -> DataChannels {
    let role = match role {
        dtls::Role::Client => Role::Client,
        dtls::Role::Server => Role::Server,
    };
    DataChannels::new(association, role)
}
