//! Sends and receives files over all paths of an SCTP association.
//!
//! A [`Sender`] offers files one after the other. An [`Inbox`] is a directory: it writes each file under a hidden name, and gives
//! it its own when the content is complete, on the disk, and has the SHA-256 that the sender computed while it read. Only
//! then the file counts as sent. What is incomplete is kept for its sender for a while ([`Incomplete`]), which goes on from there:
//! with another [`Sender`], or with the same one over another association ([`Sender::send_with_retries`]).
//!
//! The crate prints nothing and ends no process. Progress comes as typed [`Event`]s, and what became of a transfer is a
//! [`Report`], which serde writes as the JSON of `polypath send --json` and `polypath receive --json`.
//!
//! # Example
//!
//! A file over two paths of the loopback interface:
//!
//! ```
//! use polypath::{Endpoint, EndpointConfig, Peer, Preset};
//! use polypath_transfer::{FileStatus, Inbox, Sender, association_config};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let place = tempfile::tempdir()?;
//! # let (file, downloads) = (place.path().join("file"), place.path().join("downloads"));
//! std::fs::write(&file, vec![7; 1_000_000])?;
//!
//! let config = association_config(Preset::Recommended);
//! let endpoint = Endpoint::builder(["127.0.0.41".parse()?, "127.0.0.42".parse()?])
//!     .port(polypath_transfer::PORT)
//!     .config(EndpointConfig { association: config.clone(), ..EndpointConfig::default() })
//!     .encapsulation_port(0)
//!     .listen(16)
//!     .bind()?;
//! let peer = Peer::new(["127.0.0.41".parse()?], endpoint.port())
//!     .encapsulation_port(endpoint.encapsulation_port());
//! let inbox = Inbox::new(&downloads);
//! inbox.prepare()?;
//! let receiving = tokio::spawn(async move {
//!     let mut receiver = inbox.accept(&endpoint).await.expect("a sender");
//!     receiver.run().await.map(|()| receiver.into_report())
//! });
//!
//! let endpoint = Endpoint::builder(["127.0.0.43".parse()?, "127.0.0.44".parse()?])
//!     .encapsulation_port(0)
//!     .bind()?;
//! let mut sender = Sender::connect(&endpoint, &peer, config).await?;
//! sender.send([&file]).await?;
//! assert_eq!(sender.files()[0].status, FileStatus::Stored);
//! let report = sender.into_report();
//! assert_eq!((report.complete, report.paths.len()), (true, 2));
//!
//! assert_eq!(receiving.await??.files[0].sha256, report.files[0].sha256);
//! assert_eq!(std::fs::read(downloads.join("file"))?, vec![7; 1_000_000]);
//! # Ok(())
//! # }
//! ```
//!
//! A server that takes files from everybody is `inbox.serve(&endpoint, |report| ..)`: see [`Inbox::serve`]. The example
//! `directory` sends and receives a directory.
//!
//! # Names
//!
//! A receiver accepts plain names, and paths of them below its directory: no names of devices, no characters that steer a terminal. By
//! default it keeps files that exist ([`Existing`]), and refuses names that begin with a dot ([`Inbox::accept_hidden`]). Texts of the peer are harmless to show.
//!
//! # The protocol
//!
//! One association carries any number of files, one after the other, on stream 0 in order. Each message is one frame;
//! its payload protocol identifier says which. Numbers are big-endian.
//!
//! | PPID | frame | direction | content |
//! | --- | --- | --- | --- |
//! | 0x50465401 | offer | to the receiver | version (1 byte), number of offers that follow (4 bytes), smaller each time, size (8 bytes), in version 2 more (below), name (UTF-8, the rest) |
//! | 0x50465402 | answer | to the sender | below |
//! | 0x50465403 | data | to the receiver | the next bytes of the file, 1 to 524,288 of them |
//! | 0x50465404 | end | to the receiver | SHA-256 of all of it (32 bytes) |
//! | 0x50465405 | verdict | to the sender | 0 for stored or 1 for failed (1 byte), reason (UTF-8, the rest) |
//! | 0x50465406 | proof | to the receiver | SHA-256 of each beginning that was asked about (32 bytes each) |
//! | 0x50465407 | sign of life | both | 0 (1 byte); this side is at work, and something will follow; from a receiver also: the version that it knows (1 byte) |
//!
//! An offer of version 2 has before the name: 0 for a file or 1 for a directory (1 byte), flags (1 byte; bit 0: the content follows without
//! waiting; bit 1, from version 3 on: offered ahead), nine permission bits (4 bytes, all ones: unknown), time of modification in seconds since 1970 (8 bytes, signed) and nanoseconds (4 bytes, a
//! thousand million or more: unknown). A size of all ones is unknown. The name may be a path with `/`.
//!
//! The first byte of an answer is
//!
//! * 0: go on, from the byte that follows (8 bytes; nothing: from the beginning);
//! * 1: refused, for the reason that follows;
//! * 2: prove what the file has up to each of the offsets that follow (8 bytes each, falling, at most 16). The sender answers with a proof, and the receiver with
//!   another answer, 0, 1 or 3. The sender shows digests, so that nobody learns from a receiver what it has;
//! * 3: not wanted, since it is there already; what is there follows;
//! * 4, in version 4: offer it alone. Something of it is there and has to be compared.
//!
//! The answer to a directory, and to an offer whose content follows at once (65,536 bytes at most), is a verdict, or an answer 1 or 3. A sender may have any number of these
//! on their way. A receiver stores some of them at a time, and answers in the order of the offers.
//!
//! A file that is offered ahead is answered with 0, 1 or 3. After an answer 0, its content follows, in the order of these answers, but other
//! offers may come first, except within the content of a file. One of 1,048,576 bytes at most is not gone on with after an outage, but begins anew. A larger one needs
//! an offer of version 4. Its answer may be 4: then, where its content would follow, the sender offers it once more in the way of version 2, when it has no other
//! offer and no verdict to wait for. Of larger ones, a receiver takes 64 offers ahead of their content.
//!
//! The verdict "stored" is given when the content is on the disk under its final name. "Failed" may come at any time
//! after the answer; then the sender aborts. After the verdict on the last offer, or its refusal, both sides shut the
//! association down. Whether that succeeds changes nothing: after a while they abort it.
//!
//! **Versions.** Version 1 has whole files, the answers 0 and 1, and no proof or sign of life. A receiver that knows version 2 indicates the adaptation code point
//! [`ADAPTATION`] in the handshake (RFC 5061 section 4.2.6), as [`association_config`] does; to others a sender speaks version 1. Version 3 has files that are offered ahead, version 4 files of any
//! size that are. A receiver that knows one of them says so in a sign of life at the beginning, to senders that know version 2; they may then use its offers, which are as
//! those of version 2 apart from that. Older senders take it for a sign of life. A receiver takes all versions.
//!
//! # Limits
//!
//! A [`Quota`] limits what one sender may store, how many of its offers are refused before the association ends, and how many
//! summaries are kept of what it did. [`Inbox::max_total`] and [`Inbox::max_total_files`] limit all senders together, [`Inbox::keep_free`] what they leave of the disk, [`Incomplete`] what is kept of incomplete files. [`polypath::EndpointConfig`] limits the senders themselves, and their memory.
//!
//! # Time
//!
//! Either side waits for its peer as long as user data arrives or is acknowledged, and aborts the association when neither
//! happens for its idle timeout. A receiver, which serves a limited number of senders, also aborts one that stays below a
//! least rate ([`PeerLimits`]).
#![forbid(unsafe_code)]

mod batch;
mod config;
mod destination;
mod error;
mod event;
mod frame;
mod inbox;
mod ledger;
mod limits;
mod name;
mod pace;
mod part;
mod promise;
mod quota;
mod reader;
mod receiver;
mod report;
mod retry;
mod sender;
mod sink;
mod small;
mod source;
mod wait;
mod writer;

pub use batch::{Batch, LeftOut, check_files};
pub use config::{ConfigError, MIN_BUFFER_BYTES, PORT, association_config, check_config};
pub use destination::{Existing, FileError, Incomplete};
pub use error::{ReceiveError, SendError, Violation};
pub use event::Event;
pub use frame::{ADAPTATION, FrameError};
pub use inbox::{Inbox, InboxError, Leftover};
pub use limits::{MinRate, PeerLimits, Stalled};
pub use name::NameError;
pub use quota::{Quota, QuotaError};
pub use receiver::Receiver;
pub use report::{BlockedReport, FileReport, FileStatus, PathReport, Report, SCHEMA, Side};
pub use sender::Sender;
pub use source::SourceError;
