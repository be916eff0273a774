//! Errors of both ends.
//!
//! An error says what happened in one sentence; what caused it is its [source](std::error::Error::source).

use std::fmt::Write as _;
use std::time::Duration;

use polypath::AssociationError;
use polypath_units::BitRate;
use thiserror::Error;
use tokio::task::JoinError;

use crate::control::VERSION;
use crate::flow_spec::FlowSpecError;
use crate::payload::{HEADER, LONGEST};
use crate::proposal::{MOST_FLOWS, SHORTEST_INTERVAL};
use crate::traffic::{LARGEST_FRAME, MOST_PER_SECOND, MOST_TURNS};

/// Why a client's measurement ended early. The association is aborted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// What is to be measured makes no sense, or does not fit the association.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The system gave no random number for the name of the measurement.
    #[error(transparent)]
    Random(#[from] getrandom::Error),
    /// The server did not agree to it.
    #[error(transparent)]
    NotAgreed(#[from] AgreementError),
    /// It broke off.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Why a server did not agree to a measurement.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgreementError {
    /// It refuses; the text is its reason.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// It does not answer the proposal, or ends the association: it may be a server of another kind.
    #[error("the server does not take part")]
    NoPart(#[source] SessionError),
    /// The proposal could not be made.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Why a server's measurement with a client ended early. The association is aborted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VisitError {
    /// The server refused what the client proposed, and the client knows.
    #[error("refused")]
    Refused(#[source] Refusal),
    /// The measurement was more than the server allows.
    #[error(transparent)]
    Exceeded(#[from] Excess),
    /// It broke off.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Why a server refuses a proposal.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It makes no sense, or does not fit the association.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// It is more than the server allows.
    #[error(transparent)]
    Exceeded(#[from] Excess),
    /// The association has too few streams.
    #[error("{flows} flows need more streams than {streams}")]
    TooFewStreams {
        /// Flows that the client wants.
        flows: usize,
        /// Streams in each direction.
        streams: u16,
    },
}

/// How a measurement is more than a server allows.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum Excess {
    /// It would take too long.
    #[error("{seconds} s are more than this server's limit, {} s", limit.as_secs_f64())]
    Planned {
        /// Seconds that it would take.
        seconds: f64,
        /// Seconds that it may take.
        limit: Duration,
    },
    /// It takes too long.
    #[error("it takes longer than this server's limit, {} s", .0.as_secs_f64())]
    Duration(Duration),
    /// It carries, or would carry, too much.
    #[error("{bit_s:.0} bit/s are more than this server's limit, {limit}")]
    Rate {
        /// Rate of both directions together in bit/s.
        bit_s: f64,
        /// Rate that is allowed.
        limit: BitRate,
    },
}

/// Why a measurement broke off, at either end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The peer shut the association down.
    #[error("the peer ended the association")]
    PeerLeft,
    /// The peer did not say in time what it had to say.
    #[error("the peer said nothing for {:.0} s", patience.as_secs_f64())]
    NoAnswer {
        /// How long it had time.
        patience: Duration,
        /// What the timer says.
        source: tokio::time::error::Elapsed,
    },
    /// Nothing arrived or was acknowledged for so long.
    #[error("the peer was silent for {} s", .0.as_secs())]
    Silent(Duration),
    /// The peer said something that has no place there.
    #[error("the {who} broke the control protocol: {what}")]
    OutOfTurn {
        /// `client`, `server` or `peer`.
        who: &'static str,
        /// What is wrong.
        what: &'static str,
    },
    /// The peer sent something that is no message of the protocol.
    #[error("the peer broke the control protocol")]
    Control(#[source] ControlError),
    /// The client asked for the time again and again, and did not start.
    #[error("the client asks for the time without end")]
    EndlessQuestions,
    /// A message of this end could not be made.
    #[error(transparent)]
    Own(ControlError),
    /// A flow cannot be made as planned.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// The association failed.
    #[error(transparent)]
    Association(#[from] AssociationError),
    /// The association did not take a message.
    #[error(transparent)]
    Transport(#[from] polypath::SendError),
    /// A task that sends a flow failed.
    #[error(transparent)]
    Task(#[from] JoinError),
}

/// Why a message is none of the control protocol.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// It cannot be written as JSON.
    #[error(transparent)]
    Encode(#[from] serde_json::Error),
    /// It has too many bytes.
    #[error("a control message of {0} bytes")]
    TooLong(usize),
    /// It is too short for the header.
    #[error("a control message without header")]
    NoHeader,
    /// It is of another version.
    #[error("version {0} of the control protocol; this is version {VERSION}")]
    Version(u8),
    /// Its pieces do not end.
    #[error("a control message without end")]
    Endless,
    /// Its mark says neither that more follows nor that it ends.
    #[error("a control message with mark {0}")]
    Mark(u8),
    /// Its content is none that there is; the text says why.
    #[error("a control message that says nothing: {0}")]
    Nothing(String),
    /// It is of another protocol, or on another stream.
    #[error("payload protocol {ppid:#010x} on stream {stream}")]
    Foreign {
        /// Payload protocol identifier.
        ppid: u32,
        /// Stream.
        stream: u16,
    },
}

/// Why something cannot be measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is nothing to send.
    #[error("there is no flow")]
    NoFlow,
    /// There are too many flows.
    #[error("{0} flows: there are at most {MOST_FLOWS}")]
    TooManyFlows(usize),
    /// A peer did not number its flows one after the other.
    #[error("flow {flow} stands at place {place}")]
    Order {
        /// Number of the flow.
        flow: u32,
        /// Its place, from 1.
        place: u32,
    },
    /// What a flow is called is too long.
    #[error("a description is too long")]
    LongDescription,
    /// What the measurement is called is too long.
    #[error("the title is too long")]
    LongTitle,
    /// Messages of a length that there is not.
    #[error("messages of {0} bytes: they have {HEADER} to {LONGEST}")]
    MessageLength(u64),
    /// A flow makes no sense.
    #[error("flow {flow}")]
    Flow {
        /// Number of the flow.
        flow: u32,
        /// What is wrong with it.
        source: TrafficError,
    },
    /// Flows as NetPerfMeter writes them do not fit the measurement.
    #[error(transparent)]
    Spec(#[from] FlowSpecError),
    /// All flows of one end together have too many messages per second.
    #[error("more than {MOST_PER_SECOND} messages per second")]
    TooManyMessages,
    /// The time that does not count, or the one between reports, is too long.
    #[error("a time is out of range")]
    Time,
    /// Reports would come too often.
    #[error("reports come every {} ms at most", SHORTEST_INTERVAL.as_millis())]
    Interval,
    /// The measurement would take no time, or too much of it.
    #[error("the time is out of range")]
    Duration,
    /// The number of bytes to send is zero.
    #[error("there are no bytes to send")]
    NoBytes,
    /// Messages are larger than a buffer of an end.
    #[error(
        "flow {flow}: messages of {bytes} bytes are larger than the {whose}'s {name} of {buffer} bytes; make them shorter or it \
         larger"
    )]
    Buffer {
        /// Number of the flow.
        flow: u32,
        /// Length of its longest message.
        bytes: u16,
        /// `client` or `server`.
        whose: &'static str,
        /// `send buffer` or `receive buffer`.
        name: &'static str,
        /// Size of that in bytes.
        buffer: u64,
    },
}

/// Why a flow makes no sense.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum TrafficError {
    /// Messages have no room for their header.
    #[error("messages have at least {HEADER} bytes, not {0}")]
    ShortMessages(u16),
    /// It goes on and off too often.
    #[error("more than {MOST_TURNS} times of on and off")]
    TooManyTurns,
    /// The mean length of frames is too long.
    #[error("frames are longer than {LARGEST_FRAME} bytes")]
    LongFrames,
    /// Frames without length would be drawn again and again.
    #[error("a size of frames that varies must not be zero at times")]
    EmptyFrames,
    /// It has too many messages per second.
    #[error("more than {MOST_PER_SECOND} messages per second")]
    TooManyMessages,
    /// The generator of messages does not take it; the text says why.
    #[error("{0}")]
    Generator(String),
}

/// The error, unless something holds.
pub(crate) fn ensure<E>(holds: bool, error: E) -> Result<(), E> {
    if holds { Ok(()) } else { Err(error) }
}

/// An error with its causes, as one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}
