//! Data channels of WebRTC over an SCTP association: RFC 8831, with the Data Channel Establishment Protocol of RFC 8832.
//!
//! [`DataChannels`] opens and accepts channels over an [`Association`](polypath::Association), which mostly runs over DTLS
//! ([`Endpoint::over_lower_layer`](polypath::Endpoint::over_lower_layer)) with the configuration [`config`]. [`dcep`] has the messages
//! of the protocol, and [`Channels`] its rules without input and output, for programs that drive the association themselves.
//!
//! ```
//! use polypath::{ChannelLayer, Endpoint, EndpointConfig};
//! use polypath_datachannel::{ChannelParameters, Content, DataChannels, Role, config};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // In place of DTLS.
//! let (near, far) = ChannelLayer::pair(100);
//! let start = |layer| {
//!     let config = EndpointConfig { association: config(1200), ..EndpointConfig::over_lower_layer(1200) };
//!     Endpoint::over_lower_layer(1200).config(config).port(5000).start(layer)
//! };
//! let (near, far) = (start(near)?, start(far)?);
//! let (near, far) = tokio::try_join!(
//!     near.connect_over_lower_layer(5000, config(1200)),
//!     far.connect_over_lower_layer(5000, config(1200)),
//! )?;
//! let (near, far) = (DataChannels::new(near, Role::Client), DataChannels::new(far, Role::Server));
//!
//! let chat = near.open(ChannelParameters::new("chat")).await?;
//! chat.send("hello").await?;
//! let accepted = far.accept().await.ok_or("the association ended")?;
//! assert_eq!(accepted.parameters().label, "chat");
//! assert_eq!(accepted.receive().await, Some(Content::from("hello")));
//! chat.close();
//! assert_eq!(accepted.receive().await, None);
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod association;
mod channel;
mod channels;
mod content;
pub mod dcep;
mod driver;

pub use association::DataChannels;
pub use channel::{ChannelError, DataChannel};
pub use channels::{Action, ChannelClosed, ChannelEvent, Channels, OpenError, Outgoing, Role};
pub use content::Content;
pub use dcep::{ChannelParameters, Reliability};

use polypath::AssociationConfig;
use polypath::config::{MessageInterleaving, StreamReconfiguration, StreamScheduler};

/// A configuration for associations with data channels over a lower layer that carries packets of `mtu_bytes`: as many streams as
/// there are, which can begin anew (RFC 8831 section 6.2), messages that do not wait for each other where the peer has I-DATA, and streams that share what the path carries by the priorities of their channels.
pub fn config(mtu_bytes: u16) -> AssociationConfig {
    let mut config = AssociationConfig::over_lower_layer(mtu_bytes);
    config.outbound_streams = u16::MAX;
    config.max_inbound_streams = u16::MAX;
    config.policies.stream_reconfiguration = StreamReconfiguration::On;
    config.policies.message_interleaving = MessageInterleaving::On;
    config.policies.stream_scheduler = StreamScheduler::WeightedFair;
    config
}
