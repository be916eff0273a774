//! What a flow carries.

use polypath_units::{ByteCount, Duration};

/// A flow of messages from one host to another.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct FlowSpec {
    /// What is sent.
    pub source: Source,
    /// Length of each message; the last one of a file may be shorter.
    pub message_size: ByteCount,
    /// Whether messages are delivered in order.
    #[cfg_attr(feature = "serde", serde(default))]
    pub delivery: Delivery,
    /// When the first message is offered, counted from the start of the run.
    #[cfg_attr(feature = "serde", serde(default))]
    pub start: Duration,
    /// When no more messages are offered, counted from the start of the run; `None` for never.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub stop: Option<Duration>,
}

/// What a flow sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Source {
    /// As much as the transport takes, without end.
    Saturated,
    /// That many bytes, as fast as the transport takes them.
    File(ByteCount),
}

/// Order of delivery.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Delivery {
    /// As sent.
    #[default]
    Ordered,
    /// As arrived.
    Unordered,
}

/// A flow that makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FlowError {
    /// Messages without content.
    #[error("the message size is zero: a message has at least one byte")]
    EmptyMessages,
    /// Messages longer than any transport takes.
    #[error("the message size {0} is too large: a message has at most 4294967295 B")]
    LargeMessages(ByteCount),
    /// Nothing to send.
    #[error("the file size is zero: a file has at least one byte")]
    EmptyFile,
    /// The flow ends before it starts.
    #[error("the flow stops at {stop}, but starts at {start}: it has to stop later than it starts")]
    StopsBeforeStart {
        /// Its start.
        start: Duration,
        /// Its end.
        stop: Duration,
    },
}

impl FlowSpec {
    /// A flow from the start of the run on, ordered.
    pub const fn new(source: Source, message_size: ByteCount) -> Self {
        Self {
            source,
            message_size,
            delivery: Delivery::Ordered,
            start: Duration::ZERO,
            stop: None,
        }
    }

    /// Checks that the flow makes sense.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self) -> Result<(), FlowError> {
        if self.message_size.is_zero() {
            return Err(FlowError::EmptyMessages);
        }
        if self.message_size.as_bytes() > u64::from(u32::MAX) {
            return Err(FlowError::LargeMessages(self.message_size));
        }
        if self.source == Source::File(ByteCount::ZERO) {
            return Err(FlowError::EmptyFile);
        }
        match self.stop {
            Some(stop) if stop <= self.start => {
                Err(FlowError::StopsBeforeStart { start: self.start, stop })
            }
            _ => Ok(()),
        }
    }
}
