//! Multipath SCTP for asynchronous programs, over UDP (RFC 6951) and over IP itself.
//!
//! An [`Endpoint`] is bound to one or more local addresses. An [`Association`] with a peer carries messages on many
//! streams, over several pairs of addresses at once. The protocol itself is the sans-IO crate `polypath-proto`; this
//! crate adds sockets, a clock and random numbers, on [tokio](https://tokio.rs).
//!
//! Socket calls and notifications have the names of RFC 6458, the sockets API of SCTP.
//!
//! # An echo
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
//! # A file, while a path fails
//!
//! The sender loses an address during the transfer. Its data in flight is retransmitted over the other path; only
//! subscribers of [`Events`] notice. The receiver takes the messages as a stream.
//!
//! ```
//! use futures_util::TryStreamExt;
//! use polypath::{AssociationConfig, Endpoint, Event, Message, PathChange, Peer};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = vec![7; 4_000_000];
//! let receiver = Endpoint::builder(["127.0.0.25".parse()?, "127.0.0.26".parse()?])
//!     .encapsulation_port(0)
//!     .listen(1)
//!     .bind()?;
//! let peer = Peer::new(["127.0.0.25".parse()?], receiver.port())
//!     .encapsulation_port(receiver.encapsulation_port());
//! let received = tokio::spawn(async move {
//!     let association = receiver.accept().await.map_err(|error| error.to_string())?;
//!     let whole = association.messages().try_fold(Vec::new(), |mut whole, message| async move {
//!         whole.extend_from_slice(&message.into_bytes());
//!         Ok(whole)
//!     });
//!     whole.await.map_err(|error| error.to_string())
//! });
//!
//! let sender = Endpoint::builder(["127.0.0.27".parse()?, "127.0.0.28".parse()?]).encapsulation_port(0).bind()?;
//! let association = sender.connect(&peer, AssociationConfig::default()).await?;
//! let mut events = association.events();
//! let watcher = tokio::spawn(async move {
//!     let mut failed = 0;
//!     while let Some(event) = events.next().await {
//!         failed += u32::from(matches!(event, Event::Path { change: PathChange::Unreachable, .. }));
//!     }
//!     failed
//! });
//! for (number, piece) in file.chunks(50_000).enumerate() {
//!     if number == 40 {
//!         sender.bind_remove("127.0.0.27".parse()?).await?;
//!     }
//!     association.send(Message::new(0, piece.to_vec())).await?;
//! }
//! association.shutdown().await?;
//! assert_eq!(received.await??, file);
//! assert_eq!(watcher.await?, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Requests on many streams
//!
//! Each request has a stream of its own, so that a lost packet delays one request only; responses return on the stream
//! of their request. A server for many associations takes them from [`Endpoint::incoming`].
//!
//! ```
//! use futures_util::StreamExt;
//! use polypath::{Association, AssociationConfig, AssociationError, Endpoint, Message, Peer};
//!
//! type Error = Box<dyn std::error::Error + Send + Sync>;
//!
//! /// Answers every number with its square, until the client leaves.
//! async fn serve(client: Association) -> Result<(), Error> {
//!     loop {
//!         match client.receive().await {
//!             Ok(Some(request)) => {
//!                 let stream = request.stream();
//!                 let number: u64 = std::str::from_utf8(&request.into_bytes())?.parse()?;
//!                 client.send(Message::new(stream, (number * number).to_string())).await?;
//!             }
//!             Ok(None) => return Ok(()),
//!             // A new client at the same address and port; these requests need no login that it would have to repeat.
//!             Err(AssociationError::PeerRestarted) => client.accept_restart(),
//!             Err(error) => return Err(error.into()),
//!         }
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let server = Endpoint::builder(["127.0.0.29".parse()?]).encapsulation_port(0).listen(16).bind()?;
//! let peer = Peer::new(["127.0.0.29".parse()?], server.port())
//!     .encapsulation_port(server.encapsulation_port());
//! tokio::spawn(async move { server.incoming().for_each_concurrent(100, |client| async { let _ = serve(client).await; }).await });
//!
//! let client = Endpoint::builder(["127.0.0.30".parse()?]).encapsulation_port(0).bind()?;
//! let association = client.connect(&peer, AssociationConfig::default()).await?;
//! let streams = association.streams().ok_or("not established")?.outbound;
//! for stream in 0..streams {
//!     association.send(Message::new(stream, stream.to_string())).await?;
//! }
//! let mut answers = vec![0; usize::from(streams)];
//! for _ in 0..streams {
//!     let answer = association.receive().await?.ok_or("the server left")?;
//!     let stream = usize::from(answer.stream());
//!     answers[stream] = std::str::from_utf8(&answer.into_bytes())?.parse()?;
//! }
//! assert!(answers.iter().enumerate().all(|(number, square)| number * number == *square));
//! association.shutdown().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # How it behaves
//!
//! `AssociationConfig::default()` has the preset `recommended`, which keeps transfers over several paths from being
//! slower than over the best of them; [`AssociationConfig::with_preset`] has another one ([`Preset`]), and each policy
//! can be changed. Buffers start at 64 KiB and grow as data is acknowledged and read, up to `send_buffer_bytes` and
//! `receive_buffer_bytes` (default: [`BUFFER_BYTES`] each). These should hold what all paths carry in two round trips
//! of the longest one; servers for many peers may set less. With the policies `send_buffer` and `receive_buffer` set to
//! `bytes`, buffers have their full size from the start.
//!
//! [`Association::set_options`] and [`Association::set_path_options`] change parameters of a live association (RFC 6458
//! section 8), and [`EndpointBuilder::accept_options`] chooses those of associations that peers initiate.
//!
//! # What a program must expect
//!
//! * **Restart.** A peer that has lost its state may restart the association from the same addresses; so may an
//!   attacker that took over an address (RFC 5062). All methods therefore fail with
//!   [`PeerRestarted`](AssociationError::PeerRestarted) until the program calls [`Association::accept_restart`] or
//!   [`Association::abort`].
//! * **Large messages.** A message larger than the receive buffer arrives in pieces ([`ReceivedMessage::piece`]).
//! * **Cancellation.** Dropping a future of this crate neither loses nor repeats a message, so all of them can be used
//!   in `select!`.
//! * **The end.** Errors say how an association ended. [`Association::closed`] waits for it.
//! * **Numbers.** [`Association::stats`], [`Association::path_stats`] and [`Endpoint::stats`] are available at any
//!   time, and include failed paths.
//!
//! # Observation
//!
//! An [`Observer`] of an endpoint, or [`Association::set_probe`], attaches a [`Probe`] to an association: it receives a
//! [`ProbeEvent`] for each packet and chunk, each SACK, each loss, each change of a congestion window, each round-trip
//! time, each timer that expires, each state of a path and of the association, as in the simulator. With the crate
//! feature `tracing` the crate also emits spans and events of that library, all with the target `polypath`: a span
//! `association` with the peer's address and the ports; the end, restarts and states of paths at `INFO` and above;
//! timeouts, losses and MTUs from `DEBUG`; packets and chunks at `TRACE`. Without observers and without the feature,
//! this has no cost. A [`PacketTap`] sees the packets themselves.
//!
//! # Threads
//!
//! One thread at a time works on an association. A program with few associations is fastest on a runtime with one
//! thread (`#[tokio::main(flavor = "current_thread")]`, or `worker_threads(1)`): on several, the task that submits
//! messages and the one that sends packets wait for each other (1,400-byte messages over the loopback interface of two
//! cores: 10 Gbit/s instead of 17). Servers with many associations benefit from several threads;
//! [`EndpointBuilder::shards`] divides associations among tasks.
//!
//! # Who may connect
//!
//! Any peer that can reach a listening endpoint may connect, unless both sides have a key: a [`KeyRing`] reads a file
//! of keys and adds them to the configuration of either side, which then authenticates all packets from COOKIE ECHO on
//! (AUTH, RFC 4895). Nothing is encrypted. [`Association::peer_key`] identifies the key of a peer.
//!
//! # UDP or IP itself
//!
//! By default, packets are carried in UDP, which needs no privileges and passes address translators. With
//! [`EndpointBuilder::carriers`], an endpoint uses SCTP over IP (protocol 132), or both; [`Peer::raw_ip`] is a peer
//! over IP. Answers use the carrier of the packet that they answer.
//!
//! # DTLS, or another lower layer of the program
//!
//! [`Endpoint::over_lower_layer`] creates an endpoint without sockets and addresses: a [`LowerLayer`] carries its
//! packets, for example two channels to a task of the program ([`ChannelLayer`]). SCTP thus runs over DTLS (RFC 8261),
//! like data channels of WebRTC.
//!
//! # Path MTU
//!
//! Packets are sent with "don't fragment" set. Probes determine the MTU of each path, from 1200 bytes up to `mtu_bytes`
//! of the configuration, and detect when it shrinks or grows (RFC 8899). No ICMP is needed, but reports about packets
//! with the right verification tag shorten the search. With [`PmtuDiscovery::Icmp`], paths start with `mtu_bytes` or
//! the MTU of their route, whichever is smaller, and shrink when a router or the system reports that a packet is too
//! big. A packet that has become too big for its path is sent in IP fragments and is counted in
//! [`EndpointStats::packets_fragmented`].
//!
//! # Paths that the system refuses
//!
//! If the system does not send from a local to a remote address (no route, interface down, forbidden), that path
//! becomes inactive at once, and its data in flight is retransmitted elsewhere. The path is tried again after its
//! retransmission timeout; during the handshake, the next pair of addresses is tried at once.
//!
//! # Two uplinks
//!
//! Routing depends on the destination, so packets from the address of a second uplink may be sent over the first, which
//! drops them. [`EndpointBuilder::bind_to_device`] binds an address to its interface.
//!
//! # Addresses that come and go
//!
//! [`Endpoint::bind_add`] and [`Endpoint::bind_remove`] change the local addresses of an endpoint with live
//! associations: paths from a removed address become inactive at once, and are probed when it returns. An interface
//! that only goes down needs neither: the system refuses its paths until it is up again. If both sides have the policy
//! `address_reconfiguration`, an ASCONF announces the change to the peer.

