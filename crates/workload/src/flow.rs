//! What a flow carries.

use polypath_units::{ByteCount, Duration};

use crate::source::Source;
use crate::{Delivery, Distribution};

/// A flow of messages from one host to another.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct FlowSpec {
    /// What is sent.
    pub source: Source,
    /// Length of each message, for sources that do not say it themselves; the last one of a file may be shorter.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub message_size: Option<Distribution<ByteCount>>,
    /// Whether messages are delivered in order.
    #[cfg_attr(feature = "serde", serde(default))]
    pub delivery: Delivery,
    /// When the first message is offered, counted from the start of the run.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Duration,
    /// When no more messages are offered, counted from the start of the run; `None` for never.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stop: Option<Duration>,
    /// Messages that wait for the transport at most; those that come when so many wait are dropped.
    #[cfg_attr(feature = "serde", serde(default = "default_queue"))]
    pub queue: u32,
}

/// Default limit of messages that wait for the transport, as in NetPerfMeter.
pub const DEFAULT_QUEUE: u32 = 1_000;

#[cfg(feature = "serde")]
fn default_queue() -> u32 {
    DEFAULT_QUEUE
}

/// A flow that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{key}: {message}")]
pub struct FlowError {
    /// The key in question, with dots.
    pub key: String,
    /// What is wrong there.
    pub message: String,
}

/// Longest message of any transport.
const LONGEST: u64 = u32::MAX as u64;

impl FlowSpec {
    /// A flow from the start of the run on, ordered.
    pub fn new(source: Source, message_size: ByteCount) -> Self {
        Self {
            source,
            message_size: Some(message_size.into()),
            delivery: Delivery::Ordered,
            start: Duration::ZERO,
            stop: None,
            queue: DEFAULT_QUEUE,
        }
    }

    /// Length of each message; nothing where the source says it.
    pub fn sizes(&self) -> Distribution<ByteCount> {
        self.message_size.clone().unwrap_or(ByteCount::ZERO.into())
    }

    /// Checks that the flow makes sense.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), FlowError> {
        let wrong = |key: &str, message: String| Err(FlowError { key: key.to_owned(), message });
        if let Some((key, message)) = self.source.problem() {
            let key = if key.ends_with('.') || key.is_empty() {
                "source".to_owned()
            } else {
                format!("source.{key}")
            };
            return wrong(&key, message);
        }
        if let Some((key, message)) = self.size_problem() {
            return wrong(&key, message);
        }
        match self.stop {
            Some(stop) if stop <= self.start => wrong(
                "stop",
                format!(
                    "the flow stops at {stop}, but starts at {}: it has to stop later than it starts",
                    self.start
                ),
            ),
            _ => Ok(()),
        }
    }

    fn size_problem(&self) -> Option<(String, String)> {
        const KEY: &str = "message_size";
        let name = self.source.name();
        let Some(sizes) = &self.message_size else {
            let message = format!("is missing: `{name}` needs it");
            return (!self.source.has_own_sizes()).then(|| (KEY.to_owned(), message));
        };
        if self.source.has_own_sizes() {
            let message = format!("`{name}` says itself how long messages are");
            return Some((KEY.to_owned(), message));
        }
        if let Some((key, message)) = sizes.problem() {
            return Some((format!("{KEY}.{key}"), message));
        }
        if sizes.largest() == Some(ByteCount::ZERO) {
            let message = "the message size is zero: a message has at least one byte";
            return Some((KEY.to_owned(), message.to_owned()));
        }
        if let Some(large) = sizes.largest().filter(|size| size.as_bytes() > LONGEST) {
            let message =
                format!("the message size {large} is too large: a message has at most {LONGEST} B");
            return Some((KEY.to_owned(), message));
        }
        if matches!(self.source, Source::File(_)) && sizes.constant().is_none() {
            let message = "a file is cut into messages of one length".to_owned();
            return Some((KEY.to_owned(), message));
        }
        if matches!(self.source, Source::Poisson(_)) && sizes.mean_steps().is_infinite() {
            let message = "the lengths have no mean, so that there is no rate".to_owned();
            return Some((KEY.to_owned(), message));
        }
        None
    }
}
