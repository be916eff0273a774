//! Measures what an SCTP association carries over all of its paths.
//!
//! A [`Client`] proposes what a [`Plan`] says, and a [`Server`] agrees or refuses. Then either end sends its flows and counts what
//! it receives; at the end both have each other's results. Flows are those of iperf3, as much as there is or a rate, or those
//! of NetPerfMeter ([`FlowSpec`]). One-way delays, congestion windows, retransmissions and what each path carried come as typed
//! [`Event`]s while it goes on, and as a [`Document`](document::Document) at the end, whose JSON has the keys of iperf3.
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
//! have done so they tell each other their results. All of that is said in the association itself, on stream 0: in JSON, cut
//! into pieces of 1,000 bytes, each behind the version (one byte, 1) and a mark (1 if more pieces follow, otherwise 0), with
//! the payload protocol identifier 0x504d5401.
//!
//! # What waits
//!
//! A sender without a rate keeps no more messages in front of the transport than leave in about one round trip, though the send
//! buffer has room: delays are those of the association, and not of a queue.
#![forbid(unsafe_code)]

use std::time::Duration;

mod buffers;
mod calendar;
mod client;
mod clock;
mod config;
mod control;
pub mod document;
mod ears;
mod error;
mod event;
mod flow_spec;
mod foreign;
mod gate;
mod labels;
mod payload;
mod plan;
mod processor;
mod proposal;
mod requirements;
mod results;
mod sender;
mod server;
mod session;
mod silence;
mod snapshot;
mod start;
mod tally;
mod traffic;

pub use client::{Client, Clocks};
pub use config::{PORT, association_config};
pub use error::{
    AgreementError, ClientError, ControlError, Excess, PlanError, Refusal, SessionError,
    TrafficError, VisitError,
};
pub use event::{Event, Observer};
pub use flow_spec::{FlowSpec, FlowSpecError};
pub use labels::Labels;
pub use payload::{HEADER as SHORTEST_MESSAGE, LONGEST as LONGEST_MESSAGE};
pub use plan::{Direction, Plan};
pub use proposal::{MOST_FLOWS, SHORTEST_INTERVAL, ServerOutput};
pub use requirements::Requirements;
pub use server::{Intervals, Server, Visit};
pub use traffic::{Patience, Traffic};

/// How long the peer may take to agree to the end.
const FAREWELL: Duration = Duration::from_secs(3);
/// Longest time without a sign of life of the peer, unless something else is asked for.
const IDLE: Duration = Duration::from_secs(60);
