//! Errors of both ends.
//!
//! An error says what happened in one sentence; what caused it is its [source](std::error::Error::source).

use std::time::Duration;

use polypath::AssociationError;
use thiserror::Error;
use tokio::task::JoinError;

use crate::control::ControlError;
use crate::limits::Excess;
use crate::proposal::PlanError;
use crate::traffic::TrafficError;

/// Why a client's measurement ended early. The association is aborted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The plan is invalid, or does not fit the association.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The system gave no random number for the identifier of the measurement.
    #[error(transparent)]
    Random(#[from] getrandom::Error),
    /// The server did not agree to it.
    #[error(transparent)]
    NotAgreed(#[from] AgreementError),
    /// The measurement ended early.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Why a server did not agree to a measurement.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AgreementError {
    /// It refused; the text is its reason.
    #[error("the server refuses: {0}")]
    Refused(String),
    /// It did not answer the proposal, or ended the association: it may be a server of another protocol.
    #[error("the server does not take part")]
    NoAnswer(#[source] SessionError),
    /// The proposal could not be sent.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Why a server's measurement with a client ended early. The association is aborted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The server refused what the client proposed, and the client knows.
    #[error("refused")]
    Refused(#[source] Refusal),
    /// The measurement was more than the server allows.
    #[error(transparent)]
    Exceeded(#[from] Excess),
    /// The measurement ended early.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Why a server refuses a proposal.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It is invalid, or does not fit the association.
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

/// Why a measurement ended early, at either end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The peer shut the association down.
    #[error("the peer ended the association")]
    PeerLeft,
    /// The peer did not send an expected control message in time.
    #[error("the peer said nothing for {:.0} s", patience.as_secs_f64())]
    NoAnswer {
        /// Time that it had.
        patience: Duration,
        /// The error of the timer.
        source: tokio::time::error::Elapsed,
    },
    /// No user data arrived or was acknowledged for the idle timeout, which is given.
    #[error("the peer was silent for {} s", .0.as_secs())]
    Silent(Duration),
    /// The peer sent a control message out of turn.
    #[error("the {who} broke the control protocol: {what}")]
    OutOfTurn {
        /// `client`, `server` or `peer`.
        who: &'static str,
        /// What is wrong.
        what: &'static str,
    },
    /// The peer sent something that is no control message.
    #[error("the peer broke the control protocol")]
    Control(#[source] ControlError),
    /// The client requested the time too often, and did not start.
    #[error("the client asks for the time without end")]
    TooManyTimeRequests,
    /// A control message of this end could not be encoded.
    #[error(transparent)]
    Encode(ControlError),
    /// A flow cannot be generated as planned.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// The association failed.
    #[error(transparent)]
    Association(#[from] AssociationError),
    /// The association did not accept a message.
    #[error(transparent)]
    Transport(#[from] polypath::SendError),
    /// A task that sends a flow failed.
    #[error(transparent)]
    Task(#[from] JoinError),
}