#![deny(unsafe_code)]

mod accept;
mod address;
mod association;
mod builder;
mod carriers;
mod clock;
mod device;
mod driver;
mod endpoint;
mod error;
mod events;
mod idle;
mod keys;
mod lock;
mod log;
mod lower_layer;
mod message;
mod peer;
mod places;
mod port;
mod probe;
mod rebind;
mod route;
mod sctp_stream;
mod socket;
mod state;
mod stats;
mod stream;
mod system;
mod tap;
pub mod text;
mod wildcard;

pub use association::{Association, Streams};
pub use builder::EndpointBuilder;
pub use carriers::Carriers;
pub use endpoint::Endpoint;
pub use error::{
    AssociationError, BindError, ConnectError, SendError, StreamError, TryReceiveError,
};
pub use events::Events;
pub use idle::IdleWatch;
pub use keys::{KeyFileError, KeyRing, KeyTextError};
pub use lower_layer::{ChannelLayer, LowerLayer};
pub use message::{Message, ReceivedMessage};
pub use peer::{ENCAPSULATION_PORT, Peer};
pub use places::MakeWay;
pub use polypath_proto::config::{
    AssociationConfig, AssociationOptions, BUFFER_BYTES, EndpointConfig, ErrorDetection,
    Heartbeats, LongMessages, PathOptions, PathPairing, PmtuDiscovery, Policies, Preset,
    ShutdownAnswer, SmallMessages,
};
pub use polypath_proto::{
    AbandonedCount, AbandonedMessages, AddressChange, AddressChangeError, AssociationEnd,
    AssociationState, AssociationStats, AuthenticationChange, BlockedCause, BlockedTime,
    ChunkKinds, ClaimError, ConnectError as ConnectRefusal, Delivery, Duration, EndReason, Event,
    EventKinds, Instant, KeyError, LossDetection, NoProbe, PathChange, PathEcn, PathId, PathStats,
    PathStatus, Piece, PortAddresses, PortConfig, Probe, ProbeEvent, ReconfigurationError,
    SendError as SendRefusal, TimerKind, TransmissionCause, Tsn, config, congestion, scheduling,
};
pub use port::{BoundPort, WaitingPlace};
pub use probe::{BoxedProbe, Initiator, ObservedAssociation, Observer};
pub use route::{default_addresses, source_address};
pub use sctp_stream::{RecvStream, SctpStream, SendStream};
pub use stats::EndpointStats;
pub use stream::MessageSink;
pub use system::SocketAbilities;
pub use tap::{PacketTap, TapDirection, TappedPacket};

/// Makes the example of the README a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
