//! Traces of SCTP associations in the qlog format.
//!
//! qlog (draft-ietf-quic-qlog-main-schema) is a common log format of transport protocols. A trace is a sequence of JSON texts
//! (RFC 7464): a header, then a record for each event. This crate turns the protocol's
//! [`ProbeEvent`](polypath_proto::ProbeEvent)s into records. A simulation and a real network produce the same ones; their names
//! and fields are in [`EVENTS`] and in `docs/qlog.md`.
//!
//! * [`TraceWriter`] writes one trace to anything that can be written to.
//! * [`QlogDirectory`] writes many, one file each, on its own thread: neither the protocol nor the program waits for a disk,
//!   and errors are reported at the end.
//!
//! ```
//! use polypath_proto::{Instant, PathId, ProbeEvent, Tsn};
//! use polypath_qlog::{TraceHeader, TraceWriter, VantagePoint};
//!
//! let header = TraceHeader::new("an example", VantagePoint::Client);
//! let mut trace = TraceWriter::new(Vec::new(), &header)?;
//! let event = ProbeEvent::ChunkAcked { path: PathId(1), tsn: Tsn(7) };
//! trace.record(Instant::from_nanos(1_500_000), &event)?;
//! let text = String::from_utf8(trace.finish()?)?;
//! let record = text.lines().last().unwrap_or_default();
//! assert_eq!(record, "\u{1e}{\"time\":1.5,\"name\":\"sctp:chunk_acked\",\"data\":{\"path_id\":1,\"tsn\":7}}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod directory;
mod error;
mod event;
mod trace;

pub use directory::{Limits, QlogDirectory, QlogProbe, Traces, WhenFull};
pub use error::{OpenError, WriteError};
pub use event::{EVENTS, EventKind, Field, Importance, name_of};
pub use trace::{Ends, TraceHeader, TraceWriter, VantagePoint};
