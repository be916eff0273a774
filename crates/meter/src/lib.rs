//! Measures what an SCTP association carries over all of its paths.
//!
//! A [`Client`] proposes what a [`Plan`] says, and a [`Server`] agrees or refuses. Then either end sends its flows and counts what
//! it receives; at the end both have each other's results. Flows are those of iperf3 (as much as the association carries, or a
//! rate) or those of NetPerfMeter ([`FlowSpec`]). One-way delays, congestion windows, retransmissions and what each path carried
//! are reported by typed [`Event`]s during the measurement, and by a [`Document`](document::Document) at the end, whose JSON has
//! the keys of iperf3. The example `measure` is a client and a server.
//!
//! The crate prints nothing and ends no process.
//!
//! # Example
//!
//! A megabyte over two paths of the loopback interface:
//!
//! ```
//! use polypath::{Endpoint, EndpointConfig, Peer, Preset};
//! use polypath_meter::{Client, Plan, Server, association_config};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = association_config(Preset::Recommended);
//! let endpoint = Endpoint::builder(["127.0.0.45".parse()?, "127.0.0.46".parse()?])
//!     .port(polypath_meter::PORT)
//!     .encapsulation_port(0)
//!     .listen(16)
//!     .config(EndpointConfig { association: config.clone(), ..EndpointConfig::default() })
//!     .bind()?;
//! let peer = Peer::new(["127.0.0.45".parse()?], endpoint.port())
//!     .encapsulation_port(endpoint.encapsulation_port());
//! tokio::spawn(async move { Server::new().serve(&endpoint, drop).await });
//!
//! let endpoint = Endpoint::builder(["127.0.0.47".parse()?, "127.0.0.48".parse()?])
//!     .encapsulation_port(0)
//!     .bind()?;
//! let plan = Plan::new().bytes(1_000_000).parallel(2);
//! let mut client = Client::connect(&endpoint, &peer, config, plan).await?;
//! client.run(&mut ()).await?;
//! let document = client.into_document();
//! assert!(document.complete);
//! assert_eq!(document.end.paths.len(), 2);
//! assert!(document.end.sum_received.is_some_and(|sum| sum.bytes >= 1_000_000));
//! # Ok(())
//! # }
//! ```
//!
//! # The protocol
//!
//! A client proposes a measurement, the server agrees or refuses; the client may ask for the server's time; it starts.
//! Then each end sends its flows, in messages of NetPerfMeter's format (NPMP, payload protocol identifier 37), which Wireshark
//! dissects, on the streams from 1. When all of them were acknowledged or abandoned it says how many there were, and when both
//! have done so they exchange their results. All of that is said in the association itself, on stream 0: in JSON, cut
//! into pieces of 1,000 bytes, each behind the version (one byte, 1) and a mark (1 if more pieces follow, otherwise 0), with
//! the payload protocol identifier 0x504d5401.
//!
//! # Queueing
//!
//! A sender without a rate queues no more unsent messages than leave in about one round trip, however large the send buffer is:
//! delays are those of the association, and not of a queue.
#![forbid(unsafe_code)]

mod buffers;
mod calendar;
mod channel;
mod client;
mod clock;
mod config;
mod control;
pub mod document;
mod ensure;
mod error;
mod event;
mod flow;
mod flow_spec;
mod gate;
mod labels;
mod limits;
mod payload;
mod plan;
mod processor;
mod proposal;
mod requirements;
mod results;
mod sender;
mod server;
mod session;
mod snapshot;
mod start;
mod tally;
mod text;
mod traffic;

pub use client::{Client, Clocks};
pub use config::{PORT, association_config};
pub use control::ControlError;
pub use error::{AgreementError, ClientError, Refusal, ServerError, SessionError};
pub use event::{Event, Observer};
pub use flow_spec::{FlowSpec, FlowSpecError};
pub use labels::Labels;
pub use limits::Excess;
pub use payload::{HEADER as MIN_MESSAGE_BYTES, LONGEST as MAX_MESSAGE_BYTES};
pub use plan::{Direction, Plan};
pub use proposal::{MAX_FLOWS, MIN_INTERVAL, PlanError};
pub use requirements::Requirements;
pub use server::{Server, ServerSession};
pub use traffic::{PartialReliability, Traffic, TrafficError};
