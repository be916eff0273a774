//! Multipath SCTP for asynchronous programs, over UDP (RFC 6951).
//!
//! An [`Endpoint`] is bound to one or more local addresses. An [`Association`] with a peer carries messages on many
//! streams over every pair of addresses at once, as its policies say. The protocol itself is the sans-IO crate
//! `polypath-proto`; this crate lends it sockets, clock and randomness on [tokio](https://tokio.rs).
//!
//! Names follow RFC 6458, the sockets API of SCTP: its socket calls and notifications have the same names here.
//!
//! # Example
//!
//! Two paths over the loopback interface:
//!
//! ```
//! use polypath::{AssociationConfig, Endpoint, Message, Peer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Endpoint::builder(["127.0.0.21".parse()?, "127.0.0.22".parse()?])
//!     .port(5001)
//!     .encapsulation_port(0)
//!     .listen(16)
//!     .bind()?;
//! let udp_port = server.encapsulation_port();
//! let echo = tokio::spawn(async move {
//!     let association = server.accept().await?;
//!     while let Some(message) = association.receive().await? {
//!         association.send(Message::new(message.stream(), message.into_bytes())).await?;
//!     }
//!     Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
//! });
//!
//! let client = Endpoint::builder(["127.0.0.23".parse()?, "127.0.0.24".parse()?]).encapsulation_port(0).bind()?;
//! let peer = Peer::new(["127.0.0.21".parse()?], 5001).encapsulation_port(udp_port);
//! let association = client.connect(&peer, AssociationConfig::default()).await?;
//! association.send(Message::new(0, "over two paths")).await?;
//! let answer = association.receive().await?.ok_or("the server ended early")?;
//! assert_eq!(answer.into_bytes(), "over two paths");
//! assert_eq!(association.path_stats().len(), 2);
//!
//! association.shutdown().await?;
//! echo.await?.map_err(|error| error.to_string())?;
//! # Ok(())
//! # }
//! ```
//!
//! # Path MTU
//!
//! Packets are sent with "don't fragment" set. Paths begin with `mtu_bytes` of the configuration or the MTU of their
//! route, whichever is smaller, and shrink when the system finds a packet too big for its interface; such a packet goes
//! out in IP fragments and is counted in [`EndpointStats::packets_fragmented`].
//!
//! # Paths that the system refuses
//!
//! When the system does not send from a local to a remote address (no route, interface down, forbidden), that path is
//! inactive at once, and what was on it goes elsewhere. It is tried again after its retransmission timeout. During the
//! handshake the next pair of addresses is tried at once.
//!
//! # Addresses that come and go
//!
//! [`Endpoint::bind_add`] and [`Endpoint::bind_remove`] change the local addresses of an endpoint while its associations
//! live: paths from an address that goes are inactive at once, and are probed when it comes back. An interface that only
//! goes down needs neither: its paths are refused by the system until it is up again.

#![deny(unsafe_code)]

mod association;
mod builder;
mod clock;
mod driver;
mod endpoint;
mod error;
mod message;
mod peer;
mod route;
mod shared;
mod stats;

pub use association::{Association, Events, Streams};
pub use builder::EndpointBuilder;
pub use endpoint::Endpoint;
pub use error::{AssociationError, BindError, ConnectError, SendError, TryReceiveError};
pub use message::{Message, ReceivedMessage};
pub use peer::{ENCAPSULATION_PORT, Peer};
pub use polypath_proto::config::{
    AssociationConfig, EndpointConfig, PathPairing, Policies, Preset,
};
pub use polypath_proto::{
    AssociationEnd, AssociationStats, BlockedTime, Delivery, Duration, Event, PathChange, PathId,
    PathStats, PathStatus, SendError as SendRefusal, config,
};
pub use route::source_address;
pub use stats::EndpointStats;
